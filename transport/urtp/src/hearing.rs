//! Whether a peer hears multicasts. They may come at first and then no more: a switch that forwards them to those who have asked
//! (IGMP snooping) forgets those in minutes where no router reminds it. What is sent to one rank still arrives, so without this
//! each packet would wait to be asked for. Such a peer gets multicasts by itself at once, for a time, and then is tried again.

use crate::Nanos;
use crate::limits::{DEAF_NS_MAX, DEAF_NS_MIN, DEAF_PACKETS, DEAF_SURE_NS};

/// What is known of one peer.
#[derive(Debug)]
pub(crate) struct Hearing {
    /// Multicasts in a row that it had to ask for.
    missed: u32,
    /// When it asked for the first of them.
    since: Nanos,
    deaf_until: Nanos,
    /// How long it is taken for deaf next time.
    spell: Nanos,
}

impl Default for Hearing {
    fn default() -> Hearing {
        Hearing { missed: 0, since: 0, deaf_until: 0, spell: DEAF_NS_MIN }
    }
}

impl Hearing {
    pub(crate) fn is_deaf(&self, now: Nanos) -> bool {
        now < self.deaf_until
    }

    /// It acknowledges a packet that has gone by multicast alone.
    pub(crate) fn heard(&mut self) {
        *self = Hearing { deaf_until: self.deaf_until, ..Hearing::default() };
    }

    /// It asks for a packet that has gone by multicast alone.
    pub(crate) fn missed(&mut self, now: Nanos) {
        if self.missed == 0 {
            self.since = now;
        }
        self.missed += 1;
        if self.missed >= DEAF_PACKETS && now - self.since >= DEAF_SURE_NS {
            (self.missed, self.deaf_until) = (0, now + self.spell);
            self.spell = (2 * self.spell).min(DEAF_NS_MAX);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Misses enough for long enough, the last now.
    fn miss(hearing: &mut Hearing, now: Nanos) {
        hearing.missed(now - DEAF_SURE_NS);
        (1..DEAF_PACKETS).for_each(|_| hearing.missed(now));
    }

    #[test]
    fn who_misses_many_in_a_row_is_deaf_for_a_time_that_grows() {
        let (mut hearing, now) = (Hearing::default(), DEAF_SURE_NS);
        miss(&mut hearing, now);
        assert!(hearing.is_deaf(now + DEAF_NS_MIN - 1) && !hearing.is_deaf(now + DEAF_NS_MIN));
        (0..20).for_each(|_| miss(&mut hearing, now));
        assert!(hearing.is_deaf(now + DEAF_NS_MAX - 1) && !hearing.is_deaf(now + DEAF_NS_MAX));
        hearing.heard();
        let later = now + DEAF_NS_MAX;
        miss(&mut hearing, later);
        assert!(!hearing.is_deaf(later + DEAF_NS_MIN), "it had heard again");
    }

    #[test]
    fn a_queue_that_overflows_makes_nobody_deaf() {
        let mut hearing = Hearing::default();
        (0..2 * DEAF_PACKETS).for_each(|_| hearing.missed(DEAF_SURE_NS));
        hearing.heard();
        (1..DEAF_PACKETS).for_each(|_| hearing.missed(3 * DEAF_SURE_NS));
        assert!(!hearing.is_deaf(3 * DEAF_SURE_NS), "one was heard between");
    }
}

//! Whether a peer hears multicasts. They may come at first and then no more: a switch that forwards them to those who have asked
//! (IGMP snooping) forgets those in minutes where no router reminds it. What is sent to one rank still arrives, so without this
//! each packet would wait to be asked for. Such a peer gets multicasts by itself at once, for a time, and then is tried again.

use crate::Nanos;
use crate::limits::{UNREACHED_NS_MAX, UNREACHED_NS_MIN, UNREACHED_PACKETS, UNREACHED_SURE_NS};

/// What is known of one peer.
#[derive(Debug)]
pub(crate) struct MulticastReachability {
    /// Multicasts in a row that it had to ask for.
    missed: u32,
    /// When it asked for the first of them.
    since: Nanos,
    unreached_until: Nanos,
    /// How long it is taken to be unreached next time.
    spell: Nanos,
}

impl Default for MulticastReachability {
    fn default() -> MulticastReachability {
        MulticastReachability { missed: 0, since: 0, unreached_until: 0, spell: UNREACHED_NS_MIN }
    }
}

impl MulticastReachability {
    pub(crate) fn is_unreached(&self, now: Nanos) -> bool {
        now < self.unreached_until
    }

    /// It acknowledges a packet that has gone by multicast alone.
    pub(crate) fn heard(&mut self) {
        *self = MulticastReachability {
            unreached_until: self.unreached_until,
            ..MulticastReachability::default()
        };
    }

    /// It asks for a packet that has gone by multicast alone.
    pub(crate) fn missed(&mut self, now: Nanos) {
        if self.missed == 0 {
            self.since = now;
        }
        self.missed += 1;
        if self.missed >= UNREACHED_PACKETS && now - self.since >= UNREACHED_SURE_NS {
            (self.missed, self.unreached_until) = (0, now + self.spell);
            self.spell = (2 * self.spell).min(UNREACHED_NS_MAX);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Misses enough for long enough, the last now.
    fn miss(reachability: &mut MulticastReachability, now: Nanos) {
        reachability.missed(now - UNREACHED_SURE_NS);
        (1..UNREACHED_PACKETS).for_each(|_| reachability.missed(now));
    }

    #[test]
    fn who_misses_many_in_a_row_is_unreached_for_a_time_that_grows() {
        let (mut reachability, now) = (MulticastReachability::default(), UNREACHED_SURE_NS);
        miss(&mut reachability, now);
        assert!(
            reachability.is_unreached(now + UNREACHED_NS_MIN - 1)
                && !reachability.is_unreached(now + UNREACHED_NS_MIN)
        );
        (0..20).for_each(|_| miss(&mut reachability, now));
        assert!(
            reachability.is_unreached(now + UNREACHED_NS_MAX - 1)
                && !reachability.is_unreached(now + UNREACHED_NS_MAX)
        );
        reachability.heard();
        let later = now + UNREACHED_NS_MAX;
        miss(&mut reachability, later);
        assert!(!reachability.is_unreached(later + UNREACHED_NS_MIN), "it had heard again");
    }

    #[test]
    fn a_queue_that_overflows_makes_nobody_unreached() {
        let mut reachability = MulticastReachability::default();
        (0..2 * UNREACHED_PACKETS).for_each(|_| reachability.missed(UNREACHED_SURE_NS));
        reachability.heard();
        (1..UNREACHED_PACKETS).for_each(|_| reachability.missed(3 * UNREACHED_SURE_NS));
        assert!(!reachability.is_unreached(3 * UNREACHED_SURE_NS), "one was heard between");
    }
}

//! When a short frame waits for the next one, so that both go in one system call.
//!
//! A message goes at once, and so does the second: a program that sends two and computes has lost nothing. Whoever sends more
//! to one peer within microseconds, and looks for nothing in between, is sending many. What has been gathered goes with the
//! next poll, when it is enough, or with the first send that comes later than [`GATHER_TICKS_MAX`]. Where no call follows, the
//! rank has something unsent, to which a thread of the library sees.

use tern_transport::ticks::ticks;

use crate::limits::{GATHER_FRAMES_MAX, GATHER_PAYLOAD_BYTES_MAX, GATHER_TICKS_MAX, SENDS_AT_ONCE};

/// The frames to one peer that could have been written and wait for others.
#[derive(Default)]
pub(crate) struct Gather {
    /// Sends since the last poll.
    run: u32,
    /// When the last of them was written, in ticks, once there are several.
    written: Option<u64>,
    waiting: u32,
}

impl Gather {
    /// Whether frames wait.
    #[inline]
    pub(crate) fn is_open(&self) -> bool {
        self.waiting > 0
    }

    /// A frame with such a payload could be written, with all that wait. Whether it had better wait, too.
    #[inline]
    pub(crate) fn takes(&mut self, payload: usize) -> bool {
        self.run = self.run.saturating_add(1);
        self.run >= SENDS_AT_ONCE && self.takes_at(payload, ticks())
    }

    /// Whether another frame, or a poll, soon follows the next one: then that waits, as if many had come before it. If not, it goes at once,
    /// with all that wait.
    pub(crate) fn expect(&mut self, more: bool) {
        match more {
            true if self.is_open() => {}
            true => (self.run, self.written) = (SENDS_AT_ONCE, Some(ticks())),
            false => self.run = 0,
        }
    }

    fn takes_at(&mut self, payload: usize, now: u64) -> bool {
        let soon = |written: u64| now.wrapping_sub(written) < GATHER_TICKS_MAX;
        let waits = self.run > SENDS_AT_ONCE
            && payload <= GATHER_PAYLOAD_BYTES_MAX
            && self.waiting < GATHER_FRAMES_MAX
            && self.written.is_some_and(soon);
        if waits {
            self.waiting += 1;
        } else {
            (self.waiting, self.written) = (0, Some(now));
        }
        waits
    }

    /// The program looks for something. Whether frames waited, which must be written now.
    #[inline]
    pub(crate) fn end(&mut self) -> bool {
        let waited = self.is_open();
        (self.run, self.waiting, self.written) = (0, 0, None);
        waited
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends of short messages at these ticks: which of them wait.
    fn waits(at: &[u64]) -> Vec<bool> {
        let mut gather = Gather::default();
        let send = |tick: &u64| {
            gather.run += 1;
            gather.run >= SENDS_AT_ONCE && gather.takes_at(8, *tick)
        };
        at.iter().map(send).collect()
    }

    #[test]
    fn the_first_two_go_at_once_and_those_that_follow_closely_wait() {
        assert_eq!(waits(&[0, 1, 2, 3]), [false, false, true, true]);
    }

    #[test]
    fn what_comes_later_goes_with_all_that_wait() {
        let late = 1 + GATHER_TICKS_MAX;
        assert_eq!(waits(&[0, 1, 2, late, late + 1]), [false, false, true, false, true]);
        assert_eq!(waits(&[0, late, 2 * late, 3 * late]), [false; 4]);
    }

    #[test]
    fn enough_goes() {
        let all = waits(&[1; 3 + GATHER_FRAMES_MAX as usize]);
        assert_eq!(all.iter().filter(|waits| **waits).count(), GATHER_FRAMES_MAX as usize);
        assert_eq!(all.last(), Some(&false));
    }

    #[test]
    fn a_long_message_takes_along_what_waits() {
        let mut gather = Gather { run: 5, waiting: 3, written: Some(ticks()) };
        assert!(!gather.takes(GATHER_PAYLOAD_BYTES_MAX + 1) && !gather.is_open());
    }

    #[test]
    fn a_poll_ends_it() {
        let mut gather = Gather { run: 5, waiting: 3, written: Some(ticks()) };
        assert!(gather.end() && !gather.is_open() && !gather.end());
        assert!(!gather.takes(8) && !gather.takes(8));
    }

    #[test]
    fn what_is_expected_waits_and_what_is_the_last_goes() {
        let mut gather = Gather::default();
        gather.expect(true);
        assert!(gather.takes(8) && gather.is_open());
        gather.expect(false);
        assert!(!gather.takes(8));
        gather.end();
        gather.expect(true);
        assert!(!gather.takes(GATHER_PAYLOAD_BYTES_MAX + 1), "a long one goes");
    }
}

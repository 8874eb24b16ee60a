//! How long to try at once for the rest of a message that has begun to come.
//!
//! Between programs of one node it comes part by part, with microseconds in between. To leave the transport and to come
//! back for each costs several cache misses, since the copies of the parts have driven everything else out. Over a network, or from a
//! peer that needs this very core, the rest takes longer than any patience: after each time that it was in vain, twice as
//! many pass without.

use crate::limits::{PARTIAL_READ_SKIPS_MAX, PARTIAL_READ_TRIES};

/// What earlier tries on one connection have taught.
#[derive(Default)]
pub(crate) struct PartialRead {
    skips: u32,
    /// Times that are still to pass without.
    left: u32,
}

impl PartialRead {
    /// The rest of a message is not there yet. How often to try again.
    #[inline]
    pub(crate) fn tries(&mut self) -> u32 {
        if self.left > 0 {
            self.left -= 1;
            return 0;
        }
        PARTIAL_READ_TRIES
    }

    /// It came.
    #[inline]
    pub(crate) fn paid(&mut self) {
        (self.skips, self.left) = (0, 0);
    }

    /// It did not.
    #[cold]
    pub(crate) fn was_in_vain(&mut self) {
        self.skips = (2 * self.skips + 1).min(PARTIAL_READ_SKIPS_MAX);
        self.left = self.skips;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Times until tries are worth it again.
    fn passed(patience: &mut PartialRead) -> u32 {
        (0..=PARTIAL_READ_SKIPS_MAX).find(|_| patience.tries() > 0).expect("some time it is tried again")
    }

    #[test]
    fn what_is_in_vain_becomes_rare_and_what_pays_is_done_again() {
        let mut patience = PartialRead::default();
        assert_eq!(passed(&mut patience), 0);
        for times in [1, 3, 7] {
            patience.was_in_vain();
            assert_eq!(passed(&mut patience), times);
        }
        (0..20).for_each(|_| patience.was_in_vain());
        assert_eq!(passed(&mut patience), PARTIAL_READ_SKIPS_MAX);
        patience.paid();
        patience.was_in_vain();
        assert_eq!(passed(&mut patience), 1);
    }
}

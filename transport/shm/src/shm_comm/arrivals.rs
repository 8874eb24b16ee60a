//! The word by which more than two ranks arrive at a sync step: how many have come, whether with the same mark, and to which step.
//!
//! A count alone would be wrong for good once a rank has arrived and left again, because others made another call.

use crate::hints;
use crate::sync::{AtomicU64, Ordering};

/// What a rank finds that counts itself as arrived.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arrived {
    /// So many have arrived with it; whether all with the same mark.
    Number(u32, bool),
    /// Others have arrived at another sync step: this rank was not counted. The word as it was found.
    Elsewhere(u64),
}

/// Zero while nobody has arrived, as in a new segment. Otherwise from the lowest bit: how many have arrived, a digest of their
/// mark, and some bits of the step's number.
#[repr(transparent)]
pub(crate) struct Arrivals(AtomicU64);

const NUMBER: u64 = 0xffff;
const DIGEST: u64 = 0xff_ffff << 16;
const STEP: u64 = 0xff_ffff << 40;
/// Multiplies to spread bits (2^64 by the golden ratio).
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

impl Arrivals {
    /// Counts one more at sync step `count`.
    #[inline]
    pub(crate) fn arrive(&self, count: u64, mark: u64) -> Arrived {
        let ticket = ticket_of(count, mark);
        hints::will_write(&self.0);
        let mut seen = self.0.load(Ordering::Acquire);
        loop {
            let next = match seen & !NUMBER {
                0 => ticket + 1,
                same if same == ticket => seen + 1,
                other if (other ^ ticket) & STEP == 0 => (seen & !DIGEST) + 1,
                _ => return Arrived::Elsewhere(seen),
            };
            match self.0.compare_exchange_weak(seen, next, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return Arrived::Number((next & NUMBER) as u32, next & DIGEST != 0),
                Err(found) => seen = found,
            }
        }
    }

    /// Nobody has arrived at the next sync step.
    #[inline]
    pub(crate) fn clear(&self) {
        self.0.store(0, Ordering::Relaxed);
    }

    /// The same, unless others have arrived since this was seen.
    pub(crate) fn forget(&self, seen: u64) {
        let _ = self.0.compare_exchange(seen, 0, Ordering::AcqRel, Ordering::Relaxed);
    }
}

/// A digest is never zero: that says that marks differ.
#[inline]
fn ticket_of(count: u64, mark: u64) -> u64 {
    let digest = (mark.wrapping_mul(SPREAD) >> 24) & DIGEST;
    (count.wrapping_mul(SPREAD) & STEP) | digest | 1 << 16
}

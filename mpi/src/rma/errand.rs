//! Errands in windows on the program's own memory: a rank that waits in a call accesses a few bytes of its memory for another one, which
//! otherwise would ask the kernel (`tern_shm::errand`). The kernel takes longer, and needs nothing from the target.
//! `by_owner.rs` has how others ask.

use super::control::WindowControl;
use crate::limits::{ERRANDS_SKIPPED_MAX, ERRANDS_SKIPPED_MIN};
use std::sync::Arc;
use tern_mem::op::{PredefinedOp, reduce_slices};
use tern_mem::{Basic, ExposedMemory};
use tern_shm::errand::{ERRAND_BYTES_MAX, Errand, ErrandBytes};

/// What the owner does with bytes of its memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ErrandAction {
    /// It gives them.
    Read,
    /// It takes others in their place.
    Write,
    /// It compares them with some, and takes others in their place if they are equal. It gives what was there.
    Swap,
    /// It combines elements with others, and gives what was there if it is wanted.
    Combine {
        /// How.
        op: PredefinedOp,
        /// What they are.
        basic: Basic,
        /// What was there is wanted.
        fetches: bool,
    },
}

// Operations and datatypes go by the values of their handles, none of which is so small.
const READ: u32 = 0;
const WRITE: u32 = 1;
const SWAP: u32 = 2;
const DATATYPE_SHIFT: u32 = 16;

impl ErrandAction {
    /// An errand about `len` bytes at an offset, unless they and what goes with them are too many.
    pub(crate) fn errand(self, at: u64, len: usize) -> Option<Errand> {
        let (action, sends, returns) = match self {
            ErrandAction::Read => (READ, 0, len),
            ErrandAction::Write => (WRITE, len, 0),
            ErrandAction::Swap => (SWAP, len.checked_mul(2)?, len),
            ErrandAction::Combine { op, basic, fetches } => {
                let action = u32::from(basic.handle_value()) << DATATYPE_SHIFT | u32::from(op.handle_value());
                let sends = if op == PredefinedOp::NoOp { 0 } else { len };
                (action, sends, if fetches { len } else { 0 })
            }
        };
        let fits = len > 0 && len.max(sends) <= ERRAND_BYTES_MAX;
        fits.then_some(Errand { at, len, action, sends, returns })
    }

    /// What an errand asks for, if that can be done with so many bytes.
    fn of(Errand { len, action, sends, returns, .. }: Errand) -> Option<ErrandAction> {
        match action {
            READ => Some(ErrandAction::Read),
            WRITE => Some(ErrandAction::Write),
            SWAP => (sends == 2 * len).then_some(ErrandAction::Swap),
            _ => {
                let op = PredefinedOp::from_handle((action & 0xffff) as usize)?;
                let basic = Basic::from_handle((action >> DATATYPE_SHIFT) as usize)?;
                let is_defined = matches!(op, PredefinedOp::Replace | PredefinedOp::NoOp) || op.allows(basic);
                let are_whole = basic.is_contiguous() && len.is_multiple_of(basic.size());
                let combine = ErrandAction::Combine { op, basic, fetches: returns > 0 };
                (is_defined && are_whole).then_some(combine)
            }
        }
    }
}

/// This rank's part of a window, in which it does errands.
#[derive(Debug)]
pub(crate) struct ErrandOwner {
    /// The words of the window's ranks.
    pub controls: Arc<[WindowControl]>,
    /// This one.
    pub me: u32,
    /// Its memory.
    pub memory: ExposedMemory,
}

impl ErrandOwner {
    /// Does what somebody asks for; whether anybody did.
    #[inline(always)]
    pub(crate) fn serve(&self) -> bool {
        self.controls[self.me as usize].errand().serve(|errand, bytes| self.access(errand, bytes))
    }

    /// Whoever asks for elements to be combined holds their lock.
    fn access(&self, errand: Errand, bytes: &mut ErrandBytes) -> bool {
        let Errand { at, len, .. } = errand;
        let Some(action) = ErrandAction::of(errand) else { return false };
        let Some(there) = self.memory.contiguous(at, len as u64) else { return false };
        match action {
            ErrandAction::Read => there.read(0, &mut bytes[..len]),
            ErrandAction::Write => there.write(0, &bytes[..len]),
            ErrandAction::Swap => {
                let mut found = [0; ERRAND_BYTES_MAX];
                there.read(0, &mut found[..len]);
                if found[..len] == bytes[..len] {
                    there.write(0, &bytes[len..2 * len]);
                }
                bytes[..len].copy_from_slice(&found[..len]);
            }
            ErrandAction::Combine { op, basic, .. } => {
                let mut found = [0; ERRAND_BYTES_MAX];
                there.read(0, &mut found[..len]);
                if op != PredefinedOp::NoOp {
                    let mut combined = found;
                    reduce_slices(op, basic, &bytes[..len], &mut combined[..len]);
                    there.write(0, &combined[..len]);
                }
                bytes[..len].copy_from_slice(&found[..len]);
            }
        }
        true
    }
}

/// Whether to send others on errands: after one that nobody took up, the kernel is asked for a while, twice as long each time.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ErrandHabit {
    /// Accesses for which it is still asked.
    skips: u32,
    /// For how many it was asked last.
    skipped: u32,
}

impl ErrandHabit {
    /// Whether the next access is worth an errand.
    #[inline]
    pub(crate) fn is_worth_it(&mut self) -> bool {
        let is_worth_it = self.skips == 0;
        self.skips = self.skips.saturating_sub(1);
        is_worth_it
    }

    /// One was done, or not.
    #[inline]
    pub(crate) fn learn(&mut self, is_done: bool) {
        self.skipped =
            if is_done { 0 } else { (2 * self.skipped).clamp(ERRANDS_SKIPPED_MIN, ERRANDS_SKIPPED_MAX) };
        self.skips = self.skipped;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SUM: ErrandAction =
        ErrandAction::Combine { op: PredefinedOp::Sum, basic: Basic::Int64, fetches: true };

    #[test]
    fn an_errand_tells_what_is_asked_for() {
        for action in [ErrandAction::Read, ErrandAction::Write, ErrandAction::Swap, SUM] {
            assert_eq!(ErrandAction::of(action.errand(0, 16).unwrap()), Some(action));
        }
        let combine = |op, basic| ErrandAction::Combine { op, basic, fetches: true };
        let all =
            PredefinedOp::ALL.into_iter().flat_map(|op| Basic::ALL.into_iter().map(move |basic| (op, basic)));
        for (op, basic) in all.filter(|(_, basic)| basic.is_contiguous() && basic.size() <= ERRAND_BYTES_MAX)
        {
            let asked = ErrandAction::of(combine(op, basic).errand(0, basic.size()).unwrap());
            let may_be = matches!(op, PredefinedOp::Replace | PredefinedOp::NoOp) || op.allows(basic);
            assert_eq!(asked, may_be.then_some(combine(op, basic)), "{op} {basic}");
        }
    }

    #[test]
    fn what_does_not_fit_is_no_errand() {
        assert!(ErrandAction::Read.errand(0, ERRAND_BYTES_MAX + 1).is_none());
        assert!(ErrandAction::Swap.errand(0, ERRAND_BYTES_MAX / 2).is_some());
        assert!(ErrandAction::Swap.errand(0, ERRAND_BYTES_MAX / 2 + 1).is_none());
        assert!(ErrandAction::Write.errand(0, 0).is_none());
        let part = Errand { len: 12, ..SUM.errand(0, 16).unwrap() };
        assert_eq!(ErrandAction::of(part), None, "one and a half elements");
        let unequal = Errand { sends: 8, ..ErrandAction::Swap.errand(0, 8).unwrap() };
        assert_eq!(ErrandAction::of(unequal), None);
    }

    #[test]
    fn owners_combine_and_swap_their_own() {
        let mut words = [5i64, 6, 7];
        // SAFETY: the words outlive their use.
        let memory = unsafe { ExposedMemory::new(words.as_mut_ptr().cast(), 24) };
        let owner = ErrandOwner { controls: Arc::new([]), me: 0, memory };
        let mut bytes = [0; ERRAND_BYTES_MAX];
        let first = |bytes: &ErrandBytes| i64::from_ne_bytes(bytes[..8].try_into().unwrap());
        bytes[..8].copy_from_slice(&10i64.to_ne_bytes());
        assert!(owner.access(SUM.errand(8, 8).unwrap(), &mut bytes) && first(&bytes) == 6);
        for (compared, found) in [(5i64, 16), (16, 16), (16, 9)] {
            bytes[..8].copy_from_slice(&compared.to_ne_bytes());
            bytes[8..16].copy_from_slice(&9i64.to_ne_bytes());
            assert!(owner.access(ErrandAction::Swap.errand(8, 8).unwrap(), &mut bytes));
            assert_eq!(first(&bytes), found);
        }
        assert!(!owner.access(SUM.errand(24, 8).unwrap(), &mut bytes), "outside");
        assert_eq!(words, [5, 9, 7]);
    }

    #[test]
    fn who_does_no_errands_is_asked_less_and_less() {
        let mut habit = ErrandHabit::default();
        let mut asked = 0;
        for _ in 0..100 * ERRANDS_SKIPPED_MAX {
            if habit.is_worth_it() {
                asked += 1;
                habit.learn(false);
            }
        }
        assert!((100..120).contains(&asked), "{asked}");
        while !habit.is_worth_it() {}
        habit.learn(true);
        assert!(habit.is_worth_it());
    }
}

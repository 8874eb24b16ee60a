//! Errands in windows on the program's own memory: a rank that waits in a call accesses a few bytes of its memory for another one, which
//! otherwise would ask the kernel (`tern_shm::errand`). The kernel takes longer, and needs nothing from the target.
//! `by_owner.rs` has how others ask, and `staged.rs` how many bytes go, part by part.

use super::control::WindowControl;
use crate::limits::{ERRANDS_SKIPPED_MAX, ERRANDS_SKIPPED_MIN, STAGE_HALF_BYTES};
use std::sync::Arc;
use std::time::Duration;
use tern_mem::op::{PredefinedOp, reduce, reduce_slices};
use tern_mem::{Basic, ExposedMemory, UserBuf};
use tern_shm::errand::{ERRAND_BYTES_MAX, Errand, ErrandBytes};
use tern_shm::tuner::TwoWayTuner;

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
/// The bytes go by the owner's stage, not with the errand.
const STAGED: u32 = 1 << 31;
/// They go by its second half.
const SECOND_HALF: u32 = 1 << 30;
/// The owner stores past the cache.
const PAST_CACHE: u32 = 1 << 29;
const STAGE_FLAGS: u32 = STAGED | SECOND_HALF | PAST_CACHE;
const _: () = assert!(STAGE_HALF_BYTES <= u16::MAX as usize);

/// How bytes go by a stage.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct StageUse {
    /// By which half.
    pub half: StageHalf,
    /// Whoever fills it stores past the cache: where two cores share none, each line would be fetched from the other one first.
    pub past_cache: bool,
}

impl StageUse {
    /// Fills the half with bytes of a buffer, from `offset` on.
    pub(super) fn fill(self, staged: &UserBuf, from: &UserBuf, offset: usize) {
        match self.past_cache {
            true => UserBuf::copy_past_cache(from, offset, staged, 0, staged.len()),
            false => UserBuf::copy_between_cores(from, offset, staged, 0, staged.len()),
        }
    }
}

/// A half of a stage: while one side copies to or from it, the other side uses the other half.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum StageHalf {
    /// The first.
    First,
    /// The second.
    Second,
}

impl StageHalf {
    /// That of a part, by its number.
    pub(crate) fn of(part: usize) -> StageHalf {
        if part.is_multiple_of(2) { StageHalf::First } else { StageHalf::Second }
    }
}

impl ErrandAction {
    /// An errand about `len` bytes at an offset, unless they and what goes with them are too many.
    pub(crate) fn errand(self, at: u64, len: usize) -> Option<Errand> {
        let (sends, returns) = match self {
            ErrandAction::Read => (0, len),
            ErrandAction::Write => (len, 0),
            ErrandAction::Swap => (len.checked_mul(2)?, len),
            ErrandAction::Combine { op, fetches, .. } => {
                (if op == PredefinedOp::NoOp { 0 } else { len }, if fetches { len } else { 0 })
            }
        };
        let fits = len > 0 && len.max(sends) <= ERRAND_BYTES_MAX;
        fits.then_some(Errand { at, len, action: self.number(), sends, returns })
    }

    /// The same about bytes that go by a half of the owner's stage, which holds them. No such errand gives bytes and takes others.
    pub(super) fn staged(self, at: u64, len: usize, stage: StageUse) -> Errand {
        let flag = |is_set: bool, flag: u32| if is_set { flag } else { 0 };
        let how = flag(stage.half == StageHalf::Second, SECOND_HALF) | flag(stage.past_cache, PAST_CACHE);
        Errand { at, len, action: self.number() | STAGED | how, sends: 0, returns: 0 }
    }

    fn number(self) -> u32 {
        match self {
            ErrandAction::Read => READ,
            ErrandAction::Write => WRITE,
            ErrandAction::Swap => SWAP,
            ErrandAction::Combine { op, basic, .. } => {
                u32::from(basic.handle_value()) << DATATYPE_SHIFT | u32::from(op.handle_value())
            }
        }
    }

    /// What an errand asks for, and how by the stage, if that can be done with so many bytes.
    fn of(Errand { len, action, sends, returns, .. }: Errand) -> Option<(ErrandAction, Option<StageUse>)> {
        let half = if action & SECOND_HALF == 0 { StageHalf::First } else { StageHalf::Second };
        let staged =
            (action & STAGED != 0).then_some(StageUse { half, past_cache: action & PAST_CACHE != 0 });
        if len > if staged.is_some() { STAGE_HALF_BYTES } else { ERRAND_BYTES_MAX } {
            return None;
        }
        let action = match action & !STAGE_FLAGS {
            READ => Some(ErrandAction::Read),
            WRITE => Some(ErrandAction::Write),
            SWAP => (sends == 2 * len && staged.is_none()).then_some(ErrandAction::Swap),
            action => {
                let op = PredefinedOp::from_handle((action & 0xffff) as usize)?;
                let basic = Basic::from_handle((action >> DATATYPE_SHIFT) as usize)?;
                let is_defined = matches!(op, PredefinedOp::Replace | PredefinedOp::NoOp) || op.allows(basic);
                let are_whole = basic.is_contiguous() && len.is_multiple_of(basic.size());
                let combine = ErrandAction::Combine { op, basic, fetches: returns > 0 };
                (is_defined && are_whole).then_some(combine)
            }
        };
        action.map(|action| (action, staged))
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
    /// Whether somebody has asked in vain since the last look.
    pub(crate) fn take_wanted(&self) -> bool {
        self.controls[self.me as usize].take_wanted()
    }

    /// Does what somebody asks for; whether anybody did.
    #[inline(always)]
    pub(crate) fn serve(&self) -> bool {
        self.controls[self.me as usize].errand().serve(|errand, bytes| self.access(errand, bytes))
    }

    /// Whoever asks for elements to be combined holds their lock.
    fn access(&self, errand: Errand, bytes: &mut ErrandBytes) -> bool {
        let Errand { at, len, .. } = errand;
        let Some((action, staged)) = ErrandAction::of(errand) else { return false };
        let Some(there) = self.memory.contiguous(at, len as u64) else { return false };
        if let Some(staged) = staged {
            return self.access_staged(action, &there, staged);
        }
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

    /// The same of bytes that go by a half of the stage.
    fn access_staged(&self, action: ErrandAction, there: &UserBuf, stage: StageUse) -> bool {
        let own = &self.controls[self.me as usize];
        let Some(staged) = own.stage(stage.half, there.len()) else { return false };
        match action {
            ErrandAction::Read => stage.fill(&staged, there, 0),
            ErrandAction::Write => UserBuf::copy_between_cores(&staged, 0, there, 0, there.len()),
            ErrandAction::Combine { op, basic, fetches: false } if op != PredefinedOp::NoOp => {
                let (Some(from), Some(to)) =
                    (staged.contiguous_at(0, there.len()), there.contiguous_at(0, there.len()))
                else {
                    return false;
                };
                // SAFETY: both are so many bytes, whole elements; whoever asks holds the lock of these, and leaves the stage alone.
                unsafe { reduce(op, basic, from, to, there.len() / basic.size()) };
            }
            ErrandAction::Combine { .. } | ErrandAction::Swap => return false,
        }
        true
    }
}

/// Whether to send the owner of some memory on errands. After one that it did not take up, the kernel is asked for a while, twice as long each
/// time, unless the owner wakes up before.
#[derive(Clone, Debug, Default)]
pub(crate) struct ErrandHabit {
    /// Accesses for which the kernel is still asked.
    skips: u32,
    /// For how many it was asked last.
    skipped: u32,
    /// The owner was woken, since it is wanted.
    is_rung: bool,
    /// Whether the stage is filled past the cache, by transfers of each [`StageKind`]. Most ranks are no targets of long ones.
    stores: Option<Box<[TwoWayTuner; 3]>>,
}

/// Transfers by a stage that take alike.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum StageKind {
    Put,
    Get,
    Accumulate,
}

impl StageKind {
    fn of(action: ErrandAction) -> StageKind {
        match action {
            ErrandAction::Read => StageKind::Get,
            ErrandAction::Write | ErrandAction::Swap => StageKind::Put,
            ErrandAction::Combine { .. } => StageKind::Accumulate,
        }
    }
}

impl ErrandHabit {
    /// Whether the next access, as long as so many of a few bytes, is worth an errand. `owner` are the words of the memory's owner.
    #[inline]
    pub(crate) fn is_worth_it(&mut self, weight: u32, owner: &WindowControl) -> bool {
        self.skips = self.skips.saturating_sub(weight);
        self.skips == 0 || self.is_rung && !owner.is_wanted()
    }

    /// Whether the owner was woken, since it is wanted, and may soon be ready for errands.
    #[inline]
    pub(crate) fn is_rung(&self) -> bool {
        self.is_rung
    }

    /// One was done.
    #[inline]
    pub(crate) fn learn_done(&mut self) {
        (self.skips, self.skipped, self.is_rung) = (0, 0, false);
    }

    /// Whether the next transfer by the stage is to fill it past the cache. One that `is_measured` will tell how long it took.
    pub(super) fn goes_past_cache(&mut self, action: ErrandAction, is_measured: bool) -> bool {
        let kind = StageKind::of(action) as usize;
        match is_measured {
            true => self.stores.get_or_insert_default()[kind].next(false, true),
            false => self.stores.as_ref().is_some_and(|tuners| tuners[kind].best()),
        }
    }

    /// How long one took.
    pub(super) fn learn_time(
        &mut self,
        action: ErrandAction,
        past_cache: bool,
        bytes: usize,
        took: Duration,
    ) {
        if let Some(tuners) = &mut self.stores {
            tuners[StageKind::of(action) as usize].note(past_cache, bytes as u64, took);
        }
    }

    /// One was not. `is_rung`: its owner slept, and was woken.
    pub(crate) fn learn_undone(&mut self, is_rung: bool) {
        self.is_rung = is_rung;
        self.skipped = (2 * self.skipped).clamp(ERRANDS_SKIPPED_MIN, ERRANDS_SKIPPED_MAX);
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
            assert_eq!(ErrandAction::of(action.errand(0, 16).unwrap()), Some((action, None)));
        }
        let combine = |op, basic| ErrandAction::Combine { op, basic, fetches: true };
        let all =
            PredefinedOp::ALL.into_iter().flat_map(|op| Basic::ALL.into_iter().map(move |basic| (op, basic)));
        for (op, basic) in all.filter(|(_, basic)| basic.is_contiguous() && basic.size() <= ERRAND_BYTES_MAX)
        {
            let asked = ErrandAction::of(combine(op, basic).errand(0, basic.size()).unwrap());
            let may_be = matches!(op, PredefinedOp::Replace | PredefinedOp::NoOp) || op.allows(basic);
            assert_eq!(asked, may_be.then_some((combine(op, basic), None)), "{op} {basic}");
        }
    }

    #[test]
    fn an_errand_by_the_stage_tells_how() {
        let add = ErrandAction::Combine { op: PredefinedOp::Sum, basic: Basic::Double, fetches: false };
        for action in [ErrandAction::Read, ErrandAction::Write, add] {
            for half in [StageHalf::First, StageHalf::Second] {
                for past_cache in [false, true] {
                    let stage = StageUse { half, past_cache };
                    let asked = |len| ErrandAction::of(action.staged(5, len, stage));
                    assert_eq!(asked(STAGE_HALF_BYTES), Some((action, Some(stage))));
                    assert_eq!(asked(STAGE_HALF_BYTES + 8), None, "more than a half");
                }
            }
        }
        assert_eq!(
            ErrandAction::of(ErrandAction::Swap.staged(
                0,
                8,
                StageUse { half: StageHalf::First, past_cache: false }
            )),
            None
        );
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
        let (owner, mut habit, mut asked) = (control(), ErrandHabit::default(), 0);
        for _ in 0..100 * ERRANDS_SKIPPED_MAX {
            if habit.is_worth_it(1, &owner) {
                asked += 1;
                habit.learn_undone(false);
            }
        }
        assert!((100..120).contains(&asked), "{asked}");
        habit.learn_done();
        assert!(habit.is_worth_it(1, &owner));
        habit.learn_undone(false);
        assert!(!habit.is_worth_it(1, &owner));
        assert!(habit.is_worth_it(ERRANDS_SKIPPED_MIN, &owner), "a long access counts as many");
    }

    #[test]
    fn stores_past_the_cache_are_for_who_takes_less_time_so() {
        let mut habit = ErrandHabit::default();
        assert!(!habit.goes_past_cache(ErrandAction::Write, false));
        for _ in 0..100 {
            let past = habit.goes_past_cache(ErrandAction::Write, true);
            habit.learn_time(
                ErrandAction::Write,
                past,
                1 << 16,
                Duration::from_micros(if past { 5 } else { 15 }),
            );
            habit.learn_done();
        }
        assert!(habit.goes_past_cache(ErrandAction::Write, false));
        assert!(!habit.goes_past_cache(ErrandAction::Read, false), "of gets nothing is known");
    }

    #[test]
    fn who_is_woken_is_asked_once_it_is_awake() {
        let (owner, mut habit) = (control(), ErrandHabit::default());
        owner.want();
        habit.learn_undone(true);
        assert!(!habit.is_worth_it(1, &owner));
        assert!(owner.take_wanted() && !owner.take_wanted());
        assert!(habit.is_worth_it(1, &owner));
    }

    fn control() -> WindowControl {
        let memory = tern_shm::JobMemory::new(None).unwrap();
        let words = WindowControl::bytes(1, false);
        WindowControl::new(memory.map(0, words).unwrap(), 1, false)
    }
}

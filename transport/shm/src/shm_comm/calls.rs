//! Calls whose ranks differ: how they are noticed, and how the next call comes out right all the same.
//!
//! All ranks make the same calls in the same order, so each counts them. A *mark* says what the call is: all ranks must
//! come with the same. The count of a flag is the call's number and the step within the call; beside it stands the mark. So a
//! flag of another call, or of a rank that calls something else, is never taken for what is awaited.
//!
//! Who waits for long looks at what the others say of themselves: each leaves the number and the mark of its call beside how far it
//! has come. It does so where others may go on without it, in eager steps and messages, where it is counted as arrived, and wherever it
//! waits for long itself. A rank that finds a mismatch leaves the call. The sync steps that it began there do not count, since
//! nobody can have completed one. Before its next call it waits until the others have left that one too: then nobody writes where
//! they once did.

use super::ShmComm;
use super::arrivals::Arrived;
use super::counts::{CALL_BITS, STEP_BITS, STEPS, UNLIKE, call_of, first_step_of};
use super::lines::Lines;
use super::watch::{Arrival, ShmWatch, Sight, SyncStep};

/// The step of a rank that has left the call.
const HAS_LEFT: u64 = STEPS;
/// The step of a call that has no other, and whose mark is zero: a flag with this count needs no mark beside it. A second store to the
/// line would cost a barrier a ninth of its time, since the rank that looks at the line takes it away in between.
const SOLE: u64 = STEPS - 1;

/// What another rank does instead.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mismatch {
    /// It makes this call with another mark.
    Unlike {
        /// The rank.
        rank: u32,
        /// Its mark.
        mark: u64,
    },
    /// It has left the call, or has gone on to later ones.
    Gone {
        /// The rank, if it can be told.
        rank: Option<u32>,
    },
}

/// What a rank says of itself.
struct ToldCall {
    count: u64,
    mark: u64,
}

impl ShmComm {
    /// Bits of a mark that are kept for its number: all others are the caller's.
    pub const MARK_BITS_RESERVED: u32 = CALL_BITS.count_ones();
}

impl<L: Lines> ShmComm<L> {
    /// Begins the next call. All ranks have to come with the same mark, whose lowest [`ShmComm::MARK_BITS_RESERVED`] bits are zero.
    #[inline]
    pub fn begin(&mut self, mark: u64) {
        self.calls += 1;
        self.steps = 0;
        self.mark = mark | (self.calls & CALL_BITS);
        self.sync_steps_before = self.sync_steps;
    }

    /// Says of this rank which call it has begun. All ranks do so that send messages or wait: two may wait for one another to be
    /// through with an earlier call. What a rank publishes comes first: another one's copy of this line would hold it up.
    #[inline]
    pub fn tell(&self) {
        if self.has_buffer && self.told.replace(self.calls) != self.calls {
            self.lines.raise_progress(
                self.through_line(self.member.rank),
                first_step_of(self.calls),
                self.mark,
            );
        }
    }

    /// The count of the next step.
    #[inline]
    pub(super) fn step(&mut self) -> u64 {
        self.steps += 1;
        self.calls << STEP_BITS | u64::from(self.steps)
    }

    /// The count of the call's step if it has no other.
    #[inline]
    pub(super) fn sole_step(&self) -> u64 {
        self.calls << STEP_BITS | SOLE
    }

    /// Where the call begins that is so many before this one.
    #[inline]
    pub(super) fn first_step(&self, before: u64) -> u64 {
        self.calls.saturating_sub(before) << STEP_BITS
    }

    /// Leaves the call, because of a [`Mismatch`]. Nobody waits for this rank there any longer.
    pub fn abandon(&mut self) {
        self.sync_steps = self.sync_steps_before;
        if !self.has_buffer {
            return;
        }
        self.left = Some(self.calls);
        self.told.set(self.calls);
        self.lines.raise_progress(
            self.through_line(self.member.rank),
            self.calls << STEP_BITS | HAS_LEFT,
            self.mark,
        );
    }

    /// What has to be waited for before this rank may begin its next call, if anything: a rank that has not yet left a
    /// call that this one has abandoned. Until then that one can read what this rank came with.
    #[inline]
    pub fn unsettled(&mut self) -> Option<ShmWatch> {
        self.left?;
        self.look_who_stays()
    }

    #[cold]
    fn look_who_stays(&mut self) -> Option<ShmWatch> {
        let count = self.left? << STEP_BITS | HAS_LEFT;
        let lines = self.others().map(|rank| self.through_line(rank));
        let behind = lines.into_iter().find(|&line| self.lines.count(line) < count);
        if behind.is_none() {
            self.left = None;
        }
        behind.map(|line| ShmWatch::Progress { line, count })
    }

    /// Why what is watched will not come, after a [`Sight::Amiss`].
    #[cold]
    pub fn mismatch(&self, watch: &ShmWatch) -> Mismatch {
        if let ShmWatch::Flag { line, count, by } | ShmWatch::Sole { line, count, by } = *watch {
            let seen = self.lines.count(line);
            if seen == self.sole_step() {
                return Mismatch::Unlike { rank: by, mark: 0 };
            }
            if seen == count || call_of(seen) == self.calls && count == self.sole_step() {
                return Mismatch::Unlike { rank: by, mark: self.lines.mark(line) & !CALL_BITS };
            }
        }
        self.first_mismatch().unwrap_or(Mismatch::Gone { rank: None })
    }

    /// Why what has not come yet will not come, if that can be told: for those who have waited for a while.
    #[cold]
    pub fn obstacle(&self, watch: &ShmWatch) -> Option<Mismatch> {
        if !self.has_buffer {
            return None;
        }
        self.tell();
        let found = match *watch {
            ShmWatch::Gate { .. } => self.first_mismatch(),
            ShmWatch::Flag { by, .. } | ShmWatch::Sole { by, .. } => {
                self.unlike(by).or_else(|| self.gone(by))
            }
            ShmWatch::Progress { .. } => None,
        };
        // Whoever has gone on may have done its part before.
        found.filter(|_| self.look(watch) == Sight::Pending)
    }

    /// Another rank's call that is not this one's, if there is one.
    #[cold]
    pub fn first_mismatch(&self) -> Option<Mismatch> {
        self.others()
            .find_map(|rank| self.unlike(rank))
            .or_else(|| self.others().find_map(|rank| self.gone(rank)))
    }

    /// Another rank makes this call with another mark, or one of those that are `awaited` has left it: for a rank whose call goes by
    /// messages, and which has waited for a while.
    #[cold]
    pub fn obstacle_beside(&self, mut awaited: impl Iterator<Item = u32>) -> Option<Mismatch> {
        let unlike = self.others().find_map(|rank| self.unlike(rank));
        unlike.or_else(|| awaited.find_map(|rank| self.gone(rank)))
    }

    /// The rank makes this call with another mark.
    fn unlike(&self, rank: u32) -> Option<Mismatch> {
        let call = self.call(rank)?;
        let differs = call.count >> STEP_BITS == self.calls && call.mark != self.mark;
        differs.then_some(Mismatch::Unlike { rank, mark: call.mark & !CALL_BITS })
    }

    /// The rank has left this call.
    fn gone(&self, rank: u32) -> Option<Mismatch> {
        let count = self.lines.count(self.through_line(rank));
        (count >= self.calls << STEP_BITS | HAS_LEFT).then_some(Mismatch::Gone { rank: Some(rank) })
    }

    /// What a rank says of itself, unless it is just saying something else.
    fn call(&self, rank: u32) -> Option<ToldCall> {
        let line = self.through_line(rank);
        let call = ToldCall { count: self.lines.count(line), mark: self.lines.mark(line) };
        (call.mark & CALL_BITS == (call.count >> STEP_BITS) & CALL_BITS).then_some(call)
    }

    fn others(&self) -> impl Iterator<Item = u32> + use<L> {
        let me = self.member.rank;
        (0..self.member.size).filter(move |&rank| rank != me)
    }

    /// This rank is the last to arrive, and marks differ; or others have arrived elsewhere.
    #[cold]
    pub(super) fn arrived_amiss(&self, sync: SyncStep, arrived: Arrived) -> Arrival {
        let Arrived::Elsewhere(seen) = arrived else {
            self.lines.open(sync.count, UNLIKE);
            return Arrival::Amiss;
        };
        if self.has_buffer && self.others().any(|rank| self.gone(rank).is_some()) {
            return Arrival::Amiss;
        }
        // They arrived at an earlier step, and left it because of a mismatch.
        self.lines.forget_arrivals(seen);
        self.arrive(sync)
    }
}

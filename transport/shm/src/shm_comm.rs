//! Memory that the ranks of one communicator share for its collectives (MPI for the T3D, section 3.3: collective
//! communication uses slots of its own, apart from messages).
//!
//! There are two ways to use it, each with memory of its own:
//!
//! - A *sync step*: nobody leaves before all have come (barrier, allreduce, reduce_scatter, allgather, alltoall). Its flags are those
//!   of one of two halves, which sync steps use in turn: whoever has left a sync step knows that all have left
//!   the one before. Its data lie in one of several *sync buffers*, which calls use in turn.
//! - An *eager step*: some write and some read, and who has written goes on (bcast, reduce, gather, scatter, scan). Its data lie in
//!   one of several *eager slots*. One is used again once all ranks have said that they are through with what it held before.
//!
//! In both, small data travel in the line of the flag that announces them. A flag has one writer at a time, and only
//! counts upwards, so nothing has to be cleared between calls.
//!
//! Who arrives at a sync step of more than two ranks counts up one word, and whoever comes last opens the gate,
//! which is what the others wait for: one line is looked at, and one system call wakes all who sleep. Two ranks
//! need no such count: each looks at the other's flag.
//!
//! A wrong program brings ranks together whose calls differ. Each call therefore has a number and a mark, which all flags of
//! the call carry: see `calls`.

mod arrivals;
mod calls;
mod counts;
mod lines;
mod parts;
mod shared_lines;
mod watch;

use std::cell::Cell;
use std::hint;
use std::marker::PhantomData;

use tern_mem::UserBuf;

pub use super::flag::FlagPayload;
use super::hints;
use crate::limits::*;

pub(crate) use arrivals::Arrivals;
pub use arrivals::Arrived;
pub use calls::Mismatch;
pub use lines::Lines;
pub use parts::BoundPlace;
pub use shared_lines::SharedLines;
pub(crate) use shared_lines::clear;
pub use watch::{Arrival, EagerStep, ShmMember, ShmWatch, Sight, SyncStep};

/// What the ranks of a shm communicator have told each other once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CommonFacts {
    /// The kernel lets each rank reach all others' memory.
    pub all_reach: bool,
    /// Some rank says that the ranks of its node outnumber the cores.
    pub is_crowded: bool,
    /// All say that their processor copies through cells faster than the kernel copies, even where ranks share cores.
    pub fast_cells: bool,
}

/// A communicator's ranks, all on this node, and their shared memory. Each rank has one of these; one thread at a
/// time uses it. All ranks begin the same sync steps and eager steps in the same order.
///
/// `L` is where its lines are: in the segment of a job, or for the simulator in memory that has a price.
pub struct ShmComm<L = SharedLines> {
    lines: L,
    member: ShmMember,
    has_buffer: bool,
    /// See [`ShmComm::look_often`].
    looks: u32,
    /// Calls begun.
    calls: u64,
    /// The mark of the last one, which holds some bits of its number.
    mark: u64,
    /// The last one that this rank has told the others of.
    told: Cell<u64>,
    /// Sync steps and eager steps begun in it. Shorter than the count below it: a compiler that added to both by one instruction would wait
    /// for this one's last store, and the flag stored before it, to leave the processor.
    steps: u32,
    /// Sync steps begun in all calls.
    sync_steps: u64,
    /// So many had been begun before this call.
    sync_steps_before: u64,
    /// The last sync step of each sync buffer.
    sync_buffers: [u64; SYNC_BUFFERS],
    /// The last eager step of each eager slot.
    eager_slots: [u64; EAGER_SLOTS],
    /// The last eager step of each of the flags that have no slot.
    eager_payloads: [u64; EAGER_PAYLOADS],
    /// All ranks have come so far.
    through: Cell<u64>,
    /// The call that this rank has left before its end, until all others have left it.
    left: Option<u64>,
    /// See [`ShmComm::common`].
    common: Option<CommonFacts>,
}

/// A part of the shared memory. Only bytes that no other rank is told to touch now may be touched: that is what the
/// order of sync steps and eager steps is for. A rank that breaks it reads or spoils data, never anything else.
#[derive(Clone)]
pub struct Area<'a> {
    buf: UserBuf,
    lines: PhantomData<&'a ()>,
}

impl Area<'_> {
    /// The bytes as a buffer.
    pub fn buf(&self) -> &UserBuf {
        &self.buf
    }

    /// Some of the bytes as a buffer.
    ///
    /// # Panics
    /// If there are not so many.
    pub fn part(&self, at: usize, len: usize) -> UserBuf {
        let base = self.address(at, len);
        // SAFETY: within the area, just checked; it is memory for as long as the lines are, and flags tell who uses it when.
        self.buf.part(at, len).unwrap_or_else(|| unsafe { UserBuf::contiguous(base, len) })
    }

    /// Says that this rank is about to write `len` bytes at `at`: their lines are fetched from the other cores' caches all at
    /// once, where stores would wait for one after the other.
    #[inline]
    pub fn will_write(&self, at: usize, len: usize) {
        let base = self.address(at, len);
        for line in (0..len.min(ANNOUNCED_BYTES_MAX)).step_by(LINE_BYTES) {
            hints::will_write(base.wrapping_add(line));
        }
    }

    /// Address of the byte at `at`, which is followed by `len` more of the area.
    ///
    /// # Panics
    /// If there are not so many.
    pub fn address(&self, at: usize, len: usize) -> *mut u8 {
        let (base, bytes) = self.buf.as_contiguous().expect("an area is flat");
        assert!(at <= bytes && len <= bytes - at, "{len} bytes at {at} of {bytes}");
        std::ptr::with_exposed_provenance_mut(base + at)
    }
}

impl<L> std::fmt::Debug for ShmComm<L> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.member)
    }
}

impl ShmComm {
    /// Slots that each rank can lead.
    pub const SLOTS: u32 = SHM_COMM_SLOTS as u32;
    /// Bytes that one sync step can move.
    pub const SYNC_BUFFER_BYTES: usize = SYNC_BUFFER_BYTES;
    /// Bytes of its memory: those, and room for what ranks say of their blocks.
    pub const SYNC_AREA_BYTES: usize = SYNC_AREA_BYTES;
    /// Bytes that one eager step can move.
    pub const EAGER_SLOT_BYTES: usize = EAGER_SLOT_BYTES;
    /// Bytes that travel in the line of a flag.
    pub const FLAG_PAYLOAD_BYTES: usize = FLAG_PAYLOAD_BYTES;
    /// Ranks that may read one rank's memory at once.
    pub const READERS_MAX: usize = READERS_MAX;
}

impl<L> ShmComm<L> {
    /// A rank of a shm communicator, at its beginning.
    ///
    /// # Panics
    /// If there is no such rank.
    pub fn over(lines: L, member: ShmMember, has_buffer: bool) -> Self {
        assert!(member.rank < member.size, "rank {} of {}", member.rank, member.size);
        ShmComm {
            lines,
            member,
            has_buffer,
            looks: 1,
            calls: 0,
            told: Cell::new(0),
            mark: 0,
            steps: 0,
            sync_steps: 0,
            sync_steps_before: 0,
            sync_buffers: [0; SYNC_BUFFERS],
            eager_slots: [0; EAGER_SLOTS],
            eager_payloads: [0; EAGER_PAYLOADS],
            through: Cell::new(0),
            left: None,
            common: None,
        }
    }

    /// How often [`ShmComm::look_often`] looks: once unless this is said.
    pub fn set_looks(&mut self, looks: u32) {
        self.looks = looks;
    }

    /// What the ranks have told each other once, if they have. The same at all ranks.
    #[inline]
    pub fn common(&self) -> Option<CommonFacts> {
        self.common
    }

    /// Keeps what they have told each other.
    pub fn set_common(&mut self, facts: CommonFacts) {
        self.common = Some(facts);
    }

    /// Its lines.
    #[inline]
    pub(crate) fn lines(&self) -> &L {
        &self.lines
    }

    /// Whether data can be moved: otherwise only [`ShmComm::arrive`] may be used. The same at all ranks.
    #[inline]
    pub fn has_buffer(&self) -> bool {
        self.has_buffer
    }

    /// This rank.
    #[inline]
    pub fn rank(&self) -> u32 {
        self.member.rank
    }

    /// Ranks.
    #[inline]
    pub fn size(&self) -> u32 {
        self.member.size
    }

    /// Which communicator, and which of its ranks.
    pub fn member(&self) -> ShmMember {
        self.member
    }
}

/// Sync steps.
impl<L: Lines> ShmComm<L> {
    /// Begins the next sync step of the call.
    #[inline]
    pub fn begin_sync(&mut self) -> SyncStep {
        let buffer = (self.calls + self.sync_steps - self.sync_steps_before) as usize % SYNC_BUFFERS;
        self.sync_steps += 1;
        SyncStep { count: self.step(), half: (self.sync_steps % 2) as usize, buffer }
    }

    /// What must be waited for before this rank may write to the sync buffer, if anything: a rank that has not left the call
    /// whose data lay there, or is so many calls behind that it may yet write there, in a call that differs.
    #[inline]
    pub fn before_sync_write(&mut self, sync: SyncStep) -> Option<ShmWatch> {
        let last = counts::call_of(self.sync_buffers[sync.buffer]);
        if last < self.calls {
            let free_at = self.first_step(SYNC_BUFFERS as u64 - 1).max(counts::first_step_of(last + 1));
            if free_at > self.through.get()
                && let Some(behind) = self.look_who_is_behind(free_at, free_at)
            {
                return Some(behind);
            }
        }
        self.sync_buffers[sync.buffer] = sync.count;
        None
    }

    /// All have come to a sync step of this call: they have left those before.
    #[inline]
    pub fn all_have_come(&self) {
        self.through.set(self.through.get().max(self.first_step(0)));
    }

    /// The step's memory, [`ShmComm::SYNC_AREA_BYTES`]: to write there, [`ShmComm::before_sync_write`] must say that nobody is behind.
    #[inline]
    pub fn sync_buffer(&self, sync: SyncStep) -> Area<'_> {
        self.area(sync.buffer * SYNC_AREA_BYTES, SYNC_AREA_BYTES)
    }

    /// The sync buffer of the call's first sync step, for a rank's own use once all have come to one.
    #[inline]
    pub fn scratch(&self) -> Area<'_> {
        self.area(self.calls as usize % SYNC_BUFFERS * SYNC_AREA_BYTES, SYNC_AREA_BYTES)
    }

    /// Arrives: what this rank has written is ready.
    #[inline]
    pub fn arrive(&self, sync: SyncStep) -> Arrival {
        // Whoever finds this rank's arrival where others arrived at an earlier step has to know that it is the newer one.
        self.tell();
        match self.lines.arrive(sync.count, self.mark) {
            Arrived::Number(number, _) if number < self.member.size => {
                Arrival::Early(ShmWatch::Gate { count: sync.count })
            }
            Arrived::Number(_, true) => Arrival::Last,
            other => self.arrived_amiss(sync, other),
        }
    }

    /// All may leave: whoever came last says so.
    #[inline]
    pub fn open(&self, sync: SyncStep) {
        self.lines.open(sync.count, self.mark);
    }

    /// Arrives by this rank's flag.
    #[inline]
    pub fn come(&self, sync: SyncStep) {
        self.lines.raise(self.post_line(sync, self.member.rank), sync.count, self.mark);
    }

    /// Comes to the only sync step of a call whose mark is zero, without data: one word says all of it. Two ranks synchronize so.
    /// The answer is what this rank waits for.
    #[inline]
    pub fn come_solely(&mut self) -> (SyncStep, ShmWatch) {
        debug_assert!(self.member.size == 2 && self.mark & !counts::CALL_BITS == 0, "a barrier of two");
        let sync = SyncStep { count: self.sole_step(), ..self.begin_sync() };
        self.lines.raise_count(self.post_line(sync, self.member.rank), sync.count);
        let by = 1 - self.member.rank;
        (sync, ShmWatch::Sole { line: self.post_line(sync, by), count: sync.count, by })
    }

    /// Arrives by this rank's flag, with a payload.
    #[inline]
    pub fn post(&self, sync: SyncStep, payload: &FlagPayload) {
        self.lines.raise_with(self.post_line(sync, self.member.rank), sync.count, self.mark, payload);
    }

    /// The arrival of a rank by its flag.
    #[inline]
    pub fn posted(&self, sync: SyncStep, rank: u32) -> ShmWatch {
        ShmWatch::Flag { line: self.post_line(sync, rank), count: sync.count, by: rank }
    }

    /// The payload of a rank that has arrived.
    #[inline]
    pub fn posted_payload(&self, sync: SyncStep, rank: u32) -> FlagPayload {
        self.lines.payload(self.post_line(sync, rank))
    }

    /// The `turn`-th rank has been at slice `slice` of the sync buffer, counted from one. That was rank `by`.
    #[inline]
    pub fn turn(&self, sync: SyncStep, slice: u32, turn: u32, by: u32) -> ShmWatch {
        ShmWatch::Flag { line: self.turn_line(sync, slice), count: turn_count(sync, turn), by }
    }

    /// Leaves slice `slice` to the next rank, as the `turn`-th.
    #[inline]
    pub fn pass_turn(&self, sync: SyncStep, slice: u32, turn: u32) {
        self.lines.raise(self.turn_line(sync, slice), turn_count(sync, turn), self.mark);
    }
}

/// Eager steps.
impl<L: Lines> ShmComm<L> {
    /// Begins the next eager step of the call.
    #[inline]
    pub fn begin_eager(&mut self) -> EagerStep {
        let count = self.step();
        let slot = (self.calls + u64::from(self.steps)) as usize % EAGER_SLOTS;
        // A rank is at most so many calls ahead of another, whatever these were.
        let free_at = std::mem::replace(&mut self.eager_slots[slot], count)
            .max(self.first_step(EAGER_SLOTS as u64 - 1));
        EagerStep { count, place: slot, free_at }
    }

    /// Begins the next eager step of the call, in which nobody publishes or contributes more than a flag payload: it has no eager slot, and
    /// more of them may be under way.
    #[inline]
    pub fn begin_eager_payload(&mut self) -> EagerStep {
        let count = self.step();
        let flags = self.eager_payload_flags();
        let flag = (self.calls + u64::from(self.steps)) as usize & (flags - 1);
        let free_at =
            std::mem::replace(&mut self.eager_payloads[flag], count).max(self.first_step(flags as u64 - 1));
        EagerStep { count, place: EAGER_SLOTS + flag, free_at }
    }

    /// The step's memory: [`ShmComm::EAGER_SLOT_BYTES`].
    #[inline]
    pub fn eager_slot(&self, eager: EagerStep) -> Area<'_> {
        debug_assert!(eager.place < EAGER_SLOTS, "a payload has no slot");
        self.area(SYNC_BUFFERS * SYNC_AREA_BYTES + eager.place * EAGER_SLOT_BYTES, EAGER_SLOT_BYTES)
    }

    /// Steps without a slot that may be under way: a power of two.
    #[inline]
    fn eager_payload_flags(&self) -> usize {
        if self.member.size == 2 { EAGER_PAYLOADS_OF_TWO } else { EAGER_PAYLOADS }
    }

    /// What must be waited for before this rank may write for an eager step, if anything: a rank that is not through with
    /// what lay in the same eager slot.
    #[inline]
    pub fn before_eager_write(&self, eager: EagerStep) -> Option<ShmWatch> {
        if eager.free_at <= self.through.get() {
            return None;
        }
        self.look_who_is_behind(eager.free_at, self.halfway(eager).max(eager.free_at))
    }

    /// The eager step half as many ago as may be under way. Who has to wait waits until all are through with that one: to look again
    /// in each call would take the line from the rank that is behind, each time.
    #[inline]
    fn halfway(&self, eager: EagerStep) -> u64 {
        match eager.place.checked_sub(EAGER_SLOTS) {
            None => self.eager_slots[(eager.place + EAGER_SLOTS / 2) % EAGER_SLOTS],
            Some(flag) => {
                let flags = self.eager_payload_flags();
                self.eager_payloads[(flag + flags / 2) & (flags - 1)]
            }
        }
    }

    /// Looks whether all are as far as is needed; otherwise, what is to be waited for of the first that is not.
    fn look_who_is_behind(&self, needed: u64, awaited: u64) -> Option<ShmWatch> {
        let mut through = u64::MAX;
        for rank in (0..self.member.size).filter(|&rank| rank != self.member.rank) {
            let line = self.through_line(rank);
            let count = self.lines.count(line);
            if count < needed {
                return Some(ShmWatch::Progress { line, count: awaited });
            }
            through = through.min(count);
        }
        self.through.set(through);
        None
    }

    /// Tells all that what this rank has for them is there: the payload, and what lies in the eager slot.
    #[inline]
    pub fn publish(&self, eager: EagerStep, payload: &FlagPayload) {
        self.lines.raise_with(self.publish_line(eager), eager.count, self.mark, payload);
    }

    /// Rank `by` has published.
    #[inline]
    pub fn published(&self, eager: EagerStep, by: u32) -> ShmWatch {
        ShmWatch::Flag { line: self.publish_line(eager), count: eager.count, by }
    }

    /// The payload of who has published.
    #[inline]
    pub fn published_payload(&self, eager: EagerStep) -> FlagPayload {
        self.lines.payload(self.publish_line(eager))
    }

    /// Tells the one who reads from all that this rank's part is there: the payload, and what lies in its part of the eager slot.
    #[inline]
    pub fn contribute(&self, eager: EagerStep, payload: &FlagPayload) {
        self.lines.raise_with(
            self.contribution_line(eager, self.member.rank),
            eager.count,
            self.mark,
            payload,
        );
    }

    /// A rank has contributed.
    #[inline]
    pub fn contributed(&self, eager: EagerStep, rank: u32) -> ShmWatch {
        ShmWatch::Flag { line: self.contribution_line(eager, rank), count: eager.count, by: rank }
    }

    /// The payload of a rank that has contributed.
    #[inline]
    pub fn contributed_payload(&self, eager: EagerStep, rank: u32) -> FlagPayload {
        self.lines.payload(self.contribution_line(eager, rank))
    }

    /// This rank is through with the step: it has written and read what it had to.
    #[inline]
    pub fn end_eager(&self, eager: EagerStep) {
        self.told.set(self.calls);
        self.lines.raise_progress(self.through_line(self.member.rank), eager.count, self.mark);
    }
}

/// Reading other ranks' memory by the kernel.
impl<L: Lines> ShmComm<L> {
    /// Joins those who read `rank`'s memory, unless there are as many as may.
    #[inline]
    pub fn begin_reading(&self, rank: u32) -> bool {
        self.lines.enter(self.readers_line(rank), READERS_MAX as u64)
    }

    /// Leaves them, after a [`ShmComm::begin_reading`] that said yes.
    #[inline]
    pub fn end_reading(&self, rank: u32) {
        self.lines.leave(self.readers_line(rank));
    }
}

/// Waiting.
impl<L: Lines> ShmComm<L> {
    /// Whether it has come, or comes in the time of some looks: sooner than a wait that does other things meanwhile would end.
    /// Who is behind has work to do, and is not looked at so often: each look takes the line from it. Looks without a pause take it
    /// from who is about to write it: a barrier of two took a fifth longer.
    #[inline(always)]
    pub fn look_often(&self, watch: &ShmWatch) -> Sight {
        let mut looks = if matches!(watch, ShmWatch::Progress { .. }) { 1 } else { self.looks };
        loop {
            let sight = self.look(watch);
            looks = looks.saturating_sub(1);
            if sight != Sight::Pending || looks == 0 {
                return sight;
            }
            hint::spin_loop();
        }
    }

    /// Whether it has come.
    #[inline(always)]
    pub fn look(&self, watch: &ShmWatch) -> Sight {
        match *watch {
            ShmWatch::Gate { count } => self.sight(self.lines.gate(), count, || self.lines.gate_mark()),
            ShmWatch::Flag { line, count, .. } => {
                self.sight(self.lines.count(line), count, || self.lines.mark(line))
            }
            ShmWatch::Sole { line, count, .. } => match self.lines.count(line) {
                seen if seen == count => Sight::Come,
                seen if watch.is_pending_at(seen) => Sight::Pending,
                _ => Sight::Amiss,
            },
            ShmWatch::Progress { line, count } if self.lines.count(line) >= count => Sight::Come,
            ShmWatch::Progress { .. } => Sight::Pending,
        }
    }

    /// What is awaited is raised to exactly this count, since it is not raised again before all ranks of the call have seen it.
    #[inline]
    fn sight(&self, seen: u64, wanted: u64, mark: impl FnOnce() -> u64) -> Sight {
        if seen < wanted {
            return Sight::Pending;
        }
        if seen == wanted && mark() == self.mark { Sight::Come } else { Sight::Amiss }
    }
}

/// Where things lie in the shared buffer.
impl<L: Lines> ShmComm<L> {
    #[inline]
    fn area(&self, offset: usize, bytes: usize) -> Area<'_> {
        assert!(offset <= SHARED_BUFFER_DATA_BYTES && bytes <= SHARED_BUFFER_DATA_BYTES - offset);
        Area { buf: self.lines.data(offset, bytes), lines: PhantomData }
    }

    // In the order of these functions, and packed by the number of ranks: a small communicator touches few pages.

    #[inline]
    fn post_line(&self, sync: SyncStep, rank: u32) -> usize {
        sync.half * self.ranks() + rank as usize
    }

    #[inline]
    fn turn_line(&self, sync: SyncStep, slice: u32) -> usize {
        (2 + sync.half) * self.ranks() + slice as usize
    }

    #[inline]
    fn through_line(&self, rank: u32) -> usize {
        4 * self.ranks() + rank as usize
    }

    #[inline]
    fn readers_line(&self, rank: u32) -> usize {
        5 * self.ranks() + rank as usize
    }

    #[inline]
    fn publish_line(&self, eager: EagerStep) -> usize {
        6 * self.ranks() + eager.place
    }

    #[inline]
    fn contribution_line(&self, eager: EagerStep, rank: u32) -> usize {
        let (ranks, rank) = (self.ranks(), rank as usize);
        let first = 6 * ranks + EAGER_SLOTS + EAGER_PAYLOADS;
        match eager.place.checked_sub(EAGER_SLOTS) {
            None => first + eager.place * ranks + rank,
            // A rank's lie one after the other: who reads them in steps that follow each other gets the next ones with the first.
            Some(flag) => first + EAGER_SLOTS * ranks + rank * self.eager_payload_flags() + flag,
        }
    }

    #[inline]
    fn ranks(&self) -> usize {
        self.member.size as usize
    }
}

/// Turns of one sync step count up from here: they are more than steps, so a call has fewer steps with turns.
#[inline]
fn turn_count(sync: SyncStep, turn: u32) -> u64 {
    let (call, step) = (sync.count & !counts::STEPS, sync.count & counts::STEPS);
    call | (step * (SHM_COMM_RANKS_MAX as u64 + 1) + u64::from(turn))
}

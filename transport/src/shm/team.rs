//! Memory that the ranks of one communicator share for its collectives (MPI for the T3D, section 3.3: collective
//! communication uses slots of its own, apart from messages).
//!
//! There are two ways to use it, each with memory of its own:
//!
//! - A *meeting*: nobody leaves before all have come (barrier, allreduce, reduce_scatter, allgather, alltoall). Its data lie in
//!   one of two halves of an area, which meetings use in turn: whoever has left a meeting knows that all have left
//!   the one before, and may write into that one's half again.
//! - A *handover*: some give and some take, and who has given goes on (bcast, reduce, gather, scatter, scan). Its data lie in one
//!   of several trays. A tray is used again once all ranks have said that they are through with what it held before.
//!
//! In both, small data travel in the line of the flag that announces them. A flag has one writer at a time, and only
//! counts upwards, so nothing has to be cleared between calls.
//!
//! Who arrives at a meeting of more than two ranks counts up one word, and whoever comes last moves the generation
//! on, which is what the others wait for: one line is looked at, and one system call wakes all who sleep. Two ranks
//! need no such count: each looks at the other's flag.

use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{Ordering, compiler_fence, fence};
use std::time::Duration;

use tern_mem::UserBuf;

use super::bell::Bell;
use super::flag::Flag;
pub use super::flag::Note;
use super::segment::{Segment, TeamLines};
use super::{futex, hints};
use crate::Peer;
use crate::doorbell::Doorbell;
use crate::limits::*;

/// A communicator's ranks, all on this machine, and their shared memory. Each rank has one of these; one thread at a
/// time uses it. All ranks begin the same meetings and handovers in the same order.
pub struct Team {
    lines: NonNull<TeamLines>,
    room: Option<Room>,
    bell: Arc<Bell>,
    /// Keeps what the pointers lead to.
    _segment: Arc<Segment>,
    seat: Seat,
    /// Meetings begun.
    meetings: u64,
    /// Handovers begun.
    handovers: u64,
    /// All ranks are through with so many handovers.
    through: u64,
    /// This process must fence before it believes that nobody sleeps: `membarrier` does not reach it.
    fences: bool,
}

// SAFETY: the pointers lead into the segment, which the team keeps mapped and which is memory of the process, not of a thread.
unsafe impl Send for Team {}

/// Where a team's flags and data lie in the segment.
#[derive(Clone, Copy)]
struct Room {
    flags: NonNull<Flag>,
    /// How many.
    flags_len: usize,
    /// [`TEAM_BYTES`] of data.
    data: NonNull<u8>,
}

/// Which team, and which of its ranks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Seat {
    /// Whose region holds the memory, by its rank in the job.
    pub leader: Peer,
    /// Which part of it, below [`Team::SLOTS`].
    pub slot: u32,
    /// This rank in the team.
    pub rank: u32,
    /// Ranks of the team.
    pub size: u32,
}

/// What a rank waits for: one word of shared memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Watch {
    /// The last one arrives at the meeting: the generation is this one no more.
    Generation(u32),
    /// A flag is raised so far.
    #[allow(missing_docs, reason = "only this module makes and reads it")]
    Flag { line: usize, count: u64 },
}

/// A part of the shared memory. Only bytes that no other rank is told to touch now may be touched: that is what the
/// order of meetings and handovers is for. A rank that breaks it reads or spoils data, never anything else.
#[derive(Clone)]
pub struct Area<'a> {
    buf: UserBuf,
    team: PhantomData<&'a Team>,
}

impl Area<'_> {
    /// The bytes as a buffer.
    pub fn buf(&self) -> &UserBuf {
        &self.buf
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
        let (base, bytes) = self.buf.as_flat().expect("an area is flat");
        assert!(at <= bytes && len <= bytes - at, "{len} bytes at {at} of {bytes}");
        std::ptr::with_exposed_provenance_mut(base + at)
    }
}

impl std::fmt::Debug for Team {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.seat)
    }
}

impl Team {
    /// Slots that each rank can lead.
    pub const SLOTS: u32 = TEAM_SLOTS as u32;
    /// Bytes that one meeting can move.
    pub const MEETING_BYTES: usize = MEETING_BYTES;
    /// Bytes that one handover can move.
    pub const TRAY_BYTES: usize = TRAY_BYTES;
    /// Bytes that travel in the line of a flag.
    pub const NOTE_BYTES: usize = NOTE_BYTES;

    /// `leader` is the leader's number in the segment.
    ///
    /// # Panics
    /// If there is no such rank or slot.
    pub(crate) fn new(
        segment: Arc<Segment>,
        bell: Arc<Bell>,
        seat: Seat,
        leader: Peer,
        reached: bool,
    ) -> Self {
        assert!(seat.rank < seat.size, "rank {} of {}", seat.rank, seat.size);
        let lines = NonNull::from(segment.team(leader, seat.slot));
        let has_room = (seat.slot as usize) < TEAM_ROOMS && seat.size as usize <= TEAM_RANKS_MAX;
        let room = has_room.then(|| Room {
            flags: segment.team_flags(leader, seat.slot),
            flags_len: flags_of(seat.size as usize),
            data: segment.team_data(leader, seat.slot),
        });
        let (meetings, handovers, through, fences) = (0, 0, 0, !reached);
        let team = Team { lines, room, bell, _segment: segment, seat, meetings, handovers, through, fences };
        // Those who sleep may have to rely on others' fences.
        if !team.bell.reaches_all() {
            team.lines().sleepers.fetch_or(NEEDS_FENCE, Ordering::SeqCst);
        }
        team
    }

    /// Whether data can be moved: otherwise only [`Team::arrive`] may be used. The same at all ranks.
    #[inline]
    pub fn has_room(&self) -> bool {
        self.room.is_some()
    }

    /// This rank.
    #[inline]
    pub fn rank(&self) -> u32 {
        self.seat.rank
    }

    /// Ranks.
    #[inline]
    pub fn size(&self) -> u32 {
        self.seat.size
    }

    /// Where this rank sits.
    pub fn seat(&self) -> Seat {
        self.seat
    }

    /// This rank leaves for good. The leader may give the slot to another team once all have left.
    pub fn leave(&self) {
        self.lines().left.fetch_add(1, Ordering::AcqRel);
    }

    #[inline]
    fn lines(&self) -> &TeamLines {
        // SAFETY: within the segment, which this keeps mapped.
        unsafe { self.lines.as_ref() }
    }
}

/// Clears slot `slot` of `leader` for a new team, if all `size` ranks of the last one have left.
pub(crate) fn clear(segment: &Segment, leader: Peer, slot: u32, size: u32) -> bool {
    let lines = segment.team(leader, slot);
    if lines.left.load(Ordering::Acquire) < size {
        return false;
    }
    if (slot as usize) < TEAM_ROOMS && size as usize <= TEAM_RANKS_MAX {
        let flags = segment.team_flags(leader, slot);
        // SAFETY: the room has so many, and the segment is mapped.
        (0..flags_of(size as usize)).for_each(|line| unsafe { flags.add(line).as_ref() }.raise(0));
    }
    lines.left.store(0, Ordering::Release);
    true
}

/// Flags that a team of so many ranks uses.
const fn flags_of(size: usize) -> usize {
    (6 + TRAYS) * size + TRAYS
}

/// Meetings.
impl Team {
    /// Begins the next meeting; its number.
    #[inline]
    pub fn meet(&mut self) -> u64 {
        self.meetings += 1;
        self.meetings
    }

    /// The number that [`Team::meet`] will give.
    #[inline]
    pub fn next_meeting(&self) -> u64 {
        self.meetings + 1
    }

    /// The meeting's memory: [`Team::MEETING_BYTES`].
    #[inline]
    pub fn table(&self, meeting: u64) -> Area<'_> {
        let half = (meeting % 2) as usize;
        self.area(half * MEETING_BYTES, MEETING_BYTES)
    }

    /// Arrives: what this rank has written is ready. `None` if it is the last, and has to call [`Team::open`].
    #[inline]
    pub fn arrive(&self) -> Option<Watch> {
        let lines = self.lines();
        let generation = lines.generation.load(Ordering::Acquire);
        let last = lines.arrived.fetch_add(1, Ordering::AcqRel) + 1 >= self.seat.size;
        (!last).then_some(Watch::Generation(generation))
    }

    /// All may leave: whoever came last says so.
    #[inline]
    pub fn open(&self) {
        let lines = self.lines();
        lines.arrived.store(0, Ordering::Relaxed);
        lines.generation.fetch_add(1, Ordering::SeqCst);
        if lines.sleepers.load(Ordering::SeqCst) & !NEEDS_FENCE != 0 {
            futex::wake_all(&lines.generation);
        }
    }

    /// Arrives by this rank's flag.
    #[inline]
    pub fn come(&self, meeting: u64) {
        let flag = self.flag(self.post_line(meeting, self.seat.rank));
        flag.raise(meeting);
        self.raised(flag);
    }

    /// Arrives by this rank's flag, with a note.
    #[inline]
    pub fn post(&self, meeting: u64, note: &Note) {
        let flag = self.flag(self.post_line(meeting, self.seat.rank));
        flag.raise_with(meeting, note);
        self.raised(flag);
    }

    /// The arrival of a rank by its flag.
    #[inline]
    pub fn posted(&self, meeting: u64, rank: u32) -> Watch {
        Watch::Flag { line: self.post_line(meeting, rank), count: meeting }
    }

    /// The note of a rank that has arrived.
    #[inline]
    pub fn post_of(&self, meeting: u64, rank: u32) -> Note {
        self.flag(self.post_line(meeting, rank)).note()
    }

    /// The `turn`-th rank has been at slice `slice` of the meeting's memory, counted from one.
    #[inline]
    pub fn turn(&self, meeting: u64, slice: u32, turn: u32) -> Watch {
        Watch::Flag { line: self.turn_line(meeting, slice), count: turn_count(meeting, turn) }
    }

    /// Leaves slice `slice` to the next rank, as the `turn`-th.
    #[inline]
    pub fn pass_turn(&self, meeting: u64, slice: u32, turn: u32) {
        let flag = self.flag(self.turn_line(meeting, slice));
        flag.raise(turn_count(meeting, turn));
        self.raised(flag);
    }
}

/// Handovers.
impl Team {
    /// Begins the next handover; its number.
    #[inline]
    pub fn hand_over(&mut self) -> u64 {
        self.handovers += 1;
        self.handovers
    }

    /// The handover's memory: [`Team::TRAY_BYTES`].
    #[inline]
    pub fn tray(&self, handover: u64) -> Area<'_> {
        let tray = (handover % TRAYS as u64) as usize;
        self.area(2 * MEETING_BYTES + tray * TRAY_BYTES, TRAY_BYTES)
    }

    /// What must be waited for before this rank may write for a handover, if anything: a rank that is not through with
    /// what lay in the same tray.
    #[inline]
    pub fn before(&mut self, handover: u64) -> Option<Watch> {
        if handover <= self.through + TRAYS as u64 {
            return None;
        }
        self.look_who_is_behind(handover - TRAYS as u64)
    }

    fn look_who_is_behind(&mut self, needed: u64) -> Option<Watch> {
        let mut through = self.handovers;
        for rank in (0..self.seat.size).filter(|&rank| rank != self.seat.rank) {
            let line = self.through_line(rank);
            let count = self.flag(line).count();
            if count < needed {
                return Some(Watch::Flag { line, count: needed });
            }
            through = through.min(count);
        }
        self.through = through;
        None
    }

    /// Gives to all: with a note, and with what lies in the tray.
    #[inline]
    pub fn give(&self, handover: u64, note: &Note) {
        let flag = self.flag(self.gift_line(handover));
        flag.raise_with(handover, note);
        self.raised(flag);
    }

    /// What the one has given.
    #[inline]
    pub fn given(&self, handover: u64) -> Watch {
        Watch::Flag { line: self.gift_line(handover), count: handover }
    }

    /// The note of who has given.
    #[inline]
    pub fn gift(&self, handover: u64) -> Note {
        self.flag(self.gift_line(handover)).note()
    }

    /// Gives to the one who takes from all: with a note, and with what lies in this rank's part of the tray.
    #[inline]
    pub fn offer(&self, handover: u64, note: &Note) {
        let flag = self.flag(self.offer_line(handover, self.seat.rank));
        flag.raise_with(handover, note);
        self.raised(flag);
    }

    /// What a rank gives to the one.
    #[inline]
    pub fn offered(&self, handover: u64, rank: u32) -> Watch {
        Watch::Flag { line: self.offer_line(handover, rank), count: handover }
    }

    /// The note of a rank that has given to the one.
    #[inline]
    pub fn offer_of(&self, handover: u64, rank: u32) -> Note {
        self.flag(self.offer_line(handover, rank)).note()
    }

    /// This rank is through with the handover: it has given and taken what it had to.
    #[inline]
    pub fn end(&self, handover: u64) {
        let flag = self.flag(self.through_line(self.seat.rank));
        flag.raise(handover);
        self.raised(flag);
    }
}

/// Reading other ranks' memory by the kernel.
impl Team {
    /// Ranks that may read one rank's memory at once.
    pub const READERS_MAX: usize = READERS_MAX;

    /// Joins those who read `rank`'s memory, unless there are as many as may.
    #[inline]
    pub fn begin_reading(&self, rank: u32) -> bool {
        self.flag(self.readers_line(rank)).enter(READERS_MAX as u64)
    }

    /// Leaves them, after a [`Team::begin_reading`] that said yes.
    #[inline]
    pub fn end_reading(&self, rank: u32) {
        self.flag(self.readers_line(rank)).leave();
    }
}

/// Waiting.
impl Team {
    /// Whether it has come.
    #[inline]
    pub fn is_over(&self, watch: &Watch) -> bool {
        match *watch {
            Watch::Generation(old) => self.lines().generation.load(Ordering::Acquire) != old,
            Watch::Flag { line, count } => self.flag(line).count() >= count,
        }
    }

    /// Sleeps until it may have come, somebody rings this rank's bell, or the time is over. `armed` is what
    /// [`Doorbell::arm`] gave; this takes the place of [`Doorbell::sleep`], whose bell says by [`Doorbell::longest`] how long at
    /// most. Without it, only what is watched and the
    /// time wake.
    pub fn sleep(&self, watch: &Watch, armed: Option<u32>, timeout: Option<Duration>) {
        let lines = self.lines();
        lines.sleepers.fetch_add(SLEEPER, Ordering::SeqCst);
        self.bell.fence_all();
        match *watch {
            Watch::Generation(old) => self.sleep_on((&lines.generation, old), armed, timeout),
            Watch::Flag { line, count } => {
                let flag = self.flag(line);
                let seen = flag.count();
                if seen < count {
                    self.sleep_on((flag.futex_word(), seen as u32), armed, timeout);
                }
            }
        }
        lines.sleepers.fetch_sub(SLEEPER, Ordering::SeqCst);
        if armed.is_some() {
            self.bell.disarm();
        }
    }

    fn sleep_on(
        &self,
        watched: (&std::sync::atomic::AtomicU32, u32),
        armed: Option<u32>,
        timeout: Option<Duration>,
    ) {
        match armed {
            Some(armed) => futex::wait_either([watched, (self.bell.words().word(), armed)], timeout),
            None => futex::wait(watched.0, watched.1, timeout),
        }
    }

    /// After raising a flag: wakes those who sleep on it. While nobody sleeps this is one load; as with the bell, it
    /// is the sleeper who makes sure that this load did not pass the store.
    #[inline]
    fn raised(&self, flag: &Flag) {
        compiler_fence(Ordering::SeqCst);
        if self.fences || self.lines().sleepers.load(Ordering::Relaxed) != 0 {
            self.wake(flag);
        }
    }

    #[inline(never)]
    fn wake(&self, flag: &Flag) {
        fence(Ordering::SeqCst);
        if self.lines().sleepers.load(Ordering::Relaxed) & !NEEDS_FENCE != 0 {
            futex::wake_all(flag.futex_word());
        }
    }
}

/// Where things lie in the team's room.
impl Team {
    #[inline]
    fn area(&self, offset: usize, bytes: usize) -> Area<'_> {
        assert!(offset <= TEAM_BYTES && bytes <= TEAM_BYTES - offset);
        // SAFETY: within the room's data, just checked; mapped for as long as the team, which the area's lifetime keeps. Other
        // ranks write there, too; their turns are told by the flags.
        let buf = unsafe { UserBuf::flat(self.room().data.add(offset).as_ptr(), bytes) };
        Area { buf, team: PhantomData }
    }

    #[inline]
    fn flag(&self, line: usize) -> &Flag {
        let room = self.room();
        assert!(line < room.flags_len, "flag {line} of {}", room.flags_len);
        // SAFETY: within the room's flags, just checked; mapped for as long as the team.
        unsafe { room.flags.add(line).as_ref() }
    }

    /// # Panics
    /// If there is none: see [`Team::has_room`].
    #[inline]
    fn room(&self) -> &Room {
        self.room.as_ref().expect("a team that moves data has a room")
    }

    // In the order of these functions, and packed by the team's size: a small team touches few pages.

    #[inline]
    fn post_line(&self, meeting: u64, rank: u32) -> usize {
        (meeting % 2) as usize * self.ranks() + rank as usize
    }

    #[inline]
    fn turn_line(&self, meeting: u64, slice: u32) -> usize {
        (2 + (meeting % 2) as usize) * self.ranks() + slice as usize
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
    fn gift_line(&self, handover: u64) -> usize {
        6 * self.ranks() + (handover % TRAYS as u64) as usize
    }

    #[inline]
    fn offer_line(&self, handover: u64, rank: u32) -> usize {
        let tray = (handover % TRAYS as u64) as usize;
        6 * self.ranks() + TRAYS + tray * self.ranks() + rank as usize
    }

    #[inline]
    fn ranks(&self) -> usize {
        self.seat.size as usize
    }
}

const _: () = assert!(flags_of(TEAM_RANKS_MAX) == TEAM_FLAGS);

/// Turns of one meeting count up from here.
#[inline]
fn turn_count(meeting: u64, turn: u32) -> u64 {
    meeting * (TEAM_RANKS_MAX as u64 + 1) + u64::from(turn)
}

/// In the word of sleepers: somebody who sleeps cannot make others pass a fence.
const NEEDS_FENCE: u32 = 1;
/// In the word of sleepers: one of them.
const SLEEPER: u32 = 2;

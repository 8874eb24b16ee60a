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

mod shared;

use std::marker::PhantomData;

use tern_mem::UserBuf;

pub use super::flag::Note;
use super::hints;
use crate::Peer;
use crate::limits::*;

pub use shared::Shared;
pub(crate) use shared::clear;

/// A communicator's ranks, all on this machine, and their shared memory. Each rank has one of these; one thread at a
/// time uses it. All ranks begin the same meetings and handovers in the same order.
///
/// `L` is where its lines are: in the segment of a job, or for the simulator in memory that has a price.
pub struct Team<L = Shared> {
    lines: L,
    seat: Seat,
    has_room: bool,
    /// Meetings begun.
    meetings: u64,
    /// Handovers begun.
    handovers: u64,
    /// All ranks are through with so many handovers.
    through: u64,
}

/// The lines of a team: its flags, which are numbered, the words by which more than two ranks meet, and its data.
pub trait Lines {
    /// Raises a flag. What this rank has written before is visible to whoever sees the count.
    fn raise(&self, line: usize, count: u64);

    /// Leaves a note beside the flag and raises it.
    fn raise_with(&self, line: usize, count: u64, note: &Note);

    /// How far a flag is raised.
    fn count(&self, line: usize) -> u64;

    /// The note beside a flag that was raised.
    fn note(&self, line: usize) -> Note;

    /// Counts a flag up by one, unless it is at `most`; whether it did.
    fn enter(&self, line: usize, most: u64) -> bool;

    /// Counts a flag down by one.
    fn leave(&self, line: usize);

    /// Counts this rank as arrived, one of `size`: the generation that it has to see the end of, or `None` if it is the last.
    fn arrive(&self, size: u32) -> Option<u32>;

    /// Ends the generation: the next one begins to arrive.
    fn open(&self);

    /// The generation.
    fn generation(&self) -> u32;

    /// Some of the team's data.
    fn data(&self, offset: usize, bytes: usize) -> UserBuf;
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
        // SAFETY: within the area, just checked; it is memory for as long as the team, and who uses it when is told by flags.
        self.buf.part(at, len).unwrap_or_else(|| unsafe { UserBuf::flat(base, len) })
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

impl<L> std::fmt::Debug for Team<L> {
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
    /// Ranks that may read one rank's memory at once.
    pub const READERS_MAX: usize = READERS_MAX;
}

impl<L> Team<L> {
    /// A rank of a team, at its beginning.
    ///
    /// # Panics
    /// If there is no such rank.
    pub fn over(lines: L, seat: Seat, has_room: bool) -> Self {
        assert!(seat.rank < seat.size, "rank {} of {}", seat.rank, seat.size);
        Team { lines, seat, has_room, meetings: 0, handovers: 0, through: 0 }
    }

    /// Its lines.
    #[inline]
    pub(crate) fn lines(&self) -> &L {
        &self.lines
    }

    /// Whether data can be moved: otherwise only [`Team::arrive`] may be used. The same at all ranks.
    #[inline]
    pub fn has_room(&self) -> bool {
        self.has_room
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
}

/// Meetings.
impl<L: Lines> Team<L> {
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
        self.lines.arrive(self.seat.size).map(Watch::Generation)
    }

    /// All may leave: whoever came last says so.
    #[inline]
    pub fn open(&self) {
        self.lines.open();
    }

    /// Arrives by this rank's flag.
    #[inline]
    pub fn come(&self, meeting: u64) {
        self.lines.raise(self.post_line(meeting, self.seat.rank), meeting);
    }

    /// Arrives by this rank's flag, with a note.
    #[inline]
    pub fn post(&self, meeting: u64, note: &Note) {
        self.lines.raise_with(self.post_line(meeting, self.seat.rank), meeting, note);
    }

    /// The arrival of a rank by its flag.
    #[inline]
    pub fn posted(&self, meeting: u64, rank: u32) -> Watch {
        Watch::Flag { line: self.post_line(meeting, rank), count: meeting }
    }

    /// The note of a rank that has arrived.
    #[inline]
    pub fn post_of(&self, meeting: u64, rank: u32) -> Note {
        self.lines.note(self.post_line(meeting, rank))
    }

    /// The `turn`-th rank has been at slice `slice` of the meeting's memory, counted from one.
    #[inline]
    pub fn turn(&self, meeting: u64, slice: u32, turn: u32) -> Watch {
        Watch::Flag { line: self.turn_line(meeting, slice), count: turn_count(meeting, turn) }
    }

    /// Leaves slice `slice` to the next rank, as the `turn`-th.
    #[inline]
    pub fn pass_turn(&self, meeting: u64, slice: u32, turn: u32) {
        self.lines.raise(self.turn_line(meeting, slice), turn_count(meeting, turn));
    }
}

/// Handovers.
impl<L: Lines> Team<L> {
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
            let count = self.lines.count(line);
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
        self.lines.raise_with(self.gift_line(handover), handover, note);
    }

    /// What the one has given.
    #[inline]
    pub fn given(&self, handover: u64) -> Watch {
        Watch::Flag { line: self.gift_line(handover), count: handover }
    }

    /// The note of who has given.
    #[inline]
    pub fn gift(&self, handover: u64) -> Note {
        self.lines.note(self.gift_line(handover))
    }

    /// Gives to the one who takes from all: with a note, and with what lies in this rank's part of the tray.
    #[inline]
    pub fn offer(&self, handover: u64, note: &Note) {
        self.lines.raise_with(self.offer_line(handover, self.seat.rank), handover, note);
    }

    /// What a rank gives to the one.
    #[inline]
    pub fn offered(&self, handover: u64, rank: u32) -> Watch {
        Watch::Flag { line: self.offer_line(handover, rank), count: handover }
    }

    /// The note of a rank that has given to the one.
    #[inline]
    pub fn offer_of(&self, handover: u64, rank: u32) -> Note {
        self.lines.note(self.offer_line(handover, rank))
    }

    /// This rank is through with the handover: it has given and taken what it had to.
    #[inline]
    pub fn end(&self, handover: u64) {
        self.lines.raise(self.through_line(self.seat.rank), handover);
    }
}

/// Reading other ranks' memory by the kernel.
impl<L: Lines> Team<L> {
    /// Joins those who read `rank`'s memory, unless there are as many as may.
    #[inline]
    pub fn begin_reading(&self, rank: u32) -> bool {
        self.lines.enter(self.readers_line(rank), READERS_MAX as u64)
    }

    /// Leaves them, after a [`Team::begin_reading`] that said yes.
    #[inline]
    pub fn end_reading(&self, rank: u32) {
        self.lines.leave(self.readers_line(rank));
    }
}

/// Waiting.
impl<L: Lines> Team<L> {
    /// Whether it has come.
    #[inline]
    pub fn is_over(&self, watch: &Watch) -> bool {
        match *watch {
            Watch::Generation(old) => self.lines.generation() != old,
            Watch::Flag { line, count } => self.lines.count(line) >= count,
        }
    }
}

/// Where things lie in the team's room.
impl<L: Lines> Team<L> {
    #[inline]
    fn area(&self, offset: usize, bytes: usize) -> Area<'_> {
        assert!(offset <= TEAM_BYTES && bytes <= TEAM_BYTES - offset);
        Area { buf: self.lines.data(offset, bytes), lines: PhantomData }
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

/// Turns of one meeting count up from here.
#[inline]
fn turn_count(meeting: u64, turn: u32) -> u64 {
    meeting * (TEAM_RANKS_MAX as u64 + 1) + u64::from(turn)
}

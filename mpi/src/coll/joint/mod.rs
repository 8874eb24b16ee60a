//! Blocking collectives over the memory that a communicator's ranks share: no schedule, no messages (MPI for the
//! T3D, section 3.3).
//!
//! Which way a call goes is decided by what all ranks know alike: the collective, the bytes, the number of ranks
//! ([`Way::of`]). The steps are plain blocking code; what is waited for is always one word ([`tern_transport::Watch`]), and
//! while waiting this rank serves messages, as in every wait: others may need its help to come here.

mod allgather;
mod alltoall;
mod alltoallv;
mod bcast;
mod direct;
mod gather;
mod reduce;
mod reduce_scatter;
mod scan;
mod way;

pub use way::{Blocks, Way};

use self::scan::Reach;
use super::port::Names;
use crate::error::{Result, fail};
use crate::process::{Guard, Process, enter};
use crate::team::TeamPlace;
use crate::wait::{self, Event, Waiting};
use std::time::Duration;
use tern_abi::{MPI_Comm, MPI_ERR_OTHER};
use tern_coll::Span;
use tern_mem::UserBuf;
use tern_transport::limits::LINE_BYTES;
use tern_transport::shm::team::Note;
use tern_transport::{Doorbell, Team, Watch};

/// No note: a flag alone says what there is to say.
const NO_NOTE: Note = [0; Team::NOTE_BYTES];

/// Bytes of a word at the beginning of a note.
const WORD_BYTES: usize = size_of::<u64>();

/// A collective under way over shared memory.
struct Joint<'a> {
    team: &'a mut Team,
    names: &'a Names,
}

/// Does what `way` says on the communicator.
pub fn run(mut process: Guard, comm: MPI_Comm, names: &Names, way: &Way, blocks: &Blocks) -> Result {
    let Some(mut team) = process.comm_mut(comm)?.team.take() else { return Err(in_use()) };
    drop(process);
    let outcome = Joint { team: &mut team, names }.go(way, blocks);
    enter().comm_mut(comm)?.team = TeamPlace::Here(team);
    outcome
}

/// Lets all ranks of the communicator meet; false if it has no team.
pub fn meet(mut process: Guard, call: &'static str, comm: MPI_Comm) -> Result<bool> {
    let this = process.comm_mut(comm)?;
    let context = this.context;
    let Some(mut team) = this.team.take() else { return Ok(false) };
    if team.size() == 2 && team.has_room() {
        let meeting = team.meet();
        team.come(meeting);
        let watch = team.posted(meeting, 1 - team.rank());
        until(process, &team, watch, call, context);
    } else if let Some(watch) = team.arrive() {
        until(process, &team, watch, call, context);
    } else {
        drop(process);
        team.open();
    }
    enter().comm_mut(comm)?.team = TeamPlace::Here(team);
    Ok(true)
}

#[cold]
fn in_use() -> Box<crate::error::Error> {
    fail(
        MPI_ERR_OTHER,
        "another thread is in a collective on this communicator: calls on one must follow each other (section 6.14)",
    )
}

impl Joint<'_> {
    fn go(&mut self, way: &Way, blocks: &Blocks) -> Result {
        match *way {
            Way::Bcast { data, root } => return self.bcast(data, root),
            Way::Reduce { data, in_place, root } => self.reduce(data, in_place, root),
            Way::Allreduce { data, in_place } => self.allreduce(data, in_place),
            Way::Accumulate { data, in_place, root } => self.accumulate(data, in_place, root),
            Way::ReduceScatter { layout, longest, in_place } => {
                self.reduce_scatter(layout, longest, in_place, blocks);
            }
            Way::Scan { data, in_place } => self.scan(data, in_place, Reach::Inclusive),
            Way::Exscan { data, in_place } => self.scan(data, in_place, Reach::Exclusive),
            Way::Gather { send, recv, root } => self.gather(send, recv, root),
            Way::Scatter { send, recv, root } => self.scatter(send, recv, root),
            Way::Allgather { send, recv } => self.allgather(send, recv),
            Way::Alltoall { send, recv } => self.alltoall(send, recv),
            Way::Allgatherv { send, longest } => return self.allgatherv(send, longest, blocks),
            Way::Alltoallv => return self.alltoallv(blocks),
        }
        Ok(())
    }

    #[inline]
    fn me(&self) -> usize {
        self.team.rank() as usize
    }

    #[inline]
    fn size(&self) -> usize {
        self.team.size() as usize
    }

    /// The other one of two.
    #[inline]
    fn other(&self) -> u32 {
        1 - self.team.rank()
    }

    /// The memory of elements of the program's.
    #[inline]
    fn buffer(&self, span: Span) -> UserBuf {
        self.names.buffer(&span.slice())
    }

    #[inline]
    fn wait(&self, watch: Watch) {
        if !self.team.is_over(&watch) {
            until(enter(), self.team, watch, self.names.call, self.names.context());
        }
    }

    /// Until all ranks have come to a meeting.
    #[inline]
    fn all_come(&self, meeting: u64) {
        self.all_come_after(meeting, || ());
    }

    /// As [`Joint::all_come`]; of more than two ranks, the one that comes last does something for all first.
    #[inline]
    fn all_come_after(&self, meeting: u64, last: impl FnOnce()) {
        if self.size() == 2 {
            self.team.come(meeting);
            return self.wait(self.team.posted(meeting, self.other()));
        }
        match self.team.arrive() {
            Some(watch) => self.wait(watch),
            None => {
                last();
                self.team.open();
            }
        }
    }

    /// Begins a handover in which this rank writes: its number, once the tray is free.
    #[inline]
    fn hand_over_writing(&mut self) -> u64 {
        let handover = self.team.hand_over();
        while let Some(behind) = self.team.before(handover) {
            self.wait(behind);
        }
        handover
    }

    /// Two ranks exchange blocks by their flags: each of a buffer, the place in it, and its bytes.
    fn swap(&mut self, from: (&UserBuf, usize, usize), into: (&UserBuf, usize, usize)) {
        let (meeting, other) = (self.team.meet(), self.other());
        self.team.post(meeting, &note_of(from.0, from.1, from.2));
        self.wait(self.team.posted(meeting, other));
        into.0.write(into.1, &self.team.post_of(meeting, other)[..into.2]);
    }

    /// Whether two ranks exchange so many bytes by their flags.
    #[inline]
    fn swaps(&self, bytes: usize) -> bool {
        self.size() == 2 && Self::fits_note(bytes)
    }

    /// Whether so many bytes travel in a flag's line.
    #[inline]
    fn fits_note(bytes: usize) -> bool {
        bytes <= Team::NOTE_BYTES
    }
}

/// The first bytes of a note.
#[inline]
fn note_of(buf: &UserBuf, offset: usize, bytes: usize) -> Note {
    let mut note = NO_NOTE;
    buf.read(offset, &mut note[..bytes]);
    note
}

/// A note that begins with a word.
#[inline]
fn note_of_word(word: u64) -> Note {
    let mut note = NO_NOTE;
    note[..WORD_BYTES].copy_from_slice(&word.to_ne_bytes());
    note
}

/// The word that a note begins with.
#[inline]
fn word_of(note: &Note) -> u64 {
    u64::from_ne_bytes(note[..WORD_BYTES].try_into().expect("eight bytes"))
}

/// Pieces of at most `piece` bytes of `bytes` bytes: where each begins, and its length.
fn pieces(bytes: usize, piece: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..bytes).step_by(piece).map(move |at| (at, piece.min(bytes - at)))
}

/// The cache lines that so many bytes hold, in bytes.
fn whole_lines(bytes: usize) -> usize {
    bytes / LINE_BYTES * LINE_BYTES
}

/// Waits for a word of shared memory.
#[inline]
fn until(process: Guard, team: &Team, watch: Watch, call: &'static str, context: u64) {
    wait::until_event(process, Awaited { team, watch, call, context });
}

struct Awaited<'a> {
    team: &'a Team,
    watch: Watch,
    call: &'static str,
    context: u64,
}

impl Event for Awaited<'_> {
    type News = ();

    fn waiting(&self, _: &Process) -> Waiting {
        Waiting::collective(self.call, self.context)
    }

    #[inline]
    fn look(&mut self, _: &mut Process) -> Option<()> {
        self.team.is_over(&self.watch).then_some(())
    }

    fn sleep(&self, bell: &dyn Doorbell, armed: u32, timeout: Option<Duration>) {
        self.team.sleep(&self.watch, Some(armed), bell.longest(timeout));
        bell.woke();
    }
}

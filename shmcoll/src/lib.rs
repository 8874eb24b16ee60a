//! Blocking collectives over the memory that a communicator's ranks share: no schedule, no messages (MPI for the
//! T3D, section 3.3).
//!
//! Which way a call goes is decided by what all ranks know alike: the collective, the bytes, the number of ranks
//! ([`Method::of`]). The steps are plain blocking code over a [`ShmComm`]; what is waited for is always one word
//! ([`tern_shm::ShmWatch`]). How to wait, where the program's buffers are, and what combines operands is for a
//! [`CallHost`] to say: the library's waits as every wait does and serves messages meanwhile, since others may need
//! this rank's help to come here; the simulator's counts what each step costs.

mod allgather;
mod alltoall;
mod alltoallv;
mod announced;
mod barrier;
mod bcast;
mod direct;
mod gather;
pub mod limits;
mod mark;
mod method;
mod operand;
mod rank_set;
mod reduce;
mod reduce_scatter;
mod scan;

pub use barrier::{come, mark_of_barrier};
pub use mark::{Difference, Mark, OperationCode};
pub use method::{Habits, Method, OperandOrder, VectorBlocks};
pub use operand::Operand;
pub use rank_set::{RankSet, Remainder};

use self::scan::ScanReach;
use tern_coll::{Slice, Span};
use tern_mem::UserBuf;
use tern_shm::limits::LINE_BYTES;
use tern_shm::shm_comm::{FlagPayload, Lines};
use tern_shm::{Arrival, EagerStep, Mismatch, ShmComm, ShmWatch, Sight, SyncStep};
use tern_transport::Remote;

/// No payload: a flag alone says what there is to say.
const NO_PAYLOAD: FlagPayload = [0; ShmComm::FLAG_PAYLOAD_BYTES];

/// Bytes of a word at the beginning of a flag payload.
const WORD_BYTES: usize = size_of::<u64>();

/// A rank's call, as its process sees it.
pub trait CallHost {
    /// The lines of the shm communicator.
    type Lines: Lines;

    /// The memory of elements of the program's.
    fn buffer(&self, slice: &Slice) -> UserBuf;

    /// Waits until what is watched has come, or it is known why it will not. `copied`: bytes that others may have to copy first.
    fn wait(
        &self,
        shm_comm: &ShmComm<Self::Lines>,
        watch: ShmWatch,
        copied: usize,
    ) -> std::result::Result<(), Mismatch>;

    /// Copies `len` bytes between places of two buffers.
    fn copy(&self, from: &UserBuf, at: usize, into: &UserBuf, place: usize, len: usize);

    /// The same, of what will have left the cache before anybody looks at it.
    fn copy_past_cache(&self, from: &UserBuf, at: usize, into: &UserBuf, place: usize, len: usize) {
        self.copy(from, at, into, place, len);
    }

    /// `right = left OP right` for `count` elements.
    fn combine(&self, left: Operand<'_>, right: Operand<'_>, count: u64);

    /// `out = left OP right` for `count` elements; `out` may be one of them.
    fn combine_into(&self, left: Operand<'_>, right: Operand<'_>, out: Operand<'_>, count: u64);

    /// Whether the ranks of this node outnumber its cores, so that two of them may not have a core at once.
    fn is_crowded(&self) -> bool;

    /// Whether this machine copies through cells faster than its kernel copies, even where ranks share cores.
    fn has_fast_cells(&self) -> bool;

    /// Whether the kernel lets this rank read and write the memory of all of these.
    fn can_get(&self, ranks: impl Iterator<Item = u32>) -> bool;

    /// Reads a rank's memory; whether that was possible.
    fn get(&self, rank: u32, from: Remote, into: &UserBuf) -> bool;

    /// Writes a rank's memory; whether that was possible.
    fn put(&self, rank: u32, from: &UserBuf, into: Remote) -> bool;
}

/// Why a call fails.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CallFault {
    /// Two sides of a call do not describe the same data.
    Unequal(Unequal),
    /// Another rank makes another call.
    Mismatch(Mismatch),
    /// The kernel does not copy between this rank's memory and that of `rank`.
    Refused {
        /// Whose memory it is.
        rank: u32,
    },
}

/// Two sides of a call do not describe the same data, and the ranks have stayed in step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Unequal {
    /// Who sent.
    pub rank: u32,
    /// The bytes that it sent.
    pub sent: usize,
    /// The bytes that there is room for.
    pub room: usize,
}

impl From<Mismatch> for CallFault {
    fn from(found: Mismatch) -> CallFault {
        CallFault::Mismatch(found)
    }
}

/// What a call comes to.
pub type CallResult<T = (), E = CallFault> = std::result::Result<T, E>;

/// A collective under way over shared memory.
struct ShmCall<'a, S: CallHost> {
    shm_comm: &'a mut ShmComm<S::Lines>,
    host: &'a S,
    /// Bytes that others may have to copy while this rank waits, if they are many.
    copied: usize,
    /// What is still to be exchanged by messages.
    by_message: Remainder,
}

/// How far a call has come when the steps over shared memory are over.
#[derive(Debug)]
pub struct CallOutcome {
    /// What the steps come to.
    pub result: CallResult,
    /// Blocks that are still to be exchanged, as both sides know: see [`Method::send_rest`].
    pub by_message: Remainder,
}

/// Does what `method` says, in a call that [`begin`] has begun.
pub fn run<S: CallHost>(
    shm_comm: &mut ShmComm<S::Lines>,
    host: &S,
    method: &Method,
    blocks: &VectorBlocks,
) -> CallOutcome {
    let mut call = ShmCall { shm_comm, host, copied: 0, by_message: Remainder::default() };
    let result = call.go(method, blocks);
    let mut by_message = call.by_message;
    if matches!(result, Err(CallFault::Mismatch(_))) {
        shm_comm.abandon();
        by_message = Remainder::default();
    }
    CallOutcome { result, by_message }
}

/// Begins a call with this mark, whichever way it goes.
#[inline]
pub fn begin<S: CallHost>(shm_comm: &mut ShmComm<S::Lines>, host: &S, mark: Mark) {
    while let Some(behind) = shm_comm.unsettled() {
        // Nobody who has not begun this call can make another one.
        let _ = host.wait(shm_comm, behind, 0);
    }
    shm_comm.begin(mark.bits());
}

impl<S: CallHost> ShmCall<'_, S> {
    fn go(&mut self, method: &Method, blocks: &VectorBlocks) -> CallResult {
        match *method {
            Method::Bcast { data, root } => self.bcast(data, root),
            Method::Reduce { data, in_place, root } => self.reduce(data, in_place, root),
            Method::Allreduce { data, in_place } => self.allreduce(data, in_place),
            Method::Accumulate { data, in_place, root } => self.accumulate(data, in_place, root),
            Method::ReduceScatter { layout, longest, in_place } => {
                self.reduce_scatter(layout, longest, in_place, blocks)
            }
            Method::Scan { data, in_place } => self.scan(data, in_place, ScanReach::Inclusive),
            Method::Exscan { data, in_place } => self.scan(data, in_place, ScanReach::Exclusive),
            Method::Gather { send, recv, root } => self.gather(send, recv, root),
            Method::Scatter { send, recv, root } => self.scatter(send, recv, root),
            Method::Allgather { send, recv } => self.allgather(send, recv),
            Method::Alltoall { send, recv } => self.alltoall(send, recv),
            Method::Allgatherv { send, longest } => self.allgatherv(send, longest, blocks),
            Method::Alltoallv { by_cells, sends_rest } => self.alltoallv(blocks, by_cells, sends_rest),
            Method::Gatherv { send, root } => self.gatherv(send, root, blocks),
            Method::Scatterv { recv, root } => self.scatterv(recv, root, blocks),
        }
    }

    #[inline]
    fn me(&self) -> usize {
        self.shm_comm.rank() as usize
    }

    #[inline]
    fn size(&self) -> usize {
        self.shm_comm.size() as usize
    }

    /// The other one of two.
    #[inline]
    fn other(&self) -> u32 {
        1 - self.shm_comm.rank()
    }

    /// The memory of elements of the program's.
    #[inline]
    fn buffer(&self, span: Span) -> UserBuf {
        self.host.buffer(&span.slice())
    }

    #[inline]
    fn wait(&self, watch: ShmWatch) -> CallResult<(), Mismatch> {
        match self.shm_comm.look_often(&watch) {
            Sight::Come => Ok(()),
            Sight::Pending => {
                self.shm_comm.tell();
                self.host.wait(self.shm_comm, watch, self.copied)
            }
            Sight::Amiss => Err(self.shm_comm.mismatch(&watch)),
        }
    }

    /// Begins a sync step in which this rank writes to the sync buffer, once that is free.
    #[inline]
    fn begin_sync_writing(&mut self) -> CallResult<SyncStep, Mismatch> {
        let sync = self.shm_comm.begin_sync();
        while let Some(behind) = self.shm_comm.before_sync_write(sync) {
            self.wait(behind)?;
        }
        Ok(sync)
    }

    /// Until all ranks have come to a sync step.
    #[inline]
    fn all_come(&self, sync: SyncStep) -> CallResult<(), Mismatch> {
        self.all_come_after(sync, || ())
    }

    /// As [`ShmCall::all_come`]; of more than two ranks, the one that comes last does something for all first.
    #[inline]
    fn all_come_after(&self, sync: SyncStep, last: impl FnOnce()) -> CallResult<(), Mismatch> {
        if self.size() == 2 {
            self.shm_comm.come(sync);
            return self.after_post(sync);
        }
        self.after_arrival(sync, self.shm_comm.arrive(sync), last)
    }

    /// Until all have come, of more than two ranks, to a sync step at which this one has arrived.
    #[inline]
    fn after_arrival(
        &self,
        sync: SyncStep,
        arrival: Arrival,
        last: impl FnOnce(),
    ) -> CallResult<(), Mismatch> {
        match arrival {
            Arrival::Early(watch) => self.wait(watch)?,
            Arrival::Last => {
                last();
                self.shm_comm.open(sync);
            }
            Arrival::Amiss => {
                return Err(self.shm_comm.first_mismatch().unwrap_or(Mismatch::Gone { rank: None }));
            }
        }
        self.shm_comm.all_have_come();
        Ok(())
    }

    /// Until the other one of two has come, to a sync step for which this one's flag is raised.
    #[inline]
    fn after_post(&self, sync: SyncStep) -> CallResult<(), Mismatch> {
        self.wait(self.shm_comm.posted(sync, self.other()))?;
        self.shm_comm.all_have_come();
        Ok(())
    }

    /// Begins an eager step in which this rank writes, once the eager slot is free.
    #[inline]
    fn begin_eager_writing(&mut self) -> CallResult<EagerStep, Mismatch> {
        let eager = self.shm_comm.begin_eager();
        self.free(eager)?;
        Ok(eager)
    }

    /// Until all ranks are through with what lay where this rank writes in an eager step.
    #[inline]
    fn free(&mut self, eager: EagerStep) -> CallResult<(), Mismatch> {
        while let Some(behind) = self.shm_comm.before_eager_write(eager) {
            self.wait(behind)?;
        }
        Ok(())
    }

    /// Two ranks exchange blocks by their flags: each of a buffer, the place in it, and its bytes.
    fn swap(&mut self, from: (&UserBuf, usize, usize), into: (&UserBuf, usize, usize)) -> CallResult {
        let (sync, other) = (self.shm_comm.begin_sync(), self.other());
        self.shm_comm.post(sync, &payload_of(from.0, from.1, from.2));
        self.after_post(sync)?;
        into.0.write(into.1, &self.shm_comm.posted_payload(sync, other)[..into.2]);
        Ok(())
    }

    /// Whether two ranks exchange so many bytes by their flags.
    #[inline]
    fn swaps(&self, bytes: usize) -> bool {
        self.size() == 2 && Self::fits_flag_payload(bytes)
    }

    /// A rank's share of an eager slot, in bytes.
    #[inline]
    fn slot_share(&self) -> usize {
        whole_lines(ShmComm::EAGER_SLOT_BYTES / self.size())
    }

    /// Whether so many bytes travel in a flag's line.
    #[inline]
    fn fits_flag_payload(bytes: usize) -> bool {
        bytes <= ShmComm::FLAG_PAYLOAD_BYTES
    }
}

/// A flag payload that begins with bytes of a buffer.
#[inline]
fn payload_of(buf: &UserBuf, offset: usize, bytes: usize) -> FlagPayload {
    let mut payload = NO_PAYLOAD;
    buf.read(offset, &mut payload[..bytes]);
    payload
}

/// A flag payload that begins with a word.
#[inline]
fn payload_of_word(word: u64) -> FlagPayload {
    let mut payload = NO_PAYLOAD;
    payload[..WORD_BYTES].copy_from_slice(&word.to_ne_bytes());
    payload
}

/// The word that a flag payload begins with.
#[inline]
fn word_of(payload: &FlagPayload) -> u64 {
    word_at(payload, 0)
}

/// A word of some bytes.
#[inline]
fn word_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_ne_bytes(*bytes[at..].first_chunk().expect("eight bytes"))
}

/// Two words, one behind the other.
#[inline]
fn two_words(words: [u64; 2]) -> [u8; 2 * WORD_BYTES] {
    let mut bytes = [0; 2 * WORD_BYTES];
    bytes[..WORD_BYTES].copy_from_slice(&words[0].to_ne_bytes());
    bytes[WORD_BYTES..].copy_from_slice(&words[1].to_ne_bytes());
    bytes
}

/// Pieces of at most `piece` bytes of `bytes` bytes: where each begins, and its length.
fn pieces(bytes: usize, piece: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..bytes).step_by(piece).map(move |at| (at, piece.min(bytes - at)))
}

/// The same, of nothing one piece of nothing: for ways in which all synchronize for each piece.
fn parts(bytes: usize, piece: usize) -> impl Iterator<Item = (usize, usize)> {
    let empty = (bytes == 0).then_some((0, 0));
    empty.into_iter().chain(pieces(bytes, piece))
}

/// The cache lines that so many bytes hold, in bytes.
fn whole_lines(bytes: usize) -> usize {
    bytes / LINE_BYTES * LINE_BYTES
}

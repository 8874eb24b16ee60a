//! Constants of the simulator: unit in the name, the reason beside it.

/// Steps of schedules that all ranks together may hold, bytes: what is left of a gigabyte beside them is the ranks'
/// own. A rank that may hold less than its schedule builds it again for each part.
pub const SCHEDULE_BYTES_MAX: usize = 256 << 20;

/// Bytes of the largest single message: the scratch memory that all messages share is never touched, but it is
/// address space, and some systems refuse to reserve much more than they have.
pub const MESSAGE_BYTES_MAX: u64 = 4 << 30;

/// Most ranks of a run. Numbers of messages under way must fit in 32 bits.
pub const RANKS_MAX: u32 = 1 << 27;

/// Ranks up to which messages may carry real bytes: the buffers of an alltoall grow with the square of the ranks.
pub const CHECKED_RANKS_MAX: u32 = 1024;

/// Bytes of the buffers of all ranks, the longer one of each counted, up to which messages may carry real bytes: with the other
/// ones, what is expected and what is under way it is three or four times as much memory.
pub const CHECKED_BYTES_MAX: u64 = 1 << 30;

/// Events between two reports of progress: a hundredth of a second or so.
pub const EVENTS_PER_REPORT: u64 = 1 << 14;

/// Retransmissions after which a message that is lost again and again gets through: the loss was meant to be rare.
pub const LOSSES_MAX: u32 = 16;

/// Events before which the memory of a flight, of its receiver, and of that one's engine is asked for. A rank of a million
/// is in no cache, and each takes about a microsecond: memory needs a tenth of that.
pub const PREFETCH_FLIGHT: usize = 6;
/// See [`PREFETCH_FLIGHT`].
pub const PREFETCH_RANK: usize = 4;
/// See [`PREFETCH_FLIGHT`].
pub const PREFETCH_ENGINE: usize = 2;

/// Messages of puts up to which each is run, some seconds long. Of an all-to-all of more than a thousand ranks there are
/// more, and all ranks do the same, so it is priced.
pub const WINDOW_MESSAGES_MAX: u64 = 4_000_000;

/// Waiting ranks that a report of a hang names one by one.
pub const WAITS_SHOWN: usize = 12;

//! Constants of shared memory, each with its unit and its reason.

use std::time::Duration;

pub use tern_transport::limits::*;

/// Bytes of a cache line, the unit in which ranks pass each other data.
pub const LINE_BYTES: usize = 64;

/// Lines of a message that are written before its first one, which tells the reader to begin. A reader that comes too close
/// takes lines away from under the writer; one that waits for all of them begins too late (docs/decisions/0008-lines-overlap.md).
pub const LINES_AHEAD: u32 = 8;

/// Bytes of a message whose lines are all there with the first one.
pub const LINES_WHOLE_PAYLOAD_BYTES_MAX: usize =
    HEAD_PAYLOAD_BYTES + LINES_AHEAD as usize * MORE_PAYLOAD_BYTES;

/// Bytes of a message that goes by lines where payloads go by cells rather than by the kernel: one whose lines are not all there with
/// the first costs more than a cell's one mark for all of its lines (docs/decisions/0040-messages-at-hand-land-at-once.md).
pub const LINES_BEFORE_CELLS_PAYLOAD_BYTES_MAX: usize = LINES_WHOLE_PAYLOAD_BYTES_MAX;

/// Bytes of a message from which cells are taken in turn. By the time a cell is used again, its lines
/// have left both cores' own caches for the one that they share, from where they come several times as fast.
/// A shorter message is faster in the cell used last (docs/performance/constants.md).
pub const CELL_TURNS_BYTES_MIN: usize = 8 * 1024;

/// Cells that take turns while as many are free: with those of [`CELL_BYTES`] 1 MiB, as much as a core's own cache holds. What all ranks
/// of a job write in turn should stay in the cache that they share (docs/performance/constants.md).
pub const CELLS_IN_TURN: u32 = 64;

/// Bytes of all that take turns, as they are unless a variable says otherwise.
pub const CELLS_IN_TURN_BYTES: u64 = (CELLS_IN_TURN * CELL_BYTES) as u64;

/// Cells that a rank uses at least where ranks outnumber the cores: three of the longest messages that go by cells. With many
/// cells each, 16 ranks fill the last cache, since nobody empties them before he has the core (docs/performance/constants.md).
pub const OVERSUBSCRIBED_CELLS_MIN: u32 = 16;

/// Cells that each peer may keep to answer with, at least: those of a message where many ranks share the cells.
pub const CELLS_LENT_PER_PEER_MIN: u32 = MESSAGE_CELLS_FEW;

/// Cells of others that a rank keeps: of a few peers as many as it may. Of more, the latest.
pub const CELLS_KEPT_MAX: usize = 64;

/// Pieces in which a cell is filled and emptied: the receiver copies one while the sender writes the next. Each is announced by a line
/// that crosses between the cores: more of them cost more than they bring.
pub const CELL_PIECES: u32 = 2;

/// Bytes of a piece at least: each has a line of the ring.
pub const CELL_PIECE_BYTES_MIN: u32 = 4 * 1024;

/// Messages that a peer sends through the receiver's queue before it opens a ring: pairs that meet only in
/// start-up and tear-down never touch a ring's pages, and the receiver never polls for them.
pub const QUEUE_MESSAGES_BEFORE_RING: u32 = 4;

/// While messages come faster than they are taken, the reader asks for the line so far ahead.
pub const BURST_LINES: u32 = 6;

/// What is lost by trials of the slower of two ways is about one part in so many: a choice between ways that take 1 and 1.5 tries
/// once in 32 runs, between 1 and 5 once in 256.
pub const TUNER_LOSS: f32 = 64.0;

/// Runs between two trials at least: ways that are as good as equal are not worth more.
pub const TUNER_RUNS_MIN: u32 = 8;

/// Runs of a trial: the first brings to the caches what the other way has not used.
pub const TUNER_TRIAL_RUNS: u32 = 2;

/// Runs between two trials at most: in a second of messages that take a millisecond.
pub const TUNER_RUNS_MAX: u32 = 1024;

/// Long messages that begin while one is measured, before that one counts as lost: it may have gone another way, or failed.
pub const FOLLOWERS_MAX: u32 = 64;

/// Choices of a rank for long messages of a peer after which it no longer counts as an exchange if the peer has made none for this rank's.
/// Both choose as often in an exchange, but not by turns.
pub const EXCHANGE_SILENT_CHOICES: u32 = 4;

/// In an exchange cells are taken though their messages take so much more of the kernel's time
/// (docs/decisions/0010-cells-or-kernel.md).
pub const CELLS_IN_EXCHANGE_FAVOR: f32 = 0.3;

/// Pieces of which the last one is measured: as many as all cells have, so that all have been filled in the same way.
pub const STORES_PER_SAMPLE: u32 = CELLS * CELL_PIECES;

/// Where ranks outnumber the cores, the slower way to fill cells is tried in the last of so many samples.
pub const CROWDED_SAMPLES_PER_TRIAL: u32 = 32;

/// Bytes of the longest message that tries a way that was slower before: a millisecond or two are lost at most. One of
/// which nothing is known is tried with any message.
pub const TRIAL_BYTES_MAX: u64 = 4 << 20;

/// Lines taken from one ring, and messages from the queue, in one poll: no peer starves the others.
pub const POLL_BUDGET: u32 = 32;

/// Shared copies that a receiver may have open at once; beyond it the engine gets alone.
pub const COOPERATIVE_COPY_SLOTS: usize = 16;

/// Shm communicators that each rank can lead: communicators whose barriers go through shared memory.
pub const SHM_COMM_SLOTS: usize = 256;

/// How many of them have memory for data as well. A shared buffer is only address space until it is used.
pub const SHARED_BUFFERS: usize = 32;

/// Ranks of the largest shm communicator that moves data through its shared buffer: beyond, what each rank has to look at grows too
/// long, and the schedules over messages are faster.
pub const SHM_COMM_RANKS_MAX: usize = 64;

/// Ranks of a shm communicator from which on they are divided into parts. Fewer count up one word in the time that a part takes more.
pub const PARTED_RANKS_MIN: usize = 17;

/// Ranks of the largest one that is divided: beyond, what each says of its place would take pages.
pub const PARTED_RANKS_MAX: usize = 256;

/// Parts at most: the sockets, memory nodes or caches of the larger machines of today.
pub const PARTS_MAX: usize = 16;

/// Ranks that count up one word though they could be divided: a cache of the third level is that of so many cores or more.
pub const PART_RANKS_MIN: usize = 8;

/// Payload bytes beside a flag's count in its line.
pub const FLAG_PAYLOAD_BYTES: usize = 48;

/// Eager slots: so many eager steps may the first ranks be ahead of the last. As many as let the roots of sixteen ranks take turns without
/// waiting.
pub const EAGER_SLOTS: usize = 16;

/// The same of eager steps whose bytes all fit beside a flag, and so need no eager slot. Where ranks share cores, each wait of a
/// root for the last rank is a change of core for all of them: with 128, more than half of the time of short scans went there.
pub const EAGER_PAYLOADS: usize = 512;

/// So many of them two ranks use: their lines stay in the first-level caches.
pub const EAGER_PAYLOADS_OF_TWO: usize = 128;
const _: () = assert!(EAGER_PAYLOADS.is_power_of_two() && EAGER_PAYLOADS_OF_TWO.is_power_of_two());
const _: () = assert!(EAGER_PAYLOADS_OF_TWO <= EAGER_PAYLOADS);

/// Bytes of an eager slot; all eager slots together lie in a second-level cache of today.
pub const EAGER_SLOT_BYTES: usize = 64 * 1024;

/// Bytes of a sync buffer: a quarter of such a cache.
pub const SYNC_BUFFER_BYTES: usize = 512 * 1024;

/// Bytes behind a sync buffer's data, for what ranks say of their blocks: so what is said of a block does not take the room of a block
/// whose length is a power of two.
pub const SYNC_SPARE_BYTES: usize = 64 * 1024;

/// Bytes of a sync buffer with what is behind its data.
pub const SYNC_AREA_BYTES: usize = SYNC_BUFFER_BYTES + SYNC_SPARE_BYTES;

/// Sync buffers, which calls use in turn: who took part in a sync step two calls ago knows without looking that the next buffer is free.
pub const SYNC_BUFFERS: usize = 4;

/// Bytes whose lines are asked for ahead of writing them: more than the core can ask for at once gains nothing.
pub const ANNOUNCED_BYTES_MAX: usize = 8 * 1024;

/// Ranks that read one rank's memory at once: the kernel's lock on a process's pages makes more of them wait for each other.
pub const READERS_MAX: usize = 4;

/// Flags of a shared buffer. A rank has two for posts, two for turns, one that says how far it is and one for those who read its memory.
/// An eager step has one for the root, and one a rank for contributions, whether it has a slot or not.
pub const SHARED_BUFFER_FLAGS: usize =
    (6 + EAGER_SLOTS + EAGER_PAYLOADS) * SHM_COMM_RANKS_MAX + EAGER_SLOTS + EAGER_PAYLOADS;

/// Counts of those who sleep on the flags of a shm communicator. So many fit one line, beside those of the gate.
pub const FLAG_SLEEPERS: usize = 32;

/// Bytes of data of a shared buffer.
pub const SHARED_BUFFER_DATA_BYTES: usize = SYNC_BUFFERS * SYNC_AREA_BYTES + EAGER_SLOTS * EAGER_SLOT_BYTES;

/// Bytes of a block by which the kernel's copies go where it is slow to copy to their place at once: a system call costs little beside so
/// many, and they stay in the second-level cache.
pub const SHIFTED_BLOCK_BYTES: usize = 64 * 1024;

/// Pieces of memory handed to the kernel in one `process_vm_readv`; 2 KiB of stack.
pub const IOVECS_PER_CALL: usize = 128;

/// Bytes of that block: large enough to make the system call cheap, small enough for any thread's stack.
pub const BLOCK_BYTES: usize = 16 * 1024;

/// How long the first question about a peer waits for that peer to attach, milliseconds. Ranks start within
/// milliseconds of each other; one that takes longer is asked through the segment alone.
pub const ATTACH_WAIT_MS: u64 = 2000;

/// How long of it a rank only lets others have its core. Then it naps.
pub const ATTACH_YIELDS: Duration = Duration::from_millis(1);

/// Such a nap.
pub const ATTACH_NAP: Duration = Duration::from_micros(50);

const _: () = assert!(FLAG_PAYLOAD_BYTES + 16 == LINE_BYTES && SHARED_BUFFERS <= SHM_COMM_SLOTS);
const _: () = assert!(HEAD_PAYLOAD_BYTES + 3 * 8 == LINE_BYTES && MORE_PAYLOAD_BYTES + 8 == LINE_BYTES);
const _: () = assert!(MESSAGE_CELLS_MAX * CELL_PIECES <= RING_LINES_MIN - RING_LINES_MIN / 4);

/// Chunks that a cooperative copy is divided into while they stay within the two bounds below: enough that both
/// sides end at nearly the same time, few enough that the system calls (about 0.5 µs each) do not count
/// (docs/decisions/0009-copy-by-both-sides.md).
pub const COOPERATIVE_CHUNKS: u64 = 8;

/// Smallest chunk of a cooperative copy that is long enough for one such chunk a side; a shorter copy has one chunk a side.
pub const COOPERATIVE_CHUNK_BYTES_MIN: u64 = 64 * 1024;

/// Largest chunk of a cooperative copy: an eighth of a second-level cache.
pub const COOPERATIVE_CHUNK_BYTES_MAX: u64 = 256 * 1024;

/// The job's memory file grows by so much at once. The last page of that is taken until the range that it is in is released.
pub const MEMORY_GROWTH_BYTES: u64 = 16 << 20;

/// Bytes of the largest range of that file whose release may wait: with those below, a rank keeps at most 1 MiB.
pub const RELEASED_BYTES_MAX: usize = 64 << 10;

/// Ranges whose release waits. Meanwhile the other ranks have unmapped them.
pub const RELEASED_RANGES_MAX: usize = 16;

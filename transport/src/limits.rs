//! Constants of this room, each with its unit and its reason.

/// Bytes of a cache line, the unit in which ranks pass each other data.
pub const LINE_BYTES: usize = 64;

/// Bytes of a page; regions start on one so that a silent rank's region is never touched.
pub const PAGE_BYTES: usize = 4096;

/// Payload bytes in a message's first line: 64 less 8 of marks, 8 of context, 8 of source and tag.
pub const HEAD_PAYLOAD_BYTES: usize = 40;

/// Payload bytes in each further line: 64 less 8 of marks.
pub const MORE_PAYLOAD_BYTES: usize = 56;

/// Lines of one message in a ring. Up to here, lines cost less than a cell, which needs a descriptor line and
/// a flag besides the payload; above, the plain copy of a cell wins over 56 bytes at a time.
pub const MESSAGE_LINES_MAX: usize = 19;

/// Payload bytes of a message that travels in ring lines.
pub const LINES_PAYLOAD_BYTES_MAX: usize = HEAD_PAYLOAD_BYTES + (MESSAGE_LINES_MAX - 1) * MORE_PAYLOAD_BYTES;

/// Lines of a ring unless `TERN_RING_SLOTS` says otherwise: 4 KiB for a pair, in the first-level cache with
/// its twin of the other direction.
pub const RING_LINES: u32 = 64;

/// Lines of the smallest ring: a message of the most lines must fit when the reader has published all but
/// its last quarter.
pub const RING_LINES_MIN: u32 = 32;

/// Lines of the largest ring; positions are compared modulo 2^32, which needs far fewer than 2^31.
pub const RING_LINES_MAX: u32 = 4096;

/// Cells of a rank unless `TERN_CELLS` says otherwise: messages of more than a ring's line that may be on
/// their way from one rank at once.
pub const CELLS: u32 = 16;

/// Most cells a rank may have: which are free is one machine word.
pub const CELLS_MAX: u32 = 64;

/// Bytes of a cell unless `TERN_CELL_BYTES` says otherwise: beyond it, a copy through the segment costs more
/// than the system call of a get.
pub const CELL_BYTES: u32 = 16 * 1024;

/// Largest cell; it keeps a rank's region addressable in 32 bits.
pub const CELL_BYTES_MAX: u32 = 1024 * 1024;

/// Messages that a peer sends through the receiver's queue before it opens a ring: pairs that meet only in
/// start-up and tear-down never touch a ring's pages, and the receiver never polls for them.
pub const QUEUE_MESSAGES_BEFORE_RING: u32 = 4;

/// Lines taken from one ring, and messages from the queue, in one poll: no peer starves the others.
pub const POLL_BUDGET: u32 = 32;

/// Shared copies that a receiver may have open at once; beyond it the engine gets alone.
pub const SHARE_SLOTS: usize = 16;

/// Slots for barriers (and later collectives) that each rank can lead.
pub const BARRIER_SLOTS: usize = 256;

/// Pieces of memory handed to the kernel in one `process_vm_readv`; 2 KiB of stack.
pub const IOVECS_PER_CALL: usize = 128;

/// Average bytes of a local piece below which a get or put goes through a block on the stack: the kernel takes
/// about as long for each piece as for copying so many bytes. Measured: pieces of 8 bytes are 11 times faster by
/// the block, of 256 equal, of 4 KiB half as fast.
pub const PIECE_BYTES_MIN: usize = 256;

/// Bytes of that block: large enough to make the system call cheap, small enough for any thread's stack.
pub const BLOCK_BYTES: usize = 16 * 1024;

/// How long the first question about a peer waits for that peer to attach, milliseconds. Ranks start within
/// milliseconds of each other; one that takes longer is asked through the segment alone.
pub const ATTACH_WAIT_MS: u64 = 2000;

/// Messages to itself that a rank may have on the way.
pub const LOOPBACK_MESSAGES_MAX: usize = 256;

const _: () = assert!(HEAD_PAYLOAD_BYTES == crate::am::AM_INLINE_BYTES_MAX);
const _: () = assert!(HEAD_PAYLOAD_BYTES + 3 * 8 == LINE_BYTES && MORE_PAYLOAD_BYTES + 8 == LINE_BYTES);
const _: () = assert!(MESSAGE_LINES_MAX as u32 <= RING_LINES_MIN - RING_LINES_MIN / 4);
const _: () = assert!(CELLS <= CELLS_MAX && CELLS_MAX <= u64::BITS);
const _: () =
    assert!(LINES_PAYLOAD_BYTES_MAX < CELL_BYTES as usize && LINES_PAYLOAD_BYTES_MAX <= u16::MAX as usize);

/// Chunks that a shared copy is divided into while they stay within the two bounds below: enough that both
/// sides end at nearly the same time, few enough that the system calls (about 0.5 µs each) do not count.
/// Measured: 8 is better than 16 by a tenth from 256 KiB to 1 MiB, and 32 is worse everywhere.
pub const SHARE_CHUNKS: u64 = 8;

/// Smallest chunk of a shared copy that is long enough for one such chunk a side; a shorter copy has one chunk a side.
/// Measured: with 64 KiB, 128 and 256 KiB take 0.6 and 0.75 of the time that they take with 16 KiB.
pub const SHARE_CHUNK_BYTES_MIN: u64 = 64 * 1024;

/// Largest chunk of a shared copy: an eighth of a second-level cache.
pub const SHARE_CHUNK_BYTES_MAX: u64 = 256 * 1024;

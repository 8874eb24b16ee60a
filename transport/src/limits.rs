//! Constants that several transports share, each with its unit and its reason.

/// Regions start on a page so that a silent rank's region is never touched.
pub use tern_mem::limits::PAGE_BYTES;

/// Payload bytes in a message's first line: 64 less 8 of marks, 8 of context, 8 of source and tag.
pub const HEAD_PAYLOAD_BYTES: usize = 40;

/// Payload bytes in each further line: 64 less 8 of marks.
pub const MORE_PAYLOAD_BYTES: usize = 56;

/// Lines of one message in a ring: enough for 4 KiB. The reader takes them while the writer is at the later ones.
/// Above, the kernel's copy is faster than lines that cross between the cores (docs/performance/constants.md).
pub const MESSAGE_LINES_MAX: usize = 74;

/// Payload bytes of a message that travels in ring lines.
pub const LINES_PAYLOAD_BYTES_MAX: usize = HEAD_PAYLOAD_BYTES + (MESSAGE_LINES_MAX - 1) * MORE_PAYLOAD_BYTES;

/// Lines of a ring unless `TERN_RING_SLOTS` says otherwise: 16 KiB for a pair, which with its twin of the other direction fits
/// the first-level cache; three messages of the most lines, or four windows of 64 short ones. Pages come when touched.
pub const RING_LINES: u32 = 256;

/// Lines of the smallest ring: a message of the most lines must fit when the reader has published all but
/// its last quarter.
pub const RING_LINES_MIN: u32 = 128;

/// Lines of the largest ring; positions are compared modulo 2^32, which needs far fewer than 2^31.
pub const RING_LINES_MAX: u32 = 4096;

/// Cells of a rank unless `TERN_CELLS` says otherwise: messages of more than a ring's line that may be on
/// their way from one rank at once. Pages come when touched.
pub const CELLS: u32 = 128;

/// Most cells a rank may have: which are free is one word.
pub const CELLS_MAX: u32 = 128;

/// Bytes of a cell unless `TERN_CELL_BYTES` says otherwise: where the kernel copies fast, a copy through the segment costs more
/// than the system call of a get beyond it.
pub const CELL_BYTES: u32 = 16 * 1024;

/// Cells of the longest message. One of so many goes without asking only into cells that this rank has just read: to ask, and to begin
/// copying anew, takes a fifth of the time of 256 KiB. Into other cells it would take longer than the kernel does where both ranks must copy.
pub const MESSAGE_CELLS_MAX: u32 = 32;

/// Cells of the longest message that goes without asking in any case, where messages go by cells and every rank has a core: to ask takes
/// a third of the time of 128 KiB.
pub const MESSAGE_CELLS_UNASKED: u32 = 8;

/// The same elsewhere. Where ranks outnumber the cores they have few cells, and where the kernel copies a receiver fetches the longer ones.
pub const MESSAGE_CELLS_FEW: u32 = 4;

/// Largest cell; it keeps a rank's region addressable in 32 bits.
pub const CELL_BYTES_MAX: u32 = 1024 * 1024;

/// Average bytes of a local piece below which a get or put goes through a block on the stack: the kernel takes
/// about as long for each piece as for copying so many bytes. Measured: pieces of 8 bytes are 11 times faster by
/// the block, of 256 equal, of 4 KiB half as fast.
pub const PIECE_BYTES_MIN: usize = 256;

const _: () = assert!(HEAD_PAYLOAD_BYTES == crate::am::AM_INLINE_BYTES_MAX);
const _: () = assert!(LINES_PAYLOAD_BYTES_MAX >= 4096);
const _: () = assert!(MESSAGE_LINES_MAX as u32 <= RING_LINES_MIN - RING_LINES_MIN / 4);
const _: () = assert!(CELLS <= CELLS_MAX && CELLS_MAX <= u128::BITS);
const _: () =
    assert!(LINES_PAYLOAD_BYTES_MAX < CELL_BYTES as usize && LINES_PAYLOAD_BYTES_MAX <= u16::MAX as usize);

/// Longest message over TCP that is sent without asking, unless `TERN_TCP_EAGER_BYTES` says otherwise: what the engine's credits
/// allow. To ask takes as long as 100 KB need on a loop-back, which is little only beside more than this.
pub const TCP_EAGER_BYTES: u32 = 2 * 1024 * 1024;

/// What `TERN_TCP_EAGER_BYTES` can be at most.
pub const TCP_EAGER_BYTES_MAX: u32 = 16 * 1024 * 1024;

/// Longest message over TCP that is copied for the case that it must be sent again, so that its sender can go on. Beyond, the
/// copy costs more than an acknowledgement.
pub const TCP_COPIED_BYTES: u32 = 128 * 1024;

/// Bytes of a frame that is sent without a copy: long enough that headers and calls do not count, short enough that other
/// messages to the same peer get in between within a millisecond or so.
pub const ZERO_COPY_BYTES_MAX: usize = 4 << 20;

/// Seconds for a peer whose connection broke to come back, unless `TERN_PEER_TIMEOUT` says otherwise: a switch restarts in
/// that time.
pub const PEER_TIMEOUT_S: u32 = 30;

/// Fewest packets of multicasts that have a parity together.
pub const PARITY_RUN_MIN: u32 = 2;

/// Most of them: what the protocol can cover.
pub const PARITY_RUN_MAX: u32 = 32;

//! Constants of this room, each with its unit and its reason.

use tern_mem::limits::BOUNCED_BYTES_MAX;

/// Pieces of memory in one system call: the kernel takes no more (`IOV_MAX`), and a list of so many is 4 KiB of stack.
pub const PIECES_PER_CALL: usize = 256;

/// Pieces of memory shorter than this, on the average, are copied together before a call: the kernel takes some 100 ns for each.
pub const PACK_PIECE_BYTES: usize = 2048;

/// Bytes that are copied together for one call: they stay in the second-level cache.
pub const PACK_BYTES: usize = BOUNCED_BYTES_MAX;

/// Bytes of a block by which data go where the kernel is slow to copy them to their place at once: it stays in the second-level cache with
/// what it is copied to, and its call costs little beside the copy.
pub const SHIFTED_BLOCK_BYTES: usize = 64 << 10;

/// Pieces of memory that are looked at to tell how long they are.
pub const SAMPLE_PIECES: usize = 8;

/// Bytes of memory with gaps that are asked for while the kernel copies: a part of a first-level cache.
pub const EXPECTED_BYTES: usize = 16 << 10;

/// Bytes of one system call at most: the kernel moves no more than 0x7ffff000, and a multiple of pages stays aligned.
pub const CALL_BYTES_MAX: usize = 1 << 30;

/// Threads that do non-blocking accesses of one process: enough that a disk has something to choose from.
pub const WORKERS_MAX: usize = 4;

/// Accesses that the kernel has at once by io_uring.
pub const RING_ENTRIES: u32 = 64;

/// What `cb_buffer_size` is unless a hint says otherwise: the value of ROMIO's users. It stays in a last-level cache.
pub const CB_BUFFER_BYTES: u64 = 16 << 20;

/// The smallest collective buffer: below, synchronization costs more than the copies.
pub const CB_BUFFER_BYTES_MIN: u64 = 8 << 10;

/// The largest one.
pub const CB_BUFFER_BYTES_MAX: u64 = 4 << 30;

/// What `ind_rd_buffer_size` is unless a hint says otherwise.
pub const SIEVE_READ_BYTES: u64 = 4 << 20;

/// What `ind_wr_buffer_size` is unless a hint says otherwise.
pub const SIEVE_WRITE_BYTES: u64 = 512 << 10;

/// Pieces of a file below this many bytes, on the average, are read by sieving: a system call costs as much as copying some KiB.
pub const SIEVE_PIECE_BYTES: u64 = 4 << 10;

/// And only where at least one of so many bytes is wanted.
pub const SIEVE_WASTE_MAX: u64 = 8;

/// What file ranges of aggregators are aligned to where the file system does not say: a page.
pub const ALIGN_BYTES: u64 = 4096;

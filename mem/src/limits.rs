//! Constants of this room, each with its unit and its reason.

/// Bytes of stack through which two buffers that both have gaps exchange data: large enough that looking up
/// the position again (a division or a binary search) costs nothing against the copy, small enough for any
/// thread's stack and for the first-level cache.
pub const BOUNCE_BYTES: usize = 4096;

/// Pieces up to which an irregular layout is spliced into the list of the type around it. Splicing keeps
/// packing a single loop and long chains of nested structures shallow; the bound keeps types that mention
/// another one twice from growing as powers of two.
pub const SPLICE_PIECES_MAX: usize = 256;

/// Bytes up to which a copy is a few moves in line; above it `memmove` is called, whose start costs less than
/// a longer chain of tests would.
pub const INLINE_COPY_BYTES_MAX: usize = 64;

/// Bytes up to which `memmove` copies by loads and stores of vectors, everywhere that we know of.
pub const STEP_BYTES: usize = 2048;

/// Bytes that go through a kept block at a time: they stay in the second-level cache.
pub const BOUNCED_BYTES_MAX: usize = 512 << 10;

/// Bytes of a copy from which the size of the last-level cache is asked: no processor that runs MPI has less than twice as many.
pub const PAST_CACHE_BYTES_MIN: usize = 512 << 10;

/// Bytes of a piece that goes past the cache: one that is shorter has parts of lines at its ends, which do not.
pub const PAST_CACHE_PIECE_BYTES_MIN: usize = 256;

/// Bytes of a cache line.
pub const LINE_BYTES: usize = 64;

/// Bytes of a page.
pub const PAGE_BYTES: usize = 4096;

/// Bytes of a copy by the kernel to a place a few bytes farther in its page, from which a way by another block is worth it: a fourth of
/// a page takes as long as a system call.
pub const SHIFTED_BYTES_MIN: usize = 1024;

/// Pieces of memory that are listed at a time when a buffer is probed.
pub const PROBED_PIECES: usize = 64;

const _: () = assert!(BOUNCE_BYTES % 64 == 0);

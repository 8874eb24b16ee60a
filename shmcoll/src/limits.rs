//! Constants of this room, each with its unit and its reason.

use std::ops::Range;
use tern_shm::limits::{EAGER_SLOT_BYTES, SHM_COMM_RANKS_MAX, SYNC_BUFFER_BYTES};

/// Bytes of a reduction up to which one rank combines what all have written: above, dividing the work pays for the waiting in
/// between.
pub const SHM_REDUCE_BYTES_MAX: usize = 8 * 1024;

/// Ranks of a scan up to which each combines what lies below it: the work grows with their square, and at 16 ranks takes as long as
/// a sync step.
pub const SHM_SCAN_EACH_RANKS_MAX: usize = 16;

/// Bytes of the operands of a scattered reduction up to which one rank combines what all have written: from there on, as many turns as
/// there are ranks take no longer.
pub const SHM_SCATTERED_BYTES_MAX: usize = 16 * 1024;

/// Bytes of an eager slot that a large broadcast fills at once: the others begin to read while the root writes on.
pub const SHM_BCAST_PIECE_BYTES: usize = 32 * 1024;

/// Bytes of a broadcast between two ranks up to which it goes over shared memory: a longer message is copied once,
/// by both sides.
pub const SHM_PAIR_BYTES_MAX: usize = 16 * 1024;

/// Bytes of a block of an allgather among more than two ranks from which they fetch each other's blocks: below, to write each block once
/// for all costs less.
pub const SHM_ALLGATHER_FETCH_BYTES_MIN: usize = 256 * 1024;

/// Bytes from which two ranks fetch each other's blocks: below, asking the kernel costs more than a second copy. Blocks
/// written since the last call lie modified in the other core's cache, from where the kernel's copy gets them slowly.
/// Figures: docs/performance/constants.md.
pub const SHM_FETCH_BYTES_MIN: usize = 8 * 1024;

/// Bytes of a block of an all-to-all from which all ranks fetch their blocks, which takes one more sync step.
pub const SHM_ALLTOALL_FETCH_BYTES_MIN: usize = 32 * 1024;

/// Bytes of a block of a scatter from which each rank but the root moves its own by the kernel: below, a second copy costs less
/// (docs/decisions/0038-long-blocks-by-one-copy.md).
pub const SHM_DIRECT_SCATTER_BYTES_MIN: usize = 64 * 1024;

/// The same of a gather of any number of bytes.
pub const SHM_DIRECT_GATHER_BYTES_MIN: usize = 128 * 1024;

/// Bytes of a block of a gather or a scatter up to which no rank asks whether the ranks share cores, or what the kernel allows.
pub const SHM_SHORT_BLOCK_BYTES_MAX: usize = 4 * 1024;

/// Bytes of a block of a gather or a scatter that goes through an eager slot rather than by a message
/// (docs/decisions/0044-blocks-announced-in-a-step.md).
pub const SHM_SLOT_BLOCK_BYTES_MAX: usize = 8 * 1024;

/// Bytes of such a block up to which it goes by a message though ranks share cores, where cells are fast: beyond, a message has more
/// pieces than its sender has cells at a time (docs/decisions/0044-blocks-announced-in-a-step.md).
pub const SHM_CROWDED_CELLS_BYTES_MAX: usize = 64 * 1024;

/// Ranks beyond which blocks longer than their share of an eager slot go in pieces where payloads go by cells. Among
/// fewer, messages are faster (docs/decisions/0031-pieces-through-eager-slots.md).
pub const SHM_FEW_RANKS_MAX: usize = 4;

/// Bytes of all blocks of such a gather at most. Beyond, blocks that a scatter would move by the kernel go so.
pub const SHM_CELLS_GATHERED_BYTES_MAX: usize = 512 * 1024;

/// Bytes of a reduction to a root that goes so rather than in slices of a ring.
pub const SHM_CELLS_REDUCE_BYTES_MAX: usize = 64 * 1024;

/// Bytes of a broadcast or a sum between two ranks up to which it goes as above where payloads go by cells: messages take cells in
/// turn, and sums their slices (docs/performance/constants.md).
pub const SHM_CELLS_PAIR_BYTES_MAX: usize = 4 * 1024;

/// Bytes of a block of an all-to-all or an allgather between two ranks from which it goes by messages where payloads go by
/// cells, since these do not wait for each other (docs/performance/constants.md).
pub const SHM_CELLS_BLOCK_BYTES_MIN: usize = 8 * 1024;

/// Bytes of a block of an all-to-all among more ranks that goes by messages there, if all blocks fit into the cache. Shorter ones go in a
/// sync step. Longer ones are fetched: a message of so many cells needs both ranks on a core at once
/// (docs/decisions/0038-long-blocks-by-one-copy.md).
pub const SHM_CELLS_ALLTOALL_BYTES: Range<usize> = SHM_ALLTOALL_FETCH_BYTES_MIN..128 * 1024;

const _: () = assert!(SHM_REDUCE_BYTES_MAX * SHM_COMM_RANKS_MAX <= SYNC_BUFFER_BYTES);
const _: () = assert!(SHM_BCAST_PIECE_BYTES <= EAGER_SLOT_BYTES);

//! Raw memory: user buffers, datatypes and their layouts, copy kernels, reductions.
//!
//! This is the one room under the engine in which memory is touched through raw addresses. A [`UserBuf`] is
//! made once, unsafely, from what a program passed to an MPI call; everything above then moves bytes by
//! offset and length, without `unsafe` and without a way to leave the buffer.

#![warn(missing_docs)]

pub mod basic;
pub mod bounce;
pub mod buf;
pub mod cache;
mod copy;
pub mod datatype;
mod exposed;
pub mod external32;
pub mod layout;
pub mod limits;
pub mod op;
mod prefetch;
mod shifted;
mod steps;

pub use basic::Basic;
pub use buf::{BadMemory, ContiguousBuf, IoVec, UserBuf};
pub use copy::{copy_between_cores, copy_long, copy_past_cache, exceeds_cache, exceeds_cache_share};
pub use datatype::{Datatype, TypeError};
pub use exposed::{ExposedMemory, Guarded};
pub use layout::{Layout, Signature};
pub use prefetch::prefetch;
pub use shifted::is_slow_shift;

const _: () = assert!(usize::BITS == 64, "offsets and sizes are 64-bit throughout");

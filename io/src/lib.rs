//! Files without MPI: views, plans of collective buffering, and what moves the bytes.
//!
//! A [`View`] says where the bytes of a rank's stream lie in a file. [`access`] moves a part of such a stream between a user's buffer and a
//! [`Storage`]. A [`Plan`] says which rank reads or writes which range of the file for all ranks together. [`Workers`] do an access while the
//! program does something else. Nothing here knows ranks by more than a number.

#![warn(missing_docs)]

pub mod access;
pub mod ahead;
pub mod cover;
pub mod filesystem;
pub mod hints;
pub mod limits;
pub mod plan;
pub mod pool;
pub mod posix;
pub mod size_limit;
pub mod storage;
pub mod uring;
pub mod view;
pub mod workers;

pub use access::{Moved, Tuning};
pub use ahead::ReadAhead;
pub use cover::Cover;
pub use filesystem::FileSystem;
pub use hints::{Hints, Switch};
pub use plan::{AccessSpan, Plan};
pub use pool::{PoolState, PoolWalk, PoolWindow};
pub use posix::PosixFile;
pub use storage::Storage;
pub use view::{BadView, View};
pub use workers::{Backend, Workers};

//! How the processes of a job start and find each other.
//!
//! The library half is what a rank links: [`join()`] reads what `mpirun` left in the environment and
//! returns the [`Job`], with the descriptors through which the rank meets its peers ([`Job::segment`],
//! [`Job::link`]) and tells `mpirun` where it stands ([`Job::board`], [`Job::abort`]). The other half is the program
//! `mpirun` itself, under `src/mpirun/`; the formats that both halves speak ([`ticket`], [`board`], [`roster`],
//! [`control`], [`link`]) live here, one file each.

#![forbid(unsafe_code)]

pub mod board;
pub mod control;
pub mod cores;
mod foreign;
#[cfg(any(test, fuzzing))]
#[path = "../../fuzz/targets/runtime.rs"]
pub mod fuzz;
pub mod job;
mod join;
mod join_pmi;
pub mod kept;
pub mod limits;
pub mod link;
pub mod pmi;
mod pmi_client;
pub mod procfs;
pub mod roster;
pub mod ticket;
pub mod words;

pub use board::{Blocked, Board, RankState};
pub use cores::{CoreBudget, cores};
pub use job::{Job, exit_status};
pub use join::{JoinError, announced_size, join};
pub use link::Link;
pub use roster::{Places, Secret};

/// The monotonic clock in nanoseconds: the same in every process of a machine, so that `mpirun` can say
/// how long a rank has been waiting.
pub fn now_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

//! How the processes of a job start and find each other, on the rank's side.
//!
//! [`join()`] finds out how this process was started ([`bootstrap`]) and returns the [`Job`], with the descriptors through
//! which the rank meets its peers ([`Job::segment`], [`Job::link`]) and tells `mpirun` where it stands ([`Job::status_page`],
//! [`Job::abort`]). The formats that ranks and launchers speak ([`descriptor`], [`status_page`], [`node_map`], [`control`],
//! [`link`], [`pmi`]) live here, one file each.

#![forbid(unsafe_code)]

pub mod bootstrap;
pub mod control;
pub mod cores;
pub mod descriptor;
#[cfg(any(test, fuzzing))]
#[path = "../../fuzz/targets/job.rs"]
pub mod fuzz;
pub mod job;
pub mod limits;
pub mod link;
pub mod node_map;
pub mod pmi;
pub mod procfs;
mod reserved_fd;
pub mod status_page;
pub mod words;

pub use bootstrap::{JoinError, announced_size, join};
pub use cores::{CoreBudget, cores};
pub use job::{Job, exit_status};
pub use link::Link;
pub use node_map::{NodeMap, Secret};
pub use status_page::{Blocked, RankState, StatusPage};

/// The monotonic clock in nanoseconds: the same in every process of a machine, so that `mpirun` can say
/// how long a rank has been waiting.
pub fn now_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

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
pub mod hex;
pub mod job;
pub mod launcher;
pub mod limits;
pub mod link;
pub mod memory_file;
pub mod names;
pub mod node_map;
pub mod pmi;
pub mod process_end;
pub mod procfs;
pub mod ranges;
mod reserved_fd;
pub mod spawn_request;
pub mod status_page;
pub mod text;
pub mod topology;
pub mod watch;
pub mod words;

pub use bootstrap::{JoinError, announced_size, join};
pub use cores::{CoreBudget, cores, go_to_core, leave_core, own_cores, this_core};
pub use job::Job;
pub use link::DirectoryLink;
pub use node_map::{JobSecret, NodeMap};
pub use status_page::{Blocked, RankState, StatusPage};

/// The monotonic clock in nanoseconds: the same in every process of a machine, so that `mpirun` can say
/// how long a rank has been waiting.
pub fn now_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// The exit status for an error code of `MPI_Abort`. The kernel keeps 8 bits; a failure must not become a
/// success by losing the rest.
pub fn exit_status(code: i32) -> i32 {
    match code & 0xff {
        0 if code != 0 => 1,
        status => status,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_stays_one() {
        assert_eq!([0, 3, 255, 256, -1].map(exit_status), [0, 3, 255, 1, 255]);
    }
}

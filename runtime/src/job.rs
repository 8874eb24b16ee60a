//! The job as a rank sees it.

use std::borrow::Cow;
use std::os::fd::OwnedFd;

use crate::board::Board;
use crate::control::AbortNotice;
use crate::cores::{CoreBudget, affinity_cores};

/// The job of which this process is a rank. Its descriptors are closed on `exec`, so that no program
/// which the rank starts inherits them.
#[derive(Debug)]
pub struct Job {
    /// This process's rank in the world.
    pub rank: u32,
    /// Number of ranks in the world.
    pub size: u32,
    /// Which program of `mpirun`'s command line this is (`MPI_APPNUM`); `None` without `mpirun`.
    pub appnum: Option<u32>,
    /// `MPI_UNIVERSE_SIZE`.
    pub universe_size: u32,
    /// The memory file that the ranks of this machine share, empty until a rank gives it a size. `None`
    /// without `mpirun`.
    pub segment: Option<OwnedFd>,
    /// Where this rank says where it stands. `None` without `mpirun`.
    pub board: Option<Board>,
    /// The cores that the ranks of this machine share.
    pub cores: CoreBudget,
    pub(crate) control: Option<OwnedFd>,
}

impl Job {
    /// A world of one. Its budget counts the affinity mask alone: one rank outnumbers no quota.
    pub(crate) fn alone() -> Job {
        Job {
            rank: 0,
            size: 1,
            appnum: None,
            universe_size: 1,
            segment: None,
            board: None,
            cores: CoreBudget { usable: affinity_cores(), ranks: 1 },
            control: None,
        }
    }

    /// Ends the whole job: [`announce_abort`](Job::announce_abort), then this process exits.
    pub fn abort(&self, code: i32, message: &str) -> ! {
        self.announce_abort(code, message);
        std::process::exit(exit_status(code))
    }

    /// Tells `mpirun` to end every rank, to say that this one aborted and why, and to exit with `code`.
    /// Without `mpirun` the message goes to standard error. The caller then ends its own process.
    pub fn announce_abort(&self, code: i32, message: &str) {
        let notice = AbortNotice { rank: self.rank, code, message: Cow::Borrowed(message) };
        let told = self.control.as_ref().is_some_and(|pipe| notice.send(pipe).is_ok());
        if !told {
            eprintln!("tern: rank {} aborts the job with code {code}: {message}", self.rank);
        }
    }
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

    #[test]
    fn a_world_of_one_is_never_crowded() {
        let job = Job::alone();
        assert_eq!((job.rank, job.size, job.appnum), (0, 1, None));
        assert!(!job.cores.is_crowded());
    }
}

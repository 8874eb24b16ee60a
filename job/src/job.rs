//! The job as a rank sees it.

use std::borrow::Cow;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, OnceLock};

use rustix::rand::{GetRandomFlags, getrandom};

use crate::bootstrap::pmi1_client::Voice;
use crate::control::{AbortNotice, Notice};
use crate::cores::{CoreBudget, affinity_cores};
use crate::link::Link;
use crate::node_map::{self, NodeMap, SECRET_BYTES, Secret};
use crate::reserved_fd::ReservedFd;
use crate::status_page::StatusPage;

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
    pub status_page: Option<StatusPage>,
    /// The cores that the ranks of this machine share.
    pub cores: CoreBudget,
    /// The way to find out how other ranks are reached. `None` without `mpirun`.
    pub link: Option<Link>,
    /// A pipe that ends when this host's `mpirun` or agent does, and says nothing before. `None` without `mpirun`.
    pub lifeline: Option<OwnedFd>,
    /// Number of hosts.
    pub hosts: u32,
    pub(crate) places: OnceLock<NodeMap>,
    pub(crate) control: Option<Control>,
}

/// How a rank ends the job.
#[derive(Debug)]
pub(crate) enum Control {
    /// By the control pipe of Tern's `mpirun`.
    Pipe(Arc<ReservedFd>),
    /// By a word to another launcher.
    Pmi(Voice),
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
            status_page: None,
            cores: CoreBudget { usable: affinity_cores(), ranks: 1 },
            control: None,
            link: None,
            lifeline: None,
            hosts: 1,
            places: OnceLock::new(),
        }
    }

    /// What only the processes of this job know, for proofs on connections. A world of one makes one up.
    pub fn secret(&self) -> io::Result<Secret> {
        match &self.status_page {
            Some(status_page) => {
                Ok(status_page.file().with(|file| node_map::read_secret(file, self.size))?)
            }
            None => fresh_secret(),
        }
    }

    /// The number of the host on which `rank` runs. Ranks of one host share memory.
    pub fn host_of(&self, rank: u32) -> u32 {
        if self.hosts == 1 { 0 } else { self.places().host_of(rank) }
    }

    /// Which ranks run where.
    pub fn places(&self) -> &NodeMap {
        self.places.get_or_init(|| {
            let read = |status_page: &StatusPage| {
                status_page.file().with(|file| node_map::read_places(file, self.size)).ok()
            };
            let written = self.status_page.as_ref().and_then(read);
            // A status page whose end cannot be read is no status page of mpirun's: each rank is then taken to be far away.
            written.unwrap_or_else(|| match self.hosts {
                1 => NodeMap::one_host(self.size),
                _ => NodeMap::of(0..self.size),
            })
        })
    }

    /// Ends the whole job: [`announce_abort`](Job::announce_abort), then this process exits.
    pub fn abort(&self, code: i32, message: &str) -> ! {
        self.announce_abort(code, message);
        std::process::exit(exit_status(code))
    }

    /// Tells `mpirun` to end every rank, to say that this one aborted and why, and to exit with `code`.
    /// Where the launcher does not print messages, this one goes to standard error. The caller then ends its own process.
    pub fn announce_abort(&self, code: i32, message: &str) {
        let notice = Notice::Abort(AbortNotice { rank: self.rank, code, message: Cow::Borrowed(message) });
        let printed = match &self.control {
            Some(Control::Pipe(pipe)) => pipe.with(|pipe| notice.send(pipe)).is_ok(),
            _ => false,
        };
        if !printed {
            eprintln!("tern: rank {} aborts the job with code {code}: {message}", self.rank);
        }
        if let Some(Control::Pmi(voice)) = &self.control {
            // A launcher that is gone ends nothing any more.
            let _ = voice.abort(exit_status(code));
        }
    }

    /// Tells what this rank has found out to whoever wants to know all: `mpirun --verbose` prints it.
    pub fn tell(&self, text: &str) {
        if let Some(Control::Pipe(pipe)) = &self.control {
            // To be heard is not worth waiting for.
            let _ = pipe.with(|pipe| Notice::Tell { rank: self.rank, text: text.into() }.send(pipe));
        }
    }

    /// Whether the launcher wants to hear of the end of MPI.
    pub fn takes_leave(&self) -> bool {
        matches!(self.control, Some(Control::Pmi(_)))
    }

    /// This rank uses MPI no more. Another launcher takes a rank that ends without having said so for one that has failed.
    pub fn take_leave(&self) {
        if let Some(Control::Pmi(voice)) = &self.control {
            voice.finalize();
        }
    }
}

/// A secret that nobody has had before, from the kernel.
pub fn fresh_secret() -> io::Result<Secret> {
    let mut secret = [0; SECRET_BYTES];
    // The kernel gives up to 256 bytes whole.
    match getrandom(&mut secret, GetRandomFlags::empty())? {
        SECRET_BYTES => Ok(secret),
        _ => Err(io::ErrorKind::UnexpectedEof.into()),
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
        assert_eq!(job.host_of(0), 0);
        assert_ne!(job.secret().unwrap(), job.secret().unwrap());
    }
}

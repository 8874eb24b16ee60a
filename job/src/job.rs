//! The job as a rank sees it.

use std::borrow::Cow;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, OnceLock};

use rustix::rand::{GetRandomFlags, getrandom};

use crate::bootstrap::pmi1::client::{Pmi1Client, PmiLink, locked};
use crate::bootstrap::voice::Voice;
use crate::control::{AbortNotice, Notice};
use crate::cores::{CoreBudget, affinity_cores};
use crate::launcher::Launcher;
use crate::limits::NUMBERS_PER_NOTICE;
use crate::link::DirectoryLink;
use crate::node_map::{self, JobSecret, NodeMap, SECRET_BYTES};
use crate::pmi::SPAWNED_VARIABLE;
use crate::reserved_fd::ReservedFd;
use crate::status_page::{RankState, StatusPage};
use crate::watch::Watch;

/// The job of which this process is a rank. Its descriptors are closed on `exec`, so that no program
/// which the rank starts inherits them.
#[derive(Debug)]
pub struct Job {
    /// This process's rank in the world.
    pub rank: u32,
    /// Number of ranks in the world.
    pub size: u32,
    /// The memory file that the ranks of this machine share, empty until a rank gives it a size. `None`
    /// without `mpirun`.
    pub segment: Option<OwnedFd>,
    /// Where this rank says where it stands. `None` without `mpirun`.
    pub status_page: Option<StatusPage>,
    /// The cores that the ranks of this machine share.
    pub cores: CoreBudget,
    /// The way to find out how other ranks are reached. `None` without `mpirun`.
    pub link: Option<DirectoryLink>,
    /// A pipe that ends when this host's `mpirun` or agent does, and says nothing before. `None` without `mpirun`.
    pub lifeline: Option<OwnedFd>,
    /// What notices the death of other ranks, where no `mpirun` does.
    pub watch: Option<Watch>,
    /// Number of hosts.
    pub hosts: u32,
    pub(crate) places: OnceLock<NodeMap>,
    pub(crate) appnum: LauncherNumber,
    pub(crate) universe: LauncherNumber,
    pub(crate) control: Option<JobControl>,
}

/// A number that only few programs want to know: a launcher that has not said it is asked when one does.
#[derive(Debug, Default)]
pub(crate) struct LauncherNumber(OnceLock<Option<u32>>);

impl LauncherNumber {
    /// What the launcher has said, if it has.
    pub(crate) fn told(number: Option<u32>) -> LauncherNumber {
        LauncherNumber(number.map(|number| OnceLock::from(Some(number))).unwrap_or_default())
    }
}

/// How a rank ends the job.
#[derive(Debug)]
pub(crate) enum JobControl {
    /// By the control pipe of Tern's `mpirun`.
    Pipe(Arc<ReservedFd>),
    /// By a word to another launcher.
    /// By PMI-1 it starts processes, too.
    Launcher(Arc<dyn Voice>, Option<Arc<Mutex<PmiLink>>>),
}

impl Job {
    /// A world of one. Its budget counts the affinity mask alone: one rank outnumbers no quota.
    pub(crate) fn alone() -> Job {
        Job {
            rank: 0,
            size: 1,
            segment: None,
            status_page: None,
            cores: CoreBudget { usable: affinity_cores(), ranks: 1 },
            control: None,
            link: None,
            lifeline: None,
            watch: None,
            hosts: 1,
            places: OnceLock::new(),
            appnum: LauncherNumber::default(),
            universe: LauncherNumber::default(),
        }
    }

    /// Which program of the launcher's command line this is (`MPI_APPNUM`), if a launcher says so.
    pub fn appnum(&self) -> Option<u32> {
        self.number(&self.appnum, Pmi1Client::appnum)
    }

    /// `MPI_UNIVERSE_SIZE`: how many ranks there is room for.
    pub fn universe_size(&self) -> u32 {
        self.number(&self.universe, Pmi1Client::universe).unwrap_or(0).max(self.size)
    }

    fn number(&self, number: &LauncherNumber, ask: fn(&mut Pmi1Client) -> Option<u32>) -> Option<u32> {
        *number.0.get_or_init(|| match &self.control {
            Some(JobControl::Launcher(_, Some(link))) => locked(link).client().ok().and_then(ask),
            _ => None,
        })
    }

    /// What only the processes of this job know, for proofs on connections. A world of one makes one up.
    pub fn secret(&self) -> io::Result<JobSecret> {
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
        std::process::exit(crate::exit_status(code))
    }

    /// Tells `mpirun` to end every rank, to say that this one aborted and why, and to exit with `code`.
    /// Where the launcher does not print messages, this one goes to standard error. The caller then ends its own process.
    pub fn announce_abort(&self, code: i32, message: &str) {
        let notice = Notice::Abort(AbortNotice { rank: self.rank, code, message: Cow::Borrowed(message) });
        let printed = match &self.control {
            Some(JobControl::Pipe(pipe)) => pipe.with(|pipe| notice.send(pipe)).is_ok(),
            _ => false,
        };
        if !printed {
            eprintln!("tern: rank {} aborts the job with code {code}: {message}", self.rank);
        }
        if let Some(JobControl::Launcher(voice, _)) = &self.control {
            // Whoever watches over this rank need not say any more.
            self.status_page.iter().for_each(|status_page| status_page.abort(code));
            // A launcher that is gone ends nothing any more.
            let _ = voice.abort(crate::exit_status(code), message);
        }
    }

    /// Tells what this rank has found out to whoever wants to know all: `mpirun --verbose` prints it.
    pub fn report(&self, text: &str) {
        if let Some(JobControl::Pipe(pipe)) = &self.control {
            // To be heard is not worth waiting for.
            let _ = pipe.with(|pipe| Notice::Tell { rank: self.rank, text: text.into() }.send(pipe));
        }
    }

    /// Whether a launcher has started this process.
    pub fn is_launched(&self) -> bool {
        self.control.is_some()
    }

    /// Tells what this rank has done, a name and a number in a line: `mpirun --stats` prints it.
    pub fn give_numbers(&self, lines: &[String]) {
        let Some(JobControl::Pipe(pipe)) = &self.control else { return };
        for lines in lines.chunks(NUMBERS_PER_NOTICE) {
            let text = lines.join("\n").into();
            let _ = pipe.with(|pipe| Notice::Numbers { rank: self.rank, text }.send(pipe));
        }
    }

    /// How the launcher is asked to start processes, and to pass names on.
    pub fn launcher(&self) -> Launcher {
        match &self.control {
            None | Some(JobControl::Launcher(_, None)) => Launcher::alone(),
            Some(JobControl::Pipe(_)) => Launcher::tern(),
            Some(JobControl::Launcher(_, Some(link))) => Launcher::pmi(link.clone()),
        }
    }

    /// Whether another program has started this one, and waits for it.
    pub fn is_spawned(&self) -> bool {
        self.control.is_some() && std::env::var(SPAWNED_VARIABLE).is_ok_and(|spawned| spawned.trim() == "1")
    }

    /// Says how far this rank has come. That it uses MPI no more must be known, so where it cannot stand on the status page, since the
    /// program has limited its files, `mpirun` is told.
    pub fn publish_state(&self, state: RankState) {
        let Some(status_page) = &self.status_page else { return };
        if status_page.try_state(state).is_err()
            && state == RankState::Finalized
            && let Some(JobControl::Pipe(pipe)) = &self.control
        {
            let _ = pipe.with(|pipe| Notice::Finalized { rank: self.rank }.send(pipe));
        }
    }

    /// Whether the launcher wants to hear of the end of MPI.
    pub fn takes_leave(&self) -> bool {
        matches!(self.control, Some(JobControl::Launcher(..)))
    }

    /// This rank uses MPI no more. Another launcher takes a rank that ends without having said so for one that has failed.
    pub fn take_leave(&self) {
        if let Some(JobControl::Launcher(voice, _)) = &self.control {
            voice.finalize();
        }
    }
}

/// A secret that nobody has had before, from the kernel.
pub fn fresh_secret() -> io::Result<JobSecret> {
    let mut secret = [0; SECRET_BYTES];
    // The kernel gives up to 256 bytes whole.
    match getrandom(&mut secret, GetRandomFlags::empty())? {
        SECRET_BYTES => Ok(secret),
        _ => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_world_of_one_is_never_oversubscribed() {
        let job = Job::alone();
        assert_eq!((job.rank, job.size, job.appnum(), job.universe_size()), (0, 1, None, 1));
        assert!(!job.cores.is_oversubscribed());
        assert_eq!(job.host_of(0), 0);
        assert_ne!(job.secret().unwrap(), job.secret().unwrap());
    }
}

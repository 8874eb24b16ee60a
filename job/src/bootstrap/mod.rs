//! How a process finds out which rank it is.

mod foreign;
mod pmi1;
pub mod pmi1_client;

use std::os::fd::OwnedFd;
use std::sync::{Arc, OnceLock};

use rustix::fs::{Mode, OFlags, fcntl_setfl};
use rustix::process::{
    PidfdFlags, PidfdGetfdFlags, Signal, getpid, pidfd_getfd, pidfd_open, set_parent_process_death_signal,
};

use crate::cores::{CoreBudget, affinity_cores};
use crate::descriptor::{DESCRIPTOR_VARIABLE, DescriptorError, FdName, JobDescriptor};
use crate::job::{Control, Job};
use crate::link::Link;
use crate::procfs::descends_from;
use crate::reserved_fd::ReservedFd;
use crate::status_page::{RankState, StatusPage};
use pmi1::Invitation;

/// Why a process could not become a rank.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JoinError {
    /// `TERN_JOB` holds something that `mpirun` did not write.
    #[error(
        "the environment variable {DESCRIPTOR_VARIABLE}='{value}' is damaged: {reason}. Start the program with Tern's mpirun, or unset {DESCRIPTOR_VARIABLE} and PMI_RANK to run it alone"
    )]
    Damaged {
        /// What the variable holds.
        value: String,
        /// What is wrong with it.
        reason: DescriptorError,
    },
    /// What the job descriptor names can no longer be reached.
    #[error(
        "the environment variable {DESCRIPTOR_VARIABLE} says that this process is rank {rank} of {size} of the mpirun with process id {launcher}, but its {what} cannot be reached: that mpirun has ended, or something between it and this program closed descriptor {number}. Start the program with Tern's mpirun, or unset {DESCRIPTOR_VARIABLE} and PMI_RANK to run it alone"
    )]
    Unreachable {
        /// Rank in the job descriptor.
        rank: u32,
        /// Size in the job descriptor.
        size: u32,
        /// The launcher's process id.
        launcher: u32,
        /// Which descriptor.
        what: &'static str,
        /// Its number.
        number: i32,
    },
    /// Another process is this rank already, as when a script runs two MPI programs one after the other.
    #[error(
        "process {pid} has already been rank {rank} of this job, and a rank can be one program only. If a script runs several MPI programs, give each its own mpirun; to run this one alone, unset {DESCRIPTOR_VARIABLE} and PMI_RANK"
    )]
    SeatTaken {
        /// The rank.
        rank: u32,
        /// The process that was it first.
        pid: u32,
    },
    /// A launcher that speaks PMI-1 has started this process as one of several, and something went wrong with it.
    #[error(
        "a launcher that speaks PMI, as MPICH's or Intel's mpiexec, started this process as one of several ({invitation}), but this process cannot join the others: {reason}. Start the program with Tern's own mpirun instead; to run it alone, unset {}",
        crate::pmi::RANK_VARIABLE
    )]
    Pmi {
        /// What the environment says.
        invitation: String,
        /// What went wrong.
        reason: String,
    },
    /// Another launcher started this process as one of several, in a protocol that Tern does not speak.
    #[error("{launcher} started this process as one of several ({evidence}), and Tern cannot speak with it: every rank would believe to be alone. Start the program with Tern's own mpirun instead; to run it alone, unset {}", evidence.split('=').next().unwrap_or_default())]
    Foreign {
        /// The launcher.
        launcher: &'static str,
        /// The variable that gave it away, with its value.
        evidence: String,
    },
}

/// Finds out which rank of which job this process is: one of a job of Tern's `mpirun` or of a launcher that speaks PMI-1,
/// or a world of one.
///
/// Call it once in a process. Under `mpirun` a rank that it started itself, without a wrapper,
/// is killed when `mpirun` dies, from here on.
pub fn join() -> Result<Job, JoinError> {
    let Some(value) = std::env::var_os(DESCRIPTOR_VARIABLE) else { return alone() };
    let descriptor = JobDescriptor::parse(&value)
        .map_err(|reason| JoinError::Damaged { value: value.to_string_lossy().into_owned(), reason })?;
    // A rank's own child has the variables of that rank, those of PMI too, and no part in the job.
    Ok(take_seat(&descriptor)?.unwrap_or_else(Job::alone))
}

/// How many ranks the job will have, by what the launcher has left in the environment: what can be known before [`join`].
pub fn announced_size() -> u32 {
    let descriptor =
        std::env::var_os(DESCRIPTOR_VARIABLE).and_then(|value| JobDescriptor::parse(&value).ok());
    let by_pmi = || std::env::var("PMI_SIZE").ok()?.parse().ok();
    descriptor.map(|descriptor| descriptor.size).or_else(by_pmi).unwrap_or(1)
}

fn alone() -> Result<Job, JoinError> {
    let variable = |name: &str| std::env::var(name).ok();
    if let Some(invitation) = Invitation::find(variable) {
        let failed = |error: std::io::Error| JoinError::Pmi {
            invitation: invitation.to_string(),
            reason: error.to_string(),
        };
        return pmi1::join(invitation).map_err(failed);
    }
    match foreign::find(variable) {
        Some(found) => Err(JoinError::Foreign { launcher: found.name, evidence: found.evidence }),
        None => Ok(Job::alone()),
    }
}

/// Becomes the rank that the job descriptor names; `None` if a rank of the job has started this process as a
/// program of its own, with the environment that it had itself.
fn take_seat(descriptor: &JobDescriptor) -> Result<Option<Job>, JoinError> {
    let memory = OFlags::RDWR | OFlags::CLOEXEC;
    let status_page = keep(descriptor, "status page", descriptor.status_page, memory)?;
    let status_page = StatusPage::new(status_page, descriptor.rank);
    if let Some(pid) = status_page.read_own().ok().and_then(|record| record.pid()) {
        let ours = descends_from(pid);
        return if ours { Ok(None) } else { Err(JoinError::SeatTaken { rank: descriptor.rank, pid }) };
    }
    status_page.state(RankState::Starting);
    let segment = adopt(descriptor, "shared memory", descriptor.segment, memory)?;
    let pipe = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let control = Arc::new(keep(descriptor, "control pipe", descriptor.control, pipe)?);
    let pipe = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let answers = adopt(descriptor, "pipe for answers", descriptor.answers, pipe)?;
    let lifeline = adopt(descriptor, "lifeline", descriptor.lifeline, pipe)?;
    die_with_launcher(descriptor);
    Ok(Some(Job {
        rank: descriptor.rank,
        size: descriptor.size,
        appnum: Some(descriptor.app),
        universe_size: descriptor.universe,
        segment: Some(segment),
        status_page: Some(status_page),
        cores: CoreBudget { usable: usable_cores(descriptor), ranks: descriptor.local },
        link: Some(Link::new(descriptor.rank, control.clone(), answers)),
        control: Some(Control::Pipe(control)),
        lifeline: Some(lifeline),
        hosts: descriptor.hosts,
        places: OnceLock::new(),
    }))
}

/// A rank whose launcher is gone has nobody who would end it. The kernel sends the signal when the *thread*
/// that started this process ends, so it is asked for only where that is `mpirun`'s one thread: a wrapper
/// may have several, and `mpirun` and its guard end what is in a wrapper's process group.
fn die_with_launcher(descriptor: &JobDescriptor) {
    if std::os::unix::process::parent_id() == descriptor.launcher {
        let _ = set_parent_process_death_signal(Some(Signal::KILL));
    }
}

/// A rank that the launcher did not bind may have been bound by a wrapper such as `taskset`.
fn usable_cores(descriptor: &JobDescriptor) -> u32 {
    if descriptor.bound { descriptor.cores } else { descriptor.cores.min(affinity_cores()) }
}

/// As [`adopt`], where what the program closes is to be opened again.
fn keep(
    descriptor: &JobDescriptor,
    what: &'static str,
    name: FdName,
    flags: OFlags,
) -> Result<ReservedFd, JoinError> {
    let file = ReservedFd::from(adopt(descriptor, what, name, flags)?);
    Ok(file.also_at(at_launcher(descriptor, name), flags))
}

/// The launcher's own.
fn at_launcher(descriptor: &JobDescriptor, name: FdName) -> String {
    format!("/proc/{}/fd/{}", descriptor.launcher, name.number)
}

/// Opens what an inherited descriptor refers to, and closes the inherited one. If a wrapper closed it (as
/// Python's `subprocess` does) the launcher's own is opened instead. The inode tells whether it is the right one.
fn adopt(
    descriptor: &JobDescriptor,
    what: &'static str,
    name: FdName,
    flags: OFlags,
) -> Result<OwnedFd, JoinError> {
    if let Some(file) = open_if(&format!("/proc/self/fd/{}", name.number), name.inode, flags) {
        // The launcher gave us this descriptor, and nobody else in the process knows of it.
        let _ = nix::unistd::close(name.number);
        return Ok(file);
    }
    if let Some(file) = duplicate_if(name, flags) {
        let _ = nix::unistd::close(name.number);
        return Ok(file);
    }
    open_if(&at_launcher(descriptor, name), name.inode, flags)
        .ok_or_else(|| unreachable_error(descriptor, what, name))
}

fn unreachable_error(descriptor: &JobDescriptor, what: &'static str, name: FdName) -> JoinError {
    let JobDescriptor { rank, size, launcher, .. } = *descriptor;
    JoinError::Unreachable { rank, size, launcher, what, number: name.number }
}

/// The same without `/proc`, which may be missing, and which keeps a rank that has become another user from opening what it has:
/// the descriptor itself, under another number.
fn duplicate_if(name: FdName, flags: OFlags) -> Option<OwnedFd> {
    let own = pidfd_open(getpid(), PidfdFlags::empty()).ok()?;
    let file = pidfd_getfd(own, name.number, PidfdGetfdFlags::empty()).ok()?;
    let found = rustix::fs::fstat(&file).ok()?;
    if found.st_ino != name.inode {
        return None;
    }
    if flags.contains(OFlags::NONBLOCK) {
        fcntl_setfl(&file, OFlags::NONBLOCK).ok()?;
    }
    Some(file)
}

/// Looks before it opens: opening something that only happens to have this number could have effects.
fn open_if(path: &str, inode: u64, flags: OFlags) -> Option<OwnedFd> {
    let found = rustix::fs::stat(path).ok()?;
    if found.st_ino != inode {
        return None;
    }
    rustix::fs::open(path, flags, Mode::empty()).ok()
}

//! Tern's own `mpirun`: it leaves a job descriptor, and the descriptors that this names.

use std::os::fd::OwnedFd;
use std::sync::{Arc, OnceLock};

use rustix::fs::{Mode, OFlags, fcntl_setfl};
use rustix::process::{
    PidfdFlags, PidfdGetfdFlags, Signal, getpid, pidfd_getfd, pidfd_open, set_parent_process_death_signal,
};

use crate::bootstrap::JoinError;
use crate::bootstrap::way::{Bootstrap, EnvironmentReader};
use crate::cores::{CoreBudget, affinity_cores};
use crate::descriptor::{DESCRIPTOR_VARIABLE, FdName, JobDescriptor};
use crate::job::{Job, JobControl, LauncherNumber};
use crate::link::DirectoryLink;
use crate::procfs::descends_from;
use crate::reserved_fd::ReservedFd;
use crate::status_page::{RankState, StatusPage};

/// A rank that Tern's `mpirun` or one of its agents has started.
pub(super) struct Mpirun;

impl Bootstrap for Mpirun {
    fn join(&self, environment: EnvironmentReader<'_>) -> Option<Result<Job, JoinError>> {
        Some(join(&environment(DESCRIPTOR_VARIABLE)?))
    }
}

fn join(value: &std::ffi::OsStr) -> Result<Job, JoinError> {
    let descriptor = JobDescriptor::parse(value)
        .map_err(|reason| JoinError::Damaged { value: value.to_string_lossy().into_owned(), reason })?;
    // A rank's own child has the variables of that rank, those of PMI too, and no part in the job.
    Ok(claim_rank(&descriptor)?.unwrap_or_else(Job::alone))
}

/// Becomes the rank that the job descriptor names; `None` if a rank of the job has started this process as a
/// program of its own, with the environment that it had itself.
fn claim_rank(descriptor: &JobDescriptor) -> Result<Option<Job>, JoinError> {
    let memory = OFlags::RDWR | OFlags::CLOEXEC;
    let status_page = keep(descriptor, "status page", descriptor.status_page, memory)?;
    let status_page = StatusPage::new(status_page, descriptor.rank);
    if let Some(pid) = status_page.read_own().ok().and_then(|record| record.pid()) {
        let ours = descends_from(pid);
        return if ours { Ok(None) } else { Err(JoinError::RankTaken { rank: descriptor.rank, pid }) };
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
        segment: Some(segment),
        status_page: Some(status_page),
        cores: CoreBudget { usable: usable_cores(descriptor), ranks: descriptor.local },
        link: Some(DirectoryLink::new(descriptor.rank, control.clone(), answers)),
        control: Some(JobControl::Pipe(control)),
        lifeline: Some(lifeline),
        watch: None,
        hosts: descriptor.hosts,
        places: OnceLock::new(),
        appnum: LauncherNumber::told(Some(descriptor.app)),
        universe: LauncherNumber::told(Some(descriptor.universe)),
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

//! What the ranks of a job share with each other and with `mpirun`: two memory files and two pipes.
//!
//! None of them has a name in a file system, so nothing can be left over, whoever is killed.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{OFlags, fcntl_setfl, fstat, ftruncate};
use rustix::io::{Errno, FdFlags, fcntl_dupfd_cloexec, fcntl_setfd};
use rustix::pipe::{PipeFlags, pipe_with};
use tern_job::control::Notice;
use tern_job::descriptor::{FdName, JobDescriptor};
use tern_job::limits::NOTICE_BYTES;
use tern_job::memory_file::{advice, memory_file};
use tern_job::status_page::{RankRecord, read_record};
use tern_job::{JobSecret, NodeMap, node_map};

use crate::limits::INHERITED_FD_LEAST;
use crate::plan::JobPlan;
use crate::watch::exit_cause::Refusal;

/// The launcher's ends of it all.
#[derive(Debug)]
pub(crate) struct JobResources {
    segment: OwnedFd,
    status_page: OwnedFd,
    control: OwnedFd,
    notices: OwnedFd,
    /// The ranks' end of a pipe whose other end this process alone has: it ends however this process does.
    lifeline: OwnedFd,
    _held: OwnedFd,
    /// What ranks have said while others were still being started.
    early: RefCell<VecDeque<Notice<'static>>>,
}

impl JobResources {
    /// Makes everything for a job whose ranks are at these places.
    pub(crate) fn new(places: &NodeMap, secret: &JobSecret) -> Result<JobResources, Refusal> {
        let resources = JobResources::create(places.size()).and_then(|resources| {
            node_map::write(&resources.status_page, secret, places)?;
            Ok(resources)
        });
        resources.map_err(|error| {
            Refusal::system("cannot make the job's shared memory", format!("{error}{}", advice(error)))
        })
    }

    fn create(size: u32) -> Result<JobResources, Errno> {
        let (notices, control) = pipe_with(PipeFlags::CLOEXEC)?;
        fcntl_setfl(&notices, OFlags::NONBLOCK)?;
        let status_page = out_of_the_way(memory_file("tern-status")?);
        node_map::make_room(&status_page, size)?;
        let segment = out_of_the_way(memory_file("tern-segment")?);
        let control = out_of_the_way(control);
        let (lifeline, held) = pipe_with(PipeFlags::CLOEXEC)?;
        let lifeline = out_of_the_way(lifeline);
        Ok(JobResources {
            segment,
            status_page,
            control,
            notices,
            lifeline,
            _held: held,
            early: RefCell::default(),
        })
    }

    /// The part of a job descriptor that is the same for all ranks of this host.
    pub(crate) fn descriptor(&self, plan: &JobPlan) -> Result<JobDescriptor, Refusal> {
        let name =
            |fd| name(fd).map_err(|error| Refusal::system("cannot name the job's shared memory", error));
        Ok(JobDescriptor {
            rank: 0,
            size: plan.size(),
            app: 0,
            universe: plan.universe,
            cores: plan.cores,
            bound: false,
            local: plan.size(),
            hosts: plan.places.hosts(),
            launcher: std::process::id(),
            segment: name(&self.segment)?,
            status_page: name(&self.status_page)?,
            control: name(&self.control)?,
            lifeline: name(&self.lifeline)?,
            // Each rank has its own.
            answers: FdName { number: 0, inode: 0 },
        })
    }

    /// Whether the processes that are started next inherit the descriptors.
    pub(crate) fn set_inherited(&self, inherited: bool) {
        let flags = if inherited { FdFlags::empty() } else { FdFlags::CLOEXEC };
        for fd in [&self.segment, &self.status_page, &self.control, &self.lifeline] {
            // Only a descriptor that is not open is refused.
            let _ = fcntl_setfd(fd, flags);
        }
    }

    /// Where `rank` says it stands.
    pub(crate) fn record(&self, rank: u32) -> RankRecord {
        read_record(&self.status_page, rank).unwrap_or_else(|_| RankRecord::absent())
    }

    /// The reading end of the control pipe.
    pub(crate) fn notices_fd(&self) -> impl AsFd + '_ {
        &self.notices
    }

    /// Empties the control pipe before anybody can attend to what is in it: to start thousands of ranks takes longer than the
    /// first of them wait for room.
    pub(crate) fn keep_notices(&self) {
        while let Some(notice) = self.read_notice() {
            self.early.borrow_mut().push_back(notice);
        }
    }

    /// The next notice: of those that were kept, then in the control pipe.
    pub(crate) fn next_notice(&self) -> Option<Notice<'static>> {
        let kept = self.early.borrow_mut().pop_front();
        kept.or_else(|| self.read_notice())
    }

    /// The next one in the control pipe. What is not a notice is skipped.
    fn read_notice(&self) -> Option<Notice<'static>> {
        let mut bytes = [0; NOTICE_BYTES];
        loop {
            match rustix::io::read(&self.notices, &mut bytes) {
                Ok(NOTICE_BYTES) => {
                    if let Some(notice) = Notice::decode(&bytes) {
                        return Some(notice.into_owned());
                    }
                }
                Ok(0) => return None,
                Ok(_) | Err(Errno::INTR) => {}
                Err(_) => return None,
            }
        }
    }

    /// Gives the shared memory back, even if a process that has fled from the job still holds the file.
    pub(crate) fn free(&self) {
        let _ = ftruncate(&self.segment, 0);
    }
}

/// Moves a descriptor that is to be inherited to a number that scripts do not use themselves. Where the
/// limit on descriptors is lower than that, it stays.
pub(crate) fn out_of_the_way(fd: OwnedFd) -> OwnedFd {
    fcntl_dupfd_cloexec(&fd, INHERITED_FD_LEAST).unwrap_or(fd)
}

/// A descriptor's number and inode.
pub(crate) fn name(fd: &OwnedFd) -> Result<FdName, Errno> {
    use std::os::fd::AsRawFd;
    Ok(FdName { number: fd.as_raw_fd(), inode: fstat(fd)?.st_ino })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn publish(resources: &JobResources, rank: u32) -> bool {
        Notice::Publish { rank, endpoint_address: vec![rank as u8; 9].into() }
            .send(&resources.control)
            .is_ok()
    }

    #[test]
    fn what_is_said_early_is_kept_in_order_and_makes_room() {
        let resources = JobResources::create(4).unwrap();
        fcntl_setfl(&resources.control, OFlags::NONBLOCK).unwrap();
        let fits = (0..1000).take_while(|&rank| publish(&resources, rank)).count() as u32;
        assert!((1..1000).contains(&fits), "the pipe has a bound");
        resources.keep_notices();
        assert!(publish(&resources, fits), "there is room again");
        for rank in 0..=fits {
            let next = resources.next_notice();
            assert!(
                matches!(next, Some(Notice::Publish { rank: who, .. }) if who == rank),
                "{rank}: {next:?}"
            );
        }
        assert_eq!(resources.next_notice(), None);
    }
}

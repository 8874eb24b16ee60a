//! A process that this program has started, and all that came of it: launchers start others, and may go without them.

use std::fs;
use std::os::fd::OwnedFd;

use rustix::process::{Pid, Signal};
use tern_job::process_end;

/// Processes, known by descriptors: their numbers are given to others once they have ended.
#[derive(Debug)]
pub(crate) struct ProcessFamily(Vec<(Pid, OwnedFd)>);

impl ProcessFamily {
    /// A process and all that descend from it now.
    pub(crate) fn of(eldest: Pid) -> ProcessFamily {
        let (mut members, mut unknown) = (Vec::new(), vec![eldest]);
        while let Some(pid) = unknown.pop() {
            members.extend(process_end::open(pid).map(|end| (pid, end)));
            unknown.extend(children(pid));
        }
        ProcessFamily(members)
    }

    /// To all of them. Who has ended meanwhile does not mind.
    pub(crate) fn signal(&self, signal: Signal) {
        for (pid, end) in &self.0 {
            process_end::signal(*pid, end, signal);
        }
    }

    /// Whether all have ended.
    pub(crate) fn is_gone(&self) -> bool {
        self.0.iter().all(|(_, end)| process_end::has_ended(end))
    }
}

/// Processes that a process has started; the kernel lists them with the thread that did.
pub(crate) fn children(pid: Pid) -> Vec<Pid> {
    let threads =
        fs::read_dir(format!("/proc/{}/task", pid.as_raw_nonzero())).into_iter().flatten().flatten();
    let lists = threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    let numbers = |list: String| -> Vec<Pid> {
        list.split_whitespace().filter_map(|number| Pid::from_raw(number.parse().ok()?)).collect()
    };
    lists.flat_map(numbers).collect()
}

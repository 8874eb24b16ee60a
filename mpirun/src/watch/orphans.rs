//! Burying orphans: this process is the parent of what its ranks have left behind, and must take note of their ends.

use std::collections::HashSet;
use std::io::Read;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Instant;

use rustix::process::{Pid, WaitOptions, getpid, waitpid};
use signal_hook::consts::SIGCHLD;
use tern_job::procfs::ignored_signals;

use crate::limits::BURIAL_PAUSE;

/// Tells when a child has ended; see [`adopt_orphans`](crate::watch::descendants::adopt_orphans).
#[derive(Debug)]
pub(crate) struct Orphans {
    alarm: UnixStream,
    buried: Option<Instant>,
}

impl Orphans {
    /// Listens from now on.
    pub(crate) fn new() -> std::io::Result<Orphans> {
        let (alarm, ring) = UnixStream::pair()?;
        alarm.set_nonblocking(true)?;
        signal_hook::low_level::pipe::register(SIGCHLD, ring)?;
        Ok(Orphans { alarm, buried: None })
    }

    /// Readable when a child has ended.
    pub(crate) fn alarm(&self) -> impl AsFd + '_ {
        &self.alarm
    }

    /// Buries children that have ended, but for the `kept` ones. What ends soon after another waits for the next.
    pub(crate) fn bury(&mut self, kept: impl FnOnce() -> HashSet<u32>) {
        while self.alarm.read(&mut [0; 64]).is_ok_and(|count| count > 0) {}
        if self.buried.is_some_and(|last| last.elapsed() < BURIAL_PAUSE) {
            return;
        }
        self.buried = Some(Instant::now());
        let kept = kept();
        for pid in children().into_iter().filter(|pid| !kept.contains(pid)) {
            let number = i32::try_from(pid).ok().and_then(Pid::from_raw);
            let _ = number.map(|number| waitpid(Some(number), WaitOptions::NOHANG));
        }
    }
}

/// Who has started this process may have made it ignore the ends of its children. Then the kernel forgets each as it ends, with its exit
/// status, and gives its number to another. A signal that is caught, be it to no effect, is not ignored, nor by what is started from here.
pub(crate) fn remember_children() -> std::io::Result<()> {
    if ignored_signals() & (1 << (SIGCHLD - 1)) != 0 {
        signal_hook::flag::register(SIGCHLD, Arc::default())?;
    }
    Ok(())
}

/// The children of this process, which has one thread. Kernels may be built without the list: then what has ended stays until this
/// process ends.
fn children() -> Vec<u32> {
    let own = getpid().as_raw_nonzero();
    let list = std::fs::read_to_string(format!("/proc/self/task/{own}/children")).unwrap_or_default();
    list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect()
}

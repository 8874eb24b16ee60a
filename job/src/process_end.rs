//! Learning that a process has ended.

use std::io;
use std::os::fd::OwnedFd;
use std::thread;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, kill_process, pidfd_open, pidfd_send_signal,
    test_kill_process, waitid,
};

use crate::limits::{PROCESS_LOOK_PAUSE, PROCESS_WAITER_STACK_BYTES};
use crate::procfs::ProcessStat;

/// A descriptor that is readable once the process has ended.
///
/// Kernels before 5.3, and filters of system calls as old as those, have none. There a thread waits for the process, and the
/// descriptor is a pipe on which it tells.
///
/// # Errors
/// `ESRCH` if there is no such process, and what keeps a process from having another descriptor or thread.
pub fn open(pid: Pid) -> Result<OwnedFd, Errno> {
    match pidfd_open(pid, PidfdFlags::empty()) {
        Err(Errno::NOSYS | Errno::PERM) => by_thread(pid),
        answer => answer,
    }
}

/// Signals a process of which [`open`] gave this descriptor. Who has ended meanwhile does not mind.
pub fn signal(pid: Pid, end: &OwnedFd, signal: Signal) {
    if let Err(Errno::NOSYS | Errno::PERM | Errno::BADF) = pidfd_send_signal(end, signal)
        && !has_ended(end)
    {
        let _ = kill_process(pid, signal);
    }
}

/// Signals the process that was started at `start` (see [`ProcessStat`]): another may have its number by now, and must not be met.
pub fn signal_started(pid: Pid, start: u64, signal: Signal) {
    let process = pidfd_open(pid, PidfdFlags::empty());
    if start_of(pid) != Some(start) {
        return;
    }
    // Who has ended meanwhile does not mind.
    let _ = match process {
        Ok(process) => pidfd_send_signal(process, signal),
        Err(Errno::NOSYS | Errno::PERM) => kill_process(pid, signal),
        Err(error) => Err(error),
    };
}

/// Whether the process has ended of which [`open`] gave this descriptor.
pub fn has_ended(end: &OwnedFd) -> bool {
    let mut ended = [PollFd::new(end, PollFlags::IN)];
    matches!(poll(&mut ended, Some(&Timespec::default())), Ok(1))
}

fn by_thread(pid: Pid) -> Result<OwnedFd, Errno> {
    test_kill_process(pid).or_else(|error| if error == Errno::PERM { Ok(()) } else { Err(error) })?;
    let start = start_of(pid);
    let (reader, writer) = pipe_with(PipeFlags::CLOEXEC)?;
    let waiter = move || {
        if is_reported(pid) || is_seen_to_end(pid, start, &writer) {
            let _ = rustix::io::write(&writer, &[0]);
        }
    };
    let thread = thread::Builder::new().name("tern-ends".into()).stack_size(PROCESS_WAITER_STACK_BYTES);
    thread.spawn(waiter).map_err(|error: io::Error| Errno::from_io_error(&error).unwrap_or(Errno::AGAIN))?;
    Ok(reader)
}

/// Waits for the end of a child, which stays to be reaped. False: it is another's child, or has been reaped.
fn is_reported(pid: Pid) -> bool {
    loop {
        match waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT) {
            Ok(_) => return true,
            Err(Errno::INTR) => {}
            Err(_) => return false,
        }
    }
}

/// Looks for any process until it has ended. False: nobody wants to know any more.
fn is_seen_to_end(pid: Pid, start: Option<u64>, writer: &OwnedFd) -> bool {
    let pause = Timespec { tv_sec: 0, tv_nsec: PROCESS_LOOK_PAUSE.subsec_nanos().into() };
    // Its number may be another's by now.
    while test_kill_process(pid) != Err(Errno::SRCH) && start_of(pid) == start {
        let mut reader_gone = [PollFd::new(writer, PollFlags::empty())];
        if matches!(poll(&mut reader_gone, Some(&pause)), Ok(1)) {
            return false;
        }
    }
    true
}

/// When a process that has not ended was started; none as well where `/proc` is missing.
fn start_of(pid: Pid) -> Option<u64> {
    let stat = ProcessStat::of(pid.as_raw_nonzero().get() as u32)?;
    (!stat.has_ended()).then_some(stat.start)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Child, Command, Stdio};
    use std::time::{Duration, Instant};

    fn lasting() -> Child {
        Command::new("sleep").arg("60").stdout(Stdio::null()).spawn().unwrap()
    }

    /// Within seconds, where the kernel tells at once and a look is due four times a second.
    fn ends(end: &OwnedFd) -> bool {
        let until = Instant::now() + Duration::from_secs(20);
        while !has_ended(end) && Instant::now() < until {
            thread::sleep(Duration::from_millis(5));
        }
        has_ended(end)
    }

    #[test]
    fn a_child_is_told_of_and_left_to_be_reaped() {
        for open in [open, by_thread] {
            let mut child = lasting();
            let pid = Pid::from_child(&child);
            let end = open(pid).unwrap();
            assert!(!has_ended(&end));
            signal(pid, &end, Signal::KILL);
            assert!(ends(&end));
            assert!(!child.wait().unwrap().success());
        }
    }

    #[test]
    fn another_process_is_told_of() {
        for open in [open, by_thread] {
            let command = "sleep 60 >/dev/null 2>&1 & echo $!";
            let shell = Command::new("sh").args(["-c", command]).output().unwrap();
            let number = String::from_utf8(shell.stdout).unwrap().trim().parse().unwrap();
            let pid = Pid::from_raw(number).unwrap();
            let end = open(pid).unwrap();
            assert!(!has_ended(&end));
            signal(pid, &end, Signal::KILL);
            assert!(ends(&end));
        }
    }

    #[test]
    fn a_process_of_another_start_is_left_alone() {
        let mut child = lasting();
        let pid = Pid::from_child(&child);
        let (start, end) = (start_of(pid).unwrap(), open(pid).unwrap());
        signal_started(pid, start + 1, Signal::KILL);
        assert!(!has_ended(&end));
        signal_started(pid, start, Signal::KILL);
        assert!(ends(&end));
        child.wait().unwrap();
    }

    #[test]
    fn who_is_gone_is_said_to_be_gone() {
        let mut child = lasting();
        let pid = Pid::from_child(&child);
        child.kill().and_then(|()| child.wait()).unwrap();
        for open in [open, by_thread] {
            assert_eq!(open(pid).unwrap_err(), Errno::SRCH);
        }
    }
}

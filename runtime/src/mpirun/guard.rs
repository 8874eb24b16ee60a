//! The guard: a process that kills the ranks when `mpirun` itself has been killed.
//!
//! It is `mpirun` run once more, asleep in a read on a pipe whose only writer is `mpirun`. The kernel closes
//! that end however `mpirun` ends, and the read returns. At a normal end `mpirun` kills the guard first. It is there before
//! the first rank and hears of each as soon as that runs. A rank of which `mpirun` could not tell any more is known by the ticket
//! in its environment.

use std::ffi::OsStr;
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use tern_runtime::ticket::{TICKET_VARIABLE, Ticket};

use crate::limits::{PAUSE_BETWEEN_SEARCHES, SEARCHES_FOR_STRAYS};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, Signal, kill_process_group};

/// The hidden option that makes `mpirun` a guard.
pub const OPTION: &str = "--tern-guard";

/// In the place of a group.
const COMPLETE: i32 = 0;

/// Names the process, so that `pkill mpirun` does not meet the guard.
const NAME: &str = "tern-guard";

/// A guard on duty.
#[derive(Debug)]
pub struct Guard {
    child: Child,
    /// Closing it without [`Guard::dismiss`] is the alarm.
    lifeline: std::fs::File,
}

impl Guard {
    /// Sets a guard, over nobody yet.
    pub fn post() -> std::io::Result<Guard> {
        let (read, write) = pipe_with(PipeFlags::CLOEXEC)?;
        let child = Command::new("/proc/self/exe")
            .arg0(NAME)
            .arg(OPTION)
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::from(read))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()?;
        Ok(Guard { child, lifeline: std::fs::File::from(write) })
    }

    /// This process group, too, must not outlive `mpirun`.
    pub fn watch_over(&mut self, group: Pid) -> std::io::Result<()> {
        self.tell(group.as_raw_nonzero().get())
    }

    /// All have been told of.
    pub fn is_complete(&mut self) -> std::io::Result<()> {
        self.tell(COMPLETE)
    }

    fn tell(&mut self, number: i32) -> std::io::Result<()> {
        self.lifeline.write_all(&number.to_le_bytes())
    }

    /// Relieves the guard: from here on nothing happens if `mpirun` ends.
    pub fn dismiss(mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The guard's whole life.
pub fn watch() {
    let _ = rustix::thread::set_name(c"tern-guard");
    let mpirun = std::os::unix::process::parent_id();
    let mut numbers = Vec::new();
    // Ends when mpirun has ended, or fails and then nobody is to be killed.
    if std::io::stdin().lock().read_to_end(&mut numbers).is_err() {
        return;
    }
    let numbers: Vec<i32> = numbers.as_chunks().0.iter().map(|bytes| i32::from_le_bytes(*bytes)).collect();
    numbers.iter().for_each(|number| kill(*number));
    if !numbers.contains(&COMPLETE) {
        for _ in 0..SEARCHES_FOR_STRAYS {
            strays(mpirun).for_each(kill);
            std::thread::sleep(PAUSE_BETWEEN_SEARCHES);
        }
    }
}

/// Kills a process group that may be one of ranks.
fn kill(number: i32) {
    if let Some(group) = Pid::from_raw(number).filter(|_| number > 1) {
        let _ = kill_process_group(group, Signal::KILL);
    }
}

/// Groups of processes that `mpirun` has given a ticket.
fn strays(mpirun: u32) -> impl Iterator<Item = i32> {
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = processes.filter_map(|process| process.file_name().to_str()?.parse::<i32>().ok());
    numbers.filter(move |number| is_rank_of(*number, mpirun))
}

/// A rank leads a group, and what it starts usually does not: to kill that by its number fails.
fn is_rank_of(number: i32, mpirun: u32) -> bool {
    let Ok(environment) = std::fs::read(format!("/proc/{number}/environ")) else { return false };
    let value = |variable: &[u8]| {
        let value = variable.strip_prefix(TICKET_VARIABLE.as_bytes())?.strip_prefix(b"=")?;
        Ticket::parse(OsStr::from_bytes(value)).ok()
    };
    environment.split(|byte| *byte == 0).find_map(value).is_some_and(|ticket| ticket.launcher == mpirun)
}

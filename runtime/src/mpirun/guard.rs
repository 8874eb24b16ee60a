//! The guard: a process that kills the ranks when `mpirun` itself has been killed.
//!
//! It is `mpirun` run once more, asleep in a read on a pipe whose only writer is `mpirun`. The kernel closes
//! that end however `mpirun` ends, and the read returns. At a normal end `mpirun` kills the guard first.

use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, Signal, kill_process_group};

/// The hidden option that makes `mpirun` a guard.
pub const OPTION: &str = "--tern-guard";

/// Names the process, so that `pkill mpirun` does not meet the guard.
const NAME: &str = "tern-guard";

/// A guard on duty.
#[derive(Debug)]
pub struct Guard {
    child: Child,
    /// Closing it without [`Guard::dismiss`] is the alarm.
    _lifeline: std::fs::File,
}

impl Guard {
    /// Sets a guard over these process groups.
    pub fn post(groups: impl Iterator<Item = Pid>) -> std::io::Result<Guard> {
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
        let mut lifeline = std::fs::File::from(write);
        let numbers: Vec<u8> = groups.flat_map(|group| group.as_raw_nonzero().get().to_le_bytes()).collect();
        lifeline.write_all(&numbers)?;
        Ok(Guard { child, _lifeline: lifeline })
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
    let mut numbers = Vec::new();
    // Ends when mpirun has ended, or fails and then nobody is to be killed.
    if std::io::stdin().lock().read_to_end(&mut numbers).is_err() {
        return;
    }
    for number in numbers.chunks_exact(4) {
        let number = i32::from_le_bytes(number.try_into().unwrap_or_default());
        if let Some(group) = Pid::from_raw(number).filter(|_| number > 1) {
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

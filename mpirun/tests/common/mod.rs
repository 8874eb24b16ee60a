//! Runs the built `mpirun` under a time limit.

#![allow(dead_code, reason = "each test file uses its own part")]

use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use tern_job::procfs::make_children_interruptible;

/// No test may take longer, whatever goes wrong.
const LIMIT: Duration = Duration::from_secs(60);

/// Ranks of many tests sleep for 50 s. Who does not wait for them ends long before, however busy the machine is.
pub(crate) const LONG_BEFORE_THEIR_SLEEP_ENDS: Duration = Duration::from_secs(30);

/// What became of a run.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub status: i32,
    pub stdout: String,
    pub stderr: String,
    pub took: Duration,
}

impl Outcome {
    /// The lines of standard output in alphabetical order.
    pub(crate) fn sorted(&self) -> Vec<&str> {
        let mut lines: Vec<_> = self.stdout.lines().collect();
        lines.sort_unstable();
        lines
    }
}

/// A `mpirun` that runs.
pub(crate) struct Running {
    child: Child,
    started: Instant,
    stdout: JoinHandle<Vec<u8>>,
    stderr: JoinHandle<Vec<u8>>,
}

/// `mpirun` with these arguments, and nothing in the environment that could disturb.
pub(crate) fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mpirun"));
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    for name in ["TERN_JOB", "TERN_TIMEOUT", "MPIEXEC_TIMEOUT"] {
        command.env_remove(name);
    }
    command
}

/// Runs `mpirun` to its end.
pub(crate) fn mpirun(arguments: &[&str]) -> Outcome {
    start(command(arguments)).finish()
}

/// Runs it with something on its standard input.
pub(crate) fn mpirun_with_input(arguments: &[&str], input: &[u8]) -> Outcome {
    let mut command = command(arguments);
    command.stdin(Stdio::piped());
    let mut running = start(command);
    let mut stdin = running.child.stdin.take().unwrap();
    let input = input.to_vec();
    let writer = thread::spawn(move || stdin.write_all(&input));
    let outcome = running.finish();
    let _ = writer.join();
    outcome
}

/// Starts it.
pub(crate) fn start(mut command: Command) -> Running {
    make_children_interruptible().unwrap();
    let mut child = command.spawn().unwrap();
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    Running { child, started: Instant::now(), stdout: collect(stdout), stderr: collect(stderr) }
}

impl Running {
    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits for the end; past the limit it is killed, and the test fails.
    pub(crate) fn finish(mut self) -> Outcome {
        let status = wait(&mut self.child);
        let took = self.started.elapsed();
        let text = |bytes: JoinHandle<Vec<u8>>| String::from_utf8_lossy(&bytes.join().unwrap()).into_owned();
        let status = status.code().unwrap_or_else(|| 128 + status.signal().unwrap());
        Outcome { status, stdout: text(self.stdout), stderr: text(self.stderr), took }
    }
}

fn wait(child: &mut Child) -> ExitStatus {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        if start.elapsed() > LIMIT {
            child.kill().unwrap();
            panic!("mpirun did not end within {LIMIT:?}");
        }
        thread::sleep(Duration::from_millis(5));
    }
}

fn collect(pipe: Option<impl Read + Send + 'static>) -> JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            let _ = pipe.read_to_end(&mut bytes);
        }
        bytes
    })
}

/// Waits until `condition` holds, for at most `limit`.
pub(crate) fn eventually(limit: Duration, condition: impl Fn() -> bool) -> bool {
    let start = Instant::now();
    while start.elapsed() < limit {
        if condition() {
            return true;
        }
        thread::sleep(Duration::from_millis(10));
    }
    condition()
}

/// Whether a process exists and is no zombie.
pub(crate) fn is_alive(pid: u32) -> bool {
    let exists = Pid::from_raw(pid as i32).is_some_and(|pid| test_kill_process(pid).is_ok());
    let zombie = std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| stat.contains(") Z "));
    exists && !zombie
}

/// A folder of its own for a test, removed at its end.
pub(crate) struct Folder(pub std::path::PathBuf);

impl Folder {
    /// A folder of its own for each call: tests of one process run at once, and some ask for the same name.
    pub(crate) fn new(name: &str) -> Folder {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("tern-test-{}-{number}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    pub(crate) fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }

    /// The numbers that processes have written into files of this folder, once there are `count` or more.
    pub(crate) fn pids(&self, count: usize) -> Vec<u32> {
        let read = || -> Vec<u32> {
            let files = std::fs::read_dir(&self.0).unwrap().flatten();
            files.filter_map(|file| std::fs::read_to_string(file.path()).ok()?.trim().parse().ok()).collect()
        };
        assert!(
            eventually(Duration::from_secs(20), || read().len() >= count),
            "{count} processes have not started"
        );
        read()
    }
}

/// Writes a launcher into a folder: a script that hands its command to a shell on this machine, as `ssh` does on another,
/// or does `last` with it. Its first word is the host, which the ranks see as `TEST_HOST`.
pub(crate) fn launcher(folder: &Folder, last: &str) -> String {
    use std::os::unix::fs::PermissionsExt;
    let path = folder.path("launcher");
    std::fs::write(&path, format!("#!/bin/sh\nexport TEST_HOST=$1\nshift\n{last}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path
}

/// The usual end of a launcher.
pub(crate) const TO_A_SHELL: &str = "exec sh -c \"$*\"";

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

//! Running a command with a deadline, and finding what it left behind.

use std::fs;
use std::io::{self, Read};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tern_job::procfs::environment_of;

/// How long output may still come after the command itself has ended.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(3);
const POLL_INTERVAL: Duration = Duration::from_millis(2);

/// What Tern promises: all of a job is gone everywhere this soon after a rank, an agent or `mpirun` has died.
pub(crate) const GONE_WITHIN: Duration = Duration::from_secs(2);

/// The variable by which every process of a job can be found, however it was orphaned.
const MARK_VARIABLE: &str = "TERN_TEST_MARK";

/// What a command did.
pub(crate) struct Outcome {
    /// How it ended; `None` if it had to be killed at its deadline.
    pub status: Option<ExitStatus>,
    /// What it wrote to standard output.
    pub stdout: String,
    /// What it wrote to standard error.
    pub stderr: String,
    /// How long it ran.
    pub took: Duration,
}

impl Outcome {
    /// Whether it ended by itself with status 0.
    pub(crate) fn success(&self) -> bool {
        self.status.is_some_and(|status| status.success())
    }

    /// The exit code as a shell would show it (128 + signal if a signal ended it).
    pub(crate) fn code(&self) -> Option<i32> {
        self.status.map(|status| status.code().unwrap_or(128 + status.signal().unwrap_or(0)))
    }

    /// Everything, for a person to read.
    pub(crate) fn describe(&self) -> String {
        let end = match self.status {
            Some(status) => status.to_string(),
            None => "killed at its deadline".into(),
        };
        format!("{}{}[{end}]", self.stdout, self.stderr)
    }
}

/// A job in progress, whose processes all carry one mark.
pub(crate) struct Running {
    child: Child,
    stdout: Receiver<String>,
    stderr: Receiver<String>,
    start: Instant,
    mark: String,
}

/// Runs a command to its end, or kills all its processes at the deadline.
pub(crate) fn run(command: &mut Command, limit: Duration) -> io::Result<Outcome> {
    Running::start(command)?.wait(limit)
}

impl Running {
    /// Starts the command with its output captured and its processes marked.
    pub(crate) fn start(command: &mut Command) -> io::Result<Self> {
        let mark = fresh_mark();
        let mut child = command
            .env(MARK_VARIABLE, &mark)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()?;
        let stdout = drain(child.stdout.take());
        let stderr = drain(child.stderr.take());
        Ok(Running { child, stdout, stderr, start: Instant::now(), mark })
    }

    /// Waits for the end; at the deadline every process of the job is killed.
    pub(crate) fn wait(mut self, limit: Duration) -> io::Result<Outcome> {
        let mut status = self.child.try_wait()?;
        while status.is_none() && self.start.elapsed() < limit {
            thread::sleep(POLL_INTERVAL);
            status = self.child.try_wait()?;
        }
        let took = self.start.elapsed();
        if status.is_none() {
            self.kill_all();
            self.child.wait()?;
        }
        let stdout = self.stdout.recv_timeout(DRAIN_TIMEOUT);
        let stderr = self.stderr.recv_timeout(DRAIN_TIMEOUT);
        Ok(Outcome { status, stdout: stdout.unwrap_or_default(), stderr: stderr.unwrap_or_default(), took })
    }

    /// Sends a signal to the command itself (not to what it started).
    pub(crate) fn signal(&self, signal: Signal) {
        send(self.child.id(), signal);
    }

    /// The mark by which `marked_processes` finds this job's processes.
    pub(crate) fn mark(&self) -> String {
        self.mark.clone()
    }

    fn kill_all(&self) {
        send(self.child.id(), Signal::KILL);
        for pid in marked_processes(&self.mark) {
            send(pid, Signal::KILL);
        }
    }
}

/// Sends a signal to one process; one that is gone already is no error.
pub(crate) fn send(pid: u32, signal: Signal) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        // The only other outcome is that the process has ended meanwhile.
        let _gone = kill_process(pid, signal);
    }
}

/// The living processes whose environment carries the mark.
pub(crate) fn marked_processes(mark: &str) -> Vec<u32> {
    let needle = format!("{MARK_VARIABLE}={mark}");
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok())
        .filter(|pid| has_variable(*pid, needle.as_bytes()))
        .collect()
}

/// Waits until no process carries the mark; what is left at the deadline is returned.
pub(crate) fn wait_until_gone(mark: &str, limit: Duration) -> Vec<u32> {
    let start = Instant::now();
    loop {
        let left = marked_processes(mark);
        if left.is_empty() || start.elapsed() > limit {
            return left;
        }
        thread::sleep(Duration::from_millis(20));
    }
}

// A zombie's environment reads as empty, so it does not count as living.
fn has_variable(pid: u32, needle: &[u8]) -> bool {
    environment_of(pid)
        .is_some_and(|environment| environment.split(|byte| *byte == 0).any(|entry| entry == needle))
}

fn fresh_mark() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    format!("{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

// Reads a pipe to its end in a thread of its own, so that a full pipe never blocks the command.
fn drain(pipe: Option<impl Read + Send + 'static>) -> Receiver<String> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            // What was read before an error is still worth showing.
            let _end = pipe.read_to_end(&mut bytes);
        }
        // Nobody listens if the drain timeout has passed.
        let _late = sender.send(String::from_utf8_lossy(&bytes).into_owned());
    });
    receiver
}

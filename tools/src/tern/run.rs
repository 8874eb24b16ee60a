//! Runs a command to its end, or ends it at its time limit, with all that it has started and does not end itself. It stays in this program's
//! process group, so that an interrupt from the keyboard reaches all.

use std::io::Read;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::family::ProcessFamily;

/// How long a launcher that is told to end may take before it is killed, seconds.
const END_LIMIT_S: f64 = 2.0;

/// How often it is looked whether a command has ended: seldom, since looking disturbs what is measured.
const LOOK: Duration = Duration::from_millis(20);

/// How long output may still come once the command has ended: what it left behind may hold the pipe open.
const DRAIN: Duration = Duration::from_secs(2);

/// A command.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Invocation {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub words: Vec<String>,
    /// Variables that it gets beside those of this process.
    pub settings: Vec<(String, String)>,
    /// When it is ended, seconds.
    pub limit_s: f64,
}

impl Invocation {
    /// Runs it; what it wrote to standard output. An error has what it wrote to standard error.
    pub(crate) fn run(&self) -> Result<String, String> {
        self.run_and_listen().map(|(output, _)| output)
    }

    /// The same with what it wrote to standard error as well.
    pub(crate) fn run_and_listen(&self) -> Result<(String, String), String> {
        let mut command = Command::new(&self.program);
        command.args(&self.words).envs(self.settings.iter().map(|(name, value)| (name, value)));
        // What is measured is the machine's own state, whatever this shell is used for.
        command.env_remove("TERN_JOB").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| format!("cannot run {self}: {error}"))?;
        let (output, complaints) = (drain(child.stdout.take()), drain(child.stderr.take()));
        let in_time = within(self.limit_s, || !matches!(child.try_wait(), Ok(None)));
        if !in_time {
            end(&child);
        }
        let status = child.wait().map_err(|error| format!("{self}: {error}"))?;
        let said = |pipe: &Receiver<String>| pipe.recv_timeout(DRAIN).unwrap_or_default();
        if in_time && status.success() {
            return Ok((said(&output), said(&complaints)));
        }
        let how = if in_time { status.to_string() } else { format!("no end within {:.0} s", self.limit_s) };
        // Some launchers complain to standard output.
        let (complaints, output) = (said(&complaints), said(&output));
        let why = if complaints.trim().is_empty() { output.trim() } else { complaints.trim() };
        Err(format!("{why} ({how}: {self})"))
    }
}

impl std::fmt::Display for Invocation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (name, value) in &self.settings {
            write!(f, "{name}={value} ")?;
        }
        write!(f, "{} ", self.program.display())?;
        // Sizes are many, and say little.
        let shown = self.words.iter().take(20).cloned().collect::<Vec<_>>().join(" ");
        write!(f, "{shown}{}", if self.words.len() > 20 { " ..." } else { "" })
    }
}

/// Whether that comes to be in time.
fn within(limit_s: f64, mut is_so: impl FnMut() -> bool) -> bool {
    let start = Instant::now();
    while start.elapsed().as_secs_f64() < limit_s {
        if is_so() {
            return true;
        }
        thread::sleep(LOOK);
    }
    false
}

/// Asks it to end, as launchers understand it, and kills what is left of all that it has started.
fn end(child: &Child) {
    let family = ProcessFamily::of(Pid::from_child(child));
    let _ = kill_process(Pid::from_child(child), Signal::TERM);
    within(END_LIMIT_S, || family.is_gone());
    family.signal(Signal::KILL);
}

/// Reads a pipe to its end in a thread of its own, so that a full pipe never blocks the command.
fn drain(pipe: Option<impl Read + Send + 'static>) -> Receiver<String> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            // What was read before an error is still worth having.
            let _ = pipe.read_to_end(&mut bytes);
        }
        let _ = sender.send(String::from_utf8_lossy(&bytes).into_owned());
    });
    receiver
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, limit_s: f64) -> Result<String, String> {
        let words = vec!["-c".into(), script.into()];
        let settings = vec![("GREETING".into(), "hello".into())];
        Invocation { program: "/bin/sh".into(), words, settings, limit_s }.run()
    }

    #[test]
    fn output_comes_back_and_failures_say_why() {
        assert_eq!(shell("echo $GREETING", 10.0), Ok("hello\n".into()));
        let error = shell("echo no such host >&2; exit 3", 10.0).unwrap_err();
        assert!(error.contains("no such host") && error.contains('3'), "{error}");
    }

    #[test]
    fn what_its_command_does_not_end_is_ended_too() {
        let error = shell("trap '' TERM; sh -c 'echo $$; exec sleep 60' & sleep 61", 0.5).unwrap_err();
        let number = error.split_whitespace().next().unwrap();
        let start = Instant::now();
        while std::path::Path::new("/proc").join(number).join("exe").exists() {
            assert!(start.elapsed() < Duration::from_secs(20), "{number} is still there");
            thread::sleep(LOOK);
        }
    }

    #[test]
    fn what_does_not_end_is_ended() {
        let start = Instant::now();
        let error = shell("exec sleep 60", 0.2).unwrap_err();
        assert!(error.contains("no end within"), "{error}");
        assert!(start.elapsed() < Duration::from_secs(20));
    }
}

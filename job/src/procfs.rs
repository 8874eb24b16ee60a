//! What `/proc` tells about a process.

use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;
use std::time::Duration;

use signal_hook::consts::{SIGINT, SIGQUIT};

use crate::limits::{ANCESTORS_MAX, ENVIRONMENT_USUAL, EXEC_LOOKS_MAX, EXEC_PAUSE};

/// Unit of the times in `/proc/PID/stat`: Linux shows `USER_HZ` = 100 to every program on x86-64 and aarch64.
const TICK_MS: u64 = 10;

/// One process as the kernel sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessStat {
    /// The state letter: `R`, `S`, `D`, `T`, `Z` …
    pub state: char,
    /// Process id of the parent.
    pub parent: u32,
    /// The process group.
    pub group: u32,
    /// Time on a processor, user and system.
    pub cpu: Duration,
    /// When it was started, in ticks since the machine was: with its number it names a process for good.
    pub start: u64,
}

impl ProcessStat {
    /// Reads `/proc/PID/stat`; `None` if there is no such process.
    pub fn of(pid: u32) -> Option<ProcessStat> {
        ProcessStat::parse(&std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
    }

    /// The program's name stands in parentheses and may hold anything, parentheses included: what follows
    /// the last one counts.
    fn parse(text: &str) -> Option<ProcessStat> {
        let mut fields = text[text.rfind(')')? + 1..].split_whitespace();
        let state = fields.next()?.chars().next()?;
        let parent = fields.next()?.parse().ok()?;
        let group = fields.next()?.parse().ok()?;
        // After session, tty, tpgid, flags and four fault counters come utime and stime.
        let user: u64 = fields.nth(8)?.parse().ok()?;
        let system: u64 = fields.next()?.parse().ok()?;
        // After the children's two times, priority, nice, the threads and a zero comes the start.
        let start = fields.nth(6)?.parse().ok()?;
        let cpu = Duration::from_millis((user + system) * TICK_MS);
        Some(ProcessStat { state, parent, group, cpu, start })
    }

    /// Whether the process has ended.
    pub fn has_ended(&self) -> bool {
        matches!(self.state, 'Z' | 'X')
    }

    /// The state in words.
    pub fn describe(&self) -> &'static str {
        match self.state {
            'R' => "running",
            'S' | 'I' => "sleeping",
            'D' => "waiting for a device",
            'T' => "stopped",
            't' => "held by a debugger",
            'Z' | 'X' => "ended",
            _ => "in an unknown state",
        }
    }
}

/// How many threads of a process have names that do not begin so; the name is cut to 15 bytes.
pub fn threads_beside(pid: u32, prefix: &str) -> usize {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let names = tasks.map(|task| std::fs::read_to_string(task.path().join("comm")).unwrap_or_default());
    names.filter(|name| !name.starts_with(prefix)).count()
}

/// The processes of this machine that can be seen, with what they are.
pub fn processes() -> impl Iterator<Item = (u32, ProcessStat)> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers.filter_map(|pid| Some((pid, ProcessStat::of(pid)?)))
}

/// The value of a variable in the environment with which a process runs its program; `None` as well where it may not be read.
pub fn variable_of(pid: u32, name: &str) -> Option<OsString> {
    look_for(pid, name)?.ok()
}

/// The same of a process that may be about to run another program: meanwhile it has no environment, and gets some time.
pub fn variable_across_exec(pid: u32, name: &str) -> Option<OsString> {
    for _ in 0..EXEC_LOOKS_MAX {
        match look_for(pid, name)? {
            Ok(value) => return Some(value),
            Err(environment) if !environment.is_empty() => return None,
            Err(_) if ProcessStat::of(pid)?.has_ended() => return None,
            Err(_) => std::thread::sleep(EXEC_PAUSE),
        }
    }
    None
}

/// The value of a variable of a process, or the environment that lacks it.
fn look_for(pid: u32, name: &str) -> Option<Result<OsString, Vec<u8>>> {
    let environment = environment_of(pid)?;
    Some(value_in(&environment, name).ok_or(environment))
}

/// The environment with which a process runs its program, a zero behind each variable; `None` where it may not be read.
///
/// A file that was opened before another program took the process over ends early, in the middle of a variable. So all of it is read
/// by a single call: the kernel holds the old program's memory as long as that lasts.
pub fn environment_of(pid: u32) -> Option<Vec<u8>> {
    let path = format!("/proc/{pid}/environ");
    let mut environment = vec![0; ENVIRONMENT_USUAL];
    loop {
        let length = std::fs::File::open(&path).ok()?.read(&mut environment).ok()?;
        if length < environment.len() {
            environment.truncate(length);
            return Some(environment);
        }
        environment.resize(2 * length, 0);
    }
}

fn value_in(environment: &[u8], name: &str) -> Option<OsString> {
    let mut variables = environment.split(|byte| *byte == 0);
    let value = variables.find_map(|variable| variable.strip_prefix(name.as_bytes())?.strip_prefix(b"="))?;
    Some(OsStr::from_bytes(value).to_owned())
}

/// Whether `ancestor` is above this process in the process tree.
pub(crate) fn descends_from(ancestor: u32) -> bool {
    let mut pid = std::os::unix::process::parent_id();
    for _ in 0..ANCESTORS_MAX {
        if pid == ancestor {
            return true;
        }
        match ProcessStat::of(pid) {
            Some(stat) if stat.parent != 0 => pid = stat.parent,
            _ => return false,
        }
    }
    false
}

/// The signals that this process ignores, as whatever `nohup` starts does: a bit per signal, lowest for signal 1.
pub fn ignored_signals() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

/// Lets what this process starts be interrupted, also where a script runs it in the background and so makes it ignore that: a child
/// inherits what is ignored, but not what is caught. Caught to no effect, an interrupt is still ignored here.
pub fn make_children_interruptible() -> std::io::Result<()> {
    let ignored = ignored_signals();
    for signal in [SIGINT, SIGQUIT].into_iter().filter(|signal| ignored & (1 << (signal - 1)) != 0) {
        signal_hook::flag::register(signal, Arc::default())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_parentheses_does_not_confuse() {
        let line = "77 (a) R (b) S 12 77 77 0 -1 4194560 107 0 0 0 150 50 0 0 20 0 1 0 100 1 1";
        let stat = ProcessStat::parse(line).unwrap();
        assert_eq!(
            stat,
            ProcessStat { state: 'S', parent: 12, group: 77, cpu: Duration::from_secs(2), start: 100 }
        );
        assert_eq!(ProcessStat::parse("77 (a"), None);
        assert_eq!(ProcessStat::parse("77 (a) S 1"), None);
    }

    #[test]
    fn threads_are_told_apart_by_name() {
        let (end, ended) = std::sync::mpsc::channel::<()>();
        let (begin, begun) = std::sync::mpsc::channel::<()>();
        let wait = move || {
            begin.send(()).unwrap();
            ended.recv().unwrap_err();
        };
        let thread = std::thread::Builder::new().name("own-thread".into()).spawn(wait).unwrap();
        begun.recv().unwrap();
        let own = std::process::id();
        // Other tests begin and end threads meanwhile.
        let told_apart = || threads_beside(own, "own-") < threads_beside(own, "nobody's");
        assert!((0..1000).any(|_| told_apart()));
        drop(end);
        thread.join().unwrap();
    }

    #[test]
    fn a_process_that_changes_its_program_keeps_its_variables() {
        let script = "[ $LEFT = 0 ] || LEFT=$((LEFT - 1)) exec sh -c \"$SCRIPT\"";
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", script]).envs([("SCRIPT", script), ("LEFT", "400"), ("SOUGHT", "found")]);
        let mut shell = shell.spawn().unwrap();
        let mut looks = 0;
        while shell.try_wait().unwrap().is_none() {
            if variable_across_exec(shell.id(), "SOUGHT").is_none_or(|value| value != "found") {
                // It may be about to end.
                std::thread::sleep(Duration::from_millis(20));
                assert!(ProcessStat::of(shell.id()).unwrap().has_ended(), "after {looks} looks");
            }
            looks += 1;
        }
        assert!(looks > 100);
    }

    #[test]
    fn an_environment_of_any_length_is_read() {
        let long = "x".repeat(ENVIRONMENT_USUAL);
        let mut child = std::process::Command::new("sleep");
        child.arg("60").envs([("LONG", &long), ("LONGER", &long)]);
        let mut child = child.spawn().unwrap();
        let read = variable_across_exec(child.id(), "LONGER");
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(read.unwrap().as_bytes(), long.as_bytes());
        assert_eq!(variable_of(child.id(), "LONGER"), None);
    }

    #[test]
    fn this_process_descends_from_its_parent_and_not_from_itself() {
        assert!(descends_from(std::os::unix::process::parent_id()));
        assert!(!descends_from(std::process::id()));
        assert!(!ProcessStat::of(std::process::id()).unwrap().describe().is_empty());
    }
}

//! The watchdog: a process that kills the ranks and the launchers when `mpirun` itself has been killed.
//!
//! It is `mpirun` run once more, asleep in a read on a pipe whose only writer is `mpirun`. The kernel closes
//! that end however `mpirun` ends, and the read returns. At a normal end `mpirun` kills the watchdog first. It is there before
//! the first rank and launcher and hears of each as soon as that runs. One of which `mpirun` could not tell any more, or that has
//! left its group, is known by its environment: a rank has a job descriptor there, a launcher [`LAUNCHER_VARIABLE`].

use std::collections::HashSet;
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Instant;

use tern_job::procfs::{ProcessStat, processes, variable_of};

use crate::launch::leftovers;
use crate::limits::{LAUNCHER_END_LOOK, LAUNCHER_END_MAX, PAUSE_BETWEEN_SEARCHES, SEARCHES_FOR_STRAYS};
use crate::watch::descendants::{Look, descriptor_of, signal_all};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};

/// The hidden option that makes `mpirun` a watchdog; the number of the process that it watches follows.
pub(crate) const OPTION: &str = "--tern-watchdog";

/// Says in a launcher's environment which `mpirun` or agent has started it.
pub(crate) const LAUNCHER_VARIABLE: &str = "TERN_LAUNCHED_BY";

/// In the place of a group.
const COMPLETE: i32 = 0;

/// Names the process, so that `pkill mpirun` does not meet the watchdog.
const NAME: &str = "tern-watchdog";

/// A watchdog on duty.
#[derive(Debug)]
pub(crate) struct Watchdog {
    child: Child,
    /// Closing it without [`Watchdog::dismiss`] is the alarm.
    lifeline: std::fs::File,
}

impl Watchdog {
    /// Sets a watchdog, over nobody yet.
    pub(crate) fn post() -> std::io::Result<Watchdog> {
        let (read, write) = pipe_with(PipeFlags::CLOEXEC)?;
        let child = Command::new("/proc/self/exe")
            .arg0(NAME)
            .arg(OPTION)
            .arg(std::process::id().to_string())
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::from(read))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()?;
        Ok(Watchdog { child, lifeline: std::fs::File::from(write) })
    }

    /// This rank's process group, too, must not outlive `mpirun`.
    pub(crate) fn watch_over(&mut self, group: Pid) -> std::io::Result<()> {
        self.write_number(group.as_raw_nonzero().get())
    }

    /// Nor must this launcher's, but it gets the time in which an agent that runs ends by itself.
    pub(crate) fn watch_over_launcher(&mut self, group: Pid) -> std::io::Result<()> {
        self.write_number(-group.as_raw_nonzero().get())
    }

    /// All have been told of.
    pub(crate) fn is_complete(&mut self) -> std::io::Result<()> {
        self.write_number(COMPLETE)
    }

    fn write_number(&mut self, number: i32) -> std::io::Result<()> {
        self.lifeline.write_all(&number.to_le_bytes())
    }

    /// Its process.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Relieves the watchdog: from here on nothing happens if `mpirun` ends.
    pub(crate) fn dismiss(mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Tells a watchdog something, if there is one. A watchdog that cannot be told is none.
pub(crate) fn inform(
    watchdog: &mut std::io::Result<Watchdog>,
    what: impl FnOnce(&mut Watchdog) -> std::io::Result<()>,
) {
    if let Ok(on_duty) = watchdog
        && let Err(error) = what(on_duty)
        && let Ok(useless) = std::mem::replace(watchdog, Err(error))
    {
        useless.dismiss();
    }
}

/// The watchdog's whole life. Who has started it is said in its argument: its parent may have been killed before it looks.
pub(crate) fn watch(mpirun: u32) {
    let _ = rustix::thread::set_name(c"tern-watchdog");
    let mut numbers = Vec::new();
    // Ends when mpirun has ended, or fails and then nobody is to be killed.
    if std::io::stdin().lock().read_to_end(&mut numbers).is_err() {
        return;
    }
    let patience = Instant::now() + LAUNCHER_END_MAX;
    let numbers: Vec<i32> = numbers.as_chunks().0.iter().map(|bytes| i32::from_le_bytes(*bytes)).collect();
    numbers.iter().for_each(|number| kill(*number));
    numbers.iter().filter_map(|number| u32::try_from(*number).ok()).for_each(leftovers::remove);
    let started = |look: &Look| ranks_of(look, mpirun);
    signal_all(Signal::KILL, started);
    if !numbers.contains(&COMPLETE) {
        for _ in 0..SEARCHES_FOR_STRAYS {
            launchers_of(mpirun).for_each(kill);
            signal_all(Signal::KILL, started);
            sleep(PAUSE_BETWEEN_SEARCHES);
        }
    }
    end_launchers(numbers.iter().map(|number| -number).collect(), patience);
}

/// Agents see the end of their input, end their ranks, and their launchers end. One that has no agent yet may hang.
fn end_launchers(mut numbers: Vec<i32>, patience: Instant) {
    // A number is forgotten once nobody has it, since the next who gets it is a stranger.
    let is_there = |number: &i32| group(*number).is_some_and(|group| test_kill_process_group(group).is_ok());
    numbers.retain(is_there);
    while !numbers.is_empty() && Instant::now() < patience {
        sleep(LAUNCHER_END_LOOK);
        numbers.retain(is_there);
    }
    numbers.into_iter().for_each(kill);
}

/// Kills a process group, unless the number is not that of one.
fn kill(number: i32) {
    if let Some(group) = group(number) {
        let _ = kill_process_group(group, Signal::KILL);
    }
}

fn group(number: i32) -> Option<Pid> {
    if number > 1 { Pid::from_raw(number) } else { None }
}

/// What has a job descriptor of `mpirun`'s, and what that has started. In another namespace the number of `mpirun` is somebody else's.
fn ranks_of(look: &Look, mpirun: u32) -> HashSet<u32> {
    let namespace = |pid: &str| std::fs::read_link(format!("/proc/{pid}/ns/pid")).ok();
    let own = namespace("self");
    let is_rank = |pid: &u32| {
        let launcher = descriptor_of(*pid).map(|descriptor| descriptor.launcher);
        launcher == Some(mpirun) && namespace(&pid.to_string()) == own
    };
    look.with_descendants(look.pids().filter(is_rank))
}

/// Launchers that `mpirun` has started: each leads a group, and what it starts usually does not; to kill that by its number fails.
fn launchers_of(mpirun: u32) -> impl Iterator<Item = i32> {
    let is_launcher = move |(pid, _): &(u32, ProcessStat)| {
        variable_of(*pid, LAUNCHER_VARIABLE).is_some_and(|value| value == *mpirun.to_string())
    };
    processes().filter(is_launcher).filter_map(|(pid, _)| i32::try_from(pid).ok())
}

/// Whether a process is the watchdog of a job. It ends by itself, and is needed until then: it may be that of a job inside this one.
pub(crate) fn is_watchdog(pid: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name.trim_end() == NAME)
}

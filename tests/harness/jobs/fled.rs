//! Ranks that have left their process group, as below `setsid` or a shell with job control: they end with their job, and the job does
//! not end before they do.

use std::process::Command;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::common::{JOB_LIMIT, Jobs, Test, Verdict, expect, expect_code, expect_said, passed};
use super::endings::{expect_gone, ranks_of, wait_for_ranks};
use super::hosts;
use crate::process::{GONE_WITHIN, Running, marked_processes, run, send};

/// The tests of this file.
pub(super) const TESTS: &[Test] = &[
    Test { name: "ranks that left their group, a rank killed", run: rank_killed },
    Test { name: "ranks that left their group, mpirun killed", run: mpirun_killed },
    Test { name: "ranks that left their group, mpirun terminated", run: terminated },
    Test { name: "ranks that left their group, mpirun and its guards killed", run: guards_killed },
    Test { name: "ranks that left their group, an agent killed", run: agent_killed },
    Test { name: "ranks whose first process ends at once", run: left_behind },
];

const RANKS: usize = 4;

/// What stands before the program: the rank is in a group, or a session, of its own.
const WRAPPERS: [&[&str]; 3] = [
    &["setsid", "-w"],
    &["bash", "-c", "set -m; \"$@\"; exit $?", "-"],
    // Its first process ends at once, and well.
    &["setsid"],
];

/// All ranks on this host, or on two that are this machine.
fn mpirun(jobs: &Jobs<'_>, hosts: bool) -> Command {
    if hosts { hosts::mpirun(jobs, "a:2,b:2") } else { jobs.mpirun(RANKS) }
}

/// Starts each kind of job with each wrapper, does something to it, and sees all of it gone.
fn each(jobs: &Jobs<'_>, act: impl Fn(&Running, &[u32])) -> Result<Vec<crate::process::Outcome>, String> {
    let mut outcomes = Vec::new();
    for (wrapper, hosts) in WRAPPERS.iter().flat_map(|wrapper| [(wrapper, false), (wrapper, true)]) {
        let mut command = mpirun(jobs, hosts);
        command.args(*wrapper).arg(jobs.job()?).arg("deadlock");
        let running = Running::start(&mut command).map_err(|error| error.to_string())?;
        wait_for_ranks(&running, "job", RANKS)?;
        wait_until_joined(&running);
        let mark = running.mark();
        act(&running, &ranks_of(&running, "job"));
        let acted = Instant::now();
        let outcome = running.wait(JOB_LIMIT).map_err(|error| error.to_string())?;
        let what = format!("{wrapper:?}, several hosts: {hosts}");
        expect(acted.elapsed() < 2 * GONE_WITHIN, &format!("mpirun has ended soon ({what})"), &outcome)?;
        expect_gone(&mark).map_err(|words| format!("{what}: {words}"))?;
        outcomes.push(outcome);
    }
    Ok(outcomes)
}

/// A rank that has joined its job has mapped the job's memory.
fn wait_until_joined(running: &Running) {
    let start = Instant::now();
    let has_joined = |pid: &u32| {
        let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
        maps.contains("tern-segment")
    };
    while start.elapsed() < Duration::from_secs(20) && !ranks_of(running, "job").iter().all(has_joined) {
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn rank_killed(jobs: &Jobs<'_>) -> Verdict {
    for outcome in each(jobs, |_, ranks| send(ranks[2], Signal::KILL))? {
        expect(outcome.code().is_some_and(|code| code != 0), "its exit status is not 0", &outcome)?;
        expect_said(&outcome, &["rank "])?;
    }
    passed()
}

fn mpirun_killed(jobs: &Jobs<'_>) -> Verdict {
    each(jobs, |running, _| running.signal(Signal::KILL))?;
    passed()
}

fn terminated(jobs: &Jobs<'_>) -> Verdict {
    for outcome in each(jobs, |running, _| running.signal(Signal::TERM))? {
        expect(outcome.code().is_some_and(|code| code != 0), "its exit status is not 0", &outcome)?;
    }
    passed()
}

/// Nobody is left who would end the ranks.
fn guards_killed(jobs: &Jobs<'_>) -> Verdict {
    each(jobs, |running, _| {
        let guards = ranks_of(running, "tern-guard").into_iter().chain(guards_of(running));
        guards.for_each(|guard| send(guard, Signal::KILL));
        running.signal(Signal::KILL);
    })?;
    passed()
}

/// Guards have an empty environment, and so no mark: they are children of those that have one.
fn guards_of(running: &Running) -> Vec<u32> {
    let children =
        |pid: u32| std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    let is_guard = |pid: &u32| {
        std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name == "tern-guard\n")
    };
    let all: Vec<u32> = marked_processes(&running.mark())
        .into_iter()
        .flat_map(|pid| {
            children(pid).split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>()
        })
        .collect();
    all.into_iter().filter(is_guard).collect()
}

fn agent_killed(jobs: &Jobs<'_>) -> Verdict {
    each(jobs, |running, _| match ranks_of(running, "tern-agent").first() {
        Some(&agent) => send(agent, Signal::KILL),
        None => running.signal(Signal::KILL),
    })?;
    passed()
}

/// The job goes on, and its output and exit status are those of the ranks.
fn left_behind(jobs: &Jobs<'_>) -> Verdict {
    let in_background: &[&str] = &["sh", "-c", "\"$@\" & exit 0", "-"];
    for (wrapper, hosts) in
        [WRAPPERS[2], in_background].iter().flat_map(|wrapper| [(wrapper, false), (wrapper, true)])
    {
        let job = |words: &[&str]| {
            let mut command = mpirun(jobs, hosts);
            command.args(*wrapper).arg(jobs.job()?).args(words);
            run(&mut command, JOB_LIMIT).map_err(|error| error.to_string())
        };
        let outcome = job(&["slow"])?;
        expect_code(&outcome, 0)?;
        expect(outcome.stdout == "done\n", "its output is what the ranks say", &outcome)?;
        let outcome = job(&["exit", "3"])?;
        expect_code(&outcome, 3)?;
        expect_said(&outcome, &["rank 1", "status 3"])?;
        let outcome = job(&["exit", "0"])?;
        expect_code(&outcome, 1)?;
        expect_said(&outcome, &["rank 1", "MPI_Finalize"])?;
    }
    let outcome =
        run(ended_meanwhile(jobs)?.args(["exit", "3"]), JOB_LIMIT).map_err(|error| error.to_string())?;
    expect_code(&outcome, 3)?;
    expect_said(&outcome, &["rank 1", "status 3"])?;
    // What has left for good and says nothing more is not waited for.
    let mut daemon = jobs.mpirun(2);
    daemon.args(["sh", "-c", "setsid sleep 9 > /dev/null 2>&1 & exit 0"]);
    let outcome = run(&mut daemon, JOB_LIMIT).map_err(|error| error.to_string())?;
    expect_code(&outcome, 0)?;
    expect(outcome.took < Duration::from_secs(8), "it does not wait for a daemon", &outcome)?;
    passed()
}

/// A job of which the first process of rank 1 and the one that it leaves behind both end before `mpirun` looks.
fn ended_meanwhile(jobs: &Jobs<'_>) -> Result<Command, String> {
    let stops =
        "if test $PMI_RANK = 1; then (sleep 1; kill -CONT $PPID) & kill -STOP $PPID; fi; \"$@\" & exit 0";
    let mut command = jobs.mpirun(2);
    command.args(["sh", "-c", stops, "-"]).arg(jobs.job()?);
    Ok(command)
}

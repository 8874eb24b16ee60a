//! Jobs on several hosts: this machine under several names, and network namespaces with addresses of their own.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::common::{
    DESERTED_LIMIT, JOB_LIMIT, Jobs, Test, Verdict, expect, expect_code, expect_said, passed, run_command,
    skip,
};
use crate::process::{GONE_WITHIN, Outcome, Running, marked_processes, send, wait_until_gone};

/// The launcher whose hosts are all this machine.
const HERE: &str = "tests/net/here.sh";
/// A job on a few hosts runs after this time, even on a busy machine.
const START_LIMIT: Duration = Duration::from_secs(20);
/// Hello on 8 hosts takes a third of a second; a busy machine gets more.
const HELLO_LIMIT: Duration = Duration::from_secs(5);

/// The tests of this file.
pub(super) const TESTS: &[Test] = &[
    Test { name: "two hosts", run: two_hosts },
    Test { name: "windows of two hosts", run: windows },
    Test { name: "a rank that dies with a lock", run: dies_with_lock },
    Test { name: "who shares a host", run: sharing },
    Test { name: "collectives of a host's ranks", run: by_machine },
    Test { name: "ranks reordered by hosts", run: reordered },
    Test { name: "8 hosts of 8 ranks", run: eight_hosts },
    Test { name: "hosts in network namespaces", run: namespaces },
    Test { name: "a rank killed on another host", run: rank_killed },
    Test { name: "an agent killed", run: agent_killed },
    Test { name: "mpirun of several hosts killed", run: mpirun_killed },
    Test { name: "abort on another host", run: abort },
    Test { name: "timeout on several hosts", run: timeout },
    Test { name: "a rank that was never in MPI on another host", run: never_in_mpi },
    Test { name: "a rank that ends on another host while others wait for it", run: deserted },
    Test { name: "a host without Tern", run: unreachable },
    Test { name: "launchers with quotes, and none", run: launchers },
    Test { name: "a signal while hosts start", run: never_started },
];

/// `mpirun` on hosts that are this machine.
pub(super) fn mpirun(jobs: &Jobs<'_>, hosts: &str) -> Command {
    let mut command = launched(jobs);
    command.args(["--host", hosts]);
    command
}

/// The same, before any host is named.
pub(super) fn launched(jobs: &Jobs<'_>) -> Command {
    launched_by(jobs, HERE)
}

/// The same by another launcher of the sources.
pub(super) fn launched_by(jobs: &Jobs<'_>, launcher: &str) -> Command {
    let mut command = jobs.bare_mpirun();
    command.arg("--launcher").arg(jobs.options.root.join(launcher));
    command
}

fn two_hosts(jobs: &Jobs<'_>) -> Verdict {
    let programs = ["p2p_blocking", "coll_data", "comm", "file_access", "file_views", "file_faults"];
    for program in programs.into_iter().chain(["spawn_worlds", "spawn_ports", "spawn_errors"]) {
        let mut command = mpirun(jobs, "a:2,localhost:2");
        expect_code(&run_command(command.arg(jobs.conformance(program)?))?, 0)?;
        let mut command = mpirun(jobs, "a:2,b:2");
        expect_code(&run_command(command.args(["--map-by", "node"]).arg(jobs.conformance(program)?))?, 0)?;
    }
    passed()
}

/// Ranks that share memory, and ranks that messages reach, in one window.
fn windows(jobs: &Jobs<'_>) -> Verdict {
    let programs = ["rma_windows", "rma_random", "rma_accumulate", "rma_epochs", "rma_errors", "rma_passive"];
    for program in programs.into_iter().chain(["rma_lock_all", "rma_threads"]) {
        for (hosts, by) in [("a:2,b:2", "node"), ("a:3,b:1", "slot"), ("a:1,b:1", "slot")] {
            let mut command = mpirun(jobs, hosts);
            expect_code(&run_command(command.args(["--map-by", by]).arg(jobs.conformance(program)?))?, 0)?;
        }
    }
    // Other random programs, and what is right must pass the check.
    for (seed, check) in [("1", ""), ("2", "windows"), ("3", "windows"), ("4", "")] {
        let mut command = mpirun(jobs, "a:2,b:2");
        command.env("TERN_TEST_SEED", seed).env("TERN_CHECK", check).args(["--map-by", "node"]);
        expect_code(&run_command(command.arg(jobs.conformance("rma_random")?))?, 0)?;
    }
    // What is wrong is told, on whichever host its memory is.
    for flavor in ["allocate", "create", "dynamic"] {
        for hosts in ["a:1,b:1", "a:2,b:2"] {
            let mut command = mpirun(jobs, hosts);
            command.env("TERN_CHECK", "windows").arg(jobs.wrong_windows()?).arg(flavor);
            expect_code(&run_command(&mut command)?, 0)?;
        }
    }
    passed()
}

/// On its own host and on another one, where others wait for the lock.
fn dies_with_lock(jobs: &Jobs<'_>) -> Verdict {
    for hosts in ["a:3", "a:2,b:1", "a:1,b:2", "a:1,b:1,c:1"] {
        let outcome = run_command(mpirun(jobs, hosts).arg(jobs.job()?).arg("dies-with-lock"))?;
        expect_code(&outcome, 137)?;
        expect_said(&outcome, &["rank 1 (", "signal 9"])?;
    }
    passed()
}

fn sharing(jobs: &Jobs<'_>) -> Verdict {
    let outcome = run_command(mpirun(jobs, "a:3,b:2").arg(jobs.job()?).arg("shares"))?;
    expect_code(&outcome, 0)?;
    for rank in 0..5 {
        let line = format!("rank {rank} shares with {}", if rank < 3 { 3 } else { 2 });
        expect(outcome.stdout.lines().any(|other| other == line), &format!("it says '{line}'"), &outcome)?;
    }
    passed()
}

/// Hosts of several ranks, of one, and ranks that are dealt out in turns.
fn by_machine(jobs: &Jobs<'_>) -> Verdict {
    let program = jobs.conformance("coll_machines")?;
    for hosts in ["a:3,b:2", "a:1,b:4"] {
        expect_code(&run_command(mpirun(jobs, hosts).arg(&program))?, 0)?;
    }
    let mut by_turns = mpirun(jobs, "a:3,b:3");
    expect_code(&run_command(by_turns.args(["--map-by", "node"]).arg(&program))?, 0)?;
    passed()
}

/// Grids and graphs whose neighbors would mostly be on different hosts.
fn reordered(jobs: &Jobs<'_>) -> Verdict {
    let program = jobs.conformance("topo_reorder")?;
    expect_code(&run_command(mpirun(jobs, "a:4,b:4").arg(&program).arg("less"))?, 0)?;
    let mut by_turns = mpirun(jobs, "a:3,b:3");
    expect_code(&run_command(by_turns.args(["--map-by", "node"]).arg(&program))?, 0)?;
    expect_code(&run_command(mpirun(jobs, "a:1,b:2,c:5").arg(&program))?, 0)?;
    passed()
}

/// Beside others that wait on the same host, and on one where nothing else runs; behind an agent, too.
fn never_in_mpi(jobs: &Jobs<'_>) -> Verdict {
    for (hosts, tree) in [("a:3,b:1", "8"), ("a:2,b:2", "8"), ("a:1,b:1,c:1,d:1", "1")] {
        let mut command = mpirun(jobs, hosts);
        command.args(["--tree", tree, "-n", "3"]).arg(jobs.job()?).args(["hello", ":", "-n", "1", "true"]);
        let outcome = run_command(&mut command)?;
        expect(outcome.took < Duration::from_secs(10), "it ended soon", &outcome)?;
        expect_code(&outcome, 1)?;
        expect_said(&outcome, &["rank 3 (true", "without calling MPI_Init"])?;
    }
    // A rank that is done with something else is none that others wait for.
    let mut command = mpirun(jobs, "a:1,b:1");
    expect_code(&run_command(command.args(["-n", "1", "true", ":", "-n", "1", "sleep", "3"]))?, 0)?;
    passed()
}

/// All hosts are asked, over agents that know of one host each.
fn deserted(jobs: &Jobs<'_>) -> Verdict {
    let mut command = mpirun(jobs, "a:1,b:1,c:1");
    let outcome = run_command(command.args(["--tree", "1"]).arg(jobs.job()?).arg("deserted-receive"))?;
    expect_code(&outcome, 1)?;
    expect(outcome.took < DESERTED_LIMIT, "it took no more than 20 s", &outcome)?;
    expect_said(&outcome, &["rank 1", "is in MPI_Finalize", "waits in", "MPI_Recv on MPI_COMM_WORLD"])?;
    passed()
}

fn eight_hosts(jobs: &Jobs<'_>) -> Verdict {
    let mut command = mpirun(jobs, "a:8,b:8,c:8,d:8,e:8,f:8,g:8,h:8");
    let outcome = run_command(command.args(["--tree", "3"]).arg(jobs.job()?).arg("hello"))?;
    expect_code(&outcome, 0)?;
    expect(outcome.stdout.lines().count() == 64, "64 lines came out", &outcome)?;
    expect(outcome.took < HELLO_LIMIT, "it took no more than 5 s", &outcome)?;
    passed()
}

/// Each host has its own addresses, and one that all of them have and that leads nowhere.
fn namespaces(jobs: &Jobs<'_>) -> Verdict {
    let testnet = jobs.options.root.join("tests/net/testnet.sh");
    for (program, rate) in [("p2p_blocking", "0"), ("coll_data", "0"), ("p2p_nonblocking", "1gbit")] {
        let outcome = run_command(&mut in_namespaces(jobs, &testnet, rate, &jobs.conformance(program)?))?;
        if outcome.stderr.contains("testnet.sh: ") {
            let why = outcome.stderr.lines().find_map(|line| line.strip_prefix("testnet.sh: "));
            return skip(why.unwrap_or("no network namespaces"));
        }
        expect_code(&outcome, 0)?;
    }
    passed()
}

/// Two ranks on each of three hosts.
fn in_namespaces(jobs: &Jobs<'_>, testnet: &Path, rate: &str, program: &Path) -> Command {
    let script = "exec \"$0\" --launcher \"$MPI_LAUNCHER\" --host \"$MPI_HOSTS\" -ppn 2 -n 6 \"$1\"";
    let mut command = Command::new(testnet);
    command.args(["with", "3", rate, "sh", "-c", script]).arg(jobs.options.mpirun()).arg(program);
    command
}

/// Starts four ranks on three hosts in a chain, and waits until all are there. Returns their processes, and those of
/// the agents.
fn start(jobs: &Jobs<'_>, what: &str) -> Result<(Running, Vec<u32>, Vec<u32>), String> {
    let mut command = mpirun(jobs, "a,b,c:2");
    command.args(["--tree", "1"]).arg(jobs.job()?).arg(what);
    let running = Running::start(&mut command).map_err(|error| error.to_string())?;
    let start = Instant::now();
    loop {
        let (ranks, agents) = (named(&running, "job"), named(&running, "tern-agent"));
        if ranks.len() == 4 && agents.len() == 3 {
            std::thread::sleep(Duration::from_millis(300));
            return Ok((running, ranks, agents));
        }
        if start.elapsed() > START_LIMIT {
            return Err(format!("only {} of 4 ranks and {} of 3 agents came up", ranks.len(), agents.len()));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn named(running: &Running, what: &str) -> Vec<u32> {
    let is_it = |pid: &u32| {
        std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name.trim_end() == what)
    };
    let mut found: Vec<u32> = marked_processes(&running.mark()).into_iter().filter(is_it).collect();
    found.sort_unstable();
    found
}

/// Kills a process of a job, and expects the end of all of it.
fn kill(jobs: &Jobs<'_>, what: &str, choose: fn(&[u32], &[u32]) -> u32) -> Result<Outcome, String> {
    let (running, ranks, agents) = start(jobs, what)?;
    let mark = running.mark();
    send(choose(&ranks, &agents), Signal::KILL);
    let killed = Instant::now();
    let outcome = running.wait(JOB_LIMIT).map_err(|error| error.to_string())?;
    expect(killed.elapsed() < GONE_WITHIN, "mpirun has ended within 2 s", &outcome)?;
    expect_gone(&mark)?;
    expect(outcome.stderr.lines().count() == 1, "there is one message", &outcome)?;
    Ok(outcome)
}

fn expect_gone(mark: &str) -> Result<(), String> {
    let left = wait_until_gone(mark, GONE_WITHIN);
    if left.is_empty() { Ok(()) } else { Err(format!("processes {left:?} are still there after 2 s")) }
}

fn rank_killed(jobs: &Jobs<'_>) -> Verdict {
    for what in ["deadlock", "traffic"] {
        let outcome = kill(jobs, what, |ranks, _| ranks[3])?;
        expect_code(&outcome, 137)?;
        expect_said(&outcome, &["rank ", "job", " on ", "signal 9"])?;
    }
    passed()
}

fn agent_killed(jobs: &Jobs<'_>) -> Verdict {
    let outcome = kill(jobs, "traffic", |_, agents| agents[1])?;
    expect_code(&outcome, 1)?;
    expect_said(&outcome, &["host ", "agent is gone"])?;
    passed()
}

fn mpirun_killed(jobs: &Jobs<'_>) -> Verdict {
    let (running, _, _) = start(jobs, "traffic")?;
    let mark = running.mark();
    running.signal(Signal::KILL);
    running.wait(JOB_LIMIT).map_err(|error| error.to_string())?;
    expect_gone(&mark)?;
    passed()
}

fn abort(jobs: &Jobs<'_>) -> Verdict {
    let outcome = run_command(mpirun(jobs, "a,b,c").arg(jobs.job()?).args(["abort", "7"]))?;
    expect_code(&outcome, 7)?;
    expect_said(&outcome, &["rank 1", " on b)", "code 7"])?;
    passed()
}

fn timeout(jobs: &Jobs<'_>) -> Verdict {
    let mut command = mpirun(jobs, "a,b,c");
    let outcome = run_command(command.args(["--timeout", "1"]).arg(jobs.job()?).arg("deadlock"))?;
    expect_code(&outcome, 124)?;
    expect_said(
        &outcome,
        &["the 3 ranks stand here", "rank 0: in MPI_Recv, peer 1", "ranks 1-2: in MPI_Barrier"],
    )?;
    passed()
}

/// The reason is in the message, and comes soon.
fn unreachable(jobs: &Jobs<'_>) -> Verdict {
    let mut command = Command::new(jobs.options.mpirun());
    command.args(["--launcher", "sh -c", "--host", "no-such-command-here"]).arg(jobs.job()?);
    let outcome = run_command(&mut command)?;
    expect_code(&outcome, 1)?;
    expect_said(&outcome, &["host no-such-command-here", "not found"])?;
    passed()
}

/// A command of several words, and one that is not there, which is known at once.
fn launchers(jobs: &Jobs<'_>) -> Verdict {
    let run = |command: &str| {
        let mut mpirun = jobs.bare_mpirun();
        run_command(mpirun.args(["--launcher", command, "--host", "a,b"]).arg(jobs.job()?).arg("hello"))
    };
    expect_code(&run("sh -c 'exec sh -c \"$1 $2\"'")?, 0)?;
    let outcome = run("/no/such/launcher")?;
    expect_code(&outcome, 1)?;
    expect_said(&outcome, &["host a", "cannot run '/no/such/launcher'"])?;
    expect(outcome.took < START_LIMIT / 2, "nothing is waited for", &outcome)?;
    passed()
}

/// Nobody else could end a job whose launcher hangs.
fn never_started(jobs: &Jobs<'_>) -> Verdict {
    let mut command = jobs.bare_mpirun();
    command.args(["--launcher", "sh -c 'exec sleep 60'", "--host", "localhost,b"]);
    command.arg(jobs.job()?).arg("deadlock");
    let running = Running::start(&mut command).map_err(|error| error.to_string())?;
    let start = Instant::now();
    while named(&running, "sleep").is_empty() || named(&running, "job").is_empty() {
        expect_in_time(start)?;
    }
    let mark = running.mark();
    running.signal(Signal::TERM);
    let told = Instant::now();
    let outcome = running.wait(JOB_LIMIT).map_err(|error| error.to_string())?;
    expect(told.elapsed() < GONE_WITHIN, "mpirun has ended within 2 s", &outcome)?;
    expect_code(&outcome, 143)?;
    expect_said(&outcome, &["SIGTERM while waiting for b to start"])?;
    expect_gone(&mark)?;
    passed()
}

fn expect_in_time(start: Instant) -> Result<(), String> {
    std::thread::sleep(Duration::from_millis(10));
    if start.elapsed() < START_LIMIT { Ok(()) } else { Err("the job does not start".into()) }
}

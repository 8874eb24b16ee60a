//! Jobs that end badly: exit statuses, what is said, and that every process is gone soon.

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::common::{
    DESERTED_LIMIT, JOB_LIMIT, Jobs, Test, Verdict, expect, expect_code, expect_said, passed, run_command,
    skip,
};
use crate::compile::compile;
use crate::instances::has_libfabric;
use crate::process::{GONE_WITHIN, Running, marked_processes, send, wait_until_gone};

/// A job of four ranks is running after this time, even on a busy machine.
const START_LIMIT: Duration = Duration::from_secs(20);

/// The tests of this file.
pub(super) const TESTS: &[Test] = &[
    Test { name: "a rank killed", run: rank_killed },
    Test { name: "a rank killed amid traffic", run: rank_killed_amid_traffic },
    Test { name: "mpirun killed", run: mpirun_killed },
    Test { name: "kills over libfabric's shared memory", run: killed_over_libfabric },
    Test { name: "mpirun interrupted", run: mpirun_interrupted },
    Test { name: "interrupts in the background of a script", run: interrupted_in_background },
    Test { name: "abort", run: abort },
    Test { name: "abort in a signal handler", run: handler_aborts },
    Test { name: "exit status", run: exit_status },
    Test { name: "segmentation fault", run: segmentation_fault },
    Test { name: "exit without finalize", run: exit_without_finalize },
    Test { name: "a rank that never calls MPI_Init", run: never_in_mpi },
    Test { name: "a rank that ends while others wait for it", run: deserted },
    Test { name: "fatal error", run: fatal_error },
    Test { name: "fatal truncation", run: fatal_truncation },
    Test { name: "call before init", run: call_before_init },
    Test { name: "call after finalize", run: call_after_finalize },
    Test { name: "init twice", run: init_twice },
];

/// Starts a job and waits until all its ranks are in traffic or in a call.
fn start(jobs: &Jobs<'_>, what: &str) -> Result<(Running, Vec<u32>), String> {
    start_by(jobs, jobs.mpirun(4), what)
}

/// The same by this command.
fn start_by(jobs: &Jobs<'_>, mut command: Command, what: &str) -> Result<(Running, Vec<u32>), String> {
    let program = jobs.job()?;
    let running = Running::start(command.arg(&program).arg(what)).map_err(|error| error.to_string())?;
    wait_for_ranks(&running, "job", 4)?;
    std::thread::sleep(Duration::from_millis(300));
    let ranks = ranks_of(&running, "job");
    Ok((running, ranks))
}

/// Waits until so many processes run `program`.
pub(super) fn wait_for_ranks(running: &Running, program: &str, count: usize) -> Result<(), String> {
    let start = Instant::now();
    loop {
        let ranks = ranks_of(running, program).len();
        if ranks == count {
            return Ok(());
        }
        if start.elapsed() > START_LIMIT {
            return Err(format!("only {ranks} of {count} ranks came up"));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The processes of a job that run `program`.
pub(super) fn ranks_of(running: &Running, program: &str) -> Vec<u32> {
    let is_rank = |pid: &u32| {
        std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name.trim_end() == program)
    };
    let mut ranks: Vec<u32> = marked_processes(&running.mark()).into_iter().filter(is_rank).collect();
    ranks.sort_unstable();
    ranks
}

/// Nothing of a job is left, soon.
pub(super) fn expect_gone(mark: &str) -> Result<(), String> {
    let left = wait_until_gone(mark, GONE_WITHIN);
    if left.is_empty() { Ok(()) } else { Err(format!("processes {left:?} are still there after 2 s")) }
}

fn kill_a_rank(jobs: &Jobs<'_>, what: &str) -> Verdict {
    let (running, ranks) = start(jobs, what)?;
    let mark = running.mark();
    send(ranks[2], Signal::KILL);
    let killed = Instant::now();
    let outcome = running.wait(JOB_LIMIT).map_err(|error| error.to_string())?;
    expect(killed.elapsed() < GONE_WITHIN, "mpirun has ended within 2 s", &outcome)?;
    expect_gone(&mark)?;
    expect_code(&outcome, 137)?;
    expect_said(&outcome, &["rank ", "job", "signal 9"])?;
    passed()
}

fn rank_killed(jobs: &Jobs<'_>) -> Verdict {
    kill_a_rank(jobs, "deadlock")
}

fn rank_killed_amid_traffic(jobs: &Jobs<'_>) -> Verdict {
    kill_a_rank(jobs, "traffic")
}

fn mpirun_killed(jobs: &Jobs<'_>) -> Verdict {
    for what in ["deadlock", "traffic"] {
        let (running, _) = start(jobs, what)?;
        let mark = running.mark();
        running.signal(Signal::KILL);
        running.wait(JOB_LIMIT).map_err(|error| error.to_string())?;
        expect_gone(&mark)?;
    }
    passed()
}

/// Whether it comes to hold in time.
fn holds_within(limit: Duration, holds: impl Fn() -> bool) -> bool {
    let since = Instant::now();
    while since.elapsed() < limit {
        if holds() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    holds()
}

/// The provider has a file for each rank.
fn killed_over_libfabric(jobs: &Jobs<'_>) -> Verdict {
    if !has_libfabric() {
        return skip("libfabric.so.1 is not here");
    }
    for is_mpirun in [false, true] {
        let mut command = jobs.mpirun(4);
        command.args(["-x", "TERN_TRANSPORT=ofi", "-x", "TERN_OFI_PROVIDER=shm"]);
        let (running, ranks) = start_by(jobs, command, "traffic")?;
        let mark = running.mark();
        let files: Vec<_> = ranks.iter().map(|pid| PathBuf::from(format!("/dev/shm/{pid}:0:0"))).collect();
        let were_there = holds_within(START_LIMIT, || files.iter().all(|file| file.exists()));
        if is_mpirun {
            running.signal(Signal::KILL)
        } else {
            send(ranks[2], Signal::KILL)
        }
        let outcome = running.wait(JOB_LIMIT).map_err(|error| error.to_string())?;
        expect(were_there, "each rank had a file", &outcome)?;
        expect_gone(&mark)?;
        let are_gone = holds_within(GONE_WITHIN, || files.iter().all(|file| !file.exists()));
        expect(are_gone, "no file is left", &outcome)?;
    }
    passed()
}

fn mpirun_interrupted(jobs: &Jobs<'_>) -> Verdict {
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let (running, _) = start(jobs, "deadlock")?;
        let mark = running.mark();
        running.signal(signal);
        let outcome = running.wait(JOB_LIMIT).map_err(|error| error.to_string())?;
        expect_gone(&mark)?;
        expect_code(&outcome, code)?;
    }
    passed()
}

/// A shell without job control makes what it runs in the background ignore interrupts. The harness must pass there, too.
fn interrupted_in_background(jobs: &Jobs<'_>) -> Verdict {
    // As the kernel has it: a build that goes on beside may have put another file in its place.
    let harness = format!("/proc/{}/exe", std::process::id());
    let mut command = Command::new("sh");
    command.args(["-c", "trap '' INT QUIT; exec \"$@\"", "-"]).arg(harness);
    let outcome =
        run_command(command.arg("--prefix").arg(&jobs.options.prefix).arg("job mpirun interrupted"))?;
    expect(outcome.success(), "its tests of interrupts pass", &outcome)?;
    expect(outcome.stdout.ends_with("1 passed, 0 failed, 0 skipped\n"), "there is one", &outcome)?;
    passed()
}

fn abort(jobs: &Jobs<'_>) -> Verdict {
    for code in [1, 7, 255] {
        let outcome = jobs.run_job(4, &["abort", &code.to_string()])?;
        expect_code(&outcome, code)?;
        expect_said(&outcome, &["rank 1", &format!("code {code}")])?;
    }
    // A code of zero in its low byte must not look like success.
    let outcome = jobs.run_job(4, &["abort", "256"])?;
    expect(outcome.code().is_some_and(|code| code != 0), "its exit status is not 0", &outcome)?;
    passed()
}

/// Whatever call the signal interrupts, be it one that holds the library's lock.
fn handler_aborts(jobs: &Jobs<'_>) -> Verdict {
    let program = compile(jobs.options, &jobs.options.root.join("tests/jobs/handler_aborts.c"))?;
    for kind in ["receive", "messages", "barriers", "communicators"] {
        for (level, after) in ["single", "multiple"].into_iter().zip(["50000", "51234"]) {
            let outcome = run_command(jobs.mpirun(2).arg(&program).args([kind, level, after]))?;
            expect_code(&outcome, 7)?;
            expect_said(&outcome, &["rank 1", "aborted the job with code 7", "MPI_Abort was called"])?;
        }
    }
    passed()
}

fn exit_status(jobs: &Jobs<'_>) -> Verdict {
    let outcome = jobs.run_job(4, &["exit", "3"])?;
    expect_code(&outcome, 3)?;
    expect_said(&outcome, &["rank 1", "status 3"])?;
    passed()
}

fn segmentation_fault(jobs: &Jobs<'_>) -> Verdict {
    let outcome = jobs.run_job(4, &["signal", "11"])?;
    expect_code(&outcome, 139)?;
    expect_said(&outcome, &["rank 1", "signal 11", "SIGSEGV"])?;
    passed()
}

fn exit_without_finalize(jobs: &Jobs<'_>) -> Verdict {
    let outcome = jobs.run_job(4, &["exit", "0"])?;
    expect(outcome.code().is_some_and(|code| code != 0), "its exit status is not 0", &outcome)?;
    expect_said(&outcome, &["rank 1", "MPI_Finalize"])?;
    passed()
}

fn never_in_mpi(jobs: &Jobs<'_>) -> Verdict {
    let mut mpirun = jobs.mpirun(2);
    let outcome = run_command(mpirun.arg(jobs.job()?).args(["hello", ":", "-n", "1", "true"]))?;
    expect(outcome.took < Duration::from_secs(10), "it ended soon", &outcome)?;
    expect_code(&outcome, 1)?;
    expect_said(&outcome, &["rank 2 (true", "without calling MPI_Init"])?;
    // A rank that is done with something else is none that others wait for.
    let outcome = run_command(jobs.mpirun(1).args(["true", ":", "-n", "1", "sleep", "3"]))?;
    expect_code(&outcome, 0)?;
    passed()
}

/// `MPI_Finalize` is not taken for the program's barrier, and the job says who waits for whom. Over TCP the ranks have counted what
/// they sent and received, so that nobody waits as long as a peer may stay away.
fn deserted(jobs: &Jobs<'_>) -> Verdict {
    let cases = [
        ("shm", "deserted-barrier", "MPI_Barrier"),
        ("shm", "deserted-receive", "MPI_Recv"),
        ("tcp", "deserted-barrier", "MPI_Barrier"),
    ];
    for (transport, what, call) in cases {
        let mut command = jobs.mpirun(3);
        command.env("TERN_TRANSPORT", transport).arg(jobs.job()?);
        let outcome = run_command(command.arg(what))?;
        expect_code(&outcome, 1)?;
        expect(outcome.took < DESERTED_LIMIT, "it took no more than 20 s", &outcome)?;
        let words = ["rank 1", "is in MPI_Finalize", "waits in", &format!("{call} on MPI_COMM_WORLD")];
        expect_said(&outcome, &words)?;
    }
    for transport in ["shm", "tcp"] {
        let mut command = jobs.mpirun(3);
        command.env("TERN_TRANSPORT", transport).arg(jobs.job()?);
        let outcome = run_command(command.arg("deserted-not"))?;
        expect(outcome.success(), "a rank that comes late is waited for", &outcome)?;
    }
    passed()
}

fn fatal_error(jobs: &Jobs<'_>) -> Verdict {
    let outcome = jobs.run_job(3, &["fatal"])?;
    expect(outcome.code().is_some_and(|code| code != 0), "its exit status is not 0", &outcome)?;
    // The call, the communicator, the wrong rank and how many there are.
    expect_said(&outcome, &["MPI_Send", "MPI_COMM_WORLD", "rank 1", "8", "3"])?;
    passed()
}

fn fatal_truncation(jobs: &Jobs<'_>) -> Verdict {
    let outcome = jobs.run_job(2, &["truncate"])?;
    expect(outcome.code().is_some_and(|code| code != 0), "its exit status is not 0", &outcome)?;
    // Eight bytes came and four fit.
    expect_said(&outcome, &["MPI_Recv", "MPI_COMM_WORLD", "8", "4"])?;
    passed()
}

fn one_rank(jobs: &Jobs<'_>, what: &str, words: &[&str]) -> Verdict {
    let outcome = run_command(jobs.mpirun(1).arg(jobs.job()?).arg(what))?;
    expect(outcome.code().is_some_and(|code| code != 0), "its exit status is not 0", &outcome)?;
    expect_said(&outcome, words)?;
    passed()
}

fn call_before_init(jobs: &Jobs<'_>) -> Verdict {
    one_rank(jobs, "before-init", &["MPI_Comm_size", "MPI_Init"])
}

fn call_after_finalize(jobs: &Jobs<'_>) -> Verdict {
    one_rank(jobs, "after-finalize", &["MPI_Comm_size", "MPI_Finalize"])
}

fn init_twice(jobs: &Jobs<'_>) -> Verdict {
    one_rank(jobs, "twice", &["MPI_Init"])
}

//! A rank of many killed in the middle of each kind of collective: all are gone soon, and one message says why.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::common::{JOB_LIMIT, Jobs, Test, Verdict, expect, expect_code, passed, skip};
use super::endings::{expect_gone, ranks_of, wait_for_ranks};
use super::places::{as_nobody, is_reachable};
use crate::compile::compile;
use crate::process::{GONE_WITHIN, Running, send};

/// The tests of this file.
pub(super) const TESTS: &[Test] = &[
    Test { name: "a rank killed in each collective", run: in_each },
    Test { name: "a rank killed in a collective of another user's", run: as_another_user },
];

/// Many more than the cores that they share.
const RANKS: usize = 16;

const CORES: &str = "0,1";

/// What `tests/jobs/endless.c` knows.
const KINDS: [&str; 12] = [
    "barrier",
    "bcast",
    "reduce",
    "allreduce",
    "gather",
    "scatter",
    "allgather",
    "alltoall",
    "reduce_scatter",
    "scan",
    "nonblocking",
    "split",
];

/// Time in which a job gets into its calls once its ranks are there.
const SETTLE: Duration = Duration::from_millis(150);

fn in_each(jobs: &Jobs<'_>) -> Verdict {
    let program = compile(jobs.options, &jobs.options.root.join("tests/jobs/endless.c"))?;
    for (number, kind) in KINDS.iter().enumerate() {
        // Another rank each time, rank 0 among them.
        let mut command = Command::new("taskset");
        command.args(["-c", CORES]).arg(jobs.options.mpirun());
        kill_one(command.args(["-n", &RANKS.to_string()]).arg(&program).arg(kind), number * 5 % RANKS)
            .map_err(|words| format!("{kind}: {words}"))?;
    }
    passed()
}

fn as_another_user(jobs: &Jobs<'_>) -> Verdict {
    if !rustix::process::geteuid().is_root() {
        return skip("needs root to become another user");
    }
    let program = compile(jobs.options, &jobs.options.root.join("tests/jobs/endless.c"))?;
    if !is_reachable(&program)? {
        return skip("another user cannot reach the build folder");
    }
    for kind in ["barrier", "bcast", "allreduce", "alltoall"] {
        let mut command = as_nobody(Path::new("taskset"));
        command.args(["-c", CORES]).arg(jobs.options.mpirun());
        kill_one(command.args(["-n", &RANKS.to_string()]).arg(&program).arg(kind), 3)
            .map_err(|words| format!("{kind}: {words}"))?;
    }
    passed()
}

fn kill_one(command: &mut Command, rank: usize) -> Result<(), String> {
    let running = Running::start(command).map_err(|error| error.to_string())?;
    wait_for_ranks(&running, "endless", RANKS)?;
    std::thread::sleep(SETTLE);
    let (mark, ranks) = (running.mark(), ranks_of(&running, "endless"));
    let Some(&victim) = ranks.get(rank) else { return Err("the job ended by itself".into()) };
    send(victim, Signal::KILL);
    let killed = Instant::now();
    let outcome = running.wait(JOB_LIMIT).map_err(|error| error.to_string())?;
    expect(killed.elapsed() < GONE_WITHIN, "mpirun has ended within 2 s", &outcome)?;
    expect_gone(&mark)?;
    expect_code(&outcome, 137)?;
    let lines: Vec<&str> = outcome.stderr.lines().collect();
    let one = lines.len() == 1 && lines[0].contains("signal 9") && lines[0].contains("endless");
    expect(one, "one line names program and signal", &outcome)
}

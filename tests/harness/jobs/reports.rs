//! Where ranks stand, said at a timeout and on SIGUSR1; and that a rank that waits costs nothing.

use std::time::Duration;

use rustix::process::Signal;

use super::common::{JOB_LIMIT, Jobs, Test, Verdict, expect, expect_code, expect_said, passed, run_command};
use crate::process::Running;

/// Processor time that three seconds of waiting may cost.
const IDLE_CPU_S_MAX: f64 = 0.05;

/// The tests of this file.
pub(super) const TESTS: &[Test] = &[
    Test { name: "timeout report", run: timeout_report },
    Test { name: "timeout report of threads", run: threads_report },
    Test { name: "report on other communicators and none", run: report_apart },
    Test { name: "report on SIGUSR1", run: report_on_signal },
    Test { name: "waiting costs nothing", run: idle },
];

fn timeout_report(jobs: &Jobs<'_>) -> Verdict {
    let outcome = run_command(jobs.mpirun(4).args(["--timeout", "1"]).arg(jobs.job()?).arg("deadlock"))?;
    expect_code(&outcome, 124)?;
    expect(outcome.took < Duration::from_secs(5), "it ended soon after its time", &outcome)?;
    expect_said(&outcome, &["rank 0: in MPI_Recv, peer 1, tag 7, on MPI_COMM_WORLD of 4 ranks"])?;
    expect_said(&outcome, &["ranks 1-3: in MPI_Barrier, on MPI_COMM_WORLD of 4 ranks", "for "])?;
    passed()
}

fn threads_report(jobs: &Jobs<'_>) -> Verdict {
    let outcome = run_command(jobs.mpirun(2).args(["--timeout", "2"]).arg(jobs.job()?).arg("threads"))?;
    expect_code(&outcome, 124)?;
    let place = "on MPI_COMM_WORLD of 2 ranks, 4 bytes";
    let both = format!(
        "rank 0: in MPI_Recv, peer 1, tag 8, {place}, another thread in MPI_Recv, peer 1, tag 7, {place}, for "
    );
    expect_said(&outcome, &[&both])?;
    expect(!outcome.stderr.contains("tag 9"), "what has ended is not told", &outcome)?;
    passed()
}

fn report_apart(jobs: &Jobs<'_>) -> Verdict {
    let outcome = run_command(jobs.mpirun(4).args(["--timeout", "1"]).arg(jobs.job()?).arg("apart"))?;
    expect_code(&outcome, 124)?;
    expect_said(&outcome, &["rank 0: in MPI_Wait, until MPI_Grequest_complete, for "])?;
    expect_said(&outcome, &["rank 1: in MPI_Buffer_detach, buffered messages have not left yet, for "])?;
    expect_said(
        &outcome,
        &["2-3: in MPI_Recv, peer 1, tag 5, on an intercommunicator (to a group of 2) of 2 ranks, "],
    )?;
    passed()
}

fn report_on_signal(jobs: &Jobs<'_>) -> Verdict {
    let running =
        Running::start(jobs.mpirun(2).arg(jobs.job()?).arg("slow")).map_err(|error| error.to_string())?;
    std::thread::sleep(Duration::from_millis(1000));
    running.signal(Signal::USR1);
    let outcome = running.wait(JOB_LIMIT).map_err(|error| error.to_string())?;
    expect_code(&outcome, 0)?;
    expect(outcome.stdout.contains("done"), "the job went on to its end", &outcome)?;
    expect_said(&outcome, &["rank 0: in MPI_Recv, peer 1, tag 7", "rank 1: outside MPI"])?;
    passed()
}

fn idle(jobs: &Jobs<'_>) -> Verdict {
    let outcome = jobs.run_job(2, &["idle"])?;
    expect_code(&outcome, 0)?;
    let lines: Vec<&str> = outcome.stdout.lines().collect();
    expect(lines.len() == 4, "it measured four calls", &outcome)?;
    for line in lines {
        let seconds = line.split(' ').nth(1).and_then(|word| word.parse::<f64>().ok());
        let cheap = seconds.is_some_and(|seconds| seconds < IDLE_CPU_S_MAX);
        expect(cheap, &format!("three seconds of waiting cost under {IDLE_CPU_S_MAX} s: {line}"), &outcome)?;
    }
    passed()
}

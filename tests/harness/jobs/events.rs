//! What a tool is told of connections: they break and are made again, and a process fails.

use std::time::Instant;

use rustix::process::Signal;

use super::common::{JOB_LIMIT, Jobs, Test, Verdict, expect, expect_code, passed, run_command};
use super::endings::{expect_gone, ranks_of, wait_for_ranks};
use crate::compile::compile;
use crate::process::{GONE_WITHIN, Running, send};

/// The tests of this file.
pub(super) const TESTS: &[Test] = &[
    Test { name: "events: connections break and are made again", run: broken },
    Test { name: "events: a process of another job is killed", run: failed },
];

const ROUNDS: &str = "3000";

fn broken(jobs: &Jobs<'_>) -> Verdict {
    let program = compile(jobs.options, &jobs.options.root.join("tests/jobs/events.c"))?;
    let mut command = jobs.mpirun(2);
    command.env("TERN_TRANSPORT", "tcp").env("TERN_TCP_CUTS", "100").arg(program).args(["exchange", ROUNDS]);
    let outcome = run_command(&mut command)?;
    expect_code(&outcome, 0)?;
    let told: Vec<(u32, u32)> = outcome.stdout.lines().filter_map(counts).collect();
    let all = told.len() == 2 && told.iter().all(|(lost, resumed)| *lost >= 5 && *resumed >= 5);
    expect(all, "both ranks hear of several breaks, each of this job's, and that each was mended", &outcome)?;
    // The last one may not be mended when the rank looks.
    let paired = told.iter().all(|(lost, resumed)| lost - resumed <= 1);
    expect(paired, "what broke was made again", &outcome)?;
    passed()
}

/// Of a line in which nothing is odd.
fn counts(line: &str) -> Option<(u32, u32)> {
    let (lost, rest) = line.strip_prefix("lost ")?.split_once(" resumed ")?;
    Some((lost.parse().ok()?, rest.strip_suffix(" odd 0")?.parse().ok()?))
}

fn failed(jobs: &Jobs<'_>) -> Verdict {
    let program = compile(jobs.options, &jobs.options.root.join("tests/jobs/events.c"))?;
    let service = format!("tern events test {}", std::process::id());
    let start = |word: &str| {
        let mut command = jobs.mpirun(1);
        Running::start(command.arg(&program).args([word, &service])).map_err(|error| error.to_string())
    };
    let (server, caller) = (start("serve")?, start("call")?);
    wait_for_ranks(&server, "events", 1)?;
    wait_for_ranks(&caller, "events", 1)?;
    std::thread::sleep(GONE_WITHIN);
    let mark = caller.mark();
    let Some(&victim) = ranks_of(&server, "events").first() else { return Err("no server is there".into()) };
    send(victim, Signal::KILL);
    let killed = Instant::now();
    let outcome = caller.wait(JOB_LIMIT).map_err(|error| error.to_string())?;
    expect(killed.elapsed() < GONE_WITHIN, "the caller's job has ended within 2 s", &outcome)?;
    expect_gone(&mark)?;
    server.wait(JOB_LIMIT).map_err(|error| error.to_string())?;
    expect(outcome.stdout.contains("met"), "the two have met", &outcome)?;
    // Its only rank has number 0; who is of another world comes behind.
    expect(outcome.stdout.contains("process 1 has failed"), "the tool is told who has failed", &outcome)?;
    passed()
}

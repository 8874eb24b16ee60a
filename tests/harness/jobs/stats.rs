//! `mpirun --stats`: what ranks have done, summed and of each, on one host and on several.

use std::process::Command;

use super::common::{Jobs, Test, Verdict, expect, expect_code, passed, run_command};
use super::hosts;
use crate::compile::compile;
use crate::process::Outcome;

/// The tests of this file.
pub(super) const TESTS: &[Test] = &[
    Test { name: "stats of a job on one host", run: on_one_host },
    Test { name: "stats of a job over TCP and on two hosts", run: over_networks },
    Test { name: "stats of a job without MPI", run: without_mpi },
    Test { name: "kinds of memory that mpirun asks for", run: memory_kinds },
];

const RANKS: u64 = 3;
/// What the program sends from each rank.
const SHORT: u64 = 100;
const LONG: u64 = 10;
const LONG_BYTES: u64 = 100_000;
const PARTITIONS: u64 = 16;
const PARTITIONS_BYTES: u64 = PARTITIONS * 4096;

fn run(jobs: &Jobs<'_>, mut command: Command) -> Result<Outcome, String> {
    let program = compile(jobs.options, &jobs.options.root.join("tests/jobs/stats.c"))?;
    let outcome = run_command(command.arg("--stats").arg(program))?;
    expect_code(&outcome, 0)?;
    Ok(outcome)
}

/// The numbers of a row: of all ranks, then of each. A line of mpirun's own may begin with its name.
fn row(outcome: &Outcome, name: &str) -> Vec<u64> {
    let of = |line: &str| {
        let line = line.strip_prefix("mpirun: ").unwrap_or(line);
        let rest = line.strip_prefix(name)?;
        rest.split_whitespace().map(|word| word.parse().ok()).collect::<Option<Vec<u64>>>()
    };
    outcome.stderr.lines().find_map(of).unwrap_or_default()
}

fn is_sum(row: &[u64]) -> bool {
    row.len() == 1 + RANKS as usize && row[0] == row[1..].iter().sum::<u64>()
}

/// What holds by any transport: all that was sent was received, and each rank has sent what the program says.
fn expect_traffic(outcome: &Outcome) -> Result<(), String> {
    let least = SHORT * 8 + LONG * LONG_BYTES + PARTITIONS_BYTES;
    for (sent, received) in [("sent messages", "received messages"), ("sent bytes", "received bytes")] {
        let (sent, received) = (row(outcome, sent), row(outcome, received));
        expect(is_sum(&sent) && is_sum(&received), "rows have a sum and each rank", outcome)?;
        expect(sent[0] == received[0], "all that was sent was received", outcome)?;
    }
    expect(
        row(outcome, "sent bytes")[1..].iter().all(|&bytes| bytes >= least),
        "each rank has sent so much",
        outcome,
    )?;
    let ready = row(outcome, "partitions ready");
    expect(
        ready == [RANKS * PARTITIONS, PARTITIONS, PARTITIONS, PARTITIONS],
        "partitions are counted",
        outcome,
    )
}

fn on_one_host(jobs: &Jobs<'_>) -> Verdict {
    let mut command = jobs.mpirun(RANKS as usize);
    command.env("TERN_TRANSPORT", "shm");
    let outcome = run(jobs, command)?;
    expect_traffic(&outcome)?;
    // Which of the two depends on how this processor copies.
    let long = ["sent rendezvous bytes", "sent eager bytes"]
        .map(|name| row(&outcome, name).first().copied().unwrap_or(0));
    let sent = RANKS * (LONG * LONG_BYTES + PARTITIONS_BYTES);
    expect(long.iter().sum::<u64>() == sent, "long messages are counted by their protocol", &outcome)?;
    let short = row(&outcome, "sent short messages");
    expect(
        short.first().is_some_and(|&short| short >= RANKS * SHORT),
        "short messages are counted",
        &outcome,
    )?;
    let [parts, put] = ["partition messages", "copied by put messages"]
        .map(|name| row(&outcome, name).first().copied().unwrap_or(0));
    let halves = "partitions of a range leave in one message, beside which its second half may be put";
    expect(parts == RANKS + put && put <= RANKS, halves, &outcome)?;
    passed()
}

fn over_networks(jobs: &Jobs<'_>) -> Verdict {
    let mut by_tcp = jobs.mpirun(RANKS as usize);
    by_tcp.env("TERN_TRANSPORT", "tcp");
    for command in [by_tcp, hosts::mpirun(jobs, "a:2,b:1")] {
        expect_traffic(&run(jobs, command)?)?;
    }
    passed()
}

fn without_mpi(jobs: &Jobs<'_>) -> Verdict {
    let outcome = run_command(jobs.mpirun(2).args(["--stats", "true"]))?;
    expect_code(&outcome, 0)?;
    expect(outcome.stderr.contains("no rank has told"), "a person is told why there is no table", &outcome)?;
    passed()
}

fn memory_kinds(jobs: &Jobs<'_>) -> Verdict {
    let program = compile(jobs.options, &jobs.options.root.join("tests/jobs/kinds.c"))?;
    let asked = "system,mpi:win_allocate,cuda";
    let outcome = run_command(jobs.mpirun(1).args(["-memory-alloc-kinds", asked]).arg(&program))?;
    expect_code(&outcome, 0)?;
    expect(
        outcome.stdout.contains(&format!("asked: {asked}\n")),
        "MPI_INFO_ENV has what was asked for",
        &outcome,
    )?;
    expect(
        outcome.stdout.contains("there: system,mpi,mpi:win_allocate\n"),
        "the world has what is there",
        &outcome,
    )?;
    let outcome = run_command(jobs.mpirun(1).arg(&program))?;
    expect_code(&outcome, 0)?;
    expect(
        outcome.stdout == "asked: nothing\nthere: system,mpi\n",
        "without the option nothing is asked for",
        &outcome,
    )?;
    passed()
}

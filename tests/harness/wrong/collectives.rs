//! Collectives whose ranks differ in a length, the root, the operation, the type or the collective itself, or of which one has room for
//! other blocks than it gives
//! (`tests/wrong/differing_collectives.c`, which judges itself).
//!
//! Over shared memory the ranks find out by themselves. Over TCP some such calls wait for ever, so there the grid is played with
//! `TERN_CHECK=collectives` only.

use std::process::Command;
use std::time::{Duration, Instant};

use crate::compile::compile;
use crate::options::Options;
use crate::process;
use crate::report::Report;

/// No job takes so long; before that, it reports where its ranks stand.
const LIMIT: Duration = Duration::from_secs(100);
const REPORT_AFTER_S: &str = "90";

/// In what the ranks differ.
const DIFFERENCES: [&str; 5] = ["lengths", "roots", "operations", "calls", "own"];

/// How the jobs run.
const WAYS: [(&str, &[(&str, &str)]); 3] = [
    ("shm", &[]),
    ("shm, checked", &[("TERN_CHECK", "collectives")]),
    ("tcp, checked", &[("TERN_CHECK", "collectives"), ("TERN_TRANSPORT", "tcp")]),
];

/// Lengths of calls that are given up while their data is on its way.
const GIVEN_UP_BYTES: [&str; 3] = ["100000", "1000000", "4000000"];
const GIVEN_UP_TURNS: &str = "20";

/// Plays all that the options select.
pub(super) fn run(options: &Options, report: &Report) {
    given_up(options, report);
    refused(options, report);
    for difference in DIFFERENCES {
        for (way, environment) in WAYS {
            // More ranks than most machines have cores take turns, and come late.
            let sizes: &[u32] = if environment.is_empty() { &[2, 3, 7] } else { &[2, 3] };
            for &ranks in sizes {
                let name = format!("wrong collectives {difference}, {ranks} ranks, {way}");
                if options.wants(&name) {
                    let start = Instant::now();
                    let result = play(options, difference, ranks, environment);
                    report.case(&name, start.elapsed(), result);
                }
            }
        }
    }
}

/// Nothing is written into memory that a refused call has given back (`tests/wrong/given_up.c`).
fn given_up(options: &Options, report: &Report) {
    for ranks in [3, 7] {
        let name = format!("wrong collectives given up, {ranks} ranks");
        if options.wants(&name) {
            let start = Instant::now();
            let play = |bytes: &&str| {
                let words = [bytes, GIVEN_UP_TURNS];
                job(options, "given_up.c", ranks, &words, &[], "refused, 0 wrote later")
            };
            let result = GIVEN_UP_BYTES.iter().try_for_each(play);
            report.case(&name, start.elapsed(), result);
        }
    }
}

/// A buffer that the kernel copies to or from in one go may not be used so (`tests/wrong/refused_block.c`).
fn refused(options: &Options, report: &Report) {
    for call in ["gather", "scatter"] {
        let name = format!("wrong collectives refused {call}");
        if options.wants(&name) {
            let start = Instant::now();
            report.case(
                &name,
                start.elapsed(),
                job(options, "refused_block.c", 3, &[call], &[], " cases, 0 wrong"),
            );
        }
    }
}

fn play(options: &Options, difference: &str, ranks: u32, environment: &[(&str, &str)]) -> Result<(), String> {
    job(options, "differing_collectives.c", ranks, &[difference], environment, " cases, 0 wrong")
}

/// Runs a program of `tests/wrong`, whose last words must be these.
fn job(
    options: &Options,
    source: &str,
    ranks: u32,
    words: &[&str],
    environment: &[(&str, &str)],
    last_words: &str,
) -> Result<(), String> {
    let program = compile(options, &options.root.join("tests/wrong").join(source))?;
    let mut command = Command::new(options.mpirun());
    command.args(["-n", &ranks.to_string(), "--timeout", REPORT_AFTER_S]).arg(program).args(words);
    command.envs(environment.iter().copied());
    let outcome = process::run(&mut command, LIMIT).map_err(|error| format!("{command:?}: {error}"))?;
    let is_right = outcome.code() == Some(0) && outcome.stdout.trim_end().ends_with(last_words);
    if is_right { Ok(()) } else { Err(outcome.describe()) }
}

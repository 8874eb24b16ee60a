//! Collectives whose ranks differ in a length, the root, the operation, the type or the collective itself
//! (`tests/wrong/differing_collectives.c`, which judges itself).
//!
//! Over shared memory the ranks find out by themselves. Over TCP some such calls wait for ever, so there the grid is played with
//! `TERN_CHECK=collectives` only.

use std::path::Path;
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
const DIFFERENCES: [&str; 4] = ["lengths", "roots", "operations", "calls"];

/// How the jobs run.
const WAYS: [(&str, &[(&str, &str)]); 3] = [
    ("shm", &[]),
    ("shm, checked", &[("TERN_CHECK", "collectives")]),
    ("tcp, checked", &[("TERN_CHECK", "collectives"), ("TERN_TRANSPORT", "tcp")]),
];

/// Plays all that the options select.
pub fn run(options: &Options, report: &Report) {
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

fn play(options: &Options, difference: &str, ranks: u32, environment: &[(&str, &str)]) -> Result<(), String> {
    let program = compile(options, &options.root.join(Path::new("tests/wrong/differing_collectives.c")))?;
    let mut command = Command::new(options.mpirun());
    command.args(["-n", &ranks.to_string(), "--timeout", REPORT_AFTER_S]).arg(program).arg(difference);
    command.envs(environment.iter().copied());
    let outcome = process::run(&mut command, LIMIT).map_err(|error| format!("{command:?}: {error}"))?;
    let is_right = outcome.code() == Some(0) && outcome.stdout.trim_end().ends_with(" cases, 0 wrong");
    if is_right { Ok(()) } else { Err(outcome.describe()) }
}

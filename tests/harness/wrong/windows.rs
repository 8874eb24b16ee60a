//! Accesses to windows that conflict, and buffers that are used too early, under `TERN_CHECK=windows`
//! (`tests/wrong/windows.c`, which judges itself): over each way to a window's memory.

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

/// How the window is made.
const FLAVORS: [&str; 3] = ["allocate", "create", "dynamic"];

/// How the jobs run.
const WAYS: [(&str, &[(&str, &str)]); 4] = [
    ("shm", &[]),
    ("shm, no CMA", &[("TERN_CMA", "0")]),
    ("shm, by messages", &[("TERN_WINDOWS", "messages")]),
    ("tcp", &[("TERN_TRANSPORT", "tcp"), ("TERN_WINDOWS", "messages")]),
];

/// Plays all that the options select.
pub(super) fn run(options: &Options, report: &Report) {
    for flavor in FLAVORS {
        for (way, environment) in WAYS {
            for ranks in [2, 3] {
                let name = format!("wrong windows {flavor}, {ranks} ranks, {way}");
                if options.wants(&name) {
                    let start = Instant::now();
                    let result = play(options, flavor, ranks, environment);
                    report.case(&name, start.elapsed(), result);
                }
            }
        }
    }
}

fn play(options: &Options, flavor: &str, ranks: u32, environment: &[(&str, &str)]) -> Result<(), String> {
    let program = compile(options, &options.root.join(Path::new("tests/wrong/windows.c")))?;
    let mut command = Command::new(options.mpirun());
    command.args(["-n", &ranks.to_string(), "--timeout", REPORT_AFTER_S]).arg(program).arg(flavor);
    command.env("TERN_CHECK", "windows").envs(environment.iter().copied());
    let outcome = process::run(&mut command, LIMIT).map_err(|error| format!("{command:?}: {error}"))?;
    let is_right = outcome.code() == Some(0) && outcome.stdout.trim_end().ends_with(" cases, 0 wrong");
    if is_right { Ok(()) } else { Err(outcome.describe()) }
}

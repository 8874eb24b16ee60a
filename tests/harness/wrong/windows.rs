//! Accesses to windows that conflict, and buffers that are used too early, under `TERN_CHECK=windows`
//! (`tests/wrong/windows.c`); and accesses with memory that cannot be used (`tests/wrong/unmapped_access.c`). Both programs judge
//! themselves, over each way to a window's memory.

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

/// Whose memory an access cannot use, what the sentence of it has, and over which of the ways. (What this process copies itself, it dies
/// of, as of every other bad pointer.)
const UNMAPPED: [(&str, &str, &[usize]); 3] = [
    ("target", "memory of their processes", &[0]),
    ("target", "memory of its process", &[1, 2, 3]),
    ("origin", "memory of its buffer", &[3]),
];

/// Plays all that the options select.
pub(super) fn run(options: &Options, report: &Report) {
    for flavor in FLAVORS {
        for (way, environment) in WAYS {
            for ranks in [2, 3] {
                let name = format!("wrong windows {flavor}, {ranks} ranks, {way}");
                if options.wants(&name) {
                    let start = Instant::now();
                    let checked = environment.iter().copied().chain([("TERN_CHECK", "windows")]);
                    let result = play(options, "windows", &[flavor], ranks, checked);
                    report.case(&name, start.elapsed(), result);
                }
            }
        }
    }
    for (whose, says, ways) in UNMAPPED {
        for (way, environment) in ways.iter().map(|way| WAYS[*way]) {
            let name = format!("wrong windows unmapped {whose}, {way}");
            if options.wants(&name) {
                let start = Instant::now();
                let result = play(options, "unmapped_access", &[whose, says], 2, environment.iter().copied());
                report.case(&name, start.elapsed(), result);
            }
        }
    }
}

fn play<'a>(
    options: &Options,
    program: &str,
    words: &[&str],
    ranks: u32,
    environment: impl Iterator<Item = (&'a str, &'a str)>,
) -> Result<(), String> {
    let program =
        compile(options, &options.root.join(Path::new("tests/wrong")).join(format!("{program}.c")))?;
    let mut command = Command::new(options.mpirun());
    command.args(["-n", &ranks.to_string(), "--timeout", REPORT_AFTER_S]).arg(program).args(words);
    command.envs(environment);
    let outcome = process::run(&mut command, LIMIT).map_err(|error| format!("{command:?}: {error}"))?;
    let is_right = outcome.code() == Some(0) && outcome.stdout.trim_end().ends_with(" cases, 0 wrong");
    if is_right { Ok(()) } else { Err(outcome.describe()) }
}

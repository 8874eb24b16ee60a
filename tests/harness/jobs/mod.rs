//! Whole-job tests: how jobs end, what is said about them, and what they stand.

mod checks;
mod endings;
mod events;
mod files;
mod fled;
mod hosts;
mod instructions;
mod killed;
mod leftovers;
mod memory;
mod mpiexec;
mod multicast;
mod net;
mod netpipe;
mod places;
mod prints;
mod refused;
mod reports;
mod settings;
mod ssh;
mod stats;
mod strangers;
mod tables;
mod worlds;

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::compile::compile;
use crate::options::Options;
use crate::process::{self, Outcome};
use crate::report::Report;

/// No job here takes this long unless it hangs.
const JOB_LIMIT: Duration = Duration::from_secs(60);

/// Within that time a job ends whose ranks wait for one that has begun to end. A peer that is lost is given longer.
const DESERTED_LIMIT: Duration = Duration::from_secs(20);
/// By then mpirun says where each rank of a job that hangs stands: [`JOB_LIMIT`] would kill it without a word.
const REPORT_AFTER_S: &str = "50";

/// A test that cannot be done on this machine, and why.
pub(crate) struct Skip(pub String);

/// What a whole-job test comes to.
pub(crate) type Verdict = Result<Result<(), Skip>, String>;

/// A named test.
pub(crate) struct Test {
    name: &'static str,
    run: fn(&Jobs<'_>) -> Verdict,
}

/// Runs what the options select, one after the other: some look for leftovers of theirs, and most wait.
pub(crate) fn run(options: &Options, report: &Report) {
    let jobs = Jobs { options };
    for test in endings::TESTS
        .iter()
        .chain(fled::TESTS)
        .chain(killed::TESTS)
        .chain(files::TESTS)
        .chain(checks::TESTS)
        .chain(hosts::TESTS)
        .chain(ssh::TESTS)
        .chain(net::TESTS)
        .chain(multicast::TESTS)
        .chain(settings::TESTS)
        .chain(strangers::TESTS)
        .chain(mpiexec::TESTS)
        .chain(reports::TESTS)
        .chain(places::TESTS)
        .chain(refused::TESTS)
        .chain(prints::TESTS)
        .chain(leftovers::TESTS)
        .chain(tables::TESTS)
        .chain(netpipe::TESTS)
        .chain(instructions::TESTS)
        .chain(memory::TESTS)
        .chain(stats::TESTS)
        .chain(events::TESTS)
        .chain(worlds::TESTS)
    {
        let name = format!("job {}", test.name);
        if !options.wants(&name) {
            continue;
        }
        let start = Instant::now();
        match (test.run)(&jobs) {
            Ok(Ok(())) => report.case(&name, start.elapsed(), Ok(())),
            Ok(Err(Skip(why))) => report.skipped(&name, &why),
            Err(words) => report.case(&name, start.elapsed(), Err(words)),
        }
    }
}

/// What the tests need of the harness.
pub(crate) struct Jobs<'a> {
    options: &'a Options,
}

impl Jobs<'_> {
    /// The program of these tests, compiled.
    fn job(&self) -> Result<PathBuf, String> {
        compile(self.options, &self.options.root.join("tests/jobs/job.c"))
    }

    /// The program whose traffic checks itself, compiled.
    fn net(&self) -> Result<PathBuf, String> {
        compile(self.options, &self.options.root.join("tests/jobs/net.c"))
    }

    /// The program that makes and frees communicators, compiled.
    fn comms(&self) -> Result<PathBuf, String> {
        compile(self.options, &self.options.root.join("tests/jobs/comms.c"))
    }

    /// The wrapper that runs a program under a strict system call filter, compiled.
    fn deny(&self) -> Result<PathBuf, String> {
        compile(self.options, &self.options.root.join("tests/jobs/deny.c"))
    }

    /// The program whose accesses to windows conflict, compiled.
    fn wrong_windows(&self) -> Result<PathBuf, String> {
        compile(self.options, &self.options.root.join("tests/wrong/windows.c"))
    }

    /// A program of the conformance suite, compiled.
    fn conformance(&self, name: &str) -> Result<PathBuf, String> {
        compile(self.options, &self.options.root.join(format!("tests/c/{name}.c")))
    }

    fn mpirun(&self, ranks: usize) -> Command {
        let mut command = self.bare_mpirun();
        command.args(["-n", &ranks.to_string()]);
        command
    }

    /// The command `tern` of the installed tree.
    fn tern(&self) -> PathBuf {
        self.options.prefix.join("bin/tern")
    }

    /// `mpirun` without any argument.
    fn bare_mpirun(&self) -> Command {
        let mut command = Command::new(self.options.mpirun());
        command.env("TERN_TIMEOUT", REPORT_AFTER_S);
        command
    }

    /// `mpirun -n RANKS job WORDS...`, run to its end.
    fn run_job(&self, ranks: usize, words: &[&str]) -> Result<Outcome, String> {
        run_command(self.mpirun(ranks).arg(self.job()?).args(words))
    }
}

fn run_command(command: &mut Command) -> Result<Outcome, String> {
    process::run(command, JOB_LIMIT).map_err(|error| format!("{command:?}: {error}"))
}

/// Turns a false statement about a job into a failure that shows what the job did.
fn expect(holds: bool, statement: &str, outcome: &Outcome) -> Result<(), String> {
    if holds { Ok(()) } else { Err(format!("not so: {statement}\n{}", outcome.describe())) }
}

fn expect_code(outcome: &Outcome, code: i32) -> Result<(), String> {
    expect(outcome.code() == Some(code), &format!("its exit status is {code}"), outcome)
}

/// Standard error must say all of these.
fn expect_said(outcome: &Outcome, words: &[&str]) -> Result<(), String> {
    words.iter().try_for_each(|word| {
        expect(outcome.stderr.contains(word), &format!("standard error says {word:?}"), outcome)
    })
}

/// What every test's success looks like.
fn passed() -> Verdict {
    Ok(Ok(()))
}

fn skip(why: impl Into<String>) -> Verdict {
    Ok(Err(Skip(why.into())))
}

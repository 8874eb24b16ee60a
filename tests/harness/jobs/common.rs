//! What whole-job tests have in common: what a test is, how it starts a job, and what it expects of one.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use crate::compile::compile;
use crate::options::Options;
use crate::process::{self, Outcome};

/// No job here takes this long unless it hangs.
pub(super) const JOB_LIMIT: Duration = Duration::from_secs(60);

/// Within that time a job ends whose ranks wait for one that has begun to end. A peer that is lost is given longer.
pub(super) const DESERTED_LIMIT: Duration = Duration::from_secs(20);
/// By then mpirun says where each rank of a job that hangs stands: [`JOB_LIMIT`] would kill it without a word.
pub(super) const REPORT_AFTER_S: &str = "50";

/// A test that cannot be done on this machine, and why.
pub(crate) struct Skip(pub String);

/// What a whole-job test comes to.
pub(crate) type Verdict = Result<Result<(), Skip>, String>;

/// A named test.
pub(crate) struct Test {
    pub(super) name: &'static str,
    pub(super) run: fn(&Jobs<'_>) -> Verdict,
}

/// What the tests need of the harness.
pub(crate) struct Jobs<'a> {
    pub(super) options: &'a Options,
}

impl Jobs<'_> {
    /// The program of these tests, compiled.
    pub(super) fn job(&self) -> Result<PathBuf, String> {
        compile(self.options, &self.options.root.join("tests/jobs/job.c"))
    }

    /// The program whose traffic checks itself, compiled.
    pub(super) fn net(&self) -> Result<PathBuf, String> {
        compile(self.options, &self.options.root.join("tests/jobs/net.c"))
    }

    /// The program that makes and frees communicators, compiled.
    pub(super) fn comms(&self) -> Result<PathBuf, String> {
        compile(self.options, &self.options.root.join("tests/jobs/comms.c"))
    }

    /// The wrapper that runs a program under a strict system call filter, compiled.
    pub(super) fn deny(&self) -> Result<PathBuf, String> {
        compile(self.options, &self.options.root.join("tests/jobs/deny.c"))
    }

    /// The program whose accesses to windows conflict, compiled.
    pub(super) fn wrong_windows(&self) -> Result<PathBuf, String> {
        compile(self.options, &self.options.root.join("tests/wrong/windows.c"))
    }

    /// A program of the conformance suite, compiled.
    pub(super) fn conformance(&self, name: &str) -> Result<PathBuf, String> {
        compile(self.options, &self.options.root.join(format!("tests/c/{name}.c")))
    }

    pub(super) fn mpirun(&self, ranks: usize) -> Command {
        let mut command = self.bare_mpirun();
        command.args(["-n", &ranks.to_string()]);
        command
    }

    /// The command `tern` of the installed tree.
    pub(super) fn tern(&self) -> PathBuf {
        self.options.prefix.join("bin/tern")
    }

    /// `mpirun` without any argument.
    pub(super) fn bare_mpirun(&self) -> Command {
        let mut command = Command::new(self.options.mpirun());
        command.env("TERN_TIMEOUT", REPORT_AFTER_S);
        command
    }

    /// `mpirun -n RANKS job WORDS...`, run to its end.
    pub(super) fn run_job(&self, ranks: usize, words: &[&str]) -> Result<Outcome, String> {
        run_command(self.mpirun(ranks).arg(self.job()?).args(words))
    }
}

pub(super) fn run_command(command: &mut Command) -> Result<Outcome, String> {
    process::run(command, JOB_LIMIT).map_err(|error| format!("{command:?}: {error}"))
}

/// Turns a false statement about a job into a failure that shows what the job did.
pub(super) fn expect(holds: bool, statement: &str, outcome: &Outcome) -> Result<(), String> {
    if holds { Ok(()) } else { Err(format!("not so: {statement}\n{}", outcome.describe())) }
}

pub(super) fn expect_code(outcome: &Outcome, code: i32) -> Result<(), String> {
    expect(outcome.code() == Some(code), &format!("its exit status is {code}"), outcome)
}

/// Standard error must say all of these.
pub(super) fn expect_said(outcome: &Outcome, words: &[&str]) -> Result<(), String> {
    words.iter().try_for_each(|word| {
        expect(outcome.stderr.contains(word), &format!("standard error says {word:?}"), outcome)
    })
}

/// What every test's success looks like.
pub(super) fn passed() -> Verdict {
    Ok(Ok(()))
}

pub(super) fn skip(why: impl Into<String>) -> Verdict {
    Ok(Err(Skip(why.into())))
}

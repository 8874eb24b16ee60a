//! Programs that treat their process in unusual ways: threads that end, descriptors that are closed.

use std::process::Command;
use std::time::{Duration, Instant};

use crate::compile::compile;
use crate::options::Options;
use crate::process::{Outcome, run as run_command};
use crate::report::Report;

/// No case takes this long unless it hangs.
const LIMIT: Duration = Duration::from_secs(30);
/// What is found out at once is told by then, also on a busy machine: a peer that gives up takes longer.
const SOON: Duration = Duration::from_secs(8);

/// What a program does, and what a user must see.
struct Case {
    words: &'static [&'static str],
    transports: &'static [&'static str],
    code: i32,
    /// What standard error says; nothing is said of a job that goes well.
    says: &'static [&'static str],
    prints: &'static [&'static str],
}

const ALL: &[&str] = &["shm", "tcp", "urtp", "shm thread", "tcp thread", "hosts"];
const TCP: &[&str] = &["tcp", "tcp thread", "hosts"];
const FORGOTTEN: &[&str] = &["rank 1", "exit status 0 without calling MPI_Finalize"];
const ABORTED: &[&str] = &["rank 1", "aborted the job with code 5", "MPI_Abort was called"];
const REFUSED: &[&str] = &["rank 1", "MPI_Send on MPI_COMM_WORLD", "MPI_ERR_RANK"];
const CLOSED: &[&str] = &["rank 1", "closed descriptors that MPI uses", "before MPI_Init"];

const CASES: &[Case] = &[
    // The main thread ends, and so does the rank; its other threads may go on.
    Case { words: &["leave", "alone"], transports: ALL, code: 1, says: FORGOTTEN, prints: &[] },
    Case {
        words: &["leave", "thread"],
        transports: ALL,
        code: 1,
        says: FORGOTTEN,
        prints: &["rank 0 has heard all"],
    },
    Case {
        words: &["leave", "finalizes"],
        transports: ALL,
        code: 0,
        says: &[],
        prints: &["rank 0 has heard all", "the thread of rank 1 is done"],
    },
    // Descriptors are closed, with standard error or without, and others may get their numbers.
    Case { words: &["close", "3", "abort"], transports: ALL, code: 5, says: ABORTED, prints: &[] },
    Case { words: &["close", "0", "abort"], transports: ALL, code: 5, says: ABORTED, prints: &[] },
    Case { words: &["close", "3", "files"], transports: ALL, code: 5, says: ABORTED, prints: &[] },
    Case { words: &["close", "3", "fatal"], transports: ALL, code: 6, says: REFUSED, prints: &[] },
    Case { words: &["close", "0", "fatal"], transports: ALL, code: 6, says: REFUSED, prints: &[] },
    Case { words: &["close", "0", "go"], transports: &["shm"], code: 0, says: &[], prints: &[] },
    Case { words: &["close", "3", "all"], transports: &["shm"], code: 0, says: &[], prints: &[] },
    Case { words: &["close", "3", "all"], transports: TCP, code: 16, says: CLOSED, prints: &[] },
    Case { words: &["close", "0", "all"], transports: TCP, code: 16, says: CLOSED, prints: &[] },
    Case { words: &["before", "3"], transports: ALL, code: 0, says: &[], prints: &[] },
    Case { words: &["before", "0"], transports: ALL, code: 0, says: &[], prints: &[] },
];

/// Runs what the options select, each case over all its transports.
pub(super) fn run(options: &Options, report: &Report) {
    for case in CASES {
        let transports =
            case.transports.iter().map(|way| (way, format!("wrong {} ({way})", case.words.join(" "))));
        for (way, name) in transports.filter(|(_, name)| options.wants(name)) {
            let start = Instant::now();
            let result = run_case(options, case, way);
            report.case(&name, start.elapsed(), result);
        }
    }
}

fn run_case(options: &Options, case: &Case, way: &str) -> Result<(), String> {
    let program = compile(options, &options.root.join("tests/wrong/wrong_environment.c"))?;
    let mut command = mpirun(options, way);
    // Where it opens files of its own.
    command.current_dir(options.programs()).arg(program).args(case.words);
    let outcome = run_command(&mut command, LIMIT).map_err(|error| error.to_string())?;
    let has = |text: &str, words: &[&str]| words.iter().all(|word| text.contains(word));
    let holds = [
        ("its exit status", outcome.code() == Some(case.code)),
        ("what standard error says", has(&outcome.stderr, case.says)),
        ("that nothing more is said", !case.says.is_empty() || outcome.stderr.is_empty()),
        ("what is printed", has(&outcome.stdout, case.prints)),
        ("that it takes no time", outcome.took < SOON),
    ];
    holds.iter().try_for_each(|(what, holds)| if *holds { Ok(()) } else { Err(wrong(what, case, &outcome)) })
}

fn wrong(what: &str, case: &Case, outcome: &Outcome) -> String {
    format!("not so: {what} (status {}, {:?})\n{}", case.code, case.says, outcome.describe())
}

fn mpirun(options: &Options, way: &str) -> Command {
    let mut command = Command::new(options.mpirun());
    match way.split_once(' ') {
        _ if way == "hosts" => {
            command.arg("--launcher").arg(options.root.join("tests/net/here.sh"));
            command.args(["--host", "a:2,b:2"]);
        }
        Some((transport, progress)) => {
            command.env("TERN_TRANSPORT", transport).env("TERN_PROGRESS", progress).args(["-n", "4"]);
        }
        None => {
            command.env("TERN_TRANSPORT", way).args(["-n", "4"]);
        }
    }
    command
}

//! Every call that can wait, and what the rank that it waits for does instead (`tests/wrong/blocking.c`).
//!
//! Where the job cannot end, the report of where the ranks stand must name call, communicator, peer, tag, sizes, what
//! else is pending, and what has come and matches nothing. Where a rank ends, the job ends by itself and says why.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::compile::compile;
use crate::options::Options;
use crate::process::{self, Outcome};
use crate::report::Report;

/// Jobs at once: most of them sleep until their time is up.
const JOBS: usize = 24;
/// When reports are asked for. A machine under load may need longer until all ranks wait.
const REPORT_AFTER_S: [u32; 3] = [1, 5, 20];
/// Once so many cases have failed, it is not the load, and the others get no further try.
const FAILURES_MAX: usize = 4;
/// By then a job has ended by itself.
const ENDS_AFTER_S: u32 = 30;
/// No job takes so long.
const LIMIT: Duration = Duration::from_secs(60);

/// One row of the program's list.
struct Call {
    name: String,
    kind: String,
    /// What is said of rank 0; `%d` stands for the number of ranks.
    seen: String,
}

/// A way of the messages, or of checking them.
#[derive(Clone, Copy, PartialEq)]
struct Way {
    name: &'static str,
    environment: Option<(&'static str, &'static str)>,
}

const SHM: Way = Way { name: "shm", environment: None };
const TCP: Way = Way { name: "tcp", environment: Some(("TERN_TRANSPORT", "tcp")) };
const CHECKED: Way = Way { name: "checked", environment: Some(("TERN_CHECK", "collectives,types")) };

/// One job.
struct Case<'a> {
    call: &'a Call,
    /// What the other rank does.
    how: &'static str,
    ranks: u32,
    way: Way,
}

/// Runs the whole grid, and reports it call by call.
pub(super) fn run(options: &Options, report: &Report) {
    const NAME: &str = "wrong blocking";
    let start = Instant::now();
    let (program, calls) = match prepare(options) {
        Ok(prepared) => prepared,
        Err(words) => return report.case(NAME, start.elapsed(), Err(words)),
    };
    let wanted: Vec<&Call> =
        calls.iter().filter(|call| options.wants(&format!("{NAME} {}", call.name))).collect();
    let cases = wanted.iter().flat_map(|call| cases(call)).collect();
    for (call, (took, failures)) in play(options, &program, cases) {
        let result = if failures.is_empty() { Ok(()) } else { Err(failures.join("\n")) };
        report.case(&format!("{NAME} {call}"), took, result);
    }
}

/// The program and its list.
fn prepare(options: &Options) -> Result<(PathBuf, Vec<Call>), String> {
    let program = compile(options, &options.root.join("tests/wrong/blocking.c"))?;
    let outcome =
        process::run(Command::new(&program).arg("list"), LIMIT).map_err(|error| error.to_string())?;
    let calls: Vec<Call> = outcome.stdout.lines().filter_map(row).collect();
    if calls.is_empty() { Err(outcome.describe()) } else { Ok((program, calls)) }
}

fn row(line: &str) -> Option<Call> {
    let mut columns = line.split('\t').map(str::to_owned);
    Some(Call { name: columns.next()?, kind: columns.next()?, seen: columns.next()? })
}

/// What the other may do, and over what.
fn cases(call: &Call) -> Vec<Case<'_>> {
    let hows: &[&str] = match call.kind.as_str() {
        "receives" | "sends" => &["never", "tag", "comm", "finalize", "exit", "kill"],
        "collective" | "persistent" => &["never", "comm", "finalize", "exit", "kill"],
        "differs" => &["differs"],
        _ => &["never", "exit", "kill"],
    };
    let ways: &[(Way, u32)] = match call.kind.as_str() {
        "checked" => &[(CHECKED, 2), (CHECKED, 3)],
        _ => &[(SHM, 2), (SHM, 3), (TCP, 2), (TCP, 3)],
    };
    let case = |how, &(way, ranks): &(Way, u32)| Case { call, how, ranks, way };
    let mut cases: Vec<Case<'_>> =
        hows.iter().flat_map(|&how| ways.iter().map(move |way| case(how, way))).collect();
    if ["collective", "differs"].contains(&call.kind.as_str()) {
        cases.push(case(hows[0], &(CHECKED, 2)));
    }
    cases
}

/// Plays all cases; of each call, how long its jobs took and what was wrong.
fn play(
    options: &Options,
    program: &PathBuf,
    cases: Vec<Case<'_>>,
) -> BTreeMap<String, (Duration, Vec<String>)> {
    let (queue, failed) = (Mutex::new(cases.into_iter()), AtomicUsize::new(0));
    let results: Mutex<BTreeMap<String, (Duration, Vec<String>)>> = Mutex::default();
    let work = || {
        while let Some(case) = next(&queue) {
            let start = Instant::now();
            let patient = failed.load(Ordering::Relaxed) < FAILURES_MAX;
            let failure = case.play(options, program, patient).err();
            failed.fetch_add(usize::from(failure.is_some()), Ordering::Relaxed);
            let mut results = results.lock().unwrap_or_else(|error| error.into_inner());
            let (took, failures) = results.entry(case.call.name.clone()).or_default();
            *took += start.elapsed();
            failures.extend(failure);
        }
    };
    thread::scope(|scope| {
        for _ in 0..JOBS {
            scope.spawn(work);
        }
    });
    results.into_inner().unwrap_or_else(|error| error.into_inner())
}

fn next<'a>(queue: &Mutex<impl Iterator<Item = Case<'a>>>) -> Option<Case<'a>> {
    queue.lock().unwrap_or_else(|error| error.into_inner()).next()
}

impl Case<'_> {
    /// The job's last word counts, once it had all the time that it may need.
    fn play(&self, options: &Options, program: &PathBuf, patient: bool) -> Result<(), String> {
        if self.ends() {
            return self.judge(&self.run(options, program, ENDS_AFTER_S)?);
        }
        let mut verdict = Ok(());
        for &after_s in &REPORT_AFTER_S[..if patient { REPORT_AFTER_S.len() } else { 1 }] {
            verdict = self.judge(&self.run(options, program, after_s)?);
            if verdict.is_ok() {
                break;
            }
        }
        verdict
    }

    fn run(&self, options: &Options, program: &PathBuf, timeout_s: u32) -> Result<Outcome, String> {
        let mut command = Command::new(options.mpirun());
        command.args(["-n", &self.ranks.to_string(), "--timeout", &timeout_s.to_string()]);
        command.arg(program).args([&self.call.name, self.how]);
        command.envs(self.way.environment);
        process::run(&mut command, LIMIT).map_err(|error| format!("{command:?}: {error}"))
    }

    /// Whether the job must end by itself.
    fn ends(&self) -> bool {
        ["exit", "kill"].contains(&self.how) || self.is_found_out()
    }

    /// Whether a check makes it an error.
    fn is_found_out(&self) -> bool {
        self.how == "differs" && self.way == CHECKED
    }

    fn judge(&self, outcome: &Outcome) -> Result<(), String> {
        let missing: Vec<String> =
            self.words().into_iter().filter(|word| !outcome.stderr.contains(word)).collect();
        let code = outcome.code();
        let ended = match self.how {
            "exit" => code == Some(1),
            "kill" => code == Some(137),
            // Once all others wait for who has finalized, the job ends; until then, when its time is up.
            "finalize" => code.is_some_and(|code| code != 0),
            _ if self.is_found_out() => code.is_some_and(|code| code != 0 && code != 124),
            _ => code == Some(124),
        };
        let stands = self.ends() || self.how == "finalize" || self.stands(outcome);
        if missing.is_empty() && ended && stands {
            return Ok(());
        }
        let Case { call, how, ranks, way } = self;
        let not = if missing.is_empty() && !stands { vec![self.seen()] } else { missing };
        Err(format!(
            "{} {how}, {ranks} ranks, {}: not said: {not:?}\n{}",
            call.name,
            way.name,
            outcome.describe()
        ))
    }

    fn seen(&self) -> String {
        self.call.seen.replace("%d", &self.ranks.to_string())
    }

    /// Whether the report says of rank 0, alone or with others, where it stands.
    fn stands(&self, outcome: &Outcome) -> bool {
        let seen = format!(": {}", self.seen());
        let is_of_0 = |line: &str| line.contains(" rank 0:") || line.contains(" ranks 0");
        outcome.stderr.lines().any(|line| is_of_0(line) && line.contains(&seen))
    }

    /// What must be said beside.
    fn words(&self) -> Vec<String> {
        let mut words: Vec<&str> = Vec::new();
        match (self.call.kind.as_str(), self.how) {
            ("receives", "tag") => words.extend([
                "it waits for tag 5, but the message of rank 1 that is here has tag 6",
                "1 message has come that no receive matches: from rank 1 with tag 6 on MPI_COMM_WORLD, 4 bytes",
            ]),
            ("receives", "comm") => words.extend([
                "it waits for a message on MPI_COMM_WORLD, but the one with tag 5 that is here was sent on the other",
                "1 message has come that no receive matches: from rank 1 with tag 5 on the other, 4 bytes",
            ]),
            ("sends", "tag") => words.extend([
                "rank 1: in MPI_Recv, peer 0, tag 6, on MPI_COMM_WORLD of ",
                "it waits for tag 6, but the message of rank 0 that is here has tag 5",
            ]),
            ("sends", "comm") => words.extend([
                "rank 1: in MPI_Recv, peer 0, tag 5, on the other of ",
                "it waits for a message on the other, but the one with tag 5 that is here was sent on MPI_COMM_WORLD",
            ]),
            (_, "exit") => words.extend(["rank 1 (", "without calling MPI_Finalize"]),
            (_, "kill") => words.extend(["rank 1 (", "was killed by signal 9 (SIGKILL)"]),
            (_, "finalize") => words.extend(["MPI_Finalize", self.named()]),
            (_, "differs") if self.is_found_out() => words.push("the root differs"),
            (_, "differs") => words.extend([
                "the roots differ on MPI_COMM_WORLD: rank 0 is at root 1, ",
                "with TERN_CHECK=collectives such calls are an error",
            ]),
            _ => {}
        }
        if ["never", "tag", "comm"].contains(&self.how) {
            words.extend(self.pending());
        }
        let mut words: Vec<String> = words.into_iter().map(str::to_owned).collect();
        if self.how == "comm" && self.other_waits() {
            words.push(format!("rank 1: {}", self.seen().replace("MPI_COMM_WORLD", "the other")));
        }
        words
    }

    /// Whether the other waits for rank 0 in the same collective: not at a root, nor where it sends to one.
    fn other_waits(&self) -> bool {
        let alike = !self.call.seen.contains("root") && self.call.name != "Comm_create_group";
        self.call.kind == "collective" && alike
    }

    /// The name of the call, as the report says it first.
    fn named(&self) -> &str {
        let after = self.call.seen.split("in ").nth(1).unwrap_or_default();
        after.split(',').next().unwrap_or_default()
    }

    /// Other requests under way.
    fn pending(&self) -> &'static [&'static str] {
        const REST: &[&str] = &["also for: receive from rank 1 with tag 7 on MPI_COMM_WORLD, 4 bytes"];
        const BESIDE: &[&str] =
            &["1 request is pending beside: receive from rank 1 with tag 8 on MPI_COMM_WORLD, 4 bytes"];
        const MANY: &[&str] = &[
            "1000 messages or more have come that no receive matches: from rank 0 with tag 11 on MPI_COMM_WORLD, ",
            " requests or more are pending beside: receive from rank 1 with tag 12 on MPI_COMM_WORLD, 4 bytes (",
        ];
        match self.call.name.as_str() {
            "Recv-beside" | "Test-beside" => BESIDE,
            "Recv-among-many" => MANY,
            "Test-left" => &["ago: polling in MPI_Test, peer 1, tag 5, on MPI_COMM_WORLD of "],
            _ if self.call.seen.contains("the first of 2 pending") => REST,
            _ => &[],
        }
    }
}

//! Memory that a process cannot use, in calls that no system call tells of it (`tests/wrong/bad_memory.c`): the rank dies as
//! it would have, and a sentence says before which call could not use which memory.

use std::process::Command;
use std::time::{Duration, Instant};

use crate::compile::compile;
use crate::options::Options;
use crate::process::{self, Outcome};
use crate::report::Report;

/// No case takes this long unless it hangs.
const LIMIT: Duration = Duration::from_secs(30);
/// What a shell says of a process that died of signal 11.
const DIED: i32 = 128 + 11;

/// What a program does, and what a user must see.
struct Case {
    words: &'static [&'static str],
    code: i32,
    /// Where the program's memory comes before the rest.
    says: &'static [&'static str],
    /// Whether the library explains it.
    explained: bool,
}

const NO_RIGHTS: &str = "has a mapping '---p'";
const ONLY_READ: &str = "has a mapping 'r--p'";

const CASES: &[Case] = &[
    explained(&["send", "8"], &["MPI_Send cannot read the memory at", NO_RIGHTS]),
    explained(&["send", "3000"], &["MPI_Send cannot read the memory at", NO_RIGHTS]),
    explained(&["freed", "8"], &["MPI_Send cannot read the memory at", "this process has no memory"]),
    explained(&["receive", "8"], &["MPI_Recv cannot write the memory at", ONLY_READ]),
    explained(&["receive", "3000"], &["MPI_Recv cannot write the memory at", ONLY_READ]),
    explained(
        &["wait", "600"],
        &["MPI_Wait cannot write the memory at", "pending receive: 600 bytes at", "from rank 0, tag 6"],
    ),
    explained(&["bcast", "8"], &["MPI_Bcast cannot read the memory at"]),
    explained(&["allreduce", "64"], &["MPI_Allreduce cannot read the memory at"]),
    // Nothing is said of what is not the library's.
    silent(&["operation"], DIED),
    silent(&["program"], DIED),
    silent(&["library"], DIED),
    silent(&["raised"], DIED),
    silent(&["handler-before", "8"], 7),
    silent(&["handler-after", "8"], 7),
    silent(&["finalized"], 0),
];

const fn explained(words: &'static [&'static str], says: &'static [&'static str]) -> Case {
    Case { words, code: DIED, says, explained: true }
}

const fn silent(words: &'static [&'static str], code: i32) -> Case {
    Case { words, code, says: &[], explained: false }
}

/// Runs what the options select, each case over both transports.
pub(super) fn run(options: &Options, report: &Report) {
    for case in CASES {
        for way in ["shm", "tcp"] {
            let name = format!("wrong memory {} ({way})", case.words.join(" "));
            if options.wants(&name) {
                let start = Instant::now();
                report.case(&name, start.elapsed(), run_case(options, case, way));
            }
        }
    }
}

fn run_case(options: &Options, case: &Case, way: &str) -> Result<(), String> {
    let program = compile(options, &options.root.join("tests/wrong/bad_memory.c"))?;
    let mut command = Command::new(options.mpirun());
    command.args(["-n", "2"]).env("TERN_TRANSPORT", way).arg(program).args(case.words);
    let outcome = process::run(&mut command, LIMIT).map_err(|error| error.to_string())?;
    let holds = [
        ("its exit status", outcome.code() == Some(case.code)),
        ("what is said", case.says.iter().all(|word| outcome.stderr.contains(word))),
        (
            "whether it is explained",
            outcome.stderr.contains("was the buffer freed, is its count too large") == case.explained,
        ),
        // A message may be written from its second part on.
        ("the address", !case.explained || case.words[0] == "wait" || case.names_its_buffer(&outcome)),
        ("that mpirun names the signal", case.code != DIED || outcome.stderr.contains("signal 11")),
        ("the program's own handler", case.code != 7 || outcome.stdout.contains("the program's own handler")),
        ("the default", case.code != 0 || outcome.stdout.matches("the default is back").count() == 2),
    ];
    let wrong = holds.iter().find(|(_, holds)| !holds);
    wrong.map_or(Ok(()), |(what, _)| Err(format!("not so: {what} {:?}\n{}", case.says, outcome.describe())))
}

impl Case {
    /// Whether what is said names an address of the buffer: a copy of few bytes may begin with its last ones.
    fn names_its_buffer(&self, outcome: &Outcome) -> bool {
        let bytes: u64 = self.words.get(1).and_then(|word| word.parse().ok()).unwrap_or(1);
        let base = address_after(&outcome.stdout, "bad memory at ");
        let named = address_after(&outcome.stderr, "the memory at ");
        base.zip(named).is_some_and(|(base, named)| (base..base + bytes).contains(&named))
    }
}

/// The address that stands behind these words.
fn address_after(text: &str, words: &str) -> Option<u64> {
    let rest = text.split_once(words)?.1.strip_prefix("0x")?;
    let digits = rest.split(|letter: char| !letter.is_ascii_hexdigit()).next()?;
    u64::from_str_radix(digits, 16).ok()
}

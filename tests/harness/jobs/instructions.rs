//! The path of 8 bytes over shared memory, held to a number of instructions: time on a shared machine would not show a few
//! nanoseconds, and instructions are the same in each run.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::common::{Jobs, Skip, Test, Verdict, expect, run_command};
use crate::compile::compile;

/// The tests of this file.
pub(super) const TESTS: &[Test] =
    &[Test { name: "instructions of the path of 8 bytes", run: instructions_of_8_bytes }];

/// What a call may take: what it takes by the compiler with which this was written, and a twentieth for others.
const BUDGETS: &[Budget] = &[
    Budget { mode: "blocking", function: "MPI_Send", instructions_max: 160 },
    Budget { mode: "blocking", function: "MPI_Recv", instructions_max: 268 },
    Budget { mode: "nonblocking", function: "MPI_Isend", instructions_max: 168 },
    Budget { mode: "nonblocking", function: "MPI_Irecv", instructions_max: 144 },
    // At both ranks: after a send, and after a receive that has its message yet to come.
    Budget { mode: "nonblocking", function: "MPI_Wait", instructions_max: 656 },
    // 64 bytes, which are two lines.
    Budget { mode: "lines", function: "MPI_Send", instructions_max: 405 },
    Budget { mode: "lines", function: "MPI_Recv", instructions_max: 742 },
    // At both ranks, the lower of which is ahead.
    Budget { mode: "scan", function: "MPI_Scan", instructions_max: 1448 },
    Budget { mode: "bcast", function: "MPI_Bcast", instructions_max: 1116 },
];

/// The same while messages are counted (`TERN_STATS`): what a tool costs, and no more.
const BUDGETS_COUNTED: &[Budget] = &[
    Budget { mode: "blocking", function: "MPI_Send", instructions_max: 458 },
    Budget { mode: "blocking", function: "MPI_Recv", instructions_max: 961 },
];

/// Calls of a round, as in the program.
const CALLS: u64 = 50;
/// Two lengths of a run: their difference leaves out what happens once.
const ROUNDS: [u64; 2] = [40, 80];

/// Runs of which the best counts: where others use the cores, a rank falls asleep and has to be woken, which takes instructions.
const RUNS: u32 = 4;

struct Budget {
    mode: &'static str,
    function: &'static str,
    instructions_max: u64,
}

fn instructions_of_8_bytes(jobs: &Jobs<'_>) -> Verdict {
    if cfg!(not(target_arch = "x86_64")) {
        return Ok(Err(Skip("the budgets are for x86-64".into())));
    }
    if Command::new("valgrind").arg("--version").output().is_err() {
        return Ok(Err(Skip("valgrind is not installed".into())));
    }
    let program = compile(jobs.options, &jobs.options.root.join("tests/jobs/instructions.c"))?;
    let ways = [(BUDGETS, false), (BUDGETS_COUNTED, true)];
    let all = ways.iter().flat_map(|&(budgets, counted)| budgets.iter().map(move |budget| (budget, counted)));
    let complaints: Vec<String> = all
        .filter_map(|(budget, counted)| budget.complaint(jobs, &program, counted).transpose())
        .collect::<Result<_, _>>()?;
    if complaints.is_empty() { Ok(Ok(())) } else { Err(complaints.join("\n")) }
}

impl Budget {
    /// What is to be said if calls take more than they may.
    fn complaint(&self, jobs: &Jobs<'_>, program: &Path, counted: bool) -> Result<Option<String>, String> {
        let most = self.instructions_max;
        let mut taken = u64::MAX;
        for _ in 0..RUNS {
            taken = taken.min(self.taken(jobs, program, counted)?);
            if taken <= most {
                break;
            }
        }
        let way = if counted { ", counted," } else { "" };
        Ok((taken > most).then(|| format!("{}{way} takes {taken} instructions, over {most}", self.function)))
    }

    /// Instructions of a call.
    fn taken(&self, jobs: &Jobs<'_>, program: &Path, counted: bool) -> Result<u64, String> {
        let [short, long] = ROUNDS.map(|rounds| self.count(jobs, program, rounds, counted));
        Ok(long?.saturating_sub(short?) / ((ROUNDS[1] - ROUNDS[0]) * CALLS))
    }

    /// Instructions within the function, at both ranks together.
    fn count(&self, jobs: &Jobs<'_>, program: &Path, rounds: u64, counted: bool) -> Result<u64, String> {
        let folder = Folder::new(jobs)?;
        let mut command = jobs.mpirun(2);
        command.env("TERN_STATS", if counted { "1" } else { "0" });
        command.args(["valgrind", "--quiet", "--tool=callgrind"]);
        // Both names are one function, and this is the one that debug information knows.
        command.arg(format!("--toggle-collect=P{}", self.function));
        command.arg(format!("--callgrind-out-file={}", folder.0.join("counts.%p").display()));
        command.arg(program).args([self.mode, &rounds.to_string()]);
        command.args(["there", "back"].map(|name| folder.0.join(name)));
        let outcome = run_command(&mut command)?;
        expect(outcome.success(), "the job ends well under valgrind", &outcome)?;
        folder.sum()
    }
}

/// A folder with the named pipes and the counts of one run; gone with it.
struct Folder(PathBuf);

impl Folder {
    fn new(jobs: &Jobs<'_>) -> Result<Folder, String> {
        let folder = jobs.options.root.join("build/instructions");
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let made = Command::new("mkfifo").args(["there", "back"]).current_dir(&folder).status();
        if made.is_ok_and(|status| status.success()) {
            Ok(Folder(folder))
        } else {
            Err("mkfifo failed".into())
        }
    }

    /// The sum of 'totals: N' over the files of both ranks.
    fn sum(&self) -> Result<u64, String> {
        let entries = fs::read_dir(&self.0).map_err(|error| error.to_string())?.flatten();
        let counts = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with("counts."));
        let texts = counts.map(|entry| fs::read_to_string(entry.path()).unwrap_or_default());
        let total: u64 = texts.filter_map(|text| total_of(&text)).sum();
        if total == 0 {
            Err("callgrind has counted nothing: is the function's name another?".into())
        } else {
            Ok(total)
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn total_of(counts: &str) -> Option<u64> {
    counts.lines().find_map(|line| line.strip_prefix("totals: "))?.trim().parse().ok()
}

//! What odd environments do to a job at its start (`tests/wrong/environment_launch.c`): it runs, or says what is missing.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::compile::compile;
use crate::options::Options;
use crate::process::{self, Outcome};
use crate::report::Report;

/// No job here takes this long unless it hangs.
const LIMIT: Duration = Duration::from_secs(60);

/// One case.
struct Case {
    name: &'static str,
    run: fn(&Grid<'_>) -> Result<(), String>,
}

const CASES: &[Case] = &[
    Case { name: "a program without the folder of its library", run: no_rpath },
    Case { name: "a library that the user chose", run: own_library },
    Case { name: "a setting that is no number", run: bad_setting },
    Case { name: "a variable that nobody reads", run: misspelled },
    Case { name: "processes started by a thread", run: spawn },
    Case { name: "who may connect to ranks of one node", run: listening },
];

/// Runs what the options select.
pub(super) fn run(options: &Options, report: &Report) {
    for case in CASES {
        let name = format!("wrong environment: {}", case.name);
        if options.wants(&name) {
            let start = Instant::now();
            let result = Grid::new(options).and_then(|grid| (case.run)(&grid));
            report.case(&name, start.elapsed(), result);
        }
    }
}

struct Grid<'a> {
    options: &'a Options,
    program: PathBuf,
}

impl<'a> Grid<'a> {
    fn new(options: &'a Options) -> Result<Grid<'a>, String> {
        let program = compile(options, &options.root.join("tests/wrong/environment_launch.c"))?;
        Ok(Grid { options, program })
    }

    /// `mpirun -n RANKS` with these variables and no other library's folder in the way.
    fn mpirun(&self, ranks: u32, variables: &[(&str, &str)]) -> Command {
        let mut command = Command::new(self.options.mpirun());
        command.env("TERN_TIMEOUT", "50").env_remove("LD_LIBRARY_PATH").envs(variables.iter().copied());
        command.args(["-n", &ranks.to_string()]);
        command
    }

    fn run(&self, ranks: u32, variables: &[(&str, &str)], mode: &str) -> Result<Outcome, String> {
        run_command(self.mpirun(ranks, variables).arg(&self.program).arg(mode))
    }

    /// The program, linked without a word where its library lies.
    fn without_rpath(&self) -> Result<PathBuf, String> {
        let program = self.options.programs().join("environment_launch_no_rpath");
        let mut command = Command::new("cc");
        command.arg("-I").arg(self.options.prefix.join("include")).arg("-pthread").arg("-o").arg(&program);
        command.arg(self.options.root.join("tests/wrong/environment_launch.c"));
        let outcome = run_command(command.arg(self.options.prefix.join("lib/libmpi_abi.so.1")))?;
        if outcome.success() { Ok(program) } else { Err(outcome.describe()) }
    }
}

fn run_command(command: &mut Command) -> Result<Outcome, String> {
    process::run(command, LIMIT).map_err(|error| format!("{command:?}: {error}"))
}

/// The exit status, and what standard error says: nothing at all, or one line with all of these.
fn expect(outcome: &Outcome, code: i32, words: &[&str]) -> Result<(), String> {
    let lines = outcome.stderr.lines().count();
    let said =
        words.iter().all(|word| outcome.stderr.contains(word)) && lines == usize::from(!words.is_empty());
    if said && outcome.code() == Some(code) {
        return Ok(());
    }
    Err(format!("not so: exit status {code}, and one line with {words:?}\n{}", outcome.describe()))
}

fn no_rpath(grid: &Grid<'_>) -> Result<(), String> {
    let program = grid.without_rpath()?;
    expect(&run_command(grid.mpirun(2, &[]).arg(&program))?, 0, &[])?;
    expect(&run_command(grid.mpirun(2, &[]).arg("env").arg(&program))?, 0, &[])
}

/// What the user has set comes first, and a program that finds its library gets nothing added.
fn own_library(grid: &Grid<'_>) -> Result<(), String> {
    let lib = grid.options.prefix.join("lib");
    let shown = |folders: &str, program: &Path| -> Result<String, String> {
        let mut command = grid.mpirun(1, &[("LD_LIBRARY_PATH", folders)]);
        let outcome = run_command(command.args(["printenv", "LD_LIBRARY_PATH"]).arg(program))?;
        Ok(outcome.stdout.lines().next().unwrap_or_default().to_owned())
    };
    let without = grid.without_rpath()?;
    for (program, folders) in
        [(&grid.program, "/nonexistent".to_owned()), (&without, format!("/nonexistent:{}", lib.display()))]
    {
        let found = shown("/nonexistent", program)?;
        if found != folders {
            return Err(format!("{}: LD_LIBRARY_PATH is {found}, not {folders}", program.display()));
        }
    }
    Ok(())
}

fn bad_setting(grid: &Grid<'_>) -> Result<(), String> {
    let outcome = grid.run(1, &[("TERN_CELLS", "many")], "hello")?;
    let unhelpful = outcome.stderr.contains("not in this list");
    let said = outcome.stderr.contains("TERN_CELLS=many is not understood");
    if said && !unhelpful && !outcome.success() { Ok(()) } else { Err(outcome.describe()) }
}

fn misspelled(grid: &Grid<'_>) -> Result<(), String> {
    for transport in ["shm", "tcp"] {
        let variables = [("TERN_EAGR_MAX", "100"), ("TERN_TRANSPORT", transport)];
        expect(&grid.run(3, &variables, "hello")?, 0, &["TERN_EAGR_MAX", "did you mean TERN_EAGER_MAX?"])?;
    }
    expect(&grid.run(2, &[("TERN_NO_SUCH_THING", "1")], "hello")?, 0, &["TERN_NO_SUCH_THING", "tern info"])
}

fn spawn(grid: &Grid<'_>) -> Result<(), String> {
    for transport in ["shm", "tcp"] {
        let outcome = grid.run(2, &[("TERN_TRANSPORT", transport)], "spawn")?;
        if !outcome.success() || !outcome.stdout.contains("a thread has started 1") {
            return Err(outcome.describe());
        }
    }
    Ok(())
}

fn listening(grid: &Grid<'_>) -> Result<(), String> {
    let outcome = grid.run(2, &[("TERN_TRANSPORT", "tcp")], "listen")?;
    let lines: Vec<&str> = outcome.stdout.lines().collect();
    let local = lines.iter().all(|line| *line == "listens on 127.0.0.1" || *line == "listens on ::1");
    if outcome.success() && lines.len() == 2 && local { Ok(()) } else { Err(outcome.describe()) }
}

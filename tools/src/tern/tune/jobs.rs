//! Runs the measuring program (`tools/measure/measure.c`) as jobs of this installation.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use tern_coll::table::{HEADING, NumberRange};
use tern_coll::{Choice, Collective, TableRow};

use crate::installation::{Installation, ScratchFolder};

/// A job that takes longer is ended: it hangs, or the machine is far too busy to measure on.
const JOB_LIMIT_S: u32 = 120;

/// The installation, and a folder for tables.
pub(crate) struct Jobs {
    mpirun: PathBuf,
    program: PathBuf,
    folder: ScratchFolder,
}

/// One time.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct MeasuredTime {
    /// What was measured.
    pub name: String,
    /// Of how many bytes.
    pub bytes: u64,
    /// In the fastest batch, seconds.
    pub best: f64,
    /// In the middle one.
    pub median: f64,
}

impl Jobs {
    /// The `mpirun` and the measuring program of the tree in which this program is installed.
    pub(crate) fn find() -> Result<Jobs, String> {
        let here = Installation::find()?;
        let (mpirun, program) = (here.file("bin/mpirun")?, here.file("libexec/tern/measure")?);
        Ok(Jobs { mpirun, program, folder: ScratchFolder::new("tern-tune")? })
    }

    /// Times of a collective, at these sizes.
    pub(crate) fn collective(
        &self,
        run: &CollectiveRun,
        rows: &[TableRow],
    ) -> Result<Vec<MeasuredTime>, String> {
        let options: &[&str] = if run.bound { &["--bind-to", "core"] } else { &[] };
        let mut command = self.command_with(options, run.ranks, "coll", run.point_s);
        command.arg(run.collective.name()).args(run.sizes.iter().map(u64::to_string));
        if !rows.is_empty() {
            command.env("TERN_COLL_TABLE", self.table(rows)?);
        }
        times(&mut command)
    }

    /// Times of messages between two ranks, at these sizes, with these settings and options of `mpirun`.
    pub(crate) fn messages(
        &self,
        setup: &PairSetup,
        sizes: &[u64],
        point_s: f64,
    ) -> Result<Vec<MeasuredTime>, String> {
        self.between_two("messages", setup, sizes, point_s)
    }

    /// What messages of these sizes, which are sent at once, cost each of two ranks.
    pub(crate) fn overheads(
        &self,
        setup: &PairSetup,
        sizes: &[u64],
        point_s: f64,
    ) -> Result<Vec<MeasuredTime>, String> {
        self.between_two("overheads", setup, sizes, point_s)
    }

    /// Times of exchanges between two ranks, with a sum after each, and of such sums alone.
    pub(crate) fn exchanges(
        &self,
        setup: &PairSetup,
        sizes: &[u64],
        point_s: f64,
    ) -> Result<Vec<MeasuredTime>, String> {
        self.between_two("exchange", setup, sizes, point_s)
    }

    fn between_two(
        &self,
        what: &str,
        setup: &PairSetup,
        sizes: &[u64],
        point_s: f64,
    ) -> Result<Vec<MeasuredTime>, String> {
        let mut command = self.command_with(setup.options, 2, what, point_s);
        command.args(sizes.iter().map(u64::to_string)).envs(setup.settings.iter().copied());
        times(&mut command)
    }

    /// Times of a rank's own work.
    pub(crate) fn compute(&self, point_s: f64) -> Result<Vec<MeasuredTime>, String> {
        times(&mut self.command_with(&[], 1, "compute", point_s))
    }

    fn command_with(&self, options: &[&str], ranks: u32, what: &str, point_s: f64) -> Command {
        let mut command = Command::new(&self.mpirun);
        command.args(["-n", &ranks.to_string(), "--timeout", &JOB_LIMIT_S.to_string()]).args(options);
        command.arg(&self.program).args([what, &point_s.to_string()]);
        // What is measured is what is there without a table.
        command.env_remove("TERN_COLL_TABLE").stdin(Stdio::null());
        command
    }

    fn table(&self, rows: &[TableRow]) -> Result<PathBuf, String> {
        let file = self.folder.file("table");
        let rows: String = rows.iter().map(|row| format!("{row}\n")).collect();
        fs::write(&file, format!("{HEADING}\n{rows}"))
            .map_err(|error| format!("cannot write {}: {error}", file.display()))?;
        Ok(file)
    }
}

/// A run of one collective.
#[derive(Clone, Debug)]
pub(crate) struct CollectiveRun {
    /// What is called.
    pub collective: Collective,
    /// By how many ranks.
    pub ranks: u32,
    /// With these sizes, bytes.
    pub sizes: Vec<u64>,
    /// Time for one size, seconds.
    pub point_s: f64,
    /// Each rank stays on a core of its own.
    pub bound: bool,
}

/// How two ranks run.
pub(crate) struct PairSetup {
    /// Options of `mpirun`.
    pub options: &'static [&'static str],
    /// Environment variables.
    pub settings: &'static [(&'static str, &'static str)],
}

/// The row that names an algorithm for all calls of a collective.
pub(crate) fn row_for_all(collective: Collective, choice: Choice) -> TableRow {
    TableRow { collective, bytes: NumberRange::ANY, ranks: NumberRange::ANY, nodes: NumberRange::ANY, choice }
}

fn times(command: &mut Command) -> Result<Vec<MeasuredTime>, String> {
    let output = command.output().map_err(|error| format!("cannot run {command:?}: {error}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{command:?} failed ({}): {}", output.status, said.trim()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).lines().filter_map(read_time).collect())
}

/// `result NAME BYTES BEST MEDIAN`
fn read_time(line: &str) -> Option<MeasuredTime> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let &["result", name, bytes, best, median] = words.as_slice() else { return None };
    let (bytes, best, median) = (bytes.parse().ok()?, best.parse().ok()?, median.parse().ok()?);
    Some(MeasuredTime { name: name.to_owned(), bytes, best, median })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_read_and_other_lines_are_not() {
        assert_eq!(
            read_time("result bcast 8 1e-6 2.5e-6"),
            Some(MeasuredTime { name: "bcast".into(), bytes: 8, best: 1e-6, median: 2.5e-6 })
        );
        assert_eq!(read_time("result bcast eight 1 2"), None);
        assert_eq!(read_time("hello"), None);
    }
}

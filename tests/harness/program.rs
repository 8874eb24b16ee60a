//! The C programs of the suite and what their headers ask for.
//!
//! A program begins with a comment: what it tests, then lines of settings:
//!
//! ```c
//! /* Ready mode (MPI-5.0 section 3.4).
//!  * ranks: 2 4
//!  * timeout: 60
//!  * instances: default
//!  * heavy
//!  * alone
//!  */
//! ```

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

const TIMEOUT_S_DEFAULT: u64 = 60;

/// One C program of the conformance suite.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Program {
    /// The file's name without its ending.
    pub name: String,
    /// The source file.
    pub source: PathBuf,
    /// With how many ranks it runs, each in turn.
    pub ranks: Vec<usize>,
    /// How long one run may take where the machine has little else to do.
    pub timeout: Duration,
    /// Needs several GiB of memory, or minutes: runs alone and only under the default instance.
    pub heavy: bool,
    /// Disturbs others or is disturbed by them: nothing else runs meanwhile.
    pub alone: bool,
    /// Whether only the default instance of each transport runs it.
    pub default_only: bool,
    /// Of a Fortran program: which of the language's interfaces it is compiled for.
    pub interface: Option<&'static str>,
}

/// The three interfaces of Fortran: mpif.h, module mpi, module mpi_f08 (section 19.1).
const INTERFACES: [&str; 3] = ["mpif", "mpi", "f08"];

impl Program {
    /// Reads the settings from a source file's first comment.
    pub(crate) fn read(source: &Path) -> io::Result<Result<Self, String>> {
        let text = fs::read_to_string(source)?;
        Ok(Self::parse(source, &text))
    }

    fn parse(source: &Path, text: &str) -> Result<Self, String> {
        let name = source.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let comment =
            first_comment(text).ok_or(format!("{}: does not begin with a comment", source.display()))?;
        let mut program = Program {
            name,
            source: source.into(),
            ranks: Vec::new(),
            timeout: Duration::from_secs(TIMEOUT_S_DEFAULT),
            heavy: false,
            alone: false,
            default_only: false,
            interface: None,
        };
        for line in comment.lines().map(|line| line.trim().trim_start_matches(['*', '!']).trim()) {
            program.set(line).ok_or(format!("{}: cannot read {line:?}", source.display()))?;
        }
        if program.ranks.is_empty() {
            return Err(format!("{}: its first comment has no line 'ranks: N ...'", source.display()));
        }
        Ok(program)
    }

    // A line that is no setting is prose.
    fn set(&mut self, line: &str) -> Option<()> {
        match line.split_once(": ").unwrap_or((line, "")) {
            ("ranks", counts) => {
                self.ranks =
                    counts.split_whitespace().map(|count| count.parse().ok()).collect::<Option<_>>()?;
            }
            ("timeout", seconds) => self.timeout = Duration::from_secs(seconds.parse().ok()?),
            ("instances", "default") => self.default_only = true,
            ("heavy", "") => self.heavy = true,
            ("alone", "") => self.alone = true,
            _ => {}
        }
        Some(())
    }
}

/// The comment that a source begins with: of C, or lines of Fortran.
fn first_comment(text: &str) -> Option<&str> {
    if let Some(rest) = text.strip_prefix("/*") {
        return rest.split_once("*/").map(|(comment, _)| comment);
    }
    let end = text.split_inclusive('\n').take_while(|line| line.starts_with('!')).map(str::len).sum();
    Some(&text[..end]).filter(|comment| !comment.is_empty())
}

/// A Fortran program once for each interface that its header names (`! fortran: mpi f08`); all without.
pub(crate) fn for_each_interface(programs: Vec<Program>) -> Vec<Program> {
    let one = |program: &Program, interface: &'static str| Program {
        name: format!("fortran_{}_{interface}", program.name),
        interface: Some(interface),
        ..program.clone()
    };
    programs
        .iter()
        .flat_map(|program| {
            let text = fs::read_to_string(&program.source).unwrap_or_default();
            let only = text.lines().find_map(|line| line.strip_prefix("! fortran: ")).map(str::to_owned);
            let wanted = INTERFACES.into_iter().filter(move |name| {
                only.as_ref().is_none_or(|only| only.split_whitespace().any(|word| word == *name))
            });
            wanted.map(|interface| one(program, interface)).collect::<Vec<_>>()
        })
        .collect()
}

/// All programs of a folder with this ending, by name.
pub(crate) fn read_all(folder: &Path, ending: &str) -> io::Result<(Vec<Program>, Vec<String>)> {
    let mut sources: Vec<PathBuf> = fs::read_dir(folder)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<io::Result<Vec<_>>>()?
        .into_iter()
        .filter(|path| path.extension().is_some_and(|found| found == ending))
        .collect();
    sources.sort();
    let mut programs = Vec::new();
    let mut errors = Vec::new();
    for source in sources {
        match Program::read(&source)? {
            Ok(program) => programs.push(program),
            Err(error) => errors.push(error),
        }
    }
    Ok((programs, errors))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_from_the_first_comment() {
        let text = "/* Prose: with a colon.\n * ranks: 1 2 16\n * timeout: 5\n * heavy\n */\n/* ranks: 9 */";
        let program = Program::parse(Path::new("c/x.c"), text).expect("a valid header");
        assert_eq!(program.name, "x");
        assert_eq!(program.ranks, [1, 2, 16]);
        assert_eq!(program.timeout, Duration::from_secs(5));
        assert!(program.heavy && !program.alone && !program.default_only);
    }

    #[test]
    fn a_header_without_ranks_is_refused() {
        assert!(Program::parse(Path::new("x.c"), "/* nothing */").is_err());
        assert!(Program::parse(Path::new("x.c"), "/* ranks: two */").is_err());
        assert!(Program::parse(Path::new("x.c"), "int x;").is_err());
    }
}

//! What the command line asks for.

use std::path::{Path, PathBuf};

const USAGE: &str = "\
usage: tern-tests [options] [filter ...]
  --prefix DIR     where Tern is installed (default build/prefix)
  --foreign DIR    run the C programs on another MPI that has the standard ABI (its mpicc_abi and
                   mpiexec are used): a check of the tests themselves
  --instance NAME  only this transport instance (see harness/instances.rs); may be repeated
  --ranks N        only runs with this number of ranks; may be repeated
  --sample         one number of ranks of each program under each instance
  --jobs N         so many jobs at once (default 2)
  --sanitize       the library under test is staged with --sanitize: so are the programs
  --no-heavy       leave out programs that need much memory or time
  --no-jobs        leave out whole jobs with faults, and wrong programs
  --all            also format, lints, cargo test, interoperation and mpi4py
A filter is a part of a case's name; a case runs if any filter matches.";

/// What to run, and on what.
pub(crate) struct Options {
    /// The root of the source tree.
    pub root: PathBuf,
    /// Where the MPI library under test is installed.
    pub prefix: PathBuf,
    /// Another MPI's prefix: the programs are run on it instead.
    pub foreign: Option<PathBuf>,
    /// The only transport instances to run; all if empty.
    pub instances: Vec<String>,
    /// The only numbers of ranks to run; all if empty.
    pub ranks: Vec<usize>,
    /// Whether each instance runs each program with one number of ranks alone.
    pub sample: bool,
    /// How many jobs may run at once.
    pub jobs: usize,
    /// Whether AddressSanitizer looks at the library and the programs.
    pub sanitize: bool,
    /// Whether programs that need much memory run.
    pub heavy: bool,
    /// Whether whole jobs with faults, and wrong programs, run.
    pub whole_jobs: bool,
    /// Whether the checks outside this harness run too.
    pub all: bool,
    /// Parts of the names of the cases to run; all if empty.
    pub filters: Vec<String>,
}

impl Options {
    /// Parses the arguments after the program's name.
    pub(crate) fn from_args(args: impl Iterator<Item = String>) -> Result<Self, String> {
        let root = source_root();
        let mut options = Options {
            prefix: root.join("build/prefix"),
            root,
            foreign: None,
            instances: Vec::new(),
            ranks: Vec::new(),
            sample: false,
            jobs: 2,
            sanitize: false,
            heavy: true,
            whole_jobs: true,
            all: false,
            filters: Vec::new(),
        };
        let mut args = args;
        while let Some(arg) = args.next() {
            options.take(&arg, &mut args)?;
        }
        Ok(options)
    }

    fn take(&mut self, arg: &str, rest: &mut impl Iterator<Item = String>) -> Result<(), String> {
        let mut value = || rest.next().ok_or(format!("tern-tests: {arg} needs a value\n{USAGE}"));
        match arg {
            "--prefix" => self.prefix = absolute(&value()?),
            "--foreign" => self.foreign = Some(absolute(&value()?)),
            "--instance" => self.instances.push(value()?),
            "--ranks" => self.ranks.push(number(&value()?)?),
            "--sample" => self.sample = true,
            "--jobs" => self.jobs = number(&value()?)?.max(1),
            "--sanitize" => self.sanitize = true,
            "--no-heavy" => self.heavy = false,
            "--no-jobs" => self.whole_jobs = false,
            "--all" => self.all = true,
            _ if arg.starts_with('-') => return Err(USAGE.into()),
            _ => self.filters.push(arg.into()),
        }
        Ok(())
    }

    /// Whether the filters let this case run.
    pub(crate) fn wants(&self, case: &str) -> bool {
        self.filters.is_empty() || self.filters.iter().any(|filter| case.contains(filter.as_str()))
    }

    /// Whether every case must run: in continuous integration, as root, a missing tool is a fault of the set-up.
    pub(crate) fn demanding(&self) -> bool {
        self.all && std::env::var_os("CI").is_some() && rustix::process::geteuid().is_root()
    }

    /// The C compiler wrapper of the library under test.
    pub(crate) fn mpicc(&self) -> PathBuf {
        match &self.foreign {
            Some(prefix) => prefix.join("bin/mpicc_abi"),
            None => self.prefix.join("bin/mpicc"),
        }
    }

    /// The launcher of the library under test.
    pub(crate) fn mpirun(&self) -> PathBuf {
        match &self.foreign {
            Some(prefix) => prefix.join("bin/mpiexec"),
            None => self.prefix.join("bin/mpirun"),
        }
    }

    /// Where compiled test programs go: one folder for each library, since a program knows where its library lies.
    pub(crate) fn programs(&self) -> PathBuf {
        let default = self.root.join("build/prefix");
        match self.prefix.file_name() {
            _ if self.foreign.is_some() => self.root.join("build/tests-foreign"),
            Some(name) if self.prefix != default => self.root.join(format!("build/tests-{}", name.display())),
            _ => self.root.join("build/tests"),
        }
    }
}

fn number(text: &str) -> Result<usize, String> {
    text.parse().map_err(|_| format!("tern-tests: {text:?} is not a number"))
}

fn absolute(path: &str) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.into())
}

fn source_root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_path_buf()
}

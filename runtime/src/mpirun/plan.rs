//! What is to be run: the command line with its defaults filled in.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use tern_runtime::limits::RANKS_MAX;

use crate::hosts;
use crate::topology::BindTo;
use crate::verdict::Refusal;

/// One program of the command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct App {
    /// Ranks that run it; `None` until [`Plan::new`] fills in the default.
    pub count: Option<u32>,
    /// The program.
    pub program: OsString,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// Where it runs; `None` is where `mpirun` runs.
    pub directory: Option<PathBuf>,
    /// Variables of its own.
    pub environment: Vec<(OsString, OsString)>,
    /// Hosts of `-host`, all of which must be this machine.
    pub hosts: Vec<String>,
}

/// Which ranks get `mpirun`'s standard input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StdinTo {
    /// Rank 0, unless asked otherwise.
    #[default]
    First,
    /// This rank.
    Rank(u32),
    /// Each gets a copy.
    All,
    /// Nobody.
    None,
}

/// What the options said.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    /// The programs, in order.
    pub apps: Vec<App>,
    /// Variables for all of them.
    pub environment: Vec<(OsString, OsString)>,
    /// Prefix each line with its rank.
    pub tag_output: bool,
    /// End the job after this time.
    pub timeout: Option<Duration>,
    /// Who gets standard input.
    pub stdin: StdinTo,
    /// Whether and to what ranks are bound.
    pub bind: BindTo,
    /// Say where each rank may run.
    pub report_bindings: bool,
    /// Say what is done.
    pub verbose: bool,
    /// A file of hosts, all of which must be this machine.
    pub hostfile: Option<PathBuf>,
    /// Options that were accepted and change nothing.
    pub without_effect: Vec<String>,
}

/// A job that can be started.
#[derive(Debug)]
pub struct Plan {
    /// What was asked for; every count is filled in.
    pub settings: Settings,
    /// The program of each rank, as an index into the settings' programs.
    pub app_of: Vec<usize>,
    /// Cores that the job may use.
    pub cores: u32,
}

impl Plan {
    /// Fills in the defaults and checks what can be checked before anything runs.
    pub fn new(mut settings: Settings) -> Result<Plan, Refusal> {
        let slots = hosts::check(&settings)?;
        let cores = tern_runtime::cores();
        let default = slots.unwrap_or(cores).min(RANKS_MAX);
        let mut app_of = Vec::new();
        for (index, app) in settings.apps.iter_mut().enumerate() {
            let count = *app.count.get_or_insert(default);
            check_directory(app)?;
            app_of.resize(app_of.len() + count as usize, index);
            if app_of.len() > RANKS_MAX as usize {
                return Err(Refusal::usage(format!("a job has at most {RANKS_MAX} ranks")));
            }
        }
        check_stdin(settings.stdin, app_of.len() as u32)?;
        Ok(Plan { settings, app_of, cores })
    }

    /// Number of ranks.
    pub fn size(&self) -> u32 {
        self.app_of.len() as u32
    }

    /// The program of `rank`.
    pub fn app(&self, rank: u32) -> &App {
        &self.settings.apps[self.app_of[rank as usize]]
    }
}

/// A missing directory would otherwise look like a missing program.
fn check_directory(app: &App) -> Result<(), Refusal> {
    match &app.directory {
        Some(path) if !path.is_dir() => {
            Err(Refusal::usage(format!("the working directory '{}' is not a directory", path.display())))
        }
        _ => Ok(()),
    }
}

fn check_stdin(stdin: StdinTo, size: u32) -> Result<(), Refusal> {
    match stdin {
        StdinTo::Rank(rank) if rank >= size => Err(Refusal::usage(format!(
            "--stdin {rank}: there is no such rank, the ranks are 0 to {}",
            size - 1
        ))),
        _ => Ok(()),
    }
}

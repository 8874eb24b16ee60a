//! What is to be run: the command line with its defaults filled in.

pub(crate) mod allocation;
pub(crate) mod bind;
pub(crate) mod binding;
pub(crate) mod host_table;
pub(crate) mod hosts;
pub(crate) mod layout;
pub(crate) mod map_by;
pub(crate) mod placement;
pub(crate) mod rankfile;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tern_job::{NodeMap, ranges};

use crate::launch::family::Abi;
use crate::limits::TREE_ARITY;
use crate::output::files::Style;
use crate::plan::allocation::Allocation;
use crate::plan::bind::Bind;
use crate::plan::hosts::is_local;
use crate::plan::map_by::MapBy;
use crate::plan::placement::{Placement, RankBy, place};
use crate::watch::exit_cause::Refusal;

/// One program of the command line.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct App {
    /// Ranks that run it; `None` until [`JobPlan::new`] fills in the default.
    pub count: Option<u32>,
    /// The program.
    pub program: OsString,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// Where it runs; `None` is where `mpirun` runs.
    pub directory: Option<OsString>,
    /// Variables of its own.
    pub environment: Vec<(OsString, OsString)>,
    /// Directories in which the program is looked for first, separated by `:`.
    pub path: Option<OsString>,
    /// Numbers of ranks that will do, where fewer than `count` may be started.
    pub soft: Option<String>,
    /// Hosts of `-host`.
    pub hosts: Vec<String>,
    /// The ABI for which it was compiled.
    pub abi: Abi,
}

/// Which ranks get `mpirun`'s standard input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum StdinTo {
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
pub(crate) struct PlanSettings {
    /// The programs, in order.
    pub apps: Vec<App>,
    /// Variables for all of them.
    pub environment: Vec<(OsString, OsString)>,
    /// Where the output of ranks goes, and in which form.
    pub output: Style,
    /// Say nothing about what changes nothing.
    pub quiet: bool,
    /// End the job after this time.
    pub timeout: Option<Duration>,
    /// Who gets standard input.
    pub stdin: StdinTo,
    /// Whether and to what ranks are bound.
    pub bind: Bind,
    /// Say where each rank may run.
    pub report_bindings: bool,
    /// Say what is done.
    pub verbose: bool,
    /// Say at the end what ranks have done.
    pub stats: bool,
    /// A file of hosts.
    pub hostfile: Option<PathBuf>,
    /// A file that says where each rank runs.
    pub rankfile: Option<PathBuf>,
    /// Hosts that a batch system has given.
    pub allocation: Option<Allocation>,
    /// How ranks are spread over the hosts.
    pub map_by: MapBy,
    /// Whether who says how many ranks a host gets means no more of them, as with Open MPI's options; MPICH's `-ppn` goes round.
    pub per_node_is_limit: bool,
    /// How they are numbered.
    pub rank_by: RankBy,
    /// Whether this host gets no ranks.
    pub nolocal: bool,
    /// Whether there may be no more ranks than slots.
    pub slots_bind: bool,
    /// Say which ranks run where.
    pub show_map: bool,
    /// Say which hosts may be used.
    pub show_allocation: bool,
    /// Say which ranks would run where, and start nothing.
    pub dry_run: bool,
    /// Where Tern lies on other hosts, if not where it lies here.
    pub prefix: Option<String>,
    /// The command that runs others on a host; empty is `ssh`.
    pub launcher: Vec<String>,
    /// The user has named it.
    pub launcher_is_users: bool,
    /// Hosts that one `mpirun` or agent starts by itself; `None` is the usual number.
    pub tree: Option<u32>,
    /// Options that were accepted and change nothing.
    pub without_effect: Vec<String>,
    /// What is said about options that do less than they say.
    pub remarks: Vec<String>,
    /// What ranks find in their store of keys.
    pub pairs: Vec<(String, String)>,
    /// `MPI_UNIVERSE_SIZE`, if it is not the number of slots.
    pub universe: Option<u32>,
}

impl PlanSettings {
    /// The user names a launcher.
    pub(crate) fn set_launcher(&mut self, words: Vec<String>) {
        (self.launcher, self.launcher_is_users) = (words, true);
    }
}

/// A job that can be started.
#[derive(Debug)]
pub(crate) struct JobPlan {
    /// What was asked for; every count is filled in.
    pub settings: PlanSettings,
    /// The program of each rank, as an index into the settings' programs.
    pub app_of: Vec<usize>,
    /// Cores that the job may use on this host.
    pub cores: u32,
    /// Names of the hosts.
    pub hosts: Vec<String>,
    /// Which rank runs on which host.
    pub places: NodeMap,
    /// The number of this host, if it runs ranks.
    pub here: Option<u32>,
    /// `MPI_UNIVERSE_SIZE`.
    pub universe: u32,
    /// The hosts that may be used, with their slots.
    pub allocation: Vec<(String, u32)>,
}

impl JobPlan {
    /// Fills in the defaults and checks what can be checked before anything runs.
    pub(crate) fn new(mut settings: PlanSettings) -> Result<JobPlan, Refusal> {
        let cores = match settings.bind.cpus.len() as u32 {
            0 => tern_job::cores(),
            named => tern_job::cores().min(named),
        };
        settings.map_by = settings.map_by.counted(&settings.bind.cpus);
        let Placement { hosts, host_of, slots, allocation } = place(&mut settings, cores)?;
        let counts = settings.apps.iter().map(|app| app.count.unwrap_or_default() as usize).enumerate();
        let app_of: Vec<usize> = counts.flat_map(|(app, count)| std::iter::repeat_n(app, count)).collect();
        check_stdin(settings.stdin, app_of.len() as u32)?;
        let here = hosts.iter().position(|host| is_local(host)).map(|host| host as u32);
        let universe = settings.universe.unwrap_or(slots).max(app_of.len() as u32);
        let places = NodeMap::of(host_of.into_iter());
        let plan = JobPlan { settings, app_of, cores, hosts, places, here, universe, allocation };
        plan.check_directories()?;
        Ok(plan)
    }

    /// Number of ranks.
    pub(crate) fn size(&self) -> u32 {
        self.places.size()
    }

    /// The program of `rank`.
    pub(crate) fn app(&self, rank: u32) -> &App {
        &self.settings.apps[self.app_of[rank as usize]]
    }

    /// The ranks of this host in ascending order.
    pub(crate) fn own_ranks(&self) -> Vec<u32> {
        self.here.map(|here| self.places.ranks_of(here).collect()).unwrap_or_default()
    }

    /// Names of the hosts but this one.
    pub(crate) fn far_hosts(&self) -> impl Iterator<Item = &str> {
        self.hosts.iter().map(String::as_str).filter(|host| !is_local(host))
    }

    /// How many hosts are started from here at most.
    pub(crate) fn tree(&self) -> usize {
        self.settings.tree.unwrap_or(TREE_ARITY) as usize
    }

    /// The hosts that may be used, a line each.
    pub(crate) fn describe_allocation(&self) -> Vec<String> {
        let line = |(host, slots): &(String, u32)| format!("host {host}: {slots} slots");
        self.allocation.iter().map(line).collect()
    }

    /// Which ranks run on which host, a line each.
    pub(crate) fn describe_map(&self) -> Vec<String> {
        let line = |(host, name): (u32, &String)| {
            let ranks: Vec<u32> = self.places.ranks_of(host).collect();
            let s = if ranks.len() == 1 { "" } else { "s" };
            format!("host {name}: rank{s} {}", ranges::to_text(&ranks))
        };
        (0..).zip(&self.hosts).map(line).collect()
    }

    /// A missing directory would otherwise look like a missing program.
    pub(crate) fn check_directories(&self) -> Result<(), Refusal> {
        let mut own: Vec<usize> = self.own_ranks().iter().map(|&rank| self.app_of[rank as usize]).collect();
        own.dedup();
        let directories = own.into_iter().filter_map(|app| self.settings.apps[app].directory.as_ref());
        match directories.map(Path::new).find(|path| !path.is_dir()) {
            None => Ok(()),
            Some(path) => {
                let path = path.display();
                Err(Refusal::usage(format!("the working directory '{path}' is not a directory")))
            }
        }
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

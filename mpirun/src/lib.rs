//! `mpirun`: starts the ranks of a job, forwards what they say, and sees that they end together.
//!
//! | folder | what it does |
//! |---|---|
//! | [`cli`] | reads the command line |
//! | [`plan`] | says what runs where |
//! | [`launch`] | starts this host's ranks, and agents on other hosts; tells programs of other MPI libraries |
//! | [`watch`] | one loop waits for everything: the supervisor of the job, and the one of each host |
//! | [`output`] | lines of the ranks, and standard input |
//! | [`mod@serve`] | answers the ranks' questions about each other |
//! | [`tree`] | agents on other hosts, which form a tree, and the messages between them |

#![forbid(unsafe_code)]

mod cli;
#[cfg(any(test, fuzzing))]
#[path = "../../fuzz/targets/mpirun.rs"]
pub mod fuzz;
mod launch;
mod limits;
mod output;
mod plan;
mod poller;
mod serve;
mod tree;
mod watch;

use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

use cli::options::CommandRequest;
use cli::standard::find_program;
use cli::{definition, habits, options};
use launch::{late_names, presets, watchdog};
use plan::allocation::Allocation;
use tern_job::launcher::HUB_OPTION;
use tree::agent;
use watch::exit_cause::Refusal;
use watch::orphans::remember_children;
use watch::worlds;

/// The command line of `mpirun`, for manual pages and completions.
pub fn command() -> clap::Command {
    definition::command()
}

/// What can be seen of a program before it starts: which MPI it was compiled for.
pub mod programs {
    pub use crate::launch::abi::{
        ProgramAbi, lacking, look, missing_interpreter, nowhere, nowhere_words, two_mpis,
    };
    pub use crate::launch::family::Abi;
    pub use crate::launch::family::Family;
    pub use crate::launch::loader::folder_of;
    pub use crate::launch::machine::another_machine;
    pub use crate::launch::symbols::{absent, missing};
}

pub use cli::definition::USAGE;
/// The page of options for the manual.
pub use cli::manual::page as options_page;

/// What the program `mpirun` does.
pub fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    if let [option, mpirun] = &arguments[..]
        && option == watchdog::OPTION
        && let Some(mpirun) = mpirun.to_str().and_then(|number| number.parse().ok())
    {
        watchdog::watch(mpirun);
        return ExitCode::SUCCESS;
    }
    let status = remember_children()
        .map_err(|error| Refusal::system("cannot see how ranks end", error))
        .and_then(|()| run_as(arguments));
    match status {
        Ok(status) => ExitCode::from(status),
        Err(refusal) => {
            eprintln!("mpirun: {refusal}");
            ExitCode::from(refusal.status())
        }
    }
}

/// An agent, the `mpirun` of a world or of a process that nobody has launched, or what the user calls.
fn run_as(arguments: Vec<OsString>) -> Result<u8, Refusal> {
    match arguments.first() {
        Some(first) if first == crate::launch::launcher::AGENT_OPTION => agent::serve().map(|()| 0),
        Some(first) if first == worlds::OPTION => watch::job::run_world(),
        Some(first) if first == HUB_OPTION => watch::hub::serve(),
        _ => serve(arguments),
    }
}

/// `mpirun -info`.
fn about() -> String {
    let place = std::env::current_exe().map_or("unknown".into(), |path| path.display().to_string());
    format!(
        "mpirun (Tern) {}\nprogram: {place}\nlaunchers: {}, or any command by --launcher\nstart of ranks: Tern's own, PMI-1\n\
         'tern info' lists machine, transports and settings\n",
        env!("CARGO_PKG_VERSION"),
        presets::names()
    )
}

/// What a batch system or an operator says of hosts and of ways to them.
fn take_allocation(settings: &mut plan::PlanSettings) -> Result<(), Refusal> {
    let get = |name: &str| std::env::var(name).ok();
    let is_named = settings.hostfile.is_some() || settings.apps.iter().any(|app| !app.hosts.is_empty());
    settings.allocation = match Allocation::find(&get) {
        // Who names hosts needs no file of the surroundings.
        Err(_) if is_named => None,
        found => found?,
    };
    settings.remarks.extend(settings.allocation.as_mut().and_then(|allocation| allocation.remark.take()));
    let path = std::env::var_os("PATH").unwrap_or_default();
    presets::choose(settings, get, |name| find_program(name.as_ref(), &path).is_some());
    Ok(())
}

/// Says what was asked for. Whoever asked may have read enough already, as `head` does.
fn answer(words: impl std::fmt::Display) -> u8 {
    let mut out = std::io::stdout();
    let _ = write!(out, "{words}").and_then(|()| out.flush());
    0
}

fn serve(arguments: Vec<OsString>) -> Result<u8, Refusal> {
    let request = options::parse(arguments, |name| std::env::var(name).ok())?;
    match request {
        CommandRequest::Help => Ok(answer(definition::command().render_help())),
        CommandRequest::Version => Ok(answer(concat!("mpirun (Tern) ", env!("CARGO_PKG_VERSION"), "\n"))),
        CommandRequest::Info => Ok(answer(about())),
        CommandRequest::Run(mut settings) => {
            take_allocation(&mut settings)?;
            habits::remark_on(&mut settings, std::env::vars_os());
            let plan = plan::JobPlan::new(*settings)?;
            let settings = &plan.settings;
            let late = presets::awaits_names(settings.allocation.as_ref(), &settings.launcher);
            if late && !settings.dry_run {
                late_names::wait(plan.far_hosts())?;
            }
            watch::job::run(plan)
        }
    }
}

//! `mpirun`: starts the ranks of a job, forwards what they say, and sees that they end together.
//!
//! | folder | what it does |
//! |---|---|
//! | [`cli`] | reads the command line |
//! | [`plan`] | says what runs where |
//! | [`launch`] | starts this host's ranks, and agents on other hosts; tells programs of other MPI libraries |
//! | [`watch`] | one loop waits for everything: the supervisor of the job, and the one of each host |
//! | [`output`] | lines of the ranks, and standard input |
//! | [`serve`] | answers the ranks' questions about each other |
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
use std::process::ExitCode;

use cli::options::Request;
use cli::{definition, habits, options};
use launch::watchdog;
use tree::agent;
use watch::exit_cause::Refusal;

/// The command line of `mpirun`, for manual pages and completions.
pub fn command() -> clap::Command {
    definition::command()
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
    let status = match arguments.first() {
        Some(first) if first == agent::OPTION => agent::serve().map(|()| 0),
        _ => serve(arguments),
    };
    match status {
        Ok(status) => ExitCode::from(status),
        Err(refusal) => {
            eprintln!("mpirun: {refusal}");
            ExitCode::from(refusal.status())
        }
    }
}

/// `mpirun -info`.
fn about() -> String {
    let place = std::env::current_exe().map_or("unknown".into(), |path| path.display().to_string());
    format!(
        "mpirun (Tern) {}\nprogram: {place}\nlaunchers: ssh, or any command by --launcher\nstart of ranks: Tern's own, PMI-1\n\
         'tern info' lists machine, transports and settings\n",
        env!("CARGO_PKG_VERSION")
    )
}

fn serve(arguments: Vec<OsString>) -> Result<u8, Refusal> {
    let request = options::parse(arguments, |name| std::env::var(name).ok())?;
    match request {
        Request::Help => {
            print!("{}", definition::command().render_help());
            Ok(0)
        }
        Request::Version => {
            println!("mpirun (Tern) {}", env!("CARGO_PKG_VERSION"));
            Ok(0)
        }
        Request::Info => {
            print!("{}", about());
            Ok(0)
        }
        Request::Run(mut settings) => {
            habits::remark_on(&mut settings, std::env::vars_os());
            watch::job::run(plan::Plan::new(*settings)?)
        }
    }
}

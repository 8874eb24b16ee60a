//! `mpirun`: starts the ranks of a job, forwards what they say, and sees that they end together.
//!
//! The way through the files: [`options`] reads the command line, [`plan`] and [`placement`] say what runs where.
//! [`spawn`] starts this host's ranks with what they [`share`], and a [`station`] looks after them: what they say
//! ([`streams`], [`lines`]), how they end, and their questions about each other ([`directory`], [`answers`], [`pmi`]).
//! [`stranger`] tells programs of other MPI libraries ([`family`]) by what they need ([`elf`]) or have loaded.
//! [`overseer`] runs the one loop that waits for everything, with the [`outputs`] ([`sink`]), standard input ([`feed`]),
//! [`signals`] and the clock, and gives the [`verdict`]; [`ending`] and [`report`] are parts of it.
//!
//! On other hosts an [`agent`] has the station. Agents are started as [`branches`] of a tree by a [`launcher`] and speak
//! in [`messages`] over a [`channel`]; [`relay`] and [`inlets`] carry output and input. [`guard`] outlives a killed
//! `mpirun` or agent. [`descendants`] finds what has left its rank's process group, and [`orphans`] buries what ends there.

#![forbid(unsafe_code)]

mod agent;
mod allocation;
mod answers;
mod branches;
mod channel;
mod descendants;
mod deserted;
mod directory;
mod elf;
mod ending;
mod environment;
mod family;
mod feed;
#[cfg(any(test, fuzzing))]
#[path = "../../../fuzz/targets/mpirun.rs"]
pub mod fuzz;
mod guard;
mod habits;
mod help;
mod hosts;
mod inlets;
mod launcher;
mod limits;
mod lines;
mod loader;
mod messages;
mod mpiexec;
mod options;
mod orphans;
mod outputs;
mod overseer;
mod placement;
mod plan;
mod pmi;
mod poller;
mod relay;
mod report;
mod share;
mod signals;
mod sink;
mod spawn;
mod station;
mod stranger;
mod streams;
mod topology;
mod verdict;

use std::ffi::OsString;
use std::process::ExitCode;

use options::Request;
use verdict::Refusal;

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    if let [option, mpirun] = &arguments[..]
        && option == guard::OPTION
        && let Some(mpirun) = mpirun.to_str().and_then(|number| number.parse().ok())
    {
        guard::watch(mpirun);
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

fn serve(arguments: Vec<OsString>) -> Result<u8, Refusal> {
    let request = options::parse(arguments, |name| std::env::var(name).ok())?;
    match request {
        Request::Help => {
            print!("{}", help::TEXT);
            Ok(0)
        }
        Request::Version => {
            println!("mpirun (Tern) {}", env!("CARGO_PKG_VERSION"));
            Ok(0)
        }
        Request::Run(mut settings) => {
            habits::remark_on(&mut settings, std::env::vars_os());
            overseer::run(plan::Plan::new(*settings)?)
        }
    }
}

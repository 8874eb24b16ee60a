//! `mpirun`: starts the ranks of a job, forwards what they say, and sees that they end together.
//!
//! The way through the files: [`options`] reads the command line into a [`plan`], [`spawn`] starts the
//! ranks with what they [`share`], and [`overseer`] runs the one loop that waits for everything:
//! the ranks' output ([`outputs`], [`lines`], [`sink`]), their standard input ([`feed`]), their ends ([`verdict`]), signals
//! ([`signals`]) and the clock. [`report`] tells where the ranks stand; [`guard`] outlives a killed `mpirun`.

#![forbid(unsafe_code)]

mod feed;
mod guard;
mod help;
mod hosts;
mod limits;
mod lines;
mod options;
mod outputs;
mod overseer;
mod plan;
mod poller;
mod report;
mod share;
mod signals;
mod sink;
mod spawn;
mod topology;
mod verdict;

use std::ffi::OsString;
use std::process::ExitCode;

use options::Request;
use verdict::Refusal;

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    if arguments.first().is_some_and(|first| first == guard::OPTION) {
        guard::watch();
        return ExitCode::SUCCESS;
    }
    match serve(arguments) {
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
        Request::Run(settings) => overseer::run(plan::Plan::new(*settings)?),
    }
}

//! `tern`: tells what this Tern is, what it finds on this machine, and what it would do.
//!
//! [`command`] reads the command line; [`sim`] simulates jobs; [`tune`] and [`netpipe`] measure; [`doctor`] says what is in the way; [`info`], [`protocols`], [`collectives`] and [`coverage`] each write one
//! answer, from the tables that the library itself uses.

#![forbid(unsafe_code)]

mod chapters;
mod collectives;
mod command;
mod coverage;
mod doctor;
mod family;
mod features;
mod hosts;
mod info;
mod installation;
mod interrupt;
mod machine;
mod manual;
mod netpipe;
mod output;
mod probe;
mod protocols;
mod run;
mod sim;
mod table;
mod tune;

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use clap::Parser;
use command::{Tern, TernCommand, Topic};

fn main() -> ExitCode {
    let arguments: Vec<String> =
        std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    if arguments.first().is_some_and(|first| first == probe::OPTION) {
        return probe::answer(&arguments[1..]);
    }
    let command = Tern::parse().command;
    if let TernCommand::Doctor(arguments) = &command {
        let (text, is_bad) = doctor::examine(arguments);
        let printed = print(&text);
        return if is_bad { ExitCode::FAILURE } else { printed };
    }
    match answer(command) {
        Ok(text) => print(&text),
        Err(message) => {
            interrupt::give_way();
            eprintln!("tern: {message}");
            ExitCode::from(2)
        }
    }
}

fn answer(command: TernCommand) -> Result<String, String> {
    match command {
        TernCommand::Info(arguments) => {
            let library = arguments.library.as_deref();
            let answers: Result<Vec<_>, _> =
                arguments.topics().iter().map(|topic| about(topic, library)).collect();
            Ok(answers?.join("\n"))
        }
        TernCommand::Doctor(arguments) => Ok(doctor::examine(&arguments).0),
        TernCommand::Sim(arguments) => sim::answer(arguments),
        TernCommand::Tune(arguments) => tune::run(&arguments.options()?),
        TernCommand::Netpipe(arguments) => netpipe::answer(arguments),
        TernCommand::Completions { shell, program } => Ok(manual::completions(shell, &program)),
        TernCommand::OptionsPage => Ok(tern_mpirun::options_page()),
        TernCommand::ManualPages { folder } => manual::write_pages(&folder),
    }
}

fn about(topic: &Topic, library: Option<&Path>) -> Result<String, String> {
    match topic {
        Topic::Overview => info::overview(library),
        Topic::Protocols => protocols::list(),
        Topic::Collectives => collectives::list(),
        Topic::Coverage => coverage::list(library),
        Topic::Hosts(place) => hosts::ask(place),
    }
}

/// Whoever reads only the first lines, as `head` does, has what they want.
fn print(text: &str) -> ExitCode {
    match std::io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            eprintln!("tern: cannot write: {error}");
            ExitCode::FAILURE
        }
        _ => ExitCode::SUCCESS,
    }
}

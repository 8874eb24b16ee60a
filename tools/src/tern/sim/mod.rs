//! `tern sim`: what a collective would take on any number of ranks, by the simulator of crate `tern-sim`.
//!
//! [`options`] reads the command line, [`series`] runs the jobs that it asks for and lists what they found, [`plot`] draws
//! it; [`files`] lists prices of collective accesses, [`windows`] those of puts and fences; [`choose`] compares the selection table with all algorithms, [`check`] the simulator with real runs.

mod check;
mod choose;
mod files;
mod options;
mod plot;
mod progress;
mod series;
pub(crate) mod units;
mod windows;

use std::io::Write;

pub(crate) use options::SimArguments;
use options::{SimOptions, Task};

/// Does what the arguments ask for.
pub(crate) fn answer(arguments: SimArguments) -> Result<String, String> {
    let options = SimOptions::new(arguments)?;
    match options.task {
        Task::PrintParams => Ok(options.params.to_toml()),
        Task::Check => check::list(&options),
        Task::Choose => choose::list(&options),
        Task::Files => Ok(files::list(&options)),
        Task::Windows => windows::list(&options),
        Task::Simulate => series::list(&options, &mut |row| {
            // Whoever reads no more is found out by the text at the end.
            let _ = std::io::stdout().write_all(row.as_bytes()).and_then(|()| std::io::stdout().flush());
        }),
    }
}

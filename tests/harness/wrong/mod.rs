//! Grids of wrong programs (`tests/wrong/`): what a user must see of each mistake, over each transport.

mod blocking;
mod collectives;
mod environment;
mod launch;
mod memory;
mod windows;

use crate::options::Options;
use crate::report::Report;

/// Runs what the options select.
pub(crate) fn run(options: &Options, report: &Report) {
    blocking::run(options, report);
    collectives::run(options, report);
    environment::run(options, report);
    launch::run(options, report);
    memory::run(options, report);
    windows::run(options, report);
}

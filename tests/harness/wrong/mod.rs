//! Grids of wrong programs (`tests/wrong/`): each case states what a user must see.

mod launch;

use crate::options::Options;
use crate::report::Report;

/// Runs what the options select.
pub fn run(options: &Options, report: &Report) {
    launch::run(options, report);
}

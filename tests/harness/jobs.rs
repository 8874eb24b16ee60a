//! Whole-job tests.

use crate::options::Options;
use crate::report::Report;

/// Runs what the options select.
pub fn run(_options: &Options, _report: &Report) {}

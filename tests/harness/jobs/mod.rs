//! Whole-job tests: how jobs end, what is said about them, and what they stand.

mod checks;
mod common;
mod endings;
mod events;
mod files;
mod fled;
mod hosts;
mod instructions;
mod killed;
mod leftovers;
mod memory;
mod mpiexec;
mod multicast;
mod net;
mod netpipe;
mod places;
mod prints;
mod refused;
mod reports;
mod settings;
mod ssh;
mod stats;
mod strangers;
mod tables;
mod worlds;

use std::time::Instant;

use crate::options::Options;
use crate::report::Report;
use common::{Jobs, Skip};

/// Runs what the options select, one after the other: some look for leftovers of theirs, and most wait.
pub(crate) fn run(options: &Options, report: &Report) {
    let jobs = Jobs { options };
    for test in endings::TESTS
        .iter()
        .chain(fled::TESTS)
        .chain(killed::TESTS)
        .chain(files::TESTS)
        .chain(checks::TESTS)
        .chain(hosts::TESTS)
        .chain(ssh::TESTS)
        .chain(net::TESTS)
        .chain(multicast::TESTS)
        .chain(settings::TESTS)
        .chain(strangers::TESTS)
        .chain(mpiexec::TESTS)
        .chain(reports::TESTS)
        .chain(places::TESTS)
        .chain(refused::TESTS)
        .chain(prints::TESTS)
        .chain(leftovers::TESTS)
        .chain(tables::TESTS)
        .chain(netpipe::TESTS)
        .chain(instructions::TESTS)
        .chain(memory::TESTS)
        .chain(stats::TESTS)
        .chain(events::TESTS)
        .chain(worlds::TESTS)
    {
        let name = format!("job {}", test.name);
        if !options.wants(&name) {
            continue;
        }
        let start = Instant::now();
        match (test.run)(&jobs) {
            Ok(Ok(())) => report.case(&name, start.elapsed(), Ok(())),
            Ok(Err(Skip(why))) => report.skipped(&name, &why),
            Err(words) => report.case(&name, start.elapsed(), Err(words)),
        }
    }
}

//! `tern-tests`: compiles the C programs of the conformance suite with the staged `mpicc` and runs each
//! under every transport instance and number of ranks that its header names; runs the whole-job tests;
//! and, with `--all`, every other check of the project too. The last line is `N passed, N failed, N skipped`.

#![forbid(unsafe_code)]

mod compile;
mod conformance;
mod instances;
mod jobs;
mod options;
mod process;
mod program;
mod report;
mod steps;
mod wrong;

use std::process::ExitCode;

use options::Options;
use report::Report;

fn main() -> ExitCode {
    let options = match Options::from_args(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(message) => {
            eprintln!("{message}");
            return ExitCode::from(2);
        }
    };
    if let Err(error) = tern_job::procfs::make_children_interruptible() {
        eprintln!("tern-tests: interrupts will be ignored: {error}");
    }
    let report = Report::new(options.demanding());
    run(&options, &report);
    report.finish()
}

fn run(options: &Options, report: &Report) {
    if options.all && !prepare(options, report) {
        return;
    }
    // Whole jobs, wrong programs, launchers and installers wait most of the time, for what does not come; C programs, compilers and
    // suites do not, but have long stretches of one process. So both kinds run beside each other.
    let whole_jobs = options.whole_jobs && options.foreign.is_none();
    conformance::run(options, report, || {
        if whole_jobs {
            jobs::run(options, report);
        }
    });
    std::thread::scope(|scope| {
        if whole_jobs {
            scope.spawn(|| wrong::run(options, report));
        }
        if options.all {
            scope.spawn(|| steps::launchers(options, report));
            steps::libraries(options, report);
        }
    });
}

/// Checks of the sources, and all that is built; whether the suites can run on it.
fn prepare(options: &Options, report: &Report) -> bool {
    // Linking what is staged keeps one core busy, and unit tests wait for each other. All build in folders of their own.
    std::thread::scope(|scope| {
        scope.spawn(|| steps::source_checks(options, report));
        let is_staged = steps::stage(options, report);
        steps::model_checks(options, report);
        steps::gates(options, report);
        steps::memory_checks(options, report);
        is_staged
    })
}

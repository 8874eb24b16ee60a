//! The conformance suite: every program under every instance, for the numbers of ranks that the instance is tried with.

use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::compile;
use crate::instances::{self, INSTANCES, Instance};
use crate::options::Options;
use crate::process;
use crate::program::{self, Program};
use crate::report::Report;

/// A heavy program's ranks hold messages of more than 2 GiB, sent and received.
const HEAVY_MEMORY_KIB: u64 = 7 << 20;

/// How much later than `mpirun --timeout` the harness gives up: the report must still come.
const GRACE: Duration = Duration::from_secs(15);

/// Beyond, a program that hangs would be waited for too long.
const PATIENCE_MAX: u32 = 16;

struct Case<'a> {
    name: String,
    program: &'a Program,
    executable: PathBuf,
    instance: &'a Instance,
    ranks: usize,
}

/// Runs what the options select; `beside` those cases that need not run by themselves, something else.
pub(crate) fn run(options: &Options, report: &Report, beside: impl FnOnce() + Send) {
    let mut programs = read(options, report, "tests/c", "c");
    if compile::has_fortran(options) {
        programs.extend(program::for_each_interface(read(options, report, "tests/fortran", "F90")));
    } else if !options.sanitize {
        report.skipped("Fortran", "no Fortran compiler, or no modules for it");
    }
    if !instances::has_libfabric() {
        report.skipped("libfabric", "libfabric.so.1 is not installed");
    }
    let cases = select(options, report, &programs);
    let (alone, together): (Vec<_>, Vec<_>) = cases.iter().partition(|case| case.runs_alone());
    thread::scope(|scope| {
        scope.spawn(beside);
        in_parallel(options.jobs, &together, |case| case.run(options, report));
    });
    in_parallel(1, &alone, |case| case.run(options, report));
}

fn read(options: &Options, report: &Report, folder: &str, ending: &str) -> Vec<Program> {
    let folder = options.root.join(folder);
    let (programs, errors) = match program::read_all(&folder, ending) {
        Ok(read) => read,
        Err(error) => (Vec::new(), vec![format!("{}: {error}", folder.display())]),
    };
    for error in errors {
        report.case("header", Duration::ZERO, Err(error));
    }
    programs
}

fn select<'a>(options: &Options, report: &Report, programs: &'a [Program]) -> Vec<Case<'a>> {
    let compiled: Vec<OnceLock<Vec<Case<'a>>>> = programs.iter().map(|_| OnceLock::new()).collect();
    let numbers: Vec<usize> = (0..programs.len()).collect();
    in_parallel(options.jobs, &numbers, |&number| {
        compiled[number].get_or_init(|| cases_compiled(options, report, &programs[number]));
    });
    compiled.into_iter().flat_map(|cases| cases.into_inner().unwrap_or_default()).collect()
}

/// The cases of one program that are to run, if it can be compiled.
fn cases_compiled<'a>(options: &Options, report: &Report, program: &'a Program) -> Vec<Case<'a>> {
    let wanted = cases_of(options, program);
    if wanted.is_empty() {
        return Vec::new();
    }
    if program.heavy && memory_available_kib() < HEAVY_MEMORY_KIB {
        report.skipped(&program.name, "needs 7 GiB of free memory");
        return Vec::new();
    }
    let start = Instant::now();
    let executable = match compile::compile_program(options, program) {
        Ok(executable) => executable,
        Err(words) => {
            report.case(&format!("compile {}", program.name), start.elapsed(), Err(words));
            return Vec::new();
        }
    };
    let case = |(instance, ranks)| Case {
        name: case_name(program, instance, ranks),
        program,
        executable: executable.clone(),
        instance,
        ranks,
    };
    wanted.into_iter().map(case).collect()
}

fn cases_of(options: &Options, program: &Program) -> Vec<(&'static Instance, usize)> {
    let default_only = program.heavy || program.default_only || options.foreign.is_some();
    // Who names instances or numbers of ranks gets each that there is.
    let named = !options.instances.is_empty() || !options.ranks.is_empty();
    let count = if options.sample { Some(1) } else { named.then_some(usize::MAX) };
    let is_chosen = |ranks: &usize| options.ranks.is_empty() || options.ranks.contains(ranks);
    let numbers: Vec<usize> = program.ranks.iter().copied().filter(is_chosen).collect();
    let mut wanted = Vec::new();
    for instance in INSTANCES.iter().filter(|instance| instance.default || !default_only) {
        if !instance.runs(&program.name) || instance.needs_libfabric() && !instances::has_libfabric() {
            continue;
        }
        for ranks in instance.ranks_of(&program.name, &numbers, count) {
            let name = case_name(program, instance, ranks);
            let chosen = options.wants(&name)
                && (options.instances.is_empty()
                    || options.instances.iter().any(|only| only == instance.name))
                && (options.heavy || !program.heavy);
            if chosen {
                wanted.push((instance, ranks));
            }
        }
    }
    wanted
}

fn case_name(program: &Program, instance: &Instance, ranks: usize) -> String {
    format!("{} n={ranks} {}", program.name, instance.name)
}

impl Case<'_> {
    fn runs_alone(&self) -> bool {
        self.program.heavy || self.program.alone
    }

    fn run(&self, options: &Options, report: &Report) {
        let start = Instant::now();
        let limit = self.program.timeout * patience();
        let result = match process::run(&mut self.command(options, limit), limit + GRACE) {
            Ok(outcome) if outcome.success() && has_summary(&outcome.stdout) => Ok(()),
            Ok(outcome) => Err(outcome.describe()),
            Err(error) => Err(format!("cannot run {}: {error}", options.mpirun().display())),
        };
        report.case(&self.name, start.elapsed(), result);
    }

    fn command(&self, options: &Options, limit: Duration) -> Command {
        let mut command = Command::new(options.mpirun());
        let seconds = limit.as_secs().to_string();
        if options.foreign.is_some() {
            command.env("MPIEXEC_TIMEOUT", seconds);
        } else {
            command.args(["--timeout", &seconds]);
        }
        command.args(["-n", &self.ranks.to_string()]).arg(&self.executable);
        command.envs(self.instance.environment.iter().copied());
        // What a rank holds at its end is the system's to free.
        command.envs(options.sanitize.then_some(("ASAN_OPTIONS", "detect_leaks=0")));
        command
    }
}

/// How many times as long a program may take as its header says, which speaks of a machine that has little else to do.
fn patience() -> u32 {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    patience_under(&text, cores)
}

/// `load`: as the system has it in `/proc/loadavg`, the mean of a minute first and those who want a core now fourth. The suite's own
/// programs are some of them.
fn patience_under(load: &str, cores: usize) -> u32 {
    let mut words = load.split_whitespace();
    let mean: f64 = words.next().and_then(|word| word.parse().ok()).unwrap_or(0.0);
    let now: f64 = words.nth(2).and_then(|word| word.split('/').next()?.parse().ok()).unwrap_or(0.0);
    let turns = mean.max(now) / (2 * cores) as f64;
    turns.ceil().clamp(1.0, f64::from(PATIENCE_MAX)) as u32
}

// Rank 0 of every program ends with 'ok N checks': a program that ends early and silently has failed.
fn has_summary(stdout: &str) -> bool {
    stdout.lines().any(|line| line.starts_with("ok ") && line.ends_with(" checks"))
}

fn in_parallel<T: Sync>(workers: usize, items: &[T], work: impl Fn(&T) + Sync) {
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
                    work(item);
                }
            });
        }
    });
}

fn memory_available_kib() -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    text.lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))
        .and_then(|rest| rest.split_whitespace().next()?.parse().ok())
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_shares_the_machine_has_more_time() {
        assert_eq!(patience_under("0.20 0.18 0.12 1/80 11206", 2), 1);
        assert_eq!(patience_under("3.90 0.18 0.12 4/80 11206", 2), 1);
        assert_eq!(patience_under("1.00 0.18 0.12 28/380 11206", 2), 7);
        assert_eq!(patience_under("20.5 0.18 0.12 3/380 11206", 2), 6);
        assert_eq!(patience_under("2000 0.18 0.12 3/380 11206", 2), PATIENCE_MAX);
        assert_eq!(patience_under("", 2), 1);
    }
}

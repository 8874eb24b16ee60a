//! `tern netpipe`: all that it measures, in a hurry, and what it leaves behind.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::Value;

use super::common::{JOB_LIMIT, Jobs, Test, Verdict, expect, passed, skip};
use super::net::processes;
use crate::process::{self, GONE_WITHIN, Outcome, Running, wait_until_gone};

/// Some fifty short jobs, on a machine that may be busy.
const NETPIPE_LIMIT: Duration = Duration::from_secs(300);

/// No message of these sizes takes less, and none more unless something hangs, seconds.
const PLAUSIBLE_S: std::ops::Range<f64> = 1e-8..10.0;

/// A load or store of mapped memory takes less than a message.
const PLAUSIBLE_ACCESS_S: std::ops::Range<f64> = 1e-10..10.0;

/// The tests of this file.
pub(super) const TESTS: &[Test] = &[
    Test { name: "tern netpipe over shm", run: over_shm },
    Test { name: "tern netpipe over tcp", run: over_tcp },
    Test { name: "tern netpipe until it is steady", run: until_steady },
    Test { name: "tern netpipe between hosts", run: between_hosts },
    Test { name: "tern netpipe without its other host", run: no_host },
    Test { name: "tern netpipe ended by a signal", run: ended },
];

fn over_shm(jobs: &Jobs<'_>) -> Verdict {
    let words = ["--transport", "shm", "--trials", "2", "--curves", "--thresholds", "--rma"];
    let run = Run::new(jobs, "shm", &words)?;
    let curves = run.section("curves")?;
    for system in ["tern", "raw", "raw-blocking"] {
        run.check_curve(curves, system, &[1, 4, 16, 64, 256, 1 << 10, 1 << 16, 1 << 20, 4 << 20])?;
    }
    run.check_thresholds(&[1 << 10, 4 << 10, 32 << 10])?;
    for name in ["put.tern", "get.tern", "accumulate.tern", "put.memory", "accumulate.memory", "put.raw"] {
        run.finding("rma", &format!("{name}.latency_s"), PLAUSIBLE_ACCESS_S)?;
        run.finding("rma", &format!("{name}.throughput_max_bytes_per_s"), 1e3..1e13)?;
    }
    run.check_files(&["rma-put-time.svg", "rma-accumulate-throughput.png"])?;
    run.check_files(&["results.txt", "curves-time.svg", "curves-throughput.png", "thresholds.svg"])?;
    passed()
}

fn over_tcp(jobs: &Jobs<'_>) -> Verdict {
    let run = Run::new(jobs, "tcp", &["--transport", "tcp", "--trials", "1", "--to", "1m", "--all"])?;
    for (section, systems) in [
        ("curves", &["tern", "raw", "raw-blocking"][..]),
        ("comms1", &["tern", "raw"]),
        ("comms2", &["tern", "raw"]),
    ] {
        for system in systems {
            run.check_curve(run.section(section)?, system, &[1, 1 << 10, 1 << 16, 1 << 20])?;
        }
    }
    for name in ["tern.r_inf_bytes_per_s", "raw.n_half_bytes"] {
        run.finding("comms1", name, 1.0..1e12)?;
    }
    run.finding("curves", "tern_over_raw.throughput_best_min", 0.01..100.0)?;
    run.check_thresholds(&[16 << 10, 128 << 10, 512 << 10])?;
    for mode in ["poll", "thread"] {
        // What was disturbed may seem to take more than one after the other.
        run.finding("overlap", &format!("overlap_{mode}_{}", 4 << 20), -100.0..100.0)?;
    }
    run.finding("overlap", "interrupt_thread_8_s", PLAUSIBLE_S)?;
    run.finding("rma", "get.tern.latency_s", PLAUSIBLE_ACCESS_S)?;
    run.check_files(&["curves-signature.svg", "comms2-throughput.png", "overlap-time.svg"])?;
    passed()
}

/// Without a number of turns, each size has as many as it needs, and the report says how steady it is.
fn until_steady(jobs: &Jobs<'_>) -> Verdict {
    let words = ["--only", "tern,raw", "--to", "64k", "--limit", "5s"];
    let run = Run::new(jobs, "steady", &words)?;
    let curves = run.section("curves")?;
    for system in ["tern", "raw"] {
        run.check_curve(curves, system, &[1, 1 << 10, 1 << 16])?;
        run.finding("curves", &format!("{system}.steady_part"), 0.0..1.1)?;
        run.finding("curves", &format!("{system}.spread_max"), 0.0..100.0)?;
        run.expect(
            run.outcome
                .stdout
                .lines()
                .any(|line| line.contains(system) && line.contains("figures are steady")),
            &format!("it says how steady the figures of {system} are"),
        )?;
    }
    for point in
        curves["curves"].as_array().into_iter().flatten().filter_map(|curve| curve["points"].as_array())
    {
        for point in point {
            let (trials, spread) = (point["trials"].as_u64(), point["spread"].as_f64());
            run.expect(trials >= Some(3) && spread >= Some(0.0), &format!("{point} has turns and a spread"))?;
        }
    }
    passed()
}

/// In network namespaces, where raw TCP must find the right one of several addresses, too.
fn between_hosts(jobs: &Jobs<'_>) -> Verdict {
    let testnet = jobs.options.root.join("tests/net/testnet.sh");
    let folder = folder(jobs, "hosts")?;
    let script = "exec \"$0\" netpipe --launcher \"$MPI_LAUNCHER\" --host \"$MPI_HOSTS\" \"$@\"";
    let mut command = Command::new(testnet);
    command.args(["with", "3", "0", "sh", "-c", script]).arg(jobs.tern());
    command.args(["--quick", "--no-peers", "--trials", "1", "--to", "64k", "--curves"]);
    command.args(["--collective", "bcast", "--algorithm", "chain", "--hosts", "2-3", "--bytes", "8,64k"]);
    let outcome = finish(command.arg("--output").arg(&folder))?;
    if let Some(why) = outcome.stderr.lines().find_map(|line| line.strip_prefix("testnet.sh: ")) {
        return skip(why);
    }
    let run = Run::read(folder, outcome)?;
    for system in ["tern", "raw", "raw-blocking"] {
        run.check_curve(run.section("curves")?, system, &[1, 1 << 16])?;
    }
    let names =
        ["tern.2.8_s", "tern.3.65536_s", "tern, multicast.3.8_s", "tern, TCP.3.65536_s", "tern, chain.3.8_s"];
    for name in names.into_iter().chain(["raw.65536_s"]) {
        run.finding("bcast", name, PLAUSIBLE_S)?;
    }
    run.check_files(&["bcast-8.svg", "bcast-65536.png"])?;
    passed()
}

/// The reason is in the message.
fn no_host(jobs: &Jobs<'_>) -> Verdict {
    let mut command = Command::new(jobs.tern());
    command.args(["netpipe", "--quick", "--no-peers", "--launcher", "sh -c", "--host"]);
    let outcome =
        finish(command.arg("no-such-command-here,neither").arg("--output").arg(folder(jobs, "none")?))?;
    expect(outcome.code() == Some(2), "it fails with 2", &outcome)?;
    expect(outcome.stderr.contains("no-such-command-here"), "the host is named", &outcome)?;
    passed()
}

/// Neither its job nor its folder is left.
fn ended(jobs: &Jobs<'_>) -> Verdict {
    let scratch = folder(jobs, "ended")?;
    fs::create_dir_all(&scratch).map_err(|error| format!("{}: {error}", scratch.display()))?;
    let mut command = Command::new(jobs.tern());
    command.args(["netpipe", "--only", "tern", "--no-peers", "--output"]).arg(scratch.join("results"));
    let running = Running::start(command.env("TMPDIR", &scratch)).map_err(|error| error.to_string())?;
    let (mark, start) = (running.mark(), Instant::now());
    while processes(&mark, "netpipe").len() < 2 {
        std::thread::sleep(Duration::from_millis(10));
        if start.elapsed() > JOB_LIMIT {
            return Err("no job runs".into());
        }
    }
    running.signal(Signal::TERM);
    let outcome = running.wait(JOB_LIMIT).map_err(|error| error.to_string())?;
    expect(outcome.code() == Some(143), "it ends by the signal", &outcome)?;
    let left = wait_until_gone(&mark, GONE_WITHIN);
    expect(left.is_empty(), "no process is left", &outcome)?;
    let left = fs::read_dir(&scratch).map_err(|error| error.to_string())?.count();
    expect(left == 0, "no folder is left", &outcome)?;
    passed()
}

/// A folder that nothing is in.
fn folder(jobs: &Jobs<'_>, name: &str) -> Result<PathBuf, String> {
    let folder = jobs.options.programs().join(format!("netpipe-{name}"));
    match fs::remove_dir_all(&folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(format!("{}: {error}", folder.display()))
        }
        _ => Ok(folder),
    }
}

fn finish(command: &mut Command) -> Result<Outcome, String> {
    process::run(command, NETPIPE_LIMIT).map_err(|error| format!("{command:?}: {error}"))
}

/// A run and its results.
struct Run {
    folder: PathBuf,
    outcome: Outcome,
    results: Value,
}

impl Run {
    fn new(jobs: &Jobs<'_>, name: &str, words: &[&str]) -> Result<Run, String> {
        let folder = folder(jobs, name)?;
        let mut command = Command::new(jobs.tern());
        command.args(["netpipe", "--quick", "--no-peers"]).args(words).arg("--output").arg(&folder);
        Run::read(folder, finish(&mut command)?)
    }

    fn read(folder: PathBuf, outcome: Outcome) -> Result<Run, String> {
        expect(outcome.success(), "tern netpipe succeeds", &outcome)?;
        let file = folder.join("results.json");
        let text = fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
        let results = serde_json::from_str(&text).map_err(|error| format!("{}: {error}", file.display()))?;
        Ok(Run { folder, outcome, results })
    }

    fn section(&self, name: &str) -> Result<&Value, String> {
        let sections = self.results["sections"].as_array().into_iter().flatten();
        let found = sections.into_iter().find(|section| section["name"] == name);
        found.ok_or_else(|| format!("there is no section '{name}' in {}", self.results))
    }

    fn expect(&self, holds: bool, statement: &str) -> Result<(), String> {
        expect(holds, statement, &self.outcome)
    }

    /// All these sizes, with times that can be, and a byte of the largest takes less than one of the smallest. (Its time may
    /// be the shorter one on a busy machine, where polled sockets keep each other's core for whole time slices.)
    fn check_curve(&self, section: &Value, system: &str, sizes: &[u64]) -> Result<(), String> {
        let curves = section["curves"].as_array().into_iter().flatten();
        let curve = curves.into_iter().find(|curve| curve["system"] == system);
        let points = curve.and_then(|curve| curve["points"].as_array()).cloned().unwrap_or_default();
        let mut bests = Vec::new();
        for bytes in sizes {
            let point = points.iter().find(|point| point["bytes"] == *bytes);
            let time = |name: &str| point.and_then(|point| point[name].as_f64());
            let (best, median) = (time("best_s").unwrap_or(0.0), time("median_s").unwrap_or(0.0));
            let is_time = PLAUSIBLE_S.contains(&best) && best <= median;
            self.expect(
                is_time,
                &format!("{system}: {bytes} B take {best} s at best, {median} s in the median"),
            )?;
            bests.push(best / *bytes as f64);
        }
        self.expect(
            bests.last() < bests.first(),
            &format!("{system}: a byte takes less in a large one: {bests:?}"),
        )
    }

    fn check_thresholds(&self, thresholds: &[u64]) -> Result<(), String> {
        thresholds.iter().try_for_each(|bytes| self.finding("thresholds", &format!("dip_{bytes}"), 0.0..1.0))
    }

    fn finding(&self, section: &str, name: &str, range: std::ops::Range<f64>) -> Result<(), String> {
        let value = self.section(section)?["findings"][name].as_f64();
        self.expect(
            value.is_some_and(|value| range.contains(&value)),
            &format!("{section}: {name} is {value:?}, in {range:?}"),
        )
    }

    /// These files and the page, which has all pictures that there are files of.
    fn check_files(&self, names: &[&str]) -> Result<(), String> {
        for name in names {
            let bytes = fs::read(self.folder.join(name)).unwrap_or_default();
            let is_right = match Path::new(name).extension().and_then(|ending| ending.to_str()) {
                Some("png") => bytes.starts_with(b"\x89PNG\r\n\x1a\n"),
                Some("svg") => bytes.starts_with(b"<svg") && bytes.trim_ascii_end().ends_with(b"</svg>"),
                _ => !bytes.is_empty(),
            };
            self.expect(is_right, &format!("{name} is written"))?;
        }
        let page = fs::read_to_string(self.folder.join("index.html")).unwrap_or_default();
        let entries = fs::read_dir(&self.folder).map_err(|error| error.to_string())?.flatten();
        let pictures =
            entries.filter(|entry| entry.path().extension().is_some_and(|ending| ending == "svg")).count();
        self.expect(pictures > 0 && page.matches("<svg").count() == pictures, "the page has all pictures")?;
        self.expect(self.outcome.stdout.contains("index.html"), "it says what it has written")
    }
}

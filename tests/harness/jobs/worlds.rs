//! Worlds that ranks have started, and jobs that meet at a port: who ends with whom, and what is left.

use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use std::io::Write;

use rustix::process::Signal;
use tern_job::procfs::ProcessStat;

use super::common::{JOB_LIMIT, Jobs, Test, Verdict, expect, expect_code, expect_said, passed};
use super::endings::{expect_gone, ranks_of, wait_for_ranks};
use crate::compile::compile;
use crate::process::{GONE_WITHIN, Running, marked_processes, send};

/// The tests of this file.
pub(super) const TESTS: &[Test] = &[
    Test { name: "worlds: a child killed", run: child_killed },
    Test { name: "worlds: a parent killed", run: parent_killed },
    Test { name: "worlds: who has parted is left alone", run: parted },
    Test { name: "worlds: mpirun killed", run: mpirun_killed },
    Test { name: "worlds: mpirun stopped and continued", run: stopped },
    Test { name: "worlds: of one that nobody has launched", run: alone },
    Test { name: "worlds: two jobs meet", run: meet },
    Test { name: "worlds: a late one is waited for", run: late },
    Test { name: "worlds: two jobs that are connected end together", run: end_together },
    Test { name: "worlds: names go with their job", run: names_go },
    Test { name: "worlds: strangers at a port", run: strangers },
    Test { name: "worlds: whose port it was is killed", run: owner_killed },
];

/// Strangers at a port.
const STRANGERS: usize = 10_000;

/// What a process of that program is called once its worlds are as they are to be.
const SITTING: &str = "sitting";

/// Time in which processes get into their calls once they sit.
const SETTLE: Duration = Duration::from_millis(300);

/// As late as whoever waits in vain is told so earlier.
const LATE: Duration = Duration::from_secs(3);

impl Jobs<'_> {
    /// The program whose worlds come and go, compiled.
    fn worlds(&self) -> Result<PathBuf, String> {
        compile(self.options, &self.options.root.join("tests/jobs/worlds.c"))
    }

    /// Two parents with two children. The processes in the order in which they were started.
    fn family(&self, words: &[&str]) -> Result<(Running, Vec<u32>), String> {
        let running = start(self.mpirun(2).arg(self.worlds()?).arg("start").args(words))?;
        wait_for_ranks(&running, SITTING, 4)?;
        std::thread::sleep(SETTLE);
        let ranks = ranks_of(&running, SITTING);
        Ok((running, ranks))
    }
}

fn start(command: &mut Command) -> Result<Running, String> {
    Running::start(command).map_err(|error| error.to_string())
}

/// A member of the family is killed: within 2 s nobody is left.
fn kill(jobs: &Jobs<'_>, victim: usize, words: &[&str]) -> Result<(), String> {
    let (running, ranks) = jobs.family(words)?;
    let mark = running.mark();
    let Some(&process) = ranks.get(victim) else { return Err(format!("these ranks run: {ranks:?}")) };
    send(process, Signal::KILL);
    let killed = Instant::now();
    let outcome = running.wait(JOB_LIMIT).map_err(|error| error.to_string())?;
    expect(killed.elapsed() < GONE_WITHIN, "mpirun has ended within 2 s", &outcome)?;
    expect_gone(&mark)?;
    expect_code(&outcome, 137)?;
    expect_said(&outcome, &["signal 9", &format!("process {process}")])
}

fn child_killed(jobs: &Jobs<'_>) -> Verdict {
    for words in [&["call"][..], &[]] {
        kill(jobs, 2, words)?;
        kill(jobs, 3, words)?;
    }
    passed()
}

fn parent_killed(jobs: &Jobs<'_>) -> Verdict {
    for words in [&["call"][..], &[]] {
        kill(jobs, 0, words)?;
        kill(jobs, 1, words)?;
    }
    passed()
}

fn parted(jobs: &Jobs<'_>) -> Verdict {
    for victim in [1, 2] {
        let (running, ranks) = jobs.family(&["disconnect"])?;
        let mark = running.mark();
        send(ranks[victim], Signal::KILL);
        std::thread::sleep(GONE_WITHIN);
        // Its own world has ended, and the other one goes on.
        let (gone, there) = if victim < 2 { (&ranks[..2], &ranks[2..]) } else { (&ranks[2..], &ranks[..2]) };
        let now = ranks_of(&running, SITTING);
        let alive =
            there.iter().all(|rank| now.contains(rank)) && !gone.iter().any(|rank| now.contains(rank));
        running.signal(Signal::KILL);
        let outcome = running.wait(JOB_LIMIT).map_err(|error| error.to_string())?;
        expect(alive, &format!("of {ranks:?} only {there:?} are there, not {now:?}"), &outcome)?;
        expect_gone(&mark)?;
    }
    passed()
}

/// That of the parents, or that of the children, which is its child.
fn mpirun_killed(jobs: &Jobs<'_>) -> Verdict {
    for of_children in [false, true] {
        let (running, _) = jobs.family(&["call"])?;
        let mark = running.mark();
        let launchers = ranks_of(&running, "mpirun");
        let victim = if of_children { launchers.last() } else { launchers.first() };
        let Some(&victim) = victim.filter(|_| launchers.len() == 2) else {
            return Err(format!("two mpiruns are there, not {launchers:?}"));
        };
        send(victim, Signal::KILL);
        let _ = running.wait(JOB_LIMIT).map_err(|error| error.to_string())?;
        expect_gone(&mark)?;
    }
    passed()
}

fn stopped(jobs: &Jobs<'_>) -> Verdict {
    let (running, ranks) = jobs.family(&[])?;
    let states =
        || -> String { ranks.iter().filter_map(|&rank| Some(ProcessStat::of(rank)?.state)).collect() };
    for (signal, are_stopped) in [(Signal::TSTP, true), (Signal::CONT, false)] {
        running.signal(signal);
        let began = Instant::now();
        while states().chars().any(|state| (state == 'T') != are_stopped) {
            if began.elapsed() > GONE_WITHIN {
                return Err(format!(
                    "2 s after {signal:?} the states of parents and children are {}",
                    states()
                ));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
    let mark = running.mark();
    running.signal(Signal::KILL);
    let _ = running.wait(JOB_LIMIT).map_err(|error| error.to_string())?;
    expect_gone(&mark)?;
    passed()
}

fn alone(jobs: &Jobs<'_>) -> Verdict {
    for victim in 0..2 {
        let running = start(Command::new(jobs.worlds()?).args(["start", "call"]))?;
        wait_for_ranks(&running, SITTING, 3)?;
        std::thread::sleep(SETTLE);
        let mark = running.mark();
        let ranks = ranks_of(&running, SITTING);
        send(ranks[victim], Signal::KILL);
        let killed = Instant::now();
        let outcome = running.wait(JOB_LIMIT).map_err(|error| error.to_string())?;
        expect(killed.elapsed() < GONE_WITHIN, "the program has ended within 2 s", &outcome)?;
        expect_gone(&mark)?;
    }
    passed()
}

fn service() -> String {
    format!("tern worlds test {}", std::process::id())
}

fn meet(jobs: &Jobs<'_>) -> Verdict {
    let (program, service) = (jobs.worlds()?, service());
    let server = start(jobs.mpirun(2).arg(&program).args(["serve", &service, "3"]))?;
    // Two jobs of mpirun, and one process that nobody has launched.
    for mut client in [jobs.mpirun(3), jobs.mpirun(1), Command::new(&program)] {
        if client.get_args().next().is_some() {
            client.arg(&program);
        }
        let outcome = super::common::run_command(client.args(["call", &service]))?;
        expect_code(&outcome, 0)?;
        expect(outcome.stdout.contains("called 3"), "it hears of both servers", &outcome)?;
    }
    let outcome = server.wait(JOB_LIMIT).map_err(|error| error.to_string())?;
    expect_code(&outcome, 0)?;
    for sum in ["served 60", "served 10"] {
        expect(outcome.stdout.contains(sum), sum, &outcome)?;
    }
    passed()
}

/// Of jobs, and of a process that nobody has launched.
fn names_go(jobs: &Jobs<'_>) -> Verdict {
    let (program, service) = (jobs.worlds()?, service());
    let names = std::env::temp_dir().join(format!("tern-names-{}", std::process::id()));
    for mut publisher in [jobs.mpirun(2), Command::new(&program)] {
        if publisher.get_args().next().is_some() {
            publisher.arg(&program);
        }
        let outcome =
            super::common::run_command(publisher.args(["publish", &service]).env("TERN_NAMES", &names))?;
        expect_code(&outcome, 0)?;
        let left = std::fs::read_dir(&names).map_err(|error| error.to_string())?.count();
        expect(left == 0, "no name is left", &outcome)?;
    }
    std::fs::remove_dir_all(names).map_err(|error| error.to_string())?;
    passed()
}

/// Who waits for another world is not taken for deserted by a rank of its own one in `MPI_Finalize`.
fn late(jobs: &Jobs<'_>) -> Verdict {
    let (program, service) = (jobs.worlds()?, service());
    let outcome = super::common::run_command(jobs.mpirun(2).arg(&program).arg("late"))?;
    expect_code(&outcome, 0)?;
    let server = start(jobs.mpirun(2).arg(&program).args(["serve", &service, "1", "apart"]))?;
    wait_for_ranks(&server, "worlds", 2)?;
    std::thread::sleep(LATE);
    let client = super::common::run_command(jobs.mpirun(1).arg(&program).args(["call", &service]));
    let outcome = server.wait(JOB_LIMIT).map_err(|error| error.to_string())?;
    expect_code(&outcome, 0)?;
    expect_code(&client?, 0)?;
    passed()
}

fn end_together(jobs: &Jobs<'_>) -> Verdict {
    for kills_server in [true, false] {
        let (program, service) = (jobs.worlds()?, service());
        let client = start(jobs.mpirun(2).arg(&program).args(["call", &service, "stay"]))?;
        let server = start(jobs.mpirun(2).arg(&program).args(["serve", &service, "9"]))?;
        // The client sits once it is connected; the server waits for it to part.
        wait_for_ranks(&client, SITTING, 2)?;
        wait_for_ranks(&server, "worlds", 2)?;
        std::thread::sleep(SETTLE);
        let (victim, other) = if kills_server { (&server, &client) } else { (&client, &server) };
        let (mark, marks) = (victim.mark(), other.mark());
        let ranks = ranks_of(victim, if kills_server { "worlds" } else { SITTING });
        let Some(&process) = ranks.get(1) else { return Err(format!("these ranks run: {ranks:?}")) };
        send(process, Signal::KILL);
        expect_gone(&mark)?;
        expect_gone(&marks)?;
        for running in [client, server] {
            running.wait(JOB_LIMIT).map_err(|error| error.to_string())?;
        }
    }
    passed()
}

/// A process that opens a port, and the file to which it writes the port's name.
fn opening(program: &Path, word: &str) -> Result<(Running, PathBuf), String> {
    let said = std::env::temp_dir().join(format!("tern-port-{word}-{}", std::process::id()));
    std::fs::File::create(&said).map_err(|error| error.to_string())?;
    let mut command = Command::new("/bin/sh");
    command.args(["-c", "exec \"$0\" \"$2\" > \"$1\""]).arg(program).arg(&said).arg(word);
    Ok((start(&mut command)?, said))
}

/// Who waits at a port, and who comes when its owner is dead, hear of that at once.
fn owner_killed(jobs: &Jobs<'_>) -> Verdict {
    let program = jobs.worlds()?;
    let (owner, said) = opening(&program, "own")?;
    let port = wait_for_line(&said)?;
    let _ = std::fs::remove_file(&said);
    wait_for_ranks(&owner, SITTING, 1)?;
    let waiting = start(jobs.mpirun(1).arg(&program).args(["knock", &port]))?;
    wait_for_ranks(&waiting, "worlds", 1)?;
    std::thread::sleep(SETTLE);
    let killed = Instant::now();
    for process in ranks_of(&owner, SITTING) {
        send(process, Signal::KILL);
    }
    let outcome = waiting.wait(JOB_LIMIT).map_err(|error| error.to_string())?;
    let late = super::common::run_command(jobs.mpirun(1).arg(&program).args(["knock", &port]))?;
    for outcome in [outcome, late] {
        expect(killed.elapsed() < GONE_WITHIN, "who waits hears of it within 2 s", &outcome)?;
        expect(outcome.code() != Some(0), "nobody is let in", &outcome)?;
        expect_said(&outcome, &["nobody can be reached at the port"])?;
    }
    owner.wait(JOB_LIMIT).map_err(|error| error.to_string())?;
    passed()
}

/// Whoever does not know the port's secret has no effect on who does.
fn strangers(jobs: &Jobs<'_>) -> Verdict {
    let program = jobs.worlds()?;
    let (server, folder) = opening(&program, "open")?;
    let port = wait_for_line(&folder)?;
    let number = port.split('#').next().and_then(|place| place.rsplit(':').next()?.parse::<u16>().ok());
    let number = number.ok_or_else(|| format!("no port in '{port}'"))?;
    for stranger in 0..STRANGERS {
        let mut socket = TcpStream::connect(("127.0.0.1", number)).map_err(|error| error.to_string())?;
        let _ = socket.set_write_timeout(Some(Duration::from_millis(100)));
        let _ = match stranger % 3 {
            0 => socket.write_all(b"GET / HTTP/1.0\r\n\r\n"),
            1 => socket.write_all(&[0xa5; 700]),
            _ => Ok(()),
        };
    }
    let wrong = format!("{}{}", &port[..port.len() - 1], if port.ends_with('0') { '1' } else { '0' });
    let outcome = super::common::run_command(Command::new(&program).args(["knock", &wrong]))?;
    expect(
        outcome.code() != Some(0) && outcome.stderr.contains("MPI_Comm_connect"),
        "a wrong secret is refused",
        &outcome,
    )?;
    let outcome = super::common::run_command(Command::new(&program).args(["knock", &port]))?;
    expect_code(&outcome, 0)?;
    expect(marked_processes(&server.mark()).len() <= 1, "the server has ended, or is about to", &outcome)?;
    let outcome = server.wait(JOB_LIMIT).map_err(|error| error.to_string())?;
    let said = std::fs::read_to_string(&folder).unwrap_or_default();
    let _ = std::fs::remove_file(&folder);
    expect_code(&outcome, 0)?;
    expect(said.contains("somebody came"), "who knows the port is let in", &outcome)?;
    passed()
}

/// The first line of a file, once somebody has written it.
fn wait_for_line(path: &Path) -> Result<String, String> {
    let began = Instant::now();
    while began.elapsed() < JOB_LIMIT {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        if let Some((line, _)) = text.split_once('\n') {
            return Ok(line.to_owned());
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Err(format!("nothing is written to {}", path.display()))
}

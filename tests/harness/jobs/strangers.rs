//! Strangers at the listening sockets of a running job: they neither get in, nor hold it up, nor take it down.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::io::Write;
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::common::{JOB_LIMIT, Jobs, Test, Verdict, expect, expect_code, passed};
use crate::process::{Outcome, Running, marked_processes};

/// Strangers in each test.
const STRANGERS: usize = 10_000;
/// Connections that are held open and say no more.
const HALF_OPEN: usize = 300;
/// Between two strangers, so that they come at 2,000 a second and leave the ranks most of the cores.
const INTERVAL: Duration = Duration::from_micros(500);
/// Time for the ranks to start and talk, and in which nobody disturbs them.
const CALM: Duration = Duration::from_millis(2500);
/// 10,000 strangers take 6 s; a busy machine gets more.
const ATTACK_LIMIT: Duration = Duration::from_secs(30);
/// The ranks talk no longer than this, should nobody end them.
const TALK_SECONDS_MAX: &str = "50";
/// The strangers use the same cores as the ranks: on two idle cores three quarters of the pace are left. Where other programs
/// run as well, ranks that lose their core for a moment lose most of it; what is held up loses all.
const PACE_KEPT_MIN: f64 = 0.02;

/// The tests of this file.
pub(super) const TESTS: &[Test] = &[
    Test { name: "strangers: the pace of a job", run: pace },
    Test { name: "strangers: while connections break", run: reconnecting },
];

/// A job whose ranks talk until somebody creates a file: however long the strangers take on a busy machine, they find it running.
struct Talk {
    running: Running,
    ending: PathBuf,
}

impl Talk {
    fn start(jobs: &Jobs<'_>, what: &str, variables: &[(&str, &str)]) -> Result<Self, String> {
        let ending = std::env::temp_dir().join(format!("tern-strangers-{what}-{}", std::process::id()));
        // It is there only if an earlier process with the same number was killed.
        let _ = fs::remove_file(&ending);
        let mut command = Command::new(jobs.options.mpirun());
        command.env("TERN_TRANSPORT", "tcp").envs(variables.iter().copied());
        command.args(["-v", "-n", "2"]).arg(jobs.net()?).args([what, TALK_SECONDS_MAX]).arg(&ending);
        let running = Running::start(&mut command).map_err(|error| error.to_string())?;
        Ok(Self { running, ending })
    }

    /// Ends the talk, and says what it came to. Strangers who did not get their turn are shown what the job did.
    fn end(self, strangers: Result<(), String>) -> Result<Outcome, String> {
        fs::write(&self.ending, "").map_err(|error| format!("{}: {error}", self.ending.display()))?;
        let outcome = self.running.wait(JOB_LIMIT).map_err(|error| error.to_string());
        let _ = fs::remove_file(&self.ending);
        let outcome = outcome?;
        strangers.map_err(|error| format!("{error}\n{}", outcome.describe()))?;
        Ok(outcome)
    }
}

/// The ports on which processes of a job listen, with the processes' names.
fn listening(mark: &str) -> BTreeMap<u16, String> {
    let mut inodes = BTreeMap::new();
    for table in ["/proc/net/tcp", "/proc/net/tcp6"] {
        for line in fs::read_to_string(table).unwrap_or_default().lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            // Columns 1, 3 and 9 are the local address, the state (0A listens) and the inode.
            if words.get(3) == Some(&"0A")
                && let Some((_, port)) = words[1].rsplit_once(':')
                && let (Ok(port), Some(inode)) = (u16::from_str_radix(port, 16), words.get(9))
            {
                inodes.insert(format!("socket:[{inode}]"), port);
            }
        }
    }
    let mut found = BTreeMap::new();
    for pid in marked_processes(mark) {
        let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default().trim_end().to_owned();
        for file in fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten() {
            let target = fs::read_link(file.path()).unwrap_or_default().display().to_string();
            found.extend(inodes.get(&target).map(|port| (*port, name.clone())));
        }
    }
    found
}

/// What one that proves nothing says: a few bytes of anything, much of anything, the beginning of a hello, or a whole one with what may
/// have been recorded elsewhere behind it.
fn words(number: usize) -> Vec<u8> {
    let noise = |len: usize| (0..len).map(|at| (at * 31 + number * 7919 + ((at * at) >> 5)) as u8);
    let mut hello = b"TernTCP\x05".to_vec();
    hello.extend((1 - number as u32 / 8 % 2).to_le_bytes());
    hello.extend((number as u32 / 8 % 2).to_le_bytes());
    match number % 8 {
        0 => Vec::new(),
        1 => noise(40).collect(),
        2 => vec![0xff; 64 * 1024],
        3 => hello,
        4 => b"GET / HTTP/1.0\r\n\r\n".to_vec(),
        5 => noise(5000).collect(),
        _ => {
            hello.push(0);
            hello.extend(noise(64 + 32 + 40));
            hello
        }
    }
}

/// Sends all strangers to all doors. Some stay, and say nothing more.
fn attack(ports: &[u16]) -> Result<(), String> {
    let (mut staying, began) = (Vec::new(), Instant::now());
    for number in 0..STRANGERS {
        let port = ports[number % ports.len()];
        let mut stranger =
            TcpStream::connect(("127.0.0.1", port)).map_err(|error| format!("port {port}: {error}"))?;
        let _ = stranger.set_write_timeout(Some(Duration::from_millis(100)));
        // Whoever is turned away in the middle of a word has been heard.
        let _ = stranger.write_all(&words(number / ports.len()));
        if staying.len() < HALF_OPEN && number % 3 == 0 {
            staying.push(stranger);
        }
        std::thread::sleep((INTERVAL * (number as u32 + 1)).saturating_sub(began.elapsed()));
        if began.elapsed() > ATTACK_LIMIT {
            return Err(format!("only {number} strangers came in {ATTACK_LIMIT:?}"));
        }
    }
    Ok(())
}

/// The doors of a job that runs: one for each rank, and none of anybody else.
fn doors(running: &Running) -> Result<Vec<u16>, String> {
    let listening = listening(&running.mark());
    let others: HashSet<&str> =
        listening.values().map(String::as_str).filter(|name| *name != "net").collect();
    if listening.len() == 2 && others.is_empty() {
        return Ok(listening.into_keys().collect());
    }
    Err(format!("two ranks listen and nobody else, not {listening:?}"))
}

fn seconds() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |time| time.as_secs_f64())
}

/// Rounds per second in a part of what rank 0 has said.
fn rate(said: &str, from: f64, to: f64) -> f64 {
    let lines = said.lines().filter_map(|line| line.strip_prefix("at ")?.split_once(": "));
    let tenths: Vec<f64> = lines
        .filter_map(|(at, rounds)| Some((at.parse::<f64>().ok()?, rounds.parse::<f64>().ok()?)))
        .filter(|(at, _)| (from..to - 0.1).contains(at))
        .map(|(_, rounds)| 10.0 * rounds)
        .collect();
    tenths.iter().sum::<f64>() / tenths.len().max(1) as f64
}

fn pace(jobs: &Jobs<'_>) -> Verdict {
    let talk = Talk::start(jobs, "pace", &[])?;
    let begin = seconds();
    std::thread::sleep(CALM);
    let doors = doors(&talk.running);
    let attacked = seconds();
    let strangers = doors.and_then(|doors| attack(&doors));
    let over = seconds();
    let outcome = talk.end(strangers)?;
    expect_code(&outcome, 0)?;
    let (calm, under) = (rate(&outcome.stdout, begin + 0.5, attacked), rate(&outcome.stdout, attacked, over));
    println!(
        "     {calm:.0} rounds of 4 KiB a second in peace, {under:.0} while {STRANGERS} strangers came in {:.1} s",
        over - attacked
    );
    expect(calm > 0.0 && under > PACE_KEPT_MIN * calm, "the job goes on meanwhile", &outcome)?;
    let counted =
        outcome.stderr.lines().filter(|line| line.contains("connections that proved nothing")).count();
    expect(counted == 2, "both ranks say how many they have turned away", &outcome)?;
    passed()
}

/// Peers must get in among all of these.
fn reconnecting(jobs: &Jobs<'_>) -> Verdict {
    let talk = Talk::start(jobs, "exchange", &[("TERN_TCP_CUTS", "150")])?;
    std::thread::sleep(CALM);
    let strangers = doors(&talk.running).and_then(|doors| attack(&doors));
    let outcome = talk.end(strangers)?;
    expect_code(&outcome, 0)?;
    expect(outcome.stdout.contains(" rounds are right"), "its rounds are right", &outcome)?;
    passed()
}

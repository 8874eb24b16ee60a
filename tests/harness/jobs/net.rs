//! Jobs on hosts with a network of their own (network namespaces, `tests/net/testnet.sh`), and what may happen to it.

use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::common::{
    JOB_LIMIT, Jobs, Skip, Test, Verdict, expect, expect_code, expect_said, passed, run_command, skip,
};
use crate::instances::has_libfabric;
use crate::process::{GONE_WITHIN, Outcome, Running, marked_processes, send, wait_until_gone};

/// An agent that says nothing for 15 s is given up; then come the end of its job and a busy machine.
const SILENT_HOST_WITHIN: Duration = Duration::from_secs(20);
/// A job on a few hosts runs after this time, even on a busy machine.
const START_LIMIT: Duration = Duration::from_secs(20);
/// Time for a job whose ranks are there to have talked.
const WARM: Duration = Duration::from_millis(700);
/// Hello on 8 hosts may take 1 s on an idle machine; a busy one gets more.
const HELLO_LIMIT: Duration = Duration::from_secs(4);
/// A provider of libfabric that does not answer is told of in 10 s, with a start and an end on a busy machine.
const HANGING_FOUND_WITHIN: Duration = Duration::from_secs(13);
/// Why packets cannot be lost here.
pub(super) const NO_NFT: &str = "packets are lost by nft (package nftables), which is not here";
/// Resets of connections in one test.
const RESETS: u32 = 1000;

/// The tests of this file.
pub(super) const TESTS: &[Test] = &[
    Test { name: "net: programs on two and three hosts", run: programs },
    Test { name: "net: hosts over libfabric", run: libfabric },
    Test { name: "net: a libfabric that hangs", run: hanging_libfabric },
    Test { name: "net: hello on 8 hosts, 64 ranks", run: hello },
    Test { name: "net: IPv6 alone", run: only_ipv6 },
    Test { name: "net: a rank dies on another host", run: rank_dies },
    Test { name: "net: packets are lost", run: loss },
    Test { name: "net: a link is cut for 5 s", run: cut },
    Test { name: "net: a peer does not come back", run: peer_stays_away },
    Test { name: "net: a peer swallows all", run: peer_swallows_all },
    Test { name: "net: a peer was never there", run: unreachable },
    Test { name: "net: a host is switched off", run: switched_off },
    Test { name: "net: a host falls silent", run: falls_silent },
    Test { name: "net: 1,000 resets", run: resets },
];

/// A network of hosts, which goes when it is dropped.
pub(super) struct Net {
    script: PathBuf,
    name: String,
    hosts: u32,
}

/// A network, or why there cannot be one here.
pub(super) fn net(jobs: &Jobs<'_>, hosts: u32) -> Result<Result<Net, Skip>, String> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let script = jobs.options.root.join("tests/net/testnet.sh");
    let name = format!("tt{}x{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let net = Net { script, name, hosts };
    let outcome = net.try_to(&["up", &net.name, &hosts.to_string()])?;
    let why = outcome.stderr.lines().find_map(|line| line.strip_prefix("testnet.sh: "));
    match why {
        Some(why) => Ok(Err(Skip(why.to_owned()))),
        None => expect_code(&outcome, 0).map(|()| Ok(net)),
    }
}

/// Makes a network or ends the test as skipped.
macro_rules! net_or_skip {
    ($jobs:expr, $hosts:expr) => {
        match net($jobs, $hosts)? {
            Ok(net) => net,
            Err(skip) => return Ok(Err(skip)),
        }
    };
}

pub(super) use net_or_skip;

impl Net {
    /// The name of a host; they are counted from 1.
    pub(super) fn host(&self, host: u32) -> String {
        format!("{}-{host}", self.name)
    }

    pub(super) fn try_to(&self, words: &[&str]) -> Result<Outcome, String> {
        run_command(Command::new(&self.script).args(words))
    }

    /// Makes each of these hosts lose packets: `how` are the words before and after its name. False where the program that does it
    /// is not here.
    pub(super) fn spoil(&self, hosts: RangeInclusive<u32>, how: (&str, &[&str])) -> Result<bool, String> {
        for host in hosts {
            let outcome = self.try_to(&[&[how.0, &self.host(host)], how.1].concat())?;
            if outcome.stderr.contains("needs nft") {
                return Ok(false);
            }
            expect_code(&outcome, 0)?;
        }
        Ok(true)
    }

    /// Whether a host has lost packets.
    pub(super) fn expect_lost(&self, host: u32) -> Verdict {
        let lost: u32 =
            self.ask(&["lost", &self.host(host)])?.parse().map_err(|_| "no number of lost packets")?;
        if lost > 0 { passed() } else { Err("no packet was lost".into()) }
    }

    /// Has the script do something, and answers what it says.
    pub(super) fn ask(&self, words: &[&str]) -> Result<String, String> {
        let outcome = self.try_to(words)?;
        expect_code(&outcome, 0)?;
        Ok(outcome.stdout.trim().to_owned())
    }

    /// `mpirun` with so many ranks on each host.
    pub(super) fn mpirun(&self, jobs: &Jobs<'_>, each: u32) -> Command {
        let hosts: Vec<String> = (1..=self.hosts).map(|host| format!("{}:{each}", self.host(host))).collect();
        let mut command = jobs.bare_mpirun();
        command.arg("--launcher").arg(format!("{} enter", self.script.display()));
        command.args(["--host", &hosts.join(",")]);
        command
    }

    /// Starts a job of two ranks on each host that checks its own traffic for so many seconds, and waits until they talk.
    pub(super) fn start(
        &self,
        jobs: &Jobs<'_>,
        what: [&str; 2],
        variables: &[&str],
    ) -> Result<Running, String> {
        let mut command = self.mpirun(jobs, 2);
        for variable in variables {
            command.args(["-x", variable]);
        }
        command.arg(jobs.net()?).args(what);
        let running = Running::start(&mut command).map_err(|error| error.to_string())?;
        let start = Instant::now();
        while processes(&running.mark(), "net").len() < 2 * self.hosts as usize {
            if start.elapsed() > START_LIMIT {
                let outcome = running.wait(Duration::ZERO).map_err(|error| error.to_string())?;
                return Err(format!("the ranks do not start\n{}", outcome.describe()));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        std::thread::sleep(WARM);
        Ok(running)
    }

    /// The processes of a host.
    pub(super) fn processes(&self, host: u32) -> Result<Vec<u32>, String> {
        let outcome = run_command(Command::new("ip").args(["netns", "pids", &self.host(host)]))?;
        Ok(outcome.stdout.lines().filter_map(|line| line.trim().parse().ok()).collect())
    }
}

impl Drop for Net {
    fn drop(&mut self) {
        // What does not go now has no name any more in the next run.
        let _ = self.try_to(&["down", &self.name]);
    }
}

/// The processes of a job with this name.
pub(super) fn processes(mark: &str, name: &str) -> Vec<u32> {
    let is_it = |pid: &u32| {
        std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|comm| comm.trim_end() == name)
    };
    marked_processes(mark).into_iter().filter(is_it).collect()
}

pub(super) fn finish(running: Running) -> Result<Outcome, String> {
    running.wait(JOB_LIMIT).map_err(|error| error.to_string())
}

/// The traffic has ended well, after some rounds.
pub(super) fn expect_right(outcome: &Outcome) -> Result<(), String> {
    expect_code(outcome, 0)?;
    expect(outcome.stdout.contains(" rounds are right"), "its rounds are right", outcome)
}

/// A job has ended in time, by an error, and nothing is left of it.
pub(super) fn expect_end(
    running: Running,
    within: Duration,
    code: i32,
    words: &[&str],
) -> Result<(), String> {
    let (mark, began) = (running.mark(), Instant::now());
    let outcome = finish(running)?;
    expect(began.elapsed() < within, &format!("it ends within {within:?}"), &outcome)?;
    expect_code(&outcome, code)?;
    expect_said(&outcome, words)?;
    let left = wait_until_gone(&mark, GONE_WITHIN);
    if left.is_empty() { Ok(()) } else { Err(format!("processes {left:?} are still there after 2 s")) }
}

/// Programs of the conformance suite that between them use all that goes over a network, each with its ranks, and whether
/// they run on three hosts as well.
const PROGRAMS: &[(&str, u32, bool)] = &[
    ("coll_data", 4, true),
    ("coll_requests", 4, false),
    ("comm", 4, true),
    ("intercomm", 5, false),
    ("p2p_modes", 4, true),
    ("p2p_nonblocking", 4, false),
    ("p2p_probe", 4, false),
    ("session", 5, false),
    ("stress_random", 5, true),
    ("threads_stress", 2, false),
    ("type_transfer", 2, false),
    // Each sends 1,000 messages of 1 MiB before it receives any, and nothing but the calls themselves moves them.
    ("flood_large", 2, false),
];

/// Ranks on several hosts in turn, so that neighbors are on different ones and some share one.
fn programs(jobs: &Jobs<'_>) -> Verdict {
    let two = net_or_skip!(jobs, 2);
    let three = net_or_skip!(jobs, 3);
    for &(name, ranks, on_three) in PROGRAMS {
        let program = jobs.conformance(name)?;
        for net in [Some(&two), on_three.then_some(&three)].into_iter().flatten() {
            let mut command = net.mpirun(jobs, 3);
            command.args(["-n", &ranks.to_string(), "--map-by", "node", "-x", "TERN_PROGRESS=poll"]);
            let outcome = run_command(command.arg(&program))?;
            expect_code(&outcome, 0).map_err(|words| format!("{name} on {} hosts: {words}", net.hosts))?;
        }
    }
    passed()
}

/// Messages go over libfabric between hosts, and within one, where the last way has shared memory.
fn libfabric(jobs: &Jobs<'_>) -> Verdict {
    if !has_libfabric() {
        return skip("libfabric.so.1 is not here");
    }
    let net = net_or_skip!(jobs, 2);
    let ways: [&[&str]; 2] =
        [&["TERN_TRANSPORT=ofi", "TERN_OFI_PROVIDER=tcp;ofi_rxm"], &["TERN_OFI_PROVIDER=tcp;ofi_rxm"]];
    for way in ways {
        for name in ["p2p_modes", "coll_data"] {
            let mut command = net.mpirun(jobs, 2);
            for variable in way {
                command.args(["-x", variable]);
            }
            command.args(["-v", "-n", "4", "--map-by", "node"]).arg(jobs.conformance(name)?);
            let outcome = run_command(&mut command)?;
            expect_code(&outcome, 0).map_err(|words| format!("{name} with {way:?}: {words}"))?;
            expect_said(&outcome, &["messages between hosts go over libfabric"])?;
        }
    }
    let running = net.start(jobs, ["exchange", "60"], ways[0])?;
    let ranks = processes(&running.mark(), "net");
    let there: Vec<u32> = net.processes(2)?.into_iter().filter(|pid| ranks.contains(pid)).collect();
    send(*there.first().ok_or("no rank runs on the second host")?, Signal::KILL);
    expect_end(running, GONE_WITHIN, 137, &["rank ", "signal 9"])?;
    passed()
}

/// A library of the name of libfabric whose provider never answers: an error where it is asked for, else sockets carry the messages.
fn hanging_libfabric(jobs: &Jobs<'_>) -> Verdict {
    let folder = jobs.options.programs().join("hanging_libfabric");
    std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let source = jobs.options.root.join("tests/wrong");
    let mut script = std::ffi::OsString::from("-Wl,-soname,libfabric.so.1,--version-script=");
    script.push(source.join("libfabric.map"));
    let mut compiler = Command::new("cc");
    compiler.args(["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o"]);
    compiler.arg(folder.join("libfabric.so.1")).arg(source.join("hanging_libfabric.c")).arg(script);
    expect_code(&run_command(&mut compiler)?, 0)?;
    let (program, found) =
        (jobs.conformance("p2p_blocking")?, format!("LD_LIBRARY_PATH={}", folder.display()));
    let hangs = ["FAKE_HANGS=fi_getinfo", "FAKE_HANGS=fi_fabric", "FAKE_HANGS=constructor"];
    for call in hangs {
        let mut command = jobs.mpirun(2);
        command.args(["-x", "TERN_TRANSPORT=ofi", "-x", call, "-x", &found]).arg(&program);
        let outcome = run_command(&mut command)?;
        expect_said(
            &outcome,
            &["libfabric has not answered for", "TERN_OFI_PROVIDER", "TERN_OFI_INTERFACE"],
        )?;
        expect(!outcome.success() && outcome.took < HANGING_FOUND_WITHIN, "it ends in time", &outcome)?;
    }
    let net = net_or_skip!(jobs, 2);
    for call in hangs {
        let mut command = net.mpirun(jobs, 1);
        command.args(["-v", "-x", "TERN_OFI_PROVIDER=tcp", "-x", call, "-x", &found]).arg(&program);
        let outcome = run_command(&mut command)?;
        expect_code(&outcome, 0)?;
        let said = "messages between hosts go over TCP: provider 'tcp' of libfabric has not answered for";
        expect_said(&outcome, &[said])?;
    }
    passed()
}

fn hello(jobs: &Jobs<'_>) -> Verdict {
    let net = net_or_skip!(jobs, 8);
    let mut best = Duration::MAX;
    for _ in 0..3 {
        let outcome = run_command(net.mpirun(jobs, 8).arg(jobs.job()?).arg("hello"))?;
        expect_code(&outcome, 0)?;
        expect(outcome.stdout.lines().count() == 64, "64 lines came out", &outcome)?;
        best = best.min(outcome.took);
    }
    println!("     hello on 8 hosts, 64 ranks: {:.2} s", best.as_secs_f64());
    if best < HELLO_LIMIT { passed() } else { Err(format!("it took {best:?}")) }
}

/// The only IPv4 address that is left is that of the loop-back.
fn only_ipv6(jobs: &Jobs<'_>) -> Verdict {
    let net = net_or_skip!(jobs, 2);
    for host in 1..=2 {
        net.ask(&["only6", &net.host(host)])?;
    }
    expect_right(&run_command(net.mpirun(jobs, 2).arg(jobs.net()?).args(["exchange", "0.5"]))?)?;
    passed()
}

fn rank_dies(jobs: &Jobs<'_>) -> Verdict {
    let net = net_or_skip!(jobs, 3);
    for what in ["exchange", "quiet"] {
        let running = net.start(jobs, [what, "60"], &[])?;
        let ranks = processes(&running.mark(), "net");
        let there: Vec<u32> = net.processes(3)?.into_iter().filter(|pid| ranks.contains(pid)).collect();
        send(*there.first().ok_or("no rank runs on the third host")?, Signal::KILL);
        let host = format!("on {}", net.host(3));
        expect_end(running, GONE_WITHIN, 137, &["rank ", &host, "signal 9"])?;
    }
    passed()
}

fn loss(jobs: &Jobs<'_>) -> Verdict {
    let net = net_or_skip!(jobs, 3);
    if !net.spoil(1..=3, ("loss", &["2"]))? {
        return skip(NO_NFT);
    }
    for what in ["exchange", "allreduce"] {
        expect_right(&run_command(net.mpirun(jobs, 2).arg(jobs.net()?).args([what, "4"]))?)?;
    }
    net.expect_lost(2)
}

fn cut(jobs: &Jobs<'_>) -> Verdict {
    let net = net_or_skip!(jobs, 2);
    let running = net.start(jobs, ["allreduce", "8"], &[])?;
    net.ask(&["cut", &net.host(2)])?;
    std::thread::sleep(Duration::from_secs(5));
    net.ask(&["mend", &net.host(2)])?;
    let outcome = finish(running)?;
    expect_right(&outcome)?;
    expect(
        outcome.took < Duration::from_secs(20),
        "it goes on soon after the link is there again",
        &outcome,
    )?;
    passed()
}

fn peer_stays_away(jobs: &Jobs<'_>) -> Verdict {
    let net = net_or_skip!(jobs, 2);
    let running = net.start(jobs, ["exchange", "60"], &["TERN_PEER_TIMEOUT=2"])?;
    net.ask(&["cut", &net.host(2)])?;
    // Five seconds until the silence counts as a break, then two for coming back.
    let words = ["the connection to rank ", "could not be made again; tried "];
    expect_end(running, Duration::from_secs(20), 16, &words)?;
    passed()
}

/// Nothing answers at any address, so that each round of trying takes as long as it may.
fn peer_swallows_all(jobs: &Jobs<'_>) -> Verdict {
    let net = net_or_skip!(jobs, 2);
    let running = net.start(jobs, ["exchange", "60"], &["TERN_PEER_TIMEOUT=12"])?;
    net.ask(&["loss", &net.host(2), "100"])?;
    let words = ["the connection to rank ", "could not be made again; tried ", "no answer in "];
    expect_end(running, Duration::from_secs(25), 16, &words)?;
    passed()
}

/// All that a host sends is lost before it gets anywhere, from the start.
fn unreachable(jobs: &Jobs<'_>) -> Verdict {
    let net = net_or_skip!(jobs, 2);
    net.ask(&["loss", &net.host(2), "100"])?;
    let outcome = run_command(net.mpirun(jobs, 1).arg(jobs.net()?).args(["exchange", "1"]))?;
    expect_code(&outcome, 16)?;
    expect_said(
        &outcome,
        &["cannot be reached over TCP; tried ", "[fd83::", "10.83.0.", "no answer in 10 s"],
    )?;
    expect(outcome.took < Duration::from_secs(14), "it takes 10 s", &outcome)?;
    passed()
}

/// The cable goes first, so that no connection is closed; then all processes go at once.
fn switched_off(jobs: &Jobs<'_>) -> Verdict {
    let net = net_or_skip!(jobs, 3);
    let running = net.start(jobs, ["exchange", "60"], &[])?;
    net.ask(&["cut", &net.host(2)])?;
    for pid in net.processes(2)? {
        send(pid, Signal::KILL);
    }
    expect_end(running, GONE_WITHIN, 1, &[&format!("host {}", net.host(2))])?;
    passed()
}

/// Nothing is closed, not even the connection of the agent: all that tells is silence.
fn falls_silent(jobs: &Jobs<'_>) -> Verdict {
    let net = net_or_skip!(jobs, 3);
    let running = net.start(jobs, ["exchange", "60"], &[])?;
    let mark = running.mark();
    net.ask(&["cut", &net.host(2)])?;
    let there = net.processes(2)?;
    for pid in &there {
        send(*pid, Signal::STOP);
    }
    let began = Instant::now();
    let outcome = finish(running)?;
    expect(began.elapsed() < SILENT_HOST_WITHIN, "it ends within 20 s", &outcome)?;
    expect_code(&outcome, 1)?;
    expect_said(&outcome, &[&format!("host {}", net.host(2))])?;
    // The silent host's processes are beyond anybody's reach, as long as it is silent.
    for pid in there {
        send(pid, Signal::KILL);
    }
    let left = wait_until_gone(&mark, GONE_WITHIN);
    if left.is_empty() { passed() } else { Err(format!("processes {left:?} are still there")) }
}

/// From outside, by the kernel, whatever is under way.
fn resets(jobs: &Jobs<'_>) -> Verdict {
    let net = net_or_skip!(jobs, 3);
    let running = net.start(jobs, ["exchange", "25"], &[])?;
    let (began, mut count, mut turn) = (Instant::now(), 0, 0);
    while count < RESETS && began.elapsed() < Duration::from_secs(22) {
        turn += 1;
        let said = net.ask(&["reset", &net.host(1 + turn % 3)])?;
        count += said.parse::<u32>().map_err(|_| format!("reset says {said:?}"))?;
        std::thread::sleep(Duration::from_millis(20));
    }
    println!("     {count} resets in {:.1} s", began.elapsed().as_secs_f64());
    let outcome = finish(running)?;
    expect_right(&outcome)?;
    expect(count >= RESETS, &format!("there were {RESETS} resets, not {count}"), &outcome)?;
    passed()
}

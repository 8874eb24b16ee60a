//! Collectives by multicast, on hosts with a network of their own.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use rustix::process::Signal;
use tern_coll::{Algorithm, Collective};

use super::common::{Jobs, Test, Verdict, expect, expect_code, expect_said, passed, run_command, skip};
use super::net::{NO_NFT, Net, expect_end, expect_right, finish, net, net_or_skip, processes};
use super::tables::{row_for_all, table};
use crate::process::{GONE_WITHIN, Outcome, Running, send};

/// The tests of this file.
pub(super) const TESTS: &[Test] = &[
    Test { name: "multicast: collectives while packets are lost", run: loss },
    Test { name: "multicast: by Ethernet frames", run: frames },
    Test { name: "multicast: where frames cannot go", run: no_frames },
    Test { name: "multicast: several ranks on a host", run: several_ranks },
    Test { name: "multicast: where it does not work", run: deaf },
    Test { name: "multicast: until it works no more", run: becomes_deaf },
    Test { name: "multicast: until a firewall drops all datagrams", run: firewall },
    Test { name: "multicast: IPv6 alone", run: only_ipv6 },
    Test { name: "multicast: two jobs at once", run: two_jobs },
    Test { name: "multicast: a rank dies", run: rank_dies },
    Test { name: "multicast: communicators that come and go", run: come_and_go },
    Test { name: "datagrams: 128 ranks on one node", run: many_on_a_node },
];

/// By how much the memory of a rank may grow while communicators come and go: what is kept of ranks that may meet again.
const GROWN_BYTES_MAX: i64 = 200_000;

/// What `mpirun -v` says where multicast is used, and where it is not.
const WORKS: &str = "multicast works among all hosts";
const FAILS: &str = "multicast is not used: ";

/// What each rank says at its end of its packets, and of those of its own or for others.
const TALLY: [&str; 2] = ["packets sent", "which the kernel's filter dropped"];

/// By multicast wherever there is such an algorithm, whatever pays.
fn by_multicast(jobs: &Jobs<'_>) -> Result<PathBuf, String> {
    let rows = Collective::ALL.iter().filter_map(|collective| {
        let algorithm = Algorithm::named(*collective, Algorithm::Multicast.name())?;
        Some(format!("{}\n", row_for_all(*collective, algorithm)))
    });
    table(jobs, "multicast", &rows.collect::<String>())
}

/// A job whose collectives go by multicast, and that says whether it works.
fn mpirun(net: &Net, jobs: &Jobs<'_>, each: u32) -> Result<Command, String> {
    let mut command = net.mpirun(jobs, each);
    command.arg("-v").args(["-x", &format!("TERN_COLL_TABLE={}", by_multicast(jobs)?.display())]);
    Ok(command)
}

/// Each rank is as if alone on its host, and waits for the others' turns on the cores.
fn many_on_a_node(jobs: &Jobs<'_>) -> Verdict {
    let mut command = jobs.mpirun(128);
    let outcome = run_command(command.env("TERN_TRANSPORT", "urtp").arg(jobs.job()?).arg("hello"))?;
    expect_code(&outcome, 0)?;
    expect(outcome.stdout.lines().count() == 128, "all ranks have met", &outcome)?;
    passed()
}

fn expect_used(outcome: &Outcome) -> Result<(), String> {
    expect_code(outcome, 0)?;
    expect(outcome.stderr.contains(WORKS), "multicast works", outcome)
}

/// Every collective and all its forms, at each host the same loss of everything that comes. Where more than one in a hundred
/// is lost, TCP comes to a standstill: there, what goes to one rank alone goes by datagrams as well.
fn loss(jobs: &Jobs<'_>) -> Verdict {
    let net = net_or_skip!(jobs, 4);
    for (percent, transport, parity) in
        [("0", "auto", "0"), ("1", "auto", "0"), ("5", "urtp", "8"), ("20", "urtp", "0")]
    {
        if !net.spoil(1..=4, ("loss", &[percent]))? {
            return skip(NO_NFT);
        }
        for program in ["coll_data", "coll_reduce", "coll_requests"] {
            let mut command = mpirun(&net, jobs, 1)?;
            command.args(["-x", &format!("TERN_TRANSPORT={transport}")]);
            command.args(["-x", &format!("TERN_MULTICAST_PARITY={parity}")]);
            let outcome = run_command(command.arg(jobs.conformance(program)?))?;
            expect_used(&outcome).map_err(|words| format!("{program} at {percent} %: {words}"))?;
            expect_said(&outcome, &TALLY)?;
            if (parity, program) == ("8", "coll_data") {
                expect_said(&outcome, &["brought back by parity"])?;
            }
        }
    }
    net.expect_lost(2)
}

/// Every collective and all its forms, and then all messages as well. Loss is of all that comes to an interface.
fn frames(jobs: &Jobs<'_>) -> Verdict {
    let net = net_or_skip!(jobs, 4);
    for (transport, percent) in [("auto", "0"), ("urtp", "0"), ("urtp", "5")] {
        if !net.spoil(1..=4, ("loss", &[percent]))? {
            return skip(NO_NFT);
        }
        for program in ["coll_data", "coll_reduce"] {
            let mut command = mpirun(&net, jobs, 1)?;
            command.args(["-x", "TERN_MULTICAST=ethernet", "-x", &format!("TERN_TRANSPORT={transport}")]);
            let outcome = run_command(command.arg(jobs.conformance(program)?))?;
            expect_used(&outcome).map_err(|words| format!("{program} at {percent} %: {words}"))?;
            expect_said(&outcome, &["rank 0 uses Ethernet frames"])?;
        }
    }
    net.expect_lost(2)
}

/// UDP takes their place, and why is said to those who ask.
fn no_frames(jobs: &Jobs<'_>) -> Verdict {
    let net = net_or_skip!(jobs, 2);
    let ask = |each: u32, wrapper: &[&str]| {
        let mut command = mpirun(&net, jobs, each)?;
        command.args(["-x", "TERN_MULTICAST=ethernet"]).args(wrapper);
        run_command(command.arg(jobs.conformance("coll_data")?))
    };
    let sharing = ask(2, &[])?;
    expect_used(&sharing)?;
    expect_said(&sharing, &["UDP instead of Ethernet frames: several ranks share a node"])?;
    if !programs_exist(&["setpriv"]) {
        return skip("capabilities are dropped by setpriv (package util-linux), which is not here");
    }
    let powerless = ask(1, &["setpriv", "--bounding-set", "-net_raw", "--inh-caps", "-net_raw"])?;
    expect_used(&powerless)?;
    expect_said(&powerless, &["UDP instead of Ethernet frames: rank ", "CAP_NET_RAW"])?;
    passed()
}

/// Whether all these commands are in `PATH`.
fn programs_exist(names: &[&str]) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    names.iter().all(|name| std::env::split_paths(&path).any(|folder| folder.join(name).is_file()))
}

/// Ranks of a host follow each other, or take turns with those of others. By datagrams alone they reach each other as they do the
/// other hosts, whatever way their connections take.
fn several_ranks(jobs: &Jobs<'_>) -> Verdict {
    let net = net_or_skip!(jobs, 3);
    for (order, transport) in [("slot", "auto"), ("node", "auto"), ("slot", "urtp")] {
        for (program, ranks) in [("coll_data", "7"), ("coll_reduce", "7"), ("comm", "6"), ("session", "6")] {
            let mut command = mpirun(&net, jobs, 3)?;
            command.args(["-x", &format!("TERN_TRANSPORT={transport}")]);
            command.args(["-n", ranks, "--map-by", order]).arg(jobs.conformance(program)?);
            expect_used(&run_command(&mut command)?)
                .map_err(|words| format!("{program} by {order}, {transport}: {words}"))?;
        }
    }
    passed()
}

/// What `tern info` says of the network's hosts.
fn info(net: &Net, jobs: &Jobs<'_>) -> Result<String, String> {
    let mpirun = net.mpirun(jobs, 1);
    let mut command = Command::new(jobs.tern());
    let outcome = run_command(command.arg("info").args(mpirun.get_args()))?;
    expect_code(&outcome, 0)?;
    Ok(outcome.stdout)
}

/// One host hears nothing: all do without, and say so only if asked.
fn deaf(jobs: &Jobs<'_>) -> Verdict {
    let net = net_or_skip!(jobs, 3);
    let said = info(&net, jobs)?;
    if !said.starts_with(WORKS) {
        return Err(format!("tern info does not say that multicast works: {said}"));
    }
    if !net.spoil(2..=2, ("deaf", &[]))? {
        return skip(NO_NFT);
    }
    let outcome = run_command(mpirun(&net, jobs, 1)?.arg(jobs.conformance("coll_data")?))?;
    expect_code(&outcome, 0)?;
    expect_said(&outcome, &[FAILS, "rank 1 did not hear"])?;
    let outcome = run_command(net.mpirun(jobs, 1).arg(jobs.conformance("coll_data")?))?;
    expect_code(&outcome, 0)?;
    expect(outcome.stderr.is_empty(), "nothing is said of it", &outcome)?;
    let said = info(&net, jobs)?;
    if !(said.starts_with(FAILS) && said.contains("rank 1 did not hear")) {
        return Err(format!("tern info does not say why multicast is not used: {said}"));
    }
    let mut forced = net.mpirun(jobs, 1);
    let outcome =
        run_command(forced.args(["-x", "TERN_TRANSPORT=urtp"]).arg(jobs.conformance("coll_data")?))?;
    expect_code(&outcome, 16)?;
    expect_said(&outcome, &["TERN_TRANSPORT=urtp: rank 1 did not hear", "without it messages go by TCP"])?;
    let mut without = mpirun(&net, jobs, 1)?;
    let outcome = run_command(without.args(["-x", "TERN_MULTICAST=0"]).arg(jobs.conformance("coll_data")?))?;
    expect_code(&outcome, 0)?;
    expect_said(&outcome, &[FAILS, "TERN_MULTICAST=0"])?;
    passed()
}

/// What is sent to one alone still comes.
fn becomes_deaf(jobs: &Jobs<'_>) -> Verdict {
    gets_worse(jobs, "deaf", ("6", Duration::from_secs(2)))
}

/// Packets go over TCP.
fn firewall(jobs: &Jobs<'_>) -> Verdict {
    gets_worse(jobs, "mute", ("12", Duration::from_secs(5)))
}

/// A job of so many seconds; in its middle one host hears less than before, and some time later none hears more.
fn gets_worse(jobs: &Jobs<'_>, trouble: &str, (seconds, after): (&str, Duration)) -> Verdict {
    let net = net_or_skip!(jobs, 4);
    let table = format!("TERN_COLL_TABLE={}", by_multicast(jobs)?.display());
    let running = net.start(jobs, ["allreduce", seconds], &[&table])?;
    for hosts in [2..=2, 1..=4] {
        if !net.spoil(hosts, (trouble, &[]))? {
            return skip(NO_NFT);
        }
        std::thread::sleep(after);
    }
    expect_right(&finish(running)?)?;
    passed()
}

fn only_ipv6(jobs: &Jobs<'_>) -> Verdict {
    let net = net_or_skip!(jobs, 3);
    for host in 1..=3 {
        net.ask(&["only6", &net.host(host)])?;
    }
    expect_used(&run_command(mpirun(&net, jobs, 1)?.arg(jobs.conformance("coll_data")?))?)?;
    passed()
}

/// On the same hosts, at the same time, with the same multicast addresses at worst.
fn two_jobs(jobs: &Jobs<'_>) -> Verdict {
    let net = net_or_skip!(jobs, 3);
    let start = || -> Result<Running, String> {
        let mut command = mpirun(&net, jobs, 1)?;
        command.arg(jobs.net()?).args(["allreduce", "3"]);
        Running::start(&mut command).map_err(|error| error.to_string())
    };
    let both = [start()?, start()?];
    for running in both {
        let outcome = finish(running)?;
        expect_used(&outcome)?;
        expect_right(&outcome)?;
    }
    passed()
}

/// In the middle of its collectives, though nobody has a connection to it that breaks.
fn rank_dies(jobs: &Jobs<'_>) -> Verdict {
    let net = net_or_skip!(jobs, 3);
    let table = format!("TERN_COLL_TABLE={}", by_multicast(jobs)?.display());
    let running = net.start(jobs, ["allreduce", "60"], &[&table])?;
    let ranks = processes(&running.mark(), "net");
    let there: Vec<u32> = net.processes(3)?.into_iter().filter(|pid| ranks.contains(pid)).collect();
    send(*there.first().ok_or("no rank runs on the third host")?, Signal::KILL);
    expect_end(running, GONE_WITHIN, 137, &["rank ", "signal 9"])?;
    passed()
}

/// The members of each are told apart for multicasts, but not for ever. Where packets are lost, some are still on their way when their
/// communicator is freed.
fn come_and_go(jobs: &Jobs<'_>) -> Verdict {
    let net = net_or_skip!(jobs, 4);
    for (whose, count, percent, transport) in
        [("same", "2000", "0", "auto"), ("others", "6000", "0", "auto"), ("others", "500", "5", "urtp")]
    {
        if !net.spoil(1..=4, ("loss", &[percent]))? {
            return skip(NO_NFT);
        }
        let mut command = mpirun(&net, jobs, 4)?;
        command.args(["-x", &format!("TERN_TRANSPORT={transport}")]);
        let outcome = run_command(command.arg(jobs.comms()?).args([whose, count, "100"]))?;
        expect_used(&outcome).map_err(|words| format!("{whose} at {percent} %: {words}"))?;
        let grown = outcome.stdout.split_once(": ").and_then(|(_, rest)| rest.strip_suffix(" bytes more\n"));
        let grown: i64 =
            grown.and_then(|bytes| bytes.parse().ok()).ok_or("it does not say how it has grown")?;
        println!("     {count} communicators ({whose}, {percent} % lost): {grown} bytes more");
        expect(
            grown < GROWN_BYTES_MAX,
            &format!("{grown} bytes are fewer than {GROWN_BYTES_MAX}"),
            &outcome,
        )?;
    }
    net.expect_lost(2)
}

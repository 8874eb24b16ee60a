//! Ranks that were started with different settings: an error that names them, and no job that hangs.

use std::process::Command;
use std::time::Duration;

use super::common::{Jobs, Test, Verdict, expect, expect_code, expect_said, passed, run_command};
use super::hosts;
use crate::process::Outcome;

/// They are found before the ranks do anything else.
const FOUND_WITHIN: Duration = Duration::from_secs(10);

/// The tests of this file.
pub(super) const TESTS: &[Test] = &[
    Test { name: "settings differ on one host", run: one_host },
    Test { name: "settings differ between hosts", run: two_hosts },
    Test { name: "settings that may differ", run: may_differ },
    Test { name: "settings of interfaces and ports", run: reached_where_told },
    Test { name: "settings of an interface that no rank needs", run: interface_of_one_host },
    Test { name: "settings that would send secrets in clear", run: in_clear },
];

/// Two ranks, the second of which has these variables, as `mpirun` was prepared and on these hosts.
fn differing(
    jobs: &Jobs<'_>,
    mut mpirun: Command,
    hosts: Option<[&str; 2]>,
    variables: &[(&str, &str)],
) -> Result<Outcome, String> {
    let place = |host: usize| hosts.map(|hosts| ["-host", hosts[host]]).into_iter().flatten();
    mpirun.args(place(0)).args(["-n", "1"]).arg(jobs.job()?).args(["deadlock", ":"]);
    mpirun.args(place(1)).args(["-n", "1"]);
    for (name, value) in variables {
        mpirun.args(["-env", name, value]);
    }
    run_command(mpirun.arg(jobs.job()?).arg("deadlock"))
}

fn expect_named(outcome: &Outcome, names: &[&str]) -> Result<(), String> {
    expect(outcome.took < FOUND_WITHIN, "it takes less than 10 s", outcome)?;
    expect(outcome.code().is_some_and(|code| code != 0), "it is an error", outcome)?;
    expect_said(outcome, &["other settings"])?;
    expect_said(outcome, names)
}

/// Ranks of two hosts that meet over the loop-back interface only, at ports of a range; and what is said of mistakes.
fn reached_where_told(jobs: &Jobs<'_>) -> Verdict {
    let run = |option: &[&str], variables: &[(&str, &str)]| {
        let mut mpirun = hosts::mpirun(jobs, "a:2,b:2");
        mpirun.args(option).envs(variables.iter().copied());
        run_command(mpirun.arg(jobs.conformance("coll_data")?))
    };
    let ports = ("TERN_PORTS", "47000-47063");
    for transport in ["tcp", "urtp"] {
        expect_code(&run(&["-iface", "lo"], &[ports, ("TERN_TRANSPORT", transport)])?, 0)?;
    }
    for (name, value, words) in [
        ("TERN_INTERFACE", "nothere0", "no interface of this machine"),
        ("TERN_INTERFACE", "10.0.0.0/33", "names, addresses or networks"),
        ("TERN_PORTS", "47000", "first-last"),
    ] {
        let outcome = run(&[], &[(name, value)])?;
        expect(outcome.code().is_some_and(|code| code != 0), "it is an error", &outcome)?;
        expect_said(&outcome, &[&format!("{name}={value}"), words])?;
    }
    passed()
}

/// Where no rank needs the network, an interface is named for processes that come later. One that is not there is an error all the same.
fn interface_of_one_host(jobs: &Jobs<'_>) -> Verdict {
    let run = |options: &[&str]| {
        let mut mpirun = Command::new(jobs.options.mpirun());
        run_command(mpirun.args(options).arg(jobs.conformance("coll_data")?))
    };
    for count in ["1", "2"] {
        let outcome = run(&["-iface", "nothere0", "-n", count])?;
        expect(outcome.code().is_some_and(|code| code != 0), "it is an error", &outcome)?;
        expect_said(&outcome, &["TERN_INTERFACE=nothere0", "no interface of this machine"])?;
        let outcome = run(&["-v", "-iface", "lo", "-n", count])?;
        expect_code(&outcome, 0)?;
        expect_said(&outcome, &["TERN_INTERFACE=lo: without effect"])?;
        let outcome = run(&["-iface", "lo", "-n", count])?;
        expect_code(&outcome, 0)?;
        expect(!outcome.stderr.contains("without effect"), "it is said on request", &outcome)?;
    }
    let over_tcp = |interface: &str| {
        let mut mpirun = Command::new(jobs.options.mpirun());
        mpirun.env("TERN_TRANSPORT", "tcp").args(["-iface", interface, "-n", "2"]);
        run_command(mpirun.arg(jobs.conformance("coll_data")?))
    };
    expect_code(&over_tcp("lo")?, 0)?;
    let outcome = over_tcp("nothere0")?;
    expect(outcome.code().is_some_and(|code| code != 0), "it is an error", &outcome)?;
    expect_said(&outcome, &["TERN_INTERFACE=nothere0", "no interface of this machine"])?;
    passed()
}

/// Datagrams are not encrypted: a job that asks for both ends before it has sent anything by them.
fn in_clear(jobs: &Jobs<'_>) -> Verdict {
    let mut mpirun = Command::new(jobs.options.mpirun());
    mpirun.env("TERN_TRANSPORT", "urtp").env("TERN_ENCRYPT", "1");
    let outcome = run_command(mpirun.args(["-n", "2"]).arg(jobs.conformance("coll_data")?))?;
    expect(outcome.code().is_some_and(|code| code != 0), "it is an error", &outcome)?;
    expect_said(&outcome, &["TERN_TRANSPORT=urtp", "not encrypted as TERN_ENCRYPT=1 asks"])?;
    passed()
}

/// A table of collectives, by its name.
fn table(jobs: &Jobs<'_>) -> Result<String, String> {
    let file = jobs.options.programs().join("barrier.table");
    std::fs::create_dir_all(jobs.options.programs()).map_err(|error| error.to_string())?;
    std::fs::write(&file, "barrier any any any dissemination\n").map_err(|error| error.to_string())?;
    Ok(file.display().to_string())
}

fn one_host(jobs: &Jobs<'_>) -> Verdict {
    let table = table(jobs)?;
    for (variables, names) in [
        (&[("TERN_CHECK", "types")][..], &["TERN_CHECK"][..]),
        (&[("TERN_TRANSPORT", "tcp")], &["TERN_TRANSPORT"]),
        (&[("TERN_COLL_TABLE", &table), ("TERN_CELLS", "4")], &["TERN_COLL_TABLE", "TERN_CELLS"]),
    ] {
        let mpirun = Command::new(jobs.options.mpirun());
        expect_named(&differing(jobs, mpirun, None, variables)?, names)?;
    }
    passed()
}

fn two_hosts(jobs: &Jobs<'_>) -> Verdict {
    let table = table(jobs)?;
    for (name, value) in
        [("TERN_CHECK", "collectives"), ("TERN_COLL_TABLE", table.as_str()), ("TERN_ENCRYPT", "1")]
    {
        let outcome = differing(jobs, hosts::launched(jobs), Some(["a", "b"]), &[(name, value)])?;
        expect_named(&outcome, &[name])?;
    }
    passed()
}

/// Each rank may wait, and fail, as it likes.
fn may_differ(jobs: &Jobs<'_>) -> Verdict {
    let mut command = Command::new(jobs.options.mpirun());
    command.args(["-n", "1"]).arg(jobs.job()?).args(["hello", ":", "-n", "1"]);
    command.args([
        "-env",
        "TERN_PROGRESS",
        "thread",
        "-env",
        "TERN_PEER_TIMEOUT",
        "7",
        "-env",
        "TERN_EAGER_MAX",
        "100",
    ]);
    expect_code(&run_command(command.arg(jobs.job()?).arg("hello"))?, 0)?;
    passed()
}

//! What jobs on several hosts need of each: a name that means something here, a login without questions, the same version, a clock
//! that agrees.

use std::net::{ToSocketAddrs, UdpSocket};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::finding::Finding;
use crate::installation::Installation;
use crate::run::Invocation;

/// What `mpirun` starts agents with, and not waiting for anyone.
const LAUNCHER: &str = "ssh -x -oBatchMode=yes -oConnectTimeout=10";
/// When a login is given up, seconds.
const LOGIN_LIMIT_S: f64 = 20.0;
/// Clocks that differ by more make times in logs of several hosts misleading, seconds.
const CLOCK_LIMIT_S: f64 = 1.0;

/// The findings on each host.
pub(super) fn findings(names: &[String], launcher: Option<&str>) -> Vec<Finding> {
    names.iter().flat_map(|name| host(name, launcher.unwrap_or(LAUNCHER))).collect()
}

/// The hosts that a list as `a:2,b` and the lines of a file name, each once.
pub(super) fn names(list: Option<&str>, file: Option<&str>) -> Result<Vec<String>, String> {
    let text = match file {
        Some(path) => std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?,
        None => String::new(),
    };
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default());
    let of_file = lines.filter_map(|line| line.split_whitespace().next());
    let all = list.unwrap_or_default().split(',').chain(of_file).map(bare).filter(|name| !name.is_empty());
    let mut names: Vec<String> = Vec::new();
    for name in all {
        if !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    }
    Ok(names)
}

/// Without the number of slots, and without brackets of an address.
fn bare(word: &str) -> &str {
    let word = word.trim();
    if let Some((address, _)) = word.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        return address;
    }
    match word.split_once(':') {
        Some((name, slots)) if !slots.contains(':') => name,
        _ => word,
    }
}

fn host(name: &str, launcher: &str) -> Vec<Finding> {
    let mut findings = vec![resolved(name)];
    if is_this_one(name) {
        return findings;
    }
    // An alias of ssh's need not be a name of the network's: a login decides.
    match login(name, launcher) {
        Ok(seen) => findings.extend(seen),
        Err(why) => findings.push(Finding::bad("login", format!("{name}: {why}"))),
    }
    findings
}

/// Whether a name is this host's: only its own addresses can be taken. `mpirun` needs no login here.
fn is_this_one(name: &str) -> bool {
    let addresses = (name, 0).to_socket_addrs();
    addresses.is_ok_and(|mut found| found.any(|address| UdpSocket::bind(address).is_ok()))
}

fn resolved(name: &str) -> Finding {
    match (name, 0).to_socket_addrs().map(|mut found| found.next()) {
        Ok(Some(address)) => Finding::ok("name", format!("{name} is {}", address.ip())),
        _ => Finding::note(
            "name",
            format!("{name} has no address here: only what the launcher knows by that name can be reached"),
        ),
    }
}

/// What a host tells of itself: its clock, and the version of Tern that lies at the same path there.
fn login(name: &str, launcher: &str) -> Result<Vec<Finding>, String> {
    let own = Installation::find()?.file("bin/mpirun")?;
    let asked = format!("date +%s.%N; '{}' --version", own.display());
    let mut words: Vec<String> = launcher.split_whitespace().map(String::from).collect();
    if words.is_empty() {
        return Err("the launcher has no name".into());
    }
    let program = words.remove(0).into();
    words.extend([name.to_owned(), asked]);
    let before = now();
    let said = Invocation { program, words, settings: Vec::new(), limit_s: LOGIN_LIMIT_S }.run();
    let between = f64::midpoint(before, now());
    let wait = now() - before;
    match said {
        Ok(said) => Ok(told(name, &said, between, wait)),
        // The last command decides how it ends: the login itself may have worked.
        Err(why) if why.contains("status: 127") || why.contains("status: 126") => Ok(vec![
            Finding::ok("login", format!("{name} lets this user in")),
            Finding::bad(
                "version",
                format!("{name} has no {}: install Tern there, or use mpirun --prefix", own.display()),
            ),
        ]),
        Err(why) => Err(why),
    }
}

/// `between` is the time here while the host was asked, and `wait` how long that took, both in seconds.
fn told(name: &str, said: &str, between: f64, wait: f64) -> Vec<Finding> {
    let mut lines = said.lines();
    let clock = lines.next().and_then(|line| line.parse::<f64>().ok());
    let version = lines.next().unwrap_or_default().trim();
    let mut findings = vec![Finding::ok("login", format!("{name} lets this user in, in {wait:.1} s"))];
    findings.push(match clock.map(|clock| (clock - between).abs()) {
        Some(apart) if apart <= CLOCK_LIMIT_S + wait / 2.0 => {
            Finding::ok("clock", format!("{name} has the time of this host"))
        }
        Some(apart) => Finding::note(
            "clock",
            format!(
                "{name} is {apart:.0} s away from this host: times in its output and in files will mislead"
            ),
        ),
        None => Finding::note("clock", format!("{name} does not tell its time")),
    });
    let own = env!("CARGO_PKG_VERSION");
    findings.push(if version.split_whitespace().any(|word| word == own) {
        Finding::ok("version", format!("{name} has {own} too"))
    } else {
        Finding::bad("version", format!("{name} has {version:?}, not {own}: all hosts need the same"))
    });
    findings
}

/// Seconds since 1970.
fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO).as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::finding::Severity;

    #[test]
    fn hosts_are_named_once_and_without_slots() {
        assert_eq!(names(Some("a:2,b,a,[::1]:4,fe80::1"), None).unwrap(), ["a", "b", "::1", "fe80::1"]);
        let file = std::env::temp_dir().join(format!("tern-hosts-{}", std::process::id()));
        std::fs::write(&file, "# all\nnode1 slots=4\nnode2:8 # big\n\nnode1\n").unwrap();
        assert_eq!(names(None, file.to_str()).unwrap(), ["node1", "node2"]);
        std::fs::remove_file(file).unwrap();
        assert!(names(None, Some("/nonexistent/hosts")).is_err());
    }

    #[test]
    fn what_a_host_tells_is_judged() {
        let own = env!("CARGO_PKG_VERSION");
        let verdicts = |said: &str| -> Vec<Severity> {
            told("b", said, 1000.0, 0.4).iter().map(|finding| finding.verdict).collect()
        };
        assert_eq!(verdicts(&format!("1000.9\nmpirun (tern) {own}\n")), [Severity::Ok; 3]);
        assert_eq!(
            verdicts(&format!("1007.0\nmpirun {own}\n")),
            [Severity::Ok, Severity::Note, Severity::Ok]
        );
        assert_eq!(
            verdicts("1000.0\nmpirun (Open MPI) 4.1.4\n"),
            [Severity::Ok, Severity::Ok, Severity::Bad]
        );
    }

    #[test]
    fn a_host_that_does_not_answer_is_bad() {
        // An address of no network (RFC 5737).
        let found = findings(&["192.0.2.1".into()], Some("/bin/false"));
        assert_eq!(found.last().map(|finding| finding.verdict), Some(Severity::Bad));
        let found = findings(&["127.0.0.1".into()], Some("/bin/false"));
        assert_eq!(found.iter().map(|finding| finding.verdict).collect::<Vec<_>>(), [Severity::Ok]);
    }
}

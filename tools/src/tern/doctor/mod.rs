//! `tern doctor`: looks for what keeps a program, this machine or hosts from running jobs, with a verdict on each point.

mod finding;
mod hosts;
mod machine;
mod network;
mod program;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;

use crate::hosts as of_jobs;
use crate::table::TextTable;
use finding::{Finding, Severity};

/// Say what is in the way of a job, on this machine, for a program, among hosts
///
/// Each line has a verdict: ok, note (it works, but not as well as it could), or bad. The exit status is 1 if anything is bad.
#[derive(Args, Debug)]
pub(crate) struct DoctorArguments {
    /// A program: which MPI library it would run on, and what is in the way
    pub program: Option<PathBuf>,
    /// Its arguments: a program behind env, python or the like is looked at, too
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub arguments: Vec<OsString>,
    /// Try these hosts too: name, login, clock, version, and a job with connections between them
    #[arg(long, value_name = "LIST")]
    pub host: Option<String>,
    /// The same for the hosts of a file
    #[arg(long, value_name = "FILE")]
    pub hostfile: Option<String>,
    /// What runs a command on a host, as for mpirun
    #[arg(long, value_name = "CMD")]
    pub launcher: Option<String>,
}

/// Everything that was asked for: the text, and whether anything is bad.
pub(crate) fn examine(arguments: &DoctorArguments) -> (String, bool) {
    let mut findings = machine::findings();
    findings.extend(network::findings());
    if let Some(program) = &arguments.program {
        findings.extend(program::findings(program, &arguments.arguments));
    }
    findings.extend(among_hosts(arguments));
    report(&findings)
}

fn report(findings: &[Finding]) -> (String, bool) {
    let mut table = TextTable::default();
    for finding in findings {
        let verdict = match finding.verdict {
            Severity::Ok => "ok",
            Severity::Note => "note",
            Severity::Bad => "bad",
        };
        table.row([finding.what, verdict, &finding.words]);
    }
    let bad = findings.iter().filter(|finding| finding.verdict == Severity::Bad).count();
    let end = match bad {
        0 => "Nothing is in the way.".to_owned(),
        1 => "One point is in the way.".to_owned(),
        bad => format!("{bad} points are in the way."),
    };
    (format!("{}{end}\n", table.text()), bad > 0)
}

/// Each host by itself, and then a job on all of them.
fn among_hosts(arguments: &DoctorArguments) -> Vec<Finding> {
    if arguments.host.is_none() && arguments.hostfile.is_none() {
        return Vec::new();
    }
    match hosts::names(arguments.host.as_deref(), arguments.hostfile.as_deref()) {
        Ok(names) => {
            let mut findings = hosts::findings(&names, arguments.launcher.as_deref());
            findings.push(job(&place(arguments)));
            findings
        }
        Err(why) => vec![Finding::bad("hosts", why)],
    }
}

/// The options of `mpirun` that name hosts.
fn place(arguments: &DoctorArguments) -> Vec<String> {
    let given = [
        ("--host", &arguments.host),
        ("--hostfile", &arguments.hostfile),
        ("--launcher", &arguments.launcher),
    ];
    let pair = |(option, value): (&str, &Option<String>)| Some([option.to_owned(), value.clone()?]);
    given.into_iter().filter_map(pair).flatten().collect()
}

/// A job on the hosts: ranks that cannot connect, as behind a firewall, are refused by it, with the reason.
fn job(place: &[String]) -> Finding {
    match of_jobs::ask(place) {
        Ok(said) => Finding::ok("connections", format!("a job starts and its ranks meet; {}", said.trim())),
        Err(why) => Finding::bad("connections", why),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_bad_is_counted() {
        let (text, bad) = report(&[Finding::ok("a", "fine"), Finding::note("b", "so so")]);
        assert!(!bad && text.ends_with("Nothing is in the way.\n"), "{text}");
        let (text, bad) = report(&[Finding::ok("a", "fine"), Finding::bad("b", "broken")]);
        assert!(
            bad && text.contains("b  bad  broken") && text.ends_with("One point is in the way.\n"),
            "{text}"
        );
    }

    #[test]
    fn this_machine_is_examined() {
        let arguments = DoctorArguments {
            program: None,
            arguments: Vec::new(),
            host: None,
            hostfile: None,
            launcher: None,
        };
        let (text, _) = examine(&arguments);
        for what in ["/proc", "shared memory", "one-copy messages", "open files", "host name", "ssh"] {
            assert!(text.contains(what), "{what}: {text}");
        }
    }
}

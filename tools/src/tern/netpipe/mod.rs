//! `tern netpipe`: messages between two ranks over their size, on Tern, on raw TCP and on other MPI libraries, as NetPIPE
//! measures them (MPICH on MP_Lite chapter 7), and the measurements of other papers that need the same two ranks.
//!
//! [`options`] reads the command line; [`systems`] and [`peers`] say who takes part; [`turns`] lets them take turns; a file for
//! each kind of measurement says what is run and what it comes to ([`curves`], [`comms`], [`thresholds`], [`overlap`],
//! [`collective`], [`rma`]); [`report`] writes it down. What runs is `tools/measure/netpipe.c`.

mod collective;
mod comms;
mod curves;
mod draw;
mod fit;
mod limits;
mod options;
mod overlap;
mod peers;
mod pixels;
mod report;
mod rma;
mod samples;
mod section;
mod sizes;
mod steadiness;
mod systems;
mod thresholds;
mod turns;
mod words;

use std::fmt::Write;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::installation::{Installation, ScratchFolder};
use crate::tune::progress::JobProgress;
pub(crate) use options::NetpipeArguments;
use options::{Measurement, NetpipeOptions};
use report::Report;
use systems::{JobStarter, MeasuredSystem, quoted};
use turns::{Lab, Study};

/// Measures what the arguments ask for, writes all files, and returns the text.
pub(crate) fn answer(arguments: NetpipeArguments) -> Result<String, String> {
    let options = NetpipeOptions::new(arguments)?;
    let here = Installation::find()?;
    // Before minutes of measuring, not after.
    report::try_folder(&options.output)?;
    // Other hosts see the folder of the results, if any.
    let scratch = match options.place.hosts.is_empty() {
        true => ScratchFolder::new("tern-netpipe")?,
        false => ScratchFolder::within(&options.output, "work")?,
    };
    let (lab, complaints) = lab(options, &here, &scratch)?;
    let studies =
        lab.options.what.iter().map(|what| study(&lab, *what, &scratch)).collect::<Result<Vec<_>, _>>()?;
    if let Some(empty) = studies.iter().find(|study| study.entrants.is_empty()) {
        return Err(format!("nobody can take part in {}; see --only", empty.name));
    }
    let progress = JobProgress::new(studies.iter().map(Study::jobs).sum());
    complaints.iter().for_each(|complaint| progress.say(&format!("tern netpipe: {complaint}")));
    // Those behind 'tern netpipe'.
    let words: Vec<String> = std::env::args().skip(2).collect();
    let heading = report::heading(&command(&words), &lab.options.place.describe(), &versions(&lab.systems));
    let mut report = Report { heading, sections: Vec::new() };
    let mut files = Vec::new();
    for study in studies {
        report.sections.push(study.run(&progress)?);
        // What is there is kept, should the user lose patience.
        files = report.write(&lab.options.output)?;
    }
    progress.end();
    Ok(format!("{}\n{}", report.text(), list(&lab.options.output, &files)))
}

/// Everybody who takes part, and what is to say of those who cannot.
fn lab(
    options: NetpipeOptions,
    here: &Installation,
    scratch: &ScratchFolder,
) -> Result<(Lab, Vec<String>), String> {
    let mut starter = JobStarter::new(here, &options.place)?;
    if let Some(launcher) = &options.place.launcher {
        starter.remote_shell = Some(remote_shell(launcher, scratch)?);
    }
    let found = if options.look_for_peers { peers::look(here) } else { Vec::new() };
    let (peers, complaints) =
        peers::prepare(&options.peers, &found, &here.tree.join("share/tern/measure"), scratch);
    let own = [
        MeasuredSystem::Tern,
        MeasuredSystem::RawPolled,
        MeasuredSystem::RawBlocking,
        MeasuredSystem::Memory,
    ];
    let all = own.into_iter().chain(peers.into_iter().map(MeasuredSystem::Peer));
    let all: Vec<MeasuredSystem> = all.collect();
    if let Some(name) = options.only.iter().find(|name| !all.iter().any(|system| system.name() == *name)) {
        let names: Vec<&str> = all.iter().map(MeasuredSystem::name).collect();
        let complaints: String = complaints.iter().map(|complaint| format!("; {complaint}")).collect();
        return Err(format!("--only names '{name}', but what is here is {}{complaints}", names.join(", ")));
    }
    let systems = all.into_iter().filter(|system| options.wants(system.name())).collect();
    Ok((Lab { systems, starter, options }, complaints))
}

fn study(lab: &Lab, what: Measurement, scratch: &ScratchFolder) -> Result<Study, String> {
    match what {
        Measurement::Curves => Ok(curves::study(lab)),
        Measurement::Comms1 => Ok(comms::comms1(lab)),
        Measurement::Comms2 => Ok(comms::comms2(lab)),
        Measurement::Thresholds => Ok(thresholds::study(lab)),
        Measurement::Overlap => Ok(overlap::study(lab)),
        Measurement::Rma => Ok(rma::study(lab)),
        Measurement::Bcast => collective::bcast(lab, scratch),
    }
}

/// Other launchers call the remote shell with options of their own before the host, and by its path alone.
fn remote_shell(launcher: &str, scratch: &ScratchFolder) -> Result<PathBuf, String> {
    let file = scratch.file("remote-shell");
    let script = format!(
        "#!/bin/sh\nwhile [ $# -gt 0 ]; do\n    case $1 in\n    -*) shift ;;\n    *) break ;;\n    esac\ndone\nexec {launcher} \"$@\"\n"
    );
    fs::write(&file, script)
        .and_then(|()| fs::set_permissions(&file, fs::Permissions::from_mode(0o700)))
        .map_err(|error| format!("cannot write {}: {error}", file.display()))?;
    Ok(file)
}

fn command(words: &[String]) -> String {
    let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
    ["tern netpipe"].into_iter().chain(words.iter().map(String::as_str)).collect::<Vec<_>>().join(" ")
}

fn versions(systems: &[MeasuredSystem]) -> Vec<String> {
    let version = |system: &MeasuredSystem| match system {
        MeasuredSystem::Tern => format!("tern: Tern {}", env!("CARGO_PKG_VERSION")),
        MeasuredSystem::RawPolled => "raw: TCP, sockets polled".into(),
        MeasuredSystem::RawBlocking => "raw-blocking: TCP, blocking sockets".into(),
        MeasuredSystem::Memory => "memory: copies and atomic instructions on mapped memory".into(),
        MeasuredSystem::Peer(peer) => format!("{}: {}", peer.name, peer.version),
    };
    systems.iter().map(version).collect()
}

fn list(folder: &Path, files: &[String]) -> String {
    let mut text = String::from("Written:\n");
    for file in files {
        let _ = writeln!(text, "  {}", folder.join(file).display());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn the_remote_shell_leaves_out_what_launchers_put_before_the_host() {
        let scratch = ScratchFolder::new("tern-netpipe-shell-test").unwrap();
        let shell = remote_shell("echo on", &scratch).unwrap();
        let output = Command::new(shell).args(["-x", "-q", "host", "run", "-n", "1"]).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), "on host run -n 1\n");
    }

    #[test]
    fn the_command_can_be_typed_again() {
        let words = ["--launcher", "sh -c", "--quick"].map(String::from);
        assert_eq!(command(&words), "tern netpipe --launcher 'sh -c' --quick");
        let words = ["--launcher", "'/a b/ssh' $X"].map(String::from);
        assert_eq!(command(&words), r"tern netpipe --launcher ''\''/a b/ssh'\'' $X'");
    }
}

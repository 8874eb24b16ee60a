//! Hosts of the command line and of host files. So far a job runs on this machine alone.

use std::path::Path;

use crate::plan::Settings;
use crate::verdict::Refusal;

/// Checks that every host is this machine. Returns the slots that the hosts offer, if any are named.
pub fn check(settings: &Settings) -> Result<Option<u32>, Refusal> {
    let mut slots = None;
    for host in settings.apps.iter().flat_map(|app| &app.hosts) {
        add(&mut slots, Host::parse(host)?)?;
    }
    if let Some(path) = &settings.hostfile {
        for host in read(path)? {
            add(&mut slots, host)?;
        }
    }
    Ok(slots)
}

/// This machine's name.
pub fn own_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

fn add(slots: &mut Option<u32>, host: Host) -> Result<(), Refusal> {
    if !is_local(&host.name) {
        return Err(Refusal::usage(format!(
            "host '{}' is not this machine ({}): jobs on several machines come with Tern's TCP transport",
            host.name,
            own_name()
        )));
    }
    *slots = Some(slots.unwrap_or(0).saturating_add(host.slots));
    Ok(())
}

fn is_local(name: &str) -> bool {
    let own = own_name();
    let short = own.split('.').next().unwrap_or_default();
    ["localhost", "127.0.0.1", "::1", own.as_str(), short].contains(&name)
}

#[derive(Debug, PartialEq, Eq)]
struct Host {
    name: String,
    slots: u32,
}

impl Host {
    /// `name` or `name:slots`; `::1` is a name.
    fn parse(text: &str) -> Result<Host, Refusal> {
        match text.rsplit_once(':').filter(|(name, _)| !name.contains(':')) {
            Some((name, slots)) => Host::with_slots(name, slots),
            None => Ok(Host { name: text.into(), slots: 1 }),
        }
    }

    fn with_slots(name: &str, slots: &str) -> Result<Host, Refusal> {
        let number = slots.parse().ok().filter(|&slots| slots > 0);
        let slots = number.ok_or_else(|| {
            Refusal::usage(format!("host '{name}': '{slots}' is no number of slots above 0"))
        })?;
        Ok(Host { name: name.into(), slots })
    }

    /// A line of a host file: `name`, `name:slots` or `name slots=N`, then perhaps a comment.
    fn parse_line(line: &str) -> Result<Option<Host>, Refusal> {
        let mut words = line.split('#').next().unwrap_or_default().split_whitespace();
        let Some(name) = words.next() else { return Ok(None) };
        match words.find_map(|word| word.strip_prefix("slots=")) {
            Some(slots) => Host::with_slots(name, slots).map(Some),
            None => Host::parse(name).map(Some),
        }
    }
}

fn read(path: &Path) -> Result<Vec<Host>, Refusal> {
    let text = std::fs::read_to_string(path).map_err(|error| {
        Refusal::usage(format!("cannot read the host file '{}': {error}", path.display()))
    })?;
    let hosts: Result<Vec<_>, _> = text.lines().map(Host::parse_line).collect();
    Ok(hosts?.into_iter().flatten().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> Option<(String, u32)> {
        Host::parse_line(text).unwrap().map(|host| (host.name, host.slots))
    }

    #[test]
    fn lines_of_a_host_file() {
        assert_eq!(line("  # comment"), None);
        assert_eq!(line("a:3 # comment"), Some(("a".into(), 3)));
        assert_eq!(line("a slots=4 max_slots=8"), Some(("a".into(), 4)));
        assert_eq!(line("::1"), Some(("::1".into(), 1)));
        assert!(Host::parse_line("a:0").is_err());
        assert!(Host::parse_line("a slots=x").is_err());
    }

    #[test]
    fn this_machine_is_local_and_others_are_not() {
        assert!(is_local("localhost") && is_local(&own_name()));
        assert!(!is_local("elsewhere.example"));
    }
}

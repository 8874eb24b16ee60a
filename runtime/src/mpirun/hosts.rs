//! Hosts of the command line and of host files.

use std::path::Path;

use crate::verdict::Refusal;

/// A host that may run ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// As the user wrote it: what the launcher is called with.
    pub name: String,
    /// Ranks that it is meant for; `None` if nobody said so.
    pub slots: Option<u32>,
}

impl Host {
    /// `name` or `name:slots`; `::1` is a name.
    pub fn parse(text: &str) -> Result<Host, Refusal> {
        match text.rsplit_once(':').filter(|(name, _)| !name.contains(':')) {
            Some((name, slots)) => Host::with_slots(name, slots),
            None => Host::named(text, None),
        }
    }

    fn with_slots(name: &str, slots: &str) -> Result<Host, Refusal> {
        let number = slots.parse().ok().filter(|&slots| slots > 0);
        let slots = number.ok_or_else(|| {
            Refusal::usage(format!("host '{name}': '{slots}' is no number of slots above 0"))
        })?;
        Host::named(name, Some(slots))
    }

    /// A name that begins with a dash would be an option of the launcher.
    fn named(name: &str, slots: Option<u32>) -> Result<Host, Refusal> {
        let odd = |letter: char| letter.is_whitespace() || letter.is_control();
        if name.is_empty() || name.starts_with('-') || name.contains(odd) {
            return Err(Refusal::usage(format!("'{name}' is no name of a host")));
        }
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

/// Reads a host file.
pub fn read(path: &Path) -> Result<Vec<Host>, Refusal> {
    let text = std::fs::read_to_string(path).map_err(|error| {
        Refusal::usage(format!("cannot read the host file '{}': {error}", path.display()))
    })?;
    parse(&text)
}

/// The hosts of a host file.
pub fn parse(text: &str) -> Result<Vec<Host>, Refusal> {
    let hosts: Result<Vec<_>, _> = text.lines().map(Host::parse_line).collect();
    Ok(hosts?.into_iter().flatten().collect())
}

/// A host that is named several times has the slots of all its names, at the place of the first.
pub fn merge(hosts: impl Iterator<Item = Host>) -> Vec<Host> {
    let mut merged: Vec<Host> = Vec::new();
    for host in hosts {
        match merged.iter_mut().find(|other| other.name == host.name) {
            Some(other) => other.slots = Some(slots(other).saturating_add(slots(&host))),
            None => merged.push(host),
        }
    }
    merged
}

/// A host without a number of slots has one.
pub fn slots(host: &Host) -> u32 {
    host.slots.unwrap_or(1)
}

/// This machine's name.
pub fn own_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// Whether a name is this machine's, so that no launcher is needed.
pub fn is_local(name: &str) -> bool {
    let own = own_name();
    let short = own.split('.').next().unwrap_or_default();
    ["localhost", "127.0.0.1", "::1", own.as_str(), short].contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> Option<(String, Option<u32>)> {
        Host::parse_line(text).unwrap().map(|host| (host.name, host.slots))
    }

    #[test]
    fn lines_of_a_host_file() {
        assert_eq!(line("  # comment"), None);
        assert_eq!(line("a:3 # comment"), Some(("a".into(), Some(3))));
        assert_eq!(line("a slots=4 max_slots=8"), Some(("a".into(), Some(4))));
        assert_eq!(line("::1"), Some(("::1".into(), None)));
        for bad in ["a:0", "a slots=x", "-oProxyCommand=x"] {
            assert!(Host::parse_line(bad).is_err(), "{bad}");
        }
        assert!(Host::parse("a b").is_err() && Host::parse("").is_err());
    }

    #[test]
    fn a_host_named_twice_is_one() {
        let hosts = ["a:2", "b", "a", "b"].map(|text| Host::parse(text).unwrap());
        let merged = merge(hosts.into_iter());
        let found: Vec<_> = merged.iter().map(|host| (host.name.as_str(), slots(host))).collect();
        assert_eq!(found, [("a", 3), ("b", 2)]);
    }

    #[test]
    fn this_machine_is_local_and_others_are_not() {
        assert!(is_local("localhost") && is_local(&own_name()));
        assert!(!is_local("elsewhere.example"));
    }
}

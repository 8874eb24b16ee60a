//! Hosts of the command line and of host files.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};
use std::path::Path;
use std::sync::OnceLock;

use crate::plan::host_table::HostTable;
use crate::watch::exit_cause::Refusal;

/// A host that may run ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Host {
    /// As the user wrote it: what the launcher is called with.
    pub name: String,
    /// Ranks that it is meant for; `None` if nobody said so.
    pub slots: Option<u32>,
    /// Ranks that it takes at most, if a host file says so.
    pub most: Option<u32>,
}

impl Host {
    /// `name` or `name:slots`; `::1` is a name, and `[::1]:2` the same host with slots.
    pub(crate) fn parse(text: &str) -> Result<Host, Refusal> {
        match split_slots(text) {
            (name, Some(slots)) => Host::with_slots(name, slots),
            (name, None) => Host::named(name, None),
        }
    }

    fn with_slots(name: &str, slots: &str) -> Result<Host, Refusal> {
        Host::named(name, Some(Host::number(name, slots)?))
    }

    /// A name that begins with a dash would be an option of the launcher. Colons are for addresses of IPv6.
    pub(super) fn named(name: &str, slots: Option<u32>) -> Result<Host, Refusal> {
        let odd = |letter: char| {
            letter.is_whitespace() || letter.is_control() || "[](),\"'^+#\u{feff}".contains(letter)
        };
        if name.is_empty() || name.starts_with('-') || name.contains(odd) {
            return Err(Refusal::usage(format!("'{name}' is no name of a host")));
        }
        if name.contains(':') && !is_ipv6(name) {
            let form = "a host is NAME, NAME:SLOTS or, with an address of IPv6, [ADDRESS]:SLOTS";
            return Err(Refusal::usage(format!("'{name}' is no name of a host: {form}")));
        }
        Ok(Host { name: name.into(), slots, most: None })
    }

    /// The number of slots, or of ranks at most, that belongs to a name.
    fn number(name: &str, slots: &str) -> Result<u32, Refusal> {
        let number = slots.parse().ok().filter(|&slots| slots > 0);
        number.ok_or_else(|| {
            Refusal::usage(format!("host '{name}': '{slots}' is no number of slots from 1 to {}", u32::MAX))
        })
    }

    /// A line of a host file: `name`, `name:slots` or `name slots=N max_slots=M`, then perhaps a comment.
    fn parse_line(line: &str) -> Result<Option<Host>, Refusal> {
        let line = line.split('#').next().unwrap_or_default();
        let (name, rest) = line.trim().split_once(char::is_whitespace).unwrap_or((line.trim(), ""));
        if name.is_empty() {
            return Ok(None);
        }
        let mut host = Host::parse(name)?;
        for (key, value) in pairs(rest) {
            match (key, value) {
                ("slots", Some(_)) if host.slots.is_some() => {
                    return Err(Refusal::usage(format!("host '{}' has slots twice", host.name)));
                }
                ("slots", Some(slots)) => host.slots = Some(Host::number(&host.name, slots)?),
                ("max_slots" | "max-slots", Some(most)) => host.most = Some(Host::number(&host.name, most)?),
                _ => return Err(unknown_word(key)),
            }
        }
        Ok(Some(host))
    }
}

/// The slots behind the last colon, if there are any: what has several colons and no brackets is an address.
fn split_slots(text: &str) -> (&str, Option<&str>) {
    let bracketed = text.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    match bracketed {
        Some((name, "")) => (name, None),
        Some((name, slots)) if slots.starts_with(':') => (name, Some(&slots[1..])),
        Some(_) => (text, None),
        None => match text.split_once(':') {
            Some((name, slots)) if !slots.contains(':') => (name, Some(slots)),
            _ => (text, None),
        },
    }
}

/// Whether this is an address of IPv6, perhaps with its interface, as in `fe80::1%eth0`, or a user, as for `ssh`.
fn is_ipv6(name: &str) -> bool {
    let address = name.rsplit('@').next().unwrap_or_default();
    address.split('%').next().unwrap_or_default().parse::<Ipv6Addr>().is_ok()
}

/// `key=value`, with or without blanks around the sign; what is no such pair is a key alone.
fn pairs(text: &str) -> Vec<(&str, Option<&str>)> {
    let mut pairs: Vec<(&str, Option<&str>)> = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let end = rest.find(|letter: char| letter.is_whitespace() || letter == '=').unwrap_or(rest.len());
        let (key, after) = rest.split_at(end);
        let Some(value) = after.trim_start().strip_prefix('=') else {
            pairs.push((key, None));
            rest = after.trim_start();
            continue;
        };
        let value = value.trim_start();
        let end = value.find(char::is_whitespace).unwrap_or(value.len());
        pairs.push((key, Some(&value[..end])));
        rest = value[end..].trim_start();
    }
    pairs
}

fn unknown_word(word: &str) -> Refusal {
    Refusal::usage(format!(
        "'{word}' is not understood; a line is NAME, NAME:SLOTS or NAME slots=N, then # COMMENT"
    ))
}

/// Reads a host file.
pub(crate) fn read(path: &Path) -> Result<Vec<Host>, Refusal> {
    parse(&text_of(path, "host file")?).map_err(|(line, refusal)| {
        Refusal::usage(format!("the host file '{}', line {line}: {refusal}", path.display()))
    })
}

/// What is in a file of the user's; `what` it is called.
pub(super) fn text_of(path: &Path, what: &str) -> Result<String, Refusal> {
    text_at(path)
        .map_err(|error| Refusal::usage(format!("cannot read the {what} '{}': {error}", path.display())))
}

/// What is in a file, without the mark that some editors put in front of UTF-8.
pub(super) fn text_at(path: &Path) -> io::Result<String> {
    let text = std::fs::read_to_string(path)?;
    Ok(text.strip_prefix('\u{feff}').map(String::from).unwrap_or(text))
}

/// The hosts of a host file, or what is wrong in which line.
pub(crate) fn parse(text: &str) -> Result<Vec<Host>, (usize, Refusal)> {
    let lines = (1..).zip(text.lines());
    let hosts = lines.map(|(number, line)| Host::parse_line(line).map_err(|refusal| (number, refusal)));
    let hosts: Result<Vec<_>, _> = hosts.collect();
    Ok(hosts?.into_iter().flatten().collect())
}

/// A host that is named several times has the slots of all its names, at the place of the first.
pub(crate) fn merge(hosts: impl Iterator<Item = Host>) -> Vec<Host> {
    let (mut merged, mut table) = (Vec::<Host>::new(), HostTable::default());
    for host in hosts {
        match table.find(&host.name) {
            Some(at) => {
                let other = &mut merged[at];
                other.slots = Some(slots(other).saturating_add(slots(&host)));
                other.most = other.most.zip(host.most).map(|(some, more)| some.saturating_add(more));
            }
            None => {
                table.add(&host.name, merged.len());
                merged.push(host);
            }
        }
    }
    merged
}

/// Hosts without a number of slots, or of ranks at most, have those that are listed for them.
pub(super) fn take_slots(hosts: &mut [Host], listed: &[Host]) {
    let table = HostTable::of(listed);
    for host in hosts {
        let Some(listed) = table.find(&host.name).map(|at| &listed[at]) else { continue };
        host.slots = host.slots.or(listed.slots);
        host.most = host.most.or(listed.most);
    }
}

/// A host without a number of slots has one.
pub(crate) fn slots(host: &Host) -> u32 {
    host.slots.unwrap_or(1)
}

/// This machine's name.
pub(crate) fn own_name() -> String {
    own().to_owned()
}

/// See [`own_name`]. It is asked for once, since each of many hosts is compared with it.
fn own() -> &'static str {
    static OWN: OnceLock<String> = OnceLock::new();
    OWN.get_or_init(|| rustix::system::uname().nodename().to_string_lossy().into_owned())
}

/// Whether a name is this machine's, so that no launcher is needed.
pub(crate) fn is_local(name: &str) -> bool {
    let own = own();
    let short = own.split('.').next().unwrap_or_default();
    // Batch systems write names with their domain, also where the machine calls itself without.
    let without_domain = || !own.contains('.') && name.split('.').next() == Some(short);
    ["localhost", "127.0.0.1", "::1", own, short].contains(&name) || without_domain()
}

/// Whether this is an address of this machine. The kernel sends packets to such a one from that address itself; none is sent to ask.
pub(crate) fn is_own_address(name: &str) -> bool {
    let Ok(address) = name.parse::<IpAddr>() else { return false };
    let any = match address {
        IpAddr::V4(_) => IpAddr::from(Ipv4Addr::UNSPECIFIED),
        IpAddr::V6(_) => IpAddr::from(Ipv6Addr::UNSPECIFIED),
    };
    let source = || {
        let socket = UdpSocket::bind((any, 0))?;
        socket.connect((address, DISCARD_PORT))?;
        socket.local_addr()
    };
    let usable = !address.is_unspecified() && !address.is_multicast();
    usable && (address.is_loopback() || source().is_ok_and(|source| source.ip() == address))
}

/// Nobody needs to listen there.
const DISCARD_PORT: u16 = 9;

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
        assert_eq!(line("\ta  slots = 4 max-slots= 8\r"), Some(("a".into(), Some(4))));
        let most = |text: &str| Host::parse_line(text).unwrap().and_then(|host| host.most);
        assert_eq!(
            (most("a slots=4 max_slots=8"), most("a max-slots=2"), most("a")),
            (Some(8), Some(2), None)
        );
        assert_eq!(line("::1"), Some(("::1".into(), None)));
        for bad in [
            "a:0",
            "+n0",
            "^a",
            "a,b",
            "\"a\"",
            "a max_slots=0",
            "a slots=x",
            "-oProxyCommand=x",
            "a slot=4",
            "a slots",
            "a slots=",
            "a b",
            "a:2 slots=3",
        ] {
            assert!(Host::parse_line(bad).is_err(), "{bad}");
        }
        assert!(Host::parse("a b").is_err() && Host::parse("").is_err());
    }

    #[test]
    fn slots_out_of_range_are_told_the_range() {
        for bad in ["a:0", "a:99999999999", "a slots=4294967296"] {
            let said = Host::parse_line(bad).unwrap_err().to_string();
            assert!(said.contains("is no number of slots from 1 to 4294967295"), "{said}");
        }
    }

    #[test]
    fn what_an_editor_marks_is_no_name() {
        let file = std::env::temp_dir().join(format!("tern-mark-{}", std::process::id()));
        std::fs::write(&file, "\u{feff}a:2\nb\n").unwrap();
        assert_eq!(read(&file).unwrap()[0], Host { name: "a".into(), slots: Some(2), most: None });
        std::fs::remove_file(&file).unwrap();
        assert!(Host::parse("\u{feff}a").is_err() && Host::parse("(null)").is_err());
    }

    #[test]
    fn a_wrong_line_is_named() {
        let (line, refusal) = parse("a:2\n# b\nc slot=3\n").unwrap_err();
        assert_eq!(line, 3);
        assert!(refusal.to_string().contains("'slot'"), "{refusal}");
    }

    #[test]
    fn addresses_are_names() {
        let parsed = |text: &str| Host::parse(text).map(|host| (host.name.clone(), slots(&host)));
        for (text, name, slots) in [
            ("fd83::2", "fd83::2", 1),
            ("[fd83::2]", "fd83::2", 1),
            ("[fd83::2]:4", "fd83::2", 4),
            ("fe80::1%eth0", "fe80::1%eth0", 1),
            ("me@fd83::2", "me@fd83::2", 1),
            ("me@b:2", "me@b", 2),
        ] {
            assert_eq!(parsed(text).unwrap(), (name.into(), slots), "{text}");
        }
        for bad in ["a:2:3", "[::1", "[::1]2", "[a:b]:2", "a:", "[]:2"] {
            assert!(parsed(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_host_named_twice_is_one() {
        let hosts = ["a:2", "b", "a", "b"].map(|text| Host::parse(text).unwrap());
        let merged = merge(hosts.into_iter());
        let found: Vec<_> = merged.iter().map(|host| (host.name.as_str(), slots(host))).collect();
        assert_eq!(found, [("a", 3), ("b", 2)]);
        let own = format!("localhost slots=2\n{} slots=2\n127.0.0.1:3\nb\nb.site.org", own_name());
        let merged = merge(parse(&own).unwrap().into_iter());
        let found: Vec<_> = merged.iter().map(|host| (host.name.as_str(), slots(host))).collect();
        assert_eq!(found, [("localhost", 7), ("b", 2)]);
    }

    #[test]
    fn this_machine_is_local_and_others_are_not() {
        assert!(is_local("localhost") && is_local(&own_name()));
        assert!(!is_local("elsewhere.example"));
        assert!(is_own_address("127.0.0.3") && is_own_address("::1"));
        for other in ["0.0.0.0", "192.0.2.77", "224.0.0.1", "localhost", "2001:db8::77"] {
            assert!(!is_own_address(other), "{other}");
        }
    }
}

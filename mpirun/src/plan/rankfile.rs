//! Rank files: the host of each rank and where it runs there, a line each, as Open MPI has them.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use tern_job::limits::{PROCESSORS_MAX, RANKS_MAX};
use tern_job::ranges;
use tern_job::topology::{Level, MachineTopology};

use crate::plan::host_table::HostTable;
use crate::plan::hosts::{Host, text_of};
use crate::plan::layout::ascending;
use crate::watch::exit_cause::Refusal;

/// The processors of one rank; none are all.
pub(crate) type RankSlots = Vec<SlotPart>;

/// Some of the processors of a rank. Sockets and cores are counted as [`MachineTopology`] does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum SlotPart {
    /// Cores of the host.
    Cores(Vec<u32>),
    /// Cores of a socket; `None` is all of them.
    OfSocket(u32, Option<Vec<u32>>),
    /// Processors by the numbers of the system.
    Processors(Vec<u32>),
}

/// What a line says of its rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RankPlace {
    host: HostName,
    pub slots: RankSlots,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum HostName {
    Named(String),
    /// `+n2`: the third host of the job.
    Relative(usize),
}

impl RankPlace {
    /// Gives the host another name, if `other` has one for it.
    pub(crate) fn rename(&mut self, other: impl Fn(&str) -> Option<&'static str>) {
        if let HostName::Named(name) = &mut self.host
            && let Some(other) = other(name)
        {
            *name = other.into();
        }
    }

    /// The host, which must be among those of the job where it has any. The table is of them.
    pub(crate) fn host(
        &self,
        rank: usize,
        pool: Option<&[Host]>,
        table: &HostTable,
    ) -> Result<Host, Refusal> {
        let found = match (&self.host, pool) {
            (HostName::Named(name), None) => Some(Host { name: name.clone(), slots: None, most: None }),
            (HostName::Named(name), Some(pool)) => table.find(name).map(|at| pool[at].clone()),
            (HostName::Relative(number), pool) => pool.unwrap_or_default().get(*number).cloned(),
        };
        found.ok_or_else(|| {
            let names: Vec<&str> = pool.unwrap_or_default().iter().map(|host| host.name.as_str()).collect();
            let names = if names.is_empty() { "none is named".into() } else { names.join(", ") };
            let host = match &self.host {
                HostName::Named(name) => name.clone(),
                HostName::Relative(number) => format!("+n{number}"),
            };
            Refusal::usage(format!(
                "--rankfile: '{host}' of rank {rank} is none of the hosts of the job: {names}"
            ))
        })
    }
}

/// Reads a rank file.
pub(crate) fn read(path: &Path) -> Result<Vec<RankPlace>, Refusal> {
    parse(&text_of(path, "rank file")?)
        .map_err(|why| Refusal::usage(format!("the rank file '{}'{why}", path.display())))
}

/// The places of all ranks from 0 on, or what is wrong, from the line's number on.
pub(crate) fn parse(text: &str) -> Result<Vec<RankPlace>, String> {
    let mut places = BTreeMap::new();
    for (number, line) in (1..).zip(text.lines()) {
        let wrong = |why| format!(", line {number}: {why}");
        let Some((rank, place)) = parse_line(line).map_err(wrong)? else { continue };
        if places.insert(rank, place).is_some() {
            return Err(wrong(format!("rank {rank} has a line before")));
        }
    }
    match (0..).zip(places.keys()).find(|(expected, rank)| expected != *rank) {
        Some((missing, _)) => Err(format!(" has no line for rank {missing}")),
        None if places.is_empty() => Err(" names no rank".into()),
        None => Ok(places.into_values().collect()),
    }
}

/// `rank 3=host slot=0:1-2`, then perhaps a comment.
fn parse_line(line: &str) -> Result<Option<(u32, RankPlace)>, String> {
    let line = line.split('#').next().unwrap_or_default().trim();
    if line.is_empty() {
        return Ok(None);
    }
    let unknown = || {
        format!("'{line}' is not understood; a line is 'rank N=HOST slot=SLOTS', as in rank 0=a slot=0:1-2")
    };
    let (word, rest) = line.split_once(char::is_whitespace).ok_or_else(unknown)?;
    let (rank, rest) = rest.split_once('=').ok_or_else(unknown)?;
    if !word.eq_ignore_ascii_case("rank") {
        return Err(unknown());
    }
    let rank = rank.trim();
    let number = rank.parse().ok().filter(|number| *number < RANKS_MAX);
    let number = number.ok_or_else(|| format!("'{rank}' is no rank from 0 to {}", RANKS_MAX - 1))?;
    let rest = rest.trim();
    let (host, rest) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let slots = match rest.trim().split_once('=') {
        None if rest.trim().is_empty() => Vec::new(),
        Some((key, value)) if ["slot", "slots"].contains(&key.trim().to_ascii_lowercase().as_str()) => {
            parse_slots(value.trim())?
        }
        _ => return Err(unknown()),
    };
    Ok(Some((number, RankPlace { host: parse_host(host)?, slots })))
}

fn parse_host(text: &str) -> Result<HostName, String> {
    if let Some(number) = text.strip_prefix("+n").or_else(|| text.strip_prefix("+N")) {
        return number
            .parse()
            .map(HostName::Relative)
            .map_err(|_| format!("'{text}' is no host such as +n0"));
    }
    match Host::named(text, None) {
        Ok(host) => Ok(HostName::Named(host.name)),
        Err(refusal) => Err(refusal.to_string()),
    }
}

/// `2-3`, `1:0-2`, `0:*`, `0:0,1;1:0` or, by the system's numbers, `p4,p6-7`.
fn parse_slots(text: &str) -> Result<RankSlots, String> {
    let wrong = || {
        format!(
            "'{text}' names no slots: they are cores, as in 0,2-3, cores of a socket, as in 1:0-2 or 1:*, or processors by the \
             system's numbers, as in p4"
        )
    };
    if text == "*" {
        return Ok(Vec::new());
    }
    let mut parts: RankSlots = Vec::new();
    for group in text.split(';') {
        // A number behind a comma is of the socket before it.
        let mut socket = None;
        for word in group.split(',').map(str::trim) {
            let numbers = |list: &str| ranges::parse(list, PROCESSORS_MAX).ok_or_else(wrong);
            parts.push(match (word.strip_prefix(['p', 'P']), word.split_once(':')) {
                (Some(list), None) => SlotPart::Processors(numbers(list)?),
                (Some(_), Some(_)) => return Err(wrong()),
                (None, Some((number, cores))) => {
                    let number = number.parse().map_err(|_| wrong())?;
                    socket = Some(number);
                    let cores = if cores == "*" { None } else { Some(numbers(cores)?) };
                    SlotPart::OfSocket(number, cores)
                }
                (None, None) => match socket {
                    Some(number) => SlotPart::OfSocket(number, Some(numbers(word)?)),
                    None => SlotPart::Cores(numbers(word)?),
                },
            });
        }
    }
    Ok(parts)
}

/// The processors of a host that `slots` are. A core is a hardware thread where `threads` says so. What the host
/// does not have is an error.
pub(crate) fn processors_of(
    host: &MachineTopology,
    slots: &[SlotPart],
    threads: bool,
) -> Result<Vec<u32>, String> {
    let all = host.processors();
    if slots.is_empty() {
        return Ok(all);
    }
    let level = if threads { Level::HwThread } else { Level::Core };
    let mut chosen: Vec<u32> = Vec::new();
    for part in slots {
        chosen.extend(match part {
            SlotPart::Cores(numbers) => picked(host.parts(level), numbers, "core")?,
            SlotPart::OfSocket(socket, cores) => {
                let within = picked(host.parts(Level::Socket), &[*socket], "socket")?;
                match cores {
                    None => within,
                    Some(cores) => {
                        picked(host.among(&within).parts(level), cores, &format!("socket {socket}, core"))?
                    }
                }
            }
            SlotPart::Processors(numbers) => match numbers.iter().find(|number| !all.contains(number)) {
                None => numbers.clone(),
                Some(absent) => {
                    let usable = format!("usable are {}", ranges::to_text(&ascending(all)));
                    return Err(missing("processor", *absent, &usable));
                }
            },
        });
    }
    let mut chosen = ascending(chosen);
    chosen.dedup();
    Ok(chosen)
}

/// The processors of the parts with these numbers.
fn picked(parts: Vec<Vec<u32>>, numbers: &[u32], what: &str) -> Result<Vec<u32>, String> {
    match numbers.iter().find(|number| **number as usize >= parts.len()) {
        Some(absent) => Err(missing(what, *absent, &format!("there are {}, from 0 on", parts.len()))),
        None => Ok(numbers.iter().flat_map(|number| parts[*number as usize].clone()).collect()),
    }
}

fn missing(what: &str, number: u32, there: &str) -> String {
    format!("this host has no {what} {number} that may be used: {there}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(text: &str) -> Vec<RankPlace> {
        parse(text).unwrap()
    }

    #[test]
    fn lines_in_all_forms() {
        let text =
            "# who runs where\nrank 1=b slot=1:0-2 # three\n\nRANK 0 = a  slots = 2-3,5\nrank 2=+n0 slot=*\n";
        let places = places(text);
        let hosts: Vec<_> = places.iter().map(|place| place.host.clone()).collect();
        assert_eq!(hosts, [HostName::Named("a".into()), HostName::Named("b".into()), HostName::Relative(0)]);
        assert_eq!(places[0].slots, [SlotPart::Cores(vec![2, 3]), SlotPart::Cores(vec![5])]);
        assert_eq!(places[1].slots, [SlotPart::OfSocket(1, Some(vec![0, 1, 2]))]);
        assert_eq!(places[2].slots, []);
    }

    #[test]
    fn slots_in_all_forms() {
        let of = |text: &str| parse_slots(text).unwrap();
        let zero = |cores: &[u32]| SlotPart::OfSocket(0, Some(cores.to_vec()));
        assert_eq!(of("0:0,1"), [zero(&[0]), zero(&[1])]);
        assert_eq!(of("0:0;1"), [zero(&[0]), SlotPart::Cores(vec![1])]);
        assert_eq!(of("0:1-2,1:*"), [zero(&[1, 2]), SlotPart::OfSocket(1, None)]);
        assert_eq!(of("p4,P6-7"), [SlotPart::Processors(vec![4]), SlotPart::Processors(vec![6, 7])]);
        for bad in ["", "x", "1:", ":1", "p1:2", "3-1", "0,,1", "1:0:2", "p"] {
            assert!(parse_slots(bad).unwrap_err().contains(&format!("'{bad}'")), "{bad}");
        }
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        for (text, words) in [
            ("rank 0=a\nrank 0=b", ", line 2: rank 0 has a line before"),
            ("rank 0=a\nrank 2=a", " has no line for rank 1"),
            ("# nothing", " names no rank"),
            ("rank x=a", ", line 1: 'x' is no rank"),
            ("rank 0 a", ", line 1: 'rank 0 a' is not understood"),
            ("rank 0=a core=1", "is not understood"),
            ("rank 0=-a", "'-a' is no name of a host"),
            ("rank 0=+nx", "'+nx' is no host"),
            ("rank 0=a slot=3-1", "'3-1' names no slots"),
        ] {
            let why = parse(text).unwrap_err();
            assert!(why.contains(words), "{text}: {why}");
        }
    }

    #[test]
    fn hosts_are_those_of_the_job() {
        let place = |text: &str| places(text).remove(0);
        let pool = [Host::parse("a:2").unwrap(), Host::parse("b").unwrap()];
        let table = HostTable::of(&pool);
        assert_eq!(place("rank 0=b").host(0, Some(&pool), &table).unwrap(), pool[1]);
        assert_eq!(place("rank 0=+n0").host(0, Some(&pool), &table).unwrap(), pool[0]);
        assert_eq!(place("rank 0=c").host(0, None, &table).unwrap().name, "c");
        let why = place("rank 0=c").host(0, Some(&pool), &table).unwrap_err().to_string();
        assert!(why.contains("'c' of rank 0") && why.contains("a, b"), "{why}");
        assert!(place("rank 0=+n2").host(0, Some(&pool), &table).unwrap_err().to_string().contains("'+n2'"));
        assert!(place("rank 0=+n0").host(0, None, &table).unwrap_err().to_string().contains("none is named"));
    }

    #[test]
    fn slots_are_processors_of_the_host() {
        let numbers: Vec<u32> = (0..4).collect();
        let host = MachineTopology::read(Path::new("/nonexistent"), &numbers);
        let of = |slots: &str| processors_of(&host, &parse_slots(slots).unwrap(), false);
        assert_eq!(of("1-2").unwrap(), [1, 2]);
        assert_eq!(of("0:3,0,0:3").unwrap(), [0, 3]);
        assert_eq!(of("0:*").unwrap(), [0, 1, 2, 3]);
        assert_eq!(of("p2").unwrap(), [2]);
        assert_eq!(processors_of(&host, &[], false).unwrap(), [0, 1, 2, 3]);
        for (slots, words) in [
            ("4", "no core 4"),
            ("1:0", "no socket 1"),
            ("0:4", "no socket 0, core 4"),
            ("p9", "no processor 9 that may be used: usable are 0-3"),
        ] {
            let why = of(slots).unwrap_err();
            assert!(why.contains(words), "{slots}: {why}");
        }
    }
}

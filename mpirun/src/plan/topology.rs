//! Which processors belong together, for `--bind-to`.

use std::collections::{BTreeMap, BTreeSet};

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use serde::{Deserialize, Serialize};

use crate::plan::placement::{MapBy, parse_count};
use crate::watch::exit_cause::Refusal;

/// What a rank is bound to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum BindTo {
    /// Nothing: the kernel moves ranks where there is room.
    #[default]
    None,
    /// One hardware thread.
    HwThread,
    /// One core with its hardware threads.
    Core,
    /// The processors that share a cache of the second level.
    L2Cache,
    /// The processors that share a cache of the third level.
    L3Cache,
    /// One processor package.
    Socket,
    /// One memory node.
    Numa,
}

impl BindTo {
    fn parse(value: &str) -> Option<BindTo> {
        match value {
            "none" => Some(BindTo::None),
            "hwthread" => Some(BindTo::HwThread),
            "core" => Some(BindTo::Core),
            "l2cache" => Some(BindTo::L2Cache),
            "l3cache" => Some(BindTo::L3Cache),
            "socket" | "package" => Some(BindTo::Socket),
            "numa" => Some(BindTo::Numa),
            _ => None,
        }
    }
}

/// A part of a host, round which ranks may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part(pub BindTo);

impl Part {
    const NAMES: [(&'static str, BindTo); 8] = [
        ("hwthread", BindTo::HwThread),
        ("core", BindTo::Core),
        ("l1cache", BindTo::Core),
        ("l2cache", BindTo::L2Cache),
        ("l3cache", BindTo::L3Cache),
        ("numa", BindTo::Numa),
        ("socket", BindTo::Socket),
        ("package", BindTo::Socket),
    ];

    /// The part with this name.
    pub fn parse(name: &str) -> Option<Part> {
        Part::NAMES.iter().find(|(known, _)| *known == name).map(|(_, part)| Part(*part))
    }

    /// All names, for messages.
    pub fn names() -> String {
        Part::NAMES.map(|(name, _)| name).join(", ")
    }

    fn name(self) -> &'static str {
        Part::NAMES.iter().find(|(_, part)| *part == self.0).map_or("none", |(name, _)| name)
    }

    /// How many of them this host has.
    fn count(self) -> u32 {
        sched_getaffinity(None).map_or(1, |own| group(&own, key_of(self.0)).len() as u32)
    }
}

/// In which order the ranks of a host take its parts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Order {
    /// One after the other.
    #[default]
    InTurn,
    /// The first of each of these parts, then the second.
    Round(Part),
    /// So many in each of these parts.
    Blocks(u32, Part),
}

impl Order {
    /// Reads what `--map-by` says, without what follows the last colon but in `ppr:N:PART`.
    pub fn parse(value: &str) -> Result<(MapBy, Order), Refusal> {
        if let Some(part) = Part::parse(value) {
            return Ok((MapBy::Slot, Order::Round(part)));
        }
        let per_part = value.strip_prefix("ppr:").and_then(|rest| rest.split_once(':'));
        if let Some((number, part)) = per_part
            && let Some((number, part)) = parse_count(number).zip(Part::parse(part))
        {
            return Ok((MapBy::PerNode(number.saturating_mul(part.count())), Order::Blocks(number, part)));
        }
        MapBy::parse(value).map(|map_by| (map_by, Order::InTurn))
    }
}

/// How ranks are bound.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bind {
    /// To what.
    pub to: BindTo,
    /// To how many of them each rank is bound.
    pub width: u32,
    /// Whether several ranks on one are fine with the user.
    pub overload: bool,
    /// In which order they take these parts.
    pub order: Order,
    /// Whether the ranks of a host are numbered round its parts.
    pub rank_by: Option<Part>,
    /// Only these processors are used; all, if there are none.
    pub cpus: Vec<u32>,
}

impl Default for Bind {
    fn default() -> Bind {
        Bind {
            to: BindTo::None,
            width: 1,
            overload: false,
            order: Order::InTurn,
            rank_by: None,
            cpus: Vec::new(),
        }
    }
}

impl Bind {
    /// Reads the value of `--bind-to`, with a qualifier behind a colon as others know it.
    pub fn parse(value: &str) -> Result<Bind, Refusal> {
        let (to, qualifier) = value.split_once(':').unwrap_or((value, ""));
        let to = BindTo::parse(to).ok_or_else(|| {
            Refusal::usage(format!(
                "option --bind-to: '{value}' is none of none, hwthread, core, l2cache, l3cache, socket, numa"
            ))
        })?;
        let overload = match qualifier {
            "overload-allowed" => true,
            "" | "no-overload" | "if-supported" => false,
            _ => {
                return Err(Refusal::usage(format!(
                    "option --bind-to: '{qualifier}' in '{value}' is none of overload-allowed, no-overload, if-supported"
                )));
            }
        };
        Ok(Bind { to, overload, ..Bind::default() })
    }

    /// What `--bind-to` says goes with what `--map-by` said before.
    pub fn take(&mut self, said: Bind) {
        (self.to, self.overload) = (said.to, said.overload);
    }

    /// The order of `--map-by`. So many ranks of each part is a promise only where they are bound to it.
    pub fn set_order(&mut self, order: Order) {
        self.order = order;
        if let (Order::Blocks(_, part), BindTo::None) = (order, self.to) {
            self.to = part.0;
        }
    }

    /// The part that `--map-by` names in vain, since ranks are not bound.
    pub fn ineffective_order(&self) -> Option<&'static str> {
        match (self.order, self.to) {
            (Order::Round(part) | Order::Blocks(_, part), BindTo::None) => Some(part.name()),
            _ => None,
        }
    }

    /// Each rank gets so many cores, or so many of what `--bind-to` names.
    pub fn widen(&mut self, width: u32) {
        self.width = width;
        if self.to == BindTo::None {
            self.to = BindTo::Core;
        }
    }
}

/// Where the ranks may run.
#[derive(Debug)]
pub struct Binding {
    own: CpuSet,
    /// Ranks take these in turn; empty if ranks are not bound.
    units: Vec<CpuSet>,
    /// For each rank of this host in turn, which unit it takes.
    places: Vec<usize>,
    bind: Bind,
}

impl Binding {
    /// Groups the processors that `mpirun` itself may use, for so many ranks.
    pub fn new(bind: &Bind, ranks: u32) -> Result<Binding, Refusal> {
        let (bind, own) = (bind.clone(), sched_getaffinity(None));
        if bind.to == BindTo::None && bind.cpus.is_empty() {
            return Ok(Binding { own: own.unwrap_or_default(), units: Vec::new(), places: Vec::new(), bind });
        }
        let own = own
            .map_err(|error| Refusal::system("--bind-to: cannot tell which processors may be used", error))?;
        let usable = among(&own, &bind.cpus)?;
        let units = match bind.to {
            BindTo::None => vec![usable],
            to => widen(group(&usable, key_of(to)), bind.width),
        };
        let places = places(&units, &bind, ranks, first_key);
        Ok(Binding { own, units, places, bind })
    }

    /// Whether ranks are bound.
    pub fn is_bound(&self) -> bool {
        !self.units.is_empty()
    }

    /// Processors that `ranks` ranks can use together.
    pub fn processors(&self, ranks: u32) -> u32 {
        if self.is_bound() {
            let taken: BTreeSet<usize> = self.places.iter().take(ranks as usize).copied().collect();
            taken.into_iter().map(|unit| self.units[unit].count()).sum()
        } else {
            self.own.count()
        }
    }

    /// Makes the processes that are started next run where `rank` belongs: they inherit it.
    pub fn apply(&self, rank: u32) -> Result<(), Refusal> {
        if !self.is_bound() {
            return Ok(());
        }
        sched_setaffinity(None, self.of(rank))
            .map_err(|error| Refusal::system(&format!("--bind-to: cannot bind rank {rank}"), error))
    }

    /// Makes `mpirun` run where it ran before.
    pub fn restore(&self) {
        if self.is_bound() {
            let _ = sched_setaffinity(None, &self.own);
        }
    }

    /// What to say where `ranks` ranks have to share what each should have alone.
    pub fn crowd(&self, ranks: u32) -> Option<String> {
        let count = self.units.len();
        if !self.is_bound() || self.bind.overload || ranks as usize <= count {
            return None;
        }
        let what = match self.bind.to {
            BindTo::HwThread => "hardware thread",
            BindTo::Core if self.bind.width > 1 => "group of cores",
            BindTo::Core => "core",
            // Sockets and nodes are for several ranks.
            _ => return None,
        };
        let s = if count == 1 { "" } else { "s" };
        Some(format!(
            "{ranks} ranks are bound to {count} {what}{s}, so that some share one: start fewer, or leave out --bind-to"
        ))
    }

    /// Where `rank` may run, in words.
    pub fn describe(&self, rank: u32) -> String {
        let bound = if self.is_bound() { "bound to" } else { "not bound: may run on" };
        let processors: Vec<u32> = members(self.of(rank)).map(|cpu| cpu as u32).collect();
        format!("{bound} processors {}", ranges(&processors))
    }

    fn of(&self, rank: u32) -> &CpuSet {
        match self.places.len() {
            0 => &self.own,
            count => &self.units[self.places[rank as usize % count]],
        }
    }
}

/// Which unit each of `ranks` ranks takes, before they are taken again. `key` tells in which part a unit lies.
fn places(units: &[CpuSet], bind: &Bind, ranks: u32, key: impl Fn(&CpuSet, Part) -> usize) -> Vec<usize> {
    let all: Vec<usize> = (0..units.len()).collect();
    let by_part = |places: &[usize], part| {
        let mut parts: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        places.iter().for_each(|&place| parts.entry(key(&units[place], part)).or_default().push(place));
        parts.into_values().collect::<Vec<_>>()
    };
    let placed: Vec<usize> = match bind.order {
        Order::InTurn => all,
        Order::Round(part) => take_turns(&by_part(&all, part)),
        Order::Blocks(number, part) => {
            let parts = by_part(&all, part);
            parts.iter().flat_map(|part| part.iter().copied().cycle().take(number as usize)).collect()
        }
    };
    match bind.rank_by {
        None => placed,
        Some(part) => {
            let taken: Vec<usize> = placed.into_iter().cycle().take(ranks as usize).collect();
            take_turns(&by_part(&taken, part))
        }
    }
}

/// The first of each, the second of each that has one, and so on.
fn take_turns(parts: &[Vec<usize>]) -> Vec<usize> {
    let most = parts.iter().map(Vec::len).max().unwrap_or_default();
    (0..most).flat_map(|turn| parts.iter().filter_map(move |part| part.get(turn).copied())).collect()
}

/// Those of `cpus` that may be used; all, if there are none.
fn among(own: &CpuSet, cpus: &[u32]) -> Result<CpuSet, Refusal> {
    if cpus.is_empty() {
        return Ok(*own);
    }
    let mut set = CpuSet::new();
    members(own).filter(|cpu| cpus.contains(&(*cpu as u32))).for_each(|cpu| set.set(cpu));
    match set.count() {
        0 => {
            let own: Vec<u32> = members(own).map(|cpu| cpu as u32).collect();
            Err(Refusal::usage(format!(
                "--cpu-set {}: none of these may be used here; those that may are {}",
                ranges(cpus),
                ranges(&own)
            )))
        }
        _ => Ok(set),
    }
}

/// Which part of the host a processor belongs to.
fn key_of(to: BindTo) -> Box<dyn Fn(usize) -> usize> {
    match to {
        BindTo::Core => Box::new(|cpu| first_of(cpu, "topology/thread_siblings_list").unwrap_or(cpu)),
        BindTo::L2Cache => Box::new(|cpu| cache(cpu, 2)),
        BindTo::L3Cache => Box::new(|cpu| cache(cpu, 3)),
        BindTo::Socket => Box::new(package),
        BindTo::Numa => Box::new(numa_node),
        BindTo::HwThread | BindTo::None => Box::new(|cpu| cpu),
    }
}

/// The part in which a unit lies.
fn first_key(unit: &CpuSet, part: Part) -> usize {
    members(unit).next().map_or(0, key_of(part.0))
}

fn package(cpu: usize) -> usize {
    first_of(cpu, "topology/physical_package_id").unwrap_or(0)
}

/// Where the kernel does not tell of such a cache, a package has one.
fn cache(cpu: usize, level: usize) -> usize {
    first_of(cpu, &format!("cache/index{level}/shared_cpu_list")).unwrap_or_else(|| package(cpu))
}

/// Numbers of `0-3,8`, in ascending order.
pub fn parse_ranges(text: &str) -> Option<Vec<u32>> {
    let mut numbers = BTreeSet::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        if first > last || last >= CpuSet::MAX_CPU as u32 {
            return None;
        }
        numbers.extend(first..=last);
    }
    Some(numbers.into_iter().collect())
}

/// Numbers in ascending order as `0-3,5`.
pub fn ranges(numbers: &[u32]) -> String {
    let mut parts: Vec<(u32, u32)> = Vec::new();
    for &number in numbers {
        match parts.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => parts.push((number, number)),
        }
    }
    let words = parts.iter().map(
        |&(first, last)| {
            if first == last { first.to_string() } else { format!("{first}-{last}") }
        },
    );
    words.collect::<Vec<_>>().join(",")
}

fn members(set: &CpuSet) -> impl Iterator<Item = usize> + '_ {
    (0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu))
}

/// Joins neighbors, so many each; what is left over goes with the last ones.
fn widen(units: Vec<CpuSet>, width: u32) -> Vec<CpuSet> {
    let width = (width as usize).clamp(1, units.len().max(1));
    let whole = units.len() / width;
    let mut joined = vec![CpuSet::new(); whole];
    for (index, unit) in units.iter().enumerate() {
        let set = &mut joined[(index / width).min(whole - 1)];
        members(unit).for_each(|cpu| set.set(cpu));
    }
    joined
}

fn group(own: &CpuSet, key_of: impl Fn(usize) -> usize) -> Vec<CpuSet> {
    let mut units: BTreeMap<usize, CpuSet> = BTreeMap::new();
    for cpu in members(own) {
        units.entry(key_of(cpu)).or_default().set(cpu);
    }
    units.into_values().collect()
}

/// The first number in a file about a processor.
fn first_of(cpu: usize, file: &str) -> Option<usize> {
    let text = std::fs::read_to_string(format!("/sys/devices/system/cpu/cpu{cpu}/{file}")).ok()?;
    text.split(|letter: char| !letter.is_ascii_digit()).next()?.parse().ok()
}

/// The kernel links each processor's folder to its node as `node0`. Without such links all are one node.
fn numa_node(cpu: usize) -> usize {
    let Ok(entries) = std::fs::read_dir(format!("/sys/devices/system/cpu/cpu{cpu}")) else { return 0 };
    let mut names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    names.find_map(|name| name.strip_prefix("node")?.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_become_ranges() {
        assert_eq!(ranges(&[]), "");
        assert_eq!(ranges(&[3]), "3");
        assert_eq!(ranges(&[0, 1, 2, 5, 7, 8]), "0-2,5,7-8");
    }

    #[test]
    fn values_of_the_option() {
        let bind = Bind::parse("core:overload-allowed").unwrap();
        assert_eq!((bind.to, bind.width, bind.overload), (BindTo::Core, 1, true));
        assert!(Bind::parse("core:nonsense").is_err());
        assert!(Bind::parse("cor").unwrap_err().to_string().contains("'cor'"));
    }

    #[test]
    fn ranks_take_the_units_in_turn() {
        let mut own = CpuSet::new();
        (0..6).for_each(|cpu| own.set(cpu));
        let bind = Bind { to: BindTo::Core, ..Bind::default() };
        let units = group(&own, |cpu| cpu / 2);
        let binding = Binding { own, places: vec![0, 1, 2], units, bind };
        assert_eq!(binding.describe(1), "bound to processors 2-3");
        assert_eq!(binding.describe(3), "bound to processors 0-1");
        assert_eq!((binding.processors(2), binding.processors(9)), (4, 6));
        assert_eq!(binding.crowd(3), None);
        assert!(binding.crowd(4).unwrap().contains("4 ranks are bound to 3 cores"));
        let wide = Binding { units: widen(binding.units, 2), places: vec![0], ..binding };
        assert_eq!(wide.describe(0), "bound to processors 0-5");
    }

    /// Two sockets with four cores each; a unit is a core.
    fn placed(order: Order, rank_by: Option<Part>, ranks: u32) -> Vec<usize> {
        let unit = |cpu| {
            let mut set = CpuSet::new();
            set.set(cpu);
            set
        };
        let units: Vec<CpuSet> = (0..8).map(unit).collect();
        let bind = Bind { order, rank_by, ..Bind::default() };
        places(&units, &bind, ranks, |unit, _| members(unit).next().unwrap() / 4)
    }

    #[test]
    fn ranks_go_round_the_parts() {
        let socket = Part(BindTo::Socket);
        assert_eq!(placed(Order::InTurn, None, 4)[..4], [0, 1, 2, 3]);
        assert_eq!(placed(Order::Round(socket), None, 4)[..4], [0, 4, 1, 5]);
        assert_eq!(placed(Order::Blocks(2, socket), None, 4), [0, 1, 4, 5]);
        assert_eq!(placed(Order::Blocks(2, socket), Some(socket), 4), [0, 4, 1, 5]);
        assert_eq!(placed(Order::InTurn, Some(socket), 6), [0, 4, 1, 5, 2, 3]);
    }

    #[test]
    fn lists_of_processors() {
        assert_eq!(parse_ranges("0-2,8,1"), Some(vec![0, 1, 2, 8]));
        for bad in ["", "x", "3-1", "0-", "99999999"] {
            assert_eq!(parse_ranges(bad), None, "{bad}");
        }
        let mut own = CpuSet::new();
        own.set(3);
        assert!(among(&own, &[1, 2]).unwrap_err().to_string().contains("those that may are 3"));
    }
}

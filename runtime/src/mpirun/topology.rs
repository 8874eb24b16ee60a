//! Which processors belong together, for `--bind-to`.

use std::collections::BTreeMap;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use serde::{Deserialize, Serialize};

use crate::verdict::Refusal;

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
    /// One processor package.
    Socket,
    /// One memory node.
    Numa,
}

impl BindTo {
    /// Reads the option's value. Others write qualifiers behind a colon, which change nothing here.
    pub fn parse(value: &str) -> Result<BindTo, Refusal> {
        match value.split(':').next().unwrap_or_default() {
            "none" => Ok(BindTo::None),
            "hwthread" => Ok(BindTo::HwThread),
            "core" => Ok(BindTo::Core),
            "socket" | "package" => Ok(BindTo::Socket),
            "numa" => Ok(BindTo::Numa),
            _ => Err(Refusal::usage(format!(
                "option --bind-to: '{value}' is none of none, hwthread, core, socket, numa"
            ))),
        }
    }
}

/// Where the ranks may run.
#[derive(Debug)]
pub struct Binding {
    own: CpuSet,
    /// Ranks take these in turn; empty if ranks are not bound.
    units: Vec<CpuSet>,
}

impl Binding {
    /// Groups the processors that `mpirun` itself may use.
    pub fn new(bind: BindTo) -> Result<Binding, Refusal> {
        if bind == BindTo::None {
            return Ok(Binding { own: sched_getaffinity(None).unwrap_or_default(), units: Vec::new() });
        }
        let own = sched_getaffinity(None)
            .map_err(|error| Refusal::system("--bind-to: cannot tell which processors may be used", error))?;
        let key_of: Box<dyn Fn(usize) -> usize> = match bind {
            BindTo::Core => Box::new(|cpu| first_of(cpu, "topology/thread_siblings_list").unwrap_or(cpu)),
            BindTo::Socket => Box::new(|cpu| first_of(cpu, "topology/physical_package_id").unwrap_or(0)),
            BindTo::Numa => Box::new(numa_node),
            BindTo::HwThread | BindTo::None => Box::new(|cpu| cpu),
        };
        Ok(Binding { own, units: group(&own, key_of) })
    }

    /// Whether ranks are bound.
    pub fn is_bound(&self) -> bool {
        !self.units.is_empty()
    }

    /// Processors that `ranks` ranks can use together.
    pub fn processors(&self, ranks: u32) -> u32 {
        if self.is_bound() {
            self.units.iter().take(ranks as usize).map(CpuSet::count).sum()
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

    /// Where `rank` may run, in words.
    pub fn describe(&self, rank: u32) -> String {
        let bound = if self.is_bound() { "bound to" } else { "not bound: may run on" };
        let processors: Vec<u32> = members(self.of(rank)).map(|cpu| cpu as u32).collect();
        format!("{bound} processors {}", ranges(&processors))
    }

    fn of(&self, rank: u32) -> &CpuSet {
        match self.units.len() {
            0 => &self.own,
            count => &self.units[rank as usize % count],
        }
    }
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
        assert_eq!(BindTo::parse("core:overload-allowed").unwrap(), BindTo::Core);
        assert!(BindTo::parse("cor").unwrap_err().to_string().contains("'cor'"));
    }

    #[test]
    fn ranks_take_the_units_in_turn() {
        let mut own = CpuSet::new();
        (0..6).for_each(|cpu| own.set(cpu));
        let binding = Binding { own, units: group(&own, |cpu| cpu / 2) };
        assert_eq!(binding.describe(1), "bound to processors 2-3");
        assert_eq!(binding.describe(3), "bound to processors 0-1");
        assert_eq!((binding.processors(2), binding.processors(9)), (4, 6));
    }
}

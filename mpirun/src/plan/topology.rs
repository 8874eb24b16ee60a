//! Which processors belong together, for `--bind-to`.

use std::collections::BTreeMap;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use serde::{Deserialize, Serialize};

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
            "socket" | "package" => Some(BindTo::Socket),
            "numa" => Some(BindTo::Numa),
            _ => None,
        }
    }
}

/// How ranks are bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bind {
    /// To what.
    pub to: BindTo,
    /// To how many of them each rank is bound.
    pub width: u32,
    /// Whether several ranks on one are fine with the user.
    pub overload: bool,
}

impl Default for Bind {
    fn default() -> Bind {
        Bind { to: BindTo::None, width: 1, overload: false }
    }
}

impl Bind {
    /// Reads the value of `--bind-to`, with a qualifier behind a colon as others know it.
    pub fn parse(value: &str) -> Result<Bind, Refusal> {
        let (to, qualifier) = value.split_once(':').unwrap_or((value, ""));
        let to = BindTo::parse(to).ok_or_else(|| {
            Refusal::usage(format!(
                "option --bind-to: '{value}' is none of none, hwthread, core, socket, numa"
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
        Ok(Bind { to, width: 1, overload })
    }

    /// What `--bind-to` says goes with what `--map-by` said before.
    pub fn take(&mut self, said: Bind) {
        *self = Bind { width: self.width, ..said };
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
    bind: Bind,
}

impl Binding {
    /// Groups the processors that `mpirun` itself may use.
    pub fn new(bind: Bind) -> Result<Binding, Refusal> {
        if bind.to == BindTo::None {
            return Ok(Binding { own: sched_getaffinity(None).unwrap_or_default(), units: Vec::new(), bind });
        }
        let own = sched_getaffinity(None)
            .map_err(|error| Refusal::system("--bind-to: cannot tell which processors may be used", error))?;
        let key_of: Box<dyn Fn(usize) -> usize> = match bind.to {
            BindTo::Core => Box::new(|cpu| first_of(cpu, "topology/thread_siblings_list").unwrap_or(cpu)),
            BindTo::Socket => Box::new(|cpu| first_of(cpu, "topology/physical_package_id").unwrap_or(0)),
            BindTo::Numa => Box::new(numa_node),
            BindTo::HwThread | BindTo::None => Box::new(|cpu| cpu),
        };
        Ok(Binding { own, units: widen(group(&own, key_of), bind.width), bind })
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
        assert_eq!(
            Bind::parse("core:overload-allowed").unwrap(),
            Bind { to: BindTo::Core, width: 1, overload: true }
        );
        assert!(Bind::parse("core:nonsense").is_err());
        assert!(Bind::parse("cor").unwrap_err().to_string().contains("'cor'"));
    }

    #[test]
    fn ranks_take_the_units_in_turn() {
        let mut own = CpuSet::new();
        (0..6).for_each(|cpu| own.set(cpu));
        let bind = Bind { to: BindTo::Core, ..Bind::default() };
        let binding = Binding { own, units: group(&own, |cpu| cpu / 2), bind };
        assert_eq!(binding.describe(1), "bound to processors 2-3");
        assert_eq!(binding.describe(3), "bound to processors 0-1");
        assert_eq!((binding.processors(2), binding.processors(9)), (4, 6));
        assert_eq!(binding.crowd(3), None);
        assert!(binding.crowd(4).unwrap().contains("4 ranks are bound to 3 cores"));
        let wide = Binding { units: widen(binding.units, 2), ..binding };
        assert_eq!(wide.describe(0), "bound to processors 0-5");
    }
}

//! Which processors each rank of a host gets: from what the host has and what was asked for.

use tern_job::ranges;
use tern_job::topology::{Level, MachineTopology};

use crate::plan::bind::{Bind, BindOrder, Overload, name_of};
use crate::plan::rankfile::processors_of;
use crate::watch::exit_cause::Refusal;

/// The processors of each rank of a host.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct ProcessorLayout {
    /// For each rank in turn; empty if ranks are not bound.
    pub sets: Vec<Vec<u32>>,
    /// What is said about it.
    pub remarks: Vec<String>,
}

/// Gives each of these ranks its processors. `node_of` tells near which memory node a device is.
pub(crate) fn lay_out(
    host: &MachineTopology,
    bind: &Bind,
    numbers: &[u32],
    node_of: impl Fn(&str) -> Option<u32>,
) -> Result<ProcessorLayout, Refusal> {
    let usable = among(host, &bind.cpus)?;
    if !bind.by_rank.is_empty() {
        return by_rank(&usable, bind, numbers);
    }
    let ranks = numbers.len() as u32;
    if !bind.lists.is_empty() {
        return by_lists(&usable, bind, ranks);
    }
    let Some(level) = bind.level() else {
        let all = usable.processors();
        let sets = if bind.cpus.is_empty() { Vec::new() } else { vec![all; ranks as usize] };
        return Ok(ProcessorLayout { sets, remarks: Vec::new() });
    };
    let mut remarks = Vec::new();
    let places = BindTargets { host: &usable, units: units(&usable, level, bind.width), level };
    let mapping = places.in_order(&bind.order, &node_of, &mut remarks);
    let taken: Vec<usize> = mapping.into_iter().cycle().take(ranks as usize).collect();
    let taken = match bind.rank_by {
        Some(part) => take_turns(&places.by_part(&taken, part)),
        None => taken,
    };
    remarks.extend(places.shortage(bind.width));
    let mut sets: Vec<Vec<u32>> = taken.iter().map(|&unit| places.units[unit].clone()).collect();
    if let Some(overload) = places.overload(&taken, bind) {
        match bind.overload {
            _ if !bind.is_said => {
                sets.clear();
                remarks.push(format!(
                    "ranks are not bound, since {overload}; --bind-to binds them all the same"
                ));
            }
            Overload::Allowed => {}
            // More ranks than the host has cores share them wherever they are bound.
            Overload::Told if level < Level::Core && places.is_full(ranks, bind) => {}
            Overload::Told => {
                let otherwise = if bind.width > 1 { "give each less" } else { "leave out --bind-to" };
                remarks.push(format!("{overload}, so that some share one: start fewer, or {otherwise}"));
            }
            Overload::Refused => {
                return Err(Refusal::usage(format!("--bind-to with no-overload: {overload}")));
            }
        }
    }
    Ok(ProcessorLayout { sets, remarks })
}

/// Those of `cpus` that may be used; all, if there are none.
fn among(host: &MachineTopology, cpus: &[u32]) -> Result<MachineTopology, Refusal> {
    if cpus.is_empty() {
        return Ok(host.clone());
    }
    let usable = host.among(cpus);
    if usable.processors().is_empty() {
        return Err(Refusal::usage(format!(
            "--cpu-set {}: none of these may be used here; those that may are {}",
            ranges::to_text(cpus),
            ranges::to_text(&ascending(host.processors()))
        )));
    }
    Ok(usable)
}

/// A rank file names the processors of each rank.
fn by_rank(usable: &MachineTopology, bind: &Bind, numbers: &[u32]) -> Result<ProcessorLayout, Refusal> {
    let named = |rank: &u32| bind.by_rank.get(*rank as usize).map_or(&[][..], Vec::as_slice);
    let set = |rank: &u32| {
        processors_of(usable, named(rank), bind.threads)
            .map_err(|why| Refusal::usage(format!("--rankfile: rank {rank}: {why}")))
    };
    let sets: Result<_, Refusal> = numbers.iter().map(set).collect();
    Ok(ProcessorLayout { sets: sets?, remarks: Vec::new() })
}

/// The user has named the processors of each rank.
fn by_lists(usable: &MachineTopology, bind: &Bind, ranks: u32) -> Result<ProcessorLayout, Refusal> {
    let all = ascending(usable.processors());
    let wrong = |list: &&Vec<u32>| list.iter().any(|number| !all.contains(number));
    if let Some(list) = bind.lists.iter().take(ranks as usize).find(wrong) {
        return Err(Refusal::usage(format!(
            "a rank cannot be bound to processors {}: those that may be used here are {}",
            ranges::to_text(list),
            ranges::to_text(&all)
        )));
    }
    let mut remarks = Vec::new();
    let named = bind.lists.len();
    if ranks as usize > named && bind.overload != Overload::Allowed {
        remarks.push(format!("{ranks} ranks share the processors that are named for {named}"));
    }
    Ok(ProcessorLayout { sets: bind.lists.iter().cycle().take(ranks as usize).cloned().collect(), remarks })
}

/// The parts of a host to which ranks can be bound.
struct BindTargets<'a> {
    host: &'a MachineTopology,
    units: Vec<Vec<u32>>,
    level: Level,
}

impl BindTargets<'_> {
    /// Units, in the order in which ranks are mapped to them.
    fn in_order(
        &self,
        order: &BindOrder,
        node_of: impl Fn(&str) -> Option<u32>,
        remarks: &mut Vec<String>,
    ) -> Vec<usize> {
        let all: Vec<usize> = (0..self.units.len()).collect();
        match order {
            BindOrder::InTurn => all,
            BindOrder::Near(device) => match node_of(device) {
                Some(node) => self.nearest_first(all, node),
                None => {
                    remarks.push(format!(
                        "nothing tells near which memory node '{device}' is; ranks take all in turn"
                    ));
                    all
                }
            },
            BindOrder::Round(part) if *part > self.level => self.around(*part, 1),
            BindOrder::Round(part) => take_turns(&self.by_part(&all, *part)),
            BindOrder::Blocks(number, part) if *part > self.level => self.around(*part, *number),
            BindOrder::Blocks(number, part) => {
                let parts = self.by_part(&all, *part);
                parts.iter().flat_map(|part| part.iter().copied().cycle().take(*number as usize)).collect()
            }
        }
    }

    fn nearest_first(&self, mut all: Vec<usize>, node: u32) -> Vec<usize> {
        all.sort_by_key(|&unit| self.host.distance(node, self.units[unit][0]));
        all
    }

    /// The units around each of these narrower parts, so many times.
    fn around(&self, part: Level, number: u32) -> Vec<usize> {
        let around = |part: Vec<u32>| self.units.iter().position(|unit| unit.contains(&part[0]));
        let units = self.host.parts(part).into_iter().filter_map(around);
        units.flat_map(|unit| std::iter::repeat_n(unit, number as usize)).collect()
    }

    /// Units that lie in the same part.
    fn by_part(&self, units: &[usize], part: Level) -> Vec<Vec<usize>> {
        group(units, |&unit| self.host.part_of(part, self.units[unit][0]))
    }

    /// What to say where a rank gets less than it should.
    fn shortage(&self, width: u32) -> Option<String> {
        let parts = self.host.parts(self.level).len();
        let names = match self.level {
            Level::HwThread => "hardware threads".into(),
            Level::Numa => "numa nodes".into(),
            level => format!("{}s", name_of(level)),
        };
        (parts < width as usize).then(|| {
            format!("each rank is to have {width} {names}, but this host has {parts}, which ranks share")
        })
    }

    /// What to say where ranks have to share what each should have alone.
    fn overload(&self, taken: &[usize], bind: &Bind) -> Option<String> {
        let mut users = vec![0; self.units.len()];
        taken.iter().for_each(|&unit| users[unit] += 1);
        let is_overloaded = |(unit, &users): (&Vec<u32>, &usize)| users > self.room(unit, bind.threads);
        if !self.units.iter().zip(&users).any(is_overloaded) {
            return None;
        }
        let (ranks, count) = (taken.len(), users.iter().filter(|users| **users > 0).count());
        let s = if count == 1 { "" } else { "s" };
        Some(match self.level {
            Level::HwThread => format!("{ranks} ranks have {count} hardware thread{s}"),
            Level::Core if bind.width > 1 => format!("{ranks} ranks have {count} group{s} of cores"),
            Level::Core => format!("{ranks} ranks have {count} core{s}"),
            _ => {
                let used = self.units.iter().zip(&users).filter(|(_, users)| **users > 0);
                let room: usize = used.map(|(unit, _)| self.room(unit, bind.threads)).sum();
                let cores = if room == 1 { "core" } else { "cores" };
                format!("{ranks} ranks have {count} part{s} ({}) with {room} {cores}", name_of(self.level))
            }
        })
    }

    /// Whether there are more ranks than the host has cores.
    fn is_full(&self, ranks: u32, bind: &Bind) -> bool {
        ranks as usize > self.units.iter().map(|unit| self.room(unit, bind.threads)).sum()
    }

    /// Ranks that a unit has room for: one of its cores for each. A core, or a thread, is for one.
    fn room(&self, unit: &[u32], threads: bool) -> usize {
        match self.level {
            Level::Core | Level::HwThread => 1,
            _ if threads => unit.len(),
            _ => group(unit, |&number| self.host.part_of(Level::Core, number)).len(),
        }
    }
}

/// What a rank can be bound to: parts of a level, or `width` of them together, which lie as near to each other as can be. Parts that are
/// left over stay unused.
fn units(host: &MachineTopology, level: Level, width: u32) -> Vec<Vec<u32>> {
    let (mut loose, width) = (host.parts(level), width.max(1) as usize);
    if loose.len() <= width {
        return if width == 1 { loose } else { vec![loose.concat()] };
    }
    let mut joined = Vec::new();
    for wide in [level, Level::L3Cache, Level::Numa, Level::Socket, Level::Machine] {
        let mut left = Vec::new();
        for part in group(&loose, |unit| host.part_of(wide, unit[0])) {
            let whole = part.chunks_exact(width);
            left.extend(whole.remainder().to_vec());
            joined.extend(whole.map(<[_]>::concat));
        }
        loose = left;
    }
    let order = host.processors();
    joined.sort_by_key(|unit: &Vec<u32>| order.iter().position(|number| *number == unit[0]));
    joined
}

/// Items with the same key, in the order in which keys come first.
fn group<T: Clone, K: PartialEq>(items: &[T], key: impl Fn(&T) -> K) -> Vec<Vec<T>> {
    let mut groups: Vec<(K, Vec<T>)> = Vec::new();
    for item in items {
        let key = key(item);
        match groups.iter_mut().find(|(other, _)| *other == key) {
            Some((_, members)) => members.push(item.clone()),
            None => groups.push((key, vec![item.clone()])),
        }
    }
    groups.into_iter().map(|(_, members)| members).collect()
}

/// The first of each, the second of each that has one, and so on.
fn take_turns(parts: &[Vec<usize>]) -> Vec<usize> {
    let most = parts.iter().map(Vec::len).max().unwrap_or_default();
    (0..most).flat_map(|turn| parts.iter().filter_map(move |part| part.get(turn).copied())).collect()
}

pub(super) fn ascending(mut numbers: Vec<u32>) -> Vec<u32> {
    numbers.sort_unstable();
    numbers
}

#[cfg(test)]
mod tests;

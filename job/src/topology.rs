//! Which processors of this machine belong together: hardware threads, cores, caches, memory nodes, sockets.
//!
//! hwloc tells ([`hwloc`]), and where it is not installed, the kernel ([`kernel`]). What is not told is taken to be as simple as it can
//! be: a core of one thread, one memory node, one socket. The numbers of parts are the machine's own, and the same whoever tells, so
//! that processes that may use different processors, or find different libraries, number a part alike.

pub(crate) mod hwloc;
mod kernel;
#[cfg(test)]
pub mod synthetic;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::OnceLock;

use rustix::thread::{CpuSet, sched_getaffinity};
use serde::{Deserialize, Serialize};

use crate::limits::PROCESSORS_MAX;
use crate::ranges;

/// Where the kernel tells of processors.
const SYSTEM: &str = "/sys/devices/system";

/// A folder that tests have in its place.
const SYSTEM_VARIABLE: &str = "TERN_TEST_TOPOLOGY";

/// A kind of part of a machine, from wide to narrow. A memory node may also be wider than a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Level {
    /// All of it.
    Machine,
    /// A processor package.
    Socket,
    /// A memory node.
    Numa,
    /// What shares a cache of the third level.
    L3Cache,
    /// What shares a cache of the second level.
    L2Cache,
    /// What shares a data cache of the first level.
    L1Cache,
    /// A core.
    Core,
    /// A hardware thread, which is what the kernel calls a processor.
    HwThread,
}

impl Level {
    /// All, from wide to narrow.
    pub const ALL: [Level; 8] = [
        Level::Machine,
        Level::Socket,
        Level::Numa,
        Level::L3Cache,
        Level::L2Cache,
        Level::L1Cache,
        Level::Core,
        Level::HwThread,
    ];
}

/// A processor, and the number of its part of each level.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Processor {
    number: u32,
    parts: [u32; Level::ALL.len()],
}

impl Processor {
    fn part(&self, level: Level) -> u32 {
        self.parts[level as usize]
    }
}

/// The processors that may be used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MachineTopology {
    /// Neighbors in the machine are neighbors here.
    processors: Vec<Processor>,
    /// For each memory node, how far the others are.
    distances: BTreeMap<u32, BTreeMap<u32, u32>>,
}

impl MachineTopology {
    /// The processors that this process may use.
    pub fn here() -> MachineTopology {
        let own = own_processors();
        let told = if std::env::var_os(SYSTEM_VARIABLE).is_some() { None } else { told().as_ref().ok() };
        // A description that hwloc was given by its user's settings may be of another machine.
        let fitting = told.map(|(_, machine)| machine.among(&own)).filter(|found| found.len() == own.len());
        fitting.unwrap_or_else(|| MachineTopology::read(&system(), &own))
    }

    /// How many processors there are.
    fn len(&self) -> usize {
        self.processors.len()
    }

    /// Those of its processors that are in a list.
    pub fn among(&self, numbers: &[u32]) -> MachineTopology {
        let kept = self.processors.iter().filter(|processor| numbers.contains(&processor.number));
        MachineTopology { processors: kept.cloned().collect(), distances: self.distances.clone() }
    }

    /// The numbers of all processors, neighbors beside each other.
    pub fn processors(&self) -> Vec<u32> {
        self.processors.iter().map(|processor| processor.number).collect()
    }

    /// The processors of each part of a level, neighbors beside each other.
    pub fn parts(&self, level: Level) -> Vec<Vec<u32>> {
        let mut parts: Vec<(u32, Vec<u32>)> = Vec::new();
        for processor in &self.processors {
            let part = processor.part(level);
            match parts.iter_mut().find(|(other, _)| *other == part) {
                Some((_, members)) => members.push(processor.number),
                None => parts.push((part, vec![processor.number])),
            }
        }
        parts.into_iter().map(|(_, members)| members).collect()
    }

    /// The number of the part in which a processor lies.
    pub fn part_of(&self, level: Level, number: u32) -> Option<u32> {
        let processor = self.processors.iter().find(|processor| processor.number == number)?;
        Some(processor.part(level))
    }

    /// The part in which all these processors lie; none if they lie in several, or in none.
    pub fn common_part(&self, level: Level, numbers: &[u32]) -> Option<u32> {
        let part = self.part_of(level, *numbers.first()?)?;
        numbers.iter().all(|&number| self.part_of(level, number) == Some(part)).then_some(part)
    }

    /// How far the memory of a processor is from that of a memory node; nodes that nothing is known of are far.
    pub fn distance(&self, node: u32, number: u32) -> u32 {
        let own = self.part_of(Level::Numa, number);
        let known = own.and_then(|own| self.distances.get(&node)?.get(&own).copied());
        known.unwrap_or(if own == Some(node) { 0 } else { u32::MAX })
    }
}

/// The part of each level in which all processors lie that this process may use; 0 where they lie in several, or where it is bound to none.
/// The kernel tells, which takes less time than hwloc.
pub fn bound_to<const LEVELS: usize>(levels: [Level; LEVELS]) -> [u32; LEVELS] {
    let (own, system) = (own_processors(), system());
    let online = std::fs::read_to_string(system.join("cpu/online")).unwrap_or_default();
    // To ask about all processors of a large machine would take long, and all of them lie in one part only if there is one.
    if ranges::parse(online.trim(), PROCESSORS_MAX).is_none_or(|online| own.len() >= online.len()) {
        return [0; LEVELS];
    }
    let machine = MachineTopology::read(&system, &own);
    levels.map(|level| machine.common_part(level, &own).unwrap_or(0))
}

/// The processors that this process may use, in ascending order.
pub fn own_processors() -> Vec<u32> {
    match sched_getaffinity(None) {
        Ok(set) => (0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).map(|cpu| cpu as u32).collect(),
        // A kernel with more than 1,024 processors refuses a mask of that size.
        Err(_) => allowed().unwrap_or_default(),
    }
}

fn allowed() -> Option<Vec<u32>> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    ranges::parse(list.trim(), PROCESSORS_MAX)
}

/// The memory node of a device: of a network interface, or of an adapter for a fabric.
pub fn node_of_device(name: &str) -> Option<u32> {
    let is_name = !name.is_empty() && !name.contains('/') && name != "." && name != "..";
    let classes = ["net", "infiniband", "cxi", "drm", "block"];
    let text = |class| std::fs::read_to_string(format!("/sys/class/{class}/{name}/device/numa_node")).ok();
    // The kernel says -1 where it does not know.
    is_name.then(|| classes.into_iter().find_map(text))??.trim().parse().ok()
}

/// Who tells of this machine, for a person.
pub fn told_by() -> String {
    match told() {
        Ok((version, _)) => format!("hwloc {version}"),
        Err(why) => format!("the kernel, since {why}"),
    }
}

/// What hwloc tells of the whole machine, with its version. It is asked once.
fn told() -> &'static Result<(String, MachineTopology), String> {
    static TOLD: OnceLock<Result<(String, MachineTopology), String>> = OnceLock::new();
    TOLD.get_or_init(|| {
        let text = tern_hwloc::this_machine().map_err(|error| error.to_string())?;
        hwloc::read(&text).ok_or_else(|| "what libhwloc.so.15 tells is not understood".into())
    })
}

fn system() -> PathBuf {
    std::env::var_os(SYSTEM_VARIABLE).map_or_else(|| SYSTEM.into(), PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::synthetic::Machine;
    use std::path::Path;

    fn topology(machine: Machine, name: &str) -> MachineTopology {
        let numbers: Vec<u32> = (0..machine.processors()).collect();
        MachineTopology::read(machine.write(name).path(), &numbers)
    }

    #[test]
    fn a_machine_without_any_word_is_one_core_a_processor() {
        let topology = MachineTopology::read(Path::new("/nonexistent"), &[1, 2, 5]);
        assert_eq!(topology.parts(Level::Core), [[1], [2], [5]]);
        for wide in [Level::Machine, Level::Socket, Level::Numa, Level::L3Cache] {
            assert_eq!(topology.parts(wide), [[1, 2, 5]], "{wide:?}");
        }
        assert_eq!(MachineTopology::default().parts(Level::Core), Vec::<Vec<u32>>::new());
    }

    #[test]
    fn two_sockets_of_two_nodes() {
        let machine = Machine { sockets: 2, nodes: 2, caches: 2, cores: 2, threads: 2, ..Machine::default() };
        let topology = topology(machine, "nested");
        let count = |level| topology.parts(level).len();
        assert_eq!(Level::ALL.map(count), [1, 2, 4, 8, 16, 16, 16, 32]);
        // The kernel numbers the first threads of all cores before their second ones.
        assert_eq!(topology.parts(Level::Core)[..2], [[0, 16], [1, 17]]);
        assert_eq!(topology.parts(Level::Numa)[1], [4, 20, 5, 21, 6, 22, 7, 23]);
        assert_eq!(topology.common_part(Level::Socket, &[0, 5, 16]), Some(0));
        assert_eq!(topology.common_part(Level::Numa, &[0, 5]), None);
        assert_eq!(topology.common_part(Level::Numa, &[]), None);
    }

    #[test]
    fn neighbors_are_beside_each_other_whatever_their_numbers() {
        let machine = Machine { sockets: 2, cores: 2, interleaved: true, ..Machine::default() };
        let topology = topology(machine, "interleaved");
        assert_eq!(topology.parts(Level::Socket), [[0, 2], [1, 3]]);
        assert_eq!(topology.processors(), [0, 2, 1, 3]);
    }

    #[test]
    fn parts_have_the_same_numbers_for_all() {
        let machine = Machine { sockets: 2, caches: 2, cores: 4, ..Machine::default() };
        let (all, few) = (topology(machine, "all"), topology(machine, "few").among(&[6, 7, 13]));
        for level in Level::ALL {
            assert_eq!(all.part_of(level, 6), few.part_of(level, 6), "{level:?}");
        }
        assert_eq!(few.parts(Level::L3Cache), [vec![6, 7], vec![13]]);
        assert_eq!(few.part_of(Level::Core, 1), None);
    }

    #[test]
    fn memory_is_near_or_far() {
        let topology = topology(Machine { sockets: 2, ..Machine::default() }, "far");
        assert_eq!((topology.distance(1, 0), topology.distance(1, 1)), (20, 10));
        assert_eq!((topology.distance(7, 0), topology.distance(0, 9)), (u32::MAX, u32::MAX));
    }

    #[test]
    fn this_machine_is_told_of() {
        let topology = MachineTopology::here();
        let mut numbers = topology.processors();
        numbers.sort_unstable();
        assert_eq!(numbers, own_processors());
        assert!(!topology.parts(Level::Core).is_empty());
        assert_eq!(node_of_device("../net/lo"), None);
    }
}

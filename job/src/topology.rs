//! Which processors of this machine belong together: hardware threads, cores, caches, memory nodes, sockets.
//!
//! The kernel tells under `/sys/devices/system`. What it does not tell is taken to be as simple as it can be: a core of one thread,
//! one memory node, one socket. The numbers of parts are the machine's own, so that processes that may use different processors
//! number a part alike.

#[cfg(test)]
pub mod synthetic;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rustix::thread::{CpuSet, sched_getaffinity};
use serde::{Deserialize, Serialize};

use crate::limits::PROCESSORS_MAX;
use crate::ranges;

/// Where the kernel tells of processors.
const SYSTEM: &str = "/sys/devices/system";

/// A folder that tests have in its place.
const SYSTEM_VARIABLE: &str = "TERN_TEST_TOPOLOGY";

/// Most memory nodes that are looked at.
const NODES_MAX: u32 = 4096;

/// Most caches that a processor has.
const CACHES_MAX: u32 = 8;

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
        MachineTopology::read(&system(), &own_processors())
    }

    /// These processors, as `system` tells of them.
    pub fn read(system: &Path, numbers: &[u32]) -> MachineTopology {
        let facts = ProcessorFiles { system };
        let nodes = facts.nodes();
        let node_of = facts.owners(&nodes);
        let mut caches: [BTreeMap<u32, u32>; 3] = Default::default();
        let mut processors = Vec::with_capacity(numbers.len());
        for &number in numbers {
            let socket = facts.first(number, "topology/physical_package_id").unwrap_or(0);
            let core = facts.first(number, "topology/thread_siblings_list").unwrap_or(number);
            if caches.iter().any(|level| !level.contains_key(&number)) {
                facts.caches_of(number, &mut caches);
            }
            let node = node_of.get(&number).copied().unwrap_or(0);
            let cache = |level: usize, other: u32| caches[level].get(&number).copied().unwrap_or(other);
            // A cache of a level that is not told of is the next narrower part at the first levels, and the next wider at the third.
            let (l1, l2, l3) = (cache(0, core), cache(1, core), cache(2, facts.lowest_of_socket(number)));
            processors.push(Processor { number, parts: [0, socket, node, l3, l2, l1, core, number] });
        }
        processors.sort_by_key(|processor| processor.parts);
        MachineTopology { processors, distances: facts.distances(&nodes) }
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

fn system() -> PathBuf {
    std::env::var_os(SYSTEM_VARIABLE).map_or_else(|| SYSTEM.into(), PathBuf::from)
}

/// The files in which the kernel tells of processors.
struct ProcessorFiles<'a> {
    system: &'a Path,
}

impl ProcessorFiles<'_> {
    fn text(&self, file: &str) -> Option<String> {
        std::fs::read_to_string(self.system.join(file)).ok()
    }

    /// The first number in a file about a processor.
    fn first(&self, number: u32, file: &str) -> Option<u32> {
        let text = self.text(&format!("cpu/cpu{number}/{file}"))?;
        text.split(|letter: char| !letter.is_ascii_digit()).next()?.parse().ok()
    }

    fn lowest_of_socket(&self, number: u32) -> u32 {
        self.first(number, "topology/core_siblings_list").unwrap_or(0)
    }

    fn list(&self, file: &str, limit: u32) -> Option<Vec<u32>> {
        ranges::parse(self.text(file)?.trim(), limit)
    }

    /// Notes for all processors that share a cache with this one which it is: it has the number of the lowest.
    fn caches_of(&self, number: u32, caches: &mut [BTreeMap<u32, u32>; 3]) {
        for index in 0..CACHES_MAX {
            let cache = format!("cpu/cpu{number}/cache/index{index}");
            let Some(level) = self.text(&format!("{cache}/level")) else { return };
            let is_of_code =
                self.text(&format!("{cache}/type")).is_some_and(|kind| kind.trim() == "Instruction");
            let level = level.trim().parse().ok().filter(|level| (1..=caches.len()).contains(level));
            let sharing = self.list(&format!("{cache}/shared_cpu_list"), PROCESSORS_MAX);
            if let (Some(level), Some(sharing), false) = (level, sharing, is_of_code) {
                let lowest = sharing.first().copied().unwrap_or(number);
                caches[level - 1].extend(sharing.into_iter().map(|other| (other, lowest)));
            }
        }
    }

    fn nodes(&self) -> Vec<u32> {
        self.list("node/online", NODES_MAX).unwrap_or_default()
    }

    /// The memory node of each processor.
    fn owners(&self, nodes: &[u32]) -> BTreeMap<u32, u32> {
        let members =
            |&node: &u32| Some((node, self.list(&format!("node/node{node}/cpulist"), PROCESSORS_MAX)?));
        nodes
            .iter()
            .filter_map(members)
            .flat_map(|(node, all)| all.into_iter().map(move |cpu| (cpu, node)))
            .collect()
    }

    /// The kernel writes for each node its distances from all that are online, in their order.
    fn distances(&self, nodes: &[u32]) -> BTreeMap<u32, BTreeMap<u32, u32>> {
        let row = |&node: &u32| {
            let text = self.text(&format!("node/node{node}/distance"))?;
            let far = text.split_whitespace().map(|word| word.parse().unwrap_or(u32::MAX));
            Some((node, nodes.iter().copied().zip(far).collect()))
        };
        nodes.iter().filter_map(row).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::synthetic::Machine;

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

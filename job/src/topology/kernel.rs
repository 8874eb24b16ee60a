//! What the kernel tells of processors, under `/sys/devices/system`.

use std::collections::BTreeMap;
use std::path::Path;

use super::{MachineTopology, Processor};
use crate::limits::PROCESSORS_MAX;
use crate::ranges;

/// Most memory nodes that are looked at.
const NODES_MAX: u32 = 4096;

/// Most caches that a processor has.
const CACHES_MAX: u32 = 8;

impl MachineTopology {
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

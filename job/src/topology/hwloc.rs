//! What hwloc tells of a machine: a text with an element for each object, inside of the element of what contains it.
//!
//! | object | is |
//! |---|---|
//! | `Package` | a socket |
//! | `NUMANode` | a memory node, of all processors of the object in which it lies |
//! | `L3Cache`, `L2Cache`, `L1Cache` | caches of data |
//! | `Core`, `PU` | a core, a hardware thread |
//!
//! Other objects, such as groups and dies, are looked through.

use std::collections::BTreeMap;

use roxmltree::{Document, Node, ParsingOptions};

use super::{MachineTopology, Processor};
use crate::limits::PROCESSORS_MAX;

/// Bits of a kind of distances: times of access.
const MEANS_LATENCY: u32 = 1 << 2;

/// Most elements of a text, far more than a machine of [`PROCESSORS_MAX`] has.
const ELEMENTS_MAX: u32 = 1 << 20;

/// The library's version, and the machine of a text; none if it makes no sense.
pub(crate) fn read(text: &str) -> Option<(String, MachineTopology)> {
    let options = ParsingOptions { allow_dtd: true, nodes_limit: ELEMENTS_MAX, ..ParsingOptions::default() };
    let document = Document::parse_with_options(text, options).ok()?;
    let all = || document.descendants().filter(|node| node.has_tag_name("object"));
    let mut lowest = BTreeMap::new();
    all().filter(|object| is(object, "PU")).for_each(|unit| note(unit, &mut lowest));
    let units = all().filter(|object| is(object, "PU"));
    let mut processors: Vec<Processor> =
        units.map(|unit| processor(unit, &lowest)).collect::<Option<Vec<_>>>()?;
    processors.sort_by_key(|processor| processor.parts);
    processors.dedup_by_key(|processor| processor.number);
    let is_sound = !processors.is_empty() && processors.len() <= PROCESSORS_MAX as usize;
    let version = document.descendants().find(|node| node.attribute("name") == Some("hwlocVersion"));
    let version = version.and_then(|node| node.attribute("value")).unwrap_or("2").to_owned();
    is_sound.then(|| (version, MachineTopology { processors, distances: distances(&document) }))
}

fn is(object: &Node<'_, '_>, kind: &str) -> bool {
    object.attribute("type") == Some(kind)
}

fn number(object: Node<'_, '_>) -> Option<u32> {
    object.attribute("os_index")?.parse().ok()
}

/// Notes a hardware thread in all that contain it: a cache or a core has the number of its lowest one, as with the kernel.
fn note<'a, 'b>(unit: Node<'a, 'b>, lowest: &mut BTreeMap<Node<'a, 'b>, u32>) {
    let Some(number) = number(unit) else { return };
    for object in unit.ancestors() {
        lowest.entry(object).and_modify(|least| *least = number.min(*least)).or_insert(number);
    }
}

fn processor(unit: Node<'_, '_>, lowest: &BTreeMap<Node<'_, '_>, u32>) -> Option<Processor> {
    let own = number(unit).filter(|number| *number < PROCESSORS_MAX)?;
    let inside = |kind: &str| unit.ancestors().find(|object| is(object, kind));
    let first = |kind: &str| lowest.get(&inside(kind)?).copied();
    let package = inside("Package");
    let socket = package.and_then(number).unwrap_or(0);
    let core = first("Core").unwrap_or(own);
    let node = unit.ancestors().find_map(memory_of).unwrap_or(0);
    // What is not told of is as with the kernel.
    let l3 = first("L3Cache").or_else(|| lowest.get(&package?).copied()).unwrap_or(0);
    let (l1, l2) = (first("L1Cache").unwrap_or(core), first("L2Cache").unwrap_or(core));
    Some(Processor { number: own, parts: [0, socket, node, l3, l2, l1, core, own] })
}

/// The memory node that lies right in an object, or in a cache beside the memory; of several, the first.
fn memory_of(object: Node<'_, '_>) -> Option<u32> {
    let inside = |child: Node<'_, '_>| {
        if is(&child, "MemCache") {
            memory_of(child)
        } else {
            number(child).filter(|_| is(&child, "NUMANode"))
        }
    };
    object.children().filter_map(inside).min()
}

/// For each memory node, how far the others are, if that is told.
fn distances(document: &Document<'_>) -> BTreeMap<u32, BTreeMap<u32, u32>> {
    let is_latency = |node: &Node<'_, '_>| {
        let kind = node.attribute("kind").and_then(|kind| kind.parse::<u32>().ok()).unwrap_or(0);
        node.has_tag_name("distances2") && is(node, "NUMANode") && kind & MEANS_LATENCY != 0
    };
    let Some(matrix) = document.descendants().find(is_latency) else { return BTreeMap::new() };
    let (nodes, values) = (numbers(matrix, "indexes"), numbers(matrix, "u64values"));
    if nodes.is_empty() || values.len() != nodes.len() * nodes.len() {
        return BTreeMap::new();
    }
    let row = |values: &[u32]| nodes.iter().copied().zip(values.iter().copied()).collect();
    nodes.iter().copied().zip(values.chunks(nodes.len()).map(row)).collect()
}

/// The numbers of all elements of a name, one after the other.
fn numbers(matrix: Node<'_, '_>, name: &str) -> Vec<u32> {
    let texts = matrix.children().filter(|child| child.has_tag_name(name)).filter_map(|child| child.text());
    texts.flat_map(str::split_whitespace).map(|word| word.parse().unwrap_or(u32::MAX)).collect()
}

/// A machine of two memory nodes that are far from each other, one of them behind a cache, and of another one beside it.
#[cfg(any(test, fuzzing))]
pub(crate) const EXAMPLE: &str = r#"<?xml version="1.0"?><!DOCTYPE topology SYSTEM "hwloc2.dtd"><topology version="2.0">
    <object type="Machine" os_index="0"><info name="hwlocVersion" value="2.9.0"/>
    <object type="Group"><object type="MemCache"><object type="NUMANode" os_index="1"/></object>
    <object type="NUMANode" os_index="3"/><object type="Core" os_index="0"><object type="PU" os_index="4"/></object></object>
    <object type="Group"><object type="NUMANode" os_index="2"/><object type="PU" os_index="0"/></object></object>
    <distances2 type="NUMANode" nbobjs="2" kind="5" name="NUMALatency" indexing="os"><indexes length="4">1 2 </indexes>
    <u64values length="6">10 21</u64values><u64values length="6">21 10</u64values></distances2></topology>"#;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::synthetic::Machine;
    use crate::topology::{Level, own_processors};
    use std::path::Path;

    /// A machine in hwloc's words for machines that are not here, if hwloc is.
    fn described(words: &str) -> Option<MachineTopology> {
        let text = tern_hwloc::synthetic(words).ok()?;
        Some(read(&text).expect("hwloc's own text").1)
    }

    #[test]
    fn hwloc_and_the_kernel_tell_the_same_of_this_machine() {
        let Ok(text) = tern_hwloc::this_machine() else { return };
        let (version, all) = read(&text).unwrap();
        assert!(version.starts_with('2'), "{version}");
        let own = own_processors();
        let by_kernel = MachineTopology::read(Path::new("/sys/devices/system"), &own);
        // hwloc tells no distances where there is one memory node.
        assert_eq!(all.among(&own).processors, by_kernel.processors);
    }

    #[test]
    fn they_number_parts_alike() {
        let words = "pack:2 [numa] l3:2 l2:2 l1:1 core:1 pu:2(indexes=2*8:1*2)";
        let Some(told) = described(words) else { return };
        let machine = Machine { sockets: 2, caches: 2, cores: 2, threads: 2, ..Machine::default() };
        let numbers: Vec<u32> = (0..16).collect();
        let by_kernel = MachineTopology::read(machine.write("alike").path(), &numbers);
        for level in Level::ALL {
            assert_eq!(told.parts(level), by_kernel.parts(level), "{level:?}");
            let part = |of: &MachineTopology, number| of.part_of(level, number);
            assert!(numbers.iter().all(|&one| part(&told, one) == part(&by_kernel, one)), "{level:?}");
        }
    }

    #[test]
    fn memory_is_that_of_the_object_around() {
        let (version, machine) = read(EXAMPLE).unwrap();
        assert_eq!(version, "2.9.0");
        assert_eq!(machine.parts(Level::Numa), [[4], [0]]);
        assert_eq!((machine.part_of(Level::Numa, 4), machine.part_of(Level::Numa, 0)), (Some(1), Some(2)));
        assert_eq!((machine.distance(2, 4), machine.distance(2, 0), machine.distance(1, 4)), (21, 10, 10));
        assert_eq!((machine.part_of(Level::Core, 4), machine.part_of(Level::Socket, 4)), (Some(4), Some(0)));
    }

    #[test]
    fn what_makes_no_sense_is_no_machine() {
        let without = EXAMPLE.replace("type=\"PU\"", "type=\"Die\"");
        let huge = EXAMPLE.replace("os_index=\"4\"", "os_index=\"4000000000\"");
        for text in ["", "<topology>", "<topology/>", &EXAMPLE[..EXAMPLE.len() - 4], &without, &huge] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}

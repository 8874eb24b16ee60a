//! Hardware resources by which communicators are split (MPI 5.0 sections 7.4.2 and 9.1.2).
//!
//! Resources have the names of hwloc's objects, with its name as the scheme. A process is restricted to one where it may run on
//! processors of that one alone.

use crate::comm::agree::{Participants, number, record};
use crate::comm::sets;
use crate::core::error::{Result, fail};
use crate::core::process::Process;
use crate::env::hints::Info;
use std::ffi::c_int;
use tern_abi::*;
use tern_job::limits::{HOSTS_MAX, PROCESSORS_MAX};
use tern_job::topology::{Level, MachineTopology, own_processors};

/// The host, by the name that section 7.4.2 has for it.
const SHARED_MEMORY: &str = "mpi_shared_memory";
/// The hint that names a resource.
const RESOURCE_TYPE: &str = "mpi_hw_resource_type";
/// How the names of the others begin.
const SCHEME: &str = "hwloc://";

const NAMES: [(&str, Level); 8] = [
    ("Machine", Level::Machine),
    ("Package", Level::Socket),
    ("NUMANode", Level::Numa),
    ("L3Cache", Level::L3Cache),
    ("L2Cache", Level::L2Cache),
    ("L1Cache", Level::L1Cache),
    ("Core", Level::Core),
    ("PU", Level::HwThread),
];

/// The level of a resource; the scheme may be left out, and letters may be small or large.
fn level_of(name: &str) -> Option<Level> {
    let bare = match name.get(..SCHEME.len()) {
        Some(scheme) if scheme.eq_ignore_ascii_case(SCHEME) => &name[SCHEME.len()..],
        _ => name,
    };
    let known = NAMES.iter().find(|(known, _)| known.eq_ignore_ascii_case(bare)).map(|(_, level)| *level);
    known.or_else(|| (name == SHARED_MEMORY).then_some(Level::Machine))
}

/// The resources that there are, and whether this process is restricted to one of each.
pub(crate) fn all() -> Info {
    let mut all = Info::default();
    all.set(SHARED_MEMORY, "true");
    let (own, topology) = (own_processors(), MachineTopology::here());
    for (name, level) in NAMES {
        let is_one = topology.common_part(level, &own).is_some();
        all.set(&format!("{SCHEME}{name}"), if is_one { "true" } else { "false" });
    }
    all
}

/// By what a process wants to be with others.
pub(crate) enum Wish {
    /// By a color.
    Color(c_int),
    /// By the widest resource that divides the members.
    Divided,
}

/// What `MPI_Comm_split_type` means to this process.
pub(crate) fn wish(process: &Process, comm: MPI_Comm, split_type: c_int, hints: &Info) -> Result<Wish> {
    let of_resource = || match hints.get(RESOURCE_TYPE).and_then(level_of) {
        Some(level) => color(process, comm, part(level)),
        None => Ok(MPI_UNDEFINED),
    };
    Ok(Wish::Color(match split_type {
        MPI_COMM_TYPE_SHARED => process.host_color(comm)?,
        MPI_COMM_TYPE_HW_GUIDED => of_resource()?,
        MPI_COMM_TYPE_RESOURCE_GUIDED => match hints.get("mpi_pset_name") {
            Some(set) => color_of_set(process, comm, set)?,
            None => of_resource()?,
        },
        MPI_COMM_TYPE_HW_UNGUIDED => return Ok(Wish::Divided),
        MPI_UNDEFINED => MPI_UNDEFINED,
        _ => {
            return Err(fail(
                MPI_ERR_ARG,
                format!(
                    "split_type is {split_type}, but must be one of the MPI_COMM_TYPE_ constants, or MPI_UNDEFINED"
                ),
            ));
        }
    }))
}

/// The part of this host to which the process is restricted, if it is to one.
fn part(level: Level) -> Option<u32> {
    match level {
        Level::Machine => Some(0),
        _ => MachineTopology::here().common_part(level, &own_processors()),
    }
}

/// The color of those that are restricted to this part of this host.
fn color(process: &Process, comm: MPI_Comm, part: Option<u32>) -> Result<c_int> {
    let this = process.comm(comm)?;
    let color =
        part.map(|part| process.number_among(this.all_members(), joined(process.host(), part)) as c_int);
    Ok(color.unwrap_or(MPI_UNDEFINED))
}

const _: () = assert!((HOSTS_MAX as u64 * PROCESSORS_MAX as u64) < 1 << 31, "a color must not be negative");

/// A number for a part of a host.
fn joined(host: u32, part: u32) -> u32 {
    host * PROCESSORS_MAX + part % PROCESSORS_MAX
}

/// The members of a process set have the number of its first one.
fn color_of_set(process: &Process, comm: MPI_Comm, set: &str) -> Result<c_int> {
    let this = process.comm(comm)?;
    let first = sets::members(process, set).ok().and_then(|members| members.peer(0));
    Ok(first.map_or(MPI_UNDEFINED, |first| process.number_among(this.all_members(), first) as c_int))
}

/// The parts of one process, of all levels, as a record: each with its host, and plus one, so that 0 is none.
pub(crate) fn own_parts(process: &Process) -> Vec<u8> {
    let (own, topology) = (own_processors(), MachineTopology::here());
    let part = |level| match level {
        Level::Machine => Some(0),
        _ => topology.common_part(level, &own),
    };
    let parts =
        Level::ALL.map(|level| part(level).map_or(0, |part| u64::from(joined(process.host(), part)) + 1));
    record(&parts)
}

/// A level of resources, if one divides the members, and the colors of all of them.
type HardwareSplit = (Option<Level>, Vec<c_int>);

/// The colors of all members, by the widest resource of which they are restricted to several; all are undefined where there is none.
/// `wanting` tells which members take part.
pub(crate) fn divide(participants: &Participants, mine: &[u8], wanting: &[bool]) -> Result<HardwareSplit> {
    let all = participants.allgather(mine)?;
    Ok(widest_division(&all, wanting))
}

/// Tells the program which resource the library chose, in the info object that was given.
pub(crate) fn tell(process: &mut Process, info: MPI_Info, level: Level) {
    let name = NAMES.iter().find(|(_, known)| *known == level).map(|(name, _)| format!("{SCHEME}{name}"));
    // `MPI_INFO_NULL` is none, and `MPI_INFO_ENV` stays as it is.
    if let (Ok(given), Some(name)) = (process.info_mut(info), name) {
        given.set(RESOURCE_TYPE, &name);
    }
}

fn widest_division(all: &[u8], wanting: &[bool]) -> HardwareSplit {
    let length = Level::ALL.len() * 8;
    let at = |member: usize, level: usize| match wanting[member] {
        true => number(all, member * length + level * 8),
        false => 0,
    };
    for level in 0..Level::ALL.len() {
        let parts: Vec<u64> = (0..wanting.len()).map(|member| at(member, level)).collect();
        let mut known = parts.iter().filter(|part| **part > 0);
        let first = known.next();
        if first.is_some() && known.any(|part| Some(part) != first) {
            let color = |part| if part == 0 { MPI_UNDEFINED } else { (part - 1) as c_int };
            return (Some(Level::ALL[level]), parts.into_iter().map(color).collect());
        }
    }
    (None, vec![MPI_UNDEFINED; wanting.len()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resources_have_several_names() {
        for name in ["hwloc://NUMANode", "NUMANode", "HWLOC://numanode"] {
            assert_eq!(level_of(name), Some(Level::Numa), "{name}");
        }
        assert_eq!(level_of("mpi_shared_memory"), Some(Level::Machine));
        assert_eq!(level_of("hwloc://"), None);
        assert_eq!(level_of("é"), None);
    }

    /// Members by their parts of the first levels; the others are like the last.
    fn divided(members: &[&[u64]], wanting: &[bool]) -> Vec<c_int> {
        let padded = |parts: &&[u64]| {
            let last = parts.last().copied().unwrap_or(0);
            let mut parts = parts.to_vec();
            parts.resize(Level::ALL.len(), last);
            record(&parts)
        };
        widest_division(&members.iter().flat_map(padded).collect::<Vec<u8>>(), wanting).1
    }

    #[test]
    fn the_widest_resource_that_divides_is_taken() {
        assert_eq!(divided(&[&[1, 2], &[1, 3], &[1, 2]], &[true; 3]), [1, 2, 1]);
        assert_eq!(divided(&[&[1, 2], &[9, 10]], &[true; 2]), [0, 8]);
        assert_eq!(divided(&[&[1, 2], &[1, 2]], &[true; 2]), [MPI_UNDEFINED; 2]);
        // Who is not restricted has no place, and who does not want one divides nobody.
        assert_eq!(divided(&[&[1, 2], &[1, 0], &[1, 3]], &[true; 3]), [1, MPI_UNDEFINED, 2]);
        assert_eq!(divided(&[&[1, 2], &[1, 3]], &[true, false]), [MPI_UNDEFINED; 2]);
        assert_eq!(divided(&[&[1, 2]], &[true]), [MPI_UNDEFINED]);
    }
}

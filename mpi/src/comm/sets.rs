//! Process sets that every session has (MPI 5.0 section 11.3.2).

use crate::core::error::{Result, fail};
use crate::core::process::Process;
use tern_abi::MPI_ERR_ARG;
use tern_engine::Group;

/// A process set.
pub(crate) struct ProcessSet {
    /// Its name.
    pub name: &'static str,
    /// From this process's rank and the number of processes.
    members: fn(u32, u32) -> Group,
}

/// All of them.
pub(crate) const PROCESS_SETS: [ProcessSet; 2] = [
    ProcessSet { name: "mpi://WORLD", members: |_, size| Group::range(0, size) },
    ProcessSet { name: "mpi://SELF", members: |rank, _| Group::range(rank, 1) },
];

/// The processes of a set.
pub(crate) fn members(process: &Process, name: &str) -> Result<Group> {
    let job = process.job.as_ref().ok_or_else(crate::core::process::outside)?;
    match PROCESS_SETS.iter().find(|set| set.name.eq_ignore_ascii_case(name)) {
        Some(set) => Ok((set.members)(job.rank, job.size)),
        None => Err(fail(MPI_ERR_ARG, format!("there is no process set '{name}'"))),
    }
}

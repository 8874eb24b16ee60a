//! How a process finds out which rank it is.
//!
//! A way in which it may have been started is a [`Bootstrap`]. The first one of the list that finds its signs in the environment says
//! which rank this is, or why it cannot become one. Launchers of other libraries give rank, size, and a store with a fence
//! ([`exchange`]); what a job of Tern needs besides, its ranks make themselves.

mod error;
pub(crate) mod exchange;
mod foreign;
mod memory;
mod mpirun;
pub mod pmi1;
mod pmix;
mod reminder;
mod singleton;
pub(crate) mod voice;
mod way;

use crate::descriptor::{DESCRIPTOR_VARIABLE, JobDescriptor};
use crate::job::Job;

pub use error::JoinError;
use way::{Bootstrap, EnvironmentReader};

/// All of them; the first one that finds its signs is the one. What is left over of a launcher further up, as in a script, comes
/// after the launcher itself.
const WAYS: [&dyn Bootstrap; 5] =
    [&mpirun::Mpirun, &pmi1::Pmi1, &pmix::Pmix, &foreign::Unserved, &singleton::Singleton];

/// Finds out which rank of which job this process is: one of a job of Tern's `mpirun` or of a launcher that speaks PMI-1 or PMIx,
/// or a world of one.
///
/// Call it once in a process. Under `mpirun` a rank that it started itself, without a wrapper,
/// is killed when `mpirun` dies, from here on.
pub fn join() -> Result<Job, JoinError> {
    join_by(&|name| std::env::var_os(name))
}

fn join_by(environment: EnvironmentReader<'_>) -> Result<Job, JoinError> {
    WAYS.iter().find_map(|way| way.join(environment)).unwrap_or_else(|| Ok(Job::alone()))
}

/// How many ranks the job will have, by what the launcher has left in the environment: what can be known before [`join`].
pub fn announced_size() -> u32 {
    let descriptor =
        std::env::var_os(DESCRIPTOR_VARIABLE).and_then(|value| JobDescriptor::parse(&value).ok());
    let by_others = || {
        let size = |name: &&str| std::env::var(name).ok()?.trim().parse().ok();
        ["PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS"].iter().find_map(size)
    };
    descriptor.map(|descriptor| descriptor.size).or_else(by_others).unwrap_or(1)
}

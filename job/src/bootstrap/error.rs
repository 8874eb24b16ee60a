//! Why a process could not become a rank, for a person.

use std::io;

use rustix::io::Errno;

use crate::descriptor::{DESCRIPTOR_VARIABLE, DescriptorError};

/// Names the limit that an error comes of, if it is that on open files.
pub(super) fn with_limit(error: io::Error) -> io::Error {
    match Errno::from_io_error(&error) {
        Some(Errno::MFILE) => io::Error::new(error.kind(), format!("{error} (see ulimit -n)")),
        _ => error,
    }
}

/// The variables by which `mpirun` makes a process a rank, also for programs of other MPI libraries. Without any of them it is alone.
const RANK_SIGNS: &str = "TERN_JOB, PMI_RANK and OMPI_COMM_WORLD_RANK";

/// Why a process could not become a rank.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JoinError {
    /// `TERN_JOB` holds something that `mpirun` did not write.
    #[error(
        "the environment variable {DESCRIPTOR_VARIABLE}='{value}' is damaged: {reason}. Start the program with Tern's mpirun, or unset {RANK_SIGNS} to run it alone"
    )]
    Damaged {
        /// What the variable holds.
        value: String,
        /// What is wrong with it.
        reason: DescriptorError,
    },
    /// What the job descriptor names can no longer be reached.
    #[error(
        "the environment variable {DESCRIPTOR_VARIABLE} says that this process is rank {rank} of {size} of the mpirun with process id {launcher}, but its {what} cannot be reached: that mpirun has ended, or something between it and this program closed descriptor {number}. Start the program with Tern's mpirun, or unset {RANK_SIGNS} to run it alone"
    )]
    Unreachable {
        /// Rank in the job descriptor.
        rank: u32,
        /// Size in the job descriptor.
        size: u32,
        /// The launcher's process id.
        launcher: u32,
        /// Which descriptor.
        what: &'static str,
        /// Its number.
        number: i32,
    },
    /// Another process is this rank already, as when a script runs two MPI programs one after the other.
    #[error(
        "process {pid} has already been rank {rank} of this job, and a rank can be one program only. If a script runs several MPI programs, give each its own mpirun; to run this one alone, unset {RANK_SIGNS}"
    )]
    RankTaken {
        /// The rank.
        rank: u32,
        /// The process that was it first.
        pid: u32,
    },
    /// A launcher that speaks PMI-1 has started this process as one of several, and something went wrong with it.
    #[error(
        "a launcher that speaks PMI, as MPICH's or Intel's mpiexec, started this process as one of several ({invitation}), but this process cannot join the others: {reason}. Start the program with Tern's own mpirun instead; to run it alone, unset {variable}"
    )]
    Pmi {
        /// What the environment says.
        invitation: String,
        /// The variable without which it says nothing.
        variable: &'static str,
        /// What went wrong.
        reason: String,
    },
    /// A launcher that speaks PMIx has started this process, and something went wrong with it.
    #[error(
        "a launcher that speaks PMIx, as Slurm's srun --mpi=pmix, prterun or Open MPI's mpirun, started this process ({invitation}), but this process cannot join the others: {reason}. Start the program with Tern's own mpirun instead; to run it alone, unset PMIX_RANK"
    )]
    Pmix {
        /// What the environment says.
        invitation: String,
        /// What went wrong.
        reason: String,
    },
    /// Another launcher started this process as one of several, in a protocol that Tern does not speak.
    #[error(
        "{launcher} started this process as one of several ({evidence}), and gave it no way to find the others: every rank would believe to be alone. {advice}; to run it alone, unset {variables}"
    )]
    Foreign {
        /// The launcher.
        launcher: &'static str,
        /// The variable that gave it away, with its value.
        evidence: String,
        /// How to start it.
        advice: &'static str,
        /// All variables without which the process is alone.
        variables: String,
    },
}

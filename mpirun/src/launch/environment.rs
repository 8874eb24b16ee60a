//! Which of `mpirun`'s variables the ranks of other hosts get.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

/// Variables that say who is logged in, and where: the other host has its own.
const OWN: [&str; 28] = [
    "SLURMD_NODENAME",
    "SLURM_LOCALID",
    "SLURM_NODEID",
    "SLURM_PROCID",
    "SLURM_TASK_PID",
    "SLURM_TOPOLOGY_ADDR",
    "HOME",
    "HOST",
    "HOSTNAME",
    "LOGNAME",
    "MAIL",
    "MPI_LOCALNRANKS",
    "MPI_LOCALRANKID",
    "OLDPWD",
    "OMPI_COMM_WORLD_LOCAL_RANK",
    "OMPI_COMM_WORLD_LOCAL_SIZE",
    "OMPI_COMM_WORLD_NODE_RANK",
    "OMPI_COMM_WORLD_RANK",
    "OMPI_COMM_WORLD_SIZE",
    "PMI_FD",
    "PMI_RANK",
    "PMI_SIZE",
    "PMI_SPAWNED",
    "SHELL",
    "SHLVL",
    "TERN_JOB",
    "USER",
    "_",
];

/// The same for whole families of them.
const OWN_PREFIXES: [&str; 6] = ["DBUS_", "DISPLAY", "PMIX_", "SSH_", "WAYLAND_", "XDG_"];

/// All variables but those that belong to this host alone.
pub(crate) fn forwarded() -> Vec<(OsString, OsString)> {
    std::env::vars_os().filter(|(name, _)| is_forwarded(name)).collect()
}

fn is_forwarded(name: &OsStr) -> bool {
    let bytes = name.as_bytes();
    !OWN.iter().any(|own| own.as_bytes() == bytes)
        && !OWN_PREFIXES.iter().any(|prefix| bytes.starts_with(prefix.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_belongs_to_this_host_stays_here() {
        let forwarded = |name: &str| is_forwarded(OsStr::new(name));
        assert!(
            ["PATH", "LD_LIBRARY_PATH", "TERN_EAGER_MAX", "OMP_NUM_THREADS", "LANG"]
                .into_iter()
                .all(forwarded)
        );
        assert!(!["HOME", "SSH_CONNECTION", "TERN_JOB", "DISPLAY", "PMI_FD"].into_iter().any(forwarded));
    }
}

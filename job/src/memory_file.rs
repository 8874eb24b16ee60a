//! Memory files: memory that processes share by a descriptor, without a name in a file system.

use std::os::fd::OwnedFd;

use rustix::fs::{MemfdFlags, memfd_create};
use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};

/// A new one, empty. A site may refuse those that could be run as programs (`vm.memfd_noexec`). A kernel before 6.3 does not know the
/// difference.
pub fn memory_file(name: &str) -> Result<OwnedFd, Errno> {
    match memfd_create(name, MemfdFlags::CLOEXEC | MemfdFlags::NOEXEC_SEAL) {
        Err(Errno::INVAL) => memfd_create(name, MemfdFlags::CLOEXEC),
        made => made,
    }
}

/// Whether a memory file may be written or grow up to `end`. Beyond the limit for files, which counts for shared memory too, the kernel
/// would not refuse but kill (SIGXFSZ).
pub fn within_file_limit(end: u64) -> Result<(), Errno> {
    match getrlimit(Resource::Fsize).current {
        Some(limit) if limit < end => Err(Errno::FBIG),
        _ => Ok(()),
    }
}

/// What to look at where a memory file could not be made, or not have its length. Empty, or it begins with a space.
pub fn advice(error: Errno) -> &'static str {
    match error {
        Errno::FBIG => " (see ulimit -f)",
        Errno::MFILE => " (see ulimit -n)",
        Errno::PERM | Errno::NOSYS => {
            "; a container whose filter of system calls (seccomp) allows memfd_create is needed"
        }
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{Mode, SealFlags, fcntl_get_seals, fstat};

    #[test]
    fn none_can_be_run() {
        let file = memory_file("file").unwrap();
        // A kernel that knows no such files makes one that may be run.
        if fcntl_get_seals(&file).is_ok_and(|seals| !seals.contains(SealFlags::SEAL)) {
            let mode = Mode::from_raw_mode(fstat(&file).unwrap().st_mode);
            assert!(!mode.intersects(Mode::XUSR | Mode::XGRP | Mode::XOTH), "{mode:?}");
        }
    }
}

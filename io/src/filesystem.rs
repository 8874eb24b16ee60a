//! What kind of file system a file lies on, as far as it changes what has to be done.

use std::io;
use std::os::fd::RawFd;

/// A kind of file system.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FileSystem {
    /// NFS: what another host has written is certain to be seen only after it has synced and this one has asked again.
    Nfs,
    /// Lustre.
    Lustre,
    /// GPFS.
    Gpfs,
    /// Memory.
    Tmpfs,
    /// Anything else.
    Local,
}

const NFS_MAGIC: i64 = 0x6969;
const LUSTRE_MAGIC: i64 = 0x0BD0_0BD0;
const GPFS_MAGIC: i64 = 0x4750_4653;
const TMPFS_MAGIC: i64 = 0x0102_1994;

impl FileSystem {
    /// That of an open file.
    pub fn of(fd: RawFd) -> io::Result<FileSystem> {
        // SAFETY: all zeros is a value of this structure, and it lives through the call.
        let mut found: libc::statfs = unsafe { std::mem::zeroed() };
        // SAFETY: as above.
        if unsafe { libc::fstatfs(fd, &raw mut found) } != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(FileSystem::from_magic(found.f_type as i64))
    }

    fn from_magic(magic: i64) -> FileSystem {
        match magic & 0xFFFF_FFFF {
            NFS_MAGIC => FileSystem::Nfs,
            LUSTRE_MAGIC => FileSystem::Lustre,
            GPFS_MAGIC => FileSystem::Gpfs,
            TMPFS_MAGIC => FileSystem::Tmpfs,
            _ => FileSystem::Local,
        }
    }

    /// Its name for a person.
    pub fn name(self) -> &'static str {
        match self {
            FileSystem::Nfs => "NFS",
            FileSystem::Lustre => "Lustre",
            FileSystem::Gpfs => "GPFS",
            FileSystem::Tmpfs => "tmpfs",
            FileSystem::Local => "a local file system",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd;

    #[test]
    fn file_systems_are_told_apart() {
        assert_eq!(FileSystem::from_magic(0x6969), FileSystem::Nfs);
        assert_eq!(FileSystem::from_magic(0xBD00BD0), FileSystem::Lustre);
        assert_eq!(FileSystem::from_magic(0xEF53), FileSystem::Local);
        let own = std::fs::File::open("/proc/self/exe").unwrap();
        assert!(FileSystem::of(own.as_raw_fd()).is_ok());
        assert!(FileSystem::of(-1).is_err());
    }
}

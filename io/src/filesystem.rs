//! What kind of file system a file lies on, as far as it changes what has to be done.

use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::MetadataExt;

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
const OVERLAY_MAGIC: i64 = 0x794C_7630;

/// File systems that only one machine has, ever: ext2 to ext4, XFS, Btrfs, memory, ZFS.
const ONE_MACHINE_MAGICS: [i64; 5] = [0xEF53, 0x5846_5342, 0x9123_683E, TMPFS_MAGIC, 0x2FC1_2FC1];

impl FileSystem {
    /// That of an open file.
    pub fn of(fd: RawFd) -> io::Result<FileSystem> {
        magic(fd).map(FileSystem::from_magic)
    }

    fn from_magic(magic: i64) -> FileSystem {
        match magic {
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

fn magic(fd: RawFd) -> io::Result<i64> {
    // SAFETY: all zeros is a value of this structure, and it lives through the call.
    let mut found: libc::statfs = unsafe { std::mem::zeroed() };
    // SAFETY: as above.
    if unsafe { libc::fstatfs(fd, &raw mut found) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(found.f_type as i64 & 0xFFFF_FFFF)
}

/// What tells a file from all others, if it lies where only one machine can have it; two that have opened one file find the same. `None`
/// where other machines may see it under other numbers.
pub fn identity(file: &File) -> Option<u64> {
    // Layers over others, as containers have, are one machine's, too.
    let is_local = |magic: &i64| *magic == OVERLAY_MAGIC || ONE_MACHINE_MAGICS.contains(magic);
    let magic = magic(file.as_raw_fd()).ok().filter(is_local)?;
    let mut hasher = DefaultHasher::new();
    // Of all containers of a machine it is the same.
    fs::read("/proc/sys/kernel/random/boot_id").ok()?.hash(&mut hasher);
    if magic != OVERLAY_MAGIC {
        // A file that moves to another layer changes its numbers.
        let found = file.metadata().ok()?;
        (found.dev(), found.ino()).hash(&mut hasher);
    }
    Some(hasher.finish().max(1))
}

/// Whether a file can be read and written at offsets: pipes, sockets and terminals cannot.
pub fn has_places(file: &File) -> bool {
    // SAFETY: a plain system call on an open descriptor, which moves nothing.
    unsafe { libc::lseek(file.as_raw_fd(), 0, libc::SEEK_CUR) >= 0 }
}

/// What tells a file from all others among those that one host has open; 0 if its numbers may not tell. Containers may have one image each,
/// as a file system of its own: of files that are only read this counts where the numbers are certain.
pub fn identity_on_host(file: &File, is_written: bool) -> u64 {
    if !is_written && !magic(file.as_raw_fd()).is_ok_and(|magic| ONE_MACHINE_MAGICS.contains(&magic)) {
        return 0;
    }
    let Ok(found) = file.metadata() else { return 0 };
    let mut hasher = DefaultHasher::new();
    (found.dev(), found.ino()).hash(&mut hasher);
    hasher.finish().max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_systems_are_told_apart() {
        assert_eq!(FileSystem::from_magic(0x6969), FileSystem::Nfs);
        assert_eq!(FileSystem::from_magic(0xBD00BD0), FileSystem::Lustre);
        assert_eq!(FileSystem::from_magic(0xEF53), FileSystem::Local);
        let own = std::fs::File::open("/proc/self/exe").unwrap();
        assert!(FileSystem::of(own.as_raw_fd()).is_ok());
        assert!(FileSystem::of(-1).is_err());
    }

    #[test]
    fn one_file_is_the_same_however_it_was_opened() {
        let path = std::env::temp_dir().join(format!("tern-io-{}-identity", std::process::id()));
        let (one, again) = (File::create(&path).unwrap(), File::open(&path).unwrap());
        assert_eq!(identity(&one), identity(&again));
        fs::remove_file(&path).unwrap();
        let other = File::create(&path).unwrap();
        fs::remove_file(&path).unwrap();
        let is_layered = magic(one.as_raw_fd()).unwrap() == OVERLAY_MAGIC;
        assert!(is_layered || identity(&one).is_none() || identity(&one) != identity(&other));
        assert_eq!(identity_on_host(&one, true), identity_on_host(&again, true));
        assert_ne!(identity_on_host(&one, true), identity_on_host(&other, true));
        assert!(
            identity(&File::open("/proc/self/stat").unwrap()).is_none(),
            "of a file system of the kernel's"
        );
    }

    #[test]
    fn pipes_have_no_places() {
        let (end, _other) = io::pipe().unwrap();
        assert!(!has_places(&File::from(std::os::fd::OwnedFd::from(end))));
        assert!(has_places(&File::open("/proc/self/exe").unwrap()));
        assert!(has_places(&File::open("/dev/null").unwrap()));
    }
}

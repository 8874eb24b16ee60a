//! The two memory files of a host, where no `mpirun` has made them.
//!
//! The first rank of each host makes them and names its descriptors. The others open them, which the kernel allows to the same user
//! only.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use rustix::fs::{MemfdFlags, Mode, OFlags, fstat, memfd_create};

use crate::node_map;

/// The two memory files of a host.
pub(super) struct HostMemory {
    /// What the ranks share.
    pub segment: OwnedFd,
    /// Where each says where it stands.
    pub status_page: OwnedFd,
}

impl HostMemory {
    /// Of a job of so many ranks.
    pub(super) fn new(size: u32) -> io::Result<HostMemory> {
        let segment = memfd_create("tern-segment", MemfdFlags::CLOEXEC)?;
        let status_page = memfd_create("tern-status", MemfdFlags::CLOEXEC)?;
        node_map::make_room(&status_page, size)?;
        Ok(HostMemory { segment, status_page })
    }

    /// How another process finds them: this process, and number and inode of each.
    pub(super) fn names(&self) -> io::Result<String> {
        let mut text = std::process::id().to_string();
        for file in [&self.segment, &self.status_page] {
            text += &format!(":{}:{}", file.as_raw_fd(), fstat(file)?.st_ino);
        }
        Ok(text)
    }

    /// Opens those of `leader`, another rank of this host.
    pub(super) fn open(names: &str, leader: u32) -> io::Result<HostMemory> {
        let numbers: Option<Vec<u64>> = names.split(':').map(|word| word.parse().ok()).collect();
        let Some(&[process, segment, segment_inode, status_page, status_page_inode]) = numbers.as_deref()
        else {
            return Err(io::Error::other(format!(
                "rank {leader} has left no shared memory: is it a program of Tern?"
            )));
        };
        let open = |number: u64, inode: u64| open_at(process, number, inode, leader);
        Ok(HostMemory {
            segment: open(segment, segment_inode)?,
            status_page: open(status_page, status_page_inode)?,
        })
    }
}

fn open_at(process: u64, number: u64, inode: u64, leader: u32) -> io::Result<OwnedFd> {
    let path = format!("/proc/{process}/fd/{number}");
    let file = rustix::fs::open(&path, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty());
    match file {
        Ok(file) if fstat(&file)?.st_ino == inode => Ok(file),
        _ => Err(io::Error::other(format!(
            "the launcher says that rank {leader} runs on this host as well, but its shared memory ({path}) cannot be \
             opened: they must run in the same container and as the same user"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_found_by_its_names_and_nothing_else_is() {
        let memory = HostMemory::new(2).unwrap();
        let names = memory.names().unwrap();
        let opened = HostMemory::open(&names, 0).unwrap();
        assert_eq!(fstat(&opened.status_page).unwrap().st_ino, fstat(&memory.status_page).unwrap().st_ino);
        for bad in ["", "1:2", "x:1:1:1:1", &format!("{names}1"), &names.replacen(':', "0:", 1)] {
            assert!(HostMemory::open(bad, 0).is_err(), "{bad}");
        }
    }
}

//! The two memory files of a host, where no `mpirun` has made them.
//!
//! The first rank of each host makes them and names its descriptors. The others open them, which the kernel allows to the same user
//! only.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::thread;

use rustix::fs::{Mode, OFlags, fstat};
use rustix::io::Errno;
use rustix::process::{Pid, getpid, test_kill_process};

use crate::limits::NODE_MAP_PAUSE;
use crate::memory_file::{advice, memory_file};
use crate::node_map::{self, NodeMap};
use crate::reserved_fd::ReservedFd;
use crate::status_page::StatusPage;

/// The two memory files of a host.
pub(super) struct HostMemory {
    /// What the ranks share.
    pub segment: OwnedFd,
    /// Where each says where it stands.
    pub status_page: OwnedFd,
    /// The process that has made them.
    maker: Pid,
    /// Where another process has the status page.
    elsewhere: Option<String>,
}

impl HostMemory {
    /// Of a job of so many ranks.
    pub(super) fn new(size: u32) -> io::Result<HostMemory> {
        HostMemory::create(size).map_err(|error| {
            io::Error::other(format!("cannot make the host's shared memory: {error}{}", advice(error)))
        })
    }

    fn create(size: u32) -> Result<HostMemory, Errno> {
        let segment = memory_file("tern-segment")?;
        let status_page = memory_file("tern-status")?;
        node_map::make_room(&status_page, size)?;
        Ok(HostMemory { segment, status_page, maker: getpid(), elsewhere: None })
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
        let maker = i32::try_from(process).ok().and_then(Pid::from_raw);
        Ok(HostMemory {
            segment: open(segment, segment_inode)?,
            status_page: open(status_page, status_page_inode)?,
            maker: maker.ok_or(io::ErrorKind::InvalidData)?,
            elsewhere: Some(path_of(process, status_page)),
        })
    }

    /// The place of `rank` on the status page, by a descriptor of its own.
    pub(super) fn page_of(&self, rank: u32) -> io::Result<StatusPage> {
        Ok(page(self.status_page.try_clone()?, self.elsewhere.clone(), rank))
    }

    /// The segment, and the place of `rank` on the status page by the very descriptor at which others open it: it stays open as long as
    /// this place is kept.
    pub(super) fn into_parts(self, rank: u32) -> (OwnedFd, StatusPage) {
        (self.segment, page(self.status_page, self.elsewhere, rank))
    }

    /// Which ranks of a job of `size` run where. Waits until `leader`, which has made the files, has written it.
    pub(super) fn places(&self, size: u32, leader: u32) -> io::Result<NodeMap> {
        while !node_map::is_written(&self.status_page, size)? {
            // The last look comes after the end of the process.
            let has_ended = test_kill_process(self.maker) == Err(Errno::SRCH);
            if has_ended && !node_map::is_written(&self.status_page, size)? {
                return Err(io::Error::other(format!(
                    "rank {leader}, the first of this host, has ended in MPI_Init"
                )));
            }
            thread::sleep(NODE_MAP_PAUSE);
        }
        Ok(node_map::read_places(&self.status_page, size)?)
    }
}

fn open_at(process: u64, number: u64, inode: u64, leader: u32) -> io::Result<OwnedFd> {
    let path = path_of(process, number);
    let file = rustix::fs::open(&path, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty());
    match file {
        Ok(file) if fstat(&file)?.st_ino == inode => Ok(file),
        _ => Err(io::Error::other(format!(
            "the launcher says that rank {leader} runs on this host as well, but its shared memory ({path}) cannot be \
             opened: they must run in the same container and as the same user"
        ))),
    }
}

fn page(file: OwnedFd, elsewhere: Option<String>, rank: u32) -> StatusPage {
    let file = ReservedFd::from(file);
    let file = match elsewhere {
        Some(path) => file.also_at(path, OFlags::RDWR | OFlags::CLOEXEC),
        None => file,
    };
    StatusPage::new(file, rank)
}

fn path_of(process: u64, number: u64) -> String {
    format!("/proc/{process}/fd/{number}")
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
        let places = NodeMap::of([0, 1].into_iter());
        let later = std::thread::spawn(move || opened.places(2, 0).unwrap());
        std::thread::sleep(3 * NODE_MAP_PAUSE);
        node_map::write(&memory.status_page, &[1; 32], &places).unwrap();
        assert_eq!(later.join().unwrap(), places);
        for bad in ["", "1:2", "x:1:1:1:1", &format!("{names}1"), &names.replacen(':', "0:", 1)] {
            assert!(HostMemory::open(bad, 0).is_err(), "{bad}");
        }
    }
}

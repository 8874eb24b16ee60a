//! How a process becomes a rank under a launcher of another MPI library that speaks PMI-1.
//!
//! The launcher gives rank, size, and a store of keys with a barrier; the rest the ranks do for themselves. Rank 0 makes the
//! job's secret and puts it into the store: whoever can read what the launcher's own processes say to each other can read
//! it, which is the trust that such a launcher asks for. The first rank of each host makes the host's memory files and
//! names its descriptors; the others open them, which the kernel allows to the same user only.

use std::fmt;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::OnceLock;

use rustix::fs::{MemfdFlags, Mode, OFlags, fstat, memfd_create};

use crate::bootstrap::pmi1_client::{Client, PmiLink, from_hex, to_hex};
use crate::cores::{CoreBudget, cores};
use crate::job::{Control, Job, fresh_secret};
use crate::limits::RANKS_MAX;
use crate::link::Link;
use crate::node_map::{self, NodeMap, Secret};
use crate::pmi::{FD_VARIABLE, MAPPING_KEY, RANK_VARIABLE, SIZE_VARIABLE, parse_mapping};
use crate::status_page::StatusPage;

const SECRET_KEY: &str = "tern-secret";

/// What the environment says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Invitation {
    descriptor: i32,
    rank: u32,
    size: u32,
}

impl Invitation {
    /// Reads the environment by `get`: `None` if no launcher has handed down a PMI socket to one of several ranks.
    pub fn find(get: impl Fn(&str) -> Option<String>) -> Option<Invitation> {
        let number = |name| get(name)?.trim().parse::<u32>().ok();
        let size = number(SIZE_VARIABLE).filter(|size| (2..=RANKS_MAX).contains(size))?;
        let rank = number(RANK_VARIABLE).filter(|&rank| rank < size)?;
        let descriptor = number(FD_VARIABLE).and_then(|number| i32::try_from(number).ok())?;
        Some(Invitation { descriptor, rank, size })
    }
}

impl fmt::Display for Invitation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Invitation { descriptor, rank, size } = self;
        write!(f, "{RANK_VARIABLE}={rank}, {SIZE_VARIABLE}={size}, {FD_VARIABLE}={descriptor}")
    }
}

/// Becomes the rank that the environment names.
pub(crate) fn join(invitation: Invitation) -> io::Result<Job> {
    let Invitation { descriptor, rank, size } = invitation;
    let mut client = Client::connect(descriptor)?;
    if client.store().starts_with("tern_") {
        return Err(io::Error::other(
            "the launcher is Tern's own mpirun, but TERN_JOB is not set: something removed it",
        ));
    }
    let (appnum, universe) = (client.appnum(), client.universe());
    let places = places(&mut client, size)?;
    let host = places.host_of(rank);
    let leader = places.ranks_of(host).next().unwrap_or(rank);
    let own = if leader == rank { Some(Memory::new(size)?) } else { None };
    if let Some(memory) = &own {
        client.put(&memory_key(host), &memory.names()?)?;
    }
    let secret = exchange_secret(&mut client, rank)?;
    let memory = match own {
        Some(memory) => {
            node_map::write(&memory.status_page, &secret, &places)?;
            memory
        }
        None => Memory::open(&client.get(&memory_key(host))?.unwrap_or_default(), leader)?,
    };
    // Until here the leader keeps open what the others open.
    client.barrier()?;
    let local = places.ranks_of(host).count() as u32;
    Ok(Job {
        rank,
        size,
        appnum,
        universe_size: universe.unwrap_or(0).max(size),
        segment: Some(memory.segment),
        status_page: Some(StatusPage::new(memory.status_page, rank)),
        cores: CoreBudget { usable: cores(), ranks: local },
        control: Some(Control::Pmi(client.voice())),
        link: Some(Link::over_pmi(PmiLink::new(client, rank))),
        lifeline: None,
        hosts: places.hosts(),
        places: OnceLock::from(places),
    })
}

/// A launcher that does not say which ranks share a host has them on hosts of their own.
fn places(client: &mut Client, size: u32) -> io::Result<NodeMap> {
    let mapping = client.get(MAPPING_KEY)?;
    Ok(mapping.and_then(|text| parse_mapping(&text, size)).unwrap_or_else(|| NodeMap::of(0..size)))
}

/// The first barrier is in it.
fn exchange_secret(client: &mut Client, rank: u32) -> io::Result<Secret> {
    if rank == 0 {
        client.put(SECRET_KEY, &to_hex(&fresh_secret()?))?;
    }
    client.barrier()?;
    let text = client.get(SECRET_KEY)?.unwrap_or_default();
    let secret = from_hex(&text).and_then(|bytes| bytes.try_into().ok());
    secret.ok_or_else(|| io::Error::other("rank 0 has left no secret: is it a program of Tern?"))
}

fn memory_key(host: u32) -> String {
    format!("tern-memory-{host}")
}

/// The two memory files of a host.
struct Memory {
    segment: OwnedFd,
    status_page: OwnedFd,
}

impl Memory {
    fn new(size: u32) -> io::Result<Memory> {
        let segment = memfd_create("tern-segment", MemfdFlags::CLOEXEC)?;
        let status_page = memfd_create("tern-status", MemfdFlags::CLOEXEC)?;
        node_map::make_room(&status_page, size)?;
        Ok(Memory { segment, status_page })
    }

    /// How another process finds them: this process, and number and inode of each.
    fn names(&self) -> io::Result<String> {
        let mut text = std::process::id().to_string();
        for file in [&self.segment, &self.status_page] {
            text += &format!(":{}:{}", file.as_raw_fd(), fstat(file)?.st_ino);
        }
        Ok(text)
    }

    /// Opens those of `leader`, another rank of this host.
    fn open(names: &str, leader: u32) -> io::Result<Memory> {
        let numbers: Option<Vec<u64>> = names.split(':').map(|word| word.parse().ok()).collect();
        let Some(&[process, segment, segment_inode, status_page, status_page_inode]) = numbers.as_deref()
        else {
            return Err(io::Error::other(format!(
                "rank {leader} has left no shared memory: is it a program of Tern?"
            )));
        };
        let open = |number: u64, inode: u64| open_at(process, number, inode, leader);
        Ok(Memory {
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

    fn found(environment: &[(&str, &str)]) -> Option<Invitation> {
        let value = |name: &str| environment.iter().find(|(key, _)| *key == name).map(|(_, value)| *value);
        Invitation::find(|name| value(name).map(String::from))
    }

    #[test]
    fn only_one_of_several_is_invited() {
        let full = [("PMI_RANK", "1"), ("PMI_SIZE", "2"), ("PMI_FD", "9")];
        assert_eq!(found(&full), Some(Invitation { descriptor: 9, rank: 1, size: 2 }));
        assert_eq!(found(&full[..2]), None);
        for changed in [("PMI_RANK", "2"), ("PMI_SIZE", "1"), ("PMI_FD", "-1"), ("PMI_SIZE", "many")] {
            let environment: Vec<_> = std::iter::once(changed).chain(full).collect();
            assert_eq!(found(&environment), None, "{changed:?}");
        }
    }

    #[test]
    fn memory_is_found_by_its_names_and_nothing_else_is() {
        let memory = Memory::new(2).unwrap();
        let names = memory.names().unwrap();
        let opened = Memory::open(&names, 0).unwrap();
        assert_eq!(fstat(&opened.status_page).unwrap().st_ino, fstat(&memory.status_page).unwrap().st_ino);
        for bad in ["", "1:2", "x:1:1:1:1", &format!("{names}1"), &names.replacen(':', "0:", 1)] {
            assert!(Memory::open(bad, 0).is_err(), "{bad}");
        }
    }
}

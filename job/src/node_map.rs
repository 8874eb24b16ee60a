//! The node map: what every rank of a host may read, behind the last record of the status page.
//!
//! It holds the job's secret and which ranks run on which host. The status page is a memory file without a name
//! that only processes of the same user can open, so the secret is in no command line, no environment and no
//! file system. A rank reads it only when it needs it: jobs on one host never do.

use std::os::fd::AsFd;
use std::sync::atomic::{Ordering, fence};

use rustix::fs::ftruncate;
use rustix::io::{Errno, pread, pwrite};

use crate::limits::{HOSTS_MAX, RANKS_MAX};
use crate::memory_file::within_file_limit;
use crate::status_page::status_page_bytes;

/// What only the processes of one job know.
pub type JobSecret = [u8; SECRET_BYTES];

/// Length of a [`JobSecret`]: as long as the keys of the hashes that use it.
pub const SECRET_BYTES: usize = 32;

const MAGIC: [u8; 8] = *b"TernRst1";
const HEADER_BYTES: usize = 8 + SECRET_BYTES + 12;
const RUN_BYTES: usize = 8;

/// Consecutive ranks on one host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RankRun {
    /// The first of them; they reach up to the next run's first.
    pub first: u32,
    /// The host's number.
    pub host: u32,
}

/// Which ranks run where: 8 bytes for each change of host along the ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeMap {
    runs: Box<[RankRun]>,
    size: u32,
    hosts: u32,
}

impl NodeMap {
    /// All ranks on one host.
    pub fn one_host(size: u32) -> NodeMap {
        NodeMap { runs: [RankRun { first: 0, host: 0 }].into(), size, hosts: 1 }
    }

    /// From the host of each rank.
    pub fn of(hosts: impl Iterator<Item = u32>) -> NodeMap {
        let (mut runs, mut size, mut most): (Vec<RankRun>, u32, u32) = (Vec::new(), 0, 0);
        for host in hosts {
            if runs.last().is_none_or(|run| run.host != host) {
                runs.push(RankRun { first: size, host });
            }
            size += 1;
            most = most.max(host);
        }
        NodeMap { runs: runs.into(), size, hosts: most + 1 }
    }

    /// From runs that somebody else has written: `None` if they make no sense.
    pub fn from_runs(runs: Vec<RankRun>, size: u32, hosts: u32) -> Option<NodeMap> {
        let ascending = runs.windows(2).all(|pair| pair[0].first < pair[1].first);
        let inside = runs.last().is_some_and(|run| run.first < size);
        let known = runs.iter().all(|run| run.host < hosts);
        let sound = runs.first().is_some_and(|run| run.first == 0) && ascending && inside && known;
        (sound && size <= RANKS_MAX && hosts <= HOSTS_MAX).then(|| NodeMap { runs: runs.into(), size, hosts })
    }

    /// The host of `rank`, which must be a rank of the job.
    pub fn host_of(&self, rank: u32) -> u32 {
        let after = self.runs.partition_point(|run| run.first <= rank);
        self.runs[after.saturating_sub(1)].host
    }

    /// The ranks of `host` in ascending order.
    pub fn ranks_of(&self, host: u32) -> impl Iterator<Item = u32> + '_ {
        let ends = self.runs.iter().skip(1).map(|run| run.first).chain([self.size]);
        let of_host = self.runs.iter().zip(ends).filter(move |(run, _)| run.host == host);
        of_host.flat_map(|(run, end)| run.first..end)
    }

    /// Number of ranks.
    pub fn size(&self) -> u32 {
        self.size
    }

    /// Number of hosts.
    pub fn hosts(&self) -> u32 {
        self.hosts
    }

    /// The runs, in ascending order.
    pub fn runs(&self) -> &[RankRun] {
        &self.runs
    }
}

/// Gives the status page of a job of `size` ranks its length, with nothing in it.
pub fn make_room(status_page: impl AsFd, size: u32) -> Result<(), Errno> {
    let most = status_page_bytes(size) + HEADER_BYTES as u64 + u64::from(size) * RUN_BYTES as u64;
    within_file_limit(most)?;
    ftruncate(status_page, status_page_bytes(size))
}

/// Writes the node map behind the records of a status page. Who finds it written finds all of it.
pub fn write(status_page: impl AsFd, secret: &JobSecret, places: &NodeMap) -> Result<(), Errno> {
    let mut bytes = Vec::with_capacity(HEADER_BYTES + places.runs.len() * RUN_BYTES);
    bytes.extend_from_slice(secret);
    for number in [places.size, places.hosts, places.runs.len() as u32] {
        bytes.extend_from_slice(&number.to_le_bytes());
    }
    for run in &places.runs {
        bytes.extend_from_slice(&run.first.to_le_bytes());
        bytes.extend_from_slice(&run.host.to_le_bytes());
    }
    let start = status_page_bytes(places.size);
    write_all(&status_page, &bytes, start + MAGIC.len() as u64)?;
    fence(Ordering::SeqCst);
    write_all(&status_page, &MAGIC, start)
}

/// Whether it has been written to the status page of a job of `size` ranks.
pub fn is_written(status_page: impl AsFd, size: u32) -> Result<bool, Errno> {
    let mut magic = [0; MAGIC.len()];
    pread(status_page, &mut magic, status_page_bytes(size))?;
    fence(Ordering::SeqCst);
    Ok(magic == MAGIC)
}

/// Reads the job's secret from the status page of a job of `size` ranks.
pub fn read_secret(status_page: impl AsFd, size: u32) -> Result<JobSecret, Errno> {
    let header = read_header(status_page, size)?;
    header[MAGIC.len()..][..SECRET_BYTES].try_into().map_err(|_| Errno::INVAL)
}

/// Reads which ranks run where.
pub fn read_places(status_page: impl AsFd, size: u32) -> Result<NodeMap, Errno> {
    let header = read_header(&status_page, size)?;
    let number = |index: usize| word(&header, MAGIC.len() + SECRET_BYTES + 4 * index);
    let (own_size, hosts, runs) = (number(0), number(1), number(2));
    if own_size != size || runs > size {
        return Err(Errno::INVAL);
    }
    let mut bytes = vec![0; runs as usize * RUN_BYTES];
    read_all(&status_page, &mut bytes, status_page_bytes(size) + HEADER_BYTES as u64)?;
    let runs = bytes.chunks_exact(RUN_BYTES).map(|run| RankRun { first: word(run, 0), host: word(run, 4) });
    NodeMap::from_runs(runs.collect(), size, hosts).ok_or(Errno::INVAL)
}

fn read_header(status_page: impl AsFd, size: u32) -> Result<[u8; HEADER_BYTES], Errno> {
    let mut header = [0; HEADER_BYTES];
    read_all(status_page, &mut header, status_page_bytes(size))?;
    if header.starts_with(&MAGIC) { Ok(header) } else { Err(Errno::INVAL) }
}

fn write_all(file: impl AsFd, bytes: &[u8], at: u64) -> Result<(), Errno> {
    if pwrite(file, bytes, at)? == bytes.len() { Ok(()) } else { Err(Errno::NOSPC) }
}

fn read_all(file: impl AsFd, bytes: &mut [u8], at: u64) -> Result<(), Errno> {
    let length = bytes.len();
    if pread(file, bytes, at)? == length { Ok(()) } else { Err(Errno::INVAL) }
}

fn word(bytes: &[u8], at: usize) -> u32 {
    bytes[at..at + 4].try_into().map_or(0, u32::from_le_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    fn status_page() -> rustix::fd::OwnedFd {
        rustix::fs::memfd_create("node map", rustix::fs::MemfdFlags::CLOEXEC).unwrap()
    }

    #[test]
    fn ranks_are_found_on_their_hosts() {
        let places = NodeMap::of([0, 0, 1, 1, 1, 0].into_iter());
        assert_eq!((places.runs().len(), places.size(), places.hosts()), (3, 6, 2));
        let hosts: Vec<_> = (0..6).map(|rank| places.host_of(rank)).collect();
        assert_eq!(hosts, [0, 0, 1, 1, 1, 0]);
        assert_eq!(places.ranks_of(0).collect::<Vec<_>>(), [0, 1, 5]);
        assert_eq!(places.ranks_of(1).collect::<Vec<_>>(), [2, 3, 4]);
        assert_eq!(NodeMap::one_host(3).ranks_of(0).count(), 3);
    }

    #[test]
    fn what_is_written_is_read_back() {
        let (status_page, places) = (status_page(), NodeMap::of([2, 0, 1].into_iter()));
        write(&status_page, &[9; SECRET_BYTES], &places).unwrap();
        assert_eq!(read_secret(&status_page, 3).unwrap(), [9; SECRET_BYTES]);
        assert_eq!(read_places(&status_page, 3).unwrap(), places);
    }

    #[test]
    fn a_board_without_a_roster_has_no_secret() {
        let status_page = status_page();
        assert!(read_secret(&status_page, 3).is_err());
        rustix::fs::ftruncate(&status_page, status_page_bytes(3) + 4096).unwrap();
        assert!(read_secret(&status_page, 3).is_err() && read_places(&status_page, 3).is_err());
    }

    proptest! {
        #[test]
        fn a_damaged_roster_is_refused_or_holds_together(bytes in vec(any::<u8>(), 0..24), at in 40..76_u64) {
            let status_page = status_page();
            write(&status_page, &[9; SECRET_BYTES], &NodeMap::of([0, 0, 1].into_iter())).unwrap();
            pwrite(&status_page, &bytes, status_page_bytes(3) + at).unwrap();
            if let Ok(places) = read_places(&status_page, 3) {
                prop_assert!((0..3).all(|rank| places.host_of(rank) < places.hosts()));
            }
        }
    }

    #[test]
    fn senseless_runs_are_refused() {
        let run = |first, host| RankRun { first, host };
        let refused = |runs: &[RankRun]| NodeMap::from_runs(runs.to_vec(), 4, 2).is_none();
        assert!(refused(&[]));
        assert!(refused(&[run(1, 0)]));
        assert!(refused(&[run(0, 2)]));
        assert!(refused(&[run(0, 0), run(4, 1)]));
        assert!(refused(&[run(0, 0), run(2, 1), run(2, 0)]));
        assert!(!refused(&[run(0, 0), run(2, 1)]));
    }
}

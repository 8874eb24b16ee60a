//! One directory for two transports: what a rank publishes holds the addresses of its sockets and of its endpoint.
//!
//! | bytes | |
//! |---|---|
//! | 2 | bytes of the sockets' part |
//! | | that part, and after it the endpoint's |

use std::collections::{HashMap, HashSet};
use std::io;
use std::os::fd::RawFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tern_transport::Peer;
use tern_transport::directory::{Directory, ENDPOINT_ADDRESS_BYTES_MAX};

/// What both halves share.
struct Both {
    directory: Box<dyn Directory>,
    /// This rank's endpoint.
    endpoint: Vec<u8>,
    asked: HashSet<Peer>,
    /// What has come.
    known: HashMap<Peer, [Vec<u8>; 2]>,
}

/// The directory as one of the two transports sees it.
pub struct DirectoryHalf {
    both: Arc<Mutex<Both>>,
    /// 0 for sockets, 1 for the endpoint.
    which: usize,
    wanted: HashSet<Peer>,
}

/// Makes one directory two: of sockets, and of endpoints, of which this rank's is known.
pub fn split(directory: Box<dyn Directory>, endpoint: Vec<u8>) -> [DirectoryHalf; 2] {
    let both = Both { directory, endpoint, asked: HashSet::new(), known: HashMap::new() };
    let both = Arc::new(Mutex::new(both));
    [0, 1].map(|which| DirectoryHalf { both: both.clone(), which, wanted: HashSet::new() })
}

impl DirectoryHalf {
    fn both(&self) -> MutexGuard<'_, Both> {
        self.both.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Both {
    fn hear(&mut self) {
        while let Some((peer, bytes)) = self.directory.answer() {
            self.known.insert(peer, parts(&bytes));
        }
    }
}

fn joined(sockets: &[u8], endpoint: &[u8]) -> Option<Vec<u8>> {
    let len = u16::try_from(sockets.len()).ok()?;
    let bytes = [&len.to_le_bytes(), sockets, endpoint].concat();
    (bytes.len() <= ENDPOINT_ADDRESS_BYTES_MAX).then_some(bytes)
}

/// What a rank that has no endpoint publishes is the sockets' part alone, without its length.
fn parts(bytes: &[u8]) -> [Vec<u8>; 2] {
    let both = bytes.split_first_chunk::<2>().and_then(|(len, rest)| {
        rest.split_at_checked(usize::from(u16::from_le_bytes(*len)))
            .filter(|(_, endpoint)| !endpoint.is_empty())
    });
    both.map_or([bytes.to_vec(), Vec::new()], |(sockets, endpoint)| [sockets.to_vec(), endpoint.to_vec()])
}

impl Directory for DirectoryHalf {
    /// The sockets' half publishes both.
    fn publish(&mut self, endpoint_address: &[u8]) -> io::Result<()> {
        if self.which == 1 {
            return Ok(());
        }
        let mut both = self.both();
        let bytes = joined(endpoint_address, &both.endpoint).ok_or_else(|| {
            io::Error::other("this host has too many addresses; name those to be used by TERN_INTERFACE")
        })?;
        both.directory.publish(&bytes)
    }

    fn ask(&mut self, rank: Peer) {
        self.wanted.insert(rank);
        let mut both = self.both();
        if both.asked.insert(rank) {
            both.directory.ask(rank);
        }
    }

    fn answer(&mut self) -> Option<(Peer, Vec<u8>)> {
        let mut both = self.both();
        both.hear();
        let found =
            self.wanted.iter().find_map(|rank| Some((*rank, both.known.get(rank)?[self.which].clone())));
        drop(both);
        let (rank, part) = found?;
        self.wanted.remove(&rank);
        Some((rank, part))
    }

    fn has_unsent(&self) -> bool {
        self.both().directory.has_unsent()
    }

    fn fd(&self) -> Option<RawFd> {
        self.both().directory.fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_joined_is_parted() {
        let bytes = joined(&[1, 2, 3], &[9; 40]).unwrap();
        assert_eq!(parts(&bytes), [vec![1, 2, 3], vec![9; 40]]);
        assert_eq!(joined(&[0; ENDPOINT_ADDRESS_BYTES_MAX], &[9]), None);
    }

    #[test]
    fn one_without_an_endpoint_has_sockets_alone() {
        // As the addresses of sockets begin: version, count, port.
        let sockets = vec![1, 1, 0x39, 0x30, 4, 127, 0, 0, 1];
        assert_eq!(parts(&sockets), [sockets, Vec::new()]);
    }
}

//! What the ranks of a test's job share, all of which are in one process.

use std::collections::HashMap;
use std::io;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::sync::{Arc, Mutex};

use crate::Peer;
use crate::directory::Directory;

/// An empty memory file.
pub fn memfd() -> OwnedFd {
    // SAFETY: a new descriptor that nobody else owns.
    unsafe {
        let fd = libc::memfd_create(c"tern-test".as_ptr(), libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING);
        assert!(fd >= 0, "memfd_create: {}", io::Error::last_os_error());
        OwnedFd::from_raw_fd(fd)
    }
}

/// Where the ranks of a test publish their endpoint addresses.
#[derive(Clone, Debug, Default)]
pub struct TestDirectory(Arc<Mutex<HashMap<Peer, Vec<u8>>>>);

struct OwnDirectory {
    me: Peer,
    directory: TestDirectory,
    asked: Vec<Peer>,
}

impl Directory for OwnDirectory {
    fn publish(&mut self, endpoint_address: &[u8]) -> io::Result<()> {
        self.directory.set(self.me, endpoint_address.to_vec());
        Ok(())
    }
    fn ask(&mut self, rank: Peer) {
        self.asked.push(rank);
    }
    fn answer(&mut self) -> Option<(Peer, Vec<u8>)> {
        let directory = self.directory.0.lock().unwrap();
        let at = self.asked.iter().position(|rank| directory.contains_key(rank))?;
        let rank = self.asked.swap_remove(at);
        Some((rank, directory[&rank].clone()))
    }
    fn fd(&self) -> Option<RawFd> {
        None
    }
}

impl TestDirectory {
    /// The directory as one rank has it.
    pub fn of(&self, me: Peer) -> Box<dyn Directory> {
        Box::new(OwnDirectory { me, directory: self.clone(), asked: Vec::new() })
    }

    /// Publishes for a rank what it would not say itself.
    pub fn set(&self, rank: Peer, endpoint_address: Vec<u8>) {
        self.0.lock().unwrap().insert(rank, endpoint_address);
    }

    /// What a rank has published.
    pub fn published(&self, rank: Peer) -> Vec<u8> {
        self.0.lock().unwrap()[&rank].clone()
    }
}

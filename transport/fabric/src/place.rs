//! What a rank has to know to be connected to its job, and why it cannot be.

use std::os::fd::OwnedFd;

use tern_ofi::OfiError;
use tern_shm::AttachError;
use tern_tcp::TcpError;
use tern_transport::directory::Directory;
use tern_transport::{Peer, TransportConfig};

/// This rank's place in its job.
pub struct JobPlace {
    /// This rank.
    pub me: Peer,
    /// Ranks of the job.
    pub size: u32,
    /// The ranks on this node, this one among them, in ascending order; `None` if all are.
    pub local_ranks: Option<Vec<Peer>>,
    /// The memfd that all ranks of this machine have, if there are several; it may be empty.
    pub segment: Option<OwnedFd>,
    /// The ranks on this node outnumber the cores that they may run on.
    pub oversubscribed: bool,
    /// What it takes to reach the ranks of other machines, if there is a way.
    pub outside: Option<Outside>,
}

/// What TCP needs.
pub struct Outside {
    /// What all ranks of the job know, and nobody else.
    pub secret: [u8; 32],
    /// How ranks find each other.
    pub directory: Box<dyn Directory>,
}

impl JobPlace {
    /// Whether messages will go over TCP: the only case in which [`JobPlace::outside`] is needed.
    pub fn needs_network(&self, config: &TransportConfig) -> bool {
        self.size > 1 && (config.transport.is_network() || self.local_ranks.is_some())
    }
}

/// Why a rank cannot be connected to its job.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// Shared memory cannot be used.
    #[error("shared memory: {0}")]
    Shm(#[from] AttachError),
    /// TCP cannot be used.
    #[error("TCP: {0}")]
    Tcp(#[from] TcpError),
    /// libfabric was asked for, and cannot be used.
    #[error("libfabric: {0}")]
    Ofi(#[from] OfiError),
    /// `TERN_TRANSPORT=shm`, and the job spans machines.
    #[error("TERN_TRANSPORT=shm, but the ranks run on several machines; unset it or run them on one")]
    OnlyShm,
    /// Nobody tells the ranks where they are.
    #[error("the launcher does not tell the ranks how to reach each other; use Tern's mpirun")]
    NoDirectory,
}

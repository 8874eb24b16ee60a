//! All ways that a rank has to the ranks of its job, as one transport.

mod detour;
mod network;
mod packets;
mod tally;

use std::io;
use std::net::IpAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use tern_mem::UserBuf;

use crate::config::{Config, Medium};
use crate::loopback::Loopback;
use crate::shm::team::{Seat, Team};
use crate::shm::{AttachError, JobMemory, Shm};
use crate::tcp::{Directory, TcpError};
use crate::urtp::probe::Observation;
use crate::{
    Am, Circle, Doorbell, Full, Limits, Peer, Remote, ShareKey, Sink, Taken, Token, Transfer, TransferError,
    Transport,
};
use network::Network;

pub use tally::Tally;

/// This rank's place in its job.
pub struct Place {
    /// This rank.
    pub me: Peer,
    /// Ranks of the job.
    pub size: u32,
    /// The ranks on this machine, this one among them, in ascending order; `None` if all are.
    pub neighbours: Option<Vec<Peer>>,
    /// The memfd that all ranks of this machine have, if there are several; it may be empty.
    pub segment: Option<OwnedFd>,
    /// The ranks on this machine outnumber the cores that they may run on.
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

impl Place {
    /// Whether messages will go over TCP: the only case in which [`Place::outside`] is needed.
    pub fn needs_network(&self, config: &Config) -> bool {
        self.size > 1 && (config.route.is_network() || self.neighbours.is_some())
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
    /// `TERN_TRANSPORT=shm`, and the job spans machines.
    #[error("TERN_TRANSPORT=shm, but the ranks run on several machines; unset it or run them on one")]
    OnlyShm,
    /// Nobody tells the ranks where they are.
    #[error("the launcher does not tell the ranks how to reach each other; use Tern's mpirun")]
    NoDirectory,
}

/// The transports of one rank, chosen by peer.
pub struct Fabric {
    me: Peer,
    loopback: Loopback,
    /// Shared memory with all ranks of the job.
    shm: Option<Shm>,
    /// TCP, and shared memory with some.
    network: Option<Box<Network>>,
    /// For windows; it needs no way of messages.
    memory: io::Result<Arc<JobMemory>>,
}

impl Fabric {
    /// Connects this rank to its job. A job of one needs no segment.
    pub fn attach(place: Place, config: &Config) -> Result<Fabric, ConnectError> {
        let (me, size) = (place.me, place.size);
        if let Some(fd) = place.segment.as_ref().filter(|_| size > 1) {
            crate::shm::accord::agree(fd, &config.accord)?;
        }
        let memory = JobMemory::new(place.segment.as_ref().filter(|_| size > 1)).map(Arc::new);
        if place.needs_network(config) {
            let network = Network::attach(place, config)?;
            let loopback = network.loopback(me);
            return Ok(Fabric { me, loopback, shm: None, network: Some(Box::new(network)), memory });
        }
        let shm = match place.segment {
            Some(fd) if size > 1 => Some(Shm::attach(&fd, me, size, place.oversubscribed, config)?),
            None if size > 1 => return Err(AttachError::NoSegment(size).into()),
            _ => None,
        };
        let loopback = match &shm {
            Some(shm) => Loopback::with_bell(me, shm.bell().clone()),
            None => Loopback::new(me),
        };
        Ok(Fabric { me, loopback, shm, network: None, memory })
    }

    /// Waits until the peers have everything, for the end of the job: whoever is dropped without it is as good as killed.
    pub fn close(&mut self) {
        if let Some(network) = &mut self.network {
            network.close();
        }
    }

    /// The address of this machine by which it multicasts: that of the interface by which the ranks of others are reached, if a
    /// connection to one has been made.
    pub fn address(&self) -> Option<IpAddr> {
        self.network.as_ref()?.address()
    }

    /// Opens sockets for datagrams at the interface that has an address, instead of those that are open: of the ranks of one job,
    /// all or none do.
    pub fn open_packets(&mut self, medium: Medium, address: IpAddr) -> io::Result<()> {
        self.network.as_mut().ok_or(io::ErrorKind::Unsupported)?.open_packets(medium, address)
    }

    /// Begins to find out whether these ranks, all of which do the same now, hear each other's multicasts; takes up to
    /// [`PROBE_MS`](crate::limits::PROBE_MS), where ranks share cores so many times as long as take turns on one. It goes on in [`Transport::poll`] until [`Fabric::end_probe`].
    pub fn begin_probe(&mut self, members: &[Peer], ranks_per_core: u32) -> io::Result<()> {
        self.network.as_mut().ok_or(io::ErrorKind::Unsupported)?.begin_probe(members, ranks_per_core)
    }

    /// Whether everybody has been heard, or the time is over.
    pub fn has_probed(&self) -> bool {
        self.network.as_ref().is_some_and(|network| network.has_probed())
    }

    /// What has been observed until now.
    pub fn observed(&self) -> Option<Observation> {
        self.network.as_ref()?.observed()
    }

    /// Says and hears nothing more.
    pub fn end_probe(&mut self) {
        if let Some(network) = &mut self.network {
            network.end_probe();
        }
    }

    /// What datagrams are used for from now on: multicasts, or, where they are forced, everything. The same on all ranks.
    pub fn use_packets(&mut self) {
        if let Some(network) = &mut self.network {
            network.use_packets();
        }
    }

    /// Sends nothing more by datagrams. [`Fabric::is_quiet`] tells when all that was sent has arrived.
    pub fn retire_packets(&mut self) {
        if let Some(network) = &mut self.network {
            network.retire_packets();
        }
    }

    /// Whether all that was sent by datagrams has arrived.
    pub fn is_quiet(&self) -> bool {
        self.network.as_ref().is_none_or(|network| network.is_quiet())
    }

    /// What has come to the sockets of this rank, and what of it was dropped.
    pub fn tally(&self) -> Tally {
        self.network.as_ref().map(|network| network.tally()).unwrap_or_default()
    }

    /// Whether messages may go over shared memory as well as over a network.
    pub fn has_neighbours(&self) -> bool {
        self.network.as_ref().is_some_and(|network| network.has_neighbours())
    }

    /// Whether messages may go over TCP.
    pub fn is_networked(&self) -> bool {
        self.network.is_some()
    }

    /// Whether messages that were taken are still in this process: somebody must poll, though the program does not.
    #[inline]
    pub fn has_residue(&mut self) -> bool {
        self.network.as_mut().is_some_and(|network| network.has_residue())
    }

    /// Whether there is something of which the doorbell did not tell, or tells too late, a thread that sleeps already: messages
    /// that were read from their socket and that nobody took, a connection to be made, a timer that is due before all others.
    #[inline]
    pub fn has_unseen(&self) -> bool {
        self.network.as_ref().is_some_and(|network| network.has_unseen())
    }

    /// How long what a peer has sent may be on its way until it is here, or the peer counts as lost. Memory delivers at once.
    pub fn delivery_max(&self) -> Duration {
        self.network.as_ref().map_or(Duration::ZERO, |network| network.delivery_max())
    }

    /// Whether something waits for the next poll of which the doorbell tells nobody, not even one who goes to sleep now.
    #[inline]
    pub fn holds_back(&self) -> bool {
        self.network.as_ref().is_some_and(|network| network.holds_back())
    }

    /// Whether [`Transport::listen`] is less work than [`Transport::poll`].
    pub fn listens(&self) -> bool {
        self.network.as_ref().is_some_and(|network| network.listens())
    }

    /// A peer that cannot be reached any more, in words: the job cannot go on.
    pub fn failure(&self) -> Option<&str> {
        self.network.as_ref()?.failure()
    }

    /// Memory that the ranks of this machine share for windows.
    pub fn memory(&self) -> io::Result<Arc<JobMemory>> {
        let again = |error: &io::Error| io::Error::new(error.kind(), error.to_string());
        self.memory.as_ref().map(Arc::clone).map_err(again)
    }

    /// Whether another rank of this machine can make this one pass a fence
    /// ([`fence_everywhere`](crate::shm::fence_everywhere)).
    pub fn is_fenced(&self) -> bool {
        let of_network = || self.network.as_ref().is_some_and(|network| network.is_fenced());
        self.shm.as_ref().map_or_else(of_network, Shm::is_fenced)
    }

    /// Wakes a rank of this machine that may sleep, after something was published to it otherwise than by a message. False if it
    /// has no bell here: then whoever waits there looks now and then.
    pub fn ring(&self, peer: Peer) -> bool {
        match (&self.shm, &self.network) {
            _ if peer == self.me => true,
            (Some(shm), _) => {
                shm.ring(peer);
                true
            }
            (_, Some(network)) => network.ring(peer),
            _ => false,
        }
    }

    /// This rank's seat in a team of ranks of this machine, if they have shared memory.
    pub fn team(&self, seat: Seat) -> Option<Team> {
        match (&self.shm, &self.network) {
            (Some(shm), _) => Some(shm.team(seat, seat.leader)),
            (_, Some(network)) => network.team(seat),
            _ => None,
        }
    }

    /// Clears a slot that this rank leads for a new team. False while ranks of the last one, of `size` ranks, are still there.
    pub fn clear_team(&self, slot: u32, size: u32) -> bool {
        match (&self.shm, &self.network) {
            (Some(shm), _) => shm.clear_team(slot, size),
            (_, Some(network)) => network.clear_team(slot, size),
            _ => false,
        }
    }

    /// All that is not shared memory with all ranks.
    #[inline(never)]
    fn send_otherwise(&mut self, peer: Peer, am: &Am<'_>) -> Result<(), Full> {
        match &mut self.network {
            Some(network) if peer != self.me => network.send(peer, am),
            Some(network) => self.loopback.send(peer, am).inspect(|()| network.ring_own_threads()),
            None => self.loopback.send(peer, am),
        }
    }
}

impl Transport for Fabric {
    fn limits(&mut self, peer: Peer) -> Limits {
        match (&mut self.shm, &mut self.network) {
            _ if peer == self.me => self.loopback.limits(peer),
            (Some(shm), _) => shm.limits(peer),
            (_, Some(network)) => network.limits(peer),
            _ => self.loopback.limits(peer),
        }
    }

    fn streams(&mut self, peer: Peer, len: u64) -> bool {
        match (&mut self.shm, &mut self.network) {
            _ if peer == self.me => false,
            (Some(shm), _) => shm.streams(peer, len),
            (_, Some(network)) => network.streams(peer, len),
            _ => false,
        }
    }

    #[inline(always)]
    fn send(&mut self, peer: Peer, am: &Am<'_>) -> Result<(), Full> {
        match &mut self.shm {
            Some(shm) if peer != self.me => shm.send(peer, am),
            _ => {
                // A copy, so that a message over shared memory stays in registers.
                let am = *am;
                self.send_otherwise(peer, &am)
            }
        }
    }

    fn loan_bytes_max(&self, peer: Peer) -> usize {
        match (&self.shm, &self.network) {
            _ if peer == self.me => self.loopback.loan_bytes_max(peer),
            (Some(shm), _) => shm.loan_bytes_max(peer),
            (_, Some(network)) => network.loan_bytes_max(peer),
            _ => self.loopback.loan_bytes_max(peer),
        }
    }

    fn lent_bytes_max(&self, peer: Peer) -> usize {
        match &self.network {
            Some(network) if peer != self.me => network.lent_bytes_max(peer),
            _ => 0,
        }
    }

    fn take_bad_send(&mut self, peer: Peer) -> Option<TransferError> {
        self.network.as_mut()?.take_bad_send(peer)
    }

    fn lend(&mut self, peer: Peer, am: &Am<'_>, done: Option<Token>) -> Result<(), Full> {
        match (&mut self.shm, &mut self.network) {
            _ if peer == self.me => self.loopback.lend(peer, am, done),
            (Some(shm), _) => shm.lend(peer, am, done),
            (_, Some(network)) => network.lend(peer, am, done),
            _ => self.loopback.lend(peer, am, done),
        }
    }

    fn circle(&mut self, members: &[Peer]) -> Option<Circle> {
        self.network.as_mut()?.circle(members)
    }

    fn multicast(&mut self, circle: &Circle, to: &[Peer], am: &Am<'_>, done: Token) -> Result<Taken, Full> {
        self.network.as_mut().ok_or(Full)?.multicast(circle, to, am, done)
    }

    fn expect(&mut self, peer: Peer) {
        if let Some(network) = &mut self.network {
            network.expect(peer);
        }
    }

    fn get(&mut self, peer: Peer, from: Remote, into: &UserBuf, done: Token) -> Transfer {
        match (&mut self.shm, &mut self.network) {
            _ if peer == self.me => self.loopback.get(peer, from, into, done),
            (Some(shm), _) => shm.get(peer, from, into, done),
            (_, Some(network)) => network.get(peer, from, into, done),
            _ => self.loopback.get(peer, from, into, done),
        }
    }

    fn put(&mut self, peer: Peer, from: &UserBuf, into: Remote, done: Token) -> Transfer {
        match (&mut self.shm, &mut self.network) {
            _ if peer == self.me => self.loopback.put(peer, from, into, done),
            (Some(shm), _) => shm.put(peer, from, into, done),
            (_, Some(network)) => network.put(peer, from, into, done),
            _ => self.loopback.put(peer, from, into, done),
        }
    }

    fn share_open(&mut self, peer: Peer, from: Remote, into: &UserBuf, done: Token) -> Option<ShareKey> {
        match (&mut self.shm, &mut self.network) {
            _ if peer == self.me => self.loopback.share_open(peer, from, into, done),
            (Some(shm), _) => shm.share_open(peer, from, into, done),
            (_, Some(network)) => network.share_open(peer, from, into, done),
            _ => self.loopback.share_open(peer, from, into, done),
        }
    }

    fn share_pull(&mut self, key: ShareKey) -> Transfer {
        match (&mut self.shm, &mut self.network) {
            (Some(shm), _) => shm.share_pull(key),
            (_, Some(network)) => network.share_pull(key),
            _ => Transfer::Failed(TransferError::BadKey),
        }
    }

    fn share_join(
        &mut self,
        peer: Peer,
        key: ShareKey,
        from: &UserBuf,
        into: Remote,
        done: Token,
    ) -> Transfer {
        match (&mut self.shm, &mut self.network) {
            _ if peer == self.me => self.loopback.share_join(peer, key, from, into, done),
            (Some(shm), _) => shm.share_join(peer, key, from, into, done),
            (_, Some(network)) => network.share_join(peer, key, from, into, done),
            _ => self.loopback.share_join(peer, key, from, into, done),
        }
    }

    #[inline]
    fn poll(&mut self, sink: &mut impl Sink) -> bool {
        let own = self.loopback.poll(sink);
        match &mut self.shm {
            Some(shm) => shm.poll(sink) | own,
            None => self.network.as_mut().is_some_and(|network| network.poll(sink)) | own,
        }
    }

    fn listen(&mut self, peer: Peer, sink: &mut impl Sink) -> bool {
        match (&self.shm, &mut self.network) {
            (None, Some(network)) => self.loopback.poll(sink) | network.listen(peer, sink),
            _ => self.poll(sink),
        }
    }

    fn doorbell(&self) -> Arc<dyn Doorbell> {
        match (&self.shm, &self.network) {
            (Some(shm), _) => shm.doorbell(),
            (_, Some(network)) => network.doorbell(),
            _ => self.loopback.doorbell(),
        }
    }
}

//! Processes of other worlds: each gets the next number among this rank's peers, or one that is free again.

use std::collections::HashMap;
use std::io;
use std::os::fd::RawFd;
use std::time::{Duration, Instant};

use super::acceptor::Authenticated;
use super::door_post::DoorPost;
use super::doors::Talk;
use super::endpoint_address::EndpointAddress;
use super::handshake::{Realm, SECRET_BYTES, Secret};
use super::identity::{Whom, door_number};
use super::peer::TcpLink;
use super::transport::Tcp;
use crate::limits::{EARLY_PEER_S, EARLY_PEERS_MAX, PARTING_MS};
use tern_transport::Peer;

/// A process of another world, as it is introduced.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Foreigner {
    /// The number of its world.
    pub world: u64,
    /// Its rank there.
    pub rank: u32,
    /// What its world wants of processes of others.
    pub entry: [u8; SECRET_BYTES],
    /// Where it is to be found.
    pub endpoint_address: Vec<u8>,
}

/// What this rank knows of them.
#[derive(Default)]
pub(crate) struct ForeignPeers {
    /// World and rank.
    numbers: HashMap<(u64, u32), Peer>,
    names: HashMap<Peer, (u64, u32)>,
    entries: HashMap<u64, Secret>,
    /// Numbers that are free again.
    vacant: Vec<Peer>,
    /// Who has proved itself before this rank has heard of it.
    early: Vec<(Authenticated, Instant)>,
    parting: Vec<Peer>,
    /// This rank has opened a door once.
    had_doors: bool,
}

impl Tcp {
    /// The number of this world.
    pub fn world(&self) -> u64 {
        self.identity.world
    }

    /// What a world wants of processes of others: this one's own, or another one's that this rank has met.
    pub fn entry_of(&self, world: u64) -> Option<[u8; SECRET_BYTES]> {
        match world == self.identity.world {
            true => Some(self.identity.entry.0),
            false => self.foreign.entries.get(&world).map(|entry| entry.0),
        }
    }

    /// Where this rank is to be found.
    pub fn endpoint_address(&self) -> io::Result<Vec<u8>> {
        self.acceptor.endpoint_address().map(|endpoint_address| endpoint_address.bytes())
    }

    /// World and rank of a peer.
    pub fn name_of(&self, peer: Peer) -> (u64, u32) {
        self.foreign.names.get(&peer).copied().unwrap_or((self.identity.world, peer))
    }

    /// Whether any process of another world is a peer.
    pub fn has_foreigners(&self) -> bool {
        !self.foreign.names.is_empty()
    }

    /// Whether this rank has opened a door once: who comes to one that is shut wants to hear that.
    pub fn has_had_doors(&self) -> bool {
        self.foreign.had_doors
    }

    /// Where a thread sleeps that looks after the doors, if it can sleep.
    pub fn door_post(&self) -> Option<DoorPost> {
        self.acceptor.door_post()
    }

    /// Makes a process a peer, if it is not one. A rank of this world has its number already.
    pub fn add_peer(&mut self, foreigner: &Foreigner) -> io::Result<Peer> {
        let Foreigner { world, rank, entry, endpoint_address } = foreigner;
        let bad = |text: &str| io::Error::new(io::ErrorKind::InvalidData, text.to_owned());
        if *world == self.identity.world {
            return if *rank < self.size {
                Ok(*rank)
            } else {
                Err(bad("a rank that this world does not have"))
            };
        }
        self.settle_parted(Instant::now());
        self.foreign.entries.insert(*world, Secret(*entry));
        if let Some(&peer) = self.foreign.numbers.get(&(*world, *rank)) {
            return Ok(peer);
        }
        let endpoint_address = EndpointAddress::parse(endpoint_address)
            .ok_or_else(|| bad("an endpoint address that cannot be read"))?;
        let whom = Whom::Foreign { world: *world, rank: *rank, entry: Secret(*entry) };
        let peer = self.foreign.vacant.pop().unwrap_or(self.links.len() as Peer);
        let mut link = TcpLink::new(peer, whom, &self.identity, &self.config);
        link.keep_endpoint_address(endpoint_address);
        if peer as usize == self.links.len() {
            self.links.push(None);
        }
        self.links[peer as usize] = Some(Box::new(link));
        self.foreign.numbers.insert((*world, *rank), peer);
        self.foreign.names.insert(peer, (*world, *rank));
        self.housekeeping.hurry();
        Ok(peer)
    }

    /// Connects to a process of another world though nothing is to be sent: by this connection its end is noticed.
    pub fn hold(&mut self, peer: Peer) {
        let link = self.links.get(peer as usize).and_then(Option::as_ref);
        if link.is_some_and(|link| link.wants_first_dial()) {
            self.dial_first(peer);
        }
    }

    /// The next poll looks at everything, though few polls do beside shared memory.
    pub fn look_soon(&self) {
        self.bell.set_slept();
    }

    /// Whether a connection is being made, by either side: somebody must look often.
    pub fn is_connecting(&self) -> bool {
        !self.wanting.is_empty() || self.acceptor.is_busy()
    }

    /// Parts from processes of other worlds. [`Tcp::has_parted`] tells when that is over.
    pub fn part(&mut self, peers: &[Peer]) {
        let (now, bell) = (Instant::now(), self.bell.clone());
        for &peer in peers.iter().filter(|peer| self.foreign.names.contains_key(peer)) {
            let Some(link) = &mut self.links[peer as usize] else { continue };
            // A connection that breaks ends sooner what is to end.
            if link.part(now, &bell).is_err() {
                link.disconnect(&super::inbox::Broken::Closed, now, &bell);
            }
            self.foreign.parting.push(peer);
        }
        self.wake_by(now + Duration::from_millis(PARTING_MS));
    }

    /// Keeps the numbers of peers from being given to others, though this rank has parted from them.
    pub fn reserve(&mut self, peers: &[Peer]) {
        self.foreign.vacant.retain(|vacant| !peers.contains(vacant));
    }

    /// Whether this rank has parted from all that it wanted to part from. Their numbers are free then.
    pub fn has_parted(&mut self) -> bool {
        self.foreign.parting.is_empty() || self.settle_parted(Instant::now())
    }

    fn settle_parted(&mut self, now: Instant) -> bool {
        for peer in std::mem::take(&mut self.foreign.parting) {
            let Some(link) = &mut self.links[peer as usize] else { continue };
            if !link.has_parted(now) {
                self.foreign.parting.push(peer);
                continue;
            }
            link.drop_line(&self.bell);
            self.links[peer as usize] = None;
            self.live.retain(|live| *live != peer);
            self.wanting.retain(|wanting| *wanting != peer);
            if let Some(name) = self.foreign.names.remove(&peer) {
                self.foreign.numbers.remove(&name);
            }
            self.foreign.vacant.push(peer);
        }
        if !self.foreign.parting.is_empty() && !self.doors.will_wake() {
            self.wake_by(now + Duration::from_millis(PARTING_MS));
        }
        self.foreign.parting.is_empty()
    }

    /// The peer as which somebody who has proved itself comes, if it is known and does not part from this rank.
    pub(super) fn peer_of(&mut self, authenticated: &Authenticated) -> Option<Peer> {
        match authenticated.realm() {
            Realm::Job => Some(authenticated.peer).filter(|peer| *peer < self.size),
            Realm::World(world) => {
                let peer = self.foreign.numbers.get(&(world, authenticated.peer)).copied()?;
                let link = self.links[peer as usize].as_ref()?;
                (!link.is_parting()).then_some(peer)
            }
            Realm::Door(_) => None,
        }
    }

    /// Who is introduced here a little later than it comes has to wait.
    pub(super) fn keep_early(&mut self, authenticated: Authenticated, now: Instant) {
        if self.foreign.early.len() < EARLY_PEERS_MAX {
            self.foreign.early.push((authenticated, now + Duration::from_secs(EARLY_PEER_S)));
        }
    }

    /// Lets those in who have been introduced meanwhile. Whether anybody was.
    pub(super) fn admit_early(&mut self, now: Instant) -> bool {
        if self.foreign.early.is_empty() {
            return false;
        }
        self.settle_parted(now);
        let mut any = false;
        for (authenticated, until) in std::mem::take(&mut self.foreign.early) {
            if self.peer_of(&authenticated).is_some() {
                any = true;
                self.admit(authenticated, now);
            } else if now < until {
                self.foreign.early.push((authenticated, until));
            }
        }
        any
    }

    /// Whether somebody waits to be introduced.
    pub(super) fn has_early(&self) -> bool {
        !self.foreign.early.is_empty()
    }

    /// Opens a door for those who know a secret.
    pub fn open_door(&mut self, secret: [u8; SECRET_BYTES]) -> u64 {
        let number = door_number(&secret);
        self.identity.doors.push((number, Secret(secret)));
        self.foreign.had_doors = true;
        // Without it the thread looks now and then.
        let _ = self.acceptor.expect_visitors();
        number
    }

    /// Shuts a door; who waits there is sent away.
    pub fn shut_door(&mut self, door: u64) {
        self.identity.doors.retain(|(number, _)| *number != door);
        self.doors.shut(door);
    }

    /// Who has waited longest at a door of this rank.
    pub fn let_in(&mut self, door: u64) -> Option<Talk> {
        self.doors.let_in(door)
    }

    /// Sets out to the door of another process.
    pub fn visit(
        &mut self,
        endpoint_address: &[u8],
        secret: [u8; SECRET_BYTES],
        patience: Duration,
    ) -> Option<u64> {
        let endpoint_address = EndpointAddress::parse(endpoint_address)?;
        self.housekeeping.hurry();
        self.unsignaled = true;
        Some(self.doors.visit(&endpoint_address, secret, patience))
    }

    /// Threads that sleep wake by then, since their time is over.
    pub fn wake_by(&mut self, time: Instant) {
        self.doors.wake_by(time);
        self.housekeeping.hurry();
        self.unsignaled = true;
    }

    /// Threads that sleep wake for this descriptor as well, until [`Tcp::unwatch`].
    pub fn watch(&self, fd: RawFd) {
        self.bell.watch(fd, false);
    }

    /// See [`Tcp::watch`].
    pub fn unwatch(&self, fd: RawFd) {
        self.bell.unwatch(fd);
    }

    /// How a visit has begun, once that is known.
    pub fn arrived(&mut self, visit: u64) -> Option<Result<Talk, String>> {
        self.doors.arrived(visit)
    }

    /// A visit is of no use any more.
    pub fn give_up_visit(&mut self, visit: u64) {
        self.doors.give_up(visit);
    }
}

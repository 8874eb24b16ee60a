//! The ranks of a job that spans machines: shared memory with those of this machine, TCP with the others, and multicast among all.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use tern_mem::UserBuf;

use super::detour::{self, Sorted};
use super::packets::Packets;
use super::{ConnectError, Place, Tally};
use crate::config::{Config, Medium, Route, TcpConfig};
use crate::limits::{PARITY_RUN_MAX, POLLS_PER_TCP_POLL, POLLS_PER_TCP_POLL_NEAR, SILENT_S};
use crate::loopback::Loopback;
use crate::reach::Ports;
use crate::shm::bell::Bell;
use crate::shm::team::{Seat, Team};
use crate::shm::{AttachError, Shm};
use crate::tcp::{SocketBell, Tcp, Watch};
use crate::threads::Serving;
use crate::urtp::Urtp;
use crate::urtp::link::address_for_all;
use crate::urtp::probe::Observation;
use crate::{
    Am, Circle, Doorbell, Full, Header, Landing, Limits, Peer, Remote, ShareKey, Sink, Taken, Token,
    Transfer, TransferError, Transport,
};

/// TCP, and shared memory with the ranks of this machine unless a network is forced.
pub(super) struct Network {
    me: Peer,
    size: u32,
    secret: [u8; 32],
    route: Route,
    /// See [`Config::multicast_parity`].
    parity: u8,
    ports: Ports,
    tcp: Tcp,
    packets: Option<Packets>,
    here: Option<Here>,
    /// Polls of shared memory until the sockets are looked at again.
    polls_left: u32,
    /// What arrived last came over shared memory.
    is_near: bool,
    /// A connection may be silent for so long before its peer counts as lost.
    silence_max: Duration,
}

/// The ranks of this machine. Over shared memory they are numbered from 0.
struct Here {
    shm: Shm,
    ranks: Box<[Peer]>,
    bell: Arc<BothBell>,
}

impl Network {
    pub(super) fn attach(place: Place, config: &Config) -> Result<Network, ConnectError> {
        if config.route == Route::Shm {
            return Err(ConnectError::OnlyShm);
        }
        let outside = place.outside.ok_or(ConnectError::NoDirectory)?;
        let (me, size, secret, route) = (place.me, place.size, outside.secret, config.route);
        // What multicasts needs the interfaces of the machine.
        let local = place.neighbours.is_none() && route == Route::Tcp;
        let settings = TcpConfig { local, ..config.tcp };
        let tcp = Tcp::new(me, size, outside.secret, outside.directory, settings)?.with_accord(config.accord);
        let parity = config.multicast_parity.min(PARITY_RUN_MAX) as u8;
        let neighbours = place.neighbours.filter(|ranks| !route.is_network() && ranks.len() > 1);
        let here = match neighbours {
            None => None,
            Some(ranks) => {
                let count = ranks.len() as u32;
                let index = ranks.binary_search(&me).map_err(|_| AttachError::NotARank(me, count))?;
                let segment = place.segment.ok_or(AttachError::NoSegment(count))?;
                let shm = Shm::attach(&segment, index as u32, count, place.oversubscribed, config)?;
                let bell = Arc::new(BothBell::new(shm.bell().clone(), tcp.bell().clone()));
                Some(Here { shm, ranks: ranks.into(), bell })
            }
        };
        Ok(Network {
            me,
            size,
            secret,
            route,
            parity,
            ports: config.tcp.ports,
            tcp,
            packets: None,
            here,
            polls_left: 0,
            is_near: false,
            silence_max: Duration::from_secs(SILENT_S) + config.tcp.peer_timeout(),
        })
    }

    pub(super) fn has_neighbours(&self) -> bool {
        self.here.is_some()
    }

    /// The way of the rank to itself, which shares a bell with the others.
    pub(super) fn loopback(&self, me: Peer) -> Loopback {
        match &self.here {
            Some(here) => Loopback::with_bell(me, here.shm.bell().clone()),
            None => Loopback::new(me),
        }
    }

    /// Threads of this process that sleep must hear of a message that another one sends to itself.
    pub(super) fn ring_own_threads(&self) {
        if self.here.is_none() {
            self.tcp.bell().ring_sleepers();
        }
    }

    pub(super) fn close(&mut self) {
        self.tcp.close();
    }

    #[inline]
    pub(super) fn has_residue(&mut self) -> bool {
        self.tcp.has_residue() || self.packets.as_ref().is_some_and(|packets| packets.urtp.has_residue())
    }

    #[inline]
    pub(super) fn has_unseen(&self) -> bool {
        self.tcp.has_unseen() || self.packets.as_ref().is_some_and(|packets| packets.urtp.has_unseen())
    }

    /// A connection falls silent, breaks and comes back, perhaps twice.
    pub(super) fn delivery_max(&self) -> Duration {
        2 * self.silence_max
    }

    #[inline]
    pub(super) fn holds_back(&self) -> bool {
        self.tcp.holds_back()
    }

    pub(super) fn failure(&self) -> Option<&str> {
        let tcp = self.tcp.failure().map(|(_, why)| why.as_str());
        tcp.or_else(|| self.packets.as_ref()?.urtp.failure())
    }

    /// A seat in a team of ranks of this machine, which have shared memory.
    pub(super) fn team(&self, seat: Seat) -> Option<Team> {
        let here = self.here.as_ref()?;
        Some(here.shm.team(seat, here.index(seat.leader)?))
    }

    pub(super) fn clear_team(&self, slot: u32, size: u32) -> bool {
        self.here.as_ref().is_some_and(|here| here.shm.clear_team(slot, size))
    }

    pub(super) fn is_fenced(&self) -> bool {
        self.here.as_ref().is_some_and(|here| here.shm.is_fenced())
    }

    /// Whether the peer has a bell here.
    pub(super) fn ring(&self, peer: Peer) -> bool {
        let found = self.here.as_ref().and_then(|here| Some((here, here.index(peer)?)));
        found.inspect(|(here, index)| here.shm.ring(*index)).is_some()
    }

    pub(super) fn address(&self) -> Option<IpAddr> {
        self.tcp.address().map(address_for_all)
    }

    pub(super) fn open_packets(&mut self, medium: Medium, address: IpAddr) -> io::Result<()> {
        // Those of another medium are closed first.
        self.packets = None;
        let place = (self.me, self.size);
        let packets =
            Packets::open(place, &self.secret, (medium, address, self.ports), self.parity, self.tcp.bell())?;
        self.packets = Some(packets);
        Ok(())
    }

    pub(super) fn begin_probe(&mut self, members: &[Peer], ranks_per_core: u32) -> io::Result<()> {
        self.packets.as_mut().ok_or(io::ErrorKind::NotConnected)?.urtp.begin_probe(members, ranks_per_core)
    }

    pub(super) fn has_probed(&self) -> bool {
        self.packets.as_ref().is_some_and(|packets| packets.urtp.has_probed())
    }

    pub(super) fn observed(&self) -> Option<Observation> {
        self.packets.as_ref()?.urtp.observed()
    }

    pub(super) fn end_probe(&mut self) {
        if let Some(packets) = &mut self.packets {
            packets.urtp.end_probe();
        }
    }

    pub(super) fn use_packets(&mut self) {
        if let Some(packets) = &mut self.packets {
            packets.multicasts = true;
            packets.carries_messages = self.route == Route::Urtp;
        }
    }

    pub(super) fn retire_packets(&mut self) {
        if let Some(packets) = &mut self.packets {
            (packets.multicasts, packets.carries_messages) = (false, false);
        }
    }

    pub(super) fn is_quiet(&self) -> bool {
        self.packets.as_ref().is_none_or(|packets| packets.urtp.is_flushed())
    }

    pub(super) fn tally(&self) -> Tally {
        let packets = self.packets.as_ref().map(|packets| packets.urtp.counters());
        let tcp = &self.tcp;
        Tally { packets, mended: tcp.mended(), given_up: tcp.given_up(), turned_away: tcp.turned_away() }
    }

    /// Whether sockets of connections are all that a poll looks at.
    #[inline]
    pub(super) fn listens(&self) -> bool {
        self.here.is_none() && self.packets.is_none()
    }

    /// Datagrams, if they carry messages to one rank.
    #[inline]
    fn carrier(&mut self) -> Option<&mut Urtp> {
        self.packets.as_mut().filter(|packets| packets.carries_messages).map(|packets| &mut packets.urtp)
    }

    /// Datagrams, if multicasts go by them.
    fn caster(&mut self) -> Option<&mut Urtp> {
        self.packets.as_mut().filter(|packets| packets.multicasts).map(|packets| &mut packets.urtp)
    }

    #[inline]
    fn expects_packets(&self) -> bool {
        self.packets.as_ref().is_some_and(|packets| packets.urtp.is_expecting())
    }

    fn poll_packets(&mut self, sink: &mut impl Sink, must: bool) -> bool {
        let Some(packets) = &mut self.packets else { return false };
        let any = packets.urtp.poll_if_due(sink, must);
        while let Some(packet) = packets.urtp.take_detoured() {
            detour::send(packet, &mut self.tcp);
        }
        any
    }

    fn poll_tcp(&mut self, sink: &mut impl Sink) -> bool {
        match &mut self.packets {
            Some(packets) => self.tcp.poll(&mut Sorted { sink, packets }),
            None => self.tcp.poll(sink),
        }
    }

    /// Shared memory and the peer's number there, if the peer is on this machine.
    #[inline]
    fn near(&mut self, peer: Peer) -> Option<(&mut Shm, Peer)> {
        let here = self.here.as_mut()?;
        let index = here.index(peer)?;
        Some((&mut here.shm, index))
    }
}

impl Here {
    /// Usually the ranks of a machine follow each other.
    #[inline]
    fn index(&self, peer: Peer) -> Option<u32> {
        let guess = peer.wrapping_sub(self.ranks[0]) as usize;
        if self.ranks.get(guess) == Some(&peer) {
            return Some(guess as u32);
        }
        self.ranks.binary_search(&peer).ok().map(|index| index as u32)
    }
}

/// Gives the ranks of this machine their numbers in the job.
struct Renumbered<'a, S> {
    sink: &'a mut S,
    ranks: &'a [Peer],
}

impl<S: Sink> Sink for Renumbered<'_, S> {
    #[inline]
    fn short(&mut self, from: Peer, header: &Header, payload: &[u8]) {
        self.sink.short(self.ranks[from as usize], header, payload);
    }
    fn header(&mut self, from: Peer, header: &Header, len: usize) -> Landing {
        self.sink.header(self.ranks[from as usize], header, len)
    }
    fn landed(&mut self, from: Peer, token: Token) {
        self.sink.landed(self.ranks[from as usize], token);
    }
    fn spoiled(&mut self, from: Peer, token: Token, error: TransferError) {
        self.sink.spoiled(self.ranks[from as usize], token, error);
    }
    #[inline]
    fn enough(&self) -> bool {
        self.sink.enough()
    }
    fn done(&mut self, token: Token, result: Result<(), TransferError>) {
        self.sink.done(token, result);
    }
}

impl Transport for Network {
    fn limits(&mut self, peer: Peer) -> Limits {
        let route = self.route;
        match self.near(peer) {
            Some((shm, index)) => shm.limits(index),
            // For good, though the first messages go by TCP.
            None if route == Route::Urtp => Urtp::LIMITS,
            None => self.tcp.limits(peer),
        }
    }

    fn streams(&mut self, peer: Peer, len: u64) -> bool {
        self.near(peer).is_some_and(|(shm, index)| shm.streams(index, len))
    }

    #[inline]
    fn send(&mut self, peer: Peer, am: &Am<'_>) -> Result<(), Full> {
        if let Some((shm, index)) = self.near(peer) {
            return shm.send(index, am);
        }
        match self.carrier() {
            Some(urtp) => urtp.send(peer, am),
            None => self.tcp.send(peer, am),
        }
    }

    fn loan_bytes_max(&self, peer: Peer) -> usize {
        match self.here.as_ref().and_then(|here| here.index(peer)) {
            Some(_) => 0,
            None => self.tcp.loan_bytes_max(peer),
        }
    }

    fn lent_bytes_max(&self, peer: Peer) -> usize {
        match self.here.as_ref().and_then(|here| here.index(peer)) {
            Some(_) => 0,
            None => self.tcp.lent_bytes_max(peer),
        }
    }

    fn take_bad_send(&mut self, peer: Peer) -> Option<TransferError> {
        self.tcp.take_bad_send(peer)
    }

    fn lend(&mut self, peer: Peer, am: &Am<'_>, done: Option<Token>) -> Result<(), Full> {
        match self.carrier() {
            Some(urtp) => urtp.lend(peer, am, done),
            None => self.tcp.lend(peer, am, done),
        }
    }

    fn circle(&mut self, members: &[Peer]) -> Option<Circle> {
        self.caster()?.circle(members)
    }

    fn multicast(&mut self, circle: &Circle, to: &[Peer], am: &Am<'_>, done: Token) -> Result<Taken, Full> {
        // What was begun before datagrams were retired goes on.
        self.packets.as_mut().ok_or(Full)?.urtp.multicast(circle, to, am, done)
    }

    fn expect(&mut self, peer: Peer) {
        if let Some(urtp) = self.caster() {
            urtp.expect(peer);
        }
    }

    fn get(&mut self, peer: Peer, from: Remote, into: &UserBuf, done: Token) -> Transfer {
        match self.near(peer) {
            Some((shm, index)) => shm.get(index, from, into, done),
            None => self.tcp.get(peer, from, into, done),
        }
    }

    fn put(&mut self, peer: Peer, from: &UserBuf, into: Remote, done: Token) -> Transfer {
        match self.near(peer) {
            Some((shm, index)) => shm.put(index, from, into, done),
            None => self.tcp.put(peer, from, into, done),
        }
    }

    fn share_open(&mut self, peer: Peer, from: Remote, into: &UserBuf, done: Token) -> Option<ShareKey> {
        let (shm, index) = self.near(peer)?;
        shm.share_open(index, from, into, done)
    }

    fn share_pull(&mut self, key: ShareKey) -> Transfer {
        match &mut self.here {
            Some(here) => here.shm.share_pull(key),
            None => self.tcp.share_pull(key),
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
        match self.near(peer) {
            Some((shm, index)) => shm.share_join(index, key, from, into, done),
            None => self.tcp.share_join(peer, key, from, into, done),
        }
    }

    /// Beside shared memory, sockets are looked at less often: a look is a system call.
    #[inline]
    fn poll(&mut self, sink: &mut impl Sink) -> bool {
        let slept = self.packets.is_some() && self.tcp.bell().has_slept();
        let Some(Here { shm, ranks, bell }) = &mut self.here else {
            return self.poll_tcp(sink) | self.poll_packets(sink, slept);
        };
        let mut any = shm.poll(&mut Renumbered { sink, ranks });
        self.is_near |= any;
        let look_far = self.polls_left == 0 || bell.has_slept();
        if look_far {
            let far = self.poll_tcp(sink);
            self.is_near &= !far;
            self.polls_left = if self.is_near { POLLS_PER_TCP_POLL_NEAR } else { POLLS_PER_TCP_POLL };
            any |= far;
        }
        self.polls_left -= 1;
        if look_far || !self.is_near || self.expects_packets() {
            any |= self.poll_packets(sink, slept);
        }
        any
    }

    fn listen(&mut self, peer: Peer, sink: &mut impl Sink) -> bool {
        if self.listens() { self.tcp.listen(peer, sink) } else { self.poll(sink) }
    }

    fn doorbell(&self) -> Arc<dyn Doorbell> {
        match &self.here {
            Some(here) => here.bell.clone(),
            None => self.tcp.doorbell(),
        }
    }
}

/// Sleeping on shared memory and sockets at once. A rank sleeps on its word in shared memory; a thread that does nothing else
/// waits for the sockets, once for each time that the rank arms, and rings.
struct BothBell {
    memory: Arc<Bell>,
    sockets: Arc<SocketBell>,
    watch: Option<(Arc<Watch>, JoinHandle<()>)>,
}

impl BothBell {
    fn new(memory: Arc<Bell>, sockets: Arc<SocketBell>) -> Self {
        let watch = Watch::new(sockets.clone()).ok().map(Arc::new);
        let watch = watch.and_then(|watch| spawn_watcher(watch, memory.clone()));
        BothBell { memory, sockets, watch }
    }

    #[inline]
    fn has_slept(&self) -> bool {
        self.sockets.has_slept()
    }
}

fn spawn_watcher(watch: Arc<Watch>, memory: Arc<Bell>) -> Option<(Arc<Watch>, JoinHandle<()>)> {
    let (watched, serving) = (watch.clone(), Serving::start());
    let watcher = move || {
        serving.begin();
        while watched.wait() {
            memory.ring();
        }
    };
    let thread = std::thread::Builder::new().name("tern-sockets".into()).spawn(watcher).ok()?;
    Some((watch, thread))
}

impl Drop for BothBell {
    fn drop(&mut self) {
        if let Some((watch, watcher)) = self.watch.take() {
            watch.end();
            let _ = watcher.join();
        }
    }
}

/// Longest sleep where no thread watches the sockets.
const UNWATCHED_MAX: Duration = Duration::from_millis(1);

impl Doorbell for BothBell {
    fn arm(&self) -> u32 {
        // The last look before sleeping must be at everything: of a frame that was read from its socket and not yet
        // looked at, no socket tells.
        self.sockets.set_slept();
        let armed = self.memory.arm();
        if let Some((watch, _)) = &self.watch {
            watch.arm();
        }
        armed
    }

    fn disarm(&self) {
        self.memory.disarm();
    }

    fn sleep(&self, armed: u32, timeout: Option<Duration>) -> bool {
        let rung = self.memory.sleep(armed, self.longest(timeout));
        self.woke();
        rung
    }

    fn ring(&self) {
        self.memory.ring();
    }

    /// Sockets wake only by way of the thread, and timers not at all.
    fn longest(&self, timeout: Option<Duration>) -> Option<Duration> {
        let unwatched = self.watch.is_none().then_some(UNWATCHED_MAX);
        timeout.into_iter().chain(self.sockets.time_left()).chain(unwatched).min()
    }

    fn woke(&self) {
        self.sockets.set_slept();
    }
}

#[cfg(test)]
mod tests;

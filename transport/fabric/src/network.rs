//! The ranks of a job that spans machines: shared memory with those of this machine, TCP with the others, and multicast among all.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use super::endpoint::endpoint;
use super::fallback_tunnel::{self, Sorted};
use super::packets::Packets;
use super::pairs::{Pairs, Sifted};
use super::routes::Route;
use super::sinks::Renumbered;
use crate::limits::{
    PARITY_RUN_MAX, POLLS_PER_TCP_POLL, POLLS_PER_TCP_POLL_ALL_NEAR, POLLS_PER_TCP_POLL_NEAR, SILENT_S,
    UNKNOWN_DELIVERY,
};
use crate::loopback::Loopback;
use crate::place::{ConnectError, JobPlace, Outside};
use crate::tally::Tally;
use tern_datagram::Urtp;
use tern_datagram::link::address_for_all;
use tern_datagram::probe::Observation;
use tern_mem::ContiguousBuf;
use tern_ofi::{Ofi, OfiBell};
use tern_shm::abroad::memory_file;
use tern_shm::bell::Bell;
use tern_shm::shm_comm::{ShmComm, ShmMember};
use tern_shm::{AttachError, JobMemory, NodeCores, Shm};
use tern_tcp::{Change, Tcp};
use tern_transport::config::{Medium, TcpConfig, TransportConfig, TransportSetting};
use tern_transport::reach::Ports;
use tern_transport::socket_bell::{SocketBell, SocketWatch};
use tern_transport::threads::Serving;
use tern_transport::{
    Am, CooperativeCopyKey, Doorbell, Failure, Full, Header, Limits, MulticastGroup, Peer, ShortPayload,
    Sink, Taken, Token, Transfer, TransferError, Transport,
};

/// TCP, and shared memory with the ranks of this machine unless a network is forced.
pub(super) struct Network {
    me: Peer,
    size: u32,
    secret: [u8; 32],
    transport: TransportSetting,
    /// See [`TransportConfig::multicast_parity`].
    parity: u8,
    ports: Ports,
    tcp: Tcp,
    packets: Option<Packets>,
    /// libfabric, for ranks that have it as well.
    ofi: Option<Ofi>,
    /// What is to be told of how that was chosen.
    note: Option<String>,
    here: Option<Here>,
    /// Shared memory with processes of other worlds, for a rank that has met some.
    pairs: Option<Pairs>,
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
    pub(super) fn attach(place: JobPlace, config: &TransportConfig) -> Result<Network, ConnectError> {
        if config.transport == TransportSetting::Shm {
            return Err(ConnectError::OnlyShm);
        }
        let outside = place.outside.ok_or(ConnectError::NoDirectory)?;
        let (me, size, secret, transport) = (place.me, place.size, outside.secret, config.transport);
        // What multicasts needs the interfaces of the machine, and one that the user names is the one that is used.
        let by_tcp_here = place.local_ranks.is_none() && transport == TransportSetting::Tcp;
        let local = by_tcp_here && config.tcp.interfaces.is_all();
        let settings = TcpConfig { local, ..config.tcp };
        let (directory, opened, note) = endpoint(outside.directory, config, place.segment.as_ref())?;
        let tcp = Tcp::new(me, size, secret, directory, settings)?.with_fingerprint(config.fingerprint);
        let ofi = opened.map(|(opened, half)| Ofi::new((me, size, secret), opened, half, tcp.bell().clone()));
        let local_ranks = place.local_ranks.filter(|ranks| !transport.is_network() && ranks.len() > 1);
        let here = match local_ranks {
            None => None,
            Some(ranks) => {
                let count = ranks.len() as u32;
                let index = ranks.binary_search(&me).map_err(|_| AttachError::NotARank(me, count))?;
                let segment = place.segment.ok_or(AttachError::NoSegment(count))?;
                let shm = Shm::attach(&segment, index as u32, count, place.oversubscribed, config)?;
                Some(Here::new(shm, ranks.into(), &tcp))
            }
        };
        Ok(Network { ofi, note, ..Network::of((me, size, secret), tcp, here, config) })
    }

    /// For a world whose ranks are all on this node, and that is to meet another one: shared memory stays the way within the world.
    pub(super) fn around(
        (me, size): (Peer, u32),
        shm: Option<Shm>,
        outside: Outside,
        config: &TransportConfig,
    ) -> Result<Network, ConnectError> {
        let tcp = Tcp::new(me, size, outside.secret, outside.directory, config.tcp)?
            .with_fingerprint(config.fingerprint);
        let here = shm.map(|shm| Here::new(shm, (0..size).collect(), &tcp));
        Ok(Network::of((me, size, outside.secret), tcp, here, config))
    }

    fn of(
        (me, size, secret): (Peer, u32, [u8; 32]),
        tcp: Tcp,
        here: Option<Here>,
        config: &TransportConfig,
    ) -> Network {
        Network {
            me,
            size,
            secret,
            transport: config.transport,
            parity: config.multicast_parity.min(PARITY_RUN_MAX) as u8,
            ports: config.tcp.ports,
            tcp,
            packets: None,
            ofi: None,
            note: None,
            here,
            pairs: None,
            polls_left: 0,
            is_near: false,
            silence_max: Duration::from_secs(SILENT_S) + config.tcp.peer_timeout(),
        }
    }

    /// Lets processes of other worlds on this host reach this one by memory, and it them. Whether the doorbell is another one from
    /// then on: a rank that shares memory with nobody has to have some in which it sleeps.
    pub(super) fn open_memory(
        &mut self,
        of_world: Option<&Arc<JobMemory>>,
        config: &TransportConfig,
    ) -> bool {
        if self.transport.is_network() || self.pairs.is_some() {
            return false;
        }
        let place = (self.me, self.size);
        if let Some(here) = &self.here {
            self.pairs = of_world.and_then(|memory| Pairs::new(place, &here.shm, memory, config));
            return false;
        }
        let Some((shm, memory)) = memory_alone(config) else { return false };
        self.pairs = Pairs::new(place, &shm, &memory, config);
        self.here = Some(Here::new(shm, [self.me].into(), &self.tcp));
        true
    }

    /// Why a process of another world on this host is reached by TCP, if one is, once.
    pub(super) fn take_note(&mut self) -> Option<String> {
        self.pairs.as_mut()?.take_why()
    }

    /// With how many processes of other worlds messages go by memory, both ways.
    pub(super) fn near_foreigners(&self) -> usize {
        self.pairs.as_ref().map_or(0, Pairs::near)
    }

    /// The way to processes of other worlds.
    pub(super) fn tcp(&self) -> &Tcp {
        &self.tcp
    }

    /// The same, to change it.
    pub(super) fn tcp_mut(&mut self) -> &mut Tcp {
        &mut self.tcp
    }

    pub(super) fn has_local_ranks(&self) -> bool {
        self.here.is_some()
    }

    /// The way of the rank to itself, which shares a bell with the others.
    pub(super) fn loopback(&self, me: Peer) -> Loopback {
        match &self.here {
            Some(here) => Loopback::with_bell(me, here.shm.bell().clone()),
            None => Loopback::new(me),
        }
    }

    /// The bell of this rank, in shared memory.
    pub(super) fn bell(&self) -> Option<Arc<Bell>> {
        self.here.as_ref().map(|here| here.shm.bell().clone())
    }

    /// Threads of this process that sleep must hear of a message that another one sends to itself.
    pub(super) fn ring_own_threads(&self) {
        if self.here.is_none() {
            self.tcp.bell().ring_sleepers();
        }
    }

    /// How libfabric was chosen or not, for whoever wants to know.
    pub(super) fn note(&self) -> Option<&str> {
        self.note.as_deref()
    }

    pub(super) fn say_goodbye(&mut self) {
        self.ofi.iter_mut().for_each(Ofi::say_goodbye);
        self.tcp.say_goodbye();
    }

    pub(super) fn come_back(&mut self) {
        self.ofi.iter_mut().for_each(Ofi::come_back);
        self.tcp.come_back();
    }

    pub(super) fn owes_something(&self) -> bool {
        self.tcp.owes_something() || self.ofi.as_ref().is_some_and(Ofi::owes_something)
    }

    /// Whether a provider of libfabric carries messages: its endpoint must be closed before its library ends.
    pub(super) fn has_provider(&self) -> bool {
        self.ofi.is_some()
    }

    /// Whether a poll for messages of other hosts is a system call, and not a look at memory.
    pub(super) fn polls_the_kernel(&self) -> bool {
        self.ofi.as_ref().is_none_or(Ofi::polls_the_kernel)
    }

    pub(super) fn close(&mut self) {
        self.ofi.iter_mut().for_each(Ofi::close);
        self.tcp.close();
    }

    #[inline]
    pub(super) fn has_unsent(&mut self) -> bool {
        self.tcp.has_unsent()
            || self.ofi.as_ref().is_some_and(Ofi::has_unsent)
            || self.packets.as_ref().is_some_and(|packets| packets.urtp.has_unsent())
    }

    #[inline]
    pub(super) fn has_unsignaled(&self) -> bool {
        self.tcp.has_unsignaled()
            || self.packets.as_ref().is_some_and(|packets| packets.urtp.has_unsignaled())
    }

    /// A connection falls silent, breaks and comes back, perhaps twice. What processes of other worlds do nobody here knows.
    pub(super) fn delivery_max(&self) -> Duration {
        if self.tcp.has_foreigners() { UNKNOWN_DELIVERY } else { 2 * self.silence_max }
    }

    /// See [`Fabric::frames_ahead`](super::Fabric::frames_ahead).
    pub(super) fn frames_ahead(&self) -> Option<i64> {
        if self.ofi.is_some() || self.tcp.has_foreigners() {
            return None;
        }
        let packets = self.packets.as_ref().map_or(Some(0), |packets| packets.urtp.packets_ahead())?;
        Some(self.tcp.frames_ahead() + packets)
    }

    #[inline]
    pub(super) fn is_corked(&self) -> bool {
        self.tcp.is_corked()
    }

    pub(super) fn failure(&self) -> Option<Failure> {
        let of_packets = || self.packets.as_ref()?.urtp.failure().cloned();
        let of_ofi = || self.ofi.as_ref()?.failure().cloned();
        self.tcp.failure().cloned().or_else(of_ofi).or_else(of_packets)
    }

    /// A side of a shm communicator of ranks of this machine, which have shared memory.
    pub(super) fn shm_comm(&self, member: ShmMember) -> Option<ShmComm> {
        let here = self.here.as_ref()?;
        Some(here.shm.shm_comm(member, here.index(member.leader)?))
    }

    pub(super) fn node_cores(&self) -> Option<NodeCores> {
        self.here.as_ref().map(|here| here.shm.node_cores())
    }

    pub(super) fn clear_shm_slot(&self, slot: u32, size: u32) -> bool {
        self.here.as_ref().is_some_and(|here| here.shm.clear_shm_slot(slot, size))
    }

    pub(super) fn is_fenced(&self) -> bool {
        self.here.as_ref().is_some_and(|here| here.shm.is_fenced())
    }

    /// Wakes a rank that may sleep. Whether it is known to have slept.
    pub(super) fn ring(&self, peer: Peer) -> bool {
        if let Some(here) = &self.here
            && let Some(index) = here.index(peer)
        {
            return here.shm.ring(index);
        }
        self.pairs.as_ref().is_some_and(|pairs| pairs.ring(peer))
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
            packets.carries_messages = self.transport == TransportSetting::Urtp;
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

    pub(super) fn take_changes(&mut self) -> impl Iterator<Item = (Peer, Change)> {
        self.tcp.take_changes()
    }

    pub(super) fn tally(&self) -> Tally {
        let packets = self.packets.as_ref().map(|packets| packets.urtp.counters());
        let tcp = &self.tcp;
        let unproven = self.ofi.as_ref().map_or(0, |ofi| ofi.counters().unproven);
        Tally {
            packets,
            mended: tcp.mended(),
            given_up: tcp.given_up(),
            turned_away: tcp.turned_away(),
            unproven,
        }
    }

    /// Whether sockets of connections are all that a poll looks at.
    #[inline]
    pub(super) fn has_poll_first(&self) -> bool {
        self.here.is_none() && self.packets.is_none() && self.ofi.is_none()
    }

    /// The transport over libfabric, if there is one.
    pub(super) fn ofi_mut(&mut self) -> Option<&mut Ofi> {
        self.ofi.as_mut()
    }

    #[inline]
    fn poll_ofi(&mut self, sink: &mut impl Sink, slept: bool) -> bool {
        self.ofi.as_mut().is_some_and(|ofi| ofi.poll_after(slept, sink))
    }

    /// Datagrams, if multicasts go by them.
    fn multicaster(&mut self) -> Option<&mut Urtp> {
        self.packets.as_mut().filter(|packets| packets.multicasts).map(|packets| &mut packets.urtp)
    }

    #[inline]
    fn expects_packets(&self) -> bool {
        self.packets.as_ref().is_some_and(|packets| packets.urtp.is_expecting())
    }

    #[inline]
    fn poll_packets(&mut self, sink: &mut impl Sink, must: bool) -> bool {
        self.packets.is_some() && self.poll_packets_there(sink, must)
    }

    #[inline(never)]
    fn poll_packets_there(&mut self, sink: &mut impl Sink, must: bool) -> bool {
        let Some(packets) = &mut self.packets else { return false };
        let any = packets.urtp.poll_if_due(sink, must);
        while let Some(packet) = packets.urtp.take_tunneled() {
            fallback_tunnel::send(packet, &mut self.tcp);
        }
        any
    }

    #[inline]
    fn poll_tcp(&mut self, sink: &mut impl Sink) -> bool {
        match &mut self.packets {
            Some(packets) => self.tcp.poll(&mut Sorted { sink, packets }),
            None => self.tcp.poll(sink),
        }
    }

    /// The same where there may be letters of other worlds among what comes.
    fn poll_tcp_for_letters(&mut self, sink: &mut impl Sink) -> bool {
        let Some(pairs) = &mut self.pairs else { return self.poll_tcp(sink) };
        let sink = &mut Sifted { sink, pairs };
        match &mut self.packets {
            Some(packets) => self.tcp.poll(&mut Sorted { sink, packets }),
            None => self.tcp.poll(sink),
        }
    }

    /// What letters of other worlds bring about.
    #[inline]
    fn settle_pairs(&mut self, sink: &mut impl Sink) -> bool {
        self.pairs.as_mut().is_some_and(|pairs| pairs.settle(&mut self.tcp, sink))
    }

    /// The route to a peer: see the table in `routes.rs`.
    #[inline]
    pub(super) fn route(&mut self, peer: Peer) -> Route<'_> {
        if let Some((shm, index)) = memory_to(self.size, &mut self.here, &mut self.pairs, peer) {
            return Route::Memory(shm, index);
        }
        if let Some(packets) = &mut self.packets
            && packets.carries_messages
            && peer < self.size
        {
            return Route::Datagrams(&mut packets.urtp, peer);
        }
        if let Some(ofi) = &mut self.ofi
            && ofi.serves(peer)
        {
            return Route::Libfabric(ofi, peer);
        }
        Route::Sockets(&mut self.tcp, peer)
    }

    /// The route that holds until a message goes that is only planned now. Datagrams may be retired by then, for sockets; whether
    /// libfabric serves a peer is known only once its endpoint's address has come.
    pub(super) fn lasting_route(&mut self, peer: Peer) -> Option<Route<'_>> {
        if self.pairs.as_ref().is_some_and(|pairs| pairs.is_near(peer)) {
            return Some(self.route(peer));
        }
        if let Some(here) = &mut self.here
            && let Some(index) = here.index(peer)
        {
            return Some(Route::Memory(&mut here.shm, index));
        }
        match &mut self.ofi {
            Some(ofi) if !ofi.serves(peer) => Some(Route::Sockets(&mut self.tcp, peer)),
            Some(ofi) => ofi.has_address(peer).then_some(Route::Libfabric(ofi, peer)),
            None => Some(Route::Sockets(&mut self.tcp, peer)),
        }
    }

    /// The route for copies: a process of another world may have taken its shorter way before this one does.
    pub(super) fn copy_route(&mut self, peer: Peer) -> Route<'_> {
        if self.pairs.as_ref().is_some_and(|pairs| pairs.has_memory(peer)) {
            let memory = self.pairs.as_mut().and_then(|pairs| pairs.memory(peer));
            let (shm, index) = memory.expect("just seen");
            return Route::Memory(shm, index);
        }
        self.route(peer)
    }

    /// A process of another world is about to be sent the first message.
    #[cold]
    pub(super) fn call(&mut self, peer: Peer) {
        if let Some(pairs) = &mut self.pairs {
            pairs.call(peer, &mut self.tcp);
        }
    }

    /// See [`Transport::approach`].
    pub(super) fn approach(&mut self, peer: Peer) -> bool {
        self.pairs.as_mut().is_some_and(|pairs| pairs.approach(peer, &mut self.tcp))
    }

    /// See [`Transport::forget`].
    pub(super) fn forget(&mut self, peer: Peer) {
        if let Some(pairs) = &mut self.pairs {
            pairs.forget(peer);
        }
    }

    /// The limits of a peer that sockets serve for a while only: they are asked for once, and hold for good.
    pub(super) fn promised(&self, peer: Peer) -> Option<Limits> {
        let is_here = || self.here.as_ref().is_some_and(|here| here.index(peer).is_some());
        let by_datagrams = self.transport == TransportSetting::Urtp && peer < self.size && !is_here();
        by_datagrams.then_some(Urtp::LIMITS)
    }

    /// Sends a multicast.
    pub(super) fn multicast(
        &mut self,
        group: &MulticastGroup,
        to: &[Peer],
        am: &Am<'_>,
        done: Token,
    ) -> Result<Taken, Full> {
        // What was begun before datagrams were retired goes on.
        self.packets.as_mut().ok_or(Full)?.urtp.multicast(group, to, am, done)
    }

    pub(super) fn multicast_group(&mut self, members: &[Peer]) -> Option<MulticastGroup> {
        // Processes of other worlds are none of the ranks among which packets go.
        if members.iter().any(|member| *member >= self.size) {
            return None;
        }
        self.multicaster()?.multicast_group(members)
    }

    pub(super) fn expect_multicast(&mut self, peer: Peer) {
        if let Some(urtp) = self.multicaster() {
            urtp.expect_multicast(peer);
        }
    }

    pub(super) fn pull_cooperative_copy(&mut self, key: CooperativeCopyKey) -> Transfer {
        if let Some(pulled) = self.pairs.as_mut().and_then(|pairs| pairs.pull_cooperative_copy(key)) {
            return pulled;
        }
        match &mut self.here {
            Some(here) => here.shm.pull_cooperative_copy(key),
            None => Transfer::Failed(TransferError::BadKey),
        }
    }

    /// Beside shared memory, sockets are looked at less often: a look is a system call.
    #[inline]
    pub(super) fn poll(&mut self, sink: &mut impl Sink) -> bool {
        let slept = (self.packets.is_some() || self.ofi.is_some()) && self.tcp.bell().has_slept();
        let Some(Here { shm, ranks, bell }) = &mut self.here else {
            return self.poll_tcp(sink) | self.poll_ofi(sink, slept) | self.poll_packets(sink, slept);
        };
        // In a memory alone nobody writes.
        let mut any =
            ranks.len() > 1 && shm.poll(&mut Renumbered { sink, number: |from| ranks[from as usize] });
        if let Some(pairs) = &mut self.pairs {
            any |= pairs.poll(sink);
        }
        self.is_near |= any;
        let look_far = self.polls_left == 0 || bell.has_slept();
        if look_far {
            let far = self.poll_tcp_for_letters(sink) | self.poll_ofi(sink, slept);
            any |= self.settle_pairs(sink);
            self.is_near &= !far;
            self.polls_left = self.polls_to_next_look();
            any |= far;
        }
        self.polls_left -= 1;
        if look_far || !self.is_near || self.expects_packets() {
            any |= self.poll_packets(sink, slept);
        }
        any
    }

    /// Polls of shared memory until sockets are looked at again.
    fn polls_to_next_look(&self) -> u32 {
        let all_near = || {
            let here = self.here.as_ref().map_or(0, |here| here.ranks.len());
            here == self.size as usize && self.pairs.as_ref().is_some_and(Pairs::are_all_near)
        };
        match self.is_near {
            false => POLLS_PER_TCP_POLL,
            true if all_near() => POLLS_PER_TCP_POLL_ALL_NEAR,
            true => POLLS_PER_TCP_POLL_NEAR,
        }
    }

    /// The memory by which a peer's messages come, and its number there.
    #[inline]
    fn memory_from(&mut self, peer: Peer) -> Option<(&mut Shm, Peer)> {
        if peer >= self.size {
            return self.pairs.as_mut()?.way_from(peer);
        }
        let here = self.here.as_mut()?;
        let index = here.index(peer)?;
        Some((&mut here.shm, index))
    }

    /// See [`Transport::send_short_by_route`].
    #[inline(always)]
    pub(super) fn send_short(&mut self, peer: Peer, header: &Header, payload: ContiguousBuf) -> bool {
        let memory = memory_to(self.size, &mut self.here, &mut self.pairs, peer);
        memory.is_some_and(|(shm, index)| shm.send_short(index, header, payload))
    }

    /// See [`Transport::send_run`].
    pub(super) fn send_run(&mut self, peer: Peer, header: &Header, payload: ContiguousBuf) -> bool {
        let memory = memory_to(self.size, &mut self.here, &mut self.pairs, peer);
        memory.is_some_and(|(shm, index)| shm.send_run(index, header, payload))
    }

    /// See [`Transport::take_short_by_route`]. It counts as a poll, so that sockets are looked at as often as without it.
    #[inline(always)]
    pub(super) fn take_short<R>(
        &mut self,
        peer: Peer,
        take: impl FnOnce(Header, ShortPayload<'_>) -> Option<R>,
    ) -> Option<R> {
        if self.polls_left == 0 {
            return None;
        }
        let (shm, index) = self.memory_from(peer)?;
        let taken = shm.take_short_by_route(index, take)?;
        self.polls_left -= 1;
        Some(taken)
    }

    /// See [`Transport::await_next`].
    pub(super) fn await_next(&mut self, peer: Peer, looks: u32) -> bool {
        self.memory_from(peer).is_some_and(|(shm, index)| shm.await_next(index, looks))
    }

    pub(super) fn look_soon(&self) {
        self.tcp.look_soon();
    }

    pub(super) fn poll_first(&mut self, peer: Peer, sink: &mut impl Sink) -> bool {
        if self.has_poll_first() { self.tcp.poll_first(peer, sink) } else { self.poll(sink) }
    }

    pub(super) fn doorbell(&self) -> Arc<dyn Doorbell> {
        match &self.here {
            Some(here) => here.bell.clone(),
            None if self.ofi.is_some() => Arc::new(OfiBell(self.tcp.bell().clone())),
            None => self.tcp.doorbell(),
        }
    }
}

impl Here {
    fn new(shm: Shm, ranks: Box<[Peer]>, tcp: &Tcp) -> Here {
        let bell = Arc::new(BothBell::new(shm.bell().clone(), tcp.bell().clone()));
        Here { shm, ranks, bell }
    }

    /// Usually the ranks of a machine follow each other.
    #[inline]
    fn index(&self, peer: Peer) -> Option<u32> {
        let guess = peer.wrapping_sub(self.ranks[0]) as usize;
        if self.ranks.get(guess) == Some(&peer) {
            return Some(guess as u32);
        }
        if self.ranks.last().is_some_and(|last| peer > *last) {
            return None;
        }
        self.ranks.binary_search(&peer).ok().map(|index| index as u32)
    }
}

/// The memory by which messages go to a peer, and its number there. A world has so many ranks; beyond are processes of others.
#[inline]
fn memory_to<'a>(
    size: u32,
    here: &'a mut Option<Here>,
    pairs: &'a mut Option<Pairs>,
    peer: Peer,
) -> Option<(&'a mut Shm, Peer)> {
    if peer >= size {
        return pairs.as_mut()?.way(peer);
    }
    let here = here.as_mut()?;
    let index = here.index(peer)?;
    Some((&mut here.shm, index))
}

/// Memory of a rank that shares it with no other one of its world.
fn memory_alone(config: &TransportConfig) -> Option<(Shm, Arc<JobMemory>)> {
    let file = memory_file().ok()?;
    let shm = Shm::attach(&file, 0, 1, false, config).ok()?;
    Some((shm, Arc::new(JobMemory::new(Some(&file)).ok()?)))
}

/// Sleeping on shared memory and sockets at once. A rank sleeps on its word in shared memory; a thread that does nothing else
/// waits for the sockets, once for each time that the rank arms, and rings.
struct BothBell {
    memory: Arc<Bell>,
    sockets: Arc<SocketBell>,
    watch: Option<(Arc<SocketWatch>, JoinHandle<()>)>,
}

impl BothBell {
    fn new(memory: Arc<Bell>, sockets: Arc<SocketBell>) -> Self {
        let watch = SocketWatch::new(sockets.clone()).ok().map(Arc::new);
        let watch = watch.and_then(|watch| spawn_watcher(watch, memory.clone()));
        BothBell { memory, sockets, watch }
    }

    #[inline]
    fn has_slept(&self) -> bool {
        self.sockets.has_slept()
    }
}

fn spawn_watcher(watch: Arc<SocketWatch>, memory: Arc<Bell>) -> Option<(Arc<SocketWatch>, JoinHandle<()>)> {
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

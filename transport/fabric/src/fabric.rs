//! All transports of a rank, as one: a table says by which of them each peer is reached (`routes.rs`).

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use tern_mem::{ContiguousBuf, UserBuf};

use crate::loopback::Loopback;
use crate::network::Network;
use crate::pairs::{bare, marked};
use crate::place::{ConnectError, JobPlace, Outside};
use crate::routes::Route;
use crate::tally::Tally;
use tern_datagram::probe::Observation;
use tern_shm::shm_comm::{ShmComm, ShmMember};
use tern_shm::{AttachError, JobMemory, NodeCores, Shm};
use tern_tcp::{Change, Tcp};
use tern_transport::config::{Medium, TransportConfig};
use tern_transport::{
    Am, CooperativeCopyKey, Doorbell, Failure, Full, Header, Limits, MulticastGroup, Peer, Remote,
    ShortPayload, Sink, Taken, Token, Transfer, TransferError, Transport, WindowMemory,
};

/// The transports of one rank, chosen by peer.
pub struct Fabric {
    me: Peer,
    loopback: Loopback,
    /// Shared memory with all ranks of the job.
    shm: Option<Shm>,
    /// TCP, and shared memory with some.
    pub(crate) network: Option<Box<Network>>,
    /// For windows; it needs no way of messages.
    memory: io::Result<Arc<JobMemory>>,
    size: u32,
    config: TransportConfig,
}

impl Fabric {
    /// Connects this rank to its job. A job of one needs no segment.
    pub fn attach(place: JobPlace, config: &TransportConfig) -> Result<Fabric, ConnectError> {
        let (me, size, config) = (place.me, place.size, *config);
        if let Some(fd) = place.segment.as_ref().filter(|_| size > 1) {
            tern_shm::fingerprint::agree(fd, &config.fingerprint)?;
        }
        let memory = JobMemory::new(place.segment.as_ref().filter(|_| size > 1)).map(Arc::new);
        if place.needs_network(&config) {
            let network = Network::attach(place, &config)?;
            let loopback = network.loopback(me);
            return Ok(Fabric {
                me,
                loopback,
                shm: None,
                network: Some(Box::new(network)),
                memory,
                size,
                config,
            });
        }
        let shm = match place.segment {
            Some(fd) if size > 1 => Some(Shm::attach(&fd, me, size, place.oversubscribed, &config)?),
            None if size > 1 => return Err(AttachError::NoSegment(size).into()),
            _ => None,
        };
        let loopback = match &shm {
            Some(shm) => Loopback::with_bell(me, shm.bell().clone()),
            None => Loopback::new(me),
        };
        Ok(Fabric { me, loopback, shm, network: None, memory, size, config })
    }

    /// Makes this rank reachable for processes of other worlds, if it is not. Its own world is reached as before, but the doorbell
    /// is another one from then on, and there are sockets to look after. (Shared memory moves into the network, so that a world that
    /// meets no other one pays nothing for this.)
    pub fn open(&mut self, outside: Outside) -> Result<(), ConnectError> {
        if self.network.is_none() {
            let network = Network::around((self.me, self.size), self.shm.take(), outside, &self.config)?;
            self.network = Some(Box::new(network));
        }
        self.open_memory();
        Ok(())
    }

    /// Makes this rank, which is reachable, so by shared memory as well for processes of other worlds on this host. Whether the doorbell
    /// is another one from then on.
    pub fn open_memory(&mut self) -> bool {
        let Some(network) = &mut self.network else { return false };
        let has_moved = network.open_memory(self.memory.as_ref().ok(), &self.config);
        if has_moved && let Some(bell) = network.bell() {
            self.loopback.use_bell(bell);
        }
        has_moved
    }

    /// Why a process of another world on this host is reached by TCP, if one is: for whoever asks, once.
    pub fn take_note(&mut self) -> Option<String> {
        self.network.as_mut()?.take_note()
    }

    /// With how many processes of other worlds messages go by shared memory, both ways.
    pub fn near_foreigners(&self) -> usize {
        self.network.as_ref().map_or(0, |network| network.near_foreigners())
    }

    /// The way to processes of other worlds, once it is open.
    pub fn abroad(&self) -> Option<&Tcp> {
        self.network.as_ref().map(|network| network.tcp())
    }

    /// The same, to change it.
    pub fn abroad_mut(&mut self) -> Option<&mut Tcp> {
        self.network.as_mut().map(|network| network.tcp_mut())
    }

    /// Whether a provider of libfabric carries messages: its endpoint must be closed before its library ends.
    pub fn has_provider(&self) -> bool {
        self.network.as_ref().is_some_and(|network| network.has_provider())
    }

    /// Whether a poll for messages of other hosts is a system call, and not a look at the memory of a provider of libfabric.
    pub fn polls_the_kernel(&self) -> bool {
        self.network.as_ref().is_some_and(|network| network.polls_the_kernel())
    }

    /// Tells the peers that this rank goes, and not by a broken connection. What it still owes them, [`Transport::poll`] sees to.
    pub fn say_goodbye(&mut self) {
        if let Some(network) = &mut self.network {
            network.say_goodbye();
        }
    }

    /// Whether a peer that has not gone lacks something that was sent to it.
    pub fn owes_something(&self) -> bool {
        self.network.as_ref().is_some_and(|network| network.owes_something())
    }

    /// Takes [`Fabric::say_goodbye`] back: messages go as before.
    pub fn come_back(&mut self) {
        if let Some(network) = &mut self.network {
            network.come_back();
        }
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
    /// [`PROBE_MS`](tern_datagram::limits::PROBE_MS), where ranks share cores so many times as long as take turns on one. It goes on in [`Transport::poll`] until [`Fabric::end_probe`].
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

    /// What has become of connections since the last time.
    pub fn take_changes(&mut self) -> impl Iterator<Item = (Peer, Change)> {
        self.network.as_mut().into_iter().flat_map(|network| network.take_changes())
    }

    /// What has come to the sockets of this rank, and what of it was dropped.
    pub fn tally(&self) -> Tally {
        self.network.as_ref().map(|network| network.tally()).unwrap_or_default()
    }

    /// How the network was chosen, if there was a choice: for whoever asks.
    pub fn note(&self) -> Option<&str> {
        self.network.as_ref()?.note()
    }

    /// Whether messages may go over shared memory as well as over a network.
    pub fn has_local_ranks(&self) -> bool {
        self.network.as_ref().is_some_and(|network| network.has_local_ranks())
    }

    /// Whether messages may go over TCP.
    pub fn is_networked(&self) -> bool {
        self.network.is_some()
    }

    /// The next poll looks at the network, at who dials, and at timers, though most do not beside shared memory.
    pub fn look_soon(&self) {
        self.network.iter().for_each(|network| network.look_soon());
    }

    /// Whether messages that were taken are still in this process: somebody must poll, though the program does not.
    #[inline]
    pub fn has_unsent(&mut self) -> bool {
        self.network.as_mut().is_some_and(|network| network.has_unsent())
    }

    /// Whether there is something of which the doorbell did not tell, or tells too late, a thread that sleeps already: messages
    /// that were read from their socket and that nobody took, a connection to be made, a timer that is due before all others.
    #[inline]
    pub fn has_unsignaled(&self) -> bool {
        self.network.as_ref().is_some_and(|network| network.has_unsignaled())
    }

    /// How long what a peer has sent may be on its way until it is here, or the peer counts as lost. Memory delivers at once.
    pub fn delivery_max(&self) -> Duration {
        self.network.as_ref().map_or(Duration::ZERO, |network| network.delivery_max())
    }

    /// Frames that this rank has sent less those that it has received; `None` where they are not counted. If the sum over all ranks is 0,
    /// none is on its way. Memory delivers at once.
    pub fn frames_ahead(&self) -> Option<i64> {
        self.network.as_ref().map_or(Some(0), |network| network.frames_ahead())
    }

    /// Whether something waits for the next poll of which the doorbell tells nobody, not even one who goes to sleep now.
    #[inline]
    pub fn is_corked(&self) -> bool {
        self.network.as_ref().is_some_and(|network| network.is_corked())
    }

    /// Whether [`Transport::poll_first`] is less work than [`Transport::poll`].
    pub fn has_poll_first(&self) -> bool {
        self.network.as_ref().is_some_and(|network| network.has_poll_first())
    }

    /// A peer that cannot be reached any more: the job cannot go on.
    pub fn failure(&self) -> Option<Failure> {
        self.network.as_ref()?.failure()
    }

    /// Memory that the ranks of this machine share for windows.
    pub fn memory(&self) -> io::Result<Arc<JobMemory>> {
        let again = |error: &io::Error| io::Error::new(error.kind(), error.to_string());
        self.memory.as_ref().map(Arc::clone).map_err(again)
    }

    /// Whether another rank of this machine can make this one pass a fence
    /// ([`fence_everywhere`](tern_transport::fence::fence_everywhere)).
    pub fn is_fenced(&self) -> bool {
        let of_network = || self.network.as_ref().is_some_and(|network| network.is_fenced());
        self.shm.as_ref().map_or_else(of_network, Shm::is_fenced)
    }

    /// Wakes a rank of this machine that may sleep, after something was published to it otherwise than by a message. One that has no
    /// bell here looks now and then by itself.
    pub fn ring(&self, peer: Peer) -> bool {
        match (&self.shm, &self.network) {
            _ if peer == self.me => false,
            (Some(shm), _) => shm.ring(peer),
            (_, Some(network)) => network.ring(peer),
            _ => false,
        }
    }

    /// This rank's side of a shm communicator of ranks of this machine, if they have shared memory.
    pub fn shm_comm(&self, member: ShmMember) -> Option<ShmComm> {
        match (&self.shm, &self.network) {
            (Some(shm), _) => Some(shm.shm_comm(member, member.leader)),
            (_, Some(network)) => network.shm_comm(member),
            _ => None,
        }
    }

    /// Where the ranks of this machine run, if they have shared memory.
    pub fn node_cores(&self) -> Option<NodeCores> {
        let of_network = || self.network.as_ref()?.node_cores();
        self.shm.as_ref().map(Shm::node_cores).or_else(of_network)
    }

    /// Clears a slot that this rank leads for a new shm communicator. False while ranks of the last one, of `size` ranks, are still there.
    pub fn clear_shm_slot(&self, slot: u32, size: u32) -> bool {
        match (&self.shm, &self.network) {
            (Some(shm), _) => shm.clear_shm_slot(slot, size),
            (_, Some(network)) => network.clear_shm_slot(slot, size),
            _ => false,
        }
    }

    /// The route to a peer: see the table in `routes.rs`.
    #[inline]
    fn route(&mut self, peer: Peer) -> Route<'_> {
        match (&mut self.shm, &mut self.network) {
            _ if peer == self.me => Route::Own(&mut self.loopback, peer),
            (Some(shm), _) => Route::Memory(shm, peer),
            (_, Some(network)) => network.route(peer),
            _ => Route::Own(&mut self.loopback, peer),
        }
    }

    /// The same, for what holds until a message goes that is only planned now. None where the route may be another one by then,
    /// which does not take as much.
    fn lasting_route(&mut self, peer: Peer) -> Option<Route<'_>> {
        if peer == self.me || self.shm.is_some() || self.network.is_none() {
            return Some(self.route(peer));
        }
        self.network.as_mut()?.lasting_route(peer)
    }

    /// The route for copies.
    fn copy_route(&mut self, peer: Peer) -> Route<'_> {
        if peer < self.size || self.network.is_none() {
            return self.route(peer);
        }
        self.network.as_mut().expect("just seen").copy_route(peer)
    }

    /// All that is not shared memory with all ranks.
    #[inline(never)]
    fn send_by_table(&mut self, peer: Peer, am: &Am<'_>) -> Result<(), Full> {
        self.route(peer).send(am)?;
        if peer == self.me
            && let Some(network) = &self.network
        {
            network.ring_own_threads();
        }
        Ok(())
    }
}

impl Transport for Fabric {
    fn ring(&self, peer: Peer) -> bool {
        Fabric::ring(self, peer)
    }

    fn limits(&mut self, peer: Peer) -> Limits {
        if peer >= self.size
            && let Some(network) = &mut self.network
        {
            network.call(peer);
        }
        let promised = self.network.as_ref().and_then(|network| network.promised(peer));
        promised.filter(|_| peer != self.me).unwrap_or_else(|| self.route(peer).limits())
    }

    fn prefers_fragments(&mut self, peer: Peer, len: u64) -> bool {
        peer != self.me && self.route(peer).prefers_fragments(len)
    }

    /// Where all ranks share memory, messages to others do not look at the table.
    #[inline(always)]
    fn send(&mut self, peer: Peer, am: &Am<'_>) -> Result<(), Full> {
        match &mut self.shm {
            Some(shm) if peer != self.me => shm.send(peer, am),
            _ => {
                // A copy, so that a message over shared memory stays in registers.
                let am = *am;
                self.send_by_table(peer, &am)
            }
        }
    }

    #[inline(always)]
    fn send_short(&mut self, peer: Peer, header: &Header, payload: ContiguousBuf) -> bool {
        match &mut self.shm {
            Some(shm) if peer != self.me => shm.send_short(peer, header, payload),
            _ => false,
        }
    }

    #[inline(always)]
    fn next_short(&mut self, peer: Peer) -> Option<(Header, ShortPayload<'_>)> {
        self.shm.as_mut()?.next_short(peer)
    }

    #[inline(always)]
    fn pass_short(&mut self, peer: Peer) {
        if let Some(shm) = &mut self.shm {
            shm.pass_short(peer);
        }
    }

    #[inline(always)]
    fn send_short_by_route(&mut self, peer: Peer, header: &Header, payload: ContiguousBuf) -> bool {
        match (&mut self.shm, &mut self.network) {
            _ if peer == self.me => false,
            (Some(shm), _) => shm.send_short(peer, header, payload),
            (None, Some(network)) => network.send_short(peer, header, payload),
            (None, None) => false,
        }
    }

    #[inline]
    fn send_run(&mut self, peer: Peer, header: &Header, payload: ContiguousBuf) -> bool {
        match (&mut self.shm, &mut self.network) {
            _ if peer == self.me => false,
            (Some(shm), _) => shm.send_run(peer, header, payload),
            (None, Some(network)) => network.send_run(peer, header, payload),
            (None, None) => false,
        }
    }

    #[inline(always)]
    fn take_short_by_route<R>(
        &mut self,
        peer: Peer,
        take: impl FnOnce(Header, ShortPayload<'_>) -> Option<R>,
    ) -> Option<R> {
        match &mut self.shm {
            Some(shm) => shm.take_short_by_route(peer, take),
            None => self.network.as_mut()?.take_short(peer, take),
        }
    }

    fn await_next(&mut self, peer: Peer, looks: u32) -> bool {
        match &mut self.shm {
            Some(shm) => shm.await_next(peer, looks),
            None => self.network.as_mut().is_some_and(|network| network.await_next(peer, looks)),
        }
    }

    fn expect_more(&mut self, peer: Peer, more: bool) {
        if let Some(network) = &mut self.network {
            network.tcp_mut().expect_more(peer, more);
        }
    }

    fn eager_bytes_at_hand(&mut self, peer: Peer) -> usize {
        self.lasting_route(peer).map_or(0, Route::eager_bytes_at_hand)
    }

    fn zero_copy_fragment_bytes_max(&mut self, peer: Peer) -> usize {
        self.lasting_route(peer).map_or(0, Route::zero_copy_fragment_bytes_max)
    }

    fn zero_copy_eager_bytes_max(&mut self, peer: Peer) -> usize {
        self.lasting_route(peer).map_or(0, Route::zero_copy_eager_bytes_max)
    }

    fn expose_window(&mut self, memory: &UserBuf) -> Option<WindowMemory> {
        self.network.as_mut()?.ofi_mut()?.expose_window(memory)
    }

    fn hide_window(&mut self, memory: WindowMemory) {
        if let Some(ofi) = self.network.as_mut().and_then(|network| network.ofi_mut()) {
            ofi.hide_window(memory);
        }
    }

    fn read_window(
        &mut self,
        peer: Peer,
        from: WindowMemory,
        into: &UserBuf,
        done: Token,
    ) -> Result<(), Full> {
        self.lasting_route(peer).ok_or(Full)?.read_window(from, into, done)
    }

    fn write_window(
        &mut self,
        peer: Peer,
        from: &UserBuf,
        to: WindowMemory,
        done: Token,
    ) -> Result<(), Full> {
        self.lasting_route(peer).ok_or(Full)?.write_window(from, to, done)
    }

    /// Of sockets, though another route may be the peer's by now.
    fn take_bad_send(&mut self, peer: Peer) -> Option<TransferError> {
        self.network.as_mut()?.tcp_mut().take_bad_send(peer)
    }

    fn send_zero_copy(&mut self, peer: Peer, am: &Am<'_>, done: Option<Token>) -> Result<(), Full> {
        self.route(peer).send_zero_copy(am, done)
    }

    fn multicast_group(&mut self, members: &[Peer]) -> Option<MulticastGroup> {
        self.network.as_mut()?.multicast_group(members)
    }

    fn multicast(
        &mut self,
        group: &MulticastGroup,
        to: &[Peer],
        am: &Am<'_>,
        done: Token,
    ) -> Result<Taken, Full> {
        self.network.as_mut().ok_or(Full)?.multicast(group, to, am, done)
    }

    fn approach(&mut self, peer: Peer) -> bool {
        self.network.as_mut().is_some_and(|network| network.approach(peer))
    }

    fn forget(&mut self, peer: Peer) {
        if let Some(network) = &mut self.network {
            network.forget(peer);
        }
    }

    fn expect_multicast(&mut self, peer: Peer) {
        if let Some(network) = &mut self.network {
            network.expect_multicast(peer);
        }
    }

    fn get(&mut self, peer: Peer, from: Remote, into: &UserBuf, done: Token) -> Transfer {
        self.copy_route(peer).get(from, into, done)
    }

    fn put(&mut self, peer: Peer, from: &UserBuf, into: Remote, done: Token) -> Transfer {
        self.copy_route(peer).put(from, into, done)
    }

    fn open_cooperative_copy(
        &mut self,
        peer: Peer,
        from: Remote,
        into: &UserBuf,
        done: Token,
    ) -> Option<CooperativeCopyKey> {
        let key = self.copy_route(peer).open_cooperative_copy(from, into, done)?;
        Some(peer.checked_sub(self.size).map_or(key, |number| marked(key, number)))
    }

    fn pull_cooperative_copy(&mut self, key: CooperativeCopyKey) -> Transfer {
        match (&mut self.shm, &mut self.network) {
            (Some(shm), _) => shm.pull_cooperative_copy(key),
            (_, Some(network)) => network.pull_cooperative_copy(key),
            _ => Transfer::Failed(TransferError::BadKey),
        }
    }

    fn join_cooperative_copy(
        &mut self,
        peer: Peer,
        key: CooperativeCopyKey,
        from: &UserBuf,
        into: Remote,
        done: Token,
    ) -> Transfer {
        let key = if peer < self.size { key } else { bare(key) };
        self.copy_route(peer).join_cooperative_copy(key, from, into, done)
    }

    #[inline]
    fn poll(&mut self, sink: &mut impl Sink) -> bool {
        let own = self.loopback.poll(sink);
        match &mut self.shm {
            Some(shm) => shm.poll(sink) | own,
            None => self.network.as_mut().is_some_and(|network| network.poll(sink)) | own,
        }
    }

    fn poll_first(&mut self, peer: Peer, sink: &mut impl Sink) -> bool {
        match (&self.shm, &mut self.network) {
            (None, Some(network)) => self.loopback.poll(sink) | network.poll_first(peer, sink),
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

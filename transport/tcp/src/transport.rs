//! [`Tcp`]: the transport of one rank to its peers on other machines.

use std::collections::VecDeque;
use std::io;
use std::net::IpAddr;
use std::os::fd::RawFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::acceptor::{Acceptor, Authenticated};
use super::change::Change;
use super::doors::Doors;
use super::endpoint_address::EndpointAddress;
use super::foreign::ForeignPeers;
use super::handshake::{AcceptorVerdict, Realm, SECRET_BYTES};
use super::housekeeping::{Housekeeping, readable};
use super::identity::{Identity, Whom};
use super::inbox::Broken;
use super::outbox::{EndedZeroCopy, ZeroCopy};
use super::peer::{Seal, TcpLink, Upkeep};
use crate::limits::*;
use tern_transport::config::TcpConfig;
use tern_transport::directory::Directory;
use tern_transport::fingerprint::SettingsFingerprint;
use tern_transport::socket_bell::SocketBell;
use tern_transport::{
    Am, Doorbell, Failure, Full, Limits, Peer, Sink, Token, TransferError, Transport, Void,
};

/// Why a rank cannot use TCP.
#[derive(Debug, thiserror::Error)]
pub enum TcpError {
    /// No listening socket could be made.
    #[error("cannot listen for the other ranks: {0}")]
    Listen(io::Error),
    /// No descriptors for waiting.
    #[error("cannot wait on sockets: {0}; is the number of open files limited (ulimit -n)?")]
    Wait(io::Error),
    /// The launcher could not be told this rank's address.
    #[error("cannot tell the launcher this rank's address: {0}")]
    Publish(io::Error),
}

/// The TCP transport of one rank.
pub struct Tcp {
    pub(super) identity: Identity,
    pub(super) config: TcpConfig,
    directory: Box<dyn Directory>,
    /// Ranks of this world.
    pub(super) size: u32,
    /// By peer: the ranks of this world, then processes of others.
    pub(super) links: Vec<Option<Box<TcpLink>>>,
    /// Peers that have a connection.
    pub(super) live: Vec<Peer>,
    /// Peers that want one.
    pub(super) wanting: Vec<Peer>,
    pub(super) foreign: ForeignPeers,
    pub(super) doors: Doors,
    pub(super) acceptor: Acceptor,
    pub(super) bell: Arc<SocketBell>,
    pub(super) housekeeping: Housekeeping,
    /// When this rank was last known to have slept.
    slept_at: Instant,
    /// When connections are next looked at for silence.
    silence_at: Instant,
    /// Zero-copy sends that ended while no sink was at hand.
    done: Vec<EndedZeroCopy>,
    ready: Vec<RawFd>,
    /// Peers whose connection has broken and not been made again.
    broken: Vec<Peer>,
    /// What has become of connections, for whoever wants to know: the oldest are forgotten.
    changes: VecDeque<(Peer, Change)>,
    lost: Option<Failure>,
    /// Some link may have what no connection has taken yet.
    unsent: bool,
    /// See [`Tcp::has_unsignaled`].
    pub(super) unsignaled: bool,
    /// Sends until the next cut of a test.
    cut_in: u32,
}

impl Tcp {
    /// Listens, and makes this rank's address known. `me` of `size` ranks, all of which have `secret`.
    pub fn new(
        me: Peer,
        size: u32,
        secret: [u8; SECRET_BYTES],
        mut directory: Box<dyn Directory>,
        config: TcpConfig,
    ) -> Result<Tcp, TcpError> {
        let acceptor = Acceptor::new(&config).map_err(TcpError::Listen)?;
        let bell = Arc::new(SocketBell::new().map_err(TcpError::Wait)?);
        let endpoint_address = acceptor.endpoint_address().map_err(TcpError::Listen)?;
        directory.publish(&endpoint_address.bytes()).map_err(TcpError::Publish)?;
        bell.watch(acceptor.fd(), false);
        if let Some(fd) = directory.fd() {
            bell.watch(fd, false);
        }
        let mut links = Vec::new();
        links.resize_with(size as usize, || None);
        Ok(Tcp {
            identity: Identity::new(me, secret, config.encrypt),
            config,
            directory,
            size,
            links,
            live: Vec::new(),
            wanting: Vec::new(),
            foreign: ForeignPeers::default(),
            doors: Doors::default(),
            acceptor,
            bell,
            housekeeping: Housekeeping::new(Instant::now()),
            slept_at: Instant::now(),
            silence_at: Instant::now(),
            done: Vec::new(),
            ready: Vec::new(),
            lost: None,
            broken: Vec::new(),
            changes: VecDeque::new(),
            unsent: false,
            unsignaled: false,
            cut_in: config.cuts,
        })
    }

    /// Peers must have the same settings.
    pub fn with_fingerprint(mut self, fingerprint: SettingsFingerprint) -> Tcp {
        self.identity.fingerprint = fingerprint;
        self
    }

    /// A peer that is given up, or this rank if it cannot let any in, and why: the job cannot go on.
    pub fn failure(&self) -> Option<&Failure> {
        self.lost.as_ref()
    }

    /// The address of this machine at which some connection ends, of one to another machine if there is one.
    pub fn address(&self) -> Option<IpAddr> {
        let mut all =
            self.live.iter().filter_map(|peer| self.links[*peer as usize].as_ref()?.own_address()).peekable();
        let some = all.peek().copied();
        all.find(|address| !address.is_loopback()).or(some)
    }

    /// Bytes that a peer has not acknowledged yet.
    pub fn kept_bytes(&self, peer: Peer) -> usize {
        self.links[peer as usize].as_ref().map_or(0, |link| link.outbox.kept_bytes())
    }

    /// Frames that were given to all connections less those that have come over them. If the sum over all ranks is 0, nothing is on its way.
    pub fn frames_ahead(&self) -> i64 {
        let ahead = |taken: u64, come: u64| taken.wrapping_sub(come) as i64;
        self.links.iter().flatten().map(|link| ahead(link.outbox.taken(), link.inbox.next())).sum()
    }

    /// Whether messages that were taken are still in this process: somebody must poll, though the program does not.
    #[inline]
    pub fn has_unsent(&mut self) -> bool {
        self.unsent && self.look_for_unsent()
    }

    #[cold]
    fn look_for_unsent(&mut self) -> bool {
        self.unsent = self.links.iter().flatten().any(|link| link.has_unwritten());
        self.unsent
    }

    /// Whether threads that sleep must be woken: there are messages of which their socket does not tell any more, a connection
    /// to be made, or a timer that is due before the one they know.
    #[inline]
    pub fn has_unsignaled(&self) -> bool {
        self.unsignaled
    }

    /// Whether something of this rank's waits for the next poll, and neither a socket nor a timer will tell.
    #[inline]
    pub fn is_corked(&self) -> bool {
        self.unsent && self.links.iter().flatten().any(|link| link.is_corked())
    }

    /// Connections that were closed since they proved nothing.
    pub fn turned_away(&self) -> u64 {
        self.acceptor.turned_away
    }

    /// Connections whose other end closed them before it had proved anything.
    pub fn given_up(&self) -> u64 {
        self.acceptor.given_up
    }

    /// Connections that broke and were made again.
    pub fn mended(&self) -> u64 {
        self.links.iter().flatten().map(|link| u64::from(link.mended)).sum()
    }

    /// On which this process sleeps.
    pub fn bell(&self) -> &Arc<SocketBell> {
        &self.bell
    }

    #[inline]
    fn existing(&mut self, peer: Peer) -> &mut TcpLink {
        let (config, identity) = (&self.config, &self.identity);
        let link = || Box::new(TcpLink::new(peer, Whom::Rank(peer), identity, config));
        self.links[peer as usize].get_or_insert_with(link)
    }

    #[cold]
    fn first_use(&mut self, peer: Peer) {
        if peer < self.size {
            self.directory.ask(peer);
            self.existing(peer);
        }
        self.housekeeping.hurry();
        self.unsignaled = true;
    }

    #[inline]
    fn send_frame(&mut self, peer: Peer, am: &Am<'_>, zero_copy: Option<ZeroCopy>) -> Result<(), Full> {
        if self.links[peer as usize].is_none() {
            self.first_use(peer);
        }
        // From a process of another world this rank has parted: nobody waits for anything.
        let Some(link) = &mut self.links[peer as usize] else { return Ok(()) };
        if link.wants_first_dial() {
            self.dial_first(peer);
        }
        let Some(link) = &mut self.links[peer as usize] else { return Ok(()) };
        let sent = link.send(am, zero_copy, &self.bell);
        self.unsent |= link.outbox.has_unwritten();
        if !matches!(sent, Ok(true)) || self.config.cuts > 0 {
            return self.sent_otherwise(peer, sent);
        }
        Ok(())
    }

    /// A process of another world is dialed when the first message wants it.
    #[cold]
    pub(super) fn dial_first(&mut self, peer: Peer) {
        self.existing(peer).dial(Instant::now());
        self.want(peer);
        self.unsignaled = true;
    }

    #[cold]
    fn sent_otherwise(&mut self, peer: Peer, sent: Result<bool, Broken>) -> Result<(), Full> {
        match sent {
            Ok(true) => self.maybe_cut(peer),
            Ok(false) => return Err(Full),
            // It is kept, and goes over the next connection.
            Err(broken) => {
                self.broke(peer, &broken);
                // Unless it could not be read: nobody but the caller will hear of that.
                if self.existing(peer).outbox.has_untold() {
                    return Err(Full);
                }
            }
        }
        Ok(())
    }

    /// For tests: breaks the connection now and then.
    #[cold]
    fn maybe_cut(&mut self, peer: Peer) {
        self.cut_in = self.cut_in.saturating_sub(1);
        if self.cut_in == 0 {
            // As uneven as the numbers of two ranks that divide the same time.
            self.cut_in = self.config.cuts + (self.identity.me * 7 + peer * 3) % self.config.cuts.div_ceil(2);
            self.cut(peer);
        }
    }

    /// For tests: breaks the connection to a peer.
    pub(super) fn cut(&self, peer: Peer) {
        if let Some(fd) = self.links[peer as usize].as_ref().and_then(|link| link.fd()) {
            // SAFETY: takes no addresses.
            unsafe { libc::shutdown(fd, libc::SHUT_RDWR) };
        }
    }

    #[cold]
    fn broke(&mut self, peer: Peer, why: &Broken) {
        self.live.retain(|live| *live != peer);
        let bell = self.bell.clone();
        self.existing(peer).disconnect(why, Instant::now(), &bell);
        self.unsent = true;
        self.want(peer);
        if !self.broken.contains(&peer) {
            self.broken.push(peer);
            self.note(peer, Change::Lost);
        }
    }

    fn note(&mut self, peer: Peer, change: Change) {
        if self.changes.len() == CHANGES_MAX {
            self.changes.pop_front();
        }
        self.changes.push_back((peer, change));
    }

    /// What has become of connections since the last time.
    pub fn take_changes(&mut self) -> impl Iterator<Item = (Peer, Change)> {
        std::mem::take(&mut self.changes).into_iter()
    }

    pub(super) fn want(&mut self, peer: Peer) {
        if !self.wanting.contains(&peer) && self.existing(peer).needs_upkeep() {
            self.wanting.push(peer);
        }
        self.housekeeping.hurry();
    }

    #[inline]
    fn poll_link(&mut self, peer: Peer, sink: &mut impl Sink) -> bool {
        let Some(link) = &mut self.links[peer as usize] else { return false };
        match link.poll(sink, &self.bell, &mut self.done) {
            Ok(any) => {
                self.unsent |= any && link.has_unwritten();
                self.unsignaled |= any && link.has_bytes();
                any
            }
            Err(broken) => {
                self.broke(peer, &broken);
                true
            }
        }
    }

    /// Tells of zero-copy sends that have ended.
    #[inline]
    fn tell_of_ended(&mut self, sink: &mut impl Sink) -> bool {
        let any = !self.done.is_empty();
        while let Some((token, result)) = self.done.pop() {
            sink.done(token, result);
        }
        any
    }

    /// Each connection is tried, or, with many, those that are ready.
    #[inline]
    fn poll_live(&mut self, sink: &mut impl Sink) -> bool {
        let mut any = false;
        if self.live.len() > TRIED_SOCKETS_MAX {
            return self.poll_ready(sink);
        }
        for at in (0..self.live.len()).rev() {
            // A connection that breaks leaves the list.
            if let Some(peer) = self.live.get(at).copied() {
                any |= self.poll_link(peer, sink);
            }
        }
        any
    }

    fn poll_ready(&mut self, sink: &mut impl Sink) -> bool {
        let mut any = false;
        self.ready.clear();
        self.bell.ready(Some(Duration::ZERO), &mut self.ready);
        for at in (0..self.live.len()).rev() {
            let Some(peer) = self.live.get(at).copied() else { continue };
            let Some(link) = &self.links[peer as usize] else { continue };
            if link.wants_poll() || link.fd().is_some_and(|fd| self.ready.contains(&fd)) {
                any |= self.poll_link(peer, sink);
            }
        }
        any
    }

    /// What is rare: answers of the directory, new connections, dialling, timers.
    #[cold]
    fn keep_house(&mut self, slept: bool) -> bool {
        let now = Instant::now();
        if slept {
            self.slept_at = now;
        }
        let [answers, knocks] = readable([self.directory.fd(), Some(self.acceptor.fd())]);
        let mut any = (answers || self.directory.has_unsent()) && self.hear_directory(now);
        let bell = self.bell.clone();
        for authenticated in self.acceptor.advance(now, knocks, &self.identity, &bell) {
            any = true;
            self.admit(authenticated, now);
        }
        any |= self.admit_early(now);
        if let Some(why) = self.acceptor.failure(now) {
            self.lost.get_or_insert(Failure { peer: self.identity.me, why });
        }
        any |= self.dial(now);
        any |= self.doors.advance(now, &self.identity, &bell);
        if now >= self.silence_at {
            self.look_for_silence(now);
        }
        self.set_timer();
        if now.saturating_duration_since(self.slept_at) >= LONG_AWAKE {
            self.let_sockets_be();
        }
        let busy =
            self.acceptor.is_busy() || !self.wanting.is_empty() || self.doors.is_busy() || self.has_early();
        self.housekeeping.ended(now, busy, any || knocks);
        any
    }

    /// Takes the endpoint addresses of peers that were asked for. Whether one has come.
    fn hear_directory(&mut self, now: Instant) -> bool {
        let mut any = false;
        while let Some((peer, endpoint_address)) = self.directory.answer() {
            any = true;
            if peer < self.size
                && let Some(endpoint_address) = EndpointAddress::parse(&endpoint_address)
            {
                self.existing(peer).set_endpoint_address(endpoint_address, now);
                self.want(peer);
            }
        }
        any
    }

    /// A peer that has proved itself gets its connection, unless both have dialled and the other one is to be used.
    pub(super) fn admit(&mut self, authenticated: Authenticated, now: Instant) {
        let bell = self.bell.clone();
        if let Realm::Door(door) = authenticated.realm() {
            if let Ok((socket, keys)) = authenticated.welcome(AcceptorVerdict::Accepted, 0) {
                self.doors.come(door, socket, keys, &bell);
            }
            return;
        }
        let Some(peer) = self.peer_of(&authenticated) else {
            if matches!(authenticated.realm(), Realm::World(_)) {
                self.keep_early(authenticated, now);
            }
            return;
        };
        if let Some(names) = authenticated.differs_from(&self.identity) {
            let why = format!(
                "rank {peer} was started with other settings than this rank: {names}; they must be the same on all ranks \
                 (mpirun -x NAME passes a variable to all)"
            );
            self.lost.get_or_insert(Failure { peer, why });
            return;
        }
        if self.links[peer as usize].is_none() {
            // It dials first; where it is may be wanted when its connection breaks.
            self.directory.ask(peer);
        }
        let link = self.existing(peer);
        let (expected, theirs) = (link.inbox.next(), authenticated.next);
        if link.insists(now) {
            let _ = authenticated.welcome(AcceptorVerdict::Yield, expected);
            return;
        }
        let Ok((socket, keys)) = authenticated.welcome(AcceptorVerdict::Accepted, expected) else { return };
        let seal = keys.map(Seal::acceptors);
        let mut done = std::mem::take(&mut self.done);
        let connected = self.existing(peer).connect(socket, theirs, seal, &bell, &mut done);
        self.done = done;
        match connected {
            Ok(()) => self.lives(peer),
            Err(broken) => self.broke(peer, &broken),
        }
    }

    fn lives(&mut self, peer: Peer) {
        self.wanting.retain(|wanting| *wanting != peer);
        if !self.live.contains(&peer) {
            self.live.push(peer);
        }
        if self.live.len() > TRIED_SOCKETS_MAX {
            self.bell.watch_all();
        }
        if let Some(at) = self.broken.iter().position(|broken| *broken == peer) {
            self.broken.swap_remove(at);
            self.note(peer, Change::Resumed);
        }
    }

    /// A program that does not sleep needs no socket to wake it, where each is tried.
    pub(super) fn let_sockets_be(&self) {
        if self.live.len() <= TRIED_SOCKETS_MAX {
            let links = self.live.iter().filter_map(|peer| self.links[*peer as usize].as_ref());
            links.for_each(|link| link.unregister(&self.bell));
        }
    }

    fn dial(&mut self, now: Instant) -> bool {
        let mut any = false;
        for at in (0..self.wanting.len()).rev() {
            let Some(peer) = self.wanting.get(at).copied() else { continue };
            let Some(link) = &mut self.links[peer as usize] else { continue };
            match link.upkeep(now, &self.identity, &self.config, &self.bell, &mut self.done) {
                Upkeep::Fine => {}
                Upkeep::Connected => {
                    any = true;
                    self.lives(peer);
                }
                Upkeep::Lost(why) => {
                    self.wanting.retain(|wanting| *wanting != peer);
                    self.lost.get_or_insert(Failure { peer, why });
                    self.note(peer, Change::Failed);
                }
            }
        }
        any
    }

    fn look_for_silence(&mut self, now: Instant) {
        self.silence_at = now + Duration::from_secs(1);
        for at in (0..self.live.len()).rev() {
            let Some(peer) = self.live.get(at).copied() else { continue };
            if self.links[peer as usize].as_ref().is_some_and(|link| link.is_silent()) {
                self.broke(peer, &Broken::Silent(SILENT_S));
            }
        }
    }

    fn set_timer(&mut self) {
        let dials = self.wanting.iter().filter_map(|peer| self.links[*peer as usize].as_ref()?.deadline());
        let unacknowledged =
            |peer: &&Peer| self.links[**peer as usize].as_ref().is_some_and(|link| !link.outbox.is_empty());
        let silence = self.live.iter().find(unacknowledged).map(|_| self.silence_at);
        let question =
            self.directory.has_unsent().then(|| Instant::now() + Duration::from_millis(QUESTION_AGAIN_MS));
        let all =
            dials.chain(self.acceptor.deadline()).chain(silence).chain(question).chain(self.doors.deadline());
        self.unsignaled |= self.bell.set_deadline(all.min());
    }

    /// Waits until the peers have everything, and tells them that this rank goes. For the end of the job, when all ranks
    /// have said that they need nothing more. Who is dropped without it is as good as killed.
    pub fn close(&mut self) {
        let until = Instant::now() + self.config.peer_timeout();
        self.say_goodbye();
        while self.owes_something() && self.lost.is_none() && Instant::now() < until {
            let armed = self.bell.arm();
            if self.poll(&mut Void) {
                self.bell.disarm();
            } else {
                self.bell.sleep(armed, Some(Duration::from_millis(10)));
            }
        }
    }

    /// Tells the peers that this rank goes. It may come back.
    pub fn say_goodbye(&mut self) {
        self.tell_all(TcpLink::say_goodbye);
    }

    fn tell_all(&mut self, tell: impl Fn(&mut TcpLink, &SocketBell) -> Result<(), Broken>) {
        for peer in 0..self.links.len() {
            let Some(link) = &mut self.links[peer] else { continue };
            if let Err(broken) = tell(link, &self.bell) {
                self.broke(peer as Peer, &broken);
            }
        }
    }

    /// Takes [`Tcp::say_goodbye`] back: this rank and its peers use their connections again.
    pub fn come_back(&mut self) {
        self.tell_all(TcpLink::come_back);
    }

    /// Whether a peer that has not gone lacks something.
    pub fn owes_something(&self) -> bool {
        self.links
            .iter()
            .flatten()
            .any(|link| !link.has_gone() && (!link.outbox.is_empty() || link.outbox.has_unwritten()))
    }
}

#[cfg(test)]
impl Tcp {
    /// Asks for a connection without sending.
    pub(super) fn ask_for_connection(&mut self, peer: Peer) {
        self.first_use(peer);
    }

    pub(super) fn is_live(&self, peer: Peer) -> bool {
        self.live.contains(&peer)
    }

    pub(super) fn has_unwritten(&self, peer: Peer) -> bool {
        self.links[peer as usize].as_ref().is_some_and(|link| link.outbox.has_unwritten())
    }
}

impl Transport for Tcp {
    fn limits(&mut self, _peer: Peer) -> Limits {
        self.config.limits()
    }

    #[inline]
    fn send(&mut self, peer: Peer, am: &Am<'_>) -> Result<(), Full> {
        self.send_frame(peer, am, None)
    }

    fn take_bad_send(&mut self, peer: Peer) -> Option<TransferError> {
        let link = self.links[peer as usize].as_mut()?;
        link.outbox.take_untold().map(TransferError::from)
    }

    fn expect_more(&mut self, peer: Peer, more: bool) {
        if let Some(link) = &mut self.links[peer as usize] {
            link.expect_more(more);
        }
    }

    fn zero_copy_fragment_bytes_max(&mut self, _peer: Peer) -> usize {
        ZERO_COPY_BYTES_MAX
    }

    fn zero_copy_eager_bytes_max(&mut self, _peer: Peer) -> usize {
        self.config.zero_copy_eager_bytes_max()
    }

    fn send_zero_copy(&mut self, peer: Peer, am: &Am<'_>, done: Option<Token>) -> Result<(), Full> {
        self.send_frame(peer, am, Some(ZeroCopy(done)))
    }

    #[inline]
    fn poll(&mut self, sink: &mut impl Sink) -> bool {
        self.unsignaled = false;
        let mut any = self.poll_live(sink);
        let slept = self.bell.take_slept();
        if slept || self.housekeeping.is_due() {
            any |= self.keep_house(slept);
        }
        self.tell_of_ended(sink) | any
    }

    /// One system call, where to ask which sockets are ready and to read them are two.
    #[inline]
    fn poll_first(&mut self, peer: Peer, sink: &mut impl Sink) -> bool {
        let only = self.live.len() <= 1;
        if only || self.unsent || self.bell.has_slept() || self.housekeeping.must_poll_all() {
            return self.poll(sink);
        }
        let any = self.poll_link(peer, sink);
        self.tell_of_ended(sink) | any
    }

    fn doorbell(&self) -> Arc<dyn Doorbell> {
        self.bell.clone()
    }
}

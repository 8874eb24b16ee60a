//! [`Tcp`]: the transport of one rank to its peers on other machines.

use std::io;
use std::net::IpAddr;
use std::os::fd::RawFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::bell::SocketBell;
use super::card::Card;
use super::dialer::Identity;
use super::directory::Directory;
use super::handshake::{SECRET_BYTES, Secret, Verdict};
use super::inbox::Broken;
use super::outbox::{Ended, Loan};
use super::peer::{Link, Seal, Upkeep};
use super::porter::{Guest, Porter};
use super::rounds::{Rounds, readable};
use crate::accord::Accord;
use crate::config::TcpConfig;
use crate::limits::*;
use crate::{Am, Doorbell, Full, Header, Landing, Limits, Peer, Sink, Token, TransferError, Transport};

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
    identity: Identity,
    config: TcpConfig,
    directory: Box<dyn Directory>,
    links: Vec<Option<Box<Link>>>,
    /// Peers that have a connection.
    live: Vec<Peer>,
    /// Peers that want one.
    wanting: Vec<Peer>,
    porter: Porter,
    bell: Arc<SocketBell>,
    rounds: Rounds,
    /// When this rank was last known to have slept.
    slept_at: Instant,
    /// When connections are next looked at for silence.
    silence_at: Instant,
    /// Loans that ended while no sink was at hand.
    done: Vec<Ended>,
    ready: Vec<RawFd>,
    lost: Option<(Peer, String)>,
    /// Some link may have what no connection has taken yet.
    residue: bool,
    /// See [`Tcp::has_unseen`].
    unseen: bool,
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
        let porter = Porter::new(&config).map_err(TcpError::Listen)?;
        let bell = Arc::new(SocketBell::new().map_err(TcpError::Wait)?);
        let card = porter.card().map_err(TcpError::Listen)?;
        directory.publish(&card.bytes()).map_err(TcpError::Publish)?;
        bell.watch(porter.fd(), false);
        if let Some(fd) = directory.fd() {
            bell.watch(fd, false);
        }
        let mut links = Vec::new();
        links.resize_with(size as usize, || None);
        Ok(Tcp {
            identity: Identity {
                me,
                secret: Secret(secret),
                encrypt: config.encrypt,
                accord: Accord::default(),
            },
            config,
            directory,
            links,
            live: Vec::new(),
            wanting: Vec::new(),
            porter,
            bell,
            rounds: Rounds::new(Instant::now()),
            slept_at: Instant::now(),
            silence_at: Instant::now(),
            done: Vec::new(),
            ready: Vec::new(),
            lost: None,
            residue: false,
            unseen: false,
            cut_in: config.cuts,
        })
    }

    /// Peers must have the same settings.
    pub fn with_accord(mut self, accord: Accord) -> Tcp {
        self.identity.accord = accord;
        self
    }

    /// A peer that is given up, or this rank if it cannot let any in, and why: the job cannot go on.
    pub fn failure(&self) -> Option<&(Peer, String)> {
        self.lost.as_ref()
    }

    /// The address of this machine at which some connection ends, of one to another machine if there is one.
    pub(crate) fn address(&self) -> Option<IpAddr> {
        let mut all =
            self.live.iter().filter_map(|peer| self.links[*peer as usize].as_ref()?.own_address()).peekable();
        let some = all.peek().copied();
        all.find(|address| !address.is_loopback()).or(some)
    }

    /// Bytes that a peer has not acknowledged yet.
    pub(crate) fn kept_bytes(&self, peer: Peer) -> usize {
        self.links[peer as usize].as_ref().map_or(0, |link| link.outbox.kept_bytes())
    }

    /// Whether messages that were taken are still in this process: somebody must poll, though the program does not.
    #[inline]
    pub fn has_residue(&mut self) -> bool {
        self.residue && self.look_for_residue()
    }

    #[cold]
    fn look_for_residue(&mut self) -> bool {
        self.residue = self.links.iter().flatten().any(|link| link.has_unwritten());
        self.residue
    }

    /// Whether threads that sleep must be woken: there are messages of which their socket does not tell any more, a connection
    /// to be made, or a timer that is due before the one they know.
    #[inline]
    pub fn has_unseen(&self) -> bool {
        self.unseen
    }

    /// Whether something of this rank's waits for the next poll, and neither a socket nor a timer will tell.
    #[inline]
    pub fn holds_back(&self) -> bool {
        self.residue && self.links.iter().flatten().any(|link| link.holds_back())
    }

    /// Connections that were closed since they proved nothing.
    pub fn turned_away(&self) -> u64 {
        self.porter.turned_away
    }

    /// Connections whose other end closed them before it had proved anything.
    pub fn given_up(&self) -> u64 {
        self.porter.given_up
    }

    /// Connections that broke and were made again.
    pub fn mended(&self) -> u64 {
        self.links.iter().flatten().map(|link| u64::from(link.mended)).sum()
    }

    pub(crate) fn bell(&self) -> &Arc<SocketBell> {
        &self.bell
    }

    #[inline]
    fn existing(&mut self, peer: Peer) -> &mut Link {
        let config = &self.config;
        self.links[peer as usize].get_or_insert_with(|| Box::new(Link::new(peer, config)))
    }

    #[cold]
    fn first_use(&mut self, peer: Peer) {
        self.directory.ask(peer);
        self.existing(peer);
        self.rounds.hurry();
        self.unseen = true;
    }

    #[inline]
    fn send_frame(&mut self, peer: Peer, am: &Am<'_>, loan: Option<Loan>) -> Result<(), Full> {
        if self.links[peer as usize].is_none() {
            self.first_use(peer);
        }
        let Some(link) = &mut self.links[peer as usize] else { return Err(Full) };
        let sent = link.send(am, loan, &self.bell);
        self.residue |= link.outbox.has_unwritten();
        if !matches!(sent, Ok(true)) || self.config.cuts > 0 {
            return self.sent_otherwise(peer, sent);
        }
        Ok(())
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
        let me = self.identity.me;
        self.live.retain(|live| *live != peer);
        let bell = self.bell.clone();
        self.existing(peer).disconnect(why, me, Instant::now(), &bell);
        self.residue = true;
        self.want(peer);
    }

    fn want(&mut self, peer: Peer) {
        if !self.wanting.contains(&peer) && self.existing(peer).needs_upkeep() {
            self.wanting.push(peer);
        }
        self.rounds.hurry();
    }

    #[inline]
    fn poll_link(&mut self, peer: Peer, sink: &mut impl Sink) -> bool {
        let Some(link) = &mut self.links[peer as usize] else { return false };
        match link.poll(sink, &self.bell, &mut self.done) {
            Ok(any) => {
                self.residue |= any && link.has_unwritten();
                self.unseen |= any && link.has_bytes();
                any
            }
            Err(broken) => {
                self.broke(peer, &broken);
                true
            }
        }
    }

    /// Tells of loans that have ended.
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
    fn round(&mut self, slept: bool) -> bool {
        let now = Instant::now();
        if slept {
            self.slept_at = now;
        }
        let [answers, knocks] = readable([self.directory.fd(), Some(self.porter.fd())]);
        let mut any = (answers || self.directory.has_unsent()) && self.hear_directory(now);
        let bell = self.bell.clone();
        for guest in self.porter.advance(now, knocks, &self.identity, &bell) {
            any = true;
            self.admit(guest, now);
        }
        if let Some(why) = self.porter.failure(now) {
            self.lost.get_or_insert((self.identity.me, why));
        }
        any |= self.dial(now);
        if now >= self.silence_at {
            self.look_for_silence(now);
        }
        self.set_timer();
        if now.saturating_duration_since(self.slept_at) >= LONG_AWAKE {
            self.let_sockets_be();
        }
        let busy = self.porter.is_busy() || !self.wanting.is_empty();
        self.rounds.ended(now, busy, any || knocks);
        any
    }

    /// Takes the cards of peers that were asked for. Whether one has come.
    fn hear_directory(&mut self, now: Instant) -> bool {
        let mut any = false;
        while let Some((peer, card)) = self.directory.answer() {
            any = true;
            if (peer as usize) < self.links.len()
                && let Some(card) = Card::parse(&card)
            {
                self.existing(peer).set_card(card, now);
                self.want(peer);
            }
        }
        any
    }

    /// A peer that has proved itself gets its connection, unless both have dialled and the other one is to be used.
    fn admit(&mut self, guest: Guest, now: Instant) {
        let (peer, me, bell) = (guest.peer, self.identity.me, self.bell.clone());
        if peer as usize >= self.links.len() {
            return;
        }
        if let Some(names) = guest.differs_from(&self.identity) {
            let why = format!(
                "rank {peer} was started with other settings than this rank: {names}; they must be the same on all ranks \
                 (mpirun -x NAME passes a variable to all)"
            );
            self.lost.get_or_insert((peer, why));
            return;
        }
        if self.links[peer as usize].is_none() {
            // It dials first; where it is may be wanted when its connection breaks.
            self.directory.ask(peer);
        }
        let link = self.existing(peer);
        let (expected, theirs) = (link.inbox.next(), guest.next);
        if link.insists(me, now) {
            let _ = guest.welcome(Verdict::Yield, expected);
            return;
        }
        let Ok((socket, keys)) = guest.welcome(Verdict::Accepted, expected) else { return };
        let seal = keys.map(Seal::porters);
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
    }

    /// A program that does not sleep needs no socket to wake it, where each is tried.
    pub(super) fn let_sockets_be(&self) {
        if self.live.len() <= TRIED_SOCKETS_MAX {
            let links = self.live.iter().filter_map(|peer| self.links[*peer as usize].as_ref());
            links.for_each(|link| link.let_be(&self.bell));
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
                    self.lost.get_or_insert((peer, why));
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
        let all = dials.chain(self.porter.deadline()).chain(silence).chain(question);
        self.unseen |= self.bell.set_deadline(all.min());
    }

    /// Waits until the peers have everything, and tells them that this rank goes. For the end of the job, when all ranks
    /// have said that they need nothing more. Who is dropped without it is as good as killed.
    pub fn close(&mut self) {
        let until = Instant::now() + self.config.peer_timeout();
        for peer in 0..self.links.len() {
            let Some(link) = &mut self.links[peer] else { continue };
            if let Err(broken) = link.say_goodbye(&self.bell) {
                self.broke(peer as Peer, &broken);
            }
        }
        while self.owes_something() && self.lost.is_none() && Instant::now() < until {
            let armed = self.bell.arm();
            if self.poll(&mut Void) {
                self.bell.disarm();
            } else {
                self.bell.sleep(armed, Some(Duration::from_millis(10)));
            }
        }
    }

    /// Whether a peer that has not gone lacks something.
    fn owes_something(&self) -> bool {
        self.links
            .iter()
            .flatten()
            .any(|link| !link.has_gone() && (!link.outbox.is_empty() || link.outbox.has_unwritten()))
    }
}

#[cfg(test)]
impl Tcp {
    /// Asks for a connection without sending.
    pub(super) fn meet(&mut self, peer: Peer) {
        self.first_use(peer);
    }

    pub(super) fn is_live(&self, peer: Peer) -> bool {
        self.live.contains(&peer)
    }

    pub(super) fn has_unwritten(&self, peer: Peer) -> bool {
        self.links[peer as usize].as_ref().is_some_and(|link| link.outbox.has_unwritten())
    }
}

/// Receives what nobody waits for any more.
struct Void;

impl Sink for Void {
    fn short(&mut self, _: Peer, _: &Header, _: &[u8]) {}
    fn header(&mut self, _: Peer, _: &Header, _: usize) -> Landing {
        Landing::Nothing
    }
    fn landed(&mut self, _: Peer, _: Token) {}
    fn spoiled(&mut self, _: Peer, _: Token, _: TransferError) {}
    fn done(&mut self, _: Token, _: Result<(), TransferError>) {}
}

impl Transport for Tcp {
    fn limits(&mut self, _peer: Peer) -> Limits {
        Limits {
            eager_bytes_max: self.config.copied_bytes_max(),
            get: false,
            put: false,
            share: false,
            sends: false,
        }
    }

    #[inline]
    fn send(&mut self, peer: Peer, am: &Am<'_>) -> Result<(), Full> {
        self.send_frame(peer, am, None)
    }

    fn take_bad_send(&mut self, peer: Peer) -> Option<TransferError> {
        let link = self.links[peer as usize].as_mut()?;
        link.outbox.take_untold().map(TransferError::from)
    }

    fn loan_bytes_max(&self, _peer: Peer) -> usize {
        LOAN_BYTES_MAX
    }

    fn lent_bytes_max(&self, _peer: Peer) -> usize {
        self.config.eager_bytes_max().min(LOAN_BYTES_MAX)
    }

    fn lend(&mut self, peer: Peer, am: &Am<'_>, done: Option<Token>) -> Result<(), Full> {
        self.send_frame(peer, am, Some(Loan(done)))
    }

    #[inline]
    fn poll(&mut self, sink: &mut impl Sink) -> bool {
        self.unseen = false;
        let mut any = self.poll_live(sink);
        let slept = self.bell.take_slept();
        if slept || self.rounds.is_due() {
            any |= self.round(slept);
        }
        self.tell_of_ended(sink) | any
    }

    /// One system call, where to ask which sockets are ready and to read them are two.
    #[inline]
    fn listen(&mut self, peer: Peer, sink: &mut impl Sink) -> bool {
        let only = self.live.len() <= 1;
        if only || self.residue || self.bell.has_slept() || self.rounds.is_listened_out() {
            return self.poll(sink);
        }
        let any = self.poll_link(peer, sink);
        self.tell_of_ended(sink) | any
    }

    fn doorbell(&self) -> Arc<dyn Doorbell> {
        self.bell.clone()
    }
}

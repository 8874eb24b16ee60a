//! One peer: what is sent and received, over whichever connection there is, and how the next one comes about.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

use super::dialer::{Dialer, Dialled};
use super::endpoint_address::EndpointAddress;
use super::frame::FrameKind;
use super::gather::Gather;
use super::handshake::{ConnectionKey, ConnectionKeys};
use super::identity::{Identity, Whom};
use super::inbox::{Broken, TcpInbox};
use super::info::TcpInfo;
use super::outbox::{EndedZeroCopy, FalseAck, TcpOutbox, Written, ZeroCopy};
use super::sealed::Sealed;
use super::wire::ProvedWire;
use crate::limits::*;
use socket2::Socket;
use tern_transport::config::TcpConfig;
use tern_transport::socket_bell::SocketBell;
use tern_transport::{Am, Peer, Sink};

/// The link to one peer.
pub(crate) struct TcpLink {
    whom: Whom,
    /// This rank comes before the peer, for choices that both must make alike.
    has_precedence: bool,
    pub outbox: TcpOutbox,
    pub inbox: TcpInbox,
    line: Option<ProvedWire>,
    /// The connection takes nothing more, for this reason; what has come by it is still read.
    cut_off: Option<io::Error>,
    gather: Gather,
    courtesy: Courtesy,
    /// The socket is watched for room.
    awaits_room: bool,
    /// Where the peer can be reached, once that is known.
    endpoint_address: Option<EndpointAddress>,
    dialer: Option<Dialer>,
    redial_at: Option<Instant>,
    failing: Option<Failing>,
    last_break: Option<String>,
    /// How often a connection that broke was made again.
    pub mended: u32,
    /// This rank goes: every connection from now on begins with a farewell.
    leaving: bool,
    /// While this rank goes, the peer was found to be gone.
    departed: bool,
    /// This rank had gone, and has come back: it may have to dial a peer whose connection ended meanwhile.
    returned: bool,
    /// The two part, since when.
    parting: Option<Instant>,
}

/// What is known of the program's habits: whether it answers a message that the peer wants to be acknowledged, before it looks
/// for anything else.
#[derive(Default)]
struct Courtesy {
    /// Such a message has ended in the last poll.
    asked: bool,
    replies: u8,
}

impl Courtesy {
    /// The peer waits for an acknowledgement. Whether a reply can be expected.
    fn asked(&mut self) -> bool {
        self.asked = true;
        self.replies >= REPLIES_TO_WAIT
    }

    #[inline]
    fn sent(&mut self) {
        if self.asked {
            self.asked = false;
            self.replies = self.replies.saturating_add(1);
        }
    }

    #[inline]
    fn polled(&mut self) {
        if self.asked {
            (self.asked, self.replies) = (false, 0);
        }
    }
}

/// Housekeeping of dialling that have failed since the last connection.
struct Failing {
    since: Instant,
    attempts: u32,
    /// Each attempt was refused at all addresses.
    refused: bool,
    /// How long they took.
    dialled: Duration,
    backoff: Duration,
}

/// What looking after a link has found.
pub(crate) enum Upkeep {
    /// Nothing to tell.
    Fine,
    /// The link has a connection again.
    Connected,
    /// The peer cannot be reached: why, in words.
    Lost(String),
}

impl TcpLink {
    pub(crate) fn new(peer: Peer, whom: Whom, identity: &Identity, config: &TcpConfig) -> Self {
        TcpLink {
            has_precedence: identity.is_before(&whom),
            whom,
            outbox: TcpOutbox::new(config.checksum, config.encrypt),
            inbox: TcpInbox::new(peer),
            line: None,
            cut_off: None,
            gather: Gather::default(),
            courtesy: Courtesy::default(),
            awaits_room: false,
            endpoint_address: None,
            dialer: None,
            redial_at: None,
            failing: None,
            last_break: None,
            mended: 0,
            leaving: false,
            departed: false,
            returned: false,
            parting: None,
        }
    }

    /// Whether the peer is of another world.
    pub(crate) fn is_foreign(&self) -> bool {
        self.whom.is_foreign()
    }

    /// The two have nothing in common any more: the peer is told that this rank goes, and says the same.
    pub(crate) fn part(&mut self, now: Instant, bell: &SocketBell) -> Result<(), Broken> {
        self.parting = Some(now);
        // A connection that is being made comes to its end: the peer may have it already.
        self.redial_at = None;
        self.say_goodbye(bell)
    }

    /// Whether the two part.
    pub(crate) fn is_parting(&self) -> bool {
        self.parting.is_some()
    }

    /// Whether nothing more comes from a peer that this rank parts from, or it has had its time.
    pub(crate) fn has_parted(&self, now: Instant) -> bool {
        let patience = if self.outbox.is_empty() { PARTING_MS } else { PARTING_UNTAKEN_MS };
        let late = |since| now.saturating_duration_since(since) >= Duration::from_millis(patience);
        let is_off = self.line.is_none() && self.dialer.is_none();
        let gone = is_off || (self.inbox.peer_goes() && !self.outbox.has_unwritten());
        gone || self.parting.is_some_and(late)
    }

    pub(crate) fn fd(&self) -> Option<i32> {
        self.line.as_ref().map(ProvedWire::fd)
    }

    /// This machine's end of the connection.
    pub(crate) fn own_address(&self) -> Option<IpAddr> {
        self.line.as_ref()?.own_address()
    }

    /// Whether there is something that no connection has taken.
    pub(crate) fn has_unwritten(&self) -> bool {
        self.outbox.has_unwritten() || self.awaits_room || self.owes_answer()
    }

    /// Whether the peer waits for an acknowledgement that waits for the program's reply.
    fn owes_answer(&self) -> bool {
        self.line.is_some() && self.inbox.is_waited_for()
    }

    /// Whether the next frame may wait for another one.
    pub(crate) fn expect_more(&mut self, more: bool) {
        self.gather.expect(more);
    }

    /// Whether frames or an acknowledgement wait for the program's next step.
    pub(crate) fn is_corked(&self) -> bool {
        self.gather.is_open() || self.owes_answer()
    }

    /// Whether something waits for the next poll, of which the socket does not tell.
    pub(crate) fn wants_poll(&self) -> bool {
        self.is_corked() || self.has_bytes()
    }

    /// Whether bytes have been read and not looked at: the socket does not tell of them.
    pub(crate) fn has_bytes(&self) -> bool {
        self.inbox.has_bytes() || self.line.as_ref().is_some_and(ProvedWire::has_bytes)
    }

    /// Whether a connection is wanted or on its way.
    pub(crate) fn needs_upkeep(&self) -> bool {
        self.line.is_none() && (self.dialer.is_some() || self.redial_at.is_some())
    }

    /// Where the peer can be reached is known, and it need not be dialed yet.
    pub(crate) fn keep_endpoint_address(&mut self, endpoint_address: EndpointAddress) {
        self.endpoint_address = Some(endpoint_address);
    }

    /// This rank uses the connection again after all, and tells the peer.
    pub(crate) fn come_back(&mut self, bell: &SocketBell) -> Result<(), Broken> {
        let had_gone = std::mem::take(&mut self.leaving);
        (self.departed, self.returned) = (false, true);
        if had_gone { self.tell(FrameKind::Back, bell) } else { Ok(()) }
    }

    /// Whether the peer is to be dialed for this message: one of another world for the first.
    #[inline]
    pub(crate) fn wants_first_dial(&self) -> bool {
        self.line.is_none() && self.is_undialed()
    }

    #[cold]
    fn is_undialed(&self) -> bool {
        let is_idle = self.parting.is_none() && self.dialer.is_none() && self.redial_at.is_none();
        let is_known = self.is_foreign() || (self.returned && self.endpoint_address.is_some());
        is_idle && is_known
    }

    /// The peer is to be dialed.
    pub(crate) fn dial(&mut self, now: Instant) {
        self.redial_at = Some(now);
    }

    /// Where the peer can be reached has become known.
    pub(crate) fn set_endpoint_address(&mut self, endpoint_address: EndpointAddress, now: Instant) {
        self.endpoint_address = Some(endpoint_address);
        if self.line.is_none() {
            self.redial_at = Some(now);
        }
    }

    /// Sends a message if there is room; what the connection does not take is kept. `Ok(false)` if there is no room.
    #[inline]
    pub(crate) fn send(
        &mut self,
        am: &Am<'_>,
        zero_copy: Option<ZeroCopy>,
        bell: &SocketBell,
    ) -> Result<bool, Broken> {
        let cost = if zero_copy.is_some() { 0 } else { am.payload_len() };
        let free = self.gather.is_open() || !self.outbox.has_unwritten();
        if !self.outbox.has_room(cost) || (zero_copy.is_some() && !free) {
            return Ok(false);
        }
        self.courtesy.sent();
        self.outbox.push(am, self.inbox.next(), zero_copy);
        self.inbox.acknowledged();
        let goes = free && self.line.is_some() && !self.gather.takes(am.payload_len());
        let written = if goes { self.write(bell) } else { Ok(()) };
        if zero_copy.is_none() {
            self.outbox.settle();
        }
        written.map(|()| true)
    }

    /// Writes what the connection takes. That the peer has closed it is told by [`TcpLink::poll`], after what came before: a farewell
    /// may be among it, and then there is nothing to mend.
    pub(crate) fn write(&mut self, bell: &SocketBell) -> Result<(), Broken> {
        let Some(line) = self.line.as_mut().filter(|_| self.cut_off.is_none()) else { return Ok(()) };
        let written = self.outbox.write(line);
        let blocked = match written.and_then(|written| Ok(written == Written::Blocked || !line.flush()?)) {
            Ok(blocked) => blocked,
            Err(error) if is_by_peer(&error) => {
                self.cut_off = Some(error);
                return Ok(());
            }
            Err(error) => return Err(error.into()),
        };
        if blocked != self.awaits_room {
            self.awaits_room = blocked;
            bell.change(line.fd(), blocked);
        }
        Ok(())
    }

    /// Takes what has come; answers whether anything had. Zero-copy sends that have ended are added to `done`.
    #[inline]
    pub(crate) fn poll(
        &mut self,
        sink: &mut impl Sink,
        bell: &SocketBell,
        done: &mut Vec<EndedZeroCopy>,
    ) -> Result<bool, Broken> {
        if self.gather.end() {
            self.write(bell)?;
        }
        self.courtesy.polled();
        let owed_answer = self.inbox.is_waited_for();
        let zero_copy = self.outbox.has_zero_copies();
        let Some(line) = &mut self.line else { return Ok(false) };
        let received = self.inbox.receive(line, sink, zero_copy);
        if let Some(ack) = self.inbox.take_ack() {
            self.outbox.acknowledge(ack, done).map_err(|FalseAck| Broken::FalseAck)?;
        }
        let any = received?;
        if !any && let Some(error) = self.cut_off.take() {
            return Err(error.into());
        }
        let due = self.inbox.must_acknowledge() && !self.leaves_it_to_the_reply(owed_answer);
        let waits = due && !self.acknowledge();
        if self.outbox.has_unwritten() || self.awaits_room {
            self.write(bell)?;
            // A note that was half written kept this one waiting, and nothing else may come that would send it.
            if waits && self.acknowledge() {
                self.write(bell)?;
            }
        }
        Ok(any)
    }

    /// Whether the acknowledgement that the peer waits for can go with the program's next message. It saves the message that
    /// would come before that.
    #[inline]
    fn leaves_it_to_the_reply(&mut self, owed_before: bool) -> bool {
        let new = self.inbox.is_waited_for() && !owed_before;
        new && self.courtesy.asked() && !self.inbox.owes_much()
    }

    /// Tells the peer what has come, with a frame of its own. Whether it will be sent: not while another is going out.
    fn acknowledge(&mut self) -> bool {
        let told = self.outbox.add_note(FrameKind::Ack, self.inbox.next());
        if told {
            self.inbox.acknowledged();
        }
        told
    }

    /// The peer is told that this rank goes, by this connection and each that follows: what a connection that breaks has not
    /// delivered, the farewell among it, is not acknowledged, and nothing else makes the peer acknowledge the last frames.
    pub(crate) fn say_goodbye(&mut self, bell: &SocketBell) -> Result<(), Broken> {
        self.leaving = true;
        self.tell(FrameKind::Bye, bell)
    }

    fn tell(&mut self, kind: FrameKind, bell: &SocketBell) -> Result<(), Broken> {
        if self.line.is_none() {
            return Ok(());
        }
        self.outbox.add_note(kind, self.inbox.next());
        self.write(bell)
    }

    /// Uses a connection that has been proved; `next` is the frame that the peer expects.
    pub(crate) fn connect(
        &mut self,
        socket: Socket,
        next: u64,
        seal: Option<Seal>,
        bell: &SocketBell,
        done: &mut Vec<EndedZeroCopy>,
    ) -> Result<(), Broken> {
        self.inbox.rewind();
        self.outbox.rewind(next, done).map_err(|FalseAck| Broken::FalseAck)?;
        bell.change(socket.as_raw_fd(), false);
        let line = match seal {
            None => ProvedWire::Plain(socket),
            Some(Seal { seal, open }) => ProvedWire::Sealed(Box::new(Sealed::new(socket, &seal, &open))),
        };
        self.drop_line(bell);
        self.line = Some(line);
        self.gather.end();
        self.mended += u32::from(self.last_break.is_some());
        (self.dialer, self.redial_at, self.failing) = (None, None, None);
        if self.leaving {
            self.tell(FrameKind::Bye, bell)
        } else if self.returned {
            self.tell(FrameKind::Back, bell)
        } else {
            self.write(bell)
        }
    }

    pub(crate) fn drop_line(&mut self, bell: &SocketBell) {
        if let Some(line) = self.line.take() {
            bell.forget(line.fd());
        }
        self.awaits_room = false;
        self.cut_off = None;
    }

    /// Nobody sleeps: the socket need not tell that something has come.
    pub(crate) fn unregister(&self, bell: &SocketBell) {
        if let Some(line) = self.line.as_ref().filter(|_| !self.awaits_room) {
            bell.unregister(line.fd());
        }
    }

    /// The connection is of no use any more. Dials again unless the peer has gone for good.
    pub(crate) fn disconnect(&mut self, why: &Broken, now: Instant, bell: &SocketBell) {
        self.drop_line(bell);
        self.gather.end();
        self.outbox.unwrite();
        self.last_break = Some(why.to_string());
        if self.parting.is_some() || (self.inbox.peer_goes() && (self.outbox.is_empty() || self.is_foreign()))
        {
            return;
        }
        let patience = if self.has_precedence { 0 } else { HIGHER_WAITS_MS };
        self.redial_at = Some(now + Duration::from_millis(patience));
    }

    /// Whether this rank's own dialling is to be preferred to the peer's: the lower rank's, for a while.
    pub(crate) fn insists(&self, now: Instant) -> bool {
        let dials = |dialer: &Dialer| dialer.age(now) < Duration::from_millis(INSIST_MS);
        self.has_precedence && self.dialer.as_ref().is_some_and(dials)
    }

    /// When to look after the link again.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.dialer.as_ref().map(Dialer::deadline).or(self.redial_at)
    }

    /// Dials, if a connection is wanted.
    pub(crate) fn upkeep(
        &mut self,
        now: Instant,
        identity: &Identity,
        config: &TcpConfig,
        bell: &SocketBell,
        done: &mut Vec<EndedZeroCopy>,
    ) -> Upkeep {
        if self.dialer.is_none()
            && self.redial_at.is_some_and(|at| at <= now)
            && let Some(endpoint_address) = &self.endpoint_address
        {
            let spent = self.failing.as_ref().map_or(Duration::ZERO, |failing| now - failing.since);
            let left = self.patience(config).saturating_sub(spent).max(Duration::from_secs(PATIENCE_MIN_S));
            self.dialer = Some(Dialer::new(endpoint_address, now, left));
            self.redial_at = None;
        }
        let Some(dialer) = &mut self.dialer else { return Upkeep::Fine };
        match dialer.advance(now, &self.whom, identity, self.inbox.next(), bell) {
            Dialled::Pending => Upkeep::Fine,
            Dialled::Yielded => {
                self.dialer = None;
                self.redial_at = Some(now + Duration::from_millis(INSIST_MS));
                Upkeep::Fine
            }
            Dialled::Connected(socket, next, keys) => {
                let seal = keys.map(Seal::dialers);
                match self.connect(socket, next, seal, bell, done) {
                    Ok(()) => Upkeep::Connected,
                    Err(broken) => {
                        self.disconnect(&broken, now, bell);
                        Upkeep::Fine
                    }
                }
            }
            Dialled::Failed => self.attempt_failed(now, config),
        }
    }

    /// Whether the peer has gone, and therefore lacks nothing: it has said so, or its door is shut when all go.
    pub(crate) fn has_gone(&self) -> bool {
        self.line.is_none() && (self.inbox.peer_goes() || self.departed)
    }

    /// How long it is tried to reach the peer, at the first time or again.
    fn patience(&self, config: &TcpConfig) -> Duration {
        match self.last_break {
            None => Duration::from_secs(UNREACHABLE_S),
            Some(_) => config.peer_timeout(),
        }
    }

    fn attempt_failed(&mut self, now: Instant, config: &TcpConfig) -> Upkeep {
        let Some(dialer) = self.dialer.take() else { return Upkeep::Fine };
        if self.leaving && dialer.all_refused {
            self.departed = true;
            return Upkeep::Fine;
        }
        let first = Failing {
            since: now - dialer.age(now),
            attempts: 0,
            refused: true,
            dialled: Duration::ZERO,
            backoff: Duration::from_millis(REDIAL_MS),
        };
        let limit = self.patience(config);
        let failing = self.failing.get_or_insert(first);
        failing.attempts += 1;
        failing.refused &= dialer.all_refused;
        failing.dialled += dialer.age(now);
        // A rank that computes for long between its calls has not tried for as long.
        // No launcher sees to it that worlds end together. Of a process whose machine says that it is gone no more is expected.
        if self.whom.is_foreign() && dialer.all_refused && failing.attempts >= REFUSALS_MAX {
            return Upkeep::Lost(self.explain(&dialer));
        }
        // Who ends the job's ranks knows more, and is quicker; where nobody does, a rank that is gone is not waited for.
        let is_refused = failing.refused && failing.attempts >= REFUSALS_MAX;
        if is_refused && now.saturating_duration_since(failing.since) >= Duration::from_secs(REFUSED_S) {
            return Upkeep::Lost(self.explain(&dialer));
        }
        let tried_enough = failing.attempts >= ATTEMPTS_MIN || 2 * failing.dialled >= limit;
        let before_the_next = now.saturating_duration_since(failing.since) + failing.backoff;
        if tried_enough && before_the_next >= limit {
            return Upkeep::Lost(self.explain(&dialer));
        }
        self.redial_at = Some(now + failing.backoff);
        failing.backoff = (2 * failing.backoff).min(Duration::from_millis(REDIAL_MS_MAX));
        Upkeep::Fine
    }

    fn explain(&self, dialer: &Dialer) -> String {
        let tried = match dialer.tried.is_empty() {
            true => "its endpoint address names no address".into(),
            false => what_was_tried(&dialer.tried),
        };
        match &self.last_break {
            None => format!("{} cannot be reached over TCP; tried {tried}", self.whom),
            Some(why) => format!(
                "the connection to {} broke ({why}) and could not be made again; tried {tried}",
                self.whom
            ),
        }
    }

    /// Whether the peer's machine has stopped acknowledging what is on its way.
    pub(crate) fn is_silent(&self) -> bool {
        self.line.as_ref().is_some_and(|line| is_silent(line.socket()))
    }
}

/// Whether the peer's end of a connection is gone, and not this one's memory at fault.
fn is_by_peer(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset)
}

/// Addresses that failed for the same reason stand together.
pub(crate) fn what_was_tried(tried: &[(SocketAddr, String)]) -> String {
    let runs = tried.chunk_by(|one, next| one.1 == next.1).map(|run| {
        let addresses: Vec<String> = run.iter().map(|(address, _)| address.to_string()).collect();
        format!("{}: {}", addresses.join(", "), run[0].1)
    });
    runs.collect::<Vec<_>>().join("; ")
}

/// The keys of this end's two directions.
pub(crate) struct Seal {
    seal: ConnectionKey,
    open: ConnectionKey,
}

impl Seal {
    pub(crate) fn dialers(keys: ConnectionKeys) -> Self {
        Seal { seal: keys.dialer, open: keys.acceptor }
    }

    pub(crate) fn acceptors(keys: ConnectionKeys) -> Self {
        Seal { seal: keys.acceptor, open: keys.dialer }
    }

    /// That of what is sent, and that of what comes.
    pub(crate) fn keys(&self) -> (&ConnectionKey, &ConnectionKey) {
        (&self.seal, &self.open)
    }
}

/// Asked of the kernel, since a peer that computes acknowledges nothing itself. Probes of a full window count as
/// acknowledged: only what is on its way can be silent.
fn is_silent(socket: &Socket) -> bool {
    TcpInfo::of(socket).is_ok_and(|info| {
        info.unacked > 0
            && u64::from(info.heard_ms) >= 1000 * SILENT_S
            && u64::from(info.sent_ms) >= 1000 * SILENT_S / 2
    })
}

//! One peer: what is sent and received, over whichever connection there is, and how the next one comes about.

use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

use super::bell::SocketBell;
use super::card::Card;
use super::dialer::{Dialer, Dialled, Identity};
use super::frame::Kind;
use super::gather::Gather;
use super::handshake::{Key, Keys};
use super::inbox::{Broken, Inbox};
use super::info::Info;
use super::outbox::{Ended, FalseAck, Loan, Outbox, Written};
use super::sealed::Sealed;
use super::wire::Line;
use crate::config::TcpConfig;
use crate::limits::*;
use crate::{Am, Peer, Sink};
use socket2::Socket;

/// The link to one peer.
pub(crate) struct Link {
    peer: Peer,
    pub outbox: Outbox,
    pub inbox: Inbox,
    line: Option<Line>,
    gather: Gather,
    courtesy: Courtesy,
    /// The socket is watched for room.
    awaits_room: bool,
    /// Where the peer can be reached, once that is known.
    card: Option<Card>,
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

/// Rounds of dialling that have failed since the last connection.
struct Failing {
    since: Instant,
    rounds: u32,
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

impl Link {
    pub(crate) fn new(peer: Peer, config: &TcpConfig) -> Self {
        Link {
            peer,
            outbox: Outbox::new(config.checksum, config.encrypt),
            inbox: Inbox::new(peer),
            line: None,
            gather: Gather::default(),
            courtesy: Courtesy::default(),
            awaits_room: false,
            card: None,
            dialer: None,
            redial_at: None,
            failing: None,
            last_break: None,
            mended: 0,
            leaving: false,
            departed: false,
        }
    }

    pub(crate) fn fd(&self) -> Option<i32> {
        self.line.as_ref().map(Line::fd)
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

    /// Whether frames or an acknowledgement wait for the program's next step.
    pub(crate) fn holds_back(&self) -> bool {
        self.gather.is_open() || self.owes_answer()
    }

    /// Whether something waits for the next poll, of which the socket does not tell.
    pub(crate) fn wants_poll(&self) -> bool {
        self.holds_back() || self.has_bytes()
    }

    /// Whether bytes have been read and not looked at: the socket does not tell of them.
    pub(crate) fn has_bytes(&self) -> bool {
        self.inbox.has_bytes() || self.line.as_ref().is_some_and(Line::has_bytes)
    }

    /// Whether a connection is wanted or on its way.
    pub(crate) fn needs_upkeep(&self) -> bool {
        self.line.is_none() && (self.dialer.is_some() || self.redial_at.is_some())
    }

    /// Where the peer can be reached has become known.
    pub(crate) fn set_card(&mut self, card: Card, now: Instant) {
        self.card = Some(card);
        if self.line.is_none() {
            self.redial_at = Some(now);
        }
    }

    /// Sends a message if there is room; what the connection does not take is kept. `Ok(false)` if there is no room.
    #[inline]
    pub(crate) fn send(
        &mut self,
        am: &Am<'_>,
        loan: Option<Loan>,
        bell: &SocketBell,
    ) -> Result<bool, Broken> {
        let cost = if loan.is_some() { 0 } else { am.payload_len() };
        let free = self.gather.is_open() || !self.outbox.has_unwritten();
        if !self.outbox.has_room(cost) || (loan.is_some() && !free) {
            return Ok(false);
        }
        self.courtesy.sent();
        self.outbox.push(am, self.inbox.next(), loan);
        self.inbox.acknowledged();
        let goes = free && self.line.is_some() && !self.gather.takes(am.payload_len());
        let written = if goes { self.write(bell) } else { Ok(()) };
        if loan.is_none() {
            self.outbox.settle();
        }
        written.map(|()| true)
    }

    /// Writes what the connection takes.
    pub(crate) fn write(&mut self, bell: &SocketBell) -> Result<(), Broken> {
        let Some(line) = &mut self.line else { return Ok(()) };
        let written = self.outbox.write(line)?;
        let blocked = written == Written::Blocked || !line.flush()?;
        if blocked != self.awaits_room {
            self.awaits_room = blocked;
            bell.change(line.fd(), blocked);
        }
        Ok(())
    }

    /// Takes what has come; answers whether anything had. Loans that have ended are added to `done`.
    #[inline]
    pub(crate) fn poll(
        &mut self,
        sink: &mut impl Sink,
        bell: &SocketBell,
        done: &mut Vec<Ended>,
    ) -> Result<bool, Broken> {
        if self.gather.end() {
            self.write(bell)?;
        }
        self.courtesy.polled();
        let owed_answer = self.inbox.is_waited_for();
        let lent = self.outbox.lends();
        let Some(line) = &mut self.line else { return Ok(false) };
        let received = self.inbox.receive(line, sink, lent);
        if let Some(ack) = self.inbox.take_ack() {
            self.outbox.acknowledge(ack, done).map_err(|FalseAck| Broken::FalseAck)?;
        }
        let any = received?;
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
        let told = self.outbox.add_note(Kind::Ack, self.inbox.next());
        if told {
            self.inbox.acknowledged();
        }
        told
    }

    /// The peer is told that this rank goes, by this connection and each that follows: what a connection that breaks has not
    /// delivered, the farewell among it, is not acknowledged, and nothing else makes the peer acknowledge the last frames.
    pub(crate) fn say_goodbye(&mut self, bell: &SocketBell) -> Result<(), Broken> {
        self.leaving = true;
        if self.line.is_none() {
            return Ok(());
        }
        self.outbox.add_note(Kind::Bye, self.inbox.next());
        self.write(bell)
    }

    /// Uses a connection that has been proved; `next` is the frame that the peer expects.
    pub(crate) fn connect(
        &mut self,
        socket: Socket,
        next: u64,
        seal: Option<Seal>,
        bell: &SocketBell,
        done: &mut Vec<Ended>,
    ) -> Result<(), Broken> {
        self.inbox.rewind();
        self.outbox.rewind(next, done).map_err(|FalseAck| Broken::FalseAck)?;
        bell.change(socket.as_raw_fd(), false);
        let line = match seal {
            None => Line::Plain(socket),
            Some(Seal { seal, open }) => Line::Sealed(Box::new(Sealed::new(socket, &seal, &open))),
        };
        self.drop_line(bell);
        self.line = Some(line);
        self.gather.end();
        self.mended += u32::from(self.last_break.is_some());
        (self.dialer, self.redial_at, self.failing) = (None, None, None);
        if self.leaving {
            return self.say_goodbye(bell);
        }
        self.write(bell)
    }

    fn drop_line(&mut self, bell: &SocketBell) {
        if let Some(line) = self.line.take() {
            bell.forget(line.fd());
        }
        self.awaits_room = false;
    }

    /// Nobody sleeps: the socket need not tell that something has come.
    pub(crate) fn let_be(&self, bell: &SocketBell) {
        if let Some(line) = self.line.as_ref().filter(|_| !self.awaits_room) {
            bell.let_be(line.fd());
        }
    }

    /// The connection is of no use any more. Dials again unless the peer has gone for good.
    pub(crate) fn disconnect(&mut self, why: &Broken, me: Peer, now: Instant, bell: &SocketBell) {
        self.drop_line(bell);
        self.gather.end();
        self.outbox.unwrite();
        self.last_break = Some(why.to_string());
        if self.inbox.peer_goes() && self.outbox.is_empty() {
            return;
        }
        let patience = if me < self.peer { 0 } else { HIGHER_WAITS_MS };
        self.redial_at = Some(now + Duration::from_millis(patience));
    }

    /// Whether this rank's own dialling is to be preferred to the peer's: the lower rank's, for a while.
    pub(crate) fn insists(&self, me: Peer, now: Instant) -> bool {
        let dials = |dialer: &Dialer| dialer.age(now) < Duration::from_millis(INSIST_MS);
        me < self.peer && self.dialer.as_ref().is_some_and(dials)
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
        done: &mut Vec<Ended>,
    ) -> Upkeep {
        if self.dialer.is_none()
            && self.redial_at.is_some_and(|at| at <= now)
            && let Some(card) = &self.card
        {
            let spent = self.failing.as_ref().map_or(Duration::ZERO, |failing| now - failing.since);
            let left = self.patience(config).saturating_sub(spent).max(Duration::from_secs(PATIENCE_MIN_S));
            self.dialer = Some(Dialer::new(self.peer, card, now, left));
            self.redial_at = None;
        }
        let Some(dialer) = &mut self.dialer else { return Upkeep::Fine };
        match dialer.advance(now, identity, self.inbox.next(), bell) {
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
                        self.disconnect(&broken, identity.me, now, bell);
                        Upkeep::Fine
                    }
                }
            }
            Dialled::Failed => self.round_failed(now, config),
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

    fn round_failed(&mut self, now: Instant, config: &TcpConfig) -> Upkeep {
        let Some(dialer) = self.dialer.take() else { return Upkeep::Fine };
        if self.leaving && dialer.all_refused {
            self.departed = true;
            return Upkeep::Fine;
        }
        let first = Failing {
            since: now - dialer.age(now),
            rounds: 0,
            dialled: Duration::ZERO,
            backoff: Duration::from_millis(REDIAL_MS),
        };
        let limit = self.patience(config);
        let failing = self.failing.get_or_insert(first);
        failing.rounds += 1;
        failing.dialled += dialer.age(now);
        // A rank that computes for long between its calls has not tried for as long.
        let tried_enough = failing.rounds >= ROUNDS_MIN || 2 * failing.dialled >= limit;
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
            true => "its card names no address".into(),
            false => what_was_tried(&dialer.tried),
        };
        match &self.last_break {
            None => format!("rank {} cannot be reached over TCP; tried {tried}", self.peer),
            Some(why) => format!(
                "the connection to rank {} broke ({why}) and could not be made again; tried {tried}",
                self.peer
            ),
        }
    }

    /// Whether the peer's machine has stopped acknowledging what is on its way.
    pub(crate) fn is_silent(&self) -> bool {
        self.line.as_ref().is_some_and(|line| is_silent(line.socket()))
    }
}

/// Addresses that failed for the same reason stand together.
fn what_was_tried(tried: &[(SocketAddr, String)]) -> String {
    let runs = tried.chunk_by(|one, next| one.1 == next.1).map(|run| {
        let addresses: Vec<String> = run.iter().map(|(address, _)| address.to_string()).collect();
        format!("{}: {}", addresses.join(", "), run[0].1)
    });
    runs.collect::<Vec<_>>().join("; ")
}

/// The keys of this end's two directions.
pub(crate) struct Seal {
    seal: Key,
    open: Key,
}

impl Seal {
    pub(crate) fn dialers(keys: Keys) -> Self {
        Seal { seal: keys.dialer, open: keys.porter }
    }

    pub(crate) fn porters(keys: Keys) -> Self {
        Seal { seal: keys.porter, open: keys.dialer }
    }
}

/// Asked of the kernel, since a peer that computes acknowledges nothing itself. Probes of a full window count as
/// acknowledged: only what is on its way can be silent.
fn is_silent(socket: &Socket) -> bool {
    Info::of(socket).is_ok_and(|info| {
        info.unacked > 0
            && u64::from(info.heard_ms) >= 1000 * SILENT_S
            && u64::from(info.sent_ms) >= 1000 * SILENT_S / 2
    })
}

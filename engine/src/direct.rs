//! The shortest way of a blocking receive: no request is made where its message is the next one to arrive anyway, as in a
//! program that receives one message after the other from a sender who is ahead. Other receives may have been posted, and
//! messages for others may wait.

use crate::arrival::{can_match, envelope};
use crate::engine::{Engine, EngineCore};
use crate::limits::TAKEN_IN_A_ROW_MAX;
use crate::matching::{Envelope, Pattern};
use crate::peers::SHORT_UNITS;
use crate::request::{RequestId, Status};
use crate::send::StartedMessage;
use crate::wire::HeaderKind;
use tern_mem::{ContiguousBuf, UserBuf};
use tern_transport::{
    Header, Landing, Peer, ShortPayload, Sink, Token, TransferError, Transport, WholeLanding,
};

impl<T: Transport> Engine<T> {
    /// Starts a receive and polls until something arrives, so often at most and at least once. It is over if what arrives first
    /// is a short message for it, and for no receive that was posted before. `None`: its message has come already, so nothing
    /// has happened. Types are not checked.
    #[inline(always)]
    pub fn receive_next(
        &mut self,
        pattern: Pattern,
        buf: &UserBuf,
        polls_max: u32,
    ) -> Option<StartedMessage> {
        if !self.core.unexpected.is_empty() && self.core.has_come(pattern) {
            return None;
        }
        // What is still to be moved on must not wait for it.
        let mut polls_more = if self.core.has_nothing_to_do() { polls_max.saturating_sub(1) } else { 0 };
        let others = !self.core.posted.is_empty();
        let mut direct = Direct { core: &mut self.core, pattern, buf, others, got: None, posted: None };
        let mut arrived = self.transport.poll(&mut direct);
        while !arrived && polls_more > 0 {
            polls_more -= 1;
            arrived = self.transport.poll(&mut direct);
        }
        let Direct { got, posted, .. } = direct;
        self.follow(arrived);
        Some(match (got, posted) {
            (Some(status), _) => StartedMessage::Done(status),
            (None, Some(id)) => StartedMessage::Pending(id),
            (None, None) => StartedMessage::Pending(self.core.post(pattern, buf.clone(), 0)),
        })
    }
}

impl<T: Transport> Engine<T> {
    /// The shortest way of a blocking receive from one peer: its message is the next one of that peer's, is here, short and as it
    /// should be, and nothing else is waited for or waits. Answers with the message's envelope and bytes. `None`: nothing has happened. Types are
    /// not checked. `BY_ROUTE`: it may take a few instructions more to find the peer's route.
    #[inline(always)]
    pub fn take_next<const BY_ROUTE: bool>(
        &mut self,
        peer: Peer,
        pattern: Pattern,
        buf: ContiguousBuf,
    ) -> Option<(Envelope, usize)> {
        let core = &mut self.core;
        core.taken_in_a_row = core.taken_in_a_row.wrapping_add(1);
        if core.taken_in_a_row.is_multiple_of(TAKEN_IN_A_ROW_MAX) || !core.has_nothing_but_this() {
            return None;
        }
        // Only here: within one world the same by a function takes a tenth more instructions.
        if BY_ROUTE {
            return self.transport.take_short_by_route(peer, |header, payload| {
                let taken = land(&header, &payload, &pattern, buf)?;
                core.took_short(peer, header.credits);
                Some(taken)
            });
        }
        let (header, payload) = self.transport.next_short(peer)?;
        let taken = land(&header, &payload, &pattern, buf)?;
        self.transport.pass_short(peer);
        core.took_short(peer, header.credits);
        Some(taken)
    }

    /// Where [`Engine::take_next`] has found nothing: looks up to so many times whether the peer's next message has come. False also if
    /// there is anything else to do.
    #[inline]
    pub fn await_next(&mut self, peer: Peer, looks: u32) -> bool {
        self.core.has_nothing_but_this() && self.transport.await_next(peer, looks)
    }
}

/// A message that is one for this receive goes to its buffer.
#[inline(always)]
fn land(
    header: &Header,
    payload: &ShortPayload<'_>,
    pattern: &Pattern,
    buf: ContiguousBuf,
) -> Option<(Envelope, usize)> {
    let (envelope, bytes) = (envelope(header), payload.len());
    (is_plain(header) && pattern.fits(&envelope) && payload.write_to(buf)).then_some((envelope, bytes))
}

/// Whether it is a message of the program's that asks for nothing else, and could match.
#[inline(always)]
fn is_plain(header: &Header) -> bool {
    header.kind == HeaderKind::Eager as u8 && header.flags == 0 && can_match(header)
}

impl EngineCore {
    /// No receive and no message waits, nor anything that is to be moved on.
    #[inline(always)]
    fn has_nothing_but_this(&self) -> bool {
        self.unexpected.is_empty() && self.posted.is_empty() && self.has_nothing_to_do()
    }

    /// A message has gone straight to its receive.
    #[inline(always)]
    fn took(&mut self, from: Peer, credits: u16, len: usize) {
        if credits != 0 {
            self.earn(from, credits);
        }
        self.owe(from, len);
    }

    /// The same of one that fits beside its header.
    #[inline(always)]
    fn took_short(&mut self, from: Peer, credits: u16) {
        let (window, due) = (self.peers.window(), self.peers.owed_max());
        let Some(state) = self.peers.get_dense(from) else {
            return self.took(from, credits, 0);
        };
        if credits != 0 {
            state.earn(credits, window);
        }
        if state.owe(SHORT_UNITS, due) {
            self.refill_later(from);
        }
    }

    #[inline(never)]
    fn has_come(&mut self, pattern: Pattern) -> bool {
        self.unexpected.find(&pattern).is_some()
    }
}

/// What takes the messages of that poll: the one receive, and the engine for all that is not for it.
struct Direct<'a> {
    core: &'a mut EngineCore,
    pattern: Pattern,
    buf: &'a UserBuf,
    /// Other receives were posted before: what comes may be for one of them.
    others: bool,
    got: Option<Status>,
    /// Something else came before: the receive is among the engine's then, so that no message overtakes another.
    posted: Option<RequestId>,
}

impl Sink for Direct<'_> {
    #[inline(always)]
    fn short(&mut self, from: Peer, header: &Header, payload: &[u8]) {
        if self.others || !self.take(from, header, payload) {
            let header = *header;
            self.short_for_some(from, &header, payload);
        }
    }

    fn header(&mut self, from: Peer, header: &Header, len: usize) -> Landing {
        self.engine().header(from, header, len)
    }

    #[inline]
    fn whole(&mut self, from: Peer, header: &Header, len: usize) -> WholeLanding {
        if let Some(run) = self.take_whole(from, header, len) {
            return WholeLanding::Now(run);
        }
        self.engine().whole(from, header, len)
    }

    fn landed(&mut self, from: Peer, token: Token) {
        self.engine().landed(from, token);
    }

    fn spoiled(&mut self, from: Peer, token: Token, error: TransferError) {
        self.engine().spoiled(from, token, error);
    }

    #[inline(always)]
    fn backpressure(&self) -> bool {
        self.got.is_some() || (self.posted.is_some() && self.core.backpressure())
    }

    fn done(&mut self, token: Token, result: Result<(), TransferError>) {
        self.engine().done(token, result);
    }

    fn nearer(&mut self, peer: Peer) {
        self.core.nearer(peer);
    }
}

impl Direct<'_> {
    /// Whether it is plain and the one that is waited for, if nobody else waits for it.
    #[inline(always)]
    fn is_next(&self, header: &Header, envelope: &Envelope) -> bool {
        let waits = self.got.is_none() && self.posted.is_none();
        is_plain(header) && waits && self.pattern.fits(envelope)
    }

    /// Takes a message if it is plain and the one that is waited for; nobody else may wait for it. Whether it was.
    #[inline(always)]
    fn take(&mut self, from: Peer, header: &Header, payload: &[u8]) -> bool {
        let envelope = envelope(header);
        if !(self.is_next(header, &envelope) && self.buf.write_to_contiguous(payload)) {
            return false;
        }
        self.core.took(from, header.credits, payload.len());
        self.got = Some(Status::of(&envelope, payload.len() as u64));
        true
    }

    /// The same of a longer one: where it goes.
    #[inline(always)]
    fn take_whole(&mut self, from: Peer, header: &Header, len: usize) -> Option<ContiguousBuf> {
        let envelope = envelope(header);
        if !self.is_next(header, &envelope) || (self.others && self.core.posted.has_one_for(&envelope)) {
            return None;
        }
        let run = self.buf.run_at_start(len)?;
        self.core.took(from, header.credits, len);
        self.got = Some(Status::of(&envelope, len as u64));
        Some(run)
    }

    #[cold]
    #[inline(never)]
    fn short_for_some(&mut self, from: Peer, header: &Header, payload: &[u8]) {
        let may_be_own = self.others && !self.core.posted.has_one_for(&envelope(header));
        if !may_be_own || !self.take(from, header, payload) {
            self.engine().short(from, header, payload);
        }
    }

    /// The engine, which knows of the receive from now on, unless that is over.
    fn engine(&mut self) -> &mut EngineCore {
        if self.got.is_none() && self.posted.is_none() {
            self.posted = Some(self.core.post(self.pattern, self.buf.clone(), 0));
        }
        self.core
    }
}

//! The sender's side: from a call to the transport.
//!
//! The protocol follows from mode, size and credits (DESIGN section 3; the T3D paper's figure 2; MPI-LAPI
//! section 4.2). The common case, a short or eager message to a peer whose FIFO is empty, is [`Engine::send`] itself.

use crate::engine::{Engine, transmit, transmit_by};
use crate::matching::{Envelope, Pattern};
use crate::peers::{FifoEntry, SHORT_UNITS, cost_units};
use crate::protocol::{EagerLimits, Mode, OutgoingMessage, begins_as};
use crate::request::{EngineRequest, MessageFault, Outgoing, RequestId, RequestState, Status, token};
use crate::slab::Id;
use crate::wire::{ExtendedHeader, FLAG_READY_MODE, FLAG_SIGNED, HeaderKind, Offer};
use tern_mem::{ContiguousBuf, UserBuf};
use tern_transport::{AM_INLINE_BYTES_MAX, Am, Full, Header, Peer, Transport};

/// What became of a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StartedMessage {
    /// It is complete.
    Done(Status),
    /// It goes on as a request.
    Pending(RequestId),
}

impl<T: Transport> Engine<T> {
    /// Sends `buf` to `peer`. `signature` is the type signature if types are checked, else 0.
    #[inline]
    pub fn send(
        &mut self,
        mode: Mode,
        peer: Peer,
        envelope: Envelope,
        buf: &UserBuf,
        signature: u64,
    ) -> StartedMessage {
        if mode != Mode::Synchronous && signature == 0 && self.send_at_once(mode, peer, envelope, buf) {
            self.core.count_send(peer, Outgoing::Eager { flags: 0 }, buf.len());
            return StartedMessage::Done(Status::EMPTY);
        }
        self.send_by_request(mode, peer, envelope, buf, signature)
    }

    /// Sends a short or eager message if nothing is in its way: the FIFO is empty, credits are left, the transport
    /// has room. Otherwise nothing has happened. Not for synchronous mode, nor for messages with a signature.
    #[inline(always)]
    pub fn send_at_once(&mut self, mode: Mode, peer: Peer, envelope: Envelope, buf: &UserBuf) -> bool {
        let Some(state) = self.core.peers.get(peer) else { return false };
        let units = cost_units(buf.len());
        if buf.len() > state.eager_bytes_max as usize || !state.backlog.is_empty() || !state.spend(units) {
            return false;
        }
        let flags = if mode == Mode::Ready { FLAG_READY_MODE } else { 0 };
        let mut am = message(HeaderKind::Eager, flags, &envelope, &[], buf);
        am.header.credits = state.owed_for_header();
        if self.transport.send(peer, &am).is_err() {
            state.refund(units);
            return false;
        }
        state.gave_back(am.header.credits);
        true
    }

    /// As [`Engine::send_at_once`], for a message in standard mode that fits beside its header: the shortest way of all, for which nothing
    /// is kept in memory but what is sent. By route, peers of other worlds and of a network are reached too.
    #[inline(always)]
    pub fn send_short<const BY_ROUTE: bool>(
        &mut self,
        peer: Peer,
        envelope: Envelope,
        buf: ContiguousBuf,
    ) -> bool {
        let state = if BY_ROUTE { self.core.peers.get(peer) } else { self.core.peers.get_dense(peer) };
        let Some(state) = state else { return false };
        let short = buf.len() <= AM_INLINE_BYTES_MAX && buf.len() <= state.eager_bytes_max as usize;
        if !short || !state.backlog.is_empty() || state.credits < SHORT_UNITS {
            return false;
        }
        let credits = state.owed_for_header();
        let header = plain_header(envelope, credits);
        let sent = match BY_ROUTE {
            false => self.transport.send_short(peer, &header, buf),
            true => self.transport.send_short_by_route(peer, &header, buf),
        };
        if !sent {
            return false;
        }
        state.credits -= SHORT_UNITS;
        state.gave_back(credits);
        true
    }

    /// As [`Engine::send_short`] by route, for a message of more bytes that goes by lines of memory.
    #[inline]
    pub fn send_run(&mut self, peer: Peer, envelope: Envelope, buf: ContiguousBuf) -> bool {
        let Some(state) = self.core.peers.get(peer) else { return false };
        let units = cost_units(buf.len());
        if buf.len() > state.eager_bytes_max as usize || !state.backlog.is_empty() || state.credits < units {
            return false;
        }
        let credits = state.owed_for_header();
        let header = plain_header(envelope, credits);
        if !self.transport.send_run(peer, &header, buf) {
            return false;
        }
        state.credits -= units;
        state.gave_back(credits);
        true
    }

    /// The general case: a request, which goes at once if nothing is before it in the peer's FIFO and the transport has room.
    #[cold]
    fn send_by_request(
        &mut self,
        mode: Mode,
        peer: Peer,
        envelope: Envelope,
        buf: &UserBuf,
        signature: u64,
    ) -> StartedMessage {
        let bad = self.transport.take_bad_send(peer);
        let outgoing = self.choose(mode, peer, buf, signature);
        self.core.count_send(peer, outgoing, buf.len());
        let Envelope { context, source, tag } = envelope;
        let pattern = Pattern { context, source, tag };
        let (id, request) = self.core.requests.occupy();
        request.begin(RequestState::Queued(outgoing), pattern, buf.clone(), signature);
        request.peer = peer;
        if let Some(error) = bad {
            request.status.fault = Some(MessageFault::Transfer(error));
            self.core.complete(id);
            return StartedMessage::Pending(id);
        }
        let waits = self.core.peers.get(peer).is_some_and(|state| !state.backlog.is_empty());
        if waits || self.send_queued(peer, id).is_err() {
            self.core.enqueue(peer, FifoEntry::Send(id));
            self.flush(peer);
        }
        // Whoever asks for the request learns what went wrong.
        match self.core.requests.get(id) {
            Some(request) if request.status.fault.is_some() => StartedMessage::Pending(id),
            _ => self.started(id),
        }
    }

    /// How a message begins, whose credits are spent then.
    fn choose(&mut self, mode: Mode, peer: Peer, buf: &UserBuf, signature: u64) -> Outgoing {
        let len = buf.len();
        let zero_copy = self.transport.zero_copy_eager_bytes_max(peer);
        let zero_copy = self.settings().zero_copy_bytes_max(zero_copy);
        let copied = self.copied_bytes_max(peer, len);
        let state = self.peer_state(peer);
        let limits = EagerLimits { copied, zero_copy };
        let message = OutgoingMessage { mode, len, signed: signature != 0 };
        match begins_as(message, limits, || buf.as_contiguous().is_some()) {
            offer @ Outgoing::Offer { .. } => offer,
            at_once if state.spend(cost_units(len)) => at_once,
            _ => {
                self.core.tally(|counters| counters.credits_ran_out += 1);
                Outgoing::Offer { flags: if mode == Mode::Ready { FLAG_READY_MODE } else { 0 } }
            }
        }
    }

    /// Bytes up to which a message of `len` bytes goes at once and is copied. Only a longer one asks what the transport has at hand.
    fn copied_bytes_max(&mut self, peer: Peer, len: usize) -> usize {
        let state = self.peer_state(peer);
        let (limits, usual) = (state.limits, state.eager_bytes_max as usize);
        if len <= usual {
            return usual;
        }
        let at_hand = self.transport.eager_bytes_at_hand(peer);
        self.settings().eager_bytes_at_hand(&limits, at_hand).max(usual)
    }

    /// What to tell the caller of a request that has just been made.
    pub(crate) fn started(&mut self, id: RequestId) -> StartedMessage {
        match self.test(id) {
            Some(status) => StartedMessage::Done(status),
            None => StartedMessage::Pending(id),
        }
    }

    /// Sends what is next in a FIFO, if the transport takes it.
    pub(crate) fn send_queued(&mut self, peer: Peer, id: Id) -> Result<(), Full> {
        let Some(request) = self.core.requests.get_mut(id) else { return Ok(()) };
        let RequestState::Queued(mut outgoing) = request.state else { return Ok(()) };
        if let Outgoing::ZeroCopy { flags } = outgoing {
            let len = request.buf.len();
            if len > self.transport.zero_copy_eager_bytes_max(peer) {
                // The transport has found meanwhile that it cannot do without a copy.
                outgoing = Outgoing::Offer { flags };
                request.state = RequestState::Queued(outgoing);
                let window = self.core.peers.window();
                if let Some(state) = self.core.peers.get(peer) {
                    state.refund_late(cost_units(len), window);
                }
            }
        }
        let Pattern { context, source, tag } = request.pattern;
        let envelope = Envelope { context, source, tag };
        let empty = UserBuf::empty();
        let signed = request.signature != 0;
        let (kind, flags, extended, body) = match outgoing {
            Outgoing::Eager { flags } if signed => (
                HeaderKind::Eager,
                flags | FLAG_SIGNED,
                ExtendedHeader::EMPTY.with(request.signature),
                &request.buf,
            ),
            Outgoing::Eager { flags } | Outgoing::ZeroCopy { flags } => {
                (HeaderKind::Eager, flags, ExtendedHeader::EMPTY, &request.buf)
            }
            Outgoing::EagerSync => {
                (HeaderKind::EagerSync, 0, ExtendedHeader::EMPTY.with_id(id), &request.buf)
            }
            Outgoing::Offer { flags } => (HeaderKind::Offer, flags, offer(id, request).extended(), &empty),
        };
        let mut am = message(kind, flags, &envelope, extended.bytes(), body);
        let (transport, peers) = (&mut self.transport, &mut self.core.peers);
        if let Outgoing::ZeroCopy { .. } = outgoing {
            let done = Some(token(id));
            transmit_by(transport, peers, peer, &mut am, |transport, am| {
                transport.send_zero_copy(peer, am, done)
            })?;
        } else if let Err(full) = transmit(transport, peers, peer, &mut am) {
            let error = self.transport.take_bad_send(peer).ok_or(full)?;
            request.status.fault = Some(MessageFault::Transfer(error));
            self.core.complete(id);
            return Ok(());
        }
        match outgoing {
            Outgoing::Eager { .. } => self.core.complete(id),
            // The peer has to have it first.
            Outgoing::ZeroCopy { .. } => request.state = RequestState::Transfers { answer: None },
            Outgoing::EagerSync => request.state = RequestState::AwaitsAck,
            Outgoing::Offer { .. } => request.state = RequestState::AwaitsReady,
        }
        Ok(())
    }
}

fn offer(id: Id, request: &EngineRequest) -> Offer {
    let addr = request.buf.as_contiguous().map_or(0, |(addr, _)| addr as u64);
    Offer { sender: id, len: request.buf.len() as u64, addr, signature: request.signature }
}

#[inline(always)]
pub(crate) fn message<'a>(
    kind: HeaderKind,
    flags: u8,
    envelope: &Envelope,
    extended: &'a [u8],
    body: &'a UserBuf,
) -> Am<'a> {
    let header = Header {
        kind: kind as u8,
        flags,
        credits: 0,
        context: envelope.context,
        source: envelope.source,
        tag: envelope.tag,
    };
    Am { header, extended, body, offset: 0, len: body.len() }
}

/// Of a message that asks for nothing else.
#[inline(always)]
fn plain_header(envelope: Envelope, credits: u16) -> Header {
    let Envelope { context, source, tag } = envelope;
    Header { kind: HeaderKind::Eager as u8, flags: 0, credits, context, source, tag }
}

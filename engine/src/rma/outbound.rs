//! A message on its way out, in as many pieces as it takes. It keeps its place in the peer's FIFO until its last piece is out, so that
//! what comes later never overtakes it.

use super::AccessFault;
use crate::engine::{Engine, transmit};
use crate::peers::FifoEntry;
use crate::request::MessageFault;
use crate::slab::Id;
use crate::wire::{ExtendedHeader, HeaderKind};
use tern_mem::UserBuf;
use tern_transport::{Am, Full, Header, Peer, Token, TransferError, Transport};

/// The message.
#[derive(Debug)]
pub(crate) struct OutboundRma {
    /// Of the first piece; the context counts up by the bytes that are out.
    pub header: Header,
    pub extended: ExtendedHeader,
    /// What follows the extended header of each piece.
    pub then: Then,
    pub body: UserBuf,
    pub sent: usize,
    pub until: usize,
    /// Bytes of a piece at most.
    pub piece: usize,
    /// The body stays as it is until the peer has it, and is not copied.
    pub zero_copy: bool,
    /// Done when all is out.
    pub request: Option<Id>,
    /// The request that the answers to all pieces complete.
    pub result: Option<Id>,
    /// The window that learns of a fault.
    pub window: Option<Id>,
}

/// What the extended header of a piece ends with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Then {
    /// Nothing.
    Nothing,
    /// The offset of the piece.
    Offset,
    /// Its offset and its bytes, in place of the body.
    OffsetAndBytes,
}

impl OutboundRma {
    /// One message with an extended header only.
    pub(crate) fn bare(kind: HeaderKind, source: u32, tag: i32, extended: ExtendedHeader) -> OutboundRma {
        let header = Header { kind: kind as u8, source, tag, ..Header::default() };
        OutboundRma {
            header,
            extended,
            then: Then::Nothing,
            body: UserBuf::empty(),
            sent: 0,
            until: 0,
            piece: 0,
            zero_copy: false,
            request: None,
            result: None,
            window: None,
        }
    }

    /// The same with a body, in pieces of so many bytes.
    pub(crate) fn with(self, body: UserBuf, piece: usize) -> OutboundRma {
        OutboundRma { until: body.len(), body, piece, ..self }
    }

    fn extended_at(&self, len: usize) -> ExtendedHeader {
        match self.then {
            Then::Nothing => self.extended,
            Then::Offset => self.extended.with(self.sent as u64),
            Then::OffsetAndBytes => self.extended.with(self.sent as u64).with(len as u64),
        }
    }
}

impl<T: Transport> Engine<T> {
    /// Sends a message, now or when all that is before it is out.
    pub(crate) fn post(&mut self, peer: Peer, mut out: OutboundRma) {
        let waits = !self.peer_state(peer).backlog.is_empty();
        if waits || self.push(peer, &mut out).is_err() {
            self.core.enqueue(peer, FifoEntry::Outbound(Box::new(out)));
        }
    }

    /// Sends pieces until none is left or the transport takes no more.
    pub(crate) fn push(&mut self, peer: Peer, out: &mut OutboundRma) -> Result<(), Full> {
        loop {
            let len = out.piece.min(out.until - out.sent);
            let is_last = out.sent + len == out.until;
            match self.push_piece(peer, out, len, is_last) {
                Err(full) => {
                    let Some(error) = self.transport.take_bad_send(peer) else { return Err(full) };
                    self.core.spoil_access(peer, out, error);
                    return Ok(());
                }
                Ok(()) => out.sent += len,
            }
            if is_last {
                break;
            }
        }
        if let Some(id) = out.request.filter(|_| !out.zero_copy) {
            self.core.complete(id);
        }
        Ok(())
    }

    fn push_piece(&mut self, peer: Peer, out: &OutboundRma, len: usize, is_last: bool) -> Result<(), Full> {
        let context = out.header.context.wrapping_add(out.sent as u64);
        let extended = out.extended_at(len);
        let (offset, len) = if out.then == Then::OffsetAndBytes { (0, 0) } else { (out.sent, len) };
        let header = Header { context, ..out.header };
        let mut am = Am { header, extended: extended.bytes(), body: &out.body, offset, len };
        if out.zero_copy {
            let done = out.request.filter(|_| is_last).map(|id| Token(u64::from(id.raw())));
            return self.transport.send_zero_copy(peer, &am, done);
        }
        transmit(&mut self.transport, &mut self.core.peers, peer, &mut am)
    }

    /// Sends the message that is first in a peer's FIFO.
    pub(crate) fn push_waiting(&mut self, peer: Peer) -> Result<(), Full> {
        let Some(FifoEntry::Outbound(mut out)) = self.core.peers.state_or_new(peer).backlog.replace_front()
        else {
            return Ok(());
        };
        let pushed = self.push(peer, &mut out);
        if pushed.is_err() {
            self.core.peers.state_or_new(peer).backlog.put_front(FifoEntry::Outbound(out));
        }
        pushed
    }
}

impl crate::engine::EngineCore {
    /// An access of this rank's cannot be sent.
    #[cold]
    fn spoil_access(&mut self, peer: Peer, out: &OutboundRma, error: TransferError) {
        if let Some(id) = out.request {
            if let Some(request) = self.requests.get_mut(id) {
                request.status.fault = Some(MessageFault::Transfer(error));
            }
            return self.complete(id);
        }
        if let Some(id) = out.result {
            // What was sent is still answered.
            return self.cut_short(id, out.sent as u64, MessageFault::Transfer(error));
        }
        let window = out.window.and_then(|window| self.rma.get().windows.get_mut(window));
        if let Some(member) = window.and_then(|window| window.member(peer)) {
            member.fault = Some(AccessFault::Buffer(error));
        }
    }
}

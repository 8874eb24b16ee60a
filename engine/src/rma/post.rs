//! Sends the messages of windows, in pieces. A message keeps its place in the peer's FIFO until its last piece is out, so that
//! what comes later never overtakes it.

use super::access::AccessFault;
use super::outbound::{OutboundRma, Then};
use crate::engine::{Engine, EngineCore, transmit};
use crate::peers::FifoEntry;
use crate::request::MessageFault;
use tern_transport::{Am, Full, Header, Peer, Token, TransferError, Transport};

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

impl EngineCore {
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

//! Cancelling (MPI 5.0 section 3.8.4): a receive that has not met its message, a send that has not left, and a send
//! whose message waits unmatched at the receiver, which is asked to give it up.

use crate::engine::{Action, Engine, EngineCore};
use crate::peers::{FifoEntry, cost_units};
use crate::request::{Outgoing, RequestId, RequestState, Status};
use crate::slab::Id;
use crate::unexpected_message::UnexpectedMessage;
use crate::wire::{ExtendedHeader, HeaderKind};
use tern_transport::{Peer, Transport};

impl<T: Transport> Engine<T> {
    /// Tries to cancel. The request still has to be completed; its status says whether it was cancelled. A send that
    /// has left is cancelled or complete when the receiver has polled.
    pub fn cancel(&mut self, id: RequestId) {
        let Some(request) = self.core.requests.get(id) else { return };
        let (peer, len) = (request.peer, request.buf.len());
        match request.state {
            RequestState::Posted => {
                let pattern = request.pattern;
                if self.core.posted.withdraw(&pattern, id.index() as u32) {
                    self.core.end_cancelled(id);
                }
            }
            RequestState::Queued(outgoing) => {
                let window = self.core.peers.window();
                let state = self.core.peers.state_or_new(peer);
                state.backlog.retain(|waiting| !matches!(waiting, FifoEntry::Send(other) if *other == id));
                if !matches!(outgoing, Outgoing::Offer { .. }) {
                    state.refund_late(cost_units(len), window);
                }
                self.core.end_cancelled(id);
            }
            RequestState::AwaitsAck | RequestState::AwaitsReady => {
                self.control(peer, HeaderKind::Withdraw, ExtendedHeader::EMPTY.with_id(id));
            }
            _ => {}
        }
    }
}

impl EngineCore {
    /// Receiver: the sender would like its message back. If it has been matched, the sender hears of that anyway.
    pub(crate) fn asked_to_withdraw(&mut self, from: Peer, sender: Id) {
        let is = |unexpected: &UnexpectedMessage| {
            unexpected.from == from && unexpected.sender() == Some(sender) && !unexpected.taken
        };
        let Some(id) = self.unexpected_messages.find(is) else { return };
        self.unexpected.withdraw(id.index() as u32);
        if let Some(unexpected) = self.take_unexpected(id)
            && unexpected.ack.is_some()
        {
            self.owe(from, unexpected.len as usize);
        }
        let extended = ExtendedHeader::EMPTY.with_id(sender);
        self.actions.push_back(Action::Control { peer: from, kind: HeaderKind::Withdrawn, extended });
    }

    /// Sender: the receiver has given the message up.
    pub(crate) fn withdrawn(&mut self, from: Peer, id: Id) {
        if self.awaits_match(from, id) {
            self.end_cancelled(id);
        }
    }

    fn end_cancelled(&mut self, id: Id) {
        if let Some(request) = self.requests.get_mut(id) {
            request.status = Status { cancelled: true, ..Status::EMPTY };
        }
        self.complete(id);
    }
}

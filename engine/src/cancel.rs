//! Cancelling (MPI 5.0 section 3.8.4): a receive that has not met its message, a send that has not left, and a send
//! whose message waits unmatched at the receiver, which is asked to give it up.

use crate::arrival::{Early, What};
use crate::engine::{Action, Core, Engine};
use crate::peers::{Waiting, cost_units};
use crate::request::{Outgoing, RequestId, State, Status};
use crate::slab::Id;
use crate::wire::{Kind, Lead};
use tern_transport::{Peer, Transport};

impl<T: Transport> Engine<T> {
    /// Tries to cancel. The request still has to be completed; its status says whether it was cancelled. A send that
    /// has left is cancelled or complete when the receiver has polled.
    pub fn cancel(&mut self, id: RequestId) {
        let Some(request) = self.core.requests.get(id) else { return };
        let (peer, len) = (request.peer, request.buf.len());
        match request.state {
            State::Posted => {
                let pattern = request.pattern;
                if self.core.posted.withdraw(&pattern, id.index() as u32) {
                    self.core.end_cancelled(id);
                }
            }
            State::Queued(outgoing) => {
                let state = self.core.peers.know(peer);
                state.backlog.retain(|waiting| !matches!(waiting, Waiting::Send(other) if *other == id));
                if !matches!(outgoing, Outgoing::Offer { .. }) {
                    state.refund(cost_units(len));
                }
                self.core.end_cancelled(id);
            }
            State::AwaitsAck | State::AwaitsReady => {
                self.control(peer, Kind::Withdraw, Lead::EMPTY.with_id(id));
            }
            _ => {}
        }
    }
}

impl Core {
    /// Receiver: the sender would like its message back. If it has been matched, the sender hears of that anyway.
    pub(crate) fn asked_to_withdraw(&mut self, from: Peer, sender: Id) {
        let is = |early: &Early| early.from == from && early.sender() == Some(sender) && !early.taken;
        let Some(id) = self.early.find(is) else { return };
        self.unexpected.withdraw(id.index() as u32);
        if let Some(early) = self.take_early(id)
            && early.ack.is_some()
        {
            self.owe(from, early.len as usize);
        }
        let lead = Lead::EMPTY.with_id(sender);
        self.actions.push_back(Action::Control { peer: from, kind: Kind::Withdrawn, lead });
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

impl Early {
    /// The sender's request, if that waits for the match.
    fn sender(&self) -> Option<Id> {
        match &self.what {
            What::Offered(offer) => Some(offer.sender),
            _ => self.ack,
        }
    }
}

//! The receiver's side: from a call to the message that it gets; and probing.

use crate::arrival::{Early, What};
use crate::engine::Engine;
use crate::matching::{Envelope, Pattern};
use crate::request::{Fault, RequestId, State, Status};
use crate::send::Started;
use crate::slab::Id;
use crate::types::Types;
use crate::wire::{Kind, Lead};
use tern_mem::UserBuf;
use tern_transport::{TransferError, Transport};

/// A message that a matched probe has taken out (MPI 5.0 section 3.8.2).
pub type MessageId = Id;

/// What a probe has found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Probed {
    /// Source and tag.
    pub envelope: Envelope,
    /// Bytes of the message.
    pub bytes: u64,
}

impl<T: Transport> Engine<T> {
    /// Receives into `buf` the first message that fits. `signature` is the type signature if types are
    /// checked, else 0.
    #[inline]
    pub fn receive(&mut self, pattern: Pattern, buf: &UserBuf, signature: u64) -> Started {
        if !self.core.unexpected.is_empty()
            && let Some(index) = self.core.unexpected.take(&pattern)
        {
            return self.receive_early_at(index, pattern, buf, signature);
        }
        Started::Pending(self.core.post(pattern, buf.clone(), signature))
    }

    /// Posts a receive, as [`Engine::receive`] does. `None`: messages wait for a receive, so nothing has happened.
    #[inline(always)]
    pub fn post_unless_early(&mut self, pattern: Pattern, buf: UserBuf) -> Option<RequestId> {
        self.core.unexpected.is_empty().then(|| self.core.post(pattern, buf, 0))
    }

    /// The first message that fits, if one has arrived; it stays.
    pub fn probe(&mut self, pattern: &Pattern) -> Option<Probed> {
        let index = self.core.unexpected.find(pattern)?;
        let early = self.core.early.get(self.core.early.id_at(index)?)?;
        Some(early.probed())
    }

    /// The same, and takes the message out: only [`Engine::receive_matched`] can receive it.
    pub fn probe_matched(&mut self, pattern: &Pattern) -> Option<(MessageId, Probed)> {
        let index = self.core.unexpected.take(pattern)?;
        let id = self.core.early.id_at(index)?;
        let early = self.core.early.get_mut(id)?;
        early.taken = true;
        Some((id, early.probed()))
    }

    /// Receives a message that a matched probe has taken out; `None` if there is no such message.
    pub fn receive_matched(&mut self, message: MessageId, buf: &UserBuf, signature: u64) -> Option<Started> {
        let early = self.core.early.get(message)?;
        let Envelope { context, source, tag } = early.envelope;
        Some(self.receive_early(message, Pattern { context, source, tag }, buf, signature))
    }

    #[cold]
    fn receive_early_at(&mut self, index: u32, pattern: Pattern, buf: &UserBuf, signature: u64) -> Started {
        let id = self.core.early.id_at(index).expect("the index of an early arrival");
        self.receive_early(id, pattern, buf, signature)
    }

    fn receive_early(&mut self, early: Id, pattern: Pattern, buf: &UserBuf, signature: u64) -> Started {
        let arrival = self.core.early.get_mut(early).expect("an early arrival that was found");
        if let What::Landing { waiter, .. } = &mut arrival.what {
            // Over a socket the message may still be arriving: the receive waits for its last byte.
            let (id, request) = self.core.requests.occupy();
            request.begin(State::Lands, pattern, buf.clone(), signature);
            *waiter = Some(id);
            return Started::Pending(id);
        }
        let arrival = self.core.take_early(early).expect("an early arrival that was found");
        if let What::Offered(offer) = arrival.what {
            let (id, request) = self.core.requests.occupy();
            request.begin(State::Posted, pattern, buf.clone(), signature);
            request.status = Status::of(&arrival.envelope, 0);
            self.begin(id, arrival.from, &offer);
            if arrival.not_ready
                && let Some(request) = self.core.requests.get_mut(id)
            {
                request.status.fault = Some(Fault::NotReady);
            }
            return self.started(id);
        }
        Started::Done(self.deliver(arrival, buf, signature))
    }

    /// Moves an early arrival to where it belongs.
    fn deliver(&mut self, arrival: Early, buf: &UserBuf, signature: u64) -> Status {
        let mut status = Status::of(&arrival.envelope, arrival.len.min(buf.len() as u64));
        status.fault = self.core.fault_of(&arrival, buf.len(), signature);
        self.core.unpack(&arrival, buf);
        if let Some(sender) = arrival.ack {
            self.control(arrival.from, Kind::Ack, Lead::EMPTY.with_id(sender));
        }
        self.core.owe(arrival.from, arrival.len as usize);
        self.core.recycle(arrival);
        status
    }
}

impl crate::engine::Core {
    /// Puts a receive among those that wait for their message.
    #[inline(always)]
    pub(crate) fn post(&mut self, pattern: Pattern, buf: UserBuf, signature: u64) -> RequestId {
        let (id, request) = self.requests.occupy();
        request.begin(State::Posted, pattern, buf, signature);
        self.posted.post(pattern, id.index() as u32);
        id
    }

    /// What is wrong with a message for a buffer of `room` bytes.
    pub(crate) fn fault_of(&self, arrival: &Early, room: usize, signature: u64) -> Option<Fault> {
        if arrival.spoiled {
            return Some(Fault::Transfer(TransferError::PeersMemory));
        }
        if arrival.not_ready {
            return Some(Fault::NotReady);
        }
        fault(arrival.len, room as u64, arrival.signature, signature, &self.types)
    }

    /// The receiver's early-arrival memory for a message of `len` bytes is free again. Whether so much is owed now
    /// that the peer should hear of it.
    #[inline(always)]
    pub(crate) fn consumed(&mut self, from: tern_transport::Peer, len: usize) -> bool {
        let due = self.peers.window() / crate::limits::CREDIT_RETURN_FRACTION;
        let state = self.peers.know(from);
        let before = state.owed;
        state.owed = before.saturating_add(crate::peers::cost_units(len));
        before < due && state.owed >= due
    }
}

/// What is wrong with a message of `len` bytes and signature `theirs` for `room` bytes of signature `ours`.
#[inline]
pub(crate) fn fault(len: u64, room: u64, theirs: u64, ours: u64, types: &Types) -> Option<Fault> {
    if len > room {
        return Some(Fault::Truncated { sent: len, room });
    }
    (!types.fit(len, theirs, ours)).then_some(Fault::Signature { theirs, ours })
}

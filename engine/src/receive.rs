//! The receiver's side: from a call to the message that it gets; and probing.

use crate::engine::Engine;
use crate::matching::{Envelope, Pattern};
use crate::request::{MessageFault, RequestId, RequestState, Status};
use crate::send::StartedMessage;
use crate::slab::Id;
use crate::types::SignatureTypes;
use crate::unexpected_message::{Probed, UnexpectedMessage, UnexpectedPayload};
use crate::wire::{ExtendedHeader, HeaderKind};
use tern_mem::UserBuf;
use tern_transport::{TransferError, Transport};

/// A message that a matched probe has taken out (MPI 5.0 section 3.8.2).
pub type MessageId = Id;

impl<T: Transport> Engine<T> {
    /// Receives into `buf` the first message that fits. `signature` is the type signature if types are
    /// checked, else 0.
    #[inline]
    pub fn receive(&mut self, pattern: Pattern, buf: &UserBuf, signature: u64) -> StartedMessage {
        if !self.core.unexpected.is_empty()
            && let Some(index) = self.core.unexpected.take(&pattern)
        {
            return self.receive_unexpected_at(index, pattern, buf, signature);
        }
        let id = self.core.post(pattern, buf.clone(), signature);
        if self.core.counts() {
            self.core.count_posted(id);
        }
        StartedMessage::Pending(id)
    }

    /// Posts a receive, as [`Engine::receive`] does. `None`: messages wait for a receive, so nothing has happened.
    #[inline(always)]
    pub fn post_if_unmatched(&mut self, pattern: Pattern, buf: UserBuf) -> Option<RequestId> {
        self.core.unexpected.is_empty().then(|| self.core.post(pattern, buf, 0))
    }

    /// The first message that fits, if one has arrived; it stays.
    pub fn probe(&mut self, pattern: &Pattern) -> Option<Probed> {
        let index = self.core.unexpected.find(pattern)?;
        let unexpected = self.core.unexpected_messages.get(self.core.unexpected_messages.id_at(index)?)?;
        Some(unexpected.probed())
    }

    /// The same, and takes the message out: only [`Engine::receive_matched`] can receive it.
    pub fn probe_matched(&mut self, pattern: &Pattern) -> Option<(MessageId, Probed)> {
        let index = self.core.unexpected.take(pattern)?;
        let id = self.core.unexpected_messages.id_at(index)?;
        let unexpected = self.core.unexpected_messages.get_mut(id)?;
        unexpected.taken = true;
        Some((id, unexpected.probed()))
    }

    /// Receives a message that a matched probe has taken out; `None` if there is no such message.
    pub fn receive_matched(
        &mut self,
        message: MessageId,
        buf: &UserBuf,
        signature: u64,
    ) -> Option<StartedMessage> {
        let unexpected = self.core.unexpected_messages.get(message)?;
        let Envelope { context, source, tag } = unexpected.envelope;
        Some(self.receive_unexpected(message, Pattern { context, source, tag }, buf, signature))
    }

    #[cold]
    fn receive_unexpected_at(
        &mut self,
        index: u32,
        pattern: Pattern,
        buf: &UserBuf,
        signature: u64,
    ) -> StartedMessage {
        let id = self.core.unexpected_messages.id_at(index).expect("the index of an unexpected message");
        self.receive_unexpected(id, pattern, buf, signature)
    }

    fn receive_unexpected(
        &mut self,
        unexpected: Id,
        pattern: Pattern,
        buf: &UserBuf,
        signature: u64,
    ) -> StartedMessage {
        let arrival =
            self.core.unexpected_messages.get_mut(unexpected).expect("an unexpected message that was found");
        if let UnexpectedPayload::Landing { waiter, .. } = &mut arrival.what {
            // Over a socket the message may still be arriving: the receive waits for its last byte.
            let (id, request) = self.core.requests.occupy();
            request.begin(RequestState::Lands, pattern, buf.clone(), signature);
            request.peer = arrival.from;
            *waiter = Some(id);
            self.core.count_end(id);
            return StartedMessage::Pending(id);
        }
        let arrival = self.core.take_unexpected(unexpected).expect("an unexpected message that was found");
        if let UnexpectedPayload::Offered(offer) = arrival.what {
            let (id, request) = self.core.requests.occupy();
            request.begin(RequestState::Posted, pattern, buf.clone(), signature);
            request.status = Status::of(&arrival.envelope, 0);
            self.core.count_end(id);
            self.begin(id, arrival.from, &offer);
            if arrival.not_ready
                && let Some(request) = self.core.requests.get_mut(id)
            {
                request.status.fault = Some(MessageFault::NotReady);
            }
            return self.started(id);
        }
        StartedMessage::Done(self.deliver(arrival, buf, signature))
    }

    /// Moves an unexpected message to where it belongs.
    fn deliver(&mut self, arrival: UnexpectedMessage, buf: &UserBuf, signature: u64) -> Status {
        let mut status = Status::of(&arrival.envelope, arrival.len.min(buf.len() as u64));
        status.fault = self.core.fault_of(&arrival, buf.len(), signature);
        self.core.unpack(&arrival, buf);
        if let Some(sender) = arrival.ack {
            self.control(arrival.from, HeaderKind::Ack, ExtendedHeader::EMPTY.with_id(sender));
        }
        self.core.count_receive(arrival.from, status.bytes);
        self.core.owe(arrival.from, arrival.len as usize);
        self.core.recycle(arrival);
        status
    }
}

impl crate::engine::EngineCore {
    /// Puts a receive among those that wait for their message.
    #[inline(always)]
    pub(crate) fn post(&mut self, pattern: Pattern, buf: UserBuf, signature: u64) -> RequestId {
        let (id, request) = self.requests.occupy();
        request.begin(RequestState::Posted, pattern, buf, signature);
        self.posted.post(pattern, id.index() as u32);
        id
    }

    /// What is wrong with a message for a buffer of `room` bytes.
    pub(crate) fn fault_of(
        &self,
        arrival: &UnexpectedMessage,
        room: usize,
        signature: u64,
    ) -> Option<MessageFault> {
        if arrival.spoiled {
            return Some(MessageFault::Transfer(TransferError::PeersMemory));
        }
        if arrival.not_ready {
            return Some(MessageFault::NotReady);
        }
        fault(arrival.len, room as u64, arrival.signature, signature, &self.types)
    }

    /// The receiver's unexpected-message memory for a message of `len` bytes is free again. Whether so much is owed now
    /// that the peer should hear of it.
    #[inline(always)]
    pub(crate) fn consumed(&mut self, from: tern_transport::Peer, len: usize) -> bool {
        let due = self.peers.owed_max();
        self.peers.state_or_new(from).owe(crate::peers::cost_units(len), due)
    }
}

/// What is wrong with a message of `len` bytes and signature `theirs` for `room` bytes of signature `ours`.
#[inline]
pub(crate) fn fault(
    len: u64,
    room: u64,
    theirs: u64,
    ours: u64,
    types: &SignatureTypes,
) -> Option<MessageFault> {
    if len > room {
        return Some(MessageFault::Truncated { sent: len, room });
    }
    (!types.fit(len, theirs, ours)).then_some(MessageFault::Signature { theirs, ours })
}

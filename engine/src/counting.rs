//! Where an engine counts: see [`EngineCounters`].

use crate::counters::{EngineCounters, Levels, Protocol, ToolEvent, ToolEventKind, at};
use crate::engine::{Engine, EngineCore};
use crate::matching::Envelope;
use crate::protocol::RendezvousMethod;
use crate::request::{EngineRequest, Outgoing, RequestOwner};
use crate::slab::Id;
use crate::unexpected_message::{UnexpectedMessage, UnexpectedPayload};
use tern_transport::{AM_INLINE_BYTES_MAX, Peer, Transport};

impl<T: Transport> Engine<T> {
    /// From now on all messages are counted, if the caller takes none of the shortest ways.
    pub fn count(&mut self) {
        self.core.counters.get_or_insert_default();
    }

    /// What has been counted.
    pub fn counters(&self) -> Option<&EngineCounters> {
        self.core.counters.as_deref()
    }

    /// What is there now.
    pub fn levels(&self) -> Levels {
        let core = &self.core;
        Levels {
            unexpected: core.unexpected.len() as u64,
            unexpected_bytes: core.unexpected_bytes,
            unexpected_bytes_peak: core.unexpected_bytes_peak,
            unexpected_ever: core.unexpected_ever,
            posted: core.posted.len() as u64,
            requests: core.requests.len() as u64,
            unsent: core.peers.waiting() as u64,
        }
    }

    /// Messages of a context that wait for a receive, and receives in it that wait for a message.
    pub fn levels_of(&self, context: u64) -> (u64, u64) {
        let waits = |unexpected: &UnexpectedMessage| {
            let is_wanted = matches!(unexpected.what, UnexpectedPayload::Landing { waiter: Some(_), .. });
            unexpected.envelope.context == context && !unexpected.taken && !is_wanted
        };
        let unexpected = self.core.unexpected_messages.occupied(usize::MAX);
        let unexpected = unexpected.filter(|(_, unexpected)| waits(unexpected)).count();
        let is_posted =
            |request: &EngineRequest| matches!(request.state, crate::request::RequestState::Posted);
        let requests = self.core.requests.occupied(usize::MAX).map(|(_, request)| request);
        let posted =
            requests.filter(|request| is_posted(request) && request.pattern.context == context).count();
        (unexpected as u64, posted as u64)
    }

    /// A tool listens from now on, or no more.
    pub fn listen_for_tool(&mut self, listens: bool) {
        let counters = self.core.counters.get_or_insert_default();
        match listens {
            true => _ = counters.events.get_or_insert_default(),
            false => counters.events = None,
        }
    }

    /// What has happened since the last time, and how many events were dropped.
    pub fn take_tool_events(&mut self) -> (Vec<ToolEvent>, u64) {
        let Some(counters) = &mut self.core.counters else { return (Vec::new(), 0) };
        let events = counters.events.as_mut().map_or(Vec::new(), |events| events.drain(..).collect());
        (events, std::mem::take(&mut counters.events_dropped))
    }
}

impl EngineCore {
    /// Whether messages are counted.
    #[inline]
    pub(crate) fn counts(&self) -> bool {
        self.counters.is_some()
    }

    /// Does something with the counters, if there are some.
    #[inline]
    pub(crate) fn tally(&mut self, add: impl FnOnce(&mut EngineCounters)) {
        if let Some(counters) = &mut self.counters {
            add(counters);
        }
    }

    /// A message has left at once, or will.
    #[inline]
    pub(crate) fn count_send(&mut self, peer: Peer, outgoing: Outgoing, bytes: usize) {
        self.tally(|counters| {
            let protocol = match outgoing {
                Outgoing::Eager { .. } if bytes <= AM_INLINE_BYTES_MAX => Protocol::Short,
                Outgoing::Eager { .. } | Outgoing::ZeroCopy { .. } => Protocol::Eager,
                Outgoing::EagerSync => Protocol::Synchronous,
                Outgoing::Offer { .. } => Protocol::Rendezvous,
            };
            counters.sent(peer, protocol, bytes as u64);
        });
    }

    /// A part of a partitioned send leaves.
    pub(crate) fn count_part(&mut self, peer: Peer, asks: bool, bytes: u64) {
        self.tally(|counters| {
            counters.partition_messages += 1;
            let protocol = match asks {
                true => Protocol::Rendezvous,
                false if bytes <= AM_INLINE_BYTES_MAX as u64 => Protocol::Short,
                false => Protocol::Eager,
            };
            counters.sent(peer, protocol, bytes);
        });
    }

    /// A message has been received.
    pub(crate) fn count_receive(&mut self, from: Peer, bytes: u64) {
        self.tally(|counters| at(&mut counters.received_from, from).add(bytes));
    }

    /// A receive whose end is to be counted has been posted.
    pub(crate) fn count_posted(&mut self, id: Id) {
        let posted = self.posted.len() as u64;
        self.tally(|counters| counters.posted_peak = counters.posted_peak.max(posted));
        self.count_end(id);
    }

    /// The end of a receive is to be counted.
    pub(crate) fn count_end(&mut self, id: Id) {
        if let Some(request) = self.requests.get_mut(id).filter(|_| self.counters.is_some()) {
            request.owner = RequestOwner::CallerCounts;
        }
    }

    /// A receive has ended whose end is to be counted; its caller still asks.
    pub(crate) fn receive_ended(&mut self, id: Id) {
        let Some(request) = self.requests.get_mut(id) else { return };
        request.owner = RequestOwner::Caller;
        let (peer, status) = (request.peer, request.status);
        if !status.cancelled {
            self.count_receive(peer, status.bytes);
        }
    }

    /// A message waits for a receive.
    pub(crate) fn count_unexpected(&mut self, peer: Peer, envelope: Envelope, bytes: u64) {
        let unexpected = self.unexpected.len() as u64;
        self.tally(|counters| {
            counters.unexpected_peak = counters.unexpected_peak.max(unexpected);
            counters.raise(ToolEvent { kind: ToolEventKind::Unexpected, peer, envelope, bytes });
        });
    }

    /// A long message begins to move to this rank.
    pub(crate) fn count_rendezvous(
        &mut self,
        peer: Peer,
        method: RendezvousMethod,
        envelope: Envelope,
        bytes: u64,
    ) {
        self.tally(|counters| {
            counters.moved[method as usize].add(bytes);
            counters.raise(ToolEvent { kind: ToolEventKind::Rendezvous, peer, envelope, bytes });
        });
    }
}

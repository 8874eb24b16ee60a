//! What an engine has done, in numbers, and what a tool is told of.
//!
//! None of it is on the way of a short message: [`Engine::count`](crate::Engine::count) turns counting on, and then the caller leaves out the shortest
//! ways ([`Engine::send_at_once`](crate::Engine::send_at_once), [`Engine::receive_next`](crate::Engine::receive_next)), which count nothing. What happens seldom is counted where it happens.

use crate::limits::TOOL_EVENTS_MAX;
use crate::matching::Envelope;
use std::collections::VecDeque;
use tern_transport::Peer;

/// Messages and their bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Traffic {
    /// How many.
    pub messages: u64,
    /// Bytes of all.
    pub bytes: u64,
}

impl Traffic {
    pub(crate) fn add(&mut self, bytes: u64) {
        self.messages += 1;
        self.bytes += bytes;
    }
}

/// How messages are sent, as counters tell them apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Protocol {
    /// In one line.
    Short,
    /// At once, in more than a line.
    Eager,
    /// At once, with an answer at the match.
    Synchronous,
    /// After a request.
    Rendezvous,
}

/// How many protocols there are.
pub const PROTOCOLS: usize = 4;
/// How many ways there are to move a message after a request: in the order of
/// [`RendezvousMethod`](crate::protocol::RendezvousMethod).
pub const WAYS: usize = 4;

/// The numbers.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct EngineCounters {
    /// What this rank has sent, by protocol.
    pub sent: [Traffic; PROTOCOLS],
    /// What it has sent to each peer, as far as there is any.
    pub sent_to: Vec<Traffic>,
    /// What it has received from each.
    pub received_from: Vec<Traffic>,
    /// What it has fetched after a request, by way.
    pub moved: [Traffic; WAYS],
    /// The most messages that ever waited for a receive.
    pub unexpected_peak: u64,
    /// The most receives that ever waited for a message.
    pub posted_peak: u64,
    /// Messages that a lack of credits has made wait.
    pub credits_ran_out: u64,
    /// Messages that the transport could not take at once.
    pub transport_full: u64,
    /// Partitions that became ready, and messages that they left in.
    pub partitions_ready: u64,
    /// See `partitions_ready`.
    pub partition_messages: u64,
    /// Since when a tool listens: what has happened.
    pub(crate) events: Option<VecDeque<ToolEvent>>,
    /// Events for which there was no room.
    pub(crate) events_dropped: u64,
}

/// Something that a tool may be told of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ToolEvent {
    /// What it is.
    pub kind: ToolEventKind,
    /// The process at the other side.
    pub peer: Peer,
    /// Context, sender and tag of the message.
    pub envelope: Envelope,
    /// Bytes of the message.
    pub bytes: u64,
}

/// What a tool may be told of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ToolEventKind {
    /// A message has come before its receive.
    Unexpected,
    /// A receive has met the request of a long message, which begins to move.
    Rendezvous,
}

/// Where one number is, to raise it.
pub(crate) fn at(all: &mut Vec<Traffic>, peer: Peer) -> &mut Traffic {
    let peer = peer as usize;
    if all.len() <= peer {
        all.resize(peer + 1, Traffic::default());
    }
    &mut all[peer]
}

impl EngineCounters {
    pub(crate) fn sent(&mut self, peer: Peer, protocol: Protocol, bytes: u64) {
        self.sent[protocol as usize].add(bytes);
        at(&mut self.sent_to, peer).add(bytes);
    }

    pub(crate) fn raise(&mut self, event: ToolEvent) {
        let Some(events) = &mut self.events else { return };
        if events.len() < TOOL_EVENTS_MAX {
            events.push_back(event);
        } else {
            self.events_dropped += 1;
        }
    }
}

/// What is there now.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Levels {
    /// Messages that wait for a receive, and their bytes as credits count them.
    pub unexpected: u64,
    /// See `unexpected`.
    pub unexpected_bytes: u64,
    /// The most that those bytes ever were.
    pub unexpected_bytes_peak: u64,
    /// Messages that have ever come before their receive.
    pub unexpected_ever: u64,
    /// Receives that wait for a message.
    pub posted: u64,
    /// Requests that exist.
    pub requests: u64,
    /// Messages that wait for the transport.
    pub unsent: u64,
}

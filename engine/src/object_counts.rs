//! What an engine holds, in numbers: when nothing is under way, nothing may be left.

use crate::Engine;
use tern_transport::{Peer, Transport};

/// How much of each kind an engine holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ObjectCounts {
    /// Requests, done ones that nobody has asked for included.
    pub requests: usize,
    /// Messages that came before their receive, taken out by a matched probe or not.
    pub unexpected: usize,
    /// Receives that wait for their message.
    pub posted: usize,
    /// Messages that wait for their receive.
    pub unmatched: usize,
    /// Sends and messages of the protocol that wait for the transport.
    pub unsent: usize,
}

impl<T: Transport> Engine<T> {
    /// Counts what the engine holds.
    pub fn object_counts(&self) -> ObjectCounts {
        let core = &self.core;
        ObjectCounts {
            requests: core.requests.len(),
            unexpected: core.unexpected_messages.len(),
            posted: core.posted.len(),
            unmatched: core.unexpected.len(),
            unsent: core.peers.waiting() + core.streams.len() + core.multicasts.len() + core.actions.len(),
        }
    }

    /// The most memory that messages before their receive have ever taken here, in bytes as credits count them.
    pub fn unexpected_bytes_peak(&self) -> u64 {
        self.core.unexpected_bytes_peak
    }

    /// Credit units that may still be used towards a peer that was sent something.
    pub fn credits(&mut self, peer: Peer) -> Option<u32> {
        self.core.peers.get(peer).filter(|state| state.met).map(|state| state.credits)
    }

    /// Credit units that are owed to a peer.
    pub fn owed(&mut self, peer: Peer) -> u32 {
        self.core.peers.get(peer).map_or(0, |state| state.owed)
    }
}

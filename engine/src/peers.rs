//! What the engine knows of each peer it has ever talked to: limits, credits, and the FIFO of what the
//! transport could not take yet.

use crate::limits::*;
use crate::slab::Id;
use crate::wire::{Kind, Lead};
use std::collections::VecDeque;
use tern_transport::{Limits, Peer};

/// One peer.
#[derive(Debug)]
pub(crate) struct PeerState {
    /// What the transport can do, once it has been asked: before the first send.
    pub limits: Limits,
    pub met: bool,
    /// Bytes up to which a message is sent at once: the transport's limit or, if that is less, the user's.
    pub eager_bytes_max: usize,
    /// Units of early-arrival memory at the peer that this side may still use; none before the first send.
    pub credits: u32,
    /// Units of the peer's messages that are consumed here and not yet given back.
    pub owed: u32,
    /// What waits for the transport, in order (MPI-BIP, section 3: request FIFOs turn a bounded network into an unbounded one).
    pub backlog: VecDeque<Waiting>,
}

/// Something in a peer's FIFO.
#[derive(Debug)]
pub(crate) enum Waiting {
    /// A send whose request says how.
    Send(Id),
    /// A message of the protocol.
    Control { kind: Kind, lead: Lead },
}

/// Peers by rank; a rank never talked to costs one null pointer.
pub(crate) struct Peers {
    known: Vec<Option<Box<PeerState>>>,
    window: u32,
}

impl Peers {
    pub fn new(size: u32, window: u32) -> Self {
        let mut known = Vec::new();
        known.resize_with(size as usize, || None);
        Peers { known, window }
    }

    pub fn window(&self) -> u32 {
        self.window
    }

    /// The peer, if it was talked to before.
    #[inline]
    pub fn get(&mut self, peer: Peer) -> Option<&mut PeerState> {
        self.known.get_mut(peer as usize)?.as_deref_mut()
    }

    /// The peer, which has sent something or is about to get something.
    #[inline]
    pub fn know(&mut self, peer: Peer) -> &mut PeerState {
        self.known[peer as usize].get_or_insert_with(|| Box::new(PeerState::new()))
    }

    /// What waits in all FIFOs.
    pub fn waiting(&self) -> usize {
        self.known.iter().flatten().map(|state| state.backlog.len()).sum()
    }

    /// Notes what the transport can do towards a peer: messages may go there now.
    #[cold]
    pub fn meet(&mut self, peer: Peer, limits: Limits, eager_bytes_max: usize) {
        let window = self.window;
        let state = self.know(peer);
        (state.limits, state.met, state.credits) = (limits, true, window);
        state.eager_bytes_max = eager_bytes_max;
    }
}

/// Units of early-arrival memory that an eager message with so many payload bytes may take.
#[inline]
pub(crate) fn cost_units(payload: usize) -> u32 {
    // The first unit is the envelope's.
    u32::try_from(1 + payload.div_ceil(CREDIT_UNIT_BYTES)).unwrap_or(u32::MAX)
}

impl PeerState {
    fn new() -> Self {
        let limits = Limits { eager_bytes_max: 0, get: false, put: false, share: false };
        PeerState { limits, met: false, eager_bytes_max: 0, credits: 0, owed: 0, backlog: VecDeque::new() }
    }

    /// Uses credits for a message, if there are enough.
    #[inline]
    pub fn spend(&mut self, units: u32) -> bool {
        let enough = self.credits >= units;
        if enough {
            self.credits -= units;
        }
        enough
    }

    /// Takes back what could not be sent after all.
    pub fn refund(&mut self, units: u32) {
        self.credits += units;
    }

    /// The peer gives credits back. A peer that gives more than it got harms only itself: what it says it can hold.
    #[inline]
    pub fn earn(&mut self, units: u16, window: u32) {
        self.credits = (self.credits + u32::from(units)).min(window);
    }

    /// What the next header to this peer gives back.
    #[inline]
    pub fn owed_for_header(&self) -> u16 {
        self.owed.min(u32::from(u16::MAX)) as u16
    }

    /// The header with `units` has been sent.
    #[inline]
    pub fn gave_back(&mut self, units: u16) {
        self.owed -= u32::from(units);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer() -> PeerState {
        PeerState { credits: 4, ..PeerState::new() }
    }

    #[test]
    fn credits_are_spent_and_earned_within_the_window() {
        let mut peer = peer();
        assert!(peer.spend(3) && !peer.spend(2) && peer.spend(1));
        peer.earn(3, 4);
        assert_eq!(peer.credits, 3);
        peer.earn(u16::MAX, 4);
        assert_eq!(peer.credits, 4);
    }

    #[test]
    fn a_message_costs_its_envelope_and_its_lines() {
        assert_eq!([0, 1, 64, 65].map(cost_units), [1, 2, 2, 3]);
        assert_eq!(cost_units(usize::MAX), u32::MAX, "no window has as much");
    }
}

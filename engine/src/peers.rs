//! What the engine knows of each peer it has ever talked to: limits, credits, and the FIFO of what the
//! transport could not take yet.

use crate::limits::*;
use crate::matching::{Envelope, Mixer};
use crate::rma::OutboundRma;
use crate::slab::Id;
use crate::wire::{ExtendedHeader, HeaderKind};
use std::collections::{HashMap, VecDeque};
use std::hash::BuildHasherDefault;
use tern_transport::{AM_INLINE_BYTES_MAX, Limits, Peer};

/// One peer.
#[derive(Debug)]
pub(crate) struct PeerState {
    /// What the transport can do, once it has been asked: before the first send.
    pub limits: Limits,
    pub met: bool,
    /// Bytes up to which a message is sent at once: the transport's limit or, if that is less, the user's.
    pub eager_bytes_max: u32,
    /// Units of unexpected-message memory at the peer that this side may still use; none before the first send.
    pub credits: u32,
    /// Units of the peer's messages that are consumed here and not yet given back.
    pub owed: u32,
    pub backlog: Backlog,
}

const _: () = assert!(size_of::<PeerState>() <= 40, "a rank of a large job has many peers");

/// What waits for the transport, in order (MPI-BIP, section 3: request FIFOs turn a bounded network into an unbounded one).
/// Takes memory from the first time that something had to wait.
#[derive(Debug, Default)]
#[allow(clippy::box_collection, reason = "a peer is small, and few ever have something waiting")]
pub(crate) struct Backlog(Option<Box<VecDeque<FifoEntry>>>);

impl Backlog {
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.0.as_ref().is_none_or(|fifo| fifo.is_empty())
    }

    pub(crate) fn len(&self) -> usize {
        self.0.as_ref().map_or(0, |fifo| fifo.len())
    }

    pub(crate) fn front(&self) -> Option<&FifoEntry> {
        self.0.as_ref()?.front()
    }

    pub(crate) fn push(&mut self, waiting: FifoEntry) {
        self.0.get_or_insert_default().push_back(waiting);
    }

    pub(crate) fn pop(&mut self) {
        if let Some(fifo) = &mut self.0 {
            fifo.pop_front();
        }
    }

    /// Takes out what is first, whose place is kept.
    pub(crate) fn replace_front(&mut self) -> Option<FifoEntry> {
        let front = self.0.as_mut()?.front_mut()?;
        Some(std::mem::replace(front, FifoEntry::Send(Id::COMPLETED)))
    }

    /// Puts it back.
    pub(crate) fn put_front(&mut self, waiting: FifoEntry) {
        if let Some(front) = self.0.as_mut().and_then(|fifo| fifo.front_mut()) {
            *front = waiting;
        }
    }

    pub(crate) fn retain(&mut self, stays: impl Fn(&FifoEntry) -> bool) {
        if let Some(fifo) = &mut self.0 {
            fifo.retain(stays);
        }
    }
}

/// Something in a peer's FIFO.
#[derive(Debug)]
pub(crate) enum FifoEntry {
    /// A send whose request says how.
    Send(Id),
    /// A message of the protocol.
    Control { kind: HeaderKind, extended: ExtendedHeader },
    /// The same, about the partitioned request of an envelope.
    Partitioned { kind: HeaderKind, envelope: Envelope, extended: ExtendedHeader },
    /// What a partitioned send has gathered.
    Partitions(Id),
    /// A message of a window.
    Outbound(Box<OutboundRma>),
}

/// Peers by number: the ranks of this world, then processes of others that have been added. In a job of at most [`PEERS_DENSE_MAX`] ranks, one that was never talked to costs one null pointer;
/// in a larger one nothing, and the others are found by a hash.
pub(crate) struct Peers {
    size: u32,
    known: Vec<Option<Box<PeerState>>>,
    sparse: Sparse,
    window: u32,
}

type Sparse = HashMap<Peer, Box<PeerState>, BuildHasherDefault<Mixer>>;

impl Peers {
    pub(crate) fn new(size: u32, window: u32) -> Self {
        let mut known = Vec::new();
        if size <= PEERS_DENSE_MAX {
            known.resize_with(size as usize, || None);
        }
        Peers { size, known, sparse: HashMap::default(), window }
    }

    /// A process of another world has got this number.
    #[cold]
    pub(crate) fn add(&mut self, peer: Peer) {
        self.size = self.size.max(peer + 1);
        if !self.known.is_empty() && self.size <= PEERS_DENSE_MAX {
            self.known.resize_with(self.size as usize, || None);
        }
    }

    /// Whoever has this number next begins anew.
    #[cold]
    pub(crate) fn forget(&mut self, peer: Peer) {
        match self.known.get_mut(peer as usize) {
            Some(slot) => *slot = None,
            None => drop(self.sparse.remove(&peer)),
        }
    }

    pub(crate) fn window(&self) -> u32 {
        self.window
    }

    /// Units that are owed to a peer at most before it is told of them by a message of their own.
    #[inline(always)]
    pub(crate) fn owed_max(&self) -> u32 {
        self.window / CREDIT_RETURN_FRACTION
    }

    /// The peer, if it was talked to before.
    #[inline]
    pub(crate) fn get(&mut self, peer: Peer) -> Option<&mut PeerState> {
        match self.known.get_mut(peer as usize) {
            Some(slot) => slot.as_deref_mut(),
            None => get_sparse(&mut self.sparse, peer),
        }
    }

    /// As [`Peers::get`]; of the peers of a very large job, none.
    #[inline(always)]
    pub(crate) fn get_dense(&mut self, peer: Peer) -> Option<&mut PeerState> {
        self.known.get_mut(peer as usize)?.as_deref_mut()
    }

    /// The peer, which has sent something or is about to get something.
    #[inline(always)]
    pub(crate) fn state_or_new(&mut self, peer: Peer) -> &mut PeerState {
        match self.known.get(peer as usize) {
            Some(Some(_)) => {}
            Some(None) => self.learn(peer),
            None => return know_sparse(&mut self.sparse, self.size, peer),
        }
        self.known[peer as usize].as_mut().expect("known by now")
    }

    #[cold]
    #[inline(never)]
    fn learn(&mut self, peer: Peer) {
        self.known[peer as usize] = Some(Box::new(PeerState::new()));
    }

    /// What waits in all FIFOs.
    pub(crate) fn waiting(&self) -> usize {
        let all = self.known.iter().flatten().chain(self.sparse.values());
        all.map(|state| state.backlog.len()).sum()
    }

    /// Notes what the transport can do towards a peer: messages may go there now.
    #[cold]
    pub(crate) fn set_limits(&mut self, peer: Peer, limits: Limits, eager_bytes_max: usize) {
        let window = self.window;
        let state = self.state_or_new(peer);
        (state.met, state.credits) = (true, window);
        self.change_limits(peer, limits, eager_bytes_max);
    }

    /// The transport can do other things towards a peer from now on. One that messages have not gone to is asked about later.
    #[cold]
    pub(crate) fn change_limits(&mut self, peer: Peer, limits: Limits, eager_bytes_max: usize) {
        if let Some(state) = self.get(peer).filter(|state| state.met) {
            state.limits = limits;
            state.eager_bytes_max = u32::try_from(eager_bytes_max).unwrap_or(u32::MAX);
        }
    }
}

#[cold]
fn get_sparse(sparse: &mut Sparse, peer: Peer) -> Option<&mut PeerState> {
    sparse.get_mut(&peer).map(|state| &mut **state)
}

#[cold]
fn know_sparse(sparse: &mut Sparse, size: u32, peer: Peer) -> &mut PeerState {
    assert!(peer < size, "peer {peer} of {size}");
    sparse.entry(peer).or_insert_with(|| Box::new(PeerState::new()))
}

/// Units of a message that fits beside its header.
pub(crate) const SHORT_UNITS: u32 = 1;

/// Units of unexpected-message memory that an eager message with so many payload bytes may take.
#[inline(always)]
pub(crate) fn cost_units(payload: usize) -> u32 {
    // One line holds the envelope and a short payload.
    let lines = payload.saturating_sub(AM_INLINE_BYTES_MAX).div_ceil(CREDIT_UNIT_BYTES);
    u32::try_from(SHORT_UNITS as usize + lines).unwrap_or(u32::MAX)
}

impl PeerState {
    fn new() -> Self {
        let limits = Limits {
            eager_bytes_max: 0,
            get: false,
            put: false,
            cooperative_copy: false,
            prefers_send: false,
        };
        PeerState { limits, met: false, eager_bytes_max: 0, credits: 0, owed: 0, backlog: Backlog::default() }
    }

    /// Uses credits for a message, if there are enough.
    #[inline]
    pub(crate) fn spend(&mut self, units: u32) -> bool {
        let enough = self.credits >= units;
        if enough {
            self.credits -= units;
        }
        enough
    }

    /// Takes back what was just used, for what could not be sent after all.
    pub(crate) fn refund(&mut self, units: u32) {
        self.credits += units;
    }

    /// Takes back what was used for something that has waited since, while the peer may have given back too much.
    pub(crate) fn refund_late(&mut self, units: u32, window: u32) {
        debug_assert!(self.credits <= window, "{} credits of {window}", self.credits);
        self.credits = self.credits.saturating_add(units).min(window);
    }

    /// The peer gives credits back. A peer that gives more than it got harms only itself: what it says it can hold.
    #[inline]
    pub(crate) fn earn(&mut self, units: u16, window: u32) {
        debug_assert!(self.credits <= window, "{} credits of {window}", self.credits);
        self.credits = (self.credits + u32::from(units)).min(window);
    }

    /// So many units of the peer's messages are consumed. Whether as many as `due` are owed now, and were not before.
    #[inline(always)]
    pub(crate) fn owe(&mut self, units: u32, due: u32) -> bool {
        let before = self.owed;
        self.owed = before.saturating_add(units);
        before < due && self.owed >= due
    }

    /// What the next header to this peer gives back.
    #[inline]
    pub(crate) fn owed_for_header(&self) -> u16 {
        self.owed.min(u32::from(u16::MAX)) as u16
    }

    /// The header with `units` has been sent.
    #[inline]
    pub(crate) fn gave_back(&mut self, units: u16) {
        debug_assert!(
            u32::from(units) <= self.owed,
            "{units} credits were given back, but {} are owed",
            self.owed
        );
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
    fn peers_of_a_large_job_are_found_and_others_take_no_memory() {
        for size in [PEERS_DENSE_MAX, 1 << 30] {
            let mut peers = Peers::new(size, 4);
            assert!(peers.get(size - 1).is_none());
            peers.state_or_new(size - 1).owed = 3;
            assert_eq!(peers.get(size - 1).map(|state| state.owed), Some(3));
            assert!(peers.get(size - 2).is_none() && peers.get(u32::MAX).is_none());
        }
        assert!(Peers::new(1 << 30, 4).known.capacity() == 0);
    }

    #[test]
    fn peers_are_added_and_begin_anew() {
        for size in [2, PEERS_DENSE_MAX, PEERS_DENSE_MAX + 5] {
            let mut peers = Peers::new(size, 4);
            peers.add(size);
            peers.state_or_new(size).owed = 3;
            peers.state_or_new(size - 1).owed = 7;
            peers.forget(size);
            assert!(peers.get(size).is_none());
            assert_eq!(peers.state_or_new(size).owed, 0);
            assert_eq!(peers.state_or_new(size - 1).owed, 7, "the others stay");
        }
    }

    #[test]
    fn a_backlog_is_empty_again_when_all_is_gone() {
        let mut backlog = Backlog::default();
        for kind in [HeaderKind::Ack, HeaderKind::Got, HeaderKind::Credits] {
            backlog.push(FifoEntry::Control { kind, extended: ExtendedHeader::EMPTY });
        }
        backlog.pop();
        assert!(matches!(backlog.front(), Some(FifoEntry::Control { kind: HeaderKind::Got, .. })));
        backlog.retain(|waiting| matches!(waiting, FifoEntry::Control { kind: HeaderKind::Credits, .. }));
        assert_eq!((backlog.len(), backlog.is_empty()), (1, false));
        backlog.pop();
        assert!(backlog.is_empty() && backlog.front().is_none());
    }

    #[test]
    fn a_message_costs_its_envelope_and_its_lines() {
        assert_eq!([0, 40, 41, 104, 105].map(cost_units), [1, 1, 2, 2, 3]);
        assert_eq!(cost_units(usize::MAX), u32::MAX, "no window has as much");
    }
}

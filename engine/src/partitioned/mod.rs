//! Partitioned communication (MPI 5.0 chapter 4).
//!
//! The two sides are matched once: the n-th init of a send for a communicator, destination and tag belongs to the n-th
//! init of a receive. The first start of the receive says so to the sender ([`HeaderKind::PartitionedOpen`]), each
//! later one grants another round. From then on ready bytes go straight to their place in the receive buffer, at
//! whatever offset, so the two sides may count their partitions differently. Adjacent partitions are gathered while the
//! sender does nothing but make them ready ([`sending`]). A long run of bytes is a message of its own, which takes the
//! ways of [`crate::rendezvous`].

mod pair;
pub(crate) mod pairs;
mod receive_state;
mod receiving;
mod send_state;
mod sending;

pub use pair::{Division, PartitionedId};
pub use send_state::ReadyError;

use crate::engine::{Engine, EngineCore};
use crate::matching::Envelope;
use crate::peers::FifoEntry;
use crate::request::{EngineRequest, RequestOwner};
use crate::slab::Id;
use crate::wire::{ExtendedHeader, ExtendedHeaderReader, HeaderKind};
use pair::PartitionedPair;
use pairs::PartitionedRequests;
use receive_state::Receiving;
use send_state::Sending;
use tern_mem::UserBuf;
use tern_transport::{Am, Full, Header, Peer, Transport};

/// How a partitioned request ended in this round, and whether it is in one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Round {
    /// It is not active.
    None,
    /// It goes on.
    Pending,
    /// It is complete.
    Over(crate::Status),
}

// What a close says of its sender.
const CLOSED_BY_SENDER: u64 = 1;
const CLOSED_AFTER_MEETING: u64 = 2;

impl<T: Transport> Engine<T> {
    /// The communicator of this context is no more: nothing new is made in it.
    pub fn forget_partitioned(&mut self, context: u64) {
        if let Some(all) = &mut self.core.partitioned {
            all.sends.forget(context);
            all.receives.forget(context);
            all.opened.retain(|pair, _| pair.context != context);
        }
    }

    /// Tells the other side of a pair that this one is gone, unless that process has parted from this one. If it `is_met`, the other
    /// side has answered before.
    fn close_pair(&mut self, pair: PartitionedPair, source: u32, by_sender: bool, is_met: bool) {
        if self.core.peers.get(pair.peer).is_none() {
            return;
        }
        let flag = |is_set, flag| if is_set { flag } else { 0 };
        let flags = flag(by_sender, CLOSED_BY_SENDER) | flag(is_met, CLOSED_AFTER_MEETING);
        let extended = ExtendedHeader::EMPTY.with(u64::from(pair.number)).with(flags);
        self.say(pair, source, HeaderKind::PartitionedClose, extended);
    }

    /// Sends a message of the protocol that names its pair, now or when the transport can.
    fn say(&mut self, pair: PartitionedPair, source: u32, kind: HeaderKind, extended: ExtendedHeader) {
        let envelope = Envelope { context: pair.context, source, tag: pair.tag };
        let waits = !self.peer_state(pair.peer).backlog.is_empty();
        if waits || self.send_enveloped(pair.peer, kind, &envelope, &extended).is_err() {
            self.core.enqueue(pair.peer, FifoEntry::Partitioned { kind, envelope, extended });
        }
    }

    pub(crate) fn send_enveloped(
        &mut self,
        peer: Peer,
        kind: HeaderKind,
        envelope: &Envelope,
        extended: &ExtendedHeader,
    ) -> Result<(), Full> {
        let body = UserBuf::empty();
        let am = crate::send::message(kind, 0, envelope, extended.bytes(), &body);
        self.transmit(peer, Am { ..am })
    }
}

impl EngineCore {
    /// The partitioned requests, from the first on.
    fn partitioned(&mut self) -> &mut PartitionedRequests {
        self.partitioned.get_or_insert_default()
    }

    /// A request that no caller asks for has ended.
    #[cold]
    pub(crate) fn end_unasked(&mut self, id: Id) {
        let Some(part) = self.requests.remove(id) else { return };
        match part.owner {
            RequestOwner::PartitionedSend(owner) => self.part_sent(owner, &part),
            RequestOwner::PartitionedReceive(owner) => self.part_received(owner, &part),
            _ => {}
        }
    }

    /// The peer has freed its side of a pair.
    pub(crate) fn partitioned_close(&mut self, from: Peer, header: &Header, payload: &[u8]) {
        let mut reader = ExtendedHeaderReader(payload);
        let (Some(number), Some(flags)) = (reader.number(), reader.number()) else { return };
        let is_met = flags & CLOSED_AFTER_MEETING != 0;
        let Header { context, tag, .. } = *header;
        let pair = PartitionedPair { peer: from, context, tag, number: number as u32 };
        let all = self.partitioned();
        let over = if flags & CLOSED_BY_SENDER != 0 {
            all.receives.close(pair, is_met).is_some_and(Receiving::close)
        } else {
            all.opened.remove(&pair);
            all.sends.close(pair, is_met).is_some_and(Sending::close)
        };
        self.completions += u64::from(over);
    }
}

/// Whether a part failed, for the whole.
fn fault_of(part: &EngineRequest) -> Option<crate::MessageFault> {
    part.status.fault
}

//! Pairs of a partitioned send and a partitioned receive, and the requests of a process by pair.

use super::pair::PartitionedPair;
use super::receive_state::Receiving;
use super::send_state::Sending;
use crate::limits::UNMADE_MAX;
use crate::slab::{Id, Slab};
use crate::wire::Open;
use std::collections::{HashMap, HashSet};
use tern_transport::Peer;

/// The partitioned requests of a process.
#[derive(Default)]
pub(crate) struct PartitionedRequests {
    pub sends: SideRequests<Sending>,
    pub receives: SideRequests<Receiving>,
    /// Receives that have started before their send was made.
    pub(super) opened: HashMap<PartitionedPair, Open>,
}

/// The requests of one direction.
pub(crate) struct SideRequests<T> {
    pub(super) requests: Slab<T>,
    pub(super) by_pair: HashMap<PartitionedPair, Id>,
    /// How many were made for a peer, context and tag.
    pub(super) made: HashMap<(Peer, u64, i32), u32>,
    /// Those whose other side was freed before they were made.
    pub(super) closed: HashSet<PartitionedPair>,
}

impl<T> Default for SideRequests<T>
where
    Slab<T>: Default,
{
    fn default() -> Self {
        SideRequests {
            requests: Slab::default(),
            by_pair: HashMap::new(),
            made: HashMap::new(),
            closed: HashSet::new(),
        }
    }
}

impl<T: Default> SideRequests<T> {
    /// The pair of the next request for these.
    pub(super) fn next_pair(&mut self, peer: Peer, context: u64, tag: i32) -> PartitionedPair {
        let made = self.made.entry((peer, context, tag)).or_default();
        let number = *made;
        *made = made.wrapping_add(1);
        PartitionedPair { peer, context, tag, number }
    }

    /// Takes a request in. Whether its other side was freed already.
    pub(super) fn insert(&mut self, pair: PartitionedPair, request: T) -> (Id, bool) {
        let id = self.requests.insert(request);
        self.by_pair.insert(pair, id);
        (id, self.closed.remove(&pair))
    }

    pub(super) fn remove(&mut self, pair: &PartitionedPair, id: Id) -> Option<T> {
        self.by_pair.remove(pair);
        self.requests.remove(id)
    }

    /// The other side of a pair was freed. The request of this side, unless it was freed as well or does not exist yet, which it does
    /// if the two have met. Its communicator may be forgotten by now.
    pub(super) fn close(&mut self, pair: PartitionedPair, is_met: bool) -> Option<&mut T> {
        if let Some(&id) = self.by_pair.get(&pair) {
            return self.requests.get_mut(id);
        }
        let made = self.made.get(&(pair.peer, pair.context, pair.tag)).copied().unwrap_or(0);
        if !is_met && pair.number >= made && self.closed.len() < UNMADE_MAX {
            self.closed.insert(pair);
        }
        None
    }

    /// The communicator of a context is no more.
    pub(super) fn forget(&mut self, context: u64) {
        self.made.retain(|(_, other, _), _| *other != context);
        self.closed.retain(|pair| pair.context != context);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A close may come after the communicator of its pair was forgotten. What it closed has been here if the two have met.
    #[test]
    fn a_close_is_kept_for_what_may_still_be_made() {
        let mut side: SideRequests<Receiving> = SideRequests::default();
        let pair = side.next_pair(1, 7, 3);
        side.forget(7);
        assert!(side.close(pair, true).is_none() && side.closed.is_empty());
        assert!(side.close(pair, false).is_none() && side.closed.contains(&pair));
        let again = side.next_pair(1, 7, 3);
        let (_, is_closed) = side.insert(again, Receiving::default());
        assert!(is_closed && side.closed.is_empty());
    }
}

//! A rank's end of the network: the transport that its engine speaks to.

use crate::network::SimulatedNetwork;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use tern_mem::UserBuf;
use tern_transport::*;

/// The network, shared by its ends.
pub(crate) type SharedNetwork = Rc<RefCell<SimulatedNetwork>>;

/// One rank's end.
pub struct NetworkEnd {
    rank: Peer,
    network: SharedNetwork,
    /// All ranks of the job, if the network has multicast: the only multicast group.
    multicast_group: Option<MulticastGroup>,
}

impl NetworkEnd {
    /// The end of a rank.
    pub fn new(rank: Peer, network: SharedNetwork, multicast: bool) -> Self {
        NetworkEnd { rank, network, multicast_group: multicast.then(|| MulticastGroup::new(0)) }
    }
}

impl Transport for NetworkEnd {
    fn limits(&mut self, peer: Peer) -> Limits {
        self.network.borrow().limits(self.rank, peer)
    }

    fn prefers_fragments(&mut self, peer: Peer, _: u64) -> bool {
        self.network.borrow().prefers_fragments(peer, self.rank)
    }

    fn send(&mut self, peer: Peer, am: &Am<'_>) -> Result<(), Full> {
        self.network.borrow_mut().send(self.rank, peer, am);
        Ok(())
    }

    fn multicast_group(&mut self, _: &[Peer]) -> Option<MulticastGroup> {
        self.multicast_group.clone()
    }

    fn multicast(&mut self, _: &MulticastGroup, to: &[Peer], am: &Am<'_>, _: Token) -> Result<Taken, Full> {
        self.network.borrow_mut().multicast(self.rank, to, am);
        Ok(Taken::Copied)
    }

    fn get(&mut self, peer: Peer, from: Remote, into: &UserBuf, done: Token) -> Transfer {
        self.network.borrow_mut().get(self.rank, peer, from, into, done)
    }

    /// Nobody puts: all buffers here are contiguous, so that the receiver can get.
    fn put(&mut self, _: Peer, _: &UserBuf, _: Remote, _: Token) -> Transfer {
        Transfer::Failed(TransferError::BadKey)
    }

    fn open_cooperative_copy(
        &mut self,
        peer: Peer,
        from: Remote,
        into: &UserBuf,
        done: Token,
    ) -> Option<CooperativeCopyKey> {
        Some(self.network.borrow_mut().copy_together(self.rank, peer, from, into, done))
    }

    fn pull_cooperative_copy(&mut self, key: CooperativeCopyKey) -> Transfer {
        self.network.borrow_mut().pull(self.rank, key)
    }

    fn join_cooperative_copy(
        &mut self,
        peer: Peer,
        key: CooperativeCopyKey,
        _: &UserBuf,
        _: Remote,
        done: Token,
    ) -> Transfer {
        self.network.borrow_mut().join(self.rank, peer, key, done)
    }

    fn poll(&mut self, sink: &mut impl Sink) -> bool {
        self.network.borrow_mut().hand_over(self.rank, sink)
    }

    fn doorbell(&self) -> Arc<dyn Doorbell> {
        Arc::new(Silent)
    }
}

//! A rank's end of the network: the transport that its engine speaks to.

use crate::network::Network;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use tern_mem::UserBuf;
use tern_transport::*;

/// The network, shared by its ends.
pub type Shared = Rc<RefCell<Network>>;

/// One rank's end.
pub struct End {
    rank: Peer,
    network: Shared,
    /// All ranks of the job, if the network has multicast: the only circle.
    circle: Option<Circle>,
}

impl End {
    /// The end of a rank.
    pub fn new(rank: Peer, network: Shared, multicast: bool) -> Self {
        End { rank, network, circle: multicast.then(|| Circle::new(0)) }
    }
}

impl Transport for End {
    fn limits(&mut self, peer: Peer) -> Limits {
        self.network.borrow().limits(self.rank, peer)
    }

    fn streams(&mut self, peer: Peer, _: u64) -> bool {
        self.network.borrow().streams(peer, self.rank)
    }

    fn send(&mut self, peer: Peer, am: &Am<'_>) -> Result<(), Full> {
        self.network.borrow_mut().send(self.rank, peer, am);
        Ok(())
    }

    fn circle(&mut self, _: &[Peer]) -> Option<Circle> {
        self.circle.clone()
    }

    fn multicast(&mut self, _: &Circle, to: &[Peer], am: &Am<'_>, _: Token) -> Result<Taken, Full> {
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

    fn share_open(&mut self, peer: Peer, from: Remote, into: &UserBuf, done: Token) -> Option<ShareKey> {
        Some(self.network.borrow_mut().share(self.rank, peer, from, into, done))
    }

    fn share_pull(&mut self, key: ShareKey) -> Transfer {
        self.network.borrow_mut().pull(self.rank, key)
    }

    fn share_join(&mut self, peer: Peer, key: ShareKey, _: &UserBuf, _: Remote, done: Token) -> Transfer {
        self.network.borrow_mut().join(self.rank, peer, key, done)
    }

    fn poll(&mut self, sink: &mut impl Sink) -> bool {
        self.network.borrow_mut().hand_over(self.rank, sink)
    }

    fn doorbell(&self) -> Arc<dyn Doorbell> {
        Arc::new(Silent)
    }
}

//! Neighborhood collectives (MPI 5.0, sections 8.6 to 8.8): every rank sends to its destinations and receives from its
//! sources, which its topology names.

use crate::schedule::{Schedule, Span, StepPeer};

/// The neighbors of one rank in a topology. A rank may occur several times, and among its own neighbors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Neighbors<'a> {
    /// Whom it receives from, in the order of the blocks in the receive buffer. `None` is `MPI_PROC_NULL`: its block
    /// stays as it is.
    pub sources: &'a [Option<u32>],
    /// Whom it sends to, in the order of the blocks in the send buffer.
    pub destinations: &'a [Option<u32>],
    /// How the blocks of two ranks that are neighbors more than once find each other.
    pub pairing: Pairing,
}

/// Which block of a receiver takes which block of a sender, where one is several neighbors of the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pairing {
    /// The first that is sent is the first that is received: graphs.
    InOrder,
    /// Neighbors 2 k and 2 k + 1 lie in the negative and positive direction of dimension k of a grid. Who sends in the
    /// negative direction is the receiver's neighbor in the positive one (section 8.6), also where both
    /// directions lead to the same rank: in a periodic dimension of one or two.
    Opposite,
}

impl Neighbors<'_> {
    /// The indices of the sources, in the order in which their messages are sent.
    fn receive_order(&self) -> impl Iterator<Item = usize> {
        let flip = usize::from(self.pairing == Pairing::Opposite);
        (0..self.sources.len()).map(move |index| index ^ flip)
    }
}

/// All messages at once, receives first, so that what a rank sends itself lands where it belongs without a detour. There
/// are no batches as in [`crate::alltoall::direct`]: the ranks of a graph agree on no order in which they could
/// be made without a deadlock.
pub fn direct(s: &mut Schedule, around: &Neighbors, send: impl Fn(u32) -> Span, recv: impl Fn(u32) -> Span) {
    for index in around.receive_order() {
        if let Some(rank) = around.sources[index] {
            s.recv_some(StepPeer::Local(rank), recv(index as u32));
        }
    }
    for (index, destination) in (0..).zip(around.destinations) {
        if let Some(rank) = *destination {
            s.send_some(StepPeer::Local(rank), send(index));
        }
    }
    s.wait();
}

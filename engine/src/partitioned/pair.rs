//! One pair of a partitioned send and a partitioned receive, and what it divides.

use crate::slab::Id;
use tern_mem::UserBuf;
use tern_transport::Peer;

/// The number of a partitioned send or receive.
pub type PartitionedId = Id;

/// Names one pair of a partitioned send and a partitioned receive, on both sides.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct PartitionedPair {
    /// The other side.
    pub peer: Peer,
    pub context: u64,
    pub tag: i32,
    /// Which of the inits for these.
    pub number: u32,
}

/// What is divided into partitions, as one of the two sides sees it.
#[derive(Clone, Debug)]
pub struct Division {
    /// All partitions.
    pub buf: UserBuf,
    /// How many there are.
    pub partitions: u32,
    /// Type signature when types are checked, else 0: of all elements of a send, of one of a receive.
    pub signature: u64,
}

impl Division {
    /// Bytes of one partition.
    pub(super) fn partition_bytes(&self) -> u64 {
        (self.buf.len() as u64).checked_div(u64::from(self.partitions)).unwrap_or(0)
    }
}

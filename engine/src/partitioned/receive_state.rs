//! A partitioned receive: which bytes have landed, and which partitions are whole.

use super::pair::{Division, PartitionedPair};
use crate::request::MessageFault;
use crate::slab::Id;
use tern_mem::UserBuf;
use tern_transport::Peer;

/// A partitioned receive.
#[derive(Debug)]
pub(crate) struct Receiving {
    pub(super) pair: PartitionedPair,
    /// The sender's rank in the communicator, and this one's.
    pub(super) source: u32,
    pub(super) own: u32,
    pub(super) what: Division,
    /// The send, once it has answered.
    pub(super) send: Option<PartitionSource>,
    /// The sender has been told where this is.
    pub(super) is_open: bool,
    pub(super) is_active: bool,
    /// Of this round: bytes that have a place, bytes that have landed, of each partition as well.
    pub(super) begun: u64,
    pub(super) arrived: u64,
    pub(super) of_partition: Vec<u64>,
    /// A send without bytes is ready.
    pub(super) done: bool,
    pub(super) fault: Option<MessageFault>,
    pub(super) is_closed: bool,
    pub(super) is_over: bool,
}

/// Where the partitions come from.
#[derive(Clone, Copy, Debug)]
pub(super) struct PartitionSource {
    pub(super) id: Id,
    pub(super) total: u64,
    pub(super) fault: Option<MessageFault>,
}

impl Default for Receiving {
    fn default() -> Self {
        let pair = PartitionedPair { peer: 0, context: 0, tag: 0, number: 0 };
        Receiving::new(pair, 0, 0, Division { buf: UserBuf::empty(), partitions: 0, signature: 0 })
    }
}

impl Receiving {
    pub(super) fn new(pair: PartitionedPair, source: u32, own: u32, what: Division) -> Self {
        Receiving {
            pair,
            source,
            own,
            of_partition: vec![0; what.partitions as usize],
            what,
            send: None,
            is_open: false,
            is_active: false,
            begun: 0,
            arrived: 0,
            done: false,
            fault: None,
            is_closed: false,
            is_over: false,
        }
    }

    /// The other side is gone, so it will send no further round. Whether that ends this one.
    pub(crate) fn close(&mut self) -> bool {
        self.is_closed = true;
        self.is_active && !self.is_over && self.begun == 0 && self.end(Some(MessageFault::PartnerFreed))
    }

    pub(super) fn begin(&mut self) {
        (self.is_active, self.is_over, self.done, self.fault) = (true, false, false, None);
        (self.begun, self.arrived) = (0, 0);
        self.of_partition.fill(0);
        if self.is_closed {
            self.end(Some(MessageFault::PartnerFreed));
        }
    }

    pub(super) fn end(&mut self, fault: Option<MessageFault>) -> bool {
        self.fault = self.fault.or(fault);
        self.is_over = true;
        true
    }

    /// Bytes that will come in a round.
    pub(super) fn expected(&self) -> Option<u64> {
        Some(self.send?.total.min(self.what.buf.len() as u64))
    }

    /// Gives bytes of this round their place, if they have one.
    pub(super) fn place(&mut self, from: Peer, offset: u64, len: u64) -> bool {
        let expected = self.expected().unwrap_or(0);
        let end = offset.checked_add(len);
        // Never more than was asked for: nothing may still be landing when the receive is complete.
        let fits = end.is_some_and(|end| end <= expected) && len <= expected - self.begun;
        let placed = self.is_active && !self.is_over && self.pair.peer == from && fits && len > 0;
        self.begun += if placed { len } else { 0 };
        placed
    }

    /// Bytes have landed. Whether this round has just ended.
    pub(super) fn landed(&mut self, offset: u64, len: u64) -> bool {
        self.arrived += len;
        // Of a round that is over all has arrived: nobody asks for one partition.
        if self.ends() {
            return true;
        }
        let each = self.what.partition_bytes().max(1);
        let (mut at, end) = (offset, offset + len);
        while at < end {
            let partition = at / each;
            let until = end.min((partition + 1) * each);
            if let Some(bytes) = self.of_partition.get_mut(partition as usize) {
                *bytes += until - at;
            }
            at = until;
        }
        false
    }

    pub(super) fn ends(&mut self) -> bool {
        let Some(expected) = self.expected() else { return false };
        let whole = if expected == 0 { self.done } else { self.arrived >= expected };
        self.is_active && !self.is_over && whole && self.end(None)
    }

    pub(super) fn has(&self, partition: u32) -> bool {
        if !self.is_active || self.is_over {
            return true;
        }
        let Some(expected) = self.expected() else { return false };
        let each = self.what.partition_bytes();
        let first = u64::from(partition) * each;
        let wanted = expected.min(first + each).saturating_sub(first);
        wanted > 0 && self.of_partition.get(partition as usize).is_some_and(|&bytes| bytes >= wanted)
    }
}

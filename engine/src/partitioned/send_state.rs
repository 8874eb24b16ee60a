//! A partitioned send: which partitions are ready, and which bytes have not left.

use super::pair::{Division, PartitionedPair};
use crate::request::MessageFault;
use crate::slab::Id;
use std::collections::VecDeque;
use tern_mem::UserBuf;

/// Why partitions could not be made ready; nothing has happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReadyError {
    /// The request is not active.
    Inactive,
    /// There is no such partition, of so many.
    OutOfRange(u32),
    /// This partition is ready already.
    Twice(u32),
}

/// A partitioned send.
#[derive(Debug)]
pub(crate) struct Sending {
    pub(super) pair: PartitionedPair,
    /// This rank in the communicator.
    pub(super) source: u32,
    pub(super) what: Division,
    /// The receive, once it has started.
    pub(super) receive: Option<PartitionTarget>,
    pub(super) is_active: bool,
    /// Rounds that were started here and that the receive has granted, since they were last equal.
    pub(super) granted: u64,
    pub(super) started: u64,
    /// One bit for each partition, in this round.
    pub(super) ready: Vec<u64>,
    pub(super) ready_count: u32,
    /// Ready bytes that have not left, as ranges.
    pub(super) gathered: VecDeque<(u64, u64)>,
    pub(super) gathered_bytes: u64,
    /// They may be out of order.
    pub(super) is_mixed: bool,
    /// The next poll sends them.
    pub(super) is_due: bool,
    /// The program computes between its partitions.
    pub(super) computes: bool,
    /// They wait for the transport.
    pub(super) is_queued: bool,
    /// Parts whose memory is still read.
    pub(super) under_way: u32,
    /// A send without bytes: the receiver has been told in this round.
    pub(super) told: bool,
    pub(super) fault: Option<MessageFault>,
    /// A part could not be put: no other one is tried.
    pub(super) puts_fail: bool,
    pub(super) is_closed: bool,
    pub(super) is_over: bool,
}

/// Where the partitions go.
#[derive(Clone, Copy, Debug)]
pub(super) struct PartitionTarget {
    pub(super) id: Id,
    pub(super) room: u64,
    /// Address of its buffer, if it is contiguous; otherwise 0.
    pub(super) addr: u64,
}

impl Default for Sending {
    fn default() -> Self {
        let pair = PartitionedPair { peer: 0, context: 0, tag: 0, number: 0 };
        Sending::new(pair, 0, Division { buf: UserBuf::empty(), partitions: 0, signature: 0 })
    }
}

impl Sending {
    pub(super) fn new(pair: PartitionedPair, source: u32, what: Division) -> Self {
        let words = (what.partitions as usize).div_ceil(64);
        Sending {
            pair,
            source,
            what,
            receive: None,
            is_active: false,
            granted: 0,
            started: 0,
            ready: vec![0; words],
            ready_count: 0,
            gathered: VecDeque::new(),
            gathered_bytes: 0,
            is_mixed: false,
            is_due: false,
            computes: false,
            is_queued: false,
            under_way: 0,
            told: false,
            fault: None,
            puts_fail: false,
            is_closed: false,
            is_over: false,
        }
    }

    /// The other side is gone. Whether that ends this round.
    pub(crate) fn close(&mut self) -> bool {
        self.is_closed = true;
        self.is_active && self.granted < self.started && self.end(Some(MessageFault::PartnerFreed))
    }

    pub(super) fn begin(&mut self) {
        self.is_active = true;
        self.is_over = false;
        self.started += 1;
        self.ready.fill(0);
        (self.ready_count, self.told, self.fault) = (0, false, None);
        if self.is_closed && self.granted < self.started {
            self.end(Some(MessageFault::PartnerFreed));
        }
    }

    pub(super) fn end(&mut self, fault: Option<MessageFault>) -> bool {
        self.fault = self.fault.or(fault);
        self.is_over = true;
        true
    }

    pub(super) fn is_granted(&self) -> bool {
        self.granted >= self.started && self.receive.is_some()
    }

    /// Whether the program is about to compute: the receiver, who waits or is told later, had better do the work.
    pub(super) fn leaves_work(&self) -> bool {
        self.computes && !self.is_all_ready()
    }

    pub(super) fn is_all_ready(&self) -> bool {
        self.ready_count == self.what.partitions
    }

    /// Bytes that the receive has room for.
    pub(super) fn wanted_bytes(&self) -> u64 {
        let total = self.what.buf.len() as u64;
        self.receive.map_or(total, |receive| total.min(receive.room))
    }

    pub(super) fn check(&self, low: u32, high: u32) -> Result<(), ReadyError> {
        if !self.is_active {
            return Err(ReadyError::Inactive);
        }
        if high >= self.what.partitions {
            return Err(ReadyError::OutOfRange(self.what.partitions));
        }
        match (low..=high).find(|&at| self.ready[at as usize / 64] >> (at % 64) & 1 != 0) {
            Some(at) => Err(ReadyError::Twice(at)),
            None => Ok(()),
        }
    }

    /// Marks partitions and gathers their bytes.
    pub(super) fn mark(&mut self, low: u32, high: u32) {
        for at in low..=high {
            self.ready[at as usize / 64] |= 1 << (at % 64);
        }
        self.ready_count += high - low + 1;
        let each = self.what.partition_bytes();
        self.gather(u64::from(low) * each, (u64::from(high) + 1) * each);
    }

    pub(super) fn gather(&mut self, from: u64, until: u64) {
        if from == until {
            return;
        }
        self.gathered_bytes += until - from;
        match self.gathered.back_mut() {
            Some(last) if last.1 == from => last.1 = until,
            Some(last) if last.0 == until => last.0 = from,
            last => {
                self.is_mixed |= last.is_some();
                self.gathered.push_back((from, until));
            }
        }
    }

    /// Joins ranges that have become adjacent.
    pub(super) fn sort(&mut self) {
        if !std::mem::take(&mut self.is_mixed) {
            return;
        }
        let mut ranges: Vec<_> = std::mem::take(&mut self.gathered).into();
        ranges.sort_unstable();
        for (from, until) in ranges {
            match self.gathered.back_mut() {
                Some(last) if last.1 == from => last.1 = until,
                _ => self.gathered.push_back((from, until)),
            }
        }
    }

    /// The next bytes to send, without those for which the receive has no room.
    pub(super) fn next_range(&mut self) -> Option<(u64, u64)> {
        self.sort();
        let wanted = self.wanted_bytes();
        while let Some(&(from, until)) = self.gathered.front() {
            if from < wanted {
                return Some((from, until.min(wanted)));
            }
            self.taken(until - from);
        }
        None
    }

    /// So many bytes of the first range have left.
    pub(super) fn taken(&mut self, len: u64) {
        let Some(first) = self.gathered.front_mut() else { return };
        first.0 += len;
        self.gathered_bytes -= len;
        if first.0 == first.1 {
            self.gathered.pop_front();
        }
    }

    /// Whether this round has just ended.
    pub(super) fn ends(&mut self) -> bool {
        let told = self.told || self.wanted_bytes() > 0;
        let gone = self.gathered.is_empty() && self.under_way == 0;
        let ends =
            self.is_active && !self.is_over && self.is_granted() && self.is_all_ready() && gone && told;
        ends && self.end(None)
    }
}

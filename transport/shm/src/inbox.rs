//! The queue of `queue.rs` in the segment: cells as its links, and the messages in them.

use std::sync::atomic::{AtomicU32, Ordering};

use super::queue::{self, FIRST_CELL, Links, NONE, QueueLink, STUB};
use super::segment::Segment;
use tern_transport::{Header, Peer};

/// The inbound queue of one rank.
pub(crate) struct Inbox<'a> {
    pub(crate) segment: &'a Segment,
    pub(crate) receiver: Peer,
}

impl Links for Inbox<'_> {
    fn tail(&self) -> &AtomicU32 {
        &self.segment.control(self.receiver).queue_tail.0
    }

    fn next(&self, link: QueueLink) -> Option<&AtomicU32> {
        if link == STUB {
            return Some(&self.segment.control(self.receiver).queue_stub.0);
        }
        let (owner, cell) = self.cell(link)?;
        Some(&self.segment.cell_line(owner, cell).next)
    }
}

impl Inbox<'_> {
    /// Owner and number of the cell that `link` names, if there is such a cell.
    pub(crate) fn cell(&self, link: QueueLink) -> Option<(Peer, u32)> {
        let layout = self.segment.layout();
        let index = link.checked_sub(FIRST_CELL)?;
        let (owner, cell) = (index / layout.cells, index % layout.cells);
        (owner < layout.size).then_some((owner, cell))
    }

    /// Appends `sender`'s cell, which is filled.
    pub(crate) fn push(&self, sender: Peer, cell: u32) {
        let link = FIRST_CELL + sender * self.segment.layout().cells + cell;
        self.segment.cell_line(sender, cell).next.store(NONE, Ordering::Relaxed);
        queue::push(self, link);
    }
}

/// What a queued cell's line says of its message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Queued {
    pub(crate) header: Header,
    pub(crate) len: u32,
    /// The last message of this sender in the queue: its ring follows.
    pub(crate) ring_follows: bool,
}

impl Queued {
    pub(crate) fn write(&self, words: &[std::sync::atomic::AtomicU64; 4]) {
        let Header { kind, flags, credits, context, source, tag } = self.header;
        let first = u64::from(kind)
            | u64::from(flags) << 8
            | u64::from(credits) << 16
            | u64::from(self.ring_follows) << 32;
        let envelope = u64::from(source) | u64::from(tag as u32) << 32;
        for (word, value) in words.iter().zip([first, context, envelope, self.len.into()]) {
            word.store(value, Ordering::Relaxed);
        }
    }

    /// Copies it out; the values are the peer's and unchecked.
    pub(crate) fn read(words: &[std::sync::atomic::AtomicU64; 4]) -> Queued {
        let [first, context, envelope, len] = [0, 1, 2, 3].map(|i| words[i].load(Ordering::Relaxed));
        let header = Header {
            kind: first as u8,
            flags: (first >> 8) as u8,
            credits: (first >> 16) as u16,
            context,
            source: envelope as u32,
            tag: (envelope >> 32) as i32,
        };
        Queued { header, len: len as u32, ring_follows: first >> 32 & 1 != 0 }
    }
}

//! From a ring or the queue to the sink.

use std::sync::atomic::Ordering;

use tern_mem::UserBuf;

use super::bell::PeerBell;
use super::inbox::{Inbox, Queued};
use super::queue::Link;
use super::ring::{Head, Mark, RingReader, Shape, lines_for};
use super::segment::{CELL_FREE, Segment};
use crate::limits::{HEAD_PAYLOAD_BYTES, POLL_BUDGET};
use crate::{Header, Landing, Peer, Sink, Token};

/// The ring that one peer has opened to this rank.
pub(crate) struct Incoming {
    pub(crate) ring: RingReader,
    pub(crate) from: Peer,
    /// Of the peer, which may sleep until there is room.
    pub(crate) bell: PeerBell,
}

impl Incoming {
    /// Takes what is in the ring, within the budget. Whether anything was.
    #[inline]
    pub(crate) fn drain(&mut self, segment: &Segment, sink: &mut impl Sink) -> bool {
        let Some(mut mark) = self.ring.ready() else { return false };
        for _ in 0..POLL_BUDGET {
            self.take(mark, segment, sink);
            if sink.enough() {
                break;
            }
            match self.ring.ready() {
                Some(next) => mark = next,
                None => break,
            }
        }
        true
    }

    #[inline]
    fn take(&mut self, mark: Mark, segment: &Segment, sink: &mut impl Sink) {
        let head = self.ring.head(mark);
        match mark.single_line() {
            Some(len) => {
                self.advance(1);
                sink.short(self.from, &head.header, &head.payload()[..len]);
            }
            None => self.take_longer(mark, &head, segment, sink),
        }
    }

    fn take_longer(&mut self, mark: Mark, head: &Head, segment: &Segment, sink: &mut impl Sink) {
        match mark.shape() {
            Some(Shape::Lines(len)) => {
                self.take_lines(head, len, sink);
                self.advance(lines_for(len));
            }
            Some(Shape::Cell) => {
                let (cell, len) = head.cell();
                take_cell(segment, (self.from, cell), len, &head.header, sink);
                self.advance(1);
                self.bell.made_room();
            }
            // A broken peer: go past the line, so that the ring does not stay ready for ever.
            None => self.advance(1),
        }
    }

    #[inline(always)]
    fn advance(&mut self, lines: u32) {
        if self.ring.advance(lines) {
            self.bell.made_room();
        }
    }

    fn take_lines(&self, head: &Head, len: usize, sink: &mut impl Sink) {
        let Some(place) = Place::ask(self.from, &head.header, len, sink) else { return };
        // SAFETY: pieces are of the line, and of at least `n` bytes.
        unsafe { place.put(0, head.payload().as_ptr(), HEAD_PAYLOAD_BYTES) };
        self.ring.rest(len, |from, offset, n| {
            // SAFETY: as above.
            unsafe { place.put(offset, from, n) }
        });
        sink.landed(self.from, place.token);
    }
}

/// Takes the message in the queued cell `link`. Answers who sent it, and whether that peer's ring follows.
pub(crate) fn take_queued(inbox: &Inbox<'_>, link: Link, sink: &mut impl Sink) -> Option<(Peer, bool)> {
    let (from, cell) = inbox.cell(link)?;
    let queued = Queued::read(&inbox.segment.cell_line(from, cell).head);
    take_cell(inbox.segment, (from, cell), queued.len, &queued.header, sink);
    Some((from, queued.ring_follows))
}

/// Copies a cell's `len` bytes to where the sink wants them, and frees the cell.
fn take_cell(segment: &Segment, (from, cell): (Peer, u32), len: u32, header: &Header, sink: &mut impl Sink) {
    let layout = segment.layout();
    if cell >= layout.cells || len > layout.cell_bytes {
        return; // a broken peer
    }
    let (payload, len) = (segment.cell(from, cell), len as usize);
    let free = || segment.cell_line(from, cell).state.store(CELL_FREE, Ordering::Release);
    if len <= HEAD_PAYLOAD_BYTES {
        let mut copy = [0u8; HEAD_PAYLOAD_BYTES];
        // SAFETY: a cell is longer than a line; the copy is private.
        unsafe { std::ptr::copy_nonoverlapping(payload, copy.as_mut_ptr(), len) };
        free();
        return sink.short(from, header, &copy[..len]);
    }
    let place = Place::ask(from, header, len, sink);
    if let Some(place) = &place {
        // SAFETY: `len` was checked against the cell's size.
        unsafe { place.put(0, payload, len) };
    }
    free();
    if let Some(place) = place {
        sink.landed(from, place.token);
    }
}

/// Where a payload lands.
pub(crate) struct Place {
    buf: UserBuf,
    offset: usize,
    len: usize,
    pub(crate) token: Token,
}

impl Place {
    /// The sink's answer to a message's header.
    pub(crate) fn ask(from: Peer, header: &Header, len: usize, sink: &mut impl Sink) -> Option<Place> {
        match sink.header(from, header, len) {
            Landing::Place { buf, offset, len, token } => Some(Place { buf, offset, len, token }),
            Landing::Nothing => None,
        }
    }

    /// Stores payload bytes `[at, at + n)`, as far as they are wanted.
    ///
    /// # Safety
    /// `n` bytes must be readable at `from`.
    #[inline]
    pub(crate) unsafe fn put(&self, at: usize, from: *const u8, n: usize) {
        let n = n.min(self.len.saturating_sub(at));
        if n > 0 {
            // SAFETY: at most the caller's `n`; the buffer checks its own end.
            unsafe { self.buf.write_from(self.offset + at, from, n) };
        }
    }
}

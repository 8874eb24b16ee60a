//! From a ring or the queue to the sink.

use std::sync::atomic::Ordering;
use std::time::Instant;

use tern_mem::UserBuf;

use super::bell::PeerBell;
use super::fill::nanoseconds;
use super::inbox::{Inbox, Queued};
use super::paces::Paces;
use super::queue::Link;
use super::ring::{CellName, Mark, RingReader, Shape, lines_for};
use super::segment::{CELL_FREE, Segment};
use crate::limits::{
    BURST_LINES, HEAD_PAYLOAD_BYTES, LINES_AHEAD, MESSAGE_CELLS_MAX, MORE_PAYLOAD_BYTES, POLL_BUDGET,
};
use crate::{Header, Landing, Peer, Sink, Token};

/// The ring that one peer has opened to this rank.
pub(crate) struct Incoming {
    pub(crate) ring: RingReader,
    pub(crate) from: Peer,
    /// Of the peer, which may sleep until there is room.
    pub(crate) bell: PeerBell,
    /// A message of which not all lines have come.
    pub(crate) half: Option<Half>,
}

/// A message of several lines that is being taken: of their payload, or of the cells that they name.
pub(crate) struct Half {
    by_cells: bool,
    /// Nowhere if it is not wanted.
    place: Option<Place>,
    /// Bytes of the payload, and those that were taken.
    len: usize,
    taken: usize,
}

impl Incoming {
    /// Takes what is in the ring, within the budget. Whether anything was.
    #[inline]
    pub(crate) fn drain(&mut self, segment: &Segment, paces: &mut Paces, sink: &mut impl Sink) -> bool {
        let Some(mut mark) = self.ring.ready() else { return false };
        for _ in 0..POLL_BUDGET {
            self.take(mark, segment, paces, sink);
            // Lines that follow a longer message are being prepared by its writer: to look at them takes them away.
            if mark.single_line().is_none() && sink.enough() {
                break;
            }
            match self.ring.ready() {
                Some(next) => mark = next,
                None => break,
            }
            // The writer is ahead: further lines can cross while this one is taken, or the call returns.
            self.ring.expect(BURST_LINES);
            if sink.enough() {
                break;
            }
        }
        true
    }

    #[inline(always)]
    fn take(&mut self, mark: Mark, segment: &Segment, paces: &mut Paces, sink: &mut impl Sink) {
        match mark.single_line() {
            Some(len) => {
                let head = self.ring.head(mark);
                self.advance();
                sink.short(self.from, &head.header, &head.payload()[..len]);
            }
            None => self.take_longer(mark, segment, paces, sink),
        }
    }

    #[inline(never)]
    fn take_longer(&mut self, mark: Mark, segment: &Segment, paces: &mut Paces, sink: &mut impl Sink) {
        match mark.shape() {
            Some(Shape::Lines(len)) => self.take_first(mark, len, sink),
            Some(Shape::More) => match self.half.take() {
                Some(half) if half.by_cells => {
                    self.take_further_cells(half, segment, paces, sink);
                    self.bell.made_room();
                }
                Some(half) => self.take_more(half, sink),
                None => self.advance(),
            },
            Some(Shape::Cell) => {
                let head = self.ring.head(mark);
                let (cell, len) = head.cell();
                let half = take_first_cell(segment, (self.from, cell), len, &head.header, paces, sink);
                self.advance();
                if let Some(half) = half {
                    self.take_further_cells(half, segment, paces, sink);
                }
                self.bell.made_room();
            }
            // A broken peer: go past the line, so that the ring does not stay ready for ever.
            None => self.advance(),
        }
    }

    #[inline(always)]
    fn advance(&mut self) {
        if self.ring.advance() {
            self.bell.made_room();
        }
    }

    /// The first line of a message of several.
    fn take_first(&mut self, mark: Mark, len: usize, sink: &mut impl Sink) {
        // They cross between the cores while the sink looks for their place.
        (1..lines_for(len).min(1 + LINES_AHEAD)).for_each(|line| self.ring.expect(line));
        let head = self.ring.head(mark);
        self.advance();
        let place = Place::ask(self.from, &head.header, len, sink);
        if let Some(place) = &place {
            // SAFETY: the payload of a first line has so many bytes.
            unsafe { place.put(0, head.payload().as_ptr(), HEAD_PAYLOAD_BYTES) };
        }
        self.take_more(Half { by_cells: false, place, len, taken: HEAD_PAYLOAD_BYTES }, sink);
    }

    /// As many further lines as have come.
    fn take_more(&mut self, mut half: Half, sink: &mut impl Sink) {
        while half.taken < half.len {
            if half.len - half.taken > LINES_AHEAD as usize * MORE_PAYLOAD_BYTES {
                self.ring.expect(LINES_AHEAD);
            }
            // SAFETY: a further line has so many bytes of payload, and `take` asks for no more.
            if !self.ring.more(|from| unsafe { half.take(from) }) {
                self.half = Some(half);
                return;
            }
            self.advance();
        }
        half.end(self.from, sink);
    }

    /// As many further cells as have come. That there is room again, the caller tells: who sleeps for want of it needs several cells.
    fn take_further_cells(
        &mut self,
        mut half: Half,
        segment: &Segment,
        paces: &mut Paces,
        sink: &mut impl Sink,
    ) {
        while half.taken < half.len {
            let mut cell = CellName(0);
            // SAFETY: a further line has 56 bytes of payload. Whatever the peer does with it, it is read once.
            if !self.ring.more(|from| cell.0 = unsafe { from.cast::<u32>().read_volatile() }) {
                self.half = Some(half);
                return;
            }
            half.take_cell(segment, (self.from, cell));
            self.advance();
        }
        if half.place.is_some() {
            paces.by_cells_came(self.from, half.len);
        }
        half.end(self.from, sink);
    }
}

impl Half {
    /// Stores the payload of the next line, as far as it is wanted.
    ///
    /// # Safety
    /// [`MORE_PAYLOAD_BYTES`] must be readable at `from`.
    #[inline(always)]
    unsafe fn take(&mut self, from: *const u8) {
        let left = self.len - self.taken;
        match &self.place {
            // SAFETY: the whole payload has its place there, and this is a line's part of it; a copy of constant length.
            Some(Place { run: Some(run), .. }) if left >= MORE_PAYLOAD_BYTES => unsafe {
                run.add(self.taken).copy_from(from, MORE_PAYLOAD_BYTES);
            },
            // SAFETY: at most a line's payload.
            Some(place) => unsafe { place.put(self.taken, from, left.min(MORE_PAYLOAD_BYTES)) },
            None => {}
        }
        self.taken += left.min(MORE_PAYLOAD_BYTES);
    }

    /// Stores what the next cell holds, as far as it is wanted, and frees the cell.
    fn take_cell(&mut self, segment: &Segment, (from, cell): (Peer, CellName)) {
        let layout = segment.layout();
        let n = (self.len - self.taken).min(layout.cell_bytes as usize);
        // A broken peer may name none; its message has as many bytes as it said, whatever they are.
        if cell.cell() < layout.cells {
            if let Some(place) = &self.place {
                take_out(segment, (from, cell), n, place, self.taken);
            }
            segment.cell_line(from, cell.cell()).state.store(CELL_FREE, Ordering::Release);
        }
        self.taken += n;
    }

    /// All has been taken.
    fn end(self, from: Peer, sink: &mut impl Sink) {
        if let Some(place) = self.place {
            sink.landed(from, place.token);
        }
    }
}

/// A message from the queue.
pub(crate) struct Taken {
    pub(crate) from: Peer,
    /// The peer's ring follows.
    pub(crate) ring_follows: bool,
    /// What the ring has the rest of.
    pub(crate) half: Option<Half>,
}

/// Takes the message in the queued cell `link`.
pub(crate) fn take_queued(
    inbox: &Inbox<'_>,
    link: Link,
    paces: &mut Paces,
    sink: &mut impl Sink,
) -> Option<Taken> {
    let (from, cell) = inbox.cell(link)?;
    let queued = Queued::read(&inbox.segment.cell_line(from, cell).head);
    let cell = CellName::new(cell, false);
    let half = take_first_cell(inbox.segment, (from, cell), queued.len, &queued.header, paces, sink);
    Some(Taken { from, ring_follows: queued.ring_follows, half })
}

/// Copies what a cell holds of `len` bytes to where the sink wants them, and frees the cell. Answers with the message if further
/// cells follow.
fn take_first_cell(
    segment: &Segment,
    (from, name): (Peer, CellName),
    len: u32,
    header: &Header,
    paces: &mut Paces,
    sink: &mut impl Sink,
) -> Option<Half> {
    let (layout, cell) = (segment.layout(), name.cell());
    if cell >= layout.cells || len > layout.cell_bytes.saturating_mul(MESSAGE_CELLS_MAX) {
        return None; // a broken peer
    }
    let (payload, len) = (segment.cell(from, cell), len as usize);
    let free = || segment.cell_line(from, cell).state.store(CELL_FREE, Ordering::Release);
    if len <= HEAD_PAYLOAD_BYTES {
        let mut copy = [0u8; HEAD_PAYLOAD_BYTES];
        // SAFETY: a cell is longer than a line; the copy is private.
        unsafe { std::ptr::copy_nonoverlapping(payload, copy.as_mut_ptr(), len) };
        free();
        hand_over(from, header, &copy[..len], sink);
        return None;
    }
    let place = Place::ask(from, header, len, sink);
    if len > layout.cell_bytes as usize {
        let mut half = Half { by_cells: true, place, len, taken: 0 };
        half.take_cell(segment, (from, name));
        return Some(half);
    }
    if let Some(place) = &place {
        take_out(segment, (from, name), len, place, 0);
        paces.by_cells_came(from, len);
    }
    free();
    if let Some(place) = place {
        sink.landed(from, place.token);
    }
    None
}

/// Copies a cell's `n` bytes to where those of the message from `at` on belong, and tells how long it took if the sender wants to know.
/// There must be such a cell, of as many bytes.
#[inline(always)]
fn take_out(segment: &Segment, (from, name): (Peer, CellName), n: usize, place: &Place, at: usize) {
    let payload = segment.cell(from, name.cell());
    let start = name.is_timed().then(Instant::now);
    // SAFETY: a cell has so many bytes.
    unsafe { place.put(at, payload, n) };
    if let Some(start) = start {
        segment.cell_line(from, name.cell()).took.store(nanoseconds(start), Ordering::Relaxed);
    }
}

/// What the sink does with a short message is a good deal of code, which the lines of rings alone need in line.
#[inline(never)]
pub(crate) fn hand_over(from: Peer, header: &Header, payload: &[u8], sink: &mut impl Sink) {
    sink.short(from, header, payload);
}

/// Where a payload lands.
pub(crate) struct Place {
    buf: UserBuf,
    /// Where all of the payload goes, if it is wanted whole and its place is one run of memory.
    run: Option<*mut u8>,
    offset: usize,
    len: usize,
    pub(crate) token: Token,
}

impl Place {
    /// The sink's answer to a message's header.
    pub(crate) fn ask(from: Peer, header: &Header, len: usize, sink: &mut impl Sink) -> Option<Place> {
        match sink.header(from, header, len) {
            Landing::Place { buf, offset, len: wanted, token } => {
                let run = if wanted == len { buf.run_at(offset, len) } else { None };
                Some(Place { buf, run, offset, len: wanted, token })
            }
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

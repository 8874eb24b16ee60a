//! From a ring or the queue to the sink.

use std::ops::Range;
use std::sync::atomic::Ordering;
use std::time::Instant;

use tern_mem::{ContiguousBuf, UserBuf, copy_between_cores, copy_past_cache};

use super::bell::PeerBell;
use super::cells::CellPool;
use super::inbox::{Inbox, Queued};
use super::path_tuner::PathTuner;
use super::queue::QueueLink;
use super::ring::{CellName, LineHead, LineMark, MessageShape, RingReader, lines_for};
use super::segment::Segment;
use super::store_tuner::nanoseconds;
use crate::limits::{
    BURST_LINES, CELL_PIECE_BYTES_MIN, HEAD_PAYLOAD_BYTES, LINES_AHEAD, LINES_WHOLE_PAYLOAD_BYTES_MAX,
    MESSAGE_CELLS_MAX, MORE_PAYLOAD_BYTES, POLL_BUDGET,
};
use tern_transport::{Header, Landing, Peer, Sink, Token, WholeLanding};

/// The ring that one peer has opened to this rank.
pub(crate) struct IncomingRing {
    pub(crate) ring: RingReader,
    pub(crate) from: Peer,
    /// Of the peer, which may sleep until there is room.
    pub(crate) bell: PeerBell,
    /// A message of which not all lines have come.
    pub(crate) in_progress: Option<MessageInProgress>,
}

/// A message of several lines that is being taken: of their payload, or of the cells that they name.
pub(crate) struct MessageInProgress {
    by_cells: bool,
    /// Nowhere if it is not wanted.
    place: Option<PayloadPlace>,
    /// Bytes of the payload, and those that were taken.
    len: usize,
    taken: usize,
}

impl IncomingRing {
    /// Takes what is in the ring, within the budget. Whether anything was.
    #[inline]
    pub(crate) fn drain(
        &mut self,
        segment: &Segment,
        path_tuner: &mut PathTuner,
        cells: &mut CellPool,
        sink: &mut impl Sink,
    ) -> bool {
        let Some(mut mark) = self.ring.ready() else { return false };
        for _ in 0..POLL_BUDGET {
            self.take(mark, segment, path_tuner, cells, sink);
            // Lines that follow a longer message are being prepared by its writer: to look at them takes them away.
            if mark.single_line().is_none() && sink.backpressure() {
                break;
            }
            match self.ring.ready() {
                Some(next) => mark = next,
                None => break,
            }
            // The writer is ahead: further lines can cross while this one is taken, or the call returns.
            self.ring.expect(BURST_LINES);
            if sink.backpressure() {
                break;
            }
        }
        true
    }

    /// Goes past the message of one line that [`RingReader::next_short`] has shown.
    #[inline(always)]
    pub(crate) fn pass_short(&mut self) {
        self.advance();
        // As in `drain`: where the writer is ahead, further lines can cross while the call returns.
        if self.ring.ready().is_some() {
            self.ring.expect(BURST_LINES);
        }
    }

    #[inline(always)]
    fn take(
        &mut self,
        mark: LineMark,
        segment: &Segment,
        path_tuner: &mut PathTuner,
        cells: &mut CellPool,
        sink: &mut impl Sink,
    ) {
        match mark.single_line() {
            Some(len) => {
                let head = self.ring.head(mark);
                self.advance();
                sink.short(self.from, &head.header, &head.payload()[..len]);
            }
            None => self.take_longer(mark, segment, path_tuner, cells, sink),
        }
    }

    #[inline(never)]
    fn take_longer(
        &mut self,
        mark: LineMark,
        segment: &Segment,
        path_tuner: &mut PathTuner,
        cells: &mut CellPool,
        sink: &mut impl Sink,
    ) {
        let side = &mut ReceivingSide { segment, path_tuner, cells };
        match mark.shape() {
            Some(MessageShape::Lines(len)) => self.take_first(mark, len, sink),
            Some(MessageShape::More) => match self.in_progress.take() {
                Some(in_progress) if in_progress.by_cells => {
                    self.take_further_pieces(in_progress, side, sink);
                    self.bell.made_room();
                }
                Some(in_progress) => self.take_more(in_progress, sink),
                None => self.advance(),
            },
            Some(MessageShape::Cell) => {
                let head = self.ring.head(mark);
                let (cell, len) = head.cell();
                let first = side.segment.layout().piece(0, len as usize);
                let in_progress = take_first_piece(side, (self.from, cell), (first, len), &head.header, sink);
                self.advance();
                if let Some(in_progress) = in_progress {
                    self.take_further_pieces(in_progress, side, sink);
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
    fn take_first(&mut self, mark: LineMark, len: usize, sink: &mut impl Sink) {
        // They cross between the cores while the sink looks for their place.
        (1..lines_for(len).min(1 + LINES_AHEAD)).for_each(|line| self.ring.expect(line));
        let head = self.ring.head(mark);
        self.advance();
        let landing = match len <= LINES_WHOLE_PAYLOAD_BYTES_MAX {
            true => match sink.whole(self.from, &head.header, len) {
                WholeLanding::Now(run) => return self.take_whole(&head, run),
                WholeLanding::Later(landing) => landing,
            },
            false => sink.header(self.from, &head.header, len),
        };
        let place = PayloadPlace::of(landing, len);
        if let Some(place) = &place {
            // SAFETY: the payload of a first line has so many bytes.
            unsafe { place.put(0, head.payload().as_ptr(), HEAD_PAYLOAD_BYTES) };
        }
        self.take_more(MessageInProgress { by_cells: false, place, len, taken: HEAD_PAYLOAD_BYTES }, sink);
    }

    /// The rest of a message whose lines have all come.
    fn take_whole(&mut self, head: &LineHead, run: ContiguousBuf) {
        let (base, len) = (run.base(), run.len());
        // SAFETY: the run has more bytes than a first line, and nobody else uses it before this has ended.
        unsafe { base.copy_from_nonoverlapping(head.payload().as_ptr(), HEAD_PAYLOAD_BYTES) };
        let mut taken = HEAD_PAYLOAD_BYTES;
        while taken < len {
            let n = (len - taken).min(MORE_PAYLOAD_BYTES);
            let is_here = self.ring.more(|from| match n {
                // SAFETY: so many bytes of the run are left, and a further line has as many; a copy of constant length.
                MORE_PAYLOAD_BYTES => unsafe { base.add(taken).copy_from(from, MORE_PAYLOAD_BYTES) },
                // SAFETY: as above, for fewer.
                _ => unsafe { base.add(taken).copy_from(from, n) },
            });
            if !is_here {
                // A broken peer; what it still sends of the message is dropped.
                self.in_progress = Some(MessageInProgress { by_cells: false, place: None, len, taken });
                return;
            }
            taken += n;
            self.advance();
        }
    }

    /// As many further lines as have come.
    fn take_more(&mut self, mut in_progress: MessageInProgress, sink: &mut impl Sink) {
        while in_progress.taken < in_progress.len {
            if in_progress.len - in_progress.taken > LINES_AHEAD as usize * MORE_PAYLOAD_BYTES {
                self.ring.expect(LINES_AHEAD);
            }
            // SAFETY: a further line has so many bytes of payload, and `take` asks for no more.
            if !self.ring.more(|from| unsafe { in_progress.take(from) }) {
                self.in_progress = Some(in_progress);
                return;
            }
            self.advance();
        }
        in_progress.end(self.from, sink);
    }

    /// As many further pieces as have come. That there is room again, the caller tells: who sleeps for want of it needs several cells.
    fn take_further_pieces(
        &mut self,
        mut in_progress: MessageInProgress,
        side: &mut ReceivingSide<'_>,
        sink: &mut impl Sink,
    ) {
        while in_progress.taken < in_progress.len {
            let mut cell = CellName(0);
            // SAFETY: a further line has 56 bytes of payload. Whatever the peer does with it, it is read once.
            if !self.ring.more(|from| cell.0 = unsafe { from.cast::<u32>().read_volatile() }) {
                self.in_progress = Some(in_progress);
                return;
            }
            in_progress.take_piece(
                side,
                (self.from, cell),
                side.segment.layout().piece(in_progress.taken, in_progress.len),
            );
            self.advance();
        }
        if in_progress.place.is_some() {
            side.path_tuner.by_cells_came(self.from, in_progress.len);
        }
        in_progress.end(self.from, sink);
    }
}

impl MessageInProgress {
    /// Stores the payload of the next line, as far as it is wanted.
    ///
    /// # Safety
    /// [`MORE_PAYLOAD_BYTES`] must be readable at `from`.
    #[inline(always)]
    unsafe fn take(&mut self, from: *const u8) {
        let left = self.len - self.taken;
        match &self.place {
            // SAFETY: the whole payload has its place there, and this is a line's part of it; a copy of constant length.
            Some(PayloadPlace { run: Some(run), .. }) if left >= MORE_PAYLOAD_BYTES => unsafe {
                run.add(self.taken).copy_from(from, MORE_PAYLOAD_BYTES);
            },
            // SAFETY: at most a line's payload.
            Some(place) => unsafe { place.put(self.taken, from, left.min(MORE_PAYLOAD_BYTES)) },
            None => {}
        }
        self.taken += left.min(MORE_PAYLOAD_BYTES);
    }

    /// Stores the next `n` bytes, which are in this cell, as far as they are wanted; with its last ones the cell is free.
    fn take_piece(&mut self, side: &mut ReceivingSide<'_>, (from, cell): (Peer, CellName), n: usize) {
        let layout = side.segment.layout();
        let (at, end) = (self.taken % layout.cell_bytes as usize, self.taken + n);
        // A broken peer may name none; its message has as many bytes as it said, whatever they are.
        if cell.cell() < layout.cells {
            if let Some(place) = &self.place {
                side.take_out((from, cell), at..at + n, place, self.taken);
            }
            if end == self.len || end.is_multiple_of(layout.cell_bytes as usize) {
                side.cells.emptied(side.segment, from, cell);
            }
        }
        self.taken = end;
    }

    /// All has been taken.
    fn end(self, from: Peer, sink: &mut impl Sink) {
        if let Some(place) = self.place {
            sink.landed(from, place.token);
        }
    }
}

/// A message from the queue.
pub(crate) struct TakenMessage {
    pub(crate) from: Peer,
    /// The peer's ring follows.
    pub(crate) ring_follows: bool,
    /// What the ring has the rest of.
    pub(crate) in_progress: Option<MessageInProgress>,
}

/// Takes the message in the queued cell `link`.
pub(crate) fn take_queued(
    inbox: &Inbox<'_>,
    link: QueueLink,
    side: &mut ReceivingSide<'_>,
    sink: &mut impl Sink,
) -> Option<TakenMessage> {
    let (from, cell) = inbox.cell(link)?;
    let queued = Queued::read(&inbox.segment.cell_line(from, cell).head);
    let cell = CellName::new(cell, false);
    // It was queued when all of its cell was there.
    let first = queued.len.min(inbox.segment.layout().cell_bytes) as usize;
    let in_progress = take_first_piece(side, (from, cell), (first, queued.len), &queued.header, sink);
    Some(TakenMessage { from, ring_follows: queued.ring_follows, in_progress })
}

/// Copies the `first` of `len` bytes out of a cell to where the sink wants them, and frees the cell if that is all. Answers with the
/// message if further pieces follow.
fn take_first_piece(
    side: &mut ReceivingSide<'_>,
    (from, name): (Peer, CellName),
    (first, len): (usize, u32),
    header: &Header,
    sink: &mut impl Sink,
) -> Option<MessageInProgress> {
    let (layout, cell) = (side.segment.layout(), name.cell());
    if cell >= layout.cells || len > layout.cell_bytes.saturating_mul(MESSAGE_CELLS_MAX) {
        return None; // a broken peer
    }
    let len = len as usize;
    if len <= HEAD_PAYLOAD_BYTES {
        let mut copy = [0u8; HEAD_PAYLOAD_BYTES];
        // SAFETY: a cell is longer than a line; the copy is private.
        unsafe { std::ptr::copy_nonoverlapping(side.payload(from, name), copy.as_mut_ptr(), len) };
        side.cells.emptied(side.segment, from, name);
        hand_over(from, header, &copy[..len], sink);
        return None;
    }
    if first < len {
        let place = PayloadPlace::of(sink.header(from, header, len), len);
        let mut in_progress = MessageInProgress { by_cells: true, place, len, taken: 0 };
        in_progress.take_piece(side, (from, name), first);
        return Some(in_progress);
    }
    let (place, is_told) = match sink.whole(from, header, len) {
        WholeLanding::Now(run) => (Some(PayloadPlace::all_of(run)), true),
        WholeLanding::Later(landing) => (PayloadPlace::of(landing, len), false),
    };
    if let Some(place) = &place {
        side.take_out((from, name), 0..len, place, 0);
        side.path_tuner.by_cells_came(from, len);
    }
    side.cells.emptied(side.segment, from, name);
    if let Some(place) = place.filter(|_| !is_told) {
        sink.landed(from, place.token);
    }
    None
}

/// What a rank takes messages out of cells with.
pub(crate) struct ReceivingSide<'a> {
    pub(crate) segment: &'a Segment,
    pub(crate) path_tuner: &'a mut PathTuner,
    pub(crate) cells: &'a mut CellPool,
}

impl ReceivingSide<'_> {
    /// Where a cell begins that a peer has named. There must be such a cell.
    fn payload(&self, from: Peer, name: CellName) -> *mut u8 {
        let owner = if name.is_receivers() { self.cells.owner() } else { from };
        self.segment.cell(owner, name.cell())
    }

    /// Copies these bytes of a cell to where those of the message from `at` on belong, and tells how long it took if the sender wants
    /// to know. There must be such a cell, of as many bytes.
    #[inline(always)]
    fn take_out(&self, (from, name): (Peer, CellName), bytes: Range<usize>, place: &PayloadPlace, at: usize) {
        let start = name.is_timed().then(Instant::now);
        // SAFETY: a cell has so many bytes.
        unsafe { place.put(at, self.payload(from, name).add(bytes.start), bytes.len()) };
        if let Some(start) = start {
            self.segment.cell_line(from, name.cell()).took.store(nanoseconds(start), Ordering::Relaxed);
        }
    }
}

/// What the sink does with a short message is a good deal of code, which the lines of rings alone need in line.
#[inline(never)]
pub(crate) fn hand_over(from: Peer, header: &Header, payload: &[u8], sink: &mut impl Sink) {
    sink.short(from, header, payload);
}

/// Where a payload lands.
pub(crate) struct PayloadPlace {
    buf: UserBuf,
    /// Where all of the payload goes, if it is wanted whole and its place is one run of memory.
    run: Option<*mut u8>,
    offset: usize,
    len: usize,
    /// The message of which this is a part exceeds the cache.
    past_cache: bool,
    pub(crate) token: Token,
}

impl PayloadPlace {
    /// All of a message goes to one run of memory, of which the sink wants to hear nothing more.
    fn all_of(run: ContiguousBuf) -> PayloadPlace {
        let (base, len) = (run.base(), run.len());
        PayloadPlace { buf: run.into(), run: Some(base), offset: 0, len, past_cache: false, token: Token(0) }
    }

    /// The sink's answer to the header of a message of so many bytes.
    pub(crate) fn of(landing: Landing, len: usize) -> Option<PayloadPlace> {
        match landing {
            Landing::Place { buf, offset, len: wanted, token, whole } => {
                let run = if wanted == len { buf.contiguous_at(offset, len) } else { None };
                let past_cache = tern_mem::exceeds_cache(whole);
                Some(PayloadPlace { buf, run, offset, len: wanted, past_cache, token })
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
        match self.run {
            // SAFETY: at most the caller's `n`, and all of the payload has its place there.
            Some(run) if self.past_cache => unsafe { copy_past_cache(run.add(at), from, n) },
            // SAFETY: likewise.
            Some(run) if n >= CELL_PIECE_BYTES_MIN as usize => unsafe {
                copy_between_cores(run.add(at), from, n)
            },
            // SAFETY: at most the caller's `n`; the buffer checks its own end.
            _ if n > 0 => unsafe { self.buf.write_from(self.offset + at, from, n) },
            _ => {}
        }
    }
}

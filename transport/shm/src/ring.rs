//! A ring of 64-byte lines from one rank to another: one writer, one reader, no locked instruction.
//!
//! Each line says of itself whether it is new: its first word carries the *lap* in which it was written.
//! Memory starts as zero and laps count from 1 to 255 and again from 1, so a line's lap always differs from
//! what lay there before. The writer fills a line and then stores its first word (release); the reader sees
//! the lap it waits for (acquire) and the line is whole: payload and flag move in one cache line.
//!
//! A message of several lines is read while it is written: its first line is stored when some of the others are, and
//! each says of itself whether it is there. The reader never waits for a line: it comes back.
//! The reader tells how far it has come only once in a quarter of the ring, on a line of its own; the writer
//! looks there only when its ring seems full.

use std::ptr::NonNull;

use crate::hints;
use crate::limits::{HEAD_PAYLOAD_BYTES, LINES_AHEAD, LINES_PAYLOAD_BYTES_MAX, MORE_PAYLOAD_BYTES};
use crate::sync::{AtomicU32, AtomicU64, Ordering, UnsafeCell};
use tern_transport::am::{Header, ShortPayload};

/// One line: the mark, and 56 bytes whose meaning depends on it.
#[repr(C)]
#[cfg_attr(not(loom), repr(align(64)))]
pub(crate) struct Line {
    mark: AtomicU64,
    body: UnsafeCell<LineBody>,
}

/// What follows the mark in a message's first line: context, source (low half) and tag, payload. In further
/// lines all 56 bytes are payload.
type LineBody = [u64; MORE_PAYLOAD_BYTES / 8];

/// First word of the payload in a message's first line.
const PAYLOAD_WORD: usize = 2;

/// What the reader tells the writer, on a line of its own.
#[repr(C)]
#[cfg_attr(not(loom), repr(align(64)))]
pub(crate) struct Consumed {
    /// How far it has come.
    lines: AtomicU32,
    /// Which way it has the writer's long messages come: see [`super::path_tuner`].
    path: AtomicU32,
}

#[cfg(not(loom))]
const _: () = {
    use crate::limits::LINE_BYTES;
    assert!(size_of::<Line>() == LINE_BYTES && size_of::<Consumed>() == LINE_BYTES);
};
const _: () = assert!(size_of::<LineBody>() == MORE_PAYLOAD_BYTES);
const _: () = assert!(size_of::<LineBody>() - PAYLOAD_WORD * 8 == HEAD_PAYLOAD_BYTES);

/// How a message travels.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum MessageShape {
    /// The payload, this many bytes, is in the ring's lines, this one and those that follow.
    Lines(usize),
    /// A further line of a message.
    More,
    /// The payload is in a cell of the sender that the first line names, and in those that further lines name, one for each piece.
    Cell,
}

const SHAPE_LINES: u8 = 0;
const SHAPE_CELL: u8 = 1;
const SHAPE_MORE: u8 = 2;

/// The first word of a line, from the lowest byte: lap, shape, kind, flags, credits (2), payload bytes (2).
#[derive(Clone, Copy)]
pub(crate) struct LineMark(u64);

impl LineMark {
    #[inline(always)]
    fn first(lap: u8, shape: u8, header: &Header, len: usize) -> LineMark {
        LineMark(
            u64::from(lap)
                | u64::from(shape) << 8
                | u64::from(header.kind) << 16
                | u64::from(header.flags) << 24
                | u64::from(header.credits) << 32
                | (len as u64) << 48,
        )
    }

    fn more(lap: u8) -> LineMark {
        LineMark(u64::from(lap) | u64::from(SHAPE_MORE) << 8)
    }

    /// The header that the mark and the two words after it are.
    #[inline(always)]
    fn header(self, context: u64, envelope: u64) -> Header {
        Header {
            kind: (self.0 >> 16) as u8,
            flags: (self.0 >> 24) as u8,
            credits: (self.0 >> 32) as u16,
            context,
            source: envelope as u32,
            tag: (envelope >> 32) as i32,
        }
    }

    /// The payload's bytes if the message is a single line, which is what most are.
    #[inline(always)]
    pub(crate) fn single_line(self) -> Option<usize> {
        let len = (self.0 >> 48) as usize;
        ((self.0 >> 8) as u8 == SHAPE_LINES && len <= HEAD_PAYLOAD_BYTES).then_some(len)
    }

    /// `None` if no sound peer can have written this.
    pub(crate) fn shape(self) -> Option<MessageShape> {
        let len = (self.0 >> 48) as usize;
        match (self.0 >> 8) as u8 {
            SHAPE_LINES if len <= LINES_PAYLOAD_BYTES_MAX => Some(MessageShape::Lines(len)),
            SHAPE_CELL => Some(MessageShape::Cell),
            SHAPE_MORE => Some(MessageShape::More),
            _ => None,
        }
    }
}

/// A cell as a line names it, with what its receiver is to do with it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct CellName(pub(crate) u32);

impl CellName {
    const TIMED: u32 = 1 << 31;
    const LENT: u32 = 1 << 30;
    const RECEIVERS: u32 = 1 << 29;

    /// One of the sender's, which the receiver may keep if it `is_lent`.
    pub(crate) fn new(cell: u32, is_lent: bool) -> Self {
        CellName(if is_lent { cell | Self::LENT } else { cell })
    }

    /// One of the receiver's own, which the sender had kept.
    pub(crate) fn of_receiver(cell: u32) -> Self {
        CellName(cell | Self::RECEIVERS)
    }

    /// With the wish to hear how long it took to copy it out, if that `is_wanted`.
    pub(crate) fn timed(self, is_wanted: bool) -> Self {
        CellName(if is_wanted { self.0 | Self::TIMED } else { self.0 })
    }

    /// Unchecked: the peer wrote it.
    pub(crate) fn cell(self) -> u32 {
        self.0 & !(Self::TIMED | Self::LENT | Self::RECEIVERS)
    }

    pub(crate) fn is_timed(self) -> bool {
        self.0 & Self::TIMED != 0
    }

    pub(crate) fn is_lent(self) -> bool {
        self.0 & Self::LENT != 0
    }

    pub(crate) fn is_receivers(self) -> bool {
        self.0 & Self::RECEIVERS != 0
    }
}

/// Lines of a message with `len` bytes of payload.
#[inline]
pub(crate) fn lines_for(len: usize) -> u32 {
    1 + len.saturating_sub(HEAD_PAYLOAD_BYTES).div_ceil(MORE_PAYLOAD_BYTES) as u32
}

/// The memory of one ring. Pointers that may be null, so that zeros are one: see [`RingWriter`].
#[derive(Clone, Copy)]
pub(crate) struct RingMemory {
    lines: *const Line,
    consumed: *const Consumed,
    mask: u32,
}

impl RingMemory {
    /// # Safety
    /// `lines` must point to `count` lines, a power of two, and `consumed` to its line; zeroed before the
    /// ring's first use and valid as long as any reader or writer of the ring.
    pub(crate) unsafe fn new(lines: NonNull<Line>, consumed: NonNull<Consumed>, count: u32) -> Self {
        debug_assert!(count.is_power_of_two());
        RingMemory { lines: lines.as_ptr(), consumed: consumed.as_ptr(), mask: count - 1 }
    }

    #[inline(always)]
    fn line(&self, position: u32) -> &Line {
        // SAFETY: the masked position is below the count that `new` was promised.
        unsafe { &*self.lines.add((position & self.mask) as usize) }
    }

    #[inline(always)]
    fn consumed(&self) -> &AtomicU32 {
        // SAFETY: promised to `new`.
        unsafe { &(*self.consumed).lines }
    }

    fn path(&self) -> &AtomicU32 {
        // SAFETY: promised to `new`.
        unsafe { &(*self.consumed).path }
    }
}

/// Position and lap of either side.
#[derive(Clone, Copy)]
struct Cursor {
    position: u32,
    lap: u8,
}

impl Cursor {
    const START: Cursor = Cursor { position: 0, lap: 1 };

    #[inline(always)]
    fn step(&mut self, mask: u32) {
        self.position = self.position.wrapping_add(1);
        if self.position & mask == 0 {
            self.lap = if self.lap == u8::MAX { 1 } else { self.lap + 1 };
        }
    }
}

/// The writing side. Zeros are one of no ring: it is not open and has no room, so its pointers are never followed.
pub(crate) struct RingWriter {
    memory: RingMemory,
    at: Cursor,
    /// Lines that may be written before the reader's count must be looked at again.
    room: u32,
    opened: bool,
}

impl RingWriter {
    /// A writer that has no room until it is opened.
    pub(crate) fn new(memory: RingMemory) -> Self {
        RingWriter { memory, at: Cursor::START, room: 0, opened: false }
    }

    /// From now on there is room.
    pub(crate) fn open(&mut self) {
        self.opened = true;
        self.room = self.memory.mask + 1;
    }

    pub(crate) fn is_open(&self) -> bool {
        self.opened
    }

    /// What the reader has said last of the writer's long messages; 0 if nothing.
    pub(crate) fn readers_path(&self) -> u32 {
        if self.opened { self.memory.path().load(Ordering::Relaxed) } else { 0 }
    }

    /// There is room for a line, as far as is known without looking at the other side.
    #[inline(always)]
    pub(crate) fn has_room(&self) -> bool {
        self.room != 0
    }

    /// Whether `lines` can be written now, looking at the reader's count if need be.
    pub(crate) fn reserve(&mut self, lines: u32) -> bool {
        if self.room < lines && self.opened {
            let used = self.at.position.wrapping_sub(self.memory.consumed().load(Ordering::Acquire));
            // A count that the reader cannot have leaves no room; it would only ever let us overwrite.
            self.room = (self.memory.mask + 1).saturating_sub(used);
        }
        debug_assert!(self.room <= self.memory.mask + 1, "more room than the ring has lines");
        self.room >= lines
    }

    /// Writes a message of one line. There must be room. `fill` writes the payload.
    #[inline(always)]
    pub(crate) fn push_line(&mut self, header: &Header, len: usize, fill: impl FnOnce(*mut u8)) {
        self.push_first(SHAPE_LINES, header, len, fill);
    }

    /// Writes the line that names `cell`, in which a payload of `len` bytes begins. There must be room.
    pub(crate) fn push_cell(&mut self, header: &Header, cell: CellName, len: u32) {
        let fill = |to: *mut u8| {
            // SAFETY: the first line has 40 bytes of payload.
            unsafe { to.cast::<[u32; 2]>().write_unaligned([cell.0, len]) }
        };
        self.push_first(SHAPE_CELL, header, 0, fill);
    }

    /// Writes the line that names the cell of a further piece of the same message. There must be room.
    pub(crate) fn push_further_piece(&mut self, cell: CellName) {
        debug_assert!(self.room > 0, "a line is written where there is no room");
        // SAFETY: a further line has 56 bytes of payload.
        self.push_more(size_of::<u32>(), |to| unsafe { to.cast::<u32>().write_unaligned(cell.0) });
        self.room -= 1;
    }

    #[inline(always)]
    fn push_first(&mut self, shape: u8, header: &Header, len: usize, fill: impl FnOnce(*mut u8)) {
        debug_assert!(self.room > 0 && len <= HEAD_PAYLOAD_BYTES);
        let line = self.memory.line(self.at.position);
        write_head(line, header, fill);
        line.mark.store(LineMark::first(self.at.lap, shape, header, len).0, Ordering::Release);
        self.at.step(self.memory.mask);
        self.room -= 1;
    }

    /// Writes a message of several lines, the first one when [`LINES_AHEAD`] others are written. There must be room.
    /// `fill(to, offset, n)` writes `n` bytes of the payload from `offset`.
    #[inline(always)]
    pub(crate) fn push_lines(&mut self, header: &Header, len: usize, fill: impl Fn(*mut u8, usize, usize)) {
        let lines = lines_for(len);
        debug_assert!(lines <= self.room && len > HEAD_PAYLOAD_BYTES);
        let first = self.at;
        self.at.step(self.memory.mask);
        let full = (len - HEAD_PAYLOAD_BYTES) / MORE_PAYLOAD_BYTES;
        let ahead = full.min(LINES_AHEAD as usize);
        let mut offset = HEAD_PAYLOAD_BYTES;
        for _ in 0..ahead {
            hints::is_for_another(
                self.push_more(MORE_PAYLOAD_BYTES, |to| fill(to, offset, MORE_PAYLOAD_BYTES)),
            );
            offset += MORE_PAYLOAD_BYTES;
        }
        if full > ahead {
            self.push_head(first, header, len, &fill);
            for _ in ahead..full {
                self.push_more(MORE_PAYLOAD_BYTES, |to| fill(to, offset, MORE_PAYLOAD_BYTES));
                offset += MORE_PAYLOAD_BYTES;
            }
        }
        if offset < len {
            hints::is_for_another(self.push_more(len - offset, |to| fill(to, offset, len - offset)));
        }
        if full == ahead {
            self.push_head(first, header, len, &fill);
        }
        self.room -= lines;
        // As many lines again: the next message is often as long.
        (0..lines).for_each(|line| hints::will_write(self.memory.line(self.at.position.wrapping_add(line))));
    }

    /// As [`RingWriter::push_lines`], of a payload that is one run of memory.
    ///
    /// # Safety
    /// `len` bytes must be readable at `run`.
    pub(crate) unsafe fn push_run(&mut self, header: &Header, run: *const u8, len: usize) {
        // SAFETY: no more is asked for than so many bytes, and than each line has room for.
        self.push_lines(header, len, |to, offset, n| unsafe { run.add(offset).copy_to(to, n) });
    }

    #[inline(always)]
    fn push_more(&mut self, n: usize, fill: impl FnOnce(*mut u8)) -> *const Line {
        debug_assert!(n <= MORE_PAYLOAD_BYTES);
        let line = self.memory.line(self.at.position);
        line.body.with_mut(|body| fill(body.cast()));
        line.mark.store(LineMark::more(self.at.lap).0, Ordering::Release);
        self.at.step(self.memory.mask);
        line
    }

    #[inline(always)]
    fn push_head(&self, first: Cursor, header: &Header, len: usize, fill: &impl Fn(*mut u8, usize, usize)) {
        let line = self.memory.line(first.position);
        write_head(line, header, |to| fill(to, 0, HEAD_PAYLOAD_BYTES));
        line.mark.store(LineMark::first(first.lap, SHAPE_LINES, header, len).0, Ordering::Release);
        hints::is_for_another(line);
    }
}

#[inline(always)]
fn write_head(line: &Line, header: &Header, fill: impl FnOnce(*mut u8)) {
    line.body.with_mut(|body| {
        let words: *mut u64 = body.cast();
        // SAFETY: the line is this writer's until its mark is stored, and the words lie within it.
        unsafe {
            words.write(header.context);
            words.add(1).write(u64::from(header.source) | u64::from(header.tag as u32) << 32);
            fill(words.add(PAYLOAD_WORD).cast());
        }
    });
}

/// A message's first line, copied out: nothing in it changes any more, whatever the peer does.
pub(crate) struct LineHead {
    pub(crate) header: Header,
    payload: [u64; HEAD_PAYLOAD_BYTES / 8],
}

impl LineHead {
    #[inline(always)]
    pub(crate) fn payload(&self) -> &[u8; HEAD_PAYLOAD_BYTES] {
        // SAFETY: the same bytes, which as bytes need no alignment.
        unsafe { &*self.payload.as_ptr().cast() }
    }

    /// The cell and the payload bytes that a [`MessageShape::Cell`] line names. Unchecked: the peer wrote them.
    pub(crate) fn cell(&self) -> (CellName, u32) {
        let word = |i: usize| u32::from_ne_bytes(self.payload()[i..i + 4].try_into().expect("four bytes"));
        (CellName(word(0)), word(4))
    }
}

/// The reading side.
pub(crate) struct RingReader {
    memory: RingMemory,
    at: Cursor,
    /// The position that the writer was last told.
    published: u32,
}

impl RingReader {
    pub(crate) fn new(memory: RingMemory) -> Self {
        RingReader { memory, at: Cursor::START, published: 0 }
    }

    /// The mark of the next message, if it is here.
    #[inline(always)]
    pub(crate) fn ready(&self) -> Option<LineMark> {
        let mark = self.memory.line(self.at.position).mark.load(Ordering::Acquire);
        (mark as u8 == self.at.lap).then_some(LineMark(mark))
    }

    /// The first line of the message whose mark [`RingReader::ready`] gave.
    #[inline(always)]
    pub(crate) fn head(&self, mark: LineMark) -> LineHead {
        let words: LineBody = self.memory.line(self.at.position).body.with(|body| {
            let words: *const u64 = body.cast();
            // SAFETY: the mark says that the writer is done with the line. A peer that writes all the same
            // changes what is copied; volatile, so that it is copied once.
            std::array::from_fn(|i| unsafe { words.add(i).read_volatile() })
        });
        let [context, envelope, payload @ ..] = words;
        LineHead { header: mark.header(context, envelope), payload }
    }

    /// Says to the writer which way its long messages come.
    pub(crate) fn say_path(&self, path: u32) {
        self.memory.path().store(path, Ordering::Relaxed);
    }

    /// Whether the next message is here.
    #[inline(always)]
    pub(crate) fn has_next(&self) -> bool {
        self.ready().is_some()
    }

    /// The next message, if it is here and of one line. The header is copied out once; the payload is for whoever wants it to copy, once.
    #[inline(always)]
    pub(crate) fn next_short(&self) -> Option<(Header, ShortPayload<'_>)> {
        let mark = self.ready()?;
        let len = mark.single_line()?;
        self.memory.line(self.at.position).body.with(|body| {
            let words: *const u64 = body.cast();
            // SAFETY: as in `head`, and the payload's bytes lie in the line, which stays as long as the ring.
            let (context, envelope, payload) = unsafe {
                let payload = ShortPayload::new(words.add(PAYLOAD_WORD).cast(), len);
                (words.read_volatile(), words.add(1).read_volatile(), payload)
            };
            Some((mark.header(context, envelope), payload))
        })
    }

    /// Whether the next line, of whatever shape, is here: then `take` is shown its payload as a further line.
    #[inline(always)]
    pub(crate) fn more(&self, take: impl FnOnce(*const u8)) -> bool {
        let line = self.memory.line(self.at.position);
        let here = line.mark.load(Ordering::Acquire) as u8 == self.at.lap;
        if here {
            line.body.with(|body| take(body.cast()));
        }
        here
    }

    /// Line `ahead` from here will be read soon.
    #[inline(always)]
    pub(crate) fn expect(&self, ahead: u32) {
        hints::will_read(self.memory.line(self.at.position.wrapping_add(ahead)));
    }

    /// Goes past a line, and tells the writer once in a quarter of the ring. Answers whether it did: the writer may
    /// be asleep until then. Once the ring is empty, the writer lacks less than a quarter, so it has been told of
    /// room for any message ([`crate::limits::RING_LINES_MIN`]).
    #[inline(always)]
    #[must_use]
    pub(crate) fn advance(&mut self) -> bool {
        self.at.step(self.memory.mask);
        let untold = self.at.position.wrapping_sub(self.published);
        debug_assert!(untold <= self.memory.mask / 4 + 1, "the writer was not told of {untold} lines");
        let tell = untold > self.memory.mask / 4;
        if tell {
            self.published = self.at.position;
            self.memory.consumed().store(self.published, Ordering::Release);
        }
        tell
    }
}

#[cfg(test)]
mod tests;

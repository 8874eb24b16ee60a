//! What is sent to one peer: numbered frames, kept until the peer has acknowledged them, so that they can be sent again.
//!
//! A payload is written from where it lies and copied only afterwards, while the peer receives it already; one that is sent
//! without a copy ([`tern_transport::Transport::send_zero_copy`]) is never copied.

use std::collections::VecDeque;
use std::io;

use tern_mem::{BadMemory, IoVec, UserBuf};

use super::cause::{ErrorNumberCause, is_transient};
use super::frame::{FrameKind, FrameRepr, HEADER_BYTES, HeaderBytes, PAD_BYTES};
use super::heads::{HeadSpan, Heads};
use super::wire::{Wire, piece};
use crate::limits::{
    FRAME_COST_BYTES, GATHER_PIECES_MAX, INLINE_PAYLOAD_BYTES_MAX, KEPT_BYTES_MAX, PADDED_BYTES_MIN,
    PAGE_BYTES, SPARE_BLOCKS_MAX,
};
use tern_transport::config::Checksum;
use tern_transport::{AM_INLINE_BYTES_MAX, Am, Token, TransferError};

const _: () = assert!(AM_INLINE_BYTES_MAX <= INLINE_PAYLOAD_BYTES_MAX);

/// Counted as kept while a buffer that could not be read is not told of: nothing is taken until then, and no send has to ask.
const NO_ROOM_BYTES: usize = KEPT_BYTES_MAX;

/// The frames to one peer.
pub(crate) struct TcpOutbox {
    frames: VecDeque<QueuedFrame>,
    heads: Heads,
    /// The number of the first of them.
    first: u64,
    /// How many are wholly written to the present connection.
    written: usize,
    /// Bytes of the next one that are written.
    offset: usize,
    /// A frame without number that goes out between two others.
    note: Option<ControlFrame>,
    /// What the one after it is to say, if it has begun.
    next_note: Option<(FrameKind, u64)>,
    /// What the frames take of [`KEPT_BYTES_MAX`].
    kept: usize,
    /// Zero-copy sends whose end is to be told.
    zero_copies: usize,
    /// Blocks for copies, to be used again.
    spare: Vec<Vec<u8>>,
    checksum: Checksum,
    /// What is sent without a copy is read by this process, and not only by the kernel: it is asked first whether that can be
    /// done.
    probes: bool,
    /// Buffers of which a part could not be read, and whose last part has not ended yet.
    spoiled: Vec<BadMemory>,
    /// A buffer that could not be read, and of whose end nobody will hear.
    untold: Option<BadMemory>,
}

/// A zero-copy send that has ended, and how.
pub(crate) type EndedZeroCopy = (Token, Result<(), TransferError>);

struct QueuedFrame {
    /// Header, extended header and, of a short message, all of the payload.
    head: HeadSpan,
    body: FrameBody,
}

enum FrameBody {
    /// All is in the head.
    None,
    /// A copy.
    Kept(Vec<u8>),
    /// In the user's memory: sent without a copy, or about to be copied.
    Users { buf: UserBuf, offset: usize, len: usize, zero_copy: Option<ZeroCopy> },
    /// It could not be read there: the peer is told so.
    Void { bad: BadMemory, zero_copy: Option<ZeroCopy> },
}

/// Memory that is not copied; who sent without a copy it may want to hear of the end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ZeroCopy(pub Option<Token>);

struct ControlFrame {
    kind: FrameKind,
    bytes: [u8; HEADER_BYTES],
    offset: usize,
}

/// How far writing has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Written {
    /// Everything is out.
    All,
    /// The connection takes no more now.
    Blocked,
}

/// The peer acknowledges what was never sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct FalseAck;

impl QueuedFrame {
    fn body_len(&self) -> usize {
        match &self.body {
            FrameBody::None | FrameBody::Void { .. } => 0,
            FrameBody::Kept(bytes) => bytes.len(),
            FrameBody::Users { len, .. } => *len,
        }
    }

    fn len(&self) -> usize {
        self.head.len() + self.body_len()
    }

    /// What the frame takes of [`KEPT_BYTES_MAX`]. What is sent without a copy takes no memory here.
    fn cost(&self) -> usize {
        match self.body {
            FrameBody::Users { zero_copy: Some(_), .. } => FRAME_COST_BYTES,
            _ => FRAME_COST_BYTES + self.body_len(),
        }
    }

    /// The header says that no payload follows.
    fn void_head(&mut self, heads: &mut Heads) {
        let head = heads.pieces(self.head, 0).concat();
        let repr = HeaderBytes::first(&head).and_then(|packet| packet.parse().ok());
        if let Some(repr) = repr {
            heads.replace(&mut self.head, &repr.voided().bytes());
        }
    }

    /// Adds the bytes from `skip` on. Answers whether all found room.
    #[inline]
    fn add_to(&self, pieces: &mut Pieces<'_>, heads: &Heads, skip: usize) -> bool {
        let in_head = skip.min(self.head.len());
        let head = heads.pieces(self.head, in_head);
        if !head.into_iter().all(|part| part.is_empty() || pieces.add(piece(part))) {
            return false;
        }
        let skip = skip - in_head;
        match &self.body {
            FrameBody::None | FrameBody::Void { .. } => true,
            FrameBody::Kept(bytes) => pieces.add(piece(&bytes[skip..])),
            FrameBody::Users { buf, offset, len, .. } => {
                let (filled, bytes) = buf.iovecs(offset + skip, len - skip, pieces.room());
                pieces.filled += filled;
                bytes == len - skip
            }
        }
    }
}

/// Pieces of memory for one system call.
struct Pieces<'a> {
    all: &'a mut [IoVec],
    filled: usize,
}

impl Pieces<'_> {
    /// Adds a piece, if there is room for it. One that begins where the last one ends makes that longer.
    #[inline]
    fn add(&mut self, piece: IoVec) -> bool {
        if let Some(last) = self.all[..self.filled].last_mut()
            && last.base + last.len == piece.base
        {
            last.len += piece.len;
            return true;
        }
        let Some(next) = self.all.get_mut(self.filled) else { return false };
        *next = piece;
        self.filled += 1;
        true
    }

    fn room(&mut self) -> &mut [IoVec] {
        &mut self.all[self.filled..]
    }
}

impl TcpOutbox {
    pub(crate) fn new(checksum: Checksum, encrypts: bool) -> Self {
        TcpOutbox {
            frames: VecDeque::new(),
            heads: Heads::default(),
            first: 0,
            written: 0,
            offset: 0,
            note: None,
            next_note: None,
            kept: 0,
            zero_copies: 0,
            spare: Vec::new(),
            checksum,
            probes: encrypts || checksum != Checksum::Header,
            spoiled: Vec::new(),
            untold: None,
        }
    }

    /// A buffer that could not be read, if nobody will hear of it by a zero-copy send's end.
    pub(crate) fn take_untold(&mut self) -> Option<BadMemory> {
        let untold = self.untold.take();
        self.kept -= if untold.is_some() { NO_ROOM_BYTES } else { 0 };
        untold
    }

    /// Whether there is such a buffer.
    pub(crate) fn has_untold(&self) -> bool {
        self.untold.is_some()
    }

    /// Whether a frame with such a payload may be added.
    #[inline]
    pub(crate) fn has_room(&self, len: usize) -> bool {
        // An empty outbox takes anything.
        self.kept == 0 || self.kept + FRAME_COST_BYTES + len <= KEPT_BYTES_MAX
    }

    /// How many frames with a number were ever given to it.
    pub(crate) fn taken(&self) -> u64 {
        self.first + self.frames.len() as u64
    }

    /// What the frames take of [`KEPT_BYTES_MAX`].
    pub(crate) fn kept_bytes(&self) -> usize {
        self.kept
    }

    /// Whether there is something that the present connection has not taken yet.
    #[inline]
    pub(crate) fn has_unwritten(&self) -> bool {
        self.written < self.frames.len() || self.note.is_some()
    }

    /// Whether there is memory of the program's whose zero-copy send somebody waits to end.
    #[inline]
    pub(crate) fn has_zero_copies(&self) -> bool {
        self.zero_copies > 0
    }

    /// Whether the peer has acknowledged everything.
    pub(crate) fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// Adds a message. Unless it is sent without a copy, [`TcpOutbox::settle`] must follow before the caller returns
    /// its memory.
    pub(crate) fn push(&mut self, am: &Am<'_>, ack: u64, zero_copy: Option<ZeroCopy>) {
        let (mut bytes, payload_len) = ([0; HEADER_BYTES + INLINE_PAYLOAD_BYTES_MAX], am.payload_len());
        let (header, beside) = bytes.split_at_mut(HEADER_BYTES);
        // What is sent without a copy stays where it is, however short: its end must be told.
        let all = zero_copy.is_none() && payload_len <= INLINE_PAYLOAD_BYTES_MAX;
        let inline = if all { payload_len } else { am.extended.len() };
        let mut repr = FrameRepr {
            kind: FrameKind::Data,
            header: am.header,
            len: payload_len as u32,
            sum: None,
            urgent: matches!(zero_copy, Some(ZeroCopy(Some(_)))),
            void: false,
            padded: !all && wants_pad(am, HEADER_BYTES + inline),
            seq: self.next() as u32,
            ack: ack as u32,
        };
        let beside = &mut beside[..inline];
        // SAFETY: there is room for the `inline` bytes.
        unsafe { am.write_payload(beside.as_mut_ptr(), 0, inline) };
        let body = if all { FrameBody::None } else { self.body(am, zero_copy) };
        let is_void = matches!(body, FrameBody::Void { .. });
        if !is_void {
            repr.sum = self.sum(beside, &body);
        }
        header.copy_from_slice(&repr.bytes());
        let head = match repr.padded {
            false => self.heads.append([&bytes[..HEADER_BYTES + inline]]),
            true => {
                self.heads.append([&bytes[..HEADER_BYTES], &[0; PAD_BYTES], &bytes[HEADER_BYTES..][..inline]])
            }
        };
        let mut frame = QueuedFrame { head, body };
        if is_void {
            frame.void_head(&mut self.heads);
        }
        self.kept += frame.cost();
        self.zero_copies += usize::from(matches!(zero_copy, Some(ZeroCopy(Some(_)))));
        self.frames.push_back(frame);
    }

    /// Where the payload lies for now. What has gaps is packed at once: as many pieces would be slower to write.
    fn body(&mut self, am: &Am<'_>, zero_copy: Option<ZeroCopy>) -> FrameBody {
        if self.probes
            && zero_copy.is_some()
            && let Some(bad) = am.body.unreadable(am.offset, am.len)
        {
            return FrameBody::Void { bad, zero_copy };
        }
        match am.body.as_contiguous() {
            Some(_) => FrameBody::Users { buf: am.body.clone(), offset: am.offset, len: am.len, zero_copy },
            None => FrameBody::Kept(self.copy(am.body, am.offset, am.len)),
        }
    }

    fn sum(&self, inline: &[u8], body: &FrameBody) -> Option<u32> {
        if self.checksum == Checksum::Header {
            return None;
        }
        let mut sum = crc32c::crc32c(inline);
        match body {
            FrameBody::None | FrameBody::Void { .. } => {}
            FrameBody::Kept(bytes) => sum = crc32c::crc32c_append(sum, bytes),
            FrameBody::Users { buf, offset, len, .. } => sum = sum_of(sum, buf, *offset, *len),
        }
        Some(sum)
    }

    fn copy(&mut self, buf: &UserBuf, offset: usize, len: usize) -> Vec<u8> {
        let mut block = self.spare.pop().unwrap_or_default();
        block.clear();
        block.reserve(len);
        // SAFETY: `len` bytes were reserved, and are initialized when the length says so.
        unsafe {
            buf.read_to(offset, block.as_mut_ptr(), len);
            block.set_len(len);
        }
        block
    }

    /// Copies the last message if it is still in the user's memory and not sent without a copy.
    #[inline]
    pub(crate) fn settle(&mut self) {
        let Some(QueuedFrame { body: FrameBody::Users { buf, offset, len, zero_copy: None }, .. }) =
            self.frames.back()
        else {
            return;
        };
        let (buf, offset, len) = (buf.clone(), *offset, *len);
        let copy = self.copy(&buf, offset, len);
        if let Some(frame) = self.frames.back_mut() {
            frame.body = FrameBody::Kept(copy);
        }
    }

    /// The number of the next message.
    fn next(&self) -> u64 {
        self.first + self.frames.len() as u64
    }

    /// Sends a frame without a message, before the next one that has not begun. Answers whether it will be sent: an acknowledgement
    /// is not while another is going out.
    pub(crate) fn add_note(&mut self, kind: FrameKind, ack: u64) -> bool {
        let kind = match &self.note {
            Some(note) if note.offset > 0 => {
                let waits = kind != FrameKind::Ack;
                self.next_note = if waits { Some((kind, ack)) } else { self.next_note };
                return waits;
            }
            // The others acknowledge as well.
            Some(note) if kind == FrameKind::Ack => note.kind,
            _ => kind,
        };
        self.note =
            Some(ControlFrame { kind, bytes: FrameRepr::note(kind, self.next(), ack).bytes(), offset: 0 });
        true
    }

    /// Writes as much as the connection takes.
    pub(crate) fn write(&mut self, wire: &mut impl Wire) -> io::Result<Written> {
        if let Some(written) = self.write_one(wire)? {
            return Ok(written);
        }
        while self.has_unwritten() {
            let mut pieces = [IoVec::default(); GATHER_PIECES_MAX];
            let filled = self.gather(Pieces { all: &mut pieces, filled: 0 });
            let total: usize = pieces[..filled].iter().map(|piece| piece.len).sum();
            // SAFETY: the pieces lie in frames that live during the call, or in users' memory that is sent without a copy.
            match unsafe { wire.write(&pieces[..filled]) } {
                Ok(bytes) => {
                    self.advance(bytes);
                    if bytes < total {
                        return Ok(Written::Blocked);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if is_transient(&error) => return Ok(Written::Blocked),
                Err(error) => self.spoil(error)?,
            }
        }
        Ok(Written::All)
    }

    /// Writing has failed. If a buffer cannot be read, its frame goes without it from now on, and the others as they are. That
    /// is an error if another connection is needed, since this one has taken the beginning of the frame, or if nobody else
    /// will tell.
    #[cold]
    fn spoil(&mut self, error: io::Error) -> io::Result<()> {
        let guilty = if ErrorNumberCause::of(&error) == ErrorNumberCause::Memory {
            self.first_unreadable()
        } else {
            None
        };
        let Some((at, bad)) = guilty else { return Err(error) };
        let frame = &mut self.frames[at];
        self.kept -= frame.cost();
        let FrameBody::Users { zero_copy, .. } = frame.body else { return Err(error) };
        frame.body = FrameBody::Void { bad, zero_copy };
        frame.void_head(&mut self.heads);
        self.kept += frame.cost();
        if zero_copy.is_none() {
            self.untold = Some(bad);
            self.kept += NO_ROOM_BYTES;
        }
        let has_begun = at == self.written && self.offset > 0;
        if has_begun || zero_copy.is_none() { Err(error) } else { Ok(()) }
    }

    /// The frame to be written that cannot be read: the first of the program's memory, if no other is found.
    fn first_unreadable(&self) -> Option<(usize, BadMemory)> {
        let users = |at: usize| match &self.frames[at].body {
            FrameBody::Users { buf, offset, len, .. } => Some((at, buf, *offset, *len)),
            _ => None,
        };
        let all = || (self.written..self.frames.len()).filter_map(users);
        let bad = all().find_map(|(at, buf, offset, len)| Some((at, buf.unreadable(offset, len)?)));
        bad.or_else(|| {
            let (at, buf, ..) = all().next()?;
            let (base, len) = buf.as_contiguous()?;
            Some((at, BadMemory { base, len, bad: base }))
        })
    }

    /// The usual case: one frame, of three pieces at most. `None` if it is another, or not all of it was taken.
    #[inline]
    fn write_one(&mut self, wire: &mut impl Wire) -> io::Result<Option<Written>> {
        if self.written + 1 != self.frames.len() || self.offset != 0 || self.note.is_some() {
            return Ok(None);
        }
        let Some(frame) = self.frames.back() else { return Ok(None) };
        let mut pieces = [IoVec::default(); 3];
        let mut pieces = Pieces { all: &mut pieces, filled: 0 };
        if !frame.add_to(&mut pieces, &self.heads, 0) {
            return Ok(None);
        }
        // SAFETY: the pieces lie in a frame that lives during the call, or in users' memory that is sent without a copy.
        match unsafe { wire.write(&pieces.all[..pieces.filled]) } {
            Ok(bytes) if bytes == frame.len() => {
                self.written += 1;
                Ok(Some(Written::All))
            }
            Ok(bytes) => {
                self.offset = bytes;
                Ok(None)
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(None),
            Err(error) if is_transient(&error) => Ok(Some(Written::Blocked)),
            Err(error) => self.spoil(error).map(|()| None),
        }
    }

    /// Fills in what is to be written next; answers how many pieces that are.
    fn gather(&self, mut pieces: Pieces<'_>) -> usize {
        let (mut skip, mut from) = (self.offset, self.written);
        if let Some(note) = &self.note {
            if skip > 0 {
                // The frame that has begun comes first.
                if !self.frames[from].add_to(&mut pieces, &self.heads, skip) {
                    return pieces.filled;
                }
                (skip, from) = (0, from + 1);
            }
            if !pieces.add(piece(&note.bytes[note.offset..])) {
                return pieces.filled;
            }
        }
        for frame in self.frames.range(from..) {
            if !frame.add_to(&mut pieces, &self.heads, skip) {
                break;
            }
            skip = 0;
        }
        pieces.filled
    }

    /// So many bytes more are written.
    fn advance(&mut self, mut bytes: usize) {
        while bytes > 0 {
            if self.offset == 0
                && let Some(note) = &mut self.note
            {
                let taken = bytes.min(HEADER_BYTES - note.offset);
                note.offset += taken;
                bytes -= taken;
                if note.offset == HEADER_BYTES {
                    self.note = None;
                    if let Some((kind, ack)) = self.next_note.take() {
                        self.add_note(kind, ack);
                    }
                }
                continue;
            }
            let left = self.frames[self.written].len() - self.offset;
            if bytes < left {
                self.offset += bytes;
                return;
            }
            bytes -= left;
            self.offset = 0;
            self.written += 1;
        }
    }

    /// The peer expects the frame with number `ack` next: those before have come. Zero-copy sends that end are added to `done`.
    #[inline]
    pub(crate) fn acknowledge(&mut self, ack: u32, done: &mut Vec<EndedZeroCopy>) -> Result<(), FalseAck> {
        let come = ack.wrapping_sub(self.first as u32) as usize;
        if come == 0 {
            return Ok(());
        }
        // One older than another that overtook it, which nothing does on one connection, says nothing new.
        if come > self.written {
            return if come > u32::MAX as usize / 2 { Ok(()) } else { Err(FalseAck) };
        }
        self.forget(come, done);
        Ok(())
    }

    fn forget(&mut self, count: usize, done: &mut Vec<EndedZeroCopy>) {
        for frame in self.frames.drain(..count) {
            self.kept -= frame.cost();
            match frame.body {
                FrameBody::Users { buf, zero_copy: Some(ZeroCopy(Some(token))), .. } => {
                    self.zero_copies -= 1;
                    done.push((token, end_of_zero_copy(&mut self.spoiled, &buf)));
                }
                FrameBody::Void { bad, zero_copy: Some(ZeroCopy(token)) } => {
                    self.zero_copies -= usize::from(token.is_some());
                    self.spoiled.retain(|spoiled| (spoiled.base, spoiled.len) != (bad.base, bad.len));
                    match token {
                        Some(token) => done.push((token, Err(bad.into()))),
                        None => self.spoiled.push(bad),
                    }
                }
                FrameBody::Kept(block) if self.spare.len() < SPARE_BLOCKS_MAX => self.spare.push(block),
                _ => {}
            }
        }
        self.heads.forget_before(self.frames.front().map(|frame| frame.head));
        self.first += count as u64;
        self.written = self.written.saturating_sub(count);
    }

    /// The connection is gone: what it took and the peer has not acknowledged may be lost.
    pub(crate) fn unwrite(&mut self) {
        (self.written, self.offset, self.note, self.next_note) = (0, 0, None, None);
    }

    /// A new connection: the peer expects frame `next`. Everything from there on is written again.
    pub(crate) fn rewind(&mut self, next: u64, done: &mut Vec<EndedZeroCopy>) -> Result<(), FalseAck> {
        let come = next.checked_sub(self.first).ok_or(FalseAck)?;
        if come > self.frames.len() as u64 {
            return Err(FalseAck);
        }
        self.forget(come as usize, done);
        self.unwrite();
        Ok(())
    }
}

/// How the last part of a buffer ends: well, unless a part before it could not be read.
#[inline]
fn end_of_zero_copy(spoiled: &mut Vec<BadMemory>, buf: &UserBuf) -> Result<(), TransferError> {
    let its = |bad: &BadMemory| buf.as_contiguous() == Some((bad.base, bad.len));
    match spoiled.iter().position(its) {
        None => Ok(()),
        Some(at) => Err(spoiled.swap_remove(at).into()),
    }
}

/// Whether a long body that begins `at` bytes behind its frame had better lie farther: the kernel copies the frame to where a page
/// begins, as a rule, and AMD's processors take twice as long to copy to a place that lies up to 63 bytes farther in its page than the source,
/// where that was in another core's cache (docs/performance/constants.md). Blocks of `malloc` begin 16 bytes into a page, and so their
/// copies behind a header of 64.
fn wants_pad(am: &Am<'_>, at: usize) -> bool {
    let place = am.body.as_contiguous().filter(|_| am.len >= PADDED_BYTES_MIN);
    place.is_some_and(|(start, _)| {
        let ahead = at.wrapping_sub(start + am.offset) % PAGE_BYTES;
        (1..PAD_BYTES).contains(&ahead)
    })
}

/// Continues a checksum over bytes of a user's buffer that lie in one run.
pub(crate) fn sum_of(sum: u32, buf: &UserBuf, offset: usize, len: usize) -> u32 {
    let mut pieces = [IoVec::default()];
    let mut sum = sum;
    let mut at = 0;
    while at < len {
        let (_, bytes) = buf.iovecs(offset + at, len - at, &mut pieces);
        if bytes == 0 {
            break;
        }
        let start: *const u8 = std::ptr::with_exposed_provenance(pieces[0].base);
        // SAFETY: the buffer's maker promised that its bytes can be read while it is in use.
        sum = crc32c::crc32c_append(sum, unsafe { std::slice::from_raw_parts(start, bytes) });
        at += bytes;
    }
    sum
}

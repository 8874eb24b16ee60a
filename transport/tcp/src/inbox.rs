//! What one peer sends: from the connection to where it lands.
//!
//! Short frames are read many at a time into a block. The payload of a long one is read straight to its landing place, and
//! what follows it into the block, in one call.

use std::io;

use tern_mem::{IoVec, UserBuf};

use super::cause::{ErrorNumberCause, is_transient};
use super::frame::{FrameKind, FrameRepr, HeaderBytes, MalformedFrame};
use super::outbox::sum_of;
use super::partial_read::PartialRead;
use super::wire::{Wire, piece_mut};
use crate::limits::*;
use tern_transport::{Landing, Peer, Sink, Token, TransferError};

/// The frames of one peer.
pub(crate) struct TcpInbox {
    from: Peer,
    /// The number of the frame that is expected.
    next: u64,
    /// Bytes that were read and not looked at: `start .. end` of the block, which exists once it is needed.
    block: Box<[u8]>,
    start: usize,
    end: usize,
    /// The frame whose payload is landing.
    arriving: Option<Arriving>,
    /// What the connection that broke had begun to land.
    interrupted: Option<(FrameRepr, Option<FrameLanding>)>,
    /// What the peer keeps that has come since it was last told so.
    owed: usize,
    /// The peer waits to be told.
    urgent: bool,
    /// What the peer's last header acknowledged.
    ack: Option<u32>,
    /// The last acknowledgement that a long message brought.
    news: u32,
    /// The last message was long: the next one, too, for all that is known.
    expects_long: bool,
    /// What was last asked for was not all there.
    dry: bool,
    patience: PartialRead,
    /// The peer has said that it goes, and not that it is back.
    goes: bool,
}

struct Arriving {
    repr: FrameRepr,
    place: Option<FrameLanding>,
    /// Bytes of the payload that have come.
    got: usize,
    sum: u32,
}

/// What the block had.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ParsedBlock {
    /// No end of a message.
    Nothing,
    /// At least one.
    Some,
    /// An acknowledgement that is to be looked at before anything else.
    News,
}

#[derive(Clone)]
struct FrameLanding {
    buf: UserBuf,
    offset: usize,
    /// Bytes wanted.
    len: usize,
    token: Token,
    /// What lands there is not the message.
    spoiled: Option<TransferError>,
}

/// Why a connection cannot be used any more.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Broken {
    #[error("the peer closed the connection")]
    Closed,
    #[error("{0}")]
    Os(#[from] io::Error),
    #[error("what came is not a frame of this version ({0:?})")]
    Malformed(MalformedFrame),
    #[error("a payload was damaged on its way")]
    Damaged,
    #[error("a frame is missing")]
    Gap,
    #[error("the peer acknowledged what was never sent")]
    FalseAck,
    #[error("nothing that was sent has been acknowledged by the peer's machine for {0} s")]
    Silent(u64),
}

impl TcpInbox {
    pub(crate) fn new(from: Peer) -> Self {
        TcpInbox {
            from,
            next: 0,
            block: Box::default(),
            start: 0,
            end: 0,
            arriving: None,
            interrupted: None,
            owed: 0,
            urgent: false,
            ack: None,
            news: 0,
            expects_long: false,
            dry: false,
            patience: PartialRead::default(),
            goes: false,
        }
    }

    /// The number of the frame that is expected; it acknowledges all before.
    #[inline]
    pub(crate) fn next(&self) -> u64 {
        self.next
    }

    /// The peer is being told.
    #[inline]
    pub(crate) fn acknowledged(&mut self) {
        (self.owed, self.urgent) = (0, false);
    }

    /// Whether the peer must be told, although there is nothing else to send.
    #[inline]
    pub(crate) fn must_acknowledge(&self) -> bool {
        self.urgent || self.owes_much()
    }

    /// Whether the peer keeps so much that it may have to stop soon.
    #[inline]
    pub(crate) fn owes_much(&self) -> bool {
        self.owed >= ACK_OWED_BYTES_MAX
    }

    /// Whether the peer waits to be told, and has not said that it goes.
    #[inline]
    pub(crate) fn is_waited_for(&self) -> bool {
        self.urgent && !self.goes
    }

    /// What the peer has acknowledged.
    #[inline]
    pub(crate) fn take_ack(&mut self) -> Option<u32> {
        self.ack.take()
    }

    /// Whether there are bytes that were read and not looked at.
    #[inline]
    pub(crate) fn has_bytes(&self) -> bool {
        self.start < self.end
    }

    /// Whether the peer has said that it goes, and has not come back.
    pub(crate) fn peer_goes(&self) -> bool {
        self.goes
    }

    /// A new connection: what has not come whole comes again.
    pub(crate) fn rewind(&mut self) {
        (self.start, self.end, self.ack) = (0, 0, None);
        if let Some(arriving) = self.arriving.take() {
            self.interrupted = Some((arriving.repr, arriving.place));
        }
    }

    /// Takes what has come, to the sink, up to a budget. Whether anything had. With `zero_copy`, something of the program's waits
    /// for an acknowledgement.
    #[inline]
    pub(crate) fn receive(
        &mut self,
        wire: &mut impl Wire,
        sink: &mut impl Sink,
        zero_copy: bool,
    ) -> Result<bool, Broken> {
        let mut any = false;
        match self.parse(sink, zero_copy)? {
            ParsedBlock::Nothing => {}
            ParsedBlock::News => return Ok(true),
            ParsedBlock::Some if sink.backpressure() => return Ok(true),
            ParsedBlock::Some => any = true,
        }
        for _ in 0..READS_PER_POLL_MAX {
            let Some(full) = self.read(wire)? else { break };
            any = true;
            // The rest of a message is on its way; a new one need not be.
            let done = !full && self.arriving.is_none();
            if self.parse(sink, zero_copy)? == ParsedBlock::News || done || sink.backpressure() {
                break;
            }
        }
        Ok(any)
    }

    /// Reads once. Answers whether there may be more; `None` if nothing was there.
    #[inline]
    fn read(&mut self, wire: &mut impl Wire) -> Result<Option<bool>, Broken> {
        let between = self.arriving.is_none() && !self.block.is_empty();
        let (asked, answer) = match self.awaited_rest() {
            Some(rest) => self.read_rest(wire, rest),
            None if between => self.read_block(wire),
            None => self.read_gathered(wire),
        };
        let full = matches!(answer, Ok(bytes) if bytes == asked);
        // The head of a long message fills what is asked for, and tells nothing.
        self.dry = !full || (between && self.dry);
        match answer {
            Ok(0) => Err(Broken::Closed),
            Ok(_) => Ok(Some(full)),
            Err(error) if is_transient(&error) => Ok(None),
            Err(error)
                if ErrorNumberCause::of(&error) == ErrorNumberCause::Memory && self.abandon_place() =>
            {
                Ok(Some(true))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// The place of the payload cannot be written: the rest is read and dropped. Whether there was such a place.
    #[cold]
    fn abandon_place(&mut self) -> bool {
        let arriving = self.arriving.as_mut();
        let Some(place) = arriving.and_then(|arriving| arriving.place.as_mut()).filter(|place| place.len > 0)
        else {
            return false;
        };
        let (base, len) = place.buf.as_contiguous().unwrap_or((0, place.buf.len()));
        place.spoiled = Some(TransferError::OwnMemory { base, len });
        place.len = 0;
        true
    }

    /// Where the rest of a payload goes, if it has been waited for and goes to one piece of memory: nothing lies behind it then, as a
    /// rule, and one piece costs the kernel less than two. What is summed had better be looked at while it is in the cache.
    #[inline]
    fn awaited_rest(&self) -> Option<IoVec> {
        let Some(Arriving { repr, place: Some(place), got, .. }) = &self.arriving else { return None };
        let whole = place.len >= repr.len as usize && self.start == self.end;
        if !whole || !self.dry || repr.sum.is_some() {
            return None;
        }
        let mut piece = [IoVec::default()];
        let left = repr.len as usize - got;
        let (_, bytes) = place.buf.iovecs(place.offset + got, left, &mut piece);
        (bytes == left).then_some(piece[0])
    }

    /// Reads until all of it has come, or none has for some tries.
    fn read_rest(&mut self, wire: &mut impl Wire, rest: IoVec) -> (usize, io::Result<usize>) {
        let (mut got, mut tries) = (0, None);
        let answer = loop {
            let left = IoVec { base: rest.base + got, len: rest.len - got };
            // SAFETY: the piece lies in a buffer that the sink named for this message.
            match unsafe { wire.read(&[left]) } {
                Ok(bytes) => {
                    got += bytes;
                    if tries.take().is_some() {
                        self.patience.paid();
                    }
                    if bytes == 0 || got == rest.len {
                        break Ok(got);
                    }
                }
                Err(error) => {
                    let left = tries.get_or_insert_with(|| self.patience.tries());
                    if *left == 0 || !is_transient(&error) {
                        break if got > 0 { Ok(got) } else { Err(error) };
                    }
                    *left -= 1;
                    if *left == 0 {
                        self.patience.was_in_vain();
                    }
                }
            }
        };
        self.land_direct(got);
        (rest.len, answer)
    }

    /// Between messages: what has come goes to the block.
    #[inline]
    fn read_block(&mut self, wire: &mut impl Wire) -> (usize, io::Result<usize>) {
        self.compact();
        let room = self.room(self.expects_long);
        let len = room.len;
        // SAFETY: the piece lies in the block.
        let answer = unsafe { wire.read(&[room]) };
        self.end += answer.as_ref().unwrap_or(&0);
        (len, answer)
    }

    /// Within a message, or before the first: what has come of it goes to its place, and what follows it to the block.
    fn read_gathered(&mut self, wire: &mut impl Wire) -> (usize, io::Result<usize>) {
        let mut pieces = [IoVec::default(); GATHER_PIECES_MAX];
        let (filled, direct) = self.landing_pieces(&mut pieces);
        if self.block.is_empty() {
            self.block = vec![0; BLOCK_BYTES_TCP].into_boxed_slice();
        }
        self.compact();
        pieces[filled] = self.room(filled > 0);
        let room = direct + pieces[filled].len;
        // SAFETY: the pieces lie in a buffer that the sink named for this message, and in the block.
        let answer = unsafe { wire.read(&pieces[..=filled]) };
        let bytes = *answer.as_ref().unwrap_or(&0);
        let landed = bytes.min(direct);
        self.land_direct(landed);
        self.end += bytes - landed;
        (room, answer)
    }

    /// Where in the block more is read to. What belongs to a long message had better not come here, since it would be copied.
    #[inline]
    fn room(&mut self, long: bool) -> IoVec {
        let end = if long { (self.end + LONG_HEAD_BYTES).min(self.block.len()) } else { self.block.len() };
        piece_mut(&mut self.block[self.end..end])
    }

    /// The pieces of memory where the rest of a long payload goes directly: all of it, or nothing.
    #[inline]
    fn landing_pieces(&self, pieces: &mut [IoVec; GATHER_PIECES_MAX]) -> (usize, usize) {
        let Some(Arriving { repr, place: Some(place), got, .. }) = &self.arriving else { return (0, 0) };
        let left = repr.len as usize - got;
        if place.len < repr.len as usize || left < DIRECT_BYTES_MIN || self.start != self.end {
            return (0, 0);
        }
        let most = GATHER_PIECES_MAX - 1;
        let (count, bytes) = place.buf.iovecs(place.offset + got, left, &mut pieces[..most]);
        let fine = bytes / count.max(1) < crate::limits::PIECE_BYTES_MIN;
        if bytes < left || fine { (0, 0) } else { (count, bytes) }
    }

    #[inline]
    fn compact(&mut self) {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        } else if self.start > 0 {
            self.block.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
    }

    fn land_direct(&mut self, bytes: usize) {
        let Some(arriving) = self.arriving.as_mut().filter(|_| bytes > 0) else { return };
        if let (Some(_), Some(place)) = (arriving.repr.sum, &arriving.place) {
            arriving.sum = sum_of(arriving.sum, &place.buf, place.offset + arriving.got, bytes);
        }
        arriving.got += bytes;
    }

    /// Takes frames from the block until no whole one is left, or the sink has enough.
    #[inline]
    fn parse(&mut self, sink: &mut impl Sink, zero_copy: bool) -> Result<ParsedBlock, Broken> {
        let mut parsed = ParsedBlock::Nothing;
        loop {
            if self.arriving.is_none() {
                let Some(packet) = HeaderBytes::first(&self.block[self.start..self.end]) else {
                    return Ok(parsed);
                };
                let repr = packet.parse().map_err(Broken::Malformed)?;
                if zero_copy && self.brings_news(&repr) {
                    return Ok(ParsedBlock::News);
                }
                if !self.begin(repr, sink)? {
                    return Ok(parsed);
                }
            }
            if !self.land(sink)? {
                return Ok(parsed);
            }
            parsed = ParsedBlock::Some;
            if sink.backpressure() {
                return Ok(parsed);
            }
        }
    }

    /// Whether a long message comes with an acknowledgement that the program may wait for. It is taken first, once: the send
    /// that it ends is usually followed by the receive in which the message can land.
    fn brings_news(&mut self, repr: &FrameRepr) -> bool {
        let news = repr.len as usize > HEAD_PAYLOAD_BYTES && repr.ack != self.news;
        if news {
            self.news = repr.ack;
            self.learn_ack(repr.ack);
        }
        news
    }

    /// A note overtakes frames that were made before it and say less.
    #[inline]
    fn learn_ack(&mut self, ack: u32) {
        if self.ack.is_none_or(|known| (ack.wrapping_sub(known) as i32) > 0) {
            self.ack = Some(ack);
        }
    }

    /// A header has come. Answers whether it could be used up: a short message must be whole, and padding is passed with the header.
    fn begin(&mut self, repr: FrameRepr, sink: &mut impl Sink) -> Result<bool, Broken> {
        let len = repr.len as usize;
        if repr.kind == FrameKind::Data {
            if repr.seq != self.next as u32 {
                return Err(Broken::Gap);
            }
            // A void frame is never that short.
            let together = if len <= HEAD_PAYLOAD_BYTES { len } else { 0 };
            if self.end - self.start < repr.payload_at() + together {
                return Ok(false);
            }
        }
        self.learn_ack(repr.ack);
        self.start += repr.payload_at();
        let mut place = if len > HEAD_PAYLOAD_BYTES { self.place(&repr, sink) } else { None };
        if repr.void
            && let Some(place) = &mut place
        {
            place.spoiled.get_or_insert(TransferError::PeersMemory);
        }
        let got = if repr.void { len } else { 0 };
        self.arriving = Some(Arriving { repr, place, got, sum: 0 });
        Ok(true)
    }

    /// Where the payload must land. A frame that comes for the second time lands where it did.
    fn place(&mut self, repr: &FrameRepr, sink: &mut impl Sink) -> Option<FrameLanding> {
        if let Some((before, place)) = self.interrupted.take()
            && before.seq == repr.seq
            && before.len == repr.len
        {
            return place;
        }
        match sink.header(self.from, &repr.header, repr.len as usize) {
            Landing::Place { buf, offset, len, token, .. } => {
                let bad = if len < PROBED_BYTES_MIN { None } else { buf.is_unwritable(offset) };
                let len = if bad.is_some() { 0 } else { len };
                Some(FrameLanding { buf, offset, len, token, spoiled: bad.map(TransferError::from) })
            }
            Landing::Nothing => None,
        }
    }

    /// Lands what the block has of the payload. Whether the frame has ended.
    #[inline]
    fn land(&mut self, sink: &mut impl Sink) -> Result<bool, Broken> {
        let Some(arriving) = &mut self.arriving else { return Ok(false) };
        let len = arriving.repr.len as usize;
        let taken = (len - arriving.got).min(self.end - self.start);
        let bytes = &self.block[self.start..self.start + taken];
        self.start += taken;
        if arriving.repr.sum.is_some() {
            arriving.sum = crc32c::crc32c_append(arriving.sum, bytes);
        }
        if let Some(place) = &arriving.place {
            let wanted = taken.min(place.len.saturating_sub(arriving.got));
            if wanted > 0 {
                place.buf.write(place.offset + arriving.got, &bytes[..wanted]);
            }
        }
        arriving.got += taken;
        if arriving.got < len {
            return Ok(false);
        }
        if arriving.repr.sum.is_some_and(|sum| sum != arriving.sum) {
            return Err(Broken::Damaged);
        }
        let (repr, place) = (arriving.repr, arriving.place.take());
        let payload = self.start - taken..self.start;
        self.arriving = None;
        match repr.kind {
            FrameKind::Data => self.end_message(&repr, place, payload, sink),
            FrameKind::Ack => {}
            FrameKind::Bye => (self.goes, self.urgent) = (true, true),
            FrameKind::Back => self.goes = false,
        }
        Ok(true)
    }

    #[inline]
    fn end_message(
        &mut self,
        repr: &FrameRepr,
        place: Option<FrameLanding>,
        payload: std::ops::Range<usize>,
        sink: &mut impl Sink,
    ) {
        self.next += 1;
        self.expects_long = repr.len as usize >= BLOCK_BYTES_TCP;
        self.owed += FRAME_COST_BYTES + if repr.urgent { 0 } else { repr.len as usize };
        self.urgent |= repr.urgent;
        // Who goes waits for the acknowledgement of everything, and its farewell may have overtaken this message.
        self.urgent |= self.goes;
        if repr.len as usize <= HEAD_PAYLOAD_BYTES {
            sink.short(self.from, &repr.header, &self.block[payload]);
        } else if let Some(place) = place {
            match place.spoiled {
                None => sink.landed(self.from, place.token),
                Some(error) => sink.spoiled(self.from, place.token, error),
            }
        }
    }
}

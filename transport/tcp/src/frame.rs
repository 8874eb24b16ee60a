//! A frame: a header of fixed size and a payload. [`HeaderBytes`] is its bytes, [`FrameRepr`] their meaning.

use crate::limits::{FRAME_PAYLOAD_BYTES_MAX, HEAD_PAYLOAD_BYTES};
use tern_transport::Header;

/// Bytes of a frame's header: a cache line, so that a payload lies in the kernel's buffers as it does in the program's. The copies of a
/// long one, both ways, take 4 to 7 % less time than behind 44 bytes, which are what is used.
pub(crate) const HEADER_BYTES: usize = 64;

/// Bytes between the header of a padded frame and its payload: the sender says which frames are.
pub(crate) const PAD_BYTES: usize = 64;

/// The payload's checksum is in the header.
const FLAG_SUMMED: u8 = 1;
/// The sender waits for the acknowledgement of this frame.
const FLAG_URGENT: u8 = 2;
/// The payload begins [`PAD_BYTES`] later.
const FLAG_PADDED: u8 = 4;
/// There is no payload, since the sender could not read its memory.
const FLAG_VOID: u8 = 8;
const FLAGS: u8 = FLAG_SUMMED | FLAG_URGENT | FLAG_PADDED | FLAG_VOID;

/// What a frame is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FrameKind {
    /// An active message; has a number and is kept until acknowledged.
    Data = 1,
    /// Only an acknowledgement.
    Ack = 2,
    /// The sender goes, and wants to know that all it sent has come. What the library still sends on its own account changes nothing.
    Bye = 3,
    /// The sender has come back.
    Back = 4,
}

/// The meaning of a header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct FrameRepr {
    pub kind: FrameKind,
    /// Of an active message.
    pub header: Header,
    /// Bytes of the payload.
    pub len: u32,
    /// CRC32C of the payload, if it is covered.
    pub sum: Option<u32>,
    /// The sender waits for the acknowledgement.
    pub urgent: bool,
    /// There are [`PAD_BYTES`] before the payload.
    pub padded: bool,
    /// No payload follows: the sender's memory could not be read.
    pub void: bool,
    /// The number of this frame, modulo 2^32.
    pub seq: u32,
    /// The number of the next frame that the sender expects, modulo 2^32.
    pub ack: u32,
}

/// Why bytes are not a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum MalformedFrame {
    /// The header's checksum does not fit.
    Checksum,
    /// A kind, flag or reserved bit that no sender of this version writes.
    Unknown,
    /// A payload longer than any sender sends, or one where there must be none.
    Length,
}

/// The bytes of a header.
pub(crate) struct HeaderBytes<'a>(&'a [u8; HEADER_BYTES]);

impl<'a> HeaderBytes<'a> {
    /// The first bytes of `bytes`, if a whole header is there.
    pub(crate) fn first(bytes: &'a [u8]) -> Option<Self> {
        bytes.first_chunk().map(HeaderBytes)
    }

    fn bytes<const N: usize>(&self, at: usize) -> [u8; N] {
        let mut part = [0; N];
        part.copy_from_slice(&self.0[at..at + N]);
        part
    }

    fn word(&self, at: usize) -> u32 {
        u32::from_le_bytes(self.bytes(at))
    }

    /// Checks everything that can be checked without the payload.
    pub(crate) fn parse(&self) -> Result<FrameRepr, MalformedFrame> {
        if header_sum(self.0) != self.word(0) {
            return Err(MalformedFrame::Checksum);
        }
        let [kind, flags, am_kind, am_flags] = self.bytes(4);
        let kind = match kind {
            1 => FrameKind::Data,
            2 => FrameKind::Ack,
            3 => FrameKind::Bye,
            4 => FrameKind::Back,
            _ => return Err(MalformedFrame::Unknown),
        };
        if flags & !FLAGS != 0 || self.bytes(42) != [0; HEADER_BYTES - 42] {
            return Err(MalformedFrame::Unknown);
        }
        let (len, void) = (self.word(8), flags & FLAG_VOID != 0);
        let least = if void { HEAD_PAYLOAD_BYTES as u32 + 1 } else { 0 };
        if !(least..=FRAME_PAYLOAD_BYTES_MAX).contains(&len) || (kind != FrameKind::Data && len != 0) {
            return Err(MalformedFrame::Length);
        }
        let header = Header {
            kind: am_kind,
            flags: am_flags,
            credits: u16::from_le_bytes(self.bytes(40)),
            context: u64::from_le_bytes(self.bytes(24)),
            source: self.word(32),
            tag: i32::from_le_bytes(self.bytes(36)),
        };
        let sum = (flags & FLAG_SUMMED != 0).then_some(self.word(12));
        let (urgent, padded) = (flags & FLAG_URGENT != 0, flags & FLAG_PADDED != 0);
        if padded && kind != FrameKind::Data {
            return Err(MalformedFrame::Unknown);
        }
        Ok(FrameRepr { kind, header, len, sum, urgent, padded, void, seq: self.word(16), ack: self.word(20) })
    }
}

impl FrameRepr {
    /// A frame without a message: the next one has number `seq`.
    pub(crate) fn note(kind: FrameKind, seq: u64, ack: u64) -> Self {
        let header = Header::default();
        let (seq, ack) = (seq as u32, ack as u32);
        FrameRepr { kind, header, len: 0, sum: None, urgent: false, padded: false, void: false, seq, ack }
    }

    /// The same frame without its payload.
    pub(crate) fn voided(self) -> Self {
        FrameRepr { sum: None, padded: false, void: true, ..self }
    }

    /// Bytes before the payload.
    #[inline]
    pub(crate) fn payload_at(&self) -> usize {
        HEADER_BYTES + if self.padded { PAD_BYTES } else { 0 }
    }

    /// The header's bytes.
    #[inline]
    pub(crate) fn bytes(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        let summed = if self.sum.is_some() { FLAG_SUMMED } else { 0 };
        let urgent = if self.urgent { FLAG_URGENT } else { 0 };
        let padded = if self.padded { FLAG_PADDED } else { 0 };
        let void = if self.void { FLAG_VOID } else { 0 };
        let flags = summed | urgent | padded | void;
        bytes[4..8].copy_from_slice(&[self.kind as u8, flags, self.header.kind, self.header.flags]);
        bytes[8..12].copy_from_slice(&self.len.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.sum.unwrap_or(0).to_le_bytes());
        bytes[16..20].copy_from_slice(&self.seq.to_le_bytes());
        bytes[20..24].copy_from_slice(&self.ack.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.header.context.to_le_bytes());
        bytes[32..36].copy_from_slice(&self.header.source.to_le_bytes());
        bytes[36..40].copy_from_slice(&self.header.tag.to_le_bytes());
        bytes[40..42].copy_from_slice(&self.header.credits.to_le_bytes());
        let sum = header_sum(&bytes);
        bytes[..4].copy_from_slice(&sum.to_le_bytes());
        bytes
    }
}

/// CRC32C of a header, but for the place of the sum itself.
#[inline]
fn header_sum(bytes: &[u8; HEADER_BYTES]) -> u32 {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("sse4.2") {
        // SAFETY: the processor has the instructions.
        return unsafe { header_sum_by_words(bytes) };
    }
    crc32c::crc32c(&bytes[4..])
}

/// As [`header_sum`], by eight instructions: the crate's way for any length takes ten times as many, twice a message.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "sse4.2")]
fn header_sum_by_words(bytes: &[u8; HEADER_BYTES]) -> u32 {
    use std::arch::x86_64::{_mm_crc32_u32, _mm_crc32_u64};
    let (words, _) = bytes.as_chunks::<8>();
    let first = u64::from_le_bytes(words[0]) >> 32;
    let mut sum = u64::from(_mm_crc32_u32(u32::MAX, first as u32));
    for word in &words[1..] {
        sum = _mm_crc32_u64(sum, u64::from_le_bytes(*word));
    }
    !(sum as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn reprs() -> impl Strategy<Value = FrameRepr> {
        let header = (any::<[u8; 2]>(), any::<u16>(), any::<u64>(), any::<u32>(), any::<i32>());
        let frame = (0..=FRAME_PAYLOAD_BYTES_MAX, any::<Option<u32>>(), any::<[bool; 3]>());
        (header, frame, any::<[u32; 2]>()).prop_map(|(header, frame, [seq, ack])| {
            let ([kind, flags], credits, context, source, tag) = header;
            let header = Header { kind, flags, credits, context, source, tag };
            let (len, sum, [urgent, padded, void]) = frame;
            let void = void && len as usize > HEAD_PAYLOAD_BYTES;
            FrameRepr { kind: FrameKind::Data, header, len, sum, urgent, padded, void, seq, ack }
        })
    }

    fn parse(bytes: &[u8; HEADER_BYTES]) -> Result<FrameRepr, MalformedFrame> {
        HeaderBytes(bytes).parse()
    }

    /// Gives changed bytes a checksum that fits, so that what lies behind it is tested.
    fn resealed(mut bytes: [u8; HEADER_BYTES]) -> [u8; HEADER_BYTES] {
        let sum = crc32c::crc32c(&bytes[4..]);
        bytes[..4].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(repr in reprs()) {
            prop_assert_eq!(parse(&repr.bytes()), Ok(repr));
        }

        #[test]
        fn a_changed_bit_is_found(repr in reprs(), bit in 0..HEADER_BYTES * 8) {
            let mut bytes = repr.bytes();
            bytes[bit / 8] ^= 1 << (bit % 8);
            prop_assert_eq!(parse(&bytes), Err(MalformedFrame::Checksum));
        }

        #[test]
        fn any_bytes_are_a_frame_within_bounds_or_an_error(bytes in any::<[[u8; 21]; 2]>(), beyond in any::<bool>()) {
            let mut all = [0; HEADER_BYTES];
            all[..42].copy_from_slice(bytes.as_flattened());
            all[HEADER_BYTES - 1] = u8::from(beyond);
            if let Ok(repr) = parse(&resealed(all)) {
                prop_assert!(!beyond && repr.len <= FRAME_PAYLOAD_BYTES_MAX);
                prop_assert_eq!(parse(&repr.bytes()), Ok(repr));
            }
        }
    }

    #[test]
    fn only_messages_have_a_payload() {
        let repr = FrameRepr { len: 1, ..FrameRepr::note(FrameKind::Ack, 3, 7) };
        assert_eq!(parse(&repr.bytes()), Err(MalformedFrame::Length));
        let repr = FrameRepr { padded: true, ..FrameRepr::note(FrameKind::Ack, 3, 7) };
        assert_eq!(parse(&repr.bytes()), Err(MalformedFrame::Unknown));
        let repr = FrameRepr { void: true, ..FrameRepr::note(FrameKind::Ack, 3, 7) };
        assert_eq!(parse(&repr.bytes()), Err(MalformedFrame::Length));
        for kind in [FrameKind::Ack, FrameKind::Bye, FrameKind::Back] {
            let note = FrameRepr::note(kind, 3, 7);
            assert_eq!(parse(&note.bytes()), Ok(note));
        }
    }

    proptest! {
        #[test]
        fn the_sum_of_a_header_is_that_of_its_bytes(bytes in any::<[[u8; 32]; 2]>()) {
            let bytes: [u8; HEADER_BYTES] = bytes.as_flattened().try_into().unwrap();
            prop_assert_eq!(header_sum(&bytes), crc32c::crc32c(&bytes[4..]));
        }
    }

    #[test]
    fn part_of_a_header_is_no_header() {
        assert!(HeaderBytes::first(&[0; HEADER_BYTES - 1]).is_none());
        assert!(HeaderBytes::first(&[0; HEADER_BYTES + 1]).is_some());
    }
}

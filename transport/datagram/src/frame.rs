//! How active messages lie in packets.
//!
//! The packets of a pair come in order. A message's first packet has its head and length, the others nothing but the lane: what
//! was sent to the peer alone goes in lane 0, one message after the other, and each multicast that takes its time has a lane of
//! its own, so that others get in between.
//!
//! | at | bytes | |
//! |---|---|---|
//! | 0 | 1 | the lane; with [`FIRST`] in a first packet, of which all that follows is |
//! | 1 | 1 | kind |
//! | 2 | 1 | flags |
//! | 4 | 2 | credits |
//! | 8 | 8 | context |
//! | 16 | 4 | source |
//! | 20 | 4 | tag |
//! | 24 | 4 | bytes of the payload |

use tern_transport::Header;

/// Bytes before the payload in a message's first packet.
pub(super) const FIRST_BYTES: usize = 28;

/// Bytes before it in the others.
pub(super) const NEXT_BYTES: usize = 1;

/// Marks a first packet.
const FIRST: u8 = 0x80;

/// Lanes of a sender: the mark takes one bit.
pub(super) const LANES: u8 = 0x80;

/// What a packet has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum UrtpFrame<'a> {
    /// The beginning of a message of `len` bytes.
    First { lane: u8, header: Header, len: u32, payload: &'a [u8] },
    /// More of the message that is on its way in a lane.
    Next { lane: u8, payload: &'a [u8] },
}

/// Writes what comes before the payload in a first packet.
pub(super) fn write_first(to: &mut [u8], lane: u8, header: &Header, len: u32) {
    let to: &mut [u8; FIRST_BYTES] = to.first_chunk_mut().expect("a packet has room for a head");
    *to = [0; FIRST_BYTES];
    (to[0], to[1], to[2]) = (lane | FIRST, header.kind, header.flags);
    to[4..6].copy_from_slice(&header.credits.to_le_bytes());
    to[8..16].copy_from_slice(&header.context.to_le_bytes());
    to[16..20].copy_from_slice(&header.source.to_le_bytes());
    to[20..24].copy_from_slice(&header.tag.to_le_bytes());
    to[24..28].copy_from_slice(&len.to_le_bytes());
}

/// `None` if it is too short, or has more than its message.
pub(super) fn parse(packet: &[u8]) -> Option<UrtpFrame<'_>> {
    let (&mark, rest) = packet.split_first()?;
    if mark & FIRST == 0 {
        return Some(UrtpFrame::Next { lane: mark, payload: rest });
    }
    let (head, payload) = packet.split_first_chunk::<FIRST_BYTES>()?;
    let word = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
    let header = Header {
        kind: head[1],
        flags: head[2],
        credits: u16::from_le_bytes([head[4], head[5]]),
        context: u64::from(word(8)) | u64::from(word(12)) << 32,
        source: word(16),
        tag: word(20) as i32,
    };
    let len = word(24);
    (payload.len() <= len as usize).then_some(UrtpFrame::First { lane: mark & !FIRST, header, len, payload })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_head_is_read_as_written(
            lane in 0..LANES, words: [u64; 3], payload in prop::collection::vec(any::<u8>(), 0..40), more: u16,
        ) {
            let [context, a, b] = words;
            let header = Header {
                kind: a as u8, flags: b as u8, credits: (a >> 8) as u16, context, source: (a >> 32) as u32, tag: b as i32,
            };
            let len = payload.len() as u32 + u32::from(more);
            let mut packet = vec![0xFF; FIRST_BYTES];
            write_first(&mut packet, lane, &header, len);
            packet.extend(&payload);
            prop_assert_eq!(parse(&packet), Some(UrtpFrame::First { lane, header, len, payload: &payload }));
        }

        #[test]
        fn any_bytes_are_a_frame_or_none(packet in prop::collection::vec(any::<u8>(), 0..60)) {
            if let Some(UrtpFrame::First { len, payload, .. }) = parse(&packet) {
                prop_assert!(payload.len() <= len as usize && packet.len() >= FIRST_BYTES);
            }
        }
    }

    #[test]
    fn what_is_cut_short_or_too_long_is_none() {
        let mut packet = [0; FIRST_BYTES + 1];
        write_first(&mut packet, 3, &Header::default(), 0);
        assert_eq!(parse(&packet), None, "a byte too many");
        assert_eq!(parse(&packet[..FIRST_BYTES - 1]), None);
        assert_eq!(parse(&[]), None);
        assert_eq!(parse(&[5, 1, 2]), Some(UrtpFrame::Next { lane: 5, payload: &[1, 2] }));
    }
}

//! The bytes of a packet: one active message.
//!
//! | at | bytes | |
//! |---|---|---|
//! | 0 | 8 | the token of this sender for this receiver |
//! | 8 | 4 | the sender |
//! | 12 | 1 | kind |
//! | 13 | 1 | flags |
//! | 14 | 2 | credits |
//! | 16 | 8 | context |
//! | 24 | 4 | source |
//! | 28 | 4 | tag |
//! | 32 | 4 | how many packets this sender has sent to this receiver before |
//! | 36 | 4 | zero |
//! | 40 | | the payload |
//!
//! A token is the beginning of an HMAC of both ranks under the job's secret. It keeps out whoever does not know the secret and does
//! not see the job's packets. Who sees them can repeat one, as on any fabric without encryption.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use tern_transport::{Header, Peer};

/// Bytes before the payload.
pub(super) const HEAD_BYTES: usize = 40;

/// What a packet is. All but messages are told by what their tokens are combined with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum OfiPacketKind {
    Message,
    /// It exposes memory.
    Offer,
    /// It has further bytes of what was offered before.
    Part,
    /// It gives exposed memory back.
    Return,
    /// Its sender sends nothing more.
    Last,
    /// The answer to that.
    Answer,
}

impl OfiPacketKind {
    const OTHERS: [OfiPacketKind; 5] = [Self::Offer, Self::Part, Self::Return, Self::Last, Self::Answer];

    /// What the token is combined with.
    #[inline]
    pub(super) fn mark(self) -> u64 {
        match self {
            Self::Message => 0,
            Self::Offer => 0x3333_3333_3333_3333,
            Self::Part => 0x00ff_00ff_00ff_00ff,
            Self::Return => 0x0f0f_0f0f_0f0f_0f0f,
            Self::Last => u64::MAX,
            Self::Answer => 0x5555_5555_5555_5555,
        }
    }

    /// What a packet is that is no message, by what differs in its token; `None` if its sender is no rank.
    #[cold]
    pub(super) fn of_mark(mark: u64) -> Option<OfiPacketKind> {
        Self::OTHERS.into_iter().find(|kind| kind.mark() == mark)
    }
}

/// What a packet has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct OfiPacket<'a> {
    pub token: u64,
    pub from: Peer,
    pub sequence: u32,
    pub header: Header,
    pub payload: &'a [u8],
}

/// What shows that rank `from` sends to rank `to`.
pub(super) fn token(secret: &[u8; 32], from: Peer, to: Peer) -> u64 {
    let mut mac = <Hmac<Sha256> as KeyInit>::new_from_slice(secret).expect("a key of any length will do");
    mac.update(b"tern ofi token 1");
    mac.update(&from.to_le_bytes());
    mac.update(&to.to_le_bytes());
    let tag = mac.finalize().into_bytes();
    u64::from_le_bytes(*tag.first_chunk().expect("an HMAC is longer"))
}

/// Writes what comes before the payload.
#[inline]
pub(super) fn write_head(to: &mut [u8], (token, sequence): (u64, u32), from: Peer, header: &Header) {
    let to: &mut [u8; HEAD_BYTES] = to.first_chunk_mut().expect("a packet has room for a head");
    to[..8].copy_from_slice(&token.to_le_bytes());
    to[8..12].copy_from_slice(&from.to_le_bytes());
    (to[12], to[13]) = (header.kind, header.flags);
    to[14..16].copy_from_slice(&header.credits.to_le_bytes());
    to[16..24].copy_from_slice(&header.context.to_le_bytes());
    to[24..28].copy_from_slice(&header.source.to_le_bytes());
    to[28..32].copy_from_slice(&header.tag.to_le_bytes());
    to[32..40].copy_from_slice(&u64::from(sequence).to_le_bytes());
}

/// `None` if it is too short.
#[inline]
pub(super) fn parse(packet: &[u8]) -> Option<OfiPacket<'_>> {
    let (head, payload) = packet.split_first_chunk::<HEAD_BYTES>()?;
    let word = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
    let long = |at: usize| u64::from(word(at)) | u64::from(word(at + 4)) << 32;
    let header = Header {
        kind: head[12],
        flags: head[13],
        credits: u16::from_le_bytes([head[14], head[15]]),
        context: long(16),
        source: word(24),
        tag: word(28) as i32,
    };
    Some(OfiPacket { token: long(0), from: word(8), sequence: word(32), header, payload })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tern_transport::conformance::header;

    #[test]
    fn what_is_written_is_read() {
        let mut packet = [0; HEAD_BYTES + 3];
        write_head(&mut packet, (0x1122_3344_5566_7788, 9), 77, &header(5));
        packet[HEAD_BYTES..].copy_from_slice(b"abc");
        let expected = OfiPacket {
            token: 0x1122_3344_5566_7788,
            from: 77,
            sequence: 9,
            header: header(5),
            payload: b"abc",
        };
        assert_eq!(parse(&packet), Some(expected));
        assert_eq!(parse(&packet[..HEAD_BYTES - 1]), None);
    }

    #[test]
    fn tokens_differ_by_secret_and_by_direction() {
        let [ours, theirs] = [[1; 32], [2; 32]];
        let tokens = [token(&ours, 0, 1), token(&ours, 1, 0), token(&theirs, 0, 1), token(&ours, 0, 2)];
        for (at, one) in tokens.iter().enumerate() {
            assert!(tokens[at + 1..].iter().all(|other| other != one));
        }
    }
}

//! Packets: [`UrtpPacket`] is the bytes, [`PacketRepr`] their meaning, parsed once.
//!
//! Every packet begins with a head of 24 bytes, little endian:
//!
//! | at | bytes | |
//! |---|---|---|
//! | 0 | 1 | [`PacketKind`] |
//! | 1 | 1 | flags: [`ANSWER`], [`BLOCK`] |
//! | 2 | 2 | packets that the sender takes from `ack` on; 0 in multicasts |
//! | 4 | 4 | the packet's number modulo 2^32, or the number asked for; in a multicast that of most members |
//! | 8 | 4 | the number that the sender expects next from the receiver; 0 in multicasts |
//! | 12 | 4 | the sender's clock in µs, or 0 |
//! | 16 | 4 | the receiver's clock as it was when what this answers was sent, the time spent here added; or 0 |
//! | 20 | 4 | how fast packets came from the receiver, KiB/s; or 0 |
//!
//! Who sends it to whom, its length, and that it is genuine is the link's to say. In a multicast, a parity or a report, 12
//! bytes ([`Spread`]) and the members' numbers ([`numbers`]) follow. The rest is payload.

pub mod numbers;

use crate::limits::{HEAD_BYTES, PARITY_RUN_MAX, REQUEST_BITS_MAX, SPREAD_BYTES};
pub use numbers::PacketNumbers;

/// The receiver shall acknowledge at once.
pub const ANSWER: u8 = 1;
/// A block ends: the receiver shall acknowledge when it has everything up to here.
pub const BLOCK: u8 = 2;
const FLAGS: u8 = ANSWER | BLOCK;

/// What a packet is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum PacketKind {
    /// A payload for one rank, also one that was multicast before.
    Data = 1,
    /// A payload for members of a group.
    Multicast = 2,
    /// The parity of a run of multicasts.
    Parity = 3,
    /// An acknowledgement.
    Ack = 4,
    /// A request for a packet, and by a bitmap for later ones; acknowledges all before it.
    Request = 5,
    /// What members of a group expect next from one of them.
    Report = 6,
    /// A sender that may not go on asks for an acknowledgement.
    Poll = 7,
    /// The sender leaves: it has all that it will take.
    Bye = 8,
}

impl PacketKind {
    fn of(byte: u8) -> Option<PacketKind> {
        use PacketKind::*;
        [Data, Multicast, Parity, Ack, Request, Report, Poll, Bye]
            .into_iter()
            .find(|kind| *kind as u8 == byte)
    }

    fn is_spread(self) -> bool {
        matches!(self, PacketKind::Multicast | PacketKind::Parity | PacketKind::Report)
    }
}

/// The meaning of a head.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PacketRepr {
    /// What the packet is for.
    pub kind: PacketKind,
    /// [`ANSWER`], [`BLOCK`].
    pub flags: u8,
    /// Packets that the sender takes from `ack` on.
    pub room: u16,
    /// The number.
    pub seq: u32,
    /// What the sender expects next.
    pub ack: u32,
    /// The sender's clock, µs.
    pub stamp: u32,
    /// The receiver's clock, µs.
    pub echo: u32,
    /// How fast packets came, KiB/s.
    pub rate: u32,
}

/// What a packet to or about members of a group says beside their numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Spread {
    /// Tells whether the sender means the same group.
    pub check: u32,
    /// In a report: the index of the member that it is for.
    pub about: u16,
    /// Place in a run that parity covers, from 0; in a parity packet: how many it covers.
    pub place: u8,
    /// Whether parity covers it.
    pub covered: bool,
}

/// Why bytes are not a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum MalformedPacket {
    /// Fewer bytes than the head, or than the head promises.
    #[error("a packet is cut short")]
    Short,
    /// A kind, flag or reserved bit that no sender of this version writes.
    #[error("a packet has a kind or flag that does not exist")]
    Unknown,
    /// Numbers, members or a run that cannot be.
    #[error("a packet has numbers that cannot be")]
    Range,
}

/// The bytes of a packet.
#[derive(Clone, Copy, Debug)]
pub struct UrtpPacket<'a>(&'a [u8]);

/// A packet, parsed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ParsedPacket<'a> {
    /// The head.
    pub repr: PacketRepr,
    /// Of packets to or about members.
    pub spread: Option<(Spread, PacketNumbers<'a>)>,
    /// The payload; of a request the bitmap.
    pub payload: &'a [u8],
}

fn half(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

impl<'a> UrtpPacket<'a> {
    /// Some bytes that came.
    pub fn new(bytes: &'a [u8]) -> UrtpPacket<'a> {
        UrtpPacket(bytes)
    }

    /// Checks everything that can be checked without knowing groups and windows.
    pub fn parse(&self) -> Result<ParsedPacket<'a>, MalformedPacket> {
        let (head, rest) = self.0.split_at_checked(HEAD_BYTES).ok_or(MalformedPacket::Short)?;
        let kind = PacketKind::of(head[0]).ok_or(MalformedPacket::Unknown)?;
        if head[1] & !FLAGS != 0 {
            return Err(MalformedPacket::Unknown);
        }
        let repr = PacketRepr {
            kind,
            flags: head[1],
            room: half(head, 2),
            seq: word(head, 4),
            ack: word(head, 8),
            stamp: word(head, 12),
            echo: word(head, 16),
            rate: word(head, 20),
        };
        let (spread, payload) = if kind.is_spread() {
            let (spread, numbers, payload) = parse_spread(kind, repr.seq, rest)?;
            (Some((spread, numbers)), payload)
        } else {
            (None, rest)
        };
        let bound = match kind {
            PacketKind::Data | PacketKind::Multicast | PacketKind::Parity => usize::MAX,
            PacketKind::Request => REQUEST_BITS_MAX / 8,
            PacketKind::Ack | PacketKind::Report | PacketKind::Poll | PacketKind::Bye => 0,
        };
        if payload.len() > bound || (kind == PacketKind::Parity && payload.len() < 2) {
            return Err(MalformedPacket::Range);
        }
        Ok(ParsedPacket { repr, spread, payload })
    }
}

fn parse_spread(
    kind: PacketKind,
    base: u32,
    rest: &[u8],
) -> Result<(Spread, PacketNumbers<'_>, &[u8]), MalformedPacket> {
    let (fields, rest) = rest.split_at_checked(SPREAD_BYTES).ok_or(MalformedPacket::Short)?;
    let (place, covered) = (fields[6] & 0x7F, fields[6] & 0x80 != 0);
    let spread = Spread { check: word(fields, 0), about: half(fields, 4), place, covered };
    let fits = match kind {
        PacketKind::Parity => covered && (2..=PARITY_RUN_MAX).contains(&place),
        PacketKind::Multicast => spread.about == 0 && place < PARITY_RUN_MAX && (covered || place == 0),
        _ => fields[6] == 0,
    };
    if !fits {
        return Err(MalformedPacket::Range);
    }
    let (numbers, payload) = PacketNumbers::parse(base, fields[7], half(fields, 8), half(fields, 10), rest)?;
    Ok((spread, numbers, payload))
}

impl PacketRepr {
    /// A head of a kind with nothing in it.
    pub fn of(kind: PacketKind) -> PacketRepr {
        PacketRepr { kind, flags: 0, room: 0, seq: 0, ack: 0, stamp: 0, echo: 0, rate: 0 }
    }

    /// The head's bytes.
    pub fn bytes(&self) -> [u8; HEAD_BYTES] {
        let mut bytes = [0; HEAD_BYTES];
        bytes[..2].copy_from_slice(&[self.kind as u8, self.flags]);
        bytes[2..4].copy_from_slice(&self.room.to_le_bytes());
        let words = [self.seq, self.ack, self.stamp, self.echo, self.rate];
        for (at, word) in words.into_iter().enumerate() {
            bytes[4 + 4 * at..8 + 4 * at].copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }
}

impl Spread {
    /// Writes this and the numbers behind a head in `out`, and returns how long it is then and the head's `seq`.
    pub fn emit(&self, numbers: &numbers::NumbersPlan<'_>, out: &mut [u8]) -> (usize, u32) {
        let fields = &mut out[HEAD_BYTES..HEAD_BYTES + SPREAD_BYTES];
        fields[..4].copy_from_slice(&self.check.to_le_bytes());
        fields[4..6].copy_from_slice(&self.about.to_le_bytes());
        fields[6] = self.place | if self.covered { 0x80 } else { 0 };
        fields[7] = numbers.form();
        fields[8..10].copy_from_slice(&numbers.first.to_le_bytes());
        fields[10..12].copy_from_slice(&numbers.count.to_le_bytes());
        let end = HEAD_BYTES + SPREAD_BYTES;
        (end + numbers.emit(&mut out[end..]), numbers.base)
    }
}

#[cfg(test)]
mod tests;

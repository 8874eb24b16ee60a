//! The head of a packet.
//!
//! Big endian, since the kernel's filter loads it so:
//!
//! | at | bytes | |
//! |---|---|---|
//! | 0 | 2 | [`MAGIC`], with the version |
//! | 2 | 2 | bytes of head and body: segments that came as one datagram are told apart by it, and padding is cut off |
//! | 4 | 4 | the job |
//! | 8 | 4 | the sender's rank |
//! | 12 | 4 | the receiver's rank, or [`MULTICAST`] and the group |
//! | 16 | 8 | which ranks are addressed: [`Addressed`] |
//! | 24 | 8 | the sender's count of packets |
//! | 32 | 16 | the tag over all other bytes of head and body |

use crate::limits::{HEAD_BYTES, SEALED_HEAD_BYTES};
use tern_transport::Peer;

/// "Ur" as the last two letters of its code, and version 1.
pub(crate) const MAGIC: u16 = 0x5501;
/// Marks a group.
pub(crate) const MULTICAST: u32 = 1 << 31;

// Where the filter finds the fields.
pub(crate) const AT_MAGIC: u32 = 0;
pub(crate) const AT_BYTES: u32 = 2;
pub(crate) const AT_JOB: u32 = 4;
pub(crate) const AT_FROM: u32 = 8;
pub(crate) const AT_TO: u32 = 12;
pub(crate) const AT_ADDRESSED: u32 = 16;

/// A group of ranks as the protocol names it; below 2^31.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct PacketGroup(pub u32);

/// Which ranks a multicast is for, as the kernel's filter sees it: the paper's valid and invalid sequence numbers (section 3.2.1)
/// in a form that can be checked in two instructions. Rank r has bit r mod 64, so in jobs of more than 64 ranks a packet
/// may look as if it were for a rank that it is not for, never the other way round.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Addressed(pub u64);

impl Addressed {
    /// Whoever listens.
    pub const ALL: Addressed = Addressed(u64::MAX);

    /// Just these ranks.
    pub fn of(ranks: impl IntoIterator<Item = Peer>) -> Addressed {
        Addressed(ranks.into_iter().fold(0, |bits, rank| bits | bit(rank)))
    }

    /// Whether it may be for a rank.
    pub fn may_have(self, rank: Peer) -> bool {
        self.0 & bit(rank) != 0
    }
}

fn bit(rank: Peer) -> u64 {
    1 << (rank % u64::BITS)
}

/// Where a packet goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PacketDestination {
    /// To one rank.
    Rank(Peer),
    /// To members of a group.
    Group {
        /// The group, which decides the multicast address.
        group: PacketGroup,
        /// Which of its members.
        addressed: Addressed,
    },
}

impl PacketDestination {
    fn fields(self) -> (u32, u64) {
        match self {
            PacketDestination::Rank(rank) => (rank, bit(rank)),
            PacketDestination::Group { group, addressed } => (MULTICAST | group.0, addressed.0),
        }
    }

    fn of(to: u32, addressed: u64) -> PacketDestination {
        if to & MULTICAST == 0 {
            return PacketDestination::Rank(to);
        }
        PacketDestination::Group { group: PacketGroup(to & !MULTICAST), addressed: Addressed(addressed) }
    }

    /// Whether a packet with this destination may be for a rank.
    pub(crate) fn may_be(self, rank: Peer) -> bool {
        match self {
            PacketDestination::Rank(to) => to == rank,
            PacketDestination::Group { addressed, .. } => addressed.may_have(rank),
        }
    }
}

/// The meaning of a head without its tag.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PacketHead {
    /// Of head and body.
    pub bytes: u16,
    pub job: u32,
    pub from: Peer,
    pub to: PacketDestination,
    pub count: u64,
}

impl PacketHead {
    /// What the tag covers of it.
    pub(crate) fn write(&self, out: &mut [u8; SEALED_HEAD_BYTES]) {
        let (to, addressed) = self.to.fields();
        out[0..2].copy_from_slice(&MAGIC.to_be_bytes());
        out[2..4].copy_from_slice(&self.bytes.to_be_bytes());
        out[4..8].copy_from_slice(&self.job.to_be_bytes());
        out[8..12].copy_from_slice(&self.from.to_be_bytes());
        out[12..16].copy_from_slice(&to.to_be_bytes());
        out[16..24].copy_from_slice(&addressed.to_be_bytes());
        out[24..32].copy_from_slice(&self.count.to_be_bytes());
    }

    /// `None` if it is no head, or promises more or fewer bytes than there are after it.
    pub(crate) fn parse(packet: &[u8]) -> Option<PacketHead> {
        let head: &[u8; HEAD_BYTES] = packet.first_chunk()?;
        let short = |at: usize| u16::from_be_bytes([head[at], head[at + 1]]);
        let word = |at: usize| u32::from_be_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let long = |at: usize| u64::from(word(at)) << 32 | u64::from(word(at + 4));
        let bytes = short(2);
        let whole = (HEAD_BYTES..=packet.len()).contains(&usize::from(bytes));
        (short(0) == MAGIC && whole).then(|| PacketHead {
            bytes,
            job: word(4),
            from: word(8),
            to: PacketDestination::of(word(12), long(16)),
            count: long(24),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn to() -> impl Strategy<Value = PacketDestination> {
        let group = (0..MULTICAST, any::<u64>()).prop_map(|(group, bits)| PacketDestination::Group {
            group: PacketGroup(group),
            addressed: Addressed(bits),
        });
        prop_oneof![(0..MULTICAST).prop_map(PacketDestination::Rank), group]
    }

    proptest! {
        #[test]
        fn a_head_is_read_as_written(body in 0u16..2000, job: u32, from: u32, to in to(), count: u64) {
            let bytes = HEAD_BYTES as u16 + body;
            let head = PacketHead { bytes, job, from, to, count };
            let mut packet = vec![0; usize::from(bytes)];
            head.write(packet.first_chunk_mut().unwrap());
            prop_assert_eq!(PacketHead::parse(&packet), Some(head));
            prop_assert_eq!(PacketHead::parse(&packet[..packet.len() - 1]), None, "a byte is missing");
            packet.extend([0; 20]);
            prop_assert_eq!(PacketHead::parse(&packet), Some(head), "padding does not matter");
        }

        #[test]
        fn any_bytes_are_a_head_or_none(packet in prop::collection::vec(any::<u8>(), 0..100)) {
            if let Some(head) = PacketHead::parse(&packet) {
                prop_assert!((HEAD_BYTES..=packet.len()).contains(&usize::from(head.bytes)));
            }
        }
    }

    #[test]
    fn up_to_64_ranks_are_told_apart() {
        let some = Addressed::of([0, 5, 63]);
        let told: Vec<u32> = (0..64).filter(|rank| some.may_have(*rank)).collect();
        assert_eq!(told, [0, 5, 63]);
        assert!(some.may_have(64 + 5), "beyond, some are taken for others");
        assert!((0..200).all(|rank| Addressed::ALL.may_have(rank)));
    }
}

//! Packets on their way out: a head, a count and a tag each, put together as datagrams.

use tern_mem::IoVec;

use super::PacketBody;
use super::calls::{Datagram, piece};
use super::head::{PacketDestination, PacketHead};
use super::seal::SealKeys;
use crate::limits::{
    HEAD_BYTES, PACKETS_PER_CALL_MAX, PROTOCOL_HEAD_BYTES_MAX, SEALED_HEAD_BYTES, SEGMENTED_BYTES_MAX,
    SEGMENTS_MAX,
};
use tern_transport::Peer;

/// Bytes kept for the heads of one packet, the link's and the protocol's.
const HEADS_BYTES: usize = HEAD_BYTES + PROTOCOL_HEAD_BYTES_MAX;

/// What is in the making.
pub(crate) struct OutboundPacket {
    me: Peer,
    keys: SealKeys,
    /// Of the latest packet.
    count: u64,
    heads: Box<[u8]>,
    /// Two of each packet: heads, payload.
    pub pieces: Vec<IoVec>,
    pub datagrams: Vec<Datagram>,
}

impl OutboundPacket {
    /// `first` must be beyond all counts that this rank has used before in the job.
    pub(crate) fn new(me: Peer, keys: SealKeys, first: u64) -> OutboundPacket {
        OutboundPacket {
            me,
            keys,
            count: first,
            heads: vec![0; PACKETS_PER_CALL_MAX * HEADS_BYTES].into(),
            pieces: Vec::with_capacity(2 * PACKETS_PER_CALL_MAX),
            datagrams: Vec::with_capacity(PACKETS_PER_CALL_MAX),
        }
    }

    /// Makes datagrams of the first packets. With `segmented`, runs of equal length become one.
    pub(crate) fn load(&mut self, to: PacketDestination, packets: &[PacketBody<'_>], segmented: bool) {
        self.pieces.clear();
        self.datagrams.clear();
        for (at, packet) in packets.iter().take(PACKETS_PER_CALL_MAX).enumerate() {
            self.write(at, to, packet);
            self.put(HEAD_BYTES + packet.bytes(), segmented);
        }
    }

    fn write(&mut self, at: usize, to: PacketDestination, packet: &PacketBody<'_>) {
        let bytes = HEAD_BYTES + packet.bytes();
        assert!(
            packet.head.len() <= PROTOCOL_HEAD_BYTES_MAX && bytes <= usize::from(u16::MAX),
            "a packet too long"
        );
        self.count += 1;
        let head =
            PacketHead { bytes: bytes as u16, job: self.keys.job, from: self.me, to, count: self.count };
        let heads = &mut self.heads[at * HEADS_BYTES..][..HEAD_BYTES + packet.head.len()];
        let (link, protocol) = heads.split_at_mut(HEAD_BYTES);
        let (sealed, tag) = link.split_first_chunk_mut::<SEALED_HEAD_BYTES>().expect("a head is longer");
        head.write(sealed);
        protocol.copy_from_slice(packet.head);
        tag.copy_from_slice(&self.keys.seal(self.me, self.count, &[sealed, protocol, packet.payload]));
        self.pieces.extend([piece(heads), piece(packet.payload)]);
    }

    /// Puts the packet whose pieces are the last two into the last datagram or a new one.
    fn put(&mut self, bytes: usize, segmented: bool) {
        match self.datagrams.last_mut() {
            Some(last) if segmented && last.has_room(bytes) => last.add(bytes),
            _ => self.datagrams.push(Datagram::new(bytes)),
        }
    }
}

impl Datagram {
    fn new(bytes: usize) -> Datagram {
        Datagram { packets: 1, segment: bytes, bytes }
    }

    /// Segments are equally long, but for the last, which may be shorter.
    fn has_room(&self, bytes: usize) -> bool {
        let whole = self.bytes == self.packets * self.segment;
        let fits = self.packets < SEGMENTS_MAX && self.bytes + bytes <= SEGMENTED_BYTES_MAX;
        whole && bytes <= self.segment && fits
    }

    fn add(&mut self, bytes: usize) {
        self.packets += 1;
        self.bytes += bytes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shapes(bodies: &[usize], segmented: bool) -> Vec<(usize, usize)> {
        let payload = vec![0; 65_000];
        let packets: Vec<_> =
            bodies.iter().map(|bytes| PacketBody { head: &[], payload: &payload[..*bytes] }).collect();
        let mut outbound = OutboundPacket::new(1, SealKeys::new(&[0; 32]), 0);
        outbound.load(PacketDestination::Rank(0), &packets, segmented);
        assert_eq!(outbound.pieces.len(), 2 * bodies.len().min(PACKETS_PER_CALL_MAX));
        outbound.datagrams.iter().map(|datagram| (datagram.packets, datagram.bytes)).collect()
    }

    #[test]
    fn packets_of_one_length_and_a_shorter_one_are_one_datagram() {
        let head = HEAD_BYTES;
        assert_eq!(shapes(&[100, 100, 30, 100], true), [(3, 230 + 3 * head), (1, 100 + head)]);
        assert_eq!(shapes(&[30, 100, 100], true), [(1, 30 + head), (2, 200 + 2 * head)]);
        assert_eq!(shapes(&[100, 100, 30], false).len(), 3);
    }

    #[test]
    fn a_datagram_has_no_more_than_the_kernel_takes() {
        for bodies in [1400, 60, 8900, 40_000] {
            let many = vec![bodies; PACKETS_PER_CALL_MAX + 5];
            let shapes = shapes(&many, true);
            assert!(
                shapes
                    .iter()
                    .all(|(packets, bytes)| *packets <= SEGMENTS_MAX && *bytes <= SEGMENTED_BYTES_MAX)
            );
            assert_eq!(shapes.iter().map(|(packets, _)| packets).sum::<usize>(), PACKETS_PER_CALL_MAX);
        }
    }
}

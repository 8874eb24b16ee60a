//! Packets on their way in: told apart, judged, counted.

use super::calls::IncomingDatagrams;
use super::head::PacketHead;
use super::seal::{SealKeys, SeenPackets};
use super::{ArrivedPacket, LinkCounters};
use crate::limits::{HEAD_BYTES, SEALED_HEAD_BYTES};
use tern_transport::Peer;

/// Who judges.
pub(crate) struct PacketJudge {
    me: Peer,
    keys: SealKeys,
    /// By rank, of those from whom something genuine has come: a record takes 136 bytes.
    seen: Box<[Option<Box<SeenPackets>>]>,
}

impl PacketJudge {
    pub(crate) fn new(me: Peer, size: u32, keys: SealKeys) -> PacketJudge {
        PacketJudge { me, keys, seen: vec![None; size as usize].into() }
    }

    /// Hands the packets of one datagram on. Answers who has sent it, if that is proved.
    pub(crate) fn open(
        &mut self,
        datagram: &IncomingDatagrams<'_>,
        counters: &mut LinkCounters,
        take: &mut dyn FnMut(ArrivedPacket<'_>),
    ) -> Option<Peer> {
        let mut from = None;
        let waited = datagram.waited;
        if datagram.bytes.is_empty() {
            counters.malformed += 1;
        }
        for packet in datagram.bytes.chunks(datagram.segment.max(1)) {
            let Some(head) = PacketHead::parse(packet) else {
                counters.malformed += 1;
                continue;
            };
            let packet = &packet[..usize::from(head.bytes)];
            match self.judge(&head, packet) {
                Ok(()) => {
                    counters.received += 1;
                    from = Some(head.from);
                    take(ArrivedPacket { from: head.from, to: head.to, body: &packet[HEAD_BYTES..], waited });
                }
                Err(fault) => *fault(counters) += 1,
            }
        }
        from
    }

    /// Cheap questions first; what fails is told by its counter.
    fn judge(&mut self, head: &PacketHead, packet: &[u8]) -> Result<(), fn(&mut LinkCounters) -> &mut u64> {
        if head.job != self.keys.job || head.from == self.me || !head.to.may_be(self.me) {
            return Err(|counters| &mut counters.unwanted);
        }
        let Some(seen) = self.seen.get_mut(head.from as usize) else {
            return Err(|counters| &mut counters.malformed);
        };
        let (sealed, rest) = packet.split_at(SEALED_HEAD_BYTES);
        let genuine = rest
            .split_first_chunk()
            .is_some_and(|(tag, body)| self.keys.is_genuine(head.from, head.count, &[sealed, body], tag));
        if !genuine {
            return Err(|counters| &mut counters.forged);
        }
        if !seen.get_or_insert_default().note(head.count) {
            return Err(|counters| &mut counters.replayed);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::calls::SocketAddress;
    use super::super::head::{Addressed, PacketDestination, PacketGroup};
    use super::*;
    use proptest::prelude::*;

    const SECRET: [u8; 32] = [9; 32];

    fn packet(from: Peer, to: PacketDestination, count: u64, body: &[u8]) -> Vec<u8> {
        let keys = SealKeys::new(&SECRET);
        let head = PacketHead { bytes: (HEAD_BYTES + body.len()) as u16, job: keys.job, from, to, count };
        let mut sealed = [0; SEALED_HEAD_BYTES];
        head.write(&mut sealed);
        let tag = keys.seal(from, count, &[&sealed, body]);
        [&sealed[..], &tag[..], body].concat()
    }

    fn open(
        inbound: &mut PacketJudge,
        datagram: &[u8],
        segment: usize,
    ) -> (LinkCounters, Vec<(Peer, Vec<u8>)>) {
        let (mut counters, mut taken) = (LinkCounters::default(), Vec::new());
        let mut take = |arrival: ArrivedPacket<'_>| taken.push((arrival.from, arrival.body.to_vec()));
        let datagram = IncomingDatagrams { bytes: datagram, segment, from: &SocketAddress::NONE, waited: 0 };
        inbound.open(&datagram, &mut counters, &mut take);
        (counters, taken)
    }

    fn rank_2() -> PacketJudge {
        PacketJudge::new(2, 4, SealKeys::new(&SECRET))
    }

    #[test]
    fn segments_are_told_apart_and_the_last_may_be_shorter() {
        let to = PacketDestination::Group { group: PacketGroup(1), addressed: Addressed::of([2]) };
        let run: Vec<u8> =
            [packet(1, to, 5, b"abc"), packet(1, to, 6, b"def"), packet(1, to, 7, b"g")].concat();
        let (counters, taken) = open(&mut rank_2(), &run, HEAD_BYTES + 3);
        assert_eq!(taken, [(1, b"abc".to_vec()), (1, b"def".to_vec()), (1, b"g".to_vec())]);
        assert_eq!(counters, LinkCounters { received: 3, ..LinkCounters::default() });
    }

    #[test]
    fn whatever_is_changed_on_the_way_is_dropped() {
        let packet = packet(1, PacketDestination::Rank(2), 5, b"text");
        for bit in 0..packet.len() * 8 {
            let mut changed = packet.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            let (counters, taken) = open(&mut rank_2(), &changed, changed.len());
            assert!(taken.is_empty(), "bit {bit}");
            assert_eq!(counters.forged + counters.malformed + counters.unwanted, 1, "bit {bit}");
        }
    }

    #[test]
    fn a_packet_counts_once_and_forgeries_do_not_make_it_old() {
        let mut inbound = rank_2();
        let genuine = packet(1, PacketDestination::Rank(2), 5, b"text");
        let mut forged = packet(1, PacketDestination::Rank(2), u64::MAX, b"text");
        forged[HEAD_BYTES] ^= 1;
        assert_eq!(open(&mut inbound, &forged, forged.len()).0.forged, 1);
        assert_eq!(open(&mut inbound, &genuine, genuine.len()).0.received, 1);
        assert_eq!(open(&mut inbound, &genuine, genuine.len()).0.replayed, 1);
        assert_eq!(
            open(&mut inbound, &packet(3, PacketDestination::Rank(2), 5, b"text"), 99).0.received,
            1,
            "another's count"
        );
    }

    #[test]
    fn who_is_no_rank_and_what_is_for_others_is_dropped() {
        assert_eq!(open(&mut rank_2(), &packet(4, PacketDestination::Rank(2), 5, b""), 99).0.malformed, 1);
        assert_eq!(open(&mut rank_2(), &packet(1, PacketDestination::Rank(3), 5, b""), 99).0.unwanted, 1);
        assert_eq!(open(&mut rank_2(), &packet(2, PacketDestination::Rank(2), 5, b""), 99).0.unwanted, 1);
        assert_eq!(open(&mut rank_2(), b"", 0).0.malformed, 1);
    }

    proptest! {
        #[test]
        fn nothing_but_genuine_packets_is_taken(
            datagram in prop::collection::vec(any::<u8>(), 0..300), segment in 0usize..300
        ) {
            prop_assert!(open(&mut rank_2(), &datagram, segment).1.is_empty());
        }
    }
}

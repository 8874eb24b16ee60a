//! Packets that have overtaken others of their sender. A provider promises order (`FI_ORDER_SAS`), but provider ofi_rxd breaks that
//! where more packets come at once than there are receives.

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

use super::limits::OFI_LOST_S;
use super::packet::OfiPacketKind;
use tern_transport::{Header, Peer};

/// A packet that waits for those before it.
pub(super) struct OvertakingPacket {
    pub kind: OfiPacketKind,
    pub header: Header,
    pub payload: Box<[u8]>,
}

/// What has come too early, by its sender and by how many that one had sent before.
#[derive(Default)]
pub(super) struct OvertakingPackets {
    by_sender: HashMap<Peer, BTreeMap<u32, OvertakingPacket>>,
    /// When the last one came, or was taken.
    changed: Option<Instant>,
}

impl OvertakingPackets {
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.by_sender.is_empty()
    }

    /// Keeps a packet. Whether it had not come before.
    pub(super) fn keep(&mut self, from: Peer, sequence: u32, packet: OvertakingPacket) -> bool {
        self.changed = Some(Instant::now());
        self.by_sender.entry(from).or_default().insert(sequence, packet).is_none()
    }

    /// Takes a packet whose turn has come.
    pub(super) fn take(&mut self, from: Peer, sequence: u32) -> Option<OvertakingPacket> {
        let of_sender = self.by_sender.get_mut(&from)?;
        let packet = of_sender.remove(&sequence)?;
        if of_sender.is_empty() {
            self.by_sender.remove(&from);
        }
        self.changed = Some(Instant::now());
        Some(packet)
    }

    /// A rank whose packet can no longer be expected: later ones came long ago.
    pub(super) fn bereft(&self, now: Instant) -> Option<Peer> {
        let waits = now.saturating_duration_since(self.changed?);
        self.by_sender.keys().next().copied().filter(|_| waits > Duration::from_secs(OFI_LOST_S))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(tag: i32) -> OvertakingPacket {
        let header = Header { tag, ..Header::default() };
        OvertakingPacket { kind: OfiPacketKind::Message, header, payload: Box::default() }
    }

    #[test]
    fn packets_come_out_in_their_turn_and_once() {
        let mut overtaking = OvertakingPackets::default();
        assert!(
            overtaking.keep(3, 8, packet(8))
                && overtaking.keep(3, 7, packet(7))
                && overtaking.keep(4, 7, packet(70))
        );
        assert!(!overtaking.keep(3, 8, packet(8)));
        assert!(overtaking.take(3, 6).is_none());
        assert_eq!(overtaking.take(3, 7).map(|found| found.header.tag), Some(7));
        assert_eq!(overtaking.take(3, 8).map(|found| found.header.tag), Some(8));
        assert!(overtaking.take(3, 8).is_none() && !overtaking.is_empty());
        assert!(overtaking.take(4, 7).is_some() && overtaking.is_empty());
    }

    #[test]
    fn whoever_waits_too_long_for_a_packet_has_lost_it() {
        let mut overtaking = OvertakingPackets::default();
        overtaking.keep(5, 1, packet(1));
        let now = Instant::now();
        assert_eq!(overtaking.bereft(now), None);
        assert_eq!(overtaking.bereft(now + Duration::from_secs(OFI_LOST_S + 1)), Some(5));
        overtaking.take(5, 1);
        assert_eq!(overtaking.bereft(now + Duration::from_secs(OFI_LOST_S + 1)), None);
    }
}

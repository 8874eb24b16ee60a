//! What is known of one peer.

use crate::config::UrtpConfig;
use crate::fallback_tunnel::FallbackTunnel;
use crate::inbound::InboundWindow;
use crate::limits::{PROBE_NS_MAX, REPORT_DELAY_NS, WINDOW_MIN};
use crate::outbound::OutboundWindow;
use crate::pace::Pace;
use crate::reachability::MulticastReachability;
use crate::rtt::{Rtt, stamp};
use crate::wire::{PacketKind, PacketRepr};
use crate::{NEVER, Nanos};

/// Control packets that are due, as bits.
pub(super) mod due {
    pub(crate) const ACK: u8 = 1;
    pub(crate) const REQUEST: u8 = 2;
    pub(crate) const POLL: u8 = 4;
    pub(crate) const BYE: u8 = 8;
}

/// A pair of ranks, seen from one of them.
#[derive(Debug)]
pub(super) struct RankPair {
    pub(super) out: OutboundWindow,
    pub(super) inn: InboundWindow,
    pub(super) rtt: Rtt,
    pub(super) pace: Pace,
    pub(super) reachability: MulticastReachability,
    pub(super) tunnel: FallbackTunnel,
    /// Control packets that are due.
    pub(super) due: u8,
    /// It stands in the queue of those.
    pub(super) queued: bool,
    /// The peer has been silent for too long.
    pub(super) lost: bool,
    pub(super) bye_heard: bool,
    pub(super) bye_at: Nanos,
}

impl RankPair {
    pub(super) fn new(config: &UrtpConfig) -> RankPair {
        RankPair {
            out: OutboundWindow::new(config.window),
            inn: InboundWindow::new(config.window),
            rtt: Rtt::default(),
            pace: Pace::new(config.rate_first, config.rate),
            reachability: MulticastReachability::default(),
            tunnel: FallbackTunnel::default(),
            due: 0,
            queued: false,
            lost: false,
            bye_heard: false,
            bye_at: NEVER,
        }
    }

    /// When something is to be done.
    pub(super) fn deadline(&self) -> Nanos {
        self.out.probe_at.min(self.inn.ack_at).min(self.inn.request_at).min(self.bye_at)
    }

    /// What every point-to-point packet to this peer says, which is an acknowledgement as well.
    pub(super) fn head(&mut self, kind: PacketKind, now: Nanos, shared_left: usize) -> PacketRepr {
        let room = self.inn.room(shared_left);
        self.inn.told_sender(room);
        let (heard, at) = self.inn.stamp;
        let held_us = now.saturating_sub(at) / 1000;
        // What came long ago says nothing of the network now.
        let echo =
            if heard == 0 || held_us > 1_000_000 { 0 } else { heard.wrapping_add(held_us as u32).max(1) };
        PacketRepr {
            kind,
            flags: 0,
            room,
            seq: 0,
            ack: self.inn.expected() as u32,
            stamp: stamp(now),
            echo,
            rate: self.inn.rate(),
        }
    }

    /// Whether it hears no multicasts, or nothing at all.
    pub(super) fn is_unreached(&self, now: Nanos) -> bool {
        self.reachability.is_unreached(now) || self.tunnel.asks(now)
    }

    /// A window that fills the way there and back twice, and the time for which acknowledgements are held.
    pub(super) fn fit_window(&mut self, packet_bytes: u64, window_max: u32) {
        let time = u128::from(self.rtt.smooth() + REPORT_DELAY_NS);
        let bytes = 2 * time * u128::from(self.pace.rate()) / 1_000_000_000;
        let packets = (bytes / u128::from(packet_bytes)) as u64;
        self.out.window = packets.clamp(WINDOW_MIN.into(), window_max.into()) as u32;
    }

    /// When to ask next what has come, after some questions without an answer.
    pub(super) fn next_probe(&self, now: Nanos, jitter: u64) -> Nanos {
        let wait = self.rtt.probe().saturating_mul(1 << self.out.probes.min(10)).min(PROBE_NS_MAX);
        now + wait + wait * jitter / 4096
    }
}

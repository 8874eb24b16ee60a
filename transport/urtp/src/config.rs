//! What an endpoint is told when it is made.

use crate::limits::*;
use crate::{Nanos, WorldRank};

/// Settings of a [`UrtpEndpoint`](crate::UrtpEndpoint). All ranks of a job have the same, but for `me` and `seed`.
#[derive(Clone, Debug)]
pub struct UrtpConfig {
    /// This rank.
    pub me: WorldRank,
    /// Ranks of the job: p.
    pub size: u32,
    /// Bytes of a packet that the link carries.
    pub body_bytes_max: usize,
    /// Packets of the largest window, a power of two: W.
    pub window: u32,
    /// Packets that may be kept for all senders together, besides one for each. (p − 1) W, and no packet that is within its
    /// window is ever refused; fewer, and the next packet of each sender still has its reserved buffer (section 3.1).
    pub shared_buffers: usize,
    /// Packets that may wait for acknowledgements.
    pub send_buffers: usize,
    /// Memory that groups may take that this rank holds no more.
    pub idle_groups_bytes: usize,
    /// The pace at most, bytes per second.
    pub rate: u64,
    /// The pace before receivers have said theirs.
    pub rate_first: u64,
    /// Bytes that may go at once: what the queues of the network hold for sure.
    pub burst_bytes: u64,
    /// Bytes that a packet takes on the wire beside its body.
    pub packet_cost_bytes: u64,
    /// Every so many multicast packets are followed by their parity.
    pub parity: Option<u8>,
    /// How long a peer may be silent while it owes an answer. `None`: for ever, somebody else finds out who is dead.
    pub peer_timeout: Option<Nanos>,
    /// There is another way to each peer: [`Transmit::tunnel`](crate::Transmit).
    pub tunnel: bool,
    /// What intervals are varied by, so that not all ranks ask at the same moment.
    pub seed: u64,
}

impl UrtpConfig {
    /// The usual settings for a rank.
    pub fn new(me: WorldRank, size: u32) -> UrtpConfig {
        let window = 512;
        let peers = size.saturating_sub(1) as usize;
        UrtpConfig {
            me,
            size,
            body_bytes_max: 1424,
            window,
            shared_buffers: (peers * window as usize).min(16_384),
            send_buffers: (peers * window as usize).clamp(1, 4096),
            idle_groups_bytes: IDLE_GROUPS_BYTES,
            rate: 125_000_000,
            rate_first: u64::MAX,
            burst_bytes: 64 << 10,
            packet_cost_bytes: 114,
            parity: None,
            peer_timeout: None,
            tunnel: false,
            seed: u64::from(me),
        }
    }

    /// Bounds what was asked for.
    pub(crate) fn bounded(mut self) -> UrtpConfig {
        self.body_bytes_max = self.body_bytes_max.clamp(BODY_BYTES_MIN, BODY_BYTES_MAX);
        self.window = self.window.clamp(WINDOW_MIN, WINDOW_MAX).next_power_of_two();
        // The largest multicast must fit in the worst case.
        self.send_buffers = self.send_buffers.max(parts_max(self.size as usize) + 2);
        self.rate = self.rate.max(RATE_MIN);
        self.rate_first = self.rate_first.clamp(RATE_MIN, self.rate);
        self.parity = self.parity.map(|run| run.clamp(2, PARITY_RUN_MAX));
        self
    }

    /// Bytes of payload in a point-to-point packet.
    pub fn payload_bytes_max(&self) -> usize {
        self.body_bytes_max - HEAD_BYTES
    }

    /// Bytes of payload in a packet to a group of so many members, whatever numbers they have.
    pub fn multicast_bytes_max(&self, members: usize) -> usize {
        let worst = members.div_ceil(8) + 4 * members;
        self.body_bytes_max - HEAD_BYTES - SPREAD_BYTES - worst.min(NUMBERS_BYTES_MAX) - self.parity_bytes()
    }

    /// Parity covers the length as well.
    fn parity_bytes(&self) -> usize {
        if self.parity.is_some() { 2 } else { 0 }
    }

    /// Buffers that may be in use for what was received: the paper's (p − 1) W, or the shared ones and one for each sender.
    pub fn receive_buffers_max(&self) -> usize {
        let peers = self.size.saturating_sub(1) as usize;
        (self.shared_buffers + peers).min(peers * self.window as usize)
    }
}

/// Packets of a multicast to so many members, at most.
pub(crate) fn parts_max(members: usize) -> usize {
    members.div_ceil(MEMBERS_PER_PART_MIN) + 1
}

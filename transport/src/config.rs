//! What `TERN_*` variables say to the transports. The mpi room reads the environment; this is its result.

use crate::Limits;
use crate::copies::Copies;
use crate::fingerprint::SettingsFingerprint;
use crate::limits::{
    CELL_BYTES, CELL_BYTES_MAX, CELLS, CELLS_MAX, LINES_PAYLOAD_BYTES_MAX, MESSAGE_CELLS_FEW,
    MESSAGE_CELLS_MAX, MESSAGE_CELLS_UNASKED, PARITY_RUN_MAX, PARITY_RUN_MIN, PEER_TIMEOUT_S, RING_LINES,
    RING_LINES_MAX, RING_LINES_MIN, TCP_COPIED_BYTES, TCP_EAGER_BYTES, TCP_EAGER_BYTES_MAX,
    ZERO_COPY_BYTES_MAX,
};
use crate::reach::{Interfaces, Ports};
use std::time::Duration;

/// Which transport carries messages between ranks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum TransportSetting {
    /// Shared memory within a machine, TCP between machines.
    #[default]
    Auto,
    /// Shared memory, or none.
    Shm,
    /// TCP, within a machine as well.
    Tcp,
    /// Datagrams that are made reliable, within a machine as well.
    Urtp,
    /// libfabric, within a machine as well.
    Ofi,
}

impl TransportSetting {
    /// All, in the order of their words.
    pub const ALL: [TransportSetting; 5] = [
        TransportSetting::Auto,
        TransportSetting::Shm,
        TransportSetting::Tcp,
        TransportSetting::Urtp,
        TransportSetting::Ofi,
    ];
    /// What `TERN_TRANSPORT` calls each.
    pub const WORDS: [&str; 5] = ["auto", "shm", "tcp", "urtp", "ofi"];

    /// Whether messages go over a network within a machine as well.
    pub fn is_network(self) -> bool {
        matches!(self, TransportSetting::Tcp | TransportSetting::Urtp | TransportSetting::Ofi)
    }
}

/// What carries the multicasts of collectives.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Medium {
    /// There are none.
    Off,
    /// UDP, which needs no privilege.
    #[default]
    Udp,
    /// Ethernet frames of Tern's own type where that can be, and else UDP.
    Ethernet,
}

impl Medium {
    /// All, in the order of their words.
    pub const ALL: [Medium; 3] = [Medium::Off, Medium::Udp, Medium::Ethernet];
    /// What `TERN_MULTICAST` calls each.
    pub const WORDS: [&str; 3] = ["0", "1", "ethernet"];
}

/// Settings of the transports; the same on every rank of a job.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TransportConfig {
    /// `TERN_RINGS`: pairs that talk get a ring; otherwise all goes through the receiver's queue.
    pub rings: bool,
    /// `TERN_RING_SLOTS`: lines of a ring, a power of two.
    pub ring_lines: u32,
    /// `TERN_CELLS`: cells of a rank.
    pub cells: u32,
    /// `TERN_CELL_BYTES`: bytes of a cell.
    pub cell_bytes: u32,
    /// `TERN_CMA`: `process_vm_readv` and `process_vm_writev` may be used where the system allows them.
    pub cma: bool,
    /// `TERN_COPIES`: how payloads cross between the ranks of a machine.
    pub copies: Copies,
    /// `TERN_TRANSPORT`.
    pub transport: TransportSetting,
    /// `TERN_MULTICAST`: collectives among machines use multicast where it works, over this.
    pub multicast: Medium,
    /// `TERN_MULTICAST_PARITY`: so many packets of multicasts are followed by their exclusive or; 0: none.
    pub multicast_parity: u32,
    /// Settings of the TCP transport.
    pub tcp: TcpConfig,
    /// `TERN_OFI_PROVIDER`, `TERN_OFI_INTERFACE`: which of libfabric's networks.
    pub ofi: OfiConfig,
    /// What all ranks must have in common.
    pub fingerprint: SettingsFingerprint,
}

impl Default for TransportConfig {
    fn default() -> Self {
        TransportConfig {
            rings: true,
            ring_lines: RING_LINES,
            cells: CELLS,
            cell_bytes: CELL_BYTES,
            cma: true,
            copies: Copies::Auto,
            transport: TransportSetting::Auto,
            multicast: Medium::Udp,
            multicast_parity: 0,
            tcp: TcpConfig::default(),
            ofi: OfiConfig::default(),
            fingerprint: SettingsFingerprint::default(),
        }
    }
}

impl TransportConfig {
    /// The nearest settings that work.
    pub fn clamped(self) -> Self {
        let parity = self.multicast_parity;
        let cell_bytes_min = (LINES_PAYLOAD_BYTES_MAX + 1).next_power_of_two() as u32;
        TransportConfig {
            ring_lines: self.ring_lines.clamp(RING_LINES_MIN, RING_LINES_MAX).next_power_of_two(),
            cells: self.cells.clamp(2, CELLS_MAX),
            cell_bytes: self.cell_bytes.clamp(cell_bytes_min, CELL_BYTES_MAX).next_multiple_of(4096),
            multicast_parity: if parity == 0 { 0 } else { parity.clamp(PARITY_RUN_MIN, PARITY_RUN_MAX) },
            ..self
        }
    }

    /// Payload bytes of the longest message that shared memory takes at once in any case, of settings that were
    /// [`TransportConfig::clamped`]. `oversubscribed`: ranks outnumber the cores.
    pub fn shm_eager_bytes_max(&self, oversubscribed: bool) -> usize {
        let cells = match self.copies.by_cells() && !oversubscribed {
            true => MESSAGE_CELLS_UNASKED,
            false => MESSAGE_CELLS_FEW,
        };
        self.shm_message_bytes_max().min(cells as usize * self.cell_bytes as usize)
    }

    /// Payload bytes of the longest message by cells.
    pub fn shm_message_bytes_max(&self) -> usize {
        // Further cells of a message are named by lines of a ring.
        let cells = if self.rings { message_cells_max(self.cells) } else { 1 };
        cells as usize * self.cell_bytes as usize
    }
}

/// Cells of the longest message of a rank with so many cells. No peer gets the last quarter of the cells, and of the others a long message
/// leaves half.
pub fn message_cells_max(cells: u32) -> u32 {
    let for_one_peer = cells - cells / 4;
    (for_one_peer / 2).clamp(MESSAGE_CELLS_FEW.min(for_one_peer), MESSAGE_CELLS_MAX)
}

/// What the checksum of a frame covers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Checksum {
    /// The header.
    Header,
    /// The payload, too.
    All,
}

impl Checksum {
    /// Both, in the order of their words.
    pub const ALL: [Checksum; 2] = [Checksum::Header, Checksum::All];
    /// What `TERN_TCP_CHECKSUM` calls each.
    pub const WORDS: [&str; 2] = ["header", "all"];
}

/// Which of libfabric's networks. Empty: any.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct OfiConfig {
    /// The provider, as `fi_info -l` calls it.
    pub provider: &'static str,
    /// The interface or device.
    pub interface: &'static str,
    /// `FI_PROVIDER` is set, by which the library leaves out others by itself.
    pub is_filtered: bool,
}

/// Settings of the TCP transport.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TcpConfig {
    /// `TERN_TCP_EAGER_BYTES`: the longest message that is sent without asking.
    pub eager_bytes: u32,
    /// Of those, the longest that is copied, so that its sender need not wait.
    pub copied_bytes: u32,
    /// `TERN_TCP_CHECKSUM`.
    pub checksum: Checksum,
    /// `TERN_ENCRYPT`; the same on all ranks.
    pub encrypt: bool,
    /// `TERN_PEER_TIMEOUT`: seconds for a peer whose connection broke to come back.
    pub peer_timeout_s: u32,
    /// `TERN_TCP_CUTS`: a test breaks a connection once in about so many sends; 0 never.
    pub cuts: u32,
    /// `TERN_INTERFACE`: where other machines reach this rank.
    pub interfaces: Interfaces,
    /// `TERN_PORTS`; the same on all ranks.
    pub ports: Ports,
    /// All ranks of the job are on this node, so that no other one needs to reach this rank.
    pub local: bool,
}

impl Default for TcpConfig {
    fn default() -> Self {
        TcpConfig {
            eager_bytes: TCP_EAGER_BYTES,
            copied_bytes: TCP_COPIED_BYTES,
            checksum: Checksum::Header,
            encrypt: false,
            peer_timeout_s: PEER_TIMEOUT_S,
            cuts: 0,
            interfaces: Interfaces::default(),
            ports: Ports::default(),
            local: false,
        }
    }
}

impl TcpConfig {
    /// Bytes of the longest message that is sent without asking.
    pub fn eager_bytes_max(&self) -> usize {
        self.eager_bytes.clamp(crate::AM_INLINE_BYTES_MAX as u32, TCP_EAGER_BYTES_MAX) as usize
    }

    /// Of those, the longest that is copied.
    pub fn copied_bytes_max(&self) -> usize {
        self.eager_bytes_max().min(self.copied_bytes.max(crate::AM_INLINE_BYTES_MAX as u32) as usize)
    }

    /// What the transport can do towards any peer.
    pub fn limits(&self) -> Limits {
        Limits {
            eager_bytes_max: self.copied_bytes_max(),
            get: false,
            put: false,
            cooperative_copy: false,
            prefers_send: false,
        }
    }

    /// Bytes of the longest message that is sent without asking and without a copy.
    #[inline]
    pub fn zero_copy_eager_bytes_max(&self) -> usize {
        self.eager_bytes_max().min(ZERO_COPY_BYTES_MAX)
    }

    /// How long a peer may take to come back.
    pub fn peer_timeout(&self) -> Duration {
        Duration::from_secs(self.peer_timeout_s.into())
    }
}

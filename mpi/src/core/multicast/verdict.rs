//! Whether multicast works, and by what it goes.

use crate::limits::MULTICAST_RANKS_MAX;
use std::net::IpAddr;
use tern_coll::TableRow;
use tern_coll::table::may_multicast;
use tern_transport::{Medium, TransportConfig, TransportSetting};

/// What has been found out.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) enum MulticastVerdict {
    /// There is nothing to find out, and why.
    Unasked(&'static str),
    /// Nobody has asked yet.
    #[default]
    Open,
    /// It works.
    Works(MulticastRoute),
    /// It does not, and why.
    Fails(String),
}

/// By what multicasts go.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct MulticastRoute {
    pub(super) medium: Medium,
    /// Of the interface of this node.
    pub(super) address: IpAddr,
    /// Why this is not the medium that was asked for.
    pub(super) instead: Option<String>,
}

impl MulticastRoute {
    pub(super) fn udp(address: IpAddr) -> MulticastRoute {
        MulticastRoute { medium: Medium::Udp, address, instead: None }
    }
}

/// Why no job has both `TERN_TRANSPORT=urtp` and `TERN_ENCRYPT=1`.
pub(super) const IN_CLEAR: &str = "its datagrams are authenticated, but not encrypted as TERN_ENCRYPT=1 asks";

/// Whether a job asks at all. `rows` come before the built-in choice of algorithms.
pub(crate) fn wanted(config: &TransportConfig, size: u32, hosts: u32, rows: &[TableRow]) -> MulticastVerdict {
    if size == 1 {
        return MulticastVerdict::Unasked("there is one rank");
    }
    match config.transport {
        // Whoever asks for both would send in clear what must be secret.
        TransportSetting::Urtp if config.tcp.encrypt => MulticastVerdict::Fails(IN_CLEAR.into()),
        TransportSetting::Urtp => MulticastVerdict::Open,
        TransportSetting::Shm => MulticastVerdict::Unasked("TERN_TRANSPORT=shm"),
        TransportSetting::Ofi => MulticastVerdict::Unasked("TERN_TRANSPORT=ofi"),
        _ if config.multicast == Medium::Off => MulticastVerdict::Unasked("TERN_MULTICAST=0"),
        // Packets are authenticated, but everybody on the network can read them.
        _ if config.tcp.encrypt => MulticastVerdict::Unasked("TERN_ENCRYPT=1"),
        _ if hosts < 2 => MulticastVerdict::Unasked("all ranks are on one node"),
        // To ask takes every rank two sockets, and all of them some turns.
        _ if !may_multicast(rows, hosts) => {
            MulticastVerdict::Unasked("connections serve so few nodes as well")
        }
        _ if size > MULTICAST_RANKS_MAX => MulticastVerdict::Unasked("there are too many ranks"),
        _ => MulticastVerdict::Open,
    }
}

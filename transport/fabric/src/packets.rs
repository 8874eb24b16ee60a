//! Datagrams beside connections: whether multicasts go by them, and messages as well.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;

use super::fallback_tunnel::Tunnels;
use crate::limits::{PACE_FIRST_BYTES_PER_S, PACE_LOOP_BACK_BYTES_PER_S, PACE_MOST_BYTES_PER_S};
use tern_datagram::link::{EtherConfig, EtherLink, Interface, Link, UdpConfig, UdpLink};
use tern_datagram::{Manner, Urtp};
use tern_transport::Peer;
use tern_transport::config::Medium;
use tern_transport::reach::Ports;
use tern_transport::socket_bell::SocketBell;

/// The reliable channel over datagrams, and what it is used for.
pub(super) struct Packets {
    pub urtp: Urtp,
    /// Multicasts go by it.
    pub multicasts: bool,
    /// Messages to one rank go by it.
    pub carries_messages: bool,
    /// Packets that come over TCP instead.
    pub tunnels: Tunnels,
}

impl Packets {
    /// Opens sockets of a medium at the interface that has an address. Nothing is sent yet.
    pub(super) fn open(
        (me, size): (Peer, u32),
        secret: &[u8],
        (medium, address, ports): (Medium, IpAddr, Ports),
        parity: u8,
        bell: &Arc<SocketBell>,
    ) -> io::Result<Packets> {
        let interface = Interface::with(address)?;
        let manner = manner(&interface, parity);
        let link: Box<dyn Link + Send> = match medium {
            Medium::Ethernet => Box::new(EtherLink::new(&EtherConfig { me, size, secret, interface })?),
            _ => Box::new(UdpLink::new(&UdpConfig { ports, ..UdpConfig::new(me, size, secret, interface) })?),
        };
        let urtp = Urtp::new(link, me, size, manner, bell.clone());
        Ok(Packets { urtp, multicasts: false, carries_messages: false, tunnels: Tunnels::default() })
    }
}

/// Slow at first where a switch's queue may be on the way, and never faster than the interface.
fn manner(interface: &Interface, parity: u8) -> Manner {
    let (pace_first, pace_most) = if interface.address.is_loopback() {
        (PACE_LOOP_BACK_BYTES_PER_S, PACE_LOOP_BACK_BYTES_PER_S)
    } else {
        let most = interface.bytes_per_s().unwrap_or(PACE_MOST_BYTES_PER_S);
        (most.min(PACE_FIRST_BYTES_PER_S), most)
    };
    Manner { pace_first, pace_most, parity }
}

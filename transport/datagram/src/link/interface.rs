//! Which interface leads to the peers, and what it carries.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};
use std::os::fd::AsRawFd;

use nix::ifaddrs::getifaddrs;
use nix::net::if_::if_nametoindex;

use super::calls::mtu_of;

/// An interface of this machine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Interface {
    /// As people name it.
    pub name: String,
    /// As the kernel names it.
    pub index: u32,
    /// This machine's address there.
    pub address: IpAddr,
    /// Its Ethernet address, if it has one.
    pub ether: Option<[u8; 6]>,
    /// Bytes of the packets of IP that it carries.
    pub mtu: usize,
}

impl Interface {
    /// The one through which the kernel would reach an address. Nothing is sent.
    pub fn towards(peer: IpAddr) -> io::Result<Interface> {
        let any: IpAddr =
            if peer.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
        let socket = UdpSocket::bind((any, 0))?;
        // The port does not matter for the route.
        socket.connect((peer, 9))?;
        Interface::with(socket.local_addr()?.ip())
    }

    /// How fast it is, if it says so: Ethernet does, radio and tunnels do not.
    pub fn bytes_per_s(&self) -> Option<u64> {
        let text = std::fs::read_to_string(format!("/sys/class/net/{}/speed", self.name)).ok()?;
        let mbit_per_s: u64 = text.trim().parse().ok().filter(|speed| *speed > 0)?;
        Some(mbit_per_s * 125_000)
    }

    /// The one that has this address.
    pub fn with(address: IpAddr) -> io::Result<Interface> {
        let name = getifaddrs()?
            .find(|entry| ip_of(entry) == Some(address))
            .map(|entry| entry.interface_name)
            .ok_or_else(|| no_interface(address))?;
        let socket = UdpSocket::bind((address, 0))?;
        Ok(Interface {
            index: if_nametoindex(name.as_str())?,
            ether: ether_of(&name)?,
            mtu: mtu_of(socket.as_raw_fd(), &name)?,
            address,
            name,
        })
    }
}

/// The address by which this machine multicasts, where a connection ends at another one of the same interface: an IPv4 address if
/// the interface has one. Connections that are made over a network that loses packets may be of either kind, and those who
/// multicast must all be of one.
pub fn address_for_all(address: IpAddr) -> IpAddr {
    let all = || getifaddrs().into_iter().flatten();
    let Some(here) = all().find(|entry| ip_of(entry) == Some(address)) else { return address };
    let beside = all().filter(|entry| entry.interface_name == here.interface_name);
    beside.filter_map(|entry| ip_of(&entry)).find(IpAddr::is_ipv4).unwrap_or(address)
}

fn ip_of(entry: &nix::ifaddrs::InterfaceAddress) -> Option<IpAddr> {
    let address = entry.address.as_ref()?;
    let v4 = address.as_sockaddr_in().map(|v4| IpAddr::V4(v4.ip()));
    v4.or(address.as_sockaddr_in6().map(|v6| IpAddr::V6(v6.ip())))
}

fn ether_of(name: &str) -> io::Result<Option<[u8; 6]>> {
    let links = getifaddrs()?.filter(|entry| entry.interface_name == name);
    Ok(links.filter_map(|entry| entry.address?.as_link_addr()?.addr()).next())
}

fn no_interface(address: IpAddr) -> io::Error {
    io::Error::new(
        io::ErrorKind::AddrNotAvailable,
        format!("no interface of this machine has the address {address}"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_multicast_by_one_kind_of_address() {
        let [v4, v6] = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];
        assert_eq!(address_for_all(v4), v4);
        let has_v6 = Interface::with(v6).is_ok();
        assert_eq!(address_for_all(v6), if has_v6 { v4 } else { v6 });
        let elsewhere = Ipv4Addr::new(192, 0, 2, 1).into();
        assert_eq!(address_for_all(elsewhere), elsewhere);
    }

    #[test]
    fn loop_back_leads_to_itself() {
        let interface = Interface::towards(Ipv4Addr::LOCALHOST.into()).unwrap();
        assert_eq!((interface.name.as_str(), interface.address), ("lo", Ipv4Addr::LOCALHOST.into()));
        assert!(interface.index > 0 && interface.mtu >= 1280, "{interface:?}");
        let error = Interface::with(Ipv4Addr::new(192, 0, 2, 1).into()).unwrap_err();
        assert!(error.to_string().contains("192.0.2.1"), "{error}");
    }
}

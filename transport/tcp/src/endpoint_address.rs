//! A rank's endpoint address: all the ways in which its listening socket may be reached.
//!
//! Which of them is the right one only the peer can find out, by its route to each and by the proof that the right rank
//! answers: two machines may both have a bridge with the same private address, and a host name may resolve to nothing.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs, UdpSocket};

use nix::ifaddrs::getifaddrs;
use nix::net::if_::InterfaceFlags;

use super::files::with_room;
use tern_transport::directory::ENDPOINT_ADDRESS_BYTES_MAX;
use tern_transport::reach::Interfaces;

/// Addresses on one endpoint address, so that it fits.
const ADDRESSES_MAX: usize = 24;
const _: () = assert!(4 + ADDRESSES_MAX * 17 <= ENDPOINT_ADDRESS_BYTES_MAX);

const VERSION: u8 = 1;

/// A port, and the addresses at which it may be reached.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct EndpointAddress {
    pub port: u16,
    pub addresses: Vec<IpAddr>,
}

/// A way to a peer that is worth trying, or why it is not.
pub(crate) type Candidate = (SocketAddr, Result<(), String>);

impl EndpointAddress {
    /// All addresses of this machine's interfaces that are up and may be used.
    pub(crate) fn of_this_machine(port: u16, interfaces: &Interfaces) -> io::Result<EndpointAddress> {
        let mut addresses = addresses(interfaces)?;
        if !interfaces.is_all() {
            addresses.truncate(ADDRESSES_MAX);
            return Ok(EndpointAddress { port, addresses });
        }
        // Loop-back is always there, whatever `ifconfig lo` says, and last: it means something on every machine.
        addresses.retain(|ip| !ip.is_loopback());
        addresses.truncate(ADDRESSES_MAX - 2);
        addresses.extend([IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)]);
        Ok(EndpointAddress { port, addresses })
    }

    /// Version, port, and per address its family and bytes.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut bytes = vec![VERSION, self.addresses.len() as u8];
        bytes.extend(self.port.to_le_bytes());
        for address in &self.addresses {
            match address {
                IpAddr::V4(v4) => {
                    bytes.push(4);
                    bytes.extend(v4.octets());
                }
                IpAddr::V6(v6) => {
                    bytes.push(6);
                    bytes.extend(v6.octets());
                }
            }
        }
        bytes
    }

    /// An endpoint address that came from elsewhere.
    pub(crate) fn parse(bytes: &[u8]) -> Option<EndpointAddress> {
        let ([VERSION, count, port @ ..], mut rest) = bytes.split_first_chunk::<4>()? else { return None };
        let mut addresses = Vec::new();
        for _ in 0..*count {
            let (family, after) = rest.split_first()?;
            let address: IpAddr;
            (address, rest) = match family {
                4 => after.split_first_chunk::<4>().map(|(octets, rest)| ((*octets).into(), rest))?,
                6 => after.split_first_chunk::<16>().map(|(octets, rest)| ((*octets).into(), rest))?,
                _ => return None,
            };
            addresses.push(address);
        }
        (rest.is_empty() && addresses.len() <= ADDRESSES_MAX)
            .then(|| EndpointAddress { port: u16::from_le_bytes(*port), addresses })
    }

    /// The ways to try, in order. An address that is this machine's own comes after those of others: if it is a private one
    /// that both machines have, only the proof will tell that the wrong rank answers.
    pub(crate) fn candidates(&self) -> Vec<Candidate> {
        let mut ranked: Vec<(u8, Candidate)> = Vec::new();
        for address in &self.addresses {
            let address = SocketAddr::new(*address, self.port);
            let (rank, usable) = match source_towards(address) {
                Ok(source) if address.ip().is_loopback() => (own_rank(source), Ok(())),
                Ok(source) if source == address.ip() => (2, Ok(())),
                Ok(_) => (0, Ok(())),
                Err(error) if error.raw_os_error().is_some() => (4, Err(format!("no route ({error})"))),
                Err(error) => (4, Err(error.to_string())),
            };
            ranked.push((rank, (address, usable)));
        }
        ranked.sort_by_key(|(rank, _)| *rank);
        ranked.into_iter().map(|(_, candidate)| candidate).collect()
    }
}

/// An endpoint address as text, `10.0.0.1,[fd00::7],127.0.0.1:4711`, with as many of its addresses as fit.
pub fn text_of_endpoint_address(endpoint_address: &[u8], chars_max: usize) -> Option<String> {
    let EndpointAddress { port, addresses } = EndpointAddress::parse(endpoint_address)?;
    let (mut text, end) = (String::new(), format!(":{port}"));
    for address in addresses {
        let word = if address.is_ipv6() { format!("[{address}]") } else { address.to_string() };
        let comma = if text.is_empty() { "" } else { "," };
        if text.len() + comma.len() + word.len() + end.len() <= chars_max {
            text += comma;
            text += &word;
        }
    }
    (!text.is_empty()).then(|| text + &end)
}

/// An endpoint address with one of its addresses alone; `None` if it has no such address.
pub fn endpoint_address_at(endpoint_address: &[u8], address: IpAddr) -> Option<Vec<u8>> {
    let EndpointAddress { port, addresses } = EndpointAddress::parse(endpoint_address)?;
    addresses.contains(&address).then(|| EndpointAddress { port, addresses: vec![address] }.bytes())
}

/// The endpoint address that a text describes. A name of a host stands for its addresses.
pub fn endpoint_address_of_text(text: &str) -> Option<Vec<u8>> {
    let (hosts, port) = text.rsplit_once(':')?;
    let port = port.parse().ok().filter(|port| *port > 0)?;
    let mut addresses = Vec::new();
    for word in hosts.split(',') {
        let plain = word.trim_start_matches('[').trim_end_matches(']');
        match plain.parse() {
            Ok(address) => addresses.push(address),
            Err(_) => addresses.extend((plain, port).to_socket_addrs().ok()?.map(|address| address.ip())),
        }
    }
    addresses.truncate(ADDRESSES_MAX);
    (!addresses.is_empty()).then(|| EndpointAddress { port, addresses }.bytes())
}

/// Whether this machine has one of the interfaces that were named, and it is up; an error that says which were.
pub fn check_interfaces(interfaces: &Interfaces) -> io::Result<()> {
    addresses(interfaces).map(drop)
}

/// The addresses of this machine's interfaces that are up and may be used. An error if interfaces were named and none has one.
pub(crate) fn addresses(interfaces: &Interfaces) -> io::Result<Vec<IpAddr>> {
    let mut addresses = Vec::new();
    for interface in getifaddrs()?.filter(|i| i.flags.contains(InterfaceFlags::IFF_UP)) {
        let Some(address) = interface.address else { continue };
        let v4 = address.as_sockaddr_in().map(|v4| IpAddr::V4(v4.ip()));
        let v6 = address.as_sockaddr_in6().map(|v6| IpAddr::V6(v6.ip()));
        let usable = |ip: &IpAddr| !is_link_local(ip) && interfaces.have(&interface.interface_name, *ip);
        addresses.extend(v4.or(v6).filter(usable));
    }
    if addresses.is_empty() && !interfaces.is_all() {
        let text = interfaces.text();
        let error = format!(
            "TERN_INTERFACE={text}: no interface of this machine that is up has such a name or address"
        );
        return Err(io::Error::new(io::ErrorKind::AddrNotAvailable, error));
    }
    Ok(addresses)
}

/// Loop-back comes before other own addresses, and IPv4 before IPv6, which has no route on some machines.
fn own_rank(source: IpAddr) -> u8 {
    if source.is_ipv4() { 1 } else { 3 }
}

/// The address that the kernel would use as this end's towards `to`. Nothing is sent.
fn source_towards(to: SocketAddr) -> io::Result<IpAddr> {
    let any: IpAddr = if to.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let socket = with_room(|| UdpSocket::bind((any, 0)))?;
    socket.connect(to)?;
    Ok(socket.local_addr()?.ip())
}

/// Means nothing without the name of an interface, which is another one on each machine.
fn is_link_local(ip: &IpAddr) -> bool {
    match ip {
        IpAddr::V4(v4) => v4.is_link_local(),
        IpAddr::V6(v6) => v6.is_unicast_link_local(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn an_endpoint_address_is_read_as_written(port: u16, addresses in prop::collection::vec(any::<IpAddr>(), 0..=ADDRESSES_MAX)) {
            let endpoint_address = EndpointAddress { port, addresses };
            prop_assert!(endpoint_address.bytes().len() <= ENDPOINT_ADDRESS_BYTES_MAX);
            prop_assert_eq!(EndpointAddress::parse(&endpoint_address.bytes()), Some(endpoint_address));
        }

        #[test]
        fn any_bytes_are_an_endpoint_address_or_none(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
            if let Some(endpoint_address) = EndpointAddress::parse(&bytes) {
                prop_assert_eq!(endpoint_address.bytes(), bytes);
            }
        }
    }

    #[test]
    fn an_endpoint_address_is_text_and_an_endpoint_address_again() {
        let addresses: Vec<IpAddr> =
            ["10.0.0.1", "fd00::7", "127.0.0.1"].iter().map(|text| text.parse().unwrap()).collect();
        let endpoint_address = EndpointAddress { port: 4711, addresses }.bytes();
        let text = text_of_endpoint_address(&endpoint_address, 100).unwrap();
        assert_eq!(text, "10.0.0.1,[fd00::7],127.0.0.1:4711");
        assert_eq!(endpoint_address_of_text(&text), Some(endpoint_address.clone()));
        assert_eq!(
            text_of_endpoint_address(&endpoint_address, 20).unwrap(),
            "10.0.0.1:4711",
            "what does not fit is left out"
        );
        let at = |text: &str| endpoint_address_at(&endpoint_address, text.parse().unwrap());
        assert_eq!(text_of_endpoint_address(&at("fd00::7").unwrap(), 100).unwrap(), "[fd00::7]:4711");
        assert_eq!(at("10.0.0.2"), None);
        for bad in ["", ":", "10.0.0.1", "10.0.0.1:0", "10.0.0.1:x", "10.0.0.1:99999", "300.0.0.1:5"] {
            assert_eq!(endpoint_address_of_text(bad), None, "{bad}");
        }
    }

    #[test]
    fn this_machine_can_be_reached_by_loop_back_if_by_nothing_else() {
        let endpoint_address = EndpointAddress::of_this_machine(9, &Interfaces::default()).unwrap();
        assert_eq!(EndpointAddress::parse(&endpoint_address.bytes()).as_ref(), Some(&endpoint_address));
        let candidates = endpoint_address.candidates();
        let loop_back = SocketAddr::from((Ipv4Addr::LOCALHOST, 9));
        assert!(candidates.contains(&(loop_back, Ok(()))), "{candidates:?}");
    }

    #[test]
    fn only_interfaces_that_may_be_used_are_named() {
        let lo = Interfaces::parse("127.0.0.0/8").unwrap();
        assert_eq!(
            EndpointAddress::of_this_machine(9, &lo).unwrap().addresses,
            [IpAddr::V4(Ipv4Addr::LOCALHOST)]
        );
        let none = Interfaces::parse("nothere0").unwrap();
        assert!(
            EndpointAddress::of_this_machine(9, &none)
                .unwrap_err()
                .to_string()
                .contains("TERN_INTERFACE=nothere0")
        );
    }

    #[test]
    fn an_own_address_is_tried_after_those_of_others() {
        // 192.0.2.0/24 is nobody's (RFC 5737); with a default route it goes out, without one it cannot be tried.
        let addresses = vec![Ipv4Addr::LOCALHOST.into(), Ipv4Addr::new(192, 0, 2, 1).into()];
        let candidates = EndpointAddress { port: 9, addresses }.candidates();
        let usable: Vec<_> = candidates.iter().filter(|(_, usable)| usable.is_ok()).collect();
        assert!(usable.last().is_some_and(|(address, _)| address.ip().is_loopback()), "{candidates:?}");
    }
}

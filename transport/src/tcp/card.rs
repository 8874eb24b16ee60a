//! A rank's card: all the ways in which its listening socket may be reached.
//!
//! Which of them is the right one only the peer can find out, by its route to each and by the proof that the right rank
//! answers: two machines may both have a bridge with the same private address, and a host name may resolve to nothing.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

use nix::ifaddrs::getifaddrs;
use nix::net::if_::InterfaceFlags;

use super::files::with_room;
use crate::reach::Interfaces;

/// Bytes of a card at most.
pub const CARD_BYTES_MAX: usize = 512;

/// Addresses on one card, so that it fits.
const ADDRESSES_MAX: usize = 24;
const _: () = assert!(4 + ADDRESSES_MAX * 17 <= CARD_BYTES_MAX);

const VERSION: u8 = 1;

/// A port, and the addresses at which it may be reached.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Card {
    pub port: u16,
    pub addresses: Vec<IpAddr>,
}

/// A way to a peer that is worth trying, or why it is not.
pub(crate) type Candidate = (SocketAddr, Result<(), String>);

impl Card {
    /// All addresses of this machine's interfaces that are up and may be used.
    pub(crate) fn of_this_machine(port: u16, interfaces: &Interfaces) -> io::Result<Card> {
        let mut addresses = addresses(interfaces)?;
        if !interfaces.is_all() {
            addresses.truncate(ADDRESSES_MAX);
            return Ok(Card { port, addresses });
        }
        // Loop-back is always there, whatever `ifconfig lo` says, and last: it means something on every machine.
        addresses.retain(|ip| !ip.is_loopback());
        addresses.truncate(ADDRESSES_MAX - 2);
        addresses.extend([IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)]);
        Ok(Card { port, addresses })
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

    /// A card that came from elsewhere.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Card> {
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
            .then(|| Card { port: u16::from_le_bytes(*port), addresses })
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
        fn a_card_is_read_as_written(port: u16, addresses in prop::collection::vec(any::<IpAddr>(), 0..=ADDRESSES_MAX)) {
            let card = Card { port, addresses };
            prop_assert!(card.bytes().len() <= CARD_BYTES_MAX);
            prop_assert_eq!(Card::parse(&card.bytes()), Some(card));
        }

        #[test]
        fn any_bytes_are_a_card_or_none(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
            if let Some(card) = Card::parse(&bytes) {
                prop_assert_eq!(card.bytes(), bytes);
            }
        }
    }

    #[test]
    fn this_machine_can_be_reached_by_loop_back_if_by_nothing_else() {
        let card = Card::of_this_machine(9, &Interfaces::default()).unwrap();
        assert_eq!(Card::parse(&card.bytes()).as_ref(), Some(&card));
        let candidates = card.candidates();
        let loop_back = SocketAddr::from((Ipv4Addr::LOCALHOST, 9));
        assert!(candidates.contains(&(loop_back, Ok(()))), "{candidates:?}");
    }

    #[test]
    fn only_interfaces_that_may_be_used_are_named() {
        let lo = Interfaces::parse("127.0.0.0/8").unwrap();
        assert_eq!(Card::of_this_machine(9, &lo).unwrap().addresses, [IpAddr::V4(Ipv4Addr::LOCALHOST)]);
        let none = Interfaces::parse("nothere0").unwrap();
        assert!(Card::of_this_machine(9, &none).unwrap_err().to_string().contains("TERN_INTERFACE=nothere0"));
    }

    #[test]
    fn an_own_address_is_tried_after_those_of_others() {
        // 192.0.2.0/24 is nobody's (RFC 5737); with a default route it goes out, without one it cannot be tried.
        let addresses = vec![Ipv4Addr::LOCALHOST.into(), Ipv4Addr::new(192, 0, 2, 1).into()];
        let candidates = Card { port: 9, addresses }.candidates();
        let usable: Vec<_> = candidates.iter().filter(|(_, usable)| usable.is_ok()).collect();
        assert!(usable.last().is_some_and(|(address, _)| address.ip().is_loopback()), "{candidates:?}");
    }
}

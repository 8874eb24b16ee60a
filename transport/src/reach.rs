//! Which interfaces and ports of this machine the network may use: `TERN_INTERFACE` and `TERN_PORTS`.

use std::io;
use std::net::IpAddr;

/// Names of interfaces are shorter than this for the kernel.
const NAME_BYTES: usize = 16;

/// Interfaces by name, by address, or by a network in which they have an address. Empty: all.
///
/// Settings are copied freely and read once in a process, so that their text lives as long as it does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Interfaces(&'static str);

impl Interfaces {
    /// Reads `eth0,10.1.0.0/16,fd00::7`; `None` if a word is none of these.
    pub fn parse(text: &str) -> Option<Interfaces> {
        if text.is_empty() {
            return Some(Interfaces::default());
        }
        let understood = |word: &str| network(word).is_some() || is_name(word);
        text.split(',').all(understood).then(|| Interfaces(text.to_owned().leak()))
    }

    /// As it was written.
    pub fn text(&self) -> &'static str {
        self.0
    }

    /// Whether all are meant.
    pub fn is_all(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether an address of the interface with this name may be used.
    pub fn have(&self, name: &str, address: IpAddr) -> bool {
        let meant = |word: &str| match network(word) {
            Some((network, bits)) => same_network(network, address, bits),
            None => word == name,
        };
        self.is_all() || self.0.split(',').any(meant)
    }
}

fn is_name(word: &str) -> bool {
    let odd = |letter: char| letter.is_whitespace() || letter.is_control() || letter == '/';
    !word.is_empty() && word.len() < NAME_BYTES && !word.contains(odd)
}

/// An address and how many bits of it count.
fn network(word: &str) -> Option<(IpAddr, u32)> {
    let (address, bits) = word.split_once('/').map_or((word, None), |(address, bits)| (address, Some(bits)));
    let address: IpAddr = address.parse().ok()?;
    let all = if address.is_ipv4() { 32 } else { 128 };
    let bits = bits.map_or(Some(all), |bits| bits.parse().ok())?;
    (bits <= all).then_some((address, bits))
}

fn same_network(a: IpAddr, b: IpAddr, bits: u32) -> bool {
    let differing = match (a, b) {
        (IpAddr::V4(a), IpAddr::V4(b)) => (a.to_bits() ^ b.to_bits()).leading_zeros(),
        (IpAddr::V6(a), IpAddr::V6(b)) => (a.to_bits() ^ b.to_bits()).leading_zeros(),
        _ => return false,
    };
    differing >= bits
}

/// Ports at which this rank may be reached. Both 0: any that the kernel chooses.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Ports {
    first: u16,
    last: u16,
}

impl Ports {
    /// Reads `FIRST-LAST`, or nothing.
    pub fn parse(text: &str) -> Option<Ports> {
        if text.is_empty() {
            return Some(Ports::default());
        }
        let (first, last) = text.split_once('-')?;
        let (first, last) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        // The last is for multicasts.
        (first > 0 && first < last).then_some(Ports { first, last })
    }

    /// As it would be written.
    pub fn text(&self) -> String {
        if self.is_any() { String::new() } else { format!("{}-{}", self.first, self.last) }
    }

    fn is_any(&self) -> bool {
        self.last == 0
    }

    /// The one for multicasts, which all ranks share.
    pub fn multicast(&self) -> Option<u16> {
        (!self.is_any()).then_some(self.last)
    }

    /// Binds to the first port that is free. Ranks begin at different ones, so that few of them meet.
    pub fn bind<T>(&self, mut bind: impl FnMut(u16) -> io::Result<T>) -> io::Result<T> {
        if self.is_any() {
            return bind(0);
        }
        let count = u32::from(self.last - self.first);
        for turn in 0..count {
            let port = self.first + ((std::process::id() % count + turn) % count) as u16;
            match bind(port) {
                Err(error) if error.kind() == io::ErrorKind::AddrInUse => {}
                bound => return bound,
            }
        }
        Err(io::Error::new(
            io::ErrorKind::AddrInUse,
            format!("TERN_PORTS={}: all but the last, which is for multicasts, are taken", self.text()),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn interfaces_have_names_and_addresses() {
        let ip = |text: &str| text.parse::<IpAddr>().unwrap();
        let some = Interfaces::parse("eth0,10.1.0.0/16,fd00::7").unwrap();
        for (name, address, meant) in [
            ("eth0", "192.0.2.1", true),
            ("eth1", "192.0.2.1", false),
            ("ib0", "10.1.200.3", true),
            ("ib0", "10.2.0.3", false),
            ("ib0", "fd00::7", true),
            ("ib0", "fd00::8", false),
        ] {
            assert_eq!(some.have(name, ip(address)), meant, "{name} {address}");
        }
        assert!(Interfaces::default().have("any", ip("::1")));
        for bad in [",", "eth0,", "10.0.0.0/33", "a b", "eth0/8", "a-name-that-is-too-long"] {
            assert_eq!(Interfaces::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_free_port_is_taken() {
        for bad in ["x", "7", "0-9", "9-9", "9-8", "1-65536"] {
            assert_eq!(Ports::parse(bad), None, "{bad}");
        }
        let taken = (20_000..60_000)
            .find_map(|port| {
                let pair = (
                    TcpListener::bind(("127.0.0.1", port)).ok()?,
                    TcpListener::bind(("127.0.0.1", port + 1)).ok()?,
                );
                Some((pair, port))
            })
            .unwrap();
        let ((first, second), port) = taken;
        let ports = Ports::parse(&format!("{port}-{}", port + 2)).unwrap();
        assert_eq!(ports.multicast(), Some(port + 2));
        let bind = || ports.bind(|port| TcpListener::bind(("127.0.0.1", port)));
        assert!(bind().unwrap_err().to_string().contains("TERN_PORTS="));
        drop(second);
        assert_eq!(bind().unwrap().local_addr().unwrap().port(), port + 1);
        drop(first);
    }
}

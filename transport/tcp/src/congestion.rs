//! How fast TCP lets a connection send.
//!
//! Some systems, machines of clouds among them, have BBR for all connections (`net.ipv4.tcp_congestion_control`). It sends at the pace of
//! a timer, from what it thinks that the network delivers, which on long ways that lose packets is worth much. Between near
//! machines the timer costs more than the message (docs/performance/constants.md). So near peers do without.

use socket2::Socket;

use super::info::TcpInfo;
use crate::limits::NEAR_US_MAX;

/// How the names of the paced ways begin.
const PACED: &[u8] = b"bbr";

/// What comes instead, the first that this process may have: every kernel has the last.
const UNPACED: [&[u8]; 2] = [b"cubic", b"reno"];

/// A connection to a near peer sends without a pace of its own, whatever the system's rule is. If that cannot be, it stays as it is.
pub(crate) fn unpace(socket: &Socket) {
    if is_paced(socket) && round_trip_us(socket).is_some_and(|us| us <= NEAR_US_MAX) {
        let _ = UNPACED.iter().any(|name| socket.set_tcp_congestion(name).is_ok());
    }
}

fn is_paced(socket: &Socket) -> bool {
    socket.tcp_congestion().is_ok_and(|name| name.starts_with(PACED))
}

fn round_trip_us(socket: &Socket) -> Option<u32> {
    TcpInfo::of(socket).ok()?.round_trip_us
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};

    fn pair() -> [Socket; 2] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let out = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        [out.into(), listener.accept().unwrap().0.into()]
    }

    #[test]
    fn near_peers_are_not_paced_and_have_a_round_trip() {
        for socket in pair() {
            // Where the kernel has no BBR, or does not let us, there is nothing to change.
            let _ = socket.set_tcp_congestion(PACED);
            unpace(&socket);
            assert!(!is_paced(&socket));
            assert!((1..=NEAR_US_MAX).contains(&round_trip_us(&socket).unwrap()));
        }
    }

    #[test]
    fn another_rule_of_the_system_stays() {
        let [socket, _other] = pair();
        socket.set_tcp_congestion(b"reno").unwrap();
        unpace(&socket);
        assert!(socket.tcp_congestion().unwrap().starts_with(b"reno"));
    }
}

//! The handshake's messages over a socket: each has a fixed length, so that exactly that is read and not a byte more.

use std::io;
use std::net::Shutdown;
use std::os::fd::AsRawFd;
use std::time::Duration;

use socket2::{Socket, TcpKeepalive};

use super::congestion::unpace;
use super::handshake::{CHALLENGE_BYTES, ConnectionKey, HELLO_BYTES, PROOF_BYTES, WELCOME_BYTES};
use super::wire::{Wire, piece, piece_mut};
use crate::limits::{RETRANSMIT_US, SILENT_S};
use tern_transport::sockopt::set_option;

const MESSAGE_BYTES_MAX: usize = 160;
const _: () = assert!(HELLO_BYTES <= MESSAGE_BYTES_MAX && CHALLENGE_BYTES <= MESSAGE_BYTES_MAX);
const _: () = assert!(PROOF_BYTES <= MESSAGE_BYTES_MAX && WELCOME_BYTES <= MESSAGE_BYTES_MAX);

/// Nothing of a greeting is used after its socket has been taken out.
const GIVEN_AWAY: &str = "the socket leaves with the greeting";

/// A connection whose ends do not know each other yet. Dropped, it has ended for the other side at once. To close it is not enough: while
/// another thread waits for sockets, the kernel may keep this one open until that thread has woken.
pub(crate) struct Greeting {
    /// Until both ends know each other.
    socket: Option<Socket>,
    heard: [u8; MESSAGE_BYTES_MAX],
    heard_bytes: usize,
}

impl Greeting {
    pub(crate) fn new(socket: Socket) -> Self {
        Greeting { socket: Some(socket), heard: [0; MESSAGE_BYTES_MAX], heard_bytes: 0 }
    }

    pub(crate) fn socket(&self) -> &Socket {
        self.socket.as_ref().expect(GIVEN_AWAY)
    }

    /// The socket, once both ends know each other.
    pub(crate) fn into_socket(mut self) -> Socket {
        unpace(self.socket());
        self.socket.take().expect(GIVEN_AWAY)
    }

    /// Says a whole message. A new connection has room for the few bytes that are ever said.
    pub(crate) fn say(&mut self, message: &[u8]) -> io::Result<()> {
        // SAFETY: the message lives during the call.
        match unsafe { self.socket.as_mut().expect(GIVEN_AWAY).write(&[piece(message)]) } {
            Ok(bytes) if bytes == message.len() => Ok(()),
            Ok(_) => Err(io::ErrorKind::WriteZero.into()),
            Err(error) => Err(error),
        }
    }

    /// A message of `N` bytes, once all of it has come.
    pub(crate) fn hear<const N: usize>(&mut self) -> io::Result<Option<[u8; N]>> {
        const { assert!(N <= MESSAGE_BYTES_MAX) };
        let (socket, rest) = (self.socket.as_mut().expect(GIVEN_AWAY), &mut self.heard[self.heard_bytes..N]);
        // SAFETY: the bytes live during the call.
        match unsafe { socket.read(&[piece_mut(rest)]) } {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(bytes) => self.heard_bytes += bytes,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
            Err(error) => return Err(error),
        }
        if self.heard_bytes < N {
            return Ok(None);
        }
        self.heard_bytes = 0;
        Ok(self.heard.first_chunk().copied())
    }
}

impl Drop for Greeting {
    fn drop(&mut self) {
        if let Some(socket) = &self.socket {
            // One that was never connected has nobody to tell.
            let _ = socket.shutdown(Shutdown::Both);
        }
    }
}

/// Bytes that nobody can foresee, and that are wiped after use: a key may be made of them.
pub(crate) fn seed() -> ConnectionKey {
    let mut seed = ConnectionKey::default();
    getrandom::fill(seed.as_mut_slice()).expect("the kernel gives random bytes at any time after boot");
    seed
}

/// What every connection of a rank needs: no delay of small frames, what is lost soon sent again, and an end when the other
/// machine is gone.
pub(crate) fn prepare(socket: &Socket) -> io::Result<()> {
    let alive = TcpKeepalive::new()
        .with_time(Duration::from_secs(SILENT_S))
        .with_interval(Duration::from_secs(1))
        .with_retries(SILENT_S as u32);
    socket.set_tcp_keepalive(&alive)?;
    hasten(socket);
    socket.set_tcp_nodelay(true)
}

/// Shortens the kernel's wait before it sends again what is lost: the round trip and this, instead of 200 ms more. It shortens
/// as well how long this end holds back an acknowledgement. A kernel that does not know it (before Linux 6.15), or counts time
/// in coarser steps, says so, and then all is as it ever was.
fn hasten(socket: &Socket) {
    let fd = socket.as_raw_fd();
    let _ = RETRANSMIT_US.iter().any(|us| set_option(fd, libc::IPPROTO_TCP, RETRANSMIT_OPTION, us).is_ok());
}

/// `TCP_RTO_MIN_US` of `linux/tcp.h`.
const RETRANSMIT_OPTION: i32 = 45;

#[cfg(test)]
mod tests {
    use super::*;
    use socket2::{Domain, Type};
    use tern_transport::sockopt::words_of_option;

    #[test]
    fn what_is_lost_goes_again_soon_where_the_kernel_knows_how() {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        let wait_us = || {
            let mut us = [0];
            let told = words_of_option(socket.as_raw_fd(), libc::IPPROTO_TCP, RETRANSMIT_OPTION, &mut us);
            told.is_ok().then_some(us[0] as i32)
        };
        let before = wait_us();
        prepare(&socket).unwrap();
        assert_eq!(wait_us().is_some(), before.is_some());
        assert!(wait_us().is_none_or(|us| us <= RETRANSMIT_US[1]), "{before:?}, now {:?}", wait_us());
    }
}

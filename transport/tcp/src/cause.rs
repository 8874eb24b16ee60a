//! Whose fault it is that a call on a socket failed: only a connection's fault is mended by another connection.

use std::io;

/// What an error number of a call on a proved connection speaks of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ErrorNumberCause {
    /// Nobody's: there is nothing to read, no room to write, a signal came, or the kernel lacks memory for now. The same call
    /// is made again later.
    Later,
    /// This process's memory: an address that was passed cannot be used. Every other connection would say the same.
    Memory,
    /// The connection's, or the network's below it. Another one is made, and patience with it is bounded.
    Connection,
}

/// The numbers that `send`, `sendmsg`, `recv` and `recvmsg` give for something else than the connection.
const TABLE: [(i32, ErrorNumberCause); 5] = [
    (libc::EAGAIN, ErrorNumberCause::Later),
    (libc::EINTR, ErrorNumberCause::Later),
    (libc::ENOBUFS, ErrorNumberCause::Later),
    (libc::ENOMEM, ErrorNumberCause::Later),
    (libc::EFAULT, ErrorNumberCause::Memory),
];

impl ErrorNumberCause {
    pub(crate) fn of(error: &io::Error) -> ErrorNumberCause {
        match error.raw_os_error() {
            Some(number) => {
                TABLE.iter().find(|row| row.0 == number).map_or(ErrorNumberCause::Connection, |row| row.1)
            }
            // Said by the wire itself.
            None if error.kind() == io::ErrorKind::WouldBlock => ErrorNumberCause::Later,
            None => ErrorNumberCause::Connection,
        }
    }
}

/// Whether the call is to be made again later. What nothing has come to say is asked for after every poll, so it is first.
#[inline]
pub(crate) fn is_transient(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::EAGAIN) || ErrorNumberCause::of(error) == ErrorNumberCause::Later
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_connection_is_made_again() {
        let cause = |number| ErrorNumberCause::of(&io::Error::from_raw_os_error(number));
        for number in [libc::ECONNRESET, libc::EPIPE, libc::ETIMEDOUT, libc::EHOSTUNREACH, libc::EPERM] {
            assert_eq!(cause(number), ErrorNumberCause::Connection, "{number}");
        }
        assert_eq!(cause(libc::EFAULT), ErrorNumberCause::Memory);
        for number in [libc::EAGAIN, libc::EINTR, libc::ENOBUFS, libc::ENOMEM] {
            assert!(is_transient(&io::Error::from_raw_os_error(number)), "{number}");
        }
        assert!(is_transient(&io::ErrorKind::WouldBlock.into()));
        assert!(!is_transient(&io::ErrorKind::InvalidData.into()));
    }
}

//! The bytes of one connection.

use std::io;
use std::net::IpAddr;
use std::os::fd::{AsRawFd, RawFd};
use std::ptr;

use socket2::Socket;
use tern_mem::IoVec;

use super::sealed::Sealed;

/// A stream of bytes in both directions that never waits.
pub(crate) trait Wire {
    /// Writes a beginning of the pieces. Answers how many bytes; `WouldBlock` if none.
    ///
    /// # Safety
    /// The pieces must be readable.
    unsafe fn write(&mut self, pieces: &[IoVec]) -> io::Result<usize>;

    /// Fills a beginning of the pieces. Answers how many bytes, 0 at the end; `WouldBlock` if there are none now.
    ///
    /// # Safety
    /// The pieces must be writable.
    unsafe fn read(&mut self, pieces: &[IoVec]) -> io::Result<usize>;
}

/// The wire of a connection that has been proved.
pub(crate) enum ProvedWire {
    Plain(Socket),
    Sealed(Box<Sealed<Socket>>),
}

impl ProvedWire {
    pub(crate) fn socket(&self) -> &Socket {
        match self {
            ProvedWire::Plain(socket) => socket,
            ProvedWire::Sealed(sealed) => sealed.inner(),
        }
    }

    pub(crate) fn fd(&self) -> RawFd {
        self.socket().as_raw_fd()
    }

    /// This machine's end of it.
    pub(crate) fn own_address(&self) -> Option<IpAddr> {
        // An IPv6 socket that an IPv4 peer has connected to tells an address that no interface has.
        Some(self.socket().local_addr().ok()?.as_socket()?.ip().to_canonical())
    }

    /// Whether bytes can be read though the socket has none.
    pub(crate) fn has_bytes(&self) -> bool {
        match self {
            ProvedWire::Plain(_) => false,
            ProvedWire::Sealed(sealed) => sealed.has_bytes(),
        }
    }

    /// Bytes that were taken as written and are still in this process.
    pub(crate) fn flush(&mut self) -> io::Result<bool> {
        match self {
            ProvedWire::Plain(_) => Ok(true),
            ProvedWire::Sealed(sealed) => sealed.flush(),
        }
    }
}

impl Wire for ProvedWire {
    unsafe fn write(&mut self, pieces: &[IoVec]) -> io::Result<usize> {
        // SAFETY: the caller's promise, passed on.
        unsafe {
            match self {
                ProvedWire::Plain(socket) => socket.write(pieces),
                ProvedWire::Sealed(sealed) => sealed.write(pieces),
            }
        }
    }

    unsafe fn read(&mut self, pieces: &[IoVec]) -> io::Result<usize> {
        // SAFETY: the caller's promise, passed on.
        unsafe {
            match self {
                ProvedWire::Plain(socket) => socket.read(pieces),
                ProvedWire::Sealed(sealed) => sealed.read(pieces),
            }
        }
    }
}

// The library's functions are points where a thread may be cancelled: in a process of several threads that costs some 20 ns a call, and
// these never wait.
impl Wire for Socket {
    unsafe fn write(&mut self, pieces: &[IoVec]) -> io::Result<usize> {
        let (fd, flags) = (self.as_raw_fd(), libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT);
        // SAFETY: the pieces are readable by the caller's promise; `IoVec` is the kernel's.
        let sent = unsafe {
            match pieces {
                [one] => libc::syscall(libc::SYS_sendto, fd, pointer(one), one.len, flags, NOWHERE, 0),
                _ => libc::syscall(libc::SYS_sendmsg, fd, ptr::from_ref(&gathered(pieces)), flags),
            }
        };
        checked(sent)
    }

    unsafe fn read(&mut self, pieces: &[IoVec]) -> io::Result<usize> {
        let (fd, flags) = (self.as_raw_fd(), libc::MSG_DONTWAIT);
        // SAFETY: the pieces are writable by the caller's promise; `IoVec` is the kernel's.
        let got = unsafe {
            match pieces {
                [one] => {
                    libc::syscall(libc::SYS_recvfrom, fd, pointer(one), one.len, flags, NOWHERE, NOWHERE)
                }
                _ => libc::syscall(libc::SYS_recvmsg, fd, ptr::from_mut(&mut gathered(pieces)), flags),
            }
        };
        checked(got)
    }
}

fn pointer(piece: &IoVec) -> *mut libc::c_void {
    ptr::with_exposed_provenance_mut(piece.base)
}

fn gathered(pieces: &[IoVec]) -> libc::msghdr {
    // SAFETY: all zero is a message without address, pieces or control data.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = pieces.as_ptr().cast::<libc::iovec>().cast_mut();
    message.msg_iovlen = pieces.len() as _;
    message
}

/// Of an address that is not asked for.
const NOWHERE: *const libc::c_void = ptr::null();

fn checked(answer: libc::c_long) -> io::Result<usize> {
    usize::try_from(answer).map_err(|_| io::Error::last_os_error())
}

/// A piece of memory as the kernel sees it.
pub(crate) fn piece(bytes: &[u8]) -> IoVec {
    IoVec { base: bytes.as_ptr().expose_provenance(), len: bytes.len() }
}

/// A piece of memory to be filled.
pub(crate) fn piece_mut(bytes: &mut [u8]) -> IoVec {
    IoVec { base: bytes.as_mut_ptr().expose_provenance(), len: bytes.len() }
}

const _: () = assert!(size_of::<IoVec>() == size_of::<libc::iovec>());

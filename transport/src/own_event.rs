//! An eventfd of the library's, in a program that may close all its descriptors, as daemons do.
//!
//! Its number may then be that of a file of the program's, from which nothing must be read, and into which nothing must be written.
//! All eventfds are one file for the kernel, so that another one would be taken for this one: it counts once too often.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use crate::socket_bell::owned;

pub(crate) struct OwnEvent {
    fd: OwnedFd,
    identity: Option<(u64, u64)>,
}

impl OwnEvent {
    /// A new one, not readable yet.
    pub(crate) fn new() -> io::Result<OwnEvent> {
        // SAFETY: a plain system call.
        let fd = owned(unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) })?;
        let identity = identity(&fd);
        Ok(OwnEvent { fd, identity })
    }

    /// Makes it readable.
    pub(crate) fn ring(&self) {
        static ONE: u64 = 1;
        if self.is_there() {
            // SAFETY: eight bytes that live for ever. A full counter rings as well.
            unsafe { libc::write(self.fd.as_raw_fd(), (&raw const ONE).cast(), 8) };
        }
    }

    /// It is not readable any more.
    pub(crate) fn silence(&self) {
        let mut count = 0u64;
        if self.is_there() {
            // SAFETY: eight bytes that live during the call.
            unsafe { libc::read(self.fd.as_raw_fd(), (&raw mut count).cast(), 8) };
        }
    }

    fn is_there(&self) -> bool {
        self.identity.is_some() && identity(&self.fd) == self.identity
    }
}

impl AsRawFd for OwnEvent {
    fn as_raw_fd(&self) -> RawFd {
        self.fd.as_raw_fd()
    }
}

/// Device and inode.
fn identity(fd: &OwnedFd) -> Option<(u64, u64)> {
    let mut found = std::mem::MaybeUninit::<libc::stat>::uninit();
    // SAFETY: there is room for what is stored, which is all of it if the call succeeds.
    let found = unsafe {
        if libc::fstat(fd.as_raw_fd(), found.as_mut_ptr()) != 0 {
            return None;
        }
        found.assume_init()
    };
    Some((found.st_dev, found.st_ino))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Seek, Write};

    fn counts(event: &OwnEvent) -> bool {
        let mut asked = libc::pollfd { fd: event.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: the question lives during the call.
        unsafe { libc::poll(&mut asked, 1, 0) == 1 }
    }

    #[test]
    fn a_file_that_has_taken_its_number_is_not_touched() {
        let event = OwnEvent::new().unwrap();
        event.ring();
        assert!(counts(&event));
        event.silence();
        assert!(!counts(&event));
        // SAFETY: the name is a C string, the descriptor new, and its number taken by a copy that the event closes.
        let mut other = unsafe {
            let other = owned(libc::memfd_create(c"other".as_ptr(), libc::MFD_CLOEXEC)).unwrap();
            assert!(libc::dup3(other.as_raw_fd(), event.as_raw_fd(), libc::O_CLOEXEC) >= 0);
            std::fs::File::from(other)
        };
        other.write_all(b"0123456789").unwrap();
        event.ring();
        other.rewind().unwrap();
        event.silence();
        let mut text = String::new();
        other.read_to_string(&mut text).unwrap();
        assert_eq!(text, "0123456789");
    }
}

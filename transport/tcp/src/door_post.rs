//! Sleeping until somebody comes to this rank's doors, while the program computes.
//!
//! No other socket wakes such a sleeper: what the peers send is for the program's next call.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::Arc;

/// Where a thread sleeps that looks after doors.
#[derive(Clone, Debug)]
pub struct DoorPost {
    listener: RawFd,
    knock: Knock,
}

/// Wakes the thread at the door post.
#[derive(Clone, Debug)]
pub(crate) struct Knock(Arc<OwnedFd>);

impl Knock {
    pub(crate) fn new() -> io::Result<Knock> {
        // SAFETY: the call takes no memory.
        let fd = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: a new descriptor that nobody else owns.
        Ok(Knock(Arc::new(unsafe { OwnedFd::from_raw_fd(fd) })))
    }

    pub(crate) fn knock(&self) {
        static ONE: u64 = 1;
        // SAFETY: eight bytes that live for ever. A full counter wakes as well.
        unsafe { libc::write(self.0.as_raw_fd(), (&raw const ONE).cast(), 8) };
    }

    fn settle(&self) {
        let mut count = 0_u64;
        // SAFETY: eight bytes that live during the call.
        unsafe { libc::read(self.0.as_raw_fd(), (&raw mut count).cast(), 8) };
    }
}

impl DoorPost {
    pub(crate) fn new(listener: RawFd, knock: Knock) -> DoorPost {
        DoorPost { listener, knock }
    }

    /// Sleeps until somebody connects, or knocks. It may wake without a reason.
    pub fn sleep(&self) {
        let look = |fd: RawFd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
        let mut fds = [look(self.listener), look(self.knock.0.as_raw_fd())];
        // SAFETY: two entries that live during the call.
        unsafe { libc::poll(fds.as_mut_ptr(), 2, -1) };
        if fds[1].revents != 0 {
            self.knock.settle();
        }
    }

    /// Ends a sleep, or the next one before it begins.
    pub fn wake(&self) {
        self.knock.knock();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn a_visitor_and_a_knock_end_the_sleep() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let post = DoorPost::new(listener.as_raw_fd(), Knock::new().unwrap());
        post.wake();
        post.sleep();
        let visitor = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        post.sleep();
        drop((listener.accept().unwrap(), visitor));
        // The knock was taken, and the visitor let in: only the next knock wakes.
        let waker = post.clone();
        let began = std::time::Instant::now();
        let wakes = std::thread::spawn(move || {
            std::thread::sleep(std::time::Duration::from_millis(50));
            waker.wake();
        });
        post.sleep();
        assert!(began.elapsed() >= std::time::Duration::from_millis(50));
        wakes.join().unwrap();
    }
}

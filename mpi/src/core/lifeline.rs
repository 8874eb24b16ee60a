//! A rank does not outlive its `mpirun`, wherever a wrapper has put it.
//!
//! The kernel ends it: the rank asks for `SIGKILL` at the end of a pipe that `mpirun` holds open and never writes to. So no thread
//! looks, and no call does.

use std::os::fd::{AsRawFd, OwnedFd};

/// The signal that tells of a change of a descriptor (`asm-generic/fcntl.h`).
const F_SETSIG: libc::c_int = 10;

/// From now on this process is killed when the other end of the pipe is closed.
pub(crate) fn hold(lifeline: &OwnedFd) {
    let fd = lifeline.as_raw_fd();
    // SAFETY: the calls change this descriptor alone, which this library has opened, and look at it.
    unsafe {
        libc::fcntl(fd, libc::F_SETOWN, libc::getpid());
        libc::fcntl(fd, F_SETSIG, libc::SIGKILL);
        libc::fcntl(fd, libc::F_SETFL, libc::O_ASYNC | libc::O_NONBLOCK);
        let mut ended = libc::pollfd { fd, events: 0, revents: 0 };
        // It may have ended before.
        if libc::poll(&raw mut ended, 1, 0) == 1 && ended.revents & libc::POLLHUP != 0 {
            libc::raise(libc::SIGKILL);
        }
    }
}

//! What the examples share: a job of forked processes over one memfd.

use std::os::fd::{AsFd, FromRawFd, OwnedFd};

use tern_transport::{Config, Fabric, Peer, Place};

/// An empty memfd.
pub fn memfd() -> OwnedFd {
    // SAFETY: a new descriptor that nobody else owns.
    unsafe {
        let fd = libc::memfd_create(c"tern-example".as_ptr(), libc::MFD_CLOEXEC);
        assert!(fd >= 0, "memfd_create: {}", std::io::Error::last_os_error());
        OwnedFd::from_raw_fd(fd)
    }
}

/// Runs `rank` in `size` processes and waits for all. Panics if one fails.
pub fn run(size: u32, rank: impl Fn(Fabric, Peer)) {
    let segment = memfd();
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
    let attach = |me| {
        let segment = segment.as_fd().try_clone_to_owned().expect("a descriptor");
        let oversubscribed = size as usize > cores;
        Fabric::attach(Place { me, size, segment: Some(segment), oversubscribed }, &Config::default())
            .unwrap_or_else(|error| panic!("{error}"))
    };
    let children: Vec<libc::pid_t> = (1..size)
        .map(|me| {
            // SAFETY: the example has one thread.
            let pid = unsafe { libc::fork() };
            if pid == 0 {
                rank(attach(me), me);
                std::process::exit(0);
            }
            pid
        })
        .collect();
    rank(attach(0), 0);
    for pid in children {
        let mut status = 0;
        // SAFETY: waits for a child of this process.
        unsafe { libc::waitpid(pid, &mut status, 0) };
        assert_eq!(status, 0, "a rank failed");
    }
}

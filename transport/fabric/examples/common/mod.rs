//! What the examples share: a job of forked processes over one memfd.

use std::os::fd::{AsFd, FromRawFd, OwnedFd};

use tern_fabric::{Fabric, JobPlace};
use tern_transport::{Peer, TransportConfig};

/// An empty memfd.
pub(crate) fn memfd() -> OwnedFd {
    // SAFETY: a new descriptor that nobody else owns.
    unsafe {
        let fd = libc::memfd_create(c"tern-example".as_ptr(), libc::MFD_CLOEXEC);
        assert!(fd >= 0, "memfd_create: {}", std::io::Error::last_os_error());
        OwnedFd::from_raw_fd(fd)
    }
}

/// Runs `rank` in `size` processes and waits for all. Panics if one fails.
pub(crate) fn run(size: u32, rank: impl Fn(Fabric, Peer)) {
    let segment = memfd();
    // SAFETY: asks for a number.
    let cores = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) }.max(1) as usize;
    let attach = |me| {
        let segment = segment.as_fd().try_clone_to_owned().expect("a descriptor");
        let oversubscribed = size as usize > cores;
        Fabric::attach(
            JobPlace { me, size, local_ranks: None, segment: Some(segment), oversubscribed, outside: None },
            &TransportConfig::default(),
        )
        .unwrap_or_else(|error| panic!("{error}"))
    };
    let children: Vec<libc::pid_t> = (1..size)
        .map(|me| {
            // SAFETY: the example has one thread.
            let pid = unsafe { libc::fork() };
            if pid == 0 {
                pin(me, size, cores);
                rank(attach(me), me);
                std::process::exit(0);
            }
            pid
        })
        .collect();
    pin(0, size, cores);
    rank(attach(0), 0);
    for pid in children {
        let mut status = 0;
        // SAFETY: waits for a child of this process.
        unsafe { libc::waitpid(pid, &mut status, 0) };
        assert_eq!(status, 0, "a rank failed");
    }
}

/// Gives each rank a core of its own if there are as many: two that spin on one core would time its scheduler.
pub(crate) fn pin(me: Peer, size: u32, cores: usize) {
    // SAFETY: a set is plain bits, and the call reads it.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        (0..cores).for_each(|core| libc::CPU_SET(core, &mut set));
        if size as usize <= cores {
            libc::CPU_ZERO(&mut set);
            libc::CPU_SET(me as usize, &mut set);
        }
        libc::sched_setaffinity(0, size_of_val(&set), &set);
    }
}

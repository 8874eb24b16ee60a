//! Two ranks of a job within this process, over one memfd.

use std::os::fd::{FromRawFd, OwnedFd};

use super::*;
use crate::conformance::{self, ConformanceWorld};
use crate::{Peer, TransportConfig};

/// An empty memfd.
pub(crate) fn memfd() -> OwnedFd {
    // SAFETY: a new descriptor that nobody else owns.
    unsafe {
        let fd = libc::memfd_create(c"tern-test".as_ptr(), libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING);
        assert!(fd >= 0, "memfd_create: {}", std::io::Error::last_os_error());
        OwnedFd::from_raw_fd(fd)
    }
}

/// All ranks of a job of `size`.
pub(crate) fn job(size: u32, oversubscribed: bool, config: &TransportConfig) -> Vec<Shm> {
    let fd = memfd();
    (0..size).map(|me| Shm::attach(&fd, me, size, oversubscribed, config).unwrap()).collect()
}

macro_rules! world {
    ($module:ident, $oversubscribed:expr, $config:expr) => {
        mod $module {
            use super::*;

            struct Pair(Vec<Shm>);

            impl ConformanceWorld for Pair {
                type Transport = Shm;
                fn new() -> Self {
                    Pair(job(2, $oversubscribed, &$config))
                }
                fn sender(&mut self) -> (&mut Shm, Peer) {
                    (&mut self.0[0], 1)
                }
                fn receiver(&mut self) -> (&mut Shm, Peer) {
                    (&mut self.0[1], 0)
                }
            }

            conformance::conformance_tests!(Pair);
        }
    };
}

world!(plain, false, TransportConfig::default());
world!(queue_only, false, TransportConfig { rings: false, ..TransportConfig::default() });
world!(oversubscribed, true, TransportConfig::default());
world!(
    small,
    false,
    TransportConfig { ring_lines: 32, cells: 2, cell_bytes: 4096, ..TransportConfig::default() }
);
world!(without_cma, false, TransportConfig { cma: false, ..TransportConfig::default() });

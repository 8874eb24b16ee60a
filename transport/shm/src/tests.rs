//! Two ranks of a job within this process, over one memfd.

use super::*;
use tern_transport::conformance::{self, ConformanceWorld, memfd};
use tern_transport::{Peer, TransportConfig};

/// All ranks of a job of `size`.
fn job(size: u32, oversubscribed: bool, config: &TransportConfig) -> Vec<Shm> {
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

//! The real transports of one machine: every rank of a job within this process, over one segment.

use super::job::{Plan, World};
use std::fs::File;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU32, Ordering};
use tern_fabric::{Fabric, JobPlace};
use tern_transport::{Peer, TransportConfig};

/// A job on one machine.
pub(crate) struct Machine(Vec<Option<Fabric>>);

/// A nameless file, which is what a launcher's memory file is to the ranks.
pub(crate) fn segment() -> OwnedFd {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let name = format!("tern-engine-test-{}-{count}", std::process::id());
    let path = std::env::temp_dir().join(name);
    let options = File::options().read(true).write(true).create_new(true).clone();
    let file = options.open(&path).expect("a temporary file");
    std::fs::remove_file(&path).expect("just made");
    file.into()
}

impl World for Machine {
    type Transport = Fabric;

    fn new(plan: &Plan) -> Self {
        let (file, size) = (segment(), plan.ranks as u32);
        // Few and small cells and rings: everything that can be full gets full.
        let small =
            TransportConfig { ring_lines: 32, cells: 2, cell_bytes: 4096, ..TransportConfig::default() };
        let config = TransportConfig { rings: plan.seed % 3 != 0, cma: plan.seed % 4 != 0, ..small };
        let attach = |me| {
            let segment = Some(file.try_clone().expect("a descriptor"));
            let oversubscribed = plan.seed % 2 == 0;
            let place = JobPlace { me, size, local_ranks: None, segment, oversubscribed, outside: None };
            Some(Fabric::attach(place, &config).expect("a segment"))
        };
        Machine((0..size).map(attach).collect())
    }

    fn end(&mut self, rank: Peer) -> Fabric {
        self.0[rank as usize].take().expect("each end is taken once")
    }
}

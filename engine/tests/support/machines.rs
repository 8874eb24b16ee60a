//! The ranks of a job on two machines within this process: shared memory within each, TCP between them.

use super::job::{Plan, World};
use super::machine::segment;
use super::sockets::{OwnDirectory, SharedDirectory};
use std::time::Duration;
use tern_fabric::{Fabric, JobPlace, Outside};
use tern_transport::config::TcpConfig;
use tern_transport::{Peer, TransportConfig};

/// A job on two machines.
pub(crate) struct Machines {
    ends: Vec<Option<Fabric>>,
    cuts: bool,
}

impl World for Machines {
    type Transport = Fabric;
    const QUIET_POLLS: u32 = 2000;

    fn new(plan: &Plan) -> Self {
        let (directory, size) = (SharedDirectory::default(), plan.ranks as u32);
        let cuts = if plan.seed % 4 == 0 { 40 } else { 0 };
        let tcp = TcpConfig { eager_bytes: 4096, cuts, ..TcpConfig::default() };
        let config =
            TransportConfig { tcp, ring_lines: 32, cells: 2, cell_bytes: 4096, ..TransportConfig::default() };
        // Runs of ranks, or every second one.
        let machine_of = |rank: Peer| if plan.seed % 2 == 0 { rank % 2 } else { rank / 2 };
        let segments = [segment(), segment()];
        let attach = |me: Peer| {
            let mine = machine_of(me);
            let local_ranks = Some((0..size).filter(|rank| machine_of(*rank) == mine).collect());
            let segment = Some(segments[mine as usize].try_clone().expect("a descriptor"));
            let outside =
                Some(Outside { secret: [1; 32], directory: Box::new(OwnDirectory::new(me, &directory)) });
            let place = JobPlace { me, size, local_ranks, segment, oversubscribed: false, outside };
            Some(Fabric::attach(place, &config).expect("a segment and sockets"))
        };
        Machines { ends: (0..size).map(attach).collect(), cuts: cuts > 0 }
    }

    fn quiet_time(&self) -> Duration {
        Duration::from_millis(if self.cuts { 400 } else { 0 })
    }

    fn end(&mut self, rank: Peer) -> Fabric {
        self.ends[rank as usize].take().expect("each end is taken once")
    }
}

//! The ranks of a job within this process, over TCP on loop-back.

use super::job::{Plan, World};
use std::collections::HashMap;
use std::io;
use std::os::fd::RawFd;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tern_fabric::{Fabric, JobPlace, Outside};
use tern_transport::config::{Checksum, TcpConfig, TransportSetting};
use tern_transport::directory::Directory;
use tern_transport::{Peer, TransportConfig};

/// A job over sockets.
pub(crate) struct Sockets {
    ends: Vec<Option<Fabric>>,
    cuts: bool,
}

/// What the ranks of a test have published.
pub(crate) type SharedDirectory = Arc<Mutex<HashMap<Peer, Vec<u8>>>>;

/// One rank's way to all endpoint addresses.
pub(crate) struct OwnDirectory {
    me: Peer,
    directory: SharedDirectory,
    asked: Vec<Peer>,
}

impl OwnDirectory {
    pub(crate) fn new(me: Peer, directory: &SharedDirectory) -> Self {
        OwnDirectory { me, directory: directory.clone(), asked: Vec::new() }
    }
}

impl Directory for OwnDirectory {
    fn publish(&mut self, endpoint_address: &[u8]) -> io::Result<()> {
        self.directory.lock().expect("one thread").insert(self.me, endpoint_address.to_vec());
        Ok(())
    }
    fn ask(&mut self, rank: Peer) {
        self.asked.push(rank);
    }
    fn answer(&mut self) -> Option<(Peer, Vec<u8>)> {
        let rank = self.asked.pop()?;
        Some((rank, self.directory.lock().expect("one thread")[&rank].clone()))
    }
    fn fd(&self) -> Option<RawFd> {
        None
    }
}

impl World for Sockets {
    type Transport = Fabric;
    const QUIET_POLLS: u32 = 400;

    fn new(plan: &Plan) -> Self {
        let (directory, size, seed) = (SharedDirectory::default(), plan.ranks as u32, plan.seed as u32);
        let tcp = TcpConfig {
            eager_bytes: [64, 4096, 128 << 10][plan.seed as usize % 3],
            // With few bytes copied, those that go at once are sent without a copy.
            copied_bytes: [100, 128 << 10][plan.seed as usize / 3 % 2],
            checksum: Checksum::ALL[plan.seed as usize % 2],
            encrypt: seed % 5 == 0,
            cuts: if seed % 4 == 0 { 40 } else { 0 },
            ..TcpConfig::default()
        };
        let config = TransportConfig { transport: TransportSetting::Tcp, tcp, ..TransportConfig::default() };
        let attach = |me| {
            let directory = Box::new(OwnDirectory::new(me, &directory));
            let outside = Some(Outside { secret: [1; 32], directory });
            let place =
                JobPlace { me, size, local_ranks: None, segment: None, oversubscribed: false, outside };
            Some(Fabric::attach(place, &config).expect("sockets"))
        };
        Sockets { ends: (0..size).map(attach).collect(), cuts: tcp.cuts > 0 }
    }

    /// A broken connection is made again by either side, if the other one does not come first.
    fn quiet_time(&self) -> Duration {
        Duration::from_millis(if self.cuts { 400 } else { 0 })
    }

    fn end(&mut self, rank: Peer) -> Fabric {
        self.ends[rank as usize].take().expect("each end is taken once")
    }
}

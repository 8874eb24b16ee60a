//! The ranks of a job within this process, over datagrams on loop-back.

use super::job::{Plan, World};
use super::sockets::{OwnDirectory, SharedDirectory};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tern_fabric::{Fabric, JobPlace, Outside};
use tern_transport::config::{Medium, TransportSetting};
use tern_transport::{Peer, TransportConfig};

/// A job over datagrams.
pub(crate) struct Datagrams(Vec<Option<Fabric>>);

/// Jobs that run at the same time have the same addresses, and are told apart by their secrets.
fn secret() -> [u8; 32] {
    static JOBS: AtomicU64 = AtomicU64::new(0);
    let mut secret = [5; 32];
    secret[..8].copy_from_slice(&JOBS.fetch_add(1, Ordering::Relaxed).to_le_bytes());
    secret[8..12].copy_from_slice(&std::process::id().to_le_bytes());
    secret
}

impl World for Datagrams {
    type Transport = Fabric;
    const QUIET_POLLS: u32 = 400;

    fn new(plan: &Plan) -> Self {
        let (directory, size, secret) = (SharedDirectory::default(), plan.ranks as u32, secret());
        let config = TransportConfig { transport: TransportSetting::Urtp, ..TransportConfig::default() };
        let attach = |me| {
            let outside = Some(Outside { secret, directory: Box::new(OwnDirectory::new(me, &directory)) });
            let place =
                JobPlace { me, size, local_ranks: None, segment: None, oversubscribed: false, outside };
            let mut fabric = Fabric::attach(place, &config).expect("sockets");
            if size > 1 {
                fabric
                    .open_packets(Medium::Udp, IpAddr::V4(Ipv4Addr::LOCALHOST))
                    .expect("sockets for datagrams");
                fabric.use_packets();
            }
            Some(fabric)
        };
        Datagrams((0..size).map(attach).collect())
    }

    /// Room at the receiver is told again after a while, if what told it was lost.
    fn quiet_time(&self) -> Duration {
        Duration::from_millis(50)
    }

    fn end(&mut self, rank: Peer) -> Fabric {
        self.0[rank as usize].take().expect("each end is taken once")
    }
}

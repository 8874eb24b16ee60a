//! The ranks of a job within this process, over TCP on loop-back.

use super::job::{Plan, World};
use std::collections::HashMap;
use std::io;
use std::os::fd::RawFd;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tern_transport::config::{Checksum, Route, TcpConfig};
use tern_transport::tcp::Directory;
use tern_transport::{Config, Fabric, Outside, Peer, Place};

/// A job over sockets.
pub struct Sockets {
    ends: Vec<Option<Fabric>>,
    cuts: bool,
}

/// What the ranks of a test have published.
pub type Cards = Arc<Mutex<HashMap<Peer, Vec<u8>>>>;

/// One rank's way to all cards.
pub struct OwnCard {
    me: Peer,
    cards: Cards,
    asked: Vec<Peer>,
}

impl OwnCard {
    pub fn new(me: Peer, cards: &Cards) -> Self {
        OwnCard { me, cards: cards.clone(), asked: Vec::new() }
    }
}

impl Directory for OwnCard {
    fn publish(&mut self, card: &[u8]) -> io::Result<()> {
        self.cards.lock().expect("one thread").insert(self.me, card.to_vec());
        Ok(())
    }
    fn ask(&mut self, rank: Peer) {
        self.asked.push(rank);
    }
    fn answer(&mut self) -> Option<(Peer, Vec<u8>)> {
        let rank = self.asked.pop()?;
        Some((rank, self.cards.lock().expect("one thread")[&rank].clone()))
    }
    fn fd(&self) -> Option<RawFd> {
        None
    }
}

impl World for Sockets {
    type Transport = Fabric;
    const QUIET_POLLS: u32 = 400;

    fn new(plan: &Plan) -> Self {
        let (cards, size, seed) = (Cards::default(), plan.ranks as u32, plan.seed as u32);
        let tcp = TcpConfig {
            eager_bytes: [64, 4096, 128 << 10][plan.seed as usize % 3],
            // With few bytes copied, messages are lent that go at once.
            copied_bytes: [100, 128 << 10][plan.seed as usize / 3 % 2],
            checksum: Checksum::ALL[plan.seed as usize % 2],
            encrypt: seed % 5 == 0,
            cuts: if seed % 4 == 0 { 40 } else { 0 },
            ..TcpConfig::default()
        };
        let config = Config { route: Route::Tcp, tcp, ..Config::default() };
        let attach = |me| {
            let directory = Box::new(OwnCard::new(me, &cards));
            let outside = Some(Outside { secret: [1; 32], directory });
            let place = Place { me, size, neighbours: None, segment: None, oversubscribed: false, outside };
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

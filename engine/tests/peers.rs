//! Engines that are added to a running pair: peers are not ranks of one world, and may come while messages flow.

use std::collections::HashMap;
use std::io;
use std::os::fd::RawFd;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tern_engine::{Engine, EngineSettings, Envelope, Mode, Pattern, RequestId, StartedMessage};
use tern_fabric::{Fabric, JobPlace, Outside};
use tern_mem::UserBuf;
use tern_tcp::Foreigner;
use tern_transport::directory::Directory;
use tern_transport::{Peer, TransportConfig, TransportSetting};

/// What the launcher of a world knows.
#[derive(Clone, Default)]
struct SharedDirectory(Arc<Mutex<HashMap<Peer, Vec<u8>>>>);

struct Of {
    me: Peer,
    directory: SharedDirectory,
    asked: Vec<Peer>,
}

impl Directory for Of {
    fn publish(&mut self, endpoint_address: &[u8]) -> io::Result<()> {
        self.directory.0.lock().unwrap().insert(self.me, endpoint_address.to_vec());
        Ok(())
    }
    fn ask(&mut self, rank: Peer) {
        self.asked.push(rank);
    }
    fn answer(&mut self) -> Option<(Peer, Vec<u8>)> {
        let directory = self.directory.0.lock().unwrap();
        let at = self.asked.iter().position(|rank| directory.contains_key(rank))?;
        let rank = self.asked.swap_remove(at);
        Some((rank, directory[&rank].clone()))
    }
    fn fd(&self) -> Option<RawFd> {
        None
    }
}

/// The ranks of a world of two that have a secret in common.
fn world(secret: u8) -> Vec<Engine<Fabric>> {
    let directory = SharedDirectory::default();
    let config = TransportConfig { transport: TransportSetting::Tcp, ..TransportConfig::default() };
    let rank = |me| {
        let directory = Box::new(Of { me, directory: directory.clone(), asked: Vec::new() });
        let outside = Some(Outside { secret: [secret; 32], directory });
        let place = JobPlace { me, size: 2, local_ranks: None, segment: None, oversubscribed: true, outside };
        Engine::new(2, Fabric::attach(place, &config).unwrap(), EngineSettings::default())
    };
    (0..2).map(rank).collect()
}

/// How an engine introduces itself to other worlds.
fn introduction(engine: &Engine<Fabric>, rank: u32) -> Foreigner {
    let tcp = engine.transport_ref().abroad().expect("over TCP it is reachable");
    let world = tcp.world();
    Foreigner {
        world,
        rank,
        entry: tcp.entry_of(world).unwrap(),
        endpoint_address: tcp.endpoint_address().unwrap(),
    }
}

fn meet(engine: &mut Engine<Fabric>, other: &Foreigner) -> Peer {
    let peer = engine.transport().abroad_mut().unwrap().add_peer(other).unwrap();
    engine.add_peer(peer);
    peer
}

/// A message to a peer, with its number as tag and content.
fn send(engine: &mut Engine<Fabric>, to: Peer, number: i32, len: usize) {
    let body = UserBuf::owned(len);
    body.write(0, &vec![number as u8; len]);
    let envelope = Envelope { context: 4, source: 0, tag: number };
    if let StartedMessage::Pending(id) = engine.send(Mode::Standard, to, envelope, &body, 0) {
        engine.detach(id);
    }
}

fn receive(engine: &mut Engine<Fabric>, number: i32, len: usize) -> (UserBuf, RequestId) {
    let into = UserBuf::owned(len);
    match engine.receive(Pattern { context: 4, source: 0, tag: number }, &into, 0) {
        StartedMessage::Pending(id) => (into, id),
        StartedMessage::Done(status) => {
            let id = engine.ended(status);
            (into, id)
        }
    }
}

/// Each engine has sent each of the others a message; all arrive.
fn exchange(engines: &mut [Engine<Fabric>], peers: &[Vec<Option<Peer>>], round: i32, len: usize) {
    let number = |from: usize, to: usize| round * 16 + (from * 4 + to) as i32;
    let mut awaited = Vec::new();
    for (me, others) in peers.iter().enumerate() {
        for (other, peer) in others.iter().enumerate() {
            let Some(peer) = peer else { continue };
            send(&mut engines[me], *peer, number(me, other), len);
            let (into, id) = receive(&mut engines[me], number(other, me), len);
            awaited.push((me, number(other, me), into, id));
        }
    }
    let until = Instant::now() + Duration::from_secs(60);
    while !awaited.is_empty() {
        assert!(Instant::now() < until, "{} messages never come", awaited.len());
        for engine in engines.iter_mut() {
            engine.poll();
            assert_eq!(engine.transport_ref().failure(), None);
        }
        awaited.retain(|(me, number, into, id)| {
            let Some(status) = engines[*me].test(*id) else { return true };
            assert_eq!((status.fault.is_none(), status.tag), (true, *number));
            let mut bytes = vec![0; len];
            into.read(0, &mut bytes);
            assert!(bytes.iter().all(|byte| *byte == *number as u8), "message {number}");
            false
        });
    }
}

#[test]
fn two_engines_join_a_running_pair_and_go_again() {
    let mut engines = world(1);
    let pair = vec![vec![None, Some(1)], vec![Some(0), None]];
    exchange(&mut engines, &pair, 0, 1000);
    // Two of another world come, one after the other, while the pair goes on.
    let newcomers = world(2);
    let introductions: Vec<Foreigner> = engines
        .iter()
        .chain(&newcomers)
        .zip([0, 1, 0, 1])
        .map(|(engine, rank)| introduction(engine, rank))
        .collect();
    engines.extend(newcomers);
    let mut peers: Vec<Vec<Option<Peer>>> = vec![vec![None; 4]; 4];
    for (me, engine) in engines.iter_mut().enumerate() {
        for (other, who) in introductions.iter().enumerate().filter(|(other, _)| *other != me) {
            let peer = meet(engine, who);
            assert_eq!(meet(engine, who), peer, "who is known keeps its number");
            assert_eq!(peer < 2, me / 2 == other / 2, "ranks of one's own world keep theirs");
            peers[me][other] = Some(peer);
        }
    }
    for (round, len) in [(1, 8), (2, 100_000), (3, 1)] {
        exchange(&mut engines, &peers, round, len);
    }
    // The newcomers go, and the pair goes on.
    for me in 0..4 {
        let foreign: Vec<Peer> = peers[me].iter().flatten().copied().filter(|peer| *peer >= 2).collect();
        engines[me].transport().abroad_mut().unwrap().part(&foreign);
    }
    let until = Instant::now() + Duration::from_secs(60);
    while !engines.iter_mut().all(|engine| {
        engine.poll();
        engine.transport().abroad_mut().unwrap().has_parted()
    }) {
        assert!(Instant::now() < until, "they never part");
    }
    for engine in &mut engines {
        (2..4).for_each(|peer| engine.forget_peer(peer));
        assert!(!engine.transport_ref().abroad().unwrap().has_foreigners());
    }
    engines.truncate(2);
    exchange(&mut engines, &pair, 4, 1000);
}

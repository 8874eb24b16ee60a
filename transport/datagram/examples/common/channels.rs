//! Ranks with reliable channels, one on each host of a test network.
// Each of those that include it uses a part.
#![allow(dead_code)]

use std::net::{IpAddr, SocketAddr};
use std::sync::{Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use crate::hosts::Hosts;
use tern_datagram::channel::Channel;
use tern_datagram::link::{self, Interface, Link, UdpConfig, UdpLink};
use tern_transport::Peer;
use tern_urtp::{GroupIndex, SendError};

/// More than any of it takes.
const LIMIT: Duration = Duration::from_secs(30);
const SECRET: [u8; 32] = [7; 32];

/// A rank in its thread.
pub(crate) struct Rank<'a> {
    pub me: Peer,
    pub size: u32,
    pub channel: Channel<UdpLink>,
    pub all: GroupIndex,
    room: &'a Room,
    began: Instant,
}

/// Where ranks wait for each other without the network.
pub(crate) struct Room {
    size: usize,
    come: Mutex<usize>,
    more: Condvar,
    addresses: Mutex<Vec<SocketAddr>>,
}

impl Room {
    /// One more is there. How many must be, for all to go on.
    fn come(&self) -> usize {
        let mut come = self.come.lock().unwrap();
        *come += 1;
        self.more.notify_all();
        come.div_ceil(self.size) * self.size
    }

    fn meet(&self) {
        let round = self.come();
        let come = self.come.lock().unwrap();
        let (_come, late) = self.more.wait_timeout_while(come, LIMIT, |come| *come < round).unwrap();
        assert!(!late.timed_out(), "another rank did not come");
    }
}

fn address(rank: Peer) -> IpAddr {
    format!("10.83.0.{}", rank + 1).parse().unwrap()
}

/// Runs a rank on each host, in a thread of its own; they send at so many bytes a second at first.
pub(crate) fn on_all<T: Send>(hosts: &Hosts, rate: u64, rank: impl Fn(&mut Rank<'_>) -> T + Sync) -> Vec<T> {
    let (come, addresses) = (Mutex::new(0), Mutex::new(Vec::new()));
    let room = Room { size: hosts.count() as usize, come, more: Condvar::new(), addresses };
    thread::scope(|scope| {
        let start = |me| {
            let (rank, room) = (&rank, &room);
            scope.spawn(move || {
                hosts.enter(me + 1);
                rank(&mut Rank::new(me, hosts.count(), rate, room))
            })
        };
        let all: Vec<_> = (0..hosts.count()).map(start).collect();
        all.into_iter().map(|rank| rank.join().expect("a rank's end")).collect()
    })
}

impl<'a> Rank<'a> {
    fn new(me: Peer, size: u32, rate: u64, room: &'a Room) -> Rank<'a> {
        let interface = Interface::towards(address((me + 1) % size)).unwrap();
        let mut link = UdpLink::new(&UdpConfig::new(me, size, &SECRET, interface)).unwrap();
        room.addresses.lock().unwrap().push(link.address().unwrap());
        room.meet();
        for at in room.addresses.lock().unwrap().iter() {
            (0..size).filter(|rank| address(*rank) == at.ip()).for_each(|rank| link.set_peer(rank, *at));
        }
        let mut channel = Channel::new(link, me, size, |config| config.rate = rate);
        let members: Vec<_> = (0..size).collect();
        let all = channel.add_group(&members).expect("a group");
        Rank { me, size, channel, all, room, began: Instant::now() }
    }

    /// Waits for the others, but not by messages; the channel goes on meanwhile.
    pub(crate) fn meet(&mut self) {
        let room = self.room;
        let round = room.come();
        self.until(|_| (*room.come.lock().unwrap() >= round).then_some(()));
    }

    /// Moves the channel on until something is so.
    pub(crate) fn until<T>(&mut self, what: impl Fn(&mut Channel<UdpLink>) -> Option<T>) -> T {
        loop {
            if let Some(found) = what(&mut self.channel) {
                return found;
            }
            if !self.channel.poll().unwrap() {
                self.channel.sleep(1_000_000);
            }
            let counters = *self.channel.endpoint.counters();
            assert!(self.began.elapsed() < LIMIT, "rank {} is stuck: {counters:?}", self.me);
        }
    }

    /// The next packet of a peer, by a receiver that knows whom it waits for.
    pub(crate) fn receive(&mut self, from: Peer, into: &mut Vec<u8>) {
        let mut got = Vec::new();
        std::mem::swap(&mut got, into);
        let got = std::cell::RefCell::new(got);
        self.until(|channel| {
            let came = channel.endpoint.receive(from, |bytes| got.borrow_mut().extend_from_slice(bytes));
            let now = channel.now();
            if !came {
                channel.endpoint.expect_multicast(from, now);
            }
            came.then_some(())
        });
        *into = got.into_inner();
    }

    pub(crate) fn link_counters(&self) -> link::LinkCounters {
        self.channel.link().counters()
    }

    /// Leaves in good order.
    pub(crate) fn leave(&mut self) {
        self.until(|channel| channel.endpoint.is_flushed().then_some(()));
        let now = self.channel.now();
        self.channel.endpoint.close(now);
        self.until(|channel| channel.endpoint.is_closed(channel.now()).then_some(()));
    }
}

/// The bytes that a root sends.
pub(crate) fn payload(root: Peer, len: usize) -> Vec<u8> {
    (0..len).map(|at| (at as u32).wrapping_mul(2_654_435_761).wrapping_add(root) as u8).collect()
}

/// Broadcasts so many bytes from a root to all (MPI-CCL, section 4.2), and checks them.
pub(crate) fn broadcast(rank: &mut Rank<'_>, root: Peer, len: usize) {
    let data = payload(root, len);
    if rank.me == root {
        send_to_all(rank, &data);
        return;
    }
    let mut got = Vec::with_capacity(len);
    while got.len() < len {
        rank.receive(root, &mut got);
    }
    assert!(got == data, "rank {} got something else", rank.me);
}

/// The root's part.
pub(crate) fn send_to_all(rank: &mut Rank<'_>, data: &[u8]) {
    let group = rank.all;
    let part = rank.channel.endpoint.multicast_bytes_max(group);
    for payload in data.chunks(part) {
        rank.until(|channel| match channel.endpoint.multicast(group, |_| true, payload) {
            Ok(()) => Some(()),
            Err(SendError::Full) => None,
            Err(error) => panic!("{error}"),
        });
    }
}

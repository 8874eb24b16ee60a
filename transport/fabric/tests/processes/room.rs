//! Ranks that send more than there is room for, and sleep until they are rung.

use tern_fabric::Fabric;
use tern_transport::{Peer, TransportConfig};

use crate::job::{self, Rank, pattern};
use fastrand::Rng;

pub(crate) fn small() {
    flood(4000, |random| random.u64(..41));
}

pub(crate) fn lines() {
    flood(1500, |random| 41 + random.u64(..1000));
}

pub(crate) fn cells() {
    flood(400, |random| 1100 + random.u64(..2900));
}

pub(crate) fn mixed() {
    flood(600, |random| match random.u64(..3) {
        0 => random.u64(..41),
        1 => random.u64(..1100),
        _ => random.u64(..4097),
    });
}

type Length = fn(&mut Rng) -> u64;

/// Between two to four ranks, one way and all ways, over rings and the queue, with membarrier and with fences.
fn flood(messages: u64, length: Length) {
    let small = TransportConfig { ring_lines: 32, cells: 2, cell_bytes: 4096, ..TransportConfig::default() };
    let queue = TransportConfig { rings: false, ..TransportConfig::default() };
    for config in [TransportConfig::default(), small, queue] {
        for oversubscribed in [false, true] {
            job::run_with(2, oversubscribed, &config, |fabric, me| one_way(fabric, me, messages, length));
            for size in 2..=4 {
                job::run_with(size, oversubscribed, &config, |fabric, me| {
                    all_ways(fabric, (me, size), messages / u64::from(size * size), length);
                });
            }
        }
    }
}

/// Rank 0 sends, rank 1 receives, now and then slowly.
fn one_way(fabric: Fabric, me: Peer, messages: u64, length: Length) {
    let mut rank = Rank::new(fabric);
    let mut lengths = Rng::with_seed(17);
    for tag in 0..messages {
        let mut payload = pattern(tag, length(&mut lengths) as usize);
        if me == 0 {
            rank.send_or_sleep(1, tag as i32, &mut payload);
            continue;
        }
        if tag % 101 == 0 {
            std::thread::yield_now();
        }
        assert_eq!(rank.receive(), (0, tag as i32, payload));
    }
}

/// Each rank sends to all others in turn; what comes meanwhile is kept.
fn all_ways(fabric: Fabric, (me, size): (Peer, u32), messages: u64, length: Length) {
    let mut rank = Rank::new(fabric);
    let mut lengths = Rng::with_seed(23 + u64::from(me));
    let others = || (0..size).filter(|peer| *peer != me);
    for tag in 0..messages {
        for peer in others() {
            rank.send_or_sleep(peer, tag as i32, &mut pattern(tag, length(&mut lengths) as usize));
        }
    }
    let mut next = vec![0; size as usize];
    for _ in 0..messages * u64::from(size - 1) {
        let (from, tag, payload) = rank.receive();
        let expected = &mut next[from as usize];
        assert_eq!(tag, *expected, "order from {from} to {me}");
        assert_eq!(payload, pattern(tag as u64, payload.len()), "message {tag} from {from} to {me}");
        *expected += 1;
    }
}

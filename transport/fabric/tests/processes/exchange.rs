//! Messages among all.

use tern_fabric::Fabric;
use tern_transport::Peer;

use crate::job::{self, Rank, pattern};
use fastrand::Rng;

const RANKS: u32 = 4;
const MESSAGES: u64 = 600;

pub(crate) fn all_to_all() {
    job::run(RANKS, false, exchange);
}

pub(crate) fn all_to_all_oversubscribed() {
    job::run(RANKS, true, exchange);
}

/// The lengths of what `from` sends to `to`, known to both.
fn lengths(from: Peer, to: Peer) -> impl Iterator<Item = usize> {
    let mut random = Rng::with_seed(1 + u64::from(from) * 1000 + u64::from(to));
    (0..MESSAGES).map(move |_| match random.u64(..4) {
        0 => random.usize(..16 * 1024 + 1),
        1 => random.usize(..1100),
        _ => random.usize(..48),
    })
}

fn seed(from: Peer, to: Peer, tag: u64) -> u64 {
    u64::from(from) * 7919 + u64::from(to) * 104_729 + tag
}

fn exchange(fabric: Fabric, me: Peer) {
    let mut rank = Rank::new(fabric);
    let mut sending: Vec<_> = (0..RANKS).map(|to| lengths(me, to)).collect();
    for tag in 0..MESSAGES {
        for to in 0..RANKS {
            let len = sending[to as usize].next().expect("a length for each message");
            rank.send(to, tag as i32, &mut pattern(seed(me, to, tag), len));
        }
    }
    let mut receiving: Vec<_> = (0..RANKS).map(|from| lengths(from, me).enumerate()).collect();
    for _ in 0..MESSAGES * u64::from(RANKS) {
        let (from, tag, payload) = rank.receive();
        let (expected, len) = receiving[from as usize].next().expect("no more than were sent");
        assert_eq!(tag, expected as i32, "order from {from} to {me}");
        assert_eq!(
            payload,
            pattern(seed(from, me, expected as u64), len),
            "message {tag} from {from} to {me}"
        );
    }
}

pub(crate) fn sleeps_between_messages() {
    job::run(2, false, sleepy);
}

pub(crate) fn sleeps_between_messages_oversubscribed() {
    job::run(2, true, sleepy);
}

/// A ping-pong whose ranks sleep whenever they can, at slightly different times.
fn sleepy(fabric: Fabric, me: Peer) {
    let mut rank = Rank::new(fabric);
    let mut random = Rng::with_seed(77 + u64::from(me));
    for tag in 0..20_000 {
        if tag % 2 == me as i32 {
            (0..random.u64(..300)).for_each(|_| std::hint::spin_loop());
            rank.send(1 - me, tag, &mut [0; 8]);
        } else {
            let (_, received, _) = rank.receive();
            assert_eq!(received, tag);
        }
    }
}

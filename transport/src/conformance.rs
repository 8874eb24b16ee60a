//! What every transport must do, as tests over any of them: `conformance_tests!(World)` makes them.

mod job;
mod short;
mod typed;
mod world;

use std::time::{Duration, Instant};

pub use job::{TestDirectory, memfd};
pub use short::mixes_short_ways_with_others;
pub use typed::{copies_from_and_to_gaps, sends_from_and_to_gaps};
pub use world::{ConformanceWorld, Keeper, Received, buf_of, header, pattern, remote_of, send};
use world::{drain, send_surely};

use crate::{Am, Token, Transfer, Transport};

/// Lengths around every border between ways to send.
fn lengths(eager_bytes_max: usize) -> Vec<usize> {
    let mut lengths: Vec<usize> = (0..=100).collect();
    lengths.extend([151, 152, 153, 500, 1000, 1047, 1048, 1049, 1050, 4095, 4096, 4097]);
    for quarters in 1..=4 {
        let most = quarters * (eager_bytes_max / 4);
        lengths.extend([most - 1, most, most + 1]);
    }
    lengths.retain(|len| *len <= eager_bytes_max);
    lengths
}

/// Bytes of the longest message that the transport takes.
fn longest(world: &mut impl ConformanceWorld) -> usize {
    let (transport, peer) = world.sender();
    transport.limits(peer).eager_bytes_max
}

/// Messages of all lengths come in order, whole, with their headers.
pub fn keeps_order_content_and_headers<W: ConformanceWorld>() {
    let (mut world, mut keeper) = (W::new(), Keeper::default());
    let lengths = lengths(longest(&mut world));
    let from = world.receiver().1;
    for round in 0..20 {
        for (seed, len) in lengths.iter().enumerate() {
            send_surely(&mut world, &mut keeper, seed + round, pattern(seed + round, *len));
        }
    }
    drain(&mut world, &mut keeper);
    assert_eq!(keeper.received.len(), 20 * lengths.len());
    for (n, message) in keeper.received.iter().enumerate() {
        let seed = n % lengths.len() + n / lengths.len();
        let payload = pattern(seed, lengths[n % lengths.len()]);
        assert_eq!(*message, Received { from, header: header(seed), payload }, "message {n}");
    }
}

/// The first message may be the longest.
pub fn begins_with_the_longest<W: ConformanceWorld>() {
    let (mut world, mut keeper) = (W::new(), Keeper::default());
    let longest = longest(&mut world);
    let payloads = [longest, 8, longest - 1, 0].map(|len| pattern(len, len));
    for (seed, payload) in payloads.iter().enumerate() {
        send_surely(&mut world, &mut keeper, seed, payload.clone());
    }
    drain(&mut world, &mut keeper);
    let received: Vec<_> = keeper.received.iter().map(|message| &message.payload).collect();
    assert!(received.into_iter().eq(&payloads));
}

/// Each message is here before the next is sent.
pub fn takes_turns<W: ConformanceWorld>() {
    let (mut world, mut keeper) = (W::new(), Keeper::default());
    for seed in 0..1000 {
        let payload = pattern(seed, seed % 60);
        send_surely(&mut world, &mut keeper, seed, payload.clone());
        drain(&mut world, &mut keeper);
        assert_eq!(keeper.received.last().map(|last| &last.payload), Some(&payload));
        assert_eq!(keeper.received.len(), seed + 1);
    }
}

/// A peer that does not poll makes the transport say that it is full; what was taken comes.
pub fn is_full_some_time_and_loses_nothing<W: ConformanceWorld>() {
    for len in [8, 400, 3000] {
        let (mut world, mut keeper) = (W::new(), Keeper::default());
        let mut sent = 0;
        while {
            let (transport, peer) = world.sender();
            send(transport, peer, sent, &mut pattern(sent, len)).is_ok()
        } {
            sent += 1;
            assert!(sent < 1_000_000, "a queue without bound");
        }
        drain(&mut world, &mut keeper);
        let seen: Vec<i32> = keeper.received.iter().map(|message| message.header.tag).collect();
        assert_eq!(seen, (0..sent as i32).collect::<Vec<_>>());
        send_surely(&mut world, &mut keeper, sent, pattern(sent, len));
    }
}

/// The extended header and the body are one payload.
pub fn joins_lead_and_body<W: ConformanceWorld>() {
    let (mut world, mut keeper) = (W::new(), Keeper::default());
    for body_len in [0, 1, 8, 24, 25, 39, 40, 41, 60, 300, 2000] {
        for (offset, extended_len) in [(0, 16), (5, 40), (1, 1)] {
            let mut body = pattern(7, offset + body_len);
            let extended = pattern(9, extended_len);
            let expected: Vec<u8> = extended.iter().chain(&body[offset..]).copied().collect();
            let body = buf_of(&mut body);
            let am = Am { header: header(1), extended: &extended, body: &body, offset, len: body_len };
            let (transport, peer) = world.sender();
            transport.send(peer, &am).unwrap();
            drain(&mut world, &mut keeper);
            assert_eq!(keeper.received.last().unwrap().payload, expected);
        }
    }
}

/// The sink may want less than there is.
pub fn lands_only_what_is_wanted<W: ConformanceWorld>() {
    for len in [41, 300, 1048, 4096] {
        let (mut world, mut keeper) = (W::new(), Keeper { wanted_max: Some(50), ..Keeper::default() });
        let len = len.min(longest(&mut world));
        for seed in 0..10 {
            send_surely(&mut world, &mut keeper, seed, pattern(seed, len));
        }
        drain(&mut world, &mut keeper);
        assert_eq!(keeper.received.len(), 10);
        for (seed, message) in keeper.received.iter().enumerate() {
            assert_eq!(message.payload, pattern(seed, len)[..len.min(50)]);
        }
    }
}

/// The sink may want nothing.
pub fn drops_what_is_refused<W: ConformanceWorld>() {
    let (mut world, mut keeper) = (W::new(), Keeper { refuse: true, ..Keeper::default() });
    let most = longest(&mut world);
    for seed in 0..100 {
        send_surely(&mut world, &mut keeper, seed, pattern(seed, (41 * seed).min(most)));
    }
    drain(&mut world, &mut keeper);
    let tags: Vec<i32> = keeper.received.iter().map(|message| message.header.tag).collect();
    assert_eq!(tags, [0], "only the message without payload is short");
}

/// What can be got and put is, at any length.
pub fn gets_and_puts<W: ConformanceWorld>() {
    for len in [0, 1, 5000, 3 << 20] {
        let mut world = W::new();
        let (mut there, mut here) = (pattern(1, len), vec![0; len]);
        let (transport, peer) = world.sender();
        let limits = transport.limits(peer);
        if limits.get {
            let answer = transport.get(peer, remote_of(&mut there), &buf_of(&mut here), Token(1));
            assert_eq!(answer, Transfer::Done);
            assert_eq!(here, there);
        }
        if limits.put {
            let mut other = vec![0; len];
            let answer = transport.put(peer, &buf_of(&mut there), remote_of(&mut other), Token(2));
            assert_eq!(answer, Transfer::Done);
            assert_eq!(other, there);
        }
    }
}

/// A cooperative copy is made once, whether or not the sender helps.
pub fn shares_a_copy_whoever_comes<W: ConformanceWorld>() {
    let mut world = W::new();
    let (transport, peer) = world.receiver();
    if !transport.limits(peer).cooperative_copy {
        return;
    }
    for len in [1, 100_000, 3_000_001] {
        for sender_comes in ["never", "before", "after"] {
            shares_once(&mut world, len, sender_comes);
        }
    }
}

fn shares_once<W: ConformanceWorld>(world: &mut W, len: usize, sender_comes: &str) {
    let (mut source, mut target) = (pattern(len, len), vec![0; len]);
    let (from, into) = (remote_of(&mut source), remote_of(&mut target));
    let (source_buf, target_buf) = (buf_of(&mut source), buf_of(&mut target));
    let (receiver, sender_rank) = world.receiver();
    let key = receiver.open_cooperative_copy(sender_rank, from, &target_buf, Token(1)).expect("a free slot");
    let join = |world: &mut W| {
        let (sender, receiver_rank) = world.sender();
        sender.join_cooperative_copy(receiver_rank, key, &source_buf, into, Token(2))
    };
    if sender_comes == "before" {
        assert_eq!(join(world), Transfer::Done);
    }
    assert_eq!(world.receiver().0.pull_cooperative_copy(key), Transfer::Done);
    assert_eq!(source, target);
    if sender_comes == "after" {
        target.fill(0);
        assert_eq!(join(world), Transfer::Done);
        assert!(target.iter().all(|byte| *byte == 0), "a copy that is over must not be made again");
    }
}

/// A message wakes who sleeps.
pub fn wakes_a_sleeper<W: ConformanceWorld>() {
    let (mut world, mut keeper) = (W::new(), Keeper::default());
    for seed in 0..10 {
        let bell = world.receiver().0.doorbell();
        let armed = bell.arm();
        assert!(!world.receiver().0.poll(&mut keeper));
        let (transport, peer) = world.sender();
        send(transport, peer, seed, &mut pattern(seed, 8)).unwrap();
        world.help();
        assert!(bell.sleep(armed, Some(Duration::from_secs(10))), "the message rang");
        assert!(world.receiver().0.poll(&mut keeper));
    }
}

/// A sleep ends when its time is over, and when it is rung.
pub fn wakes_in_time<W: ConformanceWorld>() {
    let mut world = W::new();
    let bell = world.receiver().0.doorbell();
    let start = Instant::now();
    assert!(!bell.sleep(bell.arm(), Some(Duration::from_millis(5))));
    assert!(start.elapsed() >= Duration::from_millis(5));
    let armed = bell.arm();
    bell.ring();
    assert!(bell.sleep(armed, None));
    bell.arm();
    bell.disarm();
    // A ring is for those who had armed before, also while one of them has not come to sleep yet.
    let (first, second) = (bell.arm(), bell.arm());
    bell.ring();
    assert!(bell.sleep(first, None));
    assert!(!bell.sleep(bell.arm(), Some(Duration::from_millis(5))));
    assert!(bell.sleep(second, None));
}

/// A message wakes all who sleep.
pub fn wakes_all_threads<W: ConformanceWorld>() {
    let mut world = W::new();
    let bell = world.receiver().0.doorbell();
    let (ready, is_ready) = std::sync::mpsc::channel();
    let sleepers: Vec<_> = (0..3)
        .map(|_| {
            let (bell, ready) = (bell.clone(), ready.clone());
            std::thread::spawn(move || {
                let armed = bell.arm();
                ready.send(()).unwrap();
                bell.sleep(armed, Some(Duration::from_secs(10)))
            })
        })
        .collect();
    for _ in &sleepers {
        is_ready.recv().unwrap();
    }
    let (transport, peer) = world.sender();
    send(transport, peer, 0, &mut []).unwrap();
    for sleeper in sleepers {
        assert!(sleeper.join().unwrap());
    }
}

/// The whole suite for one [`ConformanceWorld`](crate::conformance::ConformanceWorld).
#[macro_export]
macro_rules! conformance_tests {
    ($world:ty: $($test:ident)*) => {
        $(#[test] fn $test() { $crate::conformance::$test::<$world>() })*
    };
    ($world:ty) => {
        $crate::conformance_tests! { $world:
            keeps_order_content_and_headers
            begins_with_the_longest
            takes_turns
            mixes_short_ways_with_others
            is_full_some_time_and_loses_nothing
            joins_lead_and_body
            lands_only_what_is_wanted
            drops_what_is_refused
            sends_from_and_to_gaps
            gets_and_puts
            copies_from_and_to_gaps
            shares_a_copy_whoever_comes
            wakes_a_sleeper
            wakes_in_time
            wakes_all_threads
        }
    };
}
pub use crate::conformance_tests;

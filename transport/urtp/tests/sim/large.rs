//! From one receiver to a thousand: a root multicasts, and does not drown in what comes back.

use crate::network::Weather;
use crate::world::{Action, Plan, World};
use tern_urtp::{Nanos, UrtpConfig, UrtpCounters};

const MS: Nanos = 1_000_000;

/// A root multicasts so many packets to `size - 1` receivers that wait for them. What the root has counted, and how long it took.
fn multicast(size: u32, packets: usize, weather: Weather, shared_buffers: usize) -> (UrtpCounters, Nanos) {
    let mut config = UrtpConfig::new(0, size);
    config.window = 128;
    config.shared_buffers = shared_buffers;
    let mut plan = Plan::new(config, weather, 2 * u64::from(size));
    plan.groups = vec![(0..size).collect()];
    plan.expects = vec![true; size as usize];
    plan.actions = vec![vec![Action::Multicast { group: 0, addressed: u64::MAX, len: 1000 }; packets]];
    let mut world = World::new(plan);
    let time = world.deliver(60_000 * MS);
    let counters = *world.endpoint(0).counters();
    (counters, time)
}

fn weather(loss: f64) -> Weather {
    Weather { loss, delay_ns: 50_000, jitter_ns: 20_000, ..Weather::default() }
}

#[test]
fn a_thousand_receivers_do_not_drown_the_sender() {
    for size in [2, 3, 17, 128, 1024] {
        let (root, _) = multicast(size, 256, weather(0.0), 4096);
        assert_eq!((root.resent, root.multicast_again), (0, 0), "{size} ranks: nothing was lost");
        let heard = root.acks_heard + root.requests_heard;
        // Some for each block, from 16 members each or from 8 that speak for all.
        assert!(heard <= 16 * 24 + u64::from(size), "{size} ranks: {heard} acknowledgements of 256 packets");
    }
}

#[test]
fn loss_among_a_thousand_is_made_good_by_multicast() {
    let (root, _) = multicast(1024, 128, weather(0.01), 4096);
    // Each packet is lost by ten receivers on average.
    assert!(root.multicast_again > 0 && root.resent < 128 * 10, "{root:?}");
    assert!(root.multicast_again <= 4 * 128, "{root:?}");
    assert!(root.acks_heard + root.requests_heard < 20_000, "{root:?}");
}

#[test]
fn the_time_does_not_depend_on_the_number_of_receivers() {
    let few = multicast(3, 256, weather(0.0), 4096).1;
    let many = multicast(257, 256, weather(0.0), 4096).1;
    assert!(many < few * 3 / 2, "{few} ns for 2 receivers, {many} ns for 256");
}

#[test]
fn reserved_buffers_alone_are_enough() {
    let mut config = UrtpConfig::new(0, 64);
    (config.window, config.shared_buffers) = (16, 0);
    let mut plan = Plan::new(config, weather(0.05), 5);
    plan.groups = vec![(0..64).collect()];
    plan.expects = vec![true; 64];
    plan.slow = Some((9, MS / 10));
    // Everybody multicasts to everybody (k-concurrency with k = 4).
    plan.actions = vec![vec![Action::Multicast { group: 0, addressed: u64::MAX, len: 100 }; 4]; 64];
    let mut world = World::new(plan);
    world.run(60_000 * MS);
    assert!(world.endpoint(9).counters().held_max <= 63);
}

//! What follows from measurement: pace, window, requests.

use crate::network::Weather;
use crate::world::{Action, Plan, World};
use tern_urtp::{Nanos, UrtpConfig, UrtpCounters};

const MS: Nanos = 1_000_000;

/// A gigabit, and a queue of 128 KiB before it.
fn gigabit(loss: f64) -> Weather {
    let (rate, queue_bytes) = (Some(125_000_000), 128 << 10);
    Weather { loss, rate, queue_bytes, delay_ns: 30_000, jitter_ns: 5000, ..Weather::default() }
}

/// Multicasts 4 MiB to seven receivers. How long it took, what the root counted, and how many packets its queue dropped.
fn broadcast(weather: Weather, rate: u64, parity: Option<u8>) -> (Nanos, UrtpCounters, u64) {
    broadcast_of(4, weather, rate, parity)
}

fn broadcast_of(seed: u64, weather: Weather, rate: u64, parity: Option<u8>) -> (Nanos, UrtpCounters, u64) {
    let mut world = World::new(four_megabytes(seed, weather, rate, parity));
    let time = world.deliver(10_000 * MS);
    (time, *world.endpoint(0).counters(), world.network.overflowed)
}

fn four_megabytes(seed: u64, weather: Weather, rate: u64, parity: Option<u8>) -> Plan {
    let mut config = UrtpConfig::new(0, 8);
    (config.rate, config.parity) = (rate, parity);
    let len = config.multicast_bytes_max(8) - 4;
    let mut plan = Plan::new(config, weather, seed);
    plan.groups = vec![(0..8).collect()];
    plan.expects = vec![true; 8];
    let packets = (4 << 20) / len + 1;
    plan.actions = vec![vec![Action::Multicast { group: 0, addressed: u64::MAX, len }; packets]];
    plan
}

#[test]
fn a_broadcast_takes_the_wire_time_of_one_copy() {
    let (time, root, dropped) = broadcast(gigabit(0.0), 125_000_000, None);
    // 4 MiB and heads: 36.9 ms.
    assert!(time < 43 * MS, "{time} ns");
    assert_eq!((root.resent, root.multicast_again, dropped), (0, 0, 0));
}

#[test]
fn a_loss_of_one_in_a_hundred_costs_little() {
    let clean = broadcast(gigabit(0.0), 125_000_000, None).0;
    for (seed, parity) in (0..6).zip([None, Some(16)].into_iter().cycle()) {
        let (lossy, root, _) = broadcast_of(seed, gigabit(0.01), 125_000_000, parity);
        assert!(lossy < clean * 13 / 10, "seed {seed}: {clean} ns, with loss {lossy}, {root:?}");
    }
}

#[test]
fn who_hears_no_multicasts_any_more_gets_them_by_themselves() {
    let clean = broadcast(gigabit(0.0), 125_000_000, None).0;
    for (unreached, copies) in [(0b1000_u64, 2), (0b1110, 4), (0b1111_1110, 8)] {
        for seed in 0..4 {
            let mut plan = four_megabytes(seed, gigabit(0.0), 125_000_000, None);
            plan.unreached = Some((unreached, clean / 2));
            let mut world = World::new(plan);
            let time = world.deliver(10_000 * MS);
            let root = world.endpoint(0).counters();
            // Half of it goes as multicasts. Then it must be found out; what waits for others is asked for too early at times.
            let bound = clean / 2 + clean / 2 * copies * 3 / 2 + 100 * MS;
            assert!(time < bound, "seed {seed}, {unreached:b} unreached: {time} ns, not {bound}, {root:?}");
        }
    }
}

#[test]
fn a_sender_that_is_too_fast_learns_it() {
    const SEEDS: u64 = 12;
    let mut dropped_in_all = 0;
    for seed in 0..SEEDS {
        let (time, root, dropped) = broadcast_of(seed, gigabit(0.0), 1_250_000_000, None);
        assert!(time < 90 * MS, "seed {seed}: {time} ns, {root:?}");
        dropped_in_all += dropped;
    }
    let mean = dropped_in_all / SEEDS;
    assert!(mean < 6500, "{mean} packets dropped on average, of 3,100 that carried something new");
}

#[test]
fn a_receiver_that_waits_for_hours_asks_rarely() {
    let mut config = UrtpConfig::new(0, 2);
    config.window = 16;
    let weather = Weather { delay_ns: 50_000, ..Weather::default() };
    let mut plan = Plan::new(config, weather, 6);
    plan.expects = vec![true; 2];
    plan.actions = vec![vec![
        Action::Send { to: 1, len: 1 },
        Action::Pause(3_600_000 * MS),
        Action::Send { to: 1, len: 1 },
    ]];
    let mut world = World::new(plan);
    world.deliver(4_000_000 * MS);
    let asked = world.endpoint(1).counters().requests;
    assert!(asked <= 8000, "{asked} requests in an hour");
}

#[test]
fn parity_restores_without_a_request() {
    let with = broadcast(gigabit(0.002), 125_000_000, Some(8)).1;
    let without = broadcast(gigabit(0.002), 125_000_000, None).1;
    let again = |root: &UrtpCounters| root.resent + root.multicast_again;
    assert!(again(&with) * 3 < again(&without), "{with:?} {without:?}");
}

#[test]
fn a_parity_comes_after_its_packets() {
    let weather = Weather { jitter_ns: 0, ..gigabit(0.0) };
    let mut world = World::new(four_megabytes(4, weather, 125_000_000, Some(8)));
    world.deliver(10_000 * MS);
    assert!(world.endpoint(0).counters().parities > 300, "{:?}", world.endpoint(0).counters());
    for rank in 1..8 {
        let heard = world.endpoint(rank).counters();
        assert_eq!(heard.restored, 0, "nothing was lost, and nothing overtook: {heard:?}");
    }
}

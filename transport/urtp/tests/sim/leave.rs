//! Leaving in good order, without sleeping (the paper's ranks sleep p seconds).

use crate::network::Weather;
use crate::world::{Action, Plan, World};
use tern_urtp::{Nanos, UrtpConfig};

const MS: Nanos = 1_000_000;

fn time_to_leave(loss: f64, seed: u64) -> Nanos {
    let weather = Weather { loss, delay_ns: 50_000, jitter_ns: 20_000, ..Weather::default() };
    let mut plan = Plan::new(UrtpConfig::new(0, 8), weather, seed);
    plan.groups = vec![(0..8).collect()];
    plan.actions =
        (0..8).map(|_| vec![Action::Multicast { group: 0, addressed: u64::MAX, len: 10 }; 3]).collect();
    let mut world = World::new(plan);
    world.deliver(10_000 * MS);
    let begun = world.network.now;
    world.leave();
    world.network.now - begun
}

#[test]
fn on_a_good_network_everybody_leaves_at_once() {
    let time = time_to_leave(0.0, 3);
    assert!(time < 5 * MS, "{time} ns");
}

#[test]
fn on_a_bad_one_nobody_stays_for_long() {
    for seed in 0..200 {
        let time = time_to_leave(0.2, seed);
        assert!(time < 600 * MS, "seed {seed}: {time} ns");
    }
}

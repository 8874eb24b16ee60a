//! A firewall that begins to drop everything between two ranks.

use crate::network::Weather;
use crate::world::{Action, Plan, Wall, World};
use tern_urtp::{Nanos, UrtpConfig, WorldRank};

const MS: Nanos = 1_000_000;
const WALL_AT: Nanos = 100 * MS;
const ROUNDS: usize = 300;

/// Four ranks that multicast in turn and send to each other, every 40 ms, for 12 s. The walls begin soon and last until then.
fn talk(walls: &[(WorldRank, WorldRank)], until: Nanos, seed: u64) -> World {
    let mut config = UrtpConfig::new(0, 4);
    config.tunnel = true;
    let weather = Weather { loss: 0.01, delay_ns: 50_000, jitter_ns: 20_000, ..Weather::default() };
    let mut plan = Plan::new(config, weather, seed);
    plan.groups = vec![vec![0, 1, 2, 3]];
    plan.expects = vec![true; 4];
    plan.wall = Some(Wall { pairs: walls.to_vec(), time: WALL_AT..until, tunnel_ns: 200_000 });
    plan.actions = (0..4).map(rounds).collect();
    let mut world = World::new(plan);
    world.run(60_000 * MS);
    world
}

fn rounds(rank: WorldRank) -> Vec<Action> {
    let round = |at| {
        let multicast = Action::Multicast { group: 0, addressed: !0, len: 100 + at % 1000 };
        let send = Action::Send { to: (rank + 1 + (at % 3) as WorldRank) % 4, len: at % 1200 };
        [multicast, send, Action::Pause(40 * MS)]
    };
    (0..ROUNDS).flat_map(round).collect()
}

/// What went through the fallback tunnel, and what went at all.
fn tunneled(world: &World) -> (u64, u64) {
    let sent = |rank| {
        let counters = world.endpoint(rank).counters();
        (counters.tunneled, counters.sent + counters.multicasts + counters.resent + counters.acks)
    };
    (0..4).map(sent).fold((0, 0), |all, one| (all.0 + one.0, all.1 + one.1))
}

#[test]
fn everything_comes_by_the_tunnel_though_nothing_comes_through() {
    let walls: [&[(WorldRank, WorldRank)]; 4] =
        [&[(0, 2), (2, 0)], &[(0, 2)], &[(2, 0)], &[(1, 3), (0, 3), (3, 0)]];
    for (seed, wall) in walls.iter().enumerate() {
        let world = talk(wall, Nanos::MAX, seed as u64);
        let usual = (ROUNDS as Nanos) * 40 * MS;
        assert!(world.heard_at < usual + 4_000 * MS, "{wall:?}: {} ms", world.heard_at / MS);
        assert!(tunneled(&world).0 > 0);
    }
}

#[test]
fn once_the_wall_is_gone_packets_go_by_the_link_alone() {
    let short = tunneled(&talk(&[(0, 2), (2, 0)], 5_000 * MS, 1));
    let long = tunneled(&talk(&[(0, 2), (2, 0)], Nanos::MAX, 1));
    assert!(0 < short.0 && short.0 < long.0 / 2, "{short:?} and {long:?}");
}

#[test]
fn without_a_wall_nothing_goes_by_the_tunnel() {
    assert_eq!(tunneled(&talk(&[], Nanos::MAX, 2)).0, 0);
}

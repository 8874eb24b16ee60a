//! Random traffic under random weather: thousands of seeds.

use crate::network::{Random, Weather};
use crate::world::{Action, Plan, World};
use std::panic::{AssertUnwindSafe, catch_unwind};
use tern_urtp::{Config, Nanos};

const MS: Nanos = 1_000_000;

/// What a seed says.
fn plan(seed: u64) -> Plan {
    let mut random = Random::new(seed);
    let size = 2 + random.below(7) as u32;
    let weather = Weather {
        loss: [0.0, 0.01, 0.05, 0.2][random.below(4) as usize],
        doubled: [0.0, 0.1][random.below(2) as usize],
        delay_ns: 20_000 + random.below(200_000),
        jitter_ns: [0, 50_000, 2 * MS][random.below(3) as usize],
        ..Weather::default()
    };
    let mut config = Config::new(0, size);
    config.body_bytes_max = 600;
    config.window = [16, 32, 64][random.below(3) as usize];
    config.parity = [None, None, Some(4), Some(8)][random.below(4) as usize];
    config.shared_buffers = [(size * config.window) as usize, 24, 0][random.below(3) as usize];
    config.send_buffers = [8, 64, 512][random.below(3) as usize];
    let mut plan = Plan::new(config, weather, seed);
    plan.groups = groups(size, &mut random);
    for rank in 0..size {
        // Half of the receivers know whom they wait for, as in a global program; the others take what comes.
        plan.expects.push(random.below(2) == 0);
        plan.actions.push(actions(rank, &plan.groups, size, &mut random));
    }
    if random.below(4) == 0 {
        plan.slow = Some((random.below(size.into()) as u32, 100_000 + random.below(MS)));
    }
    if random.below(8) == 0 && size > 2 {
        let at = random.below(20 * MS);
        plan.vanishes = Some((random.below(size.into()) as u32, at));
        plan.config.peer_timeout = Some(20_000 * MS);
    }
    plan
}

fn groups(size: u32, random: &mut Random) -> Vec<Vec<u32>> {
    let mut groups = vec![(0..size).collect::<Vec<_>>()];
    for _ in 0..random.below(3) {
        let mut members: Vec<_> = (0..size).filter(|_| random.below(3) > 0).collect();
        let turns = random.below(size.into()) as usize % members.len().max(1);
        members.rotate_left(turns);
        if members.len() > 1 {
            groups.push(members);
        }
    }
    groups
}

fn actions(rank: u32, groups: &[Vec<u32>], size: u32, random: &mut Random) -> Vec<Action> {
    let mut actions = Vec::new();
    let multicasts = random.below(4);
    for _ in 0..random.below(60) {
        let len = [0, 1, 40, 200, 380][random.below(5) as usize];
        let group = random.below(groups.len() as u64) as usize;
        let is_member = groups[group].contains(&rank);
        actions.push(if is_member && random.below(4) < multicasts {
            let all = random.below(3) > 0;
            Action::Multicast { group, addressed: if all { u64::MAX } else { random.below(u64::MAX) }, len }
        } else {
            let to = (rank + 1 + random.below(u64::from(size) - 1) as u32) % size;
            Action::Send { to, len }
        });
        if random.below(10) == 0 {
            actions.push(Action::Pause(random.below(3 * MS)));
        }
    }
    actions
}

fn run(seed: u64) {
    let result = catch_unwind(AssertUnwindSafe(|| World::new(plan(seed)).run(120_000 * MS)));
    if result.is_err() {
        panic!("seed {seed} failed: TERN_URTP_SEED={seed} cargo test -p tern-urtp --test sim random");
    }
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
fn nothing_is_lost_doubled_or_reordered_whatever_the_seed() {
    if let Some(seed) = number("TERN_URTP_SEED") {
        return run(seed);
    }
    (0..number("TERN_URTP_SEEDS").unwrap_or(3000)).for_each(run);
}

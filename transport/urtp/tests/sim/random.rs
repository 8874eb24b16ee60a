//! Random traffic under random weather: thousands of seeds.

use crate::network::Weather;
use crate::world::{Action, Plan, World};
use fastrand::Rng;
use std::panic::{AssertUnwindSafe, catch_unwind};
use tern_urtp::{Nanos, UrtpConfig};

const MS: Nanos = 1_000_000;

/// What a seed says.
fn plan(seed: u64) -> Plan {
    let mut random = Rng::with_seed(seed);
    let size = 2 + random.u32(..7);
    let weather = Weather::random(&mut random);
    let mut config = UrtpConfig::new(0, size);
    config.body_bytes_max = 600;
    config.window = [16, 32, 64][random.usize(..3)];
    config.parity = [None, None, Some(4), Some(8)][random.usize(..4)];
    config.shared_buffers = [(size * config.window) as usize, 24, 0][random.usize(..3)];
    config.send_buffers = [8, 64, 512][random.usize(..3)];
    let mut plan = Plan::new(config, weather, seed);
    plan.groups = groups(size, &mut random);
    for rank in 0..size {
        // Half of the receivers know whom they wait for, as in a global program; the others take what comes.
        plan.expects.push(random.u64(..2) == 0);
        plan.actions.push(actions(rank, &plan.groups, size, &mut random));
    }
    if random.u64(..4) == 0 {
        plan.slow = Some((random.u32(..size), 100_000 + random.u64(..MS)));
    }
    if random.u64(..8) == 0 && size > 2 {
        let at = random.u64(..20 * MS);
        plan.vanishes = Some((random.u32(..size), at));
        plan.config.peer_timeout = Some(20_000 * MS);
    }
    if random.u64(..8) == 0 {
        plan.unreached = Some((random.u64(..u64::MAX), random.u64(..20 * MS)));
    }
    plan
}

fn groups(size: u32, random: &mut Rng) -> Vec<Vec<u32>> {
    let mut groups = vec![(0..size).collect::<Vec<_>>()];
    for _ in 0..random.u64(..3) {
        let mut members: Vec<_> = (0..size).filter(|_| random.u64(..3) > 0).collect();
        let turns = random.usize(..size as usize) % members.len().max(1);
        members.rotate_left(turns);
        if members.len() > 1 {
            groups.push(members);
        }
    }
    groups
}

fn actions(rank: u32, groups: &[Vec<u32>], size: u32, random: &mut Rng) -> Vec<Action> {
    let mut actions = Vec::new();
    let multicasts = random.u64(..4);
    for _ in 0..random.u64(..60) {
        let len = [0, 1, 40, 200, 380][random.usize(..5)];
        let group = random.u64(..groups.len() as u64) as usize;
        let is_member = groups[group].contains(&rank);
        actions.push(if is_member && random.u64(..4) < multicasts {
            let all = random.u64(..3) > 0;
            Action::Multicast { group, addressed: if all { u64::MAX } else { random.u64(..u64::MAX) }, len }
        } else {
            let to = (rank + 1 + random.u64(..u64::from(size) - 1) as u32) % size;
            Action::Send { to, len }
        });
        if random.u64(..10) == 0 {
            actions.push(Action::Pause(random.u64(..3 * MS)));
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

//! Groups end, at each rank when it likes, while packets to them are lost, late, and on their way again.

use crate::network::Weather;
use crate::world::{Action, Plan, World};
use fastrand::Rng;
use std::panic::{AssertUnwindSafe, catch_unwind};
use tern_urtp::{Destination, Nanos, UrtpConfig, UrtpEndpoint, WorldRank};

const MS: Nanos = 1_000_000;

/// Ranks that hold groups for a while only, so that members know them or not as it happens, and know them again later.
fn plan(seed: u64, size: u32) -> Plan {
    let mut random = Rng::with_seed(seed);
    let weather = Weather::random(&mut random);
    let mut config = UrtpConfig::new(0, size);
    config.body_bytes_max = 800;
    config.window = [16, 32][random.usize(..2)];
    config.parity = [None, None, Some(4)][random.usize(..3)];
    config.idle_groups_bytes = [0, 0, 1000][random.usize(..3)];
    let mut plan = Plan::new(config, weather, seed);
    plan.holds = false;
    plan.groups = (0..1 + random.usize(..12)).map(|_| members(size, &mut random)).collect();
    // The same list is the same group.
    plan.groups.sort_unstable();
    plan.groups.dedup();
    for rank in 0..size {
        plan.expects.push(random.u64(..2) == 0);
        plan.actions.push(actions(rank, &plan.groups, size, &mut random));
    }
    plan
}

/// Most of them, so that groups of many are large ones.
fn members(size: u32, random: &mut Rng) -> Vec<WorldRank> {
    let mut members: Vec<_> = (0..size).filter(|_| random.u64(..8) > 0).collect();
    if random.u64(..3) == 0 {
        random.shuffle(&mut members);
    }
    members
}

fn actions(rank: WorldRank, groups: &[Vec<WorldRank>], size: u32, random: &mut Rng) -> Vec<Action> {
    let mut actions = Vec::new();
    let own: Vec<_> = (0..groups.len()).filter(|group| groups[*group].contains(&rank)).collect();
    for _ in 0..random.usize(..1 + 200 / size as usize) {
        let group = if own.is_empty() { 0 } else { own[random.usize(..own.len())] };
        actions.push(match random.u64(..8) {
            0 if !own.is_empty() => Action::Hold(group),
            1..3 if !own.is_empty() => Action::Release(group),
            3..7 if !own.is_empty() => {
                let addressed = if random.bool() { u64::MAX } else { random.u64(..) };
                Action::Multicast { group, addressed, len: [0, 40, 380][random.usize(..3)] }
            }
            _ => Action::Send { to: (rank + 1 + random.u32(..size - 1)) % size, len: 40 },
        });
        if random.u64(..4) == 0 {
            actions.push(Action::Pause(random.u64(..5 * MS)));
        }
    }
    // In the end nobody holds any, though the last packets are on their way.
    actions.extend(own.into_iter().map(Action::Release));
    actions
}

fn run(seed: u64, size: u32) {
    let result = catch_unwind(AssertUnwindSafe(|| {
        let plan = plan(seed, size);
        let (keeps, groups) = (plan.config.idle_groups_bytes > 0, plan.groups.len());
        let mut world = World::new(plan);
        world.deliver(120_000 * MS);
        // Until the last report has gone.
        world.wait(10 * MS);
        let known = world.end_groups();
        assert!(keeps || known.iter().all(|known| *known == 0), "{known:?} of {groups} groups are left");
        world.leave();
    }));
    if result.is_err() {
        panic!(
            "seed {seed} with {size} ranks failed: TERN_URTP_SEED={seed} cargo test -p tern-urtp --test sim ending"
        );
    }
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// Each size has its share of the seeds.
fn run_all(seeds: u64, size: impl Fn(u64) -> u32) {
    if let Some(seed) = number("TERN_URTP_SEED") {
        return run(seed, size(seed));
    }
    (0..number("TERN_URTP_SEEDS").unwrap_or(seeds)).for_each(|seed| run(seed, size(seed)));
}

#[test]
fn nothing_is_lost_doubled_or_reordered_while_groups_end() {
    run_all(2000, |seed| 2 + (seed % 7) as u32);
}

/// Reports go along a tree of members of which some do not know the group.
#[test]
fn nothing_is_lost_either_where_members_report_to_members() {
    run_all(100, |seed| 24 + (seed % 40) as u32);
}

/// Ranks without anything in between, which look at what has come only now and then: all questions of the sender come together.
#[test]
fn who_does_not_know_the_group_gets_what_it_lacks_however_many_these_are() {
    let mut ranks: Vec<_> = (0..6).map(|me| UrtpEndpoint::new(UrtpConfig::new(me, 6))).collect();
    let group = ranks[0].add_group(&[0, 1, 2, 3, 4, 5]).expect("a group");
    ranks[0].multicast(group, |_| true, b"to all").expect("room");
    let mut packet = vec![0; ranks[0].config().body_bytes_max];
    for look in 0..20 {
        let now = look * 1500 * MS;
        for me in 0..6 {
            while let Some(transmit) = ranks[me].poll_transmit(now, &mut packet) {
                let (to, id) = match transmit.to {
                    Destination::Rank(to) => (to..to + 1, None),
                    Destination::Group { id, .. } => (1..6, Some(id)),
                };
                for to in to {
                    ranks[to as usize]
                        .handle(now, me as WorldRank, id, &packet[..transmit.len])
                        .expect("a packet");
                }
            }
        }
    }
    assert!(ranks[0].is_flushed(), "{:?}", ranks[0].counters());
    assert_eq!(ranks[0].packets_ahead(), Some(5));
    for rank in &mut ranks[1..] {
        assert_eq!(rank.packets_ahead(), Some(0));
        assert!(rank.receive(0, |payload| assert_eq!(payload, b"to all")) && !rank.receive(0, |_| {}));
        assert_eq!(rank.packets_ahead(), Some(-1));
    }
}

/// A rank that is asked to multicast to a group that has ended says so, and one that has packets on their way does not end.
#[test]
fn a_group_ends_when_the_last_packet_is_acknowledged() {
    let config = |me| UrtpConfig { idle_groups_bytes: 0, ..UrtpConfig::new(me, 3) };
    let (mut root, mut member) = (UrtpEndpoint::new(config(0)), UrtpEndpoint::new(config(1)));
    let group = root.add_group(&[0, 1]).expect("a group");
    let known = member.add_group(&[0, 1]).expect("a group");
    root.multicast(group, |_| true, b"hello").expect("room");
    root.release_group(group);
    let mut ended = Vec::new();
    root.end_groups(|index, _| ended.push(index));
    assert!(ended.is_empty() && root.groups_known() == 1);
    let mut packet = vec![0; root.config().body_bytes_max];
    let transmit = root.poll_transmit(1, &mut packet).expect("the multicast");
    let Destination::Group { id, .. } = transmit.to else { panic!("{transmit:?}") };
    let late = packet[..transmit.len].to_vec();
    member.handle(1, 0, Some(id), &late).expect("a packet");
    let transmit = member.poll_transmit(50 * MS, &mut packet).expect("an acknowledgement");
    root.handle(50 * MS, 1, None, &packet[..transmit.len]).expect("a packet");
    root.end_groups(|index, _| ended.push(index));
    assert_eq!((ended, root.groups_known()), (vec![group], 0));
    assert!(root.multicast(group, |_| true, b"hello").is_err());
    // What comes late meets a group that is not known, and then one that is known again.
    assert!(member.receive(0, |_| {}));
    member.release_group(known);
    member.end_groups(|_, _| {});
    member.handle(60 * MS, 0, Some(id), &late).expect("a packet");
    let again = member.add_group(&[0, 1]).expect("a group");
    member.handle(61 * MS, 0, Some(id), &late).expect("a packet");
    assert!(!member.receive(0, |_| {}), "nothing comes twice");
    assert_eq!((member.counters().not_addressed, member.counters().duplicates), (1, 1));
    assert!(member.group_member(again, 1) == Some(1) && root.group_member(group, 1).is_none());
}

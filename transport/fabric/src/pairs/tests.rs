//! Two worlds within this process: one of a rank alone, and one of two ranks of which the second has met the first world.

use std::time::{Duration, Instant};

use crate::{Fabric, JobPlace, Outside};
use tern_tcp::Foreigner;
use tern_transport::conformance::{self, ConformanceWorld, Keeper, TestDirectory, memfd, pattern, send};
use tern_transport::{Peer, Transport, TransportConfig, TransportSetting};

fn rank(me: Peer, size: u32, secret: u8, config: &TransportConfig) -> Fabric {
    let segment = (size > 1).then(memfd);
    let outside = || Outside { secret: [secret; 32], directory: TestDirectory::default().of(me) };
    let mut place = JobPlace { me, size, local_ranks: None, segment, oversubscribed: false, outside: None };
    place.outside = place.needs_network(config).then(outside);
    let mut fabric = Fabric::attach(place, config).unwrap();
    fabric.open(outside()).unwrap();
    fabric
}

fn who(fabric: &Fabric, rank: Peer) -> Foreigner {
    let tcp = fabric.abroad().unwrap();
    let world = tcp.world();
    Foreigner {
        world,
        rank,
        entry: tcp.entry_of(world).unwrap(),
        endpoint_address: tcp.endpoint_address().unwrap(),
    }
}

/// The two, and what each calls the other.
fn met(configs: [&TransportConfig; 2]) -> [(Fabric, Peer); 2] {
    let (mut one, mut two) = (rank(0, 1, 1, configs[0]), rank(1, 2, 2, configs[1]));
    let (there, here) = (who(&two, 1), who(&one, 0));
    let to_two = one.abroad_mut().unwrap().add_peer(&there).unwrap();
    let to_one = two.abroad_mut().unwrap().add_peer(&here).unwrap();
    [(one, to_two), (two, to_one)]
}

/// Polls both until something is so.
fn until(
    worlds: &mut [(Fabric, Peer); 2],
    keepers: &mut [Keeper; 2],
    mut so: impl FnMut(&mut [(Fabric, Peer); 2], &[Keeper; 2]) -> bool,
) {
    let until = Instant::now() + Duration::from_secs(30);
    while !so(worlds, keepers) {
        assert!(Instant::now() < until, "it never comes to pass");
        for ((fabric, _), keeper) in worlds.iter_mut().zip(keepers.iter_mut()) {
            fabric.poll(keeper);
        }
    }
}

/// Both send by memory.
fn near(callers: &[usize], config: &TransportConfig) -> [(Fabric, Peer); 2] {
    let mut worlds = met([config; 2]);
    for caller in callers {
        let (fabric, peer) = &mut worlds[*caller];
        assert!(!fabric.limits(*peer).get, "not near before they have agreed");
    }
    until(&mut worlds, &mut [Keeper::default(), Keeper::default()], |worlds, _| {
        worlds.iter_mut().for_each(|(fabric, peer)| _ = fabric.approach(*peer));
        worlds.iter().all(|(fabric, _)| fabric.near_foreigners() == 1)
    });
    worlds
}

macro_rules! world {
    ($module:ident, $callers:expr, $config:expr) => {
        mod $module {
            use super::*;

            struct Pair([(Fabric, Peer); 2]);

            impl ConformanceWorld for Pair {
                type Transport = Fabric;
                fn new() -> Self {
                    Pair(near(&$callers, &$config))
                }
                fn sender(&mut self) -> (&mut Fabric, Peer) {
                    let (fabric, peer) = &mut self.0[0];
                    (fabric, *peer)
                }
                fn receiver(&mut self) -> (&mut Fabric, Peer) {
                    let (fabric, peer) = &mut self.0[1];
                    (fabric, *peer)
                }
            }

            conformance::conformance_tests!(Pair);
        }
    };
}

world!(called, [0], TransportConfig::default());
world!(calls, [1], TransportConfig::default());
world!(crossed, [0, 1], TransportConfig::default());
world!(without_cma, [0], TransportConfig { cma: false, ..TransportConfig::default() });

#[test]
fn messages_stay_in_order_while_the_way_changes() {
    let mut worlds = met([&TransportConfig::default(); 2]);
    let mut keepers = [Keeper::default(), Keeper::default()];
    let (mut sent, mut nearer_at) = (0, None);
    until(&mut worlds, &mut keepers, |worlds, keepers| {
        let (fabric, peer) = &mut worlds[0];
        fabric.limits(*peer);
        if sent < 1000 && send(fabric, *peer, sent % 100, &mut pattern(sent, 8)).is_ok() {
            sent += 1;
        }
        if sent > 100 {
            nearer_at = nearer_at.or(fabric.approach(*peer).then_some(sent));
        }
        keepers[1].received.len() == 1000
    });
    assert!(nearer_at.is_some_and(|at| at < 1000), "some went by memory: {nearer_at:?}");
    for (at, received) in keepers[1].received.iter().enumerate() {
        assert_eq!(received.payload, pattern(at, 8), "message {at}");
    }
}

#[test]
fn who_is_kept_to_a_network_stays_with_it() {
    let tcp = TransportConfig { transport: TransportSetting::Tcp, ..TransportConfig::default() };
    let mut worlds = met([&TransportConfig::default(), &tcp]);
    let mut keepers = [Keeper::default(), Keeper::default()];
    let (fabric, peer) = &mut worlds[0];
    fabric.limits(*peer);
    send(fabric, *peer, 0, &mut pattern(0, 8)).unwrap();
    // It does not know the letter, which the engine passes over.
    let has_come = |keepers: &[Keeper; 2]| keepers[1].received.iter().any(|one| one.payload == pattern(0, 8));
    until(&mut worlds, &mut keepers, |_, keepers| has_come(keepers));
    for _ in 0..1000 {
        worlds[0].0.poll(&mut keepers[0]);
        worlds[1].0.poll(&mut keepers[1]);
    }
    let (fabric, peer) = &mut worlds[0];
    assert!(!fabric.approach(*peer) && fabric.near_foreigners() == 0);
}

#[test]
fn who_has_parted_can_come_near_again() {
    let mut worlds = near(&[0], &TransportConfig::default());
    for _ in 0..3 {
        worlds.iter_mut().for_each(|(fabric, peer)| fabric.forget(*peer));
        assert!(worlds.iter().all(|(fabric, _)| fabric.near_foreigners() == 0));
        let (fabric, peer) = &mut worlds[1];
        fabric.limits(*peer);
        until(&mut worlds, &mut [Keeper::default(), Keeper::default()], |worlds, _| {
            worlds.iter_mut().for_each(|(fabric, peer)| _ = fabric.approach(*peer));
            worlds.iter().all(|(fabric, _)| fabric.near_foreigners() == 1)
        });
    }
}

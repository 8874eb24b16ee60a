//! Worlds that part from each other.

use super::*;

/// Two worlds of one rank each that are connected, and what each calls the other.
fn two_worlds() -> (Vec<Tcp>, Vec<Peer>) {
    let world = |secret| Tcp::new(0, 1, [secret; 32], TestDirectory::default().of(0), quick()).unwrap();
    let mut ranks = vec![world(3), world(4)];
    let known: Vec<Foreigner> = ranks
        .iter()
        .map(|rank| Foreigner {
            world: rank.world(),
            rank: 0,
            entry: rank.entry_of(rank.world()).unwrap(),
            endpoint_address: rank.endpoint_address().unwrap(),
        })
        .collect();
    let peers = vec![ranks[0].add_peer(&known[1]).unwrap(), ranks[1].add_peer(&known[0]).unwrap()];
    ranks[0].hold(peers[0]);
    poll_until(&mut ranks, &mut keepers(2), |ranks, _| {
        ranks[0].is_live(peers[0]) && ranks[1].is_live(peers[1])
    });
    (ranks, peers)
}

#[test]
fn who_parts_waits_longer_for_a_peer_that_lacks_something() {
    let (mut ranks, peers) = two_worlds();
    let mut keepers = keepers(2);
    send(&mut ranks[0], peers[0], 1, &mut pattern(1, 100)).unwrap();
    ranks[0].part(&peers[..1]);
    let has_parted = |rank: &Tcp, after_ms| {
        let link = rank.links[peers[0] as usize].as_ref().unwrap();
        link.has_parted(Instant::now() + Duration::from_millis(after_ms))
    };
    assert!(!has_parted(&ranks[0], crate::limits::PARTING_MS));
    assert!(has_parted(&ranks[0], crate::limits::PARTING_UNTAKEN_MS));
    poll_until(&mut ranks, &mut keepers, |ranks, _| {
        ranks[0].links[peers[0] as usize].as_ref().unwrap().outbox.is_empty()
    });
    assert!(has_parted(&ranks[0], crate::limits::PARTING_MS));
}

#[test]
fn a_farewell_is_heard_by_a_peer_that_writes_before_it_reads() {
    let (mut ranks, peers) = two_worlds();
    let mut keepers = keepers(2);
    for number in 0..2 {
        send(&mut ranks[0], peers[0], number, &mut pattern(number, 100)).unwrap();
    }
    ranks[0].part(&peers[..1]);
    // It ends, and nobody answers there any more.
    drop(ranks.remove(0));
    // The first is answered with a reset, the next finds the connection broken.
    for number in 0..3 {
        send(&mut ranks[0], peers[1], number, &mut pattern(number, 100)).unwrap();
        std::thread::sleep(Duration::from_millis(20));
    }
    let link = |ranks: &[Tcp]| ranks[0].links[peers[1] as usize].as_ref().unwrap().fd();
    poll_until(&mut ranks, &mut keepers[1..], |ranks, _| link(ranks).is_none());
    assert_eq!(keepers[1].received.len(), 2);
    assert!(ranks[0].links[peers[1] as usize].as_ref().unwrap().has_gone());
    let until = Instant::now() + Duration::from_secs(1);
    while Instant::now() < until {
        ranks[0].poll(&mut keepers[1]);
        assert!(ranks[0].failure().is_none(), "nothing is to be mended");
    }
}

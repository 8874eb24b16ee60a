//! Connections that break: nothing is lost, doubled or reordered.

use super::*;

/// Rank 0 and 1 send each other messages while connections are cut once in `cuts` sends.
fn survives(config: TcpConfig, messages: usize, len_max: usize) {
    let (mut ranks, _) = job(2, config);
    let (mut keepers, mut sent) = (keepers(2), [0; 2]);
    let until = Instant::now() + Duration::from_secs(60);
    while keepers.iter().any(|keeper| keeper.received.len() < messages) {
        for me in 0..2 {
            let (rank, keeper) = (&mut ranks[me], &mut keepers[me]);
            let seed = sent[me];
            let len = (seed * 7919 + me) % len_max;
            if seed < messages && send(rank, 1 - me as Peer, seed, &mut pattern(seed, len)).is_ok() {
                sent[me] += 1;
            }
            rank.poll(keeper);
        }
        assert!(
            Instant::now() < until,
            "{sent:?} sent, {:?} came",
            keepers.iter().map(|k| k.received.len()).collect::<Vec<_>>()
        );
    }
    for (me, keeper) in keepers.iter().enumerate() {
        for (seed, message) in keeper.received.iter().enumerate() {
            let len = (seed * 7919 + 1 - me) % len_max;
            assert_eq!(message.header, header(seed));
            assert!(message.payload == pattern(seed, len), "message {seed} of {len} bytes");
        }
        assert_eq!(keeper.received.len(), messages);
    }
    assert!(ranks.iter().all(|rank| rank.mended() > 0));
}

#[test]
fn a_thousand_cuts_lose_double_and_reorder_nothing() {
    // 2 x 10,000 messages, a cut in about every twenty.
    survives(TcpConfig { cuts: 16, ..quick() }, 10_000, 300);
}

#[test]
fn cuts_within_long_messages_are_survived() {
    survives(TcpConfig { cuts: 5, checksum: Checksum::All, ..quick() }, 600, 100_000);
}

#[test]
fn an_encrypted_connection_is_made_again_under_new_keys() {
    survives(TcpConfig { cuts: 5, encrypt: true, ..quick() }, 500, 50_000);
}

/// Rank 0 owes rank 1 a message that it took after the connection had broken.
fn owing_without_connection() -> Vec<Tcp> {
    let (mut ranks, _) = job(2, TcpConfig { cuts: 1, ..TcpConfig::default() });
    let mut keepers = keepers(2);
    ranks[0].ask_for_connection(1);
    poll_until(&mut ranks, &mut keepers, |ranks, _| ranks[0].is_live(1) && ranks[1].is_live(0));
    send(&mut ranks[0], 1, 0, &mut pattern(0, 100)).unwrap();
    while ranks[0].is_live(1) {
        ranks[0].poll(&mut keepers[0]);
    }
    send(&mut ranks[0], 1, 1, &mut pattern(1, 100)).unwrap();
    ranks
}

#[test]
fn the_farewell_of_a_rank_without_connection_goes_over_the_next() {
    let mut ranks = owing_without_connection();
    let (mut other, mut keeper) = (ranks.pop().unwrap(), Keeper::default());
    let began = Instant::now();
    let goes = std::thread::spawn(move || ranks[0].close());
    while !goes.is_finished() && began.elapsed() < WELL_BEFORE_A_PEER_IS_LOST {
        other.poll(&mut keeper);
    }
    assert!(goes.is_finished(), "nobody acknowledges the last message");
    goes.join().unwrap();
    assert_eq!(keeper.received.len(), 2);
}

#[test]
fn a_peer_whose_farewell_was_lost_is_found_to_be_gone() {
    let mut ranks = owing_without_connection();
    drop(ranks.pop());
    let began = Instant::now();
    ranks[0].close();
    assert!(began.elapsed() < WELL_BEFORE_A_PEER_IS_LOST, "{:?}", began.elapsed());
    assert!(ranks[0].failure().is_none());
}

/// Whoever watches over ranks may not have known of it yet.
#[test]
fn a_peer_that_died_is_not_waited_for_as_long_as_one_that_is_away() {
    let (mut ranks, _) = job(2, TcpConfig::default());
    let mut keepers = keepers(2);
    ranks[0].ask_for_connection(1);
    poll_until(&mut ranks, &mut keepers, |ranks, _| ranks[0].is_live(1) && ranks[1].is_live(0));
    drop(ranks.pop());
    let began = Instant::now();
    poll_until(&mut ranks, &mut keepers, |ranks, _| ranks[0].failure().is_some());
    assert!(began.elapsed() >= Duration::from_secs(crate::limits::REFUSED_S), "others may know more");
    assert!(began.elapsed() < WELL_BEFORE_A_PEER_IS_LOST, "{:?}", began.elapsed());
}

/// Two connected ranks that have said goodbye, and have heard it.
fn parted_for_now(keepers: &mut [Keeper]) -> Vec<Tcp> {
    let (mut ranks, _) = job(2, quick());
    send(&mut ranks[0], 1, 0, &mut pattern(0, 100)).unwrap();
    poll_until(&mut ranks, keepers, |_, keepers| keepers[1].received.len() == 1);
    ranks.iter_mut().for_each(Tcp::say_goodbye);
    poll_until(&mut ranks, keepers, |ranks, _| {
        let goes =
            |rank: usize| ranks[rank].links[1 - rank].as_ref().is_some_and(|link| link.inbox.peer_goes());
        goes(0) && goes(1) && !ranks[0].owes_something()
    });
    ranks
}

#[test]
fn ranks_that_come_back_use_their_connection_again() {
    let mut keepers = keepers(2);
    let mut ranks = parted_for_now(&mut keepers);
    ranks.iter_mut().for_each(Tcp::come_back);
    send(&mut ranks[1], 0, 1, &mut pattern(1, 5000)).unwrap();
    poll_until(&mut ranks, &mut keepers, |_, keepers| keepers[0].received.len() == 1);
    let link = ranks[0].links[1].as_ref().unwrap();
    assert!(!link.inbox.peer_goes(), "the peer has said that it is back");
    assert_eq!(ranks[0].mended(), 0);
    // From now on a break is a fault again, which is mended.
    ranks[0].cut(1);
    send(&mut ranks[1], 0, 2, &mut pattern(2, 100)).unwrap();
    poll_until(&mut ranks, &mut keepers, |_, keepers| keepers[0].received.len() == 2);
}

#[test]
fn who_has_gone_is_not_dialed_for_what_it_sent_on_leaving() {
    let mut keepers = keepers(2);
    let mut ranks = parted_for_now(&mut keepers);
    // Credits that the library gives back, say.
    send(&mut ranks[1], 0, 1, &mut pattern(1, 100)).unwrap();
    poll_until(&mut ranks, &mut keepers, |ranks, keepers| {
        keepers[0].received.len() == 1 && !ranks[1].owes_something()
    });
    drop(ranks.pop());
    while ranks[0].is_live(1) {
        ranks[0].poll(&mut keepers[0]);
    }
    let link = ranks[0].links[1].as_ref().unwrap();
    assert!(link.has_gone() && !link.needs_upkeep());
}

#[test]
fn a_connection_that_ended_meanwhile_is_made_again_for_the_first_message() {
    let mut keepers = keepers(2);
    let mut ranks = parted_for_now(&mut keepers);
    ranks[0].cut(1);
    poll_until(&mut ranks, &mut keepers, |ranks, _| !ranks[0].is_live(1) && !ranks[1].is_live(0));
    ranks.iter_mut().for_each(Tcp::come_back);
    send(&mut ranks[0], 1, 1, &mut pattern(1, 100)).unwrap();
    poll_until(&mut ranks, &mut keepers, |_, keepers| keepers[1].received.len() == 2);
}

#[test]
fn a_socket_that_was_let_be_wakes_a_sleeper() {
    let (mut ranks, _) = job(2, quick());
    let mut keepers = keepers(2);
    for seed in 0..4 {
        send(&mut ranks[1], 0, seed, &mut pattern(seed, 8)).unwrap();
        poll_until(&mut ranks, &mut keepers, |_, keepers| keepers[0].received.len() == 2 * seed + 1);
        ranks[0].let_sockets_be();
        send(&mut ranks[1], 0, seed, &mut pattern(seed, 8)).unwrap();
        let said = ranks[0].bell().ready(Some(Duration::from_millis(20)), &mut Vec::new());
        assert!(!said, "the socket tells nobody");
        let bell = ranks[0].doorbell();
        assert!(bell.sleep(bell.arm(), Some(Duration::from_secs(10))), "it tells who sleeps");
        poll_until(&mut ranks, &mut keepers, |_, keepers| keepers[0].received.len() == 2 * seed + 2);
        ranks[0].let_sockets_be();
        // The next connection, which may have the same number, begins as any other.
        ranks[1].cut(0);
        poll_until(&mut ranks, &mut keepers, |ranks, _| ranks[1].mended() == seed as u64 + 1);
    }
}

#[test]
fn sockets_of_many_peers_are_asked_which_are_ready() {
    let (mut ranks, _) = job(4, quick());
    let mut keepers = keepers(4);
    for peer in 1..4 {
        send(&mut ranks[peer], 0, 1, &mut pattern(1, 8)).unwrap();
        poll_until(&mut ranks, &mut keepers, |_, keepers| keepers[0].received.len() == peer);
        ranks[0].let_sockets_be();
    }
    for rank in &mut ranks[1..] {
        send(rank, 0, 2, &mut pattern(2, 8)).unwrap();
    }
    poll_until(&mut ranks, &mut keepers, |_, keepers| keepers[0].received.len() == 6);
}

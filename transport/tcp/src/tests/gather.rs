//! Short messages that wait for each other, and acknowledgements that wait for a reply.

use super::*;
use crate::limits::*;
use tern_transport::{Am, Token, Transport};

/// Two ranks that have a connection.
fn connected(config: TcpConfig) -> Vec<Tcp> {
    let (mut ranks, _) = job(2, config);
    ranks[0].ask_for_connection(1);
    poll_until(&mut ranks, &mut keepers(2), |ranks, _| ranks[0].is_live(1) && ranks[1].is_live(0));
    ranks
}

/// Polls one rank until so many messages have come, or for long enough that no more will.
fn receive(rank: &mut Tcp, keeper: &mut Keeper, count: usize) -> usize {
    let until = Instant::now() + Duration::from_millis(200);
    while keeper.received.len() < count && Instant::now() < until {
        rank.poll(keeper);
    }
    keeper.received.len()
}

fn send_short(rank: &mut Tcp, seeds: std::ops::Range<usize>) {
    for seed in seeds {
        send(rank, 1, seed, &mut pattern(seed, 8)).unwrap();
    }
}

#[test]
fn the_first_two_of_many_come_without_another_call_and_the_rest_with_the_next() {
    let mut ranks = connected(quick());
    let (mut own, mut keeper) = (Keeper::default(), Keeper::default());
    send_short(&mut ranks[0], 0..30);
    let at_once = receive(&mut ranks[1], &mut keeper, 30);
    // The machine may be slow, and then more go at once.
    assert!((SENDS_AT_ONCE as usize..=30).contains(&at_once), "{at_once}");
    assert_eq!(ranks[0].has_unsent(), at_once < 30);
    ranks[0].poll(&mut own);
    assert_eq!(receive(&mut ranks[1], &mut keeper, 30), 30);
    assert!(!ranks[0].has_unsent());
    for (seed, message) in keeper.received.iter().enumerate() {
        assert_eq!((message.header, &message.payload), (header(seed), &pattern(seed, 8)));
    }
}

#[test]
fn enough_short_messages_go_without_a_poll() {
    let mut ranks = connected(quick());
    let mut keeper = Keeper::default();
    send_short(&mut ranks[0], 0..1000);
    let come = receive(&mut ranks[1], &mut keeper, 1000);
    assert!(1000 - come <= GATHER_FRAMES_MAX as usize, "{come} of 1000");
}

#[test]
fn what_waits_is_not_overtaken() {
    let mut ranks = connected(quick());
    let mut keeper = Keeper::default();
    send_short(&mut ranks[0], 0..10);
    send(&mut ranks[0], 1, 10, &mut pattern(10, 100_000)).unwrap();
    let until = Instant::now() + Duration::from_secs(10);
    while keeper.received.len() < 11 && Instant::now() < until {
        ranks[1].poll(&mut keeper);
    }
    let come: Vec<_> = keeper.received.iter().map(|message| message.header).collect();
    assert_eq!(come, (0..11).map(header).collect::<Vec<_>>());
}

#[test]
fn what_waits_survives_a_cut() {
    let mut ranks = connected(quick());
    let mut keepers = keepers(2);
    send_short(&mut ranks[0], 0..20);
    ranks[0].cut(1);
    poll_until(&mut ranks, &mut keepers, |_, keepers| keepers[1].received.len() == 20);
    for (seed, message) in keepers[1].received.iter().enumerate() {
        assert_eq!(message.header, header(seed));
    }
}

/// Sends without a copy a message and polls both until it has come. Whether its zero-copy send has ended by then.
fn send_zero_copy(ranks: &mut [Tcp], keepers: &mut [Keeper], bytes: &mut [u8]) -> bool {
    let body = conformance::buf_of(bytes);
    let am = Am { header: header(1), extended: &[], body: &body, offset: 0, len: bytes.len() };
    let (done, come) = (keepers[0].done.len(), keepers[1].received.len());
    ranks[0].send_zero_copy(1, &am, Some(Token(7))).unwrap();
    poll_until(ranks, keepers, |_, keepers| keepers[1].received.len() > come);
    let until = Instant::now() + Duration::from_millis(50);
    while keepers[0].done.len() == done && Instant::now() < until {
        ranks[0].poll(&mut keepers[0]);
    }
    keepers[0].done.len() > done
}

#[test]
fn an_acknowledgement_waits_for_the_reply_of_who_replies_and_for_nothing_else() {
    let mut ranks = connected(quick());
    let mut keepers = keepers(2);
    let mut bytes = pattern(3, 300_000);
    for _ in 0..REPLIES_TO_WAIT {
        assert!(send_zero_copy(&mut ranks, &mut keepers, &mut bytes), "nothing is known of its habits");
        send(&mut ranks[1], 0, 5, &mut pattern(5, 8)).unwrap();
    }
    assert!(!send_zero_copy(&mut ranks, &mut keepers, &mut bytes));
    assert!(ranks[1].has_unsent(), "somebody must see to it if the program computes now");
    let done = keepers[0].done.len();
    send(&mut ranks[1], 0, 5, &mut pattern(5, 8)).unwrap();
    assert!(!ranks[1].has_unsent());
    poll_until(&mut ranks[..1], &mut keepers[..1], |_, keepers| keepers[0].done.len() > done);

    assert!(!send_zero_copy(&mut ranks, &mut keepers, &mut bytes), "it replied again");
    let done = keepers[0].done.len();
    poll_until(&mut ranks, &mut keepers, |_, keepers| keepers[0].done.len() > done);
    assert!(send_zero_copy(&mut ranks, &mut keepers, &mut bytes), "it looked for something else instead");
}

#[test]
fn among_many_connections_what_waits_goes_with_the_next_poll() {
    let (mut ranks, _) = job(5, quick());
    (1..5).for_each(|peer| ranks[0].ask_for_connection(peer));
    let mut all = keepers(5);
    poll_until(&mut ranks, &mut all, |ranks, _| {
        (1..5).all(|peer| ranks[0].is_live(peer) && ranks[peer as usize].is_live(0))
    });
    const { assert!(4 > TRIED_SOCKETS_MAX) };
    send_short(&mut ranks[0], 0..30);
    ranks[0].poll(&mut all[0]);
    assert_eq!(receive(&mut ranks[1], &mut all[1], 30), 30);

    // Rank 0, which has so many, replies and is trusted to do so, and then it does not.
    let (many, one) = ranks.split_at_mut(1);
    let (its, own) = all.split_at_mut(1);
    let mut bytes = pattern(3, 300_000);
    let body = conformance::buf_of(&mut bytes);
    let am = Am { header: header(1), extended: &[], body: &body, offset: 0, len: bytes.len() };
    let until = Instant::now() + Duration::from_secs(10);
    for reply in (0..=REPLIES_TO_WAIT).map(|round| round < REPLIES_TO_WAIT) {
        let (come, done) = (its[0].received.len(), own[0].done.len());
        one[0].send_zero_copy(0, &am, Some(Token(7))).unwrap();
        while its[0].received.len() == come && Instant::now() < until {
            many[0].poll(&mut its[0]);
            one[0].poll(&mut own[0]);
        }
        if reply {
            send(&mut many[0], 1, 5, &mut pattern(5, 8)).unwrap();
        }
        while own[0].done.len() == done && Instant::now() < until {
            many[0].poll(&mut its[0]);
            one[0].poll(&mut own[0]);
        }
        assert!(own[0].done.len() > done, "its acknowledgement waits for ever");
    }
}

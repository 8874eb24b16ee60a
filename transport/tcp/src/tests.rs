//! Ranks of a job within this process, over loop-back.

use std::time::{Duration, Instant};

use super::*;
use tern_transport::conformance::{self, ConformanceWorld, Keeper, TestDirectory, header, pattern, send};
use tern_transport::{Peer, Transport};

mod faults;
mod gather;
mod parting;
mod pipe;
mod unauthenticated;

fn port_of(directory: &TestDirectory, rank: Peer) -> u16 {
    endpoint_address::EndpointAddress::parse(&directory.published(rank)).unwrap().port
}

/// What must take milliseconds and would take [`crate::limits::PEER_TIMEOUT_S`] if nobody recovered what was lost.
pub(super) const WELL_BEFORE_A_PEER_IS_LOST: Duration = Duration::from_secs(10);

const SECRET: [u8; 32] = [3; 32];

pub(super) fn quick() -> TcpConfig {
    TcpConfig { peer_timeout_s: 5, ..TcpConfig::default() }
}

pub(super) fn job(size: u32, config: TcpConfig) -> (Vec<Tcp>, TestDirectory) {
    let directory = TestDirectory::default();
    let rank = |me| Tcp::new(me, size, SECRET, directory.of(me), config).unwrap();
    ((0..size).map(rank).collect(), directory)
}

/// Polls all ranks until something is so.
pub(super) fn poll_until(
    ranks: &mut [Tcp],
    keepers: &mut [Keeper],
    mut so: impl FnMut(&[Tcp], &[Keeper]) -> bool,
) {
    let until = Instant::now() + Duration::from_secs(30);
    while !so(ranks, keepers) {
        for (rank, keeper) in ranks.iter_mut().zip(keepers.iter_mut()) {
            rank.poll(keeper);
        }
        assert!(Instant::now() < until, "it never comes to pass");
    }
}

pub(super) fn keepers(count: usize) -> Vec<Keeper> {
    (0..count).map(|_| Keeper::default()).collect()
}

struct Pair<const KIND: u8>(Vec<Tcp>, Keeper);

impl<const KIND: u8> ConformanceWorld for Pair<KIND> {
    type Transport = Tcp;
    fn new() -> Self {
        let config = match KIND {
            0 => quick(),
            1 => TcpConfig { checksum: Checksum::All, eager_bytes: 5000, ..quick() },
            _ => TcpConfig { encrypt: true, ..quick() },
        };
        let (mut ranks, _) = job(2, config);
        ranks[0].ask_for_connection(1);
        poll_until(&mut ranks, &mut keepers(2), |ranks, _| ranks[0].is_live(1) && ranks[1].is_live(0));
        Pair(ranks, Keeper::default())
    }
    fn sender(&mut self) -> (&mut Tcp, Peer) {
        (&mut self.0[0], 1)
    }
    fn receiver(&mut self) -> (&mut Tcp, Peer) {
        (&mut self.0[1], 0)
    }
    fn help(&mut self) -> bool {
        self.0[0].poll(&mut self.1);
        self.0[0].has_unwritten(1)
    }
}

mod plain {
    conformance::conformance_tests!(Pair<0>);
    use super::*;
}
mod summed {
    conformance::conformance_tests!(Pair<1>);
    use super::*;
}
mod encrypted {
    conformance::conformance_tests!(Pair<2>);
    use super::*;
}

#[test]
fn a_first_message_finds_its_way_from_either_side_or_both() {
    for (first, second) in [(true, false), (false, true), (true, true)] {
        let (mut ranks, _) = job(2, quick());
        let mut keepers = keepers(2);
        if first {
            send(&mut ranks[0], 1, 1, &mut pattern(1, 100)).unwrap();
        }
        if second {
            send(&mut ranks[1], 0, 2, &mut pattern(2, 100)).unwrap();
        }
        poll_until(&mut ranks, &mut keepers, |_, keepers| {
            keepers[0].received.len() == second.into() && keepers[1].received.len() == first.into()
        });
        if first {
            assert_eq!((keepers[1].received[0].from, keepers[1].received[0].header), (0, header(1)));
        }
    }
}

#[test]
fn many_ranks_that_all_dial_each_other_at_once_agree_on_one_connection_a_pair() {
    let (mut ranks, _) = job(6, quick());
    let mut keepers = keepers(6);
    for from in 0..6 {
        for to in (0..6).filter(|to| *to != from) {
            send(&mut ranks[from as usize], to, from as usize, &mut pattern(from as usize, 1000)).unwrap();
        }
    }
    poll_until(&mut ranks, &mut keepers, |_, keepers| {
        keepers.iter().all(|keeper| keeper.received.len() == 5)
    });
}

#[test]
fn a_zero_copy_send_ends_when_the_peer_has_it() {
    let (mut ranks, _) = job(2, quick());
    let mut keepers = keepers(2);
    let mut bytes = pattern(5, 9 << 20);
    let body = conformance::buf_of(&mut bytes);
    let (len, extended) = (3 << 20, [1u8; 9]);
    for part in 0..3 {
        let am = tern_transport::Am {
            header: header(part),
            extended: &extended,
            body: &body,
            offset: part * len,
            len,
        };
        while ranks[0].send_zero_copy(1, &am, Some(tern_transport::Token(part as u64))).is_err() {
            for (rank, keeper) in ranks.iter_mut().zip(&mut keepers) {
                rank.poll(keeper);
            }
        }
        assert!(keepers[0].done.len() <= part);
    }
    poll_until(&mut ranks, &mut keepers, |_, keepers| keepers[0].done.len() == 3);
    for (part, message) in keepers[1].received.iter().enumerate() {
        assert_eq!(message.payload[..9], extended);
        assert!(message.payload[9..] == bytes[part * len..(part + 1) * len], "part {part}");
    }
}

#[test]
fn a_rank_that_goes_leaves_nothing_behind_that_its_peer_needs() {
    let (mut ranks, _) = job(2, TcpConfig::default());
    let (began, mut keeper) = (Instant::now(), Keeper::default());
    for seed in 0..300 {
        send(&mut ranks[0], 1, seed, &mut pattern(seed, 5000)).unwrap();
    }
    let mut other = ranks.pop().unwrap();
    let goes = std::thread::spawn(move || ranks[0].close());
    let until = Instant::now() + Duration::from_secs(30);
    while keeper.received.len() < 300 || !goes.is_finished() {
        other.poll(&mut keeper);
        assert!(Instant::now() < until, "{} have come", keeper.received.len());
    }
    goes.join().unwrap();
    assert!(began.elapsed() < WELL_BEFORE_A_PEER_IS_LOST, "the last frames are acknowledged at once");
    let began = Instant::now();
    other.close();
    assert!(began.elapsed() < Duration::from_secs(1), "whoever stays last waits for nobody");
}

#[test]
fn what_was_opened_of_a_record_is_not_forgotten() {
    // Of so many peers only those are read whose socket has something.
    let (mut ranks, _) = job(5, TcpConfig { encrypt: true, ..quick() });
    let mut keepers = keepers(5);
    let mut sent = 0;
    for rank in &mut ranks[1..] {
        send(rank, 0, 0, &mut pattern(0, 100)).unwrap();
    }
    poll_until(&mut ranks, &mut keepers, |_, keepers| keepers[0].received.len() == 4);
    for burst in 0..300 {
        // A short message before long ones: the bounds of reads do not fall on those of records.
        for len in [50 + burst].into_iter().chain([980; 64]) {
            send(&mut ranks[1], 0, sent, &mut pattern(sent, len)).unwrap();
            sent += 1;
        }
        while ranks[1].has_unwritten(0) {
            ranks[1].poll(&mut keepers[1]);
        }
        poll_until(&mut ranks, &mut keepers, |_, keepers| keepers[0].received.len() == 4 + sent);
    }
}

#[test]
fn an_unreachable_peer_is_an_error_that_says_what_was_tried() {
    let (mut ranks, directory) = job(2, quick());
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let endpoint_address =
        super::endpoint_address::EndpointAddress { port: closed.port(), addresses: vec![closed.ip()] };
    directory.set(1, endpoint_address.bytes());
    send(&mut ranks[0], 1, 1, &mut pattern(1, 100)).unwrap();
    let began = Instant::now();
    let mut keeper = Keeper::default();
    while ranks[0].failure().is_none() && began.elapsed() < Duration::from_secs(20) {
        let bell = ranks[0].doorbell();
        let armed = bell.arm();
        if ranks[0].poll(&mut keeper) {
            bell.disarm();
        } else {
            bell.sleep(armed, Some(Duration::from_secs(1)));
        }
    }
    let tern_transport::Failure { peer, why } = ranks[0].failure().expect("it cannot be reached").clone();
    assert_eq!(peer, 1);
    assert!(why.contains(&closed.to_string()) && why.contains("refused"), "{why}");
    assert!(began.elapsed() < Duration::from_secs(12), "{:?}", began.elapsed());
}

#[test]
fn a_rank_with_another_secret_is_not_taken_for_the_peer() {
    let directory = TestDirectory::default();
    let mut impostor = Tcp::new(1, 2, [4; 32], directory.of(1), quick()).unwrap();
    let impostors = port_of(&directory, 1);
    let mut ranks = vec![
        Tcp::new(0, 2, SECRET, directory.of(0), quick()).unwrap(),
        Tcp::new(1, 2, SECRET, directory.of(1), quick()).unwrap(),
    ];
    // The endpoint address names the impostor's address first.
    let right = port_of(&directory, 1);
    assert_ne!(impostors, right);
    directory.set(
        1,
        super::endpoint_address::EndpointAddress {
            port: impostors,
            addresses: vec!["127.0.0.1".parse().unwrap()],
        }
        .bytes(),
    );
    send(&mut ranks[0], 1, 1, &mut pattern(1, 100)).unwrap();
    let (mut keepers, mut nobody) = (keepers(2), Keeper::default());
    for _ in 0..2000 {
        ranks[0].poll(&mut keepers[0]);
        impostor.poll(&mut nobody);
    }
    assert!(nobody.received.is_empty() && !ranks[0].is_live(1));
    // The right one dials instead, and the message is still there.
    send(&mut ranks[1], 0, 2, &mut pattern(2, 10)).unwrap();
    poll_until(&mut ranks, &mut keepers, |_, keepers| {
        keepers[0].received.len() == 1 && keepers[1].received.len() == 1
    });
}

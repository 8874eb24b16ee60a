//! Partitioned sends and receives over a network that is bad on purpose: what arrives, when, and how each side ends.

use crate::support::job::{Plan, World};
use crate::support::memory::{Memory, contents};
use crate::support::net::{Conditions, End, Net};
use crate::support::rng::Rng;
use tern_engine::partitioned::{Division, Round};
use tern_engine::wire::HeaderKind;
use tern_engine::*;
use tern_mem::UserBuf;
use tern_transport::{Limits, Peer};

const ENVELOPE: Envelope = Envelope { context: 3, source: 0, tag: 5 };
const PATTERN: Pattern = Pattern { context: 3, source: 0, tag: 5 };
const NOTHING: Limits =
    Limits { eager_bytes_max: 256, get: false, put: false, cooperative_copy: false, prefers_send: false };
const POLLS: usize = 300;

/// Rank 0 sends to rank 1.
struct Pair {
    net: Net,
    engines: [Engine<End>; 2],
}

impl Pair {
    fn new(conditions: Conditions, settings: EngineSettings, seed: u64) -> Self {
        let mut net = Net::of(2, conditions, seed);
        let engines = [0, 1].map(|rank| Engine::new(2, net.end(rank), settings.clone()));
        Pair { net, engines }
    }

    fn good() -> Self {
        Pair::new(Conditions::good(NOTHING), EngineSettings::default(), 0)
    }

    fn poll(&mut self) {
        for _ in 0..POLLS {
            self.engines.iter_mut().for_each(|engine| {
                engine.poll();
            });
        }
    }

    fn send_of(&mut self, buf: &UserBuf, partitions: u32) -> PartitionedId {
        self.net.open(0, buf);
        let what = Division { buf: buf.clone(), partitions, signature: 0 };
        self.engines[0].partitioned_send(1, ENVELOPE, what)
    }

    fn receive_of(&mut self, buf: &UserBuf, partitions: u32) -> PartitionedId {
        self.net.open(1, buf);
        let what = Division { buf: buf.clone(), partitions, signature: 0 };
        self.engines[1].partitioned_receive(0, PATTERN, 1, what)
    }

    fn buffers(
        &mut self,
        len: usize,
        partitions: [u32; 2],
    ) -> (PartitionedId, PartitionedId, UserBuf, UserBuf) {
        let (from, into) = (UserBuf::owned(len), UserBuf::owned(len));
        let (send, receive) = (self.send_of(&from, partitions[0]), self.receive_of(&into, partitions[1]));
        (send, receive, from, into)
    }

    fn start(&mut self, send: PartitionedId, receive: PartitionedId) {
        assert!(self.engines[0].start_partitioned_send(send));
        assert!(self.engines[1].start_partitioned_receive(receive));
    }

    fn ends(&mut self, send: PartitionedId, receive: PartitionedId) -> (Round, Round) {
        let sent = self.engines[0].test_partitioned_send(send);
        (sent, self.engines[1].test_partitioned_receive(receive))
    }
}

fn bytes_of(buf: &UserBuf) -> Vec<u8> {
    let mut bytes = vec![0; buf.len()];
    buf.read(0, &mut bytes);
    bytes
}

fn received(bytes: u64) -> Round {
    Round::Over(Status::of(&ENVELOPE, bytes))
}

const SENT: Round = Round::Over(Status::EMPTY);

#[test]
fn a_partition_arrives_when_its_bytes_do_and_counts_may_differ() {
    let mut pair = Pair::good();
    let (send, receive, from, into) = pair.buffers(1200, [4, 3]);
    for round in 0..3 {
        from.write(0, &contents(round, 1200));
        pair.start(send, receive);
        assert_eq!(pair.engines[0].ready(send, 1, 1, true), Ok(()));
        pair.poll();
        assert_eq!(pair.engines[1].has_arrived(receive, 0), Some(false), "a third needs 400 bytes from 0 on");
        assert_eq!(pair.engines[0].ready(send, 0, 0, true), Ok(()));
        pair.poll();
        let arrived = [0, 1, 2].map(|at| pair.engines[1].has_arrived(receive, at));
        assert_eq!(arrived, [Some(true), Some(false), Some(false)]);
        assert_eq!(pair.ends(send, receive), (Round::Pending, Round::Pending));
        assert_eq!(pair.engines[0].ready(send, 2, 3, false), Ok(()));
        pair.poll();
        assert_eq!(pair.ends(send, receive), (SENT, received(1200)));
        assert_eq!(pair.ends(send, receive), (Round::None, Round::None));
        assert_eq!(bytes_of(&into), contents(round, 1200));
        assert_eq!(pair.engines[1].has_arrived(receive, 2), Some(true), "of an inactive request all have");
        assert_eq!(pair.engines[1].has_arrived(receive, 3), None);
    }
}

#[test]
fn a_second_start_is_not_complete_before_its_partitions_are_ready() {
    let mut pair = Pair::good();
    let (send, receive, _from, _into) = pair.buffers(100, [2, 2]);
    for _ in 0..2 {
        pair.start(send, receive);
        pair.poll();
        assert_eq!(pair.ends(send, receive), (Round::Pending, Round::Pending));
        assert_eq!(pair.engines[1].has_arrived(receive, 0), Some(false));
        assert_eq!(pair.engines[0].ready_list(send, &[1, 0], false), Ok(()));
        pair.poll();
        assert_eq!(pair.ends(send, receive), (SENT, received(100)));
    }
}

#[test]
fn mistakes_with_partitions_change_nothing() {
    let mut pair = Pair::good();
    let (send, receive, _from, _into) = pair.buffers(100, [4, 4]);
    let engine = &mut pair.engines[0];
    assert_eq!(engine.ready(send, 0, 0, true), Err(ReadyError::Inactive));
    assert!(engine.start_partitioned_send(send) && !engine.start_partitioned_send(send));
    assert_eq!(engine.ready(send, 2, 4, true), Err(ReadyError::OutOfRange(4)));
    assert_eq!(engine.ready(send, 1, 1, true), Ok(()));
    assert_eq!(engine.ready(send, 0, 3, true), Err(ReadyError::Twice(1)));
    assert_eq!(engine.ready_list(send, &[0, 2, 0], true), Err(ReadyError::Twice(0)));
    assert_eq!(engine.ready_list(send, &[0, 2, 3], true), Ok(()));
    assert!(!engine.free_partitioned_send(send), "it is active");
    assert!(pair.engines[1].start_partitioned_receive(receive));
    assert!(!pair.engines[1].free_partitioned_receive(receive), "it is active");
    pair.poll();
    assert_eq!(pair.ends(send, receive), (SENT, received(100)));
    assert!(pair.engines[0].free_partitioned_send(send));
    assert!(pair.engines[1].free_partitioned_receive(receive));
}

#[test]
fn pairs_belong_together_in_the_order_of_their_inits() {
    let mut pair = Pair::good();
    let buffers = [40, 41, 42].map(|len| (UserBuf::owned(len), UserBuf::owned(len)));
    let sends = buffers.each_ref().map(|(from, _)| pair.send_of(from, 1));
    let receives = buffers.each_ref().map(|(_, into)| pair.receive_of(into, 1));
    // Starts in any order, and the first ones are freed without a start.
    assert!(pair.engines[0].free_partitioned_send(sends[0]));
    assert!(pair.engines[1].free_partitioned_receive(receives[0]));
    for at in [2, 1] {
        assert!(pair.engines[1].start_partitioned_receive(receives[at]));
    }
    for at in [1, 2] {
        assert!(pair.engines[0].start_partitioned_send(sends[at]));
        buffers[at].0.write(0, &contents(at, buffers[at].0.len()));
        assert_eq!(pair.engines[0].ready(sends[at], 0, 0, false), Ok(()));
    }
    pair.poll();
    for (at, len) in [(1, 41), (2, 42)] {
        assert_eq!(pair.ends(sends[at], receives[at]), (SENT, received(len)));
        assert_eq!(bytes_of(&buffers[at].1), contents(at, len as usize));
    }
}

#[test]
fn whoever_waits_for_a_freed_partner_is_told() {
    let freed = Some(MessageFault::PartnerFreed);
    let fault = |round| if let Round::Over(status) = round { status.fault } else { None };
    for early in [true, false] {
        let mut pair = Pair::good();
        let (send, receive, _from, _into) = pair.buffers(100, [4, 4]);
        if early {
            assert!(pair.engines[1].start_partitioned_receive(receive));
            pair.poll();
        }
        assert!(pair.engines[0].free_partitioned_send(send));
        pair.poll();
        assert!(early || pair.engines[1].start_partitioned_receive(receive));
        assert_eq!(fault(pair.engines[1].test_partitioned_receive(receive)), freed);
    }
    let mut pair = Pair::good();
    let (send, receive, _from, _into) = pair.buffers(100, [4, 4]);
    pair.start(send, receive);
    assert_eq!(pair.engines[0].ready(send, 0, 3, true), Ok(()));
    pair.poll();
    assert_eq!(pair.ends(send, receive), (SENT, received(100)));
    assert!(pair.engines[0].start_partitioned_send(send));
    assert!(pair.engines[1].free_partitioned_receive(receive));
    pair.poll();
    assert_eq!(fault(pair.engines[0].test_partitioned_send(send)), freed);
}

#[test]
fn a_send_that_is_too_long_is_cut_and_one_that_is_short_is_whole() {
    let mut pair = Pair::good();
    for (len, room) in [(1000, 900), (900, 1000), (40, 0), (0, 40)] {
        let (from, into) = (UserBuf::owned(len), UserBuf::owned(room));
        from.write(0, &contents(len, len));
        let (send, receive) = (pair.send_of(&from, 2), pair.receive_of(&into, 2));
        pair.start(send, receive);
        assert_eq!(pair.engines[0].ready(send, 0, 1, false), Ok(()));
        pair.poll();
        let (sent, got) = pair.ends(send, receive);
        assert_eq!(sent, SENT);
        let Round::Over(status) = got else { panic!("{len} bytes into {room} go on") };
        let cut = MessageFault::Truncated { sent: len as u64, room: room as u64 };
        assert_eq!(status.fault, (len > room).then_some(cut));
        assert_eq!(status.bytes, len.min(room) as u64);
        assert_eq!(bytes_of(&into)[..len.min(room)], contents(len, len)[..len.min(room)]);
    }
}

#[test]
fn a_round_without_bytes_ends_after_all_are_ready() {
    for partitions in [0, 2] {
        let mut pair = Pair::good();
        let (send, receive, _from, _into) = pair.buffers(0, [partitions; 2]);
        for _ in 0..2 {
            assert!(pair.engines[1].start_partitioned_receive(receive));
            pair.poll();
            assert_eq!(pair.engines[1].test_partitioned_receive(receive), Round::Pending);
            assert!(pair.engines[0].start_partitioned_send(send));
            if partitions > 0 {
                assert_eq!(pair.engines[0].ready(send, 0, partitions - 1, false), Ok(()));
            }
            pair.poll();
            assert_eq!(pair.ends(send, receive), (SENT, received(0)));
        }
    }
}

#[test]
fn small_partitions_leave_together_and_the_wire_has_no_more_than_a_run() {
    let mut pair = Pair::good();
    let (send, receive, _from, _into) = pair.buffers(256, [16, 16]);
    pair.start(send, receive);
    pair.poll();
    pair.net.sent();
    for at in (0..16).rev() {
        assert_eq!(pair.engines[0].ready(send, at, at, false), Ok(()));
    }
    pair.poll();
    assert_eq!(pair.net.sent(), [(0 as Peer, HeaderKind::Partition)]);
    assert_eq!(pair.ends(send, receive), (SENT, received(256)));
}

/// Each side copies a half; what the kernel refuses goes otherwise, and is not tried again.
#[test]
fn both_halves_of_a_run_arrive_whatever_becomes_of_their_copies() {
    let limits =
        Limits { eager_bytes_max: 4096, get: true, put: true, cooperative_copy: true, prefers_send: false };
    let len = 3 << 14;
    for (seed, transfers_max) in [0, 1, 2, 3, 4, usize::MAX].into_iter().cycle().take(60).enumerate() {
        let conditions = Conditions { slow: seed % 2 != 0, transfers_max, ..Conditions::good(limits) };
        let mut pair = Pair::new(conditions, EngineSettings::default(), seed as u64);
        let (send, receive, from, into) = pair.buffers(len, [16, 4]);
        for round in 0..4 {
            from.write(0, &contents(round, len));
            pair.start(send, receive);
            pair.poll();
            pair.net.sent();
            assert_eq!(pair.engines[0].ready(send, 0, 15, false), Ok(()));
            for _ in 0..20 {
                pair.poll();
            }
            assert_eq!(
                pair.ends(send, receive),
                (SENT, received(len as u64)),
                "{transfers_max}, round {round}"
            );
            assert_eq!(bytes_of(&into), contents(round, len), "{transfers_max}, round {round}");
            let puts = pair.net.sent().iter().any(|&(_, kind)| kind == HeaderKind::PartitionPut);
            assert!(puts || transfers_max < 10, "no half was put");
            assert!(!puts || transfers_max > 0, "a half was put that was refused");
        }
    }
}

/// Any divisions, buffers, orders and networks; a failure is a seed.
#[test]
fn whatever_becomes_ready_arrives_in_its_place() {
    for seed in 0..600 {
        random_rounds(seed);
    }
}

fn random_rounds(seed: u64) {
    let plan = Plan::random(seed);
    let mut rng = Rng::new(seed ^ 77);
    let mut conditions = plan.conditions;
    // Here a cooperative copy that the sender never joins is copied by the receiver.
    conditions.shares_fail = false;
    let mut pair = Pair::new(conditions, plan.settings, seed);
    let counts = [rng.pick(&[1, 2, 3, 7, 64, 100]), rng.pick(&[1, 2, 5, 64, 90])];
    let len = counts[0] as usize * counts[1] as usize * rng.pick(&[1, 1, 3, 16]);
    let (from, into) = (Memory::random(&mut rng, len), Memory::random(&mut rng, len));
    let (send, receive) = match rng.chance(50) {
        true => {
            let send = pair.send_of(from.buf(), counts[0]);
            (send, pair.receive_of(into.buf(), counts[1]))
        }
        false => {
            let receive = pair.receive_of(into.buf(), counts[1]);
            assert!(pair.engines[1].start_partitioned_receive(receive));
            pair.poll();
            (pair.send_of(from.buf(), counts[0]), receive)
        }
    };
    for round in 0..3 {
        let bytes = contents(seed as usize + round, len);
        from.buf().write(0, &bytes);
        assert!(pair.engines[0].start_partitioned_send(send), "seed {seed}");
        let late = rng.chance(30);
        if !late {
            pair.engines[1].start_partitioned_receive(receive);
        }
        let mut order: Vec<u32> = (0..counts[0]).collect();
        for at in (1..order.len()).rev() {
            order.swap(at, rng.below(at + 1));
        }
        for (at, &partition) in order.iter().enumerate() {
            let hurry = rng.chance(30);
            assert_eq!(pair.engines[0].ready(send, partition, partition, hurry), Ok(()), "seed {seed}");
            if rng.chance(30) {
                pair.engines[rng.below(2)].poll();
            }
            let over = pair.engines[1].peek_partitioned_receive(receive);
            assert!(at + 1 == order.len() || over == Round::Pending || late, "seed {seed}: over too soon");
        }
        if late {
            pair.engines[1].start_partitioned_receive(receive);
        }
        // A slow network takes a message a poll, and a refused transfer many.
        for _ in 0..40 {
            pair.poll();
        }
        let Round::Over(status) = pair.engines[1].test_partitioned_receive(receive) else {
            panic!("seed {seed}: round {round} goes on: {:?}", pair.engines[1].arrived_partitions(receive))
        };
        assert_eq!((status.fault, status.bytes), (None, len as u64), "seed {seed}");
        assert_eq!(pair.engines[0].test_partitioned_send(send), SENT, "seed {seed}");
        assert!(into.bytes() == bytes, "seed {seed}: wrong bytes in round {round}");
        assert!(from.gaps_are_whole() && into.gaps_are_whole(), "seed {seed}");
    }
    assert!(pair.engines[0].free_partitioned_send(send) && pair.engines[1].free_partitioned_receive(receive));
    pair.poll();
    let left = pair.engines.each_ref().map(|engine| engine.object_counts());
    assert_eq!(left, [ObjectCounts::default(); 2], "seed {seed}");
}

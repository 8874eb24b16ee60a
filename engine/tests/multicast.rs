//! Multicasts: to receivers messages like any other, to their sender one message that costs credits of all.

use crate::support::job::World;
use crate::support::memory::contents;
use crate::support::net::{Conditions, End, Net};
use tern_engine::*;
use tern_mem::UserBuf;
use tern_transport::{Limits, MulticastGroup, Peer};

const RANKS: usize = 4;
const LIMITS: Limits =
    Limits { eager_bytes_max: 256, get: false, put: false, cooperative_copy: false, prefers_send: false };

fn envelope(tag: i32) -> Envelope {
    Envelope { context: 3, source: 0, tag }
}

fn pattern(tag: i32) -> Pattern {
    Pattern { context: 3, source: 0, tag }
}

/// Rank 0 multicasts to the others.
struct Group {
    net: Net,
    engines: Vec<Engine<End>>,
    group: MulticastGroup,
}

impl Group {
    fn new(conditions: Conditions, credit_bytes: usize) -> Self {
        let mut net = Net::of(RANKS, conditions, 7);
        let settings = EngineSettings { credit_bytes, ..EngineSettings::default() };
        let mut engines: Vec<_> = (0..RANKS as Peer)
            .map(|rank| Engine::new(RANKS as u32, net.end(rank), settings.clone()))
            .collect();
        let group = engines[0].multicast_group(&[0, 1, 2, 3]).expect("this network can multicast");
        Group { net, engines, group }
    }

    fn multicast(&mut self, to: &[Peer], tag: i32, buf: &UserBuf) -> StartedMessage {
        self.engines[0].multicast(&self.group, to, envelope(tag), buf, 0)
    }

    fn receive(&mut self, rank: Peer, tag: i32, len: usize) -> (UserBuf, StartedMessage) {
        let buf = UserBuf::owned(len);
        let started = self.engines[rank as usize].receive(pattern(tag), &buf, 0);
        (buf, started)
    }

    fn poll(&mut self, ranks: &[usize]) {
        for _ in 0..200 {
            ranks.iter().for_each(|rank| {
                self.engines[*rank].poll();
            });
        }
    }

    fn ended(&mut self, rank: Peer, started: &StartedMessage) -> Option<Status> {
        match *started {
            StartedMessage::Done(status) => Some(status),
            StartedMessage::Pending(id) => self.engines[rank as usize].test(id),
        }
    }

    /// Whether a receive has ended with the right bytes.
    fn has(&mut self, rank: Peer, (buf, started): &(UserBuf, StartedMessage), seed: usize) -> bool {
        let Some(status) = self.ended(rank, started) else { return false };
        let mut bytes = vec![0; buf.len()];
        buf.read(0, &mut bytes);
        assert_eq!((status.fault, status.bytes, status.source), (None, buf.len() as u64, 0));
        bytes == contents(seed, buf.len())
    }
}

fn message(len: usize, seed: usize) -> UserBuf {
    let buf = UserBuf::owned(len);
    buf.write(0, &contents(seed, len));
    buf
}

#[test]
fn a_multicast_is_one_message_and_reaches_those_it_is_for() {
    for slow in [false, true] {
        for len in [0, 8, 40, 41, 5000] {
            let mut group = Group::new(Conditions { slow, ..Conditions::good(LIMITS) }, 2 << 20);
            let posted = group.receive(1, 5, len);
            let sent = group.multicast(&[1, 3], 5, &message(len, 9));
            group.poll(&[0, 1, 2, 3]);
            assert_eq!(group.ended(0, &sent), Some(Status::EMPTY));
            let late = group.receive(3, 5, len);
            group.poll(&[0, 1, 2, 3]);
            assert!(group.has(1, &posted, 9) && group.has(3, &late, 9), "{len} bytes");
            assert_eq!(group.net.sent().len(), 1, "{len} bytes");
            assert!(group.engines[2].is_idle());
        }
    }
}

/// `TERN_CHECK=types`: a signature goes with a multicast however long that is, to ranks that wait and to those that do not.
#[test]
fn a_multicast_carries_its_type() {
    for (piecewise, len) in
        [false, true].into_iter().flat_map(|way| [8, 32, 33, 48, 5000].map(|len| (way, len)))
    {
        let mut group = Group::new(Conditions { piecewise, ..Conditions::good(LIMITS) }, 2 << 20);
        let receive = |group: &mut Group, rank: Peer, signature| {
            let buf = UserBuf::owned(len);
            let started = group.engines[rank as usize].receive(pattern(5), &buf, signature);
            (buf, started)
        };
        let [waits, other] = [(1, 1), (2, 7)].map(|(rank, theirs)| receive(&mut group, rank, theirs));
        let sent = group.engines[0].multicast(&group.group, &[1, 2, 3], envelope(5), &message(len, 9), 1);
        group.poll(&[0, 1, 2, 3]);
        assert_eq!(group.ended(0, &sent), Some(Status::EMPTY));
        let probed = group.engines[3].probe(&pattern(5)).map(|probed| probed.bytes);
        assert_eq!(probed, Some(len as u64), "{len} bytes");
        let late = receive(&mut group, 3, 1);
        group.poll(&[0, 1, 2, 3]);
        assert!(group.has(1, &waits, 9) && group.has(3, &late, 9), "{len} bytes");
        let fault = group.ended(2, &other.1).and_then(|status| status.fault);
        assert!(
            matches!(fault, Some(MessageFault::Signature { theirs: 1, ours: 7 })),
            "{len} bytes: {fault:?}"
        );
        assert!((1..4).all(|rank| group.engines[rank].is_idle()));
    }
}

#[test]
fn without_credits_it_waits_and_holds_up_only_what_goes_to_the_same_ranks() {
    let mut group = Group::new(Conditions::good(LIMITS), 4096);
    let len = group.engines[0].multicast_bytes_max();
    let sends: Vec<_> =
        (0..3).map(|tag| group.multicast(&[1, 2], tag, &message(len, tag as usize))).collect();
    let other = group.multicast(&[3], 9, &message(len, 9));
    group.poll(&[0, 1, 2, 3]);
    let ended: Vec<_> = sends.iter().map(|sent| group.ended(0, sent).is_some()).collect();
    assert_eq!(ended, [true, true, false], "two fit into what a receiver grants");
    assert!(group.ended(0, &other).is_some() && group.engines[0].has_unsent());
    // Both have to make room: a multicast goes to all or to none.
    for rank in [1, 2] {
        let early = [0, 1].map(|tag| group.receive(rank, tag, len));
        group.poll(&[0, 1, 2, 3]);
        assert!(group.has(rank, &early[0], 0) && group.has(rank, &early[1], 1));
        assert_eq!(group.engines[0].has_unsent(), rank == 1);
    }
    for rank in [1, 2] {
        let last = group.receive(rank, 2, len);
        group.poll(&[0, 1, 2, 3]);
        assert!(group.has(rank, &last, 2));
    }
    assert!(group.ended(0, &sends[2]).is_some());
}

#[test]
fn a_full_network_makes_it_wait_in_order() {
    let conditions = Conditions { queue_max: 1, slow: true, ..Conditions::good(LIMITS) };
    let mut group = Group::new(conditions, 2 << 20);
    let sends: Vec<_> = (0..20).map(|seed| group.multicast(&[1, 2, 3], 5, &message(100, seed))).collect();
    for rank in [1, 2, 3] {
        // The same tag, so only their order tells them apart.
        let receives: Vec<_> = (0..20).map(|_| group.receive(rank, 5, 100)).collect();
        group.poll(&[0, 1, 2, 3]);
        for (seed, receive) in receives.iter().enumerate() {
            assert!(rank < 3 || group.has(rank, receive, seed), "rank {rank}, message {seed}");
        }
    }
    assert!(sends.iter().all(|sent| group.ended(0, sent).is_some()) && !group.engines[0].has_unsent());
}

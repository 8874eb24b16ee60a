//! Blocking receives, which take their message without a request where it is the next to arrive: in order nevertheless.

use crate::support::job::World;
use crate::support::memory::{Memory, contents};
use crate::support::net::{Conditions, End, Net};
use crate::support::rng::Rng;
use tern_engine::*;
use tern_mem::UserBuf;
use tern_transport::Limits;

const LIMITS: Limits =
    Limits { eager_bytes_max: 256, get: false, put: false, cooperative_copy: false, prefers_send: false };
const LEN_MAX: usize = 600;
const MESSAGES: usize = 40;

/// A message of rank 0 to rank 1.
#[derive(Clone, Copy, Debug)]
struct Message {
    number: usize,
    tag: i32,
    len: usize,
}

struct Pair {
    rng: Rng,
    engines: [Engine<End>; 2],
    /// What was sent and not received.
    sent: Vec<Message>,
    /// Receives that needed no request.
    at_once: usize,
    /// Those that looked for their message alone.
    taken: usize,
}

impl Pair {
    fn new(seed: u64) -> Self {
        let mut net = Net::of(2, Conditions::good(LIMITS), seed);
        let engines = [0, 1].map(|rank| Engine::new(2, net.end(rank), EngineSettings::default()));
        Pair { rng: Rng::new(seed), engines, sent: Vec::new(), at_once: 0, taken: 0 }
    }

    fn send(&mut self, number: usize) {
        let len = self.rng.pick(&[0, 8, 8, 40, 41, 200, LEN_MAX]);
        let tag = self.rng.below(2) as i32;
        self.sent.push(Message { number, tag, len });
        let memory = Memory::contiguous(len);
        memory.buf().write(0, &contents(number, len));
        let envelope = Envelope { context: 3, source: 0, tag };
        let engine = &mut self.engines[0];
        let sent_short = match self.rng.below(10) {
            0..2 => engine.send_short::<false>(1, envelope, memory.as_contiguous()),
            2..4 => engine.send_short::<true>(1, envelope, memory.as_contiguous()),
            _ => false,
        };
        if sent_short {
            assert!(len <= 40, "short messages alone");
            return;
        }
        let buf = UserBuf::owned(len);
        buf.write(0, &contents(number, len));
        let mode = self.rng.pick(&[Mode::Standard, Mode::Standard, Mode::Standard, Mode::Synchronous]);
        let started = self.engines[0].send(mode, 1, envelope, &buf, 0);
        if let StartedMessage::Pending(id) = started {
            self.engines[0].detach(id);
        }
    }

    /// As `MPI_Recv` does it.
    fn receive(&mut self, pattern: Pattern, memory: &Memory) -> Status {
        let buf = memory.buf();
        if self.rng.chance(50)
            && let Some((envelope, bytes)) =
                self.engines[1].take_next::<false>(0, pattern, memory.as_contiguous())
        {
            self.taken += 1;
            return Status::of(&envelope, bytes as u64);
        }
        let polls_max = self.rng.pick(&[1, 1, 2, 50]);
        let next = self.engines[1].receive_next(pattern, buf, polls_max);
        self.at_once += usize::from(matches!(next, Some(StartedMessage::Done(_))));
        match next.unwrap_or_else(|| self.engines[1].receive(pattern, buf, 0)) {
            StartedMessage::Done(status) => status,
            StartedMessage::Pending(id) => loop {
                self.engines.iter_mut().for_each(|engine| {
                    engine.poll();
                });
                if let Some(status) = self.engines[1].test(id) {
                    break status;
                }
            },
        }
    }

    /// Receives with some pattern that a message fits: it must be the first such one.
    fn check_receive(&mut self) {
        let some = self.sent[self.rng.below(self.sent.len())];
        let tag = if self.rng.chance(30) { ANY_TAG } else { some.tag };
        let source = if self.rng.chance(30) { ANY_SOURCE } else { 0 };
        let first = self.sent.iter().position(|message| tag == ANY_TAG || message.tag == tag);
        let message = self.sent.remove(first.expect("one fits"));
        let memory = Memory::contiguous(LEN_MAX);
        let status = self.receive(Pattern { context: 3, source, tag }, &memory);
        let envelope = Envelope { context: 3, source: 0, tag: message.tag };
        assert_eq!(status, Status::of(&envelope, message.len as u64), "{message:?}");
        assert!(memory.bytes()[..message.len] == contents(message.number, message.len), "{message:?}");
    }
}

#[test]
fn blocking_receives_keep_the_order_of_messages() {
    let (mut at_once, mut taken) = (0, 0);
    for seed in 0..300 {
        let mut pair = Pair::new(seed);
        for number in 0..MESSAGES {
            pair.send(number);
            if pair.rng.chance(40) {
                pair.check_receive();
            }
        }
        while !pair.sent.is_empty() {
            pair.check_receive();
        }
        assert_eq!(pair.engines[1].object_counts(), ObjectCounts::default());
        at_once += pair.at_once;
        taken += pair.taken;
    }
    assert!(at_once > 100, "only {at_once} receives needed no request");
    assert!(taken > 100, "only {taken} receives looked for their message alone");
}

#[test]
fn a_receive_polls_as_often_as_it_may_until_something_comes() {
    let (pattern, envelope) =
        (Pattern { context: 3, source: 0, tag: 0 }, Envelope { context: 3, source: 0, tag: 0 });
    let memory = Memory::contiguous(8);
    for (polls_max, comes, polls) in [(0, false, 1), (1, false, 1), (7, false, 7), (7, true, 1)] {
        let mut net = Net::of(2, Conditions::good(LIMITS), 0);
        let mut engines = [0, 1].map(|rank| Engine::new(2, net.end(rank), EngineSettings::default()));
        if comes {
            engines[0].send(Mode::Standard, 1, envelope, &UserBuf::owned(8), 0);
        }
        net.polls();
        let started = engines[1].receive_next(pattern, memory.buf(), polls_max);
        assert_eq!(
            (matches!(started, Some(StartedMessage::Done(_))), net.polls()),
            (comes, polls),
            "of {polls_max}"
        );
    }
}

#[test]
fn a_message_that_is_too_long_goes_the_usual_way() {
    let mut pair = Pair::new(0);
    let envelope = Envelope { context: 3, source: 0, tag: 0 };
    let sent = pair.engines[0].send(Mode::Standard, 1, envelope, &UserBuf::owned(8), 0);
    assert!(matches!(sent, StartedMessage::Done(_)));
    let status = pair.receive(Pattern { context: 3, source: 0, tag: 0 }, &Memory::contiguous(4));
    assert_eq!((pair.at_once, status.fault), (0, Some(MessageFault::Truncated { sent: 8, room: 4 })));
}

#[test]
fn a_receive_that_was_posted_comes_first() {
    let mut pair = Pair::new(0);
    let (pattern, envelope) = (plain(0), Envelope { context: 3, source: 0, tag: 0 });
    let (memory, other) = (Memory::contiguous(8), Memory::contiguous(8));
    let StartedMessage::Pending(posted) = pair.engines[1].receive(pattern, memory.buf(), 0) else {
        panic!("nothing was sent")
    };
    pair.engines[0].send(Mode::Standard, 1, envelope, &UserBuf::owned(8), 0);
    let Some(StartedMessage::Pending(own)) = pair.engines[1].receive_next(pattern, other.buf(), 1) else {
        panic!("the message is for the receive that was posted")
    };
    assert!(pair.engines[1].test(posted).is_some() && pair.engines[1].test(own).is_none());
    pair.engines[0].send(Mode::Standard, 1, envelope, &UserBuf::owned(8), 0);
    pair.engines[1].poll();
    assert!(pair.engines[1].test(own).is_some());
}

#[test]
fn what_others_have_sent_is_looked_at_now_and_then() {
    let (memory, envelope) = (Memory::contiguous(8), Envelope { context: 3, source: 0, tag: 0 });
    let mut net = Net::of(2, Conditions::good(LIMITS), 0);
    let mut engines = [0, 1].map(|rank| Engine::new(2, net.end(rank), EngineSettings::default()));
    let mut refused = 0;
    for _ in 0..1000 {
        assert_eq!(
            engines[0].send(Mode::Standard, 1, envelope, &UserBuf::owned(8), 0),
            StartedMessage::Done(Status::EMPTY)
        );
        if engines[1].take_next::<false>(0, plain(0), memory.as_contiguous()).is_none() {
            refused += 1;
            assert!(engines[1].receive_next(plain(0), memory.buf(), 1).is_some());
        }
        engines[0].poll();
    }
    assert!((1000 / 32..500).contains(&refused), "{refused} receives of 1000 polled");
}

#[test]
fn a_receive_takes_its_message_alone_only_where_nothing_else_waits() {
    let (memory, envelope) = (Memory::contiguous(8), Envelope { context: 3, source: 0, tag: 0 });
    let mut pair = Pair::new(0);
    let send = |pair: &mut Pair, tag| {
        pair.engines[0].send(Mode::Standard, 1, Envelope { tag, ..envelope }, &UserBuf::owned(8), 0);
    };
    let take = |pair: &mut Pair, tag| {
        (0..100).find_map(|_| pair.engines[1].take_next::<false>(0, plain(tag), memory.as_contiguous()))
    };
    send(&mut pair, 1);
    assert_eq!(take(&mut pair, 0), None, "the next message is another's");
    assert_eq!(take(&mut pair, 1).map(|(envelope, bytes)| (envelope.tag, bytes)), Some((1, 8)));
    pair.engines[1].receive(plain(2), memory.buf(), 0);
    send(&mut pair, 0);
    assert_eq!(take(&mut pair, 0), None, "a receive is posted");
}

/// A few, which are searched one by one, and many, which are not.
#[test]
fn receives_and_messages_for_others_are_passed_by() {
    for others in [1, 100] {
        let mut pair = Pair::new(0);
        let memory = Memory::contiguous(8);
        for tag in 1..=others {
            pair.engines[1].receive(plain(tag), memory.buf(), 0);
            let early = Envelope { context: 3, source: 0, tag: 1000 + tag };
            pair.engines[0].send(Mode::Standard, 1, early, &UserBuf::owned(8), 0);
        }
        for _ in 0..others {
            pair.engines[1].poll();
        }
        let envelope = Envelope { context: 3, source: 0, tag: 0 };
        pair.engines[0].send(Mode::Standard, 1, envelope, &UserBuf::owned(8), 0);
        let next = pair.engines[1].receive_next(plain(0), memory.buf(), 1);
        assert_eq!(next, Some(StartedMessage::Done(Status::of(&envelope, 8))), "{others} others");
        assert_eq!(pair.engines[1].receive_next(plain(1001), memory.buf(), 1), None, "it has come already");
    }
}

fn plain(tag: i32) -> Pattern {
    Pattern { context: 3, source: 0, tag }
}

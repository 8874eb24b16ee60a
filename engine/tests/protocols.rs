//! One message at a time: what each protocol puts on the wire, and how it ends when something is refused.

use std::sync::Arc;

use crate::support::job::World;
use crate::support::memory::contents;
use crate::support::net::{Conditions, End, Net};
use tern_engine::wire::HeaderKind::{self, *};
use tern_engine::*;
use tern_mem::UserBuf;
use tern_transport::{Am, Doorbell, Full, Limits, Peer, Sink, Token, TransferError, Transport};

const EAGER_BYTES: usize = 256;
const NOTHING: Limits = Limits {
    eager_bytes_max: EAGER_BYTES,
    get: false,
    put: false,
    cooperative_copy: false,
    prefers_send: false,
};
const ENVELOPE: Envelope = Envelope { context: 3, source: 0, tag: 5 };
const PATTERN: Pattern = Pattern { context: 3, source: 0, tag: 5 };

/// Two ranks; 0 sends to 1.
struct Pair {
    net: Net,
    engines: [Engine<End>; 2],
}

impl Pair {
    fn new(conditions: Conditions, settings: EngineSettings) -> Self {
        let mut net = Net::of(2, conditions, 0);
        let engines = [0, 1].map(|rank| Engine::new(2, net.end(rank), settings.clone()));
        Pair { net, engines }
    }

    fn poll(&mut self) {
        for _ in 0..50 {
            self.engines.iter_mut().for_each(|engine| {
                engine.poll();
            });
        }
    }

    fn buffer(&self, rank: Peer, len: usize) -> UserBuf {
        let buf = UserBuf::owned(len);
        self.net.open(rank, &buf);
        buf
    }

    /// Moves one message whose receive is there (or not) when it is sent; how the receive ended, and the wire's story.
    fn message(&mut self, mode: Mode, len: usize, posted: bool) -> (Status, Vec<(Peer, HeaderKind)>) {
        let (from, into) = (self.buffer(0, len), self.buffer(1, len));
        from.write(0, &contents(9, len));
        let early = posted.then(|| self.engines[1].receive(PATTERN, &into, 0));
        let sent = self.engines[0].send(mode, 1, ENVELOPE, &from, 0);
        self.poll();
        let received = early.unwrap_or_else(|| self.engines[1].receive(PATTERN, &into, 0));
        self.poll();
        assert_eq!(self.end(0, sent), Status::EMPTY);
        let status = self.end(1, received);
        let mut bytes = vec![0; len];
        into.read(0, &mut bytes);
        assert!(status.fault.is_some() || bytes == contents(9, len));
        (status, self.net.sent())
    }

    fn end(&mut self, rank: usize, started: StartedMessage) -> Status {
        match started {
            StartedMessage::Done(status) => status,
            StartedMessage::Pending(id) => self.engines[rank].test(id).expect("it has ended"),
        }
    }
}

fn story(limits: Limits, mode: Mode, len: usize) -> Vec<(Peer, HeaderKind)> {
    let settings = EngineSettings { cooperative_bytes_min: 1000, ..EngineSettings::default() };
    let stories = [true, false].map(|posted| {
        let mut pair = Pair::new(Conditions::good(limits), settings.clone());
        let (status, story) = pair.message(mode, len, posted);
        assert_eq!(status, Status::of(&ENVELOPE, len as u64));
        story
    });
    assert_eq!(stories[0], stories[1], "the wire looks the same whether the receive comes first or last");
    stories.into_iter().next().expect("two stories")
}

#[test]
fn each_protocol_sends_what_its_row_says() {
    assert_eq!(story(NOTHING, Mode::Standard, 40), [(0, Eager)], "short");
    assert_eq!(story(NOTHING, Mode::Standard, EAGER_BYTES), [(0, Eager)], "eager");
    assert_eq!(story(NOTHING, Mode::Synchronous, 32), [(0, EagerSync), (1, Ack)], "short-sync");
    let get = Limits { get: true, ..NOTHING };
    assert_eq!(story(get, Mode::Standard, 257), [(0, Offer), (1, Got)], "rendezvous-get");
    assert_eq!(story(get, Mode::Synchronous, 33), [(0, Offer), (1, Got)], "rendezvous-get, synchronous");
    let put = Limits { put: true, ..NOTHING };
    assert_eq!(story(put, Mode::Standard, 257), [(0, Offer), (1, Ready), (0, Put)], "rendezvous-put");
    let cooperative = Limits { cooperative_copy: true, ..get };
    assert_eq!(story(cooperative, Mode::Standard, 1000), [(0, Offer), (1, Ready)], "rendezvous-cooperative");
    let fragments = [(0, Fragment), (0, Fragment), (0, Fragment)];
    assert_eq!(story(NOTHING, Mode::Standard, 700)[..2], [(0, Offer), (1, Ready)], "rendezvous-stream");
    assert_eq!(story(NOTHING, Mode::Standard, 700)[2..], fragments);
}

/// A transport that finds at its first message without a copy that it cannot send any so.
struct Disappointing {
    inner: End,
    zero_copy_bytes: usize,
}

impl Transport for Disappointing {
    fn limits(&mut self, peer: Peer) -> Limits {
        self.inner.limits(peer)
    }
    fn send(&mut self, peer: Peer, am: &Am<'_>) -> Result<(), Full> {
        self.inner.send(peer, am)
    }
    fn zero_copy_eager_bytes_max(&mut self, _: Peer) -> usize {
        self.zero_copy_bytes
    }
    fn send_zero_copy(&mut self, _: Peer, _: &Am<'_>, _: Option<Token>) -> Result<(), Full> {
        assert!(self.zero_copy_bytes > 0, "it is asked again");
        self.zero_copy_bytes = 0;
        Err(Full)
    }
    fn poll(&mut self, sink: &mut impl Sink) -> bool {
        self.inner.poll(sink)
    }
    fn doorbell(&self) -> Arc<dyn Doorbell> {
        self.inner.doorbell()
    }
}

#[test]
fn a_message_that_cannot_go_without_a_copy_after_all_is_offered() {
    let mut net = Net::of(2, Conditions::good(NOTHING), 0);
    // Its credits just suffice, so a second message shows that the first has given them back.
    let settings = EngineSettings { credit_bytes: 2 * 64 * 17, ..EngineSettings::default() };
    let mut engines = [0, 1].map(|rank| {
        let inner = net.end(rank);
        Engine::new(2, Disappointing { inner, zero_copy_bytes: 2000 }, settings.clone())
    });
    for (len, first) in [(2000, Offer), (200, Eager)] {
        let (from, into) = (UserBuf::owned(len), UserBuf::owned(len));
        [&from, &into].into_iter().zip(0..).for_each(|(buf, rank)| net.open(rank, buf));
        from.write(0, &contents(9, len));
        let received = engines[1].receive(PATTERN, &into, 0);
        let sent = engines[0].send(Mode::Standard, 1, ENVELOPE, &from, 0);
        for _ in 0..50 {
            engines.iter_mut().for_each(|engine| {
                engine.poll();
            });
        }
        let mut end = |rank: usize, started| match started {
            StartedMessage::Done(status) => Some(status),
            StartedMessage::Pending(id) => engines[rank].test(id),
        };
        assert_eq!(end(0, sent), Some(Status::EMPTY));
        assert_eq!(end(1, received), Some(Status::of(&ENVELOPE, len as u64)));
        let mut bytes = vec![0; len];
        into.read(0, &mut bytes);
        assert_eq!(bytes, contents(9, len));
        assert_eq!(net.sent()[0], (0, first));
    }
}

#[test]
fn an_empty_message_is_a_whole_message() {
    assert_eq!(story(NOTHING, Mode::Standard, 0), [(0, Eager)]);
    assert_eq!(story(NOTHING, Mode::Synchronous, 0), [(0, EagerSync), (1, Ack)]);
}

#[test]
fn a_low_eager_limit_does_not_make_fragments_small() {
    let settings = EngineSettings { eager_bytes_max: 0, ..EngineSettings::default() };
    let mut pair = Pair::new(Conditions::good(NOTHING), settings);
    let (_, story) = pair.message(Mode::Standard, EAGER_BYTES, true);
    assert_eq!(story, [(0, Offer), (1, Ready), (0, Fragment)]);
}

#[test]
fn a_ready_message_without_a_receive_is_a_fault_at_any_size() {
    for len in [0, 40, 200, 1000] {
        let mut pair = Pair::new(Conditions::good(NOTHING), EngineSettings::default());
        assert_eq!(pair.message(Mode::Ready, len, true).0.fault, None);
        assert_eq!(
            pair.message(Mode::Ready, len, false).0.fault,
            Some(MessageFault::NotReady),
            "{len} bytes"
        );
    }
}

#[test]
fn what_is_refused_goes_as_fragments_and_is_not_tried_again() {
    for limits in [Limits { get: true, ..NOTHING }, Limits { put: true, ..NOTHING }] {
        for slow in [false, true] {
            let conditions = Conditions { transfers_max: 0, slow, ..Conditions::good(limits) };
            let mut pair = Pair::new(conditions, EngineSettings::default());
            let (status, first) = pair.message(Mode::Standard, 300, true);
            assert_eq!((status.bytes, status.fault), (300, None));
            let (_, second) = pair.message(Mode::Standard, 300, true);
            assert_eq!(second, [(0, Offer), (1, Ready), (0, Fragment), (0, Fragment)]);
            assert!(first.ends_with(&second[2..]), "{first:?}");
        }
    }
}

#[test]
fn a_failed_shared_copy_is_the_receivers_fault_and_frees_the_sender() {
    let limits = Limits { cooperative_copy: true, get: true, ..NOTHING };
    let conditions = Conditions { shares_fail: true, ..Conditions::good(limits) };
    let mut pair =
        Pair::new(conditions, EngineSettings { cooperative_bytes_min: 1, ..EngineSettings::default() });
    let (status, _) = pair.message(Mode::Standard, 300, true);
    assert_eq!(status.fault, Some(MessageFault::Transfer(TransferError::Os(1))));
}

#[test]
fn one_way_traffic_gets_its_credits_back_and_stays_eager() {
    let settings = EngineSettings { credit_bytes: 1024, ..EngineSettings::default() };
    let mut pair = Pair::new(Conditions::good(NOTHING), settings);
    for _ in 0..100 {
        let (_, story) = pair.message(Mode::Standard, 40, true);
        assert!(story.iter().all(|&(_, kind)| kind == Eager || kind == Credits), "{story:?}");
    }
}

#[test]
fn a_sender_without_credits_asks_first() {
    let settings = EngineSettings { credit_bytes: 1024, ..EngineSettings::default() };
    let mut pair = Pair::new(Conditions::good(NOTHING), settings);
    let buf = pair.buffer(0, 41);
    let sends: Vec<_> = (0..9).map(|_| pair.engines[0].send(Mode::Standard, 1, ENVELOPE, &buf, 0)).collect();
    // 16 units; each message costs two, since it is longer than a line.
    assert!(sends[..8].iter().all(|sent| matches!(sent, StartedMessage::Done(_))));
    assert!(matches!(sends[8], StartedMessage::Pending(_)));
    assert_eq!(pair.net.sent().last(), Some(&(0, Offer)));
}

#[test]
fn a_send_that_nobody_has_matched_can_be_cancelled() {
    for (len, first) in [(30, EagerSync), (1000, Offer)] {
        let mut pair = Pair::new(Conditions::good(NOTHING), EngineSettings::default());
        let buf = pair.buffer(0, len);
        let StartedMessage::Pending(send) = pair.engines[0].send(Mode::Synchronous, 1, ENVELOPE, &buf, 0)
        else {
            panic!("a synchronous send waits for its match");
        };
        pair.poll();
        pair.engines[0].cancel(send);
        pair.poll();
        let status = pair.engines[0].test(send).expect("it has ended");
        assert!(status.cancelled && pair.engines[1].probe(&PATTERN).is_none());
        assert_eq!(pair.net.sent(), [(0, first), (0, Withdraw), (1, Withdrawn)]);
        assert_eq!(pair.engines[1].object_counts(), ObjectCounts::default());
    }
}

#[test]
fn a_send_that_a_matched_probe_has_found_is_received_though_it_is_cancelled() {
    let mut pair = Pair::new(Conditions::good(NOTHING), EngineSettings::default());
    let (from, into) = (pair.buffer(0, 1000), pair.buffer(1, 1000));
    let sent = pair.engines[0].send(Mode::Standard, 1, ENVELOPE, &from, 0);
    pair.poll();
    let (message, _) = pair.engines[1].probe_matched(&PATTERN).expect("it has arrived");
    let StartedMessage::Pending(send) = sent else { panic!("a large message waits for its match") };
    pair.engines[0].cancel(send);
    pair.poll();
    let received = pair.engines[1].receive_matched(message, &into, 0).expect("it is still there");
    pair.poll();
    assert_eq!(pair.end(0, sent), Status::EMPTY);
    assert_eq!(pair.end(1, received).bytes, 1000);
}

#[test]
fn a_request_can_be_described() {
    let mut pair = Pair::new(Conditions::good(NOTHING), EngineSettings::default());
    let buf = pair.buffer(0, 1000);
    let StartedMessage::Pending(send) = pair.engines[0].send(Mode::Standard, 1, ENVELOPE, &buf, 0) else {
        panic!("a large message cannot be gone at once");
    };
    let wild = Pattern { source: ANY_SOURCE, tag: ANY_TAG, ..PATTERN };
    let StartedMessage::Pending(receive) = pair.engines[0].receive(wild, &buf, 0) else {
        panic!("nothing has been sent here");
    };
    let described = pair.engines[0].describe(send).expect("it is there");
    assert_eq!((described.receive, described.peer, described.tag, described.bytes), (false, 1, 5, 1000));
    let described = pair.engines[0].describe(receive).expect("it is there");
    assert_eq!((described.receive, described.peer, described.tag), (true, ANY_SOURCE, ANY_TAG));
}

#[test]
fn what_is_pending_and_what_matches_nothing_is_shown() {
    let mut pair = Pair::new(Conditions::good(NOTHING), EngineSettings::default());
    let other = Pattern { tag: 6, ..PATTERN };
    for tag in [5, 7] {
        let message = pair.buffer(0, 8);
        pair.engines[0].send(Mode::Standard, 1, Envelope { tag, ..ENVELOPE }, &message, 0);
    }
    let into = pair.buffer(1, 16);
    let StartedMessage::Pending(receive) = pair.engines[1].receive(other, &into, 0) else {
        panic!("nothing has tag 6")
    };
    pair.poll();
    let engine = &pair.engines[1];
    let pending: Vec<_> =
        engine.pending(10).map(|(id, what)| (id, what.receive, what.tag, what.bytes)).collect();
    assert_eq!(pending, [(receive, true, 6, 16)]);
    assert_eq!(engine.pending(0).count(), 0);
    assert!(engine.has_places_beyond(0) && !engine.has_places_beyond(10));
    let shown = |tag| Unclaimed { from: 0, envelope: Envelope { tag, ..ENVELOPE }, bytes: 8 };
    assert_eq!((engine.unclaimed(10), engine.unclaimed(1)), (vec![shown(5), shown(7)], vec![shown(5)]));
}

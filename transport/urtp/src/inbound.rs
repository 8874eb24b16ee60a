//! What comes from one sender: packets that are early are kept, what is missing is asked for (figures 20, 24 and 25 of the
//! paper).

use crate::group::GroupIndex;
use crate::limits::{
    DISORDER_NS, DISORDER_PACKETS_MAX, PAUSE_BYTES, PAUSE_NS_MAX, REQUEST_BITS_MAX, TRAIN_PACKETS,
    TRAIN_PAUSE_NS,
};
use crate::parity::Runs;
use crate::store::From;
use crate::{NEVER, Nanos};

/// A packet that is kept.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kept {
    pub(crate) block: u32,
    pub(crate) len: u16,
    pub(crate) from: From,
}

/// What a packet is to the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WindowPosition {
    /// It has come before.
    Duplicate,
    /// Nobody who keeps to the window sends it.
    Outside,
    /// It is new; `true`: it is what the receiver takes next.
    New(bool),
}

#[derive(Debug)]
pub(crate) struct InboundWindow {
    /// The number of the packet that is taken next: `ReceivedWindowBase`.
    base: u64,
    /// Everything before this has come: `Expected`.
    expected: u64,
    /// One more than the highest number that has come.
    highest: u64,
    window_max: u32,
    /// As long as the largest window, from the first packet on that has to be kept.
    ring: Box<[Option<Kept>]>,
    /// Early packets since the last request: `TooEarly`.
    early: u32,
    /// What the sender was told last.
    pub(crate) told: u64,
    pub(crate) room_told: u16,
    /// When the sender must be told, at the latest.
    pub(crate) ack_at: Nanos,
    /// The end of a block after which the sender must be told.
    block_end: u64,
    /// When to ask for what is missing.
    pub(crate) request_at: Nanos,
    /// No request before.
    pub(crate) quiet_until: Nanos,
    /// Requests since anything came.
    pub(crate) requests: u32,
    /// The receiver waits.
    pub(crate) waiting: bool,
    /// The large group through which the latest new packet came: its tree carries the acknowledgements.
    pub(crate) via: Option<GroupIndex>,
    /// Acknowledgements along the tree that did not arrive.
    pub(crate) strikes: u32,
    /// The sender's clock in the latest packet, and when that came.
    pub(crate) stamp: (u32, Nanos),
    train: Train,
    pub(crate) runs: Option<Box<Runs>>,
}

impl InboundWindow {
    pub(crate) fn new(window_max: u32) -> InboundWindow {
        InboundWindow {
            base: 0,
            expected: 0,
            highest: 0,
            window_max,
            ring: Box::default(),
            early: 0,
            told: 0,
            room_told: window_max as u16,
            ack_at: NEVER,
            block_end: 0,
            request_at: NEVER,
            quiet_until: 0,
            requests: 0,
            waiting: false,
            via: None,
            strikes: 0,
            stamp: (0, 0),
            train: Train::default(),
            runs: None,
        }
    }

    fn index(&self, seq: u64) -> usize {
        seq as usize & (self.window_max as usize - 1)
    }

    fn is_kept(&self, seq: u64) -> bool {
        self.ring.get(self.index(seq)).is_some_and(Option::is_some)
    }

    /// The end of the window.
    fn end(&self) -> u64 {
        self.base + u64::from(self.window_max)
    }

    pub(crate) fn expected(&self) -> u64 {
        self.expected
    }

    pub(crate) fn highest(&self) -> u64 {
        self.highest
    }

    /// The number of the packet that is taken next.
    pub(crate) fn base(&self) -> u64 {
        self.base
    }

    /// Packets that have come, in order, and were not taken.
    pub(crate) fn ready(&self) -> u64 {
        self.expected - self.base
    }

    pub(crate) fn has_gap(&self) -> bool {
        self.highest > self.expected
    }

    /// What a packet with this number is.
    pub(crate) fn place(&self, seq: u64) -> WindowPosition {
        if seq < self.expected {
            return WindowPosition::Duplicate;
        }
        if seq >= self.end() {
            return WindowPosition::Outside;
        }
        if self.is_kept(seq) { WindowPosition::Duplicate } else { WindowPosition::New(seq == self.base) }
    }

    /// Keeps a new packet, of so many bytes on the wire. Whether it made the next one ready.
    pub(crate) fn keep(&mut self, seq: u64, kept: Kept, wire_bytes: u64, now: Nanos) -> bool {
        if self.ring.is_empty() {
            self.ring = vec![None; self.window_max as usize].into();
        }
        let at = self.index(seq);
        self.ring[at] = Some(kept);
        self.highest = self.highest.max(seq + 1);
        self.train.packet(wire_bytes, now);
        let was_ready = self.ready() > 0;
        if seq == self.expected {
            self.advance();
        } else {
            self.early += 1;
        }
        self.plan_request(now);
        !was_ready && self.ready() > 0
    }

    /// The packet that is next came and has been taken. Whether others are ready behind it.
    pub(crate) fn pass(&mut self, wire_bytes: u64, now: Nanos) -> bool {
        self.train.packet(wire_bytes, now);
        self.base += 1;
        self.expected += 1;
        self.highest = self.highest.max(self.expected);
        self.advance();
        self.plan_request(now);
        self.ready() > 0
    }

    fn advance(&mut self) {
        while self.expected < self.end() && self.is_kept(self.expected) {
            self.expected += 1;
        }
        (self.early, self.requests) = (0, 0);
        if !self.has_gap() {
            self.request_at = NEVER;
        }
    }

    /// Early packets may be disorder for a while, and parity may bring what is missing.
    fn plan_request(&mut self, now: Nanos) {
        if self.has_gap() {
            let lost = self.early > DISORDER_PACKETS_MAX && self.runs.is_none();
            let patience = if lost { 0 } else { DISORDER_NS };
            self.request_at = self.request_at.min((now + patience).max(self.quiet_until));
        }
    }

    /// The next packet is taken.
    pub(crate) fn take(&mut self) -> Option<Kept> {
        if self.ready() == 0 {
            return None;
        }
        let at = self.index(self.base);
        self.base += 1;
        self.ring[at].take()
    }

    /// The next packet, which stays.
    pub(crate) fn peek(&self) -> Option<Kept> {
        if self.ready() == 0 { None } else { self.ring[self.index(self.base)] }
    }

    /// Packets that will be taken from what is expected on, if so many buffers are left.
    pub(crate) fn room(&self, shared_left: usize) -> u16 {
        let window = self.end() - self.expected;
        let reserved = usize::from(self.expected == self.base);
        let kept = (self.highest - self.expected) as usize;
        window.min((shared_left + reserved).saturating_add(kept) as u64) as u16
    }

    /// A block ends with this packet.
    pub(crate) fn ends_block(&mut self, seq: u64) {
        self.block_end = self.block_end.max(seq + 1);
    }

    /// Whether all of a block has come since the sender was told.
    pub(crate) fn owes_block(&self) -> bool {
        self.block_end > self.told && self.expected >= self.block_end
    }

    /// The sender is told what is expected.
    pub(crate) fn told_sender(&mut self, room: u16) {
        self.told = self.expected;
        self.room_told = room;
        self.ack_at = NEVER;
    }

    /// Writes which packets after the expected one are missing as well, and returns how many bytes that takes.
    pub(crate) fn missing(&mut self, bitmap: &mut [u8; REQUEST_BITS_MAX / 8]) -> usize {
        bitmap.fill(0);
        self.early = 0;
        let end = self.highest.min(self.expected + 1 + REQUEST_BITS_MAX as u64);
        let missing = |seq: &u64| !self.is_kept(*seq);
        let mut bytes = 0;
        for seq in (self.expected + 1..end).filter(missing) {
            let at = (seq - self.expected - 1) as usize;
            bitmap[at / 8] |= 1 << (at % 8);
            bytes = at / 8 + 1;
        }
        bytes
    }

    /// Until when silence says nothing: packets come many at a time, as far apart as they take on the wire.
    pub(crate) fn pauses_until(&self) -> Nanos {
        let Train { last, rate, .. } = self.train;
        let pause = (PAUSE_BYTES * 1_000_000_000).checked_div(u64::from(rate) << 10).unwrap_or(0);
        last + pause.min(PAUSE_NS_MAX)
    }

    /// How fast packets come, KiB/s; 0: too few came to tell.
    pub(crate) fn rate(&self) -> u32 {
        self.train.rate
    }
}

/// A train of packets: the network spaces them as far as its slowest link needs (Keshav, "A control-theoretic approach to
/// flow control", 1991).
#[derive(Debug, Default)]
struct Train {
    since: Nanos,
    last: Nanos,
    bytes: u64,
    packets: u32,
    rate: u32,
}

impl Train {
    fn packet(&mut self, bytes: u64, now: Nanos) {
        // A pause ends a train.
        if self.packets == 0 || now - self.last > TRAIN_PAUSE_NS {
            *self = Train { since: now, last: now, bytes: 0, packets: 1, rate: self.rate };
            return;
        }
        (self.last, self.packets, self.bytes) = (now, self.packets + 1, self.bytes + bytes);
        let elapsed = now - self.since;
        if self.packets >= TRAIN_PACKETS && elapsed > 0 {
            let per_s = u128::from(self.bytes) * 1_000_000_000 / u128::from(elapsed);
            self.rate = u32::try_from(per_s >> 10).unwrap_or(u32::MAX);
            self.packets = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEPT: Kept = Kept { block: 0, len: 1000, from: From::Shared };

    fn with(came: &[u64]) -> InboundWindow {
        let mut window = InboundWindow::new(16);
        for seq in came {
            window.keep(*seq, KEPT, 0, 0);
        }
        window
    }

    #[test]
    fn packets_are_ready_in_order() {
        let mut window = with(&[2, 1]);
        assert!(window.take().is_none() && window.has_gap());
        assert!(window.keep(0, KEPT, 0, 0));
        assert_eq!((window.ready(), window.has_gap()), (3, false));
        assert_eq!(
            (window.place(1), window.place(3), window.place(16)),
            (WindowPosition::Duplicate, WindowPosition::New(false), WindowPosition::Outside)
        );
        assert!(window.take().is_some());
        assert_eq!(window.place(16), WindowPosition::New(false));
    }

    #[test]
    fn what_was_taken_at_once_is_past_and_lets_others_go() {
        let mut window = with(&[1]);
        assert!(window.pass(0, 0) && window.ready() == 1);
        assert_eq!(
            (window.place(0), window.place(1), window.place(17)),
            (WindowPosition::Duplicate, WindowPosition::Duplicate, WindowPosition::Outside)
        );
        assert!(window.take().is_some() && window.place(17) == WindowPosition::New(false));
        assert!(!window.pass(0, 0) && window.expected() == 3 && !window.has_gap());
    }

    #[test]
    fn a_sender_of_whom_nothing_has_to_be_kept_takes_little() {
        let mut window = InboundWindow::new(16);
        assert_eq!(
            (window.place(0), window.place(16), window.room(0)),
            (WindowPosition::New(true), WindowPosition::Outside, 1)
        );
        (0..40).for_each(|_| assert!(!window.pass(0, 0)));
        assert_eq!(
            (window.place(39), window.place(41), window.place(56)),
            (WindowPosition::Duplicate, WindowPosition::New(false), WindowPosition::Outside)
        );
        assert!(window.take().is_none() && window.peek().is_none() && window.ring.is_empty());
        assert!(!window.keep(41, KEPT, 0, 0) && window.pass(0, 0));
        assert_eq!((window.ring.len(), window.take().is_some()), (16, true));
    }

    #[test]
    fn a_request_names_all_that_is_missing() {
        let mut window = with(&[0, 2, 3, 12]);
        let mut bitmap = [0xFF; REQUEST_BITS_MAX / 8];
        assert_eq!(window.missing(&mut bitmap), 2);
        assert_eq!((window.expected(), &bitmap[..3]), (1, &[0b1111_1100, 0b11, 0][..]));
    }

    #[test]
    fn disorder_is_given_some_time_and_a_loss_none() {
        assert_eq!(with(&[1]).request_at, DISORDER_NS);
        assert_eq!(with(&[1, 2, 3, 4]).request_at, 0);
        assert_eq!(with(&[1, 0]).request_at, NEVER);
    }

    #[test]
    fn room_is_what_the_window_and_the_buffers_hold() {
        let window = with(&[0, 1, 4]);
        assert_eq!((window.room(100), window.room(2), window.room(0)), (14, 5, 3));
        assert_eq!(InboundWindow::new(16).room(0), 1);
    }

    #[test]
    fn a_block_is_owed_once() {
        let mut window = with(&[0, 1]);
        window.ends_block(2);
        assert!(!window.owes_block());
        window.keep(2, KEPT, 0, 0);
        assert!(window.owes_block());
        window.told_sender(9);
        assert!(!window.owes_block());
    }

    #[test]
    fn a_stream_pauses_for_as_long_as_datagrams_take() {
        let mut window = InboundWindow::new(16);
        assert_eq!(window.pauses_until(), 0);
        // 128 KiB at 125,000 KiB/s, after the last packet.
        window.train = Train { last: 5_000_000, rate: 125_000, ..Train::default() };
        assert_eq!(window.pauses_until(), 6_024_000);
        window.train.rate = 1;
        assert_eq!(window.pauses_until(), 5_000_000 + PAUSE_NS_MAX);
    }

    #[test]
    fn a_train_tells_how_fast_packets_come() {
        let mut train = Train::default();
        (0..100).for_each(|at| train.packet(1024, at * 10_000));
        assert_eq!(train.rate, 100_000);
    }
}

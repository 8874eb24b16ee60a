//! What was sent to one receiver: the sliding window (figures 18, 22 and 23 of the paper).

use crate::limits::WINDOW_FIRST;
use crate::slots::SlotId;
use crate::{NEVER, Nanos};

/// A packet that has a number.
#[derive(Clone, Copy, Debug)]
struct Sent {
    slot: SlotId,
    /// It has gone to this receiver alone.
    alone: bool,
    /// When it went last; [`NEVER`]: not yet.
    at: Nanos,
}

#[derive(Debug)]
pub(crate) struct OutboundWindow {
    /// The number of the next new packet.
    next: u64,
    /// The receiver has everything before this: `SentWindowBase`.
    acked: u64,
    /// The receiver takes what is before this.
    takes: u64,
    /// Packets that may wait for their acknowledgement: W, as measured.
    pub(crate) window: u32,
    window_max: u32,
    /// As long as the largest window, from the first packet on: most peers are never sent any.
    ring: Box<[Sent]>,
    /// Packets since the last that ended a block.
    pub(crate) since_block: u32,
    /// So many packets could not be sent because the window had no room for them.
    needs: u64,
    /// When to ask what has come.
    pub(crate) probe_at: Nanos,
    /// Probes that were not answered.
    pub(crate) probes: u32,
    /// Since when nothing has been heard.
    pub(crate) quiet_since: Nanos,
    /// Since when nothing has been acknowledged, or no room told.
    pub(crate) stands_since: Nanos,
}

/// What to do about a packet that is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ResendDecision {
    /// It must go again; it went last at this time.
    Lost(SlotId, Nanos),
    /// It was not sent yet (case 3 of section 3.2.1).
    Unsent,
    /// It is on its way (case 2).
    TooSoon,
    /// It was acknowledged.
    Old,
}

impl OutboundWindow {
    pub(crate) fn new(window_max: u32) -> OutboundWindow {
        OutboundWindow {
            next: 0,
            acked: 0,
            takes: u64::from(WINDOW_FIRST.min(window_max)),
            window: window_max,
            window_max,
            ring: Box::default(),
            since_block: 0,
            needs: 0,
            probe_at: NEVER,
            probes: 0,
            quiet_since: 0,
            stands_since: 0,
        }
    }

    fn at(&mut self, seq: u64) -> &mut Sent {
        let mask = self.ring.len() - 1;
        &mut self.ring[seq as usize & mask]
    }

    /// Packets that may still be sent.
    pub(crate) fn free(&self) -> u64 {
        (self.acked + u64::from(self.window)).min(self.takes).saturating_sub(self.next)
    }

    pub(crate) fn next(&self) -> u64 {
        self.next
    }

    /// The window, of which a part is a block: a small one before the receiver has said anything.
    pub(crate) fn window_known(&self) -> u32 {
        if self.acked == 0 { self.window.min(WINDOW_FIRST) } else { self.window }
    }

    /// Packets wait for room.
    pub(crate) fn is_blocked(&self) -> bool {
        self.free() < self.needs
    }

    /// So many packets wait for room; 0, and none do.
    pub(crate) fn set_needs(&mut self, packets: u64) {
        self.needs = packets;
    }

    /// Nobody waits for room that is there.
    pub(crate) fn unblock(&mut self) {
        if !self.is_blocked() {
            self.needs = 0;
        }
    }

    pub(crate) fn acked(&self) -> u64 {
        self.acked
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.acked == self.next
    }

    /// Gives a packet its number.
    pub(crate) fn push(&mut self, slot: SlotId) -> u64 {
        if self.ring.is_empty() {
            let empty = Sent { slot: SlotId::NONE, alone: false, at: NEVER };
            self.ring = vec![empty; self.window_max as usize].into();
        }
        let seq = self.next;
        *self.at(seq) = Sent { slot, alone: false, at: NEVER };
        self.next += 1;
        seq
    }

    /// A packet goes out now.
    pub(crate) fn goes(&mut self, seq: u64, now: Nanos) {
        if (self.acked..self.next).contains(&seq) {
            self.at(seq).at = now;
        }
    }

    /// It goes to this receiver alone.
    pub(crate) fn goes_alone(&mut self, seq: u64) {
        if (self.acked..self.next).contains(&seq) {
            self.at(seq).alone = true;
        }
    }

    /// Whether a packet that is not acknowledged has gone to this receiver alone, once at least.
    pub(crate) fn went_alone(&mut self, seq: u64) -> bool {
        self.at(seq).alone
    }

    /// The oldest packet that is not acknowledged, if it has ever been sent.
    pub(crate) fn oldest(&mut self) -> Option<SlotId> {
        let seq = self.acked;
        if self.is_empty() || self.at(seq).at == NEVER {
            return None;
        }
        Some(self.at(seq).slot)
    }

    /// The newest packet that has been sent and is not acknowledged.
    pub(crate) fn newest(&mut self) -> Option<SlotId> {
        let sent = (self.acked..self.next).rev().find(|seq| self.at(*seq).at != NEVER);
        sent.map(|seq| self.at(seq).slot)
    }

    /// The receiver expects `ack` next and takes `room` packets from there on. How many packets are done with; they are
    /// [`OutboundWindow::release`]d one by one.
    pub(crate) fn hear(&mut self, ack: u64, room: u16) -> u64 {
        if !(self.acked..=self.next).contains(&ack) {
            return 0;
        }
        let room = u64::from(room).min(self.window_max.into());
        self.takes = self.takes.max(ack + room);
        ack - self.acked
    }

    /// The oldest packet is acknowledged.
    pub(crate) fn release(&mut self) -> SlotId {
        let seq = self.acked;
        self.acked += 1;
        self.at(seq).slot
    }

    /// The receiver asks for a packet (figure 23) by a request that `came` before it is heard `now`: meanwhile the packet may have
    /// gone.
    pub(crate) fn asked(&mut self, seq: u64, (came, now): (Nanos, Nanos), delta: Nanos) -> ResendDecision {
        if seq < self.acked {
            return ResendDecision::Old;
        }
        if seq >= self.next || self.at(seq).at == NEVER {
            return ResendDecision::Unsent;
        }
        let sent = self.at(seq);
        if came.saturating_sub(sent.at) < delta {
            return ResendDecision::TooSoon;
        }
        let before = std::mem::replace(&mut sent.at, now);
        ResendDecision::Lost(sent.slot, before)
    }

    /// Whether this packet, which has gone out, still lacks an acknowledgement.
    pub(crate) fn lacks(&self, seq: u64) -> bool {
        (self.acked..self.next).contains(&seq)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window() -> OutboundWindow {
        let mut out = OutboundWindow::new(16);
        for slot in 0..4 {
            out.push(SlotId(slot));
        }
        (0..3).for_each(|seq| out.goes(seq, 100));
        out
    }

    #[test]
    fn only_what_was_sent_long_enough_ago_goes_again() {
        let mut out = window();
        assert_eq!(out.asked(1, (150, 150), 100), ResendDecision::TooSoon);
        assert_eq!(out.asked(1, (90, 900), 100), ResendDecision::TooSoon, "it was asked for before it went");
        assert_eq!(out.asked(1, (200, 200), 100), ResendDecision::Lost(SlotId(1), 100));
        assert_eq!(out.asked(1, (210, 210), 100), ResendDecision::TooSoon, "it is about to go again");
        assert_eq!(
            (out.asked(3, (900, 900), 100), out.asked(9, (900, 900), 100)),
            (ResendDecision::Unsent, ResendDecision::Unsent)
        );
    }

    #[test]
    fn a_receiver_that_is_sent_nothing_takes_little() {
        let mut out = OutboundWindow::new(16);
        assert_eq!(
            (out.free(), out.hear(0, 9), out.asked(0, (900, 900), 100)),
            (16, 0, ResendDecision::Unsent)
        );
        out.goes(0, 100);
        assert!(out.ring.is_empty() && out.oldest().is_none() && out.newest().is_none());
    }

    #[test]
    fn the_newest_is_the_last_that_went() {
        let mut out = window();
        assert_eq!((out.oldest(), out.newest()), (Some(SlotId(0)), Some(SlotId(2))));
        assert_eq!(OutboundWindow::new(16).newest(), None);
    }

    #[test]
    fn an_acknowledgement_of_what_was_never_sent_is_ignored() {
        let mut out = window();
        assert_eq!((out.hear(5, 4), out.hear(2, 16)), (0, 2));
        assert_eq!((out.release(), out.release(), out.acked()), (SlotId(0), SlotId(1), 2));
        assert_eq!(out.hear(1, 4), 0);
        assert_eq!(out.asked(1, (900, 900), 100), ResendDecision::Old);
    }

    #[test]
    fn the_window_ends_at_what_the_receiver_takes() {
        let mut out = window();
        assert_eq!(out.free(), 12);
        out.window = 6;
        assert_eq!(out.free(), 2);
        out.hear(3, 2);
        for _ in 0..3 {
            out.release();
        }
        assert_eq!(out.free(), 5);
    }
}

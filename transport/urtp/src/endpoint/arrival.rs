//! What comes.

use super::pair::due;
use super::{UrtpEndpoint, UrtpEvent};
use crate::ack_tree::Word;
use crate::fallback_tunnel::Reachability;
use crate::group::{GroupId, GroupIndex};
use crate::inbound::{Kept, WindowPosition};
use crate::limits::{
    ACK_DELAY_NS, BURST_LOST_MIN, GATHER_NS, HEAD_BYTES, LATE_NS, REPORT_DELAY_NS, STRIKES_MAX,
};
use crate::outbound::ResendDecision;
use crate::parity::Runs;
use crate::slots::{SlotDestination, SlotId};
use crate::wire::{
    ANSWER, BLOCK, MalformedPacket, PacketKind, PacketNumbers, PacketRepr, ParsedPacket, Spread, UrtpPacket,
};
use crate::{NEVER, Nanos, WorldRank, expand, rtt};

/// Has a payload at once, if it can.
type Take<'a> = &'a mut dyn FnMut(&[u8]) -> bool;

impl UrtpEndpoint {
    /// Takes a packet that `from` has sent; `group`: to a group. The link knows both for sure.
    pub fn handle(
        &mut self,
        now: Nanos,
        from: WorldRank,
        group: Option<GroupId>,
        body: &[u8],
    ) -> Result<(), MalformedPacket> {
        self.handle_late((now, 0), from, group, body, &mut |_| false)
    }

    /// As [`UrtpEndpoint::handle`], of a packet that came some time before `now` and waited until this rank looked.
    /// What that took is not the network's: a rank that computes would seem to be far away, and what it has lost would
    /// go again late. A little of it counts all the same, since ranks that share a core look late all the time.
    ///
    /// A payload that its receiver takes next is offered to `take`, which may have it at once (`true`) and saves its being kept.
    pub fn handle_late(
        &mut self,
        (now, waited): (Nanos, Nanos),
        from: WorldRank,
        group: Option<GroupId>,
        body: &[u8],
        take: Take<'_>,
    ) -> Result<(), MalformedPacket> {
        self.came = now.saturating_sub(waited);
        self.heard = self.came.saturating_add(waited.min(LATE_NS)).min(now);
        self.take_in(now, (from, group), None, body, take)
    }

    /// Takes a packet that `from` has sent through the fallback tunnel.
    pub fn handle_tunneled(
        &mut self,
        now: Nanos,
        from: WorldRank,
        reachability: Reachability,
        body: &[u8],
    ) -> Result<(), MalformedPacket> {
        (self.came, self.heard) = (now, now);
        self.take_in(now, (from, None), Some(reachability), body, &mut |_| false)
    }

    /// Through the fallback tunnel, if there is word of it.
    fn take_in(
        &mut self,
        now: Nanos,
        (from, group): (WorldRank, Option<GroupId>),
        reachability: Option<Reachability>,
        body: &[u8],
        take: Take<'_>,
    ) -> Result<(), MalformedPacket> {
        let parsed = UrtpPacket::new(body).parse();
        let kind = parsed.map(|parsed| parsed.repr.kind);
        let multicast = matches!(kind, Ok(PacketKind::Multicast | PacketKind::Parity));
        if from >= self.config.size || from == self.config.me || multicast != group.is_some() {
            self.counters.malformed += 1;
            return Err(parsed.err().unwrap_or(MalformedPacket::Range));
        }
        let parsed = parsed.inspect_err(|_| self.counters.malformed += 1)?;
        match reachability {
            Some(reachability) => {
                self.knows_tunnels = true;
                self.counters.tunneled_heard += 1;
                self.pair(from).tunnel.hears(reachability, now);
            }
            None if group.is_none() => self.pair(from).tunnel.hears_directly(now),
            None => {}
        }
        if !self.pair(from).lost {
            self.dispatch(now, from, group, &parsed, take);
            self.plan(from);
        }
        Ok(())
    }

    fn dispatch(
        &mut self,
        now: Nanos,
        from: WorldRank,
        group: Option<GroupId>,
        parsed: &ParsedPacket<'_>,
        take: Take<'_>,
    ) {
        let ParsedPacket { repr, spread, payload } = parsed;
        if repr.stamp != 0 {
            self.pair(from).inn.stamp = (repr.stamp, self.heard);
        }
        match (repr.kind, group, spread) {
            (PacketKind::Multicast | PacketKind::Parity, Some(id), Some((spread, numbers))) => {
                let member = self.groups.named(id, spread.check);
                let number = member.and_then(|group| numbers.get(self.groups[group].me));
                match (member, number) {
                    (Some(group), Some(number)) => {
                        self.hear_multicast(now, from, (group, number), parsed, take)
                    }
                    _ => self.counters.not_addressed += 1,
                }
            }
            (PacketKind::Report, _, Some((spread, numbers))) => {
                self.hear_report(now, from, repr, spread, numbers)
            }
            _ => {
                self.hear_numbers(now, from, repr.ack, repr);
                self.hear_single(now, from, repr, payload, take);
            }
        }
    }

    /// A packet for this rank alone, whose acknowledgement has been heard.
    fn hear_single(
        &mut self,
        now: Nanos,
        from: WorldRank,
        repr: &PacketRepr,
        payload: &[u8],
        take: Take<'_>,
    ) {
        match repr.kind {
            PacketKind::Data => {
                let next = self.pair(from).inn.highest();
                let Some(seq) = expand(repr.seq, next) else { return };
                if seq >= next {
                    self.pair(from).inn.via = None;
                }
                self.accept(now, from, seq, repr.flags, payload, take);
            }
            PacketKind::Ack => self.counters.acks_heard += 1,
            PacketKind::Request => self.hear_request(now, from, repr.seq, payload),
            PacketKind::Bye => self.hear_bye(from, now, repr.flags & ANSWER != 0),
            _ => {}
        }
        if repr.flags & ANSWER != 0 && repr.kind != PacketKind::Data && repr.kind != PacketKind::Bye {
            self.owe(from, due::ACK);
        }
    }

    /// A multicast, or its parity, in which this rank has a number.
    fn hear_multicast(
        &mut self,
        now: Nanos,
        from: WorldRank,
        to: (GroupIndex, u32),
        parsed: &ParsedPacket<'_>,
        take: Take<'_>,
    ) {
        let ((group, number), ParsedPacket { repr, spread: Some((spread, _)), payload }) = (to, parsed)
        else {
            return;
        };
        let Some(seq) = expand(number, self.pair(from).inn.highest()) else { return };
        let parity = repr.kind == PacketKind::Parity;
        let start = if parity { Some(seq) } else { seq.checked_sub(spread.place.into()) };
        if let (true, Some(start)) = (spread.covered, start) {
            let run = self.runs(from);
            match parity {
                true => run.parity(start, spread.place, payload),
                false => run.packet(start, spread.place, payload),
            }
        }
        if !parity {
            let large = self.groups[group].is_large();
            self.pair(from).inn.via = large.then_some(group);
            self.accept(now, from, seq, repr.flags, payload, take);
        }
        if let (true, Some(start)) = (spread.covered, start) {
            self.restore(now, from, start);
        }
    }

    fn runs(&mut self, from: WorldRank) -> &mut Runs {
        let bytes = self.config.payload_bytes_max();
        self.pair(from).inn.runs.get_or_insert_with(|| Box::new(Runs::new(bytes)))
    }

    /// Takes the packet that parity brings back, if it lacks no other.
    fn restore(&mut self, now: Nanos, from: WorldRank, start: u64) {
        let Some(mut runs) = self.pair(from).inn.runs.take() else { return };
        if let Some((seq, payload)) = runs.restore(start) {
            // It may have ended a block: parity does not say.
            if self.accept(now, from, seq, BLOCK, payload, &mut |_| false) {
                self.counters.restored += 1;
            }
        }
        self.pair(from).inn.runs = Some(runs);
    }

    /// Keeps a payload, if it is new, and sees to the acknowledgement. Whether it was new.
    fn accept(
        &mut self,
        now: Nanos,
        from: WorldRank,
        seq: u64,
        flags: u8,
        payload: &[u8],
        take: Take<'_>,
    ) -> bool {
        let place = self.pair(from).inn.place(seq);
        let new = match place {
            WindowPosition::New(true) if take(payload) => self.pass(now, from, payload.len()),
            WindowPosition::New(next) => self.keep(now, from, seq, next, payload),
            WindowPosition::Duplicate => {
                self.counters.duplicates += 1;
                self.strike(from, seq, flags);
                false
            }
            WindowPosition::Outside => {
                self.counters.outside += 1;
                false
            }
        };
        let inn = &mut self.pair(from).inn;
        if flags & BLOCK != 0 {
            inn.ends_block(seq);
        }
        if flags & ANSWER != 0 {
            self.owe(from, due::ACK);
        } else if inn.owes_block() || (flags & BLOCK != 0 && place == WindowPosition::Duplicate) {
            self.tell_sender(now, from);
        } else {
            inn.ack_at = inn.ack_at.min(now + ACK_DELAY_NS);
        }
        new
    }

    /// The packet that is next has been taken already.
    fn pass(&mut self, now: Nanos, from: WorldRank, len: usize) -> bool {
        let wire_bytes = self.wire_bytes(len);
        let inn = &mut self.pair(from).inn;
        inn.waiting = false;
        if inn.pass(wire_bytes, now) {
            self.ready.push_back(from);
        }
        self.counters.accepted += 1;
        self.offer_room(from);
        true
    }

    fn wire_bytes(&self, payload: usize) -> u64 {
        (HEAD_BYTES + payload) as u64 + self.config.packet_cost_bytes
    }

    fn keep(&mut self, now: Nanos, from: WorldRank, seq: u64, next: bool, payload: &[u8]) -> bool {
        let Some(buffer) = self.held.take(next) else {
            self.counters.no_buffer += 1;
            return false;
        };
        self.counters.held_max = self.counters.held_max.max(self.held.in_use());
        let block = self.received.take();
        self.received.bytes_mut(block)[..payload.len()].copy_from_slice(payload);
        let kept = Kept { block, len: payload.len() as u16, from: buffer };
        let wire_bytes = self.wire_bytes(payload.len());
        let inn = &mut self.pair(from).inn;
        if inn.keep(seq, kept, wire_bytes, now) {
            inn.waiting = false;
            self.ready.push_back(from);
        }
        self.counters.accepted += 1;
        true
    }

    /// The sender sends again what was reported to it along the tree: nobody carries the reports.
    fn strike(&mut self, from: WorldRank, seq: u64, flags: u8) {
        let inn = &mut self.pair(from).inn;
        if flags & (ANSWER | BLOCK) != 0 && inn.via.is_some() && seq < inn.told {
            inn.strikes = inn.strikes.saturating_add(1);
        }
    }

    /// Tells a sender what has come of it: by a packet, or along the tree of the group.
    pub(super) fn tell_sender(&mut self, now: Nanos, from: WorldRank) {
        let inn = &self.pair(from).inn;
        match inn.via {
            Some(group) if inn.strikes < STRIKES_MAX => self.tell_ack_tree(now, from, group),
            _ => self.owe(from, due::ACK),
        }
    }

    fn tell_ack_tree(&mut self, now: Nanos, from: WorldRank, group: GroupIndex) {
        let place = self.groups.get(group).and_then(|g| Some((g.me, g.index_of(from)?)));
        let Some((me, root)) = place else {
            // The group has ended meanwhile.
            return self.owe(from, due::ACK);
        };
        let shared_left = self.held.shared_left();
        let repr = self.pair(from).head(PacketKind::Report, now, shared_left);
        if u32::from(repr.room) < self.config.window / 2 {
            // The others need not hear of it.
            return self.owe(from, due::ACK);
        }
        let PacketRepr { ack, room, echo, rate, .. } = repr;
        let ack_tree = self.ack_trees.of(&self.groups[group], group, root);
        self.word(now, ack_tree, Word { index: me, expects: ack, room, echo, rate });
    }

    fn word(&mut self, now: Nanos, at: u32, word: Word) {
        let Some(ack_tree) = self.ack_trees.get_mut(at) else { return };
        let full = ack_tree.hear(word);
        if full {
            self.report(at);
        } else if ack_tree.report_at == NEVER && !ack_tree.queued {
            ack_tree.report_at = now + REPORT_DELAY_NS;
            self.timers.call_by(self.config.size + at, ack_tree.report_at);
        }
    }

    pub(super) fn report(&mut self, at: u32) {
        if self.ack_trees.get_mut(at).is_some_and(|ack_tree| !std::mem::replace(&mut ack_tree.queued, true)) {
            self.reports.push_back(at);
        }
    }

    /// Members tell what they have: of this rank's packets, or of those of a sender above.
    fn hear_report(
        &mut self,
        now: Nanos,
        from: WorldRank,
        repr: &PacketRepr,
        spread: &Spread,
        numbers: &PacketNumbers<'_>,
    ) {
        self.counters.acks_heard += 1;
        let Some(group) = self.groups.checked(spread.check) else { return };
        let root = u32::from(spread.about);
        let g = &self.groups[group];
        let last = usize::from(numbers.range().0) + usize::from(numbers.range().1);
        if g.index_of(from).is_none() || root as usize >= g.members.len() || last > g.members.len() {
            return;
        }
        let ack_tree = (g.me != root).then(|| self.ack_trees.of(g, group, root));
        for (index, expects) in numbers.iter().filter(|(index, _)| *index != root) {
            let PacketRepr { room, echo, rate, .. } = *repr;
            if let Some(ack_tree) = ack_tree {
                self.word(now, ack_tree, Word { index, expects, room, echo, rate });
            } else {
                let peer = self.groups[group].member(index);
                self.hear_numbers(now, peer, expects, repr);
                self.plan(peer);
            }
        }
    }

    /// A peer expects this number next.
    fn hear_numbers(&mut self, now: Nanos, peer: WorldRank, expects: u32, repr: &PacketRepr) {
        let (bytes, window, heard) = (self.packet_bytes(), self.config.window, self.heard);
        let pair = self.pair(peer);
        if pair.lost {
            return;
        }
        if let Some(rtt) = rtt::since(repr.echo, heard) {
            pair.rtt.sample(rtt);
        }
        pair.pace.report(repr.rate);
        pair.out.quiet_since = now;
        let Some(ack) = expand(expects, pair.out.acked()) else { return };
        let done = pair.out.hear(ack, repr.room);
        for _ in 0..done {
            let pair = self.pair(peer);
            if !pair.out.went_alone(pair.out.acked()) {
                pair.reachability.heard();
            }
            let slot = pair.out.release();
            self.acknowledged(slot);
        }
        let jitter = self.jitter();
        let pair = self.pair(peer);
        if done > 0 || pair.out.is_empty() {
            pair.out.stands_since = now;
        }
        if done > 0 {
            pair.pace.acked(done as u32, now.saturating_sub(pair.rtt.long()), now);
            pair.fit_window(bytes, window);
            pair.out.probes = 0;
            pair.out.probe_at = pair.next_probe(now, jitter);
        }
        pair.out.unblock();
        if pair.out.is_empty() && !pair.out.is_blocked() {
            pair.out.probe_at = NEVER;
        }
    }

    pub(super) fn acknowledged(&mut self, slot: SlotId) {
        let kept = self.slots.get_mut(slot);
        kept.unacked = kept.unacked.saturating_sub(1);
        self.slots.free_if_done(slot);
    }

    /// A receiver asks for a packet, and by bits for later ones (figure 23).
    fn hear_request(&mut self, now: Nanos, from: WorldRank, seq: u32, bits: &[u8]) {
        self.counters.requests_heard += 1;
        let Some(first) = expand(seq, self.pair(from).out.acked()) else { return };
        self.asked(now, from, first);
        for at in (0..bits.len() as u64 * 8).filter(|at| bits[*at as usize / 8] >> (at % 8) & 1 == 1) {
            self.asked(now, from, first + 1 + at);
        }
        let named: u32 = bits.iter().map(|byte| byte.count_ones()).sum();
        if named >= BURST_LOST_MIN && now > self.gather_until + GATHER_NS {
            self.gather_until = now + GATHER_NS;
        }
    }

    fn asked(&mut self, now: Nanos, from: WorldRank, seq: u64) {
        let came = self.came;
        let pair = self.pair(from);
        let delta = pair.rtt.delta();
        match pair.out.asked(seq, (came, now), delta) {
            ResendDecision::Lost(slot, before) => {
                pair.pace.lost(before, now);
                if !pair.out.went_alone(seq) {
                    pair.reachability.missed(now);
                }
                let unreached = pair.is_unreached(now);
                self.send_again(from, slot, false);
                self.slots.get_mut(slot).alone |= unreached;
            }
            ResendDecision::Unsent => self.counters.requests_unsent += 1,
            ResendDecision::TooSoon => self.counters.requests_too_soon += 1,
            ResendDecision::Old => {}
        }
    }

    /// A peer shall have a packet again.
    pub(super) fn send_again(&mut self, peer: WorldRank, slot: SlotId, urgent: bool) {
        let kept = self.slots.get_mut(slot);
        let index = match kept.to {
            SlotDestination::Rank(..) => Some(0),
            SlotDestination::Group(group) | SlotDestination::Parity(group) => {
                self.groups[group].index_of(peer)
            }
        };
        let Some(index) = index else { return };
        kept.want(index);
        kept.urgent |= urgent;
        if !std::mem::replace(&mut kept.again, true) {
            kept.queues += 1;
            self.again.push_back(slot);
        }
    }

    /// A control packet is due.
    pub(super) fn owe(&mut self, peer: WorldRank, what: u8) {
        let pair = self.pair(peer);
        pair.due |= what;
        if !std::mem::replace(&mut pair.queued, true) {
            self.control.push_back(peer);
        }
    }

    /// A sender that was told of little room hears when there is more.
    pub(super) fn offer_room(&mut self, from: WorldRank) {
        let (shared_left, window) = (self.held.shared_left(), self.config.window);
        let inn = &self.pair(from).inn;
        let room = u32::from(inn.room(shared_left));
        if u32::from(inn.room_told) < window / 4 && room >= window / 2 {
            self.owe(from, due::ACK);
        }
    }

    pub(super) fn lose(&mut self, peer: WorldRank) {
        let pair = self.pair(peer);
        pair.lost = true;
        pair.out.set_needs(0);
        pair.out.probe_at = NEVER;
        (pair.inn.request_at, pair.inn.ack_at, pair.bye_at) = (NEVER, NEVER, NEVER);
        self.forget(peer);
        self.events.push_back(UrtpEvent::Lost(peer));
    }
}

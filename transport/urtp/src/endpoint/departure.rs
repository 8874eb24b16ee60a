//! What goes out: control packets, what was lost, what is new.

use super::pair::due;
use super::{Destination, Transmit, UrtpEndpoint};
use crate::group::GroupIndex;
use crate::limits::MULTICAST_AGAIN_MIN;
use crate::limits::{BLOCKS_PER_WINDOW, DIRECT_MEMBERS_MAX, GATHER_NS, GROUP_FRESH_NS, HEAD_BYTES};
use crate::limits::{REQUEST_BITS_MAX, SPREAD_BYTES};
use crate::slots::{SlotDestination, SlotId};
use crate::wire::numbers::NumbersPlan;
use crate::wire::{ANSWER, BLOCK, PacketKind, PacketNumbers, PacketRepr, Spread, UrtpPacket};
use crate::{NEVER, Nanos, WorldRank, expand, rtt};

impl UrtpEndpoint {
    /// The next packet that goes out now, written to `out`, which has at least `config.body_bytes_max` bytes. `None`: nothing
    /// until [`UrtpEndpoint::poll_timeout`], or until something else happens.
    pub fn poll_transmit(&mut self, now: Nanos, out: &mut [u8]) -> Option<Transmit> {
        let mut transmit = self.next_transmit(now, out)?;
        if let (true, Destination::Rank(peer)) = (self.knows_tunnels, transmit.to) {
            transmit.tunnel = self.pair(peer).tunnel.reachability(now);
            self.counters.tunneled += u64::from(transmit.tunnel.is_some());
        }
        Some(transmit)
    }

    fn next_transmit(&mut self, now: Nanos, out: &mut [u8]) -> Option<Transmit> {
        self.run_timers(now);
        if let Some(transmit) = self.transmit_control(now, out).or_else(|| self.transmit_report(now, out)) {
            return Some(transmit);
        }
        if self.paced_until > now {
            return None;
        }
        let again = if self.gather_until > now { None } else { self.transmit_again(now, out) };
        again.or_else(|| self.transmit_fresh(now, out))
    }

    /// Bytes of a full packet on the wire.
    pub(super) fn packet_bytes(&self) -> u64 {
        self.config.body_bytes_max as u64 + self.config.packet_cost_bytes
    }

    /// The next payload waits until this one has gone at this pace; some may go together.
    fn spend(&mut self, now: Nanos, len: usize, rate: u64) {
        let time = |bytes: u64| bytes * 1_000_000_000 / rate.max(1);
        let earliest = (now + 1).saturating_sub(time(self.config.burst_bytes));
        self.paced_until = self.paced_until.max(earliest) + time(len as u64 + self.config.packet_cost_bytes);
    }

    fn transmit_control(&mut self, now: Nanos, out: &mut [u8]) -> Option<Transmit> {
        while let Some(&peer) = self.control.front() {
            let shared_left = self.held.shared_left();
            let pair = self.pair(peer);
            let what = 1 << pair.due.trailing_zeros().min(7);
            if pair.due & what == 0 || pair.lost {
                (pair.queued, pair.due) = (false, 0);
                self.control.pop_front();
                continue;
            }
            // Any packet acknowledges.
            pair.due &= !(what | due::ACK);
            let kind = match what {
                due::REQUEST => PacketKind::Request,
                due::POLL => PacketKind::Poll,
                due::BYE => PacketKind::Bye,
                _ => PacketKind::Ack,
            };
            let len = self.write_control(peer, kind, now, shared_left, out);
            return Some(Transmit::new(Destination::Rank(peer), len));
        }
        None
    }

    fn write_control(
        &mut self,
        peer: WorldRank,
        kind: PacketKind,
        now: Nanos,
        shared_left: usize,
        out: &mut [u8],
    ) -> usize {
        let pair = self.pair(peer);
        let mut repr = pair.head(kind, now, shared_left);
        let mut len = HEAD_BYTES;
        let counter = match kind {
            PacketKind::Request => {
                repr.seq = repr.ack;
                let mut bits = [0; REQUEST_BITS_MAX / 8];
                let bytes = pair.inn.missing(&mut bits);
                out[len..len + bytes].copy_from_slice(&bits[..bytes]);
                len += bytes;
                &mut self.counters.requests
            }
            PacketKind::Poll => {
                repr.flags = ANSWER;
                &mut self.counters.polls
            }
            _ => {
                repr.flags = if kind == PacketKind::Bye && !pair.bye_heard { ANSWER } else { 0 };
                &mut self.counters.acks
            }
        };
        *counter += 1;
        out[..HEAD_BYTES].copy_from_slice(&repr.bytes());
        len
    }

    fn transmit_report(&mut self, now: Nanos, out: &mut [u8]) -> Option<Transmit> {
        loop {
            let &at = self.reports.front()?;
            let Some(ack_tree) = self.ack_trees.get_mut(at) else {
                self.reports.pop_front();
                continue;
            };
            let group = &self.groups[ack_tree.group];
            ack_tree.latest(&mut self.numbers);
            let Some(plan) = NumbersPlan::new(&self.numbers, ack_tree.from) else {
                ack_tree.reported();
                self.reports.pop_front();
                continue;
            };
            let spread = Spread { check: group.check, about: ack_tree.root as u16, place: 0, covered: false };
            let (len, seq) = spread.emit(&plan, out);
            let (room, echo, rate) = ack_tree.sum();
            let repr = PacketRepr {
                seq,
                room,
                echo,
                rate,
                stamp: rtt::stamp(now),
                ..PacketRepr::of(PacketKind::Report)
            };
            out[..HEAD_BYTES].copy_from_slice(&repr.bytes());
            let to = group.member(group.parent(group.me, ack_tree.root));
            ack_tree.from = plan.end();
            self.counters.reports += 1;
            return Some(Transmit::new(Destination::Rank(to), len));
        }
    }

    /// What was lost, to those that lack it: to one after the other, or to all at once if they are many.
    fn transmit_again(&mut self, now: Nanos, out: &mut [u8]) -> Option<Transmit> {
        while let Some(&slot) = self.again.front() {
            let kept = self.slots.get(slot);
            let transmit = match kept.to {
                SlotDestination::Group(group) if kept.wanting >= MULTICAST_AGAIN_MIN && !kept.alone => {
                    self.again_to_many(slot, group, now, out)
                }
                _ => self.again_to_one(slot, now, out),
            };
            let kept = self.slots.get_mut(slot);
            if kept.wanting == 0 {
                (kept.again, kept.urgent) = (false, false);
                kept.queues -= 1;
                self.again.pop_front();
                self.slots.free_if_done(slot);
            } else if kept.alone {
                // The others first that go to the same member: the kernel takes them together.
                self.again.rotate_left(1);
            }
            if transmit.is_some() {
                return transmit;
            }
        }
        None
    }

    /// The first member that still lacks the packet.
    fn again_to_one(&mut self, slot: SlotId, now: Nanos, out: &mut [u8]) -> Option<Transmit> {
        while let Some(index) = self.slots.get(slot).wanting_first() {
            self.slots.get_mut(slot).satisfy(index);
            let (peer, seq) = self.receiver(slot, index)?;
            if self.pair(peer).out.lacks(seq) && !self.pair(peer).lost {
                let flags = if self.slots.get(slot).urgent { ANSWER } else { 0 };
                self.counters.resent += 1;
                return Some(self.write_data(slot, peer, seq, flags, now, out));
            }
        }
        None
    }

    /// A receiver of a kept packet, and the packet's number there.
    fn receiver(&mut self, slot: SlotId, index: u32) -> Option<(WorldRank, u64)> {
        match self.slots.get(slot).to {
            SlotDestination::Rank(peer, seq) => Some((peer, seq)),
            SlotDestination::Group(group) => {
                let number = UrtpPacket::new(self.slots.bytes(slot)).parse().ok()?.spread?.1.get(index)?;
                let peer = self.groups[group].member(index);
                Some((peer, expand(number, self.pair(peer).out.next())?))
            }
            SlotDestination::Parity(_) => None,
        }
    }

    fn again_to_many(
        &mut self,
        slot: SlotId,
        group: GroupIndex,
        now: Nanos,
        out: &mut [u8],
    ) -> Option<Transmit> {
        let mut numbers = std::mem::take(&mut self.numbers);
        numbers.clear();
        for index in 0..self.groups[group].members.len() as u32 {
            let wants = self.slots.get(slot).wants(index);
            let receiver = if wants { self.receiver(slot, index) } else { None };
            let lacking = receiver.filter(|(peer, seq)| self.pair(*peer).out.lacks(*seq));
            if let Some((peer, seq)) = lacking {
                self.goes(peer, seq, now);
            }
            numbers.push(lacking.map(|(_, seq)| seq as u32));
        }
        let transmit = NumbersPlan::new(&numbers, 0)
            .map(|plan| self.write_multicast_again(slot, group, &plan, now, out));
        if transmit.is_none() {
            (0..numbers.len() as u32).for_each(|index| self.slots.get_mut(slot).satisfy(index));
        }
        self.numbers = numbers;
        transmit
    }

    fn write_multicast_again(
        &mut self,
        slot: SlotId,
        group: GroupIndex,
        plan: &NumbersPlan<'_>,
        now: Nanos,
        out: &mut [u8],
    ) -> Transmit {
        let g = &self.groups[group];
        let spread = Spread { check: g.check, about: 0, place: 0, covered: false };
        let (head, seq) = spread.emit(plan, out);
        let kept = self.slots.get(slot);
        // Many answers at once are what the tree is there to avoid.
        let flags = match (kept.urgent, kept.wanting as usize <= DIRECT_MEMBERS_MAX) {
            (true, true) => ANSWER,
            (true, false) => BLOCK,
            _ => 0,
        };
        let repr = PacketRepr { seq, flags, stamp: rtt::stamp(now), ..PacketRepr::of(PacketKind::Multicast) };
        out[..HEAD_BYTES].copy_from_slice(&repr.bytes());
        let payload = &self.slots.bytes(slot)[kept.head.into()..];
        let len = head + payload.len();
        out[head..len].copy_from_slice(payload);
        let id = g.id;
        plan.addressed().for_each(|index| self.slots.get_mut(slot).satisfy(index as u32));
        self.counters.multicast_again += 1;
        let addressed = self.addressed(group, plan.addressed());
        self.spend(now, len, self.groups[group].rate);
        Transmit::new(Destination::Group { id, addressed }, len)
    }

    fn addressed(&self, group: GroupIndex, indices: impl Iterator<Item = usize>) -> u64 {
        let g = &self.groups[group];
        indices.fold(0, |bits, index| bits | 1 << (g.member(index as u32) % 64))
    }

    fn transmit_fresh(&mut self, now: Nanos, out: &mut [u8]) -> Option<Transmit> {
        if self.fresh.is_empty() {
            self.end_run();
        }
        while let Some(slot) = self.fresh.pop_front() {
            let transmit = match self.slots.get(slot).to {
                _ if self.slots.get(slot).unacked == 0 && !self.is_parity(slot) => None,
                SlotDestination::Rank(peer, seq) => Some(self.fresh_to_one(slot, peer, seq, now, out)),
                SlotDestination::Group(group) => self.fresh_to_group(slot, group, now, out),
                SlotDestination::Parity(group) => self.fresh_parity(slot, group, now, out),
            };
            self.slots.get_mut(slot).queues -= 1;
            self.slots.free_if_done(slot);
            if transmit.is_some() {
                return transmit;
            }
        }
        None
    }

    fn is_parity(&self, slot: SlotId) -> bool {
        matches!(self.slots.get(slot).to, SlotDestination::Parity(_))
    }

    fn fresh_to_one(
        &mut self,
        slot: SlotId,
        peer: WorldRank,
        seq: u64,
        now: Nanos,
        out: &mut [u8],
    ) -> Transmit {
        let pair = self.pair(peer);
        pair.out.since_block += 1;
        let ends =
            pair.out.since_block >= pair.out.window_known() / BLOCKS_PER_WINDOW || pair.out.is_blocked();
        if ends {
            pair.out.since_block = 0;
        }
        let flags = if ends { BLOCK } else { 0 };
        self.write_data(slot, peer, seq, flags, now, out)
    }

    /// A packet for one rank, also one that was multicast.
    fn write_data(
        &mut self,
        slot: SlotId,
        peer: WorldRank,
        seq: u64,
        flags: u8,
        now: Nanos,
        out: &mut [u8],
    ) -> Transmit {
        let shared_left = self.held.shared_left();
        let pair = self.pair(peer);
        let repr = PacketRepr { seq: seq as u32, flags, ..pair.head(PacketKind::Data, now, shared_left) };
        pair.due &= !due::ACK;
        let rate = pair.pace.rate();
        out[..HEAD_BYTES].copy_from_slice(&repr.bytes());
        let payload = &self.slots.bytes(slot)[self.slots.get(slot).head.into()..];
        let len = HEAD_BYTES + payload.len();
        out[HEAD_BYTES..len].copy_from_slice(payload);
        self.goes(peer, seq, now);
        self.pair(peer).out.goes_alone(seq);
        self.spend(now, len, rate);
        Transmit::new(Destination::Rank(peer), len)
    }

    /// A packet goes out: unless something is heard, the sender will ask.
    fn goes(&mut self, peer: WorldRank, seq: u64, now: Nanos) {
        let jitter = self.jitter();
        let pair = self.pair(peer);
        pair.out.goes(seq, now);
        if pair.out.probe_at == NEVER {
            (pair.out.quiet_since, pair.out.stands_since) = (now, now);
            pair.out.probe_at = pair.next_probe(now, jitter);
        }
        self.plan(peer);
    }

    fn fresh_to_group(
        &mut self,
        slot: SlotId,
        group: GroupIndex,
        now: Nanos,
        out: &mut [u8],
    ) -> Option<Transmit> {
        self.refresh(group, now);
        let bytes = self.slots.bytes(slot);
        let len = bytes.len();
        out[..len].copy_from_slice(bytes);
        let numbers = UrtpPacket::new(&out[..len]).parse().ok()?.spread?.1;
        let (addressed, to_unreached) = self.goes_to_members(group, &numbers, now);
        if to_unreached {
            self.goes_to_the_unreached(slot, group, &numbers, now);
        }
        let g = &mut self.groups[group];
        g.since_block += 1;
        let ends = g.since_block >= g.window / BLOCKS_PER_WINDOW;
        if ends {
            g.since_block = 0;
        }
        let (id, rate) = (g.id, g.rate);
        out[1] = if ends { BLOCK } else { 0 };
        out[12..16].copy_from_slice(&rtt::stamp(now).to_le_bytes());
        self.spend(now, len, rate);
        Some(Transmit::new(Destination::Group { id, addressed }, len))
    }

    /// The bits of those addressed, and whether one of them is unreached.
    fn goes_to_members(&mut self, group: GroupIndex, numbers: &PacketNumbers<'_>, now: Nanos) -> (u64, bool) {
        let (mut addressed, mut to_unreached) = (0, false);
        for (index, number) in numbers.iter() {
            let peer = self.groups[group].member(index);
            addressed |= 1 << (peer % 64);
            if let Some(seq) = expand(number, self.pair(peer).out.next()) {
                self.goes(peer, seq, now);
                to_unreached |= self.pair(peer).is_unreached(now);
            }
        }
        (addressed, to_unreached)
    }

    /// Those that hear no multicasts get the packet by itself, when others have gone as multicasts: packets to one address go
    /// through the kernel together.
    fn goes_to_the_unreached(
        &mut self,
        slot: SlotId,
        group: GroupIndex,
        numbers: &PacketNumbers<'_>,
        now: Nanos,
    ) {
        for (index, _) in numbers.iter() {
            let peer = self.groups[group].member(index);
            if self.pair(peer).is_unreached(now) {
                if self.again.is_empty() {
                    self.gather_until = now + GATHER_NS;
                }
                self.send_again(peer, slot, false);
                self.slots.get_mut(slot).alone = true;
            }
        }
    }

    fn fresh_parity(
        &mut self,
        slot: SlotId,
        group: GroupIndex,
        now: Nanos,
        out: &mut [u8],
    ) -> Option<Transmit> {
        let bytes = self.slots.bytes(slot);
        let len = bytes.len();
        out[..len].copy_from_slice(bytes);
        let numbers = UrtpPacket::new(&out[..len]).parse().ok()?.spread?.1;
        let addressed = self.addressed(group, numbers.iter().map(|(index, _)| index as usize));
        let g = &self.groups[group];
        let (id, rate) = (g.id, g.rate);
        self.counters.parities += 1;
        self.spend(now, len, rate);
        Some(Transmit::new(Destination::Group { id, addressed }, len))
    }

    /// The slowest member's pace, and the smallest window.
    fn refresh(&mut self, group: GroupIndex, now: Nanos) {
        let g = &self.groups[group];
        if now < g.fresh_until {
            return;
        }
        let (mut rate, mut window) = (self.config.rate, self.config.window);
        for index in 0..g.members.len() as u32 {
            let peer = self.groups[group].member(index);
            if let Some(pair) = self.pairs[peer as usize].as_ref().filter(|pair| !pair.lost) {
                (rate, window) = (rate.min(pair.pace.rate()), window.min(pair.out.window_known()));
            }
        }
        let g = &mut self.groups[group];
        (g.rate, g.window, g.fresh_until) = (rate, window, now + GROUP_FRESH_NS);
    }
}

const _: () = assert!(HEAD_BYTES + SPREAD_BYTES < 64);

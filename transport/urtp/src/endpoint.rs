//! A rank's end of the protocol: packets and the time go in, packets come out.
//!
//! - [`UrtpEndpoint::send`] and [`UrtpEndpoint::multicast`] number a packet and keep it until it is acknowledged;
//! - [`UrtpEndpoint::poll_transmit`] says what goes out now: control packets at once, payload as the pace allows
//!   (`departure.rs`), [`UrtpEndpoint::poll_timeout`] when to ask again (`deadlines.rs`);
//! - [`UrtpEndpoint::handle`] takes what came (`arrival.rs`), [`UrtpEndpoint::receive`] hands it up, in order;
//! - [`UrtpEndpoint::add_group`] makes groups known, [`UrtpEndpoint::end_groups`] forgets those that nobody needs
//!   (`membership.rs`);
//! - [`UrtpEndpoint::close`] sees to it that whoever leaves leaves nobody in doubt (`leave.rs`).

mod arrival;
mod deadlines;
mod departure;
mod leave;
mod membership;
mod pair;

use crate::ack_tree::AckTrees;
use crate::config::{UrtpConfig, parts_max};
use crate::counters::UrtpCounters;
use crate::fallback_tunnel::Reachability;
use crate::group::{GroupId, GroupIndex};
use crate::groups::Groups;
use crate::limits::{HEAD_BYTES, SPREAD_BYTES};
use crate::slots::{PacketSlots, SlotDestination, SlotId};
use crate::store::{HeldBuffers, Store};
use crate::timers::Timers;
use crate::wire::numbers::NumbersPlan;
use crate::wire::{PacketKind, PacketRepr, Spread};
use crate::{Nanos, WorldRank, parity};
use pair::RankPair;
use std::collections::VecDeque;
use std::ops::Range;

/// Where a packet goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Destination {
    /// To one rank.
    Rank(WorldRank),
    /// To members of a group.
    Group {
        /// The group.
        id: GroupId,
        /// A bit for each rank, modulo 64, that is addressed: what a filter in the kernel can look at.
        addressed: u64,
    },
}

/// A packet that goes out: the first `len` bytes of the memory that was given.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Transmit {
    /// To whom.
    pub to: Destination,
    /// Bytes.
    pub len: usize,
    /// It shall go through the fallback tunnel as well.
    pub tunnel: Option<Reachability>,
}

impl Transmit {
    fn new(to: Destination, len: usize) -> Transmit {
        Transmit { to, len, tunnel: None }
    }
}

/// Why a packet was not taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SendError {
    /// The window of a receiver, or the memory for packets, is full: later.
    #[error("the window is full")]
    Full,
    /// No rank, no member or no group is there, or the payload is too long.
    #[error("a packet to nobody, or one that is too long")]
    Invalid,
}

/// Something that happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UrtpEvent {
    /// A peer has been silent for too long. Nothing is sent to it any more.
    Lost(WorldRank),
}

/// A rank's end of the protocol.
#[derive(Debug)]
pub struct UrtpEndpoint {
    config: UrtpConfig,
    pairs: Vec<Option<Box<RankPair>>>,
    groups: Groups,
    ack_trees: AckTrees,
    slots: PacketSlots,
    received: Store,
    held: HeldBuffers,
    timers: Timers,
    /// Peers to which a control packet goes.
    control: VecDeque<WorldRank>,
    /// AckTrees with a report to send.
    reports: VecDeque<u32>,
    /// What goes again, and what is new.
    again: VecDeque<SlotId>,
    fresh: VecDeque<SlotId>,
    /// Peers of which packets can be taken.
    ready: VecDeque<WorldRank>,
    events: VecDeque<UrtpEvent>,
    /// The run of multicasts that the next parity will cover.
    run: Option<MulticastRun>,
    /// When the pace allows the next payload.
    paced_until: Nanos,
    /// Until when requests are gathered.
    gather_until: Nanos,
    /// When the packet in hand came to this host, and when it would have been heard had this rank been looking.
    came: Nanos,
    heard: Nanos,
    closing: Option<Nanos>,
    /// Some peer was reached through a fallback tunnel, or reached this rank by one.
    knows_tunnels: bool,
    random: u64,
    counters: UrtpCounters,
    /// Numbers of a packet's members, by their indices; kept for its memory.
    numbers: Vec<Option<u32>>,
}

/// Consecutive multicasts to a group with nothing between them.
#[derive(Debug)]
struct MulticastRun {
    group: GroupIndex,
    /// Holds the sum.
    slot: SlotId,
    packets: u8,
}

/// Where a packet to members says what parity has to do with it.
const PLACE_AT: usize = HEAD_BYTES + 6;

impl UrtpEndpoint {
    /// The end of rank `config.me`.
    pub fn new(config: UrtpConfig) -> UrtpEndpoint {
        let config = config.bounded();
        UrtpEndpoint {
            pairs: (0..config.size).map(|_| None).collect(),
            groups: Groups::default(),
            ack_trees: AckTrees::default(),
            slots: PacketSlots::new(config.send_buffers, config.body_bytes_max),
            received: Store::new(config.body_bytes_max),
            held: HeldBuffers::new(config.shared_buffers),
            timers: Timers::default(),
            control: VecDeque::new(),
            reports: VecDeque::new(),
            again: VecDeque::new(),
            fresh: VecDeque::new(),
            ready: VecDeque::new(),
            events: VecDeque::new(),
            run: None,
            paced_until: 0,
            gather_until: 0,
            came: 0,
            heard: 0,
            closing: None,
            knows_tunnels: false,
            random: config.seed ^ 0x9E37_79B9_7F4A_7C15,
            counters: UrtpCounters::default(),
            numbers: Vec::new(),
            config,
        }
    }

    /// The settings in effect.
    pub fn config(&self) -> &UrtpConfig {
        &self.config
    }

    /// What has been done and seen.
    pub fn counters(&self) -> &UrtpCounters {
        &self.counters
    }

    /// Buffers that are in use for what was received.
    pub fn held(&self) -> usize {
        self.held.in_use()
    }

    /// Sends a packet of `len` bytes to one rank; `fill` writes them.
    pub fn send(&mut self, to: WorldRank, len: usize, fill: impl FnOnce(&mut [u8])) -> Result<(), SendError> {
        if to >= self.config.size || to == self.config.me || len > self.config.payload_bytes_max() {
            return Err(SendError::Invalid);
        }
        if self.pair(to).lost {
            return Ok(());
        }
        if self.pair(to).out.free() == 0 {
            self.block(to, 1);
            return Err(SendError::Full);
        }
        if self.slots.left() == 0 {
            return Err(SendError::Full);
        }
        self.end_run();
        let slot = self.slots.take(SlotDestination::Rank(to, 0));
        let seq = self.pair(to).out.push(slot);
        let block = self.slots.block_mut(slot);
        fill(&mut block[HEAD_BYTES..HEAD_BYTES + len]);
        let kept = self.slots.get_mut(slot);
        kept.to = SlotDestination::Rank(to, seq);
        (kept.head, kept.len) = (HEAD_BYTES as u16, (HEAD_BYTES + len) as u16);
        (kept.unacked, kept.queues) = (1, 1);
        self.fresh.push_back(slot);
        self.counters.sent += 1;
        Ok(())
    }

    /// Whether [`UrtpEndpoint::send`] takes so many packets for a peer now. If not, room for them is asked for.
    pub fn has_room(&mut self, to: WorldRank, packets: usize) -> bool {
        let pair = self.pair(to);
        if pair.out.free() < packets as u64 && !pair.lost {
            self.block(to, packets as u64);
            return false;
        }
        self.slots.left() >= packets
    }

    /// Bytes of payload in a multicast to a group.
    ///
    /// # Panics
    /// If it has ended.
    pub fn multicast_bytes_max(&self, group: GroupIndex) -> usize {
        self.config.multicast_bytes_max(self.groups[group].members.len())
    }

    /// Sends a packet to all other members of a group for whose index `addressed` is true. The window of each must have room,
    /// or nothing is sent.
    pub fn multicast(
        &mut self,
        group: GroupIndex,
        addressed: impl Fn(u32) -> bool,
        payload: &[u8],
    ) -> Result<(), SendError> {
        self.multicast_with(group, addressed, payload.len(), |to| to.copy_from_slice(payload))
    }

    /// As [`UrtpEndpoint::multicast`]; `fill` writes the `len` bytes, once for each packet that it takes to name all
    /// members.
    pub fn multicast_with(
        &mut self,
        group: GroupIndex,
        addressed: impl Fn(u32) -> bool,
        len: usize,
        mut fill: impl FnMut(&mut [u8]),
    ) -> Result<(), SendError> {
        let Some(g) = self.groups.get(group) else { return Err(SendError::Invalid) };
        if len > self.config.multicast_bytes_max(g.members.len()) {
            return Err(SendError::Invalid);
        }
        let mut numbers = std::mem::take(&mut self.numbers);
        let result = self.number_members(group, addressed, &mut numbers).map(|()| {
            let mut from = 0;
            while let Some(plan) = NumbersPlan::new(&numbers, from) {
                from = plan.end();
                self.multicast_part(group, &plan, len, &mut fill);
            }
        });
        self.numbers = numbers;
        result
    }

    /// The number that each addressed member's packet will have.
    fn number_members(
        &mut self,
        group: GroupIndex,
        addressed: impl Fn(u32) -> bool,
        numbers: &mut Vec<Option<u32>>,
    ) -> Result<(), SendError> {
        numbers.clear();
        let mut full = None;
        for index in 0..self.groups[group].members.len() as u32 {
            let peer = self.groups[group].member(index);
            let is_target = peer != self.config.me && addressed(index) && !self.pair(peer).lost;
            if !is_target {
                numbers.push(None);
                continue;
            }
            let out = &self.pair(peer).out;
            numbers.push(Some(out.next() as u32));
            if out.free() == 0 {
                full = full.or(Some(peer));
            }
        }
        // The worst case, so that all or nothing is sent.
        let parts = parts_max(numbers.len());
        match full {
            None if self.slots.left() > parts => return Ok(()),
            None => {}
            Some(peer) => self.block(peer, 1),
        }
        Err(SendError::Full)
    }

    /// The window of a peer has no room for so many packets: if it is the peer that takes nothing, it will be asked.
    fn block(&mut self, peer: WorldRank, packets: u64) {
        self.pair(peer).out.set_needs(packets);
        self.plan(peer);
    }

    /// One packet of a multicast: usually the only one.
    fn multicast_part(
        &mut self,
        group: GroupIndex,
        plan: &NumbersPlan<'_>,
        payload_len: usize,
        fill: &mut impl FnMut(&mut [u8]),
    ) {
        let check = self.groups[group].check;
        let slot = self.slots.take(SlotDestination::Group(group));
        let block = self.slots.block_mut(slot);
        let (head, seq) = Spread { check, about: 0, place: 0, covered: false }.emit(plan, block);
        block[..HEAD_BYTES]
            .copy_from_slice(&PacketRepr { seq, ..PacketRepr::of(PacketKind::Multicast) }.bytes());
        let len = head + payload_len;
        fill(&mut block[head..len]);
        let mut unacked = 0;
        for index in plan.addressed() {
            let peer = self.groups[group].member(index as u32);
            self.pair(peer).out.push(slot);
            unacked += 1;
        }
        let kept = self.slots.get_mut(slot);
        (kept.head, kept.len) = (head as u16, len as u16);
        (kept.unacked, kept.queues) = (unacked, 1);
        let covered = HEAD_BYTES + SPREAD_BYTES - 4..HEAD_BYTES + SPREAD_BYTES + plan.bitmap_bytes();
        self.cover(group, slot, covered);
        self.fresh.push_back(slot);
        self.end_full_run();
        self.counters.multicasts += 1;
    }

    /// Adds a packet to the run that parity covers, or begins a new one. `members`: where a packet says to whom it goes, which
    /// all packets of a run say alike.
    fn cover(&mut self, group: GroupIndex, slot: SlotId, members: Range<usize>) {
        if self.config.parity.is_none() {
            return;
        }
        let goes_on = self.run.as_ref().is_some_and(|run| {
            let bytes = |slot| self.slots.bytes(slot).get(members.clone());
            run.group == group && bytes(run.slot) == bytes(slot)
        });
        if !goes_on {
            self.end_run();
            if self.slots.left() == 0 {
                return;
            }
            self.begin_run(group, slot);
        }
        self.add_to_run(slot);
    }

    /// The sum begins with the head of the first packet.
    fn begin_run(&mut self, group: GroupIndex, first: SlotId) {
        let slot = self.slots.take(SlotDestination::Parity(group));
        let head = self.slots.get(first).head;
        let (from, to) = self.slots.store.two(self.slots.get(first).block, self.slots.get(slot).block);
        let (to_head, to_sum) = to.split_at_mut(head.into());
        to_head.copy_from_slice(&from[..head.into()]);
        to_sum.fill(0);
        let kept = self.slots.get_mut(slot);
        (kept.head, kept.len) = (head, head + 2);
        self.run = Some(MulticastRun { group, slot, packets: 0 });
    }

    fn add_to_run(&mut self, packet: SlotId) {
        let Some(run) = &mut self.run else { return };
        let (head, len) = (self.slots.get(packet).head, self.slots.get(packet).len);
        self.slots.block_mut(packet)[PLACE_AT] = 0x80 | run.packets;
        run.packets += 1;
        let sum = self.slots.get_mut(run.slot);
        sum.len = sum.len.max(sum.head + 2 + len - head);
        let start = usize::from(sum.head);
        let (from, to) = self.slots.store.two(self.slots.get(packet).block, self.slots.get(run.slot).block);
        parity::add(&mut to[start..], &from[head.into()..len.into()]);
    }

    /// Its last packet is in the queue, so what comes next goes after it.
    fn end_full_run(&mut self) {
        if self.run.as_ref().is_some_and(|run| Some(run.packets) == self.config.parity) {
            self.end_run();
        }
    }

    /// The parity of a run goes out after its packets; one packet needs none.
    fn end_run(&mut self) {
        let Some(run) = self.run.take() else { return };
        let slot = self.slots.get_mut(run.slot);
        if run.packets < 2 {
            return self.slots.free_if_done(run.slot);
        }
        slot.queues = 1;
        let block = self.slots.block_mut(run.slot);
        block[0] = PacketKind::Parity as u8;
        block[PLACE_AT] = 0x80 | run.packets;
        self.fresh.push_back(run.slot);
    }

    /// Whether [`UrtpEndpoint::expect_multicast`] would change nothing.
    pub fn is_expected(&self, from: WorldRank) -> bool {
        let pair = self.pairs.get(from as usize).and_then(|pair| pair.as_ref());
        pair.is_some_and(|pair| pair.inn.ready() > 0 || pair.inn.waiting)
    }

    /// A receiver waits for the next packet of a peer: it will be asked for. Whatever comes ends that; who waits for more says so
    /// again.
    pub fn expect_multicast(&mut self, from: WorldRank, now: Nanos) {
        let jitter = self.jitter();
        let pair = self.pair(from);
        if pair.inn.ready() == 0 && !pair.inn.waiting {
            pair.inn.waiting = true;
            let first = now + pair.rtt.request() + pair.rtt.request() * jitter / 1024;
            let first = first.max(pair.inn.pauses_until());
            pair.inn.request_at = pair.inn.request_at.min(first);
            self.plan(from);
        }
    }

    /// A peer of which packets have come that can be taken. Said once: whoever hears it takes all, or remembers.
    pub fn poll_ready(&mut self) -> Option<WorldRank> {
        self.ready.pop_front()
    }

    /// Hands the next packet of a peer to `take`. False: there is none.
    pub fn receive(&mut self, from: WorldRank, take: impl FnOnce(&[u8])) -> bool {
        let Some(kept) = self.pair(from).inn.take() else { return false };
        take(&self.received.bytes(kept.block)[..kept.len.into()]);
        self.received.give_back(kept.block);
        self.held.give_back(kept.from);
        self.offer_room(from);
        true
    }

    /// The next packet of a peer, which stays until it is taken by [`UrtpEndpoint::receive`].
    pub fn peek(&mut self, from: WorldRank) -> Option<&[u8]> {
        let kept = self.pair(from).inn.peek()?;
        Some(&self.received.bytes(kept.block)[..kept.len.into()])
    }

    /// Something that happened.
    pub fn poll_event(&mut self) -> Option<UrtpEvent> {
        self.events.pop_front()
    }

    /// Packets with a number that were ever sent, once for each receiver, less those that were taken. If the sum over all ranks is 0, none is
    /// on its way. `None` if another way was used beside the link, whose own numbers change while nobody calls.
    pub fn packets_ahead(&self) -> Option<i64> {
        let ahead = |pair: &RankPair| pair.out.next().wrapping_sub(pair.inn.base()) as i64;
        let by_link_alone = self.counters.tunneled == 0 && self.counters.tunneled_heard == 0;
        by_link_alone.then(|| self.pairs.iter().flatten().map(|pair| ahead(pair)).sum())
    }

    /// Whether everything that was sent has been acknowledged by all that are not lost.
    pub fn is_flushed(&self) -> bool {
        self.pairs.iter().flatten().all(|pair| pair.out.is_empty() || pair.lost)
    }

    /// A number below 1024.
    fn jitter(&mut self) -> u64 {
        // Marsaglia, "Xorshift RNGs", 2003.
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random >> 54
    }

    fn pair(&mut self, peer: WorldRank) -> &mut RankPair {
        let config = &self.config;
        self.pairs[peer as usize].get_or_insert_with(|| Box::new(RankPair::new(config)))
    }
}

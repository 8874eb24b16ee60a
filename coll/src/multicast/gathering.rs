//! Allgather and allgatherv: every node multicasts what its ranks have.

use super::{others, segments};
use crate::gather;
use crate::hierarchical::{Tiers, node_after_node};
use crate::limits::{MULTICAST_SENDERS_MIN, MULTICAST_TURN_BYTES};
use crate::schedule::{Schedule, Span};
use crate::shape::Member;

/// Each node gathers at its leader; the leaders multicast whole nodes to each other, some at a time (k-concurrency,
/// section 4.3), and broadcast all to their nodes by `within`. `send` and `first` are as in [`crate::allgather`].
///
/// With k leaders at a time (see [`senders`]), at most the blocks of 2 (k − 1) nodes come early to a leader that takes
/// part, and those of m + k − 1 to the leader of node m if it is late: the others wait for it.
pub fn allgather(
    s: &mut Schedule,
    tiers: Tiers,
    send: Option<Span>,
    first: Span,
    segment_bytes: u64,
    within: impl FnOnce(&mut Schedule, Member, Span),
) {
    if first.bytes() == 0 {
        return;
    }
    let (ranks, me) = (tiers.nodes.size(), tiers.rank_of(tiers.local.rank));
    let longest = longest(&tiers, |place| first.bytes().saturating_mul(place.into()));
    let all = place_for(s, &tiers, first, longest > segment_bytes);
    let own = send.unwrap_or(if all.buf == first.buf { all.block(me) } else { first.block(me) });
    gather::binomial(s, tiers.local, 0, Some(own), tiers.blocks(all, tiers.node).part(0, all.count));
    if let Some(leader) = tiers.leader() {
        take_turns(s, leader, senders(&leader, longest), segment_bytes, |node| tiers.blocks(all, node));
    }
    within(s, tiers.local, all.blocks(0, ranks));
    if all.buf != first.buf {
        (0..ranks).for_each(|place| s.copy(all.block(place), first.block(tiers.nodes.rank_at(place))));
    }
}

/// Where the blocks lie node after node: in the receive buffer if that is so there, and if they need not be `cut` or
/// can be.
fn place_for(s: &mut Schedule, tiers: &Tiers, first: Span, cut: bool) -> Span {
    let (ranks, count) = (tiers.nodes.size(), first.bytes());
    if tiers.nodes.is_in_rank_order() && cut {
        return Span { count, ..s.packed_place(first.blocks(0, ranks)) };
    }
    node_after_node(s, tiers, first, count, ranks)
}

/// As [`allgather`], with blocks of any lengths, all of them packed on their way. `block` names that of each rank in the
/// receive buffer.
pub fn allgatherv(
    s: &mut Schedule,
    tiers: Tiers,
    send: Option<Span>,
    block: impl Fn(u32) -> Span,
    segment_bytes: u64,
    within: impl FnOnce(&mut Schedule, Member, Span),
) {
    let (ranks, me) = (tiers.nodes.size(), tiers.rank_of(tiers.local.rank));
    let block_at = |place: u32| block(tiers.nodes.rank_at(place));
    let mut starts = vec![0u64];
    for place in 0..ranks {
        starts.push(starts[place as usize].saturating_add(block_at(place).bytes()));
    }
    let start = |place: u32| starts[place as usize];
    if start(ranks) == 0 {
        return;
    }
    let all = s.temp_bytes(start(ranks));
    let part = |place: u32, ranks: u32| all.part(start(place), start(place + ranks) - start(place));
    let (first, local) = tiers.places_of(tiers.node, 1);
    debug_assert_eq!(local, tiers.local.size);
    let own = send.unwrap_or_else(|| block(me));
    gather::linear(s, tiers.local, 0, Some(own), |local| part(first + local, 1));
    if let Some(leader) = tiers.leader() {
        let node = |node| {
            let (first, ranks) = tiers.places_of(node, 1);
            part(first, ranks)
        };
        take_turns(s, leader, senders(&leader, longest(&tiers, start)), segment_bytes, node);
    }
    within(s, tiers.local, all);
    for place in (0..ranks).filter(|place| send.is_some() || tiers.nodes.rank_at(*place) != me) {
        s.copy(part(place, 1), block_at(place));
    }
}

/// The most bytes that a node has, where those of each place start at `start`.
fn longest(tiers: &Tiers, start: impl Fn(u32) -> u64) -> u64 {
    let bytes = |node| {
        let (first, ranks) = tiers.places_of(node, 1);
        start(first + ranks) - start(first)
    };
    (0..tiers.nodes.count()).map(bytes).max().unwrap_or(0)
}

/// How many leaders multicast at once, if one of them has so many bytes: as many as fit on the way, and at least
/// [`MULTICAST_SENDERS_MIN`].
pub(super) fn senders(leader: &Member, bytes: u64) -> u32 {
    let fit = MULTICAST_TURN_BYTES / bytes.max(1);
    fit.clamp(MULTICAST_SENDERS_MIN.into(), u64::from(leader.size).max(MULTICAST_SENDERS_MIN.into())) as u32
}

/// Each leader multicasts its block when it has those of all but the `senders` − 1 before it.
fn take_turns(
    s: &mut Schedule,
    leader: Member,
    senders: u32,
    segment_bytes: u64,
    block: impl Fn(u32) -> Span,
) {
    let listen = |s: &mut Schedule, from: u32| {
        segments(block(from), segment_bytes).for_each(|piece| s.listen(leader.peer(from), piece));
    };
    let awaited = (leader.rank + 1).saturating_sub(senders);
    (0..awaited).for_each(|from| listen(s, from));
    s.wait();
    let all = others(s, leader, leader.rank);
    segments(block(leader.rank), segment_bytes).for_each(|piece| s.multicast(all, piece));
    (awaited..leader.size).filter(|from| *from != leader.rank).for_each(|from| listen(s, from));
    s.wait();
}

//! Scatter and reduce_scatter: small blocks for several nodes in one multicast (section 4.4).
//!
//! What is for a node is cut into a body of whole packs, which goes to its leader alone, and the rest, which is packed with
//! that of other nodes and multicast to all their leaders; each takes its part. The body is a multicast to one, so that
//! both are in order.

use super::segments;
use crate::hierarchical::{Tiers, each_elsewhere, node_after_node};
use crate::limits::MULTICAST_PACK_BYTES;
use crate::reduce_scatter::ScatterBlocks;
use crate::schedule::{Schedule, Span};
use crate::shape::Member;
use crate::{reduce, scatter};

/// What is for each node, in bytes that lie node after node.
struct Parcels<F> {
    leader: Member<'static>,
    /// The node that hands out, which keeps its own.
    home: u32,
    /// Bytes of a multicast at most.
    segment_bytes: u64,
    /// The first byte for a node, and how many.
    range: F,
}

/// Rests that go together: those of the nodes from `first` to `end`, but for the home.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PackedRests {
    first: u32,
    end: u32,
    bytes: u64,
}

impl<F: Fn(u32) -> (u64, u64)> Parcels<F> {
    fn pack_bytes(&self) -> u64 {
        MULTICAST_PACK_BYTES.min(self.segment_bytes)
    }

    /// The body for a node.
    fn body(&self, of: Span, node: u32) -> Span {
        let (start, bytes) = (self.range)(node);
        of.part(start, bytes - bytes % self.pack_bytes())
    }

    /// The rest for a node; nothing for the home.
    fn rest(&self, of: Span, node: u32) -> Span {
        let (start, bytes) = (self.range)(node);
        let rest = if node == self.home { 0 } else { bytes % self.pack_bytes() };
        of.part(start.saturating_add(bytes - rest), rest)
    }

    fn rest_bytes(&self, node: u32) -> u64 {
        self.rest(Span::NOTHING, node).count
    }

    /// The next pack, from a node on.
    fn pack(&self, first: u32) -> Option<PackedRests> {
        let mut pack = PackedRests { first, end: first, bytes: 0 };
        while pack.end < self.leader.size {
            let bytes = pack.bytes + self.rest_bytes(pack.end);
            if bytes > self.pack_bytes() {
                break;
            }
            (pack.end, pack.bytes) = (pack.end + 1, bytes);
        }
        (first < self.leader.size).then_some(pack)
    }

    fn packs(&self) -> impl Iterator<Item = PackedRests> {
        std::iter::successors(self.pack(0), |pack| self.pack(pack.end)).filter(|pack| pack.bytes > 0)
    }

    /// The nodes that a pack has something for.
    fn receivers(&self, pack: PackedRests) -> impl Iterator<Item = u32> {
        (pack.first..pack.end).filter(|node| self.rest_bytes(*node) > 0)
    }
}

/// The root multicasts what is for other nodes, whose leaders scatter it to their ranks. `first` and `recv` are as in
/// [`scatter::binomial`].
///
/// What is for a leader, and what is packed with it, may come early if that is late.
pub fn scatter(
    s: &mut Schedule,
    tiers: Tiers,
    root: u32,
    first: Span,
    recv: Option<Span>,
    segment_bytes: u64,
) {
    let (tiers, home) = tiers.rooted_at(root);
    let bytes = recv.unwrap_or(first).bytes();
    if bytes == 0 {
        return;
    }
    let range = |node| {
        let (place, ranks) = tiers.places_of(node, 1);
        (bytes.saturating_mul(place.into()), bytes.saturating_mul(ranks.into()))
    };
    let member = Member::new(tiers.node, tiers.nodes.count());
    let parcels = Parcels { leader: member, home, segment_bytes, range };
    match tiers.leader() {
        Some(leader) if tiers.node == home => {
            let packed = packed(s, &tiers, home, first);
            hand_out(s, leader, &parcels, packed);
            scatter::linear(
                s,
                tiers.local,
                tiers.local_leader,
                |local| first.block(tiers.rank_of(local)),
                recv,
            );
        }
        None if tiers.node == home => scatter::linear(s, tiers.local, tiers.local_leader, |_| first, recv),
        Some(leader) => {
            let own = recv.filter(|_| tiers.local.size == 1);
            let all = match own {
                Some(own) => s.packed_place(own),
                None => s.temp_bytes((parcels.range)(tiers.node).1),
            };
            take_part(s, leader, &parcels, all);
            match own {
                Some(own) => s.unpack(all, own),
                None => scatter::binomial(s, tiers.local, 0, Span { count: bytes, ..all }, recv),
            }
        }
        None => scatter::binomial(s, tiers.local, 0, first, recv),
    }
}

/// All blocks of the root as bytes, node after node.
fn packed(s: &mut Schedule, tiers: &Tiers, home: u32, first: Span) -> Span {
    let ranks = tiers.nodes.size();
    if tiers.nodes.is_in_rank_order() {
        return s.pack(first.blocks(0, ranks));
    }
    let all = node_after_node(s, tiers, first, first.bytes(), ranks);
    each_elsewhere(tiers, home, all, first, |place, rank| s.copy(rank, place));
    all.blocks(0, ranks)
}

/// What the leader of the home does with all bytes.
fn hand_out(s: &mut Schedule, leader: Member, parcels: &Parcels<impl Fn(u32) -> (u64, u64)>, packed: Span) {
    for node in (0..leader.size).filter(|node| *node != parcels.home) {
        let alone = s.audience([leader.peer(node)]);
        segments(parcels.body(packed, node), parcels.segment_bytes)
            .for_each(|piece| s.multicast(alone, piece));
    }
    for pack in parcels.packs() {
        let to = s.audience(parcels.receivers(pack).map(|node| leader.peer(node)));
        let together = put_together(s, parcels, packed, pack);
        s.multicast(to, together);
    }
}

/// The rests of a pack, one after the other: where they lie if they do so there, else copies.
fn put_together(
    s: &mut Schedule,
    parcels: &Parcels<impl Fn(u32) -> (u64, u64)>,
    packed: Span,
    pack: PackedRests,
) -> Span {
    let mut rests = parcels.receivers(pack).map(|node| parcels.rest(packed, node));
    let first = rests.next().expect("a pack is for somebody");
    let mut end = first.offset + first.count as i64;
    let consecutive = rests.all(|rest| {
        let follows = rest.offset == end;
        end = rest.offset + rest.count as i64;
        follows
    });
    if consecutive {
        return first.part(0, pack.bytes);
    }
    let together = s.temp_bytes(pack.bytes);
    let mut at = 0;
    for rest in parcels.receivers(pack).map(|node| parcels.rest(packed, node)) {
        s.copy(rest, together.part(at, rest.count));
        at += rest.count;
    }
    together
}

/// What another leader does, to have what is for its node in `own`.
fn take_part(s: &mut Schedule, leader: Member, parcels: &Parcels<impl Fn(u32) -> (u64, u64)>, own: Span) {
    let home = leader.peer(parcels.home);
    let (start, bytes) = (parcels.range)(leader.rank);
    let body = bytes - parcels.rest_bytes(leader.rank);
    segments(own.part(0, body), parcels.segment_bytes).for_each(|piece| s.listen(home, piece));
    let rest = own.part(body, bytes - body);
    debug_assert_eq!(parcels.rest(own, leader.rank).offset, rest.offset + start as i64);
    if rest.count == 0 {
        return s.wait();
    }
    let of_others = |pack: &PackedRests| (pack.first..pack.end).contains(&leader.rank);
    let pack = parcels.packs().find(of_others).expect("the rest is in a pack");
    if pack.bytes == rest.count {
        s.listen(home, rest);
        return s.wait();
    }
    let together = s.temp_bytes(pack.bytes);
    s.listen(home, together);
    s.wait();
    let before = (pack.first..leader.rank).map(|node| parcels.rest_bytes(node)).sum();
    s.copy(together.part(before, rest.count), rest);
}

/// Each node reduces to its leader, the leaders to the first, which hands the blocks out as [`scatter`] does. For
/// nodes whose ranks follow each other; operands are combined in rank order.
///
/// Nothing comes early to a rank before it has brought its operand; then as in [`scatter`].
pub fn reduce_scatter(
    s: &mut Schedule,
    tiers: Tiers,
    blocks: &ScatterBlocks<impl Fn(u32, u32) -> (u64, u64)>,
    home: Span,
    segment_bytes: u64,
) {
    if blocks.all.bytes() == 0 {
        return;
    }
    let size = blocks.all.layout.size;
    let range = |node| {
        let (place, ranks) = tiers.places_of(node, 1);
        let (start, count) = (blocks.range)(place, ranks);
        (start * size, count * size)
    };
    let member = Member::new(tiers.node, tiers.nodes.count());
    let parcels = Parcels { leader: member, home: 0, segment_bytes, range };
    let mut result = reduce::to_first(s, tiers.local, blocks.all, None);
    let (start, bytes) = (parcels.range)(tiers.node);
    let mut own = Span::NOTHING;
    if let Some(leader) = tiers.leader() {
        result = reduce::to_first(s, leader, result, None);
        if leader.rank == 0 {
            let packed = s.pack(result);
            hand_out(s, leader, &parcels, packed);
            own = packed.part(start, bytes);
        } else if bytes > 0 {
            own = s.temp_bytes(bytes);
            take_part(s, leader, &parcels, own);
        }
    }
    let (first, _) = tiers.places_of(tiers.node, 1);
    let block = |local: u32| {
        let (from, count) = (blocks.range)(first + local, 1);
        own.part(from * size - start, count * size)
    };
    scatter::linear(s, tiers.local, 0, block, Some(home));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parcels(of: &[u64], home: u32, segment_bytes: u64) -> Parcels<impl Fn(u32) -> (u64, u64)> {
        let starts: Vec<u64> = (0..of.len()).map(|node| of[..node].iter().sum()).collect();
        let range = move |node: u32| (starts[node as usize], of[node as usize]);
        Parcels { leader: Member::new(0, of.len() as u32), home, segment_bytes, range }
    }

    #[test]
    fn rests_are_packed_in_order_as_long_as_they_fit() {
        let of = [40, 7, 3, 99, 10, 6, 20];
        let parcels = parcels(&of, 3, 10);
        let packs: Vec<_> =
            parcels.packs().map(|pack| (parcels.receivers(pack).collect::<Vec<_>>(), pack.bytes)).collect();
        assert_eq!(packs, [(vec![1, 2], 10), (vec![5], 6)]);
        let whole = Span { count: 185, ..Span::NOTHING };
        assert_eq!([0, 3, 6].map(|node| parcels.body(whole, node).count), [40, 90, 20]);
    }

    #[test]
    fn a_pack_goes_around_the_home_and_ends_where_the_next_would_not_fit() {
        let parcels = parcels(&[4, 5, 4, 4, 4], 1, 9);
        let packs: Vec<_> = parcels.packs().collect();
        let pack = |first, end, bytes| PackedRests { first, end, bytes };
        assert_eq!(packs, [pack(0, 3, 8), pack(3, 5, 8)]);
    }
}

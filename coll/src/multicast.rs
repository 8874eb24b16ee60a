//! Collectives that use the wire once for all nodes: among one rank of each node, which leads it, by multicast, and
//! within each node as ever. Bruck and others, "Efficient Message Passing Interface (MPI) for parallel computing on
//! clusters of workstations", 1995 (MPI-CCL), section 4. Where a call has a root, it leads its own node. Gathering is not
//! here: what many send to one goes from each to that one.
//!
//! None of these counts on memory for what comes early: each ends even where a multicast waits until all its receivers
//! listen. (In the terms of section 2.2 of the paper all are k-buffer correct for every k.) How much may come early all the
//! same, to a rank that is late, each states; a receiver's credits hold a sender back before that is too much.
//!
//! Between two ranks, a call uses either multicasts or messages to one alone, since these are in no order. Leaders signal,
//! reduce and gather upwards by messages to one, and multicast downwards or to all.

mod gathering;
mod scattering;

pub use gathering::{allgather, allgatherv};
pub use scattering::{reduce_scatter, scatter};

use crate::hierarchical::Tiers;
use crate::limits::{MULTICAST_EXCHANGE_BYTES, MULTICAST_FAN_IN, MULTICAST_SEGMENTS_AHEAD};
use crate::schedule::{Audience, Schedule, Span, StepPeer};
use crate::shape::Member;
use crate::tree::{Tree, relay};
use crate::{barrier, bcast, reduce};

/// All signal their leaders, these the first of them up a tree, which lets all leaders go at once, and these their nodes:
/// a gather of nothing and a broadcast of nothing (section 4.5).
///
/// Nothing comes early to a rank that has not come to the barrier; one signal may before it listens.
pub fn barrier(s: &mut Schedule, tiers: Tiers) {
    barrier::gather_signals(s, tiers.local);
    if let Some(leader) = tiers.leader() {
        gather_signals(s, leader);
        if leader.rank == 0 {
            let all = others(s, leader, 0);
            s.multicast(all, Span::NOTHING);
        } else {
            s.listen(leader.peer(0), Span::NOTHING);
        }
        s.wait();
    }
    barrier::release(s, tiers.local);
}

/// Up a tree in which each has [`MULTICAST_FAN_IN`] children, to the first.
fn gather_signals(s: &mut Schedule, me: Member) {
    let first_child = u64::from(me.rank) * u64::from(MULTICAST_FAN_IN) + 1;
    let children = first_child..(first_child + u64::from(MULTICAST_FAN_IN)).min(me.size.into());
    children.for_each(|child| s.await_signal(me.peer(child as u32)));
    s.wait();
    if me.rank > 0 {
        s.signal(me.peer((me.rank - 1) / MULTICAST_FAN_IN));
        s.wait();
    }
}

/// The root multicasts segment after segment to the leaders of the other nodes, who pass each on down a tree while the
/// next is on its way (section 4.2).
///
/// All segments may come early to a leader that is late.
pub fn bcast(s: &mut Schedule, tiers: Tiers, root: u32, data: Span, segment_bytes: u64) {
    let (tiers, home) = tiers.rooted_at(root);
    let within = tiers.local.rotated(tiers.local_leader);
    let (parent, children) = (Tree::Binomial.parent(&within), Tree::Binomial.children(within));
    let is_root = tiers.rank_of(tiers.local.rank) == root;
    bcast::in_segments(s, is_root, data, segment_bytes, |s, pieces, piece| match (tiers.leader(), parent) {
        (Some(leader), _) if is_root => {
            let all = others(s, leader, home);
            hand_out(s, all, children, pieces, piece);
        }
        (Some(leader), _) if tiers.local.size == 1 => listen_to(s, leader.peer(home), pieces, piece),
        (Some(leader), _) => relay(s, |s, piece| s.listen(leader.peer(home), piece), children, pieces, piece),
        (None, parent) => {
            let receive =
                |s: &mut Schedule, piece| parent.into_iter().for_each(|parent| s.recv(parent, piece));
            relay(s, receive, children, pieces, piece);
        }
    });
}

/// What the root does: the wire is the slower part, so it comes first.
fn hand_out(
    s: &mut Schedule,
    to: Audience,
    children: impl Iterator<Item = StepPeer> + Clone,
    pieces: u64,
    piece: impl Fn(u64) -> Span,
) {
    for batch in batches(pieces) {
        batch.clone().for_each(|index| s.multicast(to, piece(index)));
        for index in batch {
            children.clone().for_each(|child| s.send(child, piece(index)));
        }
        s.wait();
    }
}

/// What a leader does who has nobody to pass it on to.
fn listen_to(s: &mut Schedule, from: StepPeer, pieces: u64, piece: impl Fn(u64) -> Span) {
    for batch in batches(pieces) {
        batch.for_each(|index| s.listen(from, piece(index)));
        s.wait();
    }
}

/// Numbers of segments that are under way together.
fn batches(pieces: u64) -> impl Iterator<Item = std::ops::Range<u64>> {
    let starts = (0..pieces).step_by(MULTICAST_SEGMENTS_AHEAD as usize);
    starts.map(move |start| start..(start + MULTICAST_SEGMENTS_AHEAD).min(pieces))
}

/// Each node reduces to its leader. Then all leaders multicast what they have to each other, if that is little, and each
/// combines it; else they reduce to the first up a binomial tree, and the result is broadcast as by [`bcast`]. All ranks have
/// the same bits, and the order of operands is that of the ranks.
///
/// The operands of all other leaders may come early to one that is late. A result does not come to a rank before that has
/// brought its operand; then all segments may.
pub fn allreduce(s: &mut Schedule, tiers: Tiers, own: Span, home: Span, segment_bytes: u64) {
    if own.bytes() == 0 {
        return;
    }
    let leader = tiers.leader();
    let result = reduce::to_first(s, tiers.local, own, leader.map(|_| home));
    if leader.is_some() {
        s.copy(result, home);
    }
    let exchanged = own.bytes().saturating_mul(tiers.nodes.count().into());
    if exchanged <= MULTICAST_EXCHANGE_BYTES && own.bytes() <= segment_bytes {
        leader.into_iter().for_each(|leader| exchange(s, leader, home));
        bcast::binomial(s, tiers.local, 0, home);
        return;
    }
    if let Some(leader) = leader {
        let result = reduce::to_first(s, leader, home, Some(home));
        if leader.rank == 0 {
            s.copy(result, home);
        }
    }
    bcast(s, tiers, tiers.nodes.leaders()[0], home, segment_bytes);
}

/// Combines the operands of all leaders, this one's in `home`, from the first to the last; the result is in `home`.
fn exchange(s: &mut Schedule, leader: Member, home: Span) {
    let operands = s.temp_like(home.blocks(0, leader.size));
    let operand = |rank| Span { count: home.count, ..operands }.block(rank);
    let all = others(s, leader, leader.rank);
    for rank in (0..leader.size).filter(|rank| *rank != leader.rank) {
        s.listen(leader.peer(rank), operand(rank));
    }
    s.multicast(all, home);
    s.copy(home, operand(leader.rank));
    s.wait();
    (1..leader.size).for_each(|rank| s.reduce(operand(rank - 1), operand(rank)));
    s.copy(operand(leader.size - 1), home);
}

/// All leaders but the one that multicasts.
fn others(s: &mut Schedule, leader: Member, sender: u32) -> Audience {
    s.audience((0..leader.size).filter(|other| *other != sender).map(|other| leader.peer(other)))
}

/// A span in segments; one that is longer than a segment must be of bytes.
fn segments(span: Span, segment_bytes: u64) -> impl Iterator<Item = Span> {
    let bytes = span.bytes();
    let whole = bytes <= segment_bytes;
    (0..bytes.div_ceil(segment_bytes)).map(move |index| {
        if whole { span } else { bcast::clipped(span, index * segment_bytes, segment_bytes) }
    })
}

//! Broadcast (MPI 5.0, section 6.4).

use crate::allgather;
use crate::schedule::{Schedule, Span};
use crate::shape::Member;
use crate::tree::{Tree, pass_on};

/// Binomial tree: the number of ranks that have the data doubles at every step. The T3D paper calls it the
/// unbalanced tree (section 3.3).
pub fn binomial(s: &mut Schedule, me: Member, root: u32, data: Span) {
    if data.bytes() == 0 {
        return;
    }
    let tree = me.rotated(root);
    if tree.rank > 0 {
        s.recv(tree.peer(tree.rank - tree.reach()), data);
        s.wait();
    }
    for (step, _) in tree.children() {
        s.send(tree.peer(tree.rank + step), data);
    }
    s.wait();
}

/// Scatter down a binomial tree, then allgather around a ring: every rank sends and receives about twice the
/// data whatever the number of ranks. Van de Geijn, "On global combine operations", 1994; Thakur, Rabenseifner and
/// Gropp, "Optimization of collective communication operations in MPICH", 2005.
pub fn scatter_ring(s: &mut Schedule, me: Member, root: u32, data: Span) {
    if data.bytes() == 0 || me.size == 1 {
        return;
    }
    with_packed(s, me.rank == root, data, |s, packed| {
        let tree = me.rotated(root);
        let chunk = packed.count.div_ceil(u64::from(me.size));
        scatter_chunks(s, me, root, packed, chunk);
        let ring = Member::new(tree.rank, me.size);
        let block = |rank: u32| chunks(packed, chunk, rank, 1);
        allgather::ring_over(s, ring, |rank| tree.peer(rank), None, block);
    });
}

/// Pipelined along a tree: each rank passes segment after segment to its children, and receives one while it sends the
/// one before. Along a chain each link carries the data once: Watts and van de Geijn, "A pipelined broadcast for
/// multidimensional meshes", 1995. Along a binary tree the way is shorter, but each rank sends twice:
/// Pješivac-Grbović and others, "Performance analysis of MPI collective operations", 2007.
pub fn pipelined(s: &mut Schedule, me: Member, root: u32, data: Span, tree: Tree, segment_bytes: u64) {
    if me.size == 1 {
        return;
    }
    let ranks = me.rotated(root);
    in_segments(s, me.rank == root, data, segment_bytes, |s, pieces, piece| {
        pass_on(s, tree.parent(&ranks), tree.children(ranks), pieces, piece);
    });
}

/// Runs an algorithm over the segments of a broadcast: of the packed bytes, or if one segment is enough, over the data
/// as they are.
pub(crate) fn in_segments(
    s: &mut Schedule,
    is_root: bool,
    data: Span,
    segment_bytes: u64,
    algorithm: impl FnOnce(&mut Schedule, u64, &dyn Fn(u64) -> Span),
) {
    if data.bytes() == 0 {
        return;
    }
    if data.bytes() <= segment_bytes {
        algorithm(s, 1, &|_| data);
        return;
    }
    with_packed(s, is_root, data, |s, packed| {
        let segment = |index: u64| clipped(packed, index * segment_bytes, segment_bytes);
        algorithm(s, packed.count.div_ceil(segment_bytes), &segment);
    });
}

/// Runs an algorithm that cuts the data anywhere, on the packed bytes of a broadcast.
fn with_packed(s: &mut Schedule, is_root: bool, data: Span, algorithm: impl FnOnce(&mut Schedule, Span)) {
    if is_root {
        let packed = s.pack(data);
        algorithm(s, packed);
    } else {
        let packed = s.packed_place(data);
        algorithm(s, packed);
        s.unpack(packed, data);
    }
}

/// Leaves chunk r, counted from the root, at the rank that is r places after it.
fn scatter_chunks(s: &mut Schedule, me: Member, root: u32, packed: Span, chunk: u64) {
    let tree = me.rotated(root);
    if tree.rank > 0 {
        s.recv_some(tree.peer(tree.rank - tree.reach()), chunks(packed, chunk, tree.rank, tree.subtree()));
        s.wait();
    }
    for (step, subtree) in tree.children() {
        let child = tree.rank + step;
        s.send_some(tree.peer(child), chunks(packed, chunk, child, subtree));
    }
    s.wait();
}

/// `number` chunks from chunk `first` on; the last ones may be short or empty.
fn chunks(packed: Span, chunk: u64, first: u32, number: u32) -> Span {
    clipped(packed, chunk.saturating_mul(u64::from(first)), chunk.saturating_mul(u64::from(number)))
}

pub(crate) fn clipped(span: Span, first: u64, count: u64) -> Span {
    let first = first.min(span.count);
    span.part(first, count.min(span.count - first))
}

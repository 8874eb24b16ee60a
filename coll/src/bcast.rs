//! Broadcast (MPI 5.0, section 6.4).

use crate::allgather;
use crate::limits::CHAIN_SEGMENT_BYTES;
use crate::schedule::{Schedule, Span};
use crate::shape::Member;

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
/// data whatever the number of ranks. Van de Geijn, "On global combine operations", 1994.
pub fn scatter_ring(s: &mut Schedule, me: Member, root: u32, data: Span) {
    with_packed(s, me, root, data, |s, packed| {
        let tree = me.rotated(root);
        let chunk = packed.count.div_ceil(u64::from(me.size));
        scatter_chunks(s, me, root, packed, chunk);
        let ring = Member { rank: tree.rank, size: me.size, base: 0 };
        let block = |rank: u32| chunks(packed, chunk, rank, 1);
        allgather::ring_over(s, ring, |rank| tree.peer(rank), block);
    });
}

/// Pipelined chain: each rank passes segment after segment to the next, and receives one while it sends the
/// one before.
pub fn chain(s: &mut Schedule, me: Member, root: u32, data: Span) {
    with_packed(s, me, root, data, |s, packed| {
        let line = me.rotated(root);
        let segments = packed.count.div_ceil(CHAIN_SEGMENT_BYTES);
        let segment = |index: u64| clipped(packed, index * CHAIN_SEGMENT_BYTES, CHAIN_SEGMENT_BYTES);
        for index in 0..=segments {
            if line.rank > 0 && index < segments {
                s.recv(line.peer(line.rank - 1), segment(index));
            }
            if line.rank + 1 < line.size() && index > 0 {
                s.send(line.peer(line.rank + 1), segment(index - 1));
            }
            s.wait();
        }
    });
}

/// Runs an algorithm that cuts the data anywhere, on the packed bytes of a broadcast.
fn with_packed(
    s: &mut Schedule,
    me: Member,
    root: u32,
    data: Span,
    algorithm: impl FnOnce(&mut Schedule, Span),
) {
    if data.bytes() == 0 || me.size == 1 {
        return;
    }
    if me.rank == root {
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

fn clipped(span: Span, first: u64, count: u64) -> Span {
    let first = first.min(span.count);
    span.part(first, count.min(span.count - first))
}

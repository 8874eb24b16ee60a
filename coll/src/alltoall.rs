//! Alltoall, alltoallv and alltoallw (MPI 5.0, section 6.8).
//!
//! `send` and `recv` give the block to and from each rank.

use crate::barrier::doublings;
use crate::limits::DIRECT_PEERS_MAX;
use crate::schedule::{Schedule, Span};
use crate::shape::Member;

/// The T3D's direct exchange (section 3.3): every rank sends straight to every other, ordered so that at no time
/// two aim at the same one: rank r starts with r + 1. All messages are started at once, up to
/// [`DIRECT_PEERS_MAX`] a batch.
pub fn direct(s: &mut Schedule, me: Member, send: impl Fn(u32) -> Span, recv: impl Fn(u32) -> Span) {
    let own = |s: &mut Schedule| s.copy(send(me.rank), recv(me.rank));
    for distance in 1..me.size {
        s.recv_some(me.peer(me.before(distance)), recv(me.before(distance)));
        s.send_some(me.peer(me.after(distance)), send(me.after(distance)));
        // While the messages of the first batch are on their way.
        if distance == DIRECT_PEERS_MAX.min(me.size - 1) {
            own(s);
        }
        if distance % DIRECT_PEERS_MAX == 0 {
            s.wait();
        }
    }
    if me.size == 1 {
        own(s);
    }
    s.wait();
}

/// Pairwise: as [`direct`], one partner at a time, so that no rank receives two large messages at once.
pub fn pairwise(s: &mut Schedule, me: Member, send: impl Fn(u32) -> Span, recv: impl Fn(u32) -> Span) {
    for distance in 1..me.size {
        s.recv_some(me.peer(me.before(distance)), recv(me.before(distance)));
        s.send_some(me.peer(me.after(distance)), send(me.after(distance)));
        if distance == 1 {
            s.copy(send(me.rank), recv(me.rank));
        }
        s.wait();
    }
    if me.size == 1 {
        s.copy(send(me.rank), recv(me.rank));
    }
}

/// In place: partners swap blocks, one pair at a time, the outgoing one packed aside first. In round k the
/// partner of r is k − r, which is a symmetric relation, so each rank has at most one.
pub fn in_place(s: &mut Schedule, me: Member, recv: impl Fn(u32) -> Span) {
    let others = (0..me.size).filter(|rank| *rank != me.rank);
    let largest_bytes = others.map(|rank| recv(rank).bytes()).max().unwrap_or(0);
    if largest_bytes == 0 {
        return;
    }
    let aside = s.temp_bytes(largest_bytes);
    for round in 0..me.size {
        let partner = Member { rank: round, ..me }.before(me.rank);
        let block = recv(partner);
        if partner != me.rank && block.bytes() > 0 {
            let packed = aside.part(0, block.bytes());
            s.copy(block, packed);
            s.send(me.peer(partner), packed);
            s.recv(me.peer(partner), block);
            s.wait();
        }
    }
}

/// Bruck: ceil(log2(n)) rounds; in round k all blocks whose remaining distance has bit k travel 2^k places. For
/// small blocks of one size. This is the algorithm of the T3D paper's Figure 4; for its citation see
/// [`crate::allgather::bruck`].
///
/// In place, `send` gives the blocks of the receive buffer: all are packed before the first is overwritten.
pub fn bruck(s: &mut Schedule, me: Member, send: impl Fn(u32) -> Span, recv: impl Fn(u32) -> Span) {
    let block_bytes = recv(me.rank).bytes();
    if block_bytes == 0 {
        return;
    }
    let all = s.temp_bytes(block_bytes.saturating_mul(u64::from(me.size)));
    let block = Span { count: block_bytes, ..all };
    for distance in 0..me.size {
        s.copy(send(me.after(distance)), block.block(distance));
    }
    bruck_rounds(s, me, block);
    for distance in 0..me.size {
        s.copy(block.block(distance), recv(me.before(distance)));
    }
}

fn bruck_rounds(s: &mut Schedule, me: Member, block: Span) {
    let half_bytes = block.count.saturating_mul(u64::from(me.size.next_power_of_two() / 2));
    let (out, incoming) = (s.temp_bytes(half_bytes), s.temp_bytes(half_bytes));
    for step in doublings(me.size) {
        let moved = each_run(me.size, step, |first, number, before| {
            s.copy(block.blocks(first, number), Span { count: block.count, ..out }.blocks(before, number));
        });
        let bytes = block.count * u64::from(moved);
        s.send(me.peer(me.after(step)), out.part(0, bytes));
        s.recv(me.peer(me.before(step)), incoming.part(0, bytes));
        s.wait();
        each_run(me.size, step, |first, number, before| {
            s.copy(
                Span { count: block.count, ..incoming }.blocks(before, number),
                block.blocks(first, number),
            );
        });
    }
}

/// The runs of numbers below `size` that have the bit `step` set: their start, their length, and how many were
/// in the runs before. Returns how many there are in all.
fn each_run(size: u32, step: u32, mut run: impl FnMut(u32, u32, u32)) -> u32 {
    let mut before = 0;
    let mut first = step;
    while first < size {
        let number = step.min(size - first);
        run(first, number, before);
        before += number;
        first += 2 * step;
    }
    before
}

//! Reduce_scatter and reduce_scatter_block (MPI 5.0, section 6.10).
//!
//! `blocks` names the block of each rank in the operand, which is the receive buffer in place; the result
//! goes to the start of the receive buffer, `home`, and has the length of the own block.

use crate::allreduce::halvings;
use crate::reduce::{self, PartialResult};
use crate::scatter;
use crate::schedule::{Schedule, Span};
use crate::shape::Member;

/// The operand and where each rank's block lies in it.
pub struct ScatterBlocks<F> {
    /// The whole operand.
    pub all: Span,
    /// The first element and the number of elements of `number` blocks, from a first one on.
    pub range: F,
}

impl<F: Fn(u32, u32) -> (u64, u64)> ScatterBlocks<F> {
    /// The block of one rank in `vector`, which has the form of the operand.
    pub fn block(&self, vector: Span, rank: u32) -> Span {
        self.blocks(vector, rank, 1)
    }

    fn blocks(&self, vector: Span, first: u32, number: u32) -> Span {
        let (start, count) = (self.range)(first, number);
        vector.part(start, count)
    }
}

/// Reduce to rank 0, which keeps rank order, and scatter from there.
pub fn reduce_then_scatter(
    s: &mut Schedule,
    me: Member,
    blocks: &ScatterBlocks<impl Fn(u32, u32) -> (u64, u64)>,
    home: Span,
) {
    let result = reduce::to_first(s, me, blocks.all, None);
    // In place at rank 0 of one, the result may be the operand itself.
    scatter::linear(s, me, 0, |rank| blocks.block(result, rank), Some(home));
}

/// Pairwise, for operations that commute: every rank receives the others' operands for its own block, one
/// partner at a time, always in the same order.
pub fn pairwise(
    s: &mut Schedule,
    me: Member,
    blocks: &ScatterBlocks<impl Fn(u32, u32) -> (u64, u64)>,
    home: Span,
) {
    let own = blocks.block(blocks.all, me.rank);
    let spare = (home.buf != blocks.all.buf).then_some(home);
    let mut running = PartialResult::new(own, false, spare);
    for distance in 1..me.size {
        let incoming = running.incoming(s);
        let to = me.after(distance);
        s.send_some(me.peer(to), blocks.block(blocks.all, to));
        s.recv_some(me.peer(me.before(distance)), incoming);
        s.wait();
        running.then(s);
    }
    bring_home(s, running.value(), home);
}

/// Recursive halving, for operations that commute and a power of two of ranks: in each round a rank gives its
/// partner the half of the remaining blocks that the partner is in, and combines its own half. Rabenseifner's
/// first half; see [`crate::allreduce::rabenseifner`].
pub fn recursive_halving(
    s: &mut Schedule,
    me: Member,
    blocks: &ScatterBlocks<impl Fn(u32, u32) -> (u64, u64)>,
    home: Span,
) {
    debug_assert!(me.power_of_two());
    let mut work = blocks.all;
    for step in halvings(me.size) {
        let keep = me.rank & !(step - 1);
        let partner = me.peer(me.rank ^ step);
        // The operand is not overwritten: the first round's results, one half, begin the working vector.
        let kept = blocks.blocks(work, keep, step);
        let incoming = s.temp_like(kept);
        s.send_some(partner, blocks.blocks(work, keep ^ step, step));
        s.recv_some(partner, incoming);
        s.wait();
        s.reduce(kept, incoming);
        work = rebased(incoming, (blocks.range)(keep, step).0);
    }
    bring_home(s, blocks.block(work, me.rank), home);
}

/// A vector of which `part` is all that exists, from the element `first` on.
fn rebased(part: Span, first: u64) -> Span {
    let distance = part.layout.extent.wrapping_mul(first as i64);
    Span { offset: part.offset.wrapping_sub(distance), ..part }
}

/// Copies the result to the start of the receive buffer; by way of temporary memory if it lies further on in
/// the same buffer and might overlap.
fn bring_home(s: &mut Schedule, result: Span, home: Span) {
    if result.buf == home.buf && result != home {
        let aside = s.temp_like(result);
        s.copy(result, aside);
        s.copy(aside, home);
    } else {
        s.copy(result, home);
    }
}

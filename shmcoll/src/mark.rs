//! What a call is, in one word: all ranks have to come with the same (MPI 5.0 section 6.1).
//!
//! A word compares at once, and tells a person what another rank does instead.

use tern_coll::{Collective, CollectiveCall, CommView, Root, TypedCount, Vector};
use tern_shm::ShmComm;

/// The collective, its root, its operation and its length, as far as all ranks have to name the same.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Mark(u64);

/// An operation on a type, as a number below [`Mark::OPERATIONS`] that all ranks give it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OperationCode(pub u16);

// From the lowest bit: what [`ShmComm`] keeps for itself, then these.
const COLLECTIVE: Field = Field { at: ShmComm::MARK_BITS_RESERVED, bits: 5 };
const ROOT: Field = Field { at: COLLECTIVE.end(), bits: 7 };
const OPERATION: Field = Field { at: ROOT.end(), bits: 10 };
const LENGTH: Field = Field { at: OPERATION.end(), bits: 38 };
const _: () = assert!(Collective::Barrier as u64 == 0, "a barrier's mark is zero");
const _: () = assert!(LENGTH.end() == u64::BITS && Collective::ALL.len() <= 1 << COLLECTIVE.bits);

/// Some bits of a mark.
#[derive(Clone, Copy)]
struct Field {
    at: u32,
    bits: u32,
}

impl Field {
    const fn end(self) -> u32 {
        self.at + self.bits
    }

    const fn max(self) -> u64 {
        (1 << self.bits) - 1
    }

    /// The largest value stands for all that are larger.
    #[inline]
    const fn put(self, value: u64) -> u64 {
        (if value < self.max() { value } else { self.max() }) << self.at
    }

    const fn get(self, bits: u64) -> u64 {
        bits >> self.at & self.max()
    }
}

/// In which respect two marks differ.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Difference {
    /// They are of two collectives.
    Collective,
    /// The roots.
    Root,
    /// The operations, or the types of their elements.
    Operation,
    /// The bytes of a rank's data.
    Bytes,
    /// The lengths that each rank gives for all ranks.
    Lengths,
}

impl Mark {
    /// Operation codes are smaller.
    pub const OPERATIONS: u16 = OPERATION.max() as u16;

    /// Of a collective whose ranks need not name the same of anything.
    #[inline]
    pub const fn bare(collective: Collective) -> Mark {
        Mark(COLLECTIVE.put(collective as u64))
    }

    /// Of a call. That of a rank whose own block has two lengths is like nobody's.
    #[inline(always)]
    pub fn of(call: &CollectiveCall, comm: &CommView, operation: Option<OperationCode>) -> Mark {
        let mark = Mark::of_even(call, comm, operation);
        match call.to_itself(comm) {
            Some((sent, room)) if sent != room => mark.long(u64::MAX),
            _ => mark,
        }
    }

    #[inline(always)]
    fn of_even(call: &CollectiveCall, comm: &CommView, operation: Option<OperationCode>) -> Mark {
        let bare = Mark::bare(call.collective());
        let reduced = |data: &TypedCount| bare.long(data.bytes()).with(operation);
        match call {
            CollectiveCall::Bcast { data, root } => bare.long(data.bytes()).rooted(*root),
            CollectiveCall::Gather { send, recv, root } => {
                bare.long(block_at_root(comm, *root, recv, send.as_ref())).rooted(*root)
            }
            CollectiveCall::Scatter { send, recv, root } => {
                bare.long(block_at_root(comm, *root, send, recv.as_ref())).rooted(*root)
            }
            CollectiveCall::Gatherv { root, .. } | CollectiveCall::Scatterv { root, .. } => {
                bare.rooted(*root)
            }
            CollectiveCall::Allgather { recv, .. } | CollectiveCall::Alltoall { recv, .. } => {
                bare.long(recv.bytes())
            }
            CollectiveCall::Allgatherv { recv, .. } => bare.long(digest_of_blocks(recv, comm.size)),
            CollectiveCall::Reduce { data, root, .. } => reduced(data).rooted(*root),
            CollectiveCall::ReduceScatter { counts, layout, .. } => {
                let bytes = |rank| counts.count(rank as usize).wrapping_mul(layout.size);
                bare.long(digest((0..comm.size).map(bytes))).with(operation)
            }
            CollectiveCall::Allreduce { data, .. }
            | CollectiveCall::ReduceScatterBlock { data, .. }
            | CollectiveCall::Scan { data, .. }
            | CollectiveCall::Exscan { data, .. } => reduced(data),
            _ => bare,
        }
    }

    /// What a [`tern_shm::Mismatch`] tells of another rank's.
    pub fn from_bits(bits: u64) -> Mark {
        Mark(bits)
    }

    /// For [`ShmComm::begin`].
    #[inline]
    pub fn bits(self) -> u64 {
        self.0
    }

    /// The collective.
    pub fn collective(self) -> Option<Collective> {
        Collective::ALL.into_iter().find(|&collective| collective as u64 == COLLECTIVE.get(self.0))
    }

    /// The root, if the collective has one.
    pub fn root(self) -> Option<u32> {
        // The first root is 1 here, and 0 says that there is none.
        ROOT.get(self.0).checked_sub(1).map(|root| root as u32)
    }

    /// Bytes of a rank's data, of a collective in which these are the same at all ranks.
    pub fn bytes(self) -> u64 {
        LENGTH.get(self.0)
    }

    /// Whether the rank that came with it sends another number of bytes to itself than it has room for.
    pub fn is_uneven(self) -> bool {
        self.bytes() == LENGTH.max()
    }

    /// In which respect two calls differ first.
    pub fn difference(self, other: Mark) -> Option<Difference> {
        let differ = |field: Field| field.get(self.0) != field.get(other.0);
        let by_ranks = matches!(self.collective(), Some(Collective::Allgatherv | Collective::ReduceScatter));
        match () {
            () if differ(COLLECTIVE) => Some(Difference::Collective),
            () if differ(ROOT) => Some(Difference::Root),
            () if differ(OPERATION) => Some(Difference::Operation),
            () if differ(LENGTH) && by_ranks => Some(Difference::Lengths),
            () if differ(LENGTH) => Some(Difference::Bytes),
            () => None,
        }
    }

    #[inline]
    fn long(self, length: u64) -> Mark {
        Mark(self.0 | LENGTH.put(length))
    }

    #[inline]
    fn with(self, operation: Option<OperationCode>) -> Mark {
        let code = operation.map_or(OPERATION.max(), |operation| u64::from(operation.0));
        Mark(self.0 | OPERATION.put(code))
    }

    #[inline]
    fn rooted(self, root: Root) -> Mark {
        let Root::Rank(root) = root else { return self };
        Mark(self.0 | ROOT.put(u64::from(root) + 1))
    }
}

/// Bytes of one rank's block: the root has told them for all, the others for themselves.
#[inline]
fn block_at_root(comm: &CommView, root: Root, at_root: &TypedCount, elsewhere: Option<&TypedCount>) -> u64 {
    match elsewhere {
        Some(data) if root != Root::Rank(comm.rank) => data.bytes(),
        _ => at_root.bytes(),
    }
}

fn digest_of_blocks(blocks: &Vector, size: u32) -> u64 {
    digest((0..size).map(|rank| blocks.in_recv(rank).bytes()))
}

/// Some bits that other numbers, or another order of them, give otherwise.
fn digest(numbers: impl Iterator<Item = u64>) -> u64 {
    /// 2^64 by the golden ratio.
    const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
    let all = numbers.fold(0u64, |all, number| (all.rotate_left(5) ^ number).wrapping_mul(SPREAD));
    all >> (u64::BITS - LENGTH.bits + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tern_coll::TypeLayout;

    fn bytes(count: u64) -> TypedCount {
        TypedCount::new(count, TypeLayout::contiguous(1))
    }

    fn mark(call: &CollectiveCall, operation: Option<OperationCode>) -> Mark {
        Mark::of(call, &CommView::intra(1, 4), operation)
    }

    #[test]
    fn marks_tell_in_which_respect_calls_differ() {
        let bcast =
            |count, root| mark(&CollectiveCall::Bcast { data: bytes(count), root: Root::Rank(root) }, None);
        let allreduce = |count, code| {
            let call = CollectiveCall::Allreduce { data: bytes(count), in_place: false, commutative: true };
            mark(&call, Some(OperationCode(code)))
        };
        assert_eq!(bcast(100, 2).difference(bcast(100, 2)), None);
        assert_eq!(bcast(100, 2).difference(bcast(100, 3)), Some(Difference::Root));
        assert_eq!(bcast(100, 2).difference(bcast(0, 2)), Some(Difference::Bytes));
        assert_eq!(bcast(8, 0).difference(allreduce(8, 0)), Some(Difference::Collective));
        assert_eq!(allreduce(8, 0).difference(allreduce(8, 7)), Some(Difference::Operation));
        assert_eq!(
            (bcast(100, 2).bytes(), bcast(100, 2).root(), allreduce(8, 1).root()),
            (100, Some(2), None)
        );
        assert_eq!(allreduce(1, 1).collective(), Some(Collective::Allreduce));
        let barrier = mark(&CollectiveCall::Barrier, None);
        assert_eq!(
            (barrier.bits(), barrier.collective(), barrier.root()),
            (0, Some(Collective::Barrier), None)
        );
        assert_eq!(bcast(0, 0).difference(barrier), Some(Difference::Collective));
    }

    #[test]
    fn a_root_and_its_leaves_come_with_the_same() {
        for rank in 0..4 {
            // What only the root receives is not significant elsewhere.
            let recv = if rank == 2 { bytes(7) } else { bytes(999) };
            let call = CollectiveCall::Gather { send: Some(bytes(7)), recv, root: Root::Rank(2) };
            assert_eq!(Mark::of(&call, &CommView::intra(rank, 4), None).bytes(), 7);
        }
    }

    #[test]
    fn a_rank_whose_own_block_has_two_lengths_is_like_nobody() {
        let allgather = |sent, room| {
            mark(&CollectiveCall::Allgather { send: Some(bytes(sent)), recv: bytes(room) }, None)
        };
        let in_place = mark(&CollectiveCall::Allgather { send: None, recv: bytes(40) }, None);
        assert_eq!(allgather(40, 40).difference(in_place), None);
        for uneven in [allgather(4, 40), allgather(40, 4)] {
            assert_eq!(uneven.difference(allgather(40, 40)), Some(Difference::Bytes));
            assert!(uneven.is_uneven() && !allgather(40, 40).is_uneven());
        }
        // Who is not the root says one of the two.
        let gather = CollectiveCall::Gather { send: Some(bytes(4)), recv: bytes(40), root: Root::Rank(2) };
        assert!(!mark(&gather, None).is_uneven());
    }

    #[test]
    fn vector_forms_compare_the_lengths_of_all_ranks() {
        let mark = |counts: &[i32]| {
            let counts = tern_coll::NumberArray::I32(counts);
            let call = CollectiveCall::ReduceScatter {
                counts,
                layout: TypeLayout::contiguous(4),
                in_place: false,
                commutative: true,
            };
            mark(&call, Some(OperationCode(0)))
        };
        let one = mark(&[1, 2, 3, 4]);
        assert_eq!(one.difference(mark(&[1, 2, 3, 4])), None);
        for other in [[1, 2, 4, 3], [4, 3, 2, 1], [1, 2, 3, 5], [0, 0, 0, 0]] {
            assert_eq!(one.difference(mark(&other)), Some(Difference::Lengths), "{other:?}");
        }
    }
}

//! One call of the standard, as one rank makes it.

use std::fmt;

use crate::neighbor::Neighbors;
use crate::schedule::{Buf, Span, Ty, TypeLayout};
use crate::shape::{CommView, Root};

/// A collective call. `None` for a send or receive argument stands for `MPI_IN_PLACE`, as does `in_place`.
/// Arguments that the standard calls not significant at this rank may hold anything: [`TypedCount::default`],
/// [`Vector::default`].
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "the fields are the standard's arguments")]
pub enum CollectiveCall<'a> {
    /// `MPI_Barrier`
    Barrier,
    /// `MPI_Bcast`: the buffer is [`Buf::Recv`] of [`Ty::Recv`] at every rank.
    Bcast { data: TypedCount, root: Root },
    /// `MPI_Gather`
    Gather { send: Option<TypedCount>, recv: TypedCount, root: Root },
    /// `MPI_Gatherv`
    Gatherv { send: Option<TypedCount>, recv: Vector<'a>, root: Root },
    /// `MPI_Scatter`
    Scatter { send: TypedCount, recv: Option<TypedCount>, root: Root },
    /// `MPI_Scatterv`
    Scatterv { send: Vector<'a>, recv: Option<TypedCount>, root: Root },
    /// `MPI_Allgather`
    Allgather { send: Option<TypedCount>, recv: TypedCount },
    /// `MPI_Allgatherv`
    Allgatherv { send: Option<TypedCount>, recv: Vector<'a> },
    /// `MPI_Alltoall`
    Alltoall { send: Option<TypedCount>, recv: TypedCount },
    /// `MPI_Alltoallv`
    Alltoallv { send: Option<Vector<'a>>, recv: Vector<'a> },
    /// `MPI_Alltoallw`: [`VectorTypes::Each`] on both sides.
    Alltoallw { send: Option<Vector<'a>>, recv: Vector<'a> },
    /// `MPI_Reduce`: one type, [`Ty::Recv`], for both buffers, as in all reductions.
    Reduce { data: TypedCount, in_place: bool, commutative: bool, root: Root },
    /// `MPI_Allreduce`
    Allreduce { data: TypedCount, in_place: bool, commutative: bool },
    /// `MPI_Reduce_scatter`: one count per rank of the group.
    ReduceScatter { counts: NumberArray<'a>, layout: TypeLayout, in_place: bool, commutative: bool },
    /// `MPI_Reduce_scatter_block`: `data.count` is the count per rank.
    ReduceScatterBlock { data: TypedCount, in_place: bool, commutative: bool },
    /// `MPI_Scan`
    Scan { data: TypedCount, in_place: bool },
    /// `MPI_Exscan`
    Exscan { data: TypedCount, in_place: bool },
    /// `MPI_Neighbor_allgather`: vectors of this and the following have a block for each neighbor.
    NeighborAllgather { around: Neighbors<'a>, send: TypedCount, recv: TypedCount },
    /// `MPI_Neighbor_allgatherv`
    NeighborAllgatherv { around: Neighbors<'a>, send: TypedCount, recv: Vector<'a> },
    /// `MPI_Neighbor_alltoall`
    NeighborAlltoall { around: Neighbors<'a>, send: TypedCount, recv: TypedCount },
    /// `MPI_Neighbor_alltoallv`
    NeighborAlltoallv { around: Neighbors<'a>, send: Vector<'a>, recv: Vector<'a> },
    /// `MPI_Neighbor_alltoallw`: [`VectorTypes::Each`] on both sides.
    NeighborAlltoallw { around: Neighbors<'a>, send: Vector<'a>, recv: Vector<'a> },
}

/// The collectives, without their arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs, reason = "the names are the standard's")]
pub enum Collective {
    Barrier,
    Bcast,
    Gather,
    Gatherv,
    Scatter,
    Scatterv,
    Allgather,
    Allgatherv,
    Alltoall,
    Alltoallv,
    Alltoallw,
    Reduce,
    Allreduce,
    ReduceScatter,
    ReduceScatterBlock,
    Scan,
    Exscan,
    NeighborAllgather,
    NeighborAllgatherv,
    NeighborAlltoall,
    NeighborAlltoallv,
    NeighborAlltoallw,
}

/// A count and a type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TypedCount {
    /// Number of elements.
    pub count: u64,
    /// Their type.
    pub layout: TypeLayout,
}

/// Counts and displacements per rank (or per neighbor), the arguments of the v and w calls.
#[derive(Clone, Copy, Debug)]
pub struct Vector<'a> {
    /// Elements per rank.
    pub counts: NumberArray<'a>,
    /// Where each rank's block starts: in extents of the one type, or in bytes with [`VectorTypes::Each`].
    pub displs: NumberArray<'a>,
    /// The type or types.
    pub types: VectorTypes<'a>,
}

/// The types of a [`Vector`].
#[derive(Clone, Copy, Debug)]
pub enum VectorTypes<'a> {
    /// One for all ranks; displacements count its extents.
    One(TypeLayout),
    /// One for each rank ([`Ty::SendTo`], [`Ty::RecvFrom`]); displacements are bytes.
    Each(&'a [TypeLayout]),
}

/// An array of the caller's.
#[derive(Clone, Copy, Debug)]
pub enum NumberArray<'a> {
    /// `int`: counts and displacements of the classic calls.
    I32(&'a [i32]),
    /// `MPI_Count`: counts of the large calls.
    I64(&'a [i64]),
    /// `MPI_Aint`: displacements of the large calls.
    Aint(&'a [isize]),
}

impl TypedCount {
    /// This many elements of a type.
    pub fn new(count: u64, layout: TypeLayout) -> TypedCount {
        TypedCount { count, layout }
    }

    /// Packed bytes of all elements.
    pub fn bytes(&self) -> u64 {
        self.count.saturating_mul(self.layout.size)
    }

    /// The elements in the send buffer, with the send type.
    pub fn in_send(&self) -> Span {
        Span::new(Buf::Send, self.count, Ty::Send, self.layout)
    }

    /// The elements in the receive buffer, with the receive type.
    pub fn in_recv(&self) -> Span {
        Span::new(Buf::Recv, self.count, Ty::Recv, self.layout)
    }

    /// The elements that a reduction starts from: in the send buffer unless the call is in place, with the
    /// one type of the call.
    pub fn operand(&self, in_place: bool) -> Span {
        let buf = if in_place { Buf::Recv } else { Buf::Send };
        Span::new(buf, self.count, Ty::Recv, self.layout)
    }
}

impl Default for Vector<'_> {
    fn default() -> Self {
        Vector {
            counts: NumberArray::default(),
            displs: NumberArray::default(),
            types: VectorTypes::One(TypeLayout::default()),
        }
    }
}

impl Vector<'_> {
    /// The block for rank `rank` in the send buffer.
    pub fn in_send(&self, rank: u32) -> Span {
        self.block(rank, Buf::Send, Ty::Send, Ty::SendTo(rank))
    }

    /// The block from rank `rank` in the receive buffer.
    pub fn in_recv(&self, rank: u32) -> Span {
        self.block(rank, Buf::Recv, Ty::Recv, Ty::RecvFrom(rank))
    }

    fn block(&self, rank: u32, buf: Buf, one: Ty, each: Ty) -> Span {
        let index = rank as usize;
        let displ = self.displs.get(index);
        let (layout, ty, offset) = match self.types {
            VectorTypes::One(layout) => (layout, one, displ.wrapping_mul(layout.extent)),
            VectorTypes::Each(layouts) => (layouts[index], each, displ),
        };
        Span { buf, offset, count: self.counts.count(index), ty, layout }
    }
}

impl Default for NumberArray<'_> {
    fn default() -> Self {
        NumberArray::I32(&[])
    }
}

impl NumberArray<'_> {
    /// The number at an index.
    pub fn get(&self, index: usize) -> i64 {
        match self {
            NumberArray::I32(numbers) => i64::from(numbers[index]),
            NumberArray::I64(numbers) => numbers[index],
            NumberArray::Aint(numbers) => numbers[index] as i64,
        }
    }

    /// The number at an index as a count; the caller has refused negative ones.
    pub fn count(&self, index: usize) -> u64 {
        self.get(index).max(0) as u64
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        match self {
            NumberArray::I32(numbers) => numbers.len(),
            NumberArray::I64(numbers) => numbers.len(),
            NumberArray::Aint(numbers) => numbers.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The sum of the counts before an index.
    pub fn sum_before(&self, index: usize) -> u64 {
        (0..index).map(|i| self.count(i)).fold(0, u64::saturating_add)
    }

    /// The sum of all counts.
    pub fn sum(&self) -> u64 {
        self.sum_before(self.len())
    }
}

impl CollectiveCall<'_> {
    /// Which collective this is.
    pub fn collective(&self) -> Collective {
        match self {
            CollectiveCall::Barrier => Collective::Barrier,
            CollectiveCall::Bcast { .. } => Collective::Bcast,
            CollectiveCall::Gather { .. } => Collective::Gather,
            CollectiveCall::Gatherv { .. } => Collective::Gatherv,
            CollectiveCall::Scatter { .. } => Collective::Scatter,
            CollectiveCall::Scatterv { .. } => Collective::Scatterv,
            CollectiveCall::Allgather { .. } => Collective::Allgather,
            CollectiveCall::Allgatherv { .. } => Collective::Allgatherv,
            CollectiveCall::Alltoall { .. } => Collective::Alltoall,
            CollectiveCall::Alltoallv { .. } => Collective::Alltoallv,
            CollectiveCall::Alltoallw { .. } => Collective::Alltoallw,
            CollectiveCall::Reduce { .. } => Collective::Reduce,
            CollectiveCall::Allreduce { .. } => Collective::Allreduce,
            CollectiveCall::ReduceScatter { .. } => Collective::ReduceScatter,
            CollectiveCall::ReduceScatterBlock { .. } => Collective::ReduceScatterBlock,
            CollectiveCall::Scan { .. } => Collective::Scan,
            CollectiveCall::Exscan { .. } => Collective::Exscan,
            CollectiveCall::NeighborAllgather { .. } => Collective::NeighborAllgather,
            CollectiveCall::NeighborAllgatherv { .. } => Collective::NeighborAllgatherv,
            CollectiveCall::NeighborAlltoall { .. } => Collective::NeighborAlltoall,
            CollectiveCall::NeighborAlltoallv { .. } => Collective::NeighborAlltoallv,
            CollectiveCall::NeighborAlltoallw { .. } => Collective::NeighborAlltoallw,
        }
    }

    /// The packed bytes by which an algorithm is chosen; every rank of the call computes the same number.
    ///
    /// It is the whole message of a broadcast, reduction or scan, and one rank's block of a gather, scatter,
    /// allgather or alltoall. Of a v, w or neighborhood call a rank knows only its own part, so it is 0, except
    /// where the standard makes every rank know all counts.
    pub fn bytes(&self, size: u32) -> u64 {
        match self {
            CollectiveCall::Bcast { data, .. }
            | CollectiveCall::Reduce { data, .. }
            | CollectiveCall::Allreduce { data, .. }
            | CollectiveCall::Scan { data, .. }
            | CollectiveCall::Exscan { data, .. } => data.bytes(),
            CollectiveCall::Gather { send, recv, .. } => send.unwrap_or(*recv).bytes(),
            CollectiveCall::Scatter { send, recv, .. } => recv.unwrap_or(*send).bytes(),
            CollectiveCall::Allgather { recv, .. } | CollectiveCall::Alltoall { recv, .. } => recv.bytes(),
            CollectiveCall::Allgatherv { recv, .. } => {
                (0..size).map(|rank| recv.in_recv(rank).bytes()).fold(0, u64::saturating_add)
                    / u64::from(size)
            }
            CollectiveCall::ReduceScatter { counts, layout, .. } => counts.sum().saturating_mul(layout.size),
            CollectiveCall::ReduceScatterBlock { data, .. } => data.bytes().saturating_mul(u64::from(size)),
            CollectiveCall::Barrier
            | CollectiveCall::Gatherv { .. }
            | CollectiveCall::Scatterv { .. }
            | CollectiveCall::Alltoallv { .. }
            | CollectiveCall::Alltoallw { .. }
            | CollectiveCall::NeighborAllgather { .. }
            | CollectiveCall::NeighborAllgatherv { .. }
            | CollectiveCall::NeighborAlltoall { .. }
            | CollectiveCall::NeighborAlltoallv { .. }
            | CollectiveCall::NeighborAlltoallw { .. } => 0,
        }
    }

    /// The bytes that this rank sends to itself and those that it has room for, where it says both. They are to be the same.
    #[inline]
    pub fn to_itself(&self, comm: &CommView) -> Option<(u64, u64)> {
        if comm.remote.is_some() {
            return None;
        }
        let here = |root: &Root| *root == Root::Rank(comm.rank);
        match self {
            CollectiveCall::Gather { send, recv, root } if here(root) => {
                Some((send.as_ref()?.bytes(), recv.bytes()))
            }
            CollectiveCall::Scatter { send, recv, root } if here(root) => {
                Some((send.bytes(), recv.as_ref()?.bytes()))
            }
            CollectiveCall::Allgather { send, recv } | CollectiveCall::Alltoall { send, recv } => {
                Some((send.as_ref()?.bytes(), recv.bytes()))
            }
            CollectiveCall::Allgatherv { send, recv } => {
                Some((send.as_ref()?.bytes(), recv.in_recv(comm.rank).bytes()))
            }
            _ => None,
        }
    }

    /// Whether the order of operands may be changed; true where nothing is reduced.
    pub fn commutative(&self) -> bool {
        match self {
            CollectiveCall::Reduce { commutative, .. }
            | CollectiveCall::Allreduce { commutative, .. }
            | CollectiveCall::ReduceScatter { commutative, .. }
            | CollectiveCall::ReduceScatterBlock { commutative, .. } => *commutative,
            CollectiveCall::Scan { .. } | CollectiveCall::Exscan { .. } => false,
            _ => true,
        }
    }
}

impl Collective {
    /// All of them.
    pub const ALL: [Collective; 22] = [
        Collective::Barrier,
        Collective::Bcast,
        Collective::Gather,
        Collective::Gatherv,
        Collective::Scatter,
        Collective::Scatterv,
        Collective::Allgather,
        Collective::Allgatherv,
        Collective::Alltoall,
        Collective::Alltoallv,
        Collective::Alltoallw,
        Collective::Reduce,
        Collective::Allreduce,
        Collective::ReduceScatter,
        Collective::ReduceScatterBlock,
        Collective::Scan,
        Collective::Exscan,
        Collective::NeighborAllgather,
        Collective::NeighborAllgatherv,
        Collective::NeighborAlltoall,
        Collective::NeighborAlltoallv,
        Collective::NeighborAlltoallw,
    ];

    /// The name in the standard, in lower case and without the prefix.
    pub fn name(self) -> &'static str {
        match self {
            Collective::Barrier => "barrier",
            Collective::Bcast => "bcast",
            Collective::Gather => "gather",
            Collective::Gatherv => "gatherv",
            Collective::Scatter => "scatter",
            Collective::Scatterv => "scatterv",
            Collective::Allgather => "allgather",
            Collective::Allgatherv => "allgatherv",
            Collective::Alltoall => "alltoall",
            Collective::Alltoallv => "alltoallv",
            Collective::Alltoallw => "alltoallw",
            Collective::Reduce => "reduce",
            Collective::Allreduce => "allreduce",
            Collective::ReduceScatter => "reduce_scatter",
            Collective::ReduceScatterBlock => "reduce_scatter_block",
            Collective::Scan => "scan",
            Collective::Exscan => "exscan",
            Collective::NeighborAllgather => "neighbor_allgather",
            Collective::NeighborAllgatherv => "neighbor_allgatherv",
            Collective::NeighborAlltoall => "neighbor_alltoall",
            Collective::NeighborAlltoallv => "neighbor_alltoallv",
            Collective::NeighborAlltoallw => "neighbor_alltoallw",
        }
    }
}

impl fmt::Display for Collective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

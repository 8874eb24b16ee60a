//! Which algorithm serves which call.
//!
//! The first row of a collective that fits is taken; a user's rows come before the built-in ones. A row fits if
//! the call's bytes (see [`crate::CollectiveCall::bytes`]), ranks and nodes are within its bounds and its algorithm
//! suits the number of ranks, the operation and the place ([`Algorithm::suits`]).

mod bounds;
mod text;

use crate::algorithm::{Algorithm, algorithms};
use crate::call::{Collective, CollectiveCall};
use crate::limits::FAR_SEGMENT_BYTES;
use crate::shape::CommView;

pub use bounds::NumberRange;
pub use text::{BadLine, HEADING, load, parse};

/// An algorithm and how it cuts messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Choice {
    /// The algorithm.
    pub algorithm: Algorithm,
    /// Bytes of one segment, where the algorithm cuts messages into such; 0: as [`Algorithm::segment_bytes`] says.
    pub segment_bytes: u64,
}

/// One row of a selection table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableRow {
    /// The collective it is for.
    pub collective: Collective,
    /// The bytes it is for.
    pub bytes: NumberRange,
    /// The numbers of ranks it is for.
    pub ranks: NumberRange,
    /// The numbers of nodes it is for.
    pub nodes: NumberRange,
    /// What to use.
    pub choice: Choice,
}

/// What an algorithm is chosen by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Query {
    /// The collective.
    pub collective: Collective,
    /// [`crate::CollectiveCall::bytes`].
    pub bytes: u64,
    /// The number of ranks.
    pub ranks: u32,
    /// The number of nodes that they are on.
    pub nodes: u32,
    /// Whether the ranks of each node follow each other ([`crate::Nodes::is_in_rank_order`]).
    pub in_rank_order: bool,
    /// Whether operands may be taken in any order.
    pub commutative: bool,
    /// Whether the call can go over slots in shared memory ([`Algorithm::Shm`]).
    pub shm: bool,
    /// Whether nodes can be reached by multicast ([`Algorithm::Multicast`]).
    pub multicast: bool,
}

const KIB: u64 = 1024;
const MIB: u64 = 1024 * KIB;
const ANY: NumberRange = NumberRange::ANY;

/// A row for any number of nodes.
const fn row(
    collective: Collective,
    bytes: NumberRange,
    ranks: NumberRange,
    algorithm: Algorithm,
) -> TableRow {
    let choice = Choice { algorithm, segment_bytes: 0 };
    TableRow { collective, bytes, ranks, nodes: ANY, choice }
}

/// A row for two or more nodes, and any number of ranks.
const fn far(collective: Collective, bytes: NumberRange, algorithm: Algorithm) -> TableRow {
    TableRow { nodes: NumberRange::from(2), ..row(collective, bytes, ANY, algorithm) }
}

impl TableRow {
    /// The same for at most so many ranks.
    const fn ranks_max(self, max: u64) -> TableRow {
        TableRow { ranks: NumberRange { max, ..self.ranks }, ..self }
    }

    /// The same for more than so many ranks.
    const fn ranks_above(self, least: u64) -> TableRow {
        TableRow { ranks: NumberRange { min: least + 1, ..self.ranks }, ..self }
    }

    /// The same for so many nodes at least.
    const fn nodes_min(self, min: u64) -> TableRow {
        TableRow { nodes: NumberRange { min, ..self.nodes }, ..self }
    }

    /// The same for at most so many nodes.
    const fn nodes_max(self, max: u64) -> TableRow {
        TableRow { nodes: NumberRange { max, ..self.nodes }, ..self }
    }

    /// The same for more than so many nodes.
    const fn nodes_above(self, least: u64) -> TableRow {
        TableRow { nodes: NumberRange { min: least + 1, ..self.nodes }, ..self }
    }

    /// The same with segments of so many bytes.
    const fn cut(self, segment_bytes: u64) -> TableRow {
        TableRow { choice: Choice { segment_bytes, ..self.choice }, ..self }
    }
}

const fn up_to(max: u64) -> NumberRange {
    NumberRange::up_to(max)
}

const fn above(least: u64) -> NumberRange {
    NumberRange::from(least + 1)
}

const fn between(least: u64, max: u64) -> NumberRange {
    NumberRange { min: least + 1, max }
}

/// Bytes that go over a network at once; see [`FAR_SEGMENT_BYTES`].
const FAR_AT_ONCE: u64 = FAR_SEGMENT_BYTES;

/// The built-in table. The last row of each collective fits every call.
///
/// The rows come from the simulator, with a network of 25 Gbit/s between nodes and 1, 4, 16 or 48 ranks on each, or with
/// all on one: chains and rings have the best bandwidth, but their time grows with every node or rank, so the more there
/// are, the later they begin to pay. `sim/tests/table.rs` keeps them near the best. How many ranks nodes have is
/// seen from both numbers together: "at most 4 nodes, more than 4 ranks" has several on some node. Where nodes
/// have one rank each, as the leaders of a hierarchical allreduce, hierarchical rows are passed over.
///
/// Those by multicast, which are for networks that have it, were measured on the test network (1 Gbit/s, 4 to 16 hosts on two
/// cores): a long broadcast takes half the time or less, one of 32 KiB from one root half to all of it. A barrier takes as long with 8
/// and 12 hosts and 0.7 of the time with 16. What every rank has for all goes over connections, whose rings fill the receivers' links
/// as well. Where each host has cores of its own, the simulator lets shorter broadcasts to 3 nodes and more gain up to a half, while
/// two cores take every packet once for each receiver: a table of the user's can say so.
pub const TABLE: &[TableRow] = &complete();

/// Whether any call among at most so many nodes may go by multicast: by `rows`, which come first, or by [`TABLE`].
pub fn may_multicast(rows: &[TableRow], nodes: u32) -> bool {
    let among = |row: &TableRow| row.nodes.min <= u64::from(nodes);
    rows.iter().chain(TABLE).any(|row| row.choice.algorithm == Algorithm::Multicast && among(row))
}

/// The rows of [`TABLE`], without those of reduce_scatter_block: they are the ones of reduce_scatter.
const ROWS: &[TableRow] = &[
    far(Collective::Barrier, ANY, Algorithm::Multicast).nodes_min(12),
    far(Collective::Barrier, ANY, Algorithm::Hierarchical),
    row(Collective::Barrier, ANY, ANY, Algorithm::Dissemination),
    far(Collective::Bcast, above(16 * KIB), Algorithm::Multicast).nodes_min(3),
    far(Collective::Bcast, up_to(16 * KIB), Algorithm::Hierarchical),
    far(Collective::Bcast, up_to(64 * KIB), Algorithm::HierarchicalChain).nodes_max(5).ranks_max(64),
    far(Collective::Bcast, up_to(64 * KIB), Algorithm::Hierarchical),
    far(Collective::Bcast, up_to(128 * KIB), Algorithm::HierarchicalChain).nodes_max(11).ranks_above(144),
    far(Collective::Bcast, up_to(128 * KIB), Algorithm::Hierarchical).nodes_max(2).ranks_above(60),
    far(Collective::Bcast, up_to(128 * KIB), Algorithm::HierarchicalChain).nodes_max(11),
    far(Collective::Bcast, up_to(128 * KIB), Algorithm::Hierarchical),
    far(Collective::Bcast, up_to(160 * KIB), Algorithm::HierarchicalChain).nodes_max(28),
    far(Collective::Bcast, up_to(160 * KIB), Algorithm::Hierarchical).nodes_max(200),
    far(Collective::Bcast, up_to(512 * KIB), Algorithm::HierarchicalChain).nodes_max(96),
    far(Collective::Bcast, up_to(512 * KIB), Algorithm::Hierarchical).nodes_max(200),
    far(Collective::Bcast, between(128 * KIB, 512 * KIB), Algorithm::BinaryTree).nodes_above(200),
    far(Collective::Bcast, up_to(2 * MIB), Algorithm::HierarchicalChain).nodes_max(200),
    far(Collective::Bcast, between(512 * KIB, 2 * MIB), Algorithm::BinaryTree).nodes_above(200),
    far(Collective::Bcast, ANY, Algorithm::HierarchicalChain),
    far(Collective::Bcast, between(128 * KIB, MIB), Algorithm::BinaryTree).nodes_above(16),
    far(Collective::Bcast, above(32 * KIB), Algorithm::BinaryTree).nodes_above(52),
    far(Collective::Bcast, between(16 * KIB, 32 * KIB), Algorithm::ScatterRing).nodes_max(2),
    row(Collective::Bcast, up_to(128 * KIB), ANY, Algorithm::Binomial),
    row(Collective::Bcast, ANY, up_to(4), Algorithm::Binomial),
    row(Collective::Bcast, up_to(256 * KIB), up_to(52), Algorithm::Binomial),
    row(Collective::Bcast, up_to(MIB), up_to(52), Algorithm::ScatterRing),
    row(Collective::Bcast, up_to(MIB), ANY, Algorithm::BinaryTree),
    row(Collective::Bcast, ANY, ANY, Algorithm::ScatterRing),
    // Beyond 64 KiB the memory that ranks on the way need would be more than the root has to gain.
    far(Collective::Gather, up_to(KIB), Algorithm::Binomial).nodes_max(2),
    far(Collective::Gather, above(KIB), Algorithm::Linear).nodes_max(2).ranks_max(64),
    far(Collective::Gather, up_to(256), Algorithm::Binomial).nodes_above(44).ranks_max(512),
    far(Collective::Gather, up_to(32), Algorithm::Binomial).nodes_above(44),
    far(Collective::Gather, up_to(256), Algorithm::Binomial).nodes_above(72),
    far(Collective::Gather, up_to(4 * KIB), Algorithm::Hierarchical),
    far(Collective::Gather, up_to(64), Algorithm::Binomial).nodes_above(16),
    far(Collective::Gather, up_to(KIB), Algorithm::Binomial).nodes_above(36),
    far(Collective::Gather, up_to(2 * KIB), Algorithm::Binomial).nodes_above(300),
    far(Collective::Gather, between(16 * KIB, 32 * KIB), Algorithm::Hierarchical).nodes_max(2),
    far(Collective::Gather, ANY, Algorithm::Linear),
    row(Collective::Gather, up_to(4 * KIB), up_to(13), Algorithm::Linear),
    row(Collective::Gather, up_to(24 * KIB), ANY, Algorithm::Binomial),
    row(Collective::Gather, up_to(64 * KIB), above(100), Algorithm::Binomial),
    row(Collective::Gather, ANY, ANY, Algorithm::Linear),
    row(Collective::Gatherv, ANY, ANY, Algorithm::Linear),
    far(Collective::Scatter, up_to(KIB), Algorithm::Binomial).nodes_max(2),
    far(Collective::Scatter, above(KIB), Algorithm::Linear).nodes_max(2).ranks_max(64),
    far(Collective::Scatter, up_to(256), Algorithm::Binomial).nodes_above(44).ranks_max(512),
    far(Collective::Scatter, up_to(32), Algorithm::Binomial).nodes_above(44),
    far(Collective::Scatter, up_to(256), Algorithm::Binomial).nodes_above(72),
    far(Collective::Scatter, up_to(4 * KIB), Algorithm::Hierarchical),
    far(Collective::Scatter, up_to(64), Algorithm::Binomial).nodes_above(16),
    far(Collective::Scatter, up_to(KIB), Algorithm::Binomial).nodes_above(36),
    far(Collective::Scatter, up_to(2 * KIB), Algorithm::Binomial).nodes_above(300),
    far(Collective::Scatter, ANY, Algorithm::Linear),
    row(Collective::Scatter, up_to(4 * KIB), up_to(11), Algorithm::Linear),
    row(Collective::Scatter, up_to(4 * KIB), ANY, Algorithm::Binomial),
    row(Collective::Scatter, ANY, ANY, Algorithm::Linear),
    row(Collective::Scatterv, ANY, ANY, Algorithm::Linear),
    far(Collective::Allgather, up_to(4 * KIB), Algorithm::Hierarchical),
    far(Collective::Allgather, between(4 * KIB, 16 * KIB), Algorithm::Ring).nodes_max(2),
    far(Collective::Allgather, between(4 * KIB, 16 * KIB), Algorithm::Ring).nodes_max(10).ranks_above(10),
    far(Collective::Allgather, between(4 * KIB, 16 * KIB), Algorithm::Ring).nodes_max(36).ranks_above(36),
    far(Collective::Allgather, above(4 * KIB), Algorithm::Hierarchical),
    far(Collective::Allgather, above(4 * KIB), Algorithm::RecursiveDoubling),
    far(Collective::Allgather, up_to(64 * KIB), Algorithm::Bruck).nodes_above(6),
    far(Collective::Allgather, up_to(128 * KIB), Algorithm::Bruck).nodes_above(20).nodes_max(40),
    far(Collective::Allgather, above(4 * KIB), Algorithm::NeighborExchange),
    row(Collective::Allgather, up_to(4 * KIB), ANY, Algorithm::RecursiveDoubling),
    row(Collective::Allgather, up_to(4 * KIB), ANY, Algorithm::Bruck),
    row(Collective::Allgather, ANY, ANY, Algorithm::RecursiveDoubling),
    row(Collective::Allgather, ANY, ANY, Algorithm::NeighborExchange),
    row(Collective::Allgather, ANY, ANY, Algorithm::Ring),
    row(Collective::Allgatherv, ANY, ANY, Algorithm::Ring),
    // The T3D's measurements (section 3.3) put the direct exchange before the logarithmic one, except where the
    // messages are so many and so small that their number is all that counts.
    far(Collective::Alltoall, up_to(512), Algorithm::Direct).ranks_max(16),
    far(Collective::Alltoall, up_to(512), Algorithm::Bruck),
    row(Collective::Alltoall, up_to(64), up_to(15), Algorithm::Direct),
    row(Collective::Alltoall, up_to(64), ANY, Algorithm::Bruck),
    row(Collective::Alltoall, ANY, ANY, Algorithm::Direct),
    row(Collective::Alltoallv, ANY, ANY, Algorithm::Direct),
    row(Collective::Alltoallw, ANY, ANY, Algorithm::Direct),
    far(Collective::Reduce, up_to(16 * KIB), Algorithm::Hierarchical),
    far(Collective::Reduce, up_to(16 * KIB), Algorithm::Binomial),
    far(Collective::Reduce, up_to(128 * KIB), Algorithm::Chain).ranks_max(12).cut(FAR_AT_ONCE),
    far(Collective::Reduce, up_to(128 * KIB), Algorithm::Hierarchical).nodes_max(4).ranks_above(16),
    far(Collective::Reduce, up_to(32 * KIB), Algorithm::Rabenseifner).ranks_max(96),
    far(Collective::Reduce, up_to(128 * KIB), Algorithm::Chain).nodes_max(11).ranks_max(64).cut(FAR_AT_ONCE),
    far(Collective::Reduce, up_to(128 * KIB), Algorithm::Rabenseifner).ranks_max(64),
    far(Collective::Reduce, between(128 * KIB, 512 * KIB), Algorithm::Chain)
        .nodes_max(28)
        .ranks_max(64)
        .cut(FAR_AT_ONCE),
    far(Collective::Reduce, between(256 * KIB, 512 * KIB), Algorithm::Chain)
        .nodes_max(44)
        .ranks_max(256)
        .cut(FAR_AT_ONCE),
    far(Collective::Reduce, up_to(32 * KIB), Algorithm::Rabenseifner).nodes_above(12).ranks_max(400),
    far(Collective::Reduce, up_to(512 * KIB), Algorithm::Hierarchical).nodes_max(64),
    far(Collective::Reduce, up_to(512 * KIB), Algorithm::Rabenseifner),
    far(Collective::Reduce, up_to(MIB), Algorithm::Chain).nodes_max(50).cut(FAR_AT_ONCE),
    far(Collective::Reduce, up_to(MIB), Algorithm::Hierarchical).nodes_max(64),
    far(Collective::Reduce, up_to(MIB), Algorithm::Rabenseifner),
    far(Collective::Reduce, up_to(2 * MIB), Algorithm::Rabenseifner).nodes_above(100),
    far(Collective::Reduce, ANY, Algorithm::Chain).nodes_max(128).cut(FAR_AT_ONCE),
    far(Collective::Reduce, ANY, Algorithm::Rabenseifner),
    row(Collective::Reduce, up_to(4 * KIB), ANY, Algorithm::Binomial),
    row(Collective::Reduce, up_to(128 * KIB), up_to(7), Algorithm::Binomial),
    row(Collective::Reduce, between(128 * KIB, MIB), up_to(7), Algorithm::Chain),
    row(Collective::Reduce, between(512 * KIB, MIB), up_to(26), Algorithm::Chain),
    row(Collective::Reduce, up_to(MIB), ANY, Algorithm::Rabenseifner),
    row(Collective::Reduce, up_to(1536 * KIB), up_to(44), Algorithm::Chain),
    row(Collective::Reduce, up_to(1536 * KIB), ANY, Algorithm::Rabenseifner),
    row(Collective::Reduce, up_to(2 * MIB), up_to(56), Algorithm::Chain),
    row(Collective::Reduce, up_to(2 * MIB), ANY, Algorithm::Rabenseifner),
    row(Collective::Reduce, ANY, up_to(104), Algorithm::Chain),
    row(Collective::Reduce, ANY, ANY, Algorithm::Rabenseifner),
    row(Collective::Reduce, ANY, ANY, Algorithm::Binomial),
    far(Collective::Allreduce, up_to(16 * KIB), Algorithm::Hierarchical),
    far(Collective::Allreduce, up_to(16 * KIB), Algorithm::RecursiveDoubling),
    far(Collective::Allreduce, up_to(32 * KIB), Algorithm::Hierarchical).nodes_max(2),
    far(Collective::Allreduce, up_to(64 * KIB), Algorithm::Hierarchical).nodes_max(4).ranks_above(30),
    far(Collective::Allreduce, between(128 * KIB, 512 * KIB), Algorithm::Hierarchical)
        .nodes_max(2)
        .ranks_max(8),
    far(Collective::Allreduce, between(512 * KIB, MIB), Algorithm::Hierarchical)
        .nodes_max(2)
        .ranks_above(8)
        .ranks_max(32),
    far(Collective::Allreduce, ANY, Algorithm::SegmentedRing)
        .nodes_max(4)
        .ranks_above(4)
        .ranks_max(80)
        .cut(FAR_AT_ONCE),
    far(Collective::Allreduce, above(256 * KIB), Algorithm::SegmentedRing)
        .nodes_max(4)
        .ranks_above(80)
        .cut(FAR_AT_ONCE),
    far(Collective::Allreduce, up_to(32 * KIB), Algorithm::Rabenseifner)
        .nodes_max(16)
        .ranks_above(16)
        .ranks_max(64),
    far(Collective::Allreduce, up_to(64 * KIB), Algorithm::SegmentedRing)
        .nodes_max(16)
        .ranks_above(16)
        .ranks_max(28)
        .cut(FAR_AT_ONCE),
    far(Collective::Allreduce, up_to(64 * KIB), Algorithm::Hierarchical).nodes_max(16).ranks_above(16),
    far(Collective::Allreduce, above(64 * KIB), Algorithm::SegmentedRing)
        .nodes_max(16)
        .ranks_above(16)
        .ranks_max(80)
        .cut(FAR_AT_ONCE),
    far(Collective::Allreduce, above(256 * KIB), Algorithm::SegmentedRing)
        .nodes_max(16)
        .ranks_above(80)
        .ranks_max(400)
        .cut(FAR_AT_ONCE),
    far(Collective::Allreduce, up_to(256 * KIB), Algorithm::Hierarchical).nodes_above(16),
    far(Collective::Allreduce, above(256 * KIB), Algorithm::SegmentedRing)
        .nodes_max(64)
        .ranks_above(64)
        .ranks_max(256)
        .cut(FAR_AT_ONCE),
    far(Collective::Allreduce, above(512 * KIB), Algorithm::SegmentedRing)
        .nodes_max(100)
        .ranks_above(256)
        .ranks_max(400)
        .cut(FAR_AT_ONCE),
    far(Collective::Allreduce, ANY, Algorithm::Hierarchical),
    far(Collective::Allreduce, up_to(32 * KIB), Algorithm::SegmentedRing).nodes_max(3).cut(FAR_AT_ONCE),
    far(Collective::Allreduce, up_to(256 * KIB), Algorithm::RecursiveDoubling).nodes_max(2),
    far(Collective::Allreduce, up_to(32 * KIB), Algorithm::Rabenseifner).nodes_above(3).nodes_max(4),
    far(Collective::Allreduce, between(64 * KIB, 256 * KIB), Algorithm::RecursiveDoubling)
        .nodes_above(3)
        .nodes_max(4),
    far(Collective::Allreduce, up_to(256 * KIB), Algorithm::SegmentedRing).nodes_max(7).cut(FAR_AT_ONCE),
    far(Collective::Allreduce, between(64 * KIB, 128 * KIB), Algorithm::SegmentedRing)
        .nodes_max(14)
        .cut(FAR_AT_ONCE),
    far(Collective::Allreduce, ANY, Algorithm::Ring).nodes_max(7),
    far(Collective::Allreduce, above(MIB), Algorithm::Ring).nodes_max(14),
    far(Collective::Allreduce, above(2 * MIB), Algorithm::Ring).nodes_max(30),
    far(Collective::Allreduce, ANY, Algorithm::Rabenseifner),
    row(Collective::Allreduce, up_to(2 * KIB), ANY, Algorithm::RecursiveDoubling),
    row(Collective::Allreduce, ANY, up_to(7), Algorithm::SegmentedRing),
    row(Collective::Allreduce, up_to(128 * KIB), ANY, Algorithm::Rabenseifner),
    row(Collective::Allreduce, up_to(512 * KIB), up_to(30), Algorithm::SegmentedRing),
    row(Collective::Allreduce, up_to(512 * KIB), ANY, Algorithm::Rabenseifner),
    row(Collective::Allreduce, up_to(MIB), above(104), Algorithm::Rabenseifner),
    row(Collective::Allreduce, ANY, ANY, Algorithm::Ring),
    row(Collective::Allreduce, ANY, ANY, Algorithm::ReduceBcast),
    far(Collective::ReduceScatter, ANY, Algorithm::Hierarchical),
    far(Collective::ReduceScatter, ANY, Algorithm::RecursiveHalving),
    far(Collective::ReduceScatter, up_to(16 * KIB), Algorithm::Pairwise).ranks_max(4),
    far(Collective::ReduceScatter, up_to(16 * KIB), Algorithm::ReduceThenScatter),
    far(Collective::ReduceScatter, ANY, Algorithm::Pairwise).ranks_max(32),
    far(Collective::ReduceScatter, up_to(256 * KIB), Algorithm::ReduceThenScatter),
    far(Collective::ReduceScatter, up_to(512 * KIB), Algorithm::ReduceThenScatter).ranks_above(150),
    row(Collective::ReduceScatter, up_to(MIB), up_to(7), Algorithm::Pairwise),
    row(Collective::ReduceScatter, up_to(MIB), ANY, Algorithm::RecursiveHalving),
    row(Collective::ReduceScatter, up_to(2 * MIB), above(32), Algorithm::RecursiveHalving),
    row(Collective::ReduceScatter, up_to(4 * KIB), ANY, Algorithm::ReduceThenScatter),
    row(Collective::ReduceScatter, up_to(16 * KIB), up_to(44), Algorithm::Pairwise),
    row(Collective::ReduceScatter, up_to(16 * KIB), ANY, Algorithm::ReduceThenScatter),
    row(Collective::ReduceScatter, ANY, ANY, Algorithm::Pairwise),
    // Where the order of operands matters.
    row(Collective::ReduceScatter, ANY, ANY, Algorithm::ReduceThenScatter),
    row(Collective::Scan, ANY, ANY, Algorithm::Doubling),
    row(Collective::Exscan, ANY, ANY, Algorithm::Doubling),
    row(Collective::NeighborAllgather, ANY, ANY, Algorithm::Direct),
    row(Collective::NeighborAllgatherv, ANY, ANY, Algorithm::Direct),
    row(Collective::NeighborAlltoall, ANY, ANY, Algorithm::Direct),
    row(Collective::NeighborAlltoallv, ANY, ANY, Algorithm::Direct),
    row(Collective::NeighborAlltoallw, ANY, ANY, Algorithm::Direct),
];

/// [`ROWS`] with those of reduce_scatter once more, for reduce_scatter_block. What counts are the bytes of the whole vector, which
/// is the same work however it is divided.
const fn complete() -> [TableRow; ROWS.len() + rows_of(Collective::ReduceScatter)] {
    let mut table = [ROWS[0]; ROWS.len() + rows_of(Collective::ReduceScatter)];
    let end = end_of(Collective::ReduceScatter);
    let more = rows_of(Collective::ReduceScatter);
    let mut at = 0;
    while at < table.len() {
        table[at] = if at < end { ROWS[at] } else { ROWS[at - more] };
        if end <= at && at < end + more {
            table[at].collective = Collective::ReduceScatterBlock;
        }
        at += 1;
    }
    table
}

/// How many of [`ROWS`] are for a collective.
const fn rows_of(collective: Collective) -> usize {
    let (mut at, mut count) = (0, 0);
    while at < ROWS.len() {
        count += (ROWS[at].collective as usize == collective as usize) as usize;
        at += 1;
    }
    count
}

/// Where those of a collective, which follow each other, end in [`ROWS`].
const fn end_of(collective: Collective) -> usize {
    let mut end = ROWS.len();
    while ROWS[end - 1].collective as usize != collective as usize {
        end -= 1;
    }
    end
}

/// Where the rows of each collective begin in [`TABLE`], which has them in the order of [`Collective`]; and its length.
static STARTS: [usize; COLLECTIVES + 1] = starts();
const COLLECTIVES: usize = Collective::ALL.len();

const fn starts() -> [usize; COLLECTIVES + 1] {
    let mut starts = [0; COLLECTIVES + 1];
    let mut row = 0;
    while row < TABLE.len() {
        starts[TABLE[row].collective as usize + 1] = row + 1;
        row += 1;
    }
    starts
}

/// The built-in rows of a collective.
fn built_in(collective: Collective) -> &'static [TableRow] {
    &TABLE[STARTS[collective as usize]..STARTS[collective as usize + 1]]
}

/// Chooses from a user's rows, and where they have nothing that fits from the built-in table.
pub fn select(rows: &[TableRow], query: &Query) -> Choice {
    let row = first_fit(rows, query).or_else(|| first_fit(built_in(query.collective), query));
    row.map_or(algorithms(query.collective)[0].into(), |row| row.choice)
}

/// What a user's rows make of a call that could go over slots in shared memory: `None` if they leave it that
/// way, because none is for it or they name [`Algorithm::Shm`]. Without rows this costs nothing.
#[inline]
pub fn forced(rows: &[TableRow], comm: &CommView, call: &CollectiveCall) -> Option<Choice> {
    if rows.is_empty() {
        return None;
    }
    let query = Query { shm: true, ..Query::of(comm, call) };
    let choice = first_fit(rows, &query)?.choice;
    (choice.algorithm != Algorithm::Shm).then_some(choice)
}

fn first_fit<'r>(rows: &'r [TableRow], query: &Query) -> Option<&'r TableRow> {
    rows.iter().find(|row| row.fits(query))
}

impl From<Algorithm> for Choice {
    fn from(algorithm: Algorithm) -> Choice {
        Choice { algorithm, segment_bytes: 0 }
    }
}

impl Choice {
    /// The bytes of a segment.
    pub(crate) fn segment(&self, collective: Collective) -> u64 {
        match self.segment_bytes {
            0 => self.algorithm.segment_bytes(collective).unwrap_or(u64::MAX),
            bytes => bytes,
        }
    }
}

impl Query {
    /// A call on one node that goes by messages, with operands in any order.
    pub fn new(collective: Collective, bytes: u64, ranks: u32) -> Query {
        let (nodes, in_rank_order, commutative) = (1, true, true);
        Query { collective, bytes, ranks, nodes, in_rank_order, commutative, shm: false, multicast: false }
    }

    /// A call by messages.
    pub fn of(comm: &CommView, call: &CollectiveCall) -> Query {
        Query {
            nodes: comm.nodes.map_or(1, |nodes| nodes.count()),
            in_rank_order: comm.nodes.is_none_or(|nodes| nodes.is_in_rank_order()),
            commutative: call.commutative(),
            multicast: comm.multicast.is_some(),
            ..Query::new(call.collective(), call.bytes(comm.size), comm.size)
        }
    }
}

impl TableRow {
    /// Whether the row is for a call like this and its algorithm suits it.
    pub fn fits(&self, query: &Query) -> bool {
        self.collective == query.collective
            && self.bytes.contains(query.bytes)
            && self.ranks.contains(query.ranks.into())
            && self.nodes.contains(query.nodes.into())
            && self.choice.algorithm.suits(query)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(rows: &[TableRow], query: Query) -> Algorithm {
        select(rows, &query).algorithm
    }

    #[test]
    fn few_nodes_multicast_only_by_a_row_of_the_users() {
        assert_eq!([1, 2, 3, 12].map(|nodes| may_multicast(&[], nodes)), [false, false, true, true]);
        let rows = parse("allreduce any any any multicast\n").unwrap();
        assert!(may_multicast(&rows, 2));
        let rows = parse("allreduce any any 5- multicast\n").unwrap();
        assert!(!may_multicast(&rows, 2));
    }

    #[test]
    fn every_call_has_a_row_and_every_row_an_algorithm_of_its_collective() {
        for collective in Collective::ALL {
            for (ranks, nodes) in [(1, 1), (2, 2), (3, 2), (8, 8), (1000, 10)] {
                for commutative in [false, true] {
                    let query = Query { commutative, nodes, ..Query::new(collective, u64::MAX, ranks) };
                    assert!(first_fit(TABLE, &query).is_some(), "{query:?}");
                }
            }
        }
        let mine = |collective: Collective| TABLE.iter().filter(move |row| row.collective == collective);
        for collective in Collective::ALL {
            assert!(
                built_in(collective).iter().eq(mine(collective)),
                "the rows of {collective} lie together"
            );
        }
        for row in TABLE {
            assert!(Algorithm::named(row.collective, row.choice.algorithm.name()).is_some(), "{row}");
        }
    }

    #[test]
    fn the_operation_the_ranks_and_the_nodes_decide() {
        let allreduce = Query::new(Collective::Allreduce, 1 << 30, 50);
        assert_eq!(chosen(&[], allreduce), Algorithm::Ring);
        assert_eq!(chosen(&[], Query { commutative: false, ..allreduce }), Algorithm::ReduceBcast);
        assert_eq!(chosen(&[], Query::new(Collective::Allgather, 8, 8)), Algorithm::RecursiveDoubling);
        assert_eq!(chosen(&[], Query::new(Collective::Allgather, 8, 6)), Algorithm::Bruck);
        let barrier = Query::new(Collective::Barrier, 0, 4);
        assert_eq!(chosen(&[], Query { nodes: 2, ..barrier }), Algorithm::Hierarchical);
        assert_eq!(chosen(&[], Query { nodes: 4, ..barrier }), Algorithm::Dissemination);
    }

    #[test]
    fn multicasts_are_chosen_where_there_are_some_and_they_pay() {
        let query = |collective, bytes, nodes| Query {
            nodes,
            multicast: true,
            ..Query::new(collective, bytes, 4 * nodes)
        };
        let bcast = query(Collective::Bcast, 1 << 22, 8);
        assert_eq!(chosen(&[], bcast), Algorithm::Multicast);
        assert_ne!(chosen(&[], Query { multicast: false, ..bcast }), Algorithm::Multicast);
        // One rank on each node: nothing is there to do by node.
        assert_eq!(chosen(&[], Query { ranks: 8, ..bcast }), Algorithm::Multicast);
        assert_eq!(chosen(&[], query(Collective::Bcast, 32 << 10, 3)), Algorithm::Multicast);
        assert_ne!(chosen(&[], query(Collective::Bcast, 8, 8)), Algorithm::Multicast);
        assert_eq!(chosen(&[], query(Collective::Barrier, 0, 16)), Algorithm::Multicast);
        assert_ne!(chosen(&[], query(Collective::Barrier, 0, 8)), Algorithm::Multicast);
        assert_ne!(chosen(&[], query(Collective::Bcast, 1 << 22, 2)), Algorithm::Multicast);
        assert_ne!(chosen(&[], query(Collective::Allreduce, 1 << 20, 8)), Algorithm::Multicast);
        let by_hand = row(Collective::Bcast, ANY, ANY, Algorithm::Multicast);
        assert_eq!(chosen(&[by_hand], query(Collective::Bcast, 8, 2)), Algorithm::Multicast);
    }

    #[test]
    fn a_users_rows_come_first_and_fall_through_where_they_do_not_suit() {
        let tree = row(Collective::Barrier, ANY, up_to(4), Algorithm::UnbalancedTree);
        assert_eq!(chosen(&[tree], Query::new(Collective::Barrier, 0, 4)), Algorithm::UnbalancedTree);
        assert_eq!(chosen(&[tree], Query::new(Collective::Barrier, 0, 5)), Algorithm::Dissemination);
        let ring = row(Collective::Allreduce, ANY, ANY, Algorithm::Ring);
        let bcast = row(Collective::Allreduce, ANY, ANY, Algorithm::ReduceBcast);
        let query = Query { commutative: false, ..Query::new(Collective::Allreduce, 8, 4) };
        assert_eq!(chosen(&[ring, bcast], query), Algorithm::ReduceBcast);
        assert_eq!(chosen(&[ring], query), Algorithm::RecursiveDoubling);
    }

    #[test]
    fn a_users_row_takes_a_call_from_shared_memory_unless_it_names_it() {
        let (comm, call) = (CommView::intra(0, 4), CollectiveCall::Barrier);
        let shm = row(Collective::Barrier, ANY, ANY, Algorithm::Shm);
        let tree = row(Collective::Barrier, ANY, ANY, Algorithm::UnbalancedTree);
        let other = row(Collective::Barrier, ANY, up_to(2), Algorithm::UnbalancedTree);
        assert_eq!(forced(&[], &comm, &call), None);
        assert_eq!(forced(&[other], &comm, &call), None);
        assert_eq!(forced(&[shm, tree], &comm, &call), None);
        assert_eq!(forced(&[tree, shm], &comm, &call), Some(Algorithm::UnbalancedTree.into()));
        // Where the call cannot go that way, the row that names it is passed over.
        let chosen = select(&[shm, tree], &Query::of(&comm, &call)).algorithm;
        assert_eq!(chosen, Algorithm::UnbalancedTree);
    }
}

//! What the parts of a call are built by.

use crate::algorithm::Algorithm;
use crate::bcast;
use crate::call::Collective;
use crate::hierarchical::Tiers;
use crate::schedule::{Schedule, Span};
use crate::shape::{CommView, Member, Root};
use crate::table::{Choice, Query, TableRow, select};
use crate::tree::Tree;

/// What a call is built by.
#[derive(Clone, Copy)]
pub(super) struct BuildPlan<'a> {
    pub(super) choice: Choice,
    /// The user's rows, by which the tiers of a hierarchical algorithm choose theirs.
    pub(super) rows: &'a [TableRow],
}

impl BuildPlan<'_> {
    /// The choice for a part of the call, among other ranks on one node each or all on one.
    pub(super) fn part(&self, query: &Query) -> Self {
        BuildPlan { choice: select(self.rows, query), rows: self.rows }
    }
}

/// The tiers of a communicator whose nodes have been found to suit a hierarchical algorithm.
pub(super) fn tiers<'a>(comm: &CommView<'a>) -> Tiers<'a> {
    let nodes = comm.nodes.expect("a hierarchical algorithm suits several nodes only");
    Tiers::new(nodes, comm.rank)
}

/// Bytes of a segment of a call by multicast.
pub(super) fn multicast_bytes(choice: Choice, comm: &CommView, collective: Collective) -> u64 {
    let multicast = comm.multicast.expect("an algorithm by multicast suits where that works only");
    choice.segment(collective).min(multicast.bytes_max)
}

/// A broadcast among some ranks, by any algorithm but the hierarchical ones.
pub(super) fn build_bcast(choice: Choice, me: Member, root: u32, data: Span, s: &mut Schedule) {
    let segment_bytes = choice.segment(Collective::Bcast);
    match choice.algorithm {
        Algorithm::ScatterRing => bcast::scatter_ring(s, me, root, data),
        Algorithm::Chain => bcast::pipelined(s, me, root, data, Tree::Chain, segment_bytes),
        Algorithm::BinaryTree => bcast::pipelined(s, me, root, data, Tree::Binary, segment_bytes),
        _ => bcast::binomial(s, me, root, data),
    }
}

/// Broadcasts from the leader of a node to its other ranks.
pub(super) fn bcast_within(plan: BuildPlan, local: Member, data: Span, s: &mut Schedule) {
    let query = Query::new(Collective::Bcast, data.bytes(), local.size);
    build_bcast(plan.part(&query).choice, local, 0, data, s);
}

/// The root's rank on an intracommunicator.
pub(super) fn rank_of(root: Root, comm: &CommView) -> u32 {
    match root {
        Root::Rank(rank) => rank,
        Root::Here => comm.rank,
        Root::Elsewhere => unreachable!("MPI_PROC_NULL is no root of an intracommunicator"),
    }
}

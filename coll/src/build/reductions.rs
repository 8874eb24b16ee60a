//! Calls that reduce.

use super::plan::{BuildPlan, bcast_within, multicast_bytes, rank_of, tiers};
use crate::algorithm::Algorithm;
use crate::call::{Collective, CollectiveCall, NumberArray, TypedCount};
use crate::hierarchical;
use crate::reduce_scatter::ScatterBlocks;
use crate::schedule::{Schedule, Span, TypeLayout};
use crate::shape::{CommView, Member};
use crate::table::{Choice, Query};
use crate::{allreduce, multicast, reduce, reduce_scatter};

pub(super) fn build_reduction(plan: BuildPlan, comm: &CommView, call: &CollectiveCall, s: &mut Schedule) {
    let (choice, algorithm) = (plan.choice, plan.choice.algorithm);
    match *call {
        CollectiveCall::Reduce { data, in_place, root, .. } => {
            let root = rank_of(root, comm);
            // Only the root has a receive buffer, so only it can be in place.
            let in_place = in_place && comm.rank == root;
            build_reduce(plan, comm, root, data.operand(in_place), data.operand(true), s);
        }
        CollectiveCall::Allreduce { data, in_place, .. } => {
            let (own, home) = (data.operand(in_place), data.operand(true));
            match algorithm {
                Algorithm::Hierarchical => build_by_node(plan, comm, call.commutative(), own, home, s),
                Algorithm::Multicast => {
                    let bytes = multicast_bytes(choice, comm, Collective::Allreduce);
                    multicast::allreduce(s, tiers(comm), own, home, bytes);
                }
                _ => build_allreduce(plan.choice, comm.member(), own, home, s),
            }
        }
        CollectiveCall::ReduceScatter { counts, layout, in_place, .. } => {
            let operand = counted(counts, layout, in_place);
            let home = home(counts.count(comm.rank as usize), layout);
            build_reduce_scatter(choice, comm, &operand, home, s);
        }
        CollectiveCall::ReduceScatterBlock { data, in_place, .. } => {
            let operand = uniform(data, comm.size, in_place);
            build_reduce_scatter(choice, comm, &operand, data.operand(true), s);
        }
        _ => unreachable!("{} reduces nothing", call.collective()),
    }
}

fn build_reduce(plan: BuildPlan, comm: &CommView, root: u32, own: Span, home: Span, s: &mut Schedule) {
    let me = comm.member();
    match plan.choice.algorithm {
        Algorithm::Chain => {
            reduce::chain(s, me, root, own, home, plan.choice.segment(Collective::Reduce));
        }
        Algorithm::Rabenseifner => reduce::rabenseifner(s, me, root, own, home),
        Algorithm::Hierarchical => hierarchical::reduce(s, tiers(comm), root, own, home),
        _ => reduce::binomial(s, me, root, own, home),
    }
}

/// An allreduce among some ranks, by any algorithm but the hierarchical one.
fn build_allreduce(choice: Choice, me: Member, own: Span, home: Span, s: &mut Schedule) {
    match choice.algorithm {
        Algorithm::Ring => allreduce::ring(s, me, own, home),
        Algorithm::SegmentedRing => {
            allreduce::segmented_ring(s, me, own, home, choice.segment(Collective::Allreduce));
        }
        Algorithm::Rabenseifner => allreduce::rabenseifner(s, me, own, home),
        Algorithm::ReduceBcast => allreduce::reduce_bcast(s, me, own, home),
        _ => allreduce::recursive_doubling(s, me, own, home),
    }
}

/// The leaders choose as a communicator of their own would.
fn build_by_node(
    plan: BuildPlan,
    comm: &CommView,
    commutative: bool,
    own: Span,
    home: Span,
    s: &mut Schedule,
) {
    let among = |s: &mut Schedule, leader: Member, vector: Span| {
        let query = Query::new(Collective::Allreduce, vector.bytes(), leader.size);
        let query = Query { nodes: leader.size, commutative, ..query };
        build_allreduce(plan.part(&query).choice, leader, vector, vector, s);
    };
    let within = |s: &mut Schedule, local: Member, vector: Span| bcast_within(plan, local, vector, s);
    hierarchical::allreduce(s, tiers(comm), own, home, among, within);
}

fn build_reduce_scatter(
    choice: Choice,
    comm: &CommView,
    operand: &ScatterBlocks<impl Fn(u32, u32) -> (u64, u64)>,
    home: Span,
    s: &mut Schedule,
) {
    let me = comm.member();
    match choice.algorithm {
        Algorithm::Multicast => {
            let bytes = multicast_bytes(choice, comm, Collective::ReduceScatter);
            multicast::reduce_scatter(s, tiers(comm), operand, home, bytes);
        }
        Algorithm::Pairwise => reduce_scatter::pairwise(s, me, operand, home),
        Algorithm::RecursiveHalving => reduce_scatter::recursive_halving(s, me, operand, home),
        Algorithm::Hierarchical => hierarchical::reduce_scatter(s, tiers(comm), operand, home),
        _ => reduce_scatter::reduce_then_scatter(s, me, operand, home),
    }
}

/// The operand of a reduce_scatter with a count for each rank.
pub(super) fn counted(
    counts: NumberArray,
    layout: TypeLayout,
    in_place: bool,
) -> ScatterBlocks<impl Fn(u32, u32) -> (u64, u64)> {
    let all = TypedCount::new(counts.sum(), layout).operand(in_place);
    let range = move |first: u32, number: u32| {
        let start = counts.sum_before(first as usize);
        (start, counts.sum_before((first + number) as usize) - start)
    };
    ScatterBlocks { all, range }
}

/// The operand of a reduce_scatter_block.
pub(super) fn uniform(
    block: TypedCount,
    size: u32,
    in_place: bool,
) -> ScatterBlocks<impl Fn(u32, u32) -> (u64, u64)> {
    let elements = move |blocks: u32| block.count.saturating_mul(u64::from(blocks));
    let all = TypedCount::new(elements(size), block.layout).operand(in_place);
    ScatterBlocks { all, range: move |first, number| (elements(first), elements(number)) }
}

pub(super) fn home(count: u64, layout: TypeLayout) -> Span {
    TypedCount::new(count, layout).operand(true)
}

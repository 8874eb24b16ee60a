//! From a call to its schedule.

mod inter;
mod plan;
mod reductions;

use crate::algorithm::{Algorithm, algorithms};
use crate::call::{Collective, CollectiveCall, TypedCount, Vector};
use crate::hierarchical;
use crate::schedule::{Schedule, Span};
use crate::shape::{CommView, Member};
use crate::table::{Choice, Query, TableRow, select};
use crate::tree::Tree;
use crate::{allgather, alltoall, barrier, gather, multicast, neighbor, scan, scatter};
use plan::{BuildPlan, bcast_within, build_bcast, multicast_bytes, rank_of, tiers};

/// Fills an empty schedule with this rank's part of a call, by the algorithm that `rows` and the built-in table
/// choose. All ranks of the call use the same rows.
pub fn build(comm: &CommView, call: &CollectiveCall, rows: &[TableRow], s: &mut Schedule) {
    match comm.remote {
        Some(remote) => inter::build_inter(comm, remote, call, s),
        None => {
            let choice = select(rows, &Query::of(comm, call));
            build_intra(BuildPlan { choice, rows }, comm, call, s);
        }
    }
}

/// As [`build`] for an intracommunicator, by an algorithm of the caller's choice: for tests and tuning. One that
/// does not suit the call is replaced by the collective's general one.
pub fn build_with(choice: impl Into<Choice>, comm: &CommView, call: &CollectiveCall, s: &mut Schedule) {
    let choice = choice.into();
    let choices = algorithms(call.collective());
    let suits = choices.contains(&choice.algorithm) && choice.algorithm.suits(&Query::of(comm, call));
    let choice = if suits { choice } else { choices[0].into() };
    build_intra(BuildPlan { choice, rows: &[] }, comm, call, s);
}

fn build_intra(plan: BuildPlan, comm: &CommView, call: &CollectiveCall, s: &mut Schedule) {
    let (me, algorithm) = (comm.member(), plan.choice.algorithm);
    match *call {
        CollectiveCall::Barrier => match algorithm {
            Algorithm::UnbalancedTree => barrier::unbalanced_tree(s, me),
            Algorithm::Hierarchical => hierarchical::barrier(s, tiers(comm)),
            Algorithm::Multicast => multicast::barrier(s, tiers(comm)),
            _ => barrier::dissemination(s, me),
        },
        CollectiveCall::Bcast { data, root } => {
            let (root, data) = (rank_of(root, comm), data.in_recv());
            let segment_bytes = plan.choice.segment(Collective::Bcast);
            let tree = match algorithm {
                Algorithm::Hierarchical => Tree::Binomial,
                Algorithm::HierarchicalChain => Tree::Chain,
                Algorithm::Multicast => {
                    let bytes = multicast_bytes(plan.choice, comm, Collective::Bcast);
                    return multicast::bcast(s, tiers(comm), root, data, bytes);
                }
                _ => return build_bcast(plan.choice, me, root, data, s),
            };
            hierarchical::bcast(s, tiers(comm), root, data, tree, segment_bytes);
        }
        CollectiveCall::Gather { .. }
        | CollectiveCall::Gatherv { .. }
        | CollectiveCall::Scatter { .. }
        | CollectiveCall::Scatterv { .. } => {
            build_rooted(plan.choice, comm, call, s);
        }
        CollectiveCall::Allgather { send, recv } => {
            build_allgather(plan, comm, send.map(|send| send.in_send()), recv.in_recv(), s);
        }
        CollectiveCall::Allgatherv { send, recv } => {
            let (send, block) = (send.map(|send| send.in_send()), |rank| recv.in_recv(rank));
            if algorithm == Algorithm::Multicast {
                let bytes = multicast_bytes(plan.choice, comm, Collective::Allgatherv);
                let within = |s: &mut Schedule, local: Member, all: Span| bcast_within(plan, local, all, s);
                multicast::allgatherv(s, tiers(comm), send, block, bytes, within);
            } else {
                allgather::ring(s, me, send, block);
            }
        }
        CollectiveCall::Alltoall { send, recv } => build_alltoall(algorithm, comm, send, recv, s),
        CollectiveCall::Alltoallv { send, recv } | CollectiveCall::Alltoallw { send, recv } => {
            build_alltoallv(algorithm, comm, send, recv, s);
        }
        CollectiveCall::Scan { data, in_place } => {
            scan::inclusive(s, me, data.operand(in_place), data.operand(true))
        }
        CollectiveCall::Exscan { data, in_place } => {
            scan::exclusive(s, me, data.operand(in_place), data.operand(true))
        }
        CollectiveCall::Reduce { .. }
        | CollectiveCall::Allreduce { .. }
        | CollectiveCall::ReduceScatter { .. }
        | CollectiveCall::ReduceScatterBlock { .. } => reductions::build_reduction(plan, comm, call, s),
        CollectiveCall::NeighborAllgather { .. }
        | CollectiveCall::NeighborAllgatherv { .. }
        | CollectiveCall::NeighborAlltoall { .. }
        | CollectiveCall::NeighborAlltoallv { .. }
        | CollectiveCall::NeighborAlltoallw { .. } => build_neighbor(call, s),
    }
}

fn build_rooted(choice: Choice, comm: &CommView, call: &CollectiveCall, s: &mut Schedule) {
    let (me, algorithm) = (comm.member(), choice.algorithm);
    match *call {
        CollectiveCall::Gather { send, recv, root } => {
            let (root, send, first) = (rank_of(root, comm), send.map(|send| send.in_send()), recv.in_recv());
            match algorithm {
                Algorithm::Binomial => gather::binomial(s, me, root, send, first),
                Algorithm::Hierarchical => hierarchical::gather(s, tiers(comm), root, send, first),
                _ => gather::linear(s, me, root, send, |rank| first.block(rank)),
            }
        }
        CollectiveCall::Gatherv { send, recv, root } => {
            let send = send.map(|send| send.in_send());
            gather::linear(s, me, rank_of(root, comm), send, |rank| recv.in_recv(rank));
        }
        CollectiveCall::Scatter { send, recv, root } => {
            let (root, first, recv) = (rank_of(root, comm), send.in_send(), recv.map(|recv| recv.in_recv()));
            match algorithm {
                Algorithm::Binomial => scatter::binomial(s, me, root, first, recv),
                Algorithm::Hierarchical => hierarchical::scatter(s, tiers(comm), root, first, recv),
                Algorithm::Multicast => {
                    let bytes = multicast_bytes(choice, comm, Collective::Scatter);
                    multicast::scatter(s, tiers(comm), root, first, recv, bytes);
                }
                _ => scatter::linear(s, me, root, |rank| first.block(rank), recv),
            }
        }
        CollectiveCall::Scatterv { send, recv, root } => {
            let recv = recv.map(|recv| recv.in_recv());
            scatter::linear(s, me, rank_of(root, comm), |rank| send.in_send(rank), recv);
        }
        _ => unreachable!("{} has no root that gathers or scatters", call.collective()),
    }
}

fn build_allgather(plan: BuildPlan, comm: &CommView, send: Option<Span>, first: Span, s: &mut Schedule) {
    let me = comm.member();
    match plan.choice.algorithm {
        Algorithm::RecursiveDoubling => allgather::recursive_doubling(s, me, send, first),
        Algorithm::Bruck => allgather::bruck(s, me, send, first),
        Algorithm::NeighborExchange => allgather::neighbor_exchange(s, me, send, first),
        Algorithm::Hierarchical => {
            let within = |s: &mut Schedule, local: Member, all: Span| bcast_within(plan, local, all, s);
            hierarchical::allgather(s, tiers(comm), send, first, within);
        }
        Algorithm::Multicast => {
            let bytes = multicast_bytes(plan.choice, comm, Collective::Allgather);
            let within = |s: &mut Schedule, local: Member, all: Span| bcast_within(plan, local, all, s);
            multicast::allgather(s, tiers(comm), send, first, bytes, within);
        }
        _ => allgather::ring(s, me, send, |rank| first.block(rank)),
    }
}

fn build_alltoall(
    algorithm: Algorithm,
    comm: &CommView,
    send: Option<TypedCount>,
    recv: TypedCount,
    s: &mut Schedule,
) {
    let me = comm.member();
    let into = recv.in_recv();
    let from = send.map_or(into, |send| send.in_send());
    let (from, into) = (|rank| from.block(rank), |rank| into.block(rank));
    match (algorithm, send) {
        (Algorithm::Bruck, _) => alltoall::bruck(s, me, from, into),
        (_, None) => alltoall::in_place(s, me, into),
        (Algorithm::Pairwise, _) => alltoall::pairwise(s, me, from, into),
        _ => alltoall::direct(s, me, from, into),
    }
}

fn build_alltoallv(
    algorithm: Algorithm,
    comm: &CommView,
    send: Option<Vector>,
    recv: Vector,
    s: &mut Schedule,
) {
    let me = comm.member();
    let into = |rank| recv.in_recv(rank);
    match (algorithm, send) {
        (_, None) => alltoall::in_place(s, me, into),
        (Algorithm::Pairwise, Some(send)) => alltoall::pairwise(s, me, |rank| send.in_send(rank), into),
        (_, Some(send)) => alltoall::direct(s, me, |rank| send.in_send(rank), into),
    }
}

fn build_neighbor(call: &CollectiveCall, s: &mut Schedule) {
    match *call {
        CollectiveCall::NeighborAllgather { around, send, recv } => {
            let (own, into) = (send.in_send(), recv.in_recv());
            neighbor::direct(s, &around, |_| own, |index| into.block(index));
        }
        CollectiveCall::NeighborAllgatherv { around, send, recv } => {
            let own = send.in_send();
            neighbor::direct(s, &around, |_| own, |index| recv.in_recv(index));
        }
        CollectiveCall::NeighborAlltoall { around, send, recv } => {
            let (from, into) = (send.in_send(), recv.in_recv());
            neighbor::direct(s, &around, |index| from.block(index), |index| into.block(index));
        }
        CollectiveCall::NeighborAlltoallv { around, send, recv }
        | CollectiveCall::NeighborAlltoallw { around, send, recv } => {
            neighbor::direct(s, &around, |index| send.in_send(index), |index| recv.in_recv(index));
        }
        _ => unreachable!("{} asks no neighbors", call.collective()),
    }
}

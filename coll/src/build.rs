//! From a call to its schedule.

use crate::call::{Call, Data, Numbers, Vector};
use crate::reduce_scatter::Blocks;
use crate::schedule::{Layout, Schedule, Span};
use crate::shape::{Comm, Root};
use crate::table::{Algorithm, Query, Row, algorithms, select};
use crate::{allgather, allreduce, alltoall, barrier, bcast, gather, inter, neighbor, reduce};
use crate::{reduce_scatter, scan, scatter};

/// Fills an empty schedule with this rank's part of a call, by the algorithm that `rows` and the built-in table
/// choose. All ranks of the call use the same rows.
pub fn build(comm: &Comm, call: &Call, rows: &[Row], s: &mut Schedule) {
    match comm.remote {
        Some(remote) => build_inter(comm, remote, call, s),
        None => build_with(select(rows, &query(comm, call)), comm, call, s),
    }
}

/// As [`build`] for an intracommunicator, by an algorithm of the caller's choice: for tests and tuning. One that
/// does not suit the call is replaced by the collective's general one.
pub fn build_with(algorithm: Algorithm, comm: &Comm, call: &Call, s: &mut Schedule) {
    let choices = algorithms(call.collective());
    let suits = choices.contains(&algorithm) && algorithm.suits(&query(comm, call));
    build_intra(if suits { algorithm } else { choices[0] }, comm, call, s);
}

fn query(comm: &Comm, call: &Call) -> Query {
    Query {
        collective: call.collective(),
        bytes: call.bytes(comm.size),
        ranks: comm.size,
        commutative: call.commutative(),
    }
}

fn build_intra(algorithm: Algorithm, comm: &Comm, call: &Call, s: &mut Schedule) {
    let me = comm.member();
    match *call {
        Call::Barrier => match algorithm {
            Algorithm::UnbalancedTree => barrier::unbalanced_tree(s, me),
            _ => barrier::dissemination(s, me),
        },
        Call::Bcast { data, root } => {
            let (root, data) = (rank_of(root, comm), data.in_recv());
            match algorithm {
                Algorithm::ScatterRing => bcast::scatter_ring(s, me, root, data),
                Algorithm::Chain => bcast::chain(s, me, root, data),
                _ => bcast::binomial(s, me, root, data),
            }
        }
        Call::Gather { .. } | Call::Gatherv { .. } | Call::Scatter { .. } | Call::Scatterv { .. } => {
            build_rooted(algorithm, comm, call, s);
        }
        Call::Allgather { send, recv } => {
            build_allgather(algorithm, comm, send.map(|send| send.in_send()), recv.in_recv(), s);
        }
        Call::Allgatherv { send, recv } => {
            allgather::ring(s, me, send.map(|send| send.in_send()), |rank| recv.in_recv(rank));
        }
        Call::Alltoall { send, recv } => build_alltoall(algorithm, comm, send, recv, s),
        Call::Alltoallv { send, recv } | Call::Alltoallw { send, recv } => {
            build_alltoallv(algorithm, comm, send, recv, s);
        }
        Call::Scan { data, in_place } => scan::inclusive(s, me, data.operand(in_place), data.operand(true)),
        Call::Exscan { data, in_place } => scan::exclusive(s, me, data.operand(in_place), data.operand(true)),
        Call::Reduce { .. }
        | Call::Allreduce { .. }
        | Call::ReduceScatter { .. }
        | Call::ReduceScatterBlock { .. } => build_reduction(algorithm, comm, call, s),
        Call::NeighborAllgather { .. }
        | Call::NeighborAllgatherv { .. }
        | Call::NeighborAlltoall { .. }
        | Call::NeighborAlltoallv { .. }
        | Call::NeighborAlltoallw { .. } => build_neighbor(call, s),
    }
}

fn build_neighbor(call: &Call, s: &mut Schedule) {
    match *call {
        Call::NeighborAllgather { around, send, recv } => {
            let (own, into) = (send.in_send(), recv.in_recv());
            neighbor::direct(s, &around, |_| own, |index| into.block(index));
        }
        Call::NeighborAllgatherv { around, send, recv } => {
            let own = send.in_send();
            neighbor::direct(s, &around, |_| own, |index| recv.in_recv(index));
        }
        Call::NeighborAlltoall { around, send, recv } => {
            let (from, into) = (send.in_send(), recv.in_recv());
            neighbor::direct(s, &around, |index| from.block(index), |index| into.block(index));
        }
        Call::NeighborAlltoallv { around, send, recv } | Call::NeighborAlltoallw { around, send, recv } => {
            neighbor::direct(s, &around, |index| send.in_send(index), |index| recv.in_recv(index));
        }
        _ => unreachable!("{} asks no neighbours", call.collective()),
    }
}

fn build_rooted(algorithm: Algorithm, comm: &Comm, call: &Call, s: &mut Schedule) {
    let me = comm.member();
    let binomial = algorithm == Algorithm::Binomial;
    match *call {
        Call::Gather { send, recv, root } => {
            let (root, send, first) = (rank_of(root, comm), send.map(|send| send.in_send()), recv.in_recv());
            if binomial {
                gather::binomial(s, me, root, send, first);
            } else {
                gather::linear(s, me, root, send, |rank| first.block(rank));
            }
        }
        Call::Gatherv { send, recv, root } => {
            let send = send.map(|send| send.in_send());
            gather::linear(s, me, rank_of(root, comm), send, |rank| recv.in_recv(rank));
        }
        Call::Scatter { send, recv, root } => {
            let (root, first, recv) = (rank_of(root, comm), send.in_send(), recv.map(|recv| recv.in_recv()));
            if binomial {
                scatter::binomial(s, me, root, first, recv);
            } else {
                scatter::linear(s, me, root, |rank| first.block(rank), recv);
            }
        }
        Call::Scatterv { send, recv, root } => {
            let recv = recv.map(|recv| recv.in_recv());
            scatter::linear(s, me, rank_of(root, comm), |rank| send.in_send(rank), recv);
        }
        _ => unreachable!("{} has no root that gathers or scatters", call.collective()),
    }
}

fn build_allgather(algorithm: Algorithm, comm: &Comm, send: Option<Span>, first: Span, s: &mut Schedule) {
    let me = comm.member();
    match algorithm {
        Algorithm::RecursiveDoubling => allgather::recursive_doubling(s, me, send, first),
        Algorithm::Bruck => allgather::bruck(s, me, send, first),
        Algorithm::NeighbourExchange => allgather::neighbour_exchange(s, me, send, first),
        _ => allgather::ring(s, me, send, |rank| first.block(rank)),
    }
}

fn build_alltoall(algorithm: Algorithm, comm: &Comm, send: Option<Data>, recv: Data, s: &mut Schedule) {
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

fn build_alltoallv(algorithm: Algorithm, comm: &Comm, send: Option<Vector>, recv: Vector, s: &mut Schedule) {
    let me = comm.member();
    let into = |rank| recv.in_recv(rank);
    match (algorithm, send) {
        (_, None) => alltoall::in_place(s, me, into),
        (Algorithm::Pairwise, Some(send)) => alltoall::pairwise(s, me, |rank| send.in_send(rank), into),
        (_, Some(send)) => alltoall::direct(s, me, |rank| send.in_send(rank), into),
    }
}

fn build_reduction(algorithm: Algorithm, comm: &Comm, call: &Call, s: &mut Schedule) {
    let me = comm.member();
    match *call {
        Call::Reduce { data, in_place, root, .. } => {
            let root = rank_of(root, comm);
            // Only the root has a receive buffer, so only it can be in place.
            let in_place = in_place && comm.rank == root;
            reduce::binomial(s, me, root, data.operand(in_place), data.operand(true));
        }
        Call::Allreduce { data, in_place, .. } => {
            let (own, home) = (data.operand(in_place), data.operand(true));
            match algorithm {
                Algorithm::Ring => allreduce::ring(s, me, own, home),
                Algorithm::Rabenseifner => allreduce::rabenseifner(s, me, own, home),
                Algorithm::ReduceBcast => allreduce::reduce_bcast(s, me, own, home),
                _ => allreduce::recursive_doubling(s, me, own, home),
            }
        }
        Call::ReduceScatter { counts, layout, in_place, .. } => {
            let operand = counted(counts, layout, in_place);
            let home = home(counts.count(comm.rank as usize), layout);
            build_reduce_scatter(algorithm, comm, &operand, home, s);
        }
        Call::ReduceScatterBlock { data, in_place, .. } => {
            let operand = uniform(data, comm.size, in_place);
            build_reduce_scatter(algorithm, comm, &operand, data.operand(true), s);
        }
        _ => unreachable!("{} reduces nothing", call.collective()),
    }
}

fn build_reduce_scatter(
    algorithm: Algorithm,
    comm: &Comm,
    operand: &Blocks<impl Fn(u32, u32) -> (u64, u64)>,
    home: Span,
    s: &mut Schedule,
) {
    let me = comm.member();
    match algorithm {
        Algorithm::Pairwise => reduce_scatter::pairwise(s, me, operand, home),
        Algorithm::RecursiveHalving => reduce_scatter::recursive_halving(s, me, operand, home),
        _ => reduce_scatter::reduce_then_scatter(s, me, operand, home),
    }
}

/// The operand of a reduce_scatter with a count for each rank.
fn counted(counts: Numbers, layout: Layout, in_place: bool) -> Blocks<impl Fn(u32, u32) -> (u64, u64)> {
    let all = Data::new(counts.sum(), layout).operand(in_place);
    let range = move |first: u32, number: u32| {
        let start = counts.sum_before(first as usize);
        (start, counts.sum_before((first + number) as usize) - start)
    };
    Blocks { all, range }
}

/// The operand of a reduce_scatter_block.
fn uniform(block: Data, size: u32, in_place: bool) -> Blocks<impl Fn(u32, u32) -> (u64, u64)> {
    let elements = move |blocks: u32| block.count.saturating_mul(u64::from(blocks));
    let all = Data::new(elements(size), block.layout).operand(in_place);
    Blocks { all, range: move |first, number| (elements(first), elements(number)) }
}

fn home(count: u64, layout: Layout) -> Span {
    Data::new(count, layout).operand(true)
}

/// The root's rank on an intracommunicator.
fn rank_of(root: Root, comm: &Comm) -> u32 {
    match root {
        Root::Rank(rank) => rank,
        Root::Here => comm.rank,
        Root::Elsewhere => unreachable!("MPI_PROC_NULL is no root of an intracommunicator"),
    }
}

fn build_inter(comm: &Comm, remote: u32, call: &Call, s: &mut Schedule) {
    match *call {
        Call::Barrier => inter::barrier(s, comm),
        Call::Bcast { data, root } => inter::bcast(s, comm, root, data.in_recv()),
        Call::Gather { send, recv, root } => {
            let send = send.map(|send| send.in_send());
            inter::gather(s, remote, root, send, |rank| recv.in_recv().block(rank));
        }
        Call::Gatherv { send, recv, root } => {
            let send = send.map(|send| send.in_send());
            inter::gather(s, remote, root, send, |rank| recv.in_recv(rank));
        }
        Call::Scatter { send, recv, root } => {
            let recv = recv.map(|recv| recv.in_recv());
            inter::scatter(s, remote, root, |rank| send.in_send().block(rank), recv);
        }
        Call::Scatterv { send, recv, root } => {
            let recv = recv.map(|recv| recv.in_recv());
            inter::scatter(s, remote, root, |rank| send.in_send(rank), recv);
        }
        Call::Allgather { send, recv } => {
            let send = send.unwrap_or_default().in_send();
            inter::allgather(s, comm, remote, send, |rank| recv.in_recv().block(rank));
        }
        Call::Allgatherv { send, recv } => {
            let send = send.unwrap_or_default().in_send();
            inter::allgather(s, comm, remote, send, |rank| recv.in_recv(rank));
        }
        Call::Alltoall { send, recv } => {
            let (from, into) = (send.unwrap_or_default().in_send(), recv.in_recv());
            inter::alltoall(s, comm, remote, |rank| from.block(rank), |rank| into.block(rank));
        }
        Call::Alltoallv { send, recv } | Call::Alltoallw { send, recv } => {
            let from = send.unwrap_or_default();
            inter::alltoall(s, comm, remote, |rank| from.in_send(rank), |rank| recv.in_recv(rank));
        }
        _ => build_inter_reduction(comm, call, s),
    }
}

fn build_inter_reduction(comm: &Comm, call: &Call, s: &mut Schedule) {
    match *call {
        Call::Reduce { data, root, .. } => {
            inter::reduce(s, comm, root, data.operand(false), data.operand(true));
        }
        Call::Allreduce { data, in_place, .. } => {
            inter::allreduce(s, comm, data.operand(in_place), data.operand(true));
        }
        Call::ReduceScatter { counts, layout, in_place, .. } => {
            let operand = counted(counts, layout, in_place);
            let home = home(counts.count(comm.rank as usize), layout);
            inter::reduce_scatter(s, comm, operand.all, |all, rank| operand.block(all, rank), home);
        }
        Call::ReduceScatterBlock { data, in_place, .. } => {
            let operand = uniform(data, comm.size, in_place);
            let home = data.operand(true);
            inter::reduce_scatter(s, comm, operand.all, |all, rank| operand.block(all, rank), home);
        }
        _ => unreachable!("{} has no intercommunicator form", call.collective()),
    }
}

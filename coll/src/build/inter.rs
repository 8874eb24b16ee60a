//! Calls on intercommunicators: one algorithm each.

use super::reductions::{counted, home, uniform};
use crate::call::CollectiveCall;
use crate::inter;
use crate::schedule::Schedule;
use crate::shape::CommView;

pub(super) fn build_inter(comm: &CommView, remote: u32, call: &CollectiveCall, s: &mut Schedule) {
    match *call {
        CollectiveCall::Barrier => inter::barrier(s, comm),
        CollectiveCall::Bcast { data, root } => inter::bcast(s, comm, root, data.in_recv()),
        CollectiveCall::Gather { send, recv, root } => {
            let send = send.map(|send| send.in_send());
            inter::gather(s, remote, root, send, |rank| recv.in_recv().block(rank));
        }
        CollectiveCall::Gatherv { send, recv, root } => {
            let send = send.map(|send| send.in_send());
            inter::gather(s, remote, root, send, |rank| recv.in_recv(rank));
        }
        CollectiveCall::Scatter { send, recv, root } => {
            let recv = recv.map(|recv| recv.in_recv());
            inter::scatter(s, remote, root, |rank| send.in_send().block(rank), recv);
        }
        CollectiveCall::Scatterv { send, recv, root } => {
            let recv = recv.map(|recv| recv.in_recv());
            inter::scatter(s, remote, root, |rank| send.in_send(rank), recv);
        }
        CollectiveCall::Allgather { send, recv } => {
            let send = send.unwrap_or_default().in_send();
            inter::allgather(s, comm, remote, send, |rank| recv.in_recv().block(rank));
        }
        CollectiveCall::Allgatherv { send, recv } => {
            let send = send.unwrap_or_default().in_send();
            inter::allgather(s, comm, remote, send, |rank| recv.in_recv(rank));
        }
        CollectiveCall::Alltoall { send, recv } => {
            let (from, into) = (send.unwrap_or_default().in_send(), recv.in_recv());
            inter::alltoall(s, comm, remote, |rank| from.block(rank), |rank| into.block(rank));
        }
        CollectiveCall::Alltoallv { send, recv } | CollectiveCall::Alltoallw { send, recv } => {
            let from = send.unwrap_or_default();
            inter::alltoall(s, comm, remote, |rank| from.in_send(rank), |rank| recv.in_recv(rank));
        }
        _ => build_inter_reduction(comm, call, s),
    }
}

fn build_inter_reduction(comm: &CommView, call: &CollectiveCall, s: &mut Schedule) {
    match *call {
        CollectiveCall::Reduce { data, root, .. } => {
            inter::reduce(s, comm, root, data.operand(false), data.operand(true));
        }
        CollectiveCall::Allreduce { data, in_place, .. } => {
            inter::allreduce(s, comm, data.operand(in_place), data.operand(true));
        }
        CollectiveCall::ReduceScatter { counts, layout, in_place, .. } => {
            let operand = counted(counts, layout, in_place);
            let home = home(counts.count(comm.rank as usize), layout);
            inter::reduce_scatter(s, comm, operand.all, |all, rank| operand.block(all, rank), home);
        }
        CollectiveCall::ReduceScatterBlock { data, in_place, .. } => {
            let operand = uniform(data, comm.size, in_place);
            let home = data.operand(true);
            inter::reduce_scatter(s, comm, operand.all, |all, rank| operand.block(all, rank), home);
        }
        _ => unreachable!("{} has no intercommunicator form", call.collective()),
    }
}

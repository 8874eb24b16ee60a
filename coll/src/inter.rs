//! Collectives on intercommunicators (MPI 5.0, section 6.2.3): each group works within itself, and the groups
//! meet at their ranks 0 or directly.

use crate::barrier;
use crate::bcast;
use crate::limits::DIRECT_PEERS_MAX;
use crate::reduce;
use crate::scatter;
use crate::schedule::{Schedule, Span, StepPeer};
use crate::shape::{CommView, Member, Root};

/// The rank 0 of the remote group.
const LEADER: StepPeer = StepPeer::Remote(0);

/// Both groups gather at their ranks 0, these signal each other, and release their groups.
pub fn barrier(s: &mut Schedule, comm: &CommView) {
    barrier::gather_signals(s, comm.member());
    if comm.rank == 0 {
        s.signal(LEADER);
        s.await_signal(LEADER);
        s.wait();
    }
    barrier::release(s, comm.member());
}

/// The root sends to rank 0 of the other group, which broadcasts.
pub fn bcast(s: &mut Schedule, comm: &CommView, root: Root, data: Span) {
    match root {
        Root::Here => s.send_some(LEADER, data),
        Root::Elsewhere => {}
        Root::Rank(root) => {
            if comm.rank == 0 {
                s.recv_some(StepPeer::Remote(root), data);
                s.wait();
            }
            bcast::binomial(s, comm.member(), 0, data);
        }
    }
    s.wait();
}

/// Every rank of the other group sends to the root.
pub fn gather(s: &mut Schedule, remote: u32, root: Root, send: Option<Span>, recv: impl Fn(u32) -> Span) {
    match root {
        Root::Here => (0..remote).for_each(|rank| s.recv_some(StepPeer::Remote(rank), recv(rank))),
        Root::Elsewhere => {}
        Root::Rank(root) => send.into_iter().for_each(|own| s.send_some(StepPeer::Remote(root), own)),
    }
    s.wait();
}

/// The root sends to every rank of the other group.
pub fn scatter(s: &mut Schedule, remote: u32, root: Root, send: impl Fn(u32) -> Span, recv: Option<Span>) {
    match root {
        Root::Here => (0..remote).for_each(|rank| s.send_some(StepPeer::Remote(rank), send(rank))),
        Root::Elsewhere => {}
        Root::Rank(root) => recv.into_iter().for_each(|own| s.recv_some(StepPeer::Remote(root), own)),
    }
    s.wait();
}

/// Every rank sends to rank 0 of the other group, which broadcasts all blocks, packed, within its group.
pub fn allgather(s: &mut Schedule, comm: &CommView, remote: u32, send: Span, recv: impl Fn(u32) -> Span) {
    let bytes = (0..remote).map(|rank| recv(rank).bytes()).fold(0, u64::saturating_add);
    let all = s.temp_bytes(bytes);
    s.send_some(LEADER, send);
    if comm.rank == 0 {
        each_packed(remote, all, &recv, |rank, packed| s.recv_some(StepPeer::Remote(rank), packed));
    }
    s.wait();
    bcast::binomial(s, comm.member(), 0, all);
    each_packed(remote, all, &recv, |rank, packed| s.copy(packed, recv(rank)));
}

/// Calls `each` with every rank's piece of the packed bytes of all blocks.
fn each_packed(remote: u32, all: Span, recv: &impl Fn(u32) -> Span, mut each: impl FnMut(u32, Span)) {
    let mut start = 0;
    for rank in 0..remote {
        let bytes = recv(rank).bytes();
        each(rank, all.part(start, bytes));
        start += bytes;
    }
}

/// Direct exchange with all of the other group, in the order of [`crate::alltoall::direct`]: as if both groups had the
/// size of the larger one.
pub fn alltoall(
    s: &mut Schedule,
    comm: &CommView,
    remote: u32,
    send: impl Fn(u32) -> Span,
    recv: impl Fn(u32) -> Span,
) {
    let larger = Member::new(comm.rank, comm.size.max(remote));
    for distance in 0..larger.size {
        let (from, to) = (larger.before(distance), larger.after(distance));
        if from < remote {
            s.recv_some(StepPeer::Remote(from), recv(from));
        }
        if to < remote {
            s.send_some(StepPeer::Remote(to), send(to));
        }
        if (distance + 1) % DIRECT_PEERS_MAX == 0 {
            s.wait();
        }
    }
    s.wait();
}

/// The group that is not the root's reduces to its rank 0, which sends the result to the root.
pub fn reduce(s: &mut Schedule, comm: &CommView, root: Root, own: Span, home: Span) {
    match root {
        Root::Here => s.recv_some(LEADER, home),
        Root::Elsewhere => {}
        Root::Rank(root) => {
            let result = reduce::to_first(s, comm.member(), own, None);
            if comm.rank == 0 {
                s.send_some(StepPeer::Remote(root), result);
            }
        }
    }
    s.wait();
}

/// Each group reduces to its rank 0; these exchange the results and broadcast what they got.
pub fn allreduce(s: &mut Schedule, comm: &CommView, own: Span, home: Span) {
    let result = reduce::to_first(s, comm.member(), own, None);
    if comm.rank == 0 {
        s.send_some(LEADER, result);
        s.recv_some(LEADER, home);
        s.wait();
    }
    bcast::binomial(s, comm.member(), 0, home);
}

/// Each group reduces to its rank 0; these exchange the results and scatter what they got. `block` names the
/// block of each rank of the own group in a vector.
pub fn reduce_scatter(
    s: &mut Schedule,
    comm: &CommView,
    own: Span,
    block: impl Fn(Span, u32) -> Span,
    home: Span,
) {
    let result = reduce::to_first(s, comm.member(), own, None);
    let mut incoming = own;
    if comm.rank == 0 {
        incoming = s.temp_like(own);
        s.send_some(LEADER, result);
        s.recv_some(LEADER, incoming);
        s.wait();
    }
    scatter::linear(s, comm.member(), 0, |rank| block(incoming, rank), Some(home));
}

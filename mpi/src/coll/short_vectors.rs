//! Short blocking `MPI_Gatherv` and `MPI_Scatterv` on elements of predefined types: messages between the root and each other rank.
//!
//! No rank but the root knows all lengths, so the ranks cannot agree on steps over shared memory. They send the messages of the
//! schedule that the general way makes, of bytes, with nothing else prepared. So each rank may go either way, whatever the others do.

use super::running::{RunningCollective, count_call};
use super::setup::{Block, Blocks};
use super::short::{ShortBuffer, ShortCall};
use crate::core::error::Result;
use std::ffi::c_int;
use tern_abi::MPI_Comm;
use tern_coll::{
    CollectiveCall, CommView, Member, Root, Schedule, Span, Ty, TypeLayout, Vector, gather, scatter,
};
use tern_shmcoll::Mark;

impl ShortCall {
    /// Does what `plan` puts into a schedule of bytes, of a call that is `what`.
    #[inline(always)]
    fn by_messages(
        mut self,
        what: &CollectiveCall,
        (send, recv): (ShortBuffer, ShortBuffer),
        plan: impl FnOnce(&mut Schedule, Member),
    ) -> Option<Result> {
        let view = CommView::intra(self.rank, self.size);
        let mark = Mark::of(what, &view, None);
        if mark.is_uneven() {
            return None;
        }
        let this = self.process.comm_mut(self.comm).ok()?;
        let mut running = RunningCollective::spare();
        running.begin_with(self.call, this, mark, what);
        (running.bindings.send.base, running.bindings.recv.base) = (send.base, recv.base);
        plan(&mut running.schedule, view.member());
        count_call(this);
        let outcome = running.run_in_shm_comm(self.process, self.comm);
        running.keep();
        Some(outcome)
    }
}

/// The same memory as bytes.
#[inline(always)]
fn bytes(span: Span) -> Span {
    Span { count: span.bytes(), ty: Ty::Byte, layout: TypeLayout::BYTE, ..span }
}

/// `MPI_Gatherv`, unless the root's block is in place.
pub(super) fn gatherv(comm: MPI_Comm, send: Block, recv: Blocks<'_>, root: c_int) -> Option<Result> {
    let short = ShortCall::on("MPI_Gatherv", comm)?;
    let root = short.root(root)?;
    let (from, own) = ShortBuffer::of(send)?;
    let (into, recv) = match root == short.rank {
        true => ShortBuffer::of_blocks(&recv, short.size)?,
        false => (ShortBuffer::NONE, Vector::default()),
    };
    if root == short.rank && from.meets(into, recv.in_recv(root).offset) {
        return None;
    }
    let what = CollectiveCall::Gatherv { send: Some(own), recv, root: Root::Rank(root) };
    short.by_messages(&what, (from, into), |schedule, me| {
        gather::linear(schedule, me, root, Some(bytes(own.in_send())), |rank| bytes(recv.in_recv(rank)));
    })
}

/// `MPI_Scatterv`, unless the root's block is in place.
pub(super) fn scatterv(comm: MPI_Comm, send: Blocks<'_>, recv: Block, root: c_int) -> Option<Result> {
    let short = ShortCall::on("MPI_Scatterv", comm)?;
    let root = short.root(root)?;
    let (into, own) = ShortBuffer::of(recv)?;
    let (from, send) = match root == short.rank {
        true => ShortBuffer::of_blocks(&send, short.size)?,
        false => (ShortBuffer::NONE, Vector::default()),
    };
    if root == short.rank && into.meets(from, send.in_send(root).offset) {
        return None;
    }
    let what = CollectiveCall::Scatterv { send, recv: Some(own), root: Root::Rank(root) };
    short.by_messages(&what, (from, into), |schedule, me| {
        scatter::linear(schedule, me, root, |rank| bytes(send.in_send(rank)), Some(bytes(own.in_recv())));
    })
}

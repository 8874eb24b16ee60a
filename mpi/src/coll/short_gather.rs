//! Short blocking gathers and scatters on elements of predefined types, and their vector forms.
//!
//! Of a vector form among more than two ranks no rank but the root knows all lengths, so blocks are announced in steps. What a rank
//! finds there to be longer than what goes this way, a message brings. Between two ranks the block is a message.

use super::setup::{Block, Blocks};
use super::short::{ShortBuffer, ShortCall, send_rest};
use super::short_pair::{gather_of_two, scatter_of_two};
use crate::core::error::Result;
use crate::limits::SHORT_COLLECTIVE_BYTES_MAX;
use std::ffi::c_int;
use tern_abi::MPI_Comm;
use tern_coll::{CollectiveCall, Root, TypedCount, Vector};
use tern_shm::ShmComm;

impl ShortCall {
    /// The root's buffer and its blocks. A longer one is for its rank to move, or goes by a message.
    #[inline(always)]
    fn all_blocks<'a>(&self, blocks: &Blocks<'a>) -> Option<(ShortBuffer, Vector<'a>)> {
        ShortBuffer::of_blocks_up_to(SHORT_COLLECTIVE_BYTES_MAX * self.size as usize, blocks, self.size)
    }

    /// Whether the ranks have told each other already what they tell once, which takes the general way.
    #[inline(always)]
    fn has_common(&self) -> bool {
        let shm_comm = self.process.comm(self.comm).ok().and_then(|comm| comm.shm_comm.shm_comm());
        shm_comm.and_then(ShmComm::common).is_some()
    }
}

/// `MPI_Gather`, unless the root's block is in place.
pub(super) fn gather(comm: MPI_Comm, send: Block, recv: Block, root: c_int) -> Option<Result> {
    let short = ShortCall::on("MPI_Gather", comm)?;
    let root = short.root(root)?;
    let (from, own) = ShortBuffer::of(send)?;
    let (into, all) = match root == short.rank {
        true => ShortBuffer::of(recv)?,
        false => (ShortBuffer::NONE, TypedCount::default()),
    };
    if from.meets(into, short.offset(all)) {
        return None;
    }
    let what = CollectiveCall::Gather { send: Some(own), recv: all, root: Root::Rank(root) };
    if short.size == 2 && short.method(&what, None).is_none() {
        return gather_of_two(
            (short, root),
            &what,
            (from, into),
            (own.in_send(), |rank| all.in_recv().block(rank)),
        );
    }
    short.go(&what, (from, into), None)
}

/// `MPI_Scatter`, unless the root's block is in place.
pub(super) fn scatter(comm: MPI_Comm, send: Block, recv: Block, root: c_int) -> Option<Result> {
    let short = ShortCall::on("MPI_Scatter", comm)?;
    let root = short.root(root)?;
    let (into, own) = ShortBuffer::of(recv)?;
    let (from, all) = match root == short.rank {
        true => ShortBuffer::of(send)?,
        false => (ShortBuffer::NONE, TypedCount::default()),
    };
    if into.meets(from, short.offset(all)) {
        return None;
    }
    let what = CollectiveCall::Scatter { send: all, recv: Some(own), root: Root::Rank(root) };
    if short.size == 2 && short.method(&what, None).is_none() {
        return scatter_of_two(
            (short, root),
            &what,
            (from, into),
            (|rank| all.in_send().block(rank), own.in_recv()),
        );
    }
    short.go(&what, (from, into), None)
}

/// `MPI_Gatherv`, unless the root's block is in place.
pub(super) fn gatherv(comm: MPI_Comm, send: Block, recv: Blocks<'_>, root: c_int) -> Option<Result> {
    let short = ShortCall::on("MPI_Gatherv", comm)?;
    let root = short.root(root)?;
    let (from, own) = ShortBuffer::of(send)?;
    let (into, recv) = match root == short.rank {
        true => short.all_blocks(&recv)?,
        false => (ShortBuffer::NONE, Vector::default()),
    };
    if root == short.rank && from.meets(into, recv.in_recv(root).offset) {
        return None;
    }
    let what = CollectiveCall::Gatherv { send: Some(own), recv, root: Root::Rank(root) };
    let (mine, block) = (own.in_send(), |rank| recv.in_recv(rank));
    if short.size == 2 {
        return gather_of_two((short, root), &what, (from, into), (mine, block));
    }
    if !short.has_common() {
        return None;
    }
    short.go_on(&what, (from, into), None, |schedule, me, rest| {
        send_rest(schedule, me, rest, |_| mine, block);
    })
}

/// `MPI_Scatterv`, unless the root's block is in place.
pub(super) fn scatterv(comm: MPI_Comm, send: Blocks<'_>, recv: Block, root: c_int) -> Option<Result> {
    let short = ShortCall::on("MPI_Scatterv", comm)?;
    let root = short.root(root)?;
    let (into, own) = ShortBuffer::of(recv)?;
    let (from, send) = match root == short.rank {
        true => short.all_blocks(&send)?,
        false => (ShortBuffer::NONE, Vector::default()),
    };
    if root == short.rank && into.meets(from, send.in_send(root).offset) {
        return None;
    }
    let what = CollectiveCall::Scatterv { send, recv: Some(own), root: Root::Rank(root) };
    let (mine, block) = (own.in_recv(), |rank| send.in_send(rank));
    if short.size == 2 {
        return scatter_of_two((short, root), &what, (from, into), (block, mine));
    }
    if !short.has_common() {
        return None;
    }
    short.go_on(&what, (from, into), None, |schedule, me, rest| {
        send_rest(schedule, me, rest, block, |_| mine);
    })
}

//! Short blocking `MPI_Gatherv` and `MPI_Scatterv` on elements of predefined types.
//!
//! Among more than two ranks no rank but the root knows all lengths, so blocks are announced in steps. What a rank finds there to be
//! longer than what goes this way, a message brings. Between two ranks the block is a message.

use super::setup::{Block, Blocks};
use super::short::{ShortBuffer, ShortCall, bytes};
use super::short_pair::{keep, memory};
use crate::core::error::Result;
use std::ffi::c_int;
use tern_abi::MPI_Comm;
use tern_coll::{CollectiveCall, Root, Vector, gather, scatter};
use tern_shm::ShmComm;

impl ShortCall {
    /// Whether the ranks have told each other already what they tell once, which takes the general way.
    #[inline(always)]
    fn has_common(&self) -> bool {
        let shm_comm = self.process.comm(self.comm).ok().and_then(|comm| comm.shm_comm.shm_comm());
        shm_comm.and_then(ShmComm::common).is_some()
    }
}

/// `MPI_Gatherv`, unless the root's block is in place.
pub(super) fn gatherv(comm: MPI_Comm, send: Block, recv: Blocks<'_>, root: c_int) -> Option<Result> {
    let mut short = ShortCall::on("MPI_Gatherv", comm)?;
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
    let (mine, block) = (own.in_send(), |rank| recv.in_recv(rank));
    if short.size == 2 {
        let mark = short.mark(&what)?;
        let outcome = match root == short.rank {
            true => short.take_from_other(mark, memory(into, block(1 - root))),
            false => short.send_to_other(mark, memory(from, mine)),
        };
        if let Some(outcome) = outcome {
            if root == short.rank {
                keep(memory(from, mine), memory(into, block(root)));
            }
            return Some(outcome);
        }
        return short.by_messages(&what, (from, into), |schedule, me| {
            gather::linear(schedule, me, root, Some(bytes(mine)), |rank| bytes(block(rank)));
        });
    }
    if !short.has_common() {
        return None;
    }
    short.go_on(&what, (from, into), None, |schedule, me, rest| match me.rank == root {
        true => rest.ranks().for_each(|rank| schedule.recv(me.peer(rank), bytes(block(rank)))),
        false => schedule.send(me.peer(root), bytes(mine)),
    })
}

/// `MPI_Scatterv`, unless the root's block is in place.
pub(super) fn scatterv(comm: MPI_Comm, send: Blocks<'_>, recv: Block, root: c_int) -> Option<Result> {
    let mut short = ShortCall::on("MPI_Scatterv", comm)?;
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
    let (mine, block) = (own.in_recv(), |rank| send.in_send(rank));
    if short.size == 2 {
        let mark = short.mark(&what)?;
        let outcome = match root == short.rank {
            true => short.send_to_other(mark, memory(from, block(1 - root))),
            false => short.take_from_other(mark, memory(into, mine)),
        };
        if let Some(outcome) = outcome {
            if root == short.rank {
                keep(memory(from, block(root)), memory(into, mine));
            }
            return Some(outcome);
        }
        return short.by_messages(&what, (from, into), |schedule, me| {
            scatter::linear(schedule, me, root, |rank| bytes(block(rank)), Some(bytes(mine)));
        });
    }
    if !short.has_common() {
        return None;
    }
    short.go_on(&what, (from, into), None, |schedule, me, rest| match me.rank == root {
        true => rest.ranks().for_each(|rank| schedule.send(me.peer(rank), bytes(block(rank)))),
        false => schedule.recv(me.peer(root), bytes(mine)),
    })
}

//! A short block from one of two ranks to the other: a message, as the general way sends, and nothing else where it can go or has come
//! at once. Otherwise nothing has happened, and the call goes on with a schedule.

use super::differ::unequal;
use super::running::count_call;
use super::short::{ShortBuffer, ShortCall, bytes};
use crate::coll::shm_comm_place::ShmCommPlace;
use crate::comm::object::{Comm, Lane};
use crate::core::error::Result;
use tern_coll::Span;
use tern_engine::{Envelope, Pattern};
use tern_mem::{ContiguousBuf, UserBuf};
use tern_shm::ShmComm;
use tern_shmcoll::Mark;
use tern_transport::{AM_INLINE_BYTES_MAX, Peer};

impl ShortCall {
    /// Sends a block to the other rank, if it can go.
    #[inline]
    pub(super) fn send_to_other(&mut self, mark: Mark, block: ContiguousBuf) -> Option<Result> {
        let (peer, context, tag) = self.other()?;
        let envelope = Envelope { context, source: self.rank, tag };
        let engine = self.process.engine().ok()?;
        let has_gone = !block.is_empty()
            && (engine.send_short::<true>(peer, envelope, block) || engine.send_run(peer, envelope, block));
        has_gone.then(|| {
            self.count(mark);
            Ok(())
        })
    }

    /// Takes a block from the other rank: whether it is as long as it should be, if it has come.
    #[inline]
    pub(super) fn take_from_other(&mut self, mark: Mark, block: ContiguousBuf) -> Option<Result> {
        if block.len() > AM_INLINE_BYTES_MAX {
            return None;
        }
        let (peer, context, tag) = self.other()?;
        let pattern = Pattern { context, source: 1 - self.rank, tag };
        let looks = self.process.waiting.polls_at_once;
        let engine = self.process.engine().ok()?;
        let mut taken = engine.take_next::<true>(peer, pattern, block);
        if taken.is_none() && engine.await_next(peer, looks) {
            taken = engine.take_next::<true>(peer, pattern, block);
        }
        let (_, bytes) = taken?;
        self.count(mark);
        Some(match bytes == block.len() {
            true => Ok(()),
            false => Err(unequal(self.call, 1 - self.rank, bytes, block.len())),
        })
    }

    /// The other rank, and the context and the tag of this call's messages.
    #[inline]
    fn other(&mut self) -> Option<(Peer, u64, i32)> {
        let comm = self.process.comm_mut(self.comm).ok()?;
        let is_settled = shm_comm_of(comm)?.unsettled().is_none();
        let peer = comm.group.peer(1 - self.rank)?;
        is_settled.then(|| (peer, comm.lane(Lane::Coll), comm.collectives as i32))
    }

    /// The call has happened.
    #[inline]
    fn count(&mut self, mark: Mark) {
        let Ok(comm) = self.process.comm_mut(self.comm) else { return };
        if let Some(shm_comm) = shm_comm_of(comm) {
            shm_comm.begin(mark.bits());
            shm_comm.tell();
        }
        count_call(comm);
    }
}

#[inline]
fn shm_comm_of(comm: &mut Comm) -> Option<&mut ShmComm> {
    match &mut comm.shm_comm {
        ShmCommPlace::Here(shm_comm) => Some(shm_comm),
        _ => None,
    }
}

/// The memory of a block of a short call.
#[inline]
pub(super) fn memory(buffer: ShortBuffer, block: Span) -> ContiguousBuf {
    let start = buffer.base.wrapping_offset(block.offset as isize);
    // SAFETY: the program vouches for its buffers until the call is complete.
    unsafe { ContiguousBuf::new(start, bytes(block).count as usize) }
}

/// Copies what a rank has for itself.
#[inline]
pub(super) fn keep(from: ContiguousBuf, into: ContiguousBuf) {
    UserBuf::copy(&from.into(), 0, &into.into(), 0, from.len().min(into.len()));
}

//! A short block from one of two ranks to the other: a message, as the general way sends, and nothing else where it can go or comes at
//! once. Otherwise the call goes on with a schedule.

use super::port::ended;
use super::running::count_call;
use super::short::{ShortBuffer, ShortCall, bytes};
use crate::comm::object::Lane;
use crate::core::error::Result;
use tern_coll::{CollectiveCall, Member, Schedule, Span, gather, scatter};
use tern_engine::{Envelope, Mode, Pattern, RequestId, StartedMessage, Status};
use tern_mem::{ContiguousBuf, UserBuf};
use tern_shmcoll::Mark;
use tern_transport::{AM_INLINE_BYTES_MAX, Peer};

/// The block that a rank of two has to do with.
enum PairBlock {
    /// It goes to the other rank.
    Sent(ContiguousBuf),
    /// It comes from there.
    Received(ContiguousBuf),
}

/// How far a call has come.
enum PairStep {
    /// It is over.
    Over(Result),
    /// Its receive is posted.
    Posted(RequestId),
    /// Nothing has happened.
    Nothing,
}

impl ShortCall {
    /// Does `what` between two ranks. The root has a block for itself, too: where that is, and where it goes. If the message neither goes nor
    /// comes at once, `plan` makes the call's schedule.
    #[inline(always)]
    fn pair(
        mut self,
        what: &CollectiveCall,
        buffers: (ShortBuffer, ShortBuffer),
        block: PairBlock,
        own: Option<(ContiguousBuf, ContiguousBuf)>,
        plan: impl FnOnce(&mut Schedule, Member),
    ) -> Option<Result> {
        let mark = self.mark(what)?;
        let step = match block {
            PairBlock::Sent(block) | PairBlock::Received(block) if block.is_empty() => PairStep::Nothing,
            PairBlock::Sent(block) => self.send_to_other(mark, block),
            PairBlock::Received(block) => self.receive_from_other(mark, block),
        };
        match step {
            PairStep::Over(outcome) => {
                if let Some((from, into)) = own {
                    UserBuf::copy(&from.into(), 0, &into.into(), 0, from.len().min(into.len()));
                }
                Some(outcome)
            }
            PairStep::Posted(id) => self.by_messages(what, buffers, Some(id), plan),
            PairStep::Nothing => self.by_messages(what, buffers, None, plan),
        }
    }

    #[inline]
    fn send_to_other(&mut self, mark: Mark, block: ContiguousBuf) -> PairStep {
        let Some((peer, context, tag)) = self.other() else { return PairStep::Nothing };
        let envelope = Envelope { context, source: self.rank, tag };
        let Ok(engine) = self.process.engine() else { return PairStep::Nothing };
        let has_gone = engine.send_short::<true>(peer, envelope, block)
            || engine.send_run(peer, envelope, block)
            || engine.send_at_once(Mode::Standard, peer, envelope, &block.into());
        if !has_gone {
            return PairStep::Nothing;
        }
        self.count(mark);
        PairStep::Over(Ok(()))
    }

    #[inline]
    fn receive_from_other(&mut self, mark: Mark, block: ContiguousBuf) -> PairStep {
        let Some((peer, context, tag)) = self.other() else { return PairStep::Nothing };
        let is_alone = self.process.objects.collectives.is_empty();
        let polls_max = if is_alone { self.process.waiting.polls_at_once } else { 1 };
        let Ok(engine) = self.process.engine() else { return PairStep::Nothing };
        let pattern = Pattern { context, source: 1 - self.rank, tag };
        if block.len() <= AM_INLINE_BYTES_MAX
            && let Some((envelope, bytes)) = engine.take_next::<true>(peer, pattern, block)
        {
            return self.received(mark, &Status::of(&envelope, bytes as u64), block);
        }
        match engine.receive_next(pattern, &block.into(), polls_max) {
            Some(StartedMessage::Done(status)) => self.received(mark, &status, block),
            Some(StartedMessage::Pending(id)) => PairStep::Posted(id),
            None => PairStep::Nothing,
        }
    }

    #[inline]
    fn received(&mut self, mark: Mark, status: &Status, block: ContiguousBuf) -> PairStep {
        self.count(mark);
        PairStep::Over(ended(self.call, status, Some(block.len() as u64)))
    }

    /// The other rank, and the context and the tag of this call's messages.
    #[inline]
    fn other(&mut self) -> Option<(Peer, u64, i32)> {
        let comm = self.process.comm_mut(self.comm).ok()?;
        let is_settled = comm.shm_comm.shm_comm_mut()?.unsettled().is_none();
        let peer = comm.group.peer(1 - self.rank)?;
        is_settled.then(|| (peer, comm.lane(Lane::Coll), comm.collectives as i32))
    }

    /// The call has happened.
    #[inline]
    fn count(&mut self, mark: Mark) {
        let Ok(comm) = self.process.comm_mut(self.comm) else { return };
        if let Some(shm_comm) = comm.shm_comm.shm_comm_mut() {
            shm_comm.begin(mark.bits());
            shm_comm.tell();
        }
        count_call(comm);
    }
}

/// The memory of a block of a short call.
#[inline]
fn memory(buffer: ShortBuffer, block: Span) -> ContiguousBuf {
    let start = buffer.base.wrapping_offset(block.offset as isize);
    // SAFETY: the program vouches for its buffers until the call is complete.
    unsafe { ContiguousBuf::new(start, bytes(block).count as usize) }
}

/// A gather of two ranks that is a message: what this rank sends, and the root's block for each.
#[inline(always)]
pub(super) fn gather_of_two(
    (short, root): (ShortCall, u32),
    what: &CollectiveCall,
    (from, into): (ShortBuffer, ShortBuffer),
    (mine, block): (Span, impl Fn(u32) -> Span),
) -> Option<Result> {
    let me = short.rank;
    let (it, own) = match me == root {
        true => (
            PairBlock::Received(memory(into, block(1 - me))),
            Some((memory(from, mine), memory(into, block(me)))),
        ),
        false => (PairBlock::Sent(memory(from, mine)), None),
    };
    short.pair(what, (from, into), it, own, |schedule, me| {
        gather::linear(schedule, me, root, Some(bytes(mine)), |rank| bytes(block(rank)));
    })
}

/// A scatter of two ranks that is a message: the root's block for each, and where this rank's goes.
#[inline(always)]
pub(super) fn scatter_of_two(
    (short, root): (ShortCall, u32),
    what: &CollectiveCall,
    (from, into): (ShortBuffer, ShortBuffer),
    (block, mine): (impl Fn(u32) -> Span, Span),
) -> Option<Result> {
    let me = short.rank;
    let (it, own) = match me == root {
        true => (
            PairBlock::Sent(memory(from, block(1 - me))),
            Some((memory(from, block(me)), memory(into, mine))),
        ),
        false => (PairBlock::Received(memory(into, mine)), None),
    };
    short.pair(what, (from, into), it, own, |schedule, me| {
        scatter::linear(schedule, me, root, |rank| bytes(block(rank)), Some(bytes(mine)));
    })
}

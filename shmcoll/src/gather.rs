//! Gather and scatter. The blocks, or pieces of all of them, lie side by side in an eager slot, and who has written goes on. Long
//! blocks each other rank moves itself, straight to or from the root's buffer. Where ranks share cores, those in between are messages.

use crate::announced::BlockWay;
use crate::limits::SHM_SHORT_BLOCK_BYTES_MAX;
use crate::method::{gathers_directly, goes_by_message, pays_one_copy, scatters_directly};
use crate::{CallHost, CallResult, NO_PAYLOAD, ShmCall, parts, payload_of};
use tern_coll::{Buf, Span, Ty, TypedCount};
use tern_mem::UserBuf;
use tern_shm::EagerStep;

impl<S: CallHost> ShmCall<'_, S> {
    /// Without `send`, the root's own block is in its place.
    pub(crate) fn gather(&mut self, send: Option<TypedCount>, recv: TypedCount, root: u32) -> CallResult {
        let own = send.map(|send| self.buffer(send.in_send()));
        if self.shm_comm.rank() == root {
            return self.gather_here(own.as_ref(), recv);
        }
        own.map_or(Ok(()), |own| self.gather_there(&own, root))
    }

    /// At the root.
    fn gather_here(&mut self, own: Option<&UserBuf>, recv: TypedCount) -> CallResult {
        let all = self.buffer(blocks(recv, self.size(), Buf::Recv, Ty::Recv));
        let (bytes, place) = (recv.bytes() as usize, self.me() * recv.bytes() as usize);
        let keep = |call: &Self| {
            if let Some(own) = own {
                call.host.copy(own, 0, &all, place, bytes);
            }
        };
        match self.block_way(bytes, gathers_directly)? {
            BlockWay::Straight if self.offer(&all, bytes, keep)? => return Ok(()),
            BlockWay::Message => self.by_message.from = self.others().collect(),
            _ => self.take_contributions(&all, bytes)?,
        }
        keep(self);
        Ok(())
    }

    /// At another rank.
    fn gather_there(&mut self, own: &UserBuf, root: u32) -> CallResult {
        match self.block_way(own.len(), gathers_directly)? {
            BlockWay::Straight if self.accept(own, root, |host, there| host.put(root, own, there))? => {}
            BlockWay::Message => self.by_message.to.insert(root),
            _ => self.contribute(own)?,
        }
        Ok(())
    }

    fn contribute(&mut self, own: &UserBuf) -> CallResult {
        if Self::fits_flag_payload(own.len()) {
            let eager = self.begin_eager_writing()?;
            self.shm_comm.contribute(eager, &payload_of(own, 0, own.len()));
            self.shm_comm.end_eager(eager);
            return Ok(());
        }
        for (at, len) in self.block_parts(own.len()) {
            let eager = self.begin_eager_writing()?;
            self.host.copy(own, at, self.shm_comm.eager_slot(eager).buf(), self.me() * len, len);
            self.shm_comm.contribute(eager, &NO_PAYLOAD);
            self.shm_comm.end_eager(eager);
        }
        Ok(())
    }

    fn take_contributions(&mut self, all: &UserBuf, bytes: usize) -> CallResult {
        let me = self.shm_comm.rank();
        for (at, len) in self.block_parts(bytes) {
            let eager = self.shm_comm.begin_eager();
            for rank in (0..self.shm_comm.size()).filter(|&rank| rank != me) {
                let (block, number) = (rank as usize * bytes, rank as usize);
                self.wait(self.shm_comm.contributed(eager, rank))?;
                if Self::fits_flag_payload(bytes) {
                    all.write(block, &self.shm_comm.contributed_payload(eager, rank)[..bytes]);
                } else {
                    let slot = self.shm_comm.eager_slot(eager);
                    self.host.copy(slot.buf(), number * len, all, block + at, len);
                }
            }
            self.shm_comm.end_eager(eager);
        }
        Ok(())
    }

    /// How blocks of so many bytes go, which is the same for all. `is_long`: the kernel moves them, if it may.
    fn block_way(
        &mut self,
        bytes: usize,
        is_long: impl Fn(usize, usize, bool) -> bool,
    ) -> CallResult<BlockWay> {
        if bytes <= SHM_SHORT_BLOCK_BYTES_MAX {
            return Ok(BlockWay::Slot);
        }
        let (size, common) = (self.size(), self.common()?);
        let one_copy = common.all_reach && pays_one_copy(bytes, common);
        Ok(match common.is_crowded {
            _ if is_long(bytes, size, one_copy) => BlockWay::Straight,
            is_crowded if goes_by_message(bytes, size, is_crowded) => BlockWay::Message,
            _ => BlockWay::Slot,
        })
    }

    /// Pieces of a block: those of all ranks fit an eager slot.
    fn block_parts(&self, bytes: usize) -> impl Iterator<Item = (usize, usize)> + use<S> {
        parts(bytes, self.slot_share())
    }

    /// Without `recv`, the root's own block stays where it is.
    pub(crate) fn scatter(&mut self, send: TypedCount, recv: Option<TypedCount>, root: u32) -> CallResult {
        let own = recv.map(|recv| self.buffer(recv.in_recv()));
        if self.shm_comm.rank() == root {
            return self.scatter_here(send, own.as_ref());
        }
        own.map_or(Ok(()), |own| self.scatter_there(&own, root))
    }

    /// At the root.
    fn scatter_here(&mut self, send: TypedCount, own: Option<&UserBuf>) -> CallResult {
        let all = self.buffer(blocks(send, self.size(), Buf::Send, Ty::Send));
        let (bytes, place) = (send.bytes() as usize, self.me() * send.bytes() as usize);
        let keep = |call: &Self| {
            if let Some(own) = own {
                call.host.copy(&all, place, own, 0, bytes);
            }
        };
        match self.block_way(bytes, scatters_directly)? {
            BlockWay::Straight if self.offer(&all, bytes, keep)? => return Ok(()),
            BlockWay::Message => self.by_message.to = self.others().collect(),
            _ => self.publish_blocks(&all, bytes)?,
        }
        keep(self);
        Ok(())
    }

    /// At another rank.
    fn scatter_there(&mut self, own: &UserBuf, root: u32) -> CallResult {
        match self.block_way(own.len(), scatters_directly)? {
            BlockWay::Straight if self.accept(own, root, |host, there| host.get(root, there, own))? => {}
            BlockWay::Message => self.by_message.from.insert(root),
            _ => self.take_published(own, root)?,
        }
        Ok(())
    }

    fn publish_blocks(&mut self, all: &UserBuf, bytes: usize) -> CallResult {
        for (at, len) in self.block_parts(bytes) {
            let eager = self.begin_eager_writing()?;
            if Self::fits_flag_payload(all.len()) {
                self.shm_comm.publish(eager, &payload_of(all, 0, all.len()));
            } else {
                self.lay_out(eager, all, bytes, (at, len));
                self.shm_comm.publish(eager, &NO_PAYLOAD);
            }
            self.shm_comm.end_eager(eager);
        }
        Ok(())
    }

    /// Bytes `at..at + len` of each other rank's block.
    fn lay_out(&self, eager: EagerStep, all: &UserBuf, bytes: usize, (at, len): (usize, usize)) {
        let slot = self.shm_comm.eager_slot(eager);
        if len == bytes {
            return self.host.copy(all, 0, slot.buf(), 0, all.len());
        }
        for rank in self.others().map(|rank| rank as usize) {
            self.host.copy(all, rank * bytes + at, slot.buf(), rank * len, len);
        }
    }

    fn take_published(&mut self, own: &UserBuf, root: u32) -> CallResult {
        for (at, len) in self.block_parts(own.len()) {
            let eager = self.next_published(root)?;
            let place = self.me() * len;
            if Self::fits_flag_payload(own.len() * self.size()) {
                own.write(at, &self.shm_comm.published_payload(eager)[place..place + len]);
            } else {
                self.host.copy(self.shm_comm.eager_slot(eager).buf(), place, own, at, len);
            }
            self.shm_comm.end_eager(eager);
        }
        Ok(())
    }
}

/// The blocks of all ranks, of which `block` is one.
pub(crate) fn blocks(block: TypedCount, ranks: usize, buf: Buf, ty: Ty) -> Span {
    Span::new(buf, block.count * ranks as u64, ty, block.layout)
}

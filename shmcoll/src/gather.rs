//! Gather and scatter, of blocks that all fit one eager slot. Who has written goes on.

use crate::{CallHost, CallResult, NO_PAYLOAD, ShmCall, payload_of};
use tern_coll::{Buf, Span, Ty, TypedCount};
use tern_mem::UserBuf;

impl<S: CallHost> ShmCall<'_, S> {
    /// Without `send`, the root's own block is in its place.
    pub(crate) fn gather(&mut self, send: Option<TypedCount>, recv: TypedCount, root: u32) -> CallResult {
        let own = send.map(|send| self.buffer(send.in_send()));
        if self.shm_comm.rank() == root {
            return self.gather_here(own.as_ref(), recv);
        }
        own.map_or(Ok(()), |own| self.contribute(&own))
    }

    fn contribute(&mut self, own: &UserBuf) -> CallResult {
        let (eager, bytes) = (self.begin_eager_writing()?, own.len());
        if Self::fits_flag_payload(bytes) {
            self.shm_comm.contribute(eager, &payload_of(own, 0, bytes));
        } else {
            self.host.copy(own, 0, self.shm_comm.eager_slot(eager).buf(), self.me() * bytes, bytes);
            self.shm_comm.contribute(eager, &NO_PAYLOAD);
        }
        self.shm_comm.end_eager(eager);
        Ok(())
    }

    fn gather_here(&mut self, own: Option<&UserBuf>, recv: TypedCount) -> CallResult {
        let all = self.buffer(blocks(recv, self.size(), Buf::Recv, Ty::Recv));
        let (eager, bytes) = (self.shm_comm.begin_eager(), recv.bytes() as usize);
        for rank in (0..self.shm_comm.size()).filter(|&rank| rank != self.shm_comm.rank()) {
            let at = rank as usize * bytes;
            self.wait(self.shm_comm.contributed(eager, rank))?;
            if Self::fits_flag_payload(bytes) {
                all.write(at, &self.shm_comm.contributed_payload(eager, rank)[..bytes]);
            } else {
                self.host.copy(self.shm_comm.eager_slot(eager).buf(), at, &all, at, bytes);
            }
        }
        if let Some(own) = own {
            self.host.copy(own, 0, &all, self.me() * bytes, bytes);
        }
        self.shm_comm.end_eager(eager);
        Ok(())
    }

    /// Without `recv`, the root's own block stays where it is.
    pub(crate) fn scatter(&mut self, send: TypedCount, recv: Option<TypedCount>, root: u32) -> CallResult {
        let own = recv.map(|recv| self.buffer(recv.in_recv()));
        if self.shm_comm.rank() == root {
            return self.scatter_from(send, own.as_ref());
        }
        own.map_or(Ok(()), |own| self.scatter_into(&own, root))
    }

    fn scatter_from(&mut self, send: TypedCount, own: Option<&UserBuf>) -> CallResult {
        let all = self.buffer(blocks(send, self.size(), Buf::Send, Ty::Send));
        let (eager, bytes) = (self.begin_eager_writing()?, send.bytes() as usize);
        if Self::fits_flag_payload(all.len()) {
            self.shm_comm.publish(eager, &payload_of(&all, 0, all.len()));
        } else {
            self.host.copy(&all, 0, self.shm_comm.eager_slot(eager).buf(), 0, all.len());
            self.shm_comm.publish(eager, &NO_PAYLOAD);
        }
        if let Some(own) = own {
            self.host.copy(&all, self.me() * bytes, own, 0, bytes);
        }
        self.shm_comm.end_eager(eager);
        Ok(())
    }

    fn scatter_into(&mut self, own: &UserBuf, root: u32) -> CallResult {
        let (eager, bytes) = (self.shm_comm.begin_eager(), own.len());
        let at = self.me() * bytes;
        self.wait(self.shm_comm.published(eager, root))?;
        if Self::fits_flag_payload(bytes * self.size()) {
            own.write(0, &self.shm_comm.published_payload(eager)[at..at + bytes]);
        } else {
            self.host.copy(self.shm_comm.eager_slot(eager).buf(), at, own, 0, bytes);
        }
        self.shm_comm.end_eager(eager);
        Ok(())
    }
}

/// The blocks of all ranks, of which `block` is one.
pub(crate) fn blocks(block: TypedCount, ranks: usize, buf: Buf, ty: Ty) -> Span {
    Span::new(buf, block.count * ranks as u64, ty, block.layout)
}

//! Allgather: all write their blocks side by side, synchronize, and read all of them.

use crate::direct::{Fetch, part};
use crate::gather::blocks;
use crate::limits::{SHM_ALLGATHER_FETCH_BYTES_MIN, SHM_FETCH_BYTES_MIN};
use crate::method::VectorBlocks;
use crate::{CallFault, CallHost, CallResult, ShmCall, Unequal, parts, whole_lines};
use tern_coll::{Buf, Slice, Ty, TypedCount};
use tern_mem::UserBuf;
use tern_shm::ShmComm;

impl<S: CallHost> ShmCall<'_, S> {
    /// Without `send`, this rank's block is in its place.
    pub(crate) fn allgather(&mut self, send: Option<TypedCount>, recv: TypedCount) -> CallResult {
        let everything = blocks(recv, self.size(), Buf::Recv, Ty::Recv);
        let block = |rank: u32| part(everything, u64::from(rank) * recv.count, recv.count).slice();
        let place = self.host.buffer(&block(self.shm_comm.rank()));
        let own = send.map(|send| self.buffer(send.in_send()));
        self.collect(own.as_ref().unwrap_or(&place), recv.bytes() as usize, block)?;
        if let Some(own) = own {
            self.host.copy(&own, 0, &place, 0, own.len());
        }
        Ok(())
    }

    /// Blocks of any length, the longest of `longest` bytes.
    pub(crate) fn allgatherv(
        &mut self,
        send: Option<TypedCount>,
        longest: usize,
        blocks: &VectorBlocks,
    ) -> CallResult {
        let block = |rank: u32| blocks.from[rank as usize];
        let place = self.host.buffer(&block(self.shm_comm.rank()));
        let own = send.map(|send| self.buffer(send.in_send()));
        self.collect(own.as_ref().unwrap_or(&place), longest, block)?;
        let Some(own) = own else { return Ok(()) };
        self.host.copy(&own, 0, &place, 0, own.len().min(place.len()));
        match own.len() == place.len() {
            true => Ok(()),
            false => Err(CallFault::Unequal(Unequal {
                rank: self.shm_comm.rank(),
                sent: own.len(),
                room: place.len(),
            })),
        }
    }

    /// Gets the blocks of all others, of which the longest has `longest` bytes; this rank's is `own`.
    fn collect(&mut self, own: &UserBuf, longest: usize, block: impl Fn(u32) -> Slice) -> CallResult {
        if self.swaps(longest) {
            let into = self.host.buffer(&block(self.other()));
            return self.swap((own, 0, own.len().min(longest)), (&into, 0, into.len()));
        }
        let fetched_min = if self.size() == 2 { SHM_FETCH_BYTES_MIN } else { SHM_ALLGATHER_FETCH_BYTES_MIN };
        if longest >= fetched_min && self.fetch_blocks(own, &block)? {
            return Ok(());
        }
        for (at, len) in parts(longest, whole_lines(ShmComm::SYNC_BUFFER_BYTES / self.size())) {
            self.collect_piece(own, &block, at, len)?;
        }
        Ok(())
    }

    /// Each rank fetches the others' blocks.
    fn fetch_blocks(&mut self, own: &UserBuf, block: &impl Fn(u32) -> Slice) -> CallResult<bool> {
        let host = self.host;
        self.fetch_all(Some(own), |rank| Fetch { offset: 0, into: host.buffer(&block(rank)) })
    }

    /// Bytes `at..at + len` of each block that is so long.
    fn collect_piece(
        &mut self,
        own: &UserBuf,
        block: &impl Fn(u32) -> Slice,
        at: usize,
        len: usize,
    ) -> CallResult {
        let left = |bytes: usize| bytes.saturating_sub(at).min(len);
        let sync = self.begin_sync_writing()?;
        let area = self.shm_comm.sync_buffer(sync);
        area.will_write(self.me() * len, left(own.len()));
        self.host.copy(own, at, area.buf(), self.me() * len, left(own.len()));
        self.all_come(sync)?;
        for rank in (0..self.shm_comm.size()).filter(|&rank| rank != self.shm_comm.rank()) {
            let into = self.host.buffer(&block(rank));
            self.host.copy(area.buf(), rank as usize * len, &into, at, left(into.len()));
        }
        Ok(())
    }
}

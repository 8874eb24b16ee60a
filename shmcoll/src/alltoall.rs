//! All-to-all: each rank writes what it has for all, all synchronize, and each reads its column.

use crate::direct::{Fetch, part};
use crate::gather::blocks;
use crate::limits::SHM_ALLTOALL_FETCH_BYTES_MIN;
use crate::method::all_to_all_fits;
use crate::{CallHost, CallResult, ShmCall, parts, whole_lines};
use tern_coll::{Buf, Ty, TypedCount};
use tern_mem::{UserBuf, cache};
use tern_shm::ShmComm;

impl<S: CallHost> ShmCall<'_, S> {
    /// Without `send`, what is sent is in the receive buffer.
    pub(crate) fn alltoall(&mut self, send: Option<TypedCount>, recv: TypedCount) -> CallResult {
        let columns = blocks(recv, self.size(), Buf::Recv, Ty::Recv);
        let into = self.buffer(columns);
        let from = match send {
            Some(send) => self.buffer(blocks(send, self.size(), Buf::Send, Ty::Send)),
            None => into.clone(),
        };
        let bytes = recv.bytes() as usize;
        if send.is_some() {
            self.keep_own((&from, self.me() * bytes), (&into, self.me() * bytes), bytes);
        }
        if self.swaps(bytes) {
            let at = self.other() as usize * bytes;
            return self.swap((&from, at, bytes), (&into, at, bytes));
        }
        if bytes >= SHM_ALLTOALL_FETCH_BYTES_MIN {
            let (me, host) = (self.me(), self.host);
            let wanted = |from: u32| {
                let block = part(columns, u64::from(from) * recv.count, recv.count);
                Fetch { offset: me * bytes, into: host.buffer(&block.slice()) }
            };
            if self.fetch_all(send.is_some().then_some(&from), wanted)? {
                return Ok(());
            }
        }
        let room = whole_lines(ShmComm::SYNC_BUFFER_BYTES / (self.size() * self.size()));
        for (at, len) in parts(bytes, room) {
            self.alltoall_piece(&from, &into, bytes, (at, len))?;
        }
        Ok(())
    }

    /// Copies the block of an all-to-all that this rank has for itself, whose blocks are about as long. Of what exceeds the cache by little,
    /// much is still there when it is used.
    pub(crate) fn keep_own(
        &self,
        (from, at): (&UserBuf, usize),
        (into, place): (&UserBuf, usize),
        len: usize,
    ) {
        let twice = cache::last_level_bytes().map(|bytes| 2 * bytes);
        match all_to_all_fits(len, self.size(), twice) {
            true => self.host.copy(from, at, into, place, len),
            false => self.host.copy_past_cache(from, at, into, place, len),
        }
    }

    /// Bytes `at..at + len` of each block.
    fn alltoall_piece(
        &mut self,
        from: &UserBuf,
        into: &UserBuf,
        bytes: usize,
        (at, len): (usize, usize),
    ) -> CallResult {
        let (sync, me, size) = (self.begin_sync_writing()?, self.me(), self.size());
        let area = self.shm_comm.sync_buffer(sync);
        let row = |source: usize, dest: usize| (source * size + dest) * len;
        if size == 2 {
            area.will_write(row(me, 1 - me), len);
        }
        if len == bytes && size > 2 {
            self.host.copy(from, 0, area.buf(), row(me, 0), size * len);
        } else {
            for dest in (0..size).filter(|&dest| dest != me) {
                self.host.copy(from, dest * bytes + at, area.buf(), row(me, dest), len);
            }
        }
        self.all_come(sync)?;
        for source in (0..size).filter(|&source| source != me) {
            self.host.copy(area.buf(), row(source, me), into, source * bytes + at, len);
        }
        Ok(())
    }
}

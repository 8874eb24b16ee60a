//! Broadcast: the root publishes, in its flag's line or slot by slot, and may run ahead of the others.

use crate::limits::SHM_BCAST_PIECE_BYTES;
use crate::{CallHost, CallResult, NO_PAYLOAD, ShmCall, payload_of, pieces};
use tern_coll::TypedCount;
use tern_mem::UserBuf;
use tern_shm::EagerStep;

impl<S: CallHost> ShmCall<'_, S> {
    pub(crate) fn bcast(&mut self, data: TypedCount, root: u32) -> CallResult {
        let buf = self.buffer(data.in_recv());
        if self.shm_comm.rank() == root { self.bcast_from(&buf) } else { self.bcast_into(&buf, root) }
    }

    fn bcast_from(&mut self, buf: &UserBuf) -> CallResult {
        if Self::fits_flag_payload(buf.len()) {
            let eager = self.shm_comm.begin_eager_payload();
            self.free(eager)?;
            self.shm_comm.publish(eager, &payload_of(buf, 0, buf.len()));
            self.shm_comm.end_eager(eager);
            return Ok(());
        }
        for (at, len) in pieces(buf.len(), SHM_BCAST_PIECE_BYTES) {
            let eager = self.begin_eager_writing()?;
            self.host.copy(buf, at, self.shm_comm.eager_slot(eager).buf(), 0, len);
            self.shm_comm.publish(eager, &NO_PAYLOAD);
            self.shm_comm.end_eager(eager);
        }
        Ok(())
    }

    fn bcast_into(&mut self, buf: &UserBuf, root: u32) -> CallResult {
        if Self::fits_flag_payload(buf.len()) {
            let eager = self.shm_comm.begin_eager_payload();
            self.wait(self.shm_comm.published(eager, root))?;
            buf.write(0, &self.shm_comm.published_payload(eager)[..buf.len()]);
            self.shm_comm.end_eager(eager);
            return Ok(());
        }
        for (at, len) in pieces(buf.len(), SHM_BCAST_PIECE_BYTES) {
            let eager = self.next_published(root)?;
            self.host.copy(self.shm_comm.eager_slot(eager).buf(), 0, buf, at, len);
            self.shm_comm.end_eager(eager);
        }
        Ok(())
    }

    /// The next eager step, once the root has published.
    pub(crate) fn next_published(&mut self, root: u32) -> CallResult<EagerStep> {
        let eager = self.shm_comm.begin_eager();
        self.wait(self.shm_comm.published(eager, root))?;
        Ok(eager)
    }
}

//! Broadcast: the root gives, in its flag's line or eager slot by eager slot, and may run ahead of the others.

use crate::limits::JOINT_BCAST_PIECE_BYTES;
use crate::{CallHost, CallResult, NO_NOTE, ShmCall, note_of, pieces};
use tern_coll::TypedCount;
use tern_mem::UserBuf;
use tern_transport::Handover;

impl<S: CallHost> ShmCall<'_, S> {
    pub(crate) fn bcast(&mut self, data: TypedCount, root: u32) -> CallResult {
        let buf = self.buffer(data.in_recv());
        if self.shm_comm.rank() == root { self.bcast_from(&buf) } else { self.bcast_into(&buf, root) }
    }

    fn bcast_from(&mut self, buf: &UserBuf) -> CallResult {
        if Self::fits_note(buf.len()) {
            let handover = self.shm_comm.hand_over_note();
            self.free(handover)?;
            self.shm_comm.give(handover, &note_of(buf, 0, buf.len()));
            self.shm_comm.end(handover);
            return Ok(());
        }
        for (at, len) in pieces(buf.len(), JOINT_BCAST_PIECE_BYTES) {
            let handover = self.hand_over_writing()?;
            self.host.copy(buf, at, self.shm_comm.eager_slot(handover).buf(), 0, len);
            self.shm_comm.give(handover, &NO_NOTE);
            self.shm_comm.end(handover);
        }
        Ok(())
    }

    fn bcast_into(&mut self, buf: &UserBuf, root: u32) -> CallResult {
        if Self::fits_note(buf.len()) {
            let handover = self.shm_comm.hand_over_note();
            self.wait(self.shm_comm.given(handover, root))?;
            buf.write(0, &self.shm_comm.gift(handover)[..buf.len()]);
            self.shm_comm.end(handover);
            return Ok(());
        }
        for (at, len) in pieces(buf.len(), JOINT_BCAST_PIECE_BYTES) {
            let handover = self.next_gift(root)?;
            self.host.copy(self.shm_comm.eager_slot(handover).buf(), 0, buf, at, len);
            self.shm_comm.end(handover);
        }
        Ok(())
    }

    fn next_gift(&mut self, root: u32) -> CallResult<Handover> {
        let handover = self.shm_comm.hand_over();
        self.wait(self.shm_comm.given(handover, root))?;
        Ok(handover)
    }
}

//! Broadcast: the root gives, in its flag's line or tray by tray, and may run ahead of the others.

use crate::limits::JOINT_BCAST_PIECE_BYTES;
use crate::{CallHost, CallResult, NO_NOTE, ShmCall, note_of, pieces};
use tern_coll::TypedCount;
use tern_mem::UserBuf;
use tern_transport::Handover;

impl<S: CallHost> ShmCall<'_, S> {
    pub(crate) fn bcast(&mut self, data: TypedCount, root: u32) -> CallResult {
        let buf = self.buffer(data.in_recv());
        if self.team.rank() == root { self.bcast_from(&buf) } else { self.bcast_into(&buf, root) }
    }

    fn bcast_from(&mut self, buf: &UserBuf) -> CallResult {
        if Self::fits_note(buf.len()) {
            let handover = self.team.hand_over_note();
            self.free(handover)?;
            self.team.give(handover, &note_of(buf, 0, buf.len()));
            self.team.end(handover);
            return Ok(());
        }
        for (at, len) in pieces(buf.len(), JOINT_BCAST_PIECE_BYTES) {
            let handover = self.hand_over_writing()?;
            self.host.copy(buf, at, self.team.tray(handover).buf(), 0, len);
            self.team.give(handover, &NO_NOTE);
            self.team.end(handover);
        }
        Ok(())
    }

    fn bcast_into(&mut self, buf: &UserBuf, root: u32) -> CallResult {
        if Self::fits_note(buf.len()) {
            let handover = self.team.hand_over_note();
            self.wait(self.team.given(handover, root))?;
            buf.write(0, &self.team.gift(handover)[..buf.len()]);
            self.team.end(handover);
            return Ok(());
        }
        for (at, len) in pieces(buf.len(), JOINT_BCAST_PIECE_BYTES) {
            let handover = self.next_gift(root)?;
            self.host.copy(self.team.tray(handover).buf(), 0, buf, at, len);
            self.team.end(handover);
        }
        Ok(())
    }

    fn next_gift(&mut self, root: u32) -> CallResult<Handover> {
        let handover = self.team.hand_over();
        self.wait(self.team.given(handover, root))?;
        Ok(handover)
    }
}

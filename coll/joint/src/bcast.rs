//! Broadcast: the root gives, in its flag's line or tray by tray, and may run ahead of the others.
//!
//! The length travels with the data, and the others go by it: one that names another length learns so, and all stay in step.

use crate::limits::JOINT_BCAST_PIECE_BYTES;
use crate::{Joint, Result, Site, Unequal, WORD_BYTES, note_of_word, pieces, word_of};
use tern_coll::Data;
use tern_mem::UserBuf;
use tern_transport::Team;
use tern_transport::shm::team::Note;

impl<S: Site> Joint<'_, S> {
    pub(crate) fn bcast(&mut self, data: Data, root: u32) -> Result {
        let buf = self.buffer(data.in_recv());
        if self.team.rank() == root {
            self.bcast_from(&buf);
            return Ok(());
        }
        let given = self.bcast_into(&buf);
        if given == buf.len() { Ok(()) } else { Err(Unequal { rank: root, sent: given, room: buf.len() }) }
    }

    fn bcast_from(&mut self, buf: &UserBuf) {
        let mut note = note_of_word(buf.len() as u64);
        if fits_note(buf.len()) {
            let handover = self.hand_over_writing();
            buf.read(0, &mut note[WORD_BYTES..][..buf.len()]);
            self.team.give(handover, &note);
            self.team.end(handover);
        }
        for (at, len) in bcast_pieces(buf.len()) {
            let handover = self.hand_over_writing();
            self.site.copy(buf, at, self.team.tray(handover).buf(), 0, len);
            self.team.give(handover, &note);
            self.team.end(handover);
        }
    }

    /// The bytes that were given; those that fit are in the buffer.
    fn bcast_into(&mut self, buf: &UserBuf) -> usize {
        let (mut handover, note) = self.next_gift();
        let given = word_of(&note) as usize;
        if fits_note(given) {
            buf.write(0, &note[WORD_BYTES..][..given.min(buf.len())]);
            self.team.end(handover);
        }
        for (at, len) in bcast_pieces(given) {
            if at > 0 {
                (handover, _) = self.next_gift();
            }
            let room = buf.len().saturating_sub(at);
            self.site.copy(self.team.tray(handover).buf(), 0, buf, at, len.min(room));
            self.team.end(handover);
        }
        given
    }

    fn next_gift(&mut self) -> (u64, Note) {
        let handover = self.team.hand_over();
        self.wait(self.team.given(handover));
        (handover, self.team.gift(handover))
    }
}

/// What goes by trays, and in which pieces.
fn bcast_pieces(bytes: usize) -> impl Iterator<Item = (usize, usize)> {
    pieces(if fits_note(bytes) { 0 } else { bytes }, JOINT_BCAST_PIECE_BYTES)
}

fn fits_note(bytes: usize) -> bool {
    bytes <= Team::NOTE_BYTES - WORD_BYTES
}

//! Reads and writes of other ranks' memory that are under way: of long messages, and of windows.

use tern_transport::{Peer, Token};

/// Whose a read or write is that is under way.
#[derive(Clone, Copy)]
pub(super) struct OfiReader {
    /// The rank whose memory it is about.
    pub peer: Peer,
    /// Of an access to its window; none of a message.
    pub token: Option<Token>,
}

/// Reads and writes that are under way.
pub(super) struct OfiReads<'a> {
    /// Those that may be begun.
    pub slots: &'a mut Vec<usize>,
    /// Whose each is.
    pub readers: &'a mut Vec<Option<OfiReader>>,
    /// Reads of messages that have ended, and how.
    pub message_ends: &'a mut Vec<(Peer, bool)>,
    /// Accesses to windows that have.
    pub window_ends: &'a mut Vec<(Token, bool)>,
}

impl OfiReads<'_> {
    /// The slot of one may be used again.
    pub(super) fn free(&mut self, slot: usize) -> Option<OfiReader> {
        self.slots.push(slot);
        self.readers[slot].take()
    }

    /// One has ended.
    pub(super) fn end(&mut self, slot: usize, is_well: bool) {
        let Some(OfiReader { peer, token }) = self.free(slot) else { return };
        match token {
            Some(token) => self.window_ends.push((token, is_well)),
            None => self.message_ends.push((peer, is_well)),
        }
    }
}

//! How ranks learn each other's addresses.

use std::io;
use std::os::fd::RawFd;

use crate::Peer;

/// Whoever started the job and can pass a card of one rank to another. Nothing here waits.
pub trait Directory: Send {
    /// Makes this rank's card known; at most [`super::CARD_BYTES_MAX`] bytes.
    fn publish(&mut self, card: &[u8]) -> io::Result<()>;
    /// Asks for the card of a rank. The answer comes once that rank has published it.
    fn ask(&mut self, rank: Peer);
    /// An answer that has come: the rank and its card.
    fn answer(&mut self) -> Option<(Peer, Vec<u8>)>;
    /// Whether questions are still to be sent: [`Directory::answer`] does that, too.
    fn has_unsent(&self) -> bool {
        false
    }
    /// Readable when an answer has come, if there is such a descriptor.
    fn fd(&self) -> Option<RawFd>;
}

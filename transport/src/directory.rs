//! How ranks learn each other's addresses.

use std::io;
use std::os::fd::RawFd;

use crate::Peer;

/// Bytes of an endpoint address at most.
pub const ENDPOINT_ADDRESS_BYTES_MAX: usize = 512;

/// Whoever started the job and can pass an endpoint address of one rank to another. Nothing here waits.
pub trait Directory: Send {
    /// Makes this rank's endpoint address known; at most [`ENDPOINT_ADDRESS_BYTES_MAX`] bytes.
    fn publish(&mut self, endpoint_address: &[u8]) -> io::Result<()>;
    /// Asks for the endpoint address of a rank. The answer comes once that rank has published it.
    fn ask(&mut self, rank: Peer);
    /// An answer that has come: the rank and its endpoint address.
    fn answer(&mut self) -> Option<(Peer, Vec<u8>)>;
    /// Whether questions are still to be sent: [`Directory::answer`] does that, too.
    fn has_unsent(&self) -> bool {
        false
    }
    /// Readable when an answer has come, if there is such a descriptor.
    fn fd(&self) -> Option<RawFd>;
}

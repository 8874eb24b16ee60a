//! A sink for what nobody wants.

use crate::{Header, Landing, Peer, Sink, Token, TransferError};

/// Receives what nobody waits for any more.
#[derive(Clone, Copy, Debug)]
pub struct Void;

impl Sink for Void {
    fn short(&mut self, _: Peer, _: &Header, _: &[u8]) {}
    fn header(&mut self, _: Peer, _: &Header, _: usize) -> Landing {
        Landing::Nothing
    }
    fn landed(&mut self, _: Peer, _: Token) {}
    fn spoiled(&mut self, _: Peer, _: Token, _: TransferError) {}
    fn done(&mut self, _: Token, _: Result<(), TransferError>) {}
}

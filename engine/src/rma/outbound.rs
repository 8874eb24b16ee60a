//! A message of a window on its way out, in as many pieces as it takes.

use crate::slab::Id;
use crate::wire::{ExtendedHeader, HeaderKind};
use tern_mem::UserBuf;
use tern_transport::Header;

/// The message.
#[derive(Debug)]
pub(crate) struct OutboundRma {
    /// Of the first piece; the context counts up by the bytes that are out.
    pub header: Header,
    pub extended: ExtendedHeader,
    /// What follows the extended header of each piece.
    pub then: Then,
    pub body: UserBuf,
    pub sent: usize,
    pub until: usize,
    /// Bytes of a piece at most.
    pub piece: usize,
    /// The body stays as it is until the peer has it, and is not copied.
    pub zero_copy: bool,
    /// Done when all is out.
    pub request: Option<Id>,
    /// The request that the answers to all pieces complete.
    pub result: Option<Id>,
    /// The window that learns of a fault.
    pub window: Option<Id>,
}

/// What the extended header of a piece ends with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Then {
    /// Nothing.
    Nothing,
    /// The offset of the piece.
    Offset,
    /// Its offset and its bytes, in place of the body.
    OffsetAndBytes,
}

impl OutboundRma {
    /// One message with an extended header only.
    pub(crate) fn bare(kind: HeaderKind, source: u32, tag: i32, extended: ExtendedHeader) -> OutboundRma {
        let header = Header { kind: kind as u8, source, tag, ..Header::default() };
        OutboundRma {
            header,
            extended,
            then: Then::Nothing,
            body: UserBuf::empty(),
            sent: 0,
            until: 0,
            piece: 0,
            zero_copy: false,
            request: None,
            result: None,
            window: None,
        }
    }

    /// The same with a body, in pieces of so many bytes.
    pub(crate) fn with(self, body: UserBuf, piece: usize) -> OutboundRma {
        OutboundRma { until: body.len(), body, piece, ..self }
    }

    pub(super) fn extended_at(&self, len: usize) -> ExtendedHeader {
        match self.then {
            Then::Nothing => self.extended,
            Then::Offset => self.extended.with(self.sent as u64),
            Then::OffsetAndBytes => self.extended.with(self.sent as u64).with(len as u64),
        }
    }
}

//! A message that came before its receive, as long as it waits for one.

use crate::limits::CREDIT_UNIT_BYTES;
use crate::matching::Envelope;
use crate::peers::cost_units;
use crate::slab::Id;
use crate::wire::Offer;
use tern_mem::UserBuf;
use tern_transport::{AM_INLINE_BYTES_MAX, Peer};

/// A message that came before its receive.
#[derive(Debug)]
pub(crate) struct UnexpectedMessage {
    pub from: Peer,
    pub envelope: Envelope,
    /// Bytes of the message.
    pub len: u64,
    pub what: UnexpectedPayload,
    /// The sender's request that waits for the match (TA).
    pub ack: Option<Id>,
    pub signature: u64,
    /// Sent in ready mode, and no receive was waiting.
    pub not_ready: bool,
    /// A matched probe has it: nobody else may match it.
    pub taken: bool,
    /// Its sender could not read its bytes.
    pub spoiled: bool,
}

/// What is here of an unexpected message.
#[derive(Debug)]
pub(crate) enum UnexpectedPayload {
    /// All of it, short enough to lie here.
    Short([u8; AM_INLINE_BYTES_MAX]),
    /// All of it.
    Landed(UserBuf),
    /// It is landing in this block, after its signature if it is `signed`; a receive may wait for that already.
    Landing { block: UserBuf, signed: bool, waiter: Option<Id> },
    /// Only the request.
    Offered(Offer),
}

impl Default for UnexpectedMessage {
    fn default() -> Self {
        UnexpectedMessage {
            from: 0,
            envelope: Envelope { context: 0, source: 0, tag: 0 },
            len: 0,
            what: UnexpectedPayload::Short([0; AM_INLINE_BYTES_MAX]),
            ack: None,
            signature: 0,
            not_ready: false,
            taken: false,
            spoiled: false,
        }
    }
}

impl UnexpectedMessage {
    /// What it takes of the receiver's memory, as credits count it.
    pub(crate) fn memory_bytes(&self) -> u64 {
        let payload = if matches!(self.what, UnexpectedPayload::Offered(_)) { 0 } else { self.len as usize };
        u64::from(cost_units(payload)) * CREDIT_UNIT_BYTES as u64
    }

    pub(crate) fn probed(&self) -> Probed {
        Probed { envelope: self.envelope, bytes: self.len }
    }

    /// The sender's request, if that waits for the match.
    pub(crate) fn sender(&self) -> Option<Id> {
        match &self.what {
            UnexpectedPayload::Offered(offer) => Some(offer.sender),
            _ => self.ack,
        }
    }
}

/// What a probe has found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Probed {
    /// Source and tag.
    pub envelope: Envelope,
    /// Bytes of the message.
    pub bytes: u64,
}

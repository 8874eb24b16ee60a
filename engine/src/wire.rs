//! What travels: the kinds of active messages and the extended headers before their payloads.
//!
//! Everything here comes from another process and is checked when it is used: numbers of requests carry a generation
//! and must name a request of the right kind and peer; lengths are bounded by the buffer they land in.
//! Numbers are little-endian.

use crate::limits::EXTENDED_HEADER_BYTES_MAX;
use crate::slab::Id;

/// What a header's `kind` says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum HeaderKind {
    /// A whole message (protocol T, and eager).
    Eager = 1,
    /// A whole message that wants an answer when it is matched (TA); begins with the sender's request.
    EagerSync,
    /// The answer; begins with the sender's request.
    Ack,
    /// Request of a rendezvous or of the three-way protocol; begins with [`Offer`].
    Offer,
    /// The receiver's answer to a request; begins with [`Ready`].
    Ready,
    /// A fragment: the header's context is the offset, its source the receiver's request.
    Fragment,
    /// The receiver has all; begins with the sender's request.
    Got,
    /// The sender has put all; begins with the receiver's request and 0, or, if it was refused, its own request's
    /// number plus 1, with [`BAD_ADDRESS`] if that is why; or [`SPOILED`].
    Put,
    /// Nothing but credits.
    Credits,
    /// The sender would like to cancel; begins with its request.
    Withdraw,
    /// The receiver has given the message up; begins with the sender's request.
    Withdrawn,
    /// A partitioned receive has started for the first time; begins with [`Open`].
    PartitionedOpen,
    /// Its sender has found it: begins with [`Bound`].
    PartitionedBound,
    /// The receive has started again; begins with the sender's partitioned request.
    PartitionedStart,
    /// Bytes of a partitioned send: the header's context is the offset, its source the partitioned receive.
    Partition,
    /// Request of a rendezvous for a part of a partitioned send; begins with [`PartOffer`].
    PartitionOffer,
    /// The sender has put a part into the receive buffer; begins with [`PartPut`].
    PartitionPut,
    /// A partitioned send without bytes is ready; begins with the partitioned receive.
    PartitionedDone,
    /// One side has freed its partitioned request; begins with its number and 1 if it was the sender.
    PartitionedClose,
    /// These and what follows: accesses to windows, as [`crate::rma::wire`] says.
    RmaPut,
    /// See there.
    RmaGet,
    /// See there.
    RmaCombine,
    /// See there.
    RmaFetch,
    /// See there.
    RmaSwap,
    /// See there.
    RmaOpen,
    /// See there.
    RmaLayout,
    /// See there.
    RmaSync,
    /// See there.
    RmaTold,
}

impl HeaderKind {
    /// The kind of a header, if there is such a kind.
    pub fn parse(kind: u8) -> Option<Self> {
        Some(match kind {
            1 => HeaderKind::Eager,
            2 => HeaderKind::EagerSync,
            3 => HeaderKind::Ack,
            4 => HeaderKind::Offer,
            5 => HeaderKind::Ready,
            6 => HeaderKind::Fragment,
            7 => HeaderKind::Got,
            8 => HeaderKind::Put,
            9 => HeaderKind::Credits,
            10 => HeaderKind::Withdraw,
            11 => HeaderKind::Withdrawn,
            12 => HeaderKind::PartitionedOpen,
            13 => HeaderKind::PartitionedBound,
            14 => HeaderKind::PartitionedStart,
            15 => HeaderKind::Partition,
            16 => HeaderKind::PartitionOffer,
            17 => HeaderKind::PartitionPut,
            18 => HeaderKind::PartitionedDone,
            19 => HeaderKind::PartitionedClose,
            20 => HeaderKind::RmaPut,
            21 => HeaderKind::RmaGet,
            22 => HeaderKind::RmaCombine,
            23 => HeaderKind::RmaFetch,
            24 => HeaderKind::RmaSwap,
            25 => HeaderKind::RmaOpen,
            26 => HeaderKind::RmaLayout,
            27 => HeaderKind::RmaSync,
            28 => HeaderKind::RmaTold,
            _ => return None,
        })
    }

    /// Whether it is about windows.
    pub fn is_access(self) -> bool {
        self as u8 >= HeaderKind::RmaPut as u8
    }
}

/// Header flag: sent in ready mode; a receive should have been waiting.
pub const FLAG_READY_MODE: u8 = 1;
/// Header flag: the payload begins with the sender's type signature (`TERN_CHECK=types`).
pub const FLAG_SIGNED: u8 = 2;

/// The bytes of the protocol before a payload.
#[derive(Clone, Copy, Debug)]
pub struct ExtendedHeader {
    bytes: [u8; EXTENDED_HEADER_BYTES_MAX],
    len: usize,
}

impl ExtendedHeader {
    /// No bytes.
    pub const EMPTY: ExtendedHeader = ExtendedHeader { bytes: [0; EXTENDED_HEADER_BYTES_MAX], len: 0 };

    /// Appends a number.
    pub fn with(mut self, number: u64) -> Self {
        self.bytes[self.len..self.len + 8].copy_from_slice(&number.to_le_bytes());
        self.len += 8;
        self
    }

    /// Appends a request's number.
    pub fn with_id(self, id: Id) -> Self {
        self.with(u64::from(id.raw()))
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

/// Reads an extended header from the front of a payload.
pub struct ExtendedHeaderReader<'a>(pub &'a [u8]);

impl ExtendedHeaderReader<'_> {
    /// The next number, if the payload has it.
    pub fn number(&mut self) -> Option<u64> {
        let (head, rest) = self.0.split_first_chunk::<8>()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*head))
    }

    /// The next request's number; none has more bits than an [`Id`].
    pub fn id(&mut self) -> Option<Id> {
        u32::try_from(self.number()?).ok().filter(|&raw| Id::from_raw(raw).raw() == raw).map(Id::from_raw)
    }
}

/// The sender's offer of a large message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Offer {
    /// The sender's request.
    pub sender: Id,
    /// Bytes of the message.
    pub len: u64,
    /// Address of the message, if it is contiguous; otherwise 0.
    pub addr: u64,
    /// Type signature, or 0.
    pub signature: u64,
}

impl Offer {
    /// As bytes.
    pub fn extended(&self) -> ExtendedHeader {
        ExtendedHeader::EMPTY.with_id(self.sender).with(self.len).with(self.addr).with(self.signature)
    }

    /// From bytes.
    pub fn parse(payload: &[u8]) -> Option<Self> {
        let mut reader = ExtendedHeaderReader(payload);
        Some(Offer {
            sender: reader.id()?,
            len: reader.number()?,
            addr: reader.number()?,
            signature: reader.number()?,
        })
    }
}

/// The first start of a partitioned receive. The header has communicator, receiver and tag.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Open {
    /// Which of the inits for this communicator, source and tag.
    pub number: u32,
    /// The partitioned receive.
    pub receiver: Id,
    /// Bytes of its buffer.
    pub room: u64,
    /// Address of its buffer, if it is contiguous; otherwise 0.
    pub addr: u64,
}

impl Open {
    /// As bytes.
    pub fn extended(&self) -> ExtendedHeader {
        let who = u64::from(self.number) | u64::from(self.receiver.raw()) << 32;
        ExtendedHeader::EMPTY.with(who).with(self.room).with(self.addr)
    }

    /// From bytes.
    pub fn parse(payload: &[u8]) -> Option<Self> {
        let mut reader = ExtendedHeaderReader(payload);
        let who = reader.number()?;
        let receiver = Id::from_raw((who >> 32) as u32);
        Some(Open { number: who as u32, receiver, room: reader.number()?, addr: reader.number()? })
    }
}

/// The answer of a partitioned send to [`Open`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bound {
    /// The partitioned send.
    pub sender: Id,
    /// The partitioned receive.
    pub receiver: Id,
    /// Bytes of all partitions.
    pub total: u64,
    /// Type signature of all, or 0.
    pub signature: u64,
}

impl Bound {
    /// As bytes.
    pub fn extended(&self) -> ExtendedHeader {
        ExtendedHeader::EMPTY
            .with_id(self.sender)
            .with_id(self.receiver)
            .with(self.total)
            .with(self.signature)
    }

    /// From bytes.
    pub fn parse(payload: &[u8]) -> Option<Self> {
        let mut reader = ExtendedHeaderReader(payload);
        Some(Bound {
            sender: reader.id()?,
            receiver: reader.id()?,
            total: reader.number()?,
            signature: reader.number()?,
        })
    }
}

/// The offer of a part of a partitioned send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PartOffer {
    /// The partitioned receive.
    pub receiver: Id,
    /// First byte of the part.
    pub offset: u64,
    /// As that of a message of its own; it has no signature.
    pub offer: Offer,
}

impl PartOffer {
    /// As bytes.
    pub fn extended(&self) -> ExtendedHeader {
        let extended = ExtendedHeader::EMPTY.with_id(self.receiver).with(self.offset);
        extended.with_id(self.offer.sender).with(self.offer.len).with(self.offer.addr)
    }

    /// From bytes.
    pub fn parse(payload: &[u8]) -> Option<Self> {
        let mut reader = ExtendedHeaderReader(payload);
        let (receiver, offset) = (reader.id()?, reader.number()?);
        let (sender, len, addr) = (reader.id()?, reader.number()?, reader.number()?);
        Some(PartOffer { receiver, offset, offer: Offer { sender, len, addr, signature: 0 } })
    }
}

/// A part of a partitioned send that its sender has put in its place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PartPut {
    /// The partitioned receive.
    pub receiver: Id,
    /// First byte of the part.
    pub offset: u64,
    /// Its length.
    pub len: u64,
}

impl PartPut {
    /// As bytes.
    pub fn extended(&self) -> ExtendedHeader {
        ExtendedHeader::EMPTY.with_id(self.receiver).with(self.offset).with(self.len)
    }

    /// From bytes.
    pub fn parse(payload: &[u8]) -> Option<Self> {
        let mut reader = ExtendedHeaderReader(payload);
        Some(PartPut { receiver: reader.id()?, offset: reader.number()?, len: reader.number()? })
    }
}

/// How the receiver wants a large message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Want {
    /// As fragments.
    Stream,
    /// As fragments, if the sender can read its buffer: the receiver could not.
    Checked,
    /// Put to this address.
    Put(u64),
    /// Copied by both; the receiver's buffer is at `addr`, the cooperative copy is `key`.
    Cooperative {
        /// Address of the receiver's buffer.
        addr: u64,
        /// The cooperative copy.
        key: u64,
    },
}

/// The receiver's answer to a [`Offer`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ready {
    /// The sender's request.
    pub sender: Id,
    /// The receiver's request.
    pub receiver: Id,
    /// Bytes wanted: not more than the message has, nor than the buffer takes.
    pub len: u64,
    /// How.
    pub want: Want,
}

const WANT_STREAM: u64 = 0;
const WANT_PUT: u64 = 1;
const WANT_COOPERATIVE: u64 = 2;
const WANT_CHECKED: u64 = 3;

/// In [`HeaderKind::Put`], in place of the sender's request: it cannot read its buffer, and nothing will come.
pub const SPOILED: u64 = u64::MAX;
/// In [`HeaderKind::Put`], with the sender's request: an address could not be used, and the sender's can.
pub const BAD_ADDRESS: u64 = 1 << 62;

impl Ready {
    /// As bytes: the two requests share a word, so that all fits in a cache line.
    pub fn extended(&self) -> ExtendedHeader {
        let ids = u64::from(self.sender.raw()) | u64::from(self.receiver.raw()) << 32;
        let (how, addr, key) = match self.want {
            Want::Stream => (WANT_STREAM, 0, 0),
            Want::Checked => (WANT_CHECKED, 0, 0),
            Want::Put(addr) => (WANT_PUT, addr, 0),
            Want::Cooperative { addr, key } => (WANT_COOPERATIVE, addr, key),
        };
        ExtendedHeader::EMPTY.with(ids).with(self.len).with(how).with(addr).with(key)
    }

    /// From bytes.
    pub fn parse(payload: &[u8]) -> Option<Self> {
        let mut reader = ExtendedHeaderReader(payload);
        let ids = reader.number()?;
        let (len, how, addr, key) = (reader.number()?, reader.number()?, reader.number()?, reader.number()?);
        let want = match how {
            WANT_STREAM => Want::Stream,
            WANT_CHECKED => Want::Checked,
            WANT_PUT => Want::Put(addr),
            WANT_COOPERATIVE => Want::Cooperative { addr, key },
            _ => return None,
        };
        let (sender, receiver) = (Id::from_raw(ids as u32), Id::from_raw((ids >> 32) as u32));
        Some(Ready { sender, receiver, len, want })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let request = Offer { sender: Id::from_raw(7), len: 1 << 40, addr: 0xdead_beef, signature: 9 };
        assert_eq!(Offer::parse(request.extended().bytes()), Some(request));
        for want in [Want::Stream, Want::Checked, Want::Put(1), Want::Cooperative { addr: 2, key: u64::MAX }]
        {
            let ready = Ready { sender: Id::from_raw(1), receiver: Id::from_raw(2), len: 3, want };
            assert_eq!(Ready::parse(ready.extended().bytes()), Some(ready));
        }
    }

    #[test]
    fn what_partitions_say_is_read() {
        let (sender, receiver) = (Id::from_raw(5), Id::from_raw(6));
        let open = Open { number: u32::MAX, receiver, room: 1 << 50, addr: 1 << 46 };
        assert_eq!(Open::parse(open.extended().bytes()), Some(open));
        let bound = Bound { sender, receiver, total: 9, signature: 3 };
        assert_eq!(Bound::parse(bound.extended().bytes()), Some(bound));
        let offer = Offer { sender, len: 4, addr: 2, signature: 0 };
        let part = PartOffer { receiver, offset: 7, offer };
        assert_eq!(PartOffer::parse(part.extended().bytes()), Some(part));
        let put = PartPut { receiver, offset: 7, len: 4 };
        assert_eq!(PartPut::parse(put.extended().bytes()), Some(put));
        assert_eq!(Open::parse(&open.extended().bytes()[..23]), None);
    }

    /// Whatever the bytes, a decoder answers; and what it takes for a message is one that could have been written.
    #[test]
    fn any_bytes_are_a_message_or_nothing() {
        let mut state = 1u64;
        let mut random = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            state >> 33
        };
        for _ in 0..100_000 {
            let mut payload = [0; EXTENDED_HEADER_BYTES_MAX];
            for byte in &mut payload {
                // Mostly small numbers: they pass more checks.
                *byte = if random() % 8 == 0 { random() as u8 } else { 0 };
            }
            let payload = &payload[..random() as usize % (EXTENDED_HEADER_BYTES_MAX + 1)];
            if let Some(offer) = Offer::parse(payload) {
                assert_eq!(offer.extended().bytes(), &payload[..32]);
            }
            if let Some(ready) = Ready::parse(payload) {
                assert_eq!(Ready::parse(ready.extended().bytes()), Some(ready));
            }
        }
    }

    #[test]
    fn short_or_strange_bytes_are_nothing() {
        let extended = Offer { sender: Id::from_raw(7), len: 1, addr: 2, signature: 3 }.extended();
        for end in 0..extended.bytes().len() {
            assert_eq!(Offer::parse(&extended.bytes()[..end]), None);
        }
        let strange = ExtendedHeader::EMPTY.with(0).with(0).with(99).with(0).with(0);
        assert_eq!(Ready::parse(strange.bytes()), None);
        assert_eq!(HeaderKind::parse(0), None);
        assert_eq!(HeaderKind::parse(200), None);
    }
}

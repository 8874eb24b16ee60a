//! Long messages, which their receivers read from the sender's memory (rendezvous by FI_RMA).
//!
//! The sender lets its peers read the message and says where it is. The receiver asks the engine for the place, reads into it, and says
//! that it has it. Until then it holds back whatever comes from that peer, since messages have an order.
//!
//! The first bytes follow the offer in packets, so that the network is busy while the receiver asks for the rest. Of a short message they
//! are all, and ride in the offer as far as it has room.

use std::collections::VecDeque;

use tern_libfabric::{Region, RemoteMemory};
use tern_mem::UserBuf;

use tern_transport::{Header, Token};

/// Bytes that name exposed memory, before the protocol's own bytes and those of the message that ride along.
pub(super) const OFFER_BYTES: usize = 32;

/// What is offered: so many bytes, the first of which come in the offer and in packets behind it. The others lie in exposed memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Offered {
    pub place: RemoteMemory,
    pub len: u64,
    pub first: u32,
    /// The protocol's own bytes in the offer.
    pub extended: u32,
}

/// An offer, as it comes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct OfferPayload<'a> {
    pub offered: Offered,
    pub extended: &'a [u8],
    /// Bytes of the message.
    pub riding: &'a [u8],
}

impl Offered {
    pub(super) fn bytes(&self) -> [u8; OFFER_BYTES] {
        let mut bytes = [0; OFFER_BYTES];
        bytes[..8].copy_from_slice(&self.place.start.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.place.key.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.len.to_le_bytes());
        bytes[24..28].copy_from_slice(&self.first.to_le_bytes());
        bytes[28..].copy_from_slice(&self.extended.to_le_bytes());
        bytes
    }

    /// Whether some of it lies in exposed memory, which is to be given back.
    pub(super) fn is_exposed(&self) -> bool {
        u64::from(self.first) < self.len
    }
}

impl OfferPayload<'_> {
    /// `None` if it is too short, or contradicts itself.
    pub(super) fn parse(payload: &[u8]) -> Option<OfferPayload<'_>> {
        let (bytes, rest) = payload.split_first_chunk::<OFFER_BYTES>()?;
        let number = |at: usize| u64::from_le_bytes(std::array::from_fn(|nth| bytes[at + nth]));
        let short = |at: usize| u32::from_le_bytes(std::array::from_fn(|nth| bytes[at + nth]));
        let place = RemoteMemory { start: number(0), key: number(8) };
        let offered = Offered { place, len: number(16), first: short(24), extended: short(28) };
        let (extended, riding) = rest.split_at_checked(offered.extended as usize)?;
        (u64::from(offered.first) <= offered.len).then_some(OfferPayload { offered, extended, riding })
    }
}

/// What this rank has exposed to one peer, and not got back.
#[derive(Default)]
pub(super) struct ExposedRegions(VecDeque<ExposedRegion>);

struct ExposedRegion {
    /// The memory; none, if it was copied.
    region: Option<Region>,
    done: Option<Token>,
    /// How it ended; what was copied has ended.
    end: Option<bool>,
}

impl ExposedRegions {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Exposes memory.
    pub(super) fn expose(&mut self, region: Region, done: Option<Token>) {
        self.0.push_back(ExposedRegion { region: Some(region), done, end: None });
    }

    /// Notes a message that was copied: its end is told after those of what was exposed before.
    pub(super) fn copied(&mut self, done: Option<Token>) {
        if done.is_some() {
            self.0.push_back(ExposedRegion { region: None, done, end: Some(true) });
        }
    }

    /// The peer has the oldest that it had not, or cannot have it.
    pub(super) fn end(&mut self, is_well: bool) {
        if let Some(exposure) = self.0.iter_mut().find(|exposure| exposure.end.is_none()) {
            (exposure.region, exposure.end) = (None, Some(is_well));
        }
    }

    /// The token of the oldest that has ended, and how it has.
    pub(super) fn next_end(&mut self) -> Option<(Option<Token>, bool)> {
        let is_well = self.0.front()?.end?;
        self.0.pop_front().map(|exposure| (exposure.done, is_well))
    }
}

/// A message that comes in parts, and by a read of a peer's memory.
pub(super) struct RemoteRead {
    pub offered: Offered,
    /// Where the engine wants it, and the token of that; none, if it does not want it.
    token: Option<Token>,
    buf: UserBuf,
    offset: usize,
    len: usize,
    /// Bytes that have come in packets.
    come: usize,
    /// How the read has ended; well, if there is nothing to read.
    read: Option<bool>,
    /// Memory that is read into where the place has gaps.
    detour: Option<Box<[u8]>>,
}

impl RemoteRead {
    /// Into `len` bytes of a place.
    pub(super) fn new(
        offered: Offered,
        token: Option<Token>,
        (buf, offset, len): (UserBuf, usize, usize),
    ) -> RemoteRead {
        let read = (len <= offered.first as usize).then_some(true);
        let mut new = RemoteRead { offered, token, buf, offset, len, come: 0, read, detour: None };
        let (from, len) = new.to_read();
        if new.buf.contiguous_at(from, len).is_none() {
            new.detour = Some(vec![0; len].into_boxed_slice());
        }
        new
    }

    /// What of the place is read into: from where on, and how many bytes.
    fn to_read(&self) -> (usize, usize) {
        let first = (self.offered.first as usize).min(self.len);
        (self.offset + first, self.len - first)
    }

    /// Where the bytes go that are read, and how many.
    pub(super) fn target(&mut self) -> (*mut u8, usize) {
        let (from, len) = self.to_read();
        let start = match &mut self.detour {
            Some(bytes) => bytes.as_mut_ptr(),
            None => self.buf.contiguous_at(from, len).unwrap_or(std::ptr::null_mut()),
        };
        (start, len)
    }

    /// Whether there is anything to read that has not been.
    pub(super) fn has_to_read(&self) -> bool {
        self.read.is_none()
    }

    /// The read has ended.
    pub(super) fn end_read(&mut self, is_well: bool) {
        self.read = Some(is_well);
    }

    /// Whether packets of it are still to come.
    pub(super) fn lacks_parts(&self) -> bool {
        self.come < self.offered.first as usize
    }

    /// The next packet of it. What is longer than was offered is left out.
    pub(super) fn take_part(&mut self, part: &[u8]) {
        let wanted = self.to_read().0 - self.offset;
        let at = self.come.min(wanted);
        self.buf.write(self.offset + at, &part[..part.len().min(wanted - at)]);
        self.come += part.len();
    }

    /// Whether all has come, or cannot come.
    pub(super) fn is_over(&self) -> bool {
        self.read.is_some() && !self.lacks_parts()
    }

    /// All has come, or cannot come: puts what was read where it belongs. The engine's token, and whether all is well.
    pub(super) fn land(mut self) -> (Option<Token>, bool) {
        let is_well = self.read == Some(true);
        if let Some(bytes) = self.detour.take().filter(|_| is_well) {
            self.buf.write(self.to_read().0, &bytes);
        }
        (self.token, is_well)
    }
}

/// What has come from a peer behind a message that is still being read.
pub(super) enum HeldPacket {
    Packet(Header, Box<[u8]>),
    Offer(Header, Box<[u8]>),
    Part(Box<[u8]>),
}

impl HeldPacket {
    pub(super) fn is_part(&self) -> bool {
        matches!(self, HeldPacket::Part(_))
    }
}

/// What one peer has sent and what is not with the engine yet.
#[derive(Default)]
pub(super) struct OfiInbound {
    pub reading: Option<RemoteRead>,
    pub held: VecDeque<HeldPacket>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_offer_survives() {
        let place = RemoteMemory { start: 1 << 40, key: u64::MAX };
        let offered = Offered { place, len: 77, first: 70, extended: 4 };
        let bytes = [&offered.bytes()[..], b"headfirst"].concat();
        assert_eq!(
            OfferPayload::parse(&bytes),
            Some(OfferPayload { offered, extended: b"head", riding: b"first" })
        );
        assert_eq!(OfferPayload::parse(&bytes[..OFFER_BYTES - 1]), None);
        assert_eq!(OfferPayload::parse(&bytes[..OFFER_BYTES + 3]), None, "less than it says");
        let contradicting = Offered { first: 78, extended: 0, ..offered };
        assert_eq!(OfferPayload::parse(&contradicting.bytes()), None, "more than all of it");
    }

    #[test]
    fn what_was_copied_ends_behind_what_was_exposed_before() {
        let mut exposed = ExposedRegions::default();
        exposed.copied(None);
        assert!(exposed.is_empty());
        exposed.0.push_back(ExposedRegion { region: None, done: None, end: None });
        exposed.copied(Some(Token(2)));
        assert_eq!(exposed.next_end(), None);
        exposed.end(false);
        assert_eq!(exposed.next_end(), Some((None, false)));
        assert_eq!(exposed.next_end(), Some((Some(Token(2)), true)));
        assert_eq!(exposed.next_end(), None);
    }
}

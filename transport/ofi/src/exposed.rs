//! Long messages, which their receivers read from the sender's memory (rendezvous by FI_RMA).
//!
//! The sender lets its peers read the message and says where it is. The receiver asks the engine for the place, reads into it, and says
//! that it has it. Until then it holds back whatever comes from that peer, since messages have an order.

use std::collections::VecDeque;

use tern_libfabric::{Region, RemoteMemory};
use tern_mem::UserBuf;

use tern_transport::{Header, Token};

/// Bytes that name exposed memory, before the protocol's own bytes.
pub(super) const OFFER_BYTES: usize = 24;

/// Where exposed memory lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Offered {
    pub place: RemoteMemory,
    pub len: u64,
}

impl Offered {
    pub(super) fn bytes(&self) -> [u8; OFFER_BYTES] {
        let mut bytes = [0; OFFER_BYTES];
        bytes[..8].copy_from_slice(&self.place.start.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.place.key.to_le_bytes());
        bytes[16..].copy_from_slice(&self.len.to_le_bytes());
        bytes
    }

    /// With the protocol's own bytes; `None` if it is too short.
    pub(super) fn parse(payload: &[u8]) -> Option<(Offered, &[u8])> {
        let (bytes, extended) = payload.split_first_chunk::<OFFER_BYTES>()?;
        let number = |at: usize| u64::from_le_bytes(std::array::from_fn(|nth| bytes[at + nth]));
        Some((
            Offered { place: RemoteMemory { start: number(0), key: number(8) }, len: number(16) },
            extended,
        ))
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

/// A message that is read from a peer's memory.
pub(super) struct RemoteRead {
    pub offered: Offered,
    /// Of the engine's place.
    pub token: Token,
    pub buf: UserBuf,
    pub offset: usize,
    pub len: usize,
    /// Memory that is read into where the place has gaps.
    pub detour: Option<Box<[u8]>>,
}

impl RemoteRead {
    /// Into `len` bytes of a place.
    pub(super) fn new(
        offered: Offered,
        token: Token,
        (buf, offset, len): (UserBuf, usize, usize),
    ) -> RemoteRead {
        let detour = buf.contiguous_at(offset, len).is_none().then(|| vec![0; len].into_boxed_slice());
        RemoteRead { offered, token, buf, offset, len, detour }
    }

    /// Where the bytes go.
    pub(super) fn target(&mut self) -> *mut u8 {
        match &mut self.detour {
            Some(bytes) => bytes.as_mut_ptr(),
            None => self.buf.contiguous_at(self.offset, self.len).unwrap_or(std::ptr::null_mut()),
        }
    }

    /// The bytes have come: puts them where they belong.
    pub(super) fn land(&mut self) {
        if let Some(bytes) = self.detour.take() {
            self.buf.write(self.offset, &bytes);
        }
    }
}

/// What has come from a peer behind a message that is still being read.
pub(super) enum HeldPacket {
    Packet(Header, Box<[u8]>),
    Offer(Header, Box<[u8]>),
}

/// What one peer has sent and what is not with the engine yet.
#[derive(Default)]
pub(super) struct OfiInbound {
    pub reading: Option<RemoteRead>,
    pub held: VecDeque<HeldPacket>,
}

impl OfiInbound {
    pub(super) fn is_empty(&self) -> bool {
        self.reading.is_none() && self.held.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_offer_survives() {
        let offered = Offered { place: RemoteMemory { start: 1 << 40, key: u64::MAX }, len: 77 };
        let bytes = [&offered.bytes()[..], b"head"].concat();
        assert_eq!(Offered::parse(&bytes), Some((offered, &b"head"[..])));
        assert_eq!(Offered::parse(&bytes[..OFFER_BYTES - 1]), None);
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

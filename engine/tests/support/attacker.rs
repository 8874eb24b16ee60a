//! A transport whose peers send whatever comes to their minds.
//!
//! It keeps the transport's side of the bargain (short payloads are short, what was said to land is reported once)
//! and nothing else: several payloads land at once, in any order, and transfers end when they like.

use super::rng::Rng;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use tern_engine::slab::Id;
use tern_engine::wire::{ExtendedHeader, HeaderKind, Offer, Ready, Want};
use tern_engine::{ANY_SOURCE, ANY_TAG};
use tern_mem::UserBuf;
use tern_transport::*;

/// Ranks of the attacker's job; the victim is rank 0.
pub(crate) const RANKS: u32 = 4;

/// First byte of a send's buffer once it is the user's again.
pub(crate) const GONE: u8 = 0xee;

#[derive(Clone)]
pub(crate) struct Attacker(Rc<RefCell<State>>);

struct State {
    rng: Rng,
    /// Active messages that were injected.
    injected: usize,
    landings: Vec<(Peer, UserBuf, usize, usize, Token)>,
    transfers: Vec<Pending>,
    /// What the victim's messages gave away: its receives and sends that wait for this peer, and their bytes.
    receives: Vec<(Peer, Id, u64)>,
    sends: Vec<(Peer, Id, u64)>,
}

/// A transfer under way: bytes that will be written or read.
struct Pending {
    buf: UserBuf,
    len: usize,
    writes: bool,
    token: Token,
}

impl Attacker {
    pub(crate) fn new(seed: u64) -> Self {
        let (landings, transfers, receives, sends) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let rng = Rng::new(seed);
        Attacker(Rc::new(RefCell::new(State { rng, injected: 0, landings, transfers, receives, sends })))
    }

    pub(crate) fn injected(&self) -> usize {
        self.0.borrow().injected
    }
}

impl State {
    fn header(&mut self) -> Header {
        let rng = &mut self.rng;
        let small = if rng.chance(2) { ANY_SOURCE } else { rng.below(40) as u32 };
        Header {
            kind: if rng.chance(2) { rng.next() as u8 } else { rng.below(19) as u8 },
            flags: if rng.chance(10) { rng.next() as u8 } else { 0 },
            credits: if rng.chance(10) { rng.next() as u16 } else { 0 },
            context: if rng.chance(80) { rng.below(3) as u64 } else { rng.next() >> rng.below(64) },
            source: if rng.chance(90) { small | (rng.below(4) as u32) << 24 } else { rng.next() as u32 },
            tag: if rng.chance(2) { ANY_TAG } else { rng.below(4) as i32 - 1 },
        }
    }

    /// Numbers that could mean something, mostly.
    fn number(&mut self) -> u64 {
        let rng = &mut self.rng;
        match rng.below(10) {
            0 => rng.next(),
            1 => u64::MAX - rng.below(3) as u64,
            2..4 => rng.below(5000) as u64,
            4..6 => rng.below(40) as u64 | (rng.below(40) as u64) << 32,
            _ => rng.below(40) as u64 | (rng.below(4) as u64) << 24,
        }
    }

    fn short(&mut self, sink: &mut impl Sink, from: Peer) {
        let mut payload = Vec::new();
        while payload.len() < AM_INLINE_BYTES_MAX {
            payload.extend_from_slice(&self.number().to_le_bytes());
        }
        let len = if self.rng.chance(70) { AM_INLINE_BYTES_MAX } else { self.rng.below(AM_INLINE_BYTES_MAX) };
        let header = self.header();
        sink.short(from, &header, &payload[..len]);
    }

    /// Answers what the victim waits for, more than once and with more than it wants.
    fn answer(&mut self, sink: &mut impl Sink) {
        let known = self.sends.len() + self.receives.len();
        if known == 0 {
            return;
        }
        let at = self.rng.below(known);
        if at < self.sends.len() {
            let (peer, sender, len) = self.sends[at];
            let (receiver, addr, key) = (Id::from_raw(self.number() as u32), self.number(), self.number());
            let want = self.rng.pick(&[Want::Stream, Want::Put(addr), Want::Cooperative { addr, key }]);
            let extended = Ready { sender, receiver, len, want }.extended();
            return sink.short(
                peer,
                &Header { kind: HeaderKind::Ready as u8, ..Header::default() },
                extended.bytes(),
            );
        }
        let (peer, receiver, len) = self.receives[at - self.sends.len()];
        if self.rng.chance(10) {
            let refused = self.rng.below(2) as u64;
            let extended = ExtendedHeader::EMPTY.with_id(receiver).with(refused);
            return sink.short(
                peer,
                &Header { kind: HeaderKind::Put as u8, ..Header::default() },
                extended.bytes(),
            );
        }
        let context = self.rng.below(len as usize) as u64;
        let header =
            Header { kind: HeaderKind::Fragment as u8, context, source: receiver.raw(), ..Header::default() };
        let len = 1 + self.rng.below((len - context) as usize);
        self.place(sink, peer, &header, len.max(AM_INLINE_BYTES_MAX + 1));
    }

    fn listen(&mut self, peer: Peer, am: &Am<'_>) {
        if let Some(offer) = Offer::parse(am.extended).filter(|_| am.header.kind == HeaderKind::Offer as u8) {
            self.sends.push((peer, offer.sender, offer.len));
        }
        if let Some(ready) = Ready::parse(am.extended).filter(|_| am.header.kind == HeaderKind::Ready as u8) {
            self.receives.push((peer, ready.receiver, ready.len));
        }
        for known in [&mut self.sends, &mut self.receives] {
            if known.len() > 10 {
                known.remove(0);
            }
        }
    }

    fn long(&mut self, sink: &mut impl Sink, from: Peer) {
        let len = match self.rng.below(20) {
            0 => usize::MAX >> self.rng.below(24),
            1 => self.rng.below(100_000),
            _ => self.rng.below(3000),
        };
        let header = self.header();
        self.place(sink, from, &header, len);
    }

    fn place(&mut self, sink: &mut impl Sink, from: Peer, header: &Header, len: usize) {
        if let Landing::Place { buf, offset, len: wanted, token, .. } = sink.header(from, header, len) {
            assert!(wanted <= len && offset.checked_add(wanted).is_some_and(|end| end <= buf.len()));
            self.landings.push((from, buf, offset, wanted, token));
        }
    }

    fn land(&mut self, sink: &mut impl Sink) {
        while !self.landings.is_empty() && self.rng.chance(60) {
            let at = self.rng.below(self.landings.len());
            let (from, buf, offset, len, token) = self.landings.swap_remove(at);
            buf.write(offset, &vec![0xbb; len]);
            sink.landed(from, token);
        }
    }

    fn finish(&mut self, sink: &mut impl Sink) {
        while !self.transfers.is_empty() && self.rng.chance(60) {
            let at = self.rng.below(self.transfers.len());
            let Pending { buf, len, writes, token } = self.transfers.swap_remove(at);
            if writes {
                buf.write(0, &vec![0xcc; len]);
            } else {
                let mut first = [0];
                buf.read(0, &mut first[..len.min(1)]);
                assert_ne!(first[0], GONE, "a send's buffer is read after it was complete");
            }
            let refused = self.rng.chance(30);
            sink.done(token, if refused { Err(TransferError::Os(14)) } else { Ok(()) });
        }
    }

    fn transfer(&mut self, buf: &UserBuf, len: u64, writes: bool, token: Token) -> Transfer {
        let len = len as usize;
        assert!(len <= buf.len());
        match self.rng.below(3) {
            0 => Transfer::Done,
            1 => Transfer::Failed(TransferError::Os(1)),
            _ => {
                self.transfers.push(Pending { buf: buf.clone(), len, writes, token });
                Transfer::Pending
            }
        }
    }
}

impl Transport for Attacker {
    fn limits(&mut self, _: Peer) -> Limits {
        let rng = &mut self.0.borrow_mut().rng;
        Limits {
            eager_bytes_max: 200,
            get: rng.chance(70),
            put: rng.chance(70),
            cooperative_copy: rng.chance(50),
            prefers_send: rng.chance(50),
        }
    }

    fn send(&mut self, peer: Peer, am: &Am<'_>) -> Result<(), Full> {
        let mut payload = vec![0; am.len];
        am.body.read(am.offset, &mut payload);
        let state = &mut *self.0.borrow_mut();
        if state.rng.chance(20) {
            return Err(Full);
        }
        state.listen(peer, am);
        Ok(())
    }

    fn get(&mut self, _: Peer, from: Remote, into: &UserBuf, done: Token) -> Transfer {
        self.0.borrow_mut().transfer(into, from.len, true, done)
    }

    fn put(&mut self, _: Peer, from: &UserBuf, into: Remote, done: Token) -> Transfer {
        self.0.borrow_mut().transfer(from, into.len, false, done)
    }

    fn open_cooperative_copy(
        &mut self,
        _: Peer,
        from: Remote,
        into: &UserBuf,
        token: Token,
    ) -> Option<CooperativeCopyKey> {
        let state = &mut *self.0.borrow_mut();
        if state.rng.chance(30) {
            return None;
        }
        let len = from.len as usize;
        assert!(len <= into.len());
        state.transfers.push(Pending { buf: into.clone(), len, writes: true, token });
        Some(CooperativeCopyKey(token.0))
    }

    fn pull_cooperative_copy(&mut self, key: CooperativeCopyKey) -> Transfer {
        let state = &mut *self.0.borrow_mut();
        if state.rng.chance(50) {
            return Transfer::Pending;
        }
        state.transfers.retain(|pending| !(pending.writes && pending.token.0 == key.0));
        if state.rng.chance(50) { Transfer::Done } else { Transfer::Failed(TransferError::BadKey) }
    }

    fn join_cooperative_copy(
        &mut self,
        _: Peer,
        _: CooperativeCopyKey,
        from: &UserBuf,
        into: Remote,
        done: Token,
    ) -> Transfer {
        self.0.borrow_mut().transfer(from, into.len, false, done)
    }

    fn poll(&mut self, sink: &mut impl Sink) -> bool {
        let state = &mut *self.0.borrow_mut();
        for _ in 0..4 {
            let from = state.rng.below(RANKS as usize) as Peer;
            state.injected += 1;
            match state.rng.below(10) {
                0..5 => state.short(sink, from),
                5..7 => state.long(sink, from),
                _ => state.answer(sink),
            }
        }
        state.land(sink);
        state.finish(sink);
        true
    }

    fn doorbell(&self) -> Arc<dyn Doorbell> {
        unreachable!("nobody sleeps under attack")
    }
}

//! Notes what arrives at a rank, over any transport.

use std::sync::Arc;
use tern_engine::RequestId;
use tern_engine::wire::{ExtendedHeaderReader, FLAG_SIGNED, HeaderKind, Offer};
use tern_mem::UserBuf;
use tern_transport::*;

/// A message that a receive can match, at the moment when its header arrived.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    pub from: Peer,
    pub header: Header,
    pub offered: bool,
    /// Bytes of the message.
    pub len: u64,
}

/// Something that the oracle has to hear of.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Event {
    Message(Arrival),
    /// The sender would like to cancel what its request sent.
    Withdraw {
        from: Peer,
        request: RequestId,
    },
}

/// A transport whose arrivals are noted.
pub(crate) struct Tap<T> {
    inner: T,
    events: Vec<Event>,
}

impl<T> Tap<T> {
    pub(crate) fn new(inner: T) -> Self {
        Tap { inner, events: Vec::new() }
    }

    /// What has arrived since the last time, in order.
    pub(crate) fn events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events)
    }
}

/// A sink that notes what it passes on.
struct Noting<'a, S> {
    sink: &'a mut S,
    events: &'a mut Vec<Event>,
}

impl<S> Noting<'_, S> {
    fn note(&mut self, from: Peer, header: &Header, len: usize, payload: &[u8]) {
        let signed = if header.flags & FLAG_SIGNED != 0 { 8 } else { 0 };
        let (offered, len) = match HeaderKind::parse(header.kind) {
            Some(HeaderKind::Eager) => (false, len as u64 - signed),
            Some(HeaderKind::EagerSync) => (false, len as u64 - 8),
            Some(HeaderKind::Offer) => (true, Offer::parse(payload).expect("an offer").len),
            Some(HeaderKind::Withdraw) => {
                let request = ExtendedHeaderReader(payload).id().expect("a request");
                return self.events.push(Event::Withdraw { from, request });
            }
            _ => return,
        };
        self.events.push(Event::Message(Arrival { from, header: *header, offered, len }));
    }
}

impl<S: Sink> Sink for Noting<'_, S> {
    fn short(&mut self, from: Peer, header: &Header, payload: &[u8]) {
        assert!(payload.len() <= AM_INLINE_BYTES_MAX);
        self.note(from, header, payload.len(), payload);
        self.sink.short(from, header, payload);
    }
    fn header(&mut self, from: Peer, header: &Header, len: usize) -> Landing {
        self.note(from, header, len, &[]);
        self.sink.header(from, header, len)
    }
    fn landed(&mut self, from: Peer, token: Token) {
        self.sink.landed(from, token);
    }
    fn spoiled(&mut self, from: Peer, token: Token, error: TransferError) {
        self.sink.spoiled(from, token, error);
    }
    fn done(&mut self, token: Token, result: Result<(), TransferError>) {
        self.sink.done(token, result);
    }
}

impl<T: Transport> Transport for Tap<T> {
    fn limits(&mut self, peer: Peer) -> Limits {
        self.inner.limits(peer)
    }
    fn send(&mut self, peer: Peer, am: &Am<'_>) -> Result<(), Full> {
        self.inner.send(peer, am)
    }
    fn zero_copy_fragment_bytes_max(&mut self, peer: Peer) -> usize {
        self.inner.zero_copy_fragment_bytes_max(peer)
    }
    fn send_zero_copy(&mut self, peer: Peer, am: &Am<'_>, done: Option<Token>) -> Result<(), Full> {
        self.inner.send_zero_copy(peer, am, done)
    }
    fn get(&mut self, peer: Peer, from: Remote, into: &UserBuf, done: Token) -> Transfer {
        self.inner.get(peer, from, into, done)
    }
    fn put(&mut self, peer: Peer, from: &UserBuf, into: Remote, done: Token) -> Transfer {
        self.inner.put(peer, from, into, done)
    }
    fn open_cooperative_copy(
        &mut self,
        peer: Peer,
        from: Remote,
        into: &UserBuf,
        done: Token,
    ) -> Option<CooperativeCopyKey> {
        self.inner.open_cooperative_copy(peer, from, into, done)
    }
    fn pull_cooperative_copy(&mut self, key: CooperativeCopyKey) -> Transfer {
        self.inner.pull_cooperative_copy(key)
    }
    fn join_cooperative_copy(
        &mut self,
        peer: Peer,
        key: CooperativeCopyKey,
        from: &UserBuf,
        into: Remote,
        done: Token,
    ) -> Transfer {
        self.inner.join_cooperative_copy(peer, key, from, into, done)
    }
    fn poll(&mut self, sink: &mut impl Sink) -> bool {
        self.inner.poll(&mut Noting { sink, events: &mut self.events })
    }
    fn doorbell(&self) -> Arc<dyn Doorbell> {
        self.inner.doorbell()
    }
}

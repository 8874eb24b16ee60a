//! How large messages are moved: the receiver has met the sender's offer and chooses.
//!
//! The T3D paper's RTA (the receiver gets) and RAT (the sender puts), MPI-BIP's pipelined fragments, and a copy in
//! which both sides claim chunks of the same message. The choice depends on which of the two buffers are
//! contiguous and on what the transport can do; [`crate::protocol`] has the rule.

use crate::engine::{Engine, transmit};
use crate::limits::{FRAGMENT_BYTES_MAX, PROBED_BYTES_MIN};
use crate::matching::Envelope;
use crate::protocol::{RendezvousMethod, choose, yields_to_fragments};
use crate::receive::fault;
use crate::request::{MessageFault, RequestState, Status, token};
use crate::slab::Id;
use crate::wire::{BAD_ADDRESS, ExtendedHeader, HeaderKind, Offer, Ready, SPOILED, Want};
use tern_mem::UserBuf;
use tern_transport::{
    Am, CooperativeCopyKey, Full, Header, Limits, Peer, Remote, Transfer, TransferError, Transport,
};

impl<T: Transport> Engine<T> {
    /// Receiver: request `receiver` has met the offer of `from`.
    pub(crate) fn begin(&mut self, receiver: Id, from: Peer, offer: &Offer) {
        let Some(request) = self.core.requests.get_mut(receiver) else { return };
        let room = request.buf.len() as u64;
        let len = offer.len.min(room);
        request.peer = from;
        request.status.bytes = len;
        request.status.fault = fault(offer.len, room, offer.signature, request.signature, &self.core.types);
        request.state = RequestState::Gets { answer: None };
        let buf = request.buf.clone();
        if len == 0 {
            return self.got(receiver, from, offer.sender);
        }
        let limits = self.peer_state(from).limits;
        self.go(receiver, from, offer, &buf, len, &limits);
    }

    fn go(&mut self, receiver: Id, from: Peer, offer: &Offer, buf: &UserBuf, len: u64, limits: &Limits) {
        let mut method =
            choose(&self.core.settings, limits, offer.addr != 0, buf.as_contiguous().is_some(), len);
        if yields_to_fragments(&self.core.settings, method) && self.transport.prefers_fragments(from, len) {
            method = RendezvousMethod::Stream;
        }
        if method != RendezvousMethod::Cooperative {
            self.count_way(receiver, from, method, len);
        }
        match method {
            RendezvousMethod::Cooperative => self.copy_together(receiver, from, offer, buf, len),
            RendezvousMethod::Get => self.get(receiver, from, offer, buf, len),
            RendezvousMethod::Put => {
                let addr = buf.as_contiguous().map_or(0, |(addr, _)| addr as u64);
                self.answer(receiver, from, offer.sender, len, Want::Put(addr));
            }
            RendezvousMethod::Stream => self.answer(receiver, from, offer.sender, len, Want::Stream),
        }
    }

    fn count_way(&mut self, receiver: Id, from: Peer, method: RendezvousMethod, len: u64) {
        let Some(Status { context, source, tag, .. }) = self.core.requests.get(receiver).map(|r| r.status)
        else {
            return;
        };
        self.core.count_rendezvous(from, method, Envelope { context, source, tag }, len);
    }

    /// Receiver: tells the sender how to send, and waits for the data.
    fn answer(&mut self, receiver: Id, from: Peer, sender: Id, len: u64, want: Want) {
        if let Some(request) = self.core.requests.get_mut(receiver) {
            request.state = RequestState::AwaitsData { begun: 0, arrived: 0, until: len };
        }
        let ready = Ready { sender, receiver, len, want };
        self.control(from, HeaderKind::Ready, ready.extended());
    }

    /// Receiver: has everything.
    fn got(&mut self, receiver: Id, from: Peer, sender: Id) {
        self.control(from, HeaderKind::Got, ExtendedHeader::EMPTY.with_id(sender));
        self.core.complete(receiver);
    }

    fn get(&mut self, receiver: Id, from: Peer, offer: &Offer, buf: &UserBuf, len: u64) {
        let remote = Remote { addr: offer.addr, len };
        match self.transport.get(from, remote, buf, token(receiver)) {
            Transfer::Done => self.got(receiver, from, offer.sender),
            Transfer::Pending => {
                if let Some(request) = self.core.requests.get_mut(receiver) {
                    request.state = RequestState::Gets { answer: Some(offer.sender) };
                }
            }
            Transfer::Failed(error) => self.get_refused(receiver, from, offer.sender, error),
        }
    }

    /// Receiver: getting is forbidden from now on, in a container that was tightened, say; fragments always work.
    #[cold]
    pub(crate) fn get_refused(&mut self, receiver: Id, from: Peer, sender: Id, error: TransferError) {
        if error.is_bad_address() {
            return self.get_faulted(receiver, from, sender);
        }
        self.core.peers.state_or_new(from).limits.get = false;
        let Some(request) = self.core.requests.get(receiver) else { return };
        self.answer(receiver, from, sender, request.status.bytes, Want::Stream);
    }

    /// Receiver: an address could not be used. If it was not this rank's, the sender looks at its own, which may be memory that
    /// its processor can read and another process cannot.
    fn get_faulted(&mut self, receiver: Id, from: Peer, sender: Id) {
        let Some(request) = self.core.requests.get_mut(receiver) else { return };
        let len = request.status.bytes;
        if let Some(bad) = request.buf.unwritable(0, len as usize) {
            request.status.fault = Some(MessageFault::Transfer(bad.into()));
            return self.got(receiver, from, sender);
        }
        self.answer(receiver, from, sender, len, Want::Checked);
    }

    fn copy_together(&mut self, receiver: Id, from: Peer, offer: &Offer, buf: &UserBuf, len: u64) {
        let remote = Remote { addr: offer.addr, len };
        let Some(key) = self.transport.open_cooperative_copy(from, remote, buf, token(receiver)) else {
            // No room for another one now.
            let limits = Limits { cooperative_copy: false, ..self.peer_state(from).limits };
            return self.go(receiver, from, offer, buf, len, &limits);
        };
        self.count_way(receiver, from, RendezvousMethod::Cooperative, len);
        let addr = buf.as_contiguous().map_or(0, |(addr, _)| addr as u64);
        let want = Want::Cooperative { addr, key: key.0 };
        let ready = Ready { sender: offer.sender, receiver, len, want };
        self.control(from, HeaderKind::Ready, ready.extended());
        match self.transport.pull_cooperative_copy(key) {
            Transfer::Done => self.core.complete(receiver),
            Transfer::Pending => {}
            Transfer::Failed(error) => {
                if let Some(request) = self.core.requests.get_mut(receiver) {
                    request.fail_transfer(error, false);
                }
                self.core.complete(receiver);
            }
        }
    }

    /// Sender: the receiver has said how it wants the message.
    pub(crate) fn proceed(&mut self, from: Peer, ready: &Ready) {
        let id = ready.sender;
        let Some(request) = self.core.requests.get_mut(id) else { return };
        if request.peer != from
            || request.state != RequestState::AwaitsReady
            || ready.len > request.buf.len() as u64
        {
            return;
        }
        let buf = request.buf.clone();
        let bad = match ready.want {
            Want::Checked => buf.unreadable(0, ready.len as usize),
            Want::Stream if ready.len >= PROBED_BYTES_MIN => buf.is_unreadable(),
            _ => None,
        };
        if let Some(bad) = bad {
            return self.spoil(id, from, ready.receiver, bad.into());
        }
        match ready.want {
            Want::Stream | Want::Checked => {
                request.state = RequestState::Streams { receiver: ready.receiver, sent: 0, until: ready.len };
                self.core.streams.push(id);
                self.push_streams();
            }
            Want::Put(addr) => self.put(id, from, ready, &buf, Remote { addr, len: ready.len }),
            Want::Cooperative { addr, key } => {
                request.state = RequestState::Transfers { answer: None };
                let remote = Remote { addr, len: ready.len };
                let joined = self.transport.join_cooperative_copy(
                    from,
                    CooperativeCopyKey(key),
                    &buf,
                    remote,
                    token(id),
                );
                self.end_of_cooperative_copy(id, joined);
            }
        }
    }

    /// Sender: cannot read its buffer, and tells the receiver.
    #[cold]
    fn spoil(&mut self, id: Id, to: Peer, receiver: Id, error: TransferError) {
        self.control(to, HeaderKind::Put, ExtendedHeader::EMPTY.with_id(receiver).with(SPOILED));
        if let Some(request) = self.core.requests.get_mut(id) {
            request.status.fault = Some(MessageFault::Transfer(error));
        }
        self.core.complete(id);
    }

    fn end_of_cooperative_copy(&mut self, id: Id, copy: Transfer) {
        if copy == Transfer::Pending {
            return;
        }
        if let (Transfer::Failed(error), Some(request)) = (copy, self.core.requests.get_mut(id)) {
            request.fail_transfer(error, true);
        }
        self.core.complete(id);
    }

    fn put(&mut self, id: Id, to: Peer, ready: &Ready, buf: &UserBuf, into: Remote) {
        match self.transport.put(to, buf, into, token(id)) {
            Transfer::Done => {
                self.control(to, HeaderKind::Put, ExtendedHeader::EMPTY.with_id(ready.receiver).with(0));
                self.core.complete(id);
            }
            Transfer::Pending => {
                if let Some(request) = self.core.requests.get_mut(id) {
                    request.state = RequestState::Transfers { answer: Some(ready.receiver) };
                }
            }
            Transfer::Failed(error) => self.put_refused(id, to, ready.receiver, error),
        }
    }

    /// Sender: may not write there. The receiver will ask for fragments, and this request waits for that as before.
    #[cold]
    pub(crate) fn put_refused(&mut self, sender: Id, to: Peer, receiver: Id, error: TransferError) {
        let mut refused = u64::from(sender.raw()) + 1;
        if error.is_bad_address() {
            let buf = self.core.requests.get(sender).map(|request| request.buf.clone());
            if let Some(bad) = buf.and_then(|buf| buf.unreadable(0, buf.len())) {
                return self.spoil(sender, to, receiver, bad.into());
            }
            refused |= BAD_ADDRESS;
        }
        self.control(to, HeaderKind::Put, ExtendedHeader::EMPTY.with_id(receiver).with(refused));
    }

    /// Sender: as many fragments of all streams as the transport takes.
    pub(crate) fn push_streams(&mut self) -> bool {
        let mut moved = false;
        for at in (0..self.core.streams.len()).rev() {
            let id = self.core.streams[at];
            moved |= self.push_stream(id);
            let streaming =
                self.core.requests.get(id).is_some_and(|r| matches!(r.state, RequestState::Streams { .. }));
            if !streaming {
                self.core.streams.swap_remove(at);
            }
        }
        moved
    }

    fn push_stream(&mut self, id: Id) -> bool {
        let mut moved = false;
        while let Some(part) = self.next_part(id) {
            if self.push_part(id, &part).is_err() {
                break;
            }
            moved = true;
        }
        moved
    }

    /// What of a stream is to be sent next. Three-way (MPI-BIP, section 3) is the case of one fragment. The user's eager limit
    /// is not the fragments'.
    fn next_part(&mut self, id: Id) -> Option<Fragment> {
        let request = self.core.requests.get(id)?;
        let RequestState::Streams { receiver, sent, until } = request.state else { return None };
        let (peer, contiguous) = (request.peer, request.buf.as_contiguous().is_some());
        let zero_copy_bytes = if contiguous { self.transport.zero_copy_fragment_bytes_max(peer) } else { 0 };
        let most = match zero_copy_bytes {
            0 => self.peer_state(peer).limits.eager_bytes_max,
            _ => zero_copy_bytes,
        };
        let len = (most.clamp(1, FRAGMENT_BYTES_MAX) as u64).min(until - sent);
        Some(Fragment { receiver, sent, len, until, zero_copy: zero_copy_bytes > 0 })
    }

    fn push_part(&mut self, id: Id, part: &Fragment) -> Result<(), Full> {
        let Some(request) = self.core.requests.get_mut(id) else { return Ok(()) };
        let (peer, Fragment { receiver, sent, len, until, zero_copy }) = (request.peer, *part);
        let kind = HeaderKind::Fragment as u8;
        let header = Header { kind, context: sent, source: receiver.raw(), ..Header::default() };
        let (offset, last) = (sent as usize, sent + len == until);
        let mut am = Am { header, extended: &[], body: &request.buf, offset, len: len as usize };
        if zero_copy {
            self.transport.send_zero_copy(peer, &am, last.then(|| token(id)))?;
        } else {
            transmit(&mut self.transport, &mut self.core.peers, peer, &mut am)?;
        }
        match last {
            false => request.state = RequestState::Streams { receiver, sent: sent + len, until },
            // The peer has to have it all first.
            true if zero_copy => request.state = RequestState::Transfers { answer: None },
            true => self.core.complete(id),
        }
        Ok(())
    }
}

/// A fragment of a stream: `len` bytes after the first `sent` of `until`.
#[derive(Clone, Copy)]
struct Fragment {
    receiver: Id,
    sent: u64,
    len: u64,
    until: u64,
    zero_copy: bool,
}

//! What happens when a message arrives: the header handlers and completion handlers of MPI-LAPI (sections 3 and
//! 4), one per kind of message, run inline in [`Engine::poll`](crate::Engine::poll).

use crate::engine::{Action, EngineCore};
use crate::limits::UNEXPECTED_BYTES_MAX;
use crate::matching::Envelope;
use crate::receive::fault;
use crate::request::{MessageFault, RequestOwner, RequestState, Status};
use crate::slab::Id;
use crate::unexpected_message::{UnexpectedMessage, UnexpectedPayload};
use crate::wire::{
    BAD_ADDRESS, ExtendedHeader, ExtendedHeaderReader, FLAG_READY_MODE, FLAG_SIGNED, HeaderKind, Offer,
    Ready, SPOILED, Want,
};
use tern_mem::UserBuf;
use tern_transport::{AM_INLINE_BYTES_MAX, Header, Landing, Peer, Sink, Token, TransferError, WholeLanding};

/// Bytes of a type signature before a message.
const SIGNATURE_BYTES: usize = size_of::<u64>();

/// Blocks of unexpected-message memory have this size at least, so that they can be used again.
const BLOCK_BYTES_MIN: usize = 1024;
/// Blocks that are kept for use.
const BLOCKS_KEPT_MAX: usize = 64;

/// What a token of a landing or a transfer stands for: low 30 bits a number, then two bits of kind, then the length.
const TOKEN_UNEXPECTED: u64 = 1 << 30;
pub(crate) const TOKEN_FRAGMENT: u64 = 1 << 31;
/// An access to a window: both kinds at once.
pub(crate) const TOKEN_ACCESS: u64 = TOKEN_UNEXPECTED | TOKEN_FRAGMENT;

impl Sink for EngineCore {
    #[inline(always)]
    fn short(&mut self, from: Peer, header: &Header, payload: &[u8]) {
        if header.credits != 0 {
            self.earn(from, header.credits);
        }
        if header.kind == HeaderKind::Eager as u8 && header.flags == 0 && can_match(header) {
            return self.eager_short(from, envelope(header), payload);
        }
        // A copy, so that on the way above the header stays in registers.
        let header = *header;
        self.short_other(from, &header, payload);
    }

    fn header(&mut self, from: Peer, header: &Header, len: usize) -> Landing {
        if header.credits != 0 {
            self.earn(from, header.credits);
        }
        match HeaderKind::parse(header.kind) {
            Some(HeaderKind::Eager) if can_match(header) => self.eager(from, header, len),
            Some(HeaderKind::Fragment) => self.fragment(from, header, len),
            Some(HeaderKind::Partition) => self.partition(from, header, len),
            Some(kind) if kind.is_access() => self.access_landing(from, kind, header, len),
            // Everything else is one line; a peer that sends more is not one of ours.
            _ => Landing::Nothing,
        }
    }

    #[inline]
    fn whole(&mut self, from: Peer, header: &Header, len: usize) -> WholeLanding {
        if header.kind != HeaderKind::Eager as u8 || header.flags != 0 || !can_match(header) {
            return WholeLanding::Later(self.header(from, header, len));
        }
        if header.credits != 0 {
            self.earn(from, header.credits);
        }
        self.eager_whole(from, header, len)
    }

    fn landed(&mut self, from: Peer, token: Token) {
        let id = Id::from_raw((token.0 & (TOKEN_UNEXPECTED - 1)) as u32);
        if token.0 & TOKEN_ACCESS == TOKEN_ACCESS {
            self.access_landed(from, id, None);
        } else if token.0 & TOKEN_FRAGMENT != 0 {
            self.fragment_landed(id, token.0 >> 32);
        } else if token.0 & TOKEN_UNEXPECTED != 0 {
            self.unexpected_landed(id);
        } else {
            self.owe(from, (token.0 >> 32) as usize);
            self.complete(id);
        }
    }

    #[cold]
    fn spoiled(&mut self, from: Peer, token: Token, error: TransferError) {
        let id = Id::from_raw((token.0 & (TOKEN_UNEXPECTED - 1)) as u32);
        if token.0 & TOKEN_ACCESS == TOKEN_ACCESS {
            return self.access_landed(from, id, Some(error));
        }
        let is_unexpected = token.0 & TOKEN_FRAGMENT == 0 && token.0 & TOKEN_UNEXPECTED != 0;
        if is_unexpected && let Some(unexpected) = self.unexpected_messages.get_mut(id) {
            unexpected.spoiled = true;
        }
        if !is_unexpected && let Some(request) = self.requests.get_mut(id) {
            request.status.fault = Some(MessageFault::Transfer(error));
        }
        self.landed(from, token);
    }

    #[inline(always)]
    fn backpressure(&self) -> bool {
        self.posted.is_empty()
    }

    fn done(&mut self, token: Token, result: Result<(), TransferError>) {
        self.transferred(Id::from_raw(token.0 as u32), result);
    }

    fn nearer(&mut self, peer: Peer) {
        self.actions.push_back(Action::Approach { peer });
    }
}

impl EngineCore {
    /// A short message in standard mode: the shortest way through.
    #[inline(always)]
    fn eager_short(&mut self, from: Peer, envelope: Envelope, payload: &[u8]) {
        let Some(index) = self.posted.take(&envelope) else {
            return self.keep_short(from, envelope, payload, None, 0, false);
        };
        self.owe(from, payload.len());
        match self.requests.at_mut(index) {
            Some((_, request))
                if matches!(request.owner, RequestOwner::Caller)
                    && request.buf.write_to_contiguous(payload) =>
            {
                request.peer = from;
                request.status = Status::of(&envelope, payload.len() as u64);
                request.state = RequestState::Done;
                self.completions += 1;
            }
            _ => self.fill(index, from, envelope, payload, 0),
        }
    }

    /// A posted receive gets a whole message.
    #[inline(never)]
    fn fill(&mut self, index: u32, from: Peer, envelope: Envelope, payload: &[u8], signature: u64) {
        let Some((id, request)) = self.requests.at_mut(index) else { return };
        let room = request.buf.len();
        let taken = payload.len().min(room);
        request.buf.write(0, &payload[..taken]);
        request.peer = from;
        request.status = Status::of(&envelope, taken as u64);
        request.status.fault =
            fault(payload.len() as u64, room as u64, signature, request.signature, &self.types);
        self.complete(id);
    }

    #[cold]
    fn keep_short(
        &mut self,
        from: Peer,
        envelope: Envelope,
        payload: &[u8],
        ack: Option<Id>,
        signature: u64,
        not_ready: bool,
    ) {
        let mut bytes = [0; AM_INLINE_BYTES_MAX];
        bytes[..payload.len()].copy_from_slice(payload);
        let what = UnexpectedPayload::Short(bytes);
        let len = payload.len() as u64;
        self.keep(UnexpectedMessage {
            from,
            envelope,
            len,
            what,
            ack,
            signature,
            not_ready,
            taken: false,
            spoiled: false,
        });
    }

    fn keep(&mut self, unexpected: UnexpectedMessage) -> Id {
        let UnexpectedMessage { from, envelope, len, .. } = unexpected;
        let id = self.store(unexpected);
        self.unexpected_ever += 1;
        self.unexpected.keep(envelope, id.index() as u32);
        self.count_unexpected(from, envelope, len);
        id
    }

    /// Keeps an unexpected message that no receive is to find.
    fn store(&mut self, unexpected: UnexpectedMessage) -> Id {
        self.unexpected_bytes += unexpected.memory_bytes();
        self.unexpected_bytes_peak = self.unexpected_bytes_peak.max(self.unexpected_bytes);
        self.unexpected_messages.insert(unexpected)
    }

    /// Takes an unexpected message out of the store.
    pub(crate) fn take_unexpected(&mut self, id: Id) -> Option<UnexpectedMessage> {
        let unexpected = self.unexpected_messages.remove(id)?;
        self.unexpected_bytes -= unexpected.memory_bytes();
        Some(unexpected)
    }

    #[cold]
    fn short_other(&mut self, from: Peer, header: &Header, payload: &[u8]) {
        let mut reader = ExtendedHeaderReader(payload);
        match HeaderKind::parse(header.kind) {
            Some(HeaderKind::Eager | HeaderKind::EagerSync | HeaderKind::Offer) if !can_match(header) => {}
            Some(HeaderKind::Eager) => self.eager_flagged(from, header, payload),
            Some(HeaderKind::EagerSync) => {
                if let Some(sender) = reader.id() {
                    self.eager_sync(from, envelope(header), reader.0, sender);
                }
            }
            Some(HeaderKind::Ack | HeaderKind::Got) => {
                if let Some(id) = reader.id() {
                    self.acknowledged(from, id);
                }
            }
            Some(HeaderKind::Offer) => {
                if let Some(offer) = Offer::parse(payload) {
                    self.offered(from, header, offer);
                }
            }
            Some(HeaderKind::Ready) => {
                if let Some(ready) = Ready::parse(payload) {
                    self.actions.push_back(Action::Proceed { from, ready });
                }
            }
            Some(HeaderKind::Put) => {
                if let (Some(id), Some(refused)) = (reader.id(), reader.number()) {
                    self.put_done(from, id, refused);
                }
            }
            Some(HeaderKind::Fragment) => self.fragment_short(from, header, payload),
            Some(HeaderKind::Withdraw) => {
                if let Some(sender) = reader.id() {
                    self.asked_to_withdraw(from, sender);
                }
            }
            Some(HeaderKind::Withdrawn) => {
                if let Some(id) = reader.id() {
                    self.withdrawn(from, id);
                }
            }
            Some(HeaderKind::Partition) => self.partition_short(from, header, payload),
            Some(HeaderKind::PartitionedOpen) if can_match(header) => {
                self.partitioned_open(from, header, payload)
            }
            Some(HeaderKind::PartitionedClose) if can_match(header) => {
                self.partitioned_close(from, header, payload)
            }
            Some(HeaderKind::PartitionedStart) => self.partitioned_start(from, payload),
            Some(HeaderKind::PartitionedBound) => self.partitioned_bound(from, payload),
            Some(HeaderKind::PartitionedDone) => self.partitioned_done(from, payload),
            Some(HeaderKind::PartitionOffer) => self.partition_offered(from, payload),
            Some(HeaderKind::PartitionPut) => self.partition_put(from, payload),
            // Its credits have been taken already.
            Some(HeaderKind::Credits | HeaderKind::PartitionedOpen | HeaderKind::PartitionedClose) | None => {
            }
            Some(kind) => self.access_short(from, kind, header, payload),
        }
    }

    /// A message that begins with its signature, or was sent in ready mode.
    fn eager_flagged(&mut self, from: Peer, header: &Header, payload: &[u8]) {
        let (mut signature, mut payload) = (0, payload);
        if header.flags & FLAG_SIGNED != 0 {
            let mut reader = ExtendedHeaderReader(payload);
            let Some(number) = reader.number() else { return };
            (signature, payload) = (number, reader.0);
        }
        let envelope = envelope(header);
        let Some(index) = self.posted.take(&envelope) else {
            let not_ready = header.flags & FLAG_READY_MODE != 0;
            return self.keep_short(from, envelope, payload, None, signature, not_ready);
        };
        self.owe(from, payload.len());
        self.fill(index, from, envelope, payload, signature);
    }

    fn eager_sync(&mut self, from: Peer, envelope: Envelope, payload: &[u8], sender: Id) {
        let Some(index) = self.posted.take(&envelope) else {
            return self.keep_short(from, envelope, payload, Some(sender), 0, false);
        };
        let extended = ExtendedHeader::EMPTY.with_id(sender);
        self.actions.push_back(Action::Control { peer: from, kind: HeaderKind::Ack, extended });
        self.owe(from, payload.len());
        self.fill(index, from, envelope, payload, 0);
    }

    /// A message of more than a line: the header handler names the landing place.
    fn eager(&mut self, from: Peer, header: &Header, len: usize) -> Landing {
        if header.flags & FLAG_SIGNED != 0 {
            return self.land_signed(from, header, len);
        }
        let envelope = envelope(header);
        match self.posted.take(&envelope) {
            Some(index) => self.land(index, from, &envelope, len),
            None => self.land_unexpected(from, header, len),
        }
    }

    /// A message of more than a line that is all at hand, in standard mode: the shortest way through.
    fn eager_whole(&mut self, from: Peer, header: &Header, len: usize) -> WholeLanding {
        let envelope = envelope(header);
        let Some(index) = self.posted.take(&envelope) else {
            return WholeLanding::Later(self.land_unexpected(from, header, len));
        };
        if let Some((_, request)) = self.requests.at_mut(index)
            && matches!(request.owner, RequestOwner::Caller)
            && let Some(run) = request.buf.run_at_start(len)
        {
            request.peer = from;
            request.status = Status::of(&envelope, len as u64);
            request.state = RequestState::Done;
            self.completions += 1;
            self.owe(from, len);
            return WholeLanding::Now(run);
        }
        WholeLanding::Later(self.land(index, from, &envelope, len))
    }

    /// In the buffer of a posted receive.
    fn land(&mut self, index: u32, from: Peer, envelope: &Envelope, len: usize) -> Landing {
        let Some(id) = self.requests.id_at(index) else { return Landing::Nothing };
        let Some(request) = self.requests.get_mut(id) else { return Landing::Nothing };
        let taken = len.min(request.buf.len());
        request.state = RequestState::Lands;
        request.peer = from;
        request.status = Status::of(envelope, taken as u64);
        request.status.fault = fault(len as u64, request.buf.len() as u64, 0, 0, &self.types);
        let token = Token(u64::from(id.raw()) | (len as u64) << 32);
        Landing::place(request.buf.clone(), 0, taken, token)
    }

    fn land_unexpected(&mut self, from: Peer, header: &Header, len: usize) -> Landing {
        if len > UNEXPECTED_BYTES_MAX {
            return Landing::Nothing;
        }
        let (unexpected, block) = self.landing(from, header, len);
        let id = self.keep(unexpected);
        Landing::place(block, 0, len, Token(TOKEN_UNEXPECTED | u64::from(id.raw())))
    }

    /// An unexpected message that begins to land in a block.
    fn landing(&mut self, from: Peer, header: &Header, len: usize) -> (UnexpectedMessage, UserBuf) {
        let block = self.block(len);
        let signed = header.flags & FLAG_SIGNED != 0;
        let what = UnexpectedPayload::Landing { block: block.clone(), signed, waiter: None };
        let not_ready = header.flags & FLAG_READY_MODE != 0;
        let body = if signed { len.saturating_sub(SIGNATURE_BYTES) } else { len };
        let unexpected = UnexpectedMessage {
            from,
            envelope: envelope(header),
            len: body as u64,
            what,
            ack: None,
            signature: 0,
            not_ready,
            taken: false,
            spoiled: false,
        };
        (unexpected, block)
    }

    /// A long message that begins with its signature: a multicast. It lands beside the memory of a receive that waits for it,
    /// which has no room for that.
    #[cold]
    fn land_signed(&mut self, from: Peer, header: &Header, len: usize) -> Landing {
        if !(SIGNATURE_BYTES..=UNEXPECTED_BYTES_MAX).contains(&len) {
            return Landing::Nothing;
        }
        let posted = self.posted.take(&envelope(header));
        let Some(id) = posted.and_then(|index| self.requests.id_at(index)) else {
            return self.land_unexpected(from, header, len);
        };
        let (mut unexpected, buf) = self.landing(from, header, len);
        if let UnexpectedPayload::Landing { waiter, .. } = &mut unexpected.what {
            *waiter = Some(id);
        }
        if let Some(request) = self.requests.get_mut(id) {
            (request.state, request.peer) = (RequestState::Lands, from);
        }
        let unexpected = self.store(unexpected);
        Landing::place(buf, 0, len, Token(TOKEN_UNEXPECTED | u64::from(unexpected.raw())))
    }

    fn unexpected_landed(&mut self, id: Id) {
        let Some(unexpected) = self.unexpected_messages.get_mut(id) else { return };
        let UnexpectedPayload::Landing { block, signed, waiter } = &unexpected.what else { return };
        let (mut block, signed, waiter) = (block.clone(), *signed, *waiter);
        if signed {
            let mut signature = [0; SIGNATURE_BYTES];
            block.read(0, &mut signature);
            unexpected.signature = u64::from_le_bytes(signature);
            let body = UserBuf::owned(unexpected.len as usize);
            UserBuf::copy(&block, SIGNATURE_BYTES, &body, 0, unexpected.len as usize);
            block = body;
        }
        unexpected.what = UnexpectedPayload::Landed(block);
        if let Some(request) = waiter {
            self.hand_over(id, request);
        }
    }

    /// A receive that waited for an unexpected message to land gets it.
    fn hand_over(&mut self, unexpected: Id, id: Id) {
        let Some(arrival) = self.take_unexpected(unexpected) else { return };
        let Some(request) = self.requests.get(id) else { return };
        let (buf, signature) = (request.buf.clone(), request.signature);
        let mut status = Status::of(&arrival.envelope, arrival.len.min(buf.len() as u64));
        status.fault = self.fault_of(&arrival, buf.len(), signature);
        self.unpack(&arrival, &buf);
        self.owe(arrival.from, arrival.len as usize);
        if let Some(request) = self.requests.get_mut(id) {
            request.status = status;
        }
        self.complete(id);
        self.recycle(arrival);
    }

    /// Copies an unexpected message to its buffer.
    pub(crate) fn unpack(&self, arrival: &UnexpectedMessage, buf: &UserBuf) {
        let taken = (arrival.len as usize).min(buf.len());
        match &arrival.what {
            UnexpectedPayload::Short(bytes) => buf.write(0, &bytes[..taken]),
            UnexpectedPayload::Landed(block) => UserBuf::copy(block, 0, buf, 0, taken),
            UnexpectedPayload::Landing { .. } | UnexpectedPayload::Offered(_) => {}
        }
    }

    /// Memory for an unexpected message: one that was used before, if it is large enough.
    fn block(&mut self, len: usize) -> UserBuf {
        if let Some(void) = self.void.as_ref().filter(|void| void.len() >= len) {
            return void.clone();
        }
        match self.pool.iter().rposition(|block| block.len() >= len) {
            Some(at) => self.pool.swap_remove(at),
            None => UserBuf::owned(len.max(BLOCK_BYTES_MIN)),
        }
    }

    /// Keeps the memory of an unexpected message for the next.
    pub(crate) fn recycle(&mut self, arrival: UnexpectedMessage) {
        if let UnexpectedPayload::Landed(block) = arrival.what
            && self.pool.len() < BLOCKS_KEPT_MAX
            && self.void.is_none()
        {
            self.pool.push(block);
        }
    }

    /// The sender of a large message asks.
    fn offered(&mut self, from: Peer, header: &Header, offer: Offer) {
        let envelope = envelope(header);
        let Some(index) = self.posted.take(&envelope) else {
            let what = UnexpectedPayload::Offered(offer);
            let (len, signature) = (offer.len, offer.signature);
            let not_ready = header.flags & FLAG_READY_MODE != 0;
            self.keep(UnexpectedMessage {
                from,
                envelope,
                len,
                what,
                signature,
                not_ready,
                ..UnexpectedMessage::default()
            });
            return;
        };
        let Some(receiver) = self.requests.id_at(index) else { return };
        let Some(request) = self.requests.get_mut(receiver) else { return };
        request.status = Status::of(&envelope, 0);
        // No longer posted: the transport is needed to go on.
        request.state = RequestState::Gets { answer: None };
        self.actions.push_back(Action::Begin { receiver, from, offer });
    }

    /// The receiver has matched (TA) or has got (RTA) what request `id` sent.
    fn acknowledged(&mut self, from: Peer, id: Id) {
        if self.awaits_match(from, id) {
            self.complete(id);
        }
    }

    /// Whether `id` is a send to `from` that waits to be matched.
    pub(crate) fn awaits_match(&self, from: Peer, id: Id) -> bool {
        self.requests.get(id).is_some_and(|request| {
            request.peer == from
                && matches!(request.state, RequestState::AwaitsAck | RequestState::AwaitsReady)
        })
    }

    /// The sender has put everything (RAT), or could not.
    fn put_done(&mut self, from: Peer, id: Id, refused: u64) {
        let Some(request) = self.requests.get_mut(id) else { return };
        let RequestState::AwaitsData { begun: 0, until, .. } = request.state else { return };
        if request.peer != from {
            return;
        }
        if refused == 0 || refused == SPOILED {
            request.status.bytes = until;
            if refused == SPOILED {
                request.status.fault = Some(MessageFault::Transfer(TransferError::PeersMemory));
            }
            return self.complete(id);
        }
        let faulted = refused & BAD_ADDRESS != 0;
        let bad = if faulted { request.buf.unwritable(0, until as usize) } else { None };
        let refused = refused & !BAD_ADDRESS;
        // The sender may not write here: let it send fragments instead.
        let sender = Id::from_raw(refused.wrapping_sub(1) as u32);
        if let Some(bad) = bad {
            request.status.fault = Some(MessageFault::Transfer(bad.into()));
            let extended = ExtendedHeader::EMPTY.with_id(sender);
            self.actions.push_back(Action::Control { peer: from, kind: HeaderKind::Got, extended });
            return self.complete(id);
        }
        let ready = Ready { sender, receiver: id, len: until, want: Want::Stream };
        if !faulted && let Some(state) = self.peers.get(from) {
            state.limits.put = false;
        }
        let extended = ready.extended();
        self.actions.push_back(Action::Control { peer: from, kind: HeaderKind::Ready, extended });
    }

    /// Where a fragment must land: offset and request are in the header.
    fn fragment(&mut self, from: Peer, header: &Header, len: usize) -> Landing {
        let id = Id::from_raw(header.source);
        let Some(request) = self.requests.get_mut(id) else { return Landing::Nothing };
        let RequestState::AwaitsData { begun, until, .. } = &mut request.state else {
            return Landing::Nothing;
        };
        let end = header.context.checked_add(len as u64);
        // Never more than was asked for: nothing may still be landing when the receive is complete.
        if request.peer != from || end.is_none_or(|end| end > *until) || len as u64 > *until - *begun {
            return Landing::Nothing;
        }
        *begun += len as u64;
        let whole = *until as usize;
        let token = Token(TOKEN_FRAGMENT | u64::from(id.raw()) | (len as u64) << 32);
        // Where one fragment could not land, the others are not tried.
        let len = if matches!(request.status.fault, Some(MessageFault::Transfer(_))) { 0 } else { len };
        Landing::Place { buf: request.buf.clone(), offset: header.context as usize, len, token, whole }
    }

    fn fragment_short(&mut self, from: Peer, header: &Header, payload: &[u8]) {
        if let Landing::Place { buf, offset, len, token, .. } = self.fragment(from, header, payload.len()) {
            buf.write(offset, &payload[..len]);
            self.landed(from, token);
        }
    }

    fn fragment_landed(&mut self, id: Id, len: u64) {
        let Some(request) = self.requests.get_mut(id) else { return };
        let RequestState::AwaitsData { arrived, until, .. } = &mut request.state else { return };
        *arrived += len;
        if *arrived >= *until {
            request.status.bytes = *until;
            self.complete(id);
        }
    }

    /// A get, put or cooperative copy that went on for a while has ended.
    fn transferred(&mut self, id: Id, result: Result<(), TransferError>) {
        let Some(request) = self.requests.get_mut(id) else { return };
        let (peer, state) = (request.peer, request.state);
        match (state, result) {
            (RequestState::Gets { answer: Some(sender) }, Ok(())) => {
                let extended = ExtendedHeader::EMPTY.with_id(sender);
                self.actions.push_back(Action::Control { peer, kind: HeaderKind::Got, extended });
            }
            (RequestState::Gets { answer: Some(sender) }, Err(error)) => {
                let action = Action::GetRefused { receiver: id, from: peer, sender, error };
                return self.actions.push_back(action);
            }
            (RequestState::Transfers { answer: Some(receiver) }, Ok(())) => {
                let extended = ExtendedHeader::EMPTY.with_id(receiver).with(0);
                self.actions.push_back(Action::Control { peer, kind: HeaderKind::Put, extended });
            }
            (RequestState::Transfers { answer: Some(receiver) }, Err(error)) => {
                request.state = RequestState::AwaitsReady;
                return self.actions.push_back(Action::PutRefused { sender: id, to: peer, receiver, error });
            }
            // A cooperative copy: the other side may have gone on already, so nothing else can be tried.
            (state, Err(error)) => {
                request.fail_transfer(error, matches!(state, RequestState::Transfers { .. }))
            }
            (_, Ok(())) => {}
        }
        self.complete(id);
    }

    #[cold]
    pub(crate) fn earn(&mut self, from: Peer, credits: u16) {
        let window = self.peers.window();
        if let Some(state) = self.peers.get(from) {
            state.earn(credits, window);
        }
    }

    /// A message of `len` bytes needs no unexpected-message memory any more.
    #[inline(always)]
    pub(crate) fn owe(&mut self, from: Peer, len: usize) {
        if self.consumed(from, len) {
            self.refill_later(from);
        }
    }

    #[cold]
    #[inline(never)]
    pub(crate) fn refill_later(&mut self, peer: Peer) {
        self.actions.push_back(Action::Refill { peer });
    }
}

#[inline(always)]
pub(crate) fn envelope(header: &Header) -> Envelope {
    Envelope { context: header.context, source: header.source, tag: header.tag }
}

/// Whether a header's source and tag are what a sound peer sends: nothing wild, which only a receive may be.
#[inline(always)]
pub(crate) fn can_match(header: &Header) -> bool {
    header.tag >= 0 && header.source != crate::matching::ANY_SOURCE
}

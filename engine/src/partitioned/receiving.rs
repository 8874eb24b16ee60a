//! The receiver's side: bytes that land at their offset, and which partitions are whole.

use super::pair::{Division, PartitionedId, PartitionedPair};
use super::receive_state::{PartitionSource, Receiving};
use super::{Round, fault_of};
use crate::arrival::TOKEN_FRAGMENT;
use crate::engine::{Action, Engine, EngineCore};
use crate::matching::{Envelope, Pattern};
use crate::protocol::RendezvousMethod;
use crate::receive::fault;
use crate::request::{EngineRequest, RequestOwner, RequestState, Status};
use crate::slab::Id;
use crate::wire::{Bound, ExtendedHeader, ExtendedHeaderReader, HeaderKind, Open, PartOffer, PartPut};
use tern_mem::UserBuf;
use tern_transport::{Header, Landing, Peer, Token, Transport};

impl<T: Transport> Engine<T> {
    /// Makes a partitioned receive. `pattern` has nothing wild, and `own` is this rank in the communicator.
    pub fn partitioned_receive(
        &mut self,
        peer: Peer,
        pattern: Pattern,
        own: u32,
        what: Division,
    ) -> PartitionedId {
        let Pattern { context, source, tag } = pattern;
        self.peer_state(peer);
        let all = self.core.partitioned();
        let pair = all.receives.next_pair(peer, context, tag);
        let (id, closed) = all.receives.insert(pair, Receiving::new(pair, source, own, what));
        if closed && let Some(receiving) = all.receives.requests.get_mut(id) {
            receiving.is_closed = true;
        }
        id
    }

    /// Starts a round of it. False: it is active already.
    pub fn start_partitioned_receive(&mut self, id: PartitionedId) -> bool {
        let Some(receiving) = self.core.receiving(id).filter(|receiving| !receiving.is_active) else {
            return false;
        };
        receiving.begin();
        let (pair, own, send) = (receiving.pair, receiving.own, receiving.send);
        if receiving.is_over {
            return true;
        }
        if !std::mem::replace(&mut receiving.is_open, true) {
            let buf = &receiving.what.buf;
            let addr = buf.as_contiguous().map_or(0, |(addr, _)| addr as u64);
            let open = Open { number: pair.number, receiver: id, room: buf.len() as u64, addr };
            self.say(pair, own, HeaderKind::PartitionedOpen, open.extended());
        } else if let Some(send) = send {
            self.control(pair.peer, HeaderKind::PartitionedStart, ExtendedHeader::EMPTY.with_id(send.id));
        }
        true
    }

    /// Whether a partition has arrived. Of an inactive request all have. `None`: there is no such partition.
    pub fn has_arrived(&self, id: PartitionedId, partition: u32) -> Option<bool> {
        let receiving = self.core.partitioned.as_ref()?.receives.requests.get(id)?;
        (partition < receiving.what.partitions).then(|| receiving.has(partition))
    }

    /// Where a partitioned receive stands.
    pub fn peek_partitioned_receive(&self, id: PartitionedId) -> Round {
        let Some(receiving) = self.core.partitioned.as_ref().and_then(|all| all.receives.requests.get(id))
        else {
            return Round::None;
        };
        match (receiving.is_active, receiving.is_over) {
            (false, _) => Round::None,
            (true, false) => Round::Pending,
            (true, true) => {
                let PartitionedPair { context, tag, .. } = receiving.pair;
                let envelope = Envelope { context, source: receiving.source, tag };
                let status = Status::of(&envelope, receiving.arrived);
                Round::Over(Status { fault: receiving.fault, ..status })
            }
        }
    }

    /// The same; a round that is over has been asked for.
    pub fn test_partitioned_receive(&mut self, id: PartitionedId) -> Round {
        let round = self.peek_partitioned_receive(id);
        if let (Round::Over(_), Some(receiving)) = (round, self.core.receiving(id)) {
            receiving.is_active = false;
        }
        round
    }

    /// Frees a partitioned receive. False: it is active.
    pub fn free_partitioned_receive(&mut self, id: PartitionedId) -> bool {
        let Some(receiving) = self.core.receiving(id) else { return true };
        if receiving.is_active {
            return false;
        }
        let (pair, own, is_met) = (receiving.pair, receiving.own, receiving.send.is_some());
        self.core.partitioned().receives.remove(&pair, id);
        self.close_pair(pair, own, false, is_met);
        true
    }

    /// How many partitions have arrived in this round, and of how many, for a person.
    pub fn arrived_partitions(&self, id: PartitionedId) -> Option<(u32, u32)> {
        let receiving = self.core.partitioned.as_ref()?.receives.requests.get(id)?;
        let count = receiving.what.partitions;
        let arrived = (0..count).filter(|&partition| receiving.has(partition)).count();
        Some((arrived as u32, count))
    }
}

impl EngineCore {
    fn receiving(&mut self, id: Id) -> Option<&mut Receiving> {
        self.partitioned.as_mut()?.receives.requests.get_mut(id)
    }

    /// The sender has found its send.
    pub(crate) fn partitioned_bound(&mut self, from: Peer, payload: &[u8]) {
        let Some(Bound { sender, receiver, total, signature }) = Bound::parse(payload) else { return };
        let Some(all) = &mut self.partitioned else { return };
        let Some(receiving) = all.receives.requests.get_mut(receiver) else { return };
        if receiving.pair.peer != from || receiving.send.is_some() || !receiving.is_open {
            return;
        }
        let room = receiving.what.buf.len() as u64;
        let fault = fault(total, room, signature, receiving.what.signature, &self.types);
        receiving.send = Some(PartitionSource { id: sender, total, fault });
    }

    /// Bytes of a send: where must they land?
    pub(crate) fn partition(&mut self, from: Peer, header: &Header, len: usize) -> Landing {
        let owner = Id::from_raw(header.source);
        let Some(request) = self.place_part(from, owner, header.context, len as u64) else {
            return Landing::Nothing;
        };
        let Some(receiving) = self.receiving(owner) else { return Landing::Nothing };
        let buf = receiving.what.buf.clone();
        let token = Token(TOKEN_FRAGMENT | u64::from(request.raw()) | (len as u64) << 32);
        Landing::place(buf, header.context as usize, len, token)
    }

    /// The same of one line, which is here already.
    pub(crate) fn partition_short(&mut self, from: Peer, header: &Header, payload: &[u8]) {
        let (offset, len) = (header.context, payload.len() as u64);
        let Some(receiving) = self.receiving(Id::from_raw(header.source)) else { return };
        if receiving.place(from, offset, len) {
            receiving.what.buf.write(offset as usize, payload);
            let over = receiving.landed(offset, len);
            self.count_receive(from, len);
            self.end_of_round(Id::from_raw(header.source), over);
        }
    }

    /// A request for a part that lands.
    fn place_part(&mut self, from: Peer, owner: Id, offset: u64, len: u64) -> Option<Id> {
        let receiving = self.receiving(owner)?;
        if !receiving.place(from, offset, len) {
            return None;
        }
        let (id, request) = self.requests.occupy();
        let state = RequestState::AwaitsData { begun: len, arrived: 0, until: len };
        request.begin(state, Pattern { context: offset, source: 0, tag: 0 }, UserBuf::empty(), 0);
        request.status.bytes = len;
        (request.peer, request.owner) = (from, RequestOwner::PartitionedReceive(owner));
        Some(id)
    }

    /// A part has landed.
    pub(super) fn part_received(&mut self, owner: Id, part: &EngineRequest) {
        let Some(receiving) = self.receiving(owner) else { return };
        receiving.fault = receiving.fault.or(fault_of(part));
        let over = receiving.landed(part.pattern.context, part.status.bytes);
        self.count_receive(part.peer, part.status.bytes);
        self.end_of_round(owner, over);
    }

    /// A send without bytes is ready.
    pub(crate) fn partitioned_done(&mut self, from: Peer, payload: &[u8]) {
        let Some(id) = ExtendedHeaderReader(payload).id() else { return };
        let Some(receiving) = self.receiving(id).filter(|receiving| receiving.pair.peer == from) else {
            return;
        };
        receiving.done = receiving.is_active;
        let over = receiving.ends();
        self.end_of_round(id, over);
    }

    /// What does not fit is a fault of every round.
    fn end_of_round(&mut self, id: Id, over: bool) {
        let Some(receiving) = self.receiving(id).filter(|_| over) else { return };
        receiving.fault = receiving.fault.or(receiving.send.and_then(|send| send.fault));
        self.completions += 1;
    }

    /// The sender of a long run asks.
    pub(crate) fn partition_offered(&mut self, from: Peer, payload: &[u8]) {
        let Some(PartOffer { receiver, offset, offer }) = PartOffer::parse(payload) else { return };
        let Some(id) = self.place_part(from, receiver, offset, offer.len) else { return };
        let section = self
            .receiving(receiver)
            .and_then(|receiving| receiving.what.buf.section(offset as usize, offer.len as usize));
        let (Some(section), Some(request)) = (section, self.requests.get_mut(id)) else { return };
        request.buf = section;
        request.state = RequestState::Gets { answer: None };
        self.actions.push_back(Action::Begin { receiver: id, from, offer });
    }

    /// The sender has put a part in its place.
    pub(crate) fn partition_put(&mut self, from: Peer, payload: &[u8]) {
        let Some(PartPut { receiver, offset, len }) = PartPut::parse(payload) else { return };
        let Some(receiving) = self.receiving(receiver) else { return };
        if !receiving.place(from, offset, len) {
            return;
        }
        let PartitionedPair { context, tag, .. } = receiving.pair;
        let envelope = Envelope { context, source: receiving.source, tag };
        let over = receiving.landed(offset, len);
        self.count_rendezvous(from, RendezvousMethod::Put, envelope, len);
        self.count_receive(from, len);
        self.end_of_round(receiver, over);
    }
}

//! The sender's side: partitions that become ready, runs of adjacent ones, and how runs leave.

use super::pair::{Division, PartitionedId, PartitionedPair};
use super::send_state::{PartitionTarget, ReadyError, Sending};
use super::{Round, fault_of};
use crate::engine::{Action, Engine, EngineCore};
use crate::limits::{FRAGMENT_BYTES_MAX, GATHERED_BYTES_MAX, HALVED_TO_BYTES, LEFT_BYTES_MIN, UNMADE_MAX};
use crate::matching::{Envelope, Pattern};
use crate::peers::FifoEntry;
use crate::request::{EngineRequest, MessageFault, RequestOwner, RequestState, Status};
use crate::settings::Rendezvous;
use crate::slab::Id;
use crate::wire::{Bound, ExtendedHeader, ExtendedHeaderReader, HeaderKind, Offer, Open, PartOffer, PartPut};
use tern_mem::UserBuf;
use tern_transport::{Am, Full, Header, Peer, Remote, Transfer, Transport};

/// How a run of ready bytes leaves.
enum PartRoute {
    /// In one message, copied.
    Copied,
    /// In one message, from the program's memory.
    ZeroCopy,
    /// The receiver is asked how it wants it.
    Offered,
}

impl<T: Transport> Engine<T> {
    /// Makes a partitioned send.
    pub fn partitioned_send(&mut self, peer: Peer, envelope: Envelope, what: Division) -> PartitionedId {
        let Envelope { context, source, tag } = envelope;
        self.peer_state(peer);
        let all = self.core.partitioned();
        let pair = all.sends.next_pair(peer, context, tag);
        let (id, closed) = all.sends.insert(pair, Sending::new(pair, source, what));
        if closed && let Some(sending) = all.sends.requests.get_mut(id) {
            sending.is_closed = true;
        }
        if let Some(open) = self.core.partitioned().opened.remove(&pair) {
            self.core.bind(id, &open);
            // The answer goes before any partition does.
            self.follow(false);
        }
        id
    }

    /// Starts a round of it. False: it is active already.
    pub fn start_partitioned_send(&mut self, id: PartitionedId) -> bool {
        let Some(sending) = self.core.sending(id) else { return false };
        if sending.is_active {
            return false;
        }
        sending.begin();
        if sending.is_all_ready() {
            self.push_gathered(id);
        }
        true
    }

    /// Partitions `low..=high` are ready. If the caller is in a `hurry`, they leave at once, otherwise with others.
    #[inline]
    pub fn ready(&mut self, id: PartitionedId, low: u32, high: u32, hurry: bool) -> Result<(), ReadyError> {
        let sending = self.core.sending(id).ok_or(ReadyError::Inactive)?;
        sending.check(low, high)?;
        sending.mark(low, high);
        let count = u64::from(high - low) + 1;
        self.core.tally(|counters| counters.partitions_ready += count);
        self.go_on(id, hurry);
        Ok(())
    }

    /// The same for a list, of which nothing is ready if anything is wrong.
    pub fn ready_list(&mut self, id: PartitionedId, list: &[u32], hurry: bool) -> Result<(), ReadyError> {
        let sending = self.core.sending(id).ok_or(ReadyError::Inactive)?;
        for (at, &partition) in list.iter().enumerate() {
            sending.check(partition, partition)?;
            // What comes twice in the list itself is found by its first occurrence.
            if list.len() <= 8 && list[..at].contains(&partition) {
                return Err(ReadyError::Twice(partition));
            }
        }
        if list.len() > 8 {
            let mut sorted = list.to_vec();
            sorted.sort_unstable();
            if let Some(pair) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
                return Err(ReadyError::Twice(pair[0]));
            }
        }
        list.iter().for_each(|&partition| sending.mark(partition, partition));
        self.core.tally(|counters| counters.partitions_ready += list.len() as u64);
        self.go_on(id, hurry);
        Ok(())
    }

    /// After partitions have become ready.
    fn go_on(&mut self, id: Id, hurry: bool) {
        let Some(sending) = self.core.sending(id) else { return };
        sending.computes = hurry;
        let now = hurry || sending.is_all_ready() || sending.gathered_bytes >= GATHERED_BYTES_MAX;
        if now {
            let (granted, leaves_work, peer) =
                (sending.is_granted(), sending.leaves_work(), sending.pair.peer);
            if granted {
                self.push_gathered(id);
            }
            // The grant may be there, or an answer to what was sent before. To help with a copy is not for who computes.
            if !granted || !leaves_work || !self.peer_state(peer).limits.get {
                self.poll();
            }
        } else if sending.is_granted() && !std::mem::replace(&mut sending.is_due, true) {
            self.core.actions.push_back(Action::Partitions(id));
        }
    }

    /// Where a partitioned send stands.
    pub fn peek_partitioned_send(&self, id: PartitionedId) -> Round {
        let Some(sending) = self.core.partitioned.as_ref().and_then(|all| all.sends.requests.get(id)) else {
            return Round::None;
        };
        match (sending.is_active, sending.is_over) {
            (false, _) => Round::None,
            (true, false) => Round::Pending,
            (true, true) => {
                let PartitionedPair { context, .. } = sending.pair;
                let context = if sending.fault.is_some() { context } else { 0 };
                Round::Over(Status { context, fault: sending.fault, ..Status::EMPTY })
            }
        }
    }

    /// The same; a round that is over has been asked for.
    pub fn test_partitioned_send(&mut self, id: PartitionedId) -> Round {
        let round = self.peek_partitioned_send(id);
        if let (Round::Over(_), Some(sending)) = (round, self.core.sending(id)) {
            sending.is_active = false;
        }
        round
    }

    /// Frees a partitioned send. False: it is active.
    pub fn free_partitioned_send(&mut self, id: PartitionedId) -> bool {
        let Some(sending) = self.core.sending(id) else { return true };
        if sending.is_active {
            return false;
        }
        let (pair, source, is_met) = (sending.pair, sending.source, sending.receive.is_some());
        self.core.partitioned().sends.remove(&pair, id);
        self.close_pair(pair, source, true, is_met);
        true
    }

    /// How many partitions are ready in this round, and of how many, for a person.
    pub fn ready_partitions(&self, id: PartitionedId) -> Option<(u32, u32)> {
        let sending = self.core.partitioned.as_ref()?.sends.requests.get(id)?;
        Some((sending.ready_count, sending.what.partitions))
    }

    /// Sends what has been gathered, unless it waits for the transport already.
    pub(crate) fn push_gathered(&mut self, id: Id) {
        let Some(sending) = self.core.sending(id) else { return };
        sending.is_due = false;
        if sending.is_queued {
            return;
        }
        let peer = sending.pair.peer;
        let waits = !self.peer_state(peer).backlog.is_empty();
        if waits || self.push_partitions(id).is_err() {
            self.core.enqueue(peer, FifoEntry::Partitions(id));
            self.core.sending(id).into_iter().for_each(|sending| sending.is_queued = true);
        }
    }

    /// Sends gathered runs until none is left or the transport is full.
    pub(crate) fn push_partitions(&mut self, id: Id) -> Result<(), Full> {
        let pushed = self.push_runs(id);
        if let Some(sending) = self.core.sending(id) {
            sending.is_queued = pushed.is_err();
        }
        pushed
    }

    fn push_runs(&mut self, id: Id) -> Result<(), Full> {
        loop {
            let Some(sending) = self.core.sending(id) else { return Ok(()) };
            if !sending.is_granted() || sending.is_over {
                return Ok(());
            }
            let Some((from, until)) = sending.next_range() else { break };
            self.push_run(id, from, until - from)?;
        }
        self.push_end(id)
    }

    /// A send without bytes says that it is ready; any other may be over now.
    fn push_end(&mut self, id: Id) -> Result<(), Full> {
        let Some(sending) = self.core.sending(id) else { return Ok(()) };
        let tells =
            sending.is_active && sending.is_all_ready() && sending.wanted_bytes() == 0 && !sending.told;
        if let (true, Some(receive)) = (tells, sending.receive) {
            let peer = sending.pair.peer;
            self.send_protocol(peer, HeaderKind::PartitionedDone, ExtendedHeader::EMPTY.with_id(receive.id))?;
        }
        let Some(sending) = self.core.sending(id) else { return Ok(()) };
        sending.told |= tells;
        let over = sending.ends();
        self.core.completions += u64::from(over);
        Ok(())
    }

    fn send_protocol(&mut self, peer: Peer, kind: HeaderKind, extended: ExtendedHeader) -> Result<(), Full> {
        self.send_enveloped(peer, kind, &Envelope { context: 0, source: 0, tag: 0 }, &extended)
    }

    /// Sends the first `len` bytes of a run, or what of them one message takes.
    fn push_run(&mut self, id: Id, from: u64, len: u64) -> Result<(), Full> {
        let Some(sending) = self.core.sending(id) else { return Ok(()) };
        let (peer, Some(receive)) = (sending.pair.peer, sending.receive) else { return Ok(()) };
        let (buf, leaves_work) = (sending.what.buf.clone(), sending.leaves_work());
        let may_put = !sending.puts_fail && !leaves_work;
        let (route, len) = self.part_route(peer, &buf, receive.addr != 0, leaves_work, len);
        let is_offered = matches!(route, PartRoute::Offered);
        let kept = if may_put && is_offered { self.own_half(peer, len) } else { 0 };
        match route {
            PartRoute::Offered if kept > 0 => {
                self.push_offer(id, peer, &buf, receive.id, from, len - kept)?;
                self.put_part(id, peer, &buf, &receive, from + len - kept, kept);
            }
            PartRoute::Offered => self.push_offer(id, peer, &buf, receive.id, from, len)?,
            PartRoute::ZeroCopy => self.push_zero_copy(id, peer, &buf, receive.id, from, len)?,
            PartRoute::Copied => self.push_copied(id, peer, &buf, receive.id, from, len)?,
        }
        // What is put is counted when it has been: otherwise it goes once more.
        self.core.count_part(peer, is_offered, len - kept);
        if let Some(sending) = self.core.sending(id) {
            sending.taken(len);
        }
        Ok(())
    }

    /// How a run leaves, and how much of it at once. The receive is there already, so no round trip is needed where the transport
    /// copies anyway. Where the receiver can do the work of a sender who `leaves_work`, it does.
    fn part_route(
        &mut self,
        peer: Peer,
        buf: &UserBuf,
        contiguous: bool,
        leaves_work: bool,
        len: u64,
    ) -> (PartRoute, u64) {
        let is_contiguous = buf.as_contiguous().is_some();
        let zero_copy_bytes =
            if is_contiguous { self.transport.zero_copy_fragment_bytes_max(peer) } else { 0 };
        let state = self.peer_state(peer);
        let limits = state.limits;
        let at_once = u64::from(state.eager_bytes_max).min(limits.eager_bytes_max as u64);
        let can_offer = is_contiguous && contiguous && (limits.get || limits.put || limits.cooperative_copy);
        let is_left = leaves_work && limits.get && len >= LEFT_BYTES_MIN;
        if can_offer && (len > at_once || is_left) {
            return (PartRoute::Offered, len);
        }
        if len <= at_once {
            return (PartRoute::Copied, len);
        }
        let (route, most) = match zero_copy_bytes {
            0 => (PartRoute::Copied, limits.eager_bytes_max),
            _ => (PartRoute::ZeroCopy, zero_copy_bytes),
        };
        (route, len.min(most.clamp(1, FRAGMENT_BYTES_MAX) as u64))
    }

    /// How much of an offered run this side had better put itself: the end of a short one that both would copy. To agree on chunks
    /// takes a message there and back, for which a program that makes partitions ready has not waited. The receiver gets the
    /// rest alone, for it is too short to be copied by both once more.
    fn own_half(&mut self, peer: Peer, len: u64) -> u64 {
        let limits = self.peer_state(peer).limits;
        let settings = &self.core.settings;
        let cooperative = settings.cooperative_bytes_min as u64;
        let can = limits.get && limits.put && limits.cooperative_copy && !limits.prefers_send;
        let both = can && len >= cooperative && len <= cooperative.saturating_mul(2);
        let half = (len / 2 / HALVED_TO_BYTES + 1) * HALVED_TO_BYTES;
        if both && half < len && settings.rendezvous == Rendezvous::Auto { half } else { 0 }
    }

    /// Puts a part in its place in the receive buffer, and says so.
    fn put_part(&mut self, id: Id, peer: Peer, buf: &UserBuf, to: &PartitionTarget, from: u64, len: u64) {
        let Some(section) = buf.section(from as usize, len as usize) else { return };
        let request = self.begin_part(id, peer, &section, from, RequestState::Transfers { answer: None });
        if let Some(request) = self.core.requests.get_mut(request) {
            request.pattern.tag = TAG_OF_PUT;
        }
        self.core.part_begun(id);
        let into = Remote { addr: to.addr.wrapping_add(from), len };
        match self.transport.put(peer, &section, into, crate::request::token(request)) {
            Transfer::Pending => return,
            Transfer::Done => {}
            Transfer::Failed(error) => {
                if let Some(request) = self.core.requests.get_mut(request) {
                    request.status.fault = Some(MessageFault::Transfer(error));
                }
            }
        }
        self.core.complete(request);
    }

    fn push_copied(
        &mut self,
        id: Id,
        peer: Peer,
        buf: &UserBuf,
        to: Id,
        from: u64,
        len: u64,
    ) -> Result<(), Full> {
        match self.transmit(peer, part(buf, to, from, len)) {
            Ok(()) => Ok(()),
            Err(full) => {
                let error = self.transport.take_bad_send(peer).ok_or(full)?;
                if let Some(sending) = self.core.sending(id) {
                    sending.fault = Some(MessageFault::Transfer(error));
                }
                Ok(())
            }
        }
    }

    fn push_zero_copy(
        &mut self,
        id: Id,
        peer: Peer,
        buf: &UserBuf,
        to: Id,
        from: u64,
        len: u64,
    ) -> Result<(), Full> {
        let request = self.begin_part(id, peer, buf, from, RequestState::Transfers { answer: None });
        let done = Some(crate::request::token(request));
        if let Err(full) = self.transport.send_zero_copy(peer, &part(buf, to, from, len), done) {
            self.core.requests.remove(request);
            return Err(full);
        }
        self.core.part_begun(id);
        Ok(())
    }

    fn push_offer(
        &mut self,
        id: Id,
        peer: Peer,
        buf: &UserBuf,
        to: Id,
        from: u64,
        len: u64,
    ) -> Result<(), Full> {
        let Some(section) = buf.section(from as usize, len as usize) else { return Ok(()) };
        let addr = section.as_contiguous().map_or(0, |(addr, _)| addr as u64);
        let request = self.begin_part(id, peer, &section, from, RequestState::AwaitsReady);
        let offer = Offer { sender: request, len, addr, signature: 0 };
        let extended = PartOffer { receiver: to, offset: from, offer }.extended();
        if let Err(full) = self.send_protocol(peer, HeaderKind::PartitionOffer, extended) {
            self.core.requests.remove(request);
            return Err(full);
        }
        self.core.part_begun(id);
        Ok(())
    }

    /// A request for a part of a send.
    fn begin_part(&mut self, owner: Id, peer: Peer, buf: &UserBuf, offset: u64, state: RequestState) -> Id {
        let pattern = Pattern { context: offset, source: 0, tag: 0 };
        let (id, request) = self.core.requests.occupy();
        request.begin(state, pattern, buf.clone(), 0);
        (request.peer, request.owner) = (peer, RequestOwner::PartitionedSend(owner));
        id
    }
}

/// Marks the request of a part that this side puts itself.
const TAG_OF_PUT: i32 = 1;

/// A message with bytes of a partitioned send.
fn part(buf: &UserBuf, to: Id, from: u64, len: u64) -> Am<'_> {
    let header =
        Header { kind: HeaderKind::Partition as u8, context: from, source: to.raw(), ..Header::default() };
    Am { header, extended: &[], body: buf, offset: from as usize, len: len as usize }
}

impl EngineCore {
    fn sending(&mut self, id: Id) -> Option<&mut Sending> {
        self.partitioned.as_mut()?.sends.requests.get_mut(id)
    }

    fn part_begun(&mut self, id: Id) {
        if let Some(sending) = self.sending(id) {
            sending.under_way += 1;
        }
    }

    /// A part has been read.
    pub(super) fn part_sent(&mut self, owner: Id, part: &EngineRequest) {
        let Some(sending) = self.sending(owner) else { return };
        sending.under_way = sending.under_way.saturating_sub(1);
        if part.pattern.tag == TAG_OF_PUT {
            return self.part_put(owner, part);
        }
        sending.fault = sending.fault.or(fault_of(part));
        let over = sending.ends();
        self.completions += u64::from(over);
    }

    /// A part has been put, or could not be: then it goes as others do.
    fn part_put(&mut self, owner: Id, part: &EngineRequest) {
        let Some(sending) = self.sending(owner) else { return };
        let (offset, len, peer) = (part.pattern.context, part.buf.len() as u64, part.peer);
        if fault_of(part).is_some() {
            sending.puts_fail = true;
            sending.gather(offset, offset + len);
            return self.actions.push_back(Action::Partitions(owner));
        }
        let over = sending.ends();
        let receive = sending.receive;
        self.count_part(peer, true, len);
        if let Some(PartitionTarget { id, .. }) = receive {
            let extended = PartPut { receiver: id, offset, len }.extended();
            self.actions.push_back(Action::Control { peer, kind: HeaderKind::PartitionPut, extended });
        }
        self.completions += u64::from(over);
    }

    /// A receive has started for the first time.
    pub(crate) fn partitioned_open(&mut self, from: Peer, header: &Header, payload: &[u8]) {
        let Some(open) = Open::parse(payload) else { return };
        let Header { context, tag, .. } = *header;
        let pair = PartitionedPair { peer: from, context, tag, number: open.number };
        let all = self.partitioned();
        match all.sends.by_pair.get(&pair) {
            Some(&id) => self.bind(id, &open),
            // Made later, or freed: then the receiver has been told.
            None => {
                let made = all.sends.made.get(&(from, context, tag)).copied().unwrap_or(0);
                if open.number >= made && all.opened.len() < UNMADE_MAX {
                    all.opened.insert(pair, open);
                }
            }
        }
    }

    /// A send has met its receive.
    fn bind(&mut self, id: Id, open: &Open) {
        let Some(sending) = self.sending(id).filter(|sending| sending.receive.is_none()) else { return };
        let Open { receiver, room, addr, .. } = *open;
        sending.receive = Some(PartitionTarget { id: receiver, room, addr });
        let (peer, total) = (sending.pair.peer, sending.what.buf.len() as u64);
        let bound = Bound { sender: id, receiver, total, signature: sending.what.signature };
        self.actions.push_back(Action::Control {
            peer,
            kind: HeaderKind::PartitionedBound,
            extended: bound.extended(),
        });
        self.grant(id);
    }

    /// The receive has started again.
    pub(crate) fn partitioned_start(&mut self, from: Peer, payload: &[u8]) {
        let Some(id) = ExtendedHeaderReader(payload).id() else { return };
        if self.sending(id).is_some_and(|sending| sending.pair.peer == from && sending.receive.is_some()) {
            self.grant(id);
        }
    }

    /// One more round may be sent. (An honest receiver is never more than one ahead.)
    fn grant(&mut self, id: Id) {
        let Some(sending) = self.sending(id) else { return };
        sending.granted = (sending.granted + 1).min(sending.started + 1);
        self.actions.push_back(Action::Partitions(id));
    }
}

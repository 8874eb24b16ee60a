//! The two sides of a message that is read from its sender's memory.

use std::ops::Range;

use tern_libfabric::{LibfabricError, Region, RemoteMemory};

use super::exposed::{HeldPacket, OFFER_BYTES, OfferPayload, Offered, RemoteRead};
use super::packet::{HEAD_BYTES, OfiPacketKind};
use super::provider::is_shared_memory;
use super::reads::OfiReader;
use super::transport::{Ofi, OfiArrivals};
use crate::limits::*;
use tern_mem::UserBuf;
use tern_transport::am::AM_INLINE_BYTES_MAX;
use tern_transport::{Am, Full, Header, Landing, Peer, Sink, Token, TransferError};

/// What the receiver of an exposure says when it gives it back.
const WELL: u8 = 0;
const FAILED: u8 = 1;

/// Writes the payload of an offer, with so many of the message's bytes. How long it is.
fn write_offer(to: &mut [u8], offered: &Offered, am: &Am<'_>, riding: usize) -> usize {
    let (own, rest) = to.split_at_mut(OFFER_BYTES);
    let (extended, body) = rest.split_at_mut(am.extended.len());
    own.copy_from_slice(&offered.bytes());
    extended.copy_from_slice(am.extended);
    am.body.read(am.offset, &mut body[..riding]);
    OFFER_BYTES + am.extended.len() + riding
}

/// The sender's side.
impl Ofi {
    /// Bytes that may be exposed at once to a peer whose endpoint is known.
    pub(crate) fn exposed_bytes_max(&self, peer: Peer) -> usize {
        let most = if self.is_shared_memory() { OFI_SHARED_READ_BYTES_MAX } else { OFI_READ_BYTES_MAX };
        match self.has_address(peer) && self.refused.is_none() {
            true => self.endpoint.read_bytes_max().min(most),
            false => 0,
        }
    }

    pub(crate) fn send_exposed(&mut self, peer: Peer, am: &Am<'_>, done: Option<Token>) -> Result<(), Full> {
        let run = am.body.contiguous_at(am.offset, am.len);
        let (Some(start), true) = (run, HEAD_BYTES + am.payload_len() > self.endpoint.packet_bytes_max())
        else {
            tern_transport::Transport::send(self, peer, am)?;
            if done.is_some() {
                self.exposed.entry(peer).or_default().copied(done);
                self.has_ends = true;
            }
            return Ok(());
        };
        let way = self.way(peer).ok_or(Full)?.marked(OfiPacketKind::Offer);
        let room = self.part_bytes_max().saturating_sub(OFFER_BYTES + am.extended.len());
        let (first, riding) = self.first_bytes(am.len, room);
        if self.free.len() < 1 + self.packets_of(first - riding) {
            return Err(Full);
        }
        let slot = self.free.pop().ok_or(Full)?;
        let region = if first < am.len {
            // SAFETY: the body stays as it is until the exposure ends, which is the promise of whoever exposes it. `first` is within it.
            match unsafe { self.endpoint.expose(start.add(first), am.len - first) } {
                Ok(region) => Some(region),
                Err(error) => {
                    self.free.push(slot);
                    self.refuse(peer, error);
                    return Err(Full);
                }
            }
        } else {
            None
        };
        let place = region.as_ref().map_or(RemoteMemory { start: 0, key: 0 }, Region::place);
        let (first_bytes, extended) = (first as u32, am.extended.len() as u32);
        let offered = Offered { place, len: am.len as u64, first: first_bytes, extended };
        let packet = self.endpoint.slot(slot);
        super::packet::write_head(packet, way.head(), self.me, &am.header);
        let len = HEAD_BYTES + write_offer(&mut packet[HEAD_BYTES..], &offered, am, riding);
        let taken = self.endpoint.send(way.to, slot, len);
        self.taken(peer, taken).inspect_err(|Full| self.free.push(slot))?;
        self.links[peer as usize].was_sent_to = true;
        self.send_parts(peer, am, riding..first);
        let exposed = self.exposed.entry(peer).or_default();
        match region {
            Some(region) => exposed.expose(region, done),
            None => exposed.copied(done),
        }
        self.has_ends |= first == am.len;
        Ok(())
    }

    /// How many bytes of an offered message go in packets, and how many of these ride in the offer, which has room for so many. Where the
    /// rest is read, none ride: the sooner the offer is there, the sooner the read begins. In shared memory both packets are as long, so
    /// that each side copies one while the other copies the other.
    fn first_bytes(&self, len: usize, room: usize) -> (usize, usize) {
        let (whole, part, ride_max) = match self.is_shared_memory() {
            true => (OFI_SHARED_WHOLE_BYTES_MAX, 0, if len > room { len.div_ceil(2) } else { len }),
            false => (OFI_WHOLE_BYTES_MAX, len.min(self.part_bytes_max()), len),
        };
        // Where there are few slots, other messages need them.
        let has_slots = |beside: usize| self.packets_of(beside) < self.slots / 2;
        let riding = ride_max.min(room);
        match len <= whole && has_slots(len - riding) {
            true => (len, riding),
            false if has_slots(part) => (part, 0),
            false => (0, 0),
        }
    }

    fn is_shared_memory(&self) -> bool {
        is_shared_memory(self.endpoint.provider())
    }

    fn packets_of(&self, bytes: usize) -> usize {
        bytes.div_ceil(self.part_bytes_max())
    }

    fn part_bytes_max(&self) -> usize {
        self.endpoint.packet_bytes_max() - HEAD_BYTES
    }

    /// Sends further bytes of a message that was offered. There are slots for them. Each packet has its number, so those that the provider
    /// does not take now may go behind others.
    fn send_parts(&mut self, peer: Peer, am: &Am<'_>, bytes: Range<usize>) {
        let most = self.part_bytes_max();
        for at in bytes.clone().step_by(most) {
            let (Some(way), Some(slot)) = (self.way(peer), self.free.pop()) else { return };
            let (header, len) = (Header::default(), most.min(bytes.end - at));
            let packet = self.endpoint.slot(slot);
            super::packet::write_head(packet, way.marked(OfiPacketKind::Part).head(), self.me, &header);
            am.body.read(am.offset + at, &mut packet[HEAD_BYTES..HEAD_BYTES + len]);
            let link = &mut self.links[peer as usize];
            link.sent = link.sent.wrapping_add(1);
            self.late.push_back((peer, slot, HEAD_BYTES + len));
            self.send_late();
        }
        self.has_ends |= !self.late.is_empty();
    }

    /// Sends packets that have their numbers already, as far as the provider takes them.
    pub(super) fn send_late(&mut self) {
        while let Some(&(peer, slot, len)) = self.late.front() {
            let Some(to) = self.links[peer as usize].address else { return };
            match self.endpoint.send(to, slot, len) {
                Ok(true) => self.counters.sent += 1,
                Ok(false) => return,
                Err(error) => {
                    self.free.push(slot);
                    self.lose_later(peer, format!("rank {peer} cannot be sent to: {error}"));
                }
            }
            self.late.pop_front();
        }
    }

    /// Memory could not be made known: from now on messages are copied. What cannot be copied ends the job.
    #[cold]
    fn refuse(&mut self, peer: Peer, error: LibfabricError) {
        match self.refused.take() {
            None => self.refused = Some(error.to_string()),
            Some(why) => {
                let advice = "perhaps 'ulimit -l' allows too little locked memory";
                self.lose(peer, format!("memory cannot be exposed to rank {peer}: {why}; {advice}"));
                self.refused = Some(why);
            }
        }
    }

    /// Tells the engine of exposures that have ended.
    #[cold]
    pub(super) fn tell_ends(&mut self, sink: &mut impl Sink) {
        self.has_ends = !self.late.is_empty();
        for exposed in self.exposed.values_mut() {
            while let Some((token, is_well)) = exposed.next_end() {
                let result = if is_well { Ok(()) } else { Err(TransferError::PeersMemory) };
                token.into_iter().for_each(|token| sink.done(token, result));
            }
        }
        self.exposed.retain(|_, exposed| !exposed.is_empty());
    }
}

/// The receiver's side, while packets are taken.
impl<S: Sink> OfiArrivals<'_, S> {
    /// Keeps what has come behind a message that is still being read.
    #[cold]
    pub(super) fn hold(&mut self, from: Peer, held: HeldPacket) {
        self.inbound.entry(from).or_default().held.push_back(held);
    }

    /// A peer exposes the body of a message.
    #[cold]
    pub(super) fn take_offer(&mut self, from: Peer, header: Header, payload: &[u8]) {
        if self.links[from as usize].is_held {
            return self.hold(from, HeldPacket::Offer(header, payload.into()));
        }
        self.begin(from, header, payload);
        self.go_on(from);
    }

    /// Asks for the place of an exposed message.
    fn begin(&mut self, from: Peer, header: Header, payload: &[u8]) {
        let Some(OfferPayload { offered, extended, riding }) = OfferPayload::parse(payload) else {
            self.counters.unproven += 1;
            return;
        };
        let total = (offered.len as usize).saturating_add(extended.len());
        let (token, place) = match self.sink.header(from, &header, total) {
            Landing::Nothing => (None, (UserBuf::empty(), 0, 0)),
            Landing::Place { buf, offset, len, token, .. } => {
                let before = extended.len().min(len);
                buf.write(offset, &extended[..before]);
                (Some(token), (buf, offset + before, len.min(total) - before))
            }
        };
        let mut reading = RemoteRead::new(offered, token, place);
        reading.take_part(riding);
        if reading.has_to_read() {
            self.unread.push(from);
        }
        self.links[from as usize].is_held = true;
        self.inbound.entry(from).or_default().reading = Some(reading);
    }

    /// Further bytes of what a peer has offered. Those of an offer that is held back are held back as well.
    #[cold]
    pub(super) fn take_part(&mut self, from: Peer, part: &[u8]) {
        let reading = self.inbound.get_mut(&from).and_then(|inbound| inbound.reading.as_mut());
        match reading {
            Some(reading) if reading.lacks_parts() => {
                reading.take_part(part);
                self.go_on(from);
            }
            Some(_) => self.hold(from, HeldPacket::Part(part.into())),
            None => self.counters.unproven += 1,
        }
    }

    /// A message has been read, or cannot be.
    pub(super) fn finish(&mut self, from: Peer, is_well: bool) {
        if let Some(reading) = self.inbound.get_mut(&from).and_then(|inbound| inbound.reading.as_mut()) {
            reading.end_read(is_well);
            self.go_on(from);
        }
    }

    /// If all of a message has come, what was held back comes next, up to what has not come yet.
    fn go_on(&mut self, from: Peer) {
        while let Some(inbound) = self.inbound.get_mut(&from) {
            if let Some(reading) = inbound.reading.take_if(|reading| reading.is_over()) {
                self.conclude(from, reading);
                continue;
            }
            let next = match &mut inbound.reading {
                None => inbound.held.pop_front(),
                Some(reading) => {
                    let is_due =
                        reading.lacks_parts() && inbound.held.front().is_some_and(HeldPacket::is_part);
                    if !is_due {
                        return;
                    }
                    if let Some(HeldPacket::Part(part)) = inbound.held.pop_front() {
                        reading.take_part(&part);
                    }
                    continue;
                }
            };
            match next {
                Some(HeldPacket::Packet(header, payload)) => self.hand_over(from, &header, &payload),
                Some(HeldPacket::Offer(header, payload)) => self.begin(from, header, &payload),
                Some(HeldPacket::Part(_)) => self.counters.unproven += 1,
                None => {
                    self.inbound.remove(&from);
                }
            }
        }
    }

    /// All of a message has come, or cannot come.
    fn conclude(&mut self, from: Peer, reading: RemoteRead) {
        let is_exposed = reading.offered.is_exposed();
        let (token, is_well) = reading.land();
        match token {
            Some(token) if is_well => self.sink.landed(from, token),
            Some(token) => self.sink.spoiled(from, token, TransferError::PeersMemory),
            None => {}
        }
        if is_exposed {
            self.returns.push((from, if is_well { WELL } else { FAILED }));
        }
        self.links[from as usize].is_held = false;
    }

    /// Hands a message to the engine.
    #[inline]
    pub(super) fn hand_over(&mut self, from: Peer, header: &Header, payload: &[u8]) {
        if payload.len() <= AM_INLINE_BYTES_MAX {
            self.sink.short(from, header, payload);
        } else if let Landing::Place { buf, offset, len, token, .. } =
            self.sink.header(from, header, payload.len())
        {
            buf.write(offset, &payload[..len.min(payload.len())]);
            self.sink.landed(from, token);
        }
    }
}

/// The receiver's side, between packets.
impl Ofi {
    /// Begins the reads that are due, as far as there is room for them.
    #[cold]
    pub(super) fn begin_reads(&mut self) {
        for from in std::mem::take(&mut self.unread) {
            if !self.begin_read(from) {
                self.unread.push(from);
            }
        }
    }

    fn begin_read(&mut self, from: Peer) -> bool {
        let (Some(way), Some(slot)) = (self.way(from), self.read_slots.last().copied()) else {
            return false;
        };
        let Some(reading) = self.inbound.get_mut(&from).and_then(|inbound| inbound.reading.as_mut()) else {
            return true;
        };
        let (place, (target, len)) = (reading.offered.place, reading.target());
        // SAFETY: the place is the engine's until the message has landed, or the reading's own. The slot is free.
        match unsafe { self.endpoint.read(slot, (way.to, place), target, len) } {
            Ok(true) => {
                self.read_slots.pop();
                self.readers[slot] = Some(OfiReader { peer: from, token: None });
                true
            }
            Ok(false) => false,
            Err(_) => {
                self.read_ends.push((from, false));
                true
            }
        }
    }

    /// Gives exposures back.
    #[cold]
    pub(super) fn give_back(&mut self) {
        let mut returns = std::mem::take(&mut self.returns);
        let mut given = 0;
        for &(peer, status) in &returns {
            if self.give_one_back(peer, status).is_err() {
                break;
            }
            given += 1;
        }
        returns.drain(..given);
        self.returns = returns;
    }

    fn give_one_back(&mut self, peer: Peer, status: u8) -> Result<(), Full> {
        let way = self.way(peer).ok_or(Full)?.marked(OfiPacketKind::Return);
        let (header, body) = (Header { flags: status, ..Header::default() }, UserBuf::empty());
        let am = Am { header, extended: &[], body: &body, offset: 0, len: 0 };
        self.send_slot(peer, way, &am)?;
        self.links[peer as usize].was_sent_to = true;
        Ok(())
    }

    /// A peer gives the oldest exposure back.
    pub(super) fn is_well(header: &Header) -> bool {
        header.flags == WELL
    }
}

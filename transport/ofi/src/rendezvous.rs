//! The two sides of a message that is read from its sender's memory.

use tern_libfabric::LibfabricError;

use super::exposed::{HeldPacket, OFFER_BYTES, Offered, RemoteRead};
use super::packet::{HEAD_BYTES, OfiPacketKind};
use super::reads::OfiReader;
use super::transport::{Ofi, OfiArrivals};
use crate::limits::OFI_READ_BYTES_MAX;
use tern_mem::UserBuf;
use tern_transport::am::AM_INLINE_BYTES_MAX;
use tern_transport::{Am, Full, Header, Landing, Peer, Sink, Token, TransferError};

/// What the receiver of an exposure says when it gives it back.
const WELL: u8 = 0;
const FAILED: u8 = 1;

/// The sender's side.
impl Ofi {
    /// Bytes that may be exposed at once to a peer whose endpoint is known.
    pub(crate) fn exposed_bytes_max(&self, peer: Peer) -> usize {
        match self.has_address(peer) && self.refused.is_none() {
            true => self.endpoint.read_bytes_max().min(OFI_READ_BYTES_MAX),
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
        let slot = self.free.pop().ok_or(Full)?;
        // SAFETY: the body stays as it is until the exposure ends, which is the promise of whoever exposes it.
        let region = match unsafe { self.endpoint.expose(start, am.len) } {
            Ok(region) => region,
            Err(error) => {
                self.free.push(slot);
                self.refuse(peer, error);
                return Err(Full);
            }
        };
        let offered = Offered { place: region.place(), len: am.len as u64 };
        let len = HEAD_BYTES + OFFER_BYTES + am.extended.len();
        let packet = self.endpoint.slot(slot);
        super::packet::write_head(packet, way.head(), self.me, &am.header);
        packet[HEAD_BYTES..HEAD_BYTES + OFFER_BYTES].copy_from_slice(&offered.bytes());
        packet[HEAD_BYTES + OFFER_BYTES..len].copy_from_slice(am.extended);
        let taken = self.endpoint.send(way.to, slot, len);
        self.taken(peer, taken).inspect_err(|Full| self.free.push(slot))?;
        self.links[peer as usize].was_sent_to = true;
        self.exposed.entry(peer).or_default().expose(region, done);
        Ok(())
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
        self.has_ends = false;
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
    }

    /// Asks for the place of an exposed message.
    fn begin(&mut self, from: Peer, header: Header, payload: &[u8]) {
        let Some((offered, extended)) = Offered::parse(payload) else {
            self.counters.unproven += 1;
            return;
        };
        let total = (offered.len as usize).saturating_add(extended.len());
        match self.sink.header(from, &header, total) {
            Landing::Nothing => self.returns.push((from, WELL)),
            Landing::Place { buf, offset, len, token } => {
                let before = extended.len().min(len);
                buf.write(offset, &extended[..before]);
                let place = (buf, offset + before, len.min(total) - before);
                self.inbound.entry(from).or_default().reading = Some(RemoteRead::new(offered, token, place));
                self.links[from as usize].is_held = true;
                self.unread.push(from);
            }
        }
    }

    /// A message has been read, or cannot be: what was held back comes next, up to the next one that has to be read.
    pub(super) fn finish(&mut self, from: Peer, is_well: bool) {
        let Some(mut reading) = self.inbound.get_mut(&from).and_then(|inbound| inbound.reading.take()) else {
            return;
        };
        if is_well {
            reading.land();
            self.sink.landed(from, reading.token);
        } else {
            self.sink.spoiled(from, reading.token, TransferError::PeersMemory);
        }
        self.returns.push((from, if is_well { WELL } else { FAILED }));
        self.links[from as usize].is_held = false;
        while !self.links[from as usize].is_held {
            let next = self.inbound.get_mut(&from).and_then(|inbound| inbound.held.pop_front());
            match next {
                Some(HeldPacket::Packet(header, payload)) => self.hand_over(from, &header, &payload),
                Some(HeldPacket::Offer(header, payload)) => self.begin(from, header, &payload),
                None => break,
            }
        }
        if self.inbound.get(&from).is_some_and(super::exposed::OfiInbound::is_empty) {
            self.inbound.remove(&from);
        }
    }

    /// Hands a message to the engine.
    #[inline]
    pub(super) fn hand_over(&mut self, from: Peer, header: &Header, payload: &[u8]) {
        if payload.len() <= AM_INLINE_BYTES_MAX {
            self.sink.short(from, header, payload);
        } else if let Landing::Place { buf, offset, len, token } =
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
        if reading.len == 0 {
            self.read_ends.push((from, true));
            return true;
        }
        let (place, len, target) = (reading.offered.place, reading.len, reading.target());
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

//! [`Ofi`]: the transport of one rank to its peers over libfabric.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tern_libfabric::{Completions, Endpoint, EndpointEvent, Region, RemoteEndpoint};
use tern_mem::UserBuf;

use super::endpoint_address::OfiEndpointAddress;
use super::error::OfiError;
use super::exposed::{ExposedRegions, HeldPacket, OfiInbound};
use super::limits::*;
use super::overtaking::{OvertakingPacket, OvertakingPackets};
use super::packet::{self, HEAD_BYTES, OfiPacket, OfiPacketKind};
use super::provider::{HostAnswer, ProviderChoice, is_sockets, polls_the_kernel};
use super::reads::{OfiReader, OfiReads};
use super::windows::WindowAccess;
use tern_transport::directory::Directory;
use tern_transport::fingerprint::{FINGERPRINT_BYTES, SettingsFingerprint};
use tern_transport::socket_bell::SocketBell;
use tern_transport::{
    Am, Doorbell, Failure, Full, Header, Limits, Peer, Sink, Token, Transport, WindowMemory,
};

/// Packets of a rank since its start.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct OfiCounters {
    /// Taken by the provider.
    pub sent: u64,
    /// Come from ranks of the job.
    pub received: u64,
    /// Dropped, since they did not have the token of their sender.
    pub unproven: u64,
    /// Dropped, since they had come before.
    pub repeated: u64,
    /// Accesses to peers' windows that went without a message.
    pub windows: u64,
}

/// The providers whose reads of memory are not used. In release 1.17 reads may stall for ever while messages still come. With `sockets` the
/// connection closes its window (`OFI_SOCKETS_SENDS`). With the other one, on UDP, all that was pending in two stalled jobs was a read.
const STALLING: [&str; 2] = ["sockets", "udp;ofi_rxd"];

/// What is known of a rank.
#[derive(Clone, Copy, Default)]
pub(super) struct OfiPeer {
    was_asked: bool,
    /// Packets have gone to it since this rank last said that no more will.
    pub(super) was_sent_to: bool,
    /// This rank has said so, and it has not said that it has all of them.
    pub(super) owes_answer: bool,
    /// Packets have come from it since it last said that no more will, and whether it has said so since this rank came (back).
    pub(super) has_sent: bool,
    pub(super) has_ended: bool,
    /// A message of it is being read, and what comes behind that has to wait.
    pub(super) is_held: bool,
    /// It has no endpoint that this one reaches, and is reached by sockets.
    is_elsewhere: bool,
    /// Its endpoint.
    pub(super) address: Option<RemoteEndpoint>,
    /// Of this rank's packets to it, once there is an address.
    token: u64,
    /// Of its packets to this rank, once one has come.
    expected: Option<u64>,
    /// Packets to it that the provider has taken, and packets of it that have come.
    pub(super) sent: u32,
    received: u32,
}

/// What the next packet to a peer needs.
#[derive(Clone, Copy)]
pub(super) struct OfiWay {
    pub(super) to: RemoteEndpoint,
    token: u64,
    sequence: u32,
}

impl OfiWay {
    /// For a packet that is not a message.
    pub(super) fn marked(self, kind: OfiPacketKind) -> OfiWay {
        OfiWay { token: self.token ^ kind.mark(), ..self }
    }

    /// What the packet's head begins with.
    #[inline]
    pub(super) fn head(&self) -> (u64, u32) {
        (self.token, self.sequence)
    }
}

/// An endpoint of which nobody knows yet.
pub struct Opened {
    endpoint: Endpoint,
    settings: SettingsFingerprint,
    is_forced: bool,
}

impl Opened {
    /// Opens one. Unless this way `is_forced`, ranks that have none are reached by another one. With `host`, one rank of the host tries
    /// the library for all.
    pub fn new(
        choice: impl Into<ProviderChoice>,
        settings: SettingsFingerprint,
        is_forced: bool,
        host: &HostAnswer,
    ) -> Result<Opened, OfiError> {
        Ok(Opened { endpoint: choice.into().open(is_forced, host)?, settings, is_forced })
    }

    /// Its provider, for a person.
    pub fn described(&self) -> &str {
        self.endpoint.provider()
    }

    /// What others have to know of it.
    pub fn bytes(&self) -> Result<Vec<u8>, OfiError> {
        let own = OfiEndpointAddress::new(self.endpoint.provider(), &self.settings, self.endpoint.address());
        own.bytes().ok_or(OfiError::TooLong)
    }
}

/// The transport of one rank over libfabric.
pub struct Ofi {
    pub(super) me: Peer,
    secret: [u8; 32],
    settings: SettingsFingerprint,
    /// Memory of windows that peers may read and write. It goes before the endpoint.
    pub(super) windows: Vec<Region>,
    /// Memory that peers may read; some of it they have. It goes before the endpoint.
    pub(super) exposed: HashMap<Peer, ExposedRegions>,
    pub(super) endpoint: Endpoint,
    /// Peers that have no such endpoint are an error.
    is_forced: bool,
    directory: Box<dyn Directory>,
    pub(super) links: Vec<OfiPeer>,
    /// Ranks whose answer has not come.
    asked: u32,
    /// Slots of which no packet is on its way, and all there are.
    pub(super) free: Vec<usize>,
    pub(super) slots: usize,
    /// Packets that have their numbers, and that the provider has not taken: to whom, the slot, bytes.
    pub(super) late: VecDeque<(Peer, usize, usize)>,
    /// Bytes of a packet that needs no slot.
    inject_bytes_max: usize,
    pub(super) has_ends: bool,
    /// Why no memory is exposed, or no more is.
    pub(super) refused: Option<String>,
    /// What is being read, and who waits for a read to begin.
    pub(super) inbound: HashMap<Peer, OfiInbound>,
    pub(super) unread: Vec<Peer>,
    /// Reads that may be begun, and whose each is that is under way; reads that have ended.
    pub(super) read_slots: Vec<usize>,
    pub(super) readers: Vec<Option<OfiReader>>,
    pub(super) read_ends: Vec<(Peer, bool)>,
    /// Accesses to peers' windows that have ended.
    pub(super) window_ends: Vec<(Token, bool)>,
    /// Peers whose memory has been read, who are to be told, and how that ended.
    pub(super) returns: Vec<(Peer, u8)>,
    bell: Arc<SocketBell>,
    /// The next sleep, if the provider has no descriptor.
    blind_sleep: Duration,
    /// Ranks that send nothing more, and wait to hear that all has come.
    pub(super) unanswered: Vec<Peer>,
    /// Peers that are to be told that this rank sends nothing more, and until when it waits for their answers, while it goes.
    pub(super) untold: Vec<Peer>,
    pub(super) goes_until: Option<Instant>,
    overtaking: OvertakingPackets,
    pub(super) counters: OfiCounters,
    /// What ends the job, and when.
    pub(super) lost: Option<(Failure, Instant)>,
}

impl Ofi {
    /// Over an endpoint that is open, and that the others find in the directory. `me` of `size` ranks, all of which have `secret` and
    /// the same settings. Sleepers on `bell` hear of it.
    pub fn new(
        (me, size, secret): (Peer, u32, [u8; 32]),
        opened: Opened,
        directory: Box<dyn Directory>,
        bell: Arc<SocketBell>,
    ) -> Ofi {
        let Opened { endpoint, settings, is_forced } = opened;
        let reads = endpoint.reads_max();
        let (slots, inject_bytes_max) = packets_at_once(&endpoint, size);
        let provider = endpoint.provider();
        let refused = STALLING.contains(&provider).then(|| format!("provider {provider} stalls"));
        [endpoint.fd(), directory.fd()].into_iter().flatten().for_each(|fd| bell.watch(fd, false));
        Ofi {
            me,
            secret,
            settings,
            endpoint,
            is_forced,
            directory,
            links: vec![OfiPeer::default(); size as usize],
            asked: 0,
            free: (0..slots).collect(),
            slots,
            late: VecDeque::new(),
            inject_bytes_max,
            exposed: HashMap::new(),
            has_ends: false,
            refused,
            inbound: HashMap::new(),
            unread: Vec::new(),
            read_slots: (0..reads).collect(),
            readers: vec![None; reads],
            read_ends: Vec::new(),
            window_ends: Vec::new(),
            windows: Vec::new(),
            returns: Vec::new(),
            bell,
            blind_sleep: OFI_BLIND_SLEEP_MIN,
            unanswered: Vec::new(),
            untold: Vec::new(),
            goes_until: None,
            overtaking: OvertakingPackets::default(),
            counters: OfiCounters::default(),
            lost: None,
        }
    }

    /// The provider.
    pub fn provider(&self) -> &str {
        self.endpoint.provider()
    }

    /// A peer that cannot be reached, and why: the job cannot go on.
    pub fn failure(&self) -> Option<&Failure> {
        self.lost.as_ref().filter(|(_, since)| *since <= Instant::now()).map(|(failure, _)| failure)
    }

    /// Whether a peer may be sent to: false if it is reached by sockets. Nobody knows that of a peer that was never asked for.
    #[inline]
    pub fn serves(&self, peer: Peer) -> bool {
        self.links.get(peer as usize).is_some_and(|link| !link.is_elsewhere)
    }

    /// Whether a peer's endpoint is known, which is then the way to it for good.
    #[inline]
    pub fn has_address(&self, peer: Peer) -> bool {
        self.links.get(peer as usize).is_some_and(|link| link.address.is_some())
    }

    /// What was sent and received.
    pub fn counters(&self) -> OfiCounters {
        self.counters
    }

    /// Whether packets are on their way that need this rank to poll.
    #[inline]
    pub fn has_unsent(&self) -> bool {
        let is_reading = self.read_slots.len() < self.readers.len();
        self.free.len() < self.slots || is_reading || self.has_exposed() || !self.overtaking.is_empty()
    }

    /// Whether memory is exposed, or is being read.
    #[inline]
    fn has_exposed(&self) -> bool {
        !(self.exposed.is_empty() && self.inbound.is_empty() && self.returns.is_empty())
    }

    /// Sends a packet that says nothing but its mark.
    pub(super) fn send_mark(&mut self, peer: Peer, kind: OfiPacketKind) -> Result<(), Full> {
        let way = self.way(peer).ok_or(Full)?.marked(kind);
        let am = Am { header: Header::default(), extended: &[], body: &UserBuf::empty(), offset: 0, len: 0 };
        self.send_slot(peer, way, &am)
    }

    /// Answers those who send nothing more.
    #[cold]
    fn answer(&mut self) {
        let mut unanswered = std::mem::take(&mut self.unanswered);
        unanswered.retain(|&peer| self.send_mark(peer, OfiPacketKind::Answer).is_err());
        self.unanswered = unanswered;
    }

    /// Where to send, or nothing as long as that is not known.
    #[inline]
    pub(super) fn way(&mut self, peer: Peer) -> Option<OfiWay> {
        let link = self.links.get(peer as usize)?;
        match link.address {
            Some(to) => Some(OfiWay { to, token: link.token, sequence: link.sent }),
            None => {
                self.ask(peer);
                None
            }
        }
    }

    /// Whether a peer's endpoint is known; if not, it is asked for.
    #[cfg(test)]
    pub(super) fn knows(&mut self, peer: Peer) -> bool {
        self.way(peer).is_some()
    }

    #[cold]
    fn ask(&mut self, peer: Peer) {
        let link = &mut self.links[peer as usize];
        if !std::mem::replace(&mut link.was_asked, true) {
            self.directory.ask(peer);
            self.asked += 1;
        }
    }

    /// Takes the endpoints of ranks that were asked for. Whether one has come.
    #[cold]
    fn hear_directory(&mut self) -> bool {
        let mut any = false;
        while let Some((peer, bytes)) = self.directory.answer() {
            any = true;
            if self.links.get(peer as usize).is_some_and(|link| link.address.is_none() && !link.is_elsewhere)
            {
                self.asked = self.asked.saturating_sub(1);
                self.take_address(peer, &bytes).unwrap_or_else(|why| self.lose(peer, why));
            }
        }
        any
    }

    fn take_address(&mut self, peer: Peer, bytes: &[u8]) -> Result<(), String> {
        let theirs = OfiEndpointAddress::parse(bytes);
        if !self.is_forced && theirs.as_ref().is_none_or(|theirs| theirs.provider != self.endpoint.provider())
        {
            self.links[peer as usize].is_elsewhere = true;
            return Ok(());
        }
        let theirs = theirs.ok_or_else(|| {
            format!("rank {peer} does not use libfabric: TERN_TRANSPORT must be the same on all ranks")
        })?;
        if theirs.provider != self.endpoint.provider() {
            let (there, here) = (theirs.provider, self.endpoint.provider());
            return Err(format!(
                "rank {peer} uses libfabric's provider '{there}', and this rank '{here}': set TERN_OFI_PROVIDER on all ranks \
                 to one that all hosts have"
            ));
        }
        self.compare(peer, &theirs.marks)?;
        let address = self.endpoint.insert(&theirs.address).map_err(|error| error.to_string())?;
        let link = &mut self.links[peer as usize];
        (link.address, link.token) = (Some(address), packet::token(&self.secret, self.me, peer));
        Ok(())
    }

    fn compare(&self, peer: Peer, marks: &[u8; FINGERPRINT_BYTES]) -> Result<(), String> {
        self.settings.difference_from(marks).map_or(Ok(()), |names| {
            Err(format!(
                "rank {peer} was started with other settings than this rank: {names}; they must be the same on all ranks \
                 (mpirun -x NAME passes a variable to all)"
            ))
        })
    }

    #[cold]
    pub(super) fn lose(&mut self, peer: Peer, why: String) {
        self.lost.get_or_insert_with(|| (Failure { peer, why }, Instant::now()));
    }

    /// As [`Ofi::lose`], of a peer that has perhaps died, which whoever has started it tells better.
    #[cold]
    pub(super) fn lose_later(&mut self, peer: Peer, why: String) {
        let until = Instant::now() + Duration::from_secs(OFI_GONE_S);
        self.lost.get_or_insert((Failure { peer, why }, until));
    }

    /// A packet that later ones have overtaken long ago will not come: the job cannot go on.
    #[cold]
    fn look_for_lost(&mut self) {
        if let Some(peer) = self.overtaking.bereft(Instant::now()) {
            let provider = self.endpoint.provider();
            let advice = "choose another one by TERN_OFI_PROVIDER, or TERN_TRANSPORT=tcp";
            let why = format!("libfabric's provider '{provider}' has lost a packet of rank {peer}: {advice}");
            self.lose(peer, why);
        }
    }

    /// Sends a packet whose bytes are copied at once.
    #[inline]
    fn inject(&mut self, peer: Peer, way: OfiWay, am: &Am<'_>) -> Result<(), Full> {
        let (mut packet, len) = ([0; OFI_INJECT_BYTES_MAX], HEAD_BYTES + am.payload_len());
        packet::write_head(&mut packet, way.head(), self.me, &am.header);
        am.read_payload(0, &mut packet[HEAD_BYTES..len]);
        let taken = self.endpoint.inject(way.to, &packet[..len]);
        self.taken(peer, taken)
    }

    /// Sends a packet from a slot.
    pub(super) fn send_slot(&mut self, peer: Peer, way: OfiWay, am: &Am<'_>) -> Result<(), Full> {
        let slot = self.free.pop().ok_or(Full)?;
        let len = HEAD_BYTES + am.payload_len();
        let packet = self.endpoint.slot(slot);
        packet::write_head(packet, way.head(), self.me, &am.header);
        am.read_payload(0, &mut packet[HEAD_BYTES..len]);
        let taken = self.endpoint.send(way.to, slot, len);
        self.taken(peer, taken).inspect_err(|Full| self.free.push(slot))
    }

    #[inline]
    pub(super) fn taken(
        &mut self,
        peer: Peer,
        taken: Result<bool, tern_libfabric::LibfabricError>,
    ) -> Result<(), Full> {
        match taken {
            Ok(true) => {
                self.counters.sent += 1;
                let link = &mut self.links[peer as usize];
                link.sent = link.sent.wrapping_add(1);
                Ok(())
            }
            Ok(false) => Err(Full),
            Err(error) => {
                self.lose_later(peer, format!("rank {peer} cannot be sent to: {error}"));
                Err(Full)
            }
        }
    }

    /// Whether a poll is a system call, and not a look at memory.
    pub fn polls_the_kernel(&self) -> bool {
        polls_the_kernel(self.endpoint.provider())
    }

    /// Somebody is about to sleep and nothing was there: whether what comes will wake the sleeper.
    #[cold]
    fn may_sleep(&mut self) -> bool {
        // Over datagrams the provider repeats what was lost, on both sides, by a clock that it looks at when it is called.
        let is_driven =
            self.has_unsent() || self.lost.is_some() || self.endpoint.provider().ends_with("ofi_rxd");
        let in_flight = is_driven.then_some(Duration::from_millis(OFI_SLEEP_MS_MAX));
        let is_blind = self.endpoint.fd().is_none();
        let most = in_flight.into_iter().chain(is_blind.then_some(self.blind_sleep)).min();
        self.blind_sleep = (2 * self.blind_sleep).min(OFI_BLIND_SLEEP_MAX);
        self.bell.set_packet_deadline(most.map(|most| Instant::now() + most));
        is_blind || self.endpoint.may_wait()
    }
}

/// Packets that may be on their way from one of `size` ranks, and bytes of those that may be beside them. Where each receiver needs room
/// for every packet, its room is shared among all that may send to it.
fn packets_at_once(endpoint: &Endpoint, size: u32) -> (usize, usize) {
    match endpoint.receives_max() {
        Some(room) => {
            let others = (size as usize).saturating_sub(1).max(1);
            ((room / others).min(OFI_SENDS_PER_PEER * others).clamp(1, endpoint.sends()), 0)
        }
        // What is injected has no end of which the provider tells, so nobody could count it.
        None if is_sockets(endpoint.provider()) => (endpoint.sends(), 0),
        None => (endpoint.sends(), endpoint.inject_bytes_max().min(OFI_INJECT_BYTES_MAX)),
    }
}

/// Takes the packets that come.
pub(super) struct OfiArrivals<'a, S> {
    me: Peer,
    secret: &'a [u8; 32],
    pub(super) links: &'a mut [OfiPeer],
    unanswered: &'a mut Vec<Peer>,
    overtaking: &'a mut OvertakingPackets,
    pub(super) counters: &'a mut OfiCounters,
    exposed: &'a mut HashMap<Peer, ExposedRegions>,
    has_ends: &'a mut bool,
    pub(super) inbound: &'a mut HashMap<Peer, OfiInbound>,
    pub(super) unread: &'a mut Vec<Peer>,
    pub(super) returns: &'a mut Vec<(Peer, u8)>,
    pub(super) sink: &'a mut S,
}

impl<S: Sink> OfiArrivals<'_, S> {
    #[inline]
    fn take(&mut self, bytes: &[u8]) {
        let Some(OfiPacket { token, from, sequence, header, payload }) = packet::parse(bytes) else {
            self.counters.unproven += 1;
            return;
        };
        let Some(kind) = self.proven_kind(from, token) else {
            self.counters.unproven += 1;
            return;
        };
        if sequence != self.links[from as usize].received {
            return self.keep(from, sequence, OvertakingPacket { kind, header, payload: payload.into() });
        }
        self.take_next(from, kind, &header, payload);
        if !self.overtaking.is_empty() {
            self.take_overtaking(from);
        }
    }

    /// What a packet is, if it has the token of a rank.
    #[inline]
    fn proven_kind(&mut self, from: Peer, token: u64) -> Option<OfiPacketKind> {
        let link = self.links.get_mut(from as usize)?;
        let expected = *link.expected.get_or_insert_with(|| packet::token(self.secret, from, self.me));
        if token == expected {
            Some(OfiPacketKind::Message)
        } else {
            OfiPacketKind::of_mark(token ^ expected)
        }
    }

    /// Takes the packet of a rank whose turn it is.
    #[inline]
    fn take_next(&mut self, from: Peer, kind: OfiPacketKind, header: &Header, payload: &[u8]) {
        let link = &mut self.links[from as usize];
        link.received = link.received.wrapping_add(1);
        if kind != OfiPacketKind::Message {
            return self.take_mark(from, kind, header, payload);
        }
        link.has_sent = true;
        self.counters.received += 1;
        if link.is_held {
            return self.hold(from, HeldPacket::Packet(*header, payload.into()));
        }
        self.hand_over(from, header, payload);
    }

    /// A packet that is not a message.
    #[cold]
    fn take_mark(&mut self, from: Peer, kind: OfiPacketKind, header: &Header, payload: &[u8]) {
        let link = &mut self.links[from as usize];
        match kind {
            OfiPacketKind::Last => {
                (link.has_ended, link.has_sent) = (true, false);
                self.unanswered.push(from);
            }
            OfiPacketKind::Answer => link.owes_answer = false,
            OfiPacketKind::Message | OfiPacketKind::Offer | OfiPacketKind::Part | OfiPacketKind::Return => {
                link.has_sent = true;
                self.counters.received += 1;
                match kind {
                    OfiPacketKind::Offer => return self.take_offer(from, *header, payload),
                    OfiPacketKind::Part => return self.take_part(from, payload),
                    _ => {}
                }
                self.exposed.entry(from).or_default().end(Ofi::is_well(header));
                *self.has_ends = true;
            }
        }
    }

    /// A packet whose turn it is not: it waits for those before it, unless it has come already.
    #[cold]
    fn keep(&mut self, from: Peer, sequence: u32, packet: OvertakingPacket) {
        let ahead = sequence.wrapping_sub(self.links[from as usize].received).cast_signed();
        if ahead < 0 || !self.overtaking.keep(from, sequence, packet) {
            self.counters.repeated += 1;
        }
    }

    /// Takes what came too overtaking, as far as its turn has come.
    #[cold]
    fn take_overtaking(&mut self, from: Peer) {
        while let Some(packet) = self.overtaking.take(from, self.links[from as usize].received) {
            self.take_next(from, packet.kind, &packet.header, &packet.payload);
        }
    }
}

impl Transport for Ofi {
    fn limits(&mut self, _: Peer) -> Limits {
        let eager_bytes_max = self.endpoint.packet_bytes_max() - HEAD_BYTES;
        Limits { eager_bytes_max, get: false, put: false, cooperative_copy: false, prefers_send: false }
    }

    #[inline]
    fn send(&mut self, peer: Peer, am: &Am<'_>) -> Result<(), Full> {
        let way = self.way(peer).ok_or(Full)?;
        let sent = match HEAD_BYTES + am.payload_len() <= self.inject_bytes_max {
            true => self.inject(peer, way, am),
            false => self.send_slot(peer, way, am),
        };
        self.links[peer as usize].was_sent_to |= sent.is_ok();
        sent
    }

    fn zero_copy_fragment_bytes_max(&mut self, peer: Peer) -> usize {
        self.exposed_bytes_max(peer)
    }

    fn zero_copy_eager_bytes_max(&mut self, peer: Peer) -> usize {
        self.exposed_bytes_max(peer).min(OFI_EAGER_BYTES_MAX)
    }

    fn send_zero_copy(&mut self, peer: Peer, am: &Am<'_>, done: Option<Token>) -> Result<(), Full> {
        self.send_exposed(peer, am, done)
    }

    fn expose_window(&mut self, memory: &UserBuf) -> Option<WindowMemory> {
        self.expose_memory(memory)
    }

    fn hide_window(&mut self, memory: WindowMemory) {
        self.windows.retain(|region| region.place().key != memory.key);
    }

    fn read_window(
        &mut self,
        peer: Peer,
        from: WindowMemory,
        into: &UserBuf,
        done: Token,
    ) -> Result<(), Full> {
        self.access_window(peer, from, into, done, WindowAccess::Read)
    }

    fn write_window(
        &mut self,
        peer: Peer,
        from: &UserBuf,
        to: WindowMemory,
        done: Token,
    ) -> Result<(), Full> {
        self.access_window(peer, to, from, done, WindowAccess::Write)
    }

    fn poll(&mut self, sink: &mut impl Sink) -> bool {
        let slept = self.bell.take_slept();
        self.poll_after(slept, sink)
    }

    fn doorbell(&self) -> Arc<dyn Doorbell> {
        Arc::new(OfiBell(self.bell.clone()))
    }
}

impl Ofi {
    /// As [`Transport::poll`], where it is known whether somebody slept or is about to.
    #[inline]
    pub fn poll_after(&mut self, slept: bool, sink: &mut impl Sink) -> bool {
        let mut any = self.asked > 0 && self.hear_directory();
        let mut completions = Completions::new();
        match self.endpoint.poll(&mut completions) {
            Ok(found) => any |= found && self.take(&completions, sink),
            Err(error) => self.lose(self.me, error.to_string()),
        }
        any |= self.see_to_chores(sink);
        if any {
            self.blind_sleep = OFI_BLIND_SLEEP_MIN;
        }
        any || (slept && !self.may_sleep())
    }

    /// Takes what a poll has found; whether there was anything.
    #[inline(never)]
    fn take(&mut self, completions: &Completions, sink: &mut impl Sink) -> bool {
        let (endpoint, free, mut reads, mut arrivals) = self.apart(sink);
        let (mut failed, mut gone) = (None, None);
        let any = endpoint.take(completions, |event| match event {
            EndpointEvent::Received(packet) => arrivals.take(packet),
            EndpointEvent::Sent(slot) => free.push(slot),
            EndpointEvent::Read(slot) => reads.end(slot, true),
            EndpointEvent::NotRead { slot, why, is_cut } => match reads.readers[slot] {
                Some(OfiReader { peer, .. }) if is_cut => {
                    reads.free(slot);
                    gone = gone.take().or(Some((peer, why)));
                }
                _ => reads.end(slot, false),
            },
            EndpointEvent::NotSent(slot, why) => {
                free.push(slot);
                failed.get_or_insert(why);
            }
        });
        if let Some(why) = failed {
            self.lose_later(self.me, format!("a packet did not reach its rank: {why}"));
        }
        if let Some((from, why)) = gone {
            self.lose_later(from, format!("rank {from} cannot be reached any more: {why}"));
        }
        any
    }

    /// Does what there is to do beside what comes, usually nothing. Whether anything has ended.
    #[inline]
    fn see_to_chores(&mut self, sink: &mut impl Sink) -> bool {
        let mut any = false;
        if !self.unanswered.is_empty() {
            self.answer();
        }
        if !self.untold.is_empty() {
            self.tell();
        }
        if !self.overtaking.is_empty() {
            self.look_for_lost();
        }
        if self.has_exposed() || self.has_ends {
            any |= self.serve_reads(sink);
        }
        if !self.window_ends.is_empty() {
            any = true;
            self.tell_window_ends(sink);
        }
        any
    }
}

/// What a poll uses of a rank at once.
type Apart<'a, S> = (&'a mut Endpoint, &'a mut Vec<usize>, OfiReads<'a>, OfiArrivals<'a, S>);

impl Ofi {
    fn apart<'a, S: Sink>(&'a mut self, sink: &'a mut S) -> Apart<'a, S> {
        let Ofi {
            me,
            secret,
            links,
            unanswered,
            overtaking,
            counters,
            exposed,
            has_ends,
            inbound,
            unread,
            returns,
            endpoint,
            free,
            read_ends,
            read_slots,
            readers,
            window_ends,
            ..
        } = self;
        let reads = OfiReads { slots: read_slots, readers, message_ends: read_ends, window_ends };
        let arrivals = OfiArrivals {
            me: *me,
            secret,
            links,
            unanswered,
            overtaking,
            counters,
            exposed,
            has_ends,
            inbound,
            unread,
            returns,
            sink,
        };
        (endpoint, free, reads, arrivals)
    }

    /// Moves on what is exposed and what is read. Whether anything has ended.
    #[cold]
    fn serve_reads(&mut self, sink: &mut impl Sink) -> bool {
        self.send_late();
        let any = self.has_ends && self.late.is_empty() || !self.read_ends.is_empty();
        loop {
            for (from, is_well) in std::mem::take(&mut self.read_ends) {
                self.apart(sink).3.finish(from, is_well);
            }
            self.begin_reads();
            if self.read_ends.is_empty() {
                break;
            }
        }
        self.give_back();
        if self.has_ends {
            self.tell_ends(sink);
        }
        any
    }
}

/// Sleeping on the provider's descriptor. The last look before sleeping asks the provider whether that will do.
pub struct OfiBell(pub Arc<SocketBell>);

impl Doorbell for OfiBell {
    fn arm(&self) -> u32 {
        self.0.set_slept();
        self.0.arm()
    }
    fn disarm(&self) {
        self.0.disarm();
    }
    fn sleep(&self, armed: u32, timeout: Option<Duration>) -> bool {
        self.0.sleep(armed, timeout)
    }
    fn ring(&self) {
        self.0.ring();
    }
}

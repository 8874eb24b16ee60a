//! [`Urtp`]: active messages over the reliable channel, to one rank and to many.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::Instant;

use tern_urtp::{Reachability, SendError, UrtpEvent};

use super::channel::{Channel, Tunneled};
use super::frame::{FIRST_BYTES, NEXT_BYTES, write_first};
use super::inbox::UrtpInbox;
use super::link::{Link, LinkCounters};
use super::multicast_groups::MulticastGroups;
use super::outbox::{Marks, MessageDestination, UrtpOutbox, mark};
use super::probe::{Observation, PROBE_GROUP, Probing};
use crate::limits::*;
use tern_transport::socket_bell::SocketBell;
use tern_transport::{
    Am, Doorbell, Failure, Full, Limits, MulticastGroup, Peer, Sink, Taken, Token, Transport,
};

type AnyLink = Box<dyn Link + Send>;

/// The transport of one rank over datagrams.
pub struct Urtp {
    me: Peer,
    channel: Channel<AnyLink>,
    bell: Arc<SocketBell>,
    multicast_groups: MulticastGroups,
    outbox: UrtpOutbox,
    inbox: UrtpInbox,
    /// Peers of which packets can be taken.
    ready: VecDeque<Peer>,
    /// Zero-copy sends that have ended.
    done: Vec<Token>,
    /// The members that the next multicast is for.
    marks: Marks,
    /// Polls for which it is worth while to look at the link each time.
    interest: u32,
    polls: u32,
    /// When the protocol has something to do, as the bell was told.
    wakes_at: Option<Instant>,
    /// Something is expected of which the bell does not know yet when to ask for it.
    expects: bool,
    /// See [`Urtp::has_unsignaled`].
    unsignaled: bool,
    lost: Option<Failure>,
    probing: Option<Probing>,
}

impl Urtp {
    /// What it can do towards any peer.
    /// What it can do.
    pub const LIMITS: Limits = Limits {
        eager_bytes_max: PACKETS_EAGER_BYTES,
        get: false,
        put: false,
        cooperative_copy: false,
        prefers_send: false,
    };

    /// Over a link: rank `me` of `size`. Sleepers on `bell` hear of it.
    pub fn new(link: AnyLink, me: Peer, size: u32, manner: Manner, bell: Arc<SocketBell>) -> Urtp {
        bell.watch(link.fd(), false);
        let channel = Channel::new(link, me, size, |config| {
            (config.rate, config.rate_first) = (manner.pace_most, manner.pace_first);
            config.parity = (manner.parity > 0).then_some(manner.parity);
            config.seed = u64::from(me) << 32 | u64::from(std::process::id());
            config.tunnel = true;
        });
        Urtp {
            me,
            channel,
            bell,
            multicast_groups: MulticastGroups::default(),
            outbox: UrtpOutbox::default(),
            inbox: UrtpInbox::default(),
            ready: VecDeque::new(),
            done: Vec::new(),
            marks: Marks::new(),
            interest: 0,
            polls: 0,
            wakes_at: None,
            expects: false,
            unsignaled: false,
            lost: None,
            probing: None,
        }
    }

    /// What the link and the protocol have done and seen.
    pub fn counters(&self) -> (LinkCounters, tern_urtp::UrtpCounters) {
        (self.channel.link().counters(), *self.channel.endpoint.counters())
    }

    /// Begins to find out whether these ranks, all of which do the same now, hear each other's multicasts.
    pub fn begin_probe(&mut self, members: &[Peer], ranks_per_core: u32) -> io::Result<()> {
        self.probing = Some(Probing::new(self.channel.link_mut(), self.me, members, ranks_per_core)?);
        self.interest = POLLS_OF_INTEREST;
        Ok(())
    }

    /// Whether everybody has been heard, or the time is over.
    pub fn has_probed(&self) -> bool {
        self.probing.as_ref().is_some_and(Probing::is_over)
    }

    /// What has been observed until now.
    pub fn observed(&self) -> Option<Observation> {
        self.probing.as_ref().map(Probing::observation)
    }

    /// Says and hears nothing more.
    pub fn end_probe(&mut self) {
        if self.probing.take().is_some() {
            self.channel.link_mut().leave(PROBE_GROUP);
            self.wake_at(None);
        }
    }

    /// While it probes it does nothing else: whoever sends something sends it again.
    fn poll_probe(&mut self) -> Option<bool> {
        let probing = self.probing.as_mut()?;
        let came = probing.poll(self.channel.link_mut());
        let wakes_at = probing.wakes_at();
        self.wake_at(Some(wakes_at));
        Some(came.unwrap_or_else(|error| self.fail(error)))
    }

    /// Sleepers wake then.
    fn wake_at(&mut self, wakes_at: Option<Instant>) {
        if wakes_at != self.wakes_at {
            self.wakes_at = wakes_at;
            self.unsignaled |= self.bell.set_packet_deadline(wakes_at);
        }
        if self.wakes_at.is_some() {
            self.interest = POLLS_OF_INTEREST;
        }
    }

    /// What does not work any more: the job cannot go on.
    pub fn failure(&self) -> Option<&Failure> {
        self.lost.as_ref()
    }

    /// Whether the protocol has something to do though the program does not call: somebody must poll.
    #[inline]
    pub fn has_unsent(&self) -> bool {
        self.wakes_at.is_some()
    }

    /// Whether threads that sleep must be woken: messages are left of which no socket tells any more, or a timer is due before the
    /// one they know.
    #[inline]
    pub fn has_unsignaled(&self) -> bool {
        self.unsignaled
    }

    /// The next packet that shall also go by TCP, since nothing comes through to its receiver.
    #[inline]
    pub fn take_tunneled(&mut self) -> Option<Tunneled> {
        self.channel.take_tunneled()
    }

    /// A packet came by TCP.
    pub fn handle_tunneled(&mut self, from: Peer, reachability: Reachability, packet: &[u8]) {
        let now = self.channel.now();
        // What makes no sense is counted by the protocol.
        let _ = self.channel.endpoint.handle_tunneled(now, from, reachability, packet);
        (self.interest, self.expects) = (POLLS_OF_INTEREST, true);
    }

    /// Whether all that was sent has been acknowledged.
    pub fn is_flushed(&self) -> bool {
        self.outbox.is_empty() && self.channel.endpoint.is_flushed()
    }

    /// See [`UrtpEndpoint::packets_ahead`](tern_urtp::UrtpEndpoint::packets_ahead). `None` while messages wait to become packets.
    pub fn packets_ahead(&self) -> Option<i64> {
        if self.outbox.is_empty() { self.channel.endpoint.packets_ahead() } else { None }
    }

    /// Whether something is likely to come, or is here and waits to be handed up, so that it must be polled each time.
    #[inline]
    pub fn is_expecting(&self) -> bool {
        self.interest > 0 || self.unsignaled
    }

    /// As [`Transport::poll`], but looks at the link seldom while nothing is to be expected, unless it must.
    #[inline]
    pub fn poll_if_due(&mut self, sink: &mut impl Sink, must: bool) -> bool {
        self.polls = self.polls.wrapping_add(1);
        let due = must || self.is_expecting() || self.polls % POLLS_PER_IDLE_LINK_POLL == 0;
        due && self.poll(sink)
    }

    fn fail(&mut self, error: io::Error) -> bool {
        let why = || format!("the sockets for multicast do not work any more: {error}");
        self.lost.get_or_insert_with(|| Failure { peer: self.me, why: why() });
        false
    }

    /// Whether a look at the link that has brought nothing is all there was to do: most of those who wait find it so.
    fn has_nothing_to_do(&self) -> bool {
        let idle = self.ready.is_empty() && self.outbox.is_empty() && self.done.is_empty() && !self.expects;
        idle && self.channel.has_sent_all() && self.wakes_at.is_none_or(|wakes_at| Instant::now() < wakes_at)
    }

    /// What waits to go goes, and the bell learns when to wake sleepers.
    fn transmit(&mut self) {
        self.expects = false;
        if let Err(error) = self.channel.transmit() {
            self.fail(error);
        }
        let wakes_at = self.channel.wakes_at();
        self.wake_at(wakes_at);
    }

    /// Hands up what has come in order, unless that is `enough` already; stops after a message that nobody waits for.
    fn deliver(&mut self, sink: &mut impl Sink, enough: bool) -> bool {
        while let Some(peer) = self.channel.endpoint.poll_ready() {
            self.ready.push_back(peer);
        }
        if enough {
            self.unsignaled = !self.ready.is_empty();
            return false;
        }
        let mut any = false;
        while let Some(&peer) = self.ready.front() {
            any = true;
            let (mut begun, inbox) = (false, &mut self.inbox);
            if !self.channel.endpoint.receive(peer, |packet| begun = inbox.take(peer, packet, sink)) {
                self.ready.pop_front();
            } else if begun && sink.backpressure() {
                self.unsignaled = true;
                break;
            }
        }
        any
    }

    fn packets_of(&self, payload: usize) -> usize {
        let most = self.channel.endpoint.config().payload_bytes_max();
        let first = payload.min(most - FIRST_BYTES);
        1 + (payload - first).div_ceil(most - NEXT_BYTES)
    }

    /// The packets of a message for one rank, all at once.
    fn send_packets(&mut self, peer: Peer, am: &Am<'_>) -> Result<(), SendError> {
        let (all, most) = (am.payload_len(), self.channel.endpoint.config().payload_bytes_max());
        let mut at = all.min(most - FIRST_BYTES);
        self.channel.endpoint.send(peer, FIRST_BYTES + at, |packet| {
            write_first(packet, 0, &am.header, all as u32);
            am.read_payload(0, &mut packet[FIRST_BYTES..]);
        })?;
        while at < all {
            let bytes = (all - at).min(most - NEXT_BYTES);
            self.channel.endpoint.send(peer, NEXT_BYTES + bytes, |packet| {
                packet[0] = 0;
                am.read_payload(at, &mut packet[NEXT_BYTES..]);
            })?;
            at += bytes;
        }
        Ok(())
    }

    fn look_at_events(&mut self) {
        while let Some(UrtpEvent::Lost(peer)) = self.channel.endpoint.poll_event() {
            let why = || format!("rank {peer} does not answer multicasts any more");
            self.lost.get_or_insert_with(|| Failure { peer, why: why() });
        }
    }
}

/// How packets go.
#[derive(Clone, Copy, Debug)]
pub struct Manner {
    /// How fast, bytes per second, until receivers have told what comes through.
    pub pace_first: u64,
    /// How fast at most, bytes per second.
    pub pace_most: u64,
    /// So many packets of multicasts are followed by their parity; 0: none.
    pub parity: u8,
}

impl Transport for Urtp {
    fn limits(&mut self, _: Peer) -> Limits {
        Urtp::LIMITS
    }

    fn send(&mut self, peer: Peer, am: &Am<'_>) -> Result<(), Full> {
        let packets = self.packets_of(am.payload_len());
        if !self.channel.endpoint.has_room(peer, packets) {
            self.transmit();
            return Err(Full);
        }
        self.send_packets(peer, am).expect("there is room, and the peer is another rank");
        self.transmit();
        Ok(())
    }

    fn zero_copy_fragment_bytes_max(&mut self, _: Peer) -> usize {
        ZERO_COPY_BYTES_MAX
    }

    fn zero_copy_eager_bytes_max(&mut self, _: Peer) -> usize {
        TCP_EAGER_BYTES as usize
    }

    fn send_zero_copy(&mut self, peer: Peer, am: &Am<'_>, done: Option<Token>) -> Result<(), Full> {
        if self.outbox.holds_for(peer) {
            return Err(Full);
        }
        let begun = self.outbox.begin(&mut self.channel.endpoint, MessageDestination::Rank(peer), am, done);
        self.transmit();
        if begun? {
            self.done.extend(done);
        }
        Ok(())
    }

    fn multicast_group(&mut self, members: &[Peer]) -> Option<MulticastGroup> {
        // A group only addresses ranks, whatever their order in a communicator: so there are fewer groups.
        let mut members = Cow::Borrowed(members);
        if !members.is_sorted() {
            members.to_mut().sort_unstable();
        }
        let group = self.channel.add_group(&members)?;
        if self.multicast_groups.are_many(group) {
            let outbox = &self.outbox;
            let unwanted = self.multicast_groups.take_unwanted(|group| outbox.sends_to(group));
            self.channel.release_groups(&unwanted);
        }
        Some(self.multicast_groups.of(group))
    }

    fn multicast(
        &mut self,
        group: &MulticastGroup,
        to: &[Peer],
        am: &Am<'_>,
        done: Token,
    ) -> Result<Taken, Full> {
        let group = self.multicast_groups.group(group);
        self.marks.fill(0);
        for peer in to {
            if let Some(index) = self.channel.endpoint.group_member(group, *peer) {
                mark(&mut self.marks, index);
            }
        }
        let to = MessageDestination::Members(group, &self.marks);
        let begun = self.outbox.begin(&mut self.channel.endpoint, to, am, Some(done));
        self.transmit();
        Ok(if begun? { Taken::Copied } else { Taken::Kept })
    }

    fn expect_multicast(&mut self, peer: Peer) {
        if self.channel.endpoint.is_expected(peer) {
            return;
        }
        let now = self.channel.now();
        self.channel.endpoint.expect_multicast(peer, now);
        self.interest = POLLS_OF_INTEREST;
        self.expects = true;
    }

    fn poll(&mut self, sink: &mut impl Sink) -> bool {
        self.unsignaled = false;
        if let Some(came) = self.poll_probe() {
            return came;
        }
        let (mut any, mut enough) = (false, false);
        let inbox = &mut self.inbox;
        let came = self.channel.receive(&mut |peer, packet| {
            if enough {
                return false;
            }
            any = true;
            enough = inbox.take(peer, packet, sink) && sink.backpressure();
            true
        });
        let came = came.unwrap_or_else(|error| self.fail(error));
        if !came && self.has_nothing_to_do() {
            self.interest = self.interest.saturating_sub(1);
            return false;
        }
        self.look_at_events();
        any |= self.deliver(sink, enough);
        any |= self.outbox.push(&mut self.channel.endpoint, &mut self.done);
        self.transmit();
        self.interest = if came { POLLS_OF_INTEREST } else { self.interest.saturating_sub(1) };
        while let Some(token) = self.done.pop() {
            any = true;
            sink.done(token, Ok(()));
        }
        any || came
    }

    fn doorbell(&self) -> Arc<dyn Doorbell> {
        self.bell.clone()
    }
}

#[cfg(test)]
mod tests;

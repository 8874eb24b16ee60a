//! The network: what messages cost, and when they arrive.
//!
//! A message of k bytes keeps its sender's core busy for o, the sender's link for the larger of g and k G, travels
//! for L and k G, and keeps the receiver's link as long as the sender's; the receiver's core is busy for o when it
//! takes it. Where it was measured what messages of some sizes take, that counts instead of k G, but for the links ([`PriceCurve`]).
//! Between nodes, all ranks of one node share its link. What is on its way is a [`MessageFlight`].
//!
//! A multicast costs its sender, and the sender's link, what one message to the farthest receiver costs; each receiver and
//! its link pay for it as for any message.

mod transfers;

use crate::Picos;
use crate::events::Events;
use crate::faults::Weather;
use crate::limits::PREFETCH_FLIGHT;
use crate::params::{Cost, Costs, Distance, Params, PriceCurve, times};
use crate::topology::RankTopology;
use tern_mem::{UserBuf, prefetch};
use tern_transport::{AM_INLINE_BYTES_MAX, Am, Header, Landing, Limits, Peer, Remote, Sink, Token};

use transfers::Act;
pub use transfers::Transfers;

/// Something that is going to happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NetworkEvent {
    /// A rank begins, or goes on when its core is free.
    Run(Peer),
    /// The last byte of this flight reaches the receiver's link.
    Arrive(u32),
    /// This flight is through the receiver's link.
    Deliver(u32),
    /// This transfer is over, unless it has been hastened.
    Over(u32),
    /// A rank stops.
    Crash(Peer),
}

/// No flight.
const NONE: u32 = u32::MAX;

/// A message on its way, or in its receiver's queue.
struct MessageFlight {
    header: Header,
    from: Peer,
    to: Peer,
    /// Bytes of the payload.
    len: u32,
    /// When its first byte reached the receiver, once it is there.
    begins: Picos,
    /// The next in the receiver's queue, or of those that are free.
    next: u32,
    /// A payload of one line.
    short: [u8; AM_INLINE_BYTES_MAX],
    /// A longer one, where bytes are moved.
    long: Option<Box<[u8]>>,
}

/// Until when a link is busy in each direction.
#[derive(Clone, Copy, Default)]
struct LinkTimes {
    out: Picos,
    into: Picos,
}

/// What has arrived at a rank and was not taken yet.
#[derive(Clone, Copy)]
struct ArrivalQueue {
    first: u32,
    last: u32,
}

/// What has been sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SentTraffic {
    /// Active messages, those of the protocols included.
    pub messages: u64,
    /// Their bytes, and those that were got.
    pub bytes: u64,
}

/// The network that all ranks share.
pub struct SimulatedNetwork {
    /// The clock of the rank that runs now.
    pub(crate) now: Picos,
    /// Since when its core had nothing to do.
    pub(crate) idle_since: Picos,
    /// Until when that rank is going to copy: what it does until then is put off.
    pub(crate) copies_until: Picos,
    /// Until when each core is busy.
    pub(crate) cores: Vec<Picos>,
    pub(crate) events: Events<NetworkEvent>,
    pub(crate) topology: RankTopology,
    pub(crate) traffic: SentTraffic,
    /// Bytes that each rank has sent.
    pub(crate) sent_by: Vec<u64>,
    /// Messages that will never arrive: sender and receiver, and the moment.
    pub(crate) swallowed: Vec<(Peer, Peer, Picos)>,
    pub(crate) transfers: Transfers,
    costs: [Costs; 4],
    curves: [PriceCurve; 4],
    weather: Option<Weather>,
    /// Ranks that stop, and when: a rank does many things in one event, of which those after that moment do not happen.
    stops: Vec<(Peer, Picos)>,
    flights: Vec<MessageFlight>,
    free: u32,
    queues: Vec<ArrivalQueue>,
    links: Vec<LinkTimes>,
    host_links: Vec<LinkTimes>,
    /// Memory of each rank that others may get from; nothing where no bytes are moved.
    memory: Vec<Vec<UserBuf>>,
    /// Messages carry bytes.
    real: bool,
}

impl SimulatedNetwork {
    /// A network of `ranks` ranks, on which nothing has been sent.
    pub(crate) fn new(ranks: u32, params: &Params, weather: Option<Weather>, real: bool) -> SimulatedNetwork {
        let topology = RankTopology::new(params);
        let hosts = topology.host(ranks - 1) as usize + 1;
        let n = ranks as usize;
        SimulatedNetwork {
            now: 0,
            idle_since: 0,
            copies_until: 0,
            cores: vec![0; topology.core(ranks - 1) + 1],
            events: Events::default(),
            topology,
            traffic: SentTraffic::default(),
            sent_by: vec![0; n],
            swallowed: Vec::new(),
            transfers: Transfers::default(),
            costs: Distance::ALL
                .map(|distance| Costs::of(&params.levels[distance as usize], params.compute.cache_bytes)),
            curves: Distance::ALL.map(|distance| PriceCurve::of(&params.levels[distance as usize])),
            weather,
            stops: Vec::new(),
            flights: Vec::new(),
            free: NONE,
            queues: vec![ArrivalQueue { first: NONE, last: NONE }; n],
            links: vec![LinkTimes::default(); n],
            host_links: vec![LinkTimes::default(); hosts],
            memory: vec![Vec::new(); if real { n } else { 0 }],
            real,
        }
    }

    /// A rank is going to stop.
    pub(crate) fn stop(&mut self, rank: Peer, at: Picos) {
        self.stops.push((rank, at));
    }

    /// When a rank stops, if it does.
    pub(crate) fn stops_at(&self, rank: Peer) -> Option<Picos> {
        self.stops.iter().filter(|(stopped, _)| *stopped == rank).map(|(_, at)| *at).min()
    }

    /// What can be done between two ranks.
    pub fn limits(&self, from: Peer, to: Peer) -> Limits {
        self.costs(from, to).0.limits
    }

    /// Whether long messages between two ranks go in pieces.
    pub fn prefers_fragments(&self, from: Peer, to: Peer) -> bool {
        self.costs(from, to).0.streams
    }

    /// What the bytes of a flight cost of something.
    fn cost(&self, cost: Cost, flight: u32) -> Picos {
        let MessageFlight { from, to, len, .. } = self.flights[flight as usize];
        self.curves[self.topology.distance(from, to) as usize].cost(cost, len.into())
    }

    fn costs(&self, from: Peer, to: Peer) -> (Costs, Distance) {
        let distance = self.topology.distance(from, to);
        (self.costs[distance as usize], distance)
    }

    fn link(&mut self, rank: Peer, distance: Distance) -> &mut LinkTimes {
        match distance {
            Distance::Core | Distance::Host => &mut self.links[rank as usize],
            Distance::Switch | Distance::Far => &mut self.host_links[self.topology.host(rank) as usize],
        }
    }

    fn count(&mut self, from: Peer, messages: u64, bytes: u64) {
        self.traffic.messages += messages;
        self.traffic.bytes += bytes;
        self.sent_by[from as usize] += bytes;
    }

    /// Sends a message from the rank that runs now.
    pub fn send(&mut self, from: Peer, to: Peer, am: &Am<'_>) {
        self.count(from, 1, am.payload_len() as u64);
        let flight = self.take_off(from, to, am);
        if self.is_busy(from) {
            return self.transfers.put_off(from, Act::Send(flight));
        }
        self.launch(&[flight]);
    }

    /// Sends a message from the rank that runs now to several.
    pub fn multicast(&mut self, from: Peer, to: &[Peer], am: &Am<'_>) {
        self.count(from, 1, am.payload_len() as u64);
        let flights: Box<[u32]> = to.iter().map(|to| self.take_off(from, *to, am)).collect();
        if self.is_busy(from) {
            return self.transfers.put_off(from, Act::Multicast(flights));
        }
        self.launch(&flights);
    }

    /// The flights of one message leave.
    fn launch(&mut self, flights: &[u32]) {
        let how_far = |index: &&u32| {
            let MessageFlight { from, to, .. } = self.flights[**index as usize];
            self.topology.distance(from, to) as usize
        };
        let Some(&farthest) = flights.iter().max_by_key(how_far) else { return };
        let from = self.flights[farthest as usize].from;
        if self.stops_at(from).is_some_and(|at| self.now >= at) {
            return flights.iter().for_each(|index| self.release(*index));
        }
        let leaves = self.leave(farthest);
        flights.iter().for_each(|index| self.fly(*index, leaves));
    }

    /// The sender's part of a flight: when it is on the sender's link.
    fn leave(&mut self, index: u32) -> Picos {
        let MessageFlight { from, to, len, .. } = self.flights[index as usize];
        let (costs, distance) = self.costs(from, to);
        self.now += costs.send;
        let (now, travels) = (self.now, times(len.into(), costs.per_byte));
        let link = self.link(from, distance);
        let leaves = now.max(link.out);
        link.out = leaves + travels.max(costs.gap);
        self.now += self.cost(Cost::Send, index);
        leaves
    }

    /// The way of a flight that leaves at a moment.
    fn fly(&mut self, index: u32, leaves: Picos) {
        let MessageFlight { from, to, .. } = self.flights[index as usize];
        let arrival = leaves + self.costs(from, to).0.latency + self.cost(Cost::Way, index);
        let arrival = match &mut self.weather {
            Some(weather) => weather.arrival(&self.topology, from, to, leaves, arrival),
            None => Some(arrival),
        };
        match arrival {
            Some(arrival) => self.events.push(arrival, NetworkEvent::Arrive(index)),
            None => {
                self.swallowed.push((from, to, leaves));
                self.release(index);
            }
        }
    }

    fn take_off(&mut self, from: Peer, to: Peer, am: &Am<'_>) -> u32 {
        let len = am.payload_len();
        let (mut short, mut long) = ([0; AM_INLINE_BYTES_MAX], None);
        if len <= AM_INLINE_BYTES_MAX {
            write_payload(am, &mut short[..len]);
        } else if self.real {
            let mut bytes = vec![0; len].into_boxed_slice();
            write_payload(am, &mut bytes);
            long = Some(bytes);
        }
        let flight = MessageFlight {
            header: am.header,
            from,
            to,
            len: len as u32,
            begins: 0,
            next: NONE,
            short,
            long,
        };
        if self.free == NONE {
            self.flights.push(flight);
            return self.flights.len() as u32 - 1;
        }
        let index = self.free;
        self.free = std::mem::replace(&mut self.flights[index as usize], flight).next;
        index
    }

    /// The last byte of a flight has come. The receiver, unless its link still takes in others.
    pub fn arrive(&mut self, index: u32) -> Option<Peer> {
        let time = self.events.now();
        let MessageFlight { from, to, len, .. } = self.flights[index as usize];
        let (costs, distance) = self.costs(from, to);
        let (passes, way) = (times(len.into(), costs.per_byte), self.cost(Cost::Way, index));
        let link = self.link(to, distance);
        let enters = time.saturating_sub(passes).max(link.into);
        link.into = enters + passes.max(costs.gap);
        let through = time.max(enters + passes);
        self.flights[index as usize].begins = through.saturating_sub(way.max(passes));
        if through > time {
            self.events.push(through, NetworkEvent::Deliver(index));
            return None;
        }
        Some(self.deliver(index))
    }

    /// Puts a flight into its receiver's queue, and says whose that is.
    pub fn deliver(&mut self, index: u32) -> Peer {
        let to = self.flights[index as usize].to;
        let queue = &mut self.queues[to as usize];
        match std::mem::replace(&mut queue.last, index) {
            NONE => queue.first = index,
            last => self.flights[last as usize].next = index,
        }
        to
    }

    /// Hands to a rank what has arrived for it, while it wants more. Whether there was anything.
    pub fn hand_over(&mut self, rank: Peer, sink: &mut impl Sink) -> bool {
        let mut any = self.transfers.hand_over(rank, sink);
        loop {
            let index = self.queues[rank as usize].first;
            if index == NONE || self.is_busy(rank) {
                return any;
            }
            any = true;
            let next = self.flights[index as usize].next;
            self.queues[rank as usize].first = next;
            if next == NONE {
                self.queues[rank as usize].last = NONE;
            }
            self.land(index, sink);
            if sink.backpressure() {
                return any;
            }
        }
    }

    fn land(&mut self, index: u32, sink: &mut impl Sink) {
        self.read(index);
        let flight = &mut self.flights[index as usize];
        let (from, to, len) = (flight.from, flight.to, flight.len as usize);
        if len <= AM_INLINE_BYTES_MAX {
            sink.short(from, &flight.header, &flight.short[..len]);
        } else if let Landing::Place { buf, offset, len, token, .. } = sink.header(from, &flight.header, len)
        {
            if let Some(bytes) = &flight.long {
                buf.write(offset, &bytes[..len.min(bytes.len())]);
            }
            sink.landed(from, token);
        }
        self.release(index);
        self.now += self.costs(from, to).0.receive;
        self.idle_since = self.now;
    }

    /// The receiver has read all of a message: at once if it has waited for it, later if it was busy when it began to come.
    fn read(&mut self, index: u32) {
        let (begins, takes) = (self.flights[index as usize].begins, self.cost(Cost::Receive, index));
        self.now = self.now.max(begins.max(self.idle_since) + takes);
    }

    /// A flight is over; its place is used again.
    fn release(&mut self, index: u32) {
        let flight = &mut self.flights[index as usize];
        flight.long = None;
        flight.next = std::mem::replace(&mut self.free, index);
    }

    /// Asks for the memory of what will be needed for an event that is to come.
    pub(crate) fn prefetch(&self) {
        if let Some(NetworkEvent::Arrive(flight)) = self.events.ahead(PREFETCH_FLIGHT) {
            prefetch(&self.flights[*flight as usize]);
        }
    }

    /// The rank that an event so far ahead concerns.
    pub(crate) fn rank_ahead(&self, distance: usize) -> Option<Peer> {
        match *self.events.ahead(distance)? {
            NetworkEvent::Run(rank) => Some(rank),
            NetworkEvent::Arrive(flight) | NetworkEvent::Deliver(flight) => {
                Some(self.flights[flight as usize].to)
            }
            NetworkEvent::Over(_) | NetworkEvent::Crash(_) => None,
        }
    }

    /// Others may get from this memory of a rank from now on.
    pub fn open(&mut self, rank: Peer, memory: Vec<UserBuf>) {
        if self.real {
            self.memory[rank as usize] = memory;
        }
    }

    /// Copies from another rank's memory, where bytes are moved.
    fn copy(&self, from: Peer, remote: Remote, into: &UserBuf) {
        if !self.real {
            return;
        }
        let here = |memory: &UserBuf| {
            let (base, len) = memory.as_contiguous()?;
            let offset = (remote.addr as usize).checked_sub(base)?;
            (offset + remote.len as usize <= len).then_some(offset)
        };
        let mut places = self.memory[from as usize].iter();
        let found = places.find_map(|memory| here(memory).map(|offset| (memory, offset)));
        let (memory, offset) = found.expect("a get names memory of a call");
        UserBuf::copy(memory, offset, into, 0, remote.len as usize);
    }

    /// What an engine has asked for is over: it hears of it when it polls next.
    pub(crate) fn complete_transfer(&mut self, rank: Peer, token: Token) {
        self.transfers.complete_transfer(rank, token);
    }

    /// How many messages a rank has not taken yet.
    pub(crate) fn queued(&self, rank: Peer) -> usize {
        let first = Some(self.queues[rank as usize].first).filter(|&index| index != NONE);
        let next = |&index: &u32| Some(self.flights[index as usize].next).filter(|&next| next != NONE);
        std::iter::successors(first, next).count()
    }
}

fn write_payload(am: &Am<'_>, bytes: &mut [u8]) {
    let (extended, body) = bytes.split_at_mut(am.extended.len());
    extended.copy_from_slice(am.extended);
    am.body.read(am.offset, body);
}

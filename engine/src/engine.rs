//! The engine itself: what it holds, and how it makes progress.

use crate::counters::EngineCounters;
use crate::matching::{Pattern, Posted, Unexpected};
use crate::multicast_queue::PendingMulticasts;
use crate::partitioned::pairs::PartitionedRequests;
use crate::peers::{FifoEntry, PeerState, Peers};
use crate::request::{EngineRequest, RequestId, RequestOwner, RequestState, Status};
use crate::rma::{Lazy, OutboundRma};
use crate::settings::EngineSettings;
use crate::slab::{Id, Slab};
use crate::types::SignatureTypes;
use crate::unexpected_message::UnexpectedMessage;
use crate::wire::{ExtendedHeader, HeaderKind, Offer, Ready};
use std::collections::VecDeque;
use std::sync::Arc;
use tern_mem::{Datatype, UserBuf};
use tern_transport::{Am, Header, Peer, TransferError, Transport};

/// The engine of one process over a transport.
///
/// All calls by one thread at a time. None waits: a caller that has to wait calls [`Engine::poll`] and decides
/// itself how to pass the time.
pub struct Engine<T> {
    pub(crate) transport: T,
    pub(crate) core: EngineCore,
}

/// Everything but the transport: what the transport's [`tern_transport::Sink`] is while it polls.
pub(crate) struct EngineCore {
    pub settings: EngineSettings,
    pub peers: Peers,
    pub posted: Posted,
    pub unexpected: Unexpected,
    pub unexpected_messages: Slab<UnexpectedMessage>,
    /// Memory that they take now, and the most that they ever took.
    pub unexpected_bytes: u64,
    pub unexpected_bytes_peak: u64,
    pub requests: Slab<EngineRequest>,
    /// What receives are compared with, if types are checked.
    pub types: SignatureTypes,
    /// What handlers found to do while the transport was polling.
    pub actions: VecDeque<Action>,
    /// Peers whose FIFO is not empty.
    pub backlogged: Vec<Peer>,
    /// Sends that have fragments left.
    pub streams: Vec<Id>,
    /// Multicasts that could not go yet.
    pub multicasts: PendingMulticasts,
    /// Partitioned sends and receives, from the first on.
    pub partitioned: Option<Box<PartitionedRequests>>,
    /// Windows that are reached by messages.
    pub rma: Lazy,
    /// Blocks for unexpected messages, to be used again.
    pub pool: Vec<UserBuf>,
    /// Where all unexpected messages land, if no bytes are moved: see [`Engine::forget_unexpected_bytes`].
    pub void: Option<UserBuf>,
    /// What has been done, if somebody counts.
    pub counters: Option<Box<EngineCounters>>,
    /// Counts the receives that have looked for their message alone: see [`Engine::take_next`].
    pub taken_in_a_row: u32,
    /// Requests that have ever been completed: whoever sleeps can see whether it was its own.
    pub completions: u64,
    /// Messages that have ever come before somebody wanted them: a probe may wait for them.
    pub unexpected_ever: u64,
}

/// Work that needs the transport.
#[derive(Debug)]
pub(crate) enum Action {
    /// Send a message of the protocol.
    Control { peer: Peer, kind: HeaderKind, extended: ExtendedHeader },
    /// A receive met a sender's offer.
    Begin { receiver: Id, from: Peer, offer: Offer },
    /// The receiver has said how it wants this side's message.
    Proceed { from: Peer, ready: Ready },
    /// A get that went on was refused in the end.
    GetRefused { receiver: Id, from: Peer, sender: Id, error: TransferError },
    /// A put that went on was refused in the end.
    PutRefused { sender: Id, to: Peer, receiver: Id, error: TransferError },
    /// There is a shorter way to a peer.
    Approach { peer: Peer },
    /// Give credits back by a message of their own.
    Refill { peer: Peer },
    /// Send what a partitioned send has gathered.
    Partitions(Id),
    /// Send a message of a window.
    Post { peer: Peer, out: Box<OutboundRma> },
    /// Remote ranks wait for the lock of this rank's part of a window; stays as long as they do.
    Grant { window: Id },
    /// Wake ranks of this host that wait for that lock.
    RingWaiters { window: Id },
}

impl<T: Transport> Engine<T> {
    /// An engine for a job of `size` ranks.
    pub fn new(size: u32, transport: T, settings: EngineSettings) -> Self {
        let core = EngineCore {
            peers: Peers::new(size, settings.window_units()),
            settings,
            posted: Posted::default(),
            unexpected: Unexpected::default(),
            unexpected_messages: Slab::default(),
            unexpected_bytes: 0,
            unexpected_bytes_peak: 0,
            requests: Slab::default(),
            types: SignatureTypes::default(),
            actions: VecDeque::new(),
            backlogged: Vec::new(),
            streams: Vec::new(),
            multicasts: PendingMulticasts::default(),
            partitioned: None,
            rma: Lazy::default(),
            pool: Vec::new(),
            void: None,
            counters: None,
            taken_in_a_row: 0,
            completions: 0,
            unexpected_ever: 0,
        };
        Engine { transport, core }
    }

    /// Messages may go to and come from a process of another world that the transport has given this number.
    pub fn add_peer(&mut self, peer: Peer) {
        self.core.peers.add(peer);
    }

    /// Nothing more goes to or comes from this peer, and its number may be given to another.
    pub fn forget_peer(&mut self, peer: Peer) {
        self.transport.forget(peer);
        self.core.peers.forget(peer);
        self.core.backlogged.retain(|other| *other != peer);
    }

    /// The transport, to ask it.
    pub fn transport_ref(&self) -> &T {
        &self.transport
    }

    /// The transport, for what is not messages: doorbells and the slots of collectives.
    pub fn transport(&mut self) -> &mut T {
        &mut self.transport
    }

    /// The settings.
    pub fn settings(&self) -> &EngineSettings {
        &self.core.settings
    }

    /// From now on all messages that come before their receive and fit land in this one block, on top of each other: for a
    /// simulator, whose messages have a length but no bytes.
    pub fn forget_unexpected_bytes(&mut self, void: UserBuf) {
        self.core.void = Some(void);
    }

    /// How many requests have been completed since the start.
    pub fn completions(&self) -> u64 {
        self.core.completions
    }

    /// How many requests have been completed and messages have come unexpected since the start: what a thread that sleeps may
    /// wait for.
    pub fn events(&self) -> u64 {
        self.core.completions + self.core.unexpected_ever
    }

    /// Takes what has arrived and moves on what can move. Returns whether anything happened.
    #[inline]
    pub fn poll(&mut self) -> bool {
        let arrived = self.transport.poll(&mut self.core);
        self.follow(arrived)
    }

    /// As [`Engine::poll`], for a caller who waits for a peer's next message: see [`Transport::poll_first`].
    #[inline]
    pub fn poll_first(&mut self, peer: Peer) -> bool {
        let arrived = self.transport.poll_first(peer, &mut self.core);
        self.follow(arrived)
    }

    /// Moves on what a poll has made possible.
    #[inline]
    pub(crate) fn follow(&mut self, arrived: bool) -> bool {
        if self.core.has_nothing_to_do() {
            return arrived;
        }
        self.advance() || arrived
    }

    /// Whether sends are still on their way out: `MPI_Finalize` waits for them.
    pub fn has_unsent(&self) -> bool {
        !self.core.has_nothing_to_do()
    }

    /// Whether nothing is under way that the program could ask for or that must still be sent.
    pub fn is_idle(&self) -> bool {
        self.core.requests.is_empty() && !self.has_unsent()
    }

    /// A request that has ended already, for a call that must return one. A send that was over before it needed a request
    /// has [`Id::COMPLETED`], which all share.
    #[inline]
    pub fn ended(&mut self, status: Status) -> RequestId {
        let pattern = Pattern { context: status.context, source: status.source, tag: status.tag };
        let (id, request) = self.core.requests.occupy();
        request.begin(RequestState::Done, pattern, UserBuf::empty(), 0);
        request.status = status;
        id
    }

    /// How a request ended, if it has; it is gone then.
    #[inline]
    pub fn test(&mut self, id: RequestId) -> Option<Status> {
        if id == RequestId::COMPLETED {
            return Some(Status::EMPTY);
        }
        let request = self.core.requests.get_mut(id).filter(|request| request.is_done())?;
        let status = request.status;
        request.vacate();
        self.core.requests.free(id);
        Some(status)
    }

    /// As [`Engine::test`], but takes only what ended without a fault, and shows its status instead of copying it.
    /// Whether that was so.
    #[inline(always)]
    pub fn test_if_successful(&mut self, id: RequestId, show: impl FnOnce(&Status)) -> bool {
        if id == RequestId::COMPLETED {
            show(&Status::EMPTY);
            return true;
        }
        match self.core.requests.get_mut(id) {
            Some(request) if request.is_done() && request.status.fault.is_none() => {
                show(&request.status);
                request.vacate();
                self.core.requests.free(id);
                true
            }
            _ => false,
        }
    }

    /// How a request ended, if it has; it stays (`MPI_Request_get_status`).
    pub fn peek(&self, id: RequestId) -> Option<Status> {
        if id == RequestId::COMPLETED {
            return Some(Status::EMPTY);
        }
        self.core
            .requests
            .get(id)
            .filter(|request| request.state == RequestState::Done)
            .map(|request| request.status)
    }

    /// Whether the request exists.
    pub fn exists(&self, id: RequestId) -> bool {
        id == RequestId::COMPLETED || self.core.requests.get(id).is_some()
    }

    /// Peer, tag and bytes of a request, to tell a person what it waits for.
    /// The source of a receive is [`crate::ANY_SOURCE`] when wild.
    pub fn describe(&self, id: RequestId) -> Option<Description> {
        self.core.requests.get(id).map(Description::of)
    }

    /// `TERN_CHECK=types`: receives of this datatype, by its signature, are compared with what comes.
    pub fn learn_type(&mut self, datatype: &Arc<Datatype>) {
        self.core.types.learn(datatype);
    }

    /// The request completes by itself and nobody will ask (`MPI_Request_free`, MPI 5.0 section 3.7.3).
    pub fn detach(&mut self, id: RequestId) {
        let Some(request) = self.core.requests.get_mut(id) else { return };
        if request.state == RequestState::Done {
            self.core.requests.remove(id);
        } else {
            request.owner = request.owner.without_caller();
        }
    }

    /// Sends a message of the protocol, now or when the transport can.
    pub(crate) fn control(&mut self, peer: Peer, kind: HeaderKind, extended: ExtendedHeader) {
        let state = self.peer_state(peer);
        let waits = !state.backlog.is_empty();
        if waits || self.send_control(peer, kind, &extended).is_err() {
            self.core.enqueue(peer, FifoEntry::Control { kind, extended });
        }
    }

    /// The peer's state; asks the transport for its limits the first time.
    #[inline]
    pub(crate) fn peer_state(&mut self, peer: Peer) -> &mut PeerState {
        if !self.core.peers.state_or_new(peer).met {
            let limits = self.transport.limits(peer);
            let eager_bytes_max = self.core.settings.eager_bytes_max(&limits);
            self.core.peers.set_limits(peer, limits, eager_bytes_max);
        }
        self.core.peers.state_or_new(peer)
    }

    fn advance(&mut self) -> bool {
        let (mut moved, mut grants, mut nearer) = (false, Vec::new(), Vec::new());
        while let Some(action) = self.core.actions.pop_front() {
            moved |= !matches!(action, Action::Grant { .. } | Action::Approach { .. });
            match action {
                Action::Control { peer, kind, extended } => self.control(peer, kind, extended),
                Action::Begin { receiver, from, offer } => self.begin(receiver, from, &offer),
                Action::Proceed { from, ready } => self.proceed(from, &ready),
                Action::GetRefused { receiver, from, sender, error } => {
                    self.get_refused(receiver, from, sender, error);
                }
                Action::PutRefused { sender, to, receiver, error } => {
                    self.put_refused(sender, to, receiver, error);
                }
                Action::Approach { peer } => nearer.push(peer),
                Action::Refill { peer } => self.refill(peer),
                Action::Partitions(id) => self.push_gathered(id),
                Action::Post { peer, out } => self.post(peer, *out),
                Action::Grant { window } => grants.push(window),
                Action::RingWaiters { window } => self.ring_waiters(window),
            }
        }
        for window in grants {
            if self.grant(window) {
                self.core.actions.push_back(Action::Grant { window });
            }
        }
        for at in (0..self.core.backlogged.len()).rev() {
            let peer = self.core.backlogged[at];
            moved |= self.flush(peer);
            if self.core.peers.get(peer).is_none_or(|state| state.backlog.is_empty()) {
                self.core.backlogged.swap_remove(at);
            }
        }
        nearer.into_iter().for_each(|peer| self.approach(peer));
        moved |= self.push_multicasts();
        self.push_streams() || moved
    }

    /// Takes a shorter way to a peer, unless something waits that was measured for the old one: the transport asks again.
    #[cold]
    fn approach(&mut self, peer: Peer) {
        let waits = self.core.peers.get(peer).is_some_and(|state| !state.backlog.is_empty());
        if waits || !self.transport.approach(peer) {
            return;
        }
        let limits = self.transport.limits(peer);
        let eager_bytes_max = self.core.settings.eager_bytes_max(&limits);
        self.core.peers.change_limits(peer, limits, eager_bytes_max);
    }

    /// Sends from the peer's FIFO what the transport takes.
    pub(crate) fn flush(&mut self, peer: Peer) -> bool {
        let mut moved = false;
        while let Some(waiting) = self.core.peers.get(peer).and_then(|state| state.backlog.front()) {
            let sent = match *waiting {
                FifoEntry::Send(id) => self.send_queued(peer, id),
                FifoEntry::Control { kind, extended } => self.send_control(peer, kind, &extended),
                FifoEntry::Partitioned { kind, envelope, extended } => {
                    self.send_enveloped(peer, kind, &envelope, &extended)
                }
                FifoEntry::Partitions(id) => self.push_partitions(id),
                FifoEntry::Outbound(_) => self.push_waiting(peer),
            };
            if sent.is_err() {
                break;
            }
            self.core.peers.state_or_new(peer).backlog.pop();
            moved = true;
        }
        moved
    }

    fn send_control(
        &mut self,
        peer: Peer,
        kind: HeaderKind,
        extended: &ExtendedHeader,
    ) -> Result<(), tern_transport::Full> {
        let body = UserBuf::empty();
        let header = Header { kind: kind as u8, ..Header::default() };
        let am = Am { header, extended: extended.bytes(), body: &body, offset: 0, len: 0 };
        self.transmit(peer, am)
    }

    /// Hands a message to the transport, with the credits that are owed.
    #[inline]
    pub(crate) fn transmit(&mut self, peer: Peer, mut am: Am<'_>) -> Result<(), tern_transport::Full> {
        transmit(&mut self.transport, &mut self.core.peers, peer, &mut am)
    }

    fn refill(&mut self, peer: Peer) {
        // A message in between may have carried them already.
        let due = self.core.peers.owed_max();
        if self.core.peers.get(peer).is_some_and(|state| state.owed >= due) {
            self.control(peer, HeaderKind::Credits, ExtendedHeader::EMPTY);
        }
    }
}

/// Hands a message to the transport, with the credits that are owed to the peer.
#[inline(always)]
pub(crate) fn transmit<T: Transport>(
    transport: &mut T,
    peers: &mut Peers,
    peer: Peer,
    am: &mut Am<'_>,
) -> Result<(), tern_transport::Full> {
    transmit_by(transport, peers, peer, am, |transport, am| transport.send(peer, am))
}

/// As [`transmit`], by whichever call of the transport.
#[inline(always)]
pub(crate) fn transmit_by<'a, T: Transport>(
    transport: &mut T,
    peers: &mut Peers,
    peer: Peer,
    am: &mut Am<'a>,
    send: impl FnOnce(&mut T, &Am<'a>) -> Result<(), tern_transport::Full>,
) -> Result<(), tern_transport::Full> {
    let Some(state) = peers.get(peer) else { return send(transport, am) };
    am.header.credits = state.owed_for_header();
    send(transport, am)?;
    state.gave_back(am.header.credits);
    Ok(())
}

/// What a request is, for a person.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Description {
    /// A receive rather than a send.
    pub receive: bool,
    /// The communicator's context.
    pub context: u64,
    /// Of a receive, the rank in the communicator or [`crate::ANY_SOURCE`]; of a send, the rank in the world.
    pub peer: u32,
    /// Tag, or [`crate::ANY_TAG`].
    pub tag: i32,
    /// Bytes of the buffer.
    pub bytes: u64,
}

impl Description {
    pub(crate) fn of(request: &EngineRequest) -> Self {
        let receive = request.is_receive();
        let peer = if receive { request.pattern.source } else { request.peer };
        let Pattern { context, tag, .. } = request.pattern;
        Description { receive, context, peer, tag, bytes: request.buf.len() as u64 }
    }
}

impl EngineCore {
    /// Whether nothing waits for the transport.
    #[inline(always)]
    pub(crate) fn has_nothing_to_do(&self) -> bool {
        self.actions.is_empty()
            && self.backlogged.is_empty()
            && self.streams.is_empty()
            && self.multicasts.is_empty()
    }

    /// Puts something at the end of a peer's FIFO.
    pub(crate) fn enqueue(&mut self, peer: Peer, waiting: FifoEntry) {
        self.tally(|counters| counters.transport_full += 1);
        let state = self.peers.state_or_new(peer);
        if state.backlog.is_empty() && !self.backlogged.contains(&peer) {
            self.backlogged.push(peer);
        }
        state.backlog.push(waiting);
    }

    #[cold]
    #[inline(never)]
    fn complete_rarely(&mut self, id: Id) {
        let Some(owner) = self.requests.get(id).map(|request| request.owner) else { return };
        match owner {
            RequestOwner::Caller => {}
            RequestOwner::CallerCounts => self.receive_ended(id),
            RequestOwner::Access => self.access_ended(id),
            RequestOwner::AccessOfNobody | RequestOwner::Exposed => {
                self.access_ended(id);
                self.requests.remove(id);
            }
            RequestOwner::Nobody | RequestOwner::PartitionedSend(_) | RequestOwner::PartitionedReceive(_) => {
                self.end_unasked(id)
            }
        }
    }

    /// The request is done.
    #[inline]
    pub(crate) fn complete(&mut self, id: Id) {
        let Some(request) = self.requests.get_mut(id) else { return };
        request.state = RequestState::Done;
        self.completions += 1;
        if !matches!(request.owner, RequestOwner::Caller) {
            self.complete_rarely(id);
        }
    }
}

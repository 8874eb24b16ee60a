//! A job of several engines under random traffic, each step of which the oracle foretells.

use super::memory::{Memory, contents};
use super::net::Conditions;
use super::oracle::Oracle;
use super::rng::Rng;
use super::tap::{Arrival, Event, Tap};
use std::collections::VecDeque;
use std::time::{Duration, Instant};
use tern_engine::limits::CREDIT_UNIT_BYTES;
use tern_engine::*;
use tern_mem::UserBuf;
use tern_transport::{AM_INLINE_BYTES_MAX, Limits, Peer, Transport};

/// A job to run: everything follows from it.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub seed: u64,
    pub ranks: usize,
    pub steps: usize,
    /// Bytes of the longest message.
    pub len_max: usize,
    pub conditions: Conditions,
    pub settings: EngineSettings,
}

impl Plan {
    /// Any plan.
    pub(crate) fn random(seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let limits = Limits {
            eager_bytes_max: rng.pick(&[40, 64, 300, 4096]),
            get: rng.chance(50),
            put: rng.chance(50),
            cooperative_copy: rng.chance(50),
            prefers_send: rng.chance(50),
        };
        let conditions = Conditions {
            limits,
            queue_max: rng.pick(&[1, 3, 64]),
            piecewise: rng.chance(50),
            slow: rng.chance(50),
            transfers_max: rng.pick(&[0, 10, usize::MAX, usize::MAX]),
            shares_fail: false,
        };
        use Rendezvous::*;
        let settings = EngineSettings {
            eager_bytes_max: rng.pick(&[0, 100, usize::MAX, usize::MAX]),
            get_bytes_min: rng.pick(&[0, 50, 5000, usize::MAX]),
            credit_bytes: rng.pick(&[0, 1024, 20_000, 1 << 20]),
            rendezvous: rng.pick(&[Auto, Auto, Auto, Get, Put, Cooperative, Stream]),
            cooperative_bytes_min: rng.pick(&[1, 1000, 32 * 1024]),
            check_types: rng.chance(20),
            check_collectives: false,
        };
        let len_max = 4 * limits.eager_bytes_max;
        Plan { seed, ranks: 2 + rng.below(3), steps: 400, len_max, conditions, settings }
    }

    /// Runs it to the end.
    pub(crate) fn run<W: World>(self) {
        let mut job = Job::<W>::new(self);
        for _ in 0..job.plan.steps {
            job.step();
        }
        job.end();
    }
}

/// What a job's ranks live in.
pub(crate) trait World {
    type Transport: Transport;
    /// Polls of all ranks in which nothing moves, after which nothing will.
    const QUIET_POLLS: u32 = 30;
    fn new(plan: &Plan) -> Self;
    /// How long nothing moves at least before nothing will.
    fn quiet_time(&self) -> Duration {
        Duration::ZERO
    }
    /// A rank's end of it.
    fn end(&mut self, rank: Peer) -> Self::Transport;
    /// Others may read and write `buf` of `rank` from now on.
    fn open(&self, _rank: Peer, _buf: &UserBuf) {}
    /// No more: whoever touches it now has broken the promise that a buffer is the user's after completion.
    fn close(&self, _rank: Peer, _buf: &UserBuf) {}
    /// Whether nothing is on its way.
    fn is_empty(&self) -> bool {
        true
    }
}

struct Message {
    from: Peer,
    to: Peer,
    envelope: Envelope,
    mode: Mode,
    signature: u64,
    memory: Memory,
    /// Until it is done.
    request: Option<RequestId>,
    detached: bool,
    /// Early-arrival units that it takes at the receiver now.
    held: u32,
    /// It arrived before its receive.
    early: bool,
    /// The receiver was asked to give it up before it was matched.
    withdrawn: bool,
    receive: Option<usize>,
}

struct Receive {
    at: Peer,
    signature: u64,
    memory: Memory,
    before: Vec<u8>,
    after: Option<Vec<u8>>,
    request: Option<RequestId>,
    message: Option<usize>,
}

pub(crate) struct Job<W: World> {
    plan: Plan,
    rng: Rng,
    world: W,
    engines: Vec<Engine<Tap<W::Transport>>>,
    oracles: Vec<Oracle>,
    messages: Vec<Message>,
    receives: Vec<Receive>,
    /// Messages that have not arrived, `from * ranks + to`.
    sent: Vec<VecDeque<usize>>,
    sending: Vec<usize>,
    receiving: Vec<usize>,
    /// What matched probes have taken out.
    taken: Vec<(Peer, MessageId, usize)>,
}

/// Whoever reads of a failed test can run it again.
impl<W: World> Drop for Job<W> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("failed: {:?}", self.plan);
        }
    }
}

const CONTEXTS: [u64; 2] = [7, 1 << 40];
const TAGS: [i32; 3] = [0, 1, i32::MAX];

impl<W: World> Job<W> {
    pub(crate) fn new(plan: Plan) -> Self {
        let ranks = plan.ranks;
        let mut world = W::new(&plan);
        let mut engine = |rank| Engine::new(ranks as u32, Tap::new(world.end(rank)), plan.settings.clone());
        Job {
            rng: Rng::new(plan.seed ^ 2),
            engines: (0..ranks as Peer).map(&mut engine).collect(),
            oracles: (0..ranks).map(|_| Oracle::default()).collect(),
            messages: Vec::new(),
            receives: Vec::new(),
            sent: vec![VecDeque::new(); ranks * ranks],
            sending: Vec::new(),
            receiving: Vec::new(),
            taken: Vec::new(),
            world,
            plan,
        }
    }

    fn step(&mut self) {
        match self.rng.below(100) {
            0..30 => self.random_send(),
            30..50 => self.random_receive(),
            50..58 => self.receive_next(),
            58..62 => self.probe(),
            62..66 => self.take(),
            66..69 => self.receive_taken(),
            69..73 => self.cancel_receive(),
            73..77 => self.cancel_send(),
            77..79 => self.detach_send(),
            79..92 => {
                let rank = self.any_rank();
                self.poll(rank);
            }
            _ => self.test_all(),
        }
    }

    fn any_rank(&mut self) -> Peer {
        self.rng.below(self.plan.ranks) as Peer
    }

    fn any_pattern(&mut self) -> Pattern {
        let source = self.any_rank();
        Pattern {
            context: self.rng.pick(&CONTEXTS),
            source: if self.rng.chance(30) { ANY_SOURCE } else { source },
            tag: if self.rng.chance(30) { ANY_TAG } else { self.rng.pick(&TAGS) },
        }
    }

    pub(crate) fn any_len(&mut self) -> usize {
        let eager = self.plan.conditions.limits.eager_bytes_max;
        match self.rng.below(10) {
            0 => 0,
            1..4 => self.rng.below(41),
            4..7 => self.rng.below(eager + 2),
            _ => self.rng.below(self.plan.len_max),
        }
    }

    fn any_signature(&mut self) -> u64 {
        if self.plan.settings.check_types { self.rng.below(3) as u64 } else { 0 }
    }

    pub(crate) fn random_send(&mut self) {
        let (from, to) = (self.any_rank(), self.any_rank());
        let mode = self.rng.pick(&[Mode::Standard, Mode::Standard, Mode::Synchronous, Mode::Ready]);
        let len = self.any_len();
        self.send(from, to, mode, len);
    }

    pub(crate) fn send(&mut self, from: Peer, to: Peer, mode: Mode, len: usize) {
        let (context, tag) = (self.rng.pick(&CONTEXTS), self.rng.pick(&TAGS));
        let envelope = Envelope { context, source: from, tag };
        let signature = self.any_signature();
        let memory = Memory::random(&mut self.rng, len);
        let number = self.messages.len();
        memory.buf().write(0, &contents(number, len));
        self.world.open(from, memory.buf());
        let started = self.engines[from as usize].send(mode, to, envelope, memory.buf(), signature);
        self.sent[from as usize * self.plan.ranks + to as usize].push_back(number);
        let request = match started {
            StartedMessage::Done(_) => None,
            StartedMessage::Pending(id) => Some(id),
        };
        let (detached, held, early, receive) = (false, 0, false, None);
        self.messages.push(Message {
            from,
            to,
            envelope,
            mode,
            signature,
            memory,
            request,
            detached,
            held,
            early,
            withdrawn: false,
            receive,
        });
        match started {
            StartedMessage::Done(status) => self.sent_all(number, status),
            StartedMessage::Pending(_) => self.sending.push(number),
        }
    }

    /// A send is complete: its buffer may change.
    fn sent_all(&mut self, number: usize, status: Status) {
        let message = &mut self.messages[number];
        message.request = None;
        assert_eq!((status.cancelled, status.fault), (message.withdrawn, None));
        assert!(
            message.withdrawn || message.mode != Mode::Synchronous || message.receive.is_some(),
            "complete before its match"
        );
        self.world.close(message.from, message.memory.buf());
        message.memory.buf().write(0, &vec![0xee; message.memory.buf().len()]);
    }

    fn random_receive(&mut self) {
        let at = self.any_rank();
        let pattern = self.any_pattern();
        self.receive(at, pattern);
    }

    fn new_receive(&mut self, at: Peer) -> usize {
        let room = if self.rng.chance(75) { self.plan.len_max } else { self.any_len() };
        let signature = self.any_signature();
        let memory = Memory::random(&mut self.rng, room);
        self.world.open(at, memory.buf());
        let before = memory.bytes();
        self.receives.push(Receive {
            at,
            signature,
            memory,
            before,
            after: None,
            request: None,
            message: None,
        });
        self.receives.len() - 1
    }

    pub(crate) fn receive(&mut self, at: Peer, pattern: Pattern) {
        let number = self.new_receive(at);
        let found = self.oracles[at as usize].receive(pattern, number);
        let receive = &self.receives[number];
        let started = self.engines[at as usize].receive(pattern, receive.memory.buf(), receive.signature);
        if let Some(message) = found {
            self.matched(message, number);
        }
        self.receive_started(number, started);
    }

    /// A receive that polls, and may get what arrives then.
    fn receive_next(&mut self) {
        let (at, pattern) = (self.any_rank(), self.any_pattern());
        if self.plan.settings.check_types {
            return;
        }
        let number = self.new_receive(at);
        let buf = self.receives[number].memory.buf().clone();
        let polls_max = 1 + number as u32 % 4;
        match self.engines[at as usize].receive_next(pattern, &buf, polls_max) {
            Some(started) => {
                let found = self.oracles[at as usize].receive(pattern, number);
                assert_eq!(found, None, "an earlier message fits");
                self.note_events(at);
                self.receive_started(number, started);
            }
            None => {
                self.world.close(at, &buf);
                self.receives.pop();
            }
        }
    }

    fn receive_started(&mut self, number: usize, started: StartedMessage) {
        match started {
            StartedMessage::Done(status) => self.received(number, status),
            StartedMessage::Pending(id) => {
                self.receives[number].request = Some(id);
                self.receiving.push(number);
            }
        }
    }

    fn matched(&mut self, message: usize, receive: usize) {
        self.messages[message].receive = Some(receive);
        self.messages[message].held = 0;
        self.receives[receive].message = Some(message);
    }

    /// A receive is complete: it must have got what the oracle says.
    fn received(&mut self, number: usize, status: Status) {
        let receive = &mut self.receives[number];
        receive.request = None;
        self.world.close(receive.at, receive.memory.buf());
        let message = receive.message.expect("a receive has a message when it is complete");
        let sent = &self.messages[message];
        let (len, room) = (sent.memory.buf().len(), receive.memory.buf().len());
        let taken = len.min(room);
        let fault = if sent.mode == Mode::Ready && sent.early {
            Some(MessageFault::NotReady)
        } else if len > room {
            Some(MessageFault::Truncated { sent: len as u64, room: room as u64 })
        } else {
            let (theirs, ours) = (sent.signature, receive.signature);
            let differ = theirs != ours && theirs * ours != 0;
            (differ && len > 0).then_some(MessageFault::Signature { theirs, ours })
        };
        let expected = Status { fault, ..Status::of(&sent.envelope, taken as u64) };
        assert_eq!(status, expected, "receive {number} of message {message}");
        let mut bytes = receive.before.clone();
        bytes[..taken].copy_from_slice(&contents(message, len)[..taken]);
        assert!(receive.memory.bytes() == bytes, "receive {number}: wrong bytes of message {message}");
        receive.after = Some(bytes);
    }

    fn probe(&mut self) {
        let (at, pattern) = (self.any_rank(), self.any_pattern());
        let found = self.engines[at as usize].probe(&pattern);
        let expected = self.oracles[at as usize].probe(&pattern);
        assert_eq!(found, expected.map(|message| self.probed(message)));
    }

    fn probed(&self, message: usize) -> Probed {
        let message = &self.messages[message];
        Probed { envelope: message.envelope, bytes: message.memory.buf().len() as u64 }
    }

    fn take(&mut self) {
        let (at, pattern) = (self.any_rank(), self.any_pattern());
        let found = self.engines[at as usize].probe_matched(&pattern);
        let expected = self.oracles[at as usize].take(&pattern);
        assert_eq!(found.map(|found| found.1), expected.map(|message| self.probed(message)));
        if let (Some((id, _)), Some(message)) = (found, expected) {
            self.taken.push((at, id, message));
        }
    }

    fn receive_taken(&mut self) {
        if self.taken.is_empty() {
            return;
        }
        let at = self.rng.below(self.taken.len());
        let (rank, id, message) = self.taken.swap_remove(at);
        let number = self.new_receive(rank);
        let receive = &self.receives[number];
        let engine = &mut self.engines[rank as usize];
        let started = engine.receive_matched(id, receive.memory.buf(), receive.signature);
        self.matched(message, number);
        self.receive_started(number, started.expect("a matched message can be received"));
    }

    fn cancel_receive(&mut self) {
        if self.receiving.is_empty() {
            return;
        }
        let at = self.rng.below(self.receiving.len());
        self.cancel_receive_at(at);
    }

    fn cancel_receive_at(&mut self, at: usize) {
        let number = self.receiving[at];
        let receive = &self.receives[number];
        let Some(id) = receive.request else { return };
        let engine = &mut self.engines[receive.at as usize];
        engine.cancel(id);
        let in_time = self.oracles[receive.at as usize].cancel(number);
        assert_eq!(engine.peek(id).is_some_and(|status| status.cancelled), in_time);
        if in_time {
            assert!(engine.test(id).is_some());
            self.world.close(receive.at, receive.memory.buf());
            self.receives[number].after = Some(self.receives[number].before.clone());
            self.receives[number].request = None;
            self.receiving.swap_remove(at);
        }
    }

    fn cancel_send(&mut self) {
        if self.sending.is_empty() {
            return;
        }
        let at = self.rng.below(self.sending.len());
        let number = self.sending[at];
        let message = &mut self.messages[number];
        let Some(id) = message.request.filter(|_| !message.withdrawn) else { return };
        let engine = &mut self.engines[message.from as usize];
        engine.cancel(id);
        if engine.peek(id).is_some_and(|status| status.cancelled) {
            assert!(engine.test(id).is_some() && !engine.exists(id));
            message.request = None;
            self.world.close(message.from, message.memory.buf());
            let sent = &mut self.sent[message.from as usize * self.plan.ranks + message.to as usize];
            let place = sent.iter().position(|&other| other == number);
            sent.remove(place.expect("a cancelled message never arrived"));
            self.sending.swap_remove(at);
        }
    }

    fn detach_send(&mut self) {
        if self.sending.is_empty() {
            return;
        }
        let at = self.rng.below(self.sending.len());
        let number = self.sending.swap_remove(at);
        let message = &mut self.messages[number];
        if let Some(id) = message.request {
            self.engines[message.from as usize].detach(id);
            message.detached = true;
        }
    }

    pub(crate) fn poll(&mut self, rank: Peer) -> bool {
        let moved = self.engines[rank as usize].poll();
        self.note_events(rank);
        moved
    }

    fn note_events(&mut self, rank: Peer) {
        for event in self.engines[rank as usize].transport().events() {
            match event {
                Event::Message(arrival) => self.arrived(rank, &arrival),
                Event::Withdraw { from, request } => self.asked_to_withdraw(rank, from, request),
            }
        }
    }

    fn arrived(&mut self, rank: Peer, arrival: &Arrival) {
        let pair = arrival.from as usize * self.plan.ranks + rank as usize;
        let number = self.sent[pair].pop_front().expect("only what was sent arrives");
        let message = &mut self.messages[number];
        let header = arrival.header;
        let envelope = Envelope { context: header.context, source: header.source, tag: header.tag };
        assert_eq!((envelope, arrival.len), (message.envelope, message.memory.buf().len() as u64));
        match self.oracles[rank as usize].arrive(envelope, number) {
            Some(receive) => self.matched(number, receive),
            None => {
                message.early = true;
                message.held = if arrival.offered { 0 } else { cost_units(arrival.len) };
            }
        }
    }

    /// The receiver gives up a message that nobody has matched.
    fn asked_to_withdraw(&mut self, rank: Peer, from: Peer, request: RequestId) {
        let is =
            |message: &Message| (message.from, message.to, message.request) == (from, rank, Some(request));
        let Some(number) = self.messages.iter().rposition(is) else { return };
        if self.oracles[rank as usize].withdraw(number) {
            self.messages[number].withdrawn = true;
            self.messages[number].held = 0;
        }
    }

    /// No peer may fill more unexpected-message memory than it was granted.
    pub(crate) fn check_windows(&self) {
        let mut held = vec![0; self.sent.len()];
        for message in &self.messages {
            held[message.from as usize * self.plan.ranks + message.to as usize] += message.held;
        }
        let most = held.iter().max().copied().unwrap_or_default();
        assert!(most <= self.plan.settings.window_units(), "{most} units of unexpected messages");
    }

    fn test_all(&mut self) {
        for number in std::mem::take(&mut self.sending) {
            let message = &self.messages[number];
            let id = message.request.expect("it is pending");
            match self.engines[message.from as usize].test(id) {
                Some(status) => self.sent_all(number, status),
                None => self.sending.push(number),
            }
        }
        for number in std::mem::take(&mut self.receiving) {
            let receive = &self.receives[number];
            let id = receive.request.expect("it is pending");
            let engine = &mut self.engines[receive.at as usize];
            let peeked = engine.peek(id);
            let ended = engine.test(id);
            assert_eq!(peeked, ended);
            match ended {
                Some(status) => self.received(number, status),
                None => self.receiving.push(number),
            }
        }
        self.check_windows();
    }

    /// Everybody polls until nothing moves for a while.
    pub(crate) fn settle(&mut self) {
        let mut quiet = 0;
        let until = Instant::now() + Duration::from_secs(20);
        let mut moved_at = Instant::now();
        while quiet < W::QUIET_POLLS
            || moved_at.elapsed() < self.world.quiet_time()
            || (self.is_on_its_way() && Instant::now() < until)
        {
            let mut moved = false;
            for rank in 0..self.plan.ranks as Peer {
                moved |= self.poll(rank);
            }
            let before = self.sending.len() + self.receiving.len();
            self.test_all();
            moved |= before != self.sending.len() + self.receiving.len();
            quiet = if moved { 0 } else { quiet + 1 };
            if moved {
                moved_at = Instant::now();
            }
        }
    }

    /// Whether messages were sent that have not arrived.
    fn is_on_its_way(&self) -> bool {
        self.sent.iter().any(|queue| !queue.is_empty())
    }

    /// Receives all that was sent, and cancels what nobody has sent anything for.
    pub(crate) fn end(&mut self) {
        self.settle();
        while !self.taken.is_empty() {
            self.receive_taken();
        }
        for rank in 0..self.plan.ranks {
            while let Some(&(envelope, _)) = self.oracles[rank].unexpected.first() {
                let Envelope { context, .. } = envelope;
                self.receive(rank as Peer, Pattern { context, source: ANY_SOURCE, tag: ANY_TAG });
            }
        }
        self.settle();
        for at in (0..self.receiving.len()).rev() {
            self.cancel_receive_at(at);
        }
        self.complain_of_pending();
        self.check_leftovers();
    }

    fn complain_of_pending(&self) {
        if let Some(&number) = self.sending.first() {
            let message = &self.messages[number];
            let what = message.request.and_then(|id| self.engines[message.from as usize].describe(id));
            panic!("message {number} to {} never ends: {what:?}, {:?}", message.to, message.receive);
        }
        if let Some(&number) = self.receiving.first() {
            let receive = &self.receives[number];
            panic!("receive {number} at {} never ends, of message {:?}", receive.at, receive.message);
        }
    }

    fn check_leftovers(&mut self) {
        assert!(self.world.is_empty(), "something is still on its way");
        for engine in &self.engines {
            assert_eq!(engine.object_counts(), ObjectCounts::default());
            assert!(!engine.has_unsent());
        }
        self.check_credits();
        for receive in &self.receives {
            assert!(Some(receive.memory.bytes()) == receive.after, "written to after completion");
            assert!(receive.memory.gaps_are_whole(), "written between the blocks");
        }
        for (number, message) in self.messages.iter().enumerate() {
            let len = message.memory.buf().len();
            let whole = !message.detached || message.memory.bytes() == contents(number, len);
            assert!(whole && message.memory.gaps_are_whole(), "a send has changed its buffer");
        }
    }

    /// Credits are neither lost nor made: what a side cannot use is owed to it.
    fn check_credits(&mut self) {
        let window = self.plan.settings.window_units();
        for from in 0..self.plan.ranks {
            for to in 0..self.plan.ranks {
                let Some(credits) = self.engines[from].credits(to as Peer) else { continue };
                let owed = self.engines[to].owed(from as Peer);
                assert_eq!(credits + owed, window, "credits of {from} at {to}");
            }
        }
    }
}

/// What a message costs of the sender's credits, by the definition in the design: its envelope and its lines.
fn cost_units(len: u64) -> u32 {
    1 + len.saturating_sub(AM_INLINE_BYTES_MAX as u64).div_ceil(CREDIT_UNIT_BYTES as u64) as u32
}

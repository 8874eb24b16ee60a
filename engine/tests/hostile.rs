//! Peers that send anything at all: the engine neither panics nor touches a byte that is not its own.

use crate::support::attacker::{Attacker, GONE, RANKS};
use crate::support::rng::Rng;
use tern_engine::partitioned::{Division, Round};
use tern_engine::*;
use tern_mem::UserBuf;

const MARGIN: usize = 64;
const CANARY: u8 = 0x5a;
const ROOM: usize = 1500;
const SENT: u8 = 0x11;

/// A user's buffer between two margins.
struct Guarded {
    _memory: Vec<u8>,
    whole: UserBuf,
    inner: UserBuf,
    request: Option<RequestId>,
    receive: bool,
    /// What it held when it became the user's again.
    after: Option<Vec<u8>>,
}

impl Guarded {
    fn new(len: usize, receive: bool) -> Self {
        let mut memory = vec![CANARY; len + 2 * MARGIN];
        let base = memory.as_mut_ptr();
        // SAFETY: both lie within `memory`, which lives as long as this value and is touched through them only; a
        // value with a request that goes on is not dropped before the engine's last step.
        let (whole, inner) =
            unsafe { (UserBuf::contiguous(base, memory.len()), UserBuf::contiguous(base.add(MARGIN), len)) };
        inner.write(0, &vec![SENT; len]);
        Guarded { _memory: memory, whole, inner, request: None, receive, after: None }
    }

    fn bytes(&self) -> Vec<u8> {
        let mut bytes = vec![0; self.whole.len()];
        self.whole.read(0, &mut bytes);
        bytes
    }

    fn start(&mut self, started: StartedMessage) {
        match started {
            StartedMessage::Pending(id) => self.request = Some(id),
            StartedMessage::Done(_) => self.end(),
        }
    }

    /// The buffer is the user's again.
    fn end(&mut self) {
        self.request = None;
        if !self.receive {
            self.inner.write(0, &vec![GONE; self.inner.len()]);
        }
        self.after = Some(self.bytes());
    }

    fn check(&self) {
        let bytes = self.bytes();
        let margins = bytes[..MARGIN].iter().chain(&bytes[bytes.len() - MARGIN..]);
        assert!(margins.copied().all(|byte| byte == CANARY), "written beside a buffer");
        assert!(self.after.as_ref().is_none_or(|after| *after == bytes), "written to after completion");
        let untouched = bytes[MARGIN..bytes.len() - MARGIN].iter().all(|&byte| byte == SENT || byte == GONE);
        assert!(self.receive || untouched, "a send's buffer was written to");
    }
}

struct Victim {
    rng: Rng,
    engine: Engine<Attacker>,
    buffers: Vec<Guarded>,
    taken: Vec<MessageId>,
    parts: Vec<(Guarded, PartitionedId)>,
}

impl Victim {
    fn act(&mut self) {
        match self.rng.below(10) {
            0..3 => self.send(),
            3..5 => self.receive(),
            5 => self.partition(),
            6 => self.probe(),
            7 => self.cancel(),
            _ => self.test_all(),
        }
    }

    fn pattern(&mut self) -> Pattern {
        let source = if self.rng.chance(70) { ANY_SOURCE } else { self.rng.below(40) as u32 };
        let tag = if self.rng.chance(50) { ANY_TAG } else { self.rng.below(3) as i32 };
        Pattern { context: self.rng.below(3) as u64, source, tag }
    }

    fn send(&mut self) {
        let peer = self.rng.below(RANKS as usize) as u32;
        let mode = self.rng.pick(&[Mode::Standard, Mode::Synchronous, Mode::Ready]);
        let envelope = Envelope { context: 1, source: 0, tag: 1 };
        let mut buffer = Guarded::new(self.rng.below(ROOM), false);
        let signature = self.rng.below(2) as u64;
        let started = self.engine.send(mode, peer, envelope, &buffer.inner, signature);
        buffer.start(started);
        self.buffers.push(buffer);
    }

    fn receive(&mut self) {
        let mut buffer = Guarded::new(self.rng.below(ROOM), true);
        let started = match self.taken.pop() {
            Some(message) => self.engine.receive_matched(message, &buffer.inner, 1).expect("it was taken"),
            None => {
                let pattern = self.pattern();
                self.engine.receive(pattern, &buffer.inner, 1)
            }
        };
        buffer.start(started);
        self.buffers.push(buffer);
    }

    /// Makes a partitioned request, or moves one on: whatever is said of it, its buffer is touched only in a round.
    fn partition(&mut self) {
        let peer = self.rng.below(RANKS as usize) as u32;
        if self.parts.len() < 12 {
            let receive = self.rng.chance(50);
            let buffer = Guarded::new(ROOM, receive);
            let what = Division { buf: buffer.inner.clone(), partitions: 5, signature: 0 };
            let tag = self.rng.below(2) as i32;
            let id = match receive {
                true => {
                    let pattern = Pattern { context: 1, source: peer, tag };
                    self.engine.partitioned_receive(peer, pattern, 0, what)
                }
                false => self.engine.partitioned_send(peer, Envelope { context: 1, source: 0, tag }, what),
            };
            self.parts.push((buffer, id));
        }
        let at = self.rng.below(self.parts.len());
        let (buffer, id) = &mut self.parts[at];
        if buffer.receive {
            self.engine.start_partitioned_receive(*id);
            if let Round::Over(status) = self.engine.test_partitioned_receive(*id) {
                assert!(status.bytes <= ROOM as u64);
            }
        } else {
            self.engine.start_partitioned_send(*id);
            let partition = self.rng.below(5) as u32;
            let _ = self.engine.ready(*id, partition, partition, self.rng.chance(50));
            self.engine.test_partitioned_send(*id);
        }
        self.parts.iter().for_each(|(buffer, _)| buffer.check());
    }

    fn probe(&mut self) {
        let pattern = self.pattern();
        let seen = self.engine.probe(&pattern);
        let taken = self.engine.probe_matched(&pattern);
        assert_eq!(seen, taken.map(|taken| taken.1));
        self.taken.extend(taken.map(|taken| taken.0));
    }

    fn cancel(&mut self) {
        let at = self.rng.below(self.buffers.len());
        if let Some(id) = self.buffers.get(at).and_then(|buffer| buffer.request) {
            self.engine.cancel(id);
        }
    }

    fn test_all(&mut self) {
        for buffer in &mut self.buffers {
            if let Some(id) = buffer.request
                && let Some(status) = self.engine.test(id)
            {
                assert!(status.bytes <= buffer.inner.len() as u64);
                buffer.end();
            }
        }
        // Buffers of long ago need no second look.
        if self.buffers.len() > 300 {
            self.buffers.iter().for_each(Guarded::check);
            self.buffers.retain(|buffer| buffer.request.is_some() || self.rng.chance(50));
        }
    }
}

/// Injects active messages until there were so many.
fn attack(seed: u64, messages: usize) {
    let attacker = Attacker::new(seed);
    let settings =
        EngineSettings { cooperative_bytes_min: 400, credit_bytes: 4096, ..EngineSettings::default() };
    let engine = Engine::new(RANKS, attacker.clone(), settings);
    let (buffers, taken, parts) = (Vec::new(), Vec::new(), Vec::new());
    let mut victim = Victim { rng: Rng::new(!seed), engine, buffers, taken, parts };
    while attacker.injected() < messages {
        victim.act();
        victim.engine.poll();
    }
    victim.buffers.iter().for_each(Guarded::check);
}

#[test]
fn no_message_makes_the_engine_panic_or_write_where_it_must_not() {
    for seed in 0..6 {
        attack(seed, 20_000);
    }
}

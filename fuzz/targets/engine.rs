//! Headers and payloads of a peer that says what it likes, while this side sends, receives and probes.

#[path = "../driver.rs"]
pub(crate) mod driver;
#[path = "../input.rs"]
pub(crate) mod input;

use std::collections::VecDeque;
use std::sync::Arc;

use tern_mem::UserBuf;
use tern_transport::*;

pub use driver::Target;

use crate::wire::{HeaderKind, Offer};
use crate::*;
use input::Input;

/// All targets of this room.
pub const TARGETS: &[Target] = &[Target { name: "engine-wire", run: wire, seeds: dialogues }];

/// Ranks of the job; this side is rank 0.
const RANKS: u32 = 3;

/// Longest payload that the peer claims to send. What is longer is tested by `engine/tests/hostile.rs`.
const PAYLOAD_BYTES_MAX: usize = 5000;

/// A transport that has messages of any content, lands them at once, and refuses or ends transfers as the input says.
#[derive(Default)]
struct Scripted {
    messages: VecDeque<(Peer, Header, Vec<u8>)>,
    answers: VecDeque<u8>,
    pending: Vec<Token>,
}

impl Scripted {
    fn answer(&mut self) -> u8 {
        self.answers.pop_front().unwrap_or(0)
    }

    fn transfer(&mut self, done: Token) -> Transfer {
        match self.answer() % 3 {
            0 => Transfer::Done,
            1 => Transfer::Failed(TransferError::Os(1)),
            _ => {
                self.pending.push(done);
                Transfer::Pending
            }
        }
    }
}

impl Transport for Scripted {
    fn limits(&mut self, _: Peer) -> Limits {
        let says = self.answer();
        Limits {
            eager_bytes_max: 200,
            get: says & 1 == 0,
            put: says & 2 == 0,
            cooperative_copy: says & 4 == 0,
            prefers_send: says & 8 == 0,
        }
    }

    fn send(&mut self, _: Peer, am: &Am<'_>) -> Result<(), Full> {
        assert!(
            am.offset.checked_add(am.len).is_some_and(|end| end <= am.body.len()),
            "sends what is not there"
        );
        if self.answer() % 5 == 4 { Err(Full) } else { Ok(()) }
    }

    fn get(&mut self, _: Peer, _: Remote, into: &UserBuf, done: Token) -> Transfer {
        into.write(0, &vec![1; into.len().min(PAYLOAD_BYTES_MAX)]);
        self.transfer(done)
    }

    fn put(&mut self, _: Peer, _: &UserBuf, _: Remote, done: Token) -> Transfer {
        self.transfer(done)
    }

    fn open_cooperative_copy(
        &mut self,
        _: Peer,
        _: Remote,
        _: &UserBuf,
        done: Token,
    ) -> Option<CooperativeCopyKey> {
        (self.answer() % 2 == 0).then(|| {
            self.pending.push(done);
            CooperativeCopyKey(done.0)
        })
    }

    fn pull_cooperative_copy(&mut self, _: CooperativeCopyKey) -> Transfer {
        if self.answer() % 2 == 0 { Transfer::Done } else { Transfer::Pending }
    }

    fn join_cooperative_copy(
        &mut self,
        _: Peer,
        _: CooperativeCopyKey,
        _: &UserBuf,
        _: Remote,
        done: Token,
    ) -> Transfer {
        self.transfer(done)
    }

    fn poll(&mut self, sink: &mut impl Sink) -> bool {
        if self.answer() % 2 == 1
            && let Some(token) = self.pending.pop()
        {
            let refused = self.answer() % 2 == 1;
            sink.done(token, if refused { Err(TransferError::Os(14)) } else { Ok(()) });
        }
        let Some((from, header, payload)) = self.messages.pop_front() else { return false };
        if payload.len() <= AM_INLINE_BYTES_MAX {
            sink.short(from, &header, &payload);
        } else if let Landing::Place { buf, offset, len, token, .. } =
            sink.header(from, &header, payload.len())
        {
            assert!(len <= payload.len() && offset.checked_add(len).is_some_and(|end| end <= buf.len()));
            buf.write(offset, &payload[..len]);
            sink.landed(from, token);
        }
        true
    }

    fn doorbell(&self) -> Arc<dyn Doorbell> {
        Arc::new(Silent)
    }
}

/// Each step of the input is something that this side does, or a message of a peer, or both.
fn wire(bytes: &[u8]) {
    let mut input = Input(bytes);
    let answers = input.take(16).iter().copied().collect();
    let settings = EngineSettings { check_types: input.byte() % 2 == 1, ..EngineSettings::default() };
    let mut engine = Engine::new(RANKS, Scripted { answers, ..Scripted::default() }, settings);
    let (mut requests, mut steps) = (Vec::new(), 0);
    while !input.is_empty() && steps < 200 {
        steps += 1;
        let choice = input.byte();
        act(&mut engine, choice, &mut requests);
        if choice & 0x80 == 0 {
            let message = message(&mut input);
            engine.transport().messages.push_back(message);
        }
        engine.poll();
    }
    for _ in 0..50 {
        engine.poll();
    }
    for id in requests {
        engine.cancel(id);
        let _ = engine.test(id);
    }
    let _ = engine.object_counts();
}

fn act(engine: &mut Engine<Scripted>, choice: usize, requests: &mut Vec<RequestId>) {
    let len = [0, 8, 40, 100, 300, 3000, 40_000][choice % 7];
    let envelope = Envelope { context: 0, source: 0, tag: 1 };
    let pattern = Pattern { context: 0, source: if choice % 3 == 0 { ANY_SOURCE } else { 1 }, tag: 1 };
    let mode = [Mode::Standard, Mode::Synchronous, Mode::Ready][choice % 3];
    let started = match choice >> 4 & 7 {
        0 | 1 => engine.receive(pattern, &UserBuf::owned(len), 0),
        2 | 3 => engine.send(mode, 1, envelope, &UserBuf::owned(len), u64::from(choice & 8 != 0)),
        4 => match engine.probe_matched(&pattern) {
            Some((message, _)) => match engine.receive_matched(message, &UserBuf::owned(len), 0) {
                Some(started) => started,
                None => return,
            },
            None => return,
        },
        5 => {
            if let Some(id) = requests.pop() {
                engine.cancel(id);
                let _ = engine.test(id);
            }
            return;
        }
        _ => return,
    };
    if let StartedMessage::Pending(id) = started {
        requests.push(id);
    }
}

/// Rank, header and payload. The numbers of requests are small, so that some exist.
fn message(input: &mut Input<'_>) -> (Peer, Header, Vec<u8>) {
    let from = 1 + input.byte() as u32 % (RANKS - 1);
    let header = Header {
        kind: input.byte() as u8,
        flags: input.byte() as u8,
        credits: u16::from_le_bytes(input.array()),
        context: input.word().into(),
        source: input.word(),
        tag: input.byte() as i32,
    };
    let len = usize::from(u16::from_le_bytes(input.array())) % PAYLOAD_BYTES_MAX;
    let mut payload = input.take(len.min(64)).to_vec();
    payload.resize(len, 7);
    (from, header, payload)
}

/// A dialogue: answers of the transport, then steps.
fn dialogues() -> Vec<Vec<u8>> {
    let begin = [&[0, 2, 1, 2, 0, 1, 2, 4, 0, 0, 1, 1, 2, 0, 1, 0][..], &[0]].concat();
    let says = |choice: u8, kind: HeaderKind, source: u32, extended: &[u8], len: u16| {
        let head = [&[choice, 0, kind as u8, 0, 0, 0, 0, 0, 0, 0][..], &source.to_le_bytes(), &[1]].concat();
        [&head[..], &len.to_le_bytes(), extended].concat()
    };
    let id = crate::slab::Id::from_raw(0);
    let offer = Offer { sender: id, len: 3000, addr: 1 << 20, signature: 0 }.extended();
    let all = [
        says(0x00, HeaderKind::Eager, 1, b"abcdefgh", 8),
        says(0x05, HeaderKind::Eager, 1, b"abcdefgh", 300),
        says(0x15, HeaderKind::Offer, 1, offer.bytes(), offer.bytes().len() as u16),
        says(0x25, HeaderKind::Ready, 0, &[0; 40], 40),
        says(0x35, HeaderKind::Fragment, 0, &[], 2000),
        says(0x21, HeaderKind::Ack, 0, &[0; 8], 8),
        says(0x44, HeaderKind::EagerSync, 1, &[0; 8], 20),
        says(0x50, HeaderKind::Withdraw, 0, &[0; 8], 8),
        says(0x60, HeaderKind::Credits, 0, &[], 0),
        says(0x60, HeaderKind::Put, 0, &[0; 16], 16),
        says(0x60, HeaderKind::Got, 0, &[0; 8], 8),
        says(0x60, HeaderKind::Withdrawn, 0, &[0; 8], 8),
    ];
    let whole = [&begin[..], &all.concat()].concat();
    all.iter().map(|step| [&begin[..], step].concat()).chain([whole]).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn any_bytes_are_survived() {
        super::driver::bounded(super::TARGETS);
    }
}

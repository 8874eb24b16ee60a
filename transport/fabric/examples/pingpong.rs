//! Times of the shared-memory transport between two processes, beside the raw two-flag exchange:
//! `cargo run --release -p tern-fabric --example pingpong`.

mod common;

use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use tern_fabric::Fabric;
use tern_mem::UserBuf;
use tern_transport::{
    Am, CooperativeCopyKey, Header, Landing, Peer, Remote, Sink, Token, Transfer, TransferError, Transport,
};

const ROUNDS: u64 = 50_000;

fn main() {
    raw_flags();
    common::run(2, |mut fabric, me| {
        for len in [0, 8, 40, 41, 96, 128, 256, 512, 1024, 1048, 1049, 2048, 4096, 16384] {
            let ns = ping_pong(&mut fabric, me, len);
            report(me, &format!("one-way {len} B"), ns);
        }
        rate(&mut fabric, me);
        costs(&mut fabric, me);
        let mut notes = Notes::default();
        for len in [16 << 10, 32 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20] {
            large(&mut fabric, me, len, &mut notes);
        }
    });
}

fn report(me: Peer, what: &str, ns: f64) {
    if me == 0 {
        println!("{what:32} {ns:12.1} ns");
    }
}

/// Two flags on lines of their own, written in turn: the limit.
fn raw_flags() {
    let file = common::memfd();
    let flags = map(&file);
    // SAFETY: the example has one thread.
    let pid = unsafe { libc::fork() };
    common::pin((pid == 0).into(), 2, 2);
    let (mine, theirs) = if pid == 0 { (&flags[8], &flags[0]) } else { (&flags[0], &flags[8]) };
    let start = Instant::now();
    for round in 1..=ROUNDS {
        if pid != 0 {
            mine.store(round, Ordering::Release);
        }
        while theirs.load(Ordering::Acquire) != round {
            std::hint::spin_loop();
        }
        if pid == 0 {
            mine.store(round, Ordering::Release);
        }
    }
    if pid == 0 {
        std::process::exit(0);
    }
    report(0, "raw flag one-way", start.elapsed().as_nanos() as f64 / ROUNDS as f64 / 2.0);
    // SAFETY: waits for the child.
    unsafe { libc::waitpid(pid, std::ptr::null_mut(), 0) };
}

fn map(file: &OwnedFd) -> &'static [AtomicU64] {
    // SAFETY: a new shared mapping of one page, never unmapped.
    unsafe {
        libc::ftruncate(file.as_raw_fd(), 4096);
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let base = libc::mmap(std::ptr::null_mut(), 4096, protection, libc::MAP_SHARED, file.as_raw_fd(), 0);
        assert!(base != libc::MAP_FAILED);
        std::slice::from_raw_parts(base.cast(), 512)
    }
}

fn flat(bytes: &mut [u8]) -> UserBuf {
    // SAFETY: used only while the bytes live.
    unsafe { UserBuf::contiguous(bytes.as_mut_ptr(), bytes.len()) }
}

fn send(fabric: &mut Fabric, peer: Peer, body: &UserBuf, len: usize, sink: &mut impl Sink) {
    let am = Am { header: Header::default(), extended: &[], body, offset: 0, len };
    while fabric.send(peer, &am).is_err() {
        fabric.poll(sink);
    }
}

fn ping_pong(fabric: &mut Fabric, me: Peer, len: usize) -> f64 {
    let (mut out, mut inn) = (vec![1u8; len.max(1)], vec![0u8; len.max(1)]);
    let body = flat(&mut out);
    let mut sink = Counter { landing: Some(flat(&mut inn)), ..Counter::default() };
    let rounds = if len > 1024 { ROUNDS / 10 } else { ROUNDS };
    let mut start = Instant::now();
    for round in 0..rounds + 1000 {
        if round == 1000 {
            start = Instant::now();
        }
        if me == 0 {
            send(fabric, 1, &body, len, &mut sink);
        }
        while sink.messages <= round {
            fabric.poll(&mut sink);
        }
        if me == 1 {
            send(fabric, 0, &body, len, &mut sink);
        }
    }
    start.elapsed().as_nanos() as f64 / rounds as f64 / 2.0
}

/// Messages in one direction, as fast as they go.
fn rate(fabric: &mut Fabric, me: Peer) {
    let mut out = [0u8; 8];
    let body = flat(&mut out);
    let mut sink = Counter::default();
    let total = 10 * ROUNDS;
    let start = Instant::now();
    if me == 0 {
        for _ in 0..total {
            send(fabric, 1, &body, 8, &mut sink);
        }
        wait(fabric, &mut sink, 1);
    } else {
        wait(fabric, &mut sink, total);
        send(fabric, 0, &body, 8, &mut sink);
    }
    report(me, "per message, 8 B, one direction", start.elapsed().as_nanos() as f64 / total as f64);
}

fn wait(fabric: &mut Fabric, sink: &mut Counter, messages: u64) {
    while sink.messages < messages {
        fabric.poll(sink);
    }
}

/// What the calls themselves cost: bursts of sends that fit the ring, and polls that find nothing.
fn costs(fabric: &mut Fabric, me: Peer) {
    let mut out = [0u8; 8];
    let body = flat(&mut out);
    let mut sink = Counter::default();
    let (rounds, burst) = (2000, 16);
    let mut ns = [0.0; 2];
    for round in 1..=rounds {
        if me == 0 {
            let start = Instant::now();
            for _ in 0..burst {
                send(fabric, 1, &body, 8, &mut sink);
            }
            ns[0] += start.elapsed().as_nanos() as f64;
            wait(fabric, &mut sink, round);
        } else {
            wait(fabric, &mut sink, round * burst);
            send(fabric, 0, &body, 8, &mut sink);
        }
    }
    let start = Instant::now();
    for _ in 0..ROUNDS {
        std::hint::black_box(fabric.poll(&mut sink));
    }
    ns[1] = start.elapsed().as_nanos() as f64;
    report(me, "send 8 B, the call", ns[0] / (rounds * burst) as f64);
    report(me, "poll that finds nothing", ns[1] / ROUNDS as f64);
}

/// One large message, by a get and by both sides at once.
fn large(fabric: &mut Fabric, me: Peer, len: usize, notes: &mut Notes) {
    let mut bytes = vec![me as u8; len];
    let rounds = (16 << 20) / len as u64 + 5;
    let get = rendezvous(fabric, me, &mut bytes, rounds, None, notes);
    let share = rendezvous(fabric, me, &mut bytes, rounds, Some(Token(1)), notes);
    report(me, &format!("get {} KiB", len >> 10), get);
    report(me, &format!("share {} KiB", len >> 10), share);
}

/// The sender invites, the receiver copies and acknowledges; rank 0 sends to rank 1 and back. With `share`,
/// both copy.
fn rendezvous(
    fabric: &mut Fabric,
    me: Peer,
    bytes: &mut [u8],
    rounds: u64,
    share: Option<Token>,
    sink: &mut Notes,
) -> f64 {
    let other = 1 - me;
    let mut words = [0u8; 24];
    let note = flat(&mut words);
    let mine = Remote { addr: bytes.as_mut_ptr().expose_provenance() as u64, len: bytes.len() as u64 };
    let buf = flat(bytes);
    let start = Instant::now();
    for round in 0..2 * rounds {
        if round % 2 == u64::from(me) {
            write_words(&note, [mine.addr, 0, 0]);
            send(fabric, other, &note, 24, sink);
            let [addr, key, _] = sink.wait(fabric);
            if let Some(token) = share {
                let into = Remote { addr, len: mine.len };
                let key = CooperativeCopyKey(key);
                let transfer = fabric.join_cooperative_copy(other, key, &buf, into, token);
                sink.finish(fabric, transfer);
            }
        } else {
            let [addr, ..] = sink.wait(fabric);
            let from = Remote { addr, len: mine.len };
            if let Some(token) = share {
                let key = fabric.open_cooperative_copy(other, from, &buf, token).expect("a slot");
                write_words(&note, [mine.addr, key.0, 0]);
                send(fabric, other, &note, 24, sink);
                let transfer = fabric.pull_cooperative_copy(key);
                sink.finish(fabric, transfer);
            } else {
                assert_eq!(fabric.get(other, from, &buf, Token(1)), Transfer::Done);
                send(fabric, other, &note, 24, sink);
            }
        }
    }
    start.elapsed().as_nanos() as f64 / (2 * rounds) as f64
}

fn write_words(note: &UserBuf, words: [u64; 3]) {
    for (i, word) in words.iter().enumerate() {
        note.write(8 * i, &word.to_ne_bytes());
    }
}

/// Keeps notes in the order of their coming.
#[derive(Default)]
struct Notes {
    notes: std::collections::VecDeque<[u64; 3]>,
    done: bool,
}

impl Notes {
    fn wait(&mut self, fabric: &mut Fabric) -> [u64; 3] {
        loop {
            if let Some(note) = self.notes.pop_front() {
                return note;
            }
            fabric.poll(self);
        }
    }

    fn finish(&mut self, fabric: &mut Fabric, transfer: Transfer) {
        match transfer {
            Transfer::Done => return,
            Transfer::Failed(error) => panic!("{error:?}"),
            Transfer::Pending => {}
        }
        while !std::mem::take(&mut self.done) {
            fabric.poll(self);
        }
    }
}

impl Sink for Notes {
    fn short(&mut self, _: Peer, _: &Header, payload: &[u8]) {
        let word = |i: usize| u64::from_ne_bytes(payload[8 * i..8 * i + 8].try_into().expect("eight bytes"));
        self.notes.push_back([word(0), word(1), word(2)]);
    }
    fn header(&mut self, _: Peer, _: &Header, _: usize) -> Landing {
        Landing::Nothing
    }
    fn landed(&mut self, _: Peer, _: Token) {}
    fn spoiled(&mut self, _: Peer, _: Token, error: TransferError) {
        panic!("{error:?}");
    }
    fn done(&mut self, _: Token, result: Result<(), TransferError>) {
        result.expect("the copy");
        self.done = true;
    }
}

/// Counts what comes and keeps the last short payload's first word.
#[derive(Default)]
struct Counter {
    messages: u64,
    word: u64,
    landing: Option<UserBuf>,
}

impl Sink for Counter {
    #[inline]
    fn short(&mut self, _from: Peer, _header: &Header, payload: &[u8]) {
        self.messages += 1;
        if let Some(word) = payload.first_chunk() {
            self.word = u64::from_ne_bytes(*word);
        }
    }

    fn header(&mut self, _from: Peer, _header: &Header, len: usize) -> Landing {
        match &self.landing {
            Some(buf) => Landing::place(buf.clone(), 0, len, Token(0)),
            None => Landing::Nothing,
        }
    }

    fn landed(&mut self, _from: Peer, _token: Token) {
        self.messages += 1;
    }

    fn spoiled(&mut self, _: Peer, _: Token, error: TransferError) {
        panic!("{error:?}");
    }

    fn done(&mut self, _token: Token, _result: Result<(), TransferError>) {}
}

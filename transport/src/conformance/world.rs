//! Two ranks of a transport under test, and what they send and keep.

use std::time::{Duration, Instant};

use tern_mem::UserBuf;

use crate::{Am, Full, Header, Landing, Peer, Remote, Sink, Token, TransferError, Transport};

/// Two ranks, which may be the same one.
pub trait ConformanceWorld {
    /// The transport under test.
    type Transport: Transport;
    /// A world in which nothing was sent yet.
    fn new() -> Self;
    /// The first rank's transport, and the second's rank.
    fn sender(&mut self) -> (&mut Self::Transport, Peer);
    /// The second rank's transport, and the first's rank.
    fn receiver(&mut self) -> (&mut Self::Transport, Peer);
    /// Lets the sender do what it has to do after [`Transport::send`]. Whether more may come of it.
    fn help(&mut self) -> bool {
        false
    }
}

/// One message as it was received.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Received {
    /// Who sent it.
    pub from: Peer,
    /// Its header.
    pub header: Header,
    /// Its payload, the extended header included.
    pub payload: Vec<u8>,
}

/// A sink that keeps everything.
#[derive(Default)]
pub struct Keeper {
    /// What has come whole.
    pub received: Vec<Received>,
    /// What has ended, and how.
    pub done: Vec<(Token, Result<(), TransferError>)>,
    /// Messages that landed spoiled.
    pub spoiled: Vec<(Token, TransferError)>,
    /// Take only so many bytes of long payloads.
    pub(super) wanted_max: Option<usize>,
    /// Take no long payloads.
    pub(super) refuse: bool,
    /// Take one message at a poll.
    pub one_by_one: bool,
    pub(super) landing: Vec<(Token, Header, UserBuf)>,
}

impl Keeper {
    /// Long payloads that have been given a place.
    pub fn begun(&self) -> usize {
        self.landing.len()
    }
}

/// Bytes before the place where long payloads land, to see that offsets are kept.
const LANDING_OFFSET: usize = 3;

impl Sink for Keeper {
    fn short(&mut self, from: Peer, header: &Header, payload: &[u8]) {
        self.received.push(Received { from, header: *header, payload: payload.to_vec() });
    }

    fn header(&mut self, _from: Peer, header: &Header, len: usize) -> Landing {
        if self.refuse {
            return Landing::Nothing;
        }
        let len = self.wanted_max.map_or(len, |max| max.min(len));
        let buf = UserBuf::owned(LANDING_OFFSET + len);
        let token = Token(self.landing.len() as u64);
        self.landing.push((token, *header, buf.clone()));
        Landing::place(buf, LANDING_OFFSET, len, token)
    }

    fn landed(&mut self, from: Peer, token: Token) {
        let (_, header, buf) = &self.landing[token.0 as usize];
        let mut payload = vec![0; buf.len() - LANDING_OFFSET];
        buf.read(LANDING_OFFSET, &mut payload);
        self.received.push(Received { from, header: *header, payload });
    }

    fn spoiled(&mut self, _: Peer, token: Token, error: TransferError) {
        self.spoiled.push((token, error));
    }

    fn backpressure(&self) -> bool {
        self.one_by_one
    }

    fn done(&mut self, token: Token, result: Result<(), TransferError>) {
        self.done.push((token, result));
    }
}

/// A view of bytes as a message's body.
pub fn buf_of(bytes: &mut [u8]) -> UserBuf {
    // SAFETY: the tests use the buffer only while the bytes live and do not touch them meanwhile.
    unsafe { UserBuf::contiguous(bytes.as_mut_ptr(), bytes.len()) }
}

/// The same bytes as memory of another process.
pub fn remote_of(bytes: &mut [u8]) -> Remote {
    Remote { addr: bytes.as_mut_ptr().expose_provenance() as u64, len: bytes.len() as u64 }
}

/// Bytes that tell messages and positions apart.
pub fn pattern(seed: usize, len: usize) -> Vec<u8> {
    (0..len).map(|i| (i.wrapping_mul(31) ^ seed.wrapping_mul(101) ^ (i >> 8)) as u8).collect()
}

/// A header whose fields tell messages apart.
pub fn header(seed: usize) -> Header {
    Header {
        kind: seed as u8,
        flags: (seed >> 3) as u8,
        credits: seed as u16 ^ 0x8001,
        context: 0x0123_4567_89ab_0000 | seed as u64,
        source: !(seed as u32),
        tag: seed as i32,
    }
}

/// Sends one message without an extended header.
pub fn send(to: &mut impl Transport, peer: Peer, seed: usize, payload: &mut [u8]) -> Result<(), Full> {
    let len = payload.len();
    to.send(peer, &Am { header: header(seed), extended: &[], body: &buf_of(payload), offset: 0, len })
}

/// Sends, letting the other side receive when the transport is full.
pub(super) fn send_surely<W: ConformanceWorld>(
    world: &mut W,
    keeper: &mut Keeper,
    seed: usize,
    mut payload: Vec<u8>,
) {
    // In time, not in polls: what was lost is sent again by the clock. Beside compilers a provider's own thread gets little of it.
    let until = Instant::now() + Duration::from_secs(60);
    while Instant::now() < until {
        let (transport, peer) = world.sender();
        if send(transport, peer, seed, &mut payload).is_ok() {
            return;
        }
        world.receiver().0.poll(keeper);
        world.help();
    }
    panic!("full for ever");
}

pub(super) fn drain<W: ConformanceWorld>(world: &mut W, keeper: &mut Keeper) {
    while world.receiver().0.poll(keeper) | world.help() {}
}

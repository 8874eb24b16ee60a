//! Everything that comes over a connection between ranks, and the endpoint address that says where one is.

#[path = "../driver.rs"]
pub(crate) mod driver;
#[path = "../input.rs"]
pub(crate) mod input;

use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use tern_mem::{IoVec, UserBuf};

pub use driver::Target;

use super::endpoint_address::EndpointAddress;
use super::frame::{FrameKind, FrameRepr, HEADER_BYTES, HeaderBytes};
use super::handshake::{
    AcceptorVerdict, CHALLENGE_BYTES, DialedRanks, HELLO_BYTES, HandshakeClient, HandshakeServer,
    PROOF_BYTES, Realm, Secret, WELCOME_BYTES,
};
use super::inbox::TcpInbox;
use super::outbox::{TcpOutbox, ZeroCopy};
use super::sealed::Sealed;
use super::wire::{Wire, piece, piece_mut};
use crate::limits::FRAME_PAYLOAD_BYTES_MAX;
use input::Input;
use tern_transport::config::Checksum;
use tern_transport::fingerprint::SettingsFingerprint;
use tern_transport::{Am, Header, Landing, Peer, Sink, Token, TransferError};

/// All targets of this room.
pub const TARGETS: &[Target] = &[
    Target { name: "tcp-frame", run: frame, seeds: headers },
    Target { name: "tcp-stream", run: stream, seeds: streams },
    Target {
        name: "tcp-acks",
        run: acks,
        seeds: || vec![vec![1, 0, 0, 0, 4, 3, 0, 0, 0, 9, 2, 0], vec![0xff; 12]],
    },
    Target {
        name: "tcp-handshake",
        run: handshake,
        seeds: || (0..4).map(|at| vec![at, 3, 0x80, 7, 1]).collect(),
    },
    Target { name: "tcp-endpoint-address", run: endpoint_address, seeds: endpoint_addresses },
    Target {
        name: "tcp-sealed",
        run: sealed,
        seeds: || vec![vec![0; 40], vec![5, 0, 0, 0, 1, 50, 0, 0, 0, 2]],
    },
];

/// The bytes of a header behind its checksum, which is made to fit, so that what it protects is reached.
fn sealed_header(bytes: &[u8]) -> [u8; HEADER_BYTES] {
    let mut header = [0; HEADER_BYTES];
    let len = bytes.len().min(HEADER_BYTES - 4);
    header[4..4 + len].copy_from_slice(&bytes[..len]);
    let sum = crc32c::crc32c(&header[4..]);
    header[..4].copy_from_slice(&sum.to_le_bytes());
    header
}

fn frame(bytes: &[u8]) {
    let header = sealed_header(bytes);
    for candidate in [&header[..], bytes] {
        let Some(Ok(repr)) = HeaderBytes::first(candidate).map(|packet| packet.parse()) else { continue };
        assert!(repr.len <= FRAME_PAYLOAD_BYTES_MAX && (repr.kind == FrameKind::Data || repr.len == 0));
        let again = repr.bytes();
        assert_eq!(HeaderBytes::first(&again).map(|packet| packet.parse()), Some(Ok(repr)));
    }
}

fn repr(len: u32, seq: u32) -> FrameRepr {
    let header = Header { kind: 1, flags: 0, credits: 2, context: 3, source: 1, tag: 5 };
    FrameRepr {
        kind: FrameKind::Data,
        header,
        len,
        sum: None,
        urgent: seq % 2 == 1,
        padded: seq % 3 == 2,
        void: seq % 5 == 4 && len > 40,
        seq,
        ack: 0,
    }
}

fn headers() -> Vec<Vec<u8>> {
    let notes = [FrameKind::Ack, FrameKind::Bye].map(|kind| FrameRepr::note(kind, 3, 7));
    notes
        .iter()
        .chain(&[repr(0, 0), repr(1000, 1), repr(1000, 2)])
        .map(|repr| repr.bytes()[4..].to_vec())
        .collect()
}

/// A wire that gives what it has, a few bytes at a time, and keeps what it is given.
struct Tape {
    bytes: VecDeque<u8>,
    step: usize,
}

impl Wire for Tape {
    unsafe fn write(&mut self, pieces: &[IoVec]) -> io::Result<usize> {
        let piece = pieces.iter().find(|piece| piece.len > 0).ok_or(io::ErrorKind::WouldBlock)?;
        let (start, len) = (std::ptr::with_exposed_provenance::<u8>(piece.base), piece.len.min(self.step));
        // SAFETY: readable by the caller's promise.
        self.bytes.extend(unsafe { std::slice::from_raw_parts(start, len) });
        Ok(len)
    }

    unsafe fn read(&mut self, pieces: &[IoVec]) -> io::Result<usize> {
        let mut read = 0;
        for piece in pieces {
            let to = std::ptr::with_exposed_provenance_mut::<u8>(piece.base);
            for at in 0..piece.len.min(self.step - read) {
                let Some(byte) = self.bytes.pop_front() else { break };
                // SAFETY: writable by the caller's promise.
                unsafe { to.add(at).write(byte) };
                read += 1;
            }
        }
        if read == 0 { Err(io::ErrorKind::WouldBlock.into()) } else { Ok(read) }
    }
}

/// Takes short messages, long ones to a place of at most 1,000 bytes, and none that pretends to be huge.
#[derive(Default)]
struct Taker {
    messages: u32,
    landing: Option<Token>,
}

impl Sink for Taker {
    fn short(&mut self, _: Peer, _: &Header, payload: &[u8]) {
        assert!(payload.len() <= tern_transport::AM_INLINE_BYTES_MAX);
        self.messages += 1;
    }

    fn header(&mut self, _: Peer, _: &Header, len: usize) -> Landing {
        assert!(len <= FRAME_PAYLOAD_BYTES_MAX as usize);
        self.messages += 1;
        if len > 1 << 20 {
            return Landing::Nothing;
        }
        let (len, token) = (len.min(1000), Token(self.messages.into()));
        self.landing = Some(token);
        Landing::place(UserBuf::owned(len + 1), 1, len, token)
    }

    fn landed(&mut self, _: Peer, token: Token) {
        assert_eq!(self.landing.take(), Some(token));
    }

    fn spoiled(&mut self, _: Peer, token: Token, error: TransferError) {
        assert_eq!((self.landing.take(), error), (Some(token), TransferError::PeersMemory));
    }

    fn done(&mut self, _: Token, _: Result<(), TransferError>) {}
}

/// Frames with headers of any content and right checksums, and payloads that are perhaps too short. A byte before each says
/// whether its number is the expected one, and whether the connection breaks before it.
fn stream(bytes: &[u8]) {
    let mut input = Input(bytes);
    let (mut inbox, mut taker) = (TcpInbox::new(1), Taker::default());
    let mut tape = Tape { bytes: VecDeque::new(), step: 1 + 61 * input.byte() };
    for _ in 0..32 {
        let (choice, mut body) = (input.byte(), input.array::<{ HEADER_BYTES - 4 }>());
        if choice & 1 == 0 {
            body[12..16].copy_from_slice(&(inbox.next() as u32).to_le_bytes());
        }
        tape.bytes.extend(sealed_header(&body));
        tape.bytes.extend(input.take(choice * 5));
        if choice & 6 == 6 {
            inbox.rewind();
        }
        for _ in 0..40 {
            if inbox.receive(&mut tape, &mut taker, choice & 8 != 0).is_err() {
                return;
            }
            let _ = (inbox.take_ack(), inbox.must_acknowledge());
        }
        if input.is_empty() {
            return;
        }
    }
}

fn streams() -> Vec<Vec<u8>> {
    let framed =
        |choice: u8, len: u32, payload: &[u8]| [&[choice][..], &repr(len, 0).bytes()[4..], payload].concat();
    let short = framed(2, 10, &[7; 10]);
    let long = framed(200, 1000, &[9; 1000]);
    vec![[&[255][..], &short, &short, &long].concat(), [&[1][..], &long, &short].concat(), framed(8, 0, &[])]
}

/// Acknowledgements, and the beginnings of connections, of a peer that says any numbers.
fn acks(bytes: &[u8]) {
    let mut input = Input(bytes);
    let (mut outbox, mut done) = (TcpOutbox::new(Checksum::All, false), Vec::new());
    let (mut tape, mut sent) = (Tape { bytes: VecDeque::new(), step: 100 }, 0);
    while !input.is_empty() && sent < 300 {
        let body = UserBuf::owned(60 * (input.byte() % 8));
        let am = Am { header: Header::default(), extended: &[], body: &body, offset: 0, len: body.len() };
        let zero_copy = (sent % 3 == 0).then_some(ZeroCopy(Some(Token(sent))));
        outbox.push(&am, 0, zero_copy);
        outbox.settle();
        sent += 1;
        let _ = outbox.write(&mut tape);
        let number = input.word();
        if number % 5 == 0 {
            let _ = outbox.rewind((number / 5).into(), &mut done);
        } else {
            let _ = outbox.acknowledge(number / 5, &mut done);
        }
        assert!(done.len() as u64 <= sent.div_ceil(3), "a zero-copy send ends once");
    }
}

/// Rank 3 dials rank 4.
const CALL: DialedRanks = DialedRanks { me: 3, peer: 4, realm: Realm::Job };

/// Another one each time: a fuzzer that sees what is compared forges proofs under a secret that stays.
fn fresh_secret() -> Secret {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let mut secret = [7; 32];
    secret[..8].copy_from_slice(&COUNT.fetch_add(1, Ordering::Relaxed).to_le_bytes());
    Secret(secret)
}

/// A talk in which one message is changed by the bytes of the input comes to no end that both believe.
fn handshake(bytes: &[u8]) {
    let mut input = Input(bytes);
    let (at, changes) = (input.byte() % 4, input.0);
    let change = |message: usize, bytes: &mut [u8]| {
        let before = bytes.to_vec();
        for (place, change) in (0..).zip(changes.iter().take(256)).filter(|_| message == at) {
            bytes[(place * 7) % before.len()] ^= change;
        }
        bytes != before
    };
    assert!(!talk(change), "a changed message was believed");
    // And what is no message at all.
    let secret = fresh_secret();
    if let Ok((mut server, _)) =
        HandshakeServer::hello(&secret, 4, &[2; 32], &Input(bytes).array::<HELLO_BYTES>())
    {
        assert!(server.proof(&Input(&bytes[bytes.len() / 2..]).array::<PROOF_BYTES>()).is_err());
    }
    let (mut client, _) =
        HandshakeClient::new(&secret, CALL, true, &SettingsFingerprint::default(), &[1; 32]);
    assert!(client.challenge(&Input(bytes).array::<CHALLENGE_BYTES>(), 1).is_err());
}

/// Whether both ends end well though something was changed.
fn talk(change: impl Fn(usize, &mut [u8]) -> bool) -> bool {
    let (secret, mut changed) = (fresh_secret(), false);
    let (mut client, mut hello) =
        HandshakeClient::new(&secret, CALL, true, &SettingsFingerprint::default(), &[1; 32]);
    changed |= change(0, &mut hello);
    let Ok((mut server, mut challenge)) = HandshakeServer::hello(&secret, 4, &[2; 32], &hello) else {
        return false;
    };
    changed |= change(1, &mut challenge);
    let Ok(mut proof) = client.challenge(&challenge, 10) else { return false };
    changed |= change(2, &mut proof);
    if server.proof(&proof).is_err() {
        return false;
    }
    let welcome: Result<([u8; WELCOME_BYTES], _), _> = server.welcome(AcceptorVerdict::Accepted, 20);
    let Ok((mut welcome, _)) = welcome else { return false };
    changed |= change(3, &mut welcome);
    client.welcome(&welcome).is_ok() && changed
}

fn endpoint_address(bytes: &[u8]) {
    if let Some(endpoint_address) = EndpointAddress::parse(bytes) {
        assert_eq!(endpoint_address.bytes(), bytes);
    }
}

fn endpoint_addresses() -> Vec<Vec<u8>> {
    let addresses = ["10.0.0.1", "::1", "fd83::1"].map(|address| address.parse().expect("an address"));
    vec![
        EndpointAddress { port: 1, addresses: addresses.to_vec() }.bytes(),
        EndpointAddress { port: 9, addresses: Vec::new() }.bytes(),
    ]
}

/// Sealed records of which some bytes are changed: what is opened is a beginning of what was sealed. Then bytes that nobody has
/// sealed.
fn sealed(bytes: &[u8]) {
    let plain: Vec<u8> = (0..700_u32).map(|at| (at / 3) as u8).collect();
    let mut wire = Sealed::new(Tape { bytes: VecDeque::new(), step: 4096 }, &[5; 32], &[5; 32]);
    for part in plain.chunks(300) {
        // SAFETY: the bytes live during the call.
        let written = unsafe { wire.write(&[piece(part)]) };
        assert_eq!(written.ok(), Some(part.len()));
    }
    let mut input = Input(bytes);
    while !input.is_empty() {
        let at = input.word() as usize % wire.inner().bytes.len();
        let change = input.byte() as u8;
        wire.inner_mut().bytes[at] ^= change;
    }
    let opened = read_all(&mut wire);
    assert!(plain.starts_with(&opened), "what was changed on its way was opened");
    let mut connection =
        Sealed::new(Tape { bytes: bytes.iter().copied().collect(), step: 4096 }, &[5; 32], &[5; 32]);
    assert!(read_all(&mut connection).is_empty(), "what nobody has sealed was opened");
}

fn read_all(wire: &mut Sealed<Tape>) -> Vec<u8> {
    let mut opened = Vec::new();
    loop {
        let mut bytes = [0; 250];
        // SAFETY: the bytes live during the call.
        match unsafe { wire.read(&[piece_mut(&mut bytes)]) } {
            Ok(count) if count > 0 => opened.extend_from_slice(&bytes[..count]),
            _ => return opened,
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn any_bytes_are_survived() {
        super::driver::bounded(super::TARGETS);
    }
}

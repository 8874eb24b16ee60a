//! Buffers with gaps: every way that bytes move must respect them.

use tern_mem::datatype::ConstructorForm;
use tern_mem::{Basic, Datatype, UserBuf};

use super::world::{ConformanceWorld, Keeper, drain, header, pattern, remote_of};
use crate::{Am, Header, Landing, Peer, Sink, Token, Transfer, TransferError, Transport};

/// Memory in which every second piece of `piece` bytes belongs to the message.
struct Gapped {
    memory: Vec<u8>,
    piece: usize,
}

const GAP: u8 = 0xee;

impl Gapped {
    fn new(piece: usize, count: usize) -> Self {
        Gapped { memory: vec![GAP; 2 * piece * count], piece }
    }

    fn buf(&mut self) -> UserBuf {
        let (piece, count) = (self.piece as i64, self.memory.len() / self.piece / 2);
        let byte = Datatype::predefined(Basic::Byte);
        let datatype =
            Datatype::vector(ConstructorForm::Int, count as i64, piece, 2 * piece, byte).expect("a vector");
        // SAFETY: the tests keep the memory while the buffer is used; the type names bytes within it.
        unsafe { UserBuf::typed(self.memory.as_mut_ptr(), 1, datatype.layout()) }
    }

    fn set(&mut self, bytes: &[u8]) {
        for (place, piece) in self.memory.chunks_mut(2 * self.piece).zip(bytes.chunks(self.piece)) {
            place[..piece.len()].copy_from_slice(piece);
        }
    }

    /// The message's bytes; the gaps must be as they were.
    fn bytes(&self) -> Vec<u8> {
        let place = |place: &[u8]| {
            assert!(place[self.piece..].iter().all(|byte| *byte == GAP), "a gap was written");
            place[..self.piece].to_vec()
        };
        self.memory.chunks(2 * self.piece).flat_map(place).collect()
    }
}

/// Sizes of pieces and their numbers: within a line, over several ways to send, and many small and large pieces.
const SHAPES: [(usize, usize); 5] = [(1, 40), (7, 20), (8, 500), (3, 1000), (600, 5)];
const LARGE_SHAPES: [(usize, usize); 3] = [(8, 10_000), (300, 400), (100_000, 3)];

/// Lands everything in one buffer.
struct Lander(UserBuf, bool);

impl Sink for Lander {
    fn short(&mut self, _: Peer, _: &Header, payload: &[u8]) {
        self.0.write(0, payload);
        self.1 = true;
    }
    fn header(&mut self, _: Peer, _: &Header, len: usize) -> Landing {
        Landing::place(self.0.clone(), 0, len, Token(0))
    }
    fn landed(&mut self, _: Peer, _: Token) {
        self.1 = true;
    }
    fn spoiled(&mut self, _: Peer, _: Token, error: TransferError) {
        panic!("{error:?}");
    }
    fn done(&mut self, _: Token, _: Result<(), TransferError>) {}
}

/// Messages from and to buffers with gaps.
pub fn sends_from_and_to_gaps<W: ConformanceWorld>() {
    let mut world = W::new();
    for (seed, (piece, count)) in SHAPES.into_iter().enumerate() {
        for round in 0..3 {
            let len = piece * count;
            let bytes = pattern(seed + round, len);
            let (mut source, mut target) = (Gapped::new(piece, count), Gapped::new(piece, count));
            source.set(&bytes);
            let am = Am { header: header(seed), extended: &[], body: &source.buf(), offset: 0, len };
            let (transport, peer) = world.sender();
            let mut sent = transport.send(peer, &am).is_ok();
            let mut lander = Lander(target.buf(), false);
            while !sent {
                // What came before must be out of the way; all of it has landed.
                world.receiver().0.poll(&mut Lander(UserBuf::empty(), false));
                world.help();
                let (transport, peer) = world.sender();
                sent = transport.send(peer, &am).is_ok();
            }
            while !lander.1 {
                world.help();
                world.receiver().0.poll(&mut lander);
            }
            assert_eq!(target.bytes(), bytes);
        }
    }
    drain(&mut world, &mut Keeper::default());
}

/// Gets, puts and cooperative copies from and to buffers with gaps.
pub fn copies_from_and_to_gaps<W: ConformanceWorld>() {
    let mut world = W::new();
    let (transport, peer) = world.sender();
    let limits = transport.limits(peer);
    for (piece, count) in SHAPES.into_iter().chain(LARGE_SHAPES) {
        let mut there = pattern(piece, piece * count);
        let mut here = Gapped::new(piece, count);
        if limits.get {
            let answer = transport.get(peer, remote_of(&mut there), &here.buf(), Token(1));
            assert_eq!(answer, Transfer::Done);
            assert_eq!(here.bytes(), there);
        }
        if limits.put {
            here.set(&there);
            let mut back = vec![0; there.len()];
            assert_eq!(transport.put(peer, &here.buf(), remote_of(&mut back), Token(2)), Transfer::Done);
            assert_eq!(back, there);
        }
        if limits.cooperative_copy {
            let mut other = Gapped::new(piece, count);
            let key = transport
                .open_cooperative_copy(peer, remote_of(&mut there), &other.buf(), Token(3))
                .expect("a slot");
            assert_eq!(transport.pull_cooperative_copy(key), Transfer::Done);
            assert_eq!(other.bytes(), there);
        }
    }
}

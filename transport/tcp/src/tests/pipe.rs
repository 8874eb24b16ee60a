//! Outbox and inbox without sockets: any pieces, any cuts, any bytes.

use std::collections::VecDeque;
use std::io;

use proptest::prelude::*;
use tern_mem::IoVec;

use super::super::frame::{FrameKind, FrameRepr, HEADER_BYTES, PAD_BYTES};
use super::super::inbox::{Broken, TcpInbox};
use super::super::outbox::{EndedZeroCopy, TcpOutbox, Written, ZeroCopy};
use super::super::wire::Wire;
use super::*;
use crate::limits::{PADDED_BYTES_MIN, PAGE_BYTES};
use tern_transport::conformance::buf_of;
use tern_transport::{Am, Token};

/// Takes and gives as many bytes at a time as the next of its numbers says.
struct Pipe {
    bytes: VecDeque<u8>,
    pieces: Vec<usize>,
    turn: usize,
}

impl Pipe {
    fn new(pieces: Vec<usize>) -> Self {
        Pipe { bytes: VecDeque::new(), pieces, turn: 0 }
    }

    fn next_piece(&mut self) -> usize {
        self.turn += 1;
        self.pieces[self.turn % self.pieces.len()]
    }
}

fn blocked() -> io::Error {
    io::ErrorKind::WouldBlock.into()
}

impl Wire for Pipe {
    unsafe fn write(&mut self, pieces: &[IoVec]) -> io::Result<usize> {
        let mut left = self.next_piece();
        let mut written = 0;
        for piece in pieces {
            let taken = piece.len.min(left);
            let start = std::ptr::with_exposed_provenance::<u8>(piece.base);
            // SAFETY: readable by the caller's promise.
            self.bytes.extend(unsafe { std::slice::from_raw_parts(start, taken) });
            (left, written) = (left - taken, written + taken);
        }
        if written == 0 { Err(blocked()) } else { Ok(written) }
    }

    unsafe fn read(&mut self, pieces: &[IoVec]) -> io::Result<usize> {
        let mut left = self.next_piece().min(self.bytes.len());
        let mut read = 0;
        for piece in pieces {
            let taken = piece.len.min(left);
            for at in 0..taken {
                let to = std::ptr::with_exposed_provenance_mut::<u8>(piece.base + at);
                // SAFETY: writable by the caller's promise.
                unsafe { to.write(self.bytes.pop_front().unwrap_or_default()) };
            }
            (left, read) = (left - taken, read + taken);
        }
        if read == 0 { Err(blocked()) } else { Ok(read) }
    }
}

/// What may happen between two ends.
#[derive(Clone, Debug)]
enum Step {
    Send(usize),
    ZeroCopy(usize),
    Write,
    Receive,
    Note,
    Cut,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (0..200usize).prop_map(Step::Send),
        1 => (0..40_000usize).prop_map(Step::Send),
        1 => (0..40_000usize).prop_map(Step::ZeroCopy),
        6 => Just(Step::Write),
        6 => Just(Step::Receive),
        1 => Just(Step::Note),
        1 => Just(Step::Cut),
    ];
    prop::collection::vec(step, 1..120)
}

struct Ends {
    outbox: TcpOutbox,
    inbox: TcpInbox,
    pipe: Pipe,
    keeper: Keeper,
    done: Vec<EndedZeroCopy>,
}

impl Ends {
    fn write(&mut self) -> Written {
        self.outbox.write(&mut self.pipe).expect("a pipe does not break")
    }

    fn receive(&mut self) -> bool {
        let any = self
            .inbox
            .receive(&mut self.pipe, &mut self.keeper, self.outbox.has_zero_copies())
            .expect("what was sent is well formed");
        if self.inbox.must_acknowledge() {
            self.inbox.acknowledged();
            self.outbox.acknowledge(self.inbox.next() as u32, &mut self.done).expect("it was sent");
        }
        any
    }

    /// The connection breaks with whatever is on its way, and a new one is made.
    fn cut(&mut self) {
        self.pipe.bytes.clear();
        self.inbox.rewind();
        self.outbox
            .rewind(self.inbox.next(), &mut self.done)
            .expect("nothing was received that was not sent");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn everything_comes_once_and_in_order(
        steps in steps(),
        pieces in prop::collection::vec(1..9000usize, 1..8),
        sums: bool,
    ) {
        let checksum = if sums { Checksum::All } else { Checksum::Header };
        let (outbox, inbox) = (TcpOutbox::new(checksum, false), TcpInbox::new(1));
        let mut ends =
            Ends { outbox, inbox, pipe: Pipe::new(pieces), keeper: Keeper::default(), done: Vec::new() };
        let (mut sent, mut uncopied) = (Vec::new(), Vec::new());
        for step in steps {
            match step {
                Step::Send(len) | Step::ZeroCopy(len) => {
                    let seed = sent.len();
                    let mut bytes = pattern(seed, len);
                    let body = buf_of(&mut bytes);
                    let zero_copy = matches!(step, Step::ZeroCopy(_)).then_some(ZeroCopy(Some(Token(seed as u64))));
                    let am = Am { header: header(seed), extended: &[], body: &body, offset: 0, len };
                    ends.outbox.push(&am, 0, zero_copy);
                    ends.outbox.settle();
                    sent.push(len);
                    match zero_copy {
                        Some(_) => uncopied.push((seed, bytes)),
                        None => bytes.fill(0),
                    }
                }
                Step::Write => { ends.write(); }
                Step::Receive => { ends.receive(); }
                Step::Note => { ends.outbox.add_note(FrameKind::Ack, 0); }
                Step::Cut => ends.cut(),
            }
        }
        while ends.outbox.has_unwritten() || !ends.pipe.bytes.is_empty() {
            ends.write();
            ends.receive();
        }
        while ends.receive() {}
        prop_assert_eq!(ends.keeper.received.len(), sent.len());
        for (seed, message) in ends.keeper.received.iter().enumerate() {
            prop_assert_eq!(message.header, header(seed));
            prop_assert!(message.payload == pattern(seed, sent[seed]), "message {}", seed);
        }
        let mut done: Vec<usize> = ends.done.iter().map(|(token, _)| token.0 as usize).collect();
        done.sort_unstable();
        prop_assert_eq!(done, uncopied.iter().map(|(seed, _)| *seed).collect::<Vec<_>>());
    }

    #[test]
    fn any_bytes_are_messages_or_the_end_of_the_connection(
        bytes in prop::collection::vec(any::<u8>(), 0..4000),
        kind in 1..4u8, len in 0..300u32, seq in 0..2u32, sealed: bool,
    ) {
        let mut pipe = Pipe::new(vec![1000]);
        if sealed {
            // A header that is right, and then anything.
            let mut repr = FrameRepr::note(FrameKind::Data, 0, 0);
            (repr.len, repr.seq, repr.header.kind) = (len, seq, kind);
            pipe.bytes.extend(repr.bytes());
        }
        pipe.bytes.extend(bytes);
        let (mut inbox, mut keeper) = (TcpInbox::new(1), Keeper::default());
        for _ in 0..10 {
            if inbox.receive(&mut pipe, &mut keeper, true).is_err() {
                break;
            }
        }
        prop_assert!(keeper.received.len() <= usize::from(sealed), "whoever guesses a checksum of 32 bits?");
    }
}

#[test]
fn an_acknowledgement_that_is_waited_for_is_taken_before_the_long_message_that_brings_it() {
    for zero_copy in [true, false] {
        let (mut outbox, mut inbox) = (TcpOutbox::new(Checksum::Header, false), TcpInbox::new(1));
        let (mut pipe, mut keeper) = (Pipe::new(vec![usize::MAX]), Keeper::default());
        let mut bytes = pattern(1, 5000);
        let body = buf_of(&mut bytes);
        let am = Am { header: header(1), extended: &[], body: &body, offset: 0, len: 5000 };
        outbox.push(&am, 3, None);
        outbox.write(&mut pipe).unwrap();
        assert!(inbox.receive(&mut pipe, &mut keeper, zero_copy).unwrap());
        assert_eq!((inbox.take_ack(), keeper.begun()), (Some(3), usize::from(!zero_copy)));
        // Once: it may not have been the one.
        assert!(inbox.receive(&mut pipe, &mut keeper, zero_copy).is_ok());
        assert_eq!(keeper.received.len(), 1);
    }
}

#[test]
fn a_long_body_lies_where_its_copy_is_fast_and_lands_whole_in_pieces_of_any_size() {
    let mut bytes = pattern(1, 5 * PAGE_BYTES);
    let to_page = bytes.as_ptr().align_offset(PAGE_BYTES);
    let body = buf_of(&mut bytes);
    let len = PADDED_BYTES_MIN;
    for (begins, len, pad) in [
        (0, len, 0),
        (1, len, PAD_BYTES),
        (16, len, PAD_BYTES),
        (63, len, PAD_BYTES),
        (64, len, 0),
        (16, len - 1, 0),
    ] {
        for pieces in [1, 70, usize::MAX] {
            let am = Am { header: header(1), extended: &[], body: &body, offset: to_page + begins, len };
            let (mut outbox, mut inbox) = (TcpOutbox::new(Checksum::All, false), TcpInbox::new(1));
            let (mut pipe, mut keeper) = (Pipe::new(vec![pieces]), Keeper::default());
            outbox.push(&am, 0, None);
            outbox.settle();
            while outbox.has_unwritten() {
                outbox.write(&mut pipe).unwrap();
            }
            assert_eq!(pipe.bytes.len(), HEADER_BYTES + pad + len, "{begins} bytes into a page");
            while !pipe.bytes.is_empty() {
                inbox.receive(&mut pipe, &mut keeper, false).unwrap();
            }
            assert!(keeper.received[0].payload == pattern(1, 5 * PAGE_BYTES)[to_page + begins..][..len]);
        }
    }
}

fn receive_all(bytes: &[u8]) -> Result<bool, Broken> {
    let mut pipe = Pipe::new(vec![usize::MAX]);
    pipe.bytes.extend(bytes);
    TcpInbox::new(1).receive(&mut pipe, &mut Keeper::default(), true)
}

#[test]
fn a_missing_frame_and_a_damaged_payload_end_the_connection() {
    let skipped =
        FrameRepr { seq: 1, ..FrameRepr { kind: FrameKind::Data, ..FrameRepr::note(FrameKind::Ack, 0, 0) } };
    assert!(matches!(receive_all(&skipped.bytes()), Err(Broken::Gap)));
    let mut body = pattern(1, 1000);
    let body = buf_of(&mut body);
    let am = Am { header: header(1), extended: &[], body: &body, offset: 0, len: 1000 };
    let (mut outbox, mut pipe) = (TcpOutbox::new(Checksum::All, false), Pipe::new(vec![usize::MAX]));
    outbox.push(&am, 0, None);
    outbox.settle();
    outbox.write(&mut pipe).unwrap();
    let mut bytes: Vec<u8> = pipe.bytes.into();
    assert_eq!(bytes.len(), HEADER_BYTES + 1000);
    assert!(receive_all(&bytes).is_ok());
    bytes[HEADER_BYTES + 500] ^= 4;
    assert!(matches!(receive_all(&bytes), Err(Broken::Damaged)));
}

#[test]
fn an_acknowledgement_of_what_was_never_sent_is_false() {
    let mut outbox = TcpOutbox::new(Checksum::Header, false);
    let body = tern_mem::UserBuf::empty();
    let am = Am { header: header(1), extended: &[], body: &body, offset: 0, len: 0 };
    outbox.push(&am, 0, None);
    assert!(outbox.acknowledge(1, &mut Vec::new()).is_err(), "not written yet");
    outbox.write(&mut Pipe::new(vec![usize::MAX])).unwrap();
    assert!(outbox.acknowledge(2, &mut Vec::new()).is_err());
    assert!(outbox.acknowledge(1, &mut Vec::new()).is_ok() && outbox.is_empty());
    assert!(outbox.rewind(0, &mut Vec::new()).is_err(), "it was acknowledged before");
    assert!(outbox.rewind(1, &mut Vec::new()).is_ok());
}

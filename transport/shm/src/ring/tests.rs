//! The ring in plain memory, and under loom (`RUSTFLAGS="--cfg loom"`).

use std::ptr::NonNull;
use std::sync::Arc;

use super::*;

/// A ring in this process's own memory.
struct Ring {
    lines: Vec<Line>,
    consumed: Consumed,
}

// SAFETY: all access is by the protocol under test.
unsafe impl Send for Ring {}
// SAFETY: as above.
unsafe impl Sync for Ring {}

impl Ring {
    fn new(count: usize) -> Arc<Ring> {
        let line = || Line { mark: AtomicU64::new(0), body: UnsafeCell::new(LineBody::default()) };
        Arc::new(Ring {
            lines: (0..count).map(|_| line()).collect(),
            consumed: Consumed { lines: AtomicU32::new(0), path: AtomicU32::new(0) },
        })
    }

    fn memory(&self) -> RingMemory {
        let lines = NonNull::from(&self.lines[..]).cast();
        // SAFETY: the tests keep the ring while they use it.
        unsafe { RingMemory::new(lines, NonNull::from(&self.consumed), self.lines.len() as u32) }
    }

    fn writer(&self) -> RingWriter {
        let mut writer = RingWriter::new(self.memory());
        writer.open();
        writer
    }

    fn reader(&self) -> RingReader {
        RingReader::new(self.memory())
    }
}

fn header(tag: i32) -> Header {
    Header { kind: 1, flags: 2, credits: 3, context: 4, source: 5, tag }
}

/// Pushes a message whose payload is `len` times the byte of its tag. Whether there was room.
fn push(writer: &mut RingWriter, tag: i32, len: usize) -> bool {
    if !writer.reserve(lines_for(len)) {
        return false;
    }
    // SAFETY: the ring asks for no more than its lines hold.
    let fill = |to: *mut u8, _: usize, n: usize| unsafe { to.write_bytes(tag as u8, n) };
    if len <= HEAD_PAYLOAD_BYTES {
        writer.push_line(&header(tag), len, |to| fill(to, 0, len));
    } else {
        writer.push_lines(&header(tag), len, fill);
    }
    true
}

/// Takes a message that `push` made, and checks it. Its tag.
fn pop(reader: &mut RingReader) -> Option<i32> {
    pop_telling(reader).map(|(tag, _)| tag)
}

/// As `pop`; also whether the writer was told. Waits for the lines that follow the first.
fn pop_telling(reader: &mut RingReader) -> Option<(i32, bool)> {
    let mark = reader.ready()?;
    let head = reader.head(mark);
    let tag = head.header.tag;
    assert_eq!(head.header, header(tag));
    let Some(MessageShape::Lines(len)) = mark.shape() else { panic!("not a first line") };
    assert!(head.payload()[..len.min(HEAD_PAYLOAD_BYTES)].iter().all(|byte| *byte == tag as u8));
    let mut told = reader.advance();
    let mut taken = HEAD_PAYLOAD_BYTES;
    while taken < len {
        while !reader.more(|from| assert_piece(from, tag as u8, (len - taken).min(MORE_PAYLOAD_BYTES))) {
            come_back();
        }
        told |= reader.advance();
        taken += MORE_PAYLOAD_BYTES;
    }
    Some((tag, told))
}

fn assert_piece(from: *const u8, byte: u8, n: usize) {
    // SAFETY: `n` bytes of a line.
    let piece = unsafe { std::slice::from_raw_parts(from, n) };
    assert!(piece.iter().all(|found| *found == byte));
}

/// The writer is at the line that the reader would like to have.
fn come_back() {
    #[cfg(loom)]
    loom::thread::yield_now();
    #[cfg(not(loom))]
    panic!("there is no other thread that could write it");
}

#[cfg(not(loom))]
mod plain {
    use super::*;
    use crate::limits::{MESSAGE_LINES_MAX, RING_LINES_MIN};

    #[test]
    fn laps_wrap_past_zero() {
        let ring = Ring::new(32);
        let (mut writer, mut reader) = (ring.writer(), ring.reader());
        for tag in 0..32 * 600 {
            assert!(push(&mut writer, tag, 8));
            assert_eq!(pop(&mut reader), Some(tag));
            assert_eq!(pop(&mut reader), None);
        }
    }

    #[test]
    fn messages_of_any_number_of_lines_pass_over_the_edge() {
        let ring = Ring::new(RING_LINES_MIN as usize);
        let (mut writer, mut reader) = (ring.writer(), ring.reader());
        for (tag, len) in (0..=LINES_PAYLOAD_BYTES_MAX).chain((0..=LINES_PAYLOAD_BYTES_MAX).rev()).enumerate()
        {
            assert!(push(&mut writer, tag as i32, len), "{len} bytes");
            assert_eq!(pop(&mut reader), Some(tag as i32));
        }
    }

    #[test]
    fn a_full_ring_has_room_again_after_a_quarter() {
        let ring = Ring::new(64);
        let (mut writer, mut reader) = (ring.writer(), ring.reader());
        assert!((0..64).all(|tag| push(&mut writer, tag, 0)));
        assert!(!push(&mut writer, 64, 0) && !writer.has_room());
        assert!((0..15).all(|tag| pop(&mut reader) == Some(tag)));
        assert!(!push(&mut writer, 64, 0), "not told yet");
        assert_eq!(pop(&mut reader), Some(15));
        assert!((64..80).all(|tag| push(&mut writer, tag, 0)));
        assert!(!push(&mut writer, 80, 0));
        assert!((16..80).all(|tag| pop(&mut reader) == Some(tag)));
        assert_eq!(pop(&mut reader), None);
    }

    #[test]
    fn a_message_of_many_lines_waits_for_room_for_all_of_them() {
        let ring = Ring::new(RING_LINES_MIN as usize);
        let (mut writer, mut reader) = (ring.writer(), ring.reader());
        assert!(push(&mut writer, 1, LINES_PAYLOAD_BYTES_MAX));
        assert!(!push(&mut writer, 2, LINES_PAYLOAD_BYTES_MAX));
        assert!(push(&mut writer, 2, 8), "a short one still fits");
        assert_eq!((pop(&mut reader), pop(&mut reader)), (Some(1), Some(2)));
        assert!(push(&mut writer, 3, LINES_PAYLOAD_BYTES_MAX));
    }

    /// Whatever was refused, and whenever: the reader tells the writer before it runs dry, and then there is room.
    #[test]
    fn who_was_refused_is_told_before_the_ring_is_empty() {
        for shift in (0..2 * RING_LINES_MIN as i32).step_by(3) {
            for lines in 1..=MESSAGE_LINES_MAX {
                let ring = Ring::new(RING_LINES_MIN as usize);
                let (mut writer, mut reader) = (ring.writer(), ring.reader());
                for tag in 0..shift {
                    assert!(push(&mut writer, tag, 0) && pop(&mut reader) == Some(tag));
                }
                let len = HEAD_PAYLOAD_BYTES + (lines - 1) * MORE_PAYLOAD_BYTES;
                while push(&mut writer, 0, len) {}
                let mut told = false;
                while let Some((_, tells)) = pop_telling(&mut reader) {
                    told |= tells;
                }
                assert!(told && push(&mut writer, 0, len), "{lines} lines after {shift}");
            }
        }
    }

    /// A reader that comes while the writer is at a later line takes what there is, and finds the rest later.
    #[test]
    fn a_line_that_is_not_there_yet_is_not_taken() {
        let ring = Ring::new(RING_LINES_MIN as usize);
        let (mut writer, mut reader) = (ring.writer(), ring.reader());
        assert!(push(&mut writer, 7, HEAD_PAYLOAD_BYTES + 2 * MORE_PAYLOAD_BYTES));
        let last = ring.lines[2].mark.swap(0, Ordering::Relaxed);
        let mark = reader.ready().unwrap();
        assert_eq!(mark.shape(), Some(MessageShape::Lines(HEAD_PAYLOAD_BYTES + 2 * MORE_PAYLOAD_BYTES)));
        assert!(!reader.advance() && reader.more(|from| assert_piece(from, 7, MORE_PAYLOAD_BYTES)));
        assert!(!reader.advance() && !reader.more(|_| panic!("it is not there")) && reader.ready().is_none());
        ring.lines[2].mark.store(last, Ordering::Release);
        assert_eq!(reader.ready().unwrap().shape(), Some(MessageShape::More));
        assert!(reader.more(|from| assert_piece(from, 7, MORE_PAYLOAD_BYTES)));
    }

    #[test]
    fn a_writer_that_is_not_open_has_no_room() {
        let ring = Ring::new(32);
        let mut writer = RingWriter::new(ring.memory());
        assert!(!writer.has_room() && !writer.reserve(1));
    }

    #[test]
    fn a_count_that_cannot_be_leaves_no_room() {
        let ring = Ring::new(32);
        let mut writer = ring.writer();
        assert!((0..32).all(|tag| push(&mut writer, tag, 0)));
        for count in [33, 1000, u32::MAX, 0x8000_0000] {
            ring.consumed.lines.store(count, Ordering::Relaxed);
            assert!(!push(&mut writer, 0, 0), "{count}");
        }
        ring.consumed.lines.store(32, Ordering::Relaxed);
        assert!(push(&mut writer, 0, 0));
    }

    #[test]
    fn marks_that_cannot_be_have_no_shape() {
        let first = |shape, len| LineMark::first(1, shape, &header(0), len);
        assert_eq!(
            first(SHAPE_LINES, LINES_PAYLOAD_BYTES_MAX).shape(),
            Some(MessageShape::Lines(LINES_PAYLOAD_BYTES_MAX))
        );
        assert_eq!(first(SHAPE_LINES, LINES_PAYLOAD_BYTES_MAX + 1).shape(), None);
        assert_eq!(first(SHAPE_LINES, HEAD_PAYLOAD_BYTES + 1).single_line(), None);
        assert_eq!(first(SHAPE_CELL, 8).single_line(), None);
        assert_eq!(LineMark::more(1).shape(), Some(MessageShape::More));
        assert_eq!(LineMark::more(1).single_line(), None);
        assert_eq!(first(77, 8).shape(), None);
    }
}

#[cfg(loom)]
mod model {
    use super::*;
    use crate::bell_words::BellWords;
    use crate::sync::fence;

    /// One thread pushes messages of these lengths, one takes them.
    fn passes(count: usize, lens: &'static [usize]) {
        passes_preempted(count, lens, None);
    }

    /// The same with so many preemptions of a thread at most.
    fn passes_preempted(count: usize, lens: &'static [usize], preemptions: Option<usize>) {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = preemptions;
        builder.check(move || {
            let ring = Ring::new(count);
            let writing = ring.clone();
            let thread = loom::thread::spawn(move || {
                let mut writer = writing.writer();
                for (tag, len) in lens.iter().enumerate() {
                    while !push(&mut writer, tag as i32, *len) {
                        loom::thread::yield_now();
                    }
                }
            });
            let mut reader = ring.reader();
            for tag in 0..lens.len() {
                let taken = loop {
                    match pop(&mut reader) {
                        Some(tag) => break tag,
                        None => loom::thread::yield_now(),
                    }
                };
                assert_eq!(taken, tag as i32);
            }
            thread.join().unwrap();
        });
    }

    /// As `passes`, but the writer sleeps whenever it is refused, until the reader rings.
    fn passes_asleep(count: usize, lens: &'static [usize]) {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(3);
        builder.check(move || {
            let (ring, bell) = (Ring::new(count), Arc::new(BellWords::new()));
            bell.ask_for_fences();
            let (writing, sleeping) = (ring.clone(), bell.clone());
            let thread = loom::thread::spawn(move || {
                let mut writer = writing.writer();
                for (tag, len) in lens.iter().enumerate() {
                    push_or_sleep(&mut writer, &sleeping, tag as i32, *len);
                }
            });
            let mut reader = ring.reader();
            let mut taken = 0;
            while taken < lens.len() {
                let Some((tag, told)) = pop_telling(&mut reader) else {
                    loom::thread::yield_now();
                    continue;
                };
                assert_eq!(tag, taken as i32);
                taken += 1;
                if told && bell.must_ring_for_room(0) {
                    bell.count_ring();
                }
            }
            thread.join().unwrap();
        });
    }

    fn push_or_sleep(writer: &mut RingWriter, bell: &BellWords, tag: i32, len: usize) {
        loop {
            let armed = bell.announce();
            fence(Ordering::SeqCst);
            if push(writer, tag, len) || bell.want_room() && push(writer, tag, len) {
                return bell.withdraw();
            }
            while !bell.rang_since(armed) {
                loom::thread::yield_now();
            }
        }
    }

    #[test]
    fn a_writer_that_sleeps_hears_of_room() {
        passes_asleep(2, &[8, 8, 8]);
    }

    #[test]
    fn a_writer_that_sleeps_hears_of_room_for_several_lines() {
        passes_asleep(4, &[8, 41, 100]);
    }

    #[test]
    fn lines_are_whole_when_their_mark_is_seen() {
        passes(4, &[8, 0, 40]);
    }

    #[test]
    fn lines_are_not_written_again_before_they_are_read() {
        passes(1, &[8, 8, 8]);
    }

    #[test]
    fn messages_of_several_lines_are_whole() {
        passes(4, &[41, 100]);
    }

    /// Long enough to be read while it is written, in a ring that it laps.
    #[test]
    fn a_message_is_read_while_it_is_written() {
        const LONG: usize =
            HEAD_PAYLOAD_BYTES + (crate::limits::LINES_AHEAD as usize + 1) * MORE_PAYLOAD_BYTES;
        passes_preempted(16, &[LONG, 8], Some(2));
    }
}

//! Accesses of one rank and of several over a file that fails on purpose, from a seed: every outcome is judged against the picture of a
//! file that never fails. Nothing outside a request is ever written, what is reported as moved is there, and whoever is not told of an
//! error has all.

mod common;

use common::{Faulty, Rng, Wish};
use std::ops::Range;
use std::sync::atomic::AtomicU64;
use tern_io::access::{StreamPart, read, write};
use tern_io::storage::{read_all, write_all};
use tern_io::{AccessSpan, Cover, Plan, PoolState, PoolWalk, Tuning};
use tern_mem::UserBuf;

const SEEDS: u64 = 10_000;

fn bytes_of(buf: &UserBuf) -> Vec<u8> {
    let mut bytes = vec![0; buf.len()];
    buf.read(0, &mut bytes);
    bytes
}

/// The places of a part's bytes, in the order of the stream.
fn places(part: &StreamPart) -> Vec<u64> {
    let mut all = Vec::new();
    part.view.runs(part.from, part.to(), |run| {
        all.extend(run.offset..run.offset + run.len);
        true
    });
    all
}

fn tuning(rng: &mut Rng) -> Tuning {
    match rng.below(3) {
        0 => Tuning::PLAIN,
        1 => Tuning { sieve_read: 1 + rng.below(300), sieve_write: 0, sieve_always: true },
        _ => Tuning { sieve_read: 64, sieve_write: 1 + rng.below(300), sieve_always: true },
    }
}

/// What is in the file may be what the writer wanted or what was there before, byte by byte; what is reported as written is there.
fn judge_write(seed: u64, wish: &Wish, before: &[u8], after: &[u8], done: u64, failed: bool) {
    let (places, data) = (places(&wish.part), bytes_of(&wish.part.buf));
    let byte = |bytes: &[u8], at: u64| bytes.get(at as usize).copied().unwrap_or(0);
    for at in 0..after.len().max(before.len()) as u64 {
        let (old, new) = (byte(before, at), byte(after, at));
        match places.iter().position(|place| *place == at) {
            None => assert_eq!(new, old, "seed {seed}: byte {at} is not of the request"),
            Some(number) if (number as u64) < done => assert_eq!(new, data[number], "seed {seed}: byte {at}"),
            Some(number) => assert!(new == data[number] || new == old, "seed {seed}: byte {at}"),
        }
    }
    assert!(failed || done == data.len() as u64, "seed {seed}: {done} of {} without an error", data.len());
}

#[test]
fn one_rank() {
    for seed in 0..SEEDS {
        let mut rng = Rng::new(seed);
        let file = Faulty::new(&mut rng);
        let before = file.bytes();
        let wish = Wish::draw(&mut rng, 0, 1);
        let tuning = tuning(&mut rng);
        let moved = write(&file, &wish.part, &tuning);
        judge_write(seed, &wish, &before, &file.bytes(), moved.bytes, moved.error.is_some());
        let now = file.bytes();
        let into = StreamPart { buf: UserBuf::owned(wish.part.buf.len()), ..wish.part.clone() };
        let moved = read(&file, &into, &tuning);
        let (places, got) = (places(&into), bytes_of(&into.buf));
        let there = places.iter().take_while(|place| **place < now.len() as u64).count() as u64;
        assert!(moved.bytes <= there && (moved.error.is_some() || moved.bytes == there), "seed {seed}");
        for (number, place) in places.iter().enumerate() {
            let expected = if (number as u64) < moved.bytes { now[*place as usize] } else { got[number] };
            assert_eq!(got[number], expected, "seed {seed}: byte {number} of the stream");
        }
    }
}

/// What ranks do together, one after the other: pieces to windows, windows to the file. Whether a window could not be written.
fn write_together(file: &Faulty, wishes: &[Wish], windows: Vec<Range<u64>>) -> bool {
    let mut failed = false;
    for range in windows {
        let len = (range.end - range.start) as usize;
        let (window, bits) = (UserBuf::owned(len), bits(len));
        let cover = Cover::of(&bits, len);
        for wish in wishes {
            wish.part.runs_within(&range, |run, at| {
                let to = (run.offset - range.start) as usize;
                UserBuf::copy(&wish.part.buf, at, &window, to, run.len as usize);
                cover.mark(to..to + run.len as usize);
            });
        }
        cover.ranges(len, |filled| {
            let offset = range.start + filled.start as u64;
            failed |= write_all(file, &window, filled.start, filled.len(), offset).1.is_err();
            true
        });
    }
    failed
}

/// The windows of aggregators of several hosts, or of the memory of one.
fn windows(rng: &mut Rng, spans: &[AccessSpan]) -> Vec<Range<u64>> {
    let (most, align) = (1 + rng.below(400), 1 << rng.below(7));
    if rng.below(2) == 0 {
        let slots = 1 + rng.below(5) as usize;
        let most = (most / align * align).max(align);
        let walk = PoolWalk::new(&spans.into(), (most, align), slots, &PoolState::new(slots));
        return walk.map(|window| window.range).collect();
    }
    let aggregators: Vec<u32> = (0..1 + rng.below(spans.len() as u64) as u32).collect();
    let plan = Plan::new(spans, &aggregators, most, align);
    let of_round = |round| (0..plan.domains.len()).map(move |domain| (domain, round));
    (0..plan.rounds()).flat_map(of_round).map(|(domain, round)| plan.window(domain, round)).collect()
}

fn bits(bytes: usize) -> Vec<AtomicU64> {
    (0..Cover::words(bytes)).map(|_| AtomicU64::new(0)).collect()
}

#[test]
fn several_ranks() {
    for seed in 0..SEEDS {
        let mut rng = Rng::new(seed ^ 0x5EED << 32);
        let file = Faulty::new(&mut rng);
        let before = file.bytes();
        let ranks = 1 + rng.below(5) as u32;
        let wishes: Vec<Wish> = (0..ranks).map(|rank| Wish::draw(&mut rng, rank, ranks)).collect();
        let span = |wish: &Wish| {
            let range = wish.part.span();
            AccessSpan { start: range.start, end: range.end, bytes: wish.part.buf.len() as u64, piece: 1 }
        };
        let spans: Vec<AccessSpan> = wishes.iter().map(span).collect();
        let windows = windows(&mut rng, &spans);
        let failed = write_together(&file, &wishes, windows);
        let after = file.bytes();
        let mut expected = before.clone();
        for wish in &wishes {
            for (place, byte) in places(&wish.part).into_iter().zip(bytes_of(&wish.part.buf)) {
                let len = expected.len().max(place as usize + 1);
                expected.resize(len, 0);
                expected[place as usize] = byte;
            }
        }
        if !failed {
            assert_eq!(after, expected, "seed {seed}");
        }
        for (at, byte) in after.iter().enumerate() {
            let old = before.get(at).copied().unwrap_or(0);
            let new = expected.get(at).copied().unwrap_or(0);
            assert!(*byte == old || *byte == new, "seed {seed}: byte {at}");
        }
    }
}

#[test]
fn a_file_that_never_fails_gives_back_what_it_was_given() {
    let mut rng = Rng::new(1);
    let file = Faulty::flawless();
    let wish = Wish::draw(&mut rng, 0, 1);
    let len = wish.part.buf.len();
    assert_eq!(write_all(&file, &wish.part.buf, 0, len, 5).0, len);
    let into = UserBuf::owned(len);
    assert_eq!(read_all(&file, &into, 0, len, 5).0, len);
    assert_eq!(bytes_of(&into), bytes_of(&wish.part.buf));
}

//! Reading together from a page cache that all ranks share: each asks the system for a part of what all want, and takes its own pieces.
//!
//! The page cache is the collective buffer. So data are copied once, and not by the way of a window.

use crate::access::{Moved, StreamPart};
use crate::plan::{AccessSpan, whole};
use crate::storage::{Storage, read_all};
use std::ops::Range;

/// Pieces of this many bytes, on the average, are read from the page cache one by one: a system call takes as long as copying some KiB.
pub const DIRECT_PIECE_BYTES: u64 = 4 << 10;
/// Bytes that one rank asks for at a time: what the system reads ahead at least.
const CHUNK_BYTES: u64 = 128 << 10;
/// Chunks of each rank that are asked for before the pieces before them are taken.
const CHUNKS_AHEAD: u64 = 16;

/// The part of a rank in asking for what all want.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReadAhead {
    whole: Range<u64>,
    rank: u64,
    ranks: u64,
}

impl ReadAhead {
    /// That of a rank, of ranks with these spans.
    pub fn new(spans: &[AccessSpan], rank: u32) -> ReadAhead {
        ReadAhead { whole: whole(spans), rank: rank.into(), ranks: spans.len() as u64 }
    }

    /// Whether ranks with these spans do well to read like this.
    pub fn is_worth_it(spans: &[AccessSpan]) -> bool {
        spans.iter().all(|span| span.is_empty() || span.piece >= DIRECT_PIECE_BYTES)
    }

    /// Bytes that all ranks ask for at a time.
    fn stage_bytes(&self) -> u64 {
        CHUNK_BYTES * CHUNKS_AHEAD * self.ranks
    }

    fn stage(&self, number: u64) -> Range<u64> {
        let bytes = self.stage_bytes();
        let start = self.whole.start.saturating_add(number.saturating_mul(bytes)).min(self.whole.end);
        start..start.saturating_add(bytes).min(self.whole.end)
    }

    /// This rank's chunks of a stage: the ranks have them in turn.
    fn chunks(&self, stage: &Range<u64>) -> impl Iterator<Item = Range<u64>> {
        let (stage, step) = (stage.clone(), CHUNK_BYTES * self.ranks);
        let first = stage.start + CHUNK_BYTES * self.rank;
        (first..stage.end.max(first))
            .step_by(step as usize)
            .map(move |start| start..(start + CHUNK_BYTES).min(stage.end))
    }

    fn ask(&self, storage: &dyn Storage, stage: &Range<u64>) {
        self.chunks(stage).for_each(|chunk| storage.will_need(chunk.start, chunk.end));
    }

    /// Reads a part, as far as the file goes.
    pub fn read(&self, storage: &dyn Storage, part: &StreamPart) -> Moved {
        let mut moved = Moved::default();
        let mut goes_on = true;
        self.ask(storage, &self.stage(0));
        for number in 0.. {
            let stage = self.stage(number);
            if stage.is_empty() || !goes_on {
                break;
            }
            self.ask(storage, &self.stage(number + 1));
            part.runs_within(&stage, |run, at| {
                if goes_on {
                    let (bytes, outcome) = read_all(storage, &part.buf, at, run.len as usize, run.offset);
                    moved.bytes += bytes as u64;
                    moved.error = outcome.err();
                    goes_on = moved.error.is_none() && bytes as u64 == run.len;
                }
            });
        }
        moved
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_asked_for_by_one_rank() {
        let mut random = fastrand::Rng::with_seed(9);
        for _ in 0..200 {
            let start = random.u64(0..10 << 20);
            let span = AccessSpan { start, end: start + random.u64(1..40 << 20), bytes: 1, piece: 8 << 10 };
            let ranks = random.usize(1..6);
            let mut chunks: Vec<Range<u64>> = Vec::new();
            for rank in 0..ranks {
                let ahead = ReadAhead::new(&vec![span; ranks], rank as u32);
                let stages = (0..).map(|number| ahead.stage(number)).take_while(|stage| !stage.is_empty());
                stages.for_each(|stage| chunks.extend(ahead.chunks(&stage)));
            }
            chunks.sort_by_key(|chunk| chunk.start);
            assert_eq!((chunks[0].start, chunks.last().unwrap().end), (span.start, span.end));
            assert!(chunks.windows(2).all(|pair| pair[0].end == pair[1].start));
        }
    }

    #[test]
    fn short_pieces_are_no_system_calls() {
        let span = |piece| AccessSpan { start: 0, end: 1 << 20, bytes: 1 << 19, piece };
        assert!(ReadAhead::is_worth_it(&[span(4096), AccessSpan::default()]));
        assert!(!ReadAhead::is_worth_it(&[span(4096), span(512)]));
    }
}

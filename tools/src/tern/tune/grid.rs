//! What is measured: sizes, algorithms, segments.

use tern_coll::{Algorithm, Choice, Collective, Query, algorithms};

/// How thorough to be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Effort {
    /// Sizes of messages, bytes.
    pub sizes: &'static [u64],
    /// How often everything is measured, one after the other.
    pub repetitions: usize,
    /// Time for one size in one run, seconds.
    pub point_s: f64,
    /// Lengths of segments to try beside the usual one, bytes.
    pub segments: &'static [u64],
}

const KIB: u64 = 1024;

const THOROUGH: Effort = Effort {
    sizes: &[8, 64, 512, 2 * KIB, 8 * KIB, 32 * KIB, 128 * KIB, 512 * KIB, 2048 * KIB],
    repetitions: 5,
    point_s: 0.02,
    segments: &[16 * KIB, 256 * KIB],
};

const QUICK: Effort = Effort {
    sizes: &[8, KIB, 16 * KIB, 128 * KIB, 1024 * KIB],
    repetitions: 3,
    point_s: 0.008,
    segments: &[],
};

/// All buffers of one rank together, bytes: more is no common use, and takes long.
const BUFFER_BYTES_MAX: u64 = 64 * KIB * KIB;

impl Effort {
    /// The effort that is asked for.
    pub(super) fn new(quick: bool) -> Effort {
        if quick { QUICK } else { THOROUGH }
    }

    /// The sizes for a collective of so many ranks; one, 0, where there is nothing to send.
    pub(super) fn sizes_of(&self, collective: Collective, ranks: u32) -> Vec<u64> {
        let ranks = u64::from(ranks);
        let (least, most) = match collective {
            Collective::Barrier => return vec![0],
            Collective::Gather | Collective::Scatter | Collective::Allgather | Collective::Alltoall => {
                (1, BUFFER_BYTES_MAX / ranks)
            }
            // At least one double for each.
            Collective::ReduceScatter | Collective::ReduceScatterBlock => (8 * ranks, BUFFER_BYTES_MAX),
            _ => (1, BUFFER_BYTES_MAX),
        };
        self.sizes.iter().copied().filter(|bytes| (least..=most).contains(bytes)).collect()
    }

    /// How many jobs a collective takes at most. Each repetition measures all that is tried, and before and after it what is
    /// there without a table; if something is found, each measures that once more, and again before and after it.
    pub(super) fn jobs_of(&self, collective: Collective, ranks: u32) -> u64 {
        (self.candidates(collective, ranks).len() + 2 + 3) as u64 * self.repetitions as u64
    }

    /// What is tried for a collective of so many ranks on one machine, with the least bytes that it is tried for: the
    /// operation is a sum, which commutes. What the built-in table chooses is tried too: the call may go over slots in
    /// shared memory without a table.
    pub(super) fn candidates(&self, collective: Collective, ranks: u32) -> Vec<(Choice, u64)> {
        let query = Query::new(collective, 0, ranks);
        let suited = algorithms(collective).iter().copied().filter(|algorithm| algorithm.suits(&query));
        suited.flat_map(|algorithm| self.segmented(collective, algorithm)).collect()
    }

    fn segmented(&self, collective: Collective, algorithm: Algorithm) -> Vec<(Choice, u64)> {
        let Some(usual) = algorithm.segment_bytes(collective) else { return vec![(algorithm.into(), 0)] };
        let others = self.segments.iter().filter(|bytes| **bytes != usual);
        // With less than two segments the algorithm is the same whatever their length.
        let choice = |segment_bytes: u64| (Choice { algorithm, segment_bytes }, 2 * segment_bytes);
        [(Choice::from(algorithm), 0)].into_iter().chain(others.map(|bytes| choice(*bytes))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_stay_small_and_every_rank_gets_something() {
        let effort = Effort::new(false);
        assert_eq!(effort.sizes_of(Collective::Barrier, 8), [0]);
        assert_eq!(effort.sizes_of(Collective::Alltoall, 512).last(), Some(&(128 * KIB)));
        assert_eq!(effort.sizes_of(Collective::ReduceScatter, 16).first(), Some(&512));
        assert_eq!(effort.sizes_of(Collective::Bcast, 16), effort.sizes);
    }

    #[test]
    fn only_what_suits_the_ranks_is_tried() {
        let names = |ranks| {
            let all = Effort::new(true).candidates(Collective::Allgather, ranks);
            all.iter().map(|(choice, _)| choice.algorithm.name()).collect::<Vec<_>>()
        };
        assert_eq!(names(4), ["ring", "recursive-doubling", "bruck", "neighbor-exchange"]);
        assert_eq!(names(5), ["ring", "bruck"]);
        let chains = Effort::new(false).candidates(Collective::Bcast, 4);
        assert!(
            chains.contains(&(Choice { algorithm: Algorithm::Chain, segment_bytes: 256 * KIB }, 512 * KIB))
        );
    }
}

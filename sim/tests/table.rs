//! The built-in selection table against the simulator with its default parameters: its choice is nearly the best there is.
//! `tern sim --choose` prints the same for any calls.
//!
//! Sizes, ranks and nodes are a grid of their own. They are not those at which rows begin and end, nor those from which
//! the rows were made (3/2 of powers of two), so that a row whose bounds are wrong is found between them. Each place has
//! half of the sizes: the next one has the others.

use tern_coll::table::select;
use tern_coll::{Algorithm, Choice, Collective, Query, algorithms};
use tern_sim::params::Distance;
use tern_sim::topology::RankTopology;
use tern_sim::{Params, RankWork, SimulatedJob, estimate, run};

/// The table's choice may take so many times what the best algorithm takes. Nearer would be false precision: a
/// parameter that is a fifth off moves a threshold by as much.
const RATIO_MAX: f64 = 1.3;

/// An algorithm that sends more messages is left out, and a call for which the table chooses such a one: a simulated
/// message takes about a microsecond.
const MESSAGES_MAX: u64 = 6_000;

/// How many ranks are on one machine, and the numbers of ranks.
const PLACES: [(u32, &[u32]); 5] = [
    (128, &[2, 3, 5, 8, 12, 17, 32, 50, 64, 100, 128]),
    (1, &[2, 3, 5, 9, 16, 25, 64, 100, 200]),
    (4, &[8, 20, 36, 64, 150, 400, 1024]),
    (16, &[32, 40, 112, 250, 512, 1000]),
    (48, &[96, 200, 480]),
];

const KIB: u64 = 1024;
const SIZES: [u64; 18] = [
    1,
    8,
    100,
    1000,
    2 * KIB,
    3000,
    5000,
    9000,
    16 * KIB,
    20_000,
    40_000,
    64 * KIB,
    100_000,
    150_000,
    300_000,
    1_000_000,
    2048 * KIB,
    4096 * KIB,
];
/// Places that share the sizes.
const TURNS: usize = 2;

/// One call of the grid.
#[derive(Clone, Copy)]
struct Case {
    collective: Collective,
    ranks: u32,
    ranks_per_host: u32,
    bytes: u64,
    /// A network that has multicast.
    ethernet: Option<[f64; 3]>,
}

impl Case {
    fn params(&self) -> Params {
        match self.ethernet {
            Some(ethernet) => with_multicast(self.ranks_per_host, ethernet),
            None => Params { ranks_per_host: self.ranks_per_host, ..Params::default() },
        }
    }

    /// What the table is asked: by the whole vector, where a reduction is scattered.
    fn query(&self) -> Query {
        let params = self.params();
        let nodes = RankTopology::new(&params).nodes(self.ranks).count();
        let bytes = match self.collective {
            Collective::ReduceScatter | Collective::ReduceScatterBlock => self.bytes * u64::from(self.ranks),
            _ => self.bytes,
        };
        let multicast = params.multicast;
        Query { nodes, multicast, ..Query::new(self.collective, bytes, self.ranks) }
    }

    fn job(&self, choice: Choice) -> SimulatedJob {
        SimulatedJob {
            choice: Some(choice),
            ..SimulatedJob::new(RankWork::Collective(self.collective), self.ranks, self.bytes)
        }
    }

    fn time(&self, choice: Choice) -> f64 {
        let outcome = run(&self.job(choice), &self.params(), &mut |_| {}).expect("an outcome");
        assert_eq!(outcome.hang, None);
        outcome.time_ns()
    }

    fn is_quick(&self, choice: Choice) -> bool {
        estimate::messages(&self.job(choice), &self.params()) <= MESSAGES_MAX
    }

    /// What the table's choice takes, as a multiple of the best, and both names.
    fn compare(&self) -> Option<(f64, Algorithm, Algorithm)> {
        let query = self.query();
        let chosen = select(&[], &query);
        if !self.is_quick(chosen) {
            return None;
        }
        let time = self.time(chosen);
        let others = algorithms(self.collective).iter().filter(|&&algorithm| {
            algorithm.suits(&query) && algorithm != chosen.algorithm && self.is_quick(algorithm.into())
        });
        let timed = others.map(|&algorithm| (self.time(algorithm.into()), algorithm));
        let (least, best) = timed.fold((time, chosen.algorithm), |a, b| if b.0 < a.0 { b } else { a });
        Some((time / least, chosen.algorithm, best))
    }
}

/// The calls of a collective up to so many bytes for all ranks together, with some sizes at each place.
fn cases(collective: Collective, bytes_max: u64) -> Vec<Case> {
    let places =
        PLACES.iter().flat_map(|&(per_host, ranks)| ranks.iter().map(move |&ranks| (ranks, per_host)));
    let sizes: &[u64] = if collective == Collective::Barrier { &[0; TURNS] } else { &SIZES };
    let mut cases = Vec::new();
    for (turn, (ranks, ranks_per_host)) in places.enumerate() {
        let sizes = sizes.iter().skip(turn % TURNS).step_by(TURNS);
        let sizes = sizes.filter(|&&bytes| bytes <= bytes_max / u64::from(blocks(collective, ranks)));
        let ethernet = None;
        cases.extend(sizes.map(|&bytes| Case { collective, ranks, ranks_per_host, bytes, ethernet }));
    }
    cases
}

/// How many blocks of its bytes a rank has in a call.
fn blocks(collective: Collective, ranks: u32) -> u32 {
    use Collective::{Allreduce, Barrier, Bcast, Reduce};
    if matches!(collective, Allreduce | Barrier | Bcast | Reduce) { 1 } else { ranks }
}

fn judge(collective: Collective, bytes_max: u64) {
    let cases = cases(collective, bytes_max);
    let far: Vec<String> = cases.iter().filter_map(complaint).collect();
    let (number, all) = (far.len(), cases.len());
    assert!(far.is_empty(), "{number} of {all} choices are not nearly the best:\n{}", far.join("\n"));
}

fn complaint(case: &Case) -> Option<String> {
    let (ratio, chosen, best) = case.compare()?;
    let Case { collective, ranks, ranks_per_host, bytes, .. } = case;
    let what = format!("{collective} of {bytes} on {ranks}, {ranks_per_host} each");
    // Where there are multicasts, the rows of all else are as they are, whatever the network.
    let judged = case.ethernet.is_none() || [chosen, best].contains(&Algorithm::Multicast);
    (judged && ratio > RATIO_MAX).then(|| format!("{what}: {chosen} takes {ratio:.2} of {best}"))
}

/// A network with multicast: nanoseconds of latency, of a message at each side, and of a byte.
fn with_multicast(ranks_per_host: u32, [latency, overhead, byte]: [f64; 3]) -> Params {
    let mut params = Params { ranks_per_host, multicast: true, ..Params::default() };
    let level = params.level(Distance::Switch);
    (level.latency_ns, level.overhead_send_ns, level.overhead_receive_ns) = (latency, overhead, overhead);
    (level.gap_per_byte_ns, level.get_per_byte_ns, level.get_far_per_byte_ns) = (byte, byte, byte);
    params
}

/// Ethernet of 1 and of 10 Gbit/s.
const ETHERNETS: [[f64; 3]; 2] = [[15_000.0, 3000.0, 8.4], [8000.0, 1500.0, 0.85]];

#[test]
fn broadcasts_by_multicast_are_nearly_the_best() {
    let places = [(3, 1), (8, 1), (32, 1), (12, 4), (32, 4), (64, 16), (128, 16)];
    judge_multicasts(Collective::Bcast, &places, &[17 << 10, 65 << 10, 100_000, 512 << 10, 4 << 20]);
}

#[test]
fn barriers_by_multicast_are_nearly_the_best() {
    judge_multicasts(Collective::Barrier, &[(12, 1), (16, 1), (48, 1), (200, 1), (48, 4), (256, 16)], &[0]);
}

/// The same for numbers of ranks and how many of them each machine has, over each Ethernet.
fn judge_multicasts(collective: Collective, places: &[(u32, u32)], sizes: &[u64]) {
    let mut far = Vec::new();
    for &(ranks, ranks_per_host) in places {
        for &bytes in sizes {
            for ethernet in ETHERNETS.map(Some) {
                far.extend(complaint(&Case { collective, ranks, ranks_per_host, bytes, ethernet }));
            }
        }
    }
    assert!(far.is_empty(), "{}", far.join("\n"));
}

/// More than the largest of the grid.
const ANY_BYTES: u64 = u64::MAX;
/// What all blocks of a rank take together, at most: buffers of gigabytes are nobody's.
const BLOCKS_BYTES: u64 = 64 << 20;

macro_rules! choices {
    ($($name:ident: $collective:ident, $bytes_max:expr;)*) => {$(
        #[test]
        fn $name() {
            judge(Collective::$collective, $bytes_max);
        }
    )*};
}

choices! {
    a_barrier_is_nearly_the_best: Barrier, ANY_BYTES;
    a_broadcast_is_nearly_the_best: Bcast, ANY_BYTES;
    a_reduction_is_nearly_the_best: Reduce, ANY_BYTES;
    an_allreduce_is_nearly_the_best: Allreduce, ANY_BYTES;
    a_gather_is_nearly_the_best: Gather, BLOCKS_BYTES;
    a_scatter_is_nearly_the_best: Scatter, BLOCKS_BYTES;
    an_allgather_is_nearly_the_best: Allgather, BLOCKS_BYTES;
    an_alltoall_is_nearly_the_best: Alltoall, BLOCKS_BYTES;
    an_alltoallv_is_nearly_the_best: Alltoallv, BLOCKS_BYTES;
    a_reduce_scatter_is_nearly_the_best: ReduceScatter, BLOCKS_BYTES;
    a_reduce_scatter_of_blocks_is_nearly_the_best: ReduceScatterBlock, BLOCKS_BYTES;
}

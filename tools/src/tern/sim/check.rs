//! `tern sim --check`: the simulator beside real runs on this machine.
//!
//! Only ranks with a core of their own can be compared: where they outnumber the cores, the system's scheduler decides
//! who runs, and the model knows nothing of it.

use super::options::SimOptions;
use super::units;
use crate::table::TextTable;
use crate::tune::jobs::{CollectiveRun, Jobs, PairSetup, row_for_all};
use crate::tune::least::Least;
use crate::tune::messages;
use crate::tune::progress::JobProgress;
use tern_coll::{Algorithm, Collective};
use tern_sim::{Params, RankWork, SimulatedJob, run, shm_comm};

/// A prediction may be so much off.
const TOLERANCE: f64 = 0.25;

/// Calls that are simulated in a row, as a measurement makes them in a row.
const REPEATS: u32 = 64;

/// Repetitions. In each the parameters are measured anew, so that both sides of a comparison are of the same few seconds:
/// a virtual machine can be twice as fast a minute later. What counts is the middle one of the ratios.
const REPETITIONS: usize = 7;

/// Time for one number in one repetition, seconds.
const POINT_S: f64 = 0.04;

/// Most ranks that are compared.
const RANKS_MAX: u32 = 16;

const KIB: u64 = 1024;
/// Some are those at which parameters are measured, and others are not; all protocols occur.
const SIZES: [u64; 9] = [8, 128, KIB, 4 * KIB, 8 * KIB, 32 * KIB, 64 * KIB, 256 * KIB, 1024 * KIB];

/// How the two ranks of a ping-pong run: as every job does, on cores of their own.
const BOUND: PairSetup = PairSetup { options: &["--bind-to", "core"], settings: &[] };

/// The collectives that are compared, and the algorithm that both sides use: by messages, and as a blocking call goes on one
/// machine, which is by messages as well where these are the better way ([`BY_TABLE`]).
const COLLECTIVES: [(Collective, Algorithm); 7] = [
    (Collective::Allreduce, Algorithm::RecursiveDoubling),
    (Collective::Bcast, Algorithm::Binomial),
    (Collective::Barrier, Algorithm::Shm),
    (Collective::Bcast, Algorithm::Shm),
    (Collective::Allreduce, Algorithm::Shm),
    (Collective::Allgather, Algorithm::Shm),
    (Collective::Alltoall, Algorithm::Shm),
];

/// What is said of calls that the library leaves to the table of algorithms.
const BY_TABLE: &str = "table";

/// One comparison, nanoseconds.
#[derive(Clone, Debug, PartialEq)]
struct MeasuredAndSimulated {
    what: &'static str,
    /// By which algorithm.
    way: &'static str,
    ranks: u32,
    bytes: u64,
    predicted: f64,
    measured: f64,
}

/// Measures, simulates and compares.
pub(super) fn list(options: &SimOptions) -> Result<String, String> {
    let jobs = Jobs::find()?;
    let cores = tern_job::cores() as u32;
    let ranks = ranks(cores);
    let jobs_of_one = 1 + COLLECTIVES.len() as u64 * ranks.len() as u64;
    let jobs_of_one = jobs_of_one + if options.has_params { 0 } else { messages::JOBS };
    let progress = JobProgress::new(REPETITIONS as u64 * jobs_of_one);
    let repetitions: Result<Vec<_>, String> =
        (0..REPETITIONS).map(|_| repetition(options, &jobs, &ranks, &progress)).collect();
    progress.end();
    Ok(text(&middle(repetitions?), cores))
}

/// All comparisons once.
fn repetition(
    options: &SimOptions,
    jobs: &Jobs,
    ranks: &[u32],
    progress: &JobProgress,
) -> Result<Vec<MeasuredAndSimulated>, String> {
    let params = match options.has_params {
        true => options.params.clone(),
        false => Params::parse(&messages::measure(jobs, POINT_S, 1, progress)?)
            .map_err(|error| error.to_string())?,
    };
    let mut all = ping_pong(jobs, &params, progress)?;
    for &ranks in ranks {
        for (collective, algorithm) in COLLECTIVES {
            all.extend(collectives(jobs, &params, progress, (collective, algorithm), ranks)?);
        }
    }
    Ok(all)
}

/// Of each comparison the one with the middle ratio.
fn middle(repetitions: Vec<Vec<MeasuredAndSimulated>>) -> Vec<MeasuredAndSimulated> {
    let count = repetitions.first().map_or(0, Vec::len);
    let of = |index: usize| {
        let mut all: Vec<&MeasuredAndSimulated> =
            repetitions.iter().filter_map(|all| all.get(index)).collect();
        all.sort_by(|a, b| a.ratio().total_cmp(&b.ratio()));
        all[all.len() / 2].clone()
    };
    (0..count).map(of).collect()
}

/// 2, 4, 8, 16: as many as have a core.
fn ranks(cores: u32) -> Vec<u32> {
    std::iter::successors(Some(2), |ranks| Some(2 * ranks))
        .take_while(|&ranks| ranks <= cores.min(RANKS_MAX))
        .collect()
}

fn ping_pong(
    jobs: &Jobs,
    params: &Params,
    progress: &JobProgress,
) -> Result<Vec<MeasuredAndSimulated>, String> {
    let times = Least::of(progress, "ping-pong", 1, || jobs.messages(&BOUND, &SIZES, POINT_S))?;
    let compare = |bytes| {
        let job = SimulatedJob { repeats: REPEATS, ..SimulatedJob::new(RankWork::PingPong, 2, bytes) };
        let (predicted, measured) = (predict(job, params)?, times.ns("round-trip", bytes));
        Ok(MeasuredAndSimulated { what: "pingpong", way: "", ranks: 2, bytes, predicted, measured })
    };
    times.sizes("round-trip").map(compare).collect()
}

fn collectives(
    jobs: &Jobs,
    params: &Params,
    progress: &JobProgress,
    (collective, algorithm): (Collective, Algorithm),
    ranks: u32,
) -> Result<Vec<MeasuredAndSimulated>, String> {
    let job = |choice, bytes| SimulatedJob {
        choice,
        repeats: REPEATS,
        roots_rotate: true,
        ..SimulatedJob::new(RankWork::Collective(collective), ranks, bytes)
    };
    // Where a table names a schedule, the library goes by messages and not by its slots in shared memory.
    let shared = algorithm == Algorithm::Shm;
    let rows = [row_for_all(collective, algorithm.into())];
    let rows = if shared { &[] } else { &rows[..] };
    let chosen = |bytes| {
        let named = Some(algorithm.into());
        let is_served = !shared || shm_comm::serves(&job(named, bytes), &on_one_node(params, ranks));
        if is_served { (named, algorithm.name()) } else { (None, BY_TABLE) }
    };
    let sizes = if collective == Collective::Barrier { vec![0] } else { SIZES.to_vec() };
    let measured = CollectiveRun { collective, ranks, sizes, point_s: POINT_S, bound: true };
    let what = collective.name();
    let times = Least::of(progress, what, 1, || jobs.collective(&measured, rows))?;
    let compare = |bytes| {
        let (choice, way) = chosen(bytes);
        let (predicted, measured) = (predict(job(choice, bytes), params)?, times.ns(what, bytes));
        Ok(MeasuredAndSimulated { what, way, ranks, bytes, predicted, measured })
    };
    times.sizes(what).map(compare).collect()
}

/// The time of one call.
fn predict(job: SimulatedJob, params: &Params) -> Result<f64, String> {
    let outcome =
        run(&job, &on_one_node(params, job.ranks), &mut |_| {}).map_err(|error| error.to_string())?;
    Ok(outcome.time_ns() / f64::from(job.repeats))
}

/// All ranks of this machine are on one host, each on its own core.
fn on_one_node(params: &Params, ranks: u32) -> Params {
    Params { ranks_per_core: 1, ranks_per_host: ranks, ..params.clone() }
}

impl MeasuredAndSimulated {
    fn ratio(&self) -> f64 {
        self.predicted / self.measured
    }

    fn is_close(&self) -> bool {
        (self.ratio() - 1.0).abs() <= TOLERANCE
    }
}

fn text(all: &[MeasuredAndSimulated], cores: u32) -> String {
    let mut table = TextTable::default();
    table.row(["call", "way", "ranks", "bytes", "simulated", "measured", "ratio", ""]);
    for one in all {
        let verdict = if one.is_close() { "" } else { "off" };
        table.row([
            one.what,
            one.way,
            &one.ranks.to_string(),
            &units::count(one.bytes),
            &units::time(one.predicted),
            &units::time(one.measured),
            &format!("{:.2}", one.ratio()),
            verdict,
        ]);
    }
    let close = all.iter().filter(|one| one.is_close()).count();
    let tolerance = TOLERANCE * 100.0;
    format!(
        "{}\n{close} of {} predictions are within {tolerance:.0} %.\n\
         A ping-pong is a round trip. Those by shm go over the memory that the ranks share, all others by messages.\n\
         More than {cores} ranks cannot be compared on this machine: they would take turns on its {cores} cores, and\n\
         when they do is the system's choice, which the model does not know.\n",
        table.text(),
        all.len()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn comparison(predicted: f64, measured: f64) -> MeasuredAndSimulated {
        MeasuredAndSimulated { what: "bcast", way: "shm", ranks: 2, bytes: 8, predicted, measured }
    }

    #[test]
    fn a_quarter_is_close_and_more_is_not() {
        let close = [(75.0, 100.0), (125.0, 100.0), (100.0, 100.0)];
        let off = [(74.0, 100.0), (126.0, 100.0), (1.0, 0.0), (0.0, 1.0)];
        assert!(close.iter().all(|&(predicted, measured)| comparison(predicted, measured).is_close()));
        assert!(!off.iter().any(|&(predicted, measured)| comparison(predicted, measured).is_close()));
        let text = text(&[comparison(1000.0, 1100.0), comparison(10.0, 1.0)], 2);
        assert!(
            text.contains("1 of 2 predictions") && text.contains("0.91") && text.contains("off"),
            "{text}"
        );
    }

    #[test]
    fn the_middle_repetition_counts() {
        let repetition = |ratio: f64| vec![comparison(ratio, 1.0), comparison(1.0, 1.0 / ratio)];
        let all = [3.0, 0.1, 1.1].map(repetition).into();
        assert_eq!(middle(all), repetition(1.1));
        assert_eq!(middle(vec![]), vec![]);
    }

    #[test]
    fn ranks_have_cores() {
        assert_eq!([1, 2, 6, 64].map(ranks), [vec![], vec![2], vec![2, 4], vec![2, 4, 8, 16]]);
    }

    #[test]
    fn the_time_is_of_one_call() {
        let params = Params::default();
        let job = |repeats| SimulatedJob { repeats, ..SimulatedJob::new(RankWork::PingPong, 2, 8) };
        let [once, often] = [1, 100].map(|repeats| predict(job(repeats), &params).unwrap());
        assert!((once / often - 1.0).abs() < 0.01, "{once} {often}");
    }
}

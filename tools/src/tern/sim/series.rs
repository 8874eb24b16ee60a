//! Runs the jobs that the command line asks for, one after the other, and lists what they found.

use super::options::{AlgorithmChoice, SimOptions};
use super::progress::StatusLine;
use super::{plot, units};
use crate::output;
use crate::table::Columns;
use std::time::Duration;
use tern_coll::table::select;
use tern_coll::{Algorithm, Choice, Collective, Query, algorithms};
use tern_sim::topology::RankTopology;
use tern_sim::{Params, RankWork, RunOutcome, SimulatedJob, estimate, run, shm_comm};

/// One job and what it found.
pub(super) struct SeriesPoint {
    /// The algorithm that served the call.
    pub algorithm: &'static str,
    pub job: SimulatedJob,
    pub outcome: RunOutcome,
    /// What it took here.
    pub wall: Duration,
}

/// Runs all jobs, and tells of each as soon as it has ended. Answers what there is to say at the end.
pub(super) fn list(options: &SimOptions, tell: &mut dyn FnMut(&str)) -> Result<String, String> {
    options.plot.as_deref().map_or(Ok(()), output::check)?;
    let jobs = jobs(options);
    jobs.iter().try_for_each(SimulatedJob::check).map_err(|error| error.to_string())?;
    let columns = columns(&jobs, &options.params);
    tell(&columns.line(HEADING));
    let (mut points, mut notes) = (Vec::new(), Vec::new());
    for job in jobs {
        match simulate(job, options)? {
            Ok(point) => {
                tell(&columns.line(cells(&point).each_ref().map(String::as_str)));
                points.push(point);
            }
            Err(left_out) => notes.push(left_out),
        }
    }
    if let Some(file) = &options.plot {
        plot::draw(&points, file)?;
    }
    let hangs: String = points.iter().filter_map(hang).collect();
    let summary = summary(&points);
    notes.extend(points.iter().filter_map(|point| replaced(point, &options.params)));
    if hangs.is_empty() { Ok(notes.concat() + &summary) } else { Err(hangs) }
}

/// What is said where the algorithm that was asked for cannot serve the call.
fn replaced(point: &SeriesPoint, params: &Params) -> Option<String> {
    let (RankWork::Collective(collective), Some(choice)) = (point.job.work, point.job.choice) else {
        return None;
    };
    let (asked, ranks) = (choice.algorithm, point.job.ranks);
    let nodes = RankTopology::new(params).nodes(ranks).count();
    (asked.name() != point.algorithm).then(|| {
        format!(
            "{} in place of {asked}: {collective} of {} on {ranks} ranks, {nodes} nodes; it needs {}\n",
            point.algorithm,
            units::count(point.job.bytes),
            asked.needs(collective)
        )
    })
}

/// Runs one job; if it would send too many messages, says so.
pub(super) fn simulate(
    job: SimulatedJob,
    options: &SimOptions,
) -> Result<Result<SeriesPoint, String>, String> {
    let params = &options.params;
    job.check().map_err(|error| error.to_string())?;
    let messages = estimate::messages(&job, params).saturating_mul(job.repeats.into());
    if messages > options.messages_max {
        return Ok(Err(left_out(&job, messages, params)));
    }
    let algorithm = algorithm_of(&job, params);
    let what = format!("{} {algorithm}, {} ranks", name(job.work), job.ranks);
    let mut line = StatusLine::new(what, messages);
    let outcome = run(&job, params, &mut |progress| line.show(progress));
    line.clear();
    let outcome = outcome.map_err(|error| error.to_string())?;
    Ok(Ok(SeriesPoint { algorithm, job, outcome, wall: line.elapsed() }))
}

fn jobs(options: &SimOptions) -> Vec<SimulatedJob> {
    let mut jobs = Vec::new();
    for &work in &options.works {
        for &bytes in &options.bytes {
            for &ranks in &options.ranks {
                let choices = choices(work, options, ranks, bytes);
                jobs.extend(choices.into_iter().map(|choice| job(options, work, choice, ranks, bytes)));
            }
        }
    }
    jobs
}

/// A job as the options have it.
pub(super) fn job(
    options: &SimOptions,
    work: RankWork,
    choice: Option<Choice>,
    ranks: u32,
    bytes: u64,
) -> SimulatedJob {
    SimulatedJob {
        choice,
        root: options.root,
        repeats: options.repeats,
        payload: options.payload,
        faults: options.faults.clone(),
        ..SimulatedJob::new(work, ranks, bytes)
    }
}

fn choices(work: RankWork, options: &SimOptions, ranks: u32, bytes: u64) -> Vec<Option<Choice>> {
    let cut = |algorithm| Some(Choice { algorithm, segment_bytes: options.segment_bytes });
    match (work, options.which) {
        (RankWork::Collective(collective), AlgorithmChoice::All) => {
            let query = query(collective, &options.params, ranks, bytes);
            suitable(collective, &query, options).map(cut).collect()
        }
        (RankWork::Collective(_), AlgorithmChoice::One(algorithm)) => vec![cut(algorithm)],
        (RankWork::Collective(collective), AlgorithmChoice::Library) => {
            let goes_shared = query(collective, &options.params, ranks, bytes).shm;
            vec![if goes_shared { cut(Algorithm::Shm) } else { None }]
        }
        _ => vec![None],
    }
}

/// The algorithms of a collective that suit a call, and can be simulated with its faults.
pub(super) fn suitable(
    collective: Collective,
    query: &Query,
    options: &SimOptions,
) -> impl Iterator<Item = Algorithm> {
    let shm = options.faults.crashes.is_empty().then_some(Algorithm::Shm);
    let all = shm.into_iter().chain(algorithms(collective).iter().copied());
    all.filter(|algorithm| algorithm.suits(query))
}

/// What the selection table is asked for a simulated call.
pub(super) fn query(collective: Collective, params: &Params, ranks: u32, job_bytes: u64) -> Query {
    let nodes = RankTopology::new(params).nodes(ranks).count();
    let bytes = match collective {
        Collective::Barrier => 0,
        // Chosen by the whole vector.
        Collective::ReduceScatter | Collective::ReduceScatterBlock => job_bytes.saturating_mul(ranks.into()),
        _ => job_bytes,
    };
    let shm =
        shm_comm::serves(&SimulatedJob::new(RankWork::Collective(collective), ranks, job_bytes), params);
    Query { nodes, multicast: params.multicast, shm, ..Query::new(collective, bytes, ranks) }
}

/// The algorithm that serves a job.
fn algorithm_of(job: &SimulatedJob, params: &Params) -> &'static str {
    let RankWork::Collective(collective) = job.work else { return "" };
    let query = query(collective, params, job.ranks, job.bytes);
    let asked = job.choice.filter(|choice| choice.algorithm.suits(&query));
    match (asked, job.choice) {
        (Some(choice), _) => choice.algorithm.name(),
        // One that does not suit the call is replaced by the general one.
        (None, Some(_)) => algorithms(collective)[0].name(),
        (None, None) => select(&[], &query).algorithm.name(),
    }
}

/// What the work is called.
pub(super) fn name(work: RankWork) -> &'static str {
    match work {
        RankWork::Collective(collective) => collective.name(),
        RankWork::PingPong => "pingpong",
        RankWork::Window(_) => "window",
    }
}

/// What is said of a job that sends too many messages.
fn left_out(job: &SimulatedJob, messages: u64, params: &Params) -> String {
    let (name, bytes) = (name(job.work), units::count(job.bytes));
    let algorithm = algorithm_of(job, params);
    format!(
        "left out: {name} {algorithm} of {bytes} on {} ranks sends about {messages} messages (--messages-max)\n",
        job.ranks
    )
}

impl SeriesPoint {
    /// The time of one call; of a ping-pong, of one message.
    pub(super) fn time_ns(&self) -> f64 {
        let ways = if self.job.work == RankWork::PingPong { 2.0 } else { 1.0 };
        self.outcome.time_ns() / f64::from(self.job.repeats) / ways
    }
}

const HEADING: [&str; 9] = [
    "call",
    "algorithm",
    "bytes",
    "ranks",
    "time",
    "messages",
    "a rank sends",
    "at most",
    "unexpected, at most",
];

/// Columns for what is known of the jobs before they run; what they find fits under the heading.
fn columns(jobs: &[SimulatedJob], params: &Params) -> Columns<9> {
    let mut columns = Columns::new(HEADING).at_least(4, "000.00 us").at_least(7, "0000.0 GiB");
    for job in jobs {
        columns = columns
            .at_least(0, name(job.work))
            .at_least(1, algorithm_of(job, params))
            .at_least(2, &units::count(job.bytes))
            .at_least(3, &units::count(job.ranks.into()))
            .at_least(5, &estimate::messages(job, params).saturating_mul(job.repeats.into()).to_string());
    }
    columns
}

fn cells(point: &SeriesPoint) -> [String; 9] {
    let (job, outcome) = (&point.job, &point.outcome);
    [
        name(job.work).into(),
        point.algorithm.into(),
        units::count(job.bytes),
        units::count(job.ranks.into()),
        units::time(point.time_ns()),
        outcome.messages.to_string(),
        units::bytes(outcome.rank_bytes_mean()),
        units::bytes(outcome.rank_bytes_max as f64),
        units::bytes(outcome.unexpected_bytes_max as f64),
    ]
}

fn summary(points: &[SeriesPoint]) -> String {
    let events: u64 = points.iter().map(|point| point.outcome.events).sum();
    let wall = points.iter().map(|point| point.wall).sum::<Duration>().as_secs_f64();
    let rate = events as f64 / wall.max(1e-9) / 1e6;
    let peak =
        peak_bytes().map_or(String::new(), |peak| format!(", {} of memory at most", units::bytes(peak)));
    format!("\n{events} events in {wall:.2} s, {rate:.2} million a second{peak}\n")
}

/// The most memory that this process has ever held.
fn peak_bytes() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix(" kB")?.trim().parse::<f64>().ok()? * 1024.0)
}

/// Why a run did not end, if it did not.
pub(super) fn hang(point: &SeriesPoint) -> Option<String> {
    let (job, hang) = (&point.job, point.outcome.hang.as_ref()?);
    let what =
        format!("{} {} of {} bytes on {} ranks", name(job.work), point.algorithm, job.bytes, job.ranks);
    let version = env!("CARGO_PKG_VERSION");
    Some(format!("{what} does not end (Tern {version}, seed {}):\n{hang}", job.faults.seed))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::options::tests::parse;

    fn listed(line: &str) -> Result<String, String> {
        let mut rows = String::new();
        let end = list(&parse(line).unwrap(), &mut |row| rows += row)?;
        Ok(rows + &end)
    }

    #[test]
    fn every_algorithm_that_suits_has_a_line() {
        let text = listed("allgather --algorithm all --ranks 6,8 --bytes 64 --ranks-per-host 64").unwrap();
        let lines = |word: &str| text.lines().filter(|line| line.contains(word)).count();
        let counts = ["ring", "recursive-doubling", "bruck", "neighbor-exchange", "shm"].map(lines);
        assert_eq!(counts, [2, 1, 2, 2, 2], "{text}");
    }

    #[test]
    fn what_is_too_large_is_left_out() {
        let text = listed("alltoall --ranks 8,64 --messages-max 100").unwrap();
        assert!(text.contains("left out: alltoall") && text.contains("on 64 ranks"), "{text}");
        let text = listed("bcast --algorithm binomial --ranks 128 --messages-max 126").unwrap();
        assert!(text.contains("on 128 ranks sends about 127 messages"), "{text}");
    }

    #[test]
    fn a_root_that_is_no_rank_is_refused() {
        for collective in ["bcast", "barrier", "reduce", "allreduce", "allgather"] {
            let error = listed(&format!("{collective} --ranks 2,128 --root 128")).unwrap_err();
            assert_eq!(error, "the root is 128, but the ranks are 0 to 1");
            let error = listed(&format!("{collective} --ranks 128 --root 128")).unwrap_err();
            assert_eq!(error, "the root is 128, but the ranks are 0 to 127");
        }
    }

    #[test]
    fn an_algorithm_in_place_of_another_is_told() {
        let text = listed("allgather --algorithm recursive-doubling --ranks 6,8").unwrap();
        assert!(text.contains("ring in place of recursive-doubling: allgather of 8 on 6 ranks"), "{text}");
        assert_eq!(text.matches("in place of").count(), 1, "{text}");
    }

    #[test]
    fn faults_between_machines_leave_one_machine_alone() {
        let text = listed("bcast --ranks 4,128 --loss 0.001 --jitter 1us").unwrap();
        assert!(text.contains("shm") && text.contains("128"), "{text}");
        let error = listed("bcast --ranks 4 --algorithm all --crash 0@0").unwrap_err();
        assert!(error.contains("rank 0 has stopped"), "{error}");
        let error = listed("bcast --ranks 4 --crash 0@0").map(drop).unwrap_err();
        assert!(error.contains("'table'"), "{error}");
    }

    #[test]
    fn a_run_that_does_not_end_is_an_error_that_names_the_seed() {
        let error = listed("bcast --ranks 4 --ranks-per-host 2 --seed 9 --crash 0@0").unwrap_err();
        assert!(error.contains("seed 9") && error.contains("rank 0 has stopped"), "{error}");
    }
}

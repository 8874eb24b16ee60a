//! How many messages a job is going to need, before it runs.

use crate::job::SimulatedJob;
use crate::params::{Costs, Params};
use crate::program::RankProgram;
use crate::topology::RankTopology;
use tern_coll::{Schedule, Slice, Step, StepPeer, Ty};
use tern_engine::EngineSettings;

/// Ranks whose schedules are counted at least.
const RANKS_MIN: u32 = 64;

/// Steps of schedules up to which more ranks are counted: some hundredths of a second.
const STEPS_MAX: usize = 1 << 17;

/// What a rank costs beside its steps, counted in steps.
const STEPS_OF_RANK: usize = 4;

/// About how many messages all ranks send in one call. Where to count them takes long, some ranks are counted, and they stand
/// for the others.
pub fn messages(job: &SimulatedJob, params: &Params) -> u64 {
    let program = RankProgram::new(job, params);
    let protocols = Protocols::new(params, program.element_bytes());
    let mut schedule = Schedule::new();
    let mut sends_and_steps = |rank| {
        program.build(rank, 1, 0, usize::MAX, &mut schedule);
        let steps = schedule.steps();
        (steps.iter().map(|step| protocols.messages(rank, step)).sum::<u64>(), steps.len())
    };
    // The root's schedule may be like no other.
    let (root, mut steps) = sends_and_steps(job.root);
    let (mut others, mut counted) = (0, 0);
    let stride = stride(job.ranks);
    while counted < job.ranks - 1 && (counted < RANKS_MIN || steps < STEPS_MAX) {
        counted += 1;
        let distance = u64::from(counted) * u64::from(stride) + u64::from(job.root);
        let (sent, taken) = sends_and_steps((distance % u64::from(job.ranks)) as u32);
        others += sent;
        steps += taken + STEPS_OF_RANK;
    }
    root + (u128::from(others) * u128::from(job.ranks - 1)).div_ceil(u128::from(counted.max(1))) as u64
}

/// How far each counted rank is from the one before it. A step without a common divisor comes to all ranks, each once. That of
/// the golden ratio spreads the first ones over all, and meets each level of a tree as often as there are ranks of it.
fn stride(ranks: u32) -> u32 {
    const GOLDEN_RATIO: f64 = 0.618_033_988_749_894_9;
    let near = (f64::from(ranks) * GOLDEN_RATIO) as u32;
    (near.max(1)..).find(|&stride| divisor(stride, ranks) == 1).unwrap_or(1)
}

/// The greatest common divisor.
fn divisor(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { divisor(b, a % b) }
}

/// How many messages a step of a schedule becomes.
struct Protocols {
    topology: RankTopology,
    /// For each distance: bytes up to which a message goes at once, and how many messages a longer one takes.
    levels: Vec<(u64, u64)>,
    element_bytes: u64,
}

impl Protocols {
    fn new(params: &Params, element_bytes: u64) -> Protocols {
        let settings = EngineSettings::default();
        let levels = params.levels.iter().map(|level| {
            let Costs { limits, streams, .. } = Costs::of(level, params.compute.cache_bytes);
            let is_fetched = (limits.get || limits.cooperative_copy) && !streams;
            // A request and the answer; or a request, what it is ready for, and a fragment.
            (settings.eager_bytes_max(&limits) as u64, if is_fetched { 2 } else { 3 })
        });
        Protocols { topology: RankTopology::new(params), levels: levels.collect(), element_bytes }
    }

    fn messages(&self, rank: u32, step: &Step) -> u64 {
        match *step {
            Step::Send { to: StepPeer::Local(to), from: Slice { count, ty, .. } } => {
                let bytes = if ty == Ty::Byte { count } else { count.saturating_mul(self.element_bytes) };
                let (at_once, of_long) = self.levels[self.topology.distance(rank, to) as usize];
                if bytes <= at_once { 1 } else { of_long }
            }
            Step::Send { .. } | Step::Multicast { .. } => 1,
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RankWork;
    use tern_coll::{Algorithm, Collective};

    fn estimate(collective: Collective, algorithm: Algorithm, ranks: u32) -> u64 {
        let job = SimulatedJob::new(RankWork::Collective(collective), ranks, 8);
        messages(&SimulatedJob { choice: Some(algorithm.into()), ..job }, &Params::default())
    }

    #[test]
    fn messages_are_about_as_many_as_there_will_be() {
        assert_eq!(estimate(Collective::Allreduce, Algorithm::RecursiveDoubling, 1 << 20), 20 << 20);
        let gather = estimate(Collective::Gather, Algorithm::Linear, 1000);
        assert!((900..=1100).contains(&gather), "{gather}");
        let scatter = estimate(Collective::Scatter, Algorithm::Linear, 1000);
        assert!((900..=1100).contains(&scatter), "{scatter}");
    }

    #[test]
    fn long_messages_take_what_their_protocol_takes() {
        let params = Params::default();
        for (collective, bytes) in
            [(Collective::Bcast, 1 << 20), (Collective::Allgather, 64), (Collective::Reduce, 1 << 18)]
        {
            let job = SimulatedJob::new(RankWork::Collective(collective), 100, bytes);
            let sent = crate::run(&job, &params, &mut |_| {}).expect("an outcome").messages;
            let estimate = messages(&job, &params);
            assert!(estimate.abs_diff(sent) <= sent / 10, "{collective}: {estimate} of {sent}");
        }
    }

    #[test]
    fn each_level_of_a_tree_is_counted_as_often_as_it_has_ranks() {
        for ranks in [1, 2, 7, 128, 3000] {
            assert_eq!(estimate(Collective::Bcast, Algorithm::Binomial, ranks), u64::from(ranks) - 1);
        }
        for ranks in [100_000, 1 << 20] {
            let job = SimulatedJob::new(RankWork::Collective(Collective::Bcast), ranks, 8);
            for (root, ranks_per_host) in [(0, 128), (77, 128), (0, 48)] {
                let params = Params { ranks_per_host, ..Params::default() };
                let sent = messages(&SimulatedJob { root, ..job.clone() }, &params);
                let off = sent.abs_diff(u64::from(ranks) - 1);
                assert!(off < u64::from(ranks) / 50, "{sent} of {ranks}, {ranks_per_host} a host");
            }
        }
    }
}

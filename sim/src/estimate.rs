//! How many messages a job is going to need, before it runs.

use crate::job::SimulatedJob;
use crate::params::Params;
use crate::program::RankProgram;
use tern_coll::{Schedule, Step};

/// Ranks whose schedules are counted.
const SAMPLES: u32 = 32;

/// About how many messages the schedules of all ranks send in one call; those of the protocols come on top.
pub fn messages(job: &SimulatedJob, params: &Params) -> u64 {
    let program = RankProgram::new(job, params);
    let samples = SAMPLES.min(job.ranks);
    // The root and the others by turns: its schedule may be like no other.
    let others =
        (0..samples).map(|sample| (u64::from(sample) * u64::from(job.ranks) / u64::from(samples)) as u32);
    let mut schedule = Schedule::new();
    let mut sends = |rank| {
        program.build(rank, 1, 0, usize::MAX, &mut schedule);
        let is_sent = |step: &&Step| matches!(step, Step::Send { .. } | Step::Multicast { .. });
        schedule.steps().iter().filter(is_sent).count() as u64
    };
    let root = sends(job.root);
    let others: u64 = others.filter(|&rank| rank != job.root || job.ranks == 1).map(&mut sends).sum();
    root + others * u64::from(job.ranks - 1) / u64::from(samples.saturating_sub(1).max(1))
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
}

//! Windows: each rank puts to others, and `MPI_Win_fence` ends the epoch.
//!
//! Ranks of other hosts are reached by the messages of the library's own engine ([`tern_engine::rma`]): puts, questions whether they
//! are done, and answers. Memory of the same host is mapped, so a put there is a copy. The fence ends with the library's barrier.
//!
//! Where all ranks put to all, messages grow with the square of the ranks. What would take too long to run is priced instead: who is
//! busy longest, a core or a host's link.

use crate::job::{RankWork, SimulatedJob};
use crate::limits::WINDOW_MESSAGES_MAX;
use crate::params::{Cost, Costs, Distance, Params, PriceCurve, times};
use crate::topology::RankTopology;
use crate::world::{RunError, run};
use crate::{Picos, nanos, picos, shm_comm};
use tern_coll::{Algorithm, Collective};

/// What is asked about windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowJob {
    /// Ranks.
    pub ranks: u32,
    /// Bytes of a put.
    pub bytes: u64,
    /// To how many ranks each puts; `None`: to all others.
    pub targets: Option<u32>,
}

/// What it takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WindowPrice {
    /// Nanoseconds of a fence after which nothing is under way.
    pub fence_ns: f64,
    /// Nanoseconds of the puts and the fence that ends them.
    pub puts_ns: f64,
    /// The puts of each rank.
    pub puts: u32,
    /// Messages of all ranks between hosts, those of the fence left out.
    pub messages: u64,
    /// Each of them was run; otherwise they are priced.
    pub is_run: bool,
}

/// What a fence takes, and puts that end with one.
pub fn price(job: &WindowJob, params: &Params) -> Result<WindowPrice, RunError> {
    let puts = job.targets.unwrap_or(job.ranks.saturating_sub(1));
    let work = SimulatedJob::new(RankWork::Window(puts), job.ranks, job.bytes);
    work.check()?;
    let fence_ns = fence_ns(job.ranks, params)?;
    let load = Load::new(job, puts, params);
    // On one host all puts are copies, and the barrier of the fence goes over shared memory.
    let is_run = load.messages <= WINDOW_MESSAGES_MAX && job.ranks > params.ranks_per_host;
    let puts_ns =
        if is_run { run(&work, params, &mut |_| {})?.time_ns() } else { load.busiest_ns() + fence_ns };
    Ok(WindowPrice { fence_ns, puts_ns, puts, messages: load.messages, is_run })
}

/// Nanoseconds for which the puts of a job and what they ask for keep a core or a link busy, whichever is longer.
pub fn busiest_ns(job: &WindowJob, params: &Params) -> f64 {
    Load::new(job, job.targets.unwrap_or(job.ranks.saturating_sub(1)), params).busiest_ns()
}

/// A fence after which nothing is under way: the barrier that the library chooses.
fn fence_ns(ranks: u32, params: &Params) -> Result<f64, RunError> {
    let mut job = SimulatedJob::new(RankWork::Collective(Collective::Barrier), ranks, 0);
    if shm_comm::serves(&job, params) {
        job.choice = Some(Algorithm::Shm.into());
    }
    Ok(run(&job, params, &mut |_| {})?.time_ns())
}

/// What puts keep busy.
struct Load {
    /// A core, until all puts, questions and answers have passed it.
    core: Picos,
    /// The link of a host, in each direction.
    link: Picos,
    /// The way of the last put, and of the question and answer that follow it.
    ways: Picos,
    messages: u64,
}

impl Load {
    /// Every rank does what the first one does; so it has as much to send as to receive.
    fn new(job: &WindowJob, puts: u32, params: &Params) -> Load {
        let topology = RankTopology::new(params);
        let mut at = [0u64; 4];
        for target in (1..=puts).filter(|_| job.bytes > 0) {
            at[topology.distance(0, target) as usize] += 1;
        }
        let sharing = |ranks: u32| u64::from(ranks.min(job.ranks));
        let mut load = Load { core: 0, link: 0, ways: 0, messages: 0 };
        for distance in Distance::ALL {
            load.add(distance, at[distance as usize], job.bytes, params);
        }
        load.core *= sharing(params.ranks_per_core);
        load.link *= sharing(params.ranks_per_host);
        load.messages *= u64::from(job.ranks);
        load
    }

    /// So many puts of a rank to ranks at a distance.
    fn add(&mut self, distance: Distance, puts: u64, bytes: u64, params: &Params) {
        let call = picos(params.compute.step_ns);
        if matches!(distance, Distance::Core | Distance::Host) || puts == 0 {
            self.core += puts * (call + params.compute.copy().of(bytes));
            return;
        }
        let level = &params.levels[distance as usize];
        let (costs, curve) = (Costs::of(level, params.compute.cache_bytes), PriceCurve::of(level));
        let piece = bytes.min(level.eager_bytes_max.max(1) as u64);
        let pieces = bytes.div_ceil(piece);
        // With each put go a question and an answer.
        let messages = pieces + 2;
        let bytes_of = |cost| pieces * curve.cost(cost, piece);
        self.core += puts * (call + messages * (costs.send + costs.receive));
        self.core += puts * (bytes_of(Cost::Send) + bytes_of(Cost::Receive));
        self.link += puts * (pieces * times(piece, costs.per_byte).max(costs.gap) + 2 * costs.gap);
        self.ways = self.ways.max(3 * costs.latency + curve.cost(Cost::Way, piece));
        self.messages += puts * messages;
    }

    fn busiest_ns(&self) -> f64 {
        nanos(self.core.max(self.link) + self.ways)
    }
}

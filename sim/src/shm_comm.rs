//! Collectives over shared memory, on one node: the library's own steps (crate `tern-shmcoll`), over flags and data whose
//! every line has a price.
//!
//! Those steps are blocking code, so each rank has a thread. Only one of them runs at a time: the one whose clock is
//! earliest, and it stops before everything that others can see ([`scheduler`]). So there is no chance in a run, as elsewhere.
//! What a step costs depends on which core has the line ([`cache`]).

mod cache;
mod host;
mod lines;
mod scheduler;

use crate::job::{PayloadBytes, RankWork, SimulatedJob};
use crate::memory::SimulatedMemory;
use crate::outcome::RunOutcome;
use crate::params::Params;
use crate::port::Defect;
use crate::program::RankProgram;
use crate::{Picos, picos};
use std::sync::{Arc, Mutex};
use tern_coll::{Algorithm, Collective, CollectiveCall, Query};
use tern_shm::limits::SHM_COMM_RANKS_MAX;
use tern_shm::{Arrival, Mismatch, ShmComm, ShmMember};
use tern_shmcoll::{CallFault, Habits, Mark, Method, OperandOrder, VectorBlocks, mark_of_barrier};

use host::ShmRank;
use lines::PricedLines;
use scheduler::Scheduler;

/// Whether a blocking call of such a job goes over shared memory in the library. Those whose steps may leave blocks to messages, which are
/// vector forms with a root, are left out: here they go by messages alone.
pub fn serves(job: &SimulatedJob, params: &Params) -> bool {
    let RankWork::Collective(collective) = job.work else { return false };
    // Shm communicators of more ranks have barriers without data, but their ranks would be too many threads here.
    let is_shm_comm =
        (2..=SHM_COMM_RANKS_MAX as u32).contains(&job.ranks) && job.ranks <= params.ranks_per_host;
    is_shm_comm && RankProgram::new(job, params).method(collective, 0, job.root).is_some()
}

/// Whether the job asks for that way, and can go it.
pub(crate) fn is_asked(job: &SimulatedJob, params: &Params) -> bool {
    job.choice.is_some_and(|choice| choice.algorithm == Algorithm::Shm) && serves(job, params)
}

/// The query by which an algorithm is chosen for a call, with the way over shared memory if there is one.
pub fn query(job: &SimulatedJob, params: &Params, query: Query) -> Query {
    Query { shm: serves(job, params), ..query }
}

/// How a call goes over shared memory.
pub(crate) enum ShmPlan {
    /// A barrier, which has no data.
    Barrier,
    /// As the library decides.
    Way(Method),
}

impl RankProgram {
    /// How a rank's call goes over shared memory, if it does.
    fn method(&self, collective: Collective, rank: u32, root: u32) -> Option<ShmPlan> {
        let around = self.around(rank);
        match self.call(collective, root, RankProgram::ring(&around)) {
            CollectiveCall::Barrier => Some(ShmPlan::Barrier),
            call => {
                let habits = Habits { by_cells: self.by_cells(), ..Habits::default() };
                Method::of(&call, &self.comm(rank), Some(OperandOrder::Any), habits).map(ShmPlan::Way)
            }
        }
    }

    fn blocks(&self, collective: Collective, rank: u32, root: u32) -> VectorBlocks {
        let (mut blocks, around) = (VectorBlocks::default(), self.around(rank));
        blocks.fill(&self.call(collective, root, RankProgram::ring(&around)), &self.comm(rank));
        blocks
    }
}

/// Simulates a job whose calls go over shared memory; what all ranks have afterwards is left in `memory`.
pub(crate) fn run(
    job: &SimulatedJob,
    params: &Params,
    program: &RankProgram,
    memory: SimulatedMemory,
) -> Result<(RunOutcome, SimulatedMemory), Defect> {
    let scheduler = Arc::new(Scheduler::new(job, params));
    let memory = Mutex::new(memory);
    let defects: Vec<Option<Defect>> = std::thread::scope(|scope| {
        let rank = |rank| {
            let (scheduler, memory) = (scheduler.clone(), &memory);
            scope.spawn(move || live(rank, scheduler, params, program, memory))
        };
        let threads: Vec<_> = (0..job.ranks).map(rank).collect();
        threads.into_iter().map(|thread| thread.join().expect("ranks return their defects")).collect()
    });
    let outcome = scheduler.outcome();
    let memory = memory.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    match defects.into_iter().flatten().next() {
        Some(defect) => Err(defect),
        None => Ok((outcome, memory)),
    }
}

/// One rank: all its calls.
fn live(
    rank: u32,
    scheduler: Arc<Scheduler>,
    params: &Params,
    program: &RankProgram,
    memory: &Mutex<SimulatedMemory>,
) -> Option<Defect> {
    let job = program.job();
    let RankWork::Collective(collective) = job.work else { return None };
    let member = ShmMember { leader: 0, slot: 0, rank, size: job.ranks };
    let mut shm_comm = ShmComm::over(PricedLines::new(scheduler.clone(), rank), member, true);
    let host = ShmRank::new(rank, &scheduler, params, program, memory);
    let mut defect = None;
    scheduler.begin(rank);
    for call in 1..=job.repeats {
        let root = job.root_of(call);
        match program.method(collective, rank, root) {
            Some(ShmPlan::Barrier) => {
                tern_shmcoll::begin(&mut shm_comm, &host, mark_of_barrier());
                barrier(&mut shm_comm, &scheduler, rank, params);
            }
            Some(ShmPlan::Way(method)) => {
                scheduler.charge(rank, picos(params.compute.call_ns));
                let blocks = program.blocks(collective, rank, root);
                tern_shmcoll::begin(&mut shm_comm, &host, Mark::bare(collective));
                let outcome = tern_shmcoll::run(&mut shm_comm, &host, &method, &blocks);
                debug_assert!(outcome.by_message.is_empty(), "nothing is left to messages here");
                if let Err(found) = outcome.result {
                    defect.get_or_insert_with(|| found.into_defect(rank));
                }
            }
            None => {}
        }
    }
    scheduler.end(rank);
    defect
}

fn barrier(shm_comm: &mut ShmComm<PricedLines>, scheduler: &Scheduler, rank: u32, params: &Params) {
    scheduler.charge(rank, picos(params.shm_comm.come_ns));
    match tern_shmcoll::come(shm_comm) {
        (_, Arrival::Early(watch)) => scheduler.wait(rank, watch),
        (sync, _) => shm_comm.open(sync),
    }
}

trait IntoDefect {
    fn into_defect(self, rank: u32) -> Defect;
}

impl IntoDefect for CallFault {
    fn into_defect(self, rank: u32) -> Defect {
        let (from, bytes, expected) = match self {
            CallFault::Unequal(found) => (found.rank, found.sent as u64, u32::try_from(found.room).ok()),
            CallFault::Mismatch(Mismatch::Unlike { rank, mark }) => {
                (rank, Mark::from_bits(mark).bytes(), None)
            }
            CallFault::Mismatch(Mismatch::Gone { rank: from }) => (from.unwrap_or(rank), 0, None),
            CallFault::Refused { rank: from } => (from, 0, None),
        };
        Defect::Message { rank, from, bytes, expected, fault: None }
    }
}

/// Whether results can be compared afterwards.
pub(crate) fn moves_bytes(job: &SimulatedJob) -> bool {
    job.payload == PayloadBytes::Bytes
}

/// What bytes cost that are part of so many: more, if all together are in no cache.
pub(crate) fn share_of(price: crate::params::Price, bytes: u64, all: u64) -> Picos {
    if all == 0 { 0 } else { (price.of(all) as f64 * (bytes as f64 / all as f64)) as Picos }
}

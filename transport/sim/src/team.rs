//! Collectives over a team's memory, on one machine: the library's own steps (crate `tern-joint`), over flags and data whose
//! every line has a price.
//!
//! Those steps are blocking code, so each rank has a thread. Only one of them runs at a time: the one whose clock is
//! earliest, and it stops before everything that others can see ([`stage`]). So there is no chance in a run, as elsewhere.
//! What a step costs depends on which core has the line ([`cache`]).

mod cache;
mod lines;
mod site;
mod stage;

use crate::job::{Job, Payload, Work};
use crate::memory::Memory;
use crate::outcome::Outcome;
use crate::params::Params;
use crate::port::Defect;
use crate::program::Program;
use crate::{Picos, picos};
use std::sync::{Arc, Mutex};
use tern_coll::{Algorithm, Call, Collective, Query};
use tern_joint::{Blocks, Fault, Habits, Mark, Order, Way, mark_of_barrier};
use tern_transport::limits::TEAM_RANKS_MAX;
use tern_transport::{Arrival, Mismatch, Seat, Team};

use lines::Priced;
use site::Rank;
use stage::Stage;

/// Whether a blocking call of such a job goes over a team's memory in the library.
pub fn serves(job: &Job, params: &Params) -> bool {
    let Work::Collective(collective) = job.work else { return false };
    // Teams of more ranks have barriers without data, but their ranks would be too many threads here.
    let is_team = (2..=TEAM_RANKS_MAX as u32).contains(&job.ranks) && job.ranks <= params.ranks_per_host;
    is_team && Program::new(job, params).way(collective, 0, job.root).is_some()
}

/// Whether the job asks for that way, and can go it.
pub(crate) fn is_asked(job: &Job, params: &Params) -> bool {
    job.choice.is_some_and(|choice| choice.algorithm == Algorithm::Shm) && serves(job, params)
}

/// The query by which an algorithm is chosen for a call, with the way over a team's memory if there is one.
pub fn query(job: &Job, params: &Params, query: Query) -> Query {
    Query { shm: serves(job, params), ..query }
}

/// How a call goes over a team's memory.
pub(crate) enum Plan {
    /// A barrier, which has no data.
    Barrier,
    /// As the library decides.
    Way(Way),
}

impl Program {
    /// How a rank's call goes over a team's memory, if it does.
    fn way(&self, collective: Collective, rank: u32, root: u32) -> Option<Plan> {
        let around = self.around(rank);
        match self.call(collective, root, Program::ring(&around)) {
            Call::Barrier => Some(Plan::Barrier),
            call => {
                let habits = Habits { by_cells: self.by_cells(), ..Habits::default() };
                Way::of(&call, &self.comm(rank), Some(Order::Any), habits).map(Plan::Way)
            }
        }
    }

    fn blocks(&self, collective: Collective, rank: u32, root: u32) -> Blocks {
        let (mut blocks, around) = (Blocks::default(), self.around(rank));
        blocks.fill(&self.call(collective, root, Program::ring(&around)), &self.comm(rank));
        blocks
    }
}

/// Simulates a job whose calls go over a team's memory; what all ranks have afterwards is left in `memory`.
pub(crate) fn run(
    job: &Job,
    params: &Params,
    program: &Program,
    memory: Memory,
) -> Result<(Outcome, Memory), Defect> {
    let stage = Arc::new(Stage::new(job, params));
    let memory = Mutex::new(memory);
    let defects: Vec<Option<Defect>> = std::thread::scope(|scope| {
        let rank = |rank| {
            let (stage, memory) = (stage.clone(), &memory);
            scope.spawn(move || live(rank, stage, params, program, memory))
        };
        let threads: Vec<_> = (0..job.ranks).map(rank).collect();
        threads.into_iter().map(|thread| thread.join().expect("ranks return their defects")).collect()
    });
    let outcome = stage.outcome();
    let memory = memory.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    match defects.into_iter().flatten().next() {
        Some(defect) => Err(defect),
        None => Ok((outcome, memory)),
    }
}

/// One rank: all its calls.
fn live(
    rank: u32,
    stage: Arc<Stage>,
    params: &Params,
    program: &Program,
    memory: &Mutex<Memory>,
) -> Option<Defect> {
    let job = program.job();
    let Work::Collective(collective) = job.work else { return None };
    let seat = Seat { leader: 0, slot: 0, rank, size: job.ranks };
    let mut team = Team::over(Priced::new(stage.clone(), rank), seat, true);
    let site = Rank::new(rank, &stage, params, program, memory);
    let mut defect = None;
    stage.begin(rank);
    for call in 1..=job.repeats {
        let root = job.root_of(call);
        match program.way(collective, rank, root) {
            Some(Plan::Barrier) => {
                tern_joint::begin(&mut team, &site, mark_of_barrier());
                barrier(&mut team, &stage, rank, params);
            }
            Some(Plan::Way(way)) => {
                stage.charge(rank, picos(params.compute.call_ns));
                let blocks = program.blocks(collective, rank, root);
                tern_joint::begin(&mut team, &site, Mark::bare(collective));
                if let Err(found) = tern_joint::run(&mut team, &site, &way, &blocks) {
                    defect.get_or_insert_with(|| found.into_defect(rank));
                }
            }
            None => {}
        }
    }
    stage.end(rank);
    defect
}

fn barrier(team: &mut Team<Priced>, stage: &Stage, rank: u32, params: &Params) {
    stage.charge(rank, picos(params.team.come_ns));
    match tern_joint::come(team) {
        (_, Arrival::Early(watch)) => stage.wait(rank, watch),
        (meeting, _) => team.open(meeting),
    }
}

trait IntoDefect {
    fn into_defect(self, rank: u32) -> Defect;
}

impl IntoDefect for Fault {
    fn into_defect(self, rank: u32) -> Defect {
        let (from, bytes, expected) = match self {
            Fault::Unequal(found) => (found.rank, found.sent as u64, u32::try_from(found.room).ok()),
            Fault::Mismatch(Mismatch::Unlike { rank, mark }) => (rank, Mark::from_bits(mark).bytes(), None),
            Fault::Mismatch(Mismatch::Gone { rank: from }) => (from.unwrap_or(rank), 0, None),
        };
        Defect::Message { rank, from, bytes, expected, fault: None }
    }
}

/// Whether results can be compared afterwards.
pub(crate) fn moves_bytes(job: &Job) -> bool {
    job.payload == Payload::Bytes
}

/// What bytes cost that are part of so many: more, if all together are in no cache.
pub(crate) fn share_of(price: crate::params::Price, bytes: u64, all: u64) -> Picos {
    if all == 0 { 0 } else { (price.of(all) as f64 * (bytes as f64 / all as f64)) as Picos }
}

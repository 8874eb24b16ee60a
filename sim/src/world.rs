//! All ranks of a job, and what happens to them in the order of virtual time.

use crate::accesses;
use crate::definition;
use crate::end::{NetworkEnd, SharedNetwork};
use crate::hang::Hang;
use crate::job::{JobError, PayloadBytes, RankWork, SimulatedJob};
use crate::limits::{EVENTS_PER_REPORT, PREFETCH_ENGINE, PREFETCH_RANK};
use crate::memory::{SimulatedMemory, Space, contents};
use crate::network::{NetworkEvent, SimulatedNetwork};
use crate::outcome::{RunOutcome, RunProgress};
use crate::params::{Compute, Params};
use crate::port::{Defect, PortContext};
use crate::program::RankProgram;
use crate::rank::{ScheduleParts, SimulatedRank};
use crate::shm_comm;
use crate::{Picos, picos};
use std::cell::RefCell;
use std::rc::Rc;
use tern_coll::Collective;
use tern_engine::{Engine, EngineSettings};
use tern_mem::{UserBuf, prefetch};
use tern_transport::Peer;
use thiserror::Error;

/// Why a run has no outcome.
#[derive(Debug, Error)]
pub enum RunError {
    /// The job makes no sense.
    #[error(transparent)]
    Job(#[from] JobError),
    /// A schedule or an engine is wrong.
    #[error("{defect} (seed {seed})")]
    Defect {
        /// What is wrong.
        defect: Defect,
        /// The seed that shows it.
        seed: u64,
    },
}

/// Simulates a job to its end, or to where nobody can go on. `report` hears of the progress now and then.
pub fn run(
    job: &SimulatedJob,
    params: &Params,
    report: &mut dyn FnMut(&RunProgress),
) -> Result<RunOutcome, RunError> {
    job.check()?;
    let shared = shm_comm::is_asked(job, params);
    job.check_room(&RankProgram::new(job, params), shared)?;
    if shared {
        return run_shm_comm(job, params);
    }
    let mut world = Simulation::new(job, params);
    let defect = |defect| RunError::Defect { defect, seed: job.faults.seed };
    world.run(report).map_err(defect)?;
    let outcome = world.outcome();
    if outcome.hang.is_none() && job.payload == PayloadBytes::Bytes {
        compare(&world.context.memory, world.rounds.program()).map_err(defect)?;
    }
    Ok(outcome)
}

/// A job whose calls go over shared memory.
fn run_shm_comm(job: &SimulatedJob, params: &Params) -> Result<RunOutcome, RunError> {
    let program = RankProgram::new(job, params);
    let defect = |defect| RunError::Defect { defect, seed: job.faults.seed };
    let (outcome, memory) = shm_comm::run(job, params, &program, memory(job, &program)).map_err(defect)?;
    compare(&memory, &program).map_err(defect)?;
    Ok(outcome)
}

struct Simulation {
    ranks: Vec<SimulatedRank>,
    rounds: ScheduleParts,
    context: PortContext,
    network: SharedNetwork,
    /// Ranks for which an event says that their core is free.
    woken: Vec<bool>,
    /// Ranks that have stopped.
    dead: Vec<Peer>,
    events: u64,
    finished: u32,
}

impl Simulation {
    fn new(job: &SimulatedJob, params: &Params) -> Simulation {
        let real = job.payload == PayloadBytes::Bytes;
        let program = RankProgram::new(job, params);
        let network = SimulatedNetwork::new(job.ranks, params, job.faults.weather(), real);
        let network = Rc::new(RefCell::new(network));
        let (memory, element_bytes) = (memory(job, &program), program.element_bytes());
        // What a program does between its own calls is in the overheads of messages.
        let compute = if job.work == RankWork::PingPong { Compute::NOTHING } else { params.compute };
        let context = PortContext { network: network.clone(), memory, element_bytes, compute };
        let mut ranks = ranks(job, params, &network);
        if matches!(job.work, RankWork::Window(_)) {
            accesses::expose(job, params, &context.memory, &mut ranks);
        }
        let world = Simulation {
            ranks,
            rounds: ScheduleParts::new(program, real),
            context,
            network,
            woken: vec![true; job.ranks as usize],
            dead: Vec::new(),
            events: 0,
            finished: 0,
        };
        world.schedule_start(job);
        world
    }

    fn schedule_start(&self, job: &SimulatedJob) {
        let network = &mut *self.network.borrow_mut();
        // Of what happens at one moment, that a rank stops comes first.
        for crash in &job.faults.crashes {
            network.stop(crash.rank, picos(crash.at_ns));
            network.events.push(picos(crash.at_ns), NetworkEvent::Crash(crash.rank));
        }
        let mut starts = job.faults.starts();
        for rank in 0..job.ranks {
            network.events.push(starts(), NetworkEvent::Run(rank));
        }
    }

    fn run(&mut self, report: &mut dyn FnMut(&RunProgress)) -> Result<(), Defect> {
        loop {
            let next = self.network.borrow_mut().events.pop();
            self.prefetch();
            let Some((time, event)) = next else { return Ok(()) };
            self.events += 1;
            if self.events % EVENTS_PER_REPORT == 0 {
                report(&self.progress(time));
            }
            self.happen(time, event)?;
        }
    }

    /// Asks for the memory of ranks that run soon.
    fn prefetch(&self) {
        let network = self.network.borrow();
        network.prefetch();
        if let Some(rank) = network.rank_ahead(PREFETCH_RANK) {
            prefetch(&self.ranks[rank as usize]);
        }
        if let Some(rank) = network.rank_ahead(PREFETCH_ENGINE) {
            self.ranks[rank as usize].prefetch();
        }
    }

    fn happen(&mut self, time: Picos, event: NetworkEvent) -> Result<(), Defect> {
        match event {
            NetworkEvent::Run(rank) => {
                self.woken[rank as usize] = false;
                self.wake(rank, time)
            }
            NetworkEvent::Arrive(flight) => {
                let arrived = self.network.borrow_mut().arrive(flight);
                arrived.map_or(Ok(()), |rank| self.wake(rank, time))
            }
            NetworkEvent::Deliver(flight) => {
                let rank = self.network.borrow_mut().deliver(flight);
                self.wake(rank, time)
            }
            NetworkEvent::Over(transfer) => self.end_transfer(transfer, time),
            NetworkEvent::Crash(rank) => {
                self.stop(rank, time);
                Ok(())
            }
        }
    }

    /// Something has happened for a rank: it goes on, now or when its core is free.
    fn wake(&mut self, rank: Peer, time: Picos) -> Result<(), Defect> {
        let state = &mut self.ranks[rank as usize];
        // Who is through with its calls does not poll any more.
        if state.finished.is_some() || self.dead.contains(&rank) || self.woken[rank as usize] {
            return Ok(());
        }
        let core = {
            let network = &mut *self.network.borrow_mut();
            let core = network.topology.core(rank);
            let free = network.cores[core];
            if free > time {
                self.woken[rank as usize] = true;
                network.events.push(free, NetworkEvent::Run(rank));
                return Ok(());
            }
            (network.now, network.copies_until, network.idle_since) = (time, 0, free);
            core
        };
        state.run(rank, &mut self.context, &mut self.rounds)?;
        self.finished += u32::from(state.finished.is_some());
        let stops_at = {
            let network = &mut *self.network.borrow_mut();
            network.cores[core] = network.now.max(network.copies_until);
            network.stops_at(rank).filter(|at| network.now > *at)
        };
        if let Some(at) = stops_at {
            self.stop(rank, at);
        }
        Ok(())
    }

    /// A rank stops, unless it is through by then. What it did in an event that began before does not go on after it.
    fn stop(&mut self, rank: Peer, at: Picos) {
        let finished = &mut self.ranks[rank as usize].finished;
        if finished.is_some_and(|end| end <= at) || self.dead.contains(&rank) {
            return;
        }
        *finished = None;
        self.dead.push(rank);
    }

    fn end_transfer(&mut self, transfer: u32, time: Picos) -> Result<(), Defect> {
        let ended = self.network.borrow_mut().over(transfer);
        let Some((receiver, sender)) = ended else { return Ok(()) };
        for (rank, token) in std::iter::once(receiver).chain(sender) {
            {
                let network = &mut *self.network.borrow_mut();
                network.complete_transfer(rank, token);
                network.go_on(rank, time);
            }
            // It may have put off something until later than this, when it thought to copy for longer.
            self.woken[rank as usize] = false;
            self.wake(rank, time)?;
        }
        Ok(())
    }

    fn progress(&self, time: Picos) -> RunProgress {
        let messages = self.network.borrow().traffic.messages;
        RunProgress { time, events: self.events + messages, messages, finished: self.finished }
    }

    fn outcome(&self) -> RunOutcome {
        let early = self.ranks.iter().map(|rank| rank.engine.unexpected_bytes_peak()).max().unwrap_or(0);
        let ends = self.ranks.iter().filter_map(|rank| rank.finished);
        let time = ends.max().unwrap_or(0);
        let hang = self.hang();
        let network = self.network.borrow();
        RunOutcome {
            time,
            events: self.events + network.traffic.messages,
            messages: network.traffic.messages,
            bytes: network.traffic.bytes,
            rank_bytes_max: network.sent_by.iter().copied().max().unwrap_or(0),
            ranks: self.ranks.len() as u32,
            unexpected_bytes_max: early,
            hang,
        }
    }

    /// Who has not finished, if anybody.
    fn hang(&self) -> Option<Hang> {
        let alive = |rank: &usize| !self.dead.contains(&(*rank as u32));
        let unfinished: Vec<usize> =
            (0..self.ranks.len()).filter(|&rank| self.ranks[rank].finished.is_none()).filter(alive).collect();
        if unfinished.is_empty() && self.dead.is_empty() {
            return None;
        }
        let network = self.network.clone();
        Some(Hang::new(&self.ranks, &unfinished, &self.dead, &network.borrow()))
    }
}

/// Compares what every rank has with the definition, where bytes were moved.
fn compare(memory: &SimulatedMemory, program: &RankProgram) -> Result<(), Defect> {
    let SimulatedMemory::Own(spaces, _) = memory else { return Ok(()) };
    for (rank, space) in (0u32..).zip(spaces) {
        let expected = match program.job().work {
            RankWork::Collective(collective) => definition::after(program, collective, rank),
            RankWork::Window(targets) => definition::after_puts(program, targets, rank),
            RankWork::PingPong => return Ok(()),
        };
        let found = contents(&space.recv);
        if let Some(byte) = found.iter().zip(&expected).position(|(found, expected)| found != expected) {
            let (found, expected) = (found[byte], expected[byte]);
            return Err(Defect::Result { rank, byte, found, expected });
        }
    }
    Ok(())
}

fn ranks(job: &SimulatedJob, params: &Params, network: &SharedNetwork) -> Vec<SimulatedRank> {
    // Unexpected messages of all ranks land here where nobody looks at them.
    let settings = EngineSettings::default();
    let void = UserBuf::owned(tern_engine::limits::CREDIT_BYTES_DEFAULT);
    let rank = |rank| {
        let mut engine = Engine::new(
            job.ranks,
            NetworkEnd::new(rank, network.clone(), params.multicast),
            settings.clone(),
        );
        if job.payload == PayloadBytes::Lengths {
            engine.forget_unexpected_bytes(void.clone());
        }
        SimulatedRank::new(engine)
    };
    (0..job.ranks).map(rank).collect()
}

fn memory(job: &SimulatedJob, program: &RankProgram) -> SimulatedMemory {
    if job.payload == PayloadBytes::Lengths {
        return SimulatedMemory::scratch();
    }
    let space = |rank| {
        let [send, recv] = match job.work {
            RankWork::Collective(collective) => definition::before(program, collective, rank),
            RankWork::Window(_) => definition::before(program, Collective::Alltoall, rank),
            RankWork::PingPong => [0, 1].map(|_| vec![0; job.bytes as usize]),
        };
        Space { send: filled(&send), recv: filled(&recv), temps: Vec::new() }
    };
    SimulatedMemory::Own((0..job.ranks).map(space).collect(), program.element_bytes())
}

fn filled(bytes: &[u8]) -> UserBuf {
    let buf = UserBuf::owned(bytes.len());
    buf.write(0, bytes);
    buf
}

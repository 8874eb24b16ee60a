//! Windows: each rank puts to others, and `MPI_Win_fence` ends the epoch.
//!
//! Ranks of other hosts are reached by the messages of the library's own engine ([`tern_engine::rma`]): puts, questions whether they
//! are done, and answers. Memory of the same host is mapped, so a put there is a copy. The fence ends with the library's barrier.
//!
//! Where all ranks put to all, messages grow with the square of the ranks. What would take too long to run is priced instead: who is
//! busy longest, a core or a host's link.

use crate::end::NetworkEnd;
use crate::job::{RankWork, SimulatedJob};
use crate::limits::WINDOW_MESSAGES_MAX;
use crate::memory::SimulatedMemory;
use crate::params::{Cost, Costs, Distance, Params, PriceCurve, times};
use crate::port::{Defect, PortContext};
use crate::program::RankProgram;
use crate::rank::SimulatedRank;
use crate::topology::RankTopology;
use crate::world::{RunError, run};
use crate::{Picos, nanos, picos, shm_comm};
use std::sync::Arc;
use tern_coll::{Algorithm, Buf, Collective, Slice, Ty};
use tern_engine::rma::{CombinedElements, ExposedWindow, Far, LockKind, Sync, TargetRefusal};
use tern_engine::rma::{WindowId, WindowNumbers};
use tern_engine::{Engine, Group};
use tern_mem::{Basic, Layout, UserBuf};
use tern_transport::Peer;

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

/// Every rank gets a window with the others.
pub(crate) fn expose(
    job: &SimulatedJob,
    params: &Params,
    memory: &SimulatedMemory,
    ranks: &mut [SimulatedRank],
) {
    // Where nobody looks at the bytes, all pieces land in the same place.
    let longest = params.levels.iter().map(|level| level.eager_bytes_max as u64).max().unwrap_or(0);
    let void = UserBuf::owned(longest.min(job.bytes) as usize);
    for (rank, state) in ranks.iter_mut().enumerate() {
        let part = match memory {
            SimulatedMemory::Own(spaces, _) => RankPart::Own(spaces[rank].recv.clone()),
            SimulatedMemory::Scratch(_) => RankPart::Void(void.clone()),
        };
        let id = state.engine.announce_window(Group::range(0, job.ranks));
        state.engine.expose(id, WindowNumbers::same(id.raw(), job.ranks), Box::new(part));
        state.exposed = id;
    }
}

/// Accesses that a rank has begun, until all are known to be done.
pub(crate) struct AccessEpoch {
    window: WindowId,
    ranks: u32,
    /// How many ranks behind this one it puts to.
    targets: u32,
    /// The first of them that is not known to have got all.
    awaited: u32,
}

impl AccessEpoch {
    /// A rank makes all its puts, and asks their targets when they are done.
    pub(crate) fn begin(
        engine: &mut Engine<NetworkEnd>,
        me: u32,
        window: WindowId,
        context: &mut PortContext,
        program: &RankProgram,
    ) -> Result<AccessEpoch, Defect> {
        let job = program.job();
        let RankWork::Window(targets) = job.work else { unreachable!("only windows have accesses") };
        let epoch = AccessEpoch { window, ranks: job.ranks, targets, awaited: 1 };
        for distance in (1..=targets).filter(|_| job.bytes > 0) {
            epoch.put(engine, me, epoch.rank(me, distance), context, job.bytes)?;
        }
        for distance in 1..=targets {
            engine.synchronize(window, epoch.rank(me, distance), Sync::Flush);
        }
        Ok(epoch)
    }

    fn rank(&self, me: u32, distance: u32) -> u32 {
        ((u64::from(me) + u64::from(distance)) % u64::from(self.ranks)) as u32
    }

    /// A put to a rank: by a message, or as a copy.
    fn put(
        &self,
        engine: &mut Engine<NetworkEnd>,
        me: u32,
        target: u32,
        context: &mut PortContext,
        bytes: u64,
    ) -> Result<(), Defect> {
        let at = |rank: u32| (u64::from(rank) * bytes) as i64;
        let slice = Slice { buf: Buf::Send, offset: at(target), count: bytes, ty: Ty::Byte };
        let from = context.memory.buffer(me, &slice, 1).ok_or(Defect::Memory(me, slice))?;
        context.charge(picos(context.compute.step_ns));
        let is_near = {
            let topology = context.network.borrow().topology;
            topology.host(me) == topology.host(target)
        };
        if is_near {
            context.charge(context.compute.copy().of(bytes));
            if let SimulatedMemory::Own(spaces, _) = &context.memory {
                UserBuf::copy(&from, 0, &spaces[target as usize].recv, at(me) as usize, bytes as usize);
            }
            return Ok(());
        }
        let far = Far { window: self.window, rank: target, at: at(me), shape: None };
        let begun = engine.put_to(&far, &from, false);
        begun.map(drop).map_err(|_| Defect::Access { rank: me, target, fault: None })
    }

    /// Whether all accesses are done.
    pub(crate) fn are_done(&mut self, engine: &mut Engine<NetworkEnd>, me: u32) -> Result<bool, Defect> {
        while self.awaited <= self.targets {
            let target = self.rank(me, self.awaited);
            if !engine.is_flushed(self.window, target, false) {
                return Ok(false);
            }
            if let Some(fault) = engine.take_fault(self.window, target) {
                return Err(Defect::Access { rank: me, target, fault: Some(fault) });
            }
            self.awaited += 1;
        }
        Ok(true)
    }

    /// The rank whose answer it waits for.
    pub(crate) fn awaited(&self, me: u32) -> u32 {
        self.rank(me, self.awaited)
    }
}

/// What a rank exposes.
enum RankPart {
    /// Its receive buffer.
    Own(UserBuf),
    /// Memory that nobody looks at.
    Void(UserBuf),
}

/// Nobody does here more than put.
impl ExposedWindow for RankPart {
    fn contiguous(&self, at: u64, len: u64, _: bool) -> Result<UserBuf, TargetRefusal> {
        let (memory, at) = match self {
            RankPart::Own(memory) => (memory, at as usize),
            RankPart::Void(memory) => (memory, 0),
        };
        let part = memory.part(at, len as usize).filter(|part| part.len() as u64 == len);
        part.ok_or(TargetRefusal::Outside)
    }

    fn typed(&self, _: i64, _: u64, _: &Arc<Layout>, _: bool) -> Result<UserBuf, TargetRefusal> {
        Err(TargetRefusal::Malformed)
    }

    fn combine(&self, _: &UserBuf, _: &CombinedElements<'_>) {}

    fn swap(&self, _: &UserBuf, basic: Basic, _: &UserBuf, _: &UserBuf) -> UserBuf {
        UserBuf::owned(basic.size())
    }

    fn ticket(&self) -> u64 {
        0
    }

    fn enter(&self, _: u64, _: LockKind, _: u32) -> bool {
        false
    }

    fn leave(&self, _: LockKind) {}

    fn waits(&self, _: bool) {}

    fn waiters(&self) -> Vec<Peer> {
        Vec::new()
    }

    fn posted(&self, _: u32) {}

    fn completed(&self, _: u32) {}
}

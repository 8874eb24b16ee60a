//! What ranks do with windows: each makes its puts, asks their targets, and waits until all are done.
//!
//! The messages are those of the library's own engine ([`tern_engine::rma`]).

use crate::end::NetworkEnd;
use crate::job::{RankWork, SimulatedJob};
use crate::memory::SimulatedMemory;
use crate::params::Params;
use crate::picos;
use crate::port::{Defect, PortContext};
use crate::program::RankProgram;
use crate::rank::SimulatedRank;
use std::sync::Arc;
use tern_coll::{Buf, Slice, Ty};
use tern_engine::rma::{CombinedElements, ExposedWindow, Far, LockKind, Sync, TargetRefusal};
use tern_engine::rma::{WindowId, WindowNumbers};
use tern_engine::{Engine, Group};
use tern_mem::{Basic, Layout, UserBuf};
use tern_transport::Peer;

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

    fn ticket(&self, _: LockKind) -> u64 {
        0
    }

    fn enter(&self, _: u64, _: LockKind, _: u32) -> bool {
        false
    }

    fn newest_epoch(&self) -> u64 {
        0
    }

    fn leave(&self, _: LockKind) {}

    fn waits(&self, _: bool) {}

    fn waiters(&self) -> Vec<Peer> {
        Vec::new()
    }

    fn posted(&self, _: u32) {}

    fn completed(&self, _: u32) {}
}

//! Collectives over the memory that a communicator's ranks share, as this process takes part in them: crate `tern-shmcoll` has
//! the steps, and here is how they wait, and what they move.

use super::differ::{mismatched, refused, unequal};
use super::operation::Operation;
use super::port::Bindings;
use crate::coll::shm_comm_place::ShmCommPlace;
use crate::core::error::{Result, fail};
use crate::core::process::{LockGuard, Process, enter};
use crate::core::wait::{self, CallNumber, WaitEvent, Waiting};
use crate::limits::{COPIED_BYTES_AWAITED_MAX, COPIED_BYTES_PER_YIELD, FIRST_LOOK_AROUND, LAST_LOOK_AROUND};
use std::cell::Cell;
use std::time::Duration;
use tern_abi::{MPI_Comm, MPI_ERR_OTHER};
use tern_coll::Slice;
use tern_mem::UserBuf;
use tern_shm::shm_comm::SharedLines;
use tern_shm::{Arrival, Mismatch, ShmComm, ShmWatch, Sight, SyncStep};
use tern_shmcoll::{CallFault, CallHost, Mark, Operand, OperandOrder, OperationCode, mark_of_barrier};
use tern_transport::{Doorbell, Limits, Remote, Token, Transfer, Transport};

pub(super) use tern_shmcoll::{Habits, Method, Remainder, VectorBlocks};

/// Takes what the communicator has of shared memory for a call with this mark.
pub(super) fn begin(
    mut process: LockGuard,
    comm: MPI_Comm,
    host: &impl CallHost<Lines = SharedLines>,
    mark: Mark,
) -> Result<Box<ShmComm>> {
    let Some(mut shm_comm) = process.comm_mut(comm)?.shm_comm.take() else { return Err(in_use()) };
    drop(process);
    tern_shmcoll::begin(&mut shm_comm, host, mark);
    Ok(shm_comm)
}

/// Gives it back.
pub(super) fn end(comm: MPI_Comm, shm_comm: Box<ShmComm>) -> Result {
    enter().comm_mut(comm)?.shm_comm = ShmCommPlace::Here(shm_comm);
    Ok(())
}

/// Does what `method` says on the communicator; with which ranks there is still something to exchange by messages.
pub(super) fn run(
    shm_comm: &mut ShmComm,
    host: &impl CallHost<Lines = SharedLines>,
    (call, mark): (&'static str, Mark),
    method: &Method,
    blocks: &VectorBlocks,
) -> (Result, Remainder) {
    let outcome = tern_shmcoll::run(shm_comm, host, method, blocks);
    let result = outcome.result.map_err(|fault| match fault {
        CallFault::Unequal(found) => unequal(call, found.rank, found.sent, found.room),
        CallFault::Mismatch(found) => mismatched(call, mark, found),
        CallFault::Refused { rank } => refused(call, rank),
    });
    (result, outcome.by_message)
}

/// Waits for a word of shared memory, see [`CallHost::wait`].
#[inline]
pub(super) fn wait(
    shm_comm: &ShmComm,
    watch: ShmWatch,
    copied: usize,
    waiting: impl Fn() -> Waiting,
) -> std::result::Result<(), Mismatch> {
    wait::until_event(enter(), Awaited { copied, ..Awaited::new(shm_comm, watch, waiting) })
}

/// `right = left OP right` for `count` elements.
#[inline]
pub(super) fn combine(operation: Option<&Operation>, (left, right): (Operand<'_>, Operand<'_>), count: u64) {
    if let Some(operation) = operation {
        // SAFETY: both are memory for `count` elements without gaps: flag payloads and areas that were checked for as many bytes, or
        // the program's buffers.
        unsafe { operation.combine(left.address(), right.address(), count) }
    }
}

/// `out = left OP right` for `count` elements.
#[inline]
pub(super) fn combine_into(
    operation: Option<&Operation>,
    (left, right): (Operand<'_>, Operand<'_>),
    out: Operand<'_>,
    count: u64,
) {
    if let Some(operation) = operation {
        // SAFETY: as in `combine`.
        unsafe { operation.combine_into(left.address(), right.address(), out.address(), count) }
    }
}

/// A barrier over shared memory; false if the communicator has none. Of what follows, only what a barrier takes that is soon over is in
/// line.
#[inline(always)]
pub(super) fn barrier(mut process: LockGuard, call: &'static str, comm: MPI_Comm) -> Result<bool> {
    let ShmCommPlace::Here(shm_comm) = &mut process.comm_mut(comm)?.shm_comm else { return Ok(false) };
    // No other thread sees it until this rank waits.
    let come = shm_comm.unsettled().is_none().then(|| come(shm_comm));
    if let Some((_, Arrival::Early(watch))) = &come
        && shm_comm.look_often(watch) == Sight::Come
    {
        shm_comm.all_have_come();
        return Ok(true);
    }
    finish_barrier_on(process, call, comm, come)
}

/// The rest of a barrier, to which this rank may have come already.
#[inline(never)]
fn finish_barrier_on(
    mut process: LockGuard,
    call: &'static str,
    comm: MPI_Comm,
    come: Option<(SyncStep, Arrival)>,
) -> Result<bool> {
    if let Some((_, Arrival::Early(watch))) = &come
        && wait::yield_in_place(&mut process)
        && let ShmCommPlace::Here(shm_comm) = &process.comm(comm)?.shm_comm
        && shm_comm.look(watch) == Sight::Come
    {
        shm_comm.all_have_come();
        return Ok(true);
    }
    let this = process.comm_mut(comm)?;
    let context = this.context;
    let Some(mut shm_comm) = this.shm_comm.take() else { return Ok(false) };
    let outcome = finish_barrier(process, &mut shm_comm, (call, context), come);
    end(comm, shm_comm)?;
    outcome.map(|()| true)
}

/// The last barrier of the world's ranks; false if they have no memory for that.
pub(super) fn last_barrier(call: &'static str, comm: MPI_Comm) -> Result<bool> {
    let mut process = enter();
    let this = process.comm(comm)?;
    let (context, rank, size) = (this.context, this.rank, this.group.size());
    let ShmCommPlace::Here(mut shm_comm) = process.final_shm_comm(rank, size) else { return Ok(false) };
    finish_barrier(process, &mut shm_comm, (call, context), None).map(|()| true)
}

/// Comes to a barrier.
#[inline]
fn come(shm_comm: &mut ShmComm) -> (SyncStep, Arrival) {
    shm_comm.begin(mark_of_barrier().bits());
    tern_shmcoll::come(shm_comm)
}

/// Waits until all ranks of a shm communicator have come to a barrier, to which this one may have come already.
#[inline(never)]
fn finish_barrier(
    mut process: LockGuard,
    shm_comm: &mut ShmComm,
    (call, context): (&'static str, u64),
    has_come: Option<(SyncStep, Arrival)>,
) -> Result {
    let waiting = || Waiting { number: CallNumber::Next, ..Waiting::collective(call, context) };
    while let Some(watch) = shm_comm.unsettled().filter(|_| has_come.is_none()) {
        let _ = wait::until_event(process, Awaited::new(shm_comm, watch, waiting));
        process = enter();
    }
    let outcome = match has_come.unwrap_or_else(|| come(shm_comm)) {
        (_, Arrival::Early(watch)) => {
            shm_comm.tell();
            wait::until_event(process, Awaited::new(shm_comm, watch, waiting))
        }
        (sync, Arrival::Last) => {
            drop(process);
            shm_comm.open(sync);
            Ok(())
        }
        (_, Arrival::Amiss) => {
            drop(process);
            Err(shm_comm.first_mismatch().unwrap_or(Mismatch::Gone { rank: None }))
        }
    };
    match outcome {
        Ok(()) => shm_comm.all_have_come(),
        Err(_) => shm_comm.abandon(),
    }
    outcome.map_err(|found| mismatched(call, mark_of_barrier(), found))
}

#[cold]
fn in_use() -> Box<crate::core::error::Error> {
    fail(
        MPI_ERR_OTHER,
        "another thread is in a collective on this communicator: calls on one must follow each other (section 6.14)",
    )
}

/// The order of operands, unless they are combined by a function of the program's.
pub(super) fn order(operation: Option<&Operation>) -> Option<OperandOrder> {
    let operation = operation.filter(|operation| !operation.calls_out())?;
    Some(if operation.commutative() { OperandOrder::Any } else { OperandOrder::Ranks })
}

/// The code of an operation in a mark, if it is predefined.
pub(super) fn code(operation: Option<&Operation>) -> Option<OperationCode> {
    let Some(Operation::Predefined(op, basic)) = operation else { return None };
    Some(OperationCode(((*op as u16) << 5) | basic.machine() as u16))
}

impl CallHost for Bindings {
    type Lines = SharedLines;

    #[inline]
    fn buffer(&self, slice: &Slice) -> UserBuf {
        Bindings::buffer(self, slice)
    }

    #[inline]
    fn wait(&self, shm_comm: &ShmComm, watch: ShmWatch, copied: usize) -> std::result::Result<(), Mismatch> {
        wait(shm_comm, watch, copied, || self.waiting())
    }

    #[inline]
    fn copy(&self, from: &UserBuf, at: usize, into: &UserBuf, place: usize, len: usize) {
        UserBuf::copy_between_cores(from, at, into, place, len);
    }

    fn copy_past_cache(&self, from: &UserBuf, at: usize, into: &UserBuf, place: usize, len: usize) {
        UserBuf::copy_past_cache(from, at, into, place, len);
    }

    #[inline]
    fn combine(&self, left: Operand<'_>, right: Operand<'_>, count: u64) {
        combine(self.operation.as_ref(), (left, right), count);
    }

    #[inline]
    fn combine_into(&self, left: Operand<'_>, right: Operand<'_>, out: Operand<'_>, count: u64) {
        combine_into(self.operation.as_ref(), (left, right), out, count);
    }

    fn is_crowded(&self) -> bool {
        enter().waiting.oversubscribed
    }

    fn has_fast_cells(&self) -> bool {
        enter().coll.fast_cells
    }

    fn can_get(&self, mut ranks: impl Iterator<Item = u32>) -> bool {
        let mut process = enter();
        let Ok(engine) = process.engine() else { return false };
        let transport = engine.transport();
        ranks.all(|rank| self.peer(rank).is_some_and(|peer| is_reached(&transport.limits(peer))))
    }

    fn get(&self, rank: u32, from: Remote, into: &UserBuf) -> bool {
        let mut process = enter();
        let (Some(peer), Ok(engine)) = (self.peer(rank), process.engine()) else { return false };
        matches!(engine.transport().get(peer, from, into, Token(0)), Transfer::Done)
    }

    fn put(&self, rank: u32, from: &UserBuf, into: Remote) -> bool {
        let mut process = enter();
        let (Some(peer), Ok(engine)) = (self.peer(rank), process.engine()) else { return false };
        matches!(engine.transport().put(peer, from, into, Token(0)), Transfer::Done)
    }
}

/// The kernel copies both ways.
fn is_reached(limits: &Limits) -> bool {
    limits.get && limits.put
}

/// A word of shared memory that is waited for.
struct Awaited<'a, W> {
    shm_comm: &'a ShmComm,
    watch: ShmWatch,
    /// In which call.
    waiting: W,
    patience: Patience,
    /// Bytes that others may have to copy first.
    copied: usize,
}

/// How a rank that sleeps in a collective looks from time to time whether another one makes another call: nobody would wake it.
#[derive(Debug, Default)]
pub(super) struct Patience {
    slept: Cell<Duration>,
    found: Cell<Option<Mismatch>>,
}

impl Patience {
    /// What was found.
    #[inline]
    pub(super) fn found(&self) -> Option<Mismatch> {
        self.found.get()
    }

    /// How long to sleep at most before the next look, and so twice as long each time; `None` if another rank makes another call.
    pub(super) fn sleep_for(&self, found: Option<Mismatch>, timeout: Option<Duration>) -> Option<Duration> {
        self.found.set(found);
        let slept = self.slept.get();
        let most = slept.clamp(FIRST_LOOK_AROUND, LAST_LOOK_AROUND);
        self.slept.set(slept + most);
        found.is_none().then(|| timeout.map_or(most, |timeout| timeout.min(most)))
    }
}

impl<'a, W> Awaited<'a, W> {
    fn new(shm_comm: &'a ShmComm, watch: ShmWatch, waiting: W) -> Self {
        Awaited { shm_comm, watch, waiting, patience: Patience::default(), copied: 0 }
    }
}

impl<W: Fn() -> Waiting> WaitEvent for Awaited<'_, W> {
    type News = std::result::Result<(), Mismatch>;
    const BY_MEMORY: bool = true;

    fn waiting(&self, _: &Process) -> Waiting {
        (self.waiting)()
    }

    fn more_yields(&self) -> u32 {
        (self.copied.min(COPIED_BYTES_AWAITED_MAX) / COPIED_BYTES_PER_YIELD) as u32
    }

    #[inline]
    fn look(&mut self, _: &mut Process) -> Option<Self::News> {
        match self.shm_comm.look(&self.watch) {
            Sight::Come => Some(Ok(())),
            Sight::Pending => self.patience.found().map(Err),
            Sight::Amiss => Some(Err(self.shm_comm.mismatch(&self.watch))),
        }
    }

    fn sleep(&self, bell: &dyn Doorbell, armed: u32, timeout: Option<Duration>) {
        let most = self.patience.sleep_for(self.shm_comm.obstacle(&self.watch), bell.longest(timeout));
        // Without time it only disarms the bell.
        self.shm_comm.sleep(&self.watch, Some(armed), most.or(Some(Duration::ZERO)));
        bell.woke();
    }
}

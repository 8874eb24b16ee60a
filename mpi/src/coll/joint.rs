//! Collectives over the memory that a communicator's ranks share, as this process takes part in them: crate `tern-joint` has
//! the steps, and here is how they wait, and what they move.

use super::differ::{mismatched, unequal};
use super::operation::Operation;
use super::port::Names;
use crate::error::{Result, fail};
use crate::limits::{FIRST_LOOK_AROUND, LAST_LOOK_AROUND};
use crate::process::{Guard, Process, enter};
use crate::team::TeamPlace;
use crate::wait::{self, Event, Waiting};
use std::cell::Cell;
use std::time::Duration;
use tern_abi::{MPI_Comm, MPI_ERR_OTHER};
use tern_coll::Slice;
use tern_joint::{Fault, Mark, Operand, OperationCode, Order, Site, mark_of_barrier};
use tern_mem::UserBuf;
use tern_transport::shm::team::Shared;
use tern_transport::{Arrival, Doorbell, Mismatch, Remote, Sight, Team, Token, Transfer, Transport, Watch};

pub use tern_joint::{Blocks, Habits, Way};

/// Takes the team of the communicator for a call with this mark.
pub fn begin(mut process: Guard, comm: MPI_Comm, names: &Names, mark: Mark) -> Result<Box<Team>> {
    let Some(mut team) = process.comm_mut(comm)?.team.take() else { return Err(in_use()) };
    drop(process);
    tern_joint::begin(&mut team, names, mark);
    Ok(team)
}

/// Gives it back.
pub fn end(comm: MPI_Comm, team: Box<Team>) -> Result {
    enter().comm_mut(comm)?.team = TeamPlace::Here(team);
    Ok(())
}

/// Does what `way` says on the communicator.
pub fn run(team: &mut Team, names: &Names, mark: Mark, way: &Way, blocks: &Blocks) -> Result {
    tern_joint::run(team, names, way, blocks).map_err(|fault| match fault {
        Fault::Unequal(found) => unequal(names.call, found.rank, found.sent, found.room),
        Fault::Mismatch(found) => mismatched(names.call, mark, found),
    })
}

/// Lets all ranks of the communicator meet; false if it has no team.
pub fn meet(mut process: Guard, call: &'static str, comm: MPI_Comm) -> Result<bool> {
    let this = process.comm_mut(comm)?;
    let context = this.context;
    let Some(mut team) = this.team.take() else { return Ok(false) };
    let waiting = || Waiting::collective(call, context);
    while let Some(watch) = team.unsettled() {
        let _ = wait::until_event(process, Awaited::new(&team, watch, waiting));
        process = enter();
    }
    team.begin(mark_of_barrier().bits());
    let outcome = match tern_joint::come(&mut team) {
        (_, Arrival::Early(watch)) => wait::until_event(process, Awaited::new(&team, watch, waiting)),
        (meeting, Arrival::Last) => {
            drop(process);
            team.open(meeting);
            Ok(())
        }
        (_, Arrival::Amiss) => Err(team.first_mismatch().unwrap_or(Mismatch::Gone { rank: None })),
    };
    if outcome.is_err() {
        team.abandon();
    }
    end(comm, team)?;
    outcome.map(|()| true).map_err(|found| mismatched(call, mark_of_barrier(), found))
}

#[cold]
fn in_use() -> Box<crate::error::Error> {
    fail(
        MPI_ERR_OTHER,
        "another thread is in a collective on this communicator: calls on one must follow each other (section 6.14)",
    )
}

/// The order of operands, unless they are combined by a function of the program's.
pub fn order(operation: Option<&Operation>) -> Option<Order> {
    let operation = operation.filter(|operation| !operation.calls_out())?;
    Some(if operation.commutative() { Order::Any } else { Order::Ranks })
}

/// The code of an operation in a mark, if it is predefined.
pub fn code(operation: Option<&Operation>) -> Option<OperationCode> {
    let Some(Operation::Predefined(op, basic)) = operation else { return None };
    Some(OperationCode(((*op as u16) << 5) | basic.machine() as u16))
}

impl Site for Names {
    type Lines = Shared;

    #[inline]
    fn buffer(&self, slice: &Slice) -> UserBuf {
        Names::buffer(self, slice)
    }

    #[inline]
    fn wait(&self, team: &Team, watch: Watch) -> std::result::Result<(), Mismatch> {
        wait::until_event(enter(), Awaited::new(team, watch, || self.waiting()))
    }

    #[inline]
    fn copy(&self, from: &UserBuf, at: usize, into: &UserBuf, place: usize, len: usize) {
        UserBuf::copy(from, at, into, place, len);
    }

    #[inline]
    fn combine(&self, left: Operand<'_>, right: Operand<'_>, count: u64) {
        if let Some(operation) = &self.operation {
            // SAFETY: both are memory for `count` elements without gaps: notes and areas that were checked for as many bytes, or
            // the program's buffers.
            unsafe { operation.combine(left.address(), right.address(), count) }
        }
    }

    #[inline]
    fn combine_into(&self, left: Operand<'_>, right: Operand<'_>, out: Operand<'_>, count: u64) {
        if let Some(operation) = &self.operation {
            // SAFETY: as in `combine`.
            unsafe { operation.combine_into(left.address(), right.address(), out.address(), count) }
        }
    }

    fn can_get(&self, mut ranks: impl Iterator<Item = u32>) -> bool {
        let mut process = enter();
        let Ok(engine) = process.engine() else { return false };
        let transport = engine.transport();
        ranks.all(|rank| self.peer(rank).is_some_and(|peer| transport.limits(peer).get))
    }

    fn get(&self, rank: u32, from: Remote, into: &UserBuf) -> bool {
        let mut process = enter();
        let (Some(peer), Ok(engine)) = (self.peer(rank), process.engine()) else { return false };
        matches!(engine.transport().get(peer, from, into, Token(0)), Transfer::Done)
    }
}

/// A word of shared memory that is waited for.
struct Awaited<'a, W> {
    team: &'a Team,
    watch: Watch,
    /// In which call.
    waiting: W,
    patience: Patience,
}

/// How a rank that sleeps in a collective looks from time to time whether another one makes another call: nobody would wake it.
#[derive(Debug, Default)]
pub struct Patience {
    slept: Cell<Duration>,
    found: Cell<Option<Mismatch>>,
}

impl Patience {
    /// What was found.
    #[inline]
    pub fn found(&self) -> Option<Mismatch> {
        self.found.get()
    }

    /// How long to sleep at most before the next look, and so twice as long each time; `None` if another rank makes another call.
    pub fn sleep_for(&self, found: Option<Mismatch>, timeout: Option<Duration>) -> Option<Duration> {
        self.found.set(found);
        let slept = self.slept.get();
        let most = slept.clamp(FIRST_LOOK_AROUND, LAST_LOOK_AROUND);
        self.slept.set(slept + most);
        found.is_none().then(|| timeout.map_or(most, |timeout| timeout.min(most)))
    }
}

impl<'a, W> Awaited<'a, W> {
    fn new(team: &'a Team, watch: Watch, waiting: W) -> Self {
        Awaited { team, watch, waiting, patience: Patience::default() }
    }
}

impl<W: Fn() -> Waiting> Event for Awaited<'_, W> {
    type News = std::result::Result<(), Mismatch>;

    fn waiting(&self, _: &Process) -> Waiting {
        (self.waiting)()
    }

    #[inline]
    fn look(&mut self, _: &mut Process) -> Option<Self::News> {
        match self.team.look(&self.watch) {
            Sight::Come => Some(Ok(())),
            Sight::Pending => self.patience.found().map(Err),
            Sight::Amiss => Some(Err(self.team.mismatch(&self.watch))),
        }
    }

    fn sleep(&self, bell: &dyn Doorbell, armed: u32, timeout: Option<Duration>) {
        let most = self.patience.sleep_for(self.team.obstacle(&self.watch), bell.longest(timeout));
        // Without time it only disarms the bell.
        self.team.sleep(&self.watch, Some(armed), most.or(Some(Duration::ZERO)));
        bell.woke();
    }
}

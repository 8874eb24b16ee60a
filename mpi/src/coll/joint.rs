//! Collectives over the memory that a communicator's ranks share, as this process takes part in them: crate `tern-joint` has
//! the steps, and here is how they wait, and what they move.

use super::operation::Operation;
use super::port::{Names, unequal};
use crate::error::{Result, fail};
use crate::process::{Guard, Process, enter};
use crate::team::TeamPlace;
use crate::wait::{self, Event, Waiting};
use std::time::Duration;
use tern_abi::{MPI_Comm, MPI_ERR_OTHER};
use tern_coll::Slice;
use tern_joint::{Operand, Order, Site};
use tern_mem::UserBuf;
use tern_transport::shm::team::Shared;
use tern_transport::{Doorbell, Remote, Team, Token, Transfer, Transport, Watch};

pub use tern_joint::{Blocks, Habits, Way};

/// Does what `way` says on the communicator.
pub fn run(mut process: Guard, comm: MPI_Comm, names: &Names, way: &Way, blocks: &Blocks) -> Result {
    let Some(mut team) = process.comm_mut(comm)?.team.take() else { return Err(in_use()) };
    drop(process);
    let outcome = tern_joint::run(&mut team, names, way, blocks);
    enter().comm_mut(comm)?.team = TeamPlace::Here(team);
    outcome.map_err(|found| unequal(names.call, found.rank, found.sent, found.room))
}

/// Lets all ranks of the communicator meet; false if it has no team.
pub fn meet(mut process: Guard, call: &'static str, comm: MPI_Comm) -> Result<bool> {
    let this = process.comm_mut(comm)?;
    let context = this.context;
    let Some(mut team) = this.team.take() else { return Ok(false) };
    if let Some(watch) = tern_joint::come(&mut team) {
        let waiting = || Waiting::collective(call, context);
        wait::until_event(process, Awaited { team: &team, watch, waiting });
    } else {
        drop(process);
        team.open();
    }
    enter().comm_mut(comm)?.team = TeamPlace::Here(team);
    Ok(true)
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

impl Site for Names {
    type Lines = Shared;

    #[inline]
    fn buffer(&self, slice: &Slice) -> UserBuf {
        Names::buffer(self, slice)
    }

    #[inline]
    fn wait(&self, team: &Team, watch: Watch) {
        let awaited = Awaited { team, watch, waiting: || self.waiting() };
        wait::until_event(enter(), awaited);
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
}

impl<W: Fn() -> Waiting> Event for Awaited<'_, W> {
    type News = ();

    fn waiting(&self, _: &Process) -> Waiting {
        (self.waiting)()
    }

    #[inline]
    fn look(&mut self, _: &mut Process) -> Option<()> {
        self.team.is_over(&self.watch).then_some(())
    }

    fn sleep(&self, bell: &dyn Doorbell, armed: u32, timeout: Option<Duration>) {
        self.team.sleep(&self.watch, Some(armed), bell.longest(timeout));
        bell.woke();
    }
}

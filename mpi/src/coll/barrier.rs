//! Barrier (MPI 5.0 section 6.3).

use super::{Setup, blocking, nonblocking, persistent};
use crate::agree;
use crate::comm::BarrierSlot;
use crate::entry::entry;
use crate::error::Result;
use crate::process::{Process, enter};
use crate::wait::{self, Event, Waiting};
use std::time::Duration;
use tern_abi::*;
use tern_coll::Call;
use tern_transport::Doorbell;
use tern_transport::shm::barrier::{Barriers, Ticket};

entry! {
    /// Nobody leaves before all have come.
    fn MPI_Barrier(comm: MPI_Comm) on comm {
        barrier_on("MPI_Barrier", comm)
    }

    /// [`MPI_Barrier`] as a request (section 6.12).
    fn MPI_Ibarrier(comm: MPI_Comm, request: *mut MPI_Request) on comm {
        nonblocking("MPI_Ibarrier", comm, request, barrier)
    }

    /// [`MPI_Barrier`] as a persistent request (section 6.13).
    fn MPI_Barrier_init(comm: MPI_Comm, info: MPI_Info, request: *mut MPI_Request) on comm {
        persistent("MPI_Barrier_init", (comm, info), request, barrier)
    }
}

/// A barrier within the call `call`.
pub fn barrier_on(call: &'static str, comm: MPI_Comm) -> Result {
    let mut process = enter();
    let found = process.comm(comm)?;
    let size = found.group.size();
    if size == 1 && found.remote.is_none() {
        return Ok(());
    }
    let (slot, context, inter) = (found.barrier, found.context, found.remote.is_some());
    if !inter && slot == BarrierSlot::Unasked {
        drop(process);
        return first_barrier(call, comm);
    }
    if let BarrierSlot::At { leader, slot } = slot
        && let Some(barriers) = process.engine()?.transport().barriers()
    {
        let ticket = barriers.enter(leader, slot, size);
        wait::until_event(process, InMemory { barriers, ticket, call, context });
        return Ok(());
    }
    drop(process);
    blocking(call, comm, barrier)
}

/// The first barrier of a communicator: its members agree on a slot, and so meet.
#[cold]
fn first_barrier(call: &'static str, comm: MPI_Comm) -> Result {
    let (_, met) = agree::barrier_slot(call, comm)?;
    if met { Ok(()) } else { barrier_on(call, comm) }
}

/// Plans a barrier by messages.
fn barrier(setup: &mut Setup) -> Result {
    setup.plan(&Call::Barrier);
    Ok(())
}

/// The end of a barrier over a slot in shared memory. Messages are served meanwhile, as in every wait: others may
/// need this rank's help to come here.
struct InMemory {
    barriers: Barriers,
    ticket: Ticket,
    call: &'static str,
    context: u64,
}

impl Event for InMemory {
    type News = ();

    fn waiting(&self, _: &Process) -> Waiting {
        Waiting::collective(self.call, self.context)
    }

    #[inline]
    fn look(&mut self, _: &mut Process) -> Option<()> {
        self.barriers.done(&self.ticket).then_some(())
    }

    fn sleep(&self, _: &dyn Doorbell, armed: u32, timeout: Option<Duration>) {
        self.barriers.sleep(&self.ticket, Some(armed), timeout);
    }
}

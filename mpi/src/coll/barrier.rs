//! Barrier (MPI 5.0 section 6.3).

use super::running::{CallForm, blocking_in};
use super::shape::shape;
use super::{Setup, nonblocking, persistent, shm};
use crate::coll::shm_comm;
use crate::core::boundary::Out;
use crate::core::entry::entry;
use crate::core::error::Result;
use crate::core::process::enter;
use tern_abi::*;
use tern_coll::CollectiveCall;
use tern_coll::table::forced;

entry! {
    /// Nobody leaves before all have come.
    safe fn MPI_Barrier(comm: MPI_Comm) on comm {
        barrier_on("MPI_Barrier", comm)
    }

    /// [`MPI_Barrier`] as a request (section 6.12).
    safe fn MPI_Ibarrier(comm: MPI_Comm, request: Result<Out<'_, MPI_Request>>) on comm {
        nonblocking("MPI_Ibarrier", comm, request, barrier)
    }

    /// [`MPI_Barrier`] as a persistent request (section 6.13).
    safe fn MPI_Barrier_init(comm: MPI_Comm, info: MPI_Info, request: Result<Out<'_, MPI_Request>>) on comm {
        persistent("MPI_Barrier_init", (comm, info), request, barrier)
    }
}

/// The last barrier of a process, which then leaves. It has memory of its own, or goes by messages that no other collective has, so that
/// nobody takes it for a barrier of the program's that this rank has left out. It uses no multicast, since who has left answers nobody
/// who has lost one.
pub(crate) fn last_barrier(call: &'static str, comm: MPI_Comm) -> Result {
    if shm::last_barrier(call, comm)? {
        return Ok(());
    }
    blocking_in(CallForm::Last, call, comm, barrier)
}

/// A barrier within the call `call`.
#[inline]
pub(crate) fn barrier_on(call: &'static str, comm: MPI_Comm) -> Result {
    let process = enter();
    if !process.coll.rows.is_empty() {
        drop(process);
    } else if shm::barrier(process, call, comm)? {
        return Ok(());
    }
    first_barrier_on(call, comm)
}

/// A barrier of a communicator whose ranks share no memory, or none yet, or are told how to go.
fn first_barrier_on(call: &'static str, comm: MPI_Comm) -> Result {
    let process = enter();
    let found = process.comm(comm)?;
    if found.group.size() == 1 && found.remote.is_none() {
        return Ok(());
    }
    let is_forced = forced(&process.coll.rows, &shape(&process, found), &CollectiveCall::Barrier).is_some();
    drop(process);
    if !is_forced {
        // All ranks count this call, whatever the others make.
        shm_comm::agree(call, comm)?;
        if shm::barrier(enter(), call, comm)? {
            return Ok(());
        }
    }
    blocking_in(CallForm::Blocking, call, comm, barrier)
}

/// Plans a barrier by messages.
fn barrier(setup: &mut Setup) -> Result {
    setup.plan(&CollectiveCall::Barrier);
    Ok(())
}

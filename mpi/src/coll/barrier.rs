//! Barrier (MPI 5.0 section 6.3).

use super::running::{Form, blocking_in};
use super::shape::shape;
use super::{Setup, joint, nonblocking, persistent};
use crate::entry::entry;
use crate::error::Result;
use crate::process::enter;
use crate::team::{self, TeamPlace};
use tern_abi::*;
use tern_coll::Call;
use tern_coll::table::forced;

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

/// The last barrier of a process, which then leaves. It goes by messages that no other collective has, so that nobody takes it for a
/// barrier of the program's that this rank has left out. It uses no multicast, since who has left answers nobody who has lost one.
pub fn last_barrier(call: &'static str, comm: MPI_Comm) -> Result {
    blocking_in(Form::Last, call, comm, barrier)
}

/// A barrier within the call `call`.
pub fn barrier_on(call: &'static str, comm: MPI_Comm) -> Result {
    let mut process = enter();
    let found = process.comm(comm)?;
    if found.group.size() == 1 && found.remote.is_none() {
        return Ok(());
    }
    if forced(&process.coll_rows, &shape(&process, found), &Call::Barrier).is_some() {
        drop(process);
        return blocking_in(Form::Blocking, call, comm, barrier);
    }
    if matches!(found.team, TeamPlace::Unasked) {
        drop(process);
        // All ranks count this call, whatever the others make.
        team::agree(call, comm)?;
        process = enter();
    }
    if joint::meet(process, call, comm)? {
        return Ok(());
    }
    blocking_in(Form::Blocking, call, comm, barrier)
}

/// Plans a barrier by messages.
fn barrier(setup: &mut Setup) -> Result {
    setup.plan(&Call::Barrier);
    Ok(())
}

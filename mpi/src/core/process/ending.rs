//! How this process ends where it must not go on.

use super::guard::{enter_anyway, state_after_fault, try_to_end};
use crate::comm::object::Comm;
use crate::limits::ABORT_LOOKS_MAX;
use tern_abi::MPI_Comm;
use tern_job::Job;

/// Says why this process ends, in one piece: whoever dies next shall not leave half a line.
pub(crate) fn complain(message: &str) {
    use std::io::Write;
    let _ = std::io::stderr().write_all(format!("tern: {message}\n").as_bytes());
}

/// The error handler says that the job (or, with `comm_only`, the communicator's processes) must end.
#[cold]
pub(crate) fn die(code: i32, message: &str, comm_only: bool) -> ! {
    // The launcher ends this process, too, once it is told.
    crate::core::stdio::flush_streams();
    let process = enter_anyway();
    let scope = if comm_only { " (MPI_ERRORS_ABORT)" } else { "" };
    end(process.job.as_ref(), code, &format!("{message}{scope}"))
}

/// Tells the launcher, or without one the user, and ends this process.
fn end(job: Option<&Job>, code: i32, message: &str) -> ! {
    match job {
        Some(job) => job.announce_abort(code, message),
        None => complain(message),
    }
    // Not exit(): handlers of the program must not run in the middle of a failed call.
    // SAFETY: _exit has no preconditions.
    unsafe { libc::_exit(tern_job::exit_status(code)) }
}

/// The program ends the whole job (MPI 5.0 section 11.4). A signal handler may do that, too, whatever call of MPI it has interrupted, and a
/// thread beside one that stays in a call.
#[cold]
pub(crate) fn abort(comm: MPI_Comm, code: i32) -> ! {
    crate::core::stdio::flush_streams();
    let looks = try_to_end(ABORT_LOOKS_MAX);
    let name = match &looks {
        Some(process) => {
            process.objects.comms.get(comm).map_or("no valid communicator".into(), Comm::described)
        }
        None => "a communicator".into(),
    };
    // SAFETY: nothing is changed, and of what another call may be changing just now, nothing is looked at. The process ends.
    let job = unsafe { state_after_fault() }.job.as_ref();
    end(job, code, &format!("MPI_Abort was called on {name} with error code {code}"))
}

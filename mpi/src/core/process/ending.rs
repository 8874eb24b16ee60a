//! How this process ends where it must not go on.

use super::guard::enter_anyway;

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
    if let Some(job) = &process.job {
        job.announce_abort(code, &format!("{message}{scope}"));
    } else {
        complain(&format!("{message}{scope}"));
    }
    // Not exit(): handlers of the program must not run in the middle of a failed call.
    // SAFETY: _exit has no preconditions.
    unsafe { libc::_exit(tern_job::exit_status(code)) }
}

//! `TERN_CHECK=threads`: a thread that waits in a call, though only the one that called `MPI_Init` may call, ends the job and is told of.
//!
//! Calls of several threads that are not meant to be several meet each other's messages and collectives: what comes of it looks like
//! mismatched calls, or hangs. Only waits are looked at, so that calls cost nothing; sooner or later such a thread waits.

use crate::init::{is_main, provided};
use crate::process::{Guard, Phase, die, phase};
use tern_abi::*;

/// Ends the job unless this thread may call. `call` is asked for the call that waits.
#[cold]
pub fn refuse_others(process: Guard, call: impl FnOnce(&Guard) -> &'static str) -> Guard {
    let level = provided();
    let may_call = is_main() || level > MPI_THREAD_FUNNELED || !process.sessions.is_empty();
    if may_call || phase() != Phase::Running {
        return process;
    }
    let message = refusal(call(&process), &own_name(), level);
    drop(process);
    die(MPI_ERR_OTHER, &message, false)
}

fn refusal(call: &str, thread: &str, level: i32) -> String {
    let level = if level == MPI_THREAD_SINGLE { "MPI_THREAD_SINGLE" } else { "MPI_THREAD_FUNNELED" };
    format!(
        "{call} was called by thread {thread}, which is not the one that started MPI, but MPI was started with {level}, where no \
         other may call (TERN_CHECK=threads, MPI 5.0 section 11.6); MPI_Init_thread gives more if it is asked for more"
    )
}

/// The number that the system gives this thread, and its name.
fn own_name() -> String {
    let name = std::fs::read_to_string("/proc/thread-self/comm").unwrap_or_default();
    // SAFETY: gettid has no preconditions.
    format!("{} ({})", unsafe { libc::gettid() }, name.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_names_call_thread_and_level() {
        let said = refusal("MPI_Recv", "17 (worker)", MPI_THREAD_FUNNELED);
        assert!(said.starts_with("MPI_Recv was called by thread 17 (worker), which"), "{said}");
        assert!(said.contains("with MPI_THREAD_FUNNELED,"), "{said}");
    }
}

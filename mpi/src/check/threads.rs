//! Threads that may not call: two at once, which ends the job as soon as one meets the other, and what `TERN_CHECK=threads` adds.
//!
//! `TERN_CHECK=threads`: a thread that waits in a call, though only the one that called `MPI_Init` may call, ends the job and is told of.
//!
//! Calls of several threads that are not meant to be several meet each other's messages and collectives: what comes of it looks like
//! mismatched calls, or hangs. Only waits are looked at, so that calls cost nothing; sooner or later such a thread waits.

use crate::core::thread_level::{is_main, provided};
use tern_abi::*;

/// Whether this thread may call, as far as levels say. In sessions any may.
pub(crate) fn may_call(has_sessions: bool) -> bool {
    is_main() || provided() > MPI_THREAD_FUNNELED || has_sessions
}

/// What is said of a call that waits in a thread that may not call.
pub(crate) fn refusal(call: &str) -> String {
    refusal_of(call, &own_name(), provided())
}

/// What is said of a thread that enters the library while another is in it, and no lock keeps them apart.
pub(crate) fn encounter() -> String {
    encounter_of(&own_name(), level_name(provided()))
}

fn encounter_of(thread: &str, level: &str) -> String {
    format!(
        "thread {thread} calls MPI while another thread of this process is in a call, but MPI was started with {level}, where only \
         one may be at a time (MPI 5.0 section 11.6): ask MPI_Init_thread for MPI_THREAD_MULTIPLE"
    )
}

fn level_name(level: i32) -> &'static str {
    match level {
        MPI_THREAD_SINGLE => "MPI_THREAD_SINGLE",
        MPI_THREAD_FUNNELED => "MPI_THREAD_FUNNELED",
        MPI_THREAD_SERIALIZED => "MPI_THREAD_SERIALIZED",
        _ => "MPI_THREAD_MULTIPLE",
    }
}

fn refusal_of(call: &str, thread: &str, level: i32) -> String {
    let level = level_name(level);
    format!(
        "{call} was called by thread {thread}, which is not the one that started MPI, but MPI was started with {level}, where no \
         other may call (TERN_CHECK=threads, MPI 5.0 section 11.6); MPI_Init_thread gives more if it is asked for more"
    )
}

/// The number that the system gives this thread, and its name.
fn own_name() -> String {
    let name = std::fs::read_to_string("/proc/thread-self/comm").unwrap_or_default();
    // SAFETY: the call has no preconditions. The C library has a function for it since 2.30 only.
    format!("{} ({})", unsafe { libc::syscall(libc::SYS_gettid) }, name.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_encounter_says_what_to_ask_for() {
        let said = encounter_of("17 (worker)", "MPI_THREAD_SINGLE");
        assert!(said.starts_with("thread 17 (worker) calls MPI while another"), "{said}");
        assert!(said.contains("with MPI_THREAD_SINGLE,") && said.ends_with("MPI_THREAD_MULTIPLE"), "{said}");
    }

    #[test]
    fn a_refusal_names_call_thread_and_level() {
        let said = refusal_of("MPI_Recv", "17 (worker)", MPI_THREAD_FUNNELED);
        assert!(said.starts_with("MPI_Recv was called by thread 17 (worker), which"), "{said}");
        assert!(said.contains("with MPI_THREAD_FUNNELED,"), "{said}");
    }
}

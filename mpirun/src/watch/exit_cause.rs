//! How a job ends: who failed first, what is said about it, and the exit status.

use crate::watch::deserted::Deserted;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tern_job::status_page::RankState;

/// Why `mpirun` does not start a job, or cannot go on with it.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub(crate) struct Refusal {
    message: String,
    status: u8,
}

/// Exit status for a job that ran out of time, as `timeout` has it.
const STATUS_TIMEOUT: u8 = 124;
/// For a program that is there and cannot be run, as shells have it.
const STATUS_CANNOT_RUN: u8 = 126;
/// For a program that is not there.
const STATUS_NOT_FOUND: u8 = 127;
/// For a program that signal N killed: this plus N.
const STATUS_SIGNAL: u8 = 128;
/// For everything else that `mpirun` itself finds wrong.
const STATUS_FAILURE: u8 = 1;
/// SIGPIPE: what a program that writes into a closed pipe dies of.
const SIGPIPE: i32 = 13;

impl Refusal {
    /// The command line or the machine does not allow it.
    pub(crate) fn usage(message: String) -> Refusal {
        Refusal { message, status: STATUS_FAILURE }
    }

    /// The program exists and cannot be run.
    pub(crate) fn cannot_run(message: String) -> Refusal {
        Refusal { message, status: STATUS_CANNOT_RUN }
    }

    /// There is no such program.
    pub(crate) fn not_found(message: String) -> Refusal {
        Refusal { message, status: STATUS_NOT_FOUND }
    }

    /// The kernel refused something that `mpirun` cannot do without.
    pub(crate) fn system(what: &str, error: impl std::fmt::Display) -> Refusal {
        Refusal::usage(format!("{what}: {error}"))
    }

    /// What `mpirun` exits with.
    pub(crate) fn status(&self) -> u8 {
        self.status
    }
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum End {
    /// By itself, with this status.
    Exited(i32),
    /// By this signal.
    Killed(i32),
    /// Somebody else has taken its exit status.
    Unseen,
}

/// The first thing that went wrong, which decides the job's end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ExitCause {
    /// A rank ended with a status other than 0.
    Exit { rank: u32, status: i32 },
    /// A signal killed a rank.
    Signal { rank: u32, signal: i32 },
    /// A rank ended before `MPI_Finalize`, and nobody knows how.
    Unseen { rank: u32 },
    /// A rank called `MPI_Abort`, or an error was fatal.
    Abort { rank: u32, code: i32, message: String },
    /// A rank exited with 0 between `MPI_Init` and `MPI_Finalize`.
    NotFinalized { rank: u32 },
    /// A rank exited with 0 and was never in MPI, and the others wait there.
    Missed { rank: u32 },
    /// A rank is in `MPI_Finalize`, and another waits in a call that nobody can end.
    Deserted(Deserted),
    /// A rank has loaded an MPI library whose ranks cannot find each other here.
    ForeignLibrary { rank: u32, message: String },
    /// The ranks died of a signal that `mpirun` passed on: whoever sent it knows.
    Interrupted { signal: i32 },
    /// A host cannot run its ranks.
    Refused { host: String, message: String, status: u8 },
    /// A host cannot be reached, or its agent is gone.
    Lost { host: String, reason: String },
    /// A world that a rank has started, and that is connected with this one, has failed.
    World { what: String, status: u8 },
    /// The world that this one is connected with has failed, or its `mpirun` is gone.
    Superior,
    /// Time is up.
    Timeout(Duration),
    /// Nobody reads `mpirun`'s output any more.
    OutputClosed,
    /// `mpirun`'s output cannot be written.
    OutputFailed(String),
}

impl ExitCause {
    /// What the end of a rank means for the job; `None` if it is as it should be. `forwarded` is the last
    /// signal that was passed on.
    pub(crate) fn of_end(rank: u32, end: End, state: RankState, forwarded: Option<i32>) -> Option<ExitCause> {
        match end {
            End::Killed(signal) if forwarded == Some(signal) => Some(ExitCause::Interrupted { signal }),
            End::Exited(status)
                if forwarded.is_some_and(|signal| status == i32::from(STATUS_SIGNAL) + signal) =>
            {
                Some(ExitCause::Interrupted { signal: status - i32::from(STATUS_SIGNAL) })
            }
            End::Killed(signal) => Some(ExitCause::Signal { rank, signal }),
            End::Unseen if state == RankState::Finalized => None,
            End::Unseen => Some(ExitCause::Unseen { rank }),
            End::Exited(0) => match state {
                RankState::Absent | RankState::Finalized => None,
                RankState::Starting
                | RankState::Running
                | RankState::Blocked
                | RankState::Polling
                | RankState::Aborted => Some(ExitCause::NotFinalized { rank }),
            },
            End::Exited(status) => Some(ExitCause::Exit { rank, status }),
        }
    }

    /// The rank to blame.
    pub(crate) fn rank(&self) -> Option<u32> {
        match *self {
            ExitCause::Exit { rank, .. }
            | ExitCause::Signal { rank, .. }
            | ExitCause::Unseen { rank }
            | ExitCause::Abort { rank, .. }
            | ExitCause::NotFinalized { rank }
            | ExitCause::ForeignLibrary { rank, .. }
            | ExitCause::Missed { rank } => Some(rank),
            ExitCause::Deserted(Deserted { ends, .. }) => Some(ends),
            _ => None,
        }
    }

    /// What `mpirun` exits with.
    pub(crate) fn status(&self) -> u8 {
        match self {
            ExitCause::Exit { status, .. } => *status as u8,
            ExitCause::Signal { signal, .. } | ExitCause::Interrupted { signal } => {
                STATUS_SIGNAL.wrapping_add(*signal as u8)
            }
            ExitCause::Abort { code, .. } => tern_job::exit_status(*code) as u8,
            ExitCause::Timeout(_) => STATUS_TIMEOUT,
            ExitCause::OutputClosed => STATUS_SIGNAL + SIGPIPE as u8,
            ExitCause::Refused { status, .. } | ExitCause::World { status, .. } => *status,
            ExitCause::NotFinalized { .. }
            | ExitCause::Unseen { .. }
            | ExitCause::Superior
            | ExitCause::Missed { .. }
            | ExitCause::Deserted(_)
            | ExitCause::ForeignLibrary { .. }
            | ExitCause::OutputFailed(_)
            | ExitCause::Lost { .. } => STATUS_FAILURE,
        }
    }

    /// What is said: `who` names the rank to blame, `rest` what becomes of other ranks.
    pub(crate) fn message(&self, who: &str, rest: &str) -> Option<String> {
        match self {
            ExitCause::Exit { status, .. } => Some(format!("{who} ended with exit status {status}{rest}")),
            ExitCause::Signal { signal, .. } => {
                Some(format!("{who} was killed by signal {signal} ({}){rest}", signal_name(*signal)))
            }
            ExitCause::Unseen { .. } => {
                Some(format!("{who} ended, and its exit status is unknown: somebody else has taken it{rest}"))
            }
            ExitCause::Abort { code, message, .. } => {
                let why = if message.is_empty() { String::new() } else { format!(": {message}") };
                Some(format!("{who} aborted the job with code {code}{why}"))
            }
            ExitCause::NotFinalized { .. } => Some(format!(
                "{who} ended with exit status 0 without calling MPI_Finalize after MPI_Init, or with a session open{rest}"
            )),
            ExitCause::Missed { .. } => Some(format!(
                "{who} ended with exit status 0 without calling MPI_Init, and all others wait in MPI{rest}"
            )),
            ExitCause::Deserted(Deserted { waits, call, .. }) => Some(format!(
                "{who} is in MPI_Finalize, and rank {waits} waits in {call}, which nobody can end any more; the job is ended"
            )),
            ExitCause::ForeignLibrary { message, .. } => Some(format!("{who}: {message}")),
            ExitCause::Refused { host, message, .. } => Some(format!("host {host}: {message}{rest}")),
            ExitCause::Lost { host, reason } => {
                Some(format!("host {host} cannot be reached, or its agent is gone: {reason}{rest}"))
            }
            ExitCause::Timeout(time) => {
                Some(format!("the time of {} s is up; the job is ended", time.as_secs_f64()))
            }
            ExitCause::OutputFailed(error) => {
                Some(format!("cannot write the output: {error}; the job is ended"))
            }
            ExitCause::World { what, .. } => Some(format!(
                "'{what}', which a rank has started and which is connected with this job, has failed{rest}"
            )),
            ExitCause::Interrupted { .. } | ExitCause::OutputClosed | ExitCause::Superior => None,
        }
    }
}

/// The name of a signal, which is the same on every architecture that Tern knows.
pub(crate) fn signal_name(signal: i32) -> &'static str {
    const NAMES: [&str; 32] = [
        "0",
        "SIGHUP",
        "SIGINT",
        "SIGQUIT",
        "SIGILL",
        "SIGTRAP",
        "SIGABRT",
        "SIGBUS",
        "SIGFPE",
        "SIGKILL",
        "SIGUSR1",
        "SIGSEGV",
        "SIGUSR2",
        "SIGPIPE",
        "SIGALRM",
        "SIGTERM",
        "SIGSTKFLT",
        "SIGCHLD",
        "SIGCONT",
        "SIGSTOP",
        "SIGTSTP",
        "SIGTTIN",
        "SIGTTOU",
        "SIGURG",
        "SIGXCPU",
        "SIGXFSZ",
        "SIGVTALRM",
        "SIGPROF",
        "SIGWINCH",
        "SIGIO",
        "SIGPWR",
        "SIGSYS",
    ];
    usize::try_from(signal).ok().and_then(|signal| NAMES.get(signal).copied()).unwrap_or("a real-time signal")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(end: End, state: RankState, forwarded: Option<i32>) -> Option<ExitCause> {
        ExitCause::of_end(1, end, state, forwarded)
    }

    #[test]
    fn the_end_of_a_rank_is_judged() {
        assert_eq!(of(End::Exited(0), RankState::Absent, None), None);
        assert_eq!(of(End::Exited(0), RankState::Finalized, None), None);
        assert_eq!(of(End::Exited(0), RankState::Running, None), Some(ExitCause::NotFinalized { rank: 1 }));
        let status = |end, forwarded| of(end, RankState::Running, forwarded).map(|cause| cause.status());
        assert_eq!(status(End::Exited(3), None), Some(3));
        assert_eq!(status(End::Killed(9), None), Some(137));
        assert_eq!(status(End::Unseen, None), Some(1));
        assert_eq!(of(End::Unseen, RankState::Finalized, None), None);
        assert_eq!(status(End::Killed(2), Some(2)), Some(130));
        assert_eq!(
            of(End::Exited(130), RankState::Absent, Some(2)),
            Some(ExitCause::Interrupted { signal: 2 })
        );
        assert_eq!(
            of(End::Killed(9), RankState::Absent, Some(2)),
            Some(ExitCause::Signal { rank: 1, signal: 9 })
        );
    }

    #[test]
    fn messages_name_what_happened() {
        let cause = ExitCause::Signal { rank: 1, signal: 11 };
        assert_eq!(
            cause.message("rank 1", "; the other ranks are ended").unwrap(),
            "rank 1 was killed by signal 11 (SIGSEGV); the other ranks are ended"
        );
        assert_eq!(ExitCause::OutputClosed.message("", ""), None);
        assert_eq!(signal_name(15), "SIGTERM");
        assert_eq!(signal_name(40), "a real-time signal");
    }
}

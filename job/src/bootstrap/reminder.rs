//! Says that others are waited for, where a launcher says nothing of a process that ended before `MPI_Init`.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

/// Says something once, unless it is dropped before its time is up.
#[derive(Debug)]
pub(crate) struct Reminder {
    /// Nothing is ever sent: the thread wakes when this is dropped.
    _waits: Sender<()>,
}

impl Reminder {
    /// Calls `say` after `patience`, in a thread of its own. Without a thread, nothing is said.
    pub(crate) fn new(patience: Duration, say: impl FnOnce() + Send + 'static) -> Reminder {
        let (sender, receiver) = channel();
        let wait = move || {
            if receiver.recv_timeout(patience) == Err(RecvTimeoutError::Timeout) {
                say();
            }
        };
        let _ = thread::Builder::new().name("tern-reminder".into()).spawn(wait);
        Reminder { _waits: sender }
    }
}

/// What rank `rank` of `size` says after `patience`; under Slurm, how the job can be made to end.
pub(crate) fn words(rank: u32, size: u32, patience: Duration, under_slurm: bool) -> String {
    let seconds = patience.as_secs();
    let advice = if under_slurm {
        "'srun --kill-on-bad-exit' ends the job when that happens"
    } else {
        "end the job by its launcher"
    };
    format!(
        "tern: rank {rank} has waited {seconds} s in MPI_Init for the other ranks of {size}. If one of them ended before its MPI_Init, \
         the launcher tells nobody: {advice}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_said_in_time_or_not_at_all() {
        let (said, heard) = channel();
        let early = Reminder::new(Duration::from_secs(3600), move || said.send(()).unwrap());
        drop(early);
        // The thread has ended, and what it would have said with it.
        assert!(heard.recv().is_err());

        let (said, heard) = channel();
        let _late = Reminder::new(Duration::from_millis(1), move || said.send(()).unwrap());
        assert_eq!(heard.recv(), Ok(()));
    }

    #[test]
    fn slurm_has_a_way_out() {
        let ten = Duration::from_secs(10);
        assert!(words(0, 4, ten, true).starts_with("tern: rank 0 has waited 10 s in MPI_Init"));
        assert!(words(0, 4, ten, true).contains("--kill-on-bad-exit"));
        assert!(!words(0, 4, ten, false).contains("srun"));
    }
}

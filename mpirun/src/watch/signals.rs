//! Signals that `mpirun` receives, as something to wait for.

use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;

use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGUSR1, SIGUSR2};
use signal_hook::iterator::backend::SignalDelivery;
use signal_hook::iterator::exfiltrator::SignalOnly;

use tern_job::procfs::ignored_signals;

use crate::watch::exit_cause::Refusal;

const WATCHED: [i32; 8] = [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGCONT, SIGUSR1, SIGUSR2];

/// The signals that have arrived.
pub(crate) struct Signals {
    delivery: SignalDelivery<UnixStream, SignalOnly>,
}

impl Signals {
    /// Starts to catch signals. One that `mpirun` was started to ignore (by `nohup`, or in the background of
    /// a script) stays ignored, by the ranks too.
    pub(crate) fn catch() -> Result<Signals, Refusal> {
        let ignored = ignored_signals();
        let watched = WATCHED.into_iter().filter(|signal| ignored & (1 << (signal - 1)) == 0);
        let delivery = UnixStream::pair()
            .and_then(|(read, write)| SignalDelivery::with_pipe(read, write, SignalOnly, watched))
            .map_err(|error| Refusal::system("cannot catch signals", error))?;
        Ok(Signals { delivery })
    }

    /// Becomes readable when a signal arrives.
    pub(crate) fn fd(&self) -> impl AsFd + '_ {
        self.delivery.get_read()
    }

    /// The signals that have arrived since the last call.
    pub(crate) fn arrived(&mut self) -> Vec<i32> {
        self.delivery.pending().collect()
    }
}

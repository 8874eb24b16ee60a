//! A process that tries the library before this one does.
//!
//! A provider that hangs while it starts keeps locks: its library's, which that takes again when a process ends, or the loader's,
//! without which nothing else can be loaded. So whoever has called it can neither go on by other means nor end.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;
use std::time::{Duration, Instant};

/// The first pause between looks at the process that tries, and the longest: each is twice as long as the one before.
const PAUSE_MIN: Duration = Duration::from_micros(200);
const PAUSE_MAX: Duration = Duration::from_millis(5);

/// So long a process that was killed may take to vanish. One that waits for a device within the kernel takes longer, and is left alone.
const KILLED_MAX: Duration = Duration::from_millis(500);

/// What the process has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrialOutcome {
    /// An answer, be it that the library cannot be used.
    Answers,
    /// No answer in time.
    Hangs,
    /// It was ended by a signal.
    Dies(i32),
}

impl TrialOutcome {
    /// As a number, for another process.
    pub fn number(self) -> u32 {
        match self {
            TrialOutcome::Answers => 0,
            TrialOutcome::Hangs => 1,
            TrialOutcome::Dies(signal) => 2 + signal.unsigned_abs(),
        }
    }

    /// What another process has found, by its number.
    pub fn of_number(number: u32) -> TrialOutcome {
        match number {
            0 => TrialOutcome::Answers,
            1 => TrialOutcome::Hangs,
            dies => TrialOutcome::Dies((dies - 2) as i32),
        }
    }
}

/// Does `what` in a copy of this process that lives for nothing else. Its output is thrown away, since what it does is done again.
pub fn try_apart(limit: Duration, what: impl FnOnce()) -> io::Result<TrialOutcome> {
    let nowhere = File::options().write(true).open("/dev/null")?;
    // SAFETY: the child has this thread alone. The C library makes its own locks, memory's and the loader's among them, usable there.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => be_child(&nowhere, what),
        pid => Ok(watch(pid, limit)),
    }
}

fn be_child(nowhere: &File, what: impl FnOnce()) -> ! {
    // SAFETY: each call has plain numbers as arguments. What the process answers to faults is for the original, not for its copy.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        for signal in [libc::SIGSEGV, libc::SIGBUS, libc::SIGABRT, libc::SIGFPE, libc::SIGILL] {
            libc::signal(signal, libc::SIG_DFL);
        }
        libc::dup2(nowhere.as_raw_fd(), 1);
        libc::dup2(nowhere.as_raw_fd(), 2);
    }
    // Nothing of the original's may be unwound here.
    let _ = catch_unwind(AssertUnwindSafe(what));
    // SAFETY: nothing of the process is used any more. Whatever it would do at its end is the original's to do.
    unsafe { libc::_exit(0) }
}

fn watch(pid: libc::pid_t, limit: Duration) -> TrialOutcome {
    let (start, mut pause) = (Instant::now(), PAUSE_MIN);
    let mut is_killed = false;
    loop {
        let mut status = 0;
        // SAFETY: a process that this one has started, and a place for its status.
        let ended = unsafe { libc::waitpid(pid, &raw mut status, libc::WNOHANG) };
        match ended {
            0 if start.elapsed() > limit + KILLED_MAX => return TrialOutcome::Hangs,
            0 if start.elapsed() > limit && !is_killed => {
                // SAFETY: nobody has waited for the process, so its number is its own still.
                unsafe { libc::kill(pid, libc::SIGKILL) };
                is_killed = true;
            }
            0 => {
                thread::sleep(pause);
                pause = PAUSE_MAX.min(pause * 2);
            }
            _ if is_killed => return TrialOutcome::Hangs,
            // The program may have waited for it, or wants to know of no child; then nobody can say how it ended.
            pid if pid > 0 && libc::WIFSIGNALED(status) => return TrialOutcome::Dies(libc::WTERMSIG(status)),
            -1 if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted => {}
            _ => return TrialOutcome::Answers,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcomes_have_numbers() {
        for outcome in [TrialOutcome::Answers, TrialOutcome::Hangs, TrialOutcome::Dies(libc::SIGSEGV)] {
            assert_eq!(TrialOutcome::of_number(outcome.number()), outcome);
        }
    }

    #[test]
    fn it_is_known_how_a_trial_ends() {
        let long = Duration::from_secs(60);
        let hangs = || loop {
            thread::park();
        };
        assert_eq!(try_apart(long, || {}).unwrap(), TrialOutcome::Answers);
        assert_eq!(try_apart(long, || panic!("in the copy")).unwrap(), TrialOutcome::Answers);
        assert_eq!(try_apart(Duration::from_millis(50), hangs).unwrap(), TrialOutcome::Hangs);
        // SAFETY: the copy ends itself.
        let dies = || assert_eq!(unsafe { libc::kill(libc::getpid(), libc::SIGSEGV) }, 0);
        assert_eq!(try_apart(long, dies).unwrap(), TrialOutcome::Dies(libc::SIGSEGV));
    }
}

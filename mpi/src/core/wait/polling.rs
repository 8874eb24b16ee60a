//! What this process asks for again and again, on the status page for a person to read: a loop over `MPI_Test` or
//! `MPI_Iprobe` waits like any other call, but in the program's own code.
//!
//! Calls that find nothing look at the clock now and then, and say where they are every 50 ms. They say when they
//! asked last, too, so that `mpirun` can tell a rank that still asks from one that has long gone on.

use super::asleep::{self, with_blocked};
use super::notes;
use super::waiting::Waiting;
use crate::core::process::Process;
use crate::limits::{ASKS_PER_LOOK_MAX, LOOK_EVERY, PUBLISH_AFTER, SELDOM};
use tern_job::{Blocked, now_ns};

/// When to look at the clock, and since when nothing has come.
#[derive(Debug)]
pub struct Polling {
    /// The number of the poll at which to look.
    pub look_at: u64,
    /// Polls from a look to the next.
    step: u64,
    /// The poll of the last look.
    looked_at: u64,
    /// When this was looked at last, said last, and since when nothing has come.
    looked_ns: u64,
    told_ns: u64,
    since_ns: u64,
    /// Requests that had been completed by then.
    completions: u64,
}

impl Polling {
    /// Nothing has been asked for.
    pub const fn new() -> Self {
        Polling { look_at: 0, step: 1, looked_at: 0, looked_ns: 0, told_ns: 0, since_ns: 0, completions: 0 }
    }

    /// Whether calls have been far apart since the last look.
    fn is_seldom(&self, now_ns: u64, polls: u64) -> bool {
        // A call polls up to three times.
        now_ns.saturating_sub(self.looked_ns)
            >= polls.saturating_sub(self.looked_at) * SELDOM.as_nanos() as u64
    }

    /// Looks at the clock; since when nothing has come, if it is time to say so.
    fn look(&mut self, now_ns: u64, polls: u64, completions: u64) -> Option<u64> {
        let soon = now_ns.saturating_sub(self.looked_ns) < LOOK_EVERY.as_nanos() as u64;
        self.step =
            if soon && !self.is_seldom(now_ns, polls) { (2 * self.step).min(ASKS_PER_LOOK_MAX) } else { 1 };
        (self.looked_ns, self.looked_at, self.look_at) = (now_ns, polls, polls + self.step);
        if self.since_ns == 0 || completions != self.completions {
            (self.since_ns, self.completions) = (now_ns, completions);
        }
        let quiet_ns = PUBLISH_AFTER.as_nanos() as u64;
        let is_due = now_ns >= self.since_ns + quiet_ns && now_ns >= self.told_ns + quiet_ns;
        is_due.then(|| {
            self.told_ns = now_ns;
            self.since_ns
        })
    }
}

/// A call has asked, and nothing has come. Whether it is to look at the network too: the program asks seldom.
#[cold]
#[inline(never)]
pub(super) fn asked(process: &mut Process, waiting: impl FnOnce(&Process) -> Waiting) -> bool {
    let is_seen = process.job.as_ref().is_some_and(|job| job.status_page.is_some());
    let is_networked = process.engine_ref().is_some_and(|engine| engine.transport_ref().is_networked());
    if !is_seen && !is_networked {
        process.waiting.polling.look_at = u64::MAX;
        return false;
    }
    let (now, polls) = (now_ns(), process.waiting.polls);
    let seldom = process.waiting.polling.is_seldom(now, polls);
    let completions = process.engine_ref().map_or(0, |engine| engine.completions());
    if let Some(since_ns) = process.waiting.polling.look(now, polls, completions)
        && !asleep::is_anybody(process)
    {
        publish_wait(process, &waiting(process), since_ns, now);
    }
    seldom && is_networked
}

fn publish_wait(process: &Process, waiting: &Waiting, since_ns: u64, now_ns: u64) {
    let Some(status_page) = process.job.as_ref().and_then(|job| job.status_page.as_ref()) else { return };
    let notes = notes::notes(process, &[waiting]);
    with_blocked(waiting, &waiting.detail, process, |blocked| {
        status_page.publish(&Blocked { since_ns, asked_ns: Some(now_ns), notes: &notes, ..*blocked });
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn it_says_so_every_50_ms_while_nothing_comes() {
        let mut polling = Polling::new();
        let told: Vec<u64> = (1000..1300).filter(|ms| polling.look(ms * MS, *ms, 0).is_some()).collect();
        assert_eq!(told, [1050, 1100, 1150, 1200, 1250]);
        assert_eq!(polling.look(1300 * MS, 9, 1), None, "something came");
        assert_eq!(polling.look(1350 * MS, 9, 1), Some(1300 * MS));
    }

    #[test]
    fn it_looks_at_the_clock_at_each_of_few_calls_and_one_in_64_of_many() {
        let mut polling = Polling::new();
        for at in 1..10 {
            polling.look(at * 100 * MS, 7, 0);
            assert_eq!(polling.look_at, 8);
        }
        let mut polls = 7;
        for at in 0..20 {
            polling.look(2000 * MS + at, polls, 0);
            polls = polling.look_at;
        }
        polling.look(2000 * MS + 20, polls, 0);
        assert_eq!(polling.look_at, polls + ASKS_PER_LOOK_MAX);
    }

    #[test]
    fn calls_of_which_each_sleeps_a_millisecond_are_seldom() {
        let mut polling = Polling::new();
        let mut polls = 7;
        for at in 0..20 {
            polling.look(1000 * MS + at * 1000, polls, 0);
            polls += 1;
        }
        assert_eq!(polling.step, ASKS_PER_LOOK_MAX);
        assert!(!polling.is_seldom(1000 * MS + 20_000, polls), "one a microsecond");
        for at in 1..6 {
            assert!(polling.is_seldom((1000 + at) * MS, polls));
            polling.look((1000 + at) * MS, polls, 0);
            assert_eq!(polling.look_at, polls + 1);
            polls += 3;
        }
    }
}

//! When a loop over calls that ask looks at the clock.

use crate::limits::{ASKS_PER_LOOK_MAX, LOOK_EVERY, PUBLISH_AFTER, SELDOM};

/// When to look at the clock, and since when nothing has come.
#[derive(Debug)]
pub(crate) struct Polling {
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
    pub(crate) const fn new() -> Self {
        Polling { look_at: 0, step: 1, looked_at: 0, looked_ns: 0, told_ns: 0, since_ns: 0, completions: 0 }
    }

    /// Whether calls have been far apart since the last look.
    pub(super) fn is_seldom(&self, now_ns: u64, polls: u64) -> bool {
        // A call polls up to three times.
        now_ns.saturating_sub(self.looked_ns)
            >= polls.saturating_sub(self.looked_at) * SELDOM.as_nanos() as u64
    }

    /// Looks at the clock; since when nothing has come, if it is time to say so.
    pub(super) fn look(&mut self, now_ns: u64, polls: u64, completions: u64) -> Option<u64> {
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

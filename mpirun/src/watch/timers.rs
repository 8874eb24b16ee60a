//! When the supervisor of a job has something to do without being asked.

use std::time::Instant;

/// What there is to do. Of what is due at once, the first here is done first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum JobTimer {
    /// To look for hosts that have fallen silent.
    Beat,
    /// `--timeout` strikes.
    Timeout,
    /// To say that ranks run on after a signal that usually ends programs.
    Notice,
    /// To kill those that a SIGTERM did not end.
    Kill,
    /// To wait no longer for hosts that do not report.
    Abandon,
    /// To look whether all wait for a rank that was never in MPI.
    Missed,
    /// To look whether ranks wait for one that has begun to end.
    Deserted,
}

const ALL: [JobTimer; 7] = [
    JobTimer::Beat,
    JobTimer::Timeout,
    JobTimer::Notice,
    JobTimer::Kill,
    JobTimer::Abandon,
    JobTimer::Missed,
    JobTimer::Deserted,
];

/// At most one time for each.
#[derive(Default, Debug)]
pub(crate) struct JobTimers([Option<Instant>; ALL.len()]);

impl JobTimers {
    /// Sets a timer, also one that was set.
    pub(crate) fn set(&mut self, timer: JobTimer, at: Instant) {
        self.0[timer as usize] = Some(at);
    }

    /// Sets a timer unless it is set.
    pub(crate) fn set_once(&mut self, timer: JobTimer, at: Instant) {
        self.0[timer as usize].get_or_insert(at);
    }

    /// Whether a timer is set.
    pub(crate) fn is_set(&self, timer: JobTimer) -> bool {
        self.0[timer as usize].is_some()
    }

    /// When the next one is due.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.0.iter().flatten().min().copied()
    }

    /// Takes the first one whose time has come. It is not set any more.
    pub(crate) fn take(&mut self, now: Instant) -> Option<JobTimer> {
        ALL.into_iter().find(|timer| self.0[*timer as usize].take_if(|at| now >= *at).is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn what_is_due_is_taken_once_and_in_order() {
        let start = Instant::now();
        let after = |seconds| start + Duration::from_secs(seconds);
        let mut timers = JobTimers::default();
        assert_eq!((timers.due(), timers.take(after(9))), (None, None));
        timers.set(JobTimer::Deserted, after(1));
        timers.set(JobTimer::Kill, after(2));
        timers.set_once(JobTimer::Kill, after(5));
        timers.set(JobTimer::Abandon, after(4));
        assert_eq!((timers.due(), timers.is_set(JobTimer::Notice)), (Some(after(1)), false));
        assert_eq!(timers.take(after(0)), None);
        assert_eq!(timers.take(after(3)), Some(JobTimer::Kill));
        assert_eq!(timers.take(after(3)), Some(JobTimer::Deserted));
        assert_eq!((timers.take(after(3)), timers.due()), (None, Some(after(4))));
    }

    #[test]
    fn each_has_its_place() {
        assert!(ALL.into_iter().enumerate().all(|(at, timer)| timer as usize == at));
    }
}

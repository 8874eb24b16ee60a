//! The end of a job, after its last rank has ended: what ranks have left in the background may still write for a moment.

use std::time::Instant;

use crate::limits::{LEFTOVER_GRACE, QUIET, QUIET_MAX};

/// How far the end has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Drain {
    /// Some ranks have not ended.
    NotYet,
    /// What ranks have left in the background may still write.
    Leftovers {
        /// Until then.
        until: Instant,
    },
    /// All groups have been killed; the rest of their output is taken.
    Quiet {
        /// Until then, if nothing comes.
        until: Instant,
        /// Until then, whatever comes.
        limit: Instant,
    },
    /// Nothing is left to do but to write the output.
    Over,
}

/// What is to be done at a step of the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DrainStep {
    /// Wait on.
    Wait,
    /// Kill what is left of the ranks.
    Kill,
    /// Kill what is left, and take no more output.
    End,
}

/// How it stands with what could still write.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Writers {
    /// Some ranks have not ended.
    pub live: bool,
    /// Nobody can write any more.
    pub closed: bool,
    /// The job has failed.
    pub failed: bool,
    /// Output waits for a reader of `mpirun`'s own, whose pauses are no silence of the writers.
    pub held: bool,
}

impl Drain {
    /// When to look again.
    pub(crate) fn due(self) -> Option<Instant> {
        match self {
            Drain::NotYet | Drain::Over => None,
            Drain::Leftovers { until } | Drain::Quiet { until, .. } => Some(until),
        }
    }

    /// Goes on.
    pub(crate) fn advance(&mut self, now: Instant, writers: Writers) -> DrainStep {
        match *self {
            Drain::Over => DrainStep::Wait,
            Drain::NotYet if writers.live => DrainStep::Wait,
            _ if writers.closed => self.end(),
            Drain::NotYet if writers.failed => self.kill(now),
            Drain::NotYet => {
                *self = Drain::Leftovers { until: now + LEFTOVER_GRACE };
                DrainStep::Wait
            }
            Drain::Leftovers { .. } if writers.held => {
                *self = Drain::Leftovers { until: now + LEFTOVER_GRACE };
                DrainStep::Wait
            }
            Drain::Quiet { .. } if writers.held => {
                *self = Drain::quiet(now);
                DrainStep::Wait
            }
            Drain::Leftovers { until } if now >= until => self.kill(now),
            Drain::Quiet { until, limit } if now >= until.min(limit) => self.end(),
            Drain::Leftovers { .. } | Drain::Quiet { .. } => DrainStep::Wait,
        }
    }

    /// Something has been written.
    pub(crate) fn stay(&mut self) {
        if let Drain::Quiet { limit, .. } = *self {
            *self = Drain::Quiet { until: Instant::now() + QUIET, limit };
        }
    }

    fn kill(&mut self, now: Instant) -> DrainStep {
        *self = Drain::quiet(now);
        DrainStep::Kill
    }

    fn quiet(now: Instant) -> Drain {
        Drain::Quiet { until: now + QUIET, limit: now + QUIET_MAX }
    }

    fn end(&mut self) -> DrainStep {
        *self = Drain::Over;
        DrainStep::End
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: Writers = Writers { live: false, closed: false, failed: false, held: false };
    const LIVE: Writers = Writers { live: true, ..NONE };
    const CLOSED: Writers = Writers { closed: true, ..NONE };
    const FAILED: Writers = Writers { failed: true, ..NONE };
    const HELD: Writers = Writers { held: true, ..NONE };

    #[test]
    fn leftovers_get_a_moment_and_then_none() {
        let (now, mut drain) = (Instant::now(), Drain::NotYet);
        assert_eq!(drain.advance(now, LIVE), DrainStep::Wait);
        assert_eq!(drain, Drain::NotYet);
        assert_eq!(drain.advance(now, NONE), DrainStep::Wait);
        assert_eq!(drain.advance(now, NONE), DrainStep::Wait);
        assert_eq!(drain.advance(now + LEFTOVER_GRACE, NONE), DrainStep::Kill);
        assert_eq!(drain.advance(now + LEFTOVER_GRACE, NONE), DrainStep::Wait);
        assert_eq!(drain.advance(now + LEFTOVER_GRACE + QUIET, NONE), DrainStep::End);
        assert_eq!(drain.advance(now, CLOSED), DrainStep::Wait);
    }

    #[test]
    fn a_failed_job_gets_none_and_a_silent_one_ends_at_once() {
        let (now, mut failed, mut closed) = (Instant::now(), Drain::NotYet, Drain::NotYet);
        assert_eq!(failed.advance(now, FAILED), DrainStep::Kill);
        assert_eq!(closed.advance(now, CLOSED), DrainStep::End);
        assert_eq!((closed, closed.due()), (Drain::Over, None));
    }

    #[test]
    fn the_pauses_of_a_reader_do_not_count() {
        let (now, mut drain) = (Instant::now(), Drain::NotYet);
        drain.advance(now, NONE);
        let later = now + 10 * LEFTOVER_GRACE;
        assert_eq!(drain.advance(later, HELD), DrainStep::Wait);
        assert_eq!(drain.advance(later, NONE), DrainStep::Wait);
        assert_eq!(drain.advance(later + LEFTOVER_GRACE, NONE), DrainStep::Kill);
        let later = later + 10 * QUIET_MAX;
        assert_eq!(drain.advance(later, HELD), DrainStep::Wait);
        assert_eq!(drain.advance(later, NONE), DrainStep::Wait);
        assert_eq!(drain.advance(later + QUIET, NONE), DrainStep::End);
    }
}

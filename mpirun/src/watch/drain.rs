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

impl Drain {
    /// When to look again.
    pub(crate) fn due(self) -> Option<Instant> {
        match self {
            Drain::NotYet | Drain::Over => None,
            Drain::Leftovers { until } | Drain::Quiet { until, .. } => Some(until),
        }
    }

    /// Goes on. `closed` says that nobody can write any more, `failed` that the job has failed.
    pub(crate) fn advance(&mut self, now: Instant, live: bool, closed: bool, failed: bool) -> DrainStep {
        match *self {
            Drain::Over => DrainStep::Wait,
            Drain::NotYet if live => DrainStep::Wait,
            _ if closed => self.end(),
            Drain::NotYet if failed => self.kill(now),
            Drain::NotYet => {
                *self = Drain::Leftovers { until: now + LEFTOVER_GRACE };
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
        *self = Drain::Quiet { until: now + QUIET, limit: now + QUIET_MAX };
        DrainStep::Kill
    }

    fn end(&mut self) -> DrainStep {
        *self = Drain::Over;
        DrainStep::End
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leftovers_get_a_moment_and_then_none() {
        let (now, mut drain) = (Instant::now(), Drain::NotYet);
        assert_eq!(drain.advance(now, true, false, false), DrainStep::Wait);
        assert_eq!(drain, Drain::NotYet);
        assert_eq!(drain.advance(now, false, false, false), DrainStep::Wait);
        assert_eq!(drain.advance(now, false, false, false), DrainStep::Wait);
        assert_eq!(drain.advance(now + LEFTOVER_GRACE, false, false, false), DrainStep::Kill);
        assert_eq!(drain.advance(now + LEFTOVER_GRACE, false, false, false), DrainStep::Wait);
        assert_eq!(drain.advance(now + LEFTOVER_GRACE + QUIET, false, false, false), DrainStep::End);
        assert_eq!(drain.advance(now, false, true, false), DrainStep::Wait);
    }

    #[test]
    fn a_failed_job_gets_none_and_a_silent_one_ends_at_once() {
        let (now, mut failed, mut closed) = (Instant::now(), Drain::NotYet, Drain::NotYet);
        assert_eq!(failed.advance(now, false, false, true), DrainStep::Kill);
        assert_eq!(closed.advance(now, false, true, false), DrainStep::End);
        assert_eq!((closed, closed.due()), (Drain::Over, None));
    }
}

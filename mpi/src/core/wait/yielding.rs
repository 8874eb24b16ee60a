//! Whether to yield before sleeping: what yields have taught.

use crate::limits::*;
use std::time::Duration;
use tern_job::CoreBudget;

/// What yields have taught. They are cheap between ranks that exchange messages: each soon waits in its turn. A program that
/// computes keeps the core for its whole time slice, while the scheduler lets a sleeper that is rung in at once.
///
/// So does a rank that copies much, once. Therefore a single dear yield counts little, and each one after it more, until many
/// cheap ones have come in between.
pub(crate) struct Yielding {
    /// A yield that took longer is dear.
    dear: Duration,
    /// Waits that are still to sleep without a yield.
    waits_without: u32,
    /// How many they will be after the next dear yield.
    penalty: u32,
    /// Yields that go by without a look at the clock.
    yields_untimed: u32,
    /// Cheap ones, of those that were timed, since the penalty has changed.
    cheap: u32,
}

impl Yielding {
    /// Nothing learnt yet.
    pub(crate) const fn new() -> Self {
        Yielding {
            dear: YIELD_DEAR,
            waits_without: 0,
            penalty: WAITS_AFTER_DEAR_YIELD_MIN,
            yields_untimed: 0,
            cheap: 0,
        }
    }

    /// Where ranks share these cores: each of many that share one may have copied much in its turn.
    pub(crate) fn on(cores: &CoreBudget) -> Self {
        let further = cores.ranks_per_core().saturating_sub(YIELD_DEAR_RANKS);
        Yielding { dear: YIELD_DEAR + YIELD_DEAR_PER_RANK * further, ..Yielding::new() }
    }

    /// Whether to yield before sleeping, this time.
    #[inline]
    pub(super) fn is_worth_it(&mut self) -> bool {
        if self.waits_without == 0 {
            return true;
        }
        self.waits_without -= 1;
        false
    }

    /// Whether to look at the clock around the next yield.
    #[inline]
    pub(super) fn is_timed(&mut self) -> bool {
        let timed = self.yields_untimed == 0;
        self.yields_untimed = self.yields_untimed.saturating_sub(1);
        timed
    }

    /// A yield took so long.
    pub(super) fn learn(&mut self, away: Duration) {
        if away > self.dear {
            self.waits_without = self.penalty;
            self.penalty = (self.penalty * WAITS_AFTER_DEAR_YIELD_GROWTH).min(WAITS_AFTER_DEAR_YIELD_MAX);
            self.cheap = 0;
            return;
        }
        if away > YIELD_LONG {
            return;
        }
        self.yields_untimed = YIELDS_UNTIMED;
        self.cheap += 1;
        if self.cheap == CHEAP_YIELDS_TO_TRUST {
            self.penalty = (self.penalty / WAITS_AFTER_DEAR_YIELD_GROWTH).max(WAITS_AFTER_DEAR_YIELD_MIN);
            self.cheap = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Waits that sleep at once after yields of so many milliseconds, where 2 cores have so many ranks.
    fn waits_without_yield(ranks: u32, yields_ms: &[u64]) -> u32 {
        let mut yielding = Yielding::on(&CoreBudget { usable: 2, ranks });
        yields_ms.iter().for_each(|ms| yielding.learn(Duration::from_millis(*ms)));
        (0..).take_while(|_| !yielding.is_worth_it()).count() as u32
    }

    #[test]
    fn dear_yields_are_counted_by_how_many_share_the_core() {
        assert_eq!(waits_without_yield(4, &[1]), 0);
        assert_eq!(waits_without_yield(4, &[2]), WAITS_AFTER_DEAR_YIELD_MIN);
        assert_eq!(
            waits_without_yield(4, &[2, 2]),
            WAITS_AFTER_DEAR_YIELD_MIN * WAITS_AFTER_DEAR_YIELD_GROWTH
        );
        assert_eq!(waits_without_yield(16, &[2]), 0);
        assert_eq!(waits_without_yield(16, &[3]), WAITS_AFTER_DEAR_YIELD_MIN);
    }

    #[test]
    fn cheap_yields_restore_the_trust() {
        let cheap = vec![0; CHEAP_YIELDS_TO_TRUST as usize];
        let yields = [&[2, 2], &cheap[..], &[2]].concat();
        assert_eq!(
            waits_without_yield(4, &yields),
            WAITS_AFTER_DEAR_YIELD_MIN * WAITS_AFTER_DEAR_YIELD_GROWTH
        );
    }
}

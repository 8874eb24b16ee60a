//! The faster of two ways to do the same, found by measuring both on the work itself.
//!
//! The way that was slower is tried again now and then, since what was measured may have changed: as often as its loss stays
//! below a sixty-fourth of all the time.

use std::time::Duration;

use crate::limits::{TUNER_LOSS, TUNER_RUNS_MAX, TUNER_RUNS_MIN, TUNER_TRIAL_RUNS};

/// What was measured of two ways. Zeros are nothing.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct TwoWayTuner {
    /// Nanoseconds for each KiB by the first way and by the second; 0 as long as nothing was measured.
    ns: [f32; 2],
    /// The second way counts as faster though it takes so much more of the first one's time.
    favor: f32,
    /// Runs until the slower way is tried again.
    left: u32,
    /// Further runs of the trial that has begun, and its way.
    trial: (u32, bool),
}

impl TwoWayTuner {
    /// The faster way: whether it is known to be the second one.
    pub fn best(&self) -> bool {
        self.ns[1] > 0.0 && self.ns[1] < self.first_ns()
    }

    /// From now on the second way counts as faster even if it takes so much more of the first one's time: 0.3 is 1.3 of it.
    pub fn favor_second(&mut self, favor: f32) {
        self.favor = favor;
    }

    /// What the second way is compared with.
    fn first_ns(&self) -> f32 {
        self.ns[0] * (1.0 + self.favor)
    }

    /// The way to go now: whether it is the second one, which is `guess` as long as nothing is known. A way of which nothing is
    /// known comes next; one that is known to be slower only if this run is fit for a trial.
    pub fn next(&mut self, guess: bool, fit: bool) -> bool {
        match self.ns.map(|ns| ns > 0.0) {
            [false, false] => return guess,
            [false, true] => return false,
            [true, false] => return true,
            [true, true] => {}
        }
        if self.trial.0 > 0 && fit {
            self.trial.0 -= 1;
            return self.trial.1;
        }
        // What is known now may be less of a difference than what was known when the last trial began.
        self.left = self.left.saturating_sub(1).min(TUNER_TRIAL_RUNS * self.runs_between_trials());
        if self.left > 0 || !fit {
            return self.best();
        }
        self.left = TUNER_TRIAL_RUNS * self.runs_between_trials();
        self.trial = (TUNER_TRIAL_RUNS - 1, !self.best());
        self.trial.1
    }

    fn runs_between_trials(&self) -> u32 {
        let ways = [self.first_ns(), self.ns[1]];
        let [fast, slow] = if self.best() { [ways[1], ways[0]] } else { ways };
        let loss = (slow / fast - 1.0) * TUNER_LOSS;
        (loss as u32).clamp(TUNER_RUNS_MIN, TUNER_RUNS_MAX)
    }

    /// So many bytes took this time by the second way or by the first. A shorter time counts at once; a longer one, which may be an
    /// interruption, by an eighth and as four times what was known at most.
    pub fn note(&mut self, second: bool, bytes: u64, time: Duration) {
        let known = &mut self.ns[usize::from(second)];
        let new = (time.as_nanos() as f32 * 1024.0 / bytes.max(1) as f32).max(f32::MIN_POSITIVE);
        *known = match *known {
            old if old > 0.0 && new > old => old + (new.min(4.0 * old) - old) / 8.0,
            _ => new,
        };
    }
}

#[cfg(test)]
impl TwoWayTuner {
    /// Whether both ways were measured.
    pub(crate) fn is_known(&self) -> bool {
        self.ns.iter().all(|ns| *ns > 0.0)
    }

    /// One of which only the second way, or only the first, was measured.
    pub(crate) fn measured(second: bool) -> TwoWayTuner {
        let mut tuner = TwoWayTuner::default();
        tuner.note(second, 1024, Duration::from_nanos(60));
        tuner
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Makes so many runs at these paces in ns for each KiB; how many of the last half went the second way.
    fn run(tuner: &mut TwoWayTuner, runs: u32, first_ns: u64, second_ns: u64) -> u32 {
        let mut seconds = 0;
        for at in 0..runs {
            let second = tuner.next(false, true);
            let ns = if second { second_ns } else { first_ns };
            tuner.note(second, 1024, Duration::from_nanos(ns));
            seconds += u32::from(second && at >= runs / 2);
        }
        seconds
    }

    #[test]
    fn the_faster_way_is_taken_and_the_other_one_tried_so_that_it_costs_little() {
        for slow in [40, 60, 300] {
            let mut tuner = TwoWayTuner::default();
            assert!(run(&mut tuner, 4000, slow, 30) > 1700);
            let mut tuner = TwoWayTuner::default();
            let tries = run(&mut tuner, 4000, 30, slow);
            let lost = tries * (slow as u32 - 30);
            assert!((1..=250).contains(&tries) && lost <= 2000 * 30 / 16, "{slow}: {tries} trials");
        }
    }

    #[test]
    fn a_way_may_be_favored() {
        for (second_ns, is_taken) in [(35, true), (45, false)] {
            let mut tuner = TwoWayTuner::default();
            tuner.favor_second(0.3);
            let seconds = run(&mut tuner, 4000, 30, second_ns);
            assert_eq!(seconds > 1700, is_taken, "{second_ns}: {seconds}");
            assert_eq!(seconds < 300, !is_taken, "{second_ns}: {seconds}");
        }
    }

    #[test]
    fn a_first_run_that_was_slow_does_not_put_off_the_next_trial() {
        let mut tuner = TwoWayTuner::default();
        for (second, ns) in [(true, 600), (false, 30), (true, 40)] {
            tuner.next(second, true);
            tuner.note(second, 1024, Duration::from_nanos(ns));
        }
        let until = (0..).take_while(|_| !tuner.next(false, true)).count();
        assert!(until < 100, "{until} runs");
    }

    #[test]
    fn a_change_is_found_out() {
        let mut tuner = TwoWayTuner::default();
        run(&mut tuner, 1000, 60, 30);
        assert!(run(&mut tuner, 100, 60, 200) < 10, "what is used is measured all the time");
        assert!(run(&mut tuner, 1000, 60, 30) > 400, "what is not used is tried");
    }

    #[test]
    fn a_way_whose_first_run_is_slow_is_found_out_to_be_faster() {
        let (mut tuner, mut last, mut seconds) = (TwoWayTuner::default(), false, 0);
        for _ in 0..4000 {
            let second = tuner.next(false, true);
            let ns = match (second, last) {
                (true, true) => 30,
                (true, false) => 500,
                _ => 60,
            };
            tuner.note(second, 1024, Duration::from_nanos(ns));
            last = second;
            seconds += u32::from(second);
        }
        assert!(seconds > 3000, "{seconds}");
    }

    #[test]
    fn one_interruption_changes_nothing() {
        let mut tuner = TwoWayTuner::default();
        run(&mut tuner, 100, 60, 30);
        tuner.note(true, 1024, Duration::from_millis(5));
        assert!(tuner.best());
    }

    #[test]
    fn each_way_is_tried_once_even_if_nothing_is_fit_for_a_trial() {
        for guess in [false, true] {
            let mut tuner = TwoWayTuner::default();
            for way in [guess, !guess] {
                assert_eq!(tuner.next(guess, false), way);
                tuner.note(way, 1024, Duration::from_nanos(if way { 60 } else { 30 }));
            }
            assert!((0..1000).all(|_| !tuner.next(guess, false)));
        }
    }
}

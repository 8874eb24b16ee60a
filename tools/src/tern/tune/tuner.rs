//! Measures one collective on one number of ranks.
//!
//! All candidates are measured one after the other, then all again: what disturbs the machine for a while disturbs all of
//! them. What is there without a table is measured before and after them, and the faster time counts, so that chance
//! speaks for leaving things as they are. What is far slower at a size is not measured there again.

use std::cell::RefCell;
use std::collections::HashMap;

use tern_coll::table::NumberRange;
use tern_coll::{Choice, Collective, TableRow};

use super::decide::{self, Times, Winner};
use super::grid::Effort;
use super::jobs::{CollectiveRun, Jobs, MeasuredTime, row_for_all};
use super::progress::JobProgress;

/// What takes so many times as long in the first repetition is given up.
const HOPELESS: f64 = 1.5;

/// One number of ranks, and those that its rows are for.
#[derive(Clone, Copy, Debug)]
pub(super) struct RankRange {
    /// As many are measured.
    pub measured: u32,
    /// The rows are for these.
    pub bounds: NumberRange,
}

/// Times by size.
type TimesOf = HashMap<u64, Times>;

/// Something that is tried.
struct TriedChoice {
    choice: Choice,
    sizes: Vec<u64>,
    times: TimesOf,
}

/// Measures collectives.
pub(super) struct CollectiveTuner<'a> {
    /// Runs jobs.
    pub jobs: &'a Jobs,
    /// How thorough to be.
    pub effort: Effort,
    /// Where it is shown.
    pub progress: &'a JobProgress,
    /// How far apart two measurements of the same thing were, as ratios above 1.
    pub scatter: RefCell<Vec<f64>>,
}

impl CollectiveTuner<'_> {
    /// The rows of a collective for so many ranks.
    pub(super) fn tune(
        &self,
        collective: Collective,
        ranks: RankRange,
    ) -> Result<Vec<(TableRow, Vec<Winner>)>, String> {
        let mut trial = Trial::new(self, collective, ranks.measured);
        for repetition in 0..self.effort.repetitions {
            trial.measure(repetition)?;
        }
        let found = trial.winners();
        let rows = decide::rows(collective, ranks.bounds, &trial.sizes, &found);
        let confirmed = trial.confirm(&rows, found)?;
        Ok(decide::rows(collective, ranks.bounds, &trial.sizes, &confirmed))
    }
}

/// One collective on one number of ranks.
struct Trial<'t> {
    tuner: &'t CollectiveTuner<'t>,
    collective: Collective,
    ranks: u32,
    sizes: Vec<u64>,
    without: TimesOf,
    candidates: Vec<TriedChoice>,
}

impl<'t> Trial<'t> {
    fn new(tuner: &'t CollectiveTuner<'t>, collective: Collective, ranks: u32) -> Self {
        let sizes = tuner.effort.sizes_of(collective, ranks);
        let tried = |(choice, least): (Choice, u64)| TriedChoice {
            choice,
            sizes: sizes.iter().copied().filter(|bytes| *bytes >= least).collect(),
            times: TimesOf::new(),
        };
        let candidates = tuner.effort.candidates(collective, ranks).into_iter().map(tried).collect();
        Trial { tuner, collective, ranks, sizes, without: TimesOf::new(), candidates }
    }

    /// Measures everything once.
    fn measure(&mut self, repetition: usize) -> Result<(), String> {
        let before = self.run(&self.sizes, &[])?;
        let number = self.candidates.len();
        for index in 0..number {
            // Each has another neighbor before it every time.
            let index = (index + repetition) % number;
            let candidate = &self.candidates[index];
            let taken = self.run(&candidate.sizes, &[row_for_all(self.collective, candidate.choice)])?;
            let candidate = &mut self.candidates[index];
            taken.put_into(&mut candidate.times);
        }
        let after = self.run(&self.sizes, &[])?;
        self.tuner.scatter.borrow_mut().extend(before.ratios(&after));
        before.or_less(after).put_into(&mut self.without);
        if repetition == 0 {
            self.candidates.iter_mut().for_each(|candidate| candidate.give_up_hopeless(&self.without));
        }
        Ok(())
    }

    fn winners(&self) -> Vec<Winner> {
        let tried = |bytes: &u64| {
            let times =
                |candidate: &TriedChoice| Some((candidate.choice, candidate.times.get(bytes)?.clone()));
            self.candidates.iter().filter_map(times).collect::<Vec<_>>()
        };
        let winner = |bytes: &u64| decide::best(*bytes, self.without.get(bytes)?, &tried(bytes));
        self.sizes.iter().filter_map(winner).collect()
    }

    /// Measures the winners again, against what is there without a table; those that win again stay.
    fn confirm(&self, rows: &[(TableRow, Vec<Winner>)], found: Vec<Winner>) -> Result<Vec<Winner>, String> {
        let sizes: Vec<u64> = found.iter().map(|winner| winner.bytes).collect();
        let rows: Vec<TableRow> = rows.iter().map(|(row, _)| *row).collect();
        if sizes.is_empty() {
            return Ok(found);
        }
        let (mut without, mut with) = (TimesOf::new(), TimesOf::new());
        let repetitions = self.tuner.effort.repetitions;
        for _ in 0..repetitions {
            let before = self.run(&sizes, &[])?;
            self.run(&sizes, &rows)?.put_into(&mut with);
            before.or_less(self.run(&sizes, &[])?).put_into(&mut without);
        }
        let again = |winner: &Winner| {
            let (without, with) = (without.get(&winner.bytes)?, with.get(&winner.bytes)?);
            let (before_s, after_s) = (decide::median(without.clone()), decide::median(with.clone()));
            decide::is_confirmed(without, with).then_some(Winner { before_s, after_s, ..*winner })
        };
        Ok(found.iter().filter_map(again).collect())
    }

    fn run(&self, sizes: &[u64], rows: &[TableRow]) -> Result<RunTimes, String> {
        let what = rows.first().map_or("without a table", |row| row.choice.algorithm.name());
        self.tuner.progress.step(&format!("{}, {} ranks, {what}", self.collective, self.ranks));
        if sizes.is_empty() {
            return Ok(RunTimes(vec![]));
        }
        let point_s = self.tuner.effort.point_s;
        let run = CollectiveRun {
            collective: self.collective,
            ranks: self.ranks,
            sizes: sizes.into(),
            point_s,
            bound: false,
        };
        self.tuner.jobs.collective(&run, rows).map(RunTimes)
    }
}

impl TriedChoice {
    /// Leaves out the sizes at which the first repetition took far longer than without a table.
    fn give_up_hopeless(&mut self, without: &TimesOf) {
        let first = |times: &TimesOf, bytes: u64| times.get(&bytes).and_then(|times| times.first().copied());
        let times = &self.times;
        self.sizes.retain(|bytes| match (first(times, *bytes), first(without, *bytes)) {
            (Some(time), Some(without)) => time <= HOPELESS * without,
            _ => false,
        });
    }
}

/// What one run has measured.
struct RunTimes(Vec<MeasuredTime>);

impl RunTimes {
    /// The less of two runs over the same sizes.
    fn or_less(self, other: RunTimes) -> RunTimes {
        let less = |(one, two): (MeasuredTime, MeasuredTime)| if two.median < one.median { two } else { one };
        RunTimes(self.0.into_iter().zip(other.0).map(less).collect())
    }

    /// How far apart two runs over the same sizes are.
    fn ratios(&self, other: &RunTimes) -> impl Iterator<Item = f64> {
        let ratio = |(one, two): (&MeasuredTime, &MeasuredTime)| {
            (one.median / two.median).max(two.median / one.median)
        };
        self.0.iter().zip(&other.0).map(ratio)
    }

    fn put_into(self, times: &mut TimesOf) {
        self.0.into_iter().for_each(|time| times.entry(time.bytes).or_default().push(time.median));
    }
}

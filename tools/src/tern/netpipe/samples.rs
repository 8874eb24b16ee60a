//! What jobs have measured, over sizes and over trials.

use std::collections::BTreeMap;

use super::limits::{STEADY_SPREAD, STEADY_TRIALS};

/// One line of a job's output.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct OutputSample {
    /// What was measured.
    pub metric: String,
    /// Of so many bytes.
    pub bytes: u64,
    /// The fastest batch of the run, seconds.
    pub best_s: f64,
    /// The middle one.
    pub median_s: f64,
}

impl OutputSample {
    /// `result METRIC BYTES BEST MEDIAN`, as `print_result` in `bench/measure.h` writes it.
    pub(super) fn parse(line: &str) -> Option<OutputSample> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let &["result", metric, bytes, best, median] = words.as_slice() else { return None };
        let seconds = |word: &str| word.parse().ok().filter(|time: &f64| time.is_finite() && *time > 0.0);
        let (best_s, median_s) = (seconds(best)?, seconds(median)?);
        Some(OutputSample { metric: metric.into(), bytes: bytes.parse().ok()?, best_s, median_s })
    }
}

/// One size, over all trials.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct SizeSamples {
    /// The fastest batch of all trials, seconds.
    pub best_s: f64,
    /// The median of the trials' medians.
    pub median_s: f64,
    /// How many trials there were.
    pub trials: usize,
    /// By what part the slowest of the best three trials is slower than the fastest; `None` of fewer.
    pub spread: Option<f64>,
}

impl SizeSamples {
    /// Whether further trials would show the same: what disturbs a machine makes it slower, so the fastest times of a few trials
    /// are alike when nothing has disturbed them.
    pub(super) fn is_steady(&self) -> bool {
        self.spread.is_some_and(|spread| spread <= STEADY_SPREAD)
    }
}

/// A metric of one system, over sizes.
#[derive(Clone, Debug)]
pub(super) struct MetricCurve {
    /// The system.
    pub system: String,
    /// What else tells this curve from others of the system: a threshold, a number of hosts.
    pub parameter: u64,
    /// What was measured.
    pub metric: String,
    readings: BTreeMap<u64, Vec<OutputSample>>,
}

impl MetricCurve {
    /// Without any point.
    pub(super) fn new(system: &str, parameter: u64, metric: &str) -> MetricCurve {
        MetricCurve { system: system.into(), parameter, metric: metric.into(), readings: BTreeMap::new() }
    }

    /// What one trial has measured at one size.
    pub(super) fn add(&mut self, reading: OutputSample) {
        self.readings.entry(reading.bytes).or_default().push(reading);
    }

    /// One size.
    pub(super) fn at(&self, bytes: u64) -> Option<SizeSamples> {
        self.readings.get(&bytes).map(|readings| summary(readings))
    }

    /// All sizes, ascending.
    pub(super) fn points(&self) -> impl Iterator<Item = (u64, SizeSamples)> {
        self.readings.iter().map(|(bytes, readings)| (*bytes, summary(readings)))
    }

    /// Bytes a second at one size, at best.
    pub(super) fn throughput(&self, bytes: u64) -> Option<f64> {
        self.at(bytes).map(|point| bytes as f64 / point.best_s)
    }

    /// Sizes with their throughputs, at best.
    pub(super) fn throughputs(&self) -> Vec<(u64, f64)> {
        self.points().map(|(bytes, point)| (bytes, bytes as f64 / point.best_s)).collect()
    }
}

fn summary(readings: &[OutputSample]) -> SizeSamples {
    let mut bests: Vec<f64> = readings.iter().map(|reading| reading.best_s).collect();
    bests.sort_unstable_by(f64::total_cmp);
    let best_s = bests.first().copied().unwrap_or(f64::INFINITY);
    let spread = bests.get(STEADY_TRIALS - 1).map(|slower_s| slower_s / best_s - 1.0);
    let median_s = median(readings.iter().map(|reading| reading.median_s).collect());
    SizeSamples { best_s, median_s, trials: readings.len(), spread }
}

/// The middle number; of an even number of them the mean of the two in the middle.
pub(super) fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_unstable_by(f64::total_cmp);
    let (middle, is_odd) = (numbers.len() / 2, numbers.len() % 2 == 1);
    match numbers.len() {
        0 => f64::NAN,
        _ if is_odd => numbers[middle],
        _ => f64::midpoint(numbers[middle - 1], numbers[middle]),
    }
}

/// Finds a system's curve of a metric.
pub(super) fn find<'a>(curves: &'a [MetricCurve], system: &str, metric: &str) -> Option<&'a MetricCurve> {
    curves.iter().find(|curve| curve.system == system && curve.metric == metric)
}

/// The sizes that tables show: without neighbors of others.
pub(super) fn shown(curves: &[MetricCurve]) -> Vec<u64> {
    let mut all: Vec<u64> = curves.iter().flat_map(|curve| curve.points().map(|(bytes, _)| bytes)).collect();
    all.sort_unstable();
    all.dedup();
    let last = all.last().copied();
    all.retain(|bytes| bytes.is_power_of_two() || Some(*bytes) == last && all_but_powers(curves));
    all
}

/// Whether no size is a power of two, so that a table would be empty.
fn all_but_powers(curves: &[MetricCurve]) -> bool {
    curves.iter().all(|curve| curve.points().all(|(bytes, _)| !bytes.is_power_of_two()))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A curve of one trial.
    pub(crate) fn curve(system: &str, parameter: u64, metric: &str, times: &[(u64, f64)]) -> MetricCurve {
        let mut curve = MetricCurve::new(system, parameter, metric);
        for &(bytes, best_s) in times {
            curve.add(OutputSample { metric: metric.into(), bytes, best_s, median_s: best_s });
        }
        curve
    }

    #[test]
    fn results_are_read_and_other_lines_are_not() {
        let reading = OutputSample { metric: "pingpong".into(), bytes: 8, best_s: 1e-6, median_s: 2.5e-6 };
        assert_eq!(OutputSample::parse("result pingpong 8 1e-6 2.5e-6"), Some(reading));
        for line in ["result pingpong eight 1 2", "result pingpong 8 -1 2", "result p 8 nan 1", "hello", ""] {
            assert_eq!(OutputSample::parse(line), None, "{line}");
        }
    }

    #[test]
    fn the_best_of_the_bests_and_the_median_of_the_medians_count() {
        let mut curve = MetricCurve::new("tern", 0, "pingpong");
        for (best_s, median_s) in [(3.0, 5.0), (1.0, 9.0), (2.0, 4.0)] {
            curve.add(OutputSample { metric: "pingpong".into(), bytes: 8, best_s, median_s });
        }
        assert_eq!(
            curve.at(8),
            Some(SizeSamples { best_s: 1.0, median_s: 5.0, trials: 3, spread: Some(2.0) })
        );
        assert_eq!(curve.throughput(8), Some(8.0));
        assert_eq!(curve.at(9), None);
    }

    #[test]
    fn a_figure_is_steady_when_three_trials_agree_whatever_the_others_were() {
        let mut curve = MetricCurve::new("tern", 0, "pingpong");
        let mut is_steady_after = |best_s: f64| {
            curve.add(OutputSample { metric: "pingpong".into(), bytes: 8, best_s, median_s: best_s });
            curve.at(8).is_some_and(|point| point.is_steady())
        };
        assert!(![1.02, 9.0, 1.0, 5.0].map(&mut is_steady_after).contains(&true));
        assert!(is_steady_after(1.025));
        assert!(!is_steady_after(0.9), "what is faster shows that all others were disturbed");
    }

    #[test]
    fn medians() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(vec![4.0, 1.0, 2.0, 3.0]), 2.5);
        assert!(median(vec![]).is_nan());
    }
}

//! Numbers that are measured several times, and the least of each: all that disturbs makes it longer.

use super::jobs::MeasuredTime;
use super::progress::JobProgress;

/// Numbers by name and bytes.
#[derive(Debug, Default)]
pub(crate) struct Least(Vec<MeasuredTime>);

impl Least {
    /// Measures so often, one time after the other.
    pub(crate) fn of(
        progress: &JobProgress,
        what: &str,
        repetitions: u64,
        measure: impl FnMut() -> Result<Vec<MeasuredTime>, String>,
    ) -> Result<Least, String> {
        Least::default().and(progress, what, repetitions, measure)
    }

    /// Measures something else as well.
    pub(crate) fn and(
        mut self,
        progress: &JobProgress,
        what: &str,
        repetitions: u64,
        mut measure: impl FnMut() -> Result<Vec<MeasuredTime>, String>,
    ) -> Result<Least, String> {
        for _ in 0..repetitions {
            progress.step(what);
            measure()?.into_iter().for_each(|time| self.take(time));
        }
        Ok(self)
    }

    /// Another measurement of a number.
    pub(crate) fn take(&mut self, time: MeasuredTime) {
        match self.0.iter_mut().find(|known| known.name == time.name && known.bytes == time.bytes) {
            Some(known) => {
                (known.best, known.median) = (known.best.min(time.best), known.median.min(time.median))
            }
            None => self.0.push(time),
        }
    }

    /// A number in nanoseconds: that of the fastest batch.
    pub(crate) fn ns(&self, name: &str, bytes: u64) -> f64 {
        let found = self.0.iter().find(|known| known.name == name && known.bytes == bytes);
        found.map_or(0.0, |known| known.best * 1e9)
    }

    /// Time of one way, nanoseconds.
    pub(crate) fn one_way(&self, bytes: u64) -> f64 {
        self.ns("round-trip", bytes) / 2.0
    }

    /// The bytes for which there is a number of this name.
    pub(crate) fn sizes<'a>(&'a self, name: &'a str) -> impl Iterator<Item = u64> + 'a {
        self.0.iter().filter(move |time| time.name == name).map(|time| time.bytes)
    }
}

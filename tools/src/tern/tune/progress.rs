//! How far measuring is: a bar with the time that is left, or where nobody watches a line now and then.

use std::cell::Cell;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A bar over jobs.
pub(crate) struct JobProgress {
    bar: ProgressBar,
    watched: bool,
    /// A job is under way: the bar moves when it ends.
    under_way: Cell<bool>,
}

/// How often the bar moves although no job has ended.
const TICK: Duration = Duration::from_millis(200);

impl JobProgress {
    /// A bar of so many jobs.
    pub(crate) fn new(jobs: u64) -> JobProgress {
        let bar = ProgressBar::with_draw_target(Some(jobs), ProgressDrawTarget::stderr());
        let style = ProgressStyle::with_template("{bar:30} {percent:>3} %, {eta} left: {wide_msg}");
        bar.set_style(style.expect("a template of known words"));
        let watched = !bar.is_hidden();
        if watched {
            bar.enable_steady_tick(TICK);
        }
        JobProgress { bar, watched, under_way: Cell::new(false) }
    }

    /// The next job begins, and the one before has ended.
    pub(crate) fn step(&self, what: &str) {
        self.bar.inc(self.under_way.replace(true).into());
        self.bar.set_message(what.to_owned());
    }

    /// So many more jobs are to come.
    pub(crate) fn extend(&self, jobs: u64) {
        self.bar.inc_length(jobs);
    }

    /// So many jobs have ended, or were not needed.
    pub(crate) fn reach(&self, jobs: u64) {
        self.under_way.set(false);
        self.bar.set_position(jobs);
    }

    /// Something worth a line of its own.
    pub(crate) fn say(&self, what: &str) {
        if self.watched {
            self.bar.println(what);
        } else {
            eprintln!("{what}");
        }
    }

    /// All is done.
    pub(crate) fn end(&self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_counts_when_it_has_ended() {
        let progress = JobProgress::new(10);
        let mut seen = Vec::new();
        for job in ["one", "two", "three"] {
            progress.step(job);
            seen.push(progress.bar.position());
        }
        progress.reach(8);
        progress.step("four");
        seen.push(progress.bar.position());
        assert_eq!(seen, [0, 1, 2, 8]);
    }
}

//! How far measuring is: a bar with the time that is left, or where nobody watches a line now and then.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A bar over jobs.
pub struct Progress {
    bar: ProgressBar,
    watched: bool,
}

/// How often the bar moves although no job has ended.
const TICK: Duration = Duration::from_millis(200);

impl Progress {
    /// A bar of so many jobs.
    pub fn new(jobs: u64) -> Progress {
        let bar = ProgressBar::with_draw_target(Some(jobs), ProgressDrawTarget::stderr());
        let style = ProgressStyle::with_template("{bar:30} {percent:>3} %, {eta} left: {wide_msg}");
        bar.set_style(style.expect("a template of known words"));
        let watched = !bar.is_hidden();
        if watched {
            bar.enable_steady_tick(TICK);
        }
        Progress { bar, watched }
    }

    /// The next job begins.
    pub fn step(&self, what: &str) {
        self.bar.set_message(what.to_owned());
        self.bar.inc(1);
    }

    /// There are more jobs than was thought.
    pub fn more(&self, jobs: u64) {
        self.bar.inc_length(jobs);
    }

    /// Something worth a line of its own.
    pub fn say(&self, what: &str) {
        if self.watched {
            self.bar.println(what);
        } else {
            eprintln!("{what}");
        }
    }

    /// All is done.
    pub fn end(&self) {
        self.bar.finish_and_clear();
    }
}

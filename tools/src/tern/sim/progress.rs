//! How far a run is, on a terminal.

use super::units;
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};
use tern_sim::{RunProgress, nanos};

/// How often the line changes: a person reads no faster.
const INTERVAL: Duration = Duration::from_millis(200);

/// One line on standard error that changes, if that is a terminal.
pub(super) struct StatusLine {
    what: String,
    messages: u64,
    begin: Instant,
    shown: Option<Instant>,
    terminal: bool,
}

impl StatusLine {
    /// For a run that is going to send about so many messages.
    pub(super) fn new(what: String, messages: u64) -> StatusLine {
        let terminal = std::io::stderr().is_terminal();
        StatusLine { what, messages, begin: Instant::now(), shown: None, terminal }
    }

    /// Shows how far the run is, if it is time.
    pub(super) fn show(&mut self, progress: &RunProgress) {
        let now = Instant::now();
        if !self.terminal || now - self.shown.unwrap_or(self.begin) < INTERVAL {
            return;
        }
        self.shown = Some(now);
        eprint!("\r\x1b[K{}", self.text(progress, now - self.begin));
        let _ = std::io::stderr().flush();
    }

    fn text(&self, progress: &RunProgress, elapsed: Duration) -> String {
        let part = 100.0 * progress.messages as f64 / self.messages.max(1) as f64;
        let rate = progress.events as f64 / elapsed.as_secs_f64().max(1e-9) / 1e6;
        let time = units::time(nanos(progress.time));
        format!("{}: {:.0} %, {rate:.1} M events/s, {time} of virtual time", self.what, part.min(99.0))
    }

    /// Takes the line away.
    pub(super) fn clear(&self) {
        if self.shown.is_some() {
            eprint!("\r\x1b[K");
        }
    }

    /// Since the run began.
    pub(super) fn elapsed(&self) -> Duration {
        self.begin.elapsed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_says_how_far() {
        let line = StatusLine::new("bcast".into(), 1000);
        let progress = RunProgress { time: 2_500_000, events: 3_000_000, messages: 250, finished: 0 };
        let text = line.text(&progress, Duration::from_secs(2));
        assert_eq!(text, "bcast: 25 %, 1.5 M events/s, 2.50 us of virtual time");
    }
}

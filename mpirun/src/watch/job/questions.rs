//! Questions to all hosts: where their ranks stand, and whether they wait for one that will never come.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use super::JobSupervisor;
use crate::limits::{MISSED_MIN, REPORT_MAX};
use crate::tree::messages::Down;
use crate::watch::deserted::Stalled;
use crate::watch::exit_cause::ExitCause;
use crate::watch::report::{self, Standing};

/// A question to all hosts where their ranks stand.
pub(super) struct Asking {
    /// Hosts that have not answered.
    pub(super) missing: BTreeSet<u32>,
    pub(super) ranks: Vec<(u32, Standing)>,
    pub(super) until: Instant,
    /// The job's time is up: it ends with the answer.
    pub(super) timeout: bool,
}

/// A question to all hosts whether their ranks wait for one that was never in MPI, or that has begun to end. A rank that is found to
/// have waited for longer than the answers are apart has waited when the others were found to: nobody was there to wake it.
pub(super) struct Looking {
    /// Hosts that have not answered.
    pub(super) missing: BTreeSet<u32>,
    /// So far all wait.
    pub(super) all: bool,
    pub(super) missed: Option<u32>,
    /// So far all sleep for good, in these calls.
    pub(super) stalled: Option<Stalled>,
    /// When they were asked.
    pub(super) since: Instant,
}

impl JobSupervisor {
    /// Asks all hosts; what they say is printed when all have answered, or after a while.
    pub(super) fn ask(&mut self, timeout: bool) {
        let until = Instant::now() + REPORT_MAX;
        self.asking = Some(Asking { missing: self.all_hosts(), ranks: Vec::new(), until, timeout });
        self.node.obey(Down::Report);
        self.take_events();
    }

    /// All hosts on which something may be left.
    pub(super) fn all_hosts(&self) -> BTreeSet<u32> {
        self.far.iter().copied().chain(self.node.plan.here).collect()
    }

    /// Asks all hosts whether their ranks wait, unless they have been asked and some have not answered.
    pub(super) fn look(&mut self) {
        if self.looking.is_none() {
            let (missing, stalled) = (self.all_hosts(), Some(Stalled::default()));
            self.looking = Some(Looking { missing, all: true, missed: None, stalled, since: Instant::now() });
            self.node.obey(Down::Look);
            self.take_events();
        }
    }

    pub(super) fn on_waits(&mut self, host: u32, all: bool, missed: Option<u32>, stalled: Option<Stalled>) {
        let Some(looking) = &mut self.looking else { return };
        if looking.missing.remove(&host) {
            looking.stalled = looking.stalled.take().zip(stalled).map(|(these, those)| these.and(those));
            looking.all &= all;
            looking.missed = looking.missed.or(missed);
        }
        self.judge();
    }

    /// Once all have answered, the job ends if all wait for a rank that was never in MPI, or for one that has begun to end. Of a host
    /// where nothing is left, the end of its ranks is all that there is to know.
    pub(super) fn judge(&mut self) {
        let Some(looking) = self.looking.take_if(|looking| looking.missing.is_empty()) else { return };
        let hosts = self.all_hosts();
        let is_gone = |rank: &&u32| !hosts.contains(&self.node.plan.places.host_of(**rank));
        let missed = looking.missed.or_else(|| self.absent.iter().find(is_gone).copied());
        if let Some(rank) = missed.filter(|_| looking.all) {
            self.fail(ExitCause::Missed { rank });
        } else if looking.since.elapsed() < MISSED_MIN
            && let Some(deserted) = looking.stalled.and_then(Stalled::deserted)
        {
            // Who had slept for as long when it was asked, sleeps since before any other was asked: the answers are of one moment.
            self.fail(ExitCause::Deserted(deserted));
        }
    }

    pub(super) fn on_standings(&mut self, host: u32, ranks: Vec<(u32, Standing)>) {
        let Some(asking) = &mut self.asking else { return };
        if asking.missing.remove(&host) {
            asking.ranks.extend(ranks);
        }
        if asking.missing.is_empty() {
            self.report();
        }
    }

    pub(super) fn report(&mut self) {
        let Some(mut asking) = self.asking.take() else { return };
        asking.ranks.sort_unstable_by_key(|(rank, _)| *rank);
        let elapsed = self.started.elapsed().as_secs_f64();
        let who = match asking.ranks.len() {
            1 => "the rank stands".into(),
            count => format!("the {count} ranks stand"),
        };
        self.outputs.say(&format!("after {elapsed:.1} s {who} here:"));
        let hints = report::hints(&asking.ranks);
        for line in report::lines(asking.ranks).into_iter().chain(hints) {
            self.outputs.say(&format!("  {line}"));
        }
        let unstarted = self.unstarted();
        for host in &asking.missing {
            let what = if unstarted.contains(host) { "has not started its ranks" } else { "does not answer" };
            self.outputs.say(&format!("  host {} {what}", self.names[*host as usize]));
        }
        if asking.timeout && self.live > 0 {
            let time = self.node.plan.settings.timeout.unwrap_or(Duration::ZERO);
            self.fail(ExitCause::Timeout(time));
        }
    }
}

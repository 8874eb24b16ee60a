//! The one loop that sees a job through: output, input, signals, ends of ranks, and the clock.

use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Signal, getpid, kill_process};
use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGUSR1};
use tern_runtime::now_ns;

use crate::feed::Feed;
use crate::guard::Guard;
use crate::hosts::own_name;
use crate::limits::{INTERRUPT_TWICE, LEFTOVER_GRACE, QUIET, QUIET_MAX, TERM_GRACE};
use crate::outputs::Outputs;
use crate::plan::Plan;
use crate::poller::{Poller, Token};
use crate::report::{self, Subject};
use crate::share::Share;
use crate::signals::Signals;
use crate::spawn::{self, Rank};
use crate::topology::Binding;
use crate::verdict::{Cause, Refusal, signal_name};

/// Runs a job and returns the exit status.
pub fn run(plan: Plan) -> Result<u8, Refusal> {
    let started = Instant::now();
    let signals = Signals::catch()?;
    let share = Share::new(plan.size())?;
    let binding = Binding::new(plan.settings.bind)?;
    let ranks = spawn::start(&plan, &share, &binding)?;
    let guard = Guard::post(ranks.iter().map(Rank::group));
    let mut overseer = Overseer::new(plan, share, ranks, signals, started)?;
    overseer.introduce(&binding, guard.as_ref().err());
    let status = overseer.watch();
    overseer.disband(guard.ok());
    Ok(status)
}

struct Overseer {
    plan: Plan,
    share: Share,
    ranks: Vec<Rank>,
    signals: Signals,
    poller: Poller,
    outputs: Outputs,
    feed: Option<Feed>,
    started: Instant,
    /// Ranks that have not ended.
    live: usize,
    cause: Option<Cause>,
    /// The last signal that was passed on and that usually ends programs, and when.
    forwarded: Option<(i32, Instant)>,
    /// When `--timeout` strikes.
    deadline: Option<Instant>,
    /// When those that a SIGTERM did not end are killed.
    kill_at: Option<Instant>,
    ending: Ending,
}

/// The end of a job, after its last rank has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    /// Some ranks have not ended.
    NotYet,
    /// What ranks have left in the background may still write.
    Leftovers {
        until: Instant,
    },
    /// All groups have been killed; the rest of their output is taken.
    Quiet {
        until: Instant,
        limit: Instant,
    },
    Over,
}

impl Overseer {
    fn new(
        plan: Plan,
        share: Share,
        mut ranks: Vec<Rank>,
        signals: Signals,
        started: Instant,
    ) -> Result<Overseer, Refusal> {
        let poller = Poller::new()?;
        let pipes: Vec<_> = ranks.iter_mut().filter_map(|rank| rank.outputs.take()).collect();
        let wait = || -> Result<Outputs, Errno> {
            poller.add_reader(signals.fd(), Token::Signals)?;
            poller.add_reader(share.notices_fd(), Token::Notices)?;
            for (number, rank) in ranks.iter().enumerate() {
                poller.add_reader(&rank.process, Token::Process(number as u32))?;
            }
            Outputs::new(pipes.into_iter(), plan.settings.tag_output, &poller)
        };
        let outputs = wait().map_err(|error| Refusal::system("cannot wait for the ranks", error))?;
        let inputs: Vec<_> = ranks.iter_mut().filter_map(|rank| rank.input.take()).collect();
        let feed = (!inputs.is_empty()).then(|| Feed::new(inputs.into_iter(), &poller));
        let deadline = plan.settings.timeout.and_then(|time| started.checked_add(time));
        Ok(Overseer {
            live: ranks.len(),
            plan,
            share,
            ranks,
            signals,
            poller,
            outputs,
            feed,
            started,
            cause: None,
            forwarded: None,
            deadline,
            kill_at: None,
            ending: Ending::NotYet,
        })
    }

    /// What is said before anything happens.
    fn introduce(&mut self, binding: &Binding, guard_failure: Option<&std::io::Error>) {
        let settings = &self.plan.settings;
        if settings.verbose && !settings.without_effect.is_empty() {
            self.outputs.say(&format!("without effect: {}", settings.without_effect.join(" ")));
        }
        for (number, rank) in self.ranks.iter().enumerate() {
            if settings.verbose {
                let program = self.plan.app(number as u32).program.to_string_lossy();
                self.outputs.say(&format!("rank {number} is process {} ({program})", rank.pid()));
            }
            if settings.report_bindings {
                self.outputs.say(&format!("rank {number} is {}", binding.describe(number as u32)));
            }
        }
        if let Some(error) = guard_failure {
            self.outputs.say(&format!(
                "the ranks will outlive a kill -9 of mpirun: no guard could be started ({error})"
            ));
        }
    }

    fn watch(&mut self) -> u8 {
        let mut ready = Vec::new();
        loop {
            self.flush();
            if self.ending == Ending::Over && !self.outputs.has_pending() {
                return self.cause.as_ref().map_or(0, Cause::status);
            }
            let now = Instant::now();
            let timeout = self.due().map(|due| due.saturating_duration_since(now));
            self.poller.wait(timeout, &mut ready);
            for token in ready.drain(..) {
                self.handle(token);
            }
            self.tick(Instant::now());
        }
    }

    /// Leaves nothing behind.
    fn disband(&mut self, guard: Option<Guard>) {
        if let Some(guard) = guard {
            guard.dismiss();
        }
        self.ranks.iter_mut().for_each(Rank::reap);
        self.share.free();
    }

    fn handle(&mut self, token: Token) {
        match token {
            Token::Signals => self.on_signals(),
            Token::Notices => self.on_notices(),
            Token::Process(rank) => self.on_end(rank),
            Token::Output(index) => {
                self.outputs.on_stream(index, &self.poller);
                self.stay_quiet_longer();
            }
            // The loop flushes anyway.
            Token::Sink(_) => {}
            Token::Stdin => self.with_feed(Feed::on_stdin),
            Token::Input(index) => self.with_feed(|feed, poller| feed.on_reader(index, poller)),
        }
    }

    fn with_feed(&mut self, act: impl FnOnce(&mut Feed, &Poller)) {
        if let Some(feed) = &mut self.feed {
            act(feed, &self.poller);
        }
    }

    fn flush(&mut self) {
        match self.outputs.flush(&self.poller) {
            Ok(()) => {}
            Err((0, Errno::PIPE)) => self.fail(Cause::OutputClosed),
            Err((0, error)) => self.fail(Cause::OutputFailed(error.to_string())),
            // Nobody reads standard error: there is nobody to tell.
            Err(_) => {}
        }
    }

    // The clock.

    fn due(&self) -> Option<Instant> {
        let ending = match self.ending {
            Ending::NotYet | Ending::Over => None,
            Ending::Leftovers { until } | Ending::Quiet { until, .. } => Some(until),
        };
        let feed = self.feed.as_ref().and_then(Feed::due);
        [self.deadline, self.kill_at, ending, feed, self.outputs.due()].into_iter().flatten().min()
    }

    fn tick(&mut self, now: Instant) {
        self.outputs.tick(now);
        self.with_feed(|feed, poller| feed.tick(now, poller));
        if self.deadline.is_some_and(|deadline| now >= deadline) {
            self.deadline = None;
            self.on_timeout();
        }
        if self.kill_at.is_some_and(|time| now >= time) {
            self.kill_at = None;
            self.signal_all(Signal::KILL);
        }
        self.advance_ending(now);
    }

    fn on_timeout(&mut self) {
        if self.live > 0 && self.cause.is_none() {
            self.report();
            self.fail(Cause::Timeout(self.plan.settings.timeout.unwrap_or(Duration::ZERO)));
        }
    }

    // Ends.

    fn on_notices(&mut self) {
        while let Some(notice) = self.share.next_notice() {
            if (notice.rank as usize) < self.ranks.len() {
                let message = notice.message.trim_end().to_owned();
                self.fail(Cause::Abort { rank: notice.rank, code: notice.code, message });
            }
        }
    }

    fn on_end(&mut self, number: u32) {
        let rank = &mut self.ranks[number as usize];
        let Some(end) = rank.look_for_end() else { return };
        self.poller.remove(&rank.process);
        self.live -= 1;
        self.outputs.drain_rank(number, &self.poller);
        // A rank that aborts says so before it ends.
        self.on_notices();
        let forwarded = self.forwarded.map(|(signal, _)| signal);
        if let Some(cause) = Cause::of_end(number, end, self.share.record(number).state(), forwarded) {
            self.fail(cause);
        }
    }

    /// The first failure decides how the job ends.
    fn fail(&mut self, cause: Cause) {
        if self.cause.is_some() {
            return;
        }
        let who = cause.rank().map(|rank| self.describe(rank)).unwrap_or_default();
        if let Some(message) = cause.message(&who, self.live > 0) {
            self.outputs.say(&message);
        }
        self.cause = Some(cause);
        if self.live > 0 {
            self.signal_all(Signal::TERM);
            self.kill_at = Some(Instant::now() + TERM_GRACE);
        }
    }

    fn describe(&self, rank: u32) -> String {
        let program = self.plan.app(rank).program.to_string_lossy();
        format!("rank {rank} ({program}, process {} on {})", self.ranks[rank as usize].pid(), own_name())
    }

    fn signal_all(&self, signal: Signal) {
        self.ranks.iter().for_each(|rank| rank.signal(signal));
    }

    fn advance_ending(&mut self, now: Instant) {
        match self.ending {
            Ending::NotYet if self.live > 0 => {}
            Ending::NotYet if self.outputs.are_closed() => self.end(),
            Ending::NotYet if self.cause.is_some() => self.kill_leftovers(now),
            Ending::NotYet => self.ending = Ending::Leftovers { until: now + LEFTOVER_GRACE },
            Ending::Leftovers { .. } | Ending::Quiet { .. } if self.outputs.are_closed() => self.end(),
            Ending::Leftovers { until } if now >= until => self.kill_leftovers(now),
            Ending::Quiet { until, limit } if now >= until.min(limit) => self.end(),
            Ending::Leftovers { .. } | Ending::Quiet { .. } | Ending::Over => {}
        }
    }

    fn kill_leftovers(&mut self, now: Instant) {
        self.signal_all(Signal::KILL);
        self.ending = Ending::Quiet { until: now + QUIET, limit: now + QUIET_MAX };
    }

    fn stay_quiet_longer(&mut self) {
        if let Ending::Quiet { limit, .. } = self.ending {
            self.ending = Ending::Quiet { until: Instant::now() + QUIET, limit };
        }
    }

    fn end(&mut self) {
        self.signal_all(Signal::KILL);
        self.outputs.close_all(&self.poller);
        (self.deadline, self.kill_at) = (None, None);
        self.ending = Ending::Over;
    }

    // Signals.

    fn on_signals(&mut self) {
        for signal in self.signals.arrived() {
            match signal {
                SIGUSR1 => self.report(),
                SIGTSTP => self.stop(),
                SIGCONT => self.signal_all(Signal::CONT),
                SIGHUP | SIGINT | SIGQUIT | SIGTERM => self.interrupt(signal),
                _ => self.forward(signal),
            }
        }
    }

    fn forward(&self, signal: i32) {
        if let Some(signal) = Signal::from_named_raw(signal) {
            self.signal_all(signal);
        }
    }

    /// The first time the ranks decide what to do; the second time they are killed.
    fn interrupt(&mut self, signal: i32) {
        let again = self.forwarded.is_some_and(|(_, when)| when.elapsed() < INTERRUPT_TWICE);
        if self.ending == Ending::Over {
            // Only a reader that does not read keeps mpirun here.
            std::process::exit(128 + signal);
        }
        if again {
            self.outputs.say(&format!("{} again: all ranks are killed", signal_name(signal)));
            self.cause.get_or_insert(Cause::Interrupted { signal });
            self.signal_all(Signal::KILL);
        } else {
            self.forward(signal);
        }
        self.forwarded = Some((signal, Instant::now()));
    }

    /// Stops the ranks, then `mpirun` itself, as the shell expects.
    fn stop(&self) {
        self.signal_all(Signal::TSTP);
        let _ = kill_process(getpid(), Signal::STOP);
    }

    fn report(&mut self) {
        let subject = |(number, rank): (usize, &Rank)| Subject {
            record: self.share.record(number as u32),
            pid: rank.pid(),
            end: rank.end,
        };
        let subjects: Vec<_> = self.ranks.iter().enumerate().map(subject).collect();
        let elapsed = self.started.elapsed().as_secs_f64();
        self.outputs.say(&format!("after {elapsed:.1} s the {} ranks stand here:", subjects.len()));
        for line in report::lines(&subjects, now_ns()) {
            self.outputs.say(&format!("  {line}"));
        }
    }
}

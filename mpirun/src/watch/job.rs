//! The one loop that sees a job through: output, input, signals, ends of ranks, and the clock.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Signal, getpid, kill_process};
use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGUSR1};
use tern_job::job::fresh_secret;
use tern_job::status_page::RankState;

use crate::launch::environment;
use crate::launch::spawn::{self, Feeding};
use crate::launch::watchdog::Watchdog;
use crate::limits::{
    ABANDON_GRACE, BEAT, DESERTED_ASK, DESERTED_LOOK, INTERRUPT_ECHO, INTERRUPT_NOTICE, INTERRUPT_TWICE,
    MISSED_LOOK, REPORT_MAX, TERM_GRACE,
};
use crate::output::outputs::{Outputs, Places};
use crate::output::stdin::Feed;
use crate::output::streams::LineSink;
use crate::plan::Plan;
use crate::plan::hosts::own_name;
use crate::poller::{Poller, Token};
use crate::tree::children::Children;
use crate::tree::messages::{Down, Orders, Up};
use crate::watch::deserted::Stalled;
use crate::watch::drain::{Drain, Step};
use crate::watch::exit_cause::{Cause, End, Refusal, signal_name};
use crate::watch::node::NodeSupervisor;
use crate::watch::report::{self, Standing};
use crate::watch::signals::Signals;

/// Runs a job and returns the exit status.
pub fn run(mut plan: Plan) -> Result<u8, Refusal> {
    let started = Instant::now();
    let signals = Signals::catch()?;
    let (map, allocation) = (plan.describe_map(), plan.describe_allocation());
    let names = std::mem::take(&mut plan.hosts);
    let places = Places { names: names.clone(), map: plan.places.clone() };
    let mut outputs = Outputs::new(plan.settings.output.clone(), places);
    let settings = &plan.settings;
    let lists = [(settings.show_allocation, allocation), (settings.show_map || settings.dry_run, map)];
    let shown = lists.into_iter().filter(|(shown, _)| *shown).flat_map(|(_, lines)| lines);
    shown.for_each(|line| outputs.say(&line));
    if settings.dry_run {
        outputs.flush_at_once();
        return Ok(0);
    }
    let node = start(plan, &names, outputs.is_interactive())?;
    let mut supervisor = JobSupervisor::new(node, names, outputs, signals, started)?;
    let status = supervisor.watch();
    if status.is_err() {
        // Without waiting, nothing can be seen of the job any more.
        supervisor.signal_all(Signal::KILL);
        let _ = supervisor.outputs.flush(&supervisor.node.poller);
    }
    supervisor.node.disband();
    status
}

/// Starts the agents of the other hosts, then this host's ranks.
fn start(plan: Plan, names: &[String], interactive: bool) -> Result<NodeSupervisor, Refusal> {
    let secret = fresh_secret().map_err(|error| Refusal::system("cannot make the job's secret", error))?;
    let poller = Poller::new()?;
    let far: Vec<(u32, String)> =
        (0..).zip(names.iter().cloned()).filter(|(host, _)| Some(*host) != plan.here).collect();
    let mut watchdog = Watchdog::post();
    let (mut children, losses) = if far.is_empty() {
        (Children::default(), Vec::new())
    } else {
        let orders = Orders::new(&plan, secret, interactive, environment::forwarded());
        Children::start(&orders, &far, plan.tree(), &poller, &mut watchdog)
    };
    let (ranks, share, binding) = match spawn::start(&plan, &secret, Feeding::of(&plan), &mut watchdog) {
        Ok(started) => started,
        Err(refusal) => {
            children.end(&poller);
            watchdog.into_iter().for_each(Watchdog::dismiss);
            return Err(refusal);
        }
    };
    let mut node = NodeSupervisor::new(plan, share, ranks, poller, interactive)?;
    node.introduce(&binding);
    node.keep_watchdog(watchdog);
    node.set_children(children, losses, true);
    node.catch_up();
    Ok(node)
}

struct JobSupervisor {
    node: NodeSupervisor,
    /// Names of the hosts.
    names: Vec<String>,
    signals: Signals,
    outputs: Outputs,
    feed: Option<Feed>,
    started: Instant,
    /// The process of each rank; 0 until its host has told.
    pids: Vec<u32>,
    /// Which ranks have ended.
    ended: Vec<bool>,
    /// Ranks that have not ended.
    live: usize,
    /// Other hosts on which something may be left.
    far: BTreeSet<u32>,
    /// Bytes that other hosts' ranks have written and that have not been acknowledged.
    taken: Vec<u32>,
    cause: Option<Cause>,
    /// The last signal that was passed on and that usually ends programs, and when.
    forwarded: Option<(i32, Instant)>,
    /// When to say that ranks run on after it.
    notice_at: Option<Instant>,
    /// When `--timeout` strikes.
    deadline: Option<Instant>,
    /// When those that a SIGTERM did not end are killed.
    kill_at: Option<Instant>,
    /// When hosts that do not report are no longer waited for.
    abandon_at: Option<Instant>,
    /// When to look for hosts that have fallen silent.
    beat_at: Option<Instant>,
    /// When to look whether all wait for a rank that was never in MPI.
    missed_at: Option<Instant>,
    looking: Option<Looking>,
    /// When to look whether ranks wait for one that has begun to end.
    deserted_at: Option<Instant>,
    /// Ranks that ended well and had not been in MPI.
    absent: Vec<u32>,
    asking: Option<Asking>,
    drain: Drain,
    /// The agents know that all ranks have ended.
    finishing: bool,
}

/// A question to all hosts where their ranks stand.
struct Asking {
    /// Hosts that have not answered.
    missing: BTreeSet<u32>,
    ranks: Vec<(u32, Standing)>,
    until: Instant,
    /// The job's time is up: it ends with the answer.
    timeout: bool,
}

/// A question to all hosts whether their ranks wait for one that was never in MPI, or that has begun to end. A rank that is found to have waited for longer than
/// the answers are apart has waited when the others were found to: nobody was there to wake it.
struct Looking {
    /// Hosts that have not answered.
    missing: BTreeSet<u32>,
    /// So far all wait.
    all: bool,
    missed: Option<u32>,
    /// So far all sleep for good, in these calls.
    stalled: Option<Stalled>,
}

impl JobSupervisor {
    fn new(
        mut node: NodeSupervisor,
        names: Vec<String>,
        outputs: Outputs,
        signals: Signals,
        started: Instant,
    ) -> Result<JobSupervisor, Refusal> {
        let size = node.plan.size() as usize;
        node.poller
            .add_reader(signals.fd(), Token::Signals)
            .map_err(|error| Refusal::system("cannot wait for signals", error))?;
        let feed = feed(&mut node);
        let far: BTreeSet<u32> =
            (0..node.plan.places.hosts()).filter(|&host| Some(host) != node.plan.here).collect();
        let alone = far.is_empty();
        let deadline = node.plan.settings.timeout.and_then(|time| started.checked_add(time));
        let mut supervisor = JobSupervisor {
            taken: vec![0; names.len()],
            names,
            signals,
            outputs,
            feed,
            started,
            pids: vec![0; size],
            ended: vec![false; size],
            live: size,
            beat_at: (!alone).then(|| started + BEAT),
            far,
            cause: None,
            forwarded: None,
            notice_at: None,
            deadline,
            kill_at: None,
            abandon_at: None,
            missed_at: None,
            looking: None,
            deserted_at: Some(started + if alone { DESERTED_LOOK } else { DESERTED_ASK }),
            absent: Vec::new(),
            asking: None,
            drain: Drain::NotYet,
            finishing: false,
            node,
        };
        supervisor.introduce();
        Ok(supervisor)
    }

    /// What is said before anything happens.
    fn introduce(&mut self) {
        for rank in &self.node.ranks {
            self.pids[rank.number as usize] = rank.pid();
        }
        let settings = &self.node.plan.settings;
        if settings.verbose && !settings.without_effect.is_empty() {
            self.outputs.say(&format!("without effect: {}", settings.without_effect.join(" ")));
        }
        let remarks = settings.remarks.iter().filter(|_| !settings.quiet);
        remarks.for_each(|remark| self.outputs.say(remark));
        self.take_events();
        // Where no launcher could be run, nothing more will happen.
        self.advance_drain(Instant::now());
    }

    fn watch(&mut self) -> Result<u8, Refusal> {
        let mut ready = Vec::new();
        loop {
            self.flush();
            if self.drain == Drain::Over && !self.outputs.has_pending() {
                return Ok(self.cause.as_ref().map_or(0, Cause::status));
            }
            let now = Instant::now();
            let timeout = self.due().map(|due| due.saturating_duration_since(now));
            self.node.poller.wait(timeout, &mut ready)?;
            for token in ready.drain(..) {
                self.handle(token);
            }
            self.tick(Instant::now());
        }
    }

    fn handle(&mut self, token: Token) {
        match token {
            Token::Signals => self.on_signals(),
            // The loop flushes anyway.
            Token::Sink(_) => {}
            Token::Stdin => self.with_feed(Feed::on_stdin),
            Token::Input(index) => self.with_feed(|feed, poller| feed.on_reader(index, poller)),
            token => {
                if self.node.handle(token, &mut self.outputs) {
                    self.drain.stay();
                }
                self.take_events();
            }
        }
    }

    fn with_feed(&mut self, act: impl FnOnce(&mut Feed, &Poller)) {
        let Some(feed) = &mut self.feed else { return };
        act(feed, &self.node.poller);
        for (rank, bytes) in feed.take_outgoing() {
            self.node.obey(Down::Input { rank, bytes });
        }
    }

    fn flush(&mut self) {
        if let Err(failure) = self.outputs.flush(&self.node.poller) {
            self.on_write_failure(failure);
            // What has been said about it leaves now: all ranks may have ended, and then nothing wakes the loop again.
            let _ = self.outputs.flush(&self.node.poller);
        }
        self.node.streams.resume(&self.outputs, &self.node.poller);
        self.acknowledge();
        self.node.flush();
    }

    /// One of `mpirun`'s own streams, 0 is standard output, takes nothing any more.
    fn on_write_failure(&mut self, (stream, error): (usize, Errno)) {
        match (stream, error) {
            (0, Errno::PIPE) => self.fail(Cause::OutputClosed),
            (0, error) => self.fail(Cause::OutputFailed(error.to_string())),
            // Nobody reads standard error: there is nobody to tell.
            _ => {}
        }
    }

    /// Other hosts may send more output once there is room for it.
    fn acknowledge(&mut self) {
        if self.far.is_empty() || self.outputs.is_full(false) || self.outputs.is_full(true) {
            return;
        }
        for (host, bytes) in (0..).zip(&mut self.taken).filter(|(_, bytes)| **bytes > 0) {
            self.node.obey(Down::OutputTaken { host, bytes: std::mem::take(bytes) });
        }
    }

    // The clock.

    fn due(&self) -> Option<Instant> {
        let feed = self.feed.as_ref().and_then(Feed::due);
        let asking = self.asking.as_ref().map(|asking| asking.until);
        let own = [
            self.deadline,
            self.kill_at,
            self.abandon_at,
            self.beat_at,
            self.missed_at,
            self.notice_at,
            self.deserted_at,
        ];
        let others = [self.drain.due(), feed, asking, self.node.due()];
        own.into_iter().chain(others).flatten().min()
    }

    fn tick(&mut self, now: Instant) {
        self.node.streams.tick(now, &mut self.outputs);
        self.node.look_out(now);
        self.take_events();
        self.with_feed(|feed, poller| feed.tick(now, poller));
        self.node.settle(now);
        self.take_events();
        if take_due(&mut self.beat_at, now) {
            self.beat_at = Some(now + BEAT);
            self.node.tick(now);
            self.take_events();
        }
        if take_due(&mut self.deadline, now) && self.live > 0 && self.cause.is_none() {
            self.ask(true);
        }
        if self.asking.as_ref().is_some_and(|asking| now >= asking.until) {
            self.report();
        }
        if take_due(&mut self.notice_at, now) {
            self.tell_of_interrupt();
        }
        if take_due(&mut self.kill_at, now) {
            self.signal_all(Signal::KILL);
        }
        if take_due(&mut self.abandon_at, now) {
            std::mem::take(&mut self.far).into_iter().for_each(|host| self.forget(host));
        }
        if take_due(&mut self.missed_at, now) && self.live > 0 && self.cause.is_none() {
            self.missed_at = Some(now + MISSED_LOOK);
            self.look();
        }
        if take_due(&mut self.deserted_at, now) && self.live > 1 && self.cause.is_none() {
            self.deserted_at = Some(now + if self.far.is_empty() { DESERTED_LOOK } else { DESERTED_ASK });
            if self.node.stalled().is_some() {
                self.look();
            }
        }
        self.advance_drain(now);
    }

    // What happens.

    fn take_events(&mut self) {
        loop {
            let events = self.node.take_events();
            if events.is_empty() {
                return;
            }
            events.into_iter().for_each(|event| self.on_event(event));
        }
    }

    fn on_event(&mut self, event: Up) {
        match event {
            Up::Started { host, pids } if self.far.contains(&host) => self.on_started(host, &pids),
            Up::Output { rank, error, bytes } if self.is_rank(rank) => {
                self.outputs.take(rank, error, &bytes);
                let host = self.node.plan.places.host_of(rank);
                self.taken[host as usize] += bytes.len() as u32;
                self.drain.stay();
            }
            Up::Say(text) => self.outputs.say(&text),
            Up::Ended { rank, end, state } if self.is_rank(rank) => self.on_end(rank, end, state),
            Up::Abort { rank, code, message } if self.is_rank(rank) => {
                self.fail(Cause::Abort { rank, code, message });
            }
            Up::Stranger { rank, message } if self.is_rank(rank) => {
                self.fail(Cause::Stranger { rank, message });
            }
            Up::Standings { host, ranks } => self.on_standings(host, ranks),
            Up::Waits { host, all, missed, stalled } => self.on_waits(host, all, missed, stalled),
            Up::InputTaken { rank, closed } => {
                self.with_feed(|feed, poller| feed.on_taken(rank, closed, poller));
            }
            Up::Refused { host, message, status } => {
                self.on_loss(host, |host| Cause::Refused { host, message, status });
            }
            Up::Lost { host, reason } => self.on_loss(host, |host| Cause::Lost { host, reason }),
            Up::Over { host } => {
                self.far.remove(&host);
                self.on_waits(host, true, None, Some(Stalled::default()));
            }
            // Questions about cards are the node supervisor's.
            _ => {}
        }
    }

    fn is_rank(&self, rank: u32) -> bool {
        rank < self.node.plan.size()
    }

    fn on_started(&mut self, host: u32, pids: &[u32]) {
        for (rank, &pid) in self.node.plan.places.ranks_of(host).zip(pids) {
            self.pids[rank as usize] = pid;
        }
    }

    fn on_end(&mut self, rank: u32, end: End, state: RankState) {
        if std::mem::replace(&mut self.ended[rank as usize], true) {
            return;
        }
        self.live -= 1;
        let forwarded = self.forwarded.map(|(signal, _)| signal);
        match Cause::of_end(rank, end, state, forwarded) {
            Some(cause) => self.fail(cause),
            None if state == RankState::Absent => {
                self.absent.push(rank);
                self.missed_at.get_or_insert(Instant::now() + MISSED_LOOK);
            }
            None => {}
        }
    }

    /// A host has gone with all its ranks.
    fn on_loss(&mut self, host: u32, cause: impl FnOnce(String) -> Cause) {
        if !self.far.remove(&host) {
            return;
        }
        self.forget(host);
        let name = self.names[host as usize].clone();
        self.fail(cause(name));
    }

    /// Nothing more will be heard of these ranks.
    fn forget(&mut self, host: u32) {
        let ranks: Vec<u32> = self.node.plan.places.ranks_of(host).collect();
        for rank in ranks {
            if !std::mem::replace(&mut self.ended[rank as usize], true) {
                self.live -= 1;
            }
            self.with_feed(|feed, poller| feed.on_taken(rank, true, poller));
        }
        self.on_standings(host, Vec::new());
    }

    /// The first failure decides how the job ends.
    fn fail(&mut self, cause: Cause) {
        if self.cause.is_some() {
            return;
        }
        let who = cause.rank().map(|rank| self.describe(rank)).unwrap_or_default();
        if let Some(message) = cause.message(&who, self.some_run()) {
            self.outputs.say(&message);
        }
        self.cause = Some(cause);
        if self.live > 0 {
            self.signal_all(Signal::TERM);
            self.kill_at = Some(Instant::now() + TERM_GRACE);
        }
        // Whoever starts now ends itself, since the job closes its connection.
        for host in self.unstarted() {
            self.far.remove(&host);
            self.forget(host);
        }
    }

    /// Whether there are ranks that have been started and have not ended.
    fn some_run(&self) -> bool {
        self.pids.iter().zip(&self.ended).any(|(&pid, &ended)| pid != 0 && !ended)
    }

    /// Hosts that have not told yet that their ranks run.
    fn unstarted(&self) -> Vec<u32> {
        let runs = |host: u32| self.node.plan.places.ranks_of(host).all(|rank| self.pids[rank as usize] != 0);
        self.far.iter().copied().filter(|&host| !runs(host)).collect()
    }

    fn describe(&self, rank: u32) -> String {
        let plan = &self.node.plan;
        let program = plan.app(rank).program.to_string_lossy();
        let host = plan.places.host_of(rank);
        let name = if Some(host) == plan.here { own_name() } else { self.names[host as usize].clone() };
        format!("rank {rank} ({program}, process {} on {name})", self.pids[rank as usize])
    }

    fn signal_all(&mut self, signal: Signal) {
        self.node.obey(Down::Signal(signal.as_raw()));
        if signal == Signal::KILL && !self.far.is_empty() {
            self.abandon_at.get_or_insert(Instant::now() + ABANDON_GRACE);
        }
    }

    fn advance_drain(&mut self, now: Instant) {
        if self.live == 0 && !self.finishing {
            self.finishing = true;
            self.node.obey(Down::Finish);
        }
        let closed = self.node.streams.are_closed() && self.far.is_empty();
        // Those who have left their groups got a SIGTERM, too, and have their time.
        let failed = self.cause.is_some() && self.kill_at.is_none();
        match self.drain.advance(now, self.live > 0, closed, failed) {
            Step::Wait => {}
            Step::Kill => self.clear(),
            Step::End => {
                self.clear();
                self.node.streams.close_all(&mut self.outputs, &self.node.poller);
                (self.deadline, self.kill_at, self.abandon_at, self.beat_at) = (None, None, None, None);
                (self.missed_at, self.notice_at) = (None, None);
                self.asking = None;
            }
        }
    }

    /// Nothing of a job that has failed outlives it. After one that has gone well, what has left its rank's process group and is no
    /// rank is a daemon that somebody wants.
    fn clear(&mut self) {
        match self.cause {
            Some(_) => self.signal_all(Signal::KILL),
            None => self.node.obey(Down::Sweep),
        }
    }

    // Signals.

    fn on_signals(&mut self) {
        for signal in self.signals.arrived() {
            match signal {
                SIGUSR1 => self.ask(false),
                SIGTSTP => self.stop(),
                SIGCONT => self.signal_all(Signal::CONT),
                SIGHUP | SIGINT | SIGQUIT | SIGTERM => self.interrupt(signal),
                _ => self.forward(signal),
            }
        }
    }

    fn forward(&mut self, signal: i32) {
        if let Some(signal) = Signal::from_named_raw(signal) {
            self.signal_all(signal);
        }
    }

    /// Whoever interrupts ranks that do not end is told what ends them.
    fn tell_of_interrupt(&mut self) {
        let Some((signal, _)) = self.forwarded.filter(|_| self.live > 0 && self.cause.is_none()) else {
            return;
        };
        let (name, size) = (signal_name(signal), self.ended.len());
        let who = match (self.live, size) {
            (1, 1) => "the rank still runs".into(),
            (live, size) => format!("{live} of {size} ranks still run"),
        };
        let seconds = INTERRUPT_TWICE.as_secs();
        self.outputs
            .say(&format!("{name} was passed on, and {who}; a second one within {seconds} s kills all"));
    }

    /// The first time the ranks decide what to do; the second time they are killed.
    fn interrupt(&mut self, signal: i32) {
        if self.forwarded.is_some_and(|(last, when)| last == signal && when.elapsed() < INTERRUPT_ECHO) {
            return;
        }
        let again = self.forwarded.is_some_and(|(_, when)| when.elapsed() < INTERRUPT_TWICE);
        if self.drain == Drain::Over {
            // Only a reader that does not read keeps mpirun here.
            std::process::exit(128 + signal);
        }
        if again {
            self.outputs.say(&format!("{} again: all ranks are killed", signal_name(signal)));
            self.cause.get_or_insert(Cause::Interrupted { signal });
            self.signal_all(Signal::KILL);
        } else {
            self.forward(signal);
            self.give_up_start(signal);
            self.notice_at = Some(Instant::now() + INTERRUPT_NOTICE);
        }
        self.forwarded = Some((signal, Instant::now()));
    }

    /// A job of which some hosts are still being started has nobody there who could decide: it ends.
    fn give_up_start(&mut self, signal: i32) {
        let hosts: Vec<&str> =
            self.unstarted().iter().map(|&host| self.names[host as usize].as_str()).collect();
        if self.cause.is_none() && !hosts.is_empty() {
            let hosts = some_of(&hosts);
            self.outputs.say(&format!("{} while waiting for {hosts} to start", signal_name(signal)));
            self.fail(Cause::Interrupted { signal });
        }
    }

    /// Stops the ranks, then `mpirun` itself, as the shell expects.
    fn stop(&mut self) {
        self.signal_all(Signal::TSTP);
        self.node.obey(Down::Pause);
        self.node.flush();
        let _ = kill_process(getpid(), Signal::STOP);
        self.node.forgive();
    }

    // Where the ranks stand.

    /// Asks all hosts; what they say is printed when all have answered, or after a while.
    fn ask(&mut self, timeout: bool) {
        let until = Instant::now() + REPORT_MAX;
        self.asking = Some(Asking { missing: self.all_hosts(), ranks: Vec::new(), until, timeout });
        self.node.obey(Down::Report);
        self.take_events();
    }

    /// All hosts on which something may be left.
    fn all_hosts(&self) -> BTreeSet<u32> {
        self.far.iter().copied().chain(self.node.plan.here).collect()
    }

    /// Asks all hosts whether their ranks wait, unless they have been asked and some have not answered.
    fn look(&mut self) {
        if self.looking.is_none() {
            let (missing, stalled) = (self.all_hosts(), Some(Stalled::default()));
            self.looking = Some(Looking { missing, all: true, missed: None, stalled });
            self.node.obey(Down::Look);
            self.take_events();
        }
    }

    fn on_waits(&mut self, host: u32, all: bool, missed: Option<u32>, stalled: Option<Stalled>) {
        let Some(looking) = &mut self.looking else { return };
        if looking.missing.remove(&host) {
            looking.stalled = looking.stalled.take().zip(stalled).map(|(these, those)| these.and(those));
            looking.all &= all;
            looking.missed = looking.missed.or(missed);
        }
        self.judge();
    }

    /// Once all have answered, the job ends if all wait for a rank that was never in MPI, or for one that has begun to end. Of a host where nothing is left, the end of
    /// its ranks is all that there is to know.
    fn judge(&mut self) {
        let Some(looking) = self.looking.take_if(|looking| looking.missing.is_empty()) else { return };
        let hosts = self.all_hosts();
        let is_gone = |rank: &&u32| !hosts.contains(&self.node.plan.places.host_of(**rank));
        let missed = looking.missed.or_else(|| self.absent.iter().find(is_gone).copied());
        if let Some(rank) = missed.filter(|_| looking.all) {
            self.fail(Cause::Missed { rank });
        } else if let Some(deserted) = looking.stalled.and_then(Stalled::deserted) {
            self.fail(Cause::Deserted(deserted));
        }
    }

    fn on_standings(&mut self, host: u32, ranks: Vec<(u32, Standing)>) {
        let Some(asking) = &mut self.asking else { return };
        if asking.missing.remove(&host) {
            asking.ranks.extend(ranks);
        }
        if asking.missing.is_empty() {
            self.report();
        }
    }

    fn report(&mut self) {
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
            self.fail(Cause::Timeout(time));
        }
    }
}

/// The first of these names, and how many more there are.
fn some_of(hosts: &[&str]) -> String {
    const SHOWN: usize = 5;
    match hosts.len().saturating_sub(SHOWN) {
        0 => hosts.join(", "),
        more => format!("{} and {more} more", hosts[..SHOWN].join(", ")),
    }
}

/// Whether it is time; then it is not any more.
fn take_due(due: &mut Option<Instant>, now: Instant) -> bool {
    due.take_if(|due| now >= *due).is_some()
}

/// Starts to copy standard input, if any rank needs a copy.
fn feed(node: &mut NodeSupervisor) -> Option<Feed> {
    let pipes: Vec<_> = node.ranks.iter_mut().filter_map(|rank| rank.input.take()).collect();
    let plan = &node.plan;
    let copied = Feeding::copied(plan.settings.stdin);
    let is_far = |rank: &u32| copied.copies_to(*rank) && Some(plan.places.host_of(*rank)) != plan.here;
    let far: Vec<u32> = match plan.places.hosts() {
        1 if plan.here.is_some() => Vec::new(),
        _ => (0..plan.size()).filter(is_far).collect(),
    };
    if pipes.is_empty() && far.is_empty() {
        return None;
    }
    let mut feed = Feed::new(pipes, far, &node.poller);
    for (rank, bytes) in feed.take_outgoing() {
        node.obey(Down::Input { rank, bytes });
    }
    Some(feed)
}

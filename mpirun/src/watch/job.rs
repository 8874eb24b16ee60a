//! The one loop that sees a job through: output, input, signals, ends of ranks, and the clock.

mod questions;

use std::collections::BTreeSet;
use std::time::Instant;

use rustix::io::Errno;
use rustix::process::{Signal, getpid, kill_process};
use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGUSR1};
use tern_job::job::fresh_secret;
use tern_job::names::forget_own;
use tern_job::status_page::RankState;

use questions::{Asking, Looking};

use crate::launch::environment;
use crate::launch::spawn::{self, Feeding};
use crate::launch::watchdog::Watchdog;
use crate::limits::{
    ABANDON_GRACE, BEAT, DESERTED_ASK, DESERTED_LOOK, INTERRUPT_ECHO, INTERRUPT_NOTICE, INTERRUPT_TWICE,
    LAST_BYTES_MAX, MISSED_LOOK, TERM_GRACE,
};
use crate::output::outputs::{Outputs, RankHosts};
use crate::output::stdin::Feed;
use crate::output::streams::LineSink;
use crate::plan::JobPlan;
use crate::plan::hosts::own_name;
use crate::poller::{PollToken, Poller};
use crate::serve::names;
use crate::tree::children::Children;
use crate::tree::messages::{Down, Orders, Service, Up};
use crate::watch::deserted::Stalled;
use crate::watch::drain::{Drain, DrainStep, Writers};
use crate::watch::exit_cause::{End, ExitCause, Refusal, signal_name};
use crate::watch::node::NodeSupervisor;
use crate::watch::numbers::JobNumbers;
use crate::watch::signals::Signals;
use crate::watch::superior::Superior;
use crate::watch::timers::{JobTimer, JobTimers};
use crate::watch::worlds::{Basis, StartedWorlds, WorldNews, WorldOrders};

/// Runs a job and returns the exit status.
pub(crate) fn run(plan: JobPlan) -> Result<u8, Refusal> {
    run_for(plan, None)
}

/// Looks after a world that another `mpirun` asks for, as its ranks have asked that.
pub(crate) fn run_world() -> Result<u8, Refusal> {
    // What it was run as says nothing.
    let _ = rustix::thread::set_name(c"mpirun");
    let mut superior = Superior::new()?;
    let Some(orders) = superior.orders()? else { return Ok(0) };
    let poller = Poller::new()?;
    let plan = match JobPlan::new(orders.settings()) {
        Ok(plan) => plan,
        Err(refusal) => {
            superior.tell_refusal(&refusal.to_string(), &poller);
            return Ok(refusal.status());
        }
    };
    run_for(plan, Some(superior))
}

fn run_for(mut plan: JobPlan, mut superior: Option<Superior>) -> Result<u8, Refusal> {
    let started = Instant::now();
    let signals = Signals::catch()?;
    let (map, allocation) = (plan.describe_map(), plan.describe_allocation());
    let names = std::mem::take(&mut plan.hosts);
    let places = RankHosts { names: names.clone(), map: plan.places.clone() };
    let mut outputs = Outputs::new(plan.settings.output.clone(), places);
    let settings = &plan.settings;
    let lists = [(settings.show_allocation, allocation), (settings.show_map || settings.dry_run, map)];
    let shown = lists.into_iter().filter(|(shown, _)| *shown).flat_map(|(_, lines)| lines);
    shown.for_each(|line| outputs.say(&line));
    if settings.dry_run {
        outputs.flush_at_once();
        return Ok(0);
    }
    outputs.begin_files()?;
    let basis = basis(&plan);
    let node = match start(plan, &names, outputs.is_interactive()) {
        Err(refusal) if tell_refusal(&mut superior, &refusal) => return Ok(refusal.status()),
        started => started?,
    };
    let mut supervisor = JobSupervisor::new(node, names, outputs, signals, started)?;
    supervisor.serve(superior, basis)?;
    let status = supervisor.watch();
    supervisor.show_numbers();
    if status.is_err() {
        // Without waiting, nothing can be seen of the job any more.
        supervisor.signal_all(Signal::KILL);
        let _ = supervisor.outputs.flush(&supervisor.node.poller);
    }
    supervisor.node.disband();
    forget_own();
    status
}

/// Tells whoever has asked for this world that it does not run. Whether somebody has.
fn tell_refusal(superior: &mut Option<Superior>, refusal: &Refusal) -> bool {
    let Ok(poller) = Poller::new() else { return false };
    superior.as_mut().is_some_and(|superior| superior.tell_refusal(&refusal.to_string(), &poller))
}

/// What worlds that ranks start have in common with this one.
fn basis(plan: &JobPlan) -> Basis {
    let is_spread =
        plan.settings.hostfile.is_some() || plan.settings.apps.iter().any(|app| !app.hosts.is_empty());
    let hosts = if is_spread { plan.allocation.clone() } else { Vec::new() };
    Basis { settings: plan.settings.clone(), hosts, universe: plan.universe }
}

/// Starts the agents of the other hosts, then this host's ranks.
fn start(plan: JobPlan, names: &[String], interactive: bool) -> Result<NodeSupervisor, Refusal> {
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
    let (ranks, resources, binding) = match spawn::start(&plan, &secret, Feeding::of(&plan), &mut watchdog) {
        Ok(started) => started,
        Err(refusal) => {
            children.end(&poller);
            watchdog.into_iter().for_each(Watchdog::dismiss);
            return Err(refusal);
        }
    };
    let mut node = NodeSupervisor::new(plan, resources, ranks, poller, interactive)?;
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
    cause: Option<ExitCause>,
    /// The last signal that was passed on and that usually ends programs, and when.
    forwarded: Option<(i32, Instant)>,
    timers: JobTimers,
    looking: Option<Looking>,
    /// Ranks that ended well and had not been in MPI.
    absent: Vec<u32>,
    asking: Option<Asking>,
    drain: Drain,
    /// The agents know that all ranks have ended.
    finishing: bool,
    /// Until so many bytes have been taken in all, the end waits for who reads them.
    last_bytes: u64,
    /// What ranks have done, for `--stats`.
    numbers: JobNumbers,
    /// Worlds that ranks have started.
    worlds: StartedWorlds,
    basis: Basis,
    /// For whom this job is looked after, if it was started by a rank of another.
    superior: Option<Superior>,
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
            .add_reader(signals.fd(), PollToken::Signals)
            .map_err(|error| Refusal::system("cannot wait for signals", error))?;
        let feed = feed(&mut node);
        let far: BTreeSet<u32> =
            (0..node.plan.places.hosts()).filter(|&host| Some(host) != node.plan.here).collect();
        let alone = far.is_empty();
        let mut timers = JobTimers::default();
        timers.set(JobTimer::Deserted, started + if alone { DESERTED_LOOK } else { DESERTED_ASK });
        if !alone {
            timers.set(JobTimer::Beat, started + BEAT);
        }
        if let Some(deadline) = node.plan.settings.timeout.and_then(|time| started.checked_add(time)) {
            timers.set(JobTimer::Timeout, deadline);
        }
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
            far,
            cause: None,
            forwarded: None,
            timers,
            looking: None,
            absent: Vec::new(),
            asking: None,
            drain: Drain::NotYet,
            finishing: false,
            last_bytes: u64::MAX,
            numbers: JobNumbers::default(),
            worlds: StartedWorlds::default(),
            basis: Basis::default(),
            superior: None,
            node,
        };
        supervisor.introduce();
        Ok(supervisor)
    }

    /// Ranks may start others, and this job may be what a rank has started.
    fn serve(&mut self, superior: Option<Superior>, basis: Basis) -> Result<(), Refusal> {
        self.basis = basis;
        if let Some(superior) = &superior {
            superior.watch(&self.node.poller)?;
        }
        self.superior = superior;
        self.tell_running();
        Ok(())
    }

    /// Once all ranks run, whoever has asked for them hears of it.
    fn tell_running(&mut self) {
        if self.cause.is_none()
            && self.pids.iter().all(|&pid| pid != 0)
            && let Some(superior) = &mut self.superior
        {
            superior.tell_running(&self.node.poller);
        }
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

    /// Prints what ranks have done, if that was asked for.
    fn show_numbers(&mut self) {
        if self.node.plan.settings.stats {
            self.numbers.lines(self.node.plan.size()).iter().for_each(|line| self.outputs.say(line));
            self.outputs.flush_at_once();
        }
    }

    fn watch(&mut self) -> Result<u8, Refusal> {
        let mut ready = Vec::new();
        loop {
            self.flush();
            // A world that has parted from this one may go on, and says what it says through this mpirun's descriptors.
            if self.drain == Drain::Over && !self.outputs.has_pending() && self.worlds.is_empty() {
                return Ok(self.cause.as_ref().map_or(self.worlds.status, ExitCause::status));
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

    fn handle(&mut self, token: PollToken) {
        match token {
            PollToken::Signals => self.on_signals(),
            // The loop flushes anyway.
            PollToken::Sink(_) => {}
            PollToken::Stdin => self.with_feed(Feed::on_stdin),
            PollToken::World(number) => {
                let news = self.worlds.on_message(number, &self.node.poller);
                self.on_news(news);
            }
            PollToken::WorldEnd(number) => {
                let news = self.worlds.on_end(number, &self.node.poller);
                self.on_news(news);
            }
            PollToken::WorldRoom(number) => self.worlds.on_room(number, &self.node.poller),
            PollToken::Parent => self.on_superior(),
            PollToken::ParentRoom => {
                self.superior.iter_mut().for_each(|superior| superior.on_room(&self.node.poller));
            }
            PollToken::Input(index) => self.with_feed(|feed, poller| feed.on_reader(index, poller)),
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
            (0, Errno::PIPE) => self.fail(ExitCause::OutputClosed),
            (0, error) => self.fail(ExitCause::OutputFailed(error.to_string())),
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
        // Whoever reads on wakes the loop.
        let drain = self.drain.due().filter(|_| !self.is_held());
        [self.timers.due(), drain, feed, asking, self.node.due()].into_iter().flatten().min()
    }

    fn tick(&mut self, now: Instant) {
        self.node.streams.tick(now, &mut self.outputs);
        self.node.look_out(now);
        self.take_events();
        self.with_feed(|feed, poller| feed.tick(now, poller));
        self.node.settle(now);
        self.take_events();
        while let Some(timer) = self.timers.take(now) {
            self.on_timer(timer, now);
        }
        // Whoever cannot be killed has ended for this job, and nothing else tells of it.
        self.take_events();
        if self.asking.as_ref().is_some_and(|asking| now >= asking.until) {
            self.report();
        }
        self.advance_drain(now);
    }

    fn on_timer(&mut self, timer: JobTimer, now: Instant) {
        let is_well = self.live > 0 && self.cause.is_none();
        match timer {
            JobTimer::Beat => {
                self.timers.set(timer, now + BEAT);
                self.node.tick(now);
                self.take_events();
            }
            JobTimer::Timeout if is_well => self.ask(true),
            JobTimer::Notice => self.tell_of_interrupt(),
            JobTimer::Kill => self.signal_all(Signal::KILL),
            JobTimer::Abandon => {
                std::mem::take(&mut self.far).into_iter().for_each(|host| self.forget(host));
            }
            JobTimer::Missed if is_well => {
                self.timers.set(timer, now + MISSED_LOOK);
                self.look();
            }
            JobTimer::Deserted if is_well && self.live > 1 => {
                self.timers.set(timer, now + if self.far.is_empty() { DESERTED_LOOK } else { DESERTED_ASK });
                if self.node.stalled().is_some() {
                    self.look();
                }
            }
            JobTimer::Timeout | JobTimer::Missed | JobTimer::Deserted => {}
        }
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
            Up::Numbers { rank, text } if self.is_rank(rank) => self.numbers.take(rank, &text),
            Up::Ended { rank, end, state } if self.is_rank(rank) => self.on_end(rank, end, state),
            Up::Abort { rank, code, message } if self.is_rank(rank) => {
                self.fail(ExitCause::Abort { rank, code, message });
            }
            Up::ForeignLibrary { rank, message } if self.is_rank(rank) => {
                self.fail(ExitCause::ForeignLibrary { rank, message });
            }
            Up::Service { rank, service } if self.is_rank(rank) => self.on_service(rank, service),
            Up::Standings { host, ranks } => self.on_standings(host, ranks),
            Up::Waits { host, all, missed, stalled } => self.on_waits(host, all, missed, stalled),
            Up::InputTaken { rank, closed } => {
                self.with_feed(|feed, poller| feed.on_taken(rank, closed, poller));
            }
            Up::Refused { host, message, status } => {
                self.on_loss(host, |host| ExitCause::Refused { host, message, status });
            }
            Up::Lost { host, reason } => self.on_loss(host, |host| ExitCause::Lost { host, reason }),
            Up::Over { host } => {
                self.far.remove(&host);
                self.on_waits(host, true, None, Some(Stalled::default()));
            }
            // Questions about endpoint addresses are the node supervisor's.
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
        self.tell_running();
    }

    /// A rank asks for something beside its job.
    fn on_service(&mut self, rank: u32, service: Service) {
        match service {
            Service::Spawn(_) if self.cause.is_some() => {}
            Service::Spawn(request) => {
                let orders = WorldOrders::new(request, &self.basis, Some(self.node.plan.app(rank)));
                let news = self.worlds.start(rank, orders, &self.node.poller);
                self.on_news(news);
            }
            Service::Met(number) => self.worlds.connected(number),
            Service::Parted(number) => self.worlds.part(number),
            service => self.node.obey(Down::Say { rank, text: names::answer(&service) }),
        }
    }

    fn on_news(&mut self, news: impl IntoIterator<Item = WorldNews>) {
        self.node.apart = self.worlds.pids().collect();
        for news in news {
            match news {
                WorldNews::Say { rank, text } => self.node.obey(Down::Say { rank, text }),
                WorldNews::Failed { what, status } if self.live > 0 => {
                    self.fail(ExitCause::World { what, status })
                }
                WorldNews::Failed { .. } => {}
            }
        }
    }

    /// The job that this one is connected with has failed, or nobody looks after it any more.
    fn on_superior(&mut self) {
        let Some(superior) = &mut self.superior else { return };
        if superior.wants_end(&self.node.poller) {
            self.fail(ExitCause::Superior);
        }
    }

    fn on_end(&mut self, rank: u32, end: End, state: RankState) {
        if std::mem::replace(&mut self.ended[rank as usize], true) {
            return;
        }
        self.live -= 1;
        let forwarded = self.forwarded.map(|(signal, _)| signal);
        match ExitCause::of_end(rank, end, state, forwarded) {
            Some(cause) => self.fail(cause),
            None if state == RankState::Absent => {
                self.absent.push(rank);
                self.timers.set_once(JobTimer::Missed, Instant::now() + MISSED_LOOK);
            }
            None => {}
        }
    }

    /// A host has gone with all its ranks.
    fn on_loss(&mut self, host: u32, cause: impl FnOnce(String) -> ExitCause) {
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
    fn fail(&mut self, cause: ExitCause) {
        if self.cause.is_some() {
            return;
        }
        let who = cause.rank().map(|rank| self.describe(rank)).unwrap_or_default();
        if let Some(message) = cause.message(&who, self.fate_of_others())
            && !self.is_told_above(&cause, &message)
        {
            self.outputs.say(&message);
        }
        let all = matches!(
            cause,
            ExitCause::Interrupted { .. }
                | ExitCause::Timeout(_)
                | ExitCause::OutputClosed
                | ExitCause::OutputFailed(_)
        );
        self.worlds.end(all, &self.node.poller);
        self.cause = Some(cause);
        if self.live > 0 {
            self.signal_all(Signal::TERM);
            self.timers.set(JobTimer::Kill, Instant::now() + TERM_GRACE);
        }
        // Whoever starts now ends itself, since the job closes its connection.
        for host in self.unstarted() {
            self.far.remove(&host);
            self.forget(host);
        }
    }

    /// Whether the rank that has asked for this world is told why it does not run, so that nobody else needs to hear of it.
    fn is_told_above(&mut self, cause: &ExitCause, message: &str) -> bool {
        let never_ran = matches!(cause, ExitCause::Refused { .. } | ExitCause::Lost { .. });
        let Some(superior) = self.superior.as_mut().filter(|_| never_ran) else { return false };
        superior.tell_refusal(message, &self.node.poller)
    }

    /// What is said of the ranks that run, where one has failed. Those who have started this world may go on.
    fn fate_of_others(&self) -> &'static str {
        let some_run = self.pids.iter().zip(&self.ended).any(|(&pid, &ended)| pid != 0 && !ended);
        match &self.superior {
            _ if !some_run => "",
            Some(_) => "; the other ranks of its world are ended",
            None => "; the other ranks are ended",
        }
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
            self.timers.set_once(JobTimer::Abandon, Instant::now() + ABANDON_GRACE);
        }
    }

    fn advance_drain(&mut self, now: Instant) {
        if self.live == 0 && !self.finishing {
            self.finishing = true;
            self.last_bytes = self.outputs.taken() + LAST_BYTES_MAX * self.ended.len() as u64;
            self.node.obey(Down::Finish);
        }
        let writers = Writers {
            live: self.live > 0,
            closed: self.node.streams.are_closed() && self.far.is_empty(),
            // Those who have left their groups got a SIGTERM, too, and have their time.
            failed: self.cause.is_some() && !self.timers.is_set(JobTimer::Kill),
            held: self.is_held(),
        };
        match self.drain.advance(now, writers) {
            DrainStep::Wait => {}
            DrainStep::Kill => self.clear(),
            DrainStep::End => {
                self.clear();
                self.node.streams.close_all(&mut self.outputs, &self.node.poller);
                self.timers = JobTimers::default();
                self.asking = None;
            }
        }
    }

    /// Whether output of ranks waits for who reads `mpirun`'s. Nobody waits for that who has interrupted the job.
    fn is_held(&self) -> bool {
        let is_full = self.outputs.is_full(false) || self.outputs.is_full(true);
        let far = is_full && self.taken.iter().any(|&bytes| bytes > 0);
        let interrupted = matches!(self.cause, Some(ExitCause::Interrupted { .. }));
        !interrupted && self.outputs.taken() < self.last_bytes && (far || self.node.streams.are_paused())
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
                SIGCONT => self.forward(SIGCONT),
                SIGHUP | SIGINT | SIGQUIT | SIGTERM => self.interrupt(signal),
                _ => self.forward(signal),
            }
        }
    }

    fn forward(&mut self, signal: i32) {
        if let Some(signal) = Signal::from_named_raw(signal) {
            self.signal_all(signal);
            self.worlds.signal(signal);
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
        let waits_for_reader = self.live == 0 && self.outputs.has_pending() && (again || self.is_held());
        if self.drain == Drain::Over || waits_for_reader {
            // Only a reader that does not read keeps mpirun here.
            std::process::exit(128 + signal);
        }
        if again {
            self.outputs.say(&format!("{} again: all ranks are killed", signal_name(signal)));
            self.cause.get_or_insert(ExitCause::Interrupted { signal });
            self.worlds.end(true, &self.node.poller);
            self.signal_all(Signal::KILL);
        } else {
            self.forward(signal);
            self.give_up_start(signal);
            self.timers.set(JobTimer::Notice, Instant::now() + INTERRUPT_NOTICE);
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
            self.fail(ExitCause::Interrupted { signal });
        }
    }

    /// Stops the ranks and the worlds that they have started, then `mpirun` itself, as the shell expects.
    fn stop(&mut self) {
        self.forward(SIGTSTP);
        self.node.obey(Down::Pause);
        self.node.flush();
        let _ = kill_process(getpid(), Signal::STOP);
        self.node.forgive();
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

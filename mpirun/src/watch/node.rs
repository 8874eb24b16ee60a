//! One host's part of a job: its ranks, and the agents of other hosts that are started from it. `mpirun` has one and
//! every agent has one; what happens at it is told as the message that an agent would send.

use std::collections::HashSet;
use std::time::Instant;

use rustix::process::Signal;
use tern_job::control::{AbortNotice, Notice};
use tern_job::link::encode_answer;
use tern_job::status_page::RankState;
use tern_job::{now_ns, pmi};

use crate::launch::foreign::Lookout;
use crate::launch::resources::JobResources;
use crate::launch::spawn::{Rank, end_all};
use crate::launch::watchdog::{Watchdog, inform};
use crate::limits::{LEFTOVER_GRACE, MISSED_MIN};
use crate::output::streams::{LineSink, Streams};
use crate::plan::JobPlan;
use crate::plan::binding::Binding;
use crate::plan::hosts::own_name;
use crate::poller::{PollToken, Poller};
use crate::serve::answers::Answers;
use crate::serve::directory::{AddressDirectory, Asked, Asker};
use crate::serve::pmi::{About, Demand, KeyValues, Pmi};
use crate::tree::children::{Children, Loss};
use crate::tree::messages::{Down, Up};
use crate::watch::descendants::{ended_member, signal_fled, successor};
use crate::watch::deserted::{self, Stalled};
use crate::watch::exit_cause::{End, Refusal};
use crate::watch::orphans::Orphans;
use crate::watch::report::{Standing, Subject, standing};

/// A rank that goes on as another process, which may be a helper or a daemon.
#[derive(Clone, Copy, Debug)]
struct Doubtful {
    index: usize,
    /// Until then it has time to join the job, if there is a limit.
    until: Option<Instant>,
}

/// A host with its ranks.
pub(crate) struct NodeSupervisor {
    /// The whole job.
    pub plan: JobPlan,
    /// The ranks of this host in ascending order.
    pub ranks: Vec<Rank>,
    /// What they say.
    pub streams: Streams,
    /// What everything here waits with.
    pub poller: Poller,
    /// The hosts that are started from here.
    children: Children,
    /// Whether this is `mpirun` itself.
    is_root: bool,
    resources: JobResources,
    watchdog: Option<Watchdog>,
    orphans: Option<Orphans>,
    /// Ranks that go on as something that has not joined the job.
    doubtful: Vec<Doubtful>,
    directory: AddressDirectory,
    answers: Answers,
    pmi: Pmi,
    lookout: Lookout,
    /// What has happened and is not told yet.
    events: Vec<Up>,
    /// Ranks of this host that have not ended.
    live: usize,
    /// Those that use MPI no more, and could not say so on the status page.
    finalized: HashSet<u32>,
    /// Children of this process that are no ranks: each looks after a world of its own.
    pub apart: HashSet<u32>,
}

impl NodeSupervisor {
    /// Takes over ranks that have just been started.
    pub(crate) fn new(
        plan: JobPlan,
        resources: JobResources,
        mut ranks: Vec<Rank>,
        poller: Poller,
        interactive: bool,
    ) -> Result<NodeSupervisor, Refusal> {
        let streams = match watch(&resources, &mut ranks, &poller, interactive) {
            Ok(streams) => streams,
            Err(refusal) => {
                end_all(&mut ranks);
                return Err(refusal);
            }
        };
        let pipes = ranks.iter_mut().filter_map(|rank| Some((rank.number, rank.answers.take()?)));
        let answers = Answers::new(pipes);
        let pmi = serve_pmi(&plan, &mut ranks, &poller);
        let orphans = Orphans::new().ok();
        let orphans =
            orphans.filter(|orphans| poller.add_reader(orphans.alarm(), PollToken::Children).is_ok());
        let lookout = Lookout::new(&plan, ranks.iter().map(|rank| (rank.number, rank.pid())));
        Ok(NodeSupervisor {
            live: ranks.len(),
            finalized: HashSet::new(),
            plan,
            ranks,
            streams,
            poller,
            children: Children::default(),
            is_root: false,
            resources,
            watchdog: None,
            orphans,
            doubtful: Vec::new(),
            directory: AddressDirectory::default(),
            answers,
            pmi,
            lookout,
            events: Vec::new(),
            apart: HashSet::new(),
        })
    }

    /// Takes over the child agents; some could not be started.
    pub(crate) fn set_children(&mut self, children: Children, losses: Vec<Loss>, is_root: bool) {
        let behind = children.hosts().map(|host| self.plan.places.ranks_of(host).count()).sum::<usize>();
        self.pmi.expect((self.ranks.len() + behind) as u32);
        (self.children, self.is_root) = (children, is_root);
        self.tell_losses(losses);
    }

    /// Forgives the child agents all silence until now.
    pub(crate) fn forgive(&mut self) {
        self.children.forgive();
    }

    /// Tells that the ranks run. `binding` is where.
    pub(crate) fn introduce(&mut self, binding: &Binding) {
        let settings = &self.plan.settings;
        // A number of a process, or of a processor, means something on its host alone.
        let place = if self.plan.places.hosts() > 1 { format!(" on {}", own_name()) } else { String::new() };
        let remarks = binding.remarks().iter().map(|remark| Up::Say(format!("{remark}{place}")));
        self.events.extend(remarks);
        for (index, rank) in self.ranks.iter().enumerate() {
            let number = rank.number;
            if settings.verbose {
                let program = self.plan.app(number).program.to_string_lossy();
                self.events
                    .push(Up::Say(format!("rank {number} is process {}{place} ({program})", rank.pid())));
            }
            if settings.report_bindings {
                let cores = binding.describe(index as u32);
                self.events.push(Up::Say(format!("rank {number}{place} is {cores}")));
            }
        }
    }

    /// Keeps the watchdog, which has heard of all that is started here, or tells why there is none.
    pub(crate) fn keep_watchdog(&mut self, mut watchdog: std::io::Result<Watchdog>) {
        inform(&mut watchdog, Watchdog::is_complete);
        match watchdog {
            Ok(watchdog) => self.watchdog = Some(watchdog),
            Err(error) => self.events.push(Up::Say(format!(
                "the ranks will outlive a kill -9 of mpirun: no watchdog could be started ({error})"
            ))),
        }
    }

    /// Attends to what ranks have said while others were still being started; after [`NodeSupervisor::set_children`], which knows where
    /// questions go.
    pub(crate) fn catch_up(&mut self) {
        self.on_notices();
    }

    /// What has happened since the last call, oldest first.
    pub(crate) fn take_events(&mut self) -> Vec<Up> {
        std::mem::take(&mut self.events)
    }

    /// The process of each rank.
    pub(crate) fn pids(&self) -> Vec<u32> {
        self.ranks.iter().map(Rank::pid).collect()
    }

    /// Whether nothing is left of the ranks of this host and of what they said.
    pub(crate) fn is_over(&self) -> bool {
        self.live == 0 && self.streams.are_closed()
    }

    /// Something of this node supervisor's is ready. Returns whether a stream has said something.
    pub(crate) fn handle(&mut self, token: PollToken, line_sink: &mut impl LineSink) -> bool {
        match token {
            PollToken::Notices => self.on_notices(),
            PollToken::Process(index) => self.on_end(index as usize, line_sink),
            PollToken::Output(index) => {
                self.streams.on_stream(index, line_sink, &self.poller);
                return true;
            }
            PollToken::Children => self.bury_orphans(),
            PollToken::Answers(rank) => self.answers.on_room(rank, &self.poller),
            PollToken::Pmi(rank) => {
                let demands = self.pmi.on_words(rank, &self.poller);
                demands.into_iter().for_each(|demand| self.on_demand(demand));
            }
            PollToken::ChildAgent(index) => self.on_child(index),
            PollToken::BranchRoom(index) => self.children.on_room(index, &self.poller),
            PollToken::BranchErrors(index) => {
                let words = self.children.on_errors(index, &self.poller);
                self.events.extend(words.filter(|_| self.plan.settings.verbose).map(Up::Say));
            }
            _ => {}
        }
        false
    }

    /// Sends what is to be sent to the child agents.
    pub(crate) fn flush(&mut self) {
        self.children.flush(&self.poller);
    }

    /// When to call [`NodeSupervisor::look_out`] or [`NodeSupervisor::settle`], or to attend to the streams.
    pub(crate) fn due(&self) -> Option<Instant> {
        let doubtful = self.doubtful.iter().filter_map(|doubtful| doubtful.until).min();
        [self.lookout.due(), self.streams.due(), doubtful].into_iter().flatten().min()
    }

    /// Looks for ranks that will never join this job, since their MPI library speaks another language.
    pub(crate) fn look_out(&mut self, now: Instant) {
        if self.lookout.due().is_none_or(|due| now < due) {
            return;
        }
        let joined = |rank: &Rank| self.resources.record(rank.number).state() != RankState::Absent;
        if self.ranks.iter().any(joined) {
            return self.lookout.stop();
        }
        if let Some((rank, message)) = self.lookout.look(now) {
            self.events.push(Up::ForeignLibrary { rank, message });
        }
    }

    /// Looks for child agents that have fallen silent.
    pub(crate) fn tick(&mut self, now: Instant) {
        let losses = self.children.tick(now, &self.poller);
        self.tell_losses(losses);
    }

    /// Something that `mpirun` says to all hosts, or to one on which it is: done here, and passed on.
    pub(crate) fn obey(&mut self, order: Down) {
        match order {
            Down::Signal(number) => {
                if let Some(signal) = Signal::from_named_raw(number) {
                    self.signal(signal);
                }
                if number == Signal::KILL.as_raw() {
                    self.give_up_others();
                }
                self.children.broadcast(&order);
            }
            Down::Report => {
                self.tell_standings();
                self.children.broadcast(&order);
            }
            Down::Look => {
                self.tell_waits();
                self.children.broadcast(&order);
            }
            Down::Sweep => {
                self.signal_groups(Signal::KILL);
                self.children.broadcast(&order);
            }
            Down::Say { rank, ref text } if self.is_own(rank) => self.pmi.say(rank, text),
            Down::Say { rank, .. } if rank < self.plan.size() => {
                self.send_to(self.plan.places.host_of(rank), &order);
            }
            Down::Finish | Down::Pause => self.children.broadcast(&order),
            Down::Input { rank, .. } if rank < self.plan.size() => {
                self.send_to(self.plan.places.host_of(rank), &order);
            }
            Down::OutputTaken { host, .. } => self.send_to(host, &order),
            Down::Ask(rank) => self.on_question(rank, Asker::Parent),
            Down::EndpointAddress { rank, endpoint_address } => {
                self.on_endpoint_address(rank, &endpoint_address)
            }
            Down::BarrierOut(pairs) => self.release(pairs),
            Down::Start(_) | Down::Beat | Down::Input { .. } | Down::Say { .. } => {}
        }
    }

    /// Sends a signal to the ranks of this host and to all that they have started.
    pub(crate) fn signal(&self, signal: Signal) {
        self.signal_groups(signal);
        let groups = self.ranks.iter().map(|rank| rank.group().as_raw_nonzero().get() as u32).collect();
        let watchdog = self.watchdog.iter().map(Watchdog::pid);
        let apart = self.children.pids().chain(watchdog).chain(self.apart.iter().copied());
        signal_fled(signal, &groups, &apart.collect());
    }

    /// Sends a signal to what has stayed in the ranks' process groups.
    fn signal_groups(&self, signal: Signal) {
        self.ranks.iter().for_each(|rank| rank.signal(signal));
    }

    /// Waits no longer for ranks that have become another user and may not be killed. When this process ends, those that use MPI learn
    /// it by their lifelines.
    fn give_up_others(&mut self) {
        for index in 0..self.ranks.len() {
            let rank = &mut self.ranks[index];
            if rank.end.is_some() || !rank.is_out_of_reach() || rank.look_for_end().is_some() {
                continue;
            }
            rank.give_up();
            let (number, pid) = (rank.number, rank.pid());
            self.poller.remove(&rank.process);
            self.events.push(Up::Say(format!(
                "rank {number} (process {pid} on {}) cannot be killed, since it has become another user: it may still run",
                own_name()
            )));
            self.tell_end(index, End::Unseen);
        }
    }

    fn bury_orphans(&mut self) {
        let Some(orphans) = &mut self.orphans else { return };
        let (ranks, children, watchdog) = (&self.ranks, &self.children, &self.watchdog);
        let (apart, resources) = (&self.apart, &self.resources);
        orphans.bury(|| {
            let first = ranks.iter().map(|rank| rank.group().as_raw_nonzero().get() as u32);
            // A member that was left behind is asked for its exit status when the first process has ended.
            let members = ranks.iter().filter_map(|rank| resources.record(rank.number).pid());
            let ranks = first.chain(members).chain(ranks.iter().map(Rank::pid));
            let others = children.pids().chain(watchdog.iter().map(Watchdog::pid));
            ranks.chain(others).chain(apart.iter().copied()).collect()
        });
    }

    /// These hosts are lost.
    fn tell_losses(&mut self, losses: Vec<Loss>) {
        self.events.extend(losses.into_iter().map(|(host, reason)| Up::Lost { host, reason }));
    }

    /// Leaves nothing behind.
    pub(crate) fn disband(&mut self) {
        self.children.end(&self.poller);
        if let Some(watchdog) = self.watchdog.take() {
            watchdog.dismiss();
        }
        self.ranks.iter_mut().for_each(Rank::reap);
        self.resources.free();
    }

    // The ranks of this host.

    fn on_notices(&mut self) {
        while let Some(notice) = self.resources.next_notice() {
            match notice {
                Notice::Abort(AbortNotice { rank, code, message }) if self.is_own(rank) => {
                    let message = message.trim_end().to_owned();
                    self.events.push(Up::Abort { rank, code, message });
                }
                // What it says is for a person to read, on one line.
                Notice::Tell { rank, text } if self.is_own(rank) && self.plan.settings.verbose => {
                    let line: String = text.chars().filter(|letter| !letter.is_control()).collect();
                    self.events.push(Up::Say(line));
                }
                Notice::Numbers { rank, text } if self.is_own(rank) => {
                    self.events.push(Up::Numbers { rank, text: text.into_owned() });
                }
                Notice::Finalized { rank } if self.is_own(rank) => {
                    self.finalized.insert(rank);
                }
                Notice::Publish { rank, endpoint_address } if self.is_own(rank) => {
                    self.on_endpoint_address(rank, &endpoint_address)
                }
                Notice::Ask { rank, wanted } if self.is_own(rank) => {
                    wanted.into_iter().for_each(|wanted| self.on_question(wanted, Asker::Rank(rank)));
                }
                _ => {}
            }
        }
    }

    /// Whether a rank is one of this host.
    pub(crate) fn is_own(&self, rank: u32) -> bool {
        rank < self.plan.size() && Some(self.plan.places.host_of(rank)) == self.plan.here
    }

    fn on_end(&mut self, index: usize, line_sink: &mut impl LineSink) {
        let rank = &mut self.ranks[index];
        let Some(end) = rank.look_for_end() else { return };
        self.poller.remove(&rank.process);
        self.streams.drain_rank(index, line_sink, &self.poller);
        // A rank that aborts says so before it ends, and one that has parted from a world.
        self.on_notices();
        let number = self.ranks[index].number;
        let demands = self.pmi.on_words(number, &self.poller);
        demands.into_iter().for_each(|demand| self.on_demand(demand));
        if end == End::Exited(0) && self.goes_on(index) {
            return;
        }
        let end = if self.is_helper(index) { End::Exited(0) } else { end };
        self.tell_end(index, end);
    }

    /// Whether the rank at `index`, whose process has ended well, goes on as another one that it has left behind: `setsid` starts
    /// the program in another group and ends, and a script may start it in the background. What is yet to join the job holds the
    /// rank's output, and a daemon does not.
    fn goes_on(&mut self, index: usize) -> bool {
        let rank = &self.ranks[index];
        let record = self.resources.record(rank.number);
        let left_it = record.pid().map_or(!self.streams.is_silent(index), |member| member != rank.pid());
        if record.state() == RankState::Finalized || !left_it {
            return false;
        }
        let group = rank.group().as_raw_nonzero().get() as u32;
        // It may have ended while it was looked for, and even have joined the job before.
        let joined = || self.resources.record(rank.number).pid().filter(|member| *member != rank.pid());
        let ended = || ended_member(joined()?);
        let Some(found) = successor(rank.number, group, record.pid()).or_else(ended) else { return false };
        let rank = &mut self.ranks[index];
        let watched = rank
            .hand_over(found.pid)
            .and_then(|()| self.poller.add_reader(&rank.process, PollToken::Process(index as u32)));
        if record.pid().is_none() && watched.is_ok() {
            let until = found.in_group.then(|| Instant::now() + LEFTOVER_GRACE);
            self.doubtful.push(Doubtful { index, until });
        }
        watched.is_ok()
    }

    /// Counts ranks as ended whose successors have not joined the job, and have let go of the output or have had their time.
    pub(crate) fn settle(&mut self, now: Instant) {
        let streams = &self.streams;
        let is_over = |doubtful: &mut Doubtful| {
            streams.is_silent(doubtful.index) || doubtful.until.is_some_and(|until| now >= until)
        };
        let over: Vec<Doubtful> = self.doubtful.extract_if(.., is_over).collect();
        for Doubtful { index, .. } in over {
            let rank = &mut self.ranks[index];
            if rank.end.is_none() && self.resources.record(rank.number).pid().is_none() {
                self.poller.remove(&rank.process);
                rank.end = Some(End::Exited(0));
                self.tell_end(index, End::Exited(0));
            }
        }
    }

    /// Whether the rank's process has ended without having joined the job, and looked like a helper.
    fn is_helper(&self, index: usize) -> bool {
        let absent = self.resources.record(self.ranks[index].number).pid().is_none();
        absent && self.doubtful.iter().any(|doubtful| doubtful.index == index && doubtful.until.is_some())
    }

    fn tell_end(&mut self, index: usize, end: End) {
        let rank = self.ranks[index].number;
        self.live -= 1;
        let state = match self.finalized.contains(&rank) {
            true => RankState::Finalized,
            false => self.resources.record(rank).state(),
        };
        self.events.push(Up::Ended { rank, end, state });
    }

    /// Whether all ranks of this host that run wait in MPI and have done so for long, and which has ended well without having been
    /// there: what the others wait for needs it, be it only `MPI_Finalize`. A program that a wrapper has left in the background
    /// may still be the rank, so its record counts as it is now.
    fn tell_waits(&mut self) {
        let Some(host) = self.plan.here else { return };
        let now = now_ns();
        let waits = |rank: &Rank| {
            let since = self.resources.record(rank.number).blocked().map(|blocked| blocked.since_ns);
            since.is_some_and(|since| u128::from(now.saturating_sub(since)) >= MISSED_MIN.as_nanos())
        };
        let never_came = |rank: &&Rank| {
            rank.end == Some(End::Exited(0))
                && self.resources.record(rank.number).state() == RankState::Absent
        };
        let all = self.ranks.iter().filter(|rank| rank.end.is_none()).all(waits);
        let missed = self.ranks.iter().find(never_came).map(|rank| rank.number);
        self.events.push(Up::Waits { host, all, missed, stalled: self.stalled() });
    }

    /// Whether all ranks of this host that run sleep for good, and in which calls.
    pub(crate) fn stalled(&self) -> Option<Stalled> {
        let alive = self.ranks.iter().filter(|rank| rank.end.is_none());
        deserted::look(
            alive.map(|rank| (rank.number, self.resources.record(rank.number))),
            now_ns(),
            MISSED_MIN,
            self.ranks.iter().all(|rank| rank.end.is_none()),
        )
    }

    fn tell_standings(&mut self) {
        let Some(host) = self.plan.here else { return };
        let subject = |rank: &Rank| Subject {
            record: self.resources.record(rank.number),
            pid: rank.pid(),
            end: rank.end,
        };
        let now = now_ns();
        let ranks: Vec<(u32, Standing)> =
            self.ranks.iter().map(|rank| (rank.number, standing(&subject(rank), now))).collect();
        self.events.push(Up::Standings { host, ranks });
    }

    // Children.

    fn on_child(&mut self, index: u32) {
        let (messages, losses) = self.children.on_message(index, &self.poller);
        for message in messages {
            match message {
                Up::Ask(rank) => self.on_question(rank, Asker::ChildAgent(index)),
                Up::EndpointAddress { rank, endpoint_address } => {
                    self.on_endpoint_address(rank, &endpoint_address)
                }
                Up::Barrier { ranks, pairs } => {
                    let demand = self.pmi.on_barrier(ranks, pairs);
                    demand.into_iter().for_each(|demand| self.on_demand(demand));
                }
                other => self.events.push(other),
            }
        }
        self.tell_losses(losses);
    }

    fn on_demand(&mut self, demand: Demand) {
        match demand {
            Demand::Service { rank, service } => self.events.push(Up::Service { rank, service }),
            Demand::Abort { rank, code, message } => self.events.push(Up::Abort { rank, code, message }),
            // Who has nobody above opens the barrier.
            Demand::Barrier(pairs) if self.is_root => self.release(pairs),
            Demand::Barrier(pairs) => {
                let ranks = self.pmi.expected();
                self.events.push(Up::Barrier { ranks, pairs });
            }
        }
    }

    fn release(&mut self, pairs: KeyValues) {
        self.children.broadcast(&Down::BarrierOut(pairs.clone()));
        self.pmi.release(pairs);
    }

    fn send_to(&mut self, host: u32, message: &Down) {
        if let Some(index) = self.children.toward(host) {
            self.children.send(index, message);
        }
    }

    // Endpoint addresses.

    fn on_endpoint_address(&mut self, rank: u32, endpoint_address: &[u8]) {
        let (endpoint_address, askers) = self.directory.learn(rank, endpoint_address);
        for asker in askers {
            self.answer(asker, rank, &endpoint_address);
        }
    }

    fn on_question(&mut self, wanted: u32, asker: Asker) {
        if wanted >= self.plan.size() {
            return;
        }
        match self.directory.ask(wanted, asker) {
            Asked::Known(endpoint_address) => self.answer(asker, wanted, &endpoint_address),
            Asked::First if !self.is_own(wanted) => self.ask_on(wanted),
            Asked::First | Asked::Again => {}
        }
    }

    fn ask_on(&mut self, wanted: u32) {
        match self.children.toward(self.plan.places.host_of(wanted)) {
            Some(index) => self.children.send(index, &Down::Ask(wanted)),
            None => self.events.push(Up::Ask(wanted)),
        }
    }

    fn answer(&mut self, asker: Asker, rank: u32, endpoint_address: &[u8]) {
        match asker {
            Asker::Rank(asker) => {
                self.answers.send(asker, encode_answer(rank, endpoint_address), &self.poller)
            }
            Asker::ChildAgent(index) => self
                .children
                .send(index, &Down::EndpointAddress { rank, endpoint_address: endpoint_address.to_vec() }),
            Asker::Parent => {
                self.events.push(Up::EndpointAddress { rank, endpoint_address: endpoint_address.to_vec() })
            }
        }
    }
}

/// Serves the ranks of this host. How many are behind it is known once its child agents are.
fn serve_pmi(plan: &JobPlan, ranks: &mut [Rank], poller: &Poller) -> Pmi {
    let mut sockets = Vec::with_capacity(ranks.len());
    for rank in ranks {
        let Some(socket) = rank.pmi.take() else { continue };
        // One that cannot be waited for is not served.
        if poller.add_reader(&socket, PollToken::Pmi(rank.number)).is_ok() {
            sockets.push((rank.number, plan.app_of[rank.number as usize], socket));
        }
    }
    let name = format!("tern_{}", std::process::id());
    let about = About { name, universe: plan.universe, mapping: pmi::mapping(&plan.places) };
    let mut pmi = Pmi::new(sockets.into_iter(), about);
    pmi.preset(&plan.settings.pairs);
    pmi
}

/// Waits for everything that the ranks may do.
fn watch(
    resources: &JobResources,
    ranks: &mut [Rank],
    poller: &Poller,
    interactive: bool,
) -> Result<Streams, Refusal> {
    let pipes: Vec<_> =
        ranks.iter_mut().filter_map(|rank| Some((rank.number, rank.outputs.take()?))).collect();
    let wait = || {
        poller.add_reader(resources.notices_fd(), PollToken::Notices)?;
        for (index, rank) in ranks.iter().enumerate() {
            poller.add_reader(&rank.process, PollToken::Process(index as u32))?;
        }
        Streams::new(pipes.into_iter(), interactive, poller)
    };
    wait().map_err(|error| Refusal::system("cannot wait for the ranks", error))
}

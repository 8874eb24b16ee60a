//! The agent: `mpirun` on another host, which starts that host's ranks, tells what happens to them, and ends them when
//! it is told to or when nobody is there any more to tell it.

use std::os::fd::{BorrowedFd, OwnedFd};
use std::time::Instant;

use rustix::io::fcntl_dupfd_cloexec;
use rustix::process::Signal;

use crate::launch::spawn::{self, Feeding};
use crate::launch::watchdog::Watchdog;
use crate::limits::{BEAT, PARENT_SILENCE_MAX};
use crate::output::stdin_pipes::{StdinPipes, TakenInput};
use crate::plan::JobPlan;
use crate::poller::{PollToken, Poller};
use crate::tree::channel::{ChannelInbox, ChannelOutbox};
use crate::tree::children::Children;
use crate::tree::messages::{Down, GREETING, Orders, Up};
use crate::tree::relay::Relay;
use crate::watch::exit_cause::Refusal;
use crate::watch::node::NodeSupervisor;

/// The agent's whole life.
pub(crate) fn serve() -> Result<(), Refusal> {
    let _ = rustix::thread::set_name(c"tern-agent");
    let mut poller = Poller::new()?;
    let mut parent = Parent::new(&poller)?;
    let Some(orders) = parent.orders(&mut poller) else { return Ok(()) };
    let host = orders.hosts.first().map_or(0, |(host, _)| *host);
    match start(&orders, poller) {
        Ok((node, stdin_pipes)) => Agent::new(host, node, parent, stdin_pipes).run(),
        Err(refusal) => parent.refuse(&orders, &refusal)?,
    }
    Ok(())
}

/// Starts the agents behind this one, then this host's ranks.
fn start(orders: &Orders, poller: Poller) -> Result<(NodeSupervisor, StdinPipes), Refusal> {
    let plan = prepare(orders)?;
    let mut watchdog = Watchdog::post();
    let (mut children, losses) =
        Children::start(orders, &orders.hosts[1..], plan.tree(), &poller, &mut watchdog);
    let feed = Feeding::copied(orders.stdin);
    let (mut ranks, resources, binding) = match spawn::start(&plan, &orders.secret, feed, &mut watchdog) {
        Ok(started) => started,
        Err(refusal) => {
            children.end(&poller);
            watchdog.into_iter().for_each(Watchdog::dismiss);
            return Err(refusal);
        }
    };
    let inputs = ranks.iter_mut().filter_map(|rank| Some((rank.number, rank.input.take()?)));
    let stdin_pipes = StdinPipes::new(inputs);
    let mut node = NodeSupervisor::new(plan, resources, ranks, poller, orders.interactive)?;
    node.set_children(children, losses, false);
    node.introduce(&binding);
    node.keep_watchdog(watchdog);
    node.catch_up();
    Ok((node, stdin_pipes))
}

/// Goes where `mpirun` is, and checks what can be checked before anything runs.
fn prepare(orders: &Orders) -> Result<JobPlan, Refusal> {
    let mut plan = orders.plan().ok_or_else(|| Refusal::usage("mpirun's orders make no sense".into()))?;
    if let Err(error) = std::env::set_current_dir(&orders.directory) {
        let path = orders.directory.to_string_lossy();
        return Err(Refusal::usage(format!("the working directory '{path}' cannot be entered: {error}")));
    }
    plan.check_directories()?;
    let own = std::mem::take(&mut plan.settings.environment);
    plan.settings.environment = orders.inherited.iter().cloned().chain(own).collect();
    Ok(plan)
}

/// The connection to whoever started this agent.
struct Parent {
    from: ChannelInbox,
    to: ChannelOutbox,
    heard: Instant,
    /// The parent has been stopped, and its silence means nothing.
    paused: bool,
    gone: bool,
}

impl Parent {
    fn new(poller: &Poller) -> Result<Parent, Refusal> {
        let own =
            |fd: BorrowedFd<'static>| -> Result<OwnedFd, rustix::io::Errno> { fcntl_dupfd_cloexec(fd, 3) };
        let connect = || {
            let from = ChannelInbox::new(own(rustix::stdio::stdin())?, false)?;
            let mut to = ChannelOutbox::new(own(rustix::stdio::stdout())?, PollToken::ParentRoom)?;
            poller.add_reader(&from, PollToken::Parent)?;
            to.push_raw(GREETING);
            to.flush(poller);
            Ok(Parent { from, to, heard: Instant::now(), paused: false, gone: false })
        };
        connect().map_err(|error: rustix::io::Errno| Refusal::system("no parent to talk to", error))
    }

    /// Waits for the first message.
    fn orders(&mut self, poller: &mut Poller) -> Option<Box<Orders>> {
        loop {
            match self.from.next::<Down>() {
                Ok(Some(Down::Start(orders))) => return Some(orders),
                Ok(None) => self.wait_and_read(poller)?,
                _ => return None,
            }
        }
    }

    /// Says why there will be no ranks here, nor behind here, and waits until the parent has heard it.
    fn refuse(&mut self, orders: &Orders, refusal: &Refusal) -> Result<(), Refusal> {
        let mut poller = Poller::new()?;
        let _ = poller.add_reader(&self.from, PollToken::Parent);
        let hosts = orders.hosts.iter().map(|(host, _)| *host);
        for host in hosts {
            self.to.push(&Up::Refused { host, message: refusal.to_string(), status: refusal.status() });
        }
        loop {
            self.to.on_room(&poller);
            self.to.flush(&poller);
            while let Ok(Some(_)) = self.from.next::<Down>() {}
            if self.wait_and_read(&mut poller).is_none() {
                return Ok(());
            }
        }
    }

    fn wait_and_read(&mut self, poller: &mut Poller) -> Option<()> {
        if let Err(refusal) = poller.wait(Some(BEAT), &mut Vec::new()) {
            // The parent reads standard error once this agent has ended.
            eprintln!("{refusal}");
            return None;
        }
        self.from.read().ok()
    }

    fn is_silent(&self, now: Instant) -> bool {
        !self.paused && now >= self.heard + PARENT_SILENCE_MAX
    }
}

struct Agent {
    node: NodeSupervisor,
    parent: Parent,
    relay: Relay,
    stdin_pipes: StdinPipes,
    host: u32,
    beat_at: Instant,
    /// All ranks of the job have ended.
    finishing: bool,
    /// [`Up::Over`] has been sent.
    over: bool,
}

impl Agent {
    fn new(host: u32, node: NodeSupervisor, mut parent: Parent, stdin_pipes: StdinPipes) -> Agent {
        parent.to.push(&Up::Started { host, pids: node.pids() });
        let (relay, beat_at) = (Relay::default(), Instant::now() + BEAT);
        Agent { node, parent, relay, stdin_pipes, host, beat_at, finishing: false, over: false }
    }

    fn run(&mut self) {
        let mut ready = Vec::new();
        while self.parent_is_there() {
            self.flush();
            let dues = [Some(self.beat_at), self.node.due()];
            let due = dues.into_iter().flatten().min();
            let timeout = due.map(|due| due.saturating_duration_since(Instant::now()));
            if let Err(refusal) = self.node.poller.wait(timeout, &mut ready) {
                self.refuse(&refusal);
                break;
            }
            for token in ready.drain(..) {
                self.handle(token);
            }
            self.tick(Instant::now());
        }
        self.node.signal(Signal::KILL);
        self.node.disband();
    }

    /// Says why nothing can be seen of the ranks here any more.
    fn refuse(&mut self, refusal: &Refusal) {
        let (host, message, status) = (self.host, refusal.to_string(), refusal.status());
        self.parent.to.push(&Up::Refused { host, message, status });
        self.parent.to.flush(&self.node.poller);
    }

    fn parent_is_there(&self) -> bool {
        !self.parent.gone && !self.parent.is_silent(Instant::now())
    }

    fn handle(&mut self, token: PollToken) {
        match token {
            PollToken::Parent => self.on_parent(),
            PollToken::ParentRoom => self.parent.to.on_room(&self.node.poller),
            PollToken::Input(rank) => {
                let taken = self.stdin_pipes.on_room(rank, &self.node.poller);
                self.tell_taken(rank, taken);
            }
            token => drop(self.node.handle(token, &mut self.relay)),
        }
        self.collect();
    }

    /// What a rank has said goes before the news of its end.
    fn collect(&mut self) {
        let events = self.relay.take_all().into_iter().chain(self.node.take_events());
        events.for_each(|event| self.parent.to.push(&event));
    }

    fn flush(&mut self) {
        self.collect();
        if self.finishing && !self.over && self.node.is_over() {
            self.over = true;
            self.parent.to.push(&Up::Over { host: self.host });
        }
        self.parent.to.flush(&self.node.poller);
        self.node.flush();
    }

    fn tick(&mut self, now: Instant) {
        self.node.streams.tick(now, &mut self.relay);
        self.node.settle(now);
        self.node.look_out(now);
        if now >= self.beat_at {
            self.beat_at = now + BEAT;
            self.parent.to.push(&Up::Beat);
            self.node.tick(now);
        }
    }

    fn on_parent(&mut self) {
        let result = self.parent.from.read();
        self.parent.heard = Instant::now();
        self.parent.paused = false;
        loop {
            match self.parent.from.next::<Down>() {
                Ok(Some(order)) => self.obey(order),
                Ok(None) => break,
                Err(_) => self.parent.gone = true,
            }
            if self.parent.gone {
                break;
            }
        }
        self.parent.gone |= result.is_err();
    }

    fn obey(&mut self, order: Down) {
        match order {
            Down::OutputTaken { host, bytes } if host == self.host => {
                self.relay.on_taken(bytes);
                self.node.streams.resume(&self.relay, &self.node.poller);
            }
            Down::Input { rank, bytes } if self.node.is_own(rank) => {
                let taken = self.stdin_pipes.on_input(rank, bytes, &self.node.poller);
                self.tell_taken(rank, taken);
            }
            order => {
                self.finishing |= order == Down::Finish;
                self.parent.paused |= order == Down::Pause;
                if order == Down::Pause {
                    self.node.forgive();
                }
                self.node.obey(order);
            }
        }
    }

    fn tell_taken(&mut self, rank: u32, taken: TakenInput) {
        if taken != TakenInput::NotYet {
            self.parent.to.push(&Up::InputTaken { rank, closed: taken == TakenInput::Closed });
        }
    }
}

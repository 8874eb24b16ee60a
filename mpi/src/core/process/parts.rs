//! The smaller parts of the process's state.

use crate::core::multicast::{self, MulticastVerdict};
use crate::core::wait::{self, Asleep, CoreBalance, CoreSharing, Polling, Yielding};
use crate::limits::{SPIN_POLLS_MAX, YIELDS_MAX};
use std::sync::Arc;
use std::time::Duration;
use tern_fabric::Fabric;
use tern_job::{CoreBudget, Job};
use tern_settings::Environment;
use tern_shm::BoundPlace;
use tern_transport::{Doorbell, Medium, Transport, TransportConfig, TransportSetting};

/// How this process waits.
pub(crate) struct ProcessWaits {
    /// The doorbell of this rank.
    pub bell: Option<Arc<dyn Doorbell>>,
    /// Threads of this process that sleep in a call.
    pub sleepers: u32,
    /// What the engine had counted when this thread took the lock.
    pub events_at_entry: u64,
    /// What those of them wait for that have slept long.
    pub asleep: Asleep,
    /// Counts the times that somebody has taken what had arrived.
    pub polls: u64,
    /// How long calls have yielded or slept, while a tool counts.
    pub blocked: Duration,
    /// Ranks outnumber the cores: waiting must not spin.
    pub oversubscribed: bool,
    /// Empty polls after which a wait that spins offers the core to others; 0: it does not.
    pub polls_per_yield: u32,
    /// Yields before a wait sleeps.
    pub yields_max: u32,
    /// A wait for one peer's message gives that peer the core first, and looks at it alone, most times.
    pub listens: bool,
    /// A wait looks at something beside what it waits for.
    pub looks_aside: bool,
    /// Polls of a blocking receive before it needs a request.
    pub polls_at_once: u32,
    /// Empty polls before a wait stops spinning: what the last waits have taught.
    pub spin_polls_max: u32,
    /// What it is at most.
    pub spin_polls_most: u32,
    /// What a loop over calls that ask says of itself.
    pub polling: Polling,
    /// Whether waits yield before they sleep.
    pub yielding: Yielding,
    /// Whether others are on this rank's core.
    pub shared_core: CoreSharing,
    /// Where ranks outnumber the cores, how many are on each.
    pub core_balance: CoreBalance,
    /// `TERN_PROGRESS=thread`.
    pub progress_thread: bool,
    /// Nobody uses MPI here, for now: what peers still need of this rank, the progress thread does.
    pub away: bool,
}

impl ProcessWaits {
    /// As before the settings are read.
    pub(crate) const fn new() -> Self {
        ProcessWaits {
            bell: None,
            sleepers: 0,
            events_at_entry: 0,
            asleep: Asleep::new(),
            polls: 0,
            blocked: Duration::ZERO,
            oversubscribed: false,
            polls_per_yield: 0,
            yields_max: YIELDS_MAX,
            listens: false,
            looks_aside: false,
            polls_at_once: 1,
            spin_polls_max: SPIN_POLLS_MAX,
            spin_polls_most: SPIN_POLLS_MAX,
            polling: Polling::new(),
            yielding: Yielding::new(),
            shared_core: CoreSharing::new(),
            core_balance: CoreBalance::new(),
            progress_thread: false,
            away: false,
        }
    }
}

impl ProcessWaits {
    /// As the fabric, the cores of this host and the settings want it. What waits have taught is forgotten.
    pub(crate) fn settle(&mut self, fabric: &Fabric, cores: &CoreBudget, environment: &Environment) {
        self.bell = Some(fabric.doorbell());
        self.oversubscribed = cores.is_oversubscribed();
        self.polls_per_yield = wait::polls_per_yield(fabric);
        self.yields_max = wait::yields_max(cores);
        self.yielding = Yielding::on(cores);
        let node = fabric.node_cores().filter(|_| self.oversubscribed);
        self.core_balance =
            node.map_or(CoreBalance::new(), |node| CoreBalance::of(node, cores.ranks_per_core()));
        self.listens = self.oversubscribed && fabric.has_poll_first();
        self.polls_at_once = wait::polls_at_once(fabric, self.oversubscribed);
        self.spin_polls_most = wait::spin_polls_max(fabric);
        self.spin_polls_max = self.spin_polls_most;
        self.progress_thread = environment.progress_thread;
        self.looks_aside = environment.check_threads;
    }
}

/// `TERN_CHECK`: which checks are on.
pub(crate) struct Checks {
    /// Types of messages.
    pub types: bool,
    /// Threads. The lock is used then, whatever level was asked for.
    pub threads: bool,
    /// Collectives. They go by schedules then, whatever shorter way there is.
    pub collectives: bool,
    /// Windows that are made from now on.
    pub windows: bool,
    /// Types are checked, or messages are counted: the shortest ways of messages are not taken.
    pub watched: bool,
}

impl Checks {
    /// None is on.
    pub(crate) const fn new() -> Self {
        Checks { types: false, threads: false, collectives: false, windows: false, watched: false }
    }

    /// As the settings want it.
    pub(crate) fn of(environment: &Environment) -> Self {
        let types = environment.engine.check_types;
        Checks {
            types,
            threads: environment.check_threads,
            collectives: environment.engine.check_collectives,
            windows: environment.check_windows,
            watched: types,
        }
    }
}

/// What is known of multicast.
pub(crate) struct MulticastState {
    /// Whether it works.
    pub verdict: MulticastVerdict,
    /// What multicasts shall go by.
    pub medium: Medium,
    /// Collectives count each rank as a node of its own: a way to try multicasts on one.
    pub ranks_apart: bool,
}

impl MulticastState {
    /// Nobody has asked yet.
    pub(crate) const fn new() -> Self {
        MulticastState { verdict: MulticastVerdict::Open, medium: Medium::Udp, ranks_apart: false }
    }

    /// As the settings and the job want it.
    pub(crate) fn settle(&mut self, transport: &TransportConfig, job: &Job, rows: &[tern_coll::TableRow]) {
        self.verdict = multicast::wanted(transport, job.size, job.hosts, rows);
        self.medium = transport.multicast;
    }
}

/// What the choice of collective algorithms needs to know.
pub(crate) struct CollectiveState {
    /// `TERN_TRANSPORT`.
    pub transport: TransportSetting,
    /// `TERN_COPIES`, as it is on this node.
    pub by_cells: bool,
    /// See [`tern_transport::Copies::has_fast_cells`].
    pub fast_cells: bool,
    /// `TERN_COLL_TABLE`: the rows that come before the built-in choice.
    pub rows: Vec<tern_coll::TableRow>,
    /// Counts the contexts that this process has allocated.
    pub contexts_allocated: u32,
    /// Slots for the shm communicators that this process leads, once it leads one other than the world's.
    pub leader_slots: Vec<crate::coll::shm_comm_place::LeaderSlot>,
    /// Where this process is bound to, once that has been asked for.
    pub bound_place: Option<BoundPlace>,
}

impl CollectiveState {
    /// As before the settings are read.
    pub(crate) const fn new() -> Self {
        CollectiveState {
            transport: TransportSetting::Auto,
            by_cells: false,
            fast_cells: false,
            rows: Vec::new(),
            contexts_allocated: 0,
            leader_slots: Vec::new(),
            bound_place: None,
        }
    }

    /// As the settings want it.
    pub(crate) fn settle(&mut self, transport: &TransportConfig) {
        self.transport = transport.transport;
        self.by_cells = transport.copies.by_cells();
        self.fast_cells = transport.copies.has_fast_cells();
    }
}

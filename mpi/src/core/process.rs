//! The state of this process as MPI sees it, and the one lock before it.
//!
//! A program below `MPI_THREAD_MULTIPLE` pays for the lock with one load of a flag that never changes. Callbacks of the
//! user are always called without it: whoever holds a [`LockGuard`] must not call out.

mod ending;
mod gate;
mod guard;
mod parts;
mod phase;

pub(crate) use crate::core::engine::ProcessEngine;
pub(crate) use ending::{abort, complain, die};
pub(crate) use guard::{
    ClosedGate, LockGuard, LoneGuard, Threads, allow, bar_others, be_ours, close_gate, enter, enter_alone,
    enter_anyway, enter_at_once, enter_by_gate, enter_from_sleep, entries, in_forked_child,
    is_for_ours_alone, is_ours, meet_another, open_gate, several, state_after_fault, threads, try_enter,
    try_look, use_lock, use_lock_in_time,
};
pub(crate) use parts::{Checks, CollectiveState, MulticastState, ProcessWaits};
pub(crate) use phase::{Phase, phase, set_phase};

use crate::comm::attribute_keys::Keyvals;
use crate::comm::object::{Comm, Comms};
use crate::core::error::{ErrorObject, Result, fail};
use crate::core::given;
use crate::core::handle::HandleKind;
use crate::core::table::Table;
use crate::env::error_codes::Errors;
use crate::env::handlers::Errhandlers;
use crate::env::handlers::Handler;
use crate::p2p::request::Requests;
use tern_abi::*;
use tern_engine::Group;
use tern_job::Job;
use tern_transport::Peer;

/// Everything that handles name, and the engine while MPI is initialized.
pub(crate) struct Process {
    engine: Option<Box<ProcessEngine>>,
    /// The job; from initialisation on.
    pub job: Option<Job>,
    /// How this process waits.
    pub waiting: ProcessWaits,
    /// What handles name.
    pub objects: Objects,
    /// Which checks are on.
    pub checks: Checks,
    /// What is known of multicast.
    pub multicast: MulticastState,
    /// What the choice of collective algorithms needs to know.
    pub coll: CollectiveState,
    /// Other worlds, ports, and the launcher's services.
    pub worlds: crate::spawn::Worlds,
}

/// The objects of all kinds, and what belongs to them.
pub(crate) struct Objects {
    /// Communicators.
    pub comms: Comms,
    /// In a forked child: those of its parent. None is found any more, but their error handlers still decide.
    pub parents_comms: Comms,
    /// Groups made by the program.
    pub groups: Table<Group>,
    /// Datatypes made by the program.
    pub types: crate::datatype::object::Datatypes,
    /// Operations made by the program.
    pub ops: crate::coll::op::Ops,
    /// Info objects.
    pub infos: crate::env::info::Infos,
    /// Attribute keys.
    pub keyvals: Keyvals,
    /// Error handlers.
    pub errhandlers: Errhandlers,
    /// Error classes and codes of the program, and the last messages.
    pub errors: Errors,
    /// Requests that are more than one message.
    pub requests: Requests,
    /// Collectives under way that are requests.
    pub collectives: Vec<MPI_Request>,
    /// Messages that a matched probe has taken out.
    pub messages: Table<crate::p2p::probe::Message>,
    /// Buffers of buffered mode.
    pub bsend: crate::p2p::buffers::Buffers,
    /// Windows.
    pub windows: crate::rma::object::Windows,
    /// Files.
    pub files: crate::file::object::OpenFiles<Process>,
    /// Sessions.
    pub sessions: crate::env::session::Sessions,
}

impl Objects {
    /// None yet, but for what the standard predefines.
    pub(crate) const fn new() -> Self {
        Objects {
            comms: Comms::new(),
            parents_comms: Comms::new(),
            groups: Table::new(HandleKind::Group),
            types: crate::datatype::object::Datatypes::new(),
            ops: crate::coll::op::Ops::new(),
            infos: crate::env::info::Infos::new(),
            keyvals: Keyvals::new(),
            errhandlers: Errhandlers::new(),
            errors: Errors::new(),
            requests: Requests::new(),
            collectives: Vec::new(),
            messages: Table::new(HandleKind::Message),
            bsend: crate::p2p::buffers::Buffers::new(),
            windows: crate::rma::object::Windows::new(),
            files: crate::file::object::OpenFiles::new(),
            sessions: crate::env::session::Sessions::new(),
        }
    }

    /// MPI ends: communicators and windows are gone, the program's handles invalid.
    pub(crate) fn forget_all(&mut self) {
        self.comms = Comms::new();
        self.windows = crate::rma::object::Windows::new();
        self.files.forget();
    }
}

impl Process {
    /// Ranks of the job, also before initialisation.
    pub(crate) fn announced_size(&self) -> u32 {
        self.job.as_ref().map_or_else(tern_job::announced_size, |job| job.size)
    }

    /// This process's rank in the world.
    pub(crate) fn own_peer(&self) -> Peer {
        self.job.as_ref().map_or(0, |job| job.rank)
    }

    const fn new() -> Self {
        Process {
            engine: None,
            job: None,
            waiting: ProcessWaits::new(),
            objects: Objects::new(),
            checks: Checks::new(),
            multicast: MulticastState::new(),
            coll: CollectiveState::new(),
            worlds: crate::spawn::Worlds::new(),
        }
    }

    /// The engine, while there is one.
    #[inline]
    pub(crate) fn engine(&mut self) -> Result<&mut ProcessEngine> {
        match &mut self.engine {
            Some(engine) => Ok(engine),
            None => Err(outside()),
        }
    }

    /// The engine, where a handle that exists only while MPI is initialized has been checked already.
    #[inline]
    pub(crate) fn engine_mut(&mut self) -> Option<&mut ProcessEngine> {
        self.engine.as_deref_mut()
    }

    /// The engine, to look at.
    pub(crate) fn engine_ref(&self) -> Option<&ProcessEngine> {
        self.engine.as_deref()
    }

    /// The engine beside what refers to its requests.
    #[inline]
    pub(crate) fn split(
        &mut self,
    ) -> Result<(&mut ProcessEngine, &mut Requests, &mut crate::p2p::buffers::Buffers)> {
        match &mut self.engine {
            Some(engine) => Ok((engine, &mut self.objects.requests, &mut self.objects.bsend)),
            None => Err(outside()),
        }
    }

    /// Takes the engine out.
    pub(crate) fn take_engine(&mut self) -> Option<Box<ProcessEngine>> {
        self.engine.take()
    }

    /// Puts the engine in place, or takes it away.
    pub(crate) fn set_engine(&mut self, engine: Option<Box<ProcessEngine>>) {
        self.engine = engine;
    }

    /// The communicator of a handle.
    #[inline]
    pub(crate) fn comm(&self, comm: MPI_Comm) -> Result<&Comm> {
        self.objects.comms.get(comm).ok_or_else(|| no_comm(comm))
    }

    /// The communicator of a handle, to change it.
    pub(crate) fn comm_mut(&mut self, comm: MPI_Comm) -> Result<&mut Comm> {
        self.objects.comms.get_mut(comm).ok_or_else(|| no_comm(comm))
    }

    /// What an object is called, for a message.
    pub(crate) fn name_of(&self, place: ErrorObject) -> Option<String> {
        match place {
            ErrorObject::Comm(comm) => self.objects.comms.get(comm).map(|comm| comm.described()),
            ErrorObject::Win(win) => self.objects.windows.all.get(win.0).map(|window| window.described()),
            ErrorObject::File(file) => {
                self.objects.files.table.get(file.0).map(|file| file.facts.described())
            }
            _ => None,
        }
    }

    /// The error handler of an object; without a valid one, that of `MPI_COMM_SELF` (MPI 5.0 section 9.1).
    pub(crate) fn handler_of(&self, place: ErrorObject) -> Handler {
        let of_comm = |comm| {
            let found = self.objects.comms.get(comm).or_else(|| self.objects.parents_comms.get(comm));
            found.map(|comm| comm.errhandler)
        };
        let own = match place {
            ErrorObject::Comm(comm) => of_comm(comm),
            ErrorObject::Session(session) => self.objects.sessions.errhandler(session),
            ErrorObject::File(file) => {
                let own = self.objects.files.table.get(file.0).map(|file| file.errhandler);
                Some(own.unwrap_or_else(|| self.objects.errhandlers.for_files()))
            }
            ErrorObject::Chosen(errhandler) => Some(errhandler),
            ErrorObject::Win(win) => self.objects.windows.all.get(win.0).map(|window| window.errhandler),
            ErrorObject::None => None,
        };
        let general = || of_comm(MPI_COMM_SELF);
        let errhandler = own.or_else(general).unwrap_or_else(crate::core::settings::initial_errhandler);
        self.objects.errhandlers.handler(errhandler)
    }
}

#[cold]
fn no_comm(comm: MPI_Comm) -> Box<crate::core::error::Error> {
    if phase() != Phase::Running {
        return outside();
    }
    if comm == MPI_COMM_NULL {
        return fail(MPI_ERR_COMM, "the communicator is MPI_COMM_NULL");
    }
    fail(
        MPI_ERR_COMM,
        format!("{:#x} is no communicator: it was freed or never was one", given::handle(comm.0)),
    )
}

/// The error of a call before MPI is initialized or after it has ended.
#[cold]
pub(crate) fn outside() -> Box<crate::core::error::Error> {
    fail(
        MPI_ERR_OTHER,
        match phase() {
            Phase::Before => "called before MPI_Init (or MPI_Init_thread)",
            Phase::Running => "this needs the world model: call MPI_Init first",
            Phase::Finalized => "called after MPI_Finalize",
            Phase::Forked => {
                "called in a process that was forked from a rank: only the process that called MPI_Init may call MPI"
            }
        },
    )
}

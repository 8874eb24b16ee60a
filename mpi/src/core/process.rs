//! The state of this process as MPI sees it, and the one lock before it.
//!
//! A program below `MPI_THREAD_MULTIPLE` pays for the lock with one load of a flag that never changes. Callbacks of the
//! user are always called without it: whoever holds a [`LockGuard`] must not call out.

mod guard;
mod objects;
mod parts;

pub use crate::core::engine::ProcessEngine;
pub use guard::{
    LockGuard, LoneGuard, Phase, Threads, allow, bar_others, be_ours, enter, enter_alone, enter_anyway,
    in_forked_child, phase, set_phase, several, state_after_fault, threaded, try_enter, try_look, use_lock,
    use_lock_if_idle,
};
pub use objects::Objects;
pub use parts::{Checks, CollectiveState, MulticastState, ProcessWaits};

use crate::comm::object::Comm;
use crate::core::error::{ErrorObject, Result, fail};
use crate::core::given;
use crate::env::handlers::Handler;
use crate::p2p::request::Requests;
use tern_abi::*;
use tern_job::Job;
use tern_transport::Peer;

/// Everything that handles name, and the engine while MPI is initialized.
pub struct Process {
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

impl Process {
    /// Ranks of the job, also before initialisation.
    pub fn announced_size(&self) -> u32 {
        self.job.as_ref().map_or_else(tern_job::announced_size, |job| job.size)
    }

    /// This process's rank in the world.
    pub fn own_peer(&self) -> Peer {
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
    pub fn engine(&mut self) -> Result<&mut ProcessEngine> {
        match &mut self.engine {
            Some(engine) => Ok(engine),
            None => Err(outside()),
        }
    }

    /// The engine, where a handle that exists only while MPI is initialized has been checked already.
    #[inline]
    pub fn engine_mut(&mut self) -> Option<&mut ProcessEngine> {
        self.engine.as_deref_mut()
    }

    /// The engine, to look at.
    pub fn engine_ref(&self) -> Option<&ProcessEngine> {
        self.engine.as_deref()
    }

    /// The engine beside what refers to its requests.
    #[inline]
    pub fn split(
        &mut self,
    ) -> Result<(&mut ProcessEngine, &mut Requests, &mut crate::p2p::buffers::Buffers)> {
        match &mut self.engine {
            Some(engine) => Ok((engine, &mut self.objects.requests, &mut self.objects.bsend)),
            None => Err(outside()),
        }
    }

    /// Takes the engine out.
    pub fn take_engine(&mut self) -> Option<Box<ProcessEngine>> {
        self.engine.take()
    }

    /// Puts the engine in place, or takes it away.
    pub fn set_engine(&mut self, engine: Option<Box<ProcessEngine>>) {
        self.engine = engine;
    }

    /// The communicator of a handle.
    #[inline]
    pub fn comm(&self, comm: MPI_Comm) -> Result<&Comm> {
        self.objects.comms.get(comm).ok_or_else(|| no_comm(comm))
    }

    /// The communicator of a handle, to change it.
    pub fn comm_mut(&mut self, comm: MPI_Comm) -> Result<&mut Comm> {
        self.objects.comms.get_mut(comm).ok_or_else(|| no_comm(comm))
    }

    /// What an object is called, for a message.
    pub fn name_of(&self, place: ErrorObject) -> Option<String> {
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
    pub fn handler_of(&self, place: ErrorObject) -> Handler {
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
pub fn outside() -> Box<crate::core::error::Error> {
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

/// Says why this process ends, in one piece: whoever dies next shall not leave half a line.
pub fn complain(message: &str) {
    use std::io::Write;
    let _ = std::io::stderr().write_all(format!("tern: {message}\n").as_bytes());
}

/// The error handler says that the job (or, with `comm_only`, the communicator's processes) must end.
#[cold]
pub fn die(code: i32, message: &str, comm_only: bool) -> ! {
    // The launcher ends this process, too, once it is told.
    crate::core::stdio::flush_streams();
    let process = enter_anyway();
    let scope = if comm_only { " (MPI_ERRORS_ABORT)" } else { "" };
    if let Some(job) = &process.job {
        job.announce_abort(code, &format!("{message}{scope}"));
    } else {
        complain(&format!("{message}{scope}"));
    }
    // Not exit(): handlers of the program must not run in the middle of a failed call.
    // SAFETY: _exit has no preconditions.
    unsafe { libc::_exit(tern_job::exit_status(code)) }
}

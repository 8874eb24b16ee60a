//! The state of this process as MPI sees it, and the one lock before it.
//!
//! A program below `MPI_THREAD_MULTIPLE` pays for the lock with one load of a flag that never changes. Callbacks of the
//! user are always called without it: whoever holds a [`Guard`] must not call out.

use crate::comm::object::{Comm, Comms};
use crate::core::error::{Place, Result, fail};
use crate::core::handle::Kind;
use crate::core::table::Table;
use crate::env::errhandler::{Errhandlers, Handler};
use crate::env::error_codes::Errors;
use crate::p2p::request::Requests;
use parking_lot::RawMutex;
use parking_lot::lock_api::{RawMutex as _, RawMutexFair as _};
use std::cell::UnsafeCell;
use std::ops::{Deref, DerefMut};
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};
use tern_abi::*;
use tern_engine::{Engine, Group};
use tern_job::Job;
use tern_transport::{Doorbell, Medium, Peer, fabric::Fabric};

/// The engine over all transports of this process.
pub type ProcessEngine = Engine<Fabric>;

/// Everything that handles name, and the engine while MPI is initialised.
pub struct Process {
    engine: Option<Box<ProcessEngine>>,
    /// The job; from initialisation on.
    pub job: Option<Job>,
    /// The doorbell of this rank.
    pub bell: Option<Arc<dyn Doorbell>>,
    /// Threads of this process that sleep in a call.
    pub sleepers: u32,
    /// What those of them wait for that have slept long.
    pub asleep: crate::core::wait::Asleep,
    /// Counts the times that a thread has entered, where several may.
    pub entries: u64,
    /// Counts the times that somebody has taken what had arrived.
    pub polls: u64,
    /// Ranks outnumber the cores: waiting must not spin.
    pub crowded: bool,
    /// Empty polls after which a wait that spins offers the core to others; 0: it does not.
    pub polls_per_yield: u32,
    /// Yields before a wait sleeps.
    pub yields_max: u32,
    /// A wait for one peer's message gives that peer the core first, and looks at it alone, most times.
    pub listens: bool,
    /// Polls of a blocking receive before it needs a request.
    pub polls_at_once: u32,
    /// Empty polls before a wait stops spinning: what the last waits have taught.
    pub spin_polls_max: u32,
    /// What it is at most.
    pub spin_polls_most: u32,
    /// What a loop over calls that ask says of itself.
    pub polling: crate::core::wait::Polling,
    /// Whether waits yield before they sleep.
    pub yielding: crate::core::wait::Yielding,
    /// Collectives count each rank as a machine of its own: a way to try multicasts on one.
    pub ranks_apart: bool,
    /// `TERN_TRANSPORT`.
    pub route: tern_transport::Route,
    /// Whether multicast works.
    pub multicast: crate::core::multicast::Verdict,
    /// What multicasts shall go by.
    pub medium: Medium,
    /// `TERN_PROGRESS=thread`.
    pub progress_thread: bool,
    /// `TERN_CHECK=types`.
    pub check_types: bool,
    /// `TERN_CHECK=threads`. The lock is used then, whatever level was asked for.
    pub check_threads: bool,
    /// `TERN_COPIES`, as it is on this machine.
    pub by_cells: bool,
    /// `TERN_COLL_TABLE`: the rows that come before the built-in choice of collective algorithms.
    pub coll_rows: Vec<tern_coll::Row>,
    /// `TERN_CHECK=collectives`. Collectives go by schedules then, whatever shorter way there is.
    pub check_collectives: bool,
    /// Communicators.
    pub comms: Comms,
    /// In a forked child: those of its parent. None is found any more, but their error handlers still decide.
    pub parents_comms: Comms,
    /// Groups made by the program.
    pub groups: Table<Group>,
    /// Datatypes made by the program.
    pub types: crate::datatype::object::Types,
    /// Operations made by the program.
    pub ops: crate::coll::op::Ops,
    /// Info objects.
    pub infos: crate::env::info::Infos,
    /// Attribute keys.
    pub keyvals: crate::comm::attributes::Keyvals,
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
    /// Sessions.
    pub sessions: crate::env::session::Sessions,
    /// Counts the contexts that this process has led into being.
    pub contexts_led: u32,
    /// Slots for the teams that this process leads, once it has led one other than the world's.
    pub teams_led: Vec<crate::coll::team::Led>,
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
            bell: None,
            sleepers: 0,
            asleep: crate::core::wait::Asleep::new(),
            entries: 0,
            polls: 0,
            crowded: false,
            polls_per_yield: 0,
            yields_max: crate::limits::YIELDS_MAX,
            listens: false,
            polls_at_once: 1,
            spin_polls_max: crate::limits::SPIN_POLLS_MAX,
            spin_polls_most: crate::limits::SPIN_POLLS_MAX,
            polling: crate::core::wait::Polling::new(),
            yielding: crate::core::wait::Yielding::new(),
            ranks_apart: false,
            route: tern_transport::Route::Auto,
            multicast: crate::core::multicast::Verdict::Open,
            medium: Medium::Udp,
            progress_thread: false,
            check_types: false,
            check_threads: false,
            by_cells: false,
            coll_rows: Vec::new(),
            check_collectives: false,
            comms: Comms::new(),
            parents_comms: Comms::new(),
            groups: Table::new(Kind::Group),
            types: crate::datatype::object::Types::new(),
            ops: crate::coll::op::Ops::new(),
            infos: crate::env::info::Infos::new(),
            keyvals: crate::comm::attributes::Keyvals::new(),
            errhandlers: Errhandlers::new(),
            errors: Errors::new(),
            requests: Requests::new(),
            collectives: Vec::new(),
            messages: Table::new(Kind::Message),
            bsend: crate::p2p::buffers::Buffers::new(),
            windows: crate::rma::object::Windows::new(),
            sessions: crate::env::session::Sessions::new(),
            contexts_led: 0,
            teams_led: Vec::new(),
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

    /// The engine, where a handle that exists only while MPI is initialised has been checked already.
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
            Some(engine) => Ok((engine, &mut self.requests, &mut self.bsend)),
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
        self.comms.get(comm).ok_or_else(|| no_comm(comm))
    }

    /// The communicator of a handle, to change it.
    pub fn comm_mut(&mut self, comm: MPI_Comm) -> Result<&mut Comm> {
        self.comms.get_mut(comm).ok_or_else(|| no_comm(comm))
    }

    /// What an object is called, for a message.
    pub fn name_of(&self, place: Place) -> Option<String> {
        match place {
            Place::Comm(comm) => self.comms.get(comm).map(|comm| comm.described()),
            Place::Win(win) => self.windows.0.get(win.0).map(|window| window.described()),
            _ => None,
        }
    }

    /// The error handler of an object; without a valid one, that of `MPI_COMM_SELF` (MPI 5.0 section 9.1).
    pub fn handler_of(&self, place: Place) -> Handler {
        let of_comm = |comm| {
            let found = self.comms.get(comm).or_else(|| self.parents_comms.get(comm));
            found.map(|comm| comm.errhandler)
        };
        let own = match place {
            Place::Comm(comm) => of_comm(comm),
            Place::Session(session) => self.sessions.errhandler(session),
            Place::File(_) => Some(self.errhandlers.for_files()),
            Place::Chosen(errhandler) => Some(errhandler),
            Place::Win(win) => self.windows.0.get(win.0).map(|window| window.errhandler),
            Place::None => None,
        };
        let general = || of_comm(MPI_COMM_SELF);
        let errhandler = own.or_else(general).unwrap_or_else(crate::core::settings::initial_errhandler);
        self.errhandlers.handler(errhandler)
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
    fail(MPI_ERR_COMM, format!("{:#x} is no communicator: it was freed or never was one", comm.0))
}

/// The error of a call before MPI is initialised or after it has ended.
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

/// How far this process is (MPI 5.0 section 11.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Phase {
    /// `MPI_Init` has not been called.
    Before,
    /// Initialised.
    Running,
    /// `MPI_Finalize` has been called.
    Finalized,
    /// This is a child of the process that called `MPI_Init`, see [`crate::core::forked`].
    Forked,
}

static PHASE: AtomicU8 = AtomicU8::new(Phase::Before as u8);

/// How far this process is.
pub fn phase() -> Phase {
    match PHASE.load(Ordering::Acquire) {
        0 => Phase::Before,
        1 => Phase::Running,
        2 => Phase::Finalized,
        _ => Phase::Forked,
    }
}

/// The process has come so far.
pub fn set_phase(phase: Phase) {
    PHASE.store(phase as u8, Ordering::Release);
}

struct Shared(UnsafeCell<Process>);

// SAFETY: reached only through `enter`, which gives out one `Guard` at a time: by the lock when the program may
// call from several threads, otherwise by the program's promise to the standard (section 11.6: below
// MPI_THREAD_MULTIPLE no two threads are in MPI at once).
unsafe impl Sync for Shared {}

static PROCESS: Shared = Shared(UnsafeCell::new(Process::new()));
static LOCK: RawMutex = RawMutex::INIT;

/// Whether several threads may call. True until `MPI_Init_thread` has said otherwise: before, any may create info
/// objects and the like.
static THREADED: AtomicBool = AtomicBool::new(true);

/// Decides whether the lock is used. Called by `MPI_Init_thread`, alone.
pub fn set_threaded(threaded: bool) {
    THREADED.store(threaded, Ordering::Release);
}

/// Whether several threads may call.
#[inline]
pub fn threaded() -> bool {
    THREADED.load(Ordering::Relaxed)
}

/// A thread is in the library, while no lock is used: a second one must not come in.
static BUSY: AtomicBool = AtomicBool::new(false);
/// The thread that sleeps in the library meanwhile, by [`thread_token`]; 0: none.
static ASLEEP: AtomicUsize = AtomicUsize::new(0);

/// A number of this thread's, which no other that lives has.
fn thread_token() -> usize {
    thread_local!(static TOKEN: u8 = const { 0 });
    TOKEN.with(|token| ptr::from_ref(token).addr())
}

/// The right to use the process's state.
pub struct Guard {
    locked: bool,
    /// [`BUSY`] is this guard's.
    counted: bool,
    events: u64,
    /// The thread is among the sleepers already: it has looked at everything.
    sleeps: bool,
}

/// Enters the library.
#[inline]
pub fn enter() -> Guard {
    if threaded() {
        LOCK.lock();
        return entered();
    }
    if BUSY.load(Ordering::Relaxed) {
        come_back_or_meet_another();
    }
    BUSY.store(true, Ordering::Relaxed);
    Guard { locked: false, counted: true, events: 0, sleeps: false }
}

/// A thread is in the library: the one that calls, which has slept there, or another one. (Not in line: the address of a
/// thread's own variable is a call, which a compiler may make beforehand.)
#[cold]
#[inline(never)]
fn come_back_or_meet_another() {
    crate::check::threads::meet_another(ASLEEP.load(Ordering::Relaxed) == thread_token());
}

/// This thread sleeps in the library.
#[cold]
#[inline(never)]
fn fall_asleep() {
    ASLEEP.store(thread_token(), Ordering::Relaxed);
}

/// Enters the library for a call that any thread may make at any time, whatever level was asked for (MPI 5.0 section 11.4.1).
pub fn enter_anyway() -> Guard {
    if threaded() {
        LOCK.lock();
        return entered();
    }
    Guard { locked: false, counted: false, events: 0, sleeps: false }
}

/// Enters the library unless somebody else is in it, where the lock is used.
pub fn try_enter() -> Option<Guard> {
    (threaded() && LOCK.try_lock()).then(entered)
}

/// The lock has been taken.
#[inline]
fn entered() -> Guard {
    let mut guard = Guard { locked: true, counted: false, events: 0, sleeps: false };
    guard.entries = guard.entries.wrapping_add(1);
    guard.events = guard.engine_mut().map_or(0, |engine| engine.events());
    guard
}

impl Deref for Guard {
    type Target = Process;

    #[inline]
    fn deref(&self) -> &Process {
        // SAFETY: one guard at a time (see `Shared`), and the reference does not outlive it.
        unsafe { &*PROCESS.0.get() }
    }
}

impl DerefMut for Guard {
    #[inline]
    fn deref_mut(&mut self) -> &mut Process {
        // SAFETY: one guard at a time (see `Shared`), and the reference does not outlive it.
        unsafe { &mut *PROCESS.0.get() }
    }
}

impl Drop for Guard {
    #[inline]
    fn drop(&mut self) {
        if self.locked {
            self.wake_sleepers();
            crate::core::progress::leaving(self);
            // SAFETY: `enter` took the lock for this guard. Fair, so that a thread that polls in a loop lets the others in.
            unsafe { LOCK.unlock_fair() };
        } else if self.counted {
            self.leave_alone();
        }
    }
}

impl Guard {
    /// The thread leaves to sleep, counted among the sleepers, and needs no waking for what it has seen.
    pub fn leave_to_sleep(mut self) {
        self.sleeps = true;
    }

    /// Leaves the library to others; a thread that only sleeps stays the one that is in it.
    #[inline]
    fn leave_alone(&self) {
        if self.sleeps {
            fall_asleep();
        } else {
            BUSY.store(false, Ordering::Relaxed);
        }
    }

    /// A thread that sleeps may wait for what this one has just completed or come upon, or for what it has left unseen.
    fn wake_sleepers(&mut self) {
        if self.sleepers > u32::from(self.sleeps) {
            self.wake_for_events();
        }
    }

    #[cold]
    fn wake_for_events(&mut self) {
        let before = self.events;
        let news = self
            .engine_mut()
            .is_some_and(|engine| engine.events() != before || engine.transport().has_unseen());
        if let Some(bell) = self.bell.as_ref().filter(|_| news) {
            bell.ring();
        }
    }
}

/// The state of a child that has just been forked.
pub fn in_forked_child(change: impl FnOnce(&mut Process)) {
    BUSY.store(false, Ordering::Relaxed);
    // SAFETY: the child has one thread. It forked outside the library, or in one of the program's functions that the library
    // calls without a guard.
    change(unsafe { &mut *PROCESS.0.get() });
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

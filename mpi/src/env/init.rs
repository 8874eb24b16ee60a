//! Starting and ending MPI (MPI 5.0 section 11.2), aborting.

use crate::comm::object::{Comm, Contexts};
use crate::core::arguments::out;
use crate::core::entry::entry;
use crate::core::error::{Result, fail};
use crate::core::process::{self, Phase, Process, enter, phase, set_phase, set_threaded};
use crate::core::settings;
use crate::core::wait::{self, Waiting};
use crate::core::{departure, lifeline, multicast, network, progress, stdio};
use crate::limits::CONTEXTS_PER_BLOCK;
use std::ffi::{c_char, c_int};
use std::sync::atomic::{AtomicI32, Ordering};
use tern_abi::*;
use tern_engine::{Engine, Group};
use tern_job::{Job, RankState};
use tern_transport::Transport;

/// The level of thread support that was granted.
static PROVIDED: AtomicI32 = AtomicI32::new(MPI_THREAD_SINGLE);

thread_local! {
    /// Whether this is the thread that called `MPI_Init`.
    static IS_MAIN: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// Whether this is the thread that called `MPI_Init`.
pub fn is_main() -> bool {
    IS_MAIN.get()
}

/// The level of thread support.
pub fn provided() -> c_int {
    PROVIDED.load(Ordering::Relaxed)
}

entry! {
    /// Starts MPI for one thread.
    fn MPI_Init(_argc: *mut c_int, _argv: *mut *mut *mut c_char) {
        start(MPI_THREAD_SINGLE)
    }

    /// Starts MPI (section 11.2.1).
    fn MPI_Init_thread(_argc: *mut c_int, _argv: *mut *mut *mut c_char, required: c_int, provided: *mut c_int) {
        let provided = out("provided", provided)?;
        if ![MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED, MPI_THREAD_MULTIPLE].contains(&required) {
            return Err(fail(MPI_ERR_ARG, format!("required is {required}, but must be one of the MPI_THREAD_ levels")));
        }
        start(required)?;
        *provided = required;
        Ok(())
    }

    /// Whether `MPI_Init` has been called.
    fn MPI_Initialized(flag: *mut c_int) {
        *out("flag", flag)? = c_int::from(phase() != Phase::Before);
        Ok(())
    }

    /// Whether `MPI_Finalize` has been called. In a forked child MPI is over, and a library that asks will leave it alone.
    fn MPI_Finalized(flag: *mut c_int) {
        *out("flag", flag)? = c_int::from(matches!(phase(), Phase::Finalized | Phase::Forked));
        Ok(())
    }

    /// The level of thread support.
    fn MPI_Query_thread(provided: *mut c_int) {
        *out("provided", provided)? = self::provided();
        Ok(())
    }

    /// Whether this thread called `MPI_Init`.
    fn MPI_Is_thread_main(flag: *mut c_int) {
        *out("flag", flag)? = c_int::from(is_main());
        Ok(())
    }

    /// Ends MPI (section 11.2.2).
    fn MPI_Finalize() {
        finalize()
    }

    /// Ends the job (section 11.4).
    fn MPI_Abort(comm: MPI_Comm, errorcode: c_int) on comm {
        stdio::flush_streams();
        let process = enter();
        let name = process.comms.get(comm).map_or_else(|| "no valid communicator".to_owned(), Comm::described);
        let message = format!("MPI_Abort was called on {name} with error code {errorcode}");
        if let Some(job) = &process.job {
            job.announce_abort(errorcode, &message);
        } else {
            crate::core::process::complain(&message);
        }
        libc::_exit(tern_job::exit_status(errorcode))
    }
}

fn start(required: c_int) -> Result {
    if phase() == Phase::Forked {
        return Err(process::outside());
    }
    if phase() != Phase::Before {
        return Err(fail(MPI_ERR_OTHER, "MPI has been initialised already: it can be only once"));
    }
    let mut process = enter();
    attach(&mut process)?;
    let job = process.job.as_ref().expect("just attached");
    let (rank, size) = (job.rank, job.size);
    let mut world = Comm::new(WORLD_CONTEXT, rank, Group::range(0, size), None);
    world.name = "MPI_COMM_WORLD".into();
    world.errhandler = settings::initial_errhandler();
    world.team = process.seat_in_world(rank, size);
    world.children = Contexts::block(0, CONTEXTS_PREDEFINED, CONTEXTS_PER_BLOCK);
    let mut own = Comm::new(SELF_CONTEXT, 0, Group::range(rank, 1), None);
    own.name = "MPI_COMM_SELF".into();
    own.errhandler = world.errhandler;
    own.children = process.lead_contexts();
    process.comms.set_predefined(Some(world), Some(own));
    let in_sessions = !process.sessions.is_empty();
    let networked = process.engine_mut().is_some_and(|engine| engine.transport().is_networked());
    let progresses = size > 1 && (process.progress_thread || networked);
    let checks = process.check_threads;
    drop(process);
    // A second thread that may not call is to be told of, not to do harm.
    set_threaded(required == MPI_THREAD_MULTIPLE || in_sessions || progresses || checks);
    if progresses {
        progress::start();
    }
    multicast::settle()?;
    PROVIDED.store(required, Ordering::Relaxed);
    IS_MAIN.set(true);
    set_phase(Phase::Running);
    Ok(())
}

/// Contexts of the predefined communicators; all others have a leader's count above these.
const WORLD_CONTEXT: u64 = 0;
const SELF_CONTEXT: u64 = 4;
/// Contexts below this count are taken by the predefined communicators.
const CONTEXTS_PREDEFINED: u32 = 2;

/// Connects this process to its job, unless a session or `MPI_Init` has done so.
pub fn attach(process: &mut Process) -> Result {
    if phase() == Phase::Forked {
        return Err(process::outside());
    }
    if process.engine_ref().is_some() {
        process.job.iter().for_each(|job| tell(job, RankState::Running));
        return Ok(());
    }
    if process.job.is_some() {
        return Err(fail(MPI_ERR_OTHER, "MPI has ended in this process and cannot be started again"));
    }
    let mut job = tern_job::join().map_err(|error| fail(MPI_ERR_OTHER, error.to_string()))?;
    job.lifeline.iter().for_each(lifeline::hold);
    tell(&job, RankState::Starting);
    let mut environment = settings::from_environment().map_err(|bad| fail(MPI_ERR_OTHER, bad.to_string()))?;
    settings::tell_unknown(job.rank);
    process.coll_rows = settings::coll_rows(&environment).map_err(|bad| fail(MPI_ERR_OTHER, bad))?;
    environment.transport.accord = settings::accord(&environment, &process.coll_rows);
    let fabric = network::connect(&mut job, &environment.transport)?;
    process.bell = Some(fabric.doorbell());
    process.crowded = job.cores.is_crowded();
    process.polls_per_yield = wait::polls_per_yield(&fabric);
    process.yields_max = wait::yields_max(&job.cores);
    process.yielding = wait::Yielding::on(&job.cores);
    process.listens = process.crowded && fabric.listens();
    process.polls_at_once = wait::polls_at_once(&fabric, process.crowded);
    process.spin_polls_most = wait::spin_polls_max(&fabric);
    process.spin_polls_max = process.spin_polls_most;
    process.route = environment.transport.route;
    process.multicast = multicast::wanted(&environment.transport, job.size, job.hosts);
    process.medium = environment.transport.multicast;
    process.progress_thread = environment.progress_thread;
    process.check_types = environment.engine.check_types;
    process.check_threads = environment.check_threads;
    process.by_cells = environment.transport.copies.by_cells();
    process.check_collectives = environment.engine.check_collectives;
    let mut engine = Box::new(Engine::new(job.size, fabric, environment.engine));
    if process.check_types {
        crate::datatype::object::learn_predefined(&mut engine);
    }
    process.set_engine(Some(engine));
    crate::core::forked::watch();
    crate::core::panic::explain();
    process.contexts_led = CONTEXTS_PREDEFINED + CONTEXTS_PER_BLOCK;
    tell(&job, RankState::Running);
    if job.takes_leave() {
        // SAFETY: the C library calls it once, at the exit or before it unloads this library.
        unsafe { libc::atexit(leave_at_exit) };
    }
    process.job = Some(job);
    departure::notice();
    Ok(())
}

/// A program that uses sessions alone has no call that ends MPI for good: for its launcher it ends here. One that has
/// forgotten to finalize says nothing, and its launcher complains.
extern "C" fn leave_at_exit() {
    let process = enter();
    if phase() == Phase::Before && process.sessions.is_empty() {
        process.job.iter().for_each(Job::take_leave);
    }
}

fn finalize() -> Result {
    match phase() {
        Phase::Running => {}
        Phase::Before => return Err(fail(MPI_ERR_OTHER, "MPI_Init has not been called")),
        Phase::Finalized => return Err(fail(MPI_ERR_OTHER, "MPI_Finalize has been called already")),
        Phase::Forked => return Err(process::outside()),
    }
    // Section 11.2.4: first of all, the attributes of MPI_COMM_SELF go, by its owner's functions.
    crate::comm::attributes::delete_all(MPI_COMM_SELF)?;
    crate::p2p::buffered::release_all("MPI_Finalize", None)?;
    send_what_is_left("MPI_Finalize");
    multicast::retire("MPI_Finalize");
    // Nobody leaves while somebody may still need its help: a large message may have to be fetched from here.
    crate::coll::last_barrier("MPI_Finalize", MPI_COMM_WORLD)?;
    progress::stop();
    let mut process = enter();
    process.comms.set_predefined(None, None);
    set_phase(Phase::Finalized);
    if process.sessions.is_empty() {
        leave(&mut process);
    }
    drop(process);
    // Any thread may create info objects and the like from now on.
    set_threaded(true);
    Ok(())
}

/// Waits until everything that was sent is on its way.
pub fn send_what_is_left(call: &'static str) {
    wait::until(
        enter(),
        |_| Waiting { detail: "sending what is left".into(), ..Waiting::on(call) },
        |process| (!process.engine_mut()?.has_unsent()).then_some(()),
    );
}

/// The last user of MPI has gone, `MPI_COMM_WORLD` or a session. Before `MPI_Init` the connection stays, since it can be
/// made only once and another session, or `MPI_Init`, may follow.
pub fn leave(process: &mut Process) {
    if let Some(job) = &process.job {
        tell(job, RankState::Finalized);
    }
    if phase() == Phase::Finalized {
        process.job.iter().for_each(Job::take_leave);
        crate::comm::object::forget_all(process);
        report(process);
        process.engine_mut().into_iter().for_each(|engine| engine.transport().close());
        process.set_engine(None);
        process.bell = None;
    }
}

/// Tells what this rank's network has seen and dropped: `mpirun --verbose` prints it.
fn report(process: &mut Process) {
    let Some(tally) = process.engine_mut().map(|engine| engine.transport().tally().to_string()) else {
        return;
    };
    if let Some(job) = process.job.as_ref().filter(|_| !tally.is_empty()) {
        job.tell(&format!("rank {}: {tally}", job.rank));
    }
}

fn tell(job: &Job, state: RankState) {
    if let Some(status_page) = &job.status_page {
        status_page.state(state);
    }
}

impl process::Process {
    /// A block of contexts that this process is the first to name.
    pub fn lead_contexts(&mut self) -> Contexts {
        let count = self.contexts_led;
        self.contexts_led = count.wrapping_add(CONTEXTS_PER_BLOCK);
        let me = self.own_peer();
        Contexts::block(me, count, CONTEXTS_PER_BLOCK)
    }

    /// The number of the host on which this process runs.
    pub fn host(&self) -> u32 {
        self.job.as_ref().map_or(0, |job| job.host_of(job.rank))
    }

    /// Whether the world has only this process.
    pub fn is_alone(&self) -> bool {
        self.job.as_ref().is_none_or(|job| job.size == 1)
    }
}

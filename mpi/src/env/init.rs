//! Starting and ending MPI (MPI 5.0 section 11.2), aborting.

use crate::comm::object::{Comm, Contexts};
use crate::core::boundary::Out;
use crate::core::entry::entry;
use crate::core::error::{Result, fail};
use crate::core::process::{
    self, Checks, ClosedGate, Phase, Process, Threads, allow, close_gate, enter, open_gate, phase, set_phase,
};
use crate::core::settings;
use crate::core::thread_level::{self, is_main};
use crate::core::wait::{self, Waiting};
use crate::core::{departure, given, lifeline, multicast, network, progress, watch};
use crate::env::addresses;
use crate::limits::CONTEXTS_PER_BLOCK;
use crate::spawn;
use std::ffi::{c_char, c_int};
use tern_abi::*;
use tern_engine::{Engine, Group};
use tern_job::{Job, RankState};

entry! {
    /// Starts MPI for one thread.
    safe fn MPI_Init(_argc: *mut c_int, _argv: *mut *mut *mut c_char) {
        start(MPI_THREAD_SINGLE)
    }

    /// Starts MPI (section 11.2.1).
    safe fn MPI_Init_thread(_argc: *mut c_int, _argv: *mut *mut *mut c_char, required: c_int, provided: Out<'_, c_int>) {
        if ![MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED, MPI_THREAD_MULTIPLE].contains(&required) {
            return Err(fail(MPI_ERR_ARG, format!("required is {required}, but must be one of the MPI_THREAD_ levels")));
        }
        start(required)?;
        provided.set(required);
        Ok(())
    }

    /// Whether `MPI_Init` has been called.
    safe fn MPI_Initialized(flag: Out<'_, c_int>) {
        flag.set(c_int::from(phase() != Phase::Before));
        Ok(())
    }

    /// Whether `MPI_Finalize` has been called. In a forked child MPI is over, and a library that asks will leave it alone.
    safe fn MPI_Finalized(flag: Out<'_, c_int>) {
        flag.set(c_int::from(matches!(phase(), Phase::Finalized | Phase::Forked)));
        Ok(())
    }

    /// The level of thread support.
    safe fn MPI_Query_thread(provided: Out<'_, c_int>) {
        provided.set(thread_level::provided());
        Ok(())
    }

    /// Whether this thread called `MPI_Init`.
    safe fn MPI_Is_thread_main(flag: Out<'_, c_int>) {
        flag.set(c_int::from(is_main()));
        Ok(())
    }

    /// Ends MPI (section 11.2.2).
    safe fn MPI_Finalize() {
        finalize()
    }

    /// Ends the job (section 11.4).
    safe fn MPI_Abort(comm: MPI_Comm, errorcode: c_int) on comm {
        process::abort(comm, errorcode)
    }
}

fn start(required: c_int) -> Result {
    if phase() == Phase::Forked {
        return Err(process::outside());
    }
    if phase() != Phase::Before {
        return Err(fail(MPI_ERR_OTHER, "MPI has been initialized already: it can be only once"));
    }
    let mut process = enter();
    attach(&mut process)?;
    let job = process.job.as_ref().expect("just attached");
    let (rank, size) = (job.rank, job.size);
    let mut world = Comm::new(WORLD_CONTEXT, rank, Group::range(0, size), None);
    world.name = "MPI_COMM_WORLD".into();
    world.errhandler = settings::initial_errhandler();
    world.shm_comm = process.world_shm_comm(rank, size);
    world.children = Contexts::block(0, CONTEXTS_PREDEFINED, CONTEXTS_PER_BLOCK);
    let mut own = Comm::new(SELF_CONTEXT, 0, Group::range(rank, 1), None);
    own.name = "MPI_COMM_SELF".into();
    own.errhandler = world.errhandler;
    own.children = process.allocate_contexts();
    process.objects.comms.set_predefined(Some(world), Some(own));
    let in_sessions = !process.objects.sessions.is_empty();
    let networked = process.engine_mut().is_some_and(|engine| engine.transport().is_networked());
    let progresses = size > 1 && (process.waiting.progress_thread || networked);
    let checks = process.checks.threads;
    drop(process);
    // A second thread that may not call is to be told of, not to do harm.
    let tool = crate::tool::is_in_use();
    allow(match required {
        MPI_THREAD_MULTIPLE => Threads::Several,
        _ if in_sessions => Threads::Several,
        _ if progresses || checks || tool => Threads::OneAndOurs,
        _ => Threads::One,
    });
    if checks {
        // Two threads that may not call at once are to meet at the lock.
        close_gate().into_iter().for_each(ClosedGate::leave_closed);
    }
    if progresses {
        progress::start();
    } else {
        open_gate();
    }
    multicast::settle()?;
    thread_level::grant(required);
    set_phase(Phase::Running);
    spawn::start::meet_parent()
}

/// Contexts of the predefined communicators; all others have a leader's count above these.
const WORLD_CONTEXT: u64 = 0;
const SELF_CONTEXT: u64 = 4;
/// Contexts below this count are taken by the predefined communicators.
const CONTEXTS_PREDEFINED: u32 = 2;

/// Connects this process to its job, unless a session or `MPI_Init` has done so.
pub(crate) fn attach(process: &mut Process) -> Result {
    if phase() == Phase::Forked {
        return Err(process::outside());
    }
    if process.engine_ref().is_some() {
        process.job.iter().for_each(|job| publish_state(job, RankState::Running));
        return_to_job(process);
        return Ok(());
    }
    if process.job.is_some() {
        return Err(fail(
            MPI_ERR_OTHER,
            "MPI_Finalize has closed the connections of this rank to other hosts, and in a job of so many ranks this launcher, which \
             has been told that the rank has ended, passes no addresses on any more: keep a session open across MPI_Finalize, and \
             others may follow",
        ));
    }
    if let Some(why) = given::conflict_at_start() {
        return Err(fail(MPI_ERR_OTHER, why));
    }
    wait::serve_collectives_by(crate::coll::serve);
    let mut job = tern_job::join().map_err(|error| fail(MPI_ERR_OTHER, error.to_string()))?;
    job.lifeline.iter().for_each(lifeline::hold);
    publish_state(&job, RankState::Starting);
    let mut environment = settings::from_environment().map_err(|bad| fail(MPI_ERR_OTHER, bad.to_string()))?;
    settings::keep(&environment);
    settings::tell_unknown(job.rank);
    process.coll.rows = settings::coll_rows(&environment).map_err(|bad| fail(MPI_ERR_OTHER, bad))?;
    environment.transport.fingerprint = settings::fingerprint(&environment, &process.coll.rows);
    process.worlds.fingerprint = environment.transport.fingerprint;
    let fabric = network::connect(&mut job, &environment.transport)?;
    process.waiting.settle(&fabric, &job.cores, &environment);
    process.checks = Checks::of(&environment);
    process.coll.settle(&environment.transport);
    process.multicast.settle(&environment.transport, &job, &process.coll.rows);
    process.objects.windows.settle(&environment);
    process.objects.files.settings = environment.files;
    let stats = environment.stats;
    let mut engine = Box::new(Engine::new(job.size, fabric, environment.engine));
    if process.checks.types {
        crate::datatype::object::learn_predefined(&mut engine);
    }
    process.set_engine(Some(engine));
    if stats || crate::tool::is_in_use() {
        crate::tool::count(process);
    }
    crate::core::forked::watch();
    crate::core::panic::explain();
    crate::core::bad_memory::explain(job.rank);
    process.coll.contexts_allocated = CONTEXTS_PREDEFINED + CONTEXTS_PER_BLOCK;
    publish_state(&job, RankState::Running);
    if job.takes_leave() {
        // SAFETY: the C library calls it once, at the exit or before it unloads this library.
        unsafe { libc::atexit(leave_at_exit) };
    }
    job.watch.take().into_iter().for_each(watch::start);
    process.job = Some(job);
    departure::notice();
    Ok(())
}

/// A program that uses sessions alone has no call that ends MPI for good: for its launcher it ends here. One that has
/// forgotten to finalize says nothing, and its launcher complains.
extern "C" fn leave_at_exit() {
    let process = enter();
    if phase() == Phase::Before && process.objects.sessions.is_empty() {
        take_leave(&process);
    }
}

/// This rank uses MPI no more: whoever watches over it is told before the launcher is.
fn take_leave(process: &Process) {
    watch::stop();
    process.job.iter().for_each(Job::take_leave);
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
    if !addresses::tell_each_other("MPI_Finalize")? {
        crate::coll::last_barrier("MPI_Finalize", MPI_COMM_WORLD)?;
    }
    spawn::leave_together("MPI_Finalize")?;
    if !can_return(&mut enter()) {
        progress::stop();
    }
    let mut process = enter();
    process.objects.comms.set_predefined(None, None);
    set_phase(Phase::Finalized);
    if process.objects.sessions.is_empty() {
        leave(&mut process);
    }
    drop(process);
    wait_for_acknowledgements("MPI_Finalize");
    // Any thread may create info objects and the like from now on.
    allow(Threads::Several);
    Ok(())
}

/// Waits until everything that was sent is on its way.
pub(crate) fn send_what_is_left(call: &'static str) {
    wait::until(
        enter(),
        |_| Waiting { detail: "sending what is left".into(), ..Waiting::on(call) },
        |process| (!process.engine_mut()?.has_unsent()).then_some(()),
    );
}

/// Whether this rank, once it has left its job after `MPI_Finalize`, can use its connections to other hosts again. Somebody must see to
/// them meanwhile: peers that leave later wait for acknowledgements.
fn can_return(process: &mut Process) -> bool {
    let is_told = network::has_kept_addresses();
    let finds_others = process.job.as_ref().is_some_and(|job| is_told || !job.takes_leave());
    let is_networked = |engine: &mut process::ProcessEngine| engine.transport().is_networked();
    finds_others && progress::runs() && process.engine_mut().is_some_and(is_networked)
}

/// The process ends. A provider of libfabric must not be in use when its library ends, and some leave files where their endpoint
/// was not closed.
extern "C" fn close_provider_at_exit() {
    if phase() != Phase::Finalized {
        return;
    }
    let is_away = {
        let process = enter();
        process.waiting.away && process.objects.sessions.is_empty()
    };
    if is_away {
        progress::stop();
        let mut process = enter();
        process.set_engine(None);
        process.waiting.bell = None;
    }
}

/// A session follows after the last user of MPI had gone.
fn return_to_job(process: &mut Process) {
    if std::mem::take(&mut process.waiting.away) {
        process.engine_mut().into_iter().for_each(|engine| engine.transport().come_back());
    }
}

/// The last user of MPI has gone, `MPI_COMM_WORLD` or a session. Shared memory stays, since it can be entered only once and
/// another session, or `MPI_Init`, may follow. After `MPI_Finalize` the ranks of other hosts are told that this rank goes: they
/// must not learn it by a broken connection.
pub(crate) fn leave(process: &mut Process) {
    if let Some(job) = &process.job {
        publish_state(job, RankState::Finalized);
    }
    if phase() != Phase::Finalized {
        return;
    }
    static LEFT: std::sync::Once = std::sync::Once::new();
    LEFT.call_once(|| take_leave(process));
    crate::core::bad_memory::leave_alone();
    process.worlds.launcher.iter().for_each(|launcher| launcher.leave());
    process.objects.forget_all();
    report(process);
    say_numbers(process);
    leave_network(process);
}

fn leave_network(process: &mut Process) {
    let returns = can_return(process);
    process.waiting.away = returns;
    let Some(engine) = process.engine_mut().filter(|engine| engine.transport_ref().is_networked()) else {
        return;
    };
    let fabric = engine.transport();
    if returns {
        fabric.say_goodbye();
        if fabric.has_provider() {
            static AT_EXIT: std::sync::Once = std::sync::Once::new();
            AT_EXIT.call_once(|| {
                // SAFETY: the C library calls it once, at the exit or before it unloads this library.
                unsafe { libc::atexit(close_provider_at_exit) };
            });
        }
        return;
    }
    fabric.close();
    process.set_engine(None);
    process.waiting.bell = None;
}

/// Waits until the peers have all that this rank has sent: a process that ends before that may take it along. Messages of peers that
/// are further may come meanwhile.
pub(crate) fn wait_for_acknowledgements(call: &'static str) {
    let process = enter();
    if process.waiting.away {
        wait::until(
            process,
            |_| Waiting { detail: "until all has arrived".into(), ..Waiting::on(call) },
            |process| (!process.engine_mut()?.transport().owes_something()).then_some(()),
        );
        // A long wait has said where this rank stands, and that it goes on.
        enter().job.iter().for_each(|job| publish_state(job, RankState::Finalized));
    }
}

/// Tells what this rank has done: `mpirun --stats` prints it.
fn say_numbers(process: &Process) {
    let wanted = settings::from_environment().is_ok_and(|environment| environment.stats);
    if let Some(job) = process.job.as_ref().filter(|_| wanted) {
        job.give_numbers(&crate::tool::lines(process));
    }
}

/// Tells what this rank's network has seen and dropped: `mpirun --verbose` prints it.
fn report(process: &mut Process) {
    let Some(tally) = process.engine_mut().map(|engine| engine.transport().tally().to_string()) else {
        return;
    };
    if let Some(job) = process.job.as_ref().filter(|_| !tally.is_empty()) {
        job.report(&format!("rank {}: {tally}", job.rank));
    }
}

fn publish_state(job: &Job, state: RankState) {
    job.publish_state(state);
}

impl process::Process {
    /// A block of contexts that this process is the first to name.
    pub(crate) fn allocate_contexts(&mut self) -> Contexts {
        let counted = match self.worlds.has_met() {
            true => None,
            false => {
                let me = self.own_peer();
                Contexts::counted(me, &mut self.coll.contexts_allocated, CONTEXTS_PER_BLOCK)
            }
        };
        counted.unwrap_or_else(|| Contexts::drawn(spawn::chance(), CONTEXTS_PER_BLOCK))
    }

    /// The number of the host on which this process runs.
    pub(crate) fn host(&self) -> u32 {
        self.job.as_ref().map_or(0, |job| job.host_of(job.rank))
    }
}

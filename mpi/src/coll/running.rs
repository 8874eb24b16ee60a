//! A collective that has been prepared: the blocking form runs it to its end, the others move on as messages
//! come.

use super::differ::mismatched;
use super::multicast_group;
use super::port::{Bindings, CallOut, EnginePort, PortMessage};
use super::setup::Setup;
use super::shm::{self, Method, Patience, VectorBlocks};
use crate::check::{CallRecord, CallState, Check};
use crate::coll::shm_comm;
use crate::coll::shm_comm_place::ShmCommPlace;
use crate::comm::object::Comm;
use crate::core::error::Result;
use crate::core::process::{LockGuard, Process, ProcessEngine, enter};
use crate::core::wait::{self, WaitEvent, Waiting};
use crate::limits::{COLLECTIVE_TAGS, LAST_BARRIER_TAG};
use std::cell::Cell;
use std::task::Poll;
use std::time::Duration;
use tern_abi::*;
use tern_coll::{CollectiveCall, CommView, Exec, Schedule};
use tern_shm::{Mismatch, ShmComm};
use tern_shmcoll::Mark;
use tern_transport::Doorbell;

/// A collective that has been prepared.
#[derive(Debug, Default)]
pub(crate) struct RunningCollective {
    pub(super) schedule: Schedule,
    pub(super) bindings: Bindings,
    /// The call is blocking, and the communicator has a shared buffer for data.
    pub(super) has_shm_comm: bool,
    /// With which mark its ranks come.
    pub(super) mark: Mark,
    /// The call may use multicasts, where the communicator has them.
    pub(super) may_multicast: bool,
    /// How the call goes over shared memory; without this, by the schedule.
    pub(super) method: Option<Method>,
    /// What a vector form moves that way; kept from call to call, so that nothing is allocated.
    pub(super) blocks: VectorBlocks,
    exec: Exec<PortMessage>,
    /// Completions of the engine when this last had to wait: until there are more, nothing has changed.
    seen: Option<u64>,
    /// What the ranks have to agree about first (`TERN_CHECK=collectives`).
    check: Option<Box<Check>>,
    /// What this rank will tell them.
    pub(super) record: CallRecord,
}

/// Why a collective stops for now.
pub(super) enum Pause {
    /// It is complete.
    Ended,
    /// A function of the program's has to be called: [`Bindings::combine`], without the state held.
    CallOut(CallOut),
}

/// Prepares a collective and runs it to its end.
pub(crate) fn blocking(
    call: &'static str,
    comm: MPI_Comm,
    plan: impl FnOnce(&mut Setup) -> Result,
) -> Result {
    blocking_in(CallForm::Blocking, call, comm, plan)
}

/// As [`blocking`], in either of its forms.
pub(super) fn blocking_in(
    form: CallForm,
    call: &'static str,
    comm: MPI_Comm,
    plan: impl FnOnce(&mut Setup) -> Result,
) -> Result {
    let mut process = enter();
    if matches!(process.comm(comm)?.shm_comm, ShmCommPlace::Unasked) {
        drop(process);
        shm_comm::agree(call, comm)?;
        process = enter();
    }
    let mut running = prepare(call, comm, &mut process, form, plan)?;
    let outcome =
        if running.has_shm_comm { running.run_in_shm_comm(process, comm) } else { running.run(process) };
    running.keep();
    outcome
}

/// Makes sure that the ranks make the same collective call, where that is checked: for calls that are no schedules. The call's
/// arguments, or why they are refused, which the other ranks then learn.
pub(crate) fn met<T>(call: &'static str, comm: MPI_Comm, arguments: Result<T>) -> Result<T> {
    meet_with(call, comm, arguments, |_, _| ())
}

/// The same of calls in which a rank that is refused takes part, so that nobody waits for it: where calls are not compared, that
/// is for later.
pub(crate) fn met_if_checked<T>(
    call: &'static str,
    comm: MPI_Comm,
    arguments: Result<T>,
) -> Result<Result<T>> {
    let is_checked = enter().checks.collectives;
    if is_checked { met(call, comm, arguments).map(Ok) } else { Ok(arguments) }
}

/// The same of calls whose arguments must be alike. `tell` puts into this rank's record what is to be compared.
pub(crate) fn meet_with<T>(
    call: &'static str,
    comm: MPI_Comm,
    arguments: Result<T>,
    tell: impl FnOnce(&T, &mut CallRecord),
) -> Result<T> {
    let is_checked = enter().checks.collectives;
    if !is_checked {
        return arguments;
    }
    let mut told = None;
    blocking(call, comm, |setup| {
        tell(told.insert(arguments?), setup.record());
        Ok(())
    })?;
    Ok(told.expect("what was not refused was told"))
}

/// The end of a schedule, or a function of the program's on the way there.
struct ScheduleSteps<'a>(&'a mut RunningCollective);

impl WaitEvent for ScheduleSteps<'_> {
    type News = Pause;

    fn waiting(&self, _: &Process) -> Waiting {
        self.0.bindings.waiting()
    }

    #[inline]
    fn look(&mut self, process: &mut Process) -> Option<Pause> {
        process.engine_mut().map_or(Some(Pause::Ended), |engine| self.0.advance(engine))
    }
}

/// The same, or what another rank does instead.
struct StepsBeside<'a> {
    steps: ScheduleSteps<'a>,
    shm_comm: &'a ShmComm,
    patience: Patience,
    /// At the last look.
    seen: Cell<Option<Mismatch>>,
}

impl WaitEvent for StepsBeside<'_> {
    type News = std::result::Result<Pause, Mismatch>;

    fn waiting(&self, process: &Process) -> Waiting {
        self.steps.waiting(process)
    }

    #[inline]
    fn look(&mut self, process: &mut Process) -> Option<Self::News> {
        self.steps.look(process).map(Ok).or_else(|| self.patience.found().map(Err))
    }

    fn sleep(&self, bell: &dyn Doorbell, armed: u32, timeout: Option<Duration>) {
        let awaited = self.steps.0.exec.waits_for().iter().filter_map(PortMessage::rank);
        let found = self.shm_comm.obstacle_beside(awaited);
        // Those who are gone may have left messages, for which there is one more look.
        let is_sure = self.seen.replace(found) == found;
        let most = self.patience.sleep_for(found.filter(|_| is_sure), timeout);
        bell.sleep(armed, most.or(Some(Duration::ZERO)));
    }
}

/// The form of a call (section 6.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum CallForm {
    /// Blocking.
    Blocking,
    /// Blocking, and the last one: without multicasts, and told from all others.
    Last,
    /// Non-blocking or persistent.
    Request,
}

/// Checks the arguments of a call and makes its schedule.
pub(super) fn prepare(
    call: &'static str,
    comm: MPI_Comm,
    process: &mut Process,
    form: CallForm,
    plan: impl FnOnce(&mut Setup) -> Result,
) -> Result<Box<RunningCollective>> {
    let mut running = RunningCollective::spare();
    match running.prepare(call, comm, process, form, plan) {
        Ok(()) => Ok(running),
        Err(error) => {
            running.keep();
            Err(error)
        }
    }
}

/// The next collective of a communicator gets another tag.
pub(super) fn count_call(comm: &mut Comm) {
    comm.collectives = (comm.collectives + 1) % COLLECTIVE_TAGS;
}

impl RunningCollective {
    /// What the last call of this thread used.
    #[inline]
    pub(super) fn spare() -> Box<RunningCollective> {
        SPARE.try_with(Cell::take).ok().flatten().unwrap_or_default()
    }

    /// Begins a call for [`RunningCollective::run_in_shm_comm`] whose arguments are right, and of which nothing is compared but its mark. The
    /// schedule is the caller's to make. `number`: that of the call on the communicator.
    #[inline]
    pub(super) fn begin_with(
        &mut self,
        (call, number): (&'static str, u32),
        comm: &Comm,
        mark: Mark,
        what: &CollectiveCall,
    ) {
        self.bindings.address(call, comm, number as i32, false);
        self.bindings.told.learn(what);
        self.mark = mark;
    }

    /// A call that is refused has not happened: the communicator does not count it, and where only this rank was refused, the call
    /// that it makes instead meets those of the others. Where calls are compared, the others learn of it and count theirs.
    fn prepare(
        &mut self,
        call: &'static str,
        comm: MPI_Comm,
        process: &mut Process,
        form: CallForm,
        plan: impl FnOnce(&mut Setup) -> Result,
    ) -> Result {
        if form != CallForm::Last {
            multicast_group::ask(process, comm)?;
        }
        let this = process.comm(comm)?;
        // Calls that are compared have the same tag, or nobody would learn that they differ.
        let is_apart = form == CallForm::Last && !process.checks.collectives;
        let tag = if is_apart { LAST_BARRIER_TAG } else { this.collectives as i32 };
        self.bindings.address(call, this, tag, process.checks.types);
        self.may_multicast = form != CallForm::Last;
        if process.checks.collectives {
            self.record = CallRecord::named(call);
        }
        self.has_shm_comm =
            form == CallForm::Blocking && this.shm_comm.shm_comm().is_some_and(ShmComm::has_buffer);
        let outcome = plan(&mut Setup::new(process, this, self));
        let outcome = outcome.and_then(|()| self.bindings.provide(self.schedule.temps()));
        if outcome.is_ok() || process.checks.collectives {
            count_call(process.comm_mut(comm)?);
        }
        if process.checks.collectives { self.checked(process, comm, tag, outcome) } else { outcome }
    }

    /// Prepares the comparison with the other ranks. Those that wait for a rank whose call has failed are told.
    #[cold]
    fn checked(&mut self, process: &mut Process, comm: MPI_Comm, tag: i32, outcome: Result) -> Result {
        if let Err(error) = &outcome {
            self.record.state = CallState::Refused(error.class());
        }
        let check = Check::new(process.comm(comm)?, tag, self.record);
        match outcome {
            Ok(()) => self.check = Some(Box::new(check)),
            Err(_) => check.refuse(process.engine()?),
        }
        outcome
    }

    pub(super) fn run(&mut self, mut process: LockGuard) -> Result {
        loop {
            match wait::until_event(process, ScheduleSteps(self)) {
                Pause::Ended => break,
                Pause::CallOut(operands) => self.bindings.combine(&operands),
            }
            process = enter();
        }
        self.bindings.failure.take().map_or(Ok(()), Err)
    }

    /// Where there is shared memory, all ranks' calls are compared, whichever way they go.
    pub(super) fn run_in_shm_comm(&mut self, process: LockGuard, comm: MPI_Comm) -> Result {
        let mut shm_comm = shm::begin(process, comm, &self.bindings, self.mark)?;
        let outcome = match self.method.take() {
            Some(method) => self.run_method(&mut shm_comm, &method),
            None => self.run_beside(&mut shm_comm),
        };
        shm::end(comm, shm_comm)?;
        self.bindings.failure.take().map_or(outcome, Err)
    }

    /// Takes the steps of a method, and then sends what these have left to messages.
    fn run_method(&mut self, shm_comm: &mut ShmComm, method: &Method) -> Result {
        let names = (self.bindings.call, self.mark);
        let (outcome, rest) = shm::run(shm_comm, &self.bindings, names, method, &self.blocks);
        if rest.is_empty() {
            return outcome;
        }
        let me = CommView::intra(shm_comm.rank(), shm_comm.size());
        method.send_rest(me.member(), rest, &self.blocks, &mut self.schedule);
        let sent = self.run_beside(shm_comm);
        outcome.and(sent)
    }

    /// Runs to the end by messages, or until it turns out that another rank makes another call.
    fn run_beside(&mut self, shm_comm: &mut ShmComm) -> Result {
        shm_comm.tell();
        loop {
            let steps = StepsBeside {
                steps: ScheduleSteps(self),
                shm_comm,
                patience: Patience::default(),
                seen: Cell::new(None),
            };
            match wait::until_event(enter(), steps) {
                Ok(Pause::Ended) => return self.bindings.failure.take().map_or(Ok(()), Err),
                Ok(Pause::CallOut(operands)) => self.bindings.combine(&operands),
                Err(found) => {
                    shm_comm.abandon();
                    self.give_up();
                    return Err(mismatched(self.bindings.call, self.mark, found));
                }
            }
        }
    }

    /// Returns when no message of the call will touch this rank's memory any more. What was sent may still be taken.
    #[cold]
    fn give_up(&mut self) {
        let mut process = enter();
        let Some(engine) = process.engine_mut() else { return };
        let mut landing = self.exec.abandon();
        landing.retain(|message| {
            let is_landing = message.take_back(engine);
            if !is_landing {
                message.detach(engine);
            }
            is_landing
        });
        if !landing.is_empty() {
            wait::until(
                process,
                |_| self.bindings.waiting(),
                |process| {
                    let Some(engine) = process.engine_mut() else { return Some(()) };
                    landing.retain(|message| !message.has_ended(engine));
                    landing.is_empty().then_some(())
                },
            );
        }
    }

    /// Takes all steps that can be taken; `None` while messages are awaited.
    pub(super) fn advance(&mut self, engine: &mut ProcessEngine) -> Option<Pause> {
        let completions = engine.completions();
        if self.seen == Some(completions) {
            return None;
        }
        self.seen = None;
        if let Some(check) = &mut self.check {
            match check.advance(engine) {
                Poll::Pending => {
                    self.seen = (engine.completions() == completions).then_some(completions);
                    return None;
                }
                Poll::Ready(Err(error)) => {
                    self.bindings.failure = Some(error);
                    return Some(Pause::Ended);
                }
                Poll::Ready(Ok(())) => {}
            }
        }
        let mut port = EnginePort { bindings: &mut self.bindings, engine };
        match self.exec.advance(&self.schedule, &mut port) {
            Ok(Poll::Ready(())) => Some(Pause::Ended),
            Err(operands) => Some(Pause::CallOut(operands)),
            Ok(Poll::Pending) => {
                // What has completed while steps were taken may be what is awaited now.
                self.seen = (engine.completions() == completions).then_some(completions);
                None
            }
        }
    }

    /// Back to the start, for the next start of a persistent call.
    pub(super) fn rewind(&mut self) {
        self.exec.restart();
        self.bindings.failure = None;
        self.seen = None;
        if let Some(check) = &mut self.check {
            check.restart();
        }
        self.method = None;
    }

    /// Puts this aside for the next call of the thread.
    pub(super) fn keep(mut self: Box<Self>) {
        self.rewind();
        self.schedule.clear();
        self.bindings.clear();
        self.check = None;
        // A thread that is ending (MPI_Finalize may be called by an exit handler) keeps nothing.
        let _ = SPARE.try_with(|spare| spare.set(Some(self)));
    }
}

thread_local! {
    /// What the last call of this thread used, so that a blocking collective need not allocate.
    static SPARE: Cell<Option<Box<RunningCollective>>> = const { Cell::new(None) };
}

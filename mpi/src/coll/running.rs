//! A collective that has been prepared: the blocking form runs it to its end, the others move on as messages
//! come.

use super::circle;
use super::differ::mismatched;
use super::joint::{self, Blocks, Patience, Way};
use super::port::{CallOut, Ground, Handle, Names};
use super::setup::Setup;
use crate::check::{Check, Record, State};
use crate::comm::Comm;
use crate::error::Result;
use crate::limits::{COLLECTIVE_TAGS, LAST_BARRIER_TAG};
use crate::process::{Guard, Process, ProcessEngine, enter};
use crate::team::{self, TeamPlace};
use crate::wait::{self, Event, Waiting};
use std::cell::Cell;
use std::task::Poll;
use std::time::Duration;
use tern_abi::*;
use tern_coll::{Exec, Schedule};
use tern_joint::Mark;
use tern_transport::{Doorbell, Mismatch, Team};

/// A collective that has been prepared.
#[derive(Debug, Default)]
pub struct Running {
    pub(super) schedule: Schedule,
    pub(super) names: Names,
    /// The call is blocking, and the communicator has a team that can move data.
    pub(super) has_team: bool,
    /// With which mark the team's ranks come.
    pub(super) mark: Mark,
    /// The call may use multicasts, where the communicator has them.
    pub(super) may_multicast: bool,
    /// How the call goes over shared memory; without this, by the schedule.
    pub(super) way: Option<Way>,
    /// What a vector form moves that way; kept from call to call, so that nothing is allocated.
    pub(super) blocks: Blocks,
    exec: Exec<Handle>,
    /// Completions of the engine when this last had to wait: until there are more, nothing has changed.
    seen: Option<u64>,
    /// What the ranks have to agree about first (`TERN_CHECK=collectives`).
    check: Option<Box<Check>>,
    /// What this rank will tell them.
    pub(super) record: Record,
}

/// Why a collective stops for now.
pub(super) enum Stage {
    /// It is complete.
    Ended,
    /// A function of the program's has to be called: [`Names::combine`], without the state held.
    CallOut(CallOut),
}

/// Prepares a collective and runs it to its end.
pub fn blocking(call: &'static str, comm: MPI_Comm, plan: impl FnOnce(&mut Setup) -> Result) -> Result {
    blocking_in(Form::Blocking, call, comm, plan)
}

/// As [`blocking`], in either of its forms.
pub(super) fn blocking_in(
    form: Form,
    call: &'static str,
    comm: MPI_Comm,
    plan: impl FnOnce(&mut Setup) -> Result,
) -> Result {
    let mut process = enter();
    if matches!(process.comm(comm)?.team, TeamPlace::Unasked) {
        drop(process);
        team::agree(call, comm)?;
        process = enter();
    }
    let mut running = prepare(call, comm, &mut process, form, plan)?;
    let outcome = if running.has_team { running.run_in_team(process, comm) } else { running.run(process) };
    running.keep();
    outcome
}

/// Makes sure that the ranks make the same collective call, where that is checked: for calls that are no schedules. The call's
/// arguments, or why they are refused, which the other ranks then learn.
pub fn met<T>(call: &'static str, comm: MPI_Comm, arguments: Result<T>) -> Result<T> {
    meet_with(call, comm, arguments, |_, _| ())
}

/// The same of calls in which a rank that is refused takes part, so that nobody waits for it: where calls are not compared, that
/// is for later.
pub fn met_if_checked<T>(call: &'static str, comm: MPI_Comm, arguments: Result<T>) -> Result<Result<T>> {
    let is_checked = enter().check_collectives;
    if is_checked { met(call, comm, arguments).map(Ok) } else { Ok(arguments) }
}

/// The same of calls whose arguments must be alike. `tell` puts into this rank's record what is to be compared.
pub fn meet_with<T>(
    call: &'static str,
    comm: MPI_Comm,
    arguments: Result<T>,
    tell: impl FnOnce(&T, &mut Record),
) -> Result<T> {
    let is_checked = enter().check_collectives;
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
struct Steps<'a>(&'a mut Running);

impl Event for Steps<'_> {
    type News = Stage;

    fn waiting(&self, _: &Process) -> Waiting {
        self.0.names.waiting()
    }

    #[inline]
    fn look(&mut self, process: &mut Process) -> Option<Stage> {
        process.engine_mut().map_or(Some(Stage::Ended), |engine| self.0.advance(engine))
    }
}

/// The same, or what another rank of the team does instead.
struct StepsBeside<'a> {
    steps: Steps<'a>,
    team: &'a Team,
    patience: Patience,
    /// At the last look.
    seen: Cell<Option<Mismatch>>,
}

impl Event for StepsBeside<'_> {
    type News = std::result::Result<Stage, Mismatch>;

    fn waiting(&self, process: &Process) -> Waiting {
        self.steps.waiting(process)
    }

    #[inline]
    fn look(&mut self, process: &mut Process) -> Option<Self::News> {
        self.steps.look(process).map(Ok).or_else(|| self.patience.found().map(Err))
    }

    fn sleep(&self, bell: &dyn Doorbell, armed: u32, timeout: Option<Duration>) {
        let awaited = self.steps.0.exec.waits_for().iter().filter_map(Handle::rank);
        let found = self.team.obstacle_beside(awaited);
        // Those who are gone may have left messages, for which there is one more look.
        let is_sure = self.seen.replace(found) == found;
        let most = self.patience.sleep_for(found.filter(|_| is_sure), timeout);
        bell.sleep(armed, most.or(Some(Duration::ZERO)));
    }
}

/// The form of a call (section 6.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Form {
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
    form: Form,
    plan: impl FnOnce(&mut Setup) -> Result,
) -> Result<Box<Running>> {
    let mut running = SPARE.try_with(Cell::take).ok().flatten().unwrap_or_default();
    match running.prepare(call, comm, process, form, plan) {
        Ok(()) => Ok(running),
        Err(error) => {
            running.keep();
            Err(error)
        }
    }
}

/// The next collective of a communicator gets another tag.
fn count_call(comm: &mut Comm) {
    comm.collectives = (comm.collectives + 1) % COLLECTIVE_TAGS;
}

impl Running {
    /// A call that is refused has not happened: the communicator does not count it, and where only this rank was refused, the call
    /// that it makes instead meets those of the others. Where calls are compared, the others learn of it and count theirs.
    fn prepare(
        &mut self,
        call: &'static str,
        comm: MPI_Comm,
        process: &mut Process,
        form: Form,
        plan: impl FnOnce(&mut Setup) -> Result,
    ) -> Result {
        if form != Form::Last {
            circle::ask(process, comm)?;
        }
        let this = process.comm(comm)?;
        // Calls that are compared have the same tag, or nobody would learn that they differ.
        let is_apart = form == Form::Last && !process.check_collectives;
        let tag = if is_apart { LAST_BARRIER_TAG } else { this.collectives as i32 };
        self.names.address(call, this, tag, process.check_types);
        self.may_multicast = form != Form::Last;
        if process.check_collectives {
            self.record = Record::named(call);
        }
        self.has_team = form == Form::Blocking && this.team.team().is_some_and(Team::has_room);
        let outcome = plan(&mut Setup::new(process, this, self));
        let outcome = outcome.and_then(|()| self.names.provide(self.schedule.temps()));
        if outcome.is_ok() || process.check_collectives {
            count_call(process.comm_mut(comm)?);
        }
        if process.check_collectives { self.checked(process, comm, tag, outcome) } else { outcome }
    }

    /// Prepares the comparison with the other ranks. Those that wait for a rank whose call has failed are told.
    #[cold]
    fn checked(&mut self, process: &mut Process, comm: MPI_Comm, tag: i32, outcome: Result) -> Result {
        if let Err(error) = &outcome {
            self.record.state = State::Refused(error.class());
        }
        let check = Check::new(process.comm(comm)?, tag, self.record);
        match outcome {
            Ok(()) => self.check = Some(Box::new(check)),
            Err(_) => check.refuse(process.engine()?),
        }
        outcome
    }

    fn run(&mut self, mut process: Guard) -> Result {
        loop {
            match wait::until_event(process, Steps(self)) {
                Stage::Ended => break,
                Stage::CallOut(operands) => self.names.combine(&operands),
            }
            process = enter();
        }
        self.names.failure.take().map_or(Ok(()), Err)
    }

    /// Where the communicator has a team, all its ranks' calls are compared, whichever way they go.
    fn run_in_team(&mut self, process: Guard, comm: MPI_Comm) -> Result {
        let mut team = joint::begin(process, comm, &self.names, self.mark)?;
        let outcome = match self.way.take() {
            Some(way) => joint::run(&mut team, &self.names, self.mark, &way, &self.blocks),
            None => self.run_beside(&mut team),
        };
        joint::end(comm, team)?;
        outcome
    }

    /// Runs to the end by messages, or until it turns out that another rank makes another call.
    fn run_beside(&mut self, team: &mut Team) -> Result {
        team.tell();
        loop {
            let steps = StepsBeside {
                steps: Steps(self),
                team,
                patience: Patience::default(),
                seen: Cell::new(None),
            };
            match wait::until_event(enter(), steps) {
                Ok(Stage::Ended) => return self.names.failure.take().map_or(Ok(()), Err),
                Ok(Stage::CallOut(operands)) => self.names.combine(&operands),
                Err(found) => {
                    self.give_up();
                    team.abandon();
                    return Err(mismatched(self.names.call, self.mark, found));
                }
            }
        }
    }

    /// What has not been received yet will not touch the program's memory. What was sent may still be taken.
    #[cold]
    fn give_up(&mut self) {
        let mut process = enter();
        let Some(engine) = process.engine_mut() else { return };
        for handle in self.exec.abandon() {
            handle.give_up(engine);
        }
    }

    /// Takes all steps that can be taken; `None` while messages are awaited.
    pub(super) fn advance(&mut self, engine: &mut ProcessEngine) -> Option<Stage> {
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
                    self.names.failure = Some(error);
                    return Some(Stage::Ended);
                }
                Poll::Ready(Ok(())) => {}
            }
        }
        let mut ground = Ground { names: &mut self.names, engine };
        match self.exec.advance(&self.schedule, &mut ground) {
            Ok(Poll::Ready(())) => Some(Stage::Ended),
            Err(operands) => Some(Stage::CallOut(operands)),
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
        self.names.failure = None;
        self.seen = None;
        if let Some(check) = &mut self.check {
            check.restart();
        }
        self.way = None;
    }

    /// Puts this aside for the next call of the thread.
    pub(super) fn keep(mut self: Box<Self>) {
        self.rewind();
        self.schedule.clear();
        self.names.clear();
        self.check = None;
        // A thread that is ending (MPI_Finalize may be called by an exit handler) keeps nothing.
        let _ = SPARE.try_with(|spare| spare.set(Some(self)));
    }
}

thread_local! {
    /// What the last call of this thread used, so that a blocking collective need not allocate.
    static SPARE: Cell<Option<Box<Running>>> = const { Cell::new(None) };
}

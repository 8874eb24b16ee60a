//! Requests of collectives: non-blocking (MPI 5.0 section 6.12) and persistent (section 6.13) ones.
//!
//! Whoever waits in MPI for anything moves on all that are under way ([`serve`]): a rank that sits in a receive
//! must not hold up the collective that its partner has to complete before it sends.

use super::operation::Operation;
use super::running::{CallForm, Pause, RunningCollective, met, prepare};
use super::setup::Setup;
use crate::core::boundary::Out;
use crate::core::error::{Error, Result, fail};
use crate::core::process::{LockGuard, Process, enter};
use crate::core::wait::{self, Waiting};
use crate::p2p::ended::Ended;
use crate::p2p::request::{Callback, Progress, Request, no_persistent, no_request};
use std::ffi::{c_int, c_void};
use tern_abi::*;

/// The object behind the request of a collective.
#[derive(Debug)]
pub(crate) struct CollectiveRequest {
    /// Taken out while one of the program's functions runs for it.
    running: Option<Box<RunningCollective>>,
    /// The context of its communicator.
    context: u64,
    /// The handle that a function of the program's is called with.
    lent: Option<MPI_Datatype>,
    phase: CollectivePhase,
    persistent: bool,
    /// The program has been told that it is complete, by a call that does not end it.
    told: bool,
}

/// How far it is.
#[derive(Debug)]
enum CollectivePhase {
    /// Persistent, and not started.
    Inactive,
    /// Under way; the handle is among the process's `objects.collectives`.
    Active,
    /// Complete, and nobody has asked.
    Ended(Option<Box<Error>>),
}

/// Prepares a collective and starts it.
pub(crate) fn nonblocking(
    call: &'static str,
    comm: MPI_Comm,
    request: Result<Out<'_, MPI_Request>>,
    plan: impl FnOnce(&mut Setup) -> Result,
) -> Result {
    let mut process = enter();
    // Wherever a call is refused, those learn of it that are compared with it.
    let mut place = None;
    let handle = process.new_collective(call, comm, |setup| {
        place = Some(request?);
        plan(setup)
    })?;
    place.expect("what was not refused has a place").set(handle);
    process.with_request(handle, |collective, process| collective.start(process, handle))?;
    drop(serve(process));
    Ok(())
}

/// Prepares a collective, to be started by `MPI_Start`. Ranks that prepare theirs in different orders would wait for each
/// other's starts, so the check, if it is on, is made here too.
pub(crate) fn persistent(
    call: &'static str,
    (comm, info): (MPI_Comm, MPI_Info),
    request: Result<Out<'_, MPI_Request>>,
    plan: impl FnOnce(&mut Setup) -> Result,
) -> Result {
    let request = request.and_then(|request| enter().hints(info).map(|_| request));
    let request = met(call, comm, request)?;
    let mut process = enter();
    let handle = process.new_collective(call, comm, plan)?;
    process.collective(handle)?.persistent = true;
    request.set(handle);
    Ok(())
}

/// Takes all steps that collectives under way can take. Functions of the program's are called without the state, so
/// other threads may come in meanwhile.
pub(crate) fn serve(mut process: LockGuard) -> LockGuard {
    if !process.objects.files.served.is_empty() {
        crate::file::serve::serve(&mut process);
    }
    let mut index = 0;
    while let Some(&request) = process.objects.collectives.get(index) {
        match process.advance(request) {
            None => index += 1,
            Some((mut running, Pause::Ended)) => {
                process.objects.collectives.retain(|&other| other != request);
                let error = running.bindings.failure.take();
                process.put_back(request, running, CollectivePhase::Ended(error));
                process.tell_sleepers();
            }
            Some((running, Pause::CallOut(operands))) => {
                drop(process);
                running.bindings.combine(&operands);
                process = enter();
                process.put_back(request, running, CollectivePhase::Active);
                index = 0;
            }
        }
    }
    process
}

impl CollectiveRequest {
    /// No function of the program's is called for it any more.
    fn give_back(&mut self, process: &mut Process) {
        if let Some(datatype) = self.lent.take() {
            process.objects.types.give_back(datatype);
        }
    }
}

impl Request for CollectiveRequest {
    fn progress(&mut self, process: &mut Process) -> Result<Progress> {
        match std::mem::replace(&mut self.phase, CollectivePhase::Inactive) {
            CollectivePhase::Inactive => Ok(Progress::Inactive),
            CollectivePhase::Active => {
                self.phase = CollectivePhase::Active;
                Ok(Progress::Pending)
            }
            CollectivePhase::Ended(error) => {
                let error = error.map(|error| process.of_communicator(error, self.context));
                if !self.persistent {
                    self.running.take().into_iter().for_each(|running| running.keep());
                    self.give_back(process);
                }
                Ok(Progress::Ended(Ended { status: MPI_Status::EMPTY, error }))
            }
        }
    }

    fn is_complete(&mut self, _process: &mut Process) -> Result<bool> {
        self.told = !matches!(self.phase, CollectivePhase::Active);
        Ok(self.told)
    }

    fn is_persistent(&self) -> bool {
        self.persistent
    }

    fn is_inactive(&self) -> bool {
        matches!(self.phase, CollectivePhase::Inactive)
    }

    /// It takes its first steps when it is [`serve`]d.
    fn start(&mut self, process: &mut Process, handle: MPI_Request) -> Result {
        if !self.is_inactive() {
            return Err(not_startable(self.persistent, handle));
        }
        self.phase = CollectivePhase::Active;
        self.told = false;
        if let Some(running) = &mut self.running {
            running.rewind();
        }
        process.objects.collectives.push(handle);
        Ok(())
    }

    fn cancel(&mut self, _process: &mut Process) -> Result<Option<Callback>> {
        Err(fail(MPI_ERR_REQUEST, "a collective cannot be cancelled (section 6.12)"))
    }

    /// It may if it is inactive, or the program knows from `MPI_Request_get_status` that it is complete. What the program does not
    /// know may be so at one rank and not at another.
    fn may_be_freed(&self) -> Result {
        match self.phase {
            CollectivePhase::Inactive => Ok(()),
            CollectivePhase::Ended(_) if self.told => Ok(()),
            CollectivePhase::Active | CollectivePhase::Ended(_) => Err(fail(
                MPI_ERR_REQUEST,
                "a collective under way must be completed, not freed (sections 6.12 and 6.13)",
            )),
        }
    }

    fn free(mut self: Box<Self>, process: &mut Process, _handle: MPI_Request) -> Result<Option<Callback>> {
        self.give_back(process);
        if let Some(running) = self.running {
            running.keep();
        }
        match self.phase {
            CollectivePhase::Ended(Some(error)) => Err(process.of_communicator(error, self.context)),
            _ => Ok(None),
        }
    }

    fn is_pending(&self, process: &Process, handle: MPI_Request) -> bool {
        process.objects.collectives.contains(&handle)
    }

    fn waiting(&self, _process: &Process, call: &'static str) -> Waiting {
        match &self.running {
            Some(running) => Waiting { call, ..running.bindings.waiting() },
            None => Waiting { detail: "in a function of the program's".into(), ..Waiting::on(call) },
        }
    }

    fn named(&self, process: &Process) -> String {
        let waiting = self.waiting(process, "");
        let name = if waiting.collective.is_empty() { "a collective" } else { waiting.collective };
        waiting.context.map_or(name.into(), |context| format!("{name} {}", wait::on(process, context)))
    }
}

/// Whether a function may be called for an operation of the program's, or for an error. The libraries for programs of other MPIs
/// ask, to use one of theirs for something else.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn tern_may_call(function: *const c_void) -> c_int {
    let process = enter();
    let (objects, function) = (&process.objects, function as usize);
    let is_operation = objects.ops.0.iter().any(|(_, op)| op.function.address() == function);
    c_int::from(is_operation || objects.errhandlers.have(function) || is_under_way(&process, function))
}

/// Whether a collective that the program has not completed or freed may call a function of the program's.
fn is_under_way(process: &Process, function: usize) -> bool {
    let collectives = process.objects.requests.all::<CollectiveRequest>();
    let mut operations =
        collectives.map(|request| request.running.as_ref().map(|running| running.bindings.operation));
    operations.any(|operation| match operation {
        Some(Some(Operation::User { function: own, .. })) => own.address() == function,
        Some(_) => false,
        // It is in such a function now.
        None => true,
    })
}

#[cold]
fn not_startable(is_persistent: bool, handle: MPI_Request) -> Box<Error> {
    if !is_persistent {
        return no_persistent(handle);
    }
    fail(
        MPI_ERR_REQUEST,
        "the persistent collective is active: complete it by MPI_Wait or MPI_Test before it is started again",
    )
}

impl Process {
    fn new_collective(
        &mut self,
        call: &'static str,
        comm: MPI_Comm,
        plan: impl FnOnce(&mut Setup) -> Result,
    ) -> Result<MPI_Request> {
        let context = self.comm(comm).map_or(0, |comm| comm.context);
        let running = prepare(call, comm, self, CallForm::Request, plan)?;
        // The program may free the type before its function is called with it (section 5.1.9).
        let lent = running.bindings.operation.and_then(|operation| operation.lent_datatype());
        let collective = CollectiveRequest {
            running: Some(running),
            context,
            lent,
            phase: CollectivePhase::Inactive,
            persistent: false,
            told: false,
        };
        let handle = self.new_request(collective)?;
        lent.into_iter().for_each(|datatype| self.objects.types.lend(datatype));
        Ok(handle)
    }

    /// The collective of a request.
    pub(crate) fn collective(&mut self, request: MPI_Request) -> Result<&mut CollectiveRequest> {
        self.objects.requests.find_mut(request).ok_or_else(|| no_request(request))
    }

    /// Moves a collective on; one that stops is taken out of its object. `None` while it waits for messages, or
    /// another thread is at it.
    fn advance(&mut self, request: MPI_Request) -> Option<(Box<RunningCollective>, Pause)> {
        let (engine, requests, _) = self.split().ok()?;
        let collective = requests.find_mut::<CollectiveRequest>(request)?;
        let stage = collective.running.as_mut()?.advance(engine)?;
        Some((collective.running.take()?, stage))
    }

    fn put_back(&mut self, request: MPI_Request, running: Box<RunningCollective>, phase: CollectivePhase) {
        if let Ok(collective) = self.collective(request) {
            collective.running = Some(running);
            collective.phase = phase;
        }
    }

    /// A thread may sleep until a collective has ended that another one has moved on.
    fn tell_sleepers(&self) {
        if self.waiting.sleepers > 0
            && let Some(bell) = &self.waiting.bell
        {
            bell.ring();
        }
    }
}

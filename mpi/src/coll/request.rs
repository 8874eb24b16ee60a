//! Requests of collectives: non-blocking (MPI 5.0 section 6.12) and persistent (section 6.13) ones.
//!
//! Whoever waits in MPI for anything moves on all that are under way ([`serve`]): a rank that sits in a receive
//! must not hold up the collective that its partner has to complete before it sends.

use super::running::{Form, Running, Stage, met, prepare};
use super::setup::Setup;
use crate::core::arguments::out;
use crate::core::error::{Error, Result, fail};
use crate::core::process::{Guard, Process, enter};
use crate::core::wait::Waiting;
use crate::p2p::request::{Ended, Object, Progress, no_request};
use tern_abi::*;

/// The object behind the request of a collective.
#[derive(Debug)]
pub struct Collective {
    /// Taken out while one of the program's functions runs for it.
    running: Option<Box<Running>>,
    comm: MPI_Comm,
    phase: Phase,
    persistent: bool,
    /// The program has been told that it is complete, by a call that does not end it.
    told: bool,
}

/// How far it is.
#[derive(Debug)]
enum Phase {
    /// Persistent, and not started.
    Inactive,
    /// Under way; the handle is among [`Process::collectives`].
    Active,
    /// Complete, and nobody has asked.
    Ended(Option<Box<Error>>),
}

/// Prepares a collective and starts it.
///
/// # Safety
/// `request` is null or may be written.
pub unsafe fn nonblocking(
    call: &'static str,
    comm: MPI_Comm,
    request: *mut MPI_Request,
    plan: impl FnOnce(&mut Setup) -> Result,
) -> Result {
    let mut process = enter();
    // Wherever a call is refused, those learn of it that are compared with it.
    let handle = process.new_collective(call, comm, |setup| {
        out("request", request)?;
        plan(setup)
    })?;
    // SAFETY: by the caller.
    unsafe { *request = handle };
    begin(&mut process, handle)?;
    drop(serve(process));
    Ok(())
}

/// Prepares a collective, to be started by `MPI_Start`. Ranks that prepare theirs in different orders would wait for each
/// other's starts, so the check, if it is on, is made here too.
///
/// # Safety
/// As [`nonblocking`].
pub unsafe fn persistent(
    call: &'static str,
    (comm, info): (MPI_Comm, MPI_Info),
    request: *mut MPI_Request,
    plan: impl FnOnce(&mut Setup) -> Result,
) -> Result {
    let request = out("request", request).and_then(|request| enter().hints(info).map(|_| request));
    let request = met(call, comm, request)?;
    let mut process = enter();
    let handle = process.new_collective(call, comm, plan)?;
    if let Some(Object::Collective(collective)) = process.requests.0.get_mut(handle.0) {
        collective.persistent = true;
    }
    // SAFETY: by the caller.
    unsafe { *request = handle };
    Ok(())
}

/// Starts a collective that is inactive. It takes its first steps when it is [`serve`]d.
pub fn begin(process: &mut Process, request: MPI_Request) -> Result {
    let collective = process.collective(request)?;
    if !collective.is_inactive() {
        return Err(fail(
            MPI_ERR_REQUEST,
            "the persistent collective is active: complete it by MPI_Wait or MPI_Test before it is started again",
        ));
    }
    collective.phase = Phase::Active;
    collective.told = false;
    if let Some(running) = &mut collective.running {
        running.rewind();
    }
    process.collectives.push(request);
    Ok(())
}

/// Takes all steps that collectives under way can take. Functions of the program's are called without the state, so
/// other threads may come in meanwhile.
pub fn serve(mut process: Guard) -> Guard {
    let mut index = 0;
    while let Some(&request) = process.collectives.get(index) {
        match process.advance(request) {
            None => index += 1,
            Some((mut running, Stage::Ended)) => {
                process.collectives.retain(|&other| other != request);
                let error = running.names.failure.take();
                process.put_back(request, running, Phase::Ended(error));
                process.tell_sleepers();
            }
            Some((running, Stage::CallOut(operands))) => {
                drop(process);
                running.names.combine(&operands);
                process = enter();
                process.put_back(request, running, Phase::Active);
                index = 0;
            }
        }
    }
    process
}

impl Collective {
    /// Whether `MPI_Start` may be called for it at all.
    pub fn is_persistent(&self) -> bool {
        self.persistent
    }

    /// Whether it is persistent and not started.
    pub fn is_inactive(&self) -> bool {
        matches!(self.phase, Phase::Inactive)
    }

    /// What a completion call `call` waits for, for a person.
    pub fn waiting(&self, call: &'static str) -> Waiting {
        match &self.running {
            Some(running) => Waiting { call, ..running.names.waiting() },
            None => Waiting { detail: "in a function of the program's".into(), ..Waiting::on(call) },
        }
    }

    /// Whether `MPI_Request_free` may take it: it is inactive, or the program knows from `MPI_Request_get_status` that it is
    /// complete. What the program does not know may be so at one rank and not at another.
    pub fn may_be_freed(&self) -> bool {
        match self.phase {
            Phase::Inactive => true,
            Phase::Active => false,
            Phase::Ended(_) => self.told,
        }
    }

    /// The end of one that is freed, and its error if it has failed and nobody has asked.
    pub fn freed(self) -> Result {
        if let Some(running) = self.running {
            running.keep();
        }
        match self.phase {
            Phase::Ended(Some(error)) => Err(error.at(self.comm)),
            _ => Ok(()),
        }
    }
}

impl Process {
    fn new_collective(
        &mut self,
        call: &'static str,
        comm: MPI_Comm,
        plan: impl FnOnce(&mut Setup) -> Result,
    ) -> Result<MPI_Request> {
        let running = Some(prepare(call, comm, self, Form::Request, plan)?);
        let collective = Collective { running, comm, phase: Phase::Inactive, persistent: false, told: false };
        self.new_request(Object::Collective(collective))
    }

    /// The collective of a request.
    pub fn collective(&mut self, request: MPI_Request) -> Result<&mut Collective> {
        match self.requests.0.get_mut(request.0) {
            Some(Object::Collective(collective)) => Ok(collective),
            _ => Err(no_request(request)),
        }
    }

    /// Moves a collective on; one that stops is taken out of its object. `None` while it waits for messages, or
    /// another thread is at it.
    fn advance(&mut self, request: MPI_Request) -> Option<(Box<Running>, Stage)> {
        let (engine, requests, _) = self.split().ok()?;
        let Some(Object::Collective(collective)) = requests.0.get_mut(request.0) else { return None };
        let stage = collective.running.as_mut()?.advance(engine)?;
        Some((collective.running.take()?, stage))
    }

    fn put_back(&mut self, request: MPI_Request, running: Box<Running>, phase: Phase) {
        if let Ok(collective) = self.collective(request) {
            collective.running = Some(running);
            collective.phase = phase;
        }
    }

    /// A thread may sleep until a collective has ended that another one has moved on.
    fn tell_sleepers(&self) {
        if self.sleepers > 0
            && let Some(bell) = &self.bell
        {
            bell.ring();
        }
    }
}

/// Where a collective stands; one that has ended is taken, unless it is persistent.
pub fn progress(process: &mut Process, request: &mut MPI_Request) -> Result<Progress> {
    let collective = process.collective(*request)?;
    match std::mem::replace(&mut collective.phase, Phase::Inactive) {
        Phase::Inactive => Ok(Progress::Inactive),
        Phase::Active => {
            collective.phase = Phase::Active;
            Ok(Progress::Pending)
        }
        Phase::Ended(error) => {
            let error = error.map(|error| error.at(collective.comm));
            if !collective.persistent {
                forget(process, *request);
                *request = MPI_REQUEST_NULL;
            }
            Ok(Progress::Ended(Ended { status: MPI_Status::EMPTY, error }))
        }
    }
}

/// Whether a completion call would end for it.
pub fn is_complete(process: &mut Process, request: MPI_Request) -> Result<bool> {
    let collective = process.collective(request)?;
    collective.told = !matches!(collective.phase, Phase::Active);
    Ok(collective.told)
}

/// Takes the object of a collective away.
fn forget(process: &mut Process, request: MPI_Request) {
    if let Some(Object::Collective(collective)) = process.requests.0.remove(request.0)
        && let Some(running) = collective.running
    {
        running.keep();
    }
}

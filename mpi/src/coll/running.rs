//! A collective that has been prepared: the blocking form runs it to its end, the others move on as messages
//! come.

use super::port::{CallOut, Ground, Handle, Names};
use super::setup::Setup;
use crate::comm::Comm;
use crate::error::Result;
use crate::limits::AGREEMENT_TAG;
use crate::process::{Guard, Process, ProcessEngine, enter};
use crate::wait::{self, Waiting};
use std::cell::Cell;
use std::task::Poll;
use tern_abi::*;
use tern_coll::{Exec, Schedule};

/// A collective that has been prepared.
#[derive(Debug, Default)]
pub struct Running {
    pub(super) schedule: Schedule,
    pub(super) names: Names,
    exec: Exec<Handle>,
    /// Completions of the engine when this last had to wait: until there are more, nothing has changed.
    seen: Option<u64>,
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
    let mut process = enter();
    let mut running = prepare(call, comm, &mut process, plan)?;
    let outcome = running.run(process);
    running.keep();
    outcome
}

/// Checks the arguments of a call and makes its schedule.
pub(super) fn prepare(
    call: &'static str,
    comm: MPI_Comm,
    process: &mut Process,
    plan: impl FnOnce(&mut Setup) -> Result,
) -> Result<Box<Running>> {
    let mut running = SPARE.try_with(Cell::take).ok().flatten().unwrap_or_default();
    match running.prepare(call, comm, process, plan) {
        Ok(()) => Ok(running),
        Err(error) => {
            running.keep();
            Err(error)
        }
    }
}

/// The tag of the next collective of a communicator.
pub fn next_tag(comm: &mut Comm) -> i32 {
    let tag = comm.collectives;
    comm.collectives = (tag + 1) % AGREEMENT_TAG as u32;
    tag as i32
}

impl Running {
    /// A communicator that exists counts the call in any case, so that its ranks still agree on tags after an
    /// error that all or some have had.
    fn prepare(
        &mut self,
        call: &'static str,
        comm: MPI_Comm,
        process: &mut Process,
        plan: impl FnOnce(&mut Setup) -> Result,
    ) -> Result {
        let tag = next_tag(process.comm_mut(comm)?);
        let process: &Process = process;
        let comm = process.comm(comm)?;
        self.names.address(call, comm, tag, process.check_types);
        plan(&mut Setup::new(process, comm, self))?;
        self.names.provide(self.schedule.temps())
    }

    fn run(&mut self, mut process: Guard) -> Result {
        let (call, context) = (self.names.call, self.names.context());
        loop {
            let stage = wait::until(
                process,
                |_| Waiting::collective(call, context),
                |process| process.engine_mut().map_or(Some(Stage::Ended), |engine| self.advance(engine)),
            );
            match stage {
                Stage::Ended => break,
                Stage::CallOut(operands) => self.names.combine(&operands),
            }
            process = enter();
        }
        self.names.failure.take().map_or(Ok(()), Err)
    }

    /// Takes all steps that can be taken; `None` while messages are awaited.
    pub(super) fn advance(&mut self, engine: &mut ProcessEngine) -> Option<Stage> {
        let completions = engine.completions();
        if self.seen == Some(completions) {
            return None;
        }
        let mut ground = Ground { names: &mut self.names, engine };
        self.seen = None;
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
    }

    /// Puts this aside for the next call of the thread.
    pub(super) fn keep(mut self: Box<Self>) {
        self.rewind();
        self.schedule.clear();
        self.names.clear();
        // A thread that is ending (MPI_Finalize may be called by an exit handler) keeps nothing.
        let _ = SPARE.try_with(|spare| spare.set(Some(self)));
    }
}

thread_local! {
    /// What the last call of this thread used, so that a blocking collective need not allocate.
    static SPARE: Cell<Option<Box<Running>>> = const { Cell::new(None) };
}

//! A collective under way: the blocking form runs it to its end, the others advance it when they are asked.

use super::port::{CallOut, Ground, Handle, Names};
use super::setup::Setup;
use crate::comm::Comm;
use crate::error::Result;
use crate::process::{Guard, Process, enter};
use crate::request::Progress;
use crate::wait::{self, Waiting};
use std::cell::Cell;
use std::task::Poll;
use tern_abi::*;
use tern_coll::{Exec, Schedule};

/// A collective under way.
#[derive(Debug, Default)]
pub struct Running {
    pub(super) schedule: Schedule,
    pub(super) names: Names,
    exec: Exec<Handle>,
    /// Completions of the engine when this was last advanced and had to wait: until there are more, nothing has changed.
    seen: Option<u64>,
}

/// Why a collective stops for now.
enum Stage {
    /// It is complete.
    Ended,
    /// A function of the program's has to be called.
    CallOut(CallOut),
}

/// Prepares a collective and runs it to its end.
pub fn blocking(call: &'static str, comm: MPI_Comm, plan: impl FnOnce(&mut Setup) -> Result) -> Result {
    let mut process = enter();
    let mut running = spare();
    let outcome = match running.prepare(call, comm, &mut process, plan) {
        Ok(()) => running.run(process),
        Err(error) => Err(error),
    };
    running.keep();
    outcome
}

/// The tag of the next collective of a communicator.
pub fn next_tag(comm: &mut Comm) -> i32 {
    let tag = comm.collectives & i32::MAX as u32;
    comm.collectives = comm.collectives.wrapping_add(1);
    tag as i32
}

impl Running {
    /// Checks the arguments of a call and makes its schedule. A communicator that exists counts the call in
    /// any case, so that its ranks still agree on tags after an error that all or some have had.
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
        self.names.address(call, comm, tag);
        plan(&mut Setup::new(process, comm, self))?;
        self.names.provide(self.schedule.temps())
    }

    fn run(&mut self, mut process: Guard) -> Result {
        let (call, context) = (self.names.call, self.names.context());
        loop {
            let stage =
                wait::until(process, |_| Waiting::collective(call, context), |process| self.advance(process));
            match stage {
                Stage::Ended => break,
                Stage::CallOut(operands) => self.names.combine(&operands),
            }
            process = enter();
        }
        self.names.failure.take().map_or(Ok(()), Err)
    }

    /// Takes all steps that can be taken; `None` while messages are awaited.
    fn advance(&mut self, process: &mut Process) -> Option<Stage> {
        let Some(engine) = process.engine_mut() else { return Some(Stage::Ended) };
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

    /// Puts this aside for the next call of the thread.
    fn keep(mut self: Box<Self>) {
        self.schedule.clear();
        self.exec.restart();
        self.names.clear();
        self.seen = None;
        // A thread that is ending (MPI_Finalize may be called by an exit handler) keeps nothing.
        let _ = SPARE.try_with(|spare| spare.set(Some(self)));
    }
}

thread_local! {
    /// What the last call of this thread used, so that a blocking collective need not allocate.
    static SPARE: Cell<Option<Box<Running>>> = const { Cell::new(None) };
}

fn spare() -> Box<Running> {
    SPARE.try_with(Cell::take).ok().flatten().unwrap_or_default()
}

/// Where a collective stands.
pub fn progress(_process: &mut Process, _request: &mut MPI_Request) -> Result<Progress> {
    Ok(Progress::Pending)
}

/// Whether a completion call would end for it.
pub fn is_complete(_process: &mut Process, _request: MPI_Request) -> Result<bool> {
    Ok(false)
}

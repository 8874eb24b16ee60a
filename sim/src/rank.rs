//! One rank: its engine, and how far it is.

use crate::Picos;
use crate::accesses::AccessEpoch;
use crate::end::NetworkEnd;
use crate::job::RankWork;
use crate::limits::SCHEDULE_BYTES_MAX;
use crate::memory::SimulatedMemory;
use crate::port::{Defect, MessageHandle, PortContext, RankPort};
use crate::program::RankProgram;
use tern_coll::{Exec, Schedule, Step};
use tern_engine::Engine;
use tern_engine::rma::WindowId;

/// One rank. A million of them exist at once, so what most do not need now is elsewhere: the schedule is here only
/// while steps of it are left ([`ScheduleParts`]).
pub struct SimulatedRank {
    /// Its engine.
    pub engine: Engine<NetworkEnd>,
    /// When it was through with all calls.
    pub finished: Option<Picos>,
    exec: Exec<MessageHandle>,
    /// The part of its schedule that it executes.
    window: Option<Box<Schedule>>,
    /// Its part of the window that all ranks have, if there is one.
    pub(crate) exposed: WindowId,
    /// Accesses of its call that are not known to be done.
    accesses: Option<AccessEpoch>,
    /// Where the next part of the schedule begins.
    next: Next,
    /// Calls that were begun.
    calls: u32,
    /// Completions of the engine when the schedule last went on: until there are more, nothing has changed for it.
    seen: u64,
}

/// What comes after the part of the schedule that is being executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    /// The part from this step on.
    Part(u32),
    /// The next call.
    Call,
    /// Nothing.
    Nothing,
}

/// The parts of schedules that ranks execute now: built when needed, and used again.
pub struct ScheduleParts {
    program: RankProgram,
    /// The shortest part.
    steps_min: usize,
    #[allow(clippy::vec_box, reason = "a rank that needs none holds one word")]
    spare: Vec<Box<Schedule>>,
    nothing: Schedule,
}

impl ScheduleParts {
    /// For all ranks of a program. Where bytes are moved, schedules are built whole, so that their temporary memory is
    /// known and stays.
    pub fn new(program: RankProgram, whole: bool) -> ScheduleParts {
        let room = SCHEDULE_BYTES_MAX / size_of::<Step>() / program.job().ranks as usize;
        let steps_min = if whole { usize::MAX } else { room };
        ScheduleParts { program, steps_min, spare: Vec::new(), nothing: Schedule::new() }
    }

    /// What ranks execute.
    pub fn program(&self) -> &RankProgram {
        &self.program
    }

    fn build(&mut self, rank: u32, call: u32, from: u32) -> Box<Schedule> {
        let mut schedule = self.spare.pop().unwrap_or_default();
        self.program.build(rank, call, from as usize, self.steps_min, &mut schedule);
        schedule
    }
}

const _: () =
    assert!(size_of::<SimulatedRank>() <= 800, "a million ranks and all that they hold must fit in 4 GiB");

impl SimulatedRank {
    /// A rank that has not begun.
    pub fn new(engine: Engine<NetworkEnd>) -> SimulatedRank {
        let next = Next::Call;
        SimulatedRank {
            engine,
            finished: None,
            exec: Exec::new(),
            window: None,
            exposed: WindowId::COMPLETED,
            accesses: None,
            next,
            calls: 0,
            seen: u64::MAX,
        }
    }

    /// Takes what has arrived and does all that can be done now.
    pub fn run(
        &mut self,
        me: u32,
        context: &mut PortContext,
        rounds: &mut ScheduleParts,
    ) -> Result<(), Defect> {
        loop {
            let moved = self.engine.poll();
            if self.engine.completions() != self.seen && self.finished.is_none() {
                self.seen = self.engine.completions();
                self.advance(me, context, rounds)?;
            } else if !moved {
                return Ok(());
            }
        }
    }

    fn advance(
        &mut self,
        me: u32,
        context: &mut PortContext,
        rounds: &mut ScheduleParts,
    ) -> Result<(), Defect> {
        loop {
            if let Some(accesses) = &mut self.accesses {
                if !accesses.are_done(&mut self.engine, me)? {
                    return Ok(());
                }
                self.accesses = None;
                self.load(me, 0, context, rounds);
            }
            let schedule = self.window.as_deref().unwrap_or(&rounds.nothing);
            let port = RankPort { context, engine: &mut self.engine, rank: me, tag: self.calls as i32 };
            if self.exec.advance(schedule, &mut { port })?.is_pending() {
                self.park(rounds);
                return Ok(());
            }
            self.exec.restart();
            rounds.spare.extend(self.window.take());
            match self.next {
                Next::Part(from) => self.load(me, from, context, rounds),
                Next::Call if self.calls < rounds.program.job().repeats => {
                    self.calls += 1;
                    context.charge(crate::picos(context.compute.call_ns));
                    match rounds.program.job().work {
                        RankWork::Window(_) => {
                            let (engine, program) = (&mut self.engine, &rounds.program);
                            let begun = AccessEpoch::begin(engine, me, self.exposed, context, program)?;
                            self.accesses = Some(begun);
                        }
                        _ => self.load(me, 0, context, rounds),
                    }
                }
                Next::Call | Next::Nothing => {
                    self.next = Next::Nothing;
                    self.finished = Some(context.network.borrow().now);
                    return Ok(());
                }
            }
        }
    }

    fn load(&mut self, me: u32, from: u32, context: &mut PortContext, rounds: &mut ScheduleParts) {
        let schedule = rounds.build(me, self.calls, from);
        self.next = schedule.next_window().map_or(Next::Call, |step| Next::Part(step as u32));
        if let SimulatedMemory::Own(spaces, element_bytes) = &mut context.memory {
            let space = &mut spaces[me as usize];
            space.provide(schedule.temps(), *element_bytes);
            context.network.borrow_mut().open(me, space.all());
        }
        self.window = Some(schedule);
    }

    /// Gives the part of the schedule back if all its steps were taken, and only their messages are awaited.
    fn park(&mut self, rounds: &mut ScheduleParts) {
        if self.window.as_ref().is_some_and(|window| window.steps().len() == self.exec.taken()) {
            rounds.spare.extend(self.window.take());
        }
    }

    /// What it waits for.
    pub fn pending(&self) -> &[MessageHandle] {
        self.exec.waits_for()
    }

    /// Asks for the memory that it needs to go on; it is here itself already.
    pub fn prefetch(&self) {
        self.engine.prefetch();
        tern_mem::prefetch(self.pending());
    }

    /// The rank whose answer about accesses it waits for, if it waits for one.
    pub(crate) fn awaited_target(&self, me: u32) -> Option<u32> {
        self.accesses.as_ref().map(|accesses| accesses.awaited(me))
    }

    /// The number of the call it is in, from 1.
    pub fn call(&self) -> u32 {
        self.calls
    }
}

//! Drives a schedule over a port.

use std::task::Poll;

use crate::schedule::{Schedule, Slice, Step, StepPeer};

/// What a schedule is executed on: the point-to-point layer, memory, datatypes and the operation of one call.
///
/// A port maps [`crate::Buf`] to addresses and [`crate::Ty`] to datatypes; it has the memory for
/// [`Schedule::temps`] before the first step. Messages of one call between two ranks match in the order in
/// which they are started, so one tag per call is enough.
pub trait Port {
    /// A send or receive under way.
    type Handle;
    /// Why a step failed.
    type Error;

    /// Starts a send; `None` if it is complete already.
    fn isend(&mut self, to: StepPeer, from: &Slice) -> Result<Option<Self::Handle>, Self::Error>;

    /// Starts a receive; `None` if it is complete already.
    fn irecv(&mut self, from: StepPeer, into: &Slice) -> Result<Option<Self::Handle>, Self::Error>;

    /// Starts a send to several ranks of the own group; `None` if it is complete already. See [`Step::Multicast`].
    fn imulticast(&mut self, to: &[u32], from: &Slice) -> Result<Option<Self::Handle>, Self::Error>;

    /// Starts a receive of what comes by multicast; `None` if it is complete already.
    fn ilisten(&mut self, from: StepPeer, into: &Slice) -> Result<Option<Self::Handle>, Self::Error>;

    /// Whether a send or receive is complete; a complete one is asked about only once.
    fn test(&mut self, handle: &mut Self::Handle) -> Result<bool, Self::Error>;

    /// Returns when one of `pending` may have completed: the place to make progress and to sleep.
    fn wait(&mut self, pending: &mut [Self::Handle]) -> Result<(), Self::Error>;

    /// `right = left OP right`; see [`Step::Reduce`]. A user's function may be called here.
    fn reduce(&mut self, left: &Slice, right: &Slice) -> Result<(), Self::Error>;

    /// Copies between slices of the same packed size; see [`Step::Copy`].
    fn copy(&mut self, from: &Slice, to: &Slice) -> Result<(), Self::Error>;
}

/// How far the execution of a schedule has come.
///
/// An error leaves the execution where it was: the owner then takes what is still under way with
/// [`Exec::abandon`] and cancels it. A port that would rather let the other ranks finish remembers the error
/// and reports the step as done.
#[derive(Debug)]
pub struct Exec<H> {
    next: usize,
    pending: Vec<H>,
}

impl<H> Default for Exec<H> {
    fn default() -> Self {
        Exec { next: 0, pending: Vec::new() }
    }
}

impl<H> Exec<H> {
    /// An execution that has not started.
    pub fn new() -> Self {
        Self::default()
    }

    /// Back to the start, memory kept: for the next call, or the next start of a persistent one.
    pub fn restart(&mut self) {
        debug_assert!(self.pending.is_empty());
        self.next = 0;
        self.pending.clear();
    }

    /// Steps that were taken since the start.
    pub fn taken(&self) -> usize {
        self.next
    }

    /// Runs steps until the schedule is finished or must wait. The same schedule is given every time; once all of its
    /// steps were taken, an empty one may stand for it, as in the simulator, which needs the memory.
    pub fn advance<P>(&mut self, schedule: &Schedule, port: &mut P) -> Result<Poll<()>, P::Error>
    where
        P: Port<Handle = H>,
    {
        let steps = schedule.steps().len();
        debug_assert!(self.next <= steps || steps == 0, "more steps were taken than the schedule has");
        while let Some(step) = schedule.steps().get(self.next) {
            if matches!(step, Step::Wait) && !self.settle(port)? {
                return Ok(Poll::Pending);
            }
            self.next += 1;
            self.perform(schedule, step, port)?;
        }
        Ok(if self.settle(port)? { Poll::Ready(()) } else { Poll::Pending })
    }

    /// Runs the schedule to its end: the blocking form.
    pub fn run<P>(&mut self, schedule: &Schedule, port: &mut P) -> Result<(), P::Error>
    where
        P: Port<Handle = H>,
    {
        while self.advance(schedule, port)?.is_pending() {
            port.wait(&mut self.pending)?;
        }
        Ok(())
    }

    /// What is under way: to wait on several executions at once.
    pub fn pending(&mut self) -> &mut [H] {
        &mut self.pending
    }

    /// As [`Exec::pending`], to look at.
    pub fn waits_for(&self) -> &[H] {
        &self.pending
    }

    /// Gives up and hands back what is under way.
    pub fn abandon(&mut self) -> Vec<H> {
        self.next = 0;
        std::mem::take(&mut self.pending)
    }

    fn perform<P>(&mut self, schedule: &Schedule, step: &Step, port: &mut P) -> Result<(), P::Error>
    where
        P: Port<Handle = H>,
    {
        match step {
            Step::Send { to, from } => self.pending.extend(port.isend(*to, from)?),
            Step::Recv { from, into } => self.pending.extend(port.irecv(*from, into)?),
            Step::Multicast { to, from } => {
                self.pending.extend(port.imulticast(schedule.listeners(to), from)?);
            }
            Step::Listen { from, into } => self.pending.extend(port.ilisten(*from, into)?),
            Step::Wait => {}
            Step::Reduce { left, right } => port.reduce(left, right)?,
            Step::Copy { from, to } => port.copy(from, to)?,
        }
        Ok(())
    }

    /// Drops what is complete; whether that was everything.
    fn settle<P: Port<Handle = H>>(&mut self, port: &mut P) -> Result<bool, P::Error> {
        let mut index = 0;
        while index < self.pending.len() {
            if port.test(&mut self.pending[index])? {
                self.pending.swap_remove(index);
            } else {
                index += 1;
            }
        }
        Ok(self.pending.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::{Buf, Span, Ty, TypeLayout};

    /// Completes a message at its second test, and fails where told to.
    #[derive(Default)]
    struct Fake {
        started: u32,
        waits: u32,
        immediate: bool,
        broken: bool,
    }

    impl Fake {
        fn start(&mut self) -> Result<Option<u32>, &'static str> {
            self.started += 1;
            if self.broken { Err("broken") } else { Ok((!self.immediate).then_some(2)) }
        }
    }

    impl Port for Fake {
        type Handle = u32;
        type Error = &'static str;

        fn isend(&mut self, _: StepPeer, _: &Slice) -> Result<Option<u32>, &'static str> {
            self.start()
        }

        fn irecv(&mut self, _: StepPeer, _: &Slice) -> Result<Option<u32>, &'static str> {
            self.start()
        }

        fn imulticast(&mut self, _: &[u32], _: &Slice) -> Result<Option<u32>, &'static str> {
            self.start()
        }

        fn ilisten(&mut self, _: StepPeer, _: &Slice) -> Result<Option<u32>, &'static str> {
            self.start()
        }

        fn test(&mut self, handle: &mut u32) -> Result<bool, &'static str> {
            *handle -= 1;
            Ok(*handle == 0)
        }

        fn wait(&mut self, pending: &mut [u32]) -> Result<(), &'static str> {
            assert!(!pending.is_empty());
            self.waits += 1;
            Ok(())
        }

        fn reduce(&mut self, _: &Slice, _: &Slice) -> Result<(), &'static str> {
            Ok(())
        }

        fn copy(&mut self, _: &Slice, _: &Slice) -> Result<(), &'static str> {
            Ok(())
        }
    }

    fn two_rounds() -> Schedule {
        let span = Span::new(Buf::Recv, 1, Ty::Byte, TypeLayout::BYTE);
        let mut schedule = Schedule::new();
        for _ in 0..2 {
            schedule.send(StepPeer::Local(1), span);
            schedule.recv(StepPeer::Local(1), span);
            schedule.wait();
        }
        schedule
    }

    #[test]
    fn a_round_starts_when_the_one_before_is_complete() {
        let (schedule, mut port, mut exec) = (two_rounds(), Fake::default(), Exec::new());
        assert_eq!(exec.advance(&schedule, &mut port), Ok(Poll::Pending));
        assert_eq!(port.started, 2);
        assert_eq!(exec.advance(&schedule, &mut port), Ok(Poll::Pending));
        assert_eq!(port.started, 4);
        assert_eq!(exec.advance(&schedule, &mut port), Ok(Poll::Ready(())));
    }

    #[test]
    fn a_blocking_run_waits_and_can_be_repeated() {
        let (schedule, mut port, mut exec) = (two_rounds(), Fake::default(), Exec::new());
        for times in 1..=2 {
            exec.restart();
            exec.run(&schedule, &mut port).unwrap();
            assert_eq!((port.started, port.waits), (4 * times, 2 * times));
        }
    }

    #[test]
    fn what_completes_at_once_is_not_waited_for() {
        let (schedule, mut exec) = (two_rounds(), Exec::new());
        let mut port = Fake { immediate: true, ..Fake::default() };
        assert_eq!(exec.advance(&schedule, &mut port), Ok(Poll::Ready(())));
    }

    #[test]
    fn after_an_error_what_is_under_way_can_be_taken() {
        let (schedule, mut port, mut exec) = (two_rounds(), Fake::default(), Exec::new());
        assert_eq!(exec.advance(&schedule, &mut port), Ok(Poll::Pending));
        port.broken = true;
        assert_eq!(exec.advance(&schedule, &mut port), Err("broken"));
        assert!(exec.abandon().is_empty());
    }
}

//! The lines of a shm communicator, as one rank uses them, at a price.

use super::scheduler::Scheduler;
use std::sync::Arc;
use tern_mem::UserBuf;
use tern_shm::shm_comm::{Arrived, FlagPayload, Lines};

/// A rank's view of the scheduler.
pub(super) struct PricedLines {
    scheduler: Arc<Scheduler>,
    rank: u32,
}

impl PricedLines {
    /// That of a rank.
    pub(super) fn new(scheduler: Arc<Scheduler>, rank: u32) -> PricedLines {
        PricedLines { scheduler, rank }
    }
}

impl Lines for PricedLines {
    fn raise(&self, line: usize, count: u64, mark: u64) {
        self.scheduler.raise(self.rank, line, (count, mark), None);
    }

    fn raise_progress(&self, line: usize, count: u64, mark: u64) {
        self.raise(line, count, mark);
    }

    /// Where no rank comes with another mark, none has to be left.
    fn raise_count(&self, line: usize, count: u64) {
        self.scheduler.raise(self.rank, line, (count, 0), None);
    }

    fn raise_with(&self, line: usize, count: u64, mark: u64, payload: &FlagPayload) {
        self.scheduler.raise(self.rank, line, (count, mark), Some(payload));
    }

    fn count(&self, line: usize) -> u64 {
        self.scheduler.count(self.rank, line)
    }

    fn mark(&self, line: usize) -> u64 {
        self.scheduler.mark(line)
    }

    fn payload(&self, line: usize) -> FlagPayload {
        self.scheduler.payload(line)
    }

    fn enter(&self, line: usize, most: u64) -> bool {
        self.scheduler.add(self.rank, line, Some(most))
    }

    fn leave(&self, line: usize) {
        self.scheduler.add(self.rank, line, None);
    }

    fn arrive(&self, _: u64, _: u64) -> Arrived {
        Arrived::Number(self.scheduler.arrive(self.rank), true)
    }

    /// Simulated ranks all make the same calls.
    fn forget_arrivals(&self, _: u64) {}

    fn open(&self, count: u64, mark: u64) {
        self.scheduler.open(self.rank, count, mark);
    }

    fn gate(&self) -> u64 {
        self.scheduler.gate(self.rank)
    }

    fn gate_mark(&self) -> u64 {
        self.scheduler.gate_mark()
    }

    fn data(&self, offset: usize, bytes: usize) -> UserBuf {
        self.scheduler.data.part(offset, bytes).expect("memory of the simulator's own")
    }
}

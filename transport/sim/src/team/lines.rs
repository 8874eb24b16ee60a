//! The lines of a team, as one rank uses them, at a price.

use super::stage::Stage;
use std::sync::Arc;
use tern_mem::UserBuf;
use tern_transport::shm::team::{Arrived, Lines, Note};

/// A rank's view of the stage.
pub struct Priced {
    stage: Arc<Stage>,
    rank: u32,
}

impl Priced {
    /// That of a rank.
    pub fn new(stage: Arc<Stage>, rank: u32) -> Priced {
        Priced { stage, rank }
    }
}

impl Lines for Priced {
    fn raise(&self, line: usize, count: u64, mark: u64) {
        self.stage.raise(self.rank, line, (count, mark), None);
    }

    fn raise_with(&self, line: usize, count: u64, mark: u64, note: &Note) {
        self.stage.raise(self.rank, line, (count, mark), Some(note));
    }

    fn count(&self, line: usize) -> u64 {
        self.stage.count(self.rank, line)
    }

    fn mark(&self, line: usize) -> u64 {
        self.stage.mark(line)
    }

    fn note(&self, line: usize) -> Note {
        self.stage.note(line)
    }

    fn enter(&self, line: usize, most: u64) -> bool {
        self.stage.add(self.rank, line, Some(most))
    }

    fn leave(&self, line: usize) {
        self.stage.add(self.rank, line, None);
    }

    fn arrive(&self, _: u64, _: u64) -> Arrived {
        Arrived::Number(self.stage.arrive(self.rank), true)
    }

    /// Simulated ranks all make the same calls.
    fn forget_arrivals(&self, _: u64) {}

    fn open(&self, count: u64, mark: u64) {
        self.stage.open(self.rank, count, mark);
    }

    fn gate(&self) -> u64 {
        self.stage.gate(self.rank)
    }

    fn gate_mark(&self) -> u64 {
        self.stage.gate_mark()
    }

    fn data(&self, offset: usize, bytes: usize) -> UserBuf {
        self.stage.data.part(offset, bytes).expect("memory of the simulator's own")
    }
}

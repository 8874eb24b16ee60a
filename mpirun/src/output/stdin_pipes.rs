//! The standard input of an agent's ranks, which comes from `mpirun` piece by piece.

use std::collections::HashMap;
use std::os::fd::OwnedFd;

use rustix::io::Errno;

use crate::poller::{PollToken, Poller};

/// The pipes to the ranks that get standard input.
#[derive(Debug)]
pub(crate) struct StdinPipes {
    ranks: HashMap<u32, StdinPipe>,
}

#[derive(Debug)]
struct StdinPipe {
    pipe: OwnedFd,
    buffer: Vec<u8>,
    written: usize,
    waiting: bool,
}

/// What has become of a piece of input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TakenInput {
    /// The rank's pipe has no room for all of it yet.
    NotYet,
    /// The next may come.
    All,
    /// The rank reads no more.
    Closed,
}

impl StdinPipes {
    /// The pipes, each with its rank.
    pub(crate) fn new(pipes: impl Iterator<Item = (u32, OwnedFd)>) -> StdinPipes {
        let stdin_pipe = |pipe| StdinPipe { pipe, buffer: Vec::new(), written: 0, waiting: false };
        StdinPipes { ranks: pipes.map(|(rank, pipe)| (rank, stdin_pipe(pipe))).collect() }
    }

    /// The next piece for a rank; an empty one is the end. `mpirun` sends one at a time.
    pub(crate) fn on_input(&mut self, rank: u32, bytes: Vec<u8>, poller: &Poller) -> TakenInput {
        if bytes.is_empty() {
            self.close(rank, poller);
            return TakenInput::NotYet;
        }
        let Some(stdin_pipe) = self.ranks.get_mut(&rank) else { return TakenInput::Closed };
        stdin_pipe.buffer.extend_from_slice(&bytes);
        self.write(rank, poller)
    }

    /// The pipe of a rank has room, or nobody reads it any more.
    pub(crate) fn on_room(&mut self, rank: u32, poller: &Poller) -> TakenInput {
        if let Some(stdin_pipe) = self.ranks.get_mut(&rank) {
            poller.remove(&stdin_pipe.pipe);
            stdin_pipe.waiting = false;
        }
        self.write(rank, poller)
    }

    fn write(&mut self, rank: u32, poller: &Poller) -> TakenInput {
        let Some(stdin_pipe) = self.ranks.get_mut(&rank) else { return TakenInput::Closed };
        let taken = stdin_pipe.write(rank, poller);
        if taken == TakenInput::Closed {
            self.close(rank, poller);
        }
        taken
    }

    fn close(&mut self, rank: u32, poller: &Poller) {
        if let Some(stdin_pipe) = self.ranks.remove(&rank) {
            poller.remove(&stdin_pipe.pipe);
        }
    }
}

impl StdinPipe {
    fn write(&mut self, rank: u32, poller: &Poller) -> TakenInput {
        while !self.waiting && self.written < self.buffer.len() {
            match rustix::io::write(&self.pipe, &self.buffer[self.written..]) {
                Ok(count) => self.written += count,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => {
                    self.waiting = poller.add_writer(&self.pipe, PollToken::Input(rank)).is_ok();
                    if !self.waiting {
                        return TakenInput::Closed;
                    }
                }
                Err(_) => return TakenInput::Closed,
            }
        }
        if self.written < self.buffer.len() {
            return TakenInput::NotYet;
        }
        self.buffer.clear();
        self.written = 0;
        TakenInput::All
    }
}

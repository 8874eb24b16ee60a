//! Answers to the ranks of this host that have asked for endpoint addresses: a pipe to each rank, and what it has not taken yet.

use std::collections::{HashMap, VecDeque};
use std::os::fd::OwnedFd;

use rustix::io::Errno;

use crate::limits::ANSWERS_QUEUED_MAX;
use crate::poller::{PollToken, Poller};

/// The pipes to the ranks of this host.
#[derive(Debug, Default)]
pub(crate) struct Answers {
    ranks: HashMap<u32, Pipe>,
}

#[derive(Debug)]
struct Pipe {
    fd: OwnedFd,
    queue: VecDeque<Vec<u8>>,
    /// Whether the poller waits for room in the pipe.
    waiting: bool,
}

impl Answers {
    /// The pipes, each with its rank.
    pub(crate) fn new(pipes: impl Iterator<Item = (u32, OwnedFd)>) -> Answers {
        let pipe = |fd| Pipe { fd, queue: VecDeque::new(), waiting: false };
        Answers { ranks: pipes.map(|(rank, fd)| (rank, pipe(fd))).collect() }
    }

    /// Sends an answer, now or when there is room. A rank that asks on and never reads loses the rest.
    pub(crate) fn send(&mut self, rank: u32, answer: Vec<u8>, poller: &Poller) {
        let Some(pipe) = self.ranks.get_mut(&rank) else { return };
        if pipe.queue.len() < ANSWERS_QUEUED_MAX {
            pipe.queue.push_back(answer);
        }
        self.flush(rank, poller);
    }

    /// The pipe of this rank has room, or nobody reads it any more.
    pub(crate) fn on_room(&mut self, rank: u32, poller: &Poller) {
        if let Some(pipe) = self.ranks.get_mut(&rank) {
            poller.remove(&pipe.fd);
            pipe.waiting = false;
        }
        self.flush(rank, poller);
    }

    fn flush(&mut self, rank: u32, poller: &Poller) {
        let gone = self.ranks.get_mut(&rank).is_some_and(|pipe| !pipe.flush(rank, poller));
        if gone {
            self.ranks.remove(&rank);
        }
    }
}

impl Pipe {
    /// Whether somebody still reads. An answer is shorter than what a pipe takes whole or not at all.
    fn flush(&mut self, rank: u32, poller: &Poller) -> bool {
        while let (false, Some(answer)) = (self.waiting, self.queue.front()) {
            match rustix::io::write(&self.fd, answer) {
                Ok(_) => drop(self.queue.pop_front()),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => {
                    self.waiting = poller.add_writer(&self.fd, PollToken::Answers(rank)).is_ok();
                    return self.waiting;
                }
                Err(_) => return false,
            }
        }
        true
    }
}

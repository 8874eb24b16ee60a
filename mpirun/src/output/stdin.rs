//! Copies standard input to ranks that cannot inherit it.
//!
//! One bounded buffer: more is read when every reader has taken all of it, so the slowest sets the pace.

use std::os::fd::OwnedFd;
use std::time::Instant;

use rustix::io::Errno;
use rustix::process::getpgrp;
use rustix::stdio::stdin;
use rustix::termios::tcgetpgrp;

use crate::limits::{FOREGROUND_CHECK, READ_BYTES};
use crate::poller::{PollToken, Poller};

/// Standard input on its way to the ranks.
#[derive(Debug)]
pub(crate) struct Feed {
    readers: Vec<Option<StdinReader>>,
    buffer: Vec<u8>,
    source: StdinSource,
    /// What is to be sent to ranks of other hosts; nothing is the end.
    outgoing: Vec<(u32, Vec<u8>)>,
}

#[derive(Debug)]
struct StdinReader {
    way: ReaderWay,
    taken: usize,
    /// Whether the poller waits for room in the pipe, or the agent has not said yet that the rank has taken all.
    waiting: bool,
}

/// How a reader is reached.
#[derive(Debug)]
enum ReaderWay {
    Pipe(OwnedFd),
    /// By the agent of this rank's host.
    Agent(u32),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StdinSource {
    /// The readers still have to take what was read.
    Idle,
    /// The poller waits for it.
    Waiting,
    /// It is a terminal, and `mpirun` is in the background, where reading would stop it.
    Background(Instant),
    Ended,
}

impl Feed {
    /// Starts to feed these pipes, and these ranks of other hosts.
    pub(crate) fn new(pipes: Vec<OwnedFd>, far: Vec<u32>, poller: &Poller) -> Feed {
        let ways = pipes.into_iter().map(ReaderWay::Pipe).chain(far.into_iter().map(ReaderWay::Agent));
        let readers = ways.map(|way| Some(StdinReader { way, taken: 0, waiting: false })).collect();
        let mut feed = Feed { readers, buffer: Vec::new(), source: StdinSource::Idle, outgoing: Vec::new() };
        feed.advance(poller);
        feed
    }

    /// What is to be sent to ranks of other hosts.
    pub(crate) fn take_outgoing(&mut self) -> Vec<(u32, Vec<u8>)> {
        std::mem::take(&mut self.outgoing)
    }

    /// A rank of another host has taken what was sent last; `closed`, it wants no more.
    pub(crate) fn on_taken(&mut self, rank: u32, closed: bool, poller: &Poller) {
        let is_it = |reader: &StdinReader| matches!(reader.way, ReaderWay::Agent(other) if other == rank);
        let Some(slot) = self.readers.iter_mut().find(|slot| slot.as_ref().is_some_and(is_it)) else {
            return;
        };
        match slot.as_mut().filter(|_| !closed) {
            Some(reader) => reader.waiting = false,
            None => *slot = None,
        }
        self.advance(poller);
    }

    /// Standard input has something, or has ended.
    pub(crate) fn on_stdin(&mut self, poller: &Poller) {
        poller.remove(stdin());
        self.source = StdinSource::Idle;
        self.read();
        self.advance(poller);
    }

    /// A reader has room, or has gone.
    pub(crate) fn on_reader(&mut self, index: u32, poller: &Poller) {
        if let Some(Some(reader)) = self.readers.get_mut(index as usize)
            && let ReaderWay::Pipe(pipe) = &reader.way
        {
            poller.remove(pipe);
            reader.waiting = false;
        }
        self.advance(poller);
    }

    /// When to look again whether the terminal may be read.
    pub(crate) fn due(&self) -> Option<Instant> {
        match self.source {
            StdinSource::Background(until) => Some(until),
            _ => None,
        }
    }

    /// Looks again.
    pub(crate) fn tick(&mut self, now: Instant, poller: &Poller) {
        if self.due().is_some_and(|due| now >= due) {
            self.source = StdinSource::Idle;
            self.advance(poller);
        }
    }

    /// Writes what can be written, and reads on when all is written.
    fn advance(&mut self, poller: &Poller) {
        loop {
            self.write(poller);
            if self.readers.iter().all(Option::is_none) {
                return self.stop(poller);
            }
            let all_taken = |reader: &StdinReader| reader.taken == self.buffer.len() && !reader.waiting;
            if !self.readers.iter().flatten().all(all_taken) {
                return;
            }
            self.rewind();
            if self.source == StdinSource::Ended {
                return self.close();
            }
            if self.source != StdinSource::Idle || self.wait_for_stdin(poller) {
                return;
            }
            // What the poller refuses, such as a file, can be read at any time.
            self.read();
        }
    }

    /// Whether there is something to wait for.
    fn wait_for_stdin(&mut self, poller: &Poller) -> bool {
        if !may_read_terminal() {
            self.source = StdinSource::Background(Instant::now() + FOREGROUND_CHECK);
            return true;
        }
        let waits = poller.add_reader(stdin(), PollToken::Stdin).is_ok();
        if waits {
            self.source = StdinSource::Waiting;
        }
        waits
    }

    fn read(&mut self) {
        if !may_read_terminal() {
            return;
        }
        self.buffer.resize(READ_BYTES, 0);
        let count = match rustix::io::read(stdin(), &mut self.buffer[..]) {
            Ok(count) => Some(count).filter(|&count| count > 0),
            Err(Errno::INTR | Errno::AGAIN) => Some(0),
            Err(_) => None,
        };
        self.buffer.truncate(count.unwrap_or(0));
        if count.is_none() {
            self.source = StdinSource::Ended;
        }
    }

    fn write(&mut self, poller: &Poller) {
        for (index, slot) in self.readers.iter_mut().enumerate() {
            let Some(reader) = slot else { continue };
            match reader.way {
                ReaderWay::Agent(rank) => self.outgoing.extend(reader.send(rank, &self.buffer)),
                ReaderWay::Pipe(_) => {
                    if !reader.write(&self.buffer, index as u32, poller) {
                        *slot = None;
                    }
                }
            }
        }
    }

    /// Standard input has ended, and so do its copies.
    fn close(&mut self) {
        for reader in self.readers.drain(..).flatten() {
            if let ReaderWay::Agent(rank) = reader.way {
                self.outgoing.push((rank, Vec::new()));
            }
        }
    }

    fn rewind(&mut self) {
        self.buffer.clear();
        self.readers.iter_mut().flatten().for_each(|reader| reader.taken = 0);
    }

    fn stop(&mut self, poller: &Poller) {
        poller.remove(stdin());
        self.source = StdinSource::Ended;
        self.readers.clear();
    }
}

impl StdinReader {
    /// What is to be sent to `rank`, once it has taken what was sent before.
    fn send(&mut self, rank: u32, buffer: &[u8]) -> Option<(u32, Vec<u8>)> {
        let rest = buffer.get(self.taken..).filter(|rest| !rest.is_empty() && !self.waiting)?.to_vec();
        (self.taken, self.waiting) = (buffer.len(), true);
        Some((rank, rest))
    }

    /// Whether the reader is still there.
    fn write(&mut self, buffer: &[u8], index: u32, poller: &Poller) -> bool {
        let ReaderWay::Pipe(pipe) = &self.way else { return true };
        while !self.waiting && self.taken < buffer.len() {
            match rustix::io::write(pipe, &buffer[self.taken..]) {
                Ok(count) => self.taken += count,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => self.waiting = poller.add_writer(pipe, PollToken::Input(index)).is_ok(),
                Err(_) => return false,
            }
        }
        true
    }
}

/// A process in the background that reads its terminal is stopped by SIGTTIN. What is not this session's
/// terminal has no foreground and stops nobody.
fn may_read_terminal() -> bool {
    !tcgetpgrp(stdin()).is_ok_and(|group| group != getpgrp())
}

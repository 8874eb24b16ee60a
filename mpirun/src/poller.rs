//! The one place where `mpirun` waits: an epoll set whose members carry a token.

use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use rustix::buffer::spare_capacity;
use rustix::event::{Timespec, epoll};
use rustix::io::Errno;

use crate::limits::{EVENTS, WAIT_MAX};
use crate::watch::exit_cause::Refusal;

/// What has become ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PollToken {
    /// A signal has arrived.
    Signals,
    /// A rank has written to the control pipe.
    Notices,
    /// `mpirun`'s standard input has something.
    Stdin,
    /// A rank's process has ended.
    Process(u32),
    /// The stream of this index has output or has ended.
    Output(u32),
    /// The sink of this index takes more.
    Sink(u32),
    /// The rank that reads the copy of this index takes more input.
    Input(u32),
    /// The pipe for answers to this rank has room.
    Answers(u32),
    /// The agent of this child agent has said something.
    ChildAgent(u32),
    /// The pipe to the agent of this child agent has room.
    BranchRoom(u32),
    /// The launcher of this child agent has written to standard error.
    BranchErrors(u32),
    /// The agent's parent has said something.
    Parent,
    /// The pipe to the agent's parent has room.
    ParentRoom,
    /// A rank has said something in PMI.
    Pmi(u32),
    /// A child of this process has ended.
    Children,
    /// The `mpirun` of this world has said something.
    World(u32),
    /// It has ended.
    WorldEnd(u32),
    /// There is room for what it is to be told.
    WorldRoom(u32),
}

impl PollToken {
    fn pack(self) -> u64 {
        let (kind, index) = match self {
            PollToken::Signals => (0, 0),
            PollToken::Notices => (1, 0),
            PollToken::Stdin => (2, 0),
            PollToken::Process(index) => (3, index),
            PollToken::Output(index) => (4, index),
            PollToken::Sink(index) => (5, index),
            PollToken::Input(index) => (6, index),
            PollToken::Answers(index) => (7, index),
            PollToken::ChildAgent(index) => (8, index),
            PollToken::BranchRoom(index) => (9, index),
            PollToken::BranchErrors(index) => (10, index),
            PollToken::Parent => (11, 0),
            PollToken::ParentRoom => (12, 0),
            PollToken::Pmi(index) => (13, index),
            PollToken::Children => (14, 0),
            PollToken::World(index) => (15, index),
            PollToken::WorldEnd(index) => (16, index),
            PollToken::WorldRoom(index) => (17, index),
        };
        kind << 32 | u64::from(index)
    }

    fn unpack(packed: u64) -> PollToken {
        let index = packed as u32;
        match packed >> 32 {
            0 => PollToken::Signals,
            1 => PollToken::Notices,
            2 => PollToken::Stdin,
            3 => PollToken::Process(index),
            4 => PollToken::Output(index),
            5 => PollToken::Sink(index),
            6 => PollToken::Input(index),
            7 => PollToken::Answers(index),
            8 => PollToken::ChildAgent(index),
            9 => PollToken::BranchRoom(index),
            10 => PollToken::BranchErrors(index),
            11 => PollToken::Parent,
            12 => PollToken::ParentRoom,
            13 => PollToken::Pmi(index),
            15 => PollToken::World(index),
            16 => PollToken::WorldEnd(index),
            17 => PollToken::WorldRoom(index),
            _ => PollToken::Children,
        }
    }
}

/// Descriptors that are waited for. It does not own them: each must be removed before it is closed.
pub(crate) struct Poller {
    set: OwnedFd,
    events: Vec<epoll::Event>,
}

impl Poller {
    /// An empty set.
    pub(crate) fn new() -> Result<Poller, Refusal> {
        let set = epoll::create(epoll::CreateFlags::CLOEXEC)
            .map_err(|error| Refusal::system("cannot wait for events", error))?;
        Ok(Poller { set, events: Vec::with_capacity(EVENTS) })
    }

    /// Waits for something to read. Refused for what is always ready, such as a file.
    pub(crate) fn add_reader(&self, fd: impl AsFd, token: PollToken) -> Result<(), Errno> {
        epoll::add(&self.set, fd, epoll::EventData::new_u64(token.pack()), epoll::EventFlags::IN)
    }

    /// Waits for room to write.
    pub(crate) fn add_writer(&self, fd: impl AsFd, token: PollToken) -> Result<(), Errno> {
        epoll::add(&self.set, fd, epoll::EventData::new_u64(token.pack()), epoll::EventFlags::OUT)
    }

    /// Waits no more for this one, if it did.
    pub(crate) fn remove(&self, fd: impl AsFd) {
        let _ = epoll::delete(&self.set, fd);
    }

    /// Sleeps until something is ready or the time has passed, and appends what is ready.
    pub(crate) fn wait(
        &mut self,
        timeout: Option<Duration>,
        ready: &mut Vec<PollToken>,
    ) -> Result<(), Refusal> {
        let timeout = timeout
            .map(|time| time.min(WAIT_MAX))
            .map(|time| Timespec { tv_sec: time.as_secs() as i64, tv_nsec: time.subsec_nanos().into() });
        match epoll::wait(&self.set, spare_capacity(&mut self.events), timeout.as_ref()) {
            // Interrupted by a signal: the signal itself is ready next time.
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(Refusal::system("cannot wait", refused_call("epoll_wait", error))),
        }
        ready.extend(self.events.drain(..).map(|event| PollToken::unpack(event.data.u64())));
        Ok(())
    }
}

/// Why a wait failed, in words. Nothing but a filter of system calls refuses a wait.
fn refused_call(call: &str, error: Errno) -> String {
    match error {
        Errno::PERM | Errno::NOSYS => {
            format!("{call}: {error}; a container whose filter of system calls (seccomp) allows it is needed")
        }
        error => format!("{call}: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_may_be_longer_than_the_kernel_allows() {
        let mut poller = Poller::new().expect("a poller");
        let (read, _write) = rustix::pipe::pipe().expect("a pipe");
        drop(_write);
        poller.add_reader(&read, PollToken::Stdin).expect("it can be waited for");
        let mut ready = Vec::new();
        let waited = poller.wait(Some(Duration::from_secs(u64::MAX)), &mut ready);
        assert!(waited.is_ok() && ready == [PollToken::Stdin]);
    }

    #[test]
    fn tokens_survive_packing() {
        let tokens = [
            PollToken::Signals,
            PollToken::Notices,
            PollToken::Stdin,
            PollToken::Process(u32::MAX),
            PollToken::Output(7),
            PollToken::Sink(1),
            PollToken::Input(0),
            PollToken::Answers(3),
            PollToken::ChildAgent(1),
            PollToken::BranchRoom(2),
            PollToken::BranchErrors(3),
            PollToken::Parent,
            PollToken::ParentRoom,
            PollToken::Pmi(5),
            PollToken::Children,
        ];
        for token in tokens {
            assert_eq!(PollToken::unpack(token.pack()), token);
        }
    }
}

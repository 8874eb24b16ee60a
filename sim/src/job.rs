//! What is simulated.

use crate::faults::InjectedFaults;
use crate::limits::{CHECKED_BYTES_MAX, CHECKED_RANKS_MAX, MESSAGE_BYTES_MAX, RANKS_MAX};
use crate::program::RankProgram;
use tern_coll::{Algorithm, Choice, Collective};
use thiserror::Error;

/// A job: what all ranks do.
#[derive(Clone, Debug)]
pub struct SimulatedJob {
    /// The ranks.
    pub ranks: u32,
    /// What they do.
    pub work: RankWork,
    /// By which algorithm; `None`: as the selection table says.
    pub choice: Option<Choice>,
    /// The bytes of the call as the selection table counts them: the whole vector of a broadcast or reduction, one
    /// rank's block elsewhere; of a ping-pong, those of a message.
    pub bytes: u64,
    /// The root, where there is one.
    pub root: u32,
    /// How often each rank does it, one after the other.
    pub repeats: u32,
    /// Each call has the next rank as its root, so that no root runs ahead of the others: as measurements do.
    pub roots_rotate: bool,
    /// Whether messages carry bytes.
    pub payload: PayloadBytes,
    /// What goes wrong.
    pub faults: InjectedFaults,
}

/// What ranks do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RankWork {
    /// A collective of the standard; neighborhood collectives on a ring.
    Collective(Collective),
    /// The first and the last rank send a message to and fro.
    PingPong,
    /// Each rank puts its block to so many ranks behind it, one after the other, and all call `MPI_Win_fence`. The window has a
    /// block for each rank.
    Window(u32),
}

/// Whether messages carry bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PayloadBytes {
    /// Only lengths: for large jobs. All buffers are the same memory, which nobody looks at.
    Lengths,
    /// Every rank has its buffers, and what is in them afterwards is compared with [`crate::definition`].
    Bytes,
}

/// Why a job cannot be simulated.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum JobError {
    /// Too few or too many ranks.
    #[error("{0} ranks cannot be simulated; 1 to {RANKS_MAX} can")]
    Ranks(u32),
    /// Too many ranks for messages with bytes.
    #[error(
        "{0} ranks are too many to move real bytes; {CHECKED_RANKS_MAX} can, or leave out the check of results"
    )]
    CheckedRanks(u32),
    /// Too many bytes to have them all.
    #[error(
        "the buffers of all ranks have {0} bytes, too many to move real ones; {CHECKED_BYTES_MAX} can be moved, or leave out the \
         check of results"
    )]
    CheckedBytes(u64),
    /// The root is none of the ranks.
    #[error("the root is {0}, but the ranks are 0 to {1}")]
    Root(u32, u32),
    /// A message that is too long.
    #[error("a message of {0} bytes is too long for the simulator; the longest is {MESSAGE_BYTES_MAX}")]
    Bytes(u64),
    /// Over a shm communicator's memory calls name their whole buffers.
    #[error(
        "a rank's buffer of {0} bytes is too long for the simulator over shared memory; the longest is {MESSAGE_BYTES_MAX}"
    )]
    SharedBytes(u64),
    /// No call at all.
    #[error("each rank is to make 0 calls, but must make at least 1")]
    Repeats,
    /// More targets than there are others.
    #[error("{0} targets are too many for {1} ranks; each has {2} others")]
    Targets(u32, u32, u32),
    /// A ping-pong alone.
    #[error("a ping-pong takes two ranks")]
    Alone,
    /// A fault that a run over shared memory does not know: its ranks are blocking code.
    #[error(
        "over shared memory (algorithm shm) no rank can be made to stop; by messages one can, as algorithm 'table' goes"
    )]
    Shared,
    /// What the last of several roots has is not what the definition says of one call.
    #[error("results cannot be checked where each call has another root")]
    Roots,
    /// A fault of a rank that there is not.
    #[error("rank {0} cannot stop: the ranks are 0 to {1}")]
    Crash(u32, u32),
    /// A probability that is none.
    #[error("the part of messages that are lost is {0}; it must be from 0 to below 1")]
    Loss(String),
}

impl SimulatedJob {
    /// One call of a collective, with lengths only and no faults.
    pub fn new(work: RankWork, ranks: u32, bytes: u64) -> SimulatedJob {
        SimulatedJob {
            ranks,
            work,
            choice: None,
            bytes,
            root: 0,
            repeats: 1,
            roots_rotate: false,
            payload: PayloadBytes::Lengths,
            faults: InjectedFaults::default(),
        }
    }

    /// The root of a call, which is numbered from 1.
    pub fn root_of(&self, call: u32) -> u32 {
        let turn = if self.roots_rotate { call.saturating_sub(1) % self.ranks } else { 0 };
        ((u64::from(self.root) + u64::from(turn)) % u64::from(self.ranks)) as u32
    }

    /// Whether it can be simulated.
    pub fn check(&self) -> Result<(), JobError> {
        let last = self.ranks.saturating_sub(1);
        if self.ranks == 0 || self.ranks > RANKS_MAX {
            return Err(JobError::Ranks(self.ranks));
        }
        if self.payload == PayloadBytes::Bytes && self.ranks > CHECKED_RANKS_MAX {
            return Err(JobError::CheckedRanks(self.ranks));
        }
        if self.root > last {
            return Err(JobError::Root(self.root, last));
        }
        if self.bytes > MESSAGE_BYTES_MAX {
            return Err(JobError::Bytes(self.bytes));
        }
        if self.repeats == 0 {
            return Err(JobError::Repeats);
        }
        if self.work == RankWork::PingPong && self.ranks < 2 {
            return Err(JobError::Alone);
        }
        if let RankWork::Window(targets) = self.work
            && targets > last
        {
            return Err(JobError::Targets(targets, self.ranks, last));
        }
        if self.roots_rotate && self.payload == PayloadBytes::Bytes {
            return Err(JobError::Roots);
        }
        if let Some(crash) = self.faults.crashes.iter().find(|crash| crash.rank > last) {
            return Err(JobError::Crash(crash.rank, last));
        }
        let asks_shared = self.choice.is_some_and(|choice| choice.algorithm == Algorithm::Shm);
        if asks_shared && !self.faults.crashes.is_empty() {
            return Err(JobError::Shared);
        }
        let loss = self.faults.loss;
        (0.0..1.0).contains(&loss).then_some(()).ok_or(JobError::Loss(loss.to_string()))
    }

    /// Whether there is room for the buffers of its program.
    pub(crate) fn check_room(&self, program: &RankProgram, shared: bool) -> Result<(), JobError> {
        let longest = program.buffer_bytes();
        let all = longest.saturating_mul(self.ranks.into());
        if self.payload == PayloadBytes::Bytes && all > CHECKED_BYTES_MAX {
            return Err(JobError::CheckedBytes(all));
        }
        let fits = !shared || longest <= MESSAGE_BYTES_MAX;
        fits.then_some(()).ok_or(JobError::SharedBytes(longest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::faults::Crash;

    #[test]
    fn jobs_that_make_no_sense_are_refused() {
        let job = || SimulatedJob::new(RankWork::Collective(Collective::Bcast), 4, 8);
        assert_eq!(job().check(), Ok(()));
        let faults = |faults: InjectedFaults| SimulatedJob { faults, ..job() }.check();
        assert_eq!(SimulatedJob { ranks: 0, ..job() }.check(), Err(JobError::Ranks(0)));
        assert_eq!(SimulatedJob { root: 4, ..job() }.check(), Err(JobError::Root(4, 3)));
        assert_eq!(SimulatedJob { repeats: 0, ..job() }.check(), Err(JobError::Repeats));
        assert_eq!(
            SimulatedJob { work: RankWork::PingPong, ranks: 1, ..job() }.check(),
            Err(JobError::Alone)
        );
        assert!(matches!(SimulatedJob { bytes: u64::MAX, ..job() }.check(), Err(JobError::Bytes(_))));
        let window = |targets| SimulatedJob { work: RankWork::Window(targets), ..job() }.check();
        assert_eq!((window(3), window(4)), (Ok(()), Err(JobError::Targets(4, 4, 3))));
        let large = SimulatedJob { payload: PayloadBytes::Bytes, ranks: 1 << 20, ..job() };
        assert!(matches!(large.check(), Err(JobError::CheckedRanks(_))));
        let rotating = SimulatedJob { roots_rotate: true, root: 3, ..job() };
        assert_eq!([1, 2, 6].map(|call| rotating.root_of(call)), [3, 0, 0]);
        assert_eq!(SimulatedJob { payload: PayloadBytes::Bytes, ..rotating }.check(), Err(JobError::Roots));
        assert!(faults(InjectedFaults { loss: 1.0, ..InjectedFaults::default() }).is_err());
        // What happens between nodes changes nothing on one.
        let shared = SimulatedJob { choice: Some(Algorithm::Shm.into()), ..job() };
        let faults_of_shared = |faults: InjectedFaults| SimulatedJob { faults, ..shared.clone() }.check();
        assert_eq!(
            faults_of_shared(InjectedFaults { loss: 0.1, jitter_ns: 5.0, ..InjectedFaults::default() }),
            Ok(())
        );
        let crashes = vec![Crash { rank: 3, at_ns: 0.0 }];
        assert_eq!(
            faults_of_shared(InjectedFaults { crashes, ..InjectedFaults::default() }),
            Err(JobError::Shared)
        );
        let crashes = vec![Crash { rank: 4, at_ns: 0.0 }];
        assert_eq!(
            faults(InjectedFaults { crashes, ..InjectedFaults::default() }),
            Err(JobError::Crash(4, 3))
        );
    }

    #[test]
    fn jobs_that_need_more_memory_than_there_may_be_are_refused() {
        let room = |job: &SimulatedJob, shared| {
            job.check_room(&RankProgram::new(job, &crate::Params::default()), shared)
        };
        let job = SimulatedJob::new(RankWork::Collective(Collective::Alltoall), 3, MESSAGE_BYTES_MAX);
        assert_eq!(room(&job, false), Ok(()), "each message is short enough");
        assert_eq!(room(&job, true), Err(JobError::SharedBytes(3 * MESSAGE_BYTES_MAX)));
        let real = SimulatedJob { payload: PayloadBytes::Bytes, bytes: CHECKED_BYTES_MAX / 8, ..job };
        assert_eq!(room(&real, false), Err(JobError::CheckedBytes(CHECKED_BYTES_MAX / 8 * 9)));
        assert_eq!(room(&SimulatedJob { bytes: CHECKED_BYTES_MAX / 9, ..real }, true), Ok(()));
    }
}

//! `TERN_CHECK=collectives`: before a collective begins, its ranks tell each other what they call, and all of them
//! get the same error if the calls do not fit, instead of a hang or wrong data.
//!
//! Every rank learns every rank's [`CallRecord`] by Bruck's allgather, in a lane of the communicator that the
//! collective itself does not use, and [`mod@verdict`] is a pure function of them. So nobody runs a collective that another
//! refuses. With the check on, all collectives go by schedules over messages: one place to begin, [`crate::coll`]'s
//! `RunningCollective`.

mod record;
pub(crate) mod threads;
mod verdict;
pub(crate) mod windows;

pub(crate) use record::{CallRecord, CallState, Meaning};

use crate::comm::object::{Comm, Lane};
use crate::core::engine::ProcessEngine;
use crate::core::error::{Error, Result, fail};
use std::task::Poll;
use tern_abi::MPI_ERR_OTHER;
use tern_engine::{Envelope, Group, Mode, Pattern, StartedMessage, Status};
use tern_mem::UserBuf;
use verdict::{CallRecords, verdict};

/// The comparison of one call.
#[derive(Debug)]
pub(crate) struct Check {
    ranks: CheckedRanks,
    mine: CallRecord,
    /// Records from this rank's own on, in the order of places, around the ranks.
    known: Vec<u8>,
    round: Option<ExchangeRound>,
    passed: bool,
}

/// All ranks of a communicator in one order; those of an intercommunicator one group after the other.
#[derive(Debug)]
struct CheckedRanks {
    members: Group,
    place: u32,
    first: u32,
    own: u32,
    context: u64,
    tag: i32,
}

/// A message each way.
#[derive(Debug)]
struct ExchangeRound {
    sent: Option<StartedMessage>,
    received: Option<StartedMessage>,
    into: UserBuf,
}

impl Check {
    /// A check of the call with tag `tag` on a communicator.
    pub(crate) fn new(comm: &Comm, tag: i32, mine: CallRecord) -> Self {
        Check { ranks: CheckedRanks::of(comm, tag), known: mine.bytes(), mine, round: None, passed: false }
    }

    /// Back to the start, for the next start of a persistent call.
    pub(crate) fn restart(&mut self) {
        self.known = self.mine.bytes();
        (self.round, self.passed) = (None, false);
    }

    /// Moves on; ready once all records are here.
    pub(crate) fn advance(&mut self, engine: &mut ProcessEngine) -> Poll<Result> {
        if self.passed {
            return Poll::Ready(Ok(()));
        }
        while self.blocks() < self.ranks.members.size() {
            let round = match &mut self.round {
                Some(round) => round,
                None => {
                    let round = self.begin(engine);
                    self.round.insert(round)
                }
            };
            match round.advance(engine) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Ready(Ok(bytes)) => self.known.extend(bytes),
            }
            self.round = None;
        }
        let outcome = self.conclude().map_or(Ok(()), Err);
        self.passed = outcome.is_ok();
        Poll::Ready(outcome)
    }

    /// Tells the others that this rank's call has failed for its own arguments, without waiting for anybody: each round's
    /// message, with nothing in it about other ranks.
    pub(crate) fn refuse(mut self, engine: &mut ProcessEngine) {
        let size = self.ranks.members.size();
        while self.blocks() < size {
            let sent = self.send(engine);
            if let StartedMessage::Pending(id) = sent {
                engine.detach(id);
            }
            let more = self.blocks_next() as usize * CallRecord::BYTES;
            self.known.resize(self.known.len() + more, 0);
        }
    }

    fn blocks(&self) -> u32 {
        (self.known.len() / CallRecord::BYTES) as u32
    }

    /// Records that come in the next round: as many as are known, or those that are left.
    fn blocks_next(&self) -> u32 {
        self.blocks().min(self.ranks.members.size() - self.blocks())
    }

    fn begin(&self, engine: &mut ProcessEngine) -> ExchangeRound {
        let CheckedRanks { members, place, context, tag, .. } = &self.ranks;
        let into = UserBuf::owned(self.blocks_next() as usize * CallRecord::BYTES);
        let source = (place + self.blocks()) % members.size();
        let pattern = Pattern { context: *context, source, tag: *tag };
        let received = Some(engine.receive(pattern, &into, 0));
        ExchangeRound { sent: Some(self.send(engine)), received, into }
    }

    fn send(&self, engine: &mut ProcessEngine) -> StartedMessage {
        let CheckedRanks { members, place, context, tag, .. } = &self.ranks;
        let to = (place + members.size() - self.blocks()) % members.size();
        let len = self.blocks_next() as usize * CallRecord::BYTES;
        let body = UserBuf::owned(len);
        body.write(0, &self.known[..len]);
        let envelope = Envelope { context: *context, source: *place, tag: *tag };
        engine.send(Mode::Standard, members.peer(to).expect("a place in the ranks"), envelope, &body, 0)
    }

    fn conclude(&self) -> Option<Box<Error>> {
        let mut records: Vec<CallRecord> =
            self.known.chunks_exact(CallRecord::BYTES).map(CallRecord::read).collect();
        records.rotate_right(self.ranks.place as usize);
        let (first, own) = (self.ranks.first as usize, self.ranks.own as usize);
        verdict(&CallRecords { records: &records, first, own }, self.ranks.tag)
    }
}

impl CheckedRanks {
    fn of(comm: &Comm, tag: i32) -> Self {
        match &comm.remote {
            // Agreements use this lane too, but never the tag of a collective.
            None => CheckedRanks {
                members: comm.group.clone(),
                place: comm.rank,
                first: comm.group.size(),
                own: 0,
                context: comm.lane(Lane::Local),
                tag,
            },
            // MPI_Comm_create_group, which else uses this lane, is not for intercommunicators.
            Some(remote) => CheckedRanks::of_both(comm, remote, comm.lane(Lane::Part), tag),
        }
    }

    fn of_both(comm: &Comm, remote: &Group, context: u64, tag: i32) -> Self {
        let ours_first = comm.comes_first;
        let (first, second) = if ours_first { (&comm.group, remote) } else { (remote, &comm.group) };
        let own = if ours_first { 0 } else { first.size() };
        let members = Group::of(first.members().chain(second.members()).collect());
        CheckedRanks { members, place: own + comm.rank, first: first.size(), own, context, tag }
    }
}

impl ExchangeRound {
    fn advance(&mut self, engine: &mut ProcessEngine) -> Poll<Result<Vec<u8>>> {
        let received = take(&mut self.received, engine)?;
        let sent = take(&mut self.sent, engine)?;
        if !(received && sent) {
            return Poll::Pending;
        }
        let mut bytes = vec![0; self.into.len()];
        self.into.read(0, &mut bytes);
        Poll::Ready(Ok(bytes))
    }
}

/// Whether a message is through; it is asked about until then.
fn take(started: &mut Option<StartedMessage>, engine: &mut ProcessEngine) -> Result<bool> {
    let status = match *started {
        None => return Ok(true),
        Some(StartedMessage::Done(status)) => status,
        Some(StartedMessage::Pending(id)) => match engine.test(id) {
            Some(status) => status,
            None => return Ok(false),
        },
    };
    *started = None;
    match status {
        Status { fault: None, .. } => Ok(true),
        _ => Err(fail(
            MPI_ERR_OTHER,
            "what the ranks call could not be compared: TERN_CHECK must be the same on all of them",
        )),
    }
}

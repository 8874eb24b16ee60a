//! `TERN_CHECK=collectives`: before a collective begins, its ranks tell each other what they call, and all of them
//! get the same error if the calls do not fit, instead of a hang or wrong data.
//!
//! Every rank learns every rank's [`Record`] by Bruck's allgather, in a lane of the communicator that the collective
//! itself does not use, and [`verdict`] is a pure function of them. So nobody runs a collective that another refuses. With
//! the check on, all collectives go by schedules over messages: one place to begin, [`crate::coll`]'s `Running`.

mod record;
pub mod threads;
mod verdict;

pub use record::{Meaning, Record, State};

use crate::comm::intercomm::ours_first;
use crate::comm::object::{Comm, Lane};
use crate::core::error::{Error, Result, fail};
use crate::core::process::ProcessEngine;
use std::task::Poll;
use tern_abi::MPI_ERR_OTHER;
use tern_engine::{Envelope, Group, Mode, Pattern, Started, Status};
use tern_mem::UserBuf;
use verdict::{Calls, verdict};

/// The comparison of one call.
#[derive(Debug)]
pub struct Check {
    circle: Circle,
    mine: Record,
    /// Records from this rank's own on, in the order of places, around the circle.
    known: Vec<u8>,
    round: Option<Round>,
    passed: bool,
}

/// All ranks of a communicator in one order; those of an intercommunicator one group after the other.
#[derive(Debug)]
struct Circle {
    members: Group,
    place: u32,
    first: u32,
    own: u32,
    context: u64,
    tag: i32,
}

/// A message each way.
#[derive(Debug)]
struct Round {
    sent: Option<Started>,
    received: Option<Started>,
    into: UserBuf,
}

impl Check {
    /// A check of the call with tag `tag` on a communicator.
    pub fn new(comm: &Comm, tag: i32, mine: Record) -> Self {
        Check { circle: Circle::of(comm, tag), known: mine.bytes(), mine, round: None, passed: false }
    }

    /// Back to the start, for the next start of a persistent call.
    pub fn restart(&mut self) {
        self.known = self.mine.bytes();
        (self.round, self.passed) = (None, false);
    }

    /// Moves on; ready once all records are here.
    pub fn advance(&mut self, engine: &mut ProcessEngine) -> Poll<Result> {
        if self.passed {
            return Poll::Ready(Ok(()));
        }
        while self.blocks() < self.circle.members.size() {
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
    pub fn refuse(mut self, engine: &mut ProcessEngine) {
        let size = self.circle.members.size();
        while self.blocks() < size {
            let sent = self.send(engine);
            if let Started::Pending(id) = sent {
                engine.detach(id);
            }
            let more = self.blocks_next() as usize * Record::BYTES;
            self.known.resize(self.known.len() + more, 0);
        }
    }

    fn blocks(&self) -> u32 {
        (self.known.len() / Record::BYTES) as u32
    }

    /// Records that come in the next round: as many as are known, or those that are left.
    fn blocks_next(&self) -> u32 {
        self.blocks().min(self.circle.members.size() - self.blocks())
    }

    fn begin(&self, engine: &mut ProcessEngine) -> Round {
        let Circle { members, place, context, tag, .. } = &self.circle;
        let into = UserBuf::owned(self.blocks_next() as usize * Record::BYTES);
        let source = (place + self.blocks()) % members.size();
        let pattern = Pattern { context: *context, source, tag: *tag };
        let received = Some(engine.receive(pattern, &into, 0));
        Round { sent: Some(self.send(engine)), received, into }
    }

    fn send(&self, engine: &mut ProcessEngine) -> Started {
        let Circle { members, place, context, tag, .. } = &self.circle;
        let to = (place + members.size() - self.blocks()) % members.size();
        let len = self.blocks_next() as usize * Record::BYTES;
        let body = UserBuf::owned(len);
        body.write(0, &self.known[..len]);
        let envelope = Envelope { context: *context, source: *place, tag: *tag };
        engine.send(Mode::Standard, members.peer(to).expect("a place in the circle"), envelope, &body, 0)
    }

    fn conclude(&self) -> Option<Box<Error>> {
        let mut records: Vec<Record> = self.known.chunks_exact(Record::BYTES).map(Record::read).collect();
        records.rotate_right(self.circle.place as usize);
        let (first, own) = (self.circle.first as usize, self.circle.own as usize);
        verdict(&Calls { records: &records, first, own }, self.circle.tag)
    }
}

impl Circle {
    fn of(comm: &Comm, tag: i32) -> Self {
        match &comm.remote {
            // Agreements use this lane too, but never the tag of a collective.
            None => Circle {
                members: comm.group.clone(),
                place: comm.rank,
                first: comm.group.size(),
                own: 0,
                context: comm.lane(Lane::Local),
                tag,
            },
            // MPI_Comm_create_group, which else uses this lane, is not for intercommunicators.
            Some(remote) => Circle::of_both(comm, remote, comm.lane(Lane::Part), tag),
        }
    }

    fn of_both(comm: &Comm, remote: &Group, context: u64, tag: i32) -> Self {
        let ours_first = ours_first(&comm.group, remote);
        let (first, second) = if ours_first { (&comm.group, remote) } else { (remote, &comm.group) };
        let own = if ours_first { 0 } else { first.size() };
        let members = Group::of(first.members().chain(second.members()).collect());
        Circle { members, place: own + comm.rank, first: first.size(), own, context, tag }
    }
}

impl Round {
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
fn take(started: &mut Option<Started>, engine: &mut ProcessEngine) -> Result<bool> {
    let status = match *started {
        None => return Ok(true),
        Some(Started::Done(status)) => status,
        Some(Started::Pending(id)) => match engine.test(id) {
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

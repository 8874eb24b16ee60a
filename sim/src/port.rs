//! Executes the steps of one rank's schedule over its engine, and charges its clock.

use crate::end::{End, Shared};
use crate::limits::MESSAGE_BYTES_MAX;
use crate::memory::{Memory, contents, slice_bytes};
use crate::params::Compute;
use crate::{Picos, picos};
use tern_coll::{Peer, Port, Slice};
use tern_engine::{Engine, Envelope, Mode, Pattern, RequestId, Started, Status};

/// What all ranks' ports share.
pub struct Ground {
    /// The network, whose clock is that of the rank that runs.
    pub network: Shared,
    /// All buffers.
    pub memory: Memory,
    /// Bytes of one element.
    pub element_bytes: u64,
    /// What computing costs.
    pub compute: Compute,
}

/// A rank that executes its schedule.
pub struct RankPort<'a> {
    /// What it shares with others.
    pub ground: &'a mut Ground,
    /// Its engine.
    pub engine: &'a mut Engine<End>,
    /// Its rank.
    pub rank: u32,
    /// The tag of the call.
    pub tag: i32,
}

/// A message under way.
#[derive(Clone, Copy, Debug)]
pub struct Handle {
    /// The engine's request.
    pub id: RequestId,
    /// Bytes that a receive expects.
    expected: Option<u32>,
}

/// What is wrong with a schedule: a defect of the library, not of the simulated network.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Defect {
    /// A step names memory that the call does not have.
    #[error("rank {0}: a step uses {1:?}, which is outside of its buffer")]
    Memory(u32, Slice),
    /// A step names more memory than can be simulated, as where an algorithm sends the blocks of many ranks at once.
    #[error(
        "rank {0} moves {1} bytes at once, too many for the simulator; the most are {MESSAGE_BYTES_MAX}: take fewer bytes or ranks, or \
         an algorithm that moves fewer at once"
    )]
    Long(u32, u64),
    /// A message has another length than its receive, or failed.
    #[error(
        "rank {rank}: a message from rank {from} has {bytes} bytes, expected {expected:?}; fault: {fault:?}"
    )]
    Message {
        /// The receiver.
        rank: u32,
        /// The sender.
        from: u32,
        /// Bytes that came.
        bytes: u64,
        /// Bytes that were expected.
        expected: Option<u32>,
        /// What the engine says.
        fault: Option<tern_engine::Fault>,
    },
    /// What a rank has in the end is not what the standard says.
    #[error("rank {rank} has byte {byte} of its receive buffer wrong: {found} instead of {expected}")]
    Result {
        /// The rank.
        rank: u32,
        /// The first byte that is wrong.
        byte: usize,
        /// What it is.
        found: u8,
        /// What it should be.
        expected: u8,
    },
}

/// The context of the simulated communicator.
const CONTEXT: u64 = 1;

impl Ground {
    /// The clock of the rank that runs goes on.
    pub fn charge(&mut self, time: Picos) {
        self.network.borrow_mut().now += time;
    }
}

impl RankPort<'_> {
    fn buffer(&mut self, slice: &Slice) -> Result<tern_mem::UserBuf, Defect> {
        let Ground { memory, element_bytes, .. } = &mut *self.ground;
        let found = memory.buffer(self.rank, slice, *element_bytes);
        found.ok_or_else(|| match slice_bytes(slice, *element_bytes) {
            bytes if bytes > MESSAGE_BYTES_MAX => Defect::Long(self.rank, bytes),
            _ => Defect::Memory(self.rank, *slice),
        })
    }

    fn begun(&mut self, started: Started, expected: Option<u32>) -> Result<Option<Handle>, Defect> {
        match started {
            Started::Pending(id) => Ok(Some(Handle { id, expected })),
            Started::Done(status) => self.judge(&status, expected).map(|()| None),
        }
    }

    fn judge(&self, status: &Status, expected: Option<u32>) -> Result<(), Defect> {
        let right = expected.is_none_or(|expected| status.bytes == u64::from(expected));
        if right && status.fault.is_none() {
            return Ok(());
        }
        let (rank, from, bytes, fault) = (self.rank, status.source, status.bytes, status.fault);
        Err(Defect::Message { rank, from, bytes, expected, fault })
    }

    /// A step, and what it does beside.
    fn step(&mut self, work: Picos) {
        self.ground.charge(picos(self.ground.compute.step_ns) + work);
    }
}

impl Port for RankPort<'_> {
    type Handle = Handle;
    type Error = Defect;

    fn isend(&mut self, to: Peer, from: &Slice) -> Result<Option<Handle>, Defect> {
        self.step(0);
        let buf = self.buffer(from)?;
        let envelope = Envelope { context: CONTEXT, source: self.rank, tag: self.tag };
        let started = self.engine.send(Mode::Standard, number(to), envelope, &buf, 0);
        self.begun(started, None)
    }

    fn irecv(&mut self, from: Peer, into: &Slice) -> Result<Option<Handle>, Defect> {
        self.step(0);
        let buf = self.buffer(into)?;
        let pattern = Pattern { context: CONTEXT, source: number(from), tag: self.tag };
        let started = self.engine.receive(pattern, &buf, 0);
        self.begun(started, u32::try_from(buf.len()).ok())
    }

    fn imulticast(&mut self, to: &[u32], from: &Slice) -> Result<Option<Handle>, Defect> {
        self.step(0);
        let buf = self.buffer(from)?;
        let envelope = Envelope { context: CONTEXT, source: self.rank, tag: self.tag };
        let Some(circle) = self.engine.circle(&[]) else { return Ok(None) };
        let started = self.engine.cast(&circle, to, envelope, &buf, 0);
        self.begun(started, None)
    }

    fn ilisten(&mut self, from: Peer, into: &Slice) -> Result<Option<Handle>, Defect> {
        self.irecv(from, into)
    }

    fn test(&mut self, handle: &mut Handle) -> Result<bool, Defect> {
        let Some(status) = self.engine.test(handle.id) else { return Ok(false) };
        self.judge(&status, handle.expected)?;
        Ok(true)
    }

    /// Never called: the world waits for all ranks.
    fn wait(&mut self, _: &mut [Handle]) -> Result<(), Defect> {
        Ok(())
    }

    fn reduce(&mut self, left: &Slice, right: &Slice) -> Result<(), Defect> {
        let (from, into) = (self.buffer(left)?, self.buffer(right)?);
        self.step(self.ground.compute.reduce().of(into.len() as u64));
        if let Memory::Own(..) = self.ground.memory {
            let sum = crate::definition::sum(&contents(&from), &contents(&into), self.ground.element_bytes);
            into.write(0, &sum);
        }
        Ok(())
    }

    fn copy(&mut self, from: &Slice, to: &Slice) -> Result<(), Defect> {
        let (from, to) = (self.buffer(from)?, self.buffer(to)?);
        self.step(self.ground.compute.copy().of(to.len() as u64));
        if let Memory::Own(..) = self.ground.memory {
            to.write(0, &contents(&from));
        }
        Ok(())
    }
}

fn number(peer: Peer) -> u32 {
    match peer {
        Peer::Local(rank) | Peer::Remote(rank) => rank,
    }
}

//! Executes the steps of one rank's schedule over its engine, and charges its clock.

use crate::end::{NetworkEnd, SharedNetwork};
use crate::limits::MESSAGE_BYTES_MAX;
use crate::memory::{SimulatedMemory, contents, slice_bytes};
use crate::params::Compute;
use crate::{Picos, picos};
use tern_coll::{Port, Slice, StepPeer};
use tern_engine::{Engine, Envelope, Mode, Pattern, RequestId, StartedMessage, Status};

/// What all ranks' ports share.
pub struct PortContext {
    /// The network, whose clock is that of the rank that runs.
    pub network: SharedNetwork,
    /// All buffers.
    pub memory: SimulatedMemory,
    /// Bytes of one element.
    pub element_bytes: u64,
    /// What computing costs.
    pub compute: Compute,
}

/// A rank that executes its schedule.
pub struct RankPort<'a> {
    /// What it shares with others.
    pub context: &'a mut PortContext,
    /// Its engine.
    pub engine: &'a mut Engine<NetworkEnd>,
    /// Its rank.
    pub rank: u32,
    /// The tag of the call.
    pub tag: i32,
}

/// A message under way.
#[derive(Clone, Copy, Debug)]
pub struct MessageHandle {
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
        fault: Option<tern_engine::MessageFault>,
    },
    /// An access to a window was refused.
    #[error("rank {rank}: an access to rank {target} failed: {fault:?}")]
    Access {
        /// The origin.
        rank: u32,
        /// The target.
        target: u32,
        /// What the engine says; nothing if there is no such target.
        fault: Option<tern_engine::rma::AccessFault>,
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

impl PortContext {
    /// The clock of the rank that runs goes on.
    pub fn charge(&mut self, time: Picos) {
        self.network.borrow_mut().now += time;
    }
}

impl RankPort<'_> {
    fn buffer(&mut self, slice: &Slice) -> Result<tern_mem::UserBuf, Defect> {
        let PortContext { memory, element_bytes, .. } = &mut *self.context;
        let found = memory.buffer(self.rank, slice, *element_bytes);
        found.ok_or_else(|| match slice_bytes(slice, *element_bytes) {
            bytes if bytes > MESSAGE_BYTES_MAX => Defect::Long(self.rank, bytes),
            _ => Defect::Memory(self.rank, *slice),
        })
    }

    fn begun(
        &mut self,
        started: StartedMessage,
        expected: Option<u32>,
    ) -> Result<Option<MessageHandle>, Defect> {
        match started {
            StartedMessage::Pending(id) => Ok(Some(MessageHandle { id, expected })),
            StartedMessage::Done(status) => self.judge(&status, expected).map(|()| None),
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
        self.context.charge(picos(self.context.compute.step_ns) + work);
    }
}

impl Port for RankPort<'_> {
    type Handle = MessageHandle;
    type Error = Defect;

    fn isend(&mut self, to: StepPeer, from: &Slice) -> Result<Option<MessageHandle>, Defect> {
        self.step(0);
        let buf = self.buffer(from)?;
        let envelope = Envelope { context: CONTEXT, source: self.rank, tag: self.tag };
        let started = self.engine.send(Mode::Standard, number(to), envelope, &buf, 0);
        self.begun(started, None)
    }

    fn irecv(&mut self, from: StepPeer, into: &Slice) -> Result<Option<MessageHandle>, Defect> {
        self.step(0);
        let buf = self.buffer(into)?;
        let pattern = Pattern { context: CONTEXT, source: number(from), tag: self.tag };
        let started = self.engine.receive(pattern, &buf, 0);
        self.begun(started, u32::try_from(buf.len()).ok())
    }

    fn imulticast(&mut self, to: &[u32], from: &Slice) -> Result<Option<MessageHandle>, Defect> {
        self.step(0);
        let buf = self.buffer(from)?;
        let envelope = Envelope { context: CONTEXT, source: self.rank, tag: self.tag };
        let Some(group) = self.engine.multicast_group(&[]) else { return Ok(None) };
        let started = self.engine.multicast(&group, to, envelope, &buf, 0);
        self.begun(started, None)
    }

    fn ilisten(&mut self, from: StepPeer, into: &Slice) -> Result<Option<MessageHandle>, Defect> {
        self.irecv(from, into)
    }

    fn test(&mut self, handle: &mut MessageHandle) -> Result<bool, Defect> {
        let Some(status) = self.engine.test(handle.id) else { return Ok(false) };
        self.judge(&status, handle.expected)?;
        Ok(true)
    }

    /// Never called: the world waits for all ranks.
    fn wait(&mut self, _: &mut [MessageHandle]) -> Result<(), Defect> {
        Ok(())
    }

    fn reduce(&mut self, left: &Slice, right: &Slice) -> Result<(), Defect> {
        let (from, into) = (self.buffer(left)?, self.buffer(right)?);
        self.step(self.context.compute.reduce().of(into.len() as u64));
        if let SimulatedMemory::Own(..) = self.context.memory {
            let sum = crate::definition::sum(&contents(&from), &contents(&into), self.context.element_bytes);
            into.write(0, &sum);
        }
        Ok(())
    }

    fn copy(&mut self, from: &Slice, to: &Slice) -> Result<(), Defect> {
        let (from, to) = (self.buffer(from)?, self.buffer(to)?);
        self.step(self.context.compute.copy().of(to.len() as u64));
        if let SimulatedMemory::Own(..) = self.context.memory {
            to.write(0, &contents(&from));
        }
        Ok(())
    }
}

fn number(peer: StepPeer) -> u32 {
    match peer {
        StepPeer::Local(rank) | StepPeer::Remote(rank) => rank,
    }
}

//! Executes all ranks of a collective in one process, and finds what is wrong with it.
//!
//! Messages are matched by sender, receiver and order, and complete only when both sides have started them, so a
//! schedule that counts on buffering is reported as a deadlock. Every byte in flight is guarded: a step that
//! writes what is being sent, or touches what is being received, is a race, even where the outcome
//! happened to be right. Ranks run in an order drawn from a seed.
//!
//! A multicast completes when all its receivers have started to receive it, so a schedule needs no memory for what comes
//! early. How much may come early all the same is found by [`run_late`].

mod memory;
mod network;

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;
use std::task::Poll;

pub use memory::{DatatypeShape, GuardedBuffer};

use crate::exec::{Exec, Port};
use crate::schedule::{Buf, Schedule, Slice, StepPeer, Temp, Ty};
use memory::MemoryDefect;
use network::{MessageKind, MessageSide, UndeliveredMessages};

/// A process: its group (0, or 1 for the other side of an intercommunicator) and its rank there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct InterpretedProcess {
    /// The group.
    pub group: u32,
    /// The rank in the group.
    pub rank: u32,
}

/// One process's part of a collective.
pub struct ProcessPart {
    /// Who it is.
    pub process: InterpretedProcess,
    /// What it does.
    pub schedule: Schedule,
    /// Its send buffer.
    pub send: GuardedBuffer,
    /// Its receive buffer.
    pub recv: GuardedBuffer,
    /// The datatypes that its slices may name.
    pub types: HashMap<Ty, DatatypeShape>,
}

/// `right = left OP right` on one packed element.
pub type ReduceFunction = fn(left: &[u8], right: &mut [u8]);

/// What a collective has sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CollectiveTraffic {
    /// Messages; a multicast is one.
    pub messages: u64,
    /// Their packed bytes.
    pub bytes: u64,
}

/// What one rank has to keep at once of multicasts that have come before it has started to receive them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UnexpectedTraffic {
    /// Messages.
    pub messages: u64,
    /// Their packed bytes.
    pub bytes: u64,
}

/// What is wrong with a set of schedules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScheduleFault {
    /// A step reaches outside its buffer.
    Outside(InterpretedProcess, Slice),
    /// A step touches bytes that a message in flight reads or writes.
    Race(InterpretedProcess, Slice),
    /// A step names a type or buffer that the call does not have.
    Unknown(InterpretedProcess, Slice),
    /// The two sides of a message, or of a copy or reduction, differ in packed bytes.
    Mismatch(InterpretedProcess, InterpretedProcess, u64, u64),
    /// The first sends to the second, or the second expects, both multicasts and messages to one alone, which are not
    /// in order.
    Mixed(InterpretedProcess, InterpretedProcess),
    /// No process can go on; the messages that wait for their other side.
    Deadlock(Vec<String>),
}

/// Runs all parts to their end. The memories hold the outcome.
pub fn run(
    parts: &mut [ProcessPart],
    operation: ReduceFunction,
    seed: u64,
) -> Result<CollectiveTraffic, ScheduleFault> {
    conduct(parts, operation, seed, None).map(|network| network.traffic)
}

/// As [`run`], but what is sent is taken at once, however much it is, and the part `late` goes on only when no other can:
/// what then waits for it is the most that can come early.
pub fn run_late(
    parts: &mut [ProcessPart],
    operation: ReduceFunction,
    seed: u64,
    late: usize,
) -> Result<(CollectiveTraffic, UnexpectedTraffic), ScheduleFault> {
    conduct(parts, operation, seed, Some(late)).map(|network| (network.traffic, network.unexpected_max()))
}

fn conduct(
    parts: &mut [ProcessPart],
    operation: ReduceFunction,
    seed: u64,
    late: Option<usize>,
) -> Result<UndeliveredMessages, ScheduleFault> {
    let network = RefCell::new(UndeliveredMessages::new(late.map(|late| parts[late].process)));
    let mut interpreters: Vec<RankInterpreter> =
        parts.iter_mut().map(|part| RankInterpreter::new(part, operation)).collect();
    let mut order: Vec<usize> = (0..interpreters.len()).collect();
    let mut random = seed | 1;
    loop {
        shuffle(&mut order, &mut random);
        let before = network.borrow().events;
        let mut done = true;
        for index in order.iter().filter(|index| Some(**index) != late) {
            done &= interpreters[*index].advance(&network)?;
            network.borrow_mut().deliver(&mut interpreters)?;
        }
        if let Some(late) = late.filter(|_| network.borrow().events == before) {
            done &= interpreters[late].advance(&network)?;
            network.borrow_mut().deliver(&mut interpreters)?;
        } else {
            done &= late.is_none();
        }
        if done {
            return Ok(network.into_inner());
        }
        if network.borrow().events == before {
            return Err(ScheduleFault::Deadlock(network.borrow().unmatched()));
        }
    }
}

/// A process and how far it is.
struct RankInterpreter<'a> {
    process: InterpretedProcess,
    schedule: &'a Schedule,
    types: &'a HashMap<Ty, DatatypeShape>,
    send: &'a mut GuardedBuffer,
    recv: &'a mut GuardedBuffer,
    temps: Vec<GuardedBuffer>,
    operation: ReduceFunction,
    exec: Exec<MessageSide>,
}

impl<'a> RankInterpreter<'a> {
    fn new(part: &'a mut ProcessPart, operation: ReduceFunction) -> RankInterpreter<'a> {
        let types = &part.types;
        let temp = |temp: &Temp| {
            let shape = shape_of(types, temp.ty).unwrap_or_else(DatatypeShape::byte);
            GuardedBuffer::for_elements(&shape, &[(0, temp.count)])
        };
        RankInterpreter {
            process: part.process,
            temps: part.schedule.temps().iter().map(temp).collect(),
            schedule: &part.schedule,
            types,
            send: &mut part.send,
            recv: &mut part.recv,
            operation,
            exec: Exec::new(),
        }
    }

    /// Runs until the process must wait; whether it has finished.
    fn advance(&mut self, network: &RefCell<UndeliveredMessages>) -> Result<bool, ScheduleFault> {
        let mut exec = std::mem::take(&mut self.exec);
        let schedule = self.schedule;
        let poll = exec.advance(schedule, &mut OnNetwork { interpreter: self, network });
        self.exec = exec;
        Ok(poll? == Poll::Ready(()))
    }

    fn peer(&self, peer: StepPeer) -> InterpretedProcess {
        match peer {
            StepPeer::Local(rank) => InterpretedProcess { group: self.process.group, rank },
            StepPeer::Remote(rank) => InterpretedProcess { group: 1 - self.process.group, rank },
        }
    }

    fn place(&mut self, slice: &Slice) -> Result<(DatatypeShape, &mut GuardedBuffer), ScheduleFault> {
        let unknown = ScheduleFault::Unknown(self.process, *slice);
        let shape = shape_of(self.types, slice.ty).ok_or(unknown.clone())?;
        let memory = match slice.buf {
            Buf::Send => &mut *self.send,
            Buf::Recv => &mut *self.recv,
            Buf::Temp(index) => self.temps.get_mut(index as usize).ok_or(unknown)?,
        };
        Ok((shape, memory))
    }

    fn read(&mut self, slice: &Slice) -> Result<Vec<u8>, ScheduleFault> {
        let process = self.process;
        let (shape, memory) = self.place(slice)?;
        memory.read(&shape, slice).map_err(|access| access.fault(process, slice))
    }

    fn write(&mut self, slice: &Slice, packed: &[u8]) -> Result<(), ScheduleFault> {
        let process = self.process;
        if slice.buf == Buf::Send {
            return Err(ScheduleFault::Race(process, *slice));
        }
        let (shape, memory) = self.place(slice)?;
        if shape.size() as u64 * slice.count != packed.len() as u64 {
            let bytes = shape.size() as u64 * slice.count;
            return Err(ScheduleFault::Mismatch(process, process, bytes, packed.len() as u64));
        }
        memory.write(&shape, slice, packed).map_err(|access| access.fault(process, slice))
    }

    fn guard(&mut self, slice: &Slice, writes: bool) -> Result<(), ScheduleFault> {
        let process = self.process;
        if writes && slice.buf == Buf::Send {
            return Err(ScheduleFault::Race(process, *slice));
        }
        let (shape, memory) = self.place(slice)?;
        memory.guard(&shape, slice, writes).map_err(|access| access.fault(process, slice))
    }

    fn unguard(&mut self, slice: &Slice, writes: bool) -> Result<(), ScheduleFault> {
        let (shape, memory) = self.place(slice)?;
        memory.unguard(&shape, slice, writes);
        Ok(())
    }

    /// `right = left OP right`, element by element.
    fn combine(&mut self, left: &Slice, right: &Slice) -> Result<(), ScheduleFault> {
        let (from_left, mut result) = (self.read(left)?, self.read(right)?);
        if from_left.len() != result.len() {
            let (left, right) = (from_left.len() as u64, result.len() as u64);
            return Err(ScheduleFault::Mismatch(self.process, self.process, left, right));
        }
        let size = self.place(right)?.0.size();
        for (left, right) in from_left.chunks(size).zip(result.chunks_mut(size)) {
            (self.operation)(left, right);
        }
        self.write(right, &result)
    }
}

/// A interpreter with the network that joins it to the others.
struct OnNetwork<'m, 'a, 'n> {
    interpreter: &'m mut RankInterpreter<'a>,
    network: &'n RefCell<UndeliveredMessages>,
}

impl OnNetwork<'_, '_, '_> {
    fn start(
        &mut self,
        kind: MessageKind,
        to: &[InterpretedProcess],
        from: &Slice,
    ) -> Result<Option<MessageSide>, ScheduleFault> {
        let sender = self.interpreter.process;
        if self.network.borrow().takes_at_once() {
            let packed = self.interpreter.read(from)?;
            return self.network.borrow_mut().take(kind, sender, to, packed).map(|()| None);
        }
        self.interpreter.guard(from, false)?;
        self.network.borrow_mut().send(kind, sender, to, *from).map(Some)
    }

    fn expect(
        &mut self,
        kind: MessageKind,
        from: StepPeer,
        into: &Slice,
    ) -> Result<Option<MessageSide>, ScheduleFault> {
        self.interpreter.guard(into, true)?;
        let from = self.interpreter.peer(from);
        self.network.borrow_mut().recv(kind, from, self.interpreter.process, *into).map(Some)
    }
}

impl Port for OnNetwork<'_, '_, '_> {
    type Handle = MessageSide;
    type Error = ScheduleFault;

    fn isend(&mut self, to: StepPeer, from: &Slice) -> Result<Option<MessageSide>, ScheduleFault> {
        let to = self.interpreter.peer(to);
        self.start(MessageKind::Single, &[to], from)
    }

    fn irecv(&mut self, from: StepPeer, into: &Slice) -> Result<Option<MessageSide>, ScheduleFault> {
        self.expect(MessageKind::Single, from, into)
    }

    fn imulticast(&mut self, to: &[u32], from: &Slice) -> Result<Option<MessageSide>, ScheduleFault> {
        let to: Vec<InterpretedProcess> =
            to.iter().map(|rank| self.interpreter.peer(StepPeer::Local(*rank))).collect();
        self.start(MessageKind::Multicast, &to, from)
    }

    fn ilisten(&mut self, from: StepPeer, into: &Slice) -> Result<Option<MessageSide>, ScheduleFault> {
        self.expect(MessageKind::Multicast, from, into)
    }

    fn test(&mut self, handle: &mut MessageSide) -> Result<bool, ScheduleFault> {
        Ok(self.network.borrow_mut().finished(*handle))
    }

    fn wait(&mut self, _: &mut [MessageSide]) -> Result<(), ScheduleFault> {
        Ok(())
    }

    fn reduce(&mut self, left: &Slice, right: &Slice) -> Result<(), ScheduleFault> {
        self.interpreter.combine(left, right)
    }

    fn copy(&mut self, from: &Slice, to: &Slice) -> Result<(), ScheduleFault> {
        // What is copied must not overlap: guarded as if it were being sent.
        self.interpreter.guard(from, false)?;
        let packed = self.interpreter.read(from)?;
        let written = self.interpreter.write(to, &packed);
        self.interpreter.unguard(from, false)?;
        written
    }
}

fn shape_of(types: &HashMap<Ty, DatatypeShape>, ty: Ty) -> Option<DatatypeShape> {
    if ty == Ty::Byte { Some(DatatypeShape::byte()) } else { types.get(&ty).cloned() }
}

impl MemoryDefect {
    fn fault(self, process: InterpretedProcess, slice: &Slice) -> ScheduleFault {
        match self {
            MemoryDefect::Outside => ScheduleFault::Outside(process, *slice),
            MemoryDefect::Race => ScheduleFault::Race(process, *slice),
        }
    }
}

impl fmt::Display for InterpretedProcess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.group, self.rank)
    }
}

fn shuffle(order: &mut [usize], random: &mut u64) {
    for index in (1..order.len()).rev() {
        *random ^= *random << 13;
        *random ^= *random >> 7;
        *random ^= *random << 17;
        order.swap(index, (*random % (index as u64 + 1)) as usize);
    }
}

#[cfg(test)]
mod tests;

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

pub use memory::{Memory, Shape};

use crate::exec::{Exec, Port};
use crate::schedule::{Buf, Peer, Schedule, Slice, Temp, Ty};
use memory::Access;
use network::{Kind, Message, Network};

/// A process: its group (0, or 1 for the other side of an intercommunicator) and its rank there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Process {
    /// The group.
    pub group: u32,
    /// The rank in the group.
    pub rank: u32,
}

/// One process's part of a collective.
pub struct Part {
    /// Who it is.
    pub process: Process,
    /// What it does.
    pub schedule: Schedule,
    /// Its send buffer.
    pub send: Memory,
    /// Its receive buffer.
    pub recv: Memory,
    /// The datatypes that its slices may name.
    pub types: HashMap<Ty, Shape>,
}

/// `right = left OP right` on one packed element.
pub type Operation = fn(left: &[u8], right: &mut [u8]);

/// What a collective has sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Messages; a multicast is one.
    pub messages: u64,
    /// Their packed bytes.
    pub bytes: u64,
}

/// What one rank has to keep at once of multicasts that have come before it has started to receive them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Early {
    /// Messages.
    pub messages: u64,
    /// Their packed bytes.
    pub bytes: u64,
}

/// What is wrong with a set of schedules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A step reaches outside its buffer.
    Outside(Process, Slice),
    /// A step touches bytes that a message in flight reads or writes.
    Race(Process, Slice),
    /// A step names a type or buffer that the call does not have.
    Unknown(Process, Slice),
    /// The two sides of a message, or of a copy or reduction, differ in packed bytes.
    Mismatch(Process, Process, u64, u64),
    /// The first sends to the second, or the second expects, both multicasts and messages to one alone, which are not
    /// in order.
    Mixed(Process, Process),
    /// No process can go on; the messages that wait for their other side.
    Deadlock(Vec<String>),
}

/// Runs all parts to their end. The memories hold the outcome.
pub fn run(parts: &mut [Part], operation: Operation, seed: u64) -> Result<Traffic, Fault> {
    conduct(parts, operation, seed, None).map(|network| network.traffic)
}

/// As [`run`], but what is sent is taken at once, however much it is, and the part `late` goes on only when no other can:
/// what then waits for it is the most that can come early.
pub fn run_late(
    parts: &mut [Part],
    operation: Operation,
    seed: u64,
    late: usize,
) -> Result<(Traffic, Early), Fault> {
    conduct(parts, operation, seed, Some(late)).map(|network| (network.traffic, network.early_max()))
}

fn conduct(
    parts: &mut [Part],
    operation: Operation,
    seed: u64,
    late: Option<usize>,
) -> Result<Network, Fault> {
    let network = RefCell::new(Network::new(late.map(|late| parts[late].process)));
    let mut machines: Vec<Machine> = parts.iter_mut().map(|part| Machine::new(part, operation)).collect();
    let mut order: Vec<usize> = (0..machines.len()).collect();
    let mut random = seed | 1;
    loop {
        shuffle(&mut order, &mut random);
        let before = network.borrow().events;
        let mut done = true;
        for index in order.iter().filter(|index| Some(**index) != late) {
            done &= machines[*index].advance(&network)?;
            network.borrow_mut().deliver(&mut machines)?;
        }
        if let Some(late) = late.filter(|_| network.borrow().events == before) {
            done &= machines[late].advance(&network)?;
            network.borrow_mut().deliver(&mut machines)?;
        } else {
            done &= late.is_none();
        }
        if done {
            return Ok(network.into_inner());
        }
        if network.borrow().events == before {
            return Err(Fault::Deadlock(network.borrow().unmatched()));
        }
    }
}

/// A process and how far it is.
struct Machine<'a> {
    process: Process,
    schedule: &'a Schedule,
    types: &'a HashMap<Ty, Shape>,
    send: &'a mut Memory,
    recv: &'a mut Memory,
    temps: Vec<Memory>,
    operation: Operation,
    exec: Exec<Message>,
}

impl<'a> Machine<'a> {
    fn new(part: &'a mut Part, operation: Operation) -> Machine<'a> {
        let types = &part.types;
        let temp = |temp: &Temp| {
            let shape = shape_of(types, temp.ty).unwrap_or_else(Shape::byte);
            Memory::for_elements(&shape, &[(0, temp.count)])
        };
        Machine {
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
    fn advance(&mut self, network: &RefCell<Network>) -> Result<bool, Fault> {
        let mut exec = std::mem::take(&mut self.exec);
        let schedule = self.schedule;
        let poll = exec.advance(schedule, &mut OnNetwork { machine: self, network });
        self.exec = exec;
        Ok(poll? == Poll::Ready(()))
    }

    fn peer(&self, peer: Peer) -> Process {
        match peer {
            Peer::Local(rank) => Process { group: self.process.group, rank },
            Peer::Remote(rank) => Process { group: 1 - self.process.group, rank },
        }
    }

    fn place(&mut self, slice: &Slice) -> Result<(Shape, &mut Memory), Fault> {
        let unknown = Fault::Unknown(self.process, *slice);
        let shape = shape_of(self.types, slice.ty).ok_or(unknown.clone())?;
        let memory = match slice.buf {
            Buf::Send => &mut *self.send,
            Buf::Recv => &mut *self.recv,
            Buf::Temp(index) => self.temps.get_mut(index as usize).ok_or(unknown)?,
        };
        Ok((shape, memory))
    }

    fn read(&mut self, slice: &Slice) -> Result<Vec<u8>, Fault> {
        let process = self.process;
        let (shape, memory) = self.place(slice)?;
        memory.read(&shape, slice).map_err(|access| access.fault(process, slice))
    }

    fn write(&mut self, slice: &Slice, packed: &[u8]) -> Result<(), Fault> {
        let process = self.process;
        if slice.buf == Buf::Send {
            return Err(Fault::Race(process, *slice));
        }
        let (shape, memory) = self.place(slice)?;
        if shape.size() as u64 * slice.count != packed.len() as u64 {
            let bytes = shape.size() as u64 * slice.count;
            return Err(Fault::Mismatch(process, process, bytes, packed.len() as u64));
        }
        memory.write(&shape, slice, packed).map_err(|access| access.fault(process, slice))
    }

    fn guard(&mut self, slice: &Slice, writes: bool) -> Result<(), Fault> {
        let process = self.process;
        if writes && slice.buf == Buf::Send {
            return Err(Fault::Race(process, *slice));
        }
        let (shape, memory) = self.place(slice)?;
        memory.guard(&shape, slice, writes).map_err(|access| access.fault(process, slice))
    }

    fn unguard(&mut self, slice: &Slice, writes: bool) -> Result<(), Fault> {
        let (shape, memory) = self.place(slice)?;
        memory.unguard(&shape, slice, writes);
        Ok(())
    }

    /// `right = left OP right`, element by element.
    fn combine(&mut self, left: &Slice, right: &Slice) -> Result<(), Fault> {
        let (from_left, mut result) = (self.read(left)?, self.read(right)?);
        if from_left.len() != result.len() {
            let (left, right) = (from_left.len() as u64, result.len() as u64);
            return Err(Fault::Mismatch(self.process, self.process, left, right));
        }
        let size = self.place(right)?.0.size();
        for (left, right) in from_left.chunks(size).zip(result.chunks_mut(size)) {
            (self.operation)(left, right);
        }
        self.write(right, &result)
    }
}

/// A machine with the network that joins it to the others.
struct OnNetwork<'m, 'a, 'n> {
    machine: &'m mut Machine<'a>,
    network: &'n RefCell<Network>,
}

impl OnNetwork<'_, '_, '_> {
    fn start(&mut self, kind: Kind, to: &[Process], from: &Slice) -> Result<Option<Message>, Fault> {
        let sender = self.machine.process;
        if self.network.borrow().takes_at_once() {
            let packed = self.machine.read(from)?;
            return self.network.borrow_mut().take(kind, sender, to, packed).map(|()| None);
        }
        self.machine.guard(from, false)?;
        self.network.borrow_mut().send(kind, sender, to, *from).map(Some)
    }

    fn expect(&mut self, kind: Kind, from: Peer, into: &Slice) -> Result<Option<Message>, Fault> {
        self.machine.guard(into, true)?;
        let from = self.machine.peer(from);
        self.network.borrow_mut().recv(kind, from, self.machine.process, *into).map(Some)
    }
}

impl Port for OnNetwork<'_, '_, '_> {
    type Handle = Message;
    type Error = Fault;

    fn isend(&mut self, to: Peer, from: &Slice) -> Result<Option<Message>, Fault> {
        let to = self.machine.peer(to);
        self.start(Kind::Single, &[to], from)
    }

    fn irecv(&mut self, from: Peer, into: &Slice) -> Result<Option<Message>, Fault> {
        self.expect(Kind::Single, from, into)
    }

    fn imulticast(&mut self, to: &[u32], from: &Slice) -> Result<Option<Message>, Fault> {
        let to: Vec<Process> = to.iter().map(|rank| self.machine.peer(Peer::Local(*rank))).collect();
        self.start(Kind::Multicast, &to, from)
    }

    fn ilisten(&mut self, from: Peer, into: &Slice) -> Result<Option<Message>, Fault> {
        self.expect(Kind::Multicast, from, into)
    }

    fn test(&mut self, handle: &mut Message) -> Result<bool, Fault> {
        Ok(self.network.borrow_mut().finished(*handle))
    }

    fn wait(&mut self, _: &mut [Message]) -> Result<(), Fault> {
        Ok(())
    }

    fn reduce(&mut self, left: &Slice, right: &Slice) -> Result<(), Fault> {
        self.machine.combine(left, right)
    }

    fn copy(&mut self, from: &Slice, to: &Slice) -> Result<(), Fault> {
        // What is copied must not overlap: guarded as if it were being sent.
        self.machine.guard(from, false)?;
        let packed = self.machine.read(from)?;
        let written = self.machine.write(to, &packed);
        self.machine.unguard(from, false)?;
        written
    }
}

fn shape_of(types: &HashMap<Ty, Shape>, ty: Ty) -> Option<Shape> {
    if ty == Ty::Byte { Some(Shape::byte()) } else { types.get(&ty).cloned() }
}

impl Access {
    fn fault(self, process: Process, slice: &Slice) -> Fault {
        match self {
            Access::Outside => Fault::Outside(process, *slice),
            Access::Race => Fault::Race(process, *slice),
        }
    }
}

impl fmt::Display for Process {
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

//! What the names in a schedule stand for in one call, and the engine as the port that schedules run on.

use super::differ::{SAME_DATA, unequal};
use super::operation::Operation;
use super::scratch::Scratch;
use super::told::Told;
use crate::comm::{Comm, Lane};
use crate::error::{Error, Result, fail};
use crate::process::ProcessEngine;
use crate::request::explain;
use std::sync::Arc;
use tern_abi::*;
use tern_coll::{Buf, Peer, Port, Slice, Temp, Ty};
use tern_engine::{Envelope, Fault, Group, Mode, Pattern, RequestId, Started, Status};
use tern_mem::{Datatype, UserBuf};
use tern_transport::Circle;

/// One side of a call: a buffer and its type or types.
#[derive(Debug)]
pub struct Memory {
    /// Address of the buffer.
    pub base: *mut u8,
    /// The one type.
    pub datatype: Option<Arc<Datatype>>,
    /// A type for each rank (`MPI_Alltoallw`).
    pub each: Vec<Arc<Datatype>>,
}

impl Memory {
    const NONE: Memory = Memory { base: std::ptr::null_mut(), datatype: None, each: Vec::new() };

    fn clear(&mut self) {
        self.base = std::ptr::null_mut();
        self.datatype = None;
        self.each.clear();
    }
}

/// Ranks that messages go to, and the context they go in.
#[derive(Debug)]
struct Reach {
    context: u64,
    group: Group,
}

/// What the names in a schedule stand for.
#[derive(Debug)]
pub struct Names {
    /// The call, for messages to a person.
    pub call: &'static str,
    /// Its root and length, for a person.
    pub told: Told,
    /// The tag of all messages of the call.
    tag: i32,
    /// `TERN_CHECK=types`: both sides of a message must name the same basic type.
    check_types: bool,
    rank: u32,
    /// By what the local group is reached by multicast.
    circle: Option<Circle>,
    /// Whom a multicast goes to.
    listeners: Vec<tern_transport::Peer>,
    local: Reach,
    remote: Option<Reach>,
    /// [`Buf::Send`] and the send types.
    pub send: Memory,
    /// [`Buf::Recv`] and the receive types.
    pub recv: Memory,
    /// The operation of a reduction.
    pub operation: Option<Operation>,
    temps: Vec<*mut u8>,
    scratch: Scratch,
    lengths: Vec<usize>,
    /// The first thing that went wrong. The steps go on, so that the other ranks can finish.
    pub failure: Option<Box<Error>>,
}

impl Default for Names {
    fn default() -> Self {
        Names {
            call: "",
            told: Told::NOTHING,
            tag: 0,
            check_types: false,
            rank: 0,
            circle: None,
            listeners: Vec::new(),
            local: Reach { context: 0, group: Group::EMPTY },
            remote: None,
            send: Memory::NONE,
            recv: Memory::NONE,
            operation: None,
            temps: Vec::new(),
            scratch: Scratch::default(),
            lengths: Vec::new(),
            failure: None,
        }
    }
}

impl Names {
    /// Ranks are those of `comm`, and messages have `tag`.
    pub fn address(&mut self, call: &'static str, comm: &Comm, tag: i32, check_types: bool) {
        self.call = call;
        self.told.forget();
        self.tag = tag;
        self.check_types = check_types;
        self.rank = comm.rank;
        self.circle = comm.circle.clone().flatten();
        let lane = if comm.remote.is_some() { Lane::Local } else { Lane::Coll };
        self.local = Reach { context: comm.lane(lane), group: comm.group.clone() };
        let remote = comm.remote.clone();
        self.remote = remote.map(|group| Reach { context: comm.lane(Lane::Coll), group });
    }

    /// The context of the call's messages.
    pub fn context(&self) -> u64 {
        self.local.context
    }

    /// The process that has a rank in the local group.
    pub fn peer(&self, rank: u32) -> Option<tern_transport::Peer> {
        self.local.group.peer(rank)
    }

    /// Forgets the call and keeps memory for the next one.
    pub fn clear(&mut self) {
        self.circle = None;
        self.local.group = Group::EMPTY;
        self.remote = None;
        self.send.clear();
        self.recv.clear();
        self.operation = None;
        self.temps.clear();
        self.scratch.trim();
    }

    /// Finds room for the temporary memory of a schedule.
    pub fn provide(&mut self, temps: &[Temp]) -> Result {
        if temps.is_empty() {
            return Ok(());
        }
        let mut lengths = std::mem::take(&mut self.lengths);
        lengths.clear();
        lengths.extend(temps.iter().map(|temp| length(self.extent_of(temp))));
        self.temps.clear();
        let enough = self.scratch.provide(&lengths, |base| self.temps.push(base));
        let total = lengths.iter().fold(0usize, |sum, &length| sum.saturating_add(length));
        self.lengths = lengths;
        if !enough {
            return Err(fail(
                MPI_ERR_NO_MEM,
                format!("{total} bytes of temporary memory are needed, but cannot be had"),
            ));
        }
        for (index, temp) in temps.iter().enumerate() {
            let (low, _) = self.extent_of(temp);
            self.temps[index] = self.temps[index].wrapping_offset((low as isize).wrapping_neg());
        }
        Ok(())
    }

    /// The first byte of temporary elements and the one after their last, counted from the first element's address.
    fn extent_of(&self, temp: &Temp) -> (i128, i128) {
        let Some(datatype) = self.datatype(temp.ty) else { return (0, temp.count.into()) };
        let to_last = i128::from(datatype.extent()) * i128::from(temp.count.saturating_sub(1));
        let low = i128::from(datatype.true_lb());
        let high = low + i128::from(datatype.true_extent());
        (low + to_last.min(0), high + to_last.max(0))
    }

    /// The datatype of a name; `None` for bytes.
    fn datatype(&self, ty: Ty) -> Option<&Arc<Datatype>> {
        match ty {
            Ty::Send => self.send.datatype.as_ref(),
            Ty::Recv => self.recv.datatype.as_ref(),
            Ty::SendTo(rank) => self.send.each.get(rank as usize),
            Ty::RecvFrom(rank) => self.recv.each.get(rank as usize),
            Ty::Byte => None,
        }
    }

    /// The type signature of `count` elements of a slice. Packed bytes match anything.
    fn signature(&self, slice: &Slice, count: u64) -> u64 {
        if !self.check_types {
            return 0;
        }
        self.datatype(slice.ty).map_or(0, |datatype| datatype.signature(count))
    }

    fn address_of(&self, slice: &Slice) -> *mut u8 {
        let base = match slice.buf {
            Buf::Send => self.send.base,
            Buf::Recv => self.recv.base,
            Buf::Temp(index) => self.temps[index as usize],
        };
        base.wrapping_offset(slice.offset as isize)
    }

    /// The memory of a slice.
    pub fn buffer(&self, slice: &Slice) -> UserBuf {
        let base = self.address_of(slice);
        match self.datatype(slice.ty) {
            // SAFETY: the program vouches for its buffers until the call is complete; temporary memory has room for
            // what the schedule asked for.
            Some(datatype) => unsafe { datatype.buffer(base, slice.count) },
            // SAFETY: as above.
            None => unsafe { UserBuf::flat(base, slice.count as usize) },
        }
    }

    /// Combines two slices. A function of the program's is called here: not with the state held.
    pub fn combine(&self, operands: &CallOut) {
        let (left, right) = (self.address_of(&operands.left), self.address_of(&operands.right));
        if let Some(operation) = &self.operation {
            // SAFETY: as in `buffer`; schedules name slices of the type that the operation was found for.
            unsafe { operation.combine(left, right, operands.right.count) }
        }
    }

    fn reach(&self, peer: Peer) -> (&Reach, u32) {
        match (peer, &self.remote) {
            (Peer::Remote(rank), Some(remote)) => (remote, rank),
            (Peer::Remote(rank) | Peer::Local(rank), _) => (&self.local, rank),
        }
    }

    /// Takes note of how a message ended.
    fn note(&mut self, status: &Status, expected: Option<u64>) {
        let fault = status.fault;
        let short = expected.is_some_and(|expected| status.bytes < expected);
        if self.failure.is_none() && (fault.is_some() || short) {
            self.failure = Some(self.explain(status, expected));
        }
    }

    #[cold]
    fn explain(&self, status: &Status, expected: Option<u64>) -> Box<Error> {
        let (call, rank) = (self.call, status.source);
        match status.fault {
            Some(Fault::Truncated { sent, room }) => unequal(call, rank, sent as usize, room as usize),
            Some(fault) => explain(fault, status),
            None => unequal(call, rank, status.bytes as usize, expected.unwrap_or(0) as usize),
        }
    }
}

/// Bytes between two ends; too many for the address space become too many for any memory.
fn length((low, high): (i128, i128)) -> usize {
    usize::try_from(high - low).unwrap_or(usize::MAX)
}

/// A message under way.
#[derive(Clone, Copy, Debug)]
pub struct Handle {
    id: RequestId,
    /// The rank at its other end; of a multicast, none.
    rank: Option<u32>,
    /// Bytes that a receive expects.
    expected: Option<u64>,
    /// The rank in the world whose multicast it is.
    listens_to: Option<tern_transport::Peer>,
}

impl Handle {
    /// The rank at the other end, unless it is a multicast.
    pub fn rank(&self) -> Option<u32> {
        self.rank
    }

    /// Nobody waits for it any longer: what has met no message is taken back, what is under way completes by itself.
    #[cold]
    pub fn give_up(self, engine: &mut ProcessEngine) {
        engine.cancel(self.id);
        engine.detach(self.id);
    }
}

/// A step that has to be done without the state held: a function of the program's on two slices.
#[derive(Clone, Copy, Debug)]
pub struct CallOut {
    left: Slice,
    right: Slice,
}

/// A call's names over the engine.
pub struct Ground<'a> {
    /// What the names stand for.
    pub names: &'a mut Names,
    /// Where messages go.
    pub engine: &'a mut ProcessEngine,
}

impl Ground<'_> {
    fn started(&mut self, started: Started, rank: Option<u32>, expected: Option<u64>) -> Option<Handle> {
        match started {
            Started::Pending(id) => Some(Handle { id, rank, expected, listens_to: None }),
            Started::Done(status) => {
                self.names.note(&status, expected);
                None
            }
        }
    }
}

impl Port for Ground<'_> {
    type Handle = Handle;
    type Error = CallOut;

    fn isend(&mut self, to: Peer, from: &Slice) -> std::result::Result<Option<Handle>, CallOut> {
        let (buf, signature) = (self.names.buffer(from), self.names.signature(from, from.count));
        let (reach, rank) = self.names.reach(to);
        let Some(peer) = reach.group.peer(rank) else { return Ok(None) };
        let envelope = Envelope { context: reach.context, source: self.names.rank, tag: self.names.tag };
        let started = self.engine.send(Mode::Standard, peer, envelope, &buf, signature);
        Ok(self.started(started, Some(rank), None))
    }

    fn irecv(&mut self, from: Peer, into: &Slice) -> std::result::Result<Option<Handle>, CallOut> {
        let (buf, signature) = (self.names.buffer(into), self.names.signature(into, 1));
        let (reach, rank) = self.names.reach(from);
        let pattern = Pattern { context: reach.context, source: rank, tag: self.names.tag };
        let started = self.engine.receive(pattern, &buf, signature);
        Ok(self.started(started, Some(rank), Some(buf.len() as u64)))
    }

    fn imulticast(&mut self, to: &[u32], from: &Slice) -> std::result::Result<Option<Handle>, CallOut> {
        let names = &mut *self.names;
        let (buf, signature) = (names.buffer(from), names.signature(from, from.count));
        let Some(circle) = &names.circle else { return Ok(None) };
        names.listeners.clear();
        names.listeners.extend(to.iter().filter_map(|rank| names.local.group.peer(*rank)));
        let envelope = Envelope { context: names.local.context, source: names.rank, tag: names.tag };
        let started = self.engine.cast(circle, &names.listeners, envelope, &buf, signature);
        Ok(self.started(started, None, None))
    }

    fn ilisten(&mut self, from: Peer, into: &Slice) -> std::result::Result<Option<Handle>, CallOut> {
        let mut handle = self.irecv(from, into)?;
        let (reach, rank) = self.names.reach(from);
        if let (Some(peer), Some(handle)) = (reach.group.peer(rank), &mut handle) {
            handle.listens_to = Some(peer);
            self.engine.expect(peer);
        }
        Ok(handle)
    }

    fn test(&mut self, handle: &mut Handle) -> std::result::Result<bool, CallOut> {
        let Some(status) = self.engine.test(handle.id) else {
            // What has come of it until now may have been all that was not lost.
            handle.listens_to.into_iter().for_each(|peer| self.engine.expect(peer));
            return Ok(false);
        };
        self.names.note(&status, handle.expected);
        Ok(true)
    }

    /// Never called: who runs a schedule waits outside of it, see [`super::running`].
    fn wait(&mut self, _pending: &mut [Handle]) -> std::result::Result<(), CallOut> {
        Ok(())
    }

    fn reduce(&mut self, left: &Slice, right: &Slice) -> std::result::Result<(), CallOut> {
        let operands = CallOut { left: *left, right: *right };
        if self.names.operation.is_some_and(|operation| operation.calls_out()) {
            return Err(operands);
        }
        self.names.combine(&operands);
        Ok(())
    }

    fn copy(&mut self, from: &Slice, to: &Slice) -> std::result::Result<(), CallOut> {
        let (from, to) = (self.names.buffer(from), self.names.buffer(to));
        if from.len() != to.len() && self.names.failure.is_none() {
            let (sent, room) = (from.len(), to.len());
            let text =
                format!("this rank sends {sent} bytes to itself, but has room for {room}: {SAME_DATA}");
            self.names.failure = Some(fail(MPI_ERR_TRUNCATE, text));
        }
        UserBuf::copy(&from, 0, &to, 0, from.len());
        Ok(())
    }
}

//! What the bindings in a schedule stand for in one call, and the engine as the port that schedules run on.

use super::differ::{unequal, unequal_to_itself};
use super::operation::Operation;
use super::scratch::{ALIGN, Scratch};
use super::told::Told;
use crate::comm::object::{Comm, Lane};
use crate::core::error::{Error, Result, fail};
use crate::core::process::ProcessEngine;
use crate::core::wait::CallNumber;
use crate::limits::{COPY_BYTES_AT_ONCE_MAX, COPY_BYTES_PER_POLL, LAST_BARRIER_TAG};
use crate::p2p::fault::explain;
use std::sync::Arc;
use tern_abi::*;
use tern_coll::{Buf, Port, Slice, StepPeer, Temp, Ty};
use tern_engine::{Envelope, Group, MessageFault, Mode, Pattern, RequestId, StartedMessage, Status};
use tern_mem::{Datatype, UserBuf};
use tern_transport::MulticastGroup;

/// One side of a call: a buffer and its type or types.
#[derive(Debug)]
pub(super) struct CallBuffer {
    /// Address of the buffer.
    pub base: *mut u8,
    /// The one type.
    pub datatype: Option<Arc<Datatype>>,
    /// A type for each rank (`MPI_Alltoallw`).
    pub each: Vec<Arc<Datatype>>,
}

impl CallBuffer {
    const NONE: CallBuffer = CallBuffer { base: std::ptr::null_mut(), datatype: None, each: Vec::new() };

    fn clear(&mut self) {
        self.base = std::ptr::null_mut();
        self.datatype = None;
        self.each.clear();
    }
}

/// Ranks that messages go to, and the context they go in.
#[derive(Debug)]
struct GroupReach {
    context: u64,
    group: Group,
}

/// What the bindings in a schedule stand for.
#[derive(Debug)]
pub(super) struct Bindings {
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
    multicast_group: Option<MulticastGroup>,
    /// Whom a multicast goes to.
    listeners: Vec<tern_transport::Peer>,
    local: GroupReach,
    remote: Option<GroupReach>,
    /// [`Buf::Send`] and the send types.
    pub send: CallBuffer,
    /// [`Buf::Recv`] and the receive types.
    pub recv: CallBuffer,
    /// The operation of a reduction.
    pub operation: Option<Operation>,
    temps: Vec<*mut u8>,
    scratch: Scratch,
    lengths: Vec<usize>,
    /// The schedule's first receive, if that was posted before.
    pub posted: Option<RequestId>,
    /// The first thing that went wrong. The steps go on, so that the other ranks can finish.
    pub failure: Option<Box<Error>>,
}

impl Default for Bindings {
    fn default() -> Self {
        Bindings {
            call: "",
            told: Told::NOTHING,
            tag: 0,
            check_types: false,
            rank: 0,
            multicast_group: None,
            listeners: Vec::new(),
            local: GroupReach { context: 0, group: Group::EMPTY },
            remote: None,
            send: CallBuffer::NONE,
            recv: CallBuffer::NONE,
            operation: None,
            temps: Vec::new(),
            scratch: Scratch::default(),
            lengths: Vec::new(),
            posted: None,
            failure: None,
        }
    }
}

impl Bindings {
    /// Ranks are those of `comm`, and messages have `tag`.
    pub(super) fn address(&mut self, call: &'static str, comm: &Comm, tag: i32, check_types: bool) {
        self.call = call;
        self.told.forget();
        self.tag = tag;
        self.check_types = check_types;
        self.rank = comm.rank;
        self.multicast_group = comm.multicast_group.clone().flatten();
        let lane = if comm.remote.is_some() { Lane::Local } else { Lane::Coll };
        self.local = GroupReach { context: comm.lane(lane), group: comm.group.clone() };
        let remote = comm.remote.clone();
        self.remote = remote.map(|group| GroupReach { context: comm.lane(Lane::Coll), group });
    }

    /// Which of the communicator's collectives the call is.
    pub(super) fn number(&self) -> CallNumber {
        if self.tag == LAST_BARRIER_TAG { CallNumber::Next } else { CallNumber::Is(self.tag as u32) }
    }

    /// The context of the call's messages.
    pub(super) fn context(&self) -> u64 {
        self.local.context
    }

    /// The process that has a rank in the local group.
    pub(super) fn peer(&self, rank: u32) -> Option<tern_transport::Peer> {
        self.local.group.peer(rank)
    }

    /// Forgets the call and keeps memory for the next one.
    pub(super) fn clear(&mut self) {
        self.multicast_group = None;
        self.local.group = Group::EMPTY;
        self.remote = None;
        self.send.clear();
        self.recv.clear();
        self.operation = None;
        self.temps.clear();
        self.scratch.trim();
    }

    /// Finds room for the temporary memory of a schedule.
    pub(super) fn provide(&mut self, temps: &[Temp]) -> Result {
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

    /// The first byte of temporary elements and the one after their last, counted from the first element's address. The first one is rounded
    /// down, so that elements are as aligned as the memory: functions of the program's may count on that.
    fn extent_of(&self, temp: &Temp) -> (i128, i128) {
        let Some(datatype) = self.datatype(temp.ty) else { return (0, temp.count.into()) };
        let to_last = i128::from(datatype.extent()) * i128::from(temp.count.saturating_sub(1));
        let low = i128::from(datatype.true_lb());
        let high = low + i128::from(datatype.true_extent());
        let low = (low + to_last.min(0)).div_euclid(ALIGN as i128) * ALIGN as i128;
        (low, high + to_last.max(0))
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
    pub(super) fn buffer(&self, slice: &Slice) -> UserBuf {
        let base = self.address_of(slice);
        match self.datatype(slice.ty) {
            // SAFETY: the program vouches for its buffers until the call is complete; temporary memory has room for
            // what the schedule asked for.
            Some(datatype) => unsafe { datatype.buffer(base, slice.count) },
            // SAFETY: as above.
            None => unsafe { UserBuf::contiguous(base, slice.count as usize) },
        }
    }

    /// Combines two slices. A function of the program's is called here: not with the state held.
    pub(super) fn combine(&self, operands: &CallOut) {
        let (left, right) = (self.address_of(&operands.left), self.address_of(&operands.right));
        if let Some(operation) = &self.operation {
            // SAFETY: as in `buffer`; schedules name slices of the type that the operation was found for.
            unsafe { operation.combine(left, right, operands.right.count) }
        }
    }

    fn reach(&self, peer: StepPeer) -> (&GroupReach, u32) {
        match (peer, &self.remote) {
            (StepPeer::Remote(rank), Some(remote)) => (remote, rank),
            (StepPeer::Remote(rank) | StepPeer::Local(rank), _) => (&self.local, rank),
        }
    }

    /// Takes note of how a message ended.
    fn note(&mut self, status: &Status, expected: Option<u64>) {
        if self.failure.is_none() {
            self.failure = ended(self.call, status, expected).err();
        }
    }
}

/// How a message of a call ended, of which so many bytes were expected; of a send, none were.
#[inline]
pub(super) fn ended(call: &'static str, status: &Status, expected: Option<u64>) -> Result {
    let is_short = expected.is_some_and(|expected| status.bytes < expected);
    if status.fault.is_none() && !is_short {
        return Ok(());
    }
    Err(what_is_wrong(call, status, expected))
}

#[cold]
fn what_is_wrong(call: &'static str, status: &Status, expected: Option<u64>) -> Box<Error> {
    let rank = status.source;
    match status.fault {
        Some(MessageFault::Truncated { sent, room }) => unequal(call, rank, sent as usize, room as usize),
        Some(fault) => explain(fault, status),
        None => unequal(call, rank, status.bytes as usize, expected.unwrap_or(0) as usize),
    }
}

/// Bytes between two ends; too many for the address space become too many for any memory.
fn length((low, high): (i128, i128)) -> usize {
    usize::try_from(high - low).unwrap_or(usize::MAX)
}

/// A message under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct PortMessage {
    id: RequestId,
    /// The rank at its other end; of a multicast, none.
    rank: Option<u32>,
    /// Bytes that a receive expects.
    expected: Option<u64>,
    /// The rank in the world whose multicast it is.
    listens_to: Option<tern_transport::Peer>,
}

impl PortMessage {
    /// The rank at the other end, unless it is a multicast.
    pub(super) fn rank(&self) -> Option<u32> {
        self.rank
    }

    /// Takes back what has met no message. Whether data is still on its way into this rank's memory.
    #[cold]
    pub(super) fn take_back(&self, engine: &mut ProcessEngine) -> bool {
        engine.cancel(self.id);
        engine.is_receiving(self.id)
    }

    /// Whether it has ended; asked no more once it has.
    pub(super) fn has_ended(&self, engine: &mut ProcessEngine) -> bool {
        engine.test(self.id).is_some()
    }

    /// Nobody waits for it any longer: it completes by itself.
    #[cold]
    pub(super) fn detach(self, engine: &mut ProcessEngine) {
        engine.detach(self.id);
    }
}

/// A step that has to be done without the state held: a function of the program's on two slices.
#[derive(Clone, Copy, Debug)]
pub(super) struct CallOut {
    left: Slice,
    right: Slice,
}

/// A call's bindings over the engine.
pub(super) struct EnginePort<'a> {
    /// What the bindings stand for.
    pub bindings: &'a mut Bindings,
    /// Where messages go.
    pub engine: &'a mut ProcessEngine,
}

impl EnginePort<'_> {
    fn started(
        &mut self,
        started: StartedMessage,
        rank: Option<u32>,
        expected: Option<u64>,
    ) -> Option<PortMessage> {
        match started {
            StartedMessage::Pending(id) => Some(PortMessage { id, rank, expected, listens_to: None }),
            StartedMessage::Done(status) => {
                self.bindings.note(&status, expected);
                None
            }
        }
    }
}

impl Port for EnginePort<'_> {
    type Handle = PortMessage;
    type Error = CallOut;

    fn isend(&mut self, to: StepPeer, from: &Slice) -> std::result::Result<Option<PortMessage>, CallOut> {
        let (buf, signature) = (self.bindings.buffer(from), self.bindings.signature(from, from.count));
        let (reach, rank) = self.bindings.reach(to);
        let Some(peer) = reach.group.peer(rank) else { return Ok(None) };
        let envelope =
            Envelope { context: reach.context, source: self.bindings.rank, tag: self.bindings.tag };
        let started = self.engine.send(Mode::Standard, peer, envelope, &buf, signature);
        Ok(self.started(started, Some(rank), None))
    }

    fn irecv(&mut self, from: StepPeer, into: &Slice) -> std::result::Result<Option<PortMessage>, CallOut> {
        let (buf, signature) = (self.bindings.buffer(into), self.bindings.signature(into, 1));
        let (reach, rank) = self.bindings.reach(from);
        let pattern = Pattern { context: reach.context, source: rank, tag: self.bindings.tag };
        let started = match self.bindings.posted.take() {
            Some(id) => StartedMessage::Pending(id),
            None => self.engine.receive(pattern, &buf, signature),
        };
        Ok(self.started(started, Some(rank), Some(buf.len() as u64)))
    }

    fn imulticast(&mut self, to: &[u32], from: &Slice) -> std::result::Result<Option<PortMessage>, CallOut> {
        let bindings = &mut *self.bindings;
        let (buf, signature) = (bindings.buffer(from), bindings.signature(from, from.count));
        let Some(multicast_group) = &bindings.multicast_group else { return Ok(None) };
        bindings.listeners.clear();
        bindings.listeners.extend(to.iter().filter_map(|rank| bindings.local.group.peer(*rank)));
        let envelope = Envelope { context: bindings.local.context, source: bindings.rank, tag: bindings.tag };
        let started = self.engine.multicast(multicast_group, &bindings.listeners, envelope, &buf, signature);
        Ok(self.started(started, None, None))
    }

    fn ilisten(&mut self, from: StepPeer, into: &Slice) -> std::result::Result<Option<PortMessage>, CallOut> {
        let mut handle = self.irecv(from, into)?;
        let (reach, rank) = self.bindings.reach(from);
        if let (Some(peer), Some(handle)) = (reach.group.peer(rank), &mut handle) {
            handle.listens_to = Some(peer);
            self.engine.expect_multicast(peer);
        }
        Ok(handle)
    }

    fn test(&mut self, handle: &mut PortMessage) -> std::result::Result<bool, CallOut> {
        let Some(status) = self.engine.test(handle.id) else {
            // What has come of it until now may have been all that was not lost.
            handle.listens_to.into_iter().for_each(|peer| self.engine.expect_multicast(peer));
            return Ok(false);
        };
        self.bindings.note(&status, handle.expected);
        Ok(true)
    }

    /// Never called: who runs a schedule waits outside of it, see [`super::running`].
    fn wait(&mut self, _pending: &mut [PortMessage]) -> std::result::Result<(), CallOut> {
        Ok(())
    }

    fn reduce(&mut self, left: &Slice, right: &Slice) -> std::result::Result<(), CallOut> {
        let operands = CallOut { left: *left, right: *right };
        if self.bindings.operation.is_some_and(|operation| operation.calls_out()) {
            return Err(operands);
        }
        self.bindings.combine(&operands);
        Ok(())
    }

    fn copy(&mut self, from: &Slice, to: &Slice) -> std::result::Result<(), CallOut> {
        let (from, to) = (self.bindings.buffer(from), self.bindings.buffer(to));
        if from.len() != to.len() && self.bindings.failure.is_none() {
            self.bindings.failure = Some(unequal_to_itself(from.len() as u64, to.len() as u64));
        }
        let len = from.len();
        if len <= COPY_BYTES_AT_ONCE_MAX {
            UserBuf::copy(&from, 0, &to, 0, len);
            return Ok(());
        }
        for at in (0..len).step_by(COPY_BYTES_PER_POLL) {
            // Whoever asks whether he may send a long message gets his answer, and what has come makes room for more.
            self.engine.poll();
            UserBuf::copy(&from, at, &to, at, COPY_BYTES_PER_POLL.min(len - at));
        }
        Ok(())
    }
}

//! Sending and receiving (MPI 5.0 chapter 3): blocking and non-blocking, in all modes.

use crate::comm::object::Lane;
use crate::core::arguments::{buffer, dense_buffer, destination, out, usually_wanted, wanted};
use crate::core::entry::entry;
use crate::core::error::Result;
use crate::core::process::{Guard, Process, enter, threaded};
use crate::core::wait::{self, Waiting};
use crate::p2p::request::{Ended, explain, handle_of};
use crate::p2p::status;
use std::ffi::{c_int, c_void};
use tern_abi::*;
use tern_engine::{Envelope, Mode, Pattern, RequestId, Started, Status};
use tern_mem::UserBuf;
use tern_transport::Peer;

/// A message's arguments, as every call of this chapter has them.
#[derive(Clone, Copy, Debug)]
pub struct Message {
    /// Address of the buffer.
    pub buf: *const c_void,
    /// Elements.
    pub count: i64,
    /// Their type.
    pub datatype: MPI_Datatype,
    /// Destination or source.
    pub rank: c_int,
    /// Tag.
    pub tag: c_int,
    /// Communicator.
    pub comm: MPI_Comm,
}

// SAFETY: the address is the program's; it is used only as the standard allows, by whichever thread completes the request.
unsafe impl Send for Message {}

entry! {
    /// Blocking send, standard mode (section 3.2.1).
    fn MPI_Send, MPI_Send_c<W>(buf: *const c_void, count: W::Count, datatype: MPI_Datatype, dest: c_int, tag: c_int, comm: MPI_Comm) on comm {
        send("MPI_Send", Mode::Standard, Message { buf, count: count.into(), datatype, rank: dest, tag, comm })
    }

    /// Blocking send, synchronous mode (section 3.4).
    fn MPI_Ssend, MPI_Ssend_c<W>(buf: *const c_void, count: W::Count, datatype: MPI_Datatype, dest: c_int, tag: c_int, comm: MPI_Comm) on comm {
        send("MPI_Ssend", Mode::Synchronous, Message { buf, count: count.into(), datatype, rank: dest, tag, comm })
    }

    /// Blocking send, ready mode (section 3.4).
    fn MPI_Rsend, MPI_Rsend_c<W>(buf: *const c_void, count: W::Count, datatype: MPI_Datatype, dest: c_int, tag: c_int, comm: MPI_Comm) on comm {
        send("MPI_Rsend", Mode::Ready, Message { buf, count: count.into(), datatype, rank: dest, tag, comm })
    }

    /// Blocking receive (section 3.2.4).
    fn MPI_Recv, MPI_Recv_c<W>(buf: *mut c_void, count: W::Count, datatype: MPI_Datatype, source: c_int, tag: c_int, comm: MPI_Comm, status: *mut MPI_Status) on comm {
        let message = Message { buf, count: count.into(), datatype, rank: source, tag, comm };
        let mut process = enter();
        let Some((pattern, buf)) = dense_receive(&process, &message) else {
            return receive(process, message, status);
        };
        let id = match start_dense(&mut process, pattern, &buf) {
            Some(Started::Done(received)) => {
                status::store_from(status, &received);
                return Ok(());
            }
            Some(Started::Pending(id)) => id,
            None => return receive(process, message, status),
        };
        finish(&await_message(process, "MPI_Recv", message, id), status)
    }

    /// Non-blocking send, standard mode (section 3.7.2).
    fn MPI_Isend, MPI_Isend_c<W>(buf: *const c_void, count: W::Count, datatype: MPI_Datatype, dest: c_int, tag: c_int, comm: MPI_Comm, request: *mut MPI_Request) on comm {
        isend(Mode::Standard, Message { buf, count: count.into(), datatype, rank: dest, tag, comm }, request)
    }

    /// Non-blocking send, synchronous mode.
    fn MPI_Issend, MPI_Issend_c<W>(buf: *const c_void, count: W::Count, datatype: MPI_Datatype, dest: c_int, tag: c_int, comm: MPI_Comm, request: *mut MPI_Request) on comm {
        isend(Mode::Synchronous, Message { buf, count: count.into(), datatype, rank: dest, tag, comm }, request)
    }

    /// Non-blocking send, ready mode.
    fn MPI_Irsend, MPI_Irsend_c<W>(buf: *const c_void, count: W::Count, datatype: MPI_Datatype, dest: c_int, tag: c_int, comm: MPI_Comm, request: *mut MPI_Request) on comm {
        isend(Mode::Ready, Message { buf, count: count.into(), datatype, rank: dest, tag, comm }, request)
    }

    /// Non-blocking receive (section 3.7.2).
    fn MPI_Irecv, MPI_Irecv_c<W>(buf: *mut c_void, count: W::Count, datatype: MPI_Datatype, source: c_int, tag: c_int, comm: MPI_Comm, request: *mut MPI_Request) on comm {
        let message = Message { buf, count: count.into(), datatype, rank: source, tag, comm };
        let request = out("request", request)?;
        let mut process = enter();
        if let Some(id) = receive_later(&mut process, &message) {
            *request = crate::p2p::request::handle_of(id);
            return Ok(());
        }
        irecv(process, message, request)
    }
}

/// The status of a receive from `MPI_PROC_NULL` (section 3.10).
pub fn no_process() -> MPI_Status {
    MPI_Status { MPI_SOURCE: MPI_PROC_NULL, ..MPI_Status::EMPTY }
}

/// What became of a receive from `MPI_PROC_NULL`, in the engine's words.
pub const FROM_NO_PROCESS: Started =
    Started::Done(Status { source: MPI_PROC_NULL as u32, tag: MPI_ANY_TAG, ..Status::EMPTY });

/// What became of a send to `MPI_PROC_NULL`.
pub const TO_NO_PROCESS: Started = Started::Done(Status::EMPTY);

/// A send that has passed its checks: what the engine is told, now or at each start of a persistent request.
#[derive(Clone, Debug)]
pub struct Outbound {
    /// Where to.
    pub peer: Peer,
    /// Context, rank of this process, tag.
    pub envelope: Envelope,
    /// What.
    pub buf: UserBuf,
    /// Type signature, or 0.
    pub signature: u64,
}

/// A receive that has passed its checks.
#[derive(Debug)]
pub struct Inbound {
    /// What it asks for.
    pub pattern: Pattern,
    /// Where to put it.
    pub buf: UserBuf,
    /// Type signature, or 0.
    pub signature: u64,
}

/// Checks a send; `None` if it goes to `MPI_PROC_NULL`.
///
/// # Safety
/// The program vouches for the buffer.
#[inline(always)]
pub unsafe fn outbound(process: &Process, message: &Message) -> Result<Option<Outbound>> {
    let comm = process.comm(message.comm)?;
    let to = destination(comm, message.rank, message.tag)?;
    let Some((peer, envelope)) = to else {
        // SAFETY: by the caller.
        return unsafe { nothing_moves(process, message) };
    };
    // SAFETY: by the caller.
    let buf = unsafe { buffer(process, message.buf, message.count, message.datatype)? };
    Ok(Some(Outbound {
        peer,
        envelope,
        buf,
        signature: process.signature(message.datatype, message.count as u64),
    }))
}

/// Checks a receive; `None` if it is from `MPI_PROC_NULL`.
///
/// # Safety
/// The program vouches for the buffer.
#[inline(always)]
pub unsafe fn inbound(process: &Process, message: &Message) -> Result<Option<Inbound>> {
    let comm = process.comm(message.comm)?;
    let pattern = wanted(comm, message.rank, message.tag)?;
    let Some(pattern) = pattern else {
        // SAFETY: by the caller.
        return unsafe { nothing_moves(process, message) };
    };
    // SAFETY: by the caller.
    let buf = unsafe { buffer(process, message.buf, message.count, message.datatype)? };
    Ok(Some(Inbound { pattern, buf, signature: process.signature(message.datatype, 1) }))
}

/// Checks the buffer of a message with `MPI_PROC_NULL`. One without elements needs no datatype, as on other libraries.
///
/// # Safety
/// The program vouches for the buffer.
unsafe fn nothing_moves<T>(process: &Process, message: &Message) -> Result<Option<T>> {
    if message.count != 0 || message.datatype != MPI_DATATYPE_NULL {
        // SAFETY: by the caller.
        unsafe { buffer(process, message.buf, message.count, message.datatype)? };
    }
    Ok(None)
}

impl Outbound {
    /// Hands it to the engine.
    #[inline]
    pub fn start(&self, process: &mut Process, mode: Mode) -> Result<Started> {
        Ok(process.engine()?.send(mode, self.peer, self.envelope, &self.buf, self.signature))
    }
}

impl Inbound {
    /// Hands it to the engine.
    #[inline]
    pub fn start(&self, process: &mut Process) -> Result<Started> {
        Ok(process.engine()?.receive(self.pattern, &self.buf, self.signature))
    }
}

/// Starts a send; `None` if it goes to `MPI_PROC_NULL`.
///
/// # Safety
/// The program vouches for the buffer.
#[inline]
pub unsafe fn start_send(process: &mut Process, mode: Mode, message: &Message) -> Result<Option<Started>> {
    // SAFETY: by the caller.
    match unsafe { outbound(process, message)? } {
        // In registers, not by way of the structure: this is the path of every send.
        Some(Outbound { peer, envelope, buf, signature }) => {
            Ok(Some(process.engine()?.send(mode, peer, envelope, &buf, signature)))
        }
        None => Ok(None),
    }
}

/// Starts a receive; `None` if it is from `MPI_PROC_NULL`.
///
/// # Safety
/// The program vouches for the buffer.
#[inline]
pub unsafe fn start_receive(process: &mut Process, message: &Message) -> Result<Option<Started>> {
    // SAFETY: by the caller.
    match unsafe { inbound(process, message)? } {
        Some(Inbound { pattern, buf, signature }) => {
            Ok(Some(process.engine()?.receive(pattern, &buf, signature)))
        }
        None => Ok(None),
    }
}

impl Process {
    /// The type signature of so many elements when types are checked, else 0. A message travels with that of all its
    /// elements, a receive is known by that of one: it may have room for more.
    #[inline]
    pub(crate) fn signature(&self, datatype: MPI_Datatype, count: u64) -> u64 {
        if self.check_types { self.types.signature(datatype, count) } else { 0 }
    }
}

/// The shortest way of a standard send: elements of a predefined type, to a peer that has room. If anything is in the
/// way, or wrong, nothing has happened.
#[inline(always)]
unsafe fn send_dense(process: &mut Process, message: &Message) -> bool {
    let Some(comm) = process.comms.get(message.comm) else { return false };
    let (Ok(rank), 0..) = (u32::try_from(message.rank), message.tag) else { return false };
    let Some(peer) = comm.peers().peer(rank) else { return false };
    let envelope = comm.envelope(Lane::P2p, message.tag);
    // SAFETY: by the caller.
    let Some(buf) = (unsafe { dense_buffer(message.buf, message.count, message.datatype) }) else {
        return false;
    };
    !process.check_types
        && process
            .engine_mut()
            .is_some_and(|engine| engine.send_at_once(Mode::Standard, peer, envelope, &buf))
}

/// What a receive into elements of a predefined type asks for, and where to put it. `None` if anything is wrong, or types
/// are checked.
#[inline(always)]
unsafe fn dense_receive(process: &Process, message: &Message) -> Option<(Pattern, UserBuf)> {
    let comm = process.comms.get(message.comm)?;
    let pattern = usually_wanted(comm, message.rank, message.tag)?;
    // SAFETY: by the caller.
    let buf = unsafe { dense_buffer(message.buf, message.count, message.datatype)? };
    (!process.check_types).then_some((pattern, buf))
}

/// The shortest way of a blocking receive. `None`: nothing has happened, since a message waits for its receive.
#[inline(always)]
fn start_dense(process: &mut Process, pattern: Pattern, buf: &UserBuf) -> Option<Started> {
    let listens = process.listens;
    let polls_max = if process.collectives.is_empty() && !threaded() { process.polls_at_once } else { 1 };
    let engine = process.engine_mut()?;
    if !listens && let Some(started) = engine.receive_next(pattern, buf, polls_max) {
        return Some(started);
    }
    engine.post_unless_early(pattern, buf.clone()).map(Started::Pending)
}

/// The shortest way of a non-blocking receive, while no message waits for its receive. `None`: nothing has happened.
#[inline(always)]
unsafe fn receive_later(process: &mut Process, message: &Message) -> Option<RequestId> {
    // SAFETY: by the caller.
    let (pattern, buf) = unsafe { dense_receive(process, message)? };
    process.engine_mut()?.post_unless_early(pattern, buf)
}

/// Any other blocking receive.
#[inline(never)]
unsafe fn receive(mut process: Guard, message: Message, status: *mut MPI_Status) -> Result {
    // SAFETY: by the caller.
    unsafe {
        let received = match start_receive(&mut process, &message)? {
            Some(Started::Done(received)) => received,
            Some(Started::Pending(id)) => await_message(process, "MPI_Recv", message, id),
            None => {
                status::store(status, &no_process());
                return Ok(());
            }
        };
        finish(&received, status)
    }
}

/// Any other non-blocking receive.
#[inline(never)]
unsafe fn irecv(mut process: Guard, message: Message, request: *mut MPI_Request) -> Result {
    // SAFETY: by the caller; `request` is not null.
    unsafe {
        *request = match start_receive(&mut process, &message)? {
            Some(started) => process.request(started)?,
            None => process.ended_request(Ended::well(no_process()))?,
        };
    }
    Ok(())
}

#[inline(always)]
unsafe fn send(call: &'static str, mode: Mode, message: Message) -> Result {
    let mut process = enter();
    // SAFETY: by the caller.
    if mode == Mode::Standard && unsafe { send_dense(&mut process, &message) } {
        return Ok(());
    }
    // SAFETY: by the caller.
    unsafe { send_otherwise(process, call, mode, message) }
}

#[inline(never)]
unsafe fn send_otherwise(mut process: Guard, call: &'static str, mode: Mode, message: Message) -> Result {
    // SAFETY: by the caller.
    match unsafe { start_send(&mut process, mode, &message)? } {
        Some(Started::Pending(id)) => {
            let sent = await_message(process, call, message, id);
            sent.fault.map_or(Ok(()), |fault| Err(explain(fault, &sent)))
        }
        Some(Started::Done(_)) | None => Ok(()),
    }
}

#[inline(always)]
unsafe fn isend(mode: Mode, message: Message, request: *mut MPI_Request) -> Result {
    let request = out("request", request)?;
    let mut process = enter();
    // SAFETY: by the caller; `request` is not null.
    unsafe {
        if mode == Mode::Standard && send_dense(&mut process, &message) {
            *request = crate::p2p::request::handle_of(RequestId::OVER);
            return Ok(());
        }
        isend_otherwise(process, mode, message, request)
    }
}

#[inline(never)]
unsafe fn isend_otherwise(
    mut process: Guard,
    mode: Mode,
    message: Message,
    request: *mut MPI_Request,
) -> Result {
    // SAFETY: by the caller; `request` is not null.
    unsafe {
        *request = match start_send(&mut process, mode, &message)? {
            Some(started) => process.request(started)?,
            None => process.ended_request(Ended::well(MPI_Status::EMPTY))?,
        };
    }
    Ok(())
}

/// Waits until a message of this thread's own is complete.
#[inline(never)]
pub fn await_message(process: Guard, call: &'static str, message: Message, id: RequestId) -> Status {
    wait::until_from(
        process,
        |process| process.comms.get(message.comm)?.peers().peer(u32::try_from(message.rank).ok()?),
        |process| {
            let context = process.comms.get(message.comm).map_or(0, |comm| comm.context);
            let size = process.types.size_of(message.datatype).saturating_mul(message.count.max(0) as u64);
            let receives = process.describe_started(Started::Pending(id)).is_some_and(|what| what.receive);
            Waiting {
                receives,
                ..Waiting::message(call, context, message.rank, message.tag, size).of(handle_of(id))
            }
        },
        |process| process.engine_mut()?.test(id),
    )
}

/// Hands the end of a receive to the program.
#[inline]
pub(crate) unsafe fn finish(received: &Status, status: *mut MPI_Status) -> Result {
    // SAFETY: by the caller.
    unsafe { status::store_from(status, received) };
    received.fault.map_or(Ok(()), |fault| Err(explain(fault, received)))
}

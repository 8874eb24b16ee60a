//! Sending and receiving (MPI 5.0 chapter 3): blocking and non-blocking, in all modes.

use crate::comm::object::{Comm, Lane};
use crate::core::arguments::{buffer, contiguous, destination, pattern_if_valid, receive_pattern};
use crate::core::boundary::{ChoiceBuf, ChoiceBufMut, Out};
use crate::core::entry::entry;
use crate::core::error::Result;
use crate::core::process::{
    LockGuard, LoneGuard, Process, Threads, enter, enter_alone, enter_by_gate, is_for_ours_alone, several,
    threads,
};
use crate::core::wait::{self, Waiting};
use crate::limits::LOOKS_PER_POLL;
use crate::p2p::ended::Ended;
use crate::p2p::fault::explain;
use crate::p2p::request::handle_of;
use crate::p2p::status::StatusOut;
use std::ffi::c_int;
use tern_abi::*;
use tern_engine::{Envelope, Mode, Pattern, RequestId, StartedMessage, Status};
use tern_mem::{ContiguousBuf, UserBuf};
use tern_transport::{AM_INLINE_BYTES_MAX, Peer};

/// A message's arguments, as every call of this chapter has them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MessageArguments {
    /// Address of the buffer.
    pub buf: ChoiceBuf,
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

entry! {
    /// Blocking send, standard mode (section 3.2.1).
    safe fn MPI_Send, MPI_Send_c<W>(buf: ChoiceBuf, count: W::Count, datatype: MPI_Datatype, dest: c_int, tag: c_int, comm: MPI_Comm) on comm {
        send("MPI_Send", Mode::Standard, MessageArguments { buf, count: count.into(), datatype, rank: dest, tag, comm })
    }

    /// Blocking send, synchronous mode (section 3.4).
    safe fn MPI_Ssend, MPI_Ssend_c<W>(buf: ChoiceBuf, count: W::Count, datatype: MPI_Datatype, dest: c_int, tag: c_int, comm: MPI_Comm) on comm {
        send(
            "MPI_Ssend",
            Mode::Synchronous,
            MessageArguments { buf, count: count.into(), datatype, rank: dest, tag, comm }
        )
    }

    /// Blocking send, ready mode (section 3.4).
    safe fn MPI_Rsend, MPI_Rsend_c<W>(buf: ChoiceBuf, count: W::Count, datatype: MPI_Datatype, dest: c_int, tag: c_int, comm: MPI_Comm) on comm {
        send("MPI_Rsend", Mode::Ready, MessageArguments { buf, count: count.into(), datatype, rank: dest, tag, comm })
    }

    /// Blocking receive (section 3.2.4).
    safe fn MPI_Recv, MPI_Recv_c<W>(buf: ChoiceBufMut, count: W::Count, datatype: MPI_Datatype, source: c_int, tag: c_int, comm: MPI_Comm, status: StatusOut<'_>) on comm {
        let message = MessageArguments { buf: buf.into(), count: count.into(), datatype, rank: source, tag, comm };
        if take_short::<false>(&message, status) {
            return Ok(());
        }
        receive_contiguous(message, status)
    }

    /// Non-blocking send, standard mode (section 3.7.2).
    safe fn MPI_Isend, MPI_Isend_c<W>(buf: ChoiceBuf, count: W::Count, datatype: MPI_Datatype, dest: c_int, tag: c_int, comm: MPI_Comm, request: Out<'_, MPI_Request>) on comm {
        isend(Mode::Standard, MessageArguments { buf, count: count.into(), datatype, rank: dest, tag, comm }, request)
    }

    /// Non-blocking send, synchronous mode.
    safe fn MPI_Issend, MPI_Issend_c<W>(buf: ChoiceBuf, count: W::Count, datatype: MPI_Datatype, dest: c_int, tag: c_int, comm: MPI_Comm, request: Out<'_, MPI_Request>) on comm {
        isend(
            Mode::Synchronous,
            MessageArguments { buf, count: count.into(), datatype, rank: dest, tag, comm },
            request
        )
    }

    /// Non-blocking send, ready mode.
    safe fn MPI_Irsend, MPI_Irsend_c<W>(buf: ChoiceBuf, count: W::Count, datatype: MPI_Datatype, dest: c_int, tag: c_int, comm: MPI_Comm, request: Out<'_, MPI_Request>) on comm {
        isend(Mode::Ready, MessageArguments { buf, count: count.into(), datatype, rank: dest, tag, comm }, request)
    }

    /// Non-blocking receive (section 3.7.2).
    safe fn MPI_Irecv, MPI_Irecv_c<W>(buf: ChoiceBufMut, count: W::Count, datatype: MPI_Datatype, source: c_int, tag: c_int, comm: MPI_Comm, request: Out<'_, MPI_Request>) on comm {
        let message = MessageArguments { buf: buf.into(), count: count.into(), datatype, rank: source, tag, comm };
        let mut process = enter();
        if let Some(id) = receive_later(&mut process, &message) {
            request.set(handle_of(id));
            return Ok(());
        }
        irecv(process, message, request)
    }
}

/// The status of a receive from `MPI_PROC_NULL` (section 3.10).
pub(crate) fn no_process() -> MPI_Status {
    MPI_Status { MPI_SOURCE: MPI_PROC_NULL, ..MPI_Status::EMPTY }
}

/// What became of a receive from `MPI_PROC_NULL`, in the engine's words.
pub(crate) const FROM_NO_PROCESS: StartedMessage =
    StartedMessage::Done(Status { source: MPI_PROC_NULL as u32, tag: MPI_ANY_TAG, ..Status::EMPTY });

/// What became of a send to `MPI_PROC_NULL`.
pub(crate) const TO_NO_PROCESS: StartedMessage = StartedMessage::Done(Status::EMPTY);

/// A send that has passed its checks: what the engine is told, now or at each start of a persistent request.
#[derive(Clone, Debug)]
pub(crate) struct CheckedSend {
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
pub(crate) struct CheckedReceive {
    /// What it asks for.
    pub pattern: Pattern,
    /// Where to put it.
    pub buf: UserBuf,
    /// Type signature, or 0.
    pub signature: u64,
}

/// Checks a send; `None` if it goes to `MPI_PROC_NULL`.
#[inline(always)]
pub(crate) fn outbound(process: &Process, message: &MessageArguments) -> Result<Option<CheckedSend>> {
    let comm = process.comm(message.comm)?;
    let to = destination(comm, message.rank, message.tag)?;
    let Some((peer, envelope)) = to else {
        return nothing_moves(process, message);
    };
    let buf = buffer(process, message.buf, message.count, message.datatype)?;
    Ok(Some(CheckedSend {
        peer,
        envelope,
        buf,
        signature: process.signature(message.datatype, message.count as u64),
    }))
}

/// Checks a receive; `None` if it is from `MPI_PROC_NULL`.
#[inline(always)]
pub(crate) fn inbound(process: &Process, message: &MessageArguments) -> Result<Option<CheckedReceive>> {
    let comm = process.comm(message.comm)?;
    let pattern = receive_pattern(comm, message.rank, message.tag)?;
    let Some(pattern) = pattern else {
        return nothing_moves(process, message);
    };
    let buf = buffer(process, message.buf, message.count, message.datatype)?;
    Ok(Some(CheckedReceive { pattern, buf, signature: process.signature(message.datatype, 1) }))
}

/// Checks the buffer of a message with `MPI_PROC_NULL`. One without elements needs no datatype, as on other libraries.
fn nothing_moves<T>(process: &Process, message: &MessageArguments) -> Result<Option<T>> {
    if message.count != 0 || message.datatype != MPI_DATATYPE_NULL {
        buffer(process, message.buf, message.count, message.datatype)?;
    }
    Ok(None)
}

impl CheckedSend {
    /// Hands it to the engine.
    #[inline]
    pub(crate) fn start(&self, process: &mut Process, mode: Mode) -> Result<StartedMessage> {
        Ok(process.engine()?.send(mode, self.peer, self.envelope, &self.buf, self.signature))
    }
}

impl CheckedReceive {
    /// Hands it to the engine.
    #[inline]
    pub(crate) fn start(&self, process: &mut Process) -> Result<StartedMessage> {
        Ok(process.engine()?.receive(self.pattern, &self.buf, self.signature))
    }
}

/// Starts a send; `None` if it goes to `MPI_PROC_NULL`.
#[inline]
pub(crate) fn start_send(
    process: &mut Process,
    mode: Mode,
    message: &MessageArguments,
) -> Result<Option<StartedMessage>> {
    match outbound(process, message)? {
        // In registers, not by way of the structure: this is the path of every send.
        Some(CheckedSend { peer, envelope, buf, signature }) => {
            Ok(Some(process.engine()?.send(mode, peer, envelope, &buf, signature)))
        }
        None => Ok(None),
    }
}

/// Starts a receive; `None` if it is from `MPI_PROC_NULL`.
#[inline]
pub(crate) fn start_receive(
    process: &mut Process,
    message: &MessageArguments,
) -> Result<Option<StartedMessage>> {
    match inbound(process, message)? {
        Some(CheckedReceive { pattern, buf, signature }) => {
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
        if self.checks.types { self.objects.types.signature(datatype, count) } else { 0 }
    }
}

/// The shortest way of a short standard send, to a peer that has room for it: what it needs stays in registers. If anything is in the
/// way, wrong, or watched, nothing has happened.
#[inline(always)]
fn send_short(message: &MessageArguments) -> bool {
    // Longer messages lose no time here: this comes before all else.
    let buf = contiguous(message.buf, message.count, message.datatype);
    let Some(buf) = buf.filter(|buf| buf.len() <= AM_INLINE_BYTES_MAX) else { return false };
    let MessageArguments { rank, tag, comm, .. } = *message;
    match enter_alone() {
        Some(process) => send_from::<false>(process, buf, rank, tag, comm),
        None => is_for_ours_alone() && send_short_by_gate(buf, rank, tag, comm),
    }
}

/// The same where the library's own thread may come in, which is where there are networks.
#[inline(never)]
fn send_short_by_gate(buf: ContiguousBuf, rank: c_int, tag: c_int, comm: MPI_Comm) -> bool {
    enter_by_gate().is_some_and(|process| send_from::<true>(process, buf, rank, tag, comm))
}

#[inline(always)]
fn send_from<const BY_ROUTE: bool>(
    mut process: LoneGuard,
    buf: ContiguousBuf,
    rank: c_int,
    tag: c_int,
    comm: MPI_Comm,
) -> bool {
    let Some((peer, envelope)) = usual_destination(&process, rank, tag, comm) else { return false };
    process.engine_mut().is_some_and(|engine| engine.send_short::<BY_ROUTE>(peer, envelope, buf))
}

#[inline(always)]
fn enter_quickly<const BY_GATE: bool>() -> Option<LoneGuard> {
    if BY_GATE { enter_by_gate() } else { enter_alone() }
}

/// The same where the lock is used, and for longer messages that go at once.
#[inline(always)]
fn try_send_contiguous(process: &mut Process, message: &MessageArguments) -> bool {
    let MessageArguments { rank, tag, comm, .. } = *message;
    let Some((peer, envelope)) = usual_destination(process, rank, tag, comm) else { return false };
    let Some(buf) = contiguous(message.buf, message.count, message.datatype) else { return false };
    let Some(engine) = process.engine_mut() else { return false };
    // Where few threads may come, the shortest way has been tried.
    if several() && engine.send_short::<true>(peer, envelope, buf) {
        return true;
    }
    engine.send_run(peer, envelope, buf)
        || engine.send_at_once(Mode::Standard, peer, envelope, &UserBuf::from(buf))
}

/// Where a send goes. `None` if anything is wrong, or watched.
#[inline(always)]
fn usual_destination(process: &Process, rank: c_int, tag: c_int, comm: MPI_Comm) -> Option<(Peer, Envelope)> {
    if process.checks.watched {
        return None;
    }
    let comm = process.objects.comms.get(comm)?;
    let (Ok(rank), 0..) = (u32::try_from(rank), tag) else { return None };
    Some((comm.peers().peer(rank)?, comm.envelope(Lane::P2p, tag)))
}

/// What a receive into elements of a predefined type asks for, and where to put it. `None` if anything is wrong, or types
/// are checked.
#[inline(always)]
fn contiguous_receive(
    process: &Process,
    comm: &Comm,
    message: &MessageArguments,
) -> Option<(Pattern, ContiguousBuf)> {
    let pattern = pattern_if_valid(comm, message.rank, message.tag)?;
    let buf = contiguous(message.buf, message.count, message.datatype)?;
    (!process.checks.watched).then_some((pattern, buf))
}

/// The shortest way of a blocking receive: its message is here and short, and nothing else waits. Whether it was so; otherwise nothing
/// has happened.
#[inline(always)]
fn take_short<const BY_GATE: bool>(message: &MessageArguments, status: StatusOut<'_>) -> bool {
    let Some(mut process) = enter_quickly::<BY_GATE>() else { return false };
    if process.checks.watched {
        return false;
    }
    let taken = match take_next::<BY_GATE>(&mut process, message) {
        None if BY_GATE => take_awaited(&mut process, message),
        taken => taken,
    };
    let Some((envelope, bytes)) = taken else { return false };
    status.store_received(&envelope, bytes as u64);
    true
}

/// The same after some looks at that peer alone, where no other rank needs this core and there is nothing to move on meanwhile. Beside a
/// network a poll takes longer than such a look, and what a poll has found takes longer to be received.
#[inline(never)]
fn take_awaited(process: &mut Process, message: &MessageArguments) -> Option<(Envelope, usize)> {
    let polls = process.waiting.polls_at_once - 1;
    if polls == 0 || !process.objects.collectives.is_empty() {
        return None;
    }
    let peer = process.objects.comms.get(message.comm)?.peers().peer(message.rank as u32)?;
    if !process.engine_mut()?.await_next(peer, polls * LOOKS_PER_POLL) {
        return None;
    }
    take_next::<true>(process, message)
}

/// See [`tern_engine::Engine::take_next`].
#[inline(always)]
fn take_next<const BY_ROUTE: bool>(
    process: &mut Process,
    message: &MessageArguments,
) -> Option<(Envelope, usize)> {
    let comm = process.objects.comms.get(message.comm)?;
    let (pattern, buf) = contiguous_receive(process, comm, message)?;
    // No group has the rank that a wild source is when taken as unsigned.
    let peer = comm.peers().peer(message.rank as u32)?;
    process.engine_mut()?.take_next::<BY_ROUTE>(peer, pattern, buf)
}

/// A blocking receive into elements of a predefined type, and any other.
#[inline(never)]
fn receive_contiguous(message: MessageArguments, status: StatusOut<'_>) -> Result {
    // Where the lock is used, nobody has looked yet.
    let threads = threads();
    if threads == Threads::OneAndOurs && take_short::<true>(&message, status) {
        return Ok(());
    }
    let mut process = enter();
    if threads == Threads::Several
        && let Some((envelope, bytes)) = take_next::<true>(&mut process, &message)
    {
        status.store_received(&envelope, bytes as u64);
        return Ok(());
    }
    let comm = process.objects.comms.get(message.comm);
    let Some((pattern, buf)) = comm.and_then(|comm| contiguous_receive(&process, comm, &message)) else {
        return receive(process, message, status);
    };
    let id = match start_contiguous(&mut process, pattern, &buf.into()) {
        Some(StartedMessage::Done(received)) => {
            status.store_from(&received);
            return Ok(());
        }
        Some(StartedMessage::Pending(id)) => id,
        None => return receive(process, message, status),
    };
    finish(&await_message(process, "MPI_Recv", message, id), status)
}

/// The shortest way of a blocking receive. `None`: nothing has happened, since a message waits for its receive.
#[inline(always)]
fn start_contiguous(process: &mut Process, pattern: Pattern, buf: &UserBuf) -> Option<StartedMessage> {
    let listens = process.waiting.listens;
    let polls_max =
        if process.objects.collectives.is_empty() && !several() { process.waiting.polls_at_once } else { 1 };
    let engine = process.engine_mut()?;
    if !listens && let Some(started) = engine.receive_next(pattern, buf, polls_max) {
        return Some(started);
    }
    engine.post_if_unmatched(pattern, buf.clone()).map(StartedMessage::Pending)
}

/// The shortest way of a non-blocking receive, while no message waits for its receive. `None`: nothing has happened.
#[inline(always)]
fn receive_later(process: &mut Process, message: &MessageArguments) -> Option<RequestId> {
    let comm = process.objects.comms.get(message.comm)?;
    let (pattern, buf) = contiguous_receive(process, comm, message)?;
    process.engine_mut()?.post_if_unmatched(pattern, buf.into())
}

/// Any other blocking receive.
#[inline(never)]
fn receive(mut process: LockGuard, message: MessageArguments, status: StatusOut<'_>) -> Result {
    let received = match start_receive(&mut process, &message)? {
        Some(StartedMessage::Done(received)) => received,
        Some(StartedMessage::Pending(id)) => await_message(process, "MPI_Recv", message, id),
        None => {
            status.store(&no_process());
            return Ok(());
        }
    };
    finish(&received, status)
}

/// Any other non-blocking receive.
#[inline(never)]
fn irecv(mut process: LockGuard, message: MessageArguments, request: Out<'_, MPI_Request>) -> Result {
    request.set(match start_receive(&mut process, &message)? {
        Some(started) => process.request(started)?,
        None => process.ended_request(Ended::well(no_process()))?,
    });
    Ok(())
}

#[inline(always)]
fn send(call: &'static str, mode: Mode, message: MessageArguments) -> Result {
    if mode == Mode::Standard && send_short(&message) {
        return Ok(());
    }
    send_longer(call, mode, message)
}

#[inline(never)]
fn send_longer(call: &'static str, mode: Mode, message: MessageArguments) -> Result {
    let mut process = enter();
    if mode == Mode::Standard && try_send_contiguous(&mut process, &message) {
        return Ok(());
    }
    send_general(process, call, mode, message)
}

#[inline(never)]
fn send_general(mut process: LockGuard, call: &'static str, mode: Mode, message: MessageArguments) -> Result {
    match start_send(&mut process, mode, &message)? {
        Some(StartedMessage::Pending(id)) => {
            let sent = await_message(process, call, message, id);
            sent.fault.map_or(Ok(()), |fault| Err(explain(fault, &sent)))
        }
        Some(StartedMessage::Done(_)) | None => Ok(()),
    }
}

#[inline(always)]
fn isend(mode: Mode, message: MessageArguments, request: Out<'_, MPI_Request>) -> Result {
    if mode == Mode::Standard && send_short(&message) {
        request.set(handle_of(RequestId::COMPLETED));
        return Ok(());
    }
    isend_longer(mode, message, request)
}

#[inline(never)]
fn isend_longer(mode: Mode, message: MessageArguments, request: Out<'_, MPI_Request>) -> Result {
    let mut process = enter();
    if mode == Mode::Standard && try_send_contiguous(&mut process, &message) {
        request.set(handle_of(RequestId::COMPLETED));
        return Ok(());
    }
    isend_general(process, mode, message, request)
}

#[inline(never)]
fn isend_general(
    mut process: LockGuard,
    mode: Mode,
    message: MessageArguments,
    request: Out<'_, MPI_Request>,
) -> Result {
    request.set(match start_send(&mut process, mode, &message)? {
        Some(started) => process.request(started)?,
        None => process.ended_request(Ended::well(MPI_Status::EMPTY))?,
    });
    Ok(())
}

/// Waits until a message of this thread's own is complete.
#[inline(never)]
pub(crate) fn await_message(
    process: LockGuard,
    call: &'static str,
    message: MessageArguments,
    id: RequestId,
) -> Status {
    wait::until_from(
        process,
        |process| process.objects.comms.get(message.comm)?.peers().peer(u32::try_from(message.rank).ok()?),
        |process| {
            let context = process.objects.comms.get(message.comm).map_or(0, |comm| comm.context);
            let size =
                process.objects.types.size_of(message.datatype).saturating_mul(message.count.max(0) as u64);
            let receives =
                process.describe_started(StartedMessage::Pending(id)).is_some_and(|what| what.receive);
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
pub(crate) fn finish(received: &Status, status: StatusOut<'_>) -> Result {
    status.store_from(received);
    received.fault.map_or(Ok(()), |fault| Err(explain(fault, received)))
}

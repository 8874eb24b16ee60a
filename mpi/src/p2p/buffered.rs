//! Buffered mode (MPI 5.0 sections 3.4 and 3.6): a message is copied to memory that the program has attached, and
//! leaves from there as a standard send. The call never waits: a message that does not fit is an error.

use crate::core::boundary::{ChoiceBuf, ChoiceBufMut, Out};
use crate::core::entry::entry;
use crate::core::error::{Error, Result, fail};
use crate::core::process::{Process, ProcessEngine, enter};
use crate::core::wait::{self, Waiting};
use crate::p2p::buffers::{Attached, BufferOwner, OVERHEAD};
use crate::p2p::ended::Ended;
use crate::p2p::fault::explain;
use crate::p2p::messages::{self, CheckedSend, MessageArguments};
use crate::p2p::request::{Callback, Progress, Request};
use std::ffi::{c_int, c_void};
use std::ops::Range;
use tern_abi::*;
use tern_engine::Mode;

entry! {
    /// Buffered send (section 3.4).
    safe fn MPI_Bsend, MPI_Bsend_c<W>(buf: ChoiceBuf, count: W::Count, datatype: MPI_Datatype, dest: c_int, tag: c_int, comm: MPI_Comm) on comm {
        send_message(&mut enter(), &MessageArguments { buf, count: count.into(), datatype, rank: dest, tag, comm })
    }

    /// Buffered send as a request, which is complete from the start (section 3.7.2).
    safe fn MPI_Ibsend, MPI_Ibsend_c<W>(buf: ChoiceBuf, count: W::Count, datatype: MPI_Datatype, dest: c_int, tag: c_int, comm: MPI_Comm, request: Out<'_, MPI_Request>) on comm {
        let mut process = enter();
        send_message(&mut process, &MessageArguments { buf, count: count.into(), datatype, rank: dest, tag, comm })?;
        request.set(process.ended_request(Ended::well(MPI_Status::EMPTY))?);
        Ok(())
    }
}

fn send_message(process: &mut Process, message: &MessageArguments) -> Result {
    match messages::outbound(process, message)? {
        Some(outbound) => send(process, message.comm, &outbound),
        None => Ok(()),
    }
}

/// Sends a copy; or the message itself, if it can leave at once.
pub(crate) fn send(process: &mut Process, comm: MPI_Comm, message: &CheckedSend) -> Result {
    let CheckedSend { peer, envelope, ref buf, signature } = *message;
    let Some(owner) = owner_for(process, comm) else { return Err(no_buffer(process, comm, message)) };
    let (engine, _, buffers) = process.split()?;
    let Some(attached) = buffers.get(owner) else { return Err(no_buffer(process, comm, message)) };
    attached.reap(engine);
    let Some(place) = attached.place(buf.len()).or_else(|| place_again(attached, engine, buf.len())) else {
        let (size, free) = (attached.size, attached.largest_gap());
        return Err(full(process, comm, message, size, free));
    };
    if signature == 0 && engine.send_at_once(Mode::Standard, peer, envelope, buf) {
        return Ok(());
    }
    let copy = attached.copy_to(&place, buf);
    let started = engine.send(Mode::Standard, peer, envelope, &copy, signature);
    buffers.note(owner, place, started);
    Ok(())
}

/// The same after taking what has arrived: messages may have left, and a program that only sends makes no other call
/// which would learn of it (section 3.6.1 begins with taking out what is complete).
#[cold]
fn place_again(attached: &mut Attached, engine: &mut ProcessEngine, len: usize) -> Option<Range<usize>> {
    while engine.poll() {
        attached.reap(engine);
        if let Some(place) = attached.place(len) {
            return Some(place);
        }
    }
    None
}

/// The buffer that serves a communicator: its own, or that of its session, or the process's (section 3.6).
fn owner_for(process: &Process, comm: MPI_Comm) -> Option<BufferOwner> {
    let session = process.objects.sessions.origin(comm.0).map(BufferOwner::Session);
    let owners = [Some(BufferOwner::Comm(comm)), session, Some(BufferOwner::Process)];
    owners.into_iter().flatten().find(|&owner| process.objects.bsend.has(owner))
}

fn described(process: &Process, comm: MPI_Comm, message: &CheckedSend) -> String {
    let rank = process
        .objects
        .comms
        .get(comm)
        .and_then(|comm| comm.peers().rank_of(message.peer))
        .unwrap_or(message.peer);
    format!("the message of {} bytes to rank {rank} with tag {}", message.buf.len(), message.envelope.tag)
}

#[cold]
fn no_buffer(process: &Process, comm: MPI_Comm, message: &CheckedSend) -> Box<Error> {
    let what = described(process, comm, message);
    fail(
        MPI_ERR_BUFFER,
        format!("{what} needs a buffer: attach one by MPI_Buffer_attach or MPI_Comm_attach_buffer"),
    )
}

#[cold]
fn full(process: &Process, comm: MPI_Comm, message: &CheckedSend, size: usize, free: usize) -> Box<Error> {
    let what = described(process, comm, message);
    let need = message.buf.len().saturating_add(OVERHEAD);
    fail(
        MPI_ERR_BUFFER,
        format!(
            "{what} needs {need} bytes of the attached buffer (MPI_BSEND_OVERHEAD is {MPI_BSEND_OVERHEAD}); it has \
             {size}, of which {free} in one piece are free: attach a larger one, or flush it now and then"
        ),
    )
}

/// What is waited for where a buffer must become empty, for a person.
const WAITING: &str = "buffered messages have not left yet";

/// Waits until what the buffer of `owner` holds has left.
pub(crate) fn drain(call: &'static str, owner: BufferOwner) -> Result {
    let waiting = |_: &Process| Waiting { detail: WAITING.into(), ..Waiting::on(call) };
    let fault = wait::until(enter(), waiting, |process| {
        let Ok((engine, _, buffers)) = process.split() else { return Some(None) };
        let Some(attached) = buffers.get(owner) else { return Some(None) };
        attached.reap(engine);
        attached.is_empty().then(|| attached.fault.take())
    });
    fault.map_or(Ok(()), |status| Err(fault_of(&status)))
}

fn fault_of(status: &tern_engine::Status) -> Box<Error> {
    let Some(fault) = status.fault else {
        return fail(MPI_ERR_BUFFER, "a buffered message could not be sent");
    };
    explain(fault, status).context("a buffered message")
}

/// Waits until the buffer of something that ends is empty, and gives it back to the program.
pub(crate) fn release(call: &'static str, owner: BufferOwner) -> Result {
    if !enter().objects.bsend.has(owner) {
        return Ok(());
    }
    drain(call, owner)?;
    enter().objects.bsend.detach(owner);
    Ok(())
}

/// The same for a session and its communicators, or for all that belong to none.
pub(crate) fn release_all(call: &'static str, session: Option<MPI_Session>) -> Result {
    let owners = {
        let process = enter();
        let mut owners = process.objects.bsend.owners();
        owners.retain(|&owner| session_of(&process, owner) == session);
        owners
    };
    owners.into_iter().try_for_each(|owner| release(call, owner))
}

fn session_of(process: &Process, owner: BufferOwner) -> Option<MPI_Session> {
    match owner {
        BufferOwner::Process => None,
        BufferOwner::Comm(comm) => process.objects.sessions.origin(comm.0),
        BufferOwner::Session(session) => Some(session),
    }
}

/// A request for a buffer to be empty of what was in it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flush {
    owner: BufferOwner,
    /// Messages with lower numbers have to leave.
    before: u64,
}

/// Starts to wait until a buffer is empty of what is in it now.
pub(crate) fn start_flush(process: &mut Process, owner: BufferOwner) -> Result<MPI_Request> {
    let flush = Flush { owner, before: process.objects.bsend.next_number() };
    process.new_request(flush)
}

impl Request for Flush {
    fn progress(&mut self, process: &mut Process) -> Result<Progress> {
        let done = self.is_complete(process)?;
        Ok(if done { Progress::Ended(Ended::well(MPI_Status::EMPTY)) } else { Progress::Pending })
    }

    fn is_complete(&mut self, process: &mut Process) -> Result<bool> {
        let (engine, _, buffers) = process.split()?;
        let Some(attached) = buffers.get(self.owner) else { return Ok(true) };
        attached.reap(engine);
        Ok(attached.is_empty_before(self.before))
    }

    fn cancel(&mut self, _process: &mut Process) -> Result<Option<Callback>> {
        Err(fail(MPI_ERR_REQUEST, "the flush of a buffer cannot be cancelled"))
    }

    fn free(self: Box<Self>, _process: &mut Process, _handle: MPI_Request) -> Result<Option<Callback>> {
        Ok(None)
    }

    fn is_pending(&self, _process: &Process, _handle: MPI_Request) -> bool {
        true
    }

    fn waiting(&self, _process: &Process, call: &'static str) -> Waiting {
        Waiting { detail: WAITING.into(), ..Waiting::on(call) }
    }

    fn named(&self, _process: &Process) -> String {
        WAITING.into()
    }
}

/// Checks that the object which a buffer belongs to exists.
pub(crate) fn check(process: &mut Process, owner: BufferOwner) -> Result {
    process.engine()?;
    match owner {
        BufferOwner::Process => Ok(()),
        BufferOwner::Comm(comm) => process.comm(comm).map(|_| ()),
        BufferOwner::Session(session) => process.session(session).map(|_| ()),
    }
}

/// Attaches memory of the program's, or the library's if it is `MPI_BUFFER_AUTOMATIC`.
pub(crate) fn attach(owner: BufferOwner, buffer: ChoiceBufMut, size: i64) -> Result {
    let mut process = enter();
    check(&mut process, owner)?;
    let base = buffer.bytes();
    let automatic = base.addr() == MPI_BUFFER_AUTOMATIC;
    let Ok(bytes) = usize::try_from(size) else {
        return Err(fail(MPI_ERR_ARG, format!("size is {size}, but must not be negative")));
    };
    if base.is_null() && bytes > 0 {
        return Err(fail(MPI_ERR_BUFFER, format!("the buffer is null, but its size is {bytes}")));
    }
    if process.objects.bsend.has(owner) {
        return Err(fail(MPI_ERR_BUFFER, "a buffer is attached already: detach it first"));
    }
    process.objects.bsend.attach(Attached::new(owner, base, if automatic { 0 } else { bytes }));
    Ok(())
}

/// Detaches a buffer once it is empty: its address and size.
pub(crate) fn detach(call: &'static str, owner: BufferOwner) -> Result<(*mut c_void, usize)> {
    check(&mut enter(), owner)?;
    let failed = drain(call, owner);
    let detached = enter().objects.bsend.detach(owner);
    failed?;
    detached.ok_or_else(|| fail(MPI_ERR_BUFFER, "no buffer is attached: nothing to detach"))
}

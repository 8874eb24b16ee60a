//! Buffered mode (MPI 5.0 sections 3.4 and 3.6): a message is copied to memory that the program has attached, and
//! leaves from there as a standard send. The call never waits: a message that does not fit is an error.

use crate::core::entry::entry;
use crate::core::error::{Error, Result, fail};
use crate::core::process::{Process, ProcessEngine, enter};
use crate::core::wait::{self, Waiting};
use crate::p2p::buffers::{Attached, Owner};
use crate::p2p::messages::{self, Message, Outbound};
use crate::p2p::request::{Ended, Object, Progress, explain, no_request};
use std::ffi::{c_int, c_void};
use std::ops::Range;
use tern_abi::*;
use tern_engine::Mode;

entry! {
    /// Buffered send (section 3.4).
    fn MPI_Bsend, MPI_Bsend_c<W>(buf: *const c_void, count: W::Count, datatype: MPI_Datatype, dest: c_int, tag: c_int, comm: MPI_Comm) on comm {
        send_message(&mut enter(), &Message { buf, count: count.into(), datatype, rank: dest, tag, comm })
    }

    /// Buffered send as a request, which is complete from the start (section 3.7.2).
    fn MPI_Ibsend, MPI_Ibsend_c<W>(buf: *const c_void, count: W::Count, datatype: MPI_Datatype, dest: c_int, tag: c_int, comm: MPI_Comm, request: *mut MPI_Request) on comm {
        let request = crate::core::arguments::out("request", request)?;
        let mut process = enter();
        send_message(&mut process, &Message { buf, count: count.into(), datatype, rank: dest, tag, comm })?;
        *request = process.ended_request(Ended::well(MPI_Status::EMPTY))?;
        Ok(())
    }
}

unsafe fn send_message(process: &mut Process, message: &Message) -> Result {
    // SAFETY: the program vouches for the buffer.
    match unsafe { messages::outbound(process, message)? } {
        Some(outbound) => send(process, message.comm, &outbound),
        None => Ok(()),
    }
}

/// Sends a copy; or the message itself, if it can leave at once.
pub fn send(process: &mut Process, comm: MPI_Comm, message: &Outbound) -> Result {
    let Outbound { peer, envelope, ref buf, signature } = *message;
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
fn owner_for(process: &Process, comm: MPI_Comm) -> Option<Owner> {
    let session = process.sessions.origin(comm.0).map(Owner::Session);
    let owners = [Some(Owner::Comm(comm)), session, Some(Owner::Process)];
    owners.into_iter().flatten().find(|&owner| process.bsend.has(owner))
}

fn described(process: &Process, comm: MPI_Comm, message: &Outbound) -> String {
    let rank =
        process.comms.get(comm).and_then(|comm| comm.peers().rank_of(message.peer)).unwrap_or(message.peer);
    format!("the message of {} bytes to rank {rank} with tag {}", message.buf.len(), message.envelope.tag)
}

#[cold]
fn no_buffer(process: &Process, comm: MPI_Comm, message: &Outbound) -> Box<Error> {
    let what = described(process, comm, message);
    fail(
        MPI_ERR_BUFFER,
        format!("{what} needs a buffer: attach one by MPI_Buffer_attach or MPI_Comm_attach_buffer"),
    )
}

#[cold]
fn full(process: &Process, comm: MPI_Comm, message: &Outbound, size: usize, free: usize) -> Box<Error> {
    let what = described(process, comm, message);
    let need = message.buf.len().saturating_add(MPI_BSEND_OVERHEAD as usize);
    fail(
        MPI_ERR_BUFFER,
        format!(
            "{what} needs {need} bytes of the attached buffer (MPI_BSEND_OVERHEAD is {MPI_BSEND_OVERHEAD}); it has \
             {size}, of which {free} in one piece are free: attach a larger one, or flush it now and then"
        ),
    )
}

/// What is waited for where a buffer must become empty, for a person.
pub const WAITING: &str = "buffered messages have not left yet";

/// Waits until what the buffer of `owner` holds has left.
pub fn drain(call: &'static str, owner: Owner) -> Result {
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
pub fn release(call: &'static str, owner: Owner) -> Result {
    if !enter().bsend.has(owner) {
        return Ok(());
    }
    drain(call, owner)?;
    enter().bsend.detach(owner);
    Ok(())
}

/// The same for a session and its communicators, or for all that belong to none.
pub fn release_all(call: &'static str, session: Option<MPI_Session>) -> Result {
    let owners = {
        let process = enter();
        let mut owners = process.bsend.owners();
        owners.retain(|&owner| session_of(&process, owner) == session);
        owners
    };
    owners.into_iter().try_for_each(|owner| release(call, owner))
}

fn session_of(process: &Process, owner: Owner) -> Option<MPI_Session> {
    match owner {
        Owner::Process => None,
        Owner::Comm(comm) => process.sessions.origin(comm.0),
        Owner::Session(session) => Some(session),
    }
}

/// A request for a buffer to be empty of what was in it.
#[derive(Clone, Copy, Debug)]
pub struct Flush {
    owner: Owner,
    /// Messages with lower numbers have to leave.
    before: u64,
}

/// Starts to wait until a buffer is empty of what is in it now.
pub fn start_flush(process: &mut Process, owner: Owner) -> Result<MPI_Request> {
    let flush = Flush { owner, before: process.bsend.next_number() };
    process.new_request(Object::Flush(flush))
}

/// Where a flush stands; it is gone, and its handle null, when it has ended.
pub fn progress(process: &mut Process, request: &mut MPI_Request) -> Result<Progress> {
    if !is_complete(process, *request)? {
        return Ok(Progress::Pending);
    }
    process.requests.0.remove(request.0);
    *request = MPI_REQUEST_NULL;
    Ok(Progress::Ended(Ended::well(MPI_Status::EMPTY)))
}

/// Whether a flush has ended.
pub fn is_complete(process: &mut Process, request: MPI_Request) -> Result<bool> {
    let (engine, requests, buffers) = process.split()?;
    let flush = match requests.0.get(request.0) {
        Some(Object::Flush(flush)) => *flush,
        _ => return Err(no_request(request)),
    };
    let Some(attached) = buffers.get(flush.owner) else { return Ok(true) };
    attached.reap(engine);
    Ok(attached.is_empty_before(flush.before))
}

/// Checks that the object which a buffer belongs to exists.
pub fn check(process: &mut Process, owner: Owner) -> Result {
    process.engine()?;
    match owner {
        Owner::Process => Ok(()),
        Owner::Comm(comm) => process.comm(comm).map(|_| ()),
        Owner::Session(session) => process.session(session).map(|_| ()),
    }
}

/// Attaches memory of the program's, or the library's if it is `MPI_BUFFER_AUTOMATIC`.
pub fn attach(owner: Owner, buffer: *mut c_void, size: i64) -> Result {
    let mut process = enter();
    check(&mut process, owner)?;
    let automatic = buffer.addr() == MPI_BUFFER_AUTOMATIC;
    let Ok(bytes) = usize::try_from(size) else {
        return Err(fail(MPI_ERR_ARG, format!("size is {size}, but must not be negative")));
    };
    if buffer.is_null() && bytes > 0 {
        return Err(fail(MPI_ERR_BUFFER, format!("the buffer is null, but its size is {bytes}")));
    }
    if process.bsend.has(owner) {
        return Err(fail(MPI_ERR_BUFFER, "a buffer is attached already: detach it first"));
    }
    process.bsend.attach(Attached::new(owner, buffer, if automatic { 0 } else { bytes }));
    Ok(())
}

/// Detaches a buffer once it is empty: its address and size.
pub fn detach(call: &'static str, owner: Owner) -> Result<(usize, usize)> {
    check(&mut enter(), owner)?;
    let failed = drain(call, owner);
    let detached = enter().bsend.detach(owner);
    failed?;
    detached.ok_or_else(|| fail(MPI_ERR_BUFFER, "no buffer is attached: nothing to detach"))
}

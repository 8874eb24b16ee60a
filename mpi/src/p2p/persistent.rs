//! Persistent requests (MPI 5.0 section 3.9): arguments that are checked once and started many times.

use crate::coll;
use crate::core::arguments::{array, count, out};
use crate::core::entry::entry;
use crate::core::error::{Error, Result, fail};
use crate::core::handle::decode_request;
use crate::core::process::{Process, enter};
use crate::p2p::buffered;
use crate::p2p::messages::{self, FROM_NO_PROCESS, Inbound, Message, Outbound, TO_NO_PROCESS};
use crate::p2p::request::{Object, Progress, no_request};
use std::ffi::{c_int, c_void};
use tern_abi::*;
use tern_engine::{Mode, Started};

/// A persistent request. It keeps what its datatype and communicator were when it was made: both may be freed.
#[derive(Debug)]
pub struct Persistent {
    what: What,
    /// What the current start has started; inactive without one.
    pub active: Option<Started>,
}

/// What a start starts.
#[derive(Debug)]
enum What {
    Send(Mode, Outbound),
    /// In buffered mode, from the buffer that serves this communicator.
    Buffered(MPI_Comm, Outbound),
    Receive(Inbound),
    /// Nothing: with `MPI_PROC_NULL`, this is how it ends.
    Nothing(Started),
}

entry! {
    /// A persistent send, standard mode.
    fn MPI_Send_init, MPI_Send_init_c<W>(buf: *const c_void, count: W::Count, datatype: MPI_Datatype, dest: c_int, tag: c_int, comm: MPI_Comm, request: *mut MPI_Request) on comm {
        send_init(Mode::Standard, &Message { buf, count: count.into(), datatype, rank: dest, tag, comm }, request)
    }

    /// A persistent send, synchronous mode.
    fn MPI_Ssend_init, MPI_Ssend_init_c<W>(buf: *const c_void, count: W::Count, datatype: MPI_Datatype, dest: c_int, tag: c_int, comm: MPI_Comm, request: *mut MPI_Request) on comm {
        send_init(Mode::Synchronous, &Message { buf, count: count.into(), datatype, rank: dest, tag, comm }, request)
    }

    /// A persistent send, ready mode.
    fn MPI_Rsend_init, MPI_Rsend_init_c<W>(buf: *const c_void, count: W::Count, datatype: MPI_Datatype, dest: c_int, tag: c_int, comm: MPI_Comm, request: *mut MPI_Request) on comm {
        send_init(Mode::Ready, &Message { buf, count: count.into(), datatype, rank: dest, tag, comm }, request)
    }

    /// A persistent send, buffered mode.
    fn MPI_Bsend_init, MPI_Bsend_init_c<W>(buf: *const c_void, count: W::Count, datatype: MPI_Datatype, dest: c_int, tag: c_int, comm: MPI_Comm, request: *mut MPI_Request) on comm {
        let message = Message { buf, count: count.into(), datatype, rank: dest, tag, comm };
        init(request, |process| {
            let outbound = messages::outbound(process, &message)?;
            Ok(outbound.map_or(What::Nothing(TO_NO_PROCESS), |outbound| What::Buffered(comm, outbound)))
        })
    }

    /// A persistent receive.
    fn MPI_Recv_init, MPI_Recv_init_c<W>(buf: *mut c_void, count: W::Count, datatype: MPI_Datatype, source: c_int, tag: c_int, comm: MPI_Comm, request: *mut MPI_Request) on comm {
        let message = Message { buf, count: count.into(), datatype, rank: source, tag, comm };
        init(request, |process| {
            let inbound = messages::inbound(process, &message)?;
            Ok(inbound.map_or(What::Nothing(FROM_NO_PROCESS), What::Receive))
        })
    }

    /// Starts a persistent request.
    fn MPI_Start(request: *mut MPI_Request) {
        let request = *out("request", request)?;
        let mut process = enter();
        start(&mut process, request)?;
        drop(coll::serve(process));
        Ok(())
    }

    /// Starts several, in their order.
    fn MPI_Startall(count: c_int, array_of_requests: *mut MPI_Request) {
        let len = self::count("count", count.into())? as usize;
        let requests = array("array_of_requests", array_of_requests.cast_const(), len)?;
        let mut process = enter();
        for (index, &request) in requests.iter().enumerate() {
            start(&mut process, request).map_err(|error| error.context(&format!("request {index} of {len}")))?;
        }
        drop(coll::serve(process));
        Ok(())
    }
}

unsafe fn send_init(mode: Mode, message: &Message, request: *mut MPI_Request) -> Result {
    // SAFETY: the program vouches for the buffer from each start to its completion.
    let make = |process: &Process| unsafe { messages::outbound(process, message) };
    let what = |process: &Process| {
        Ok(make(process)?.map_or(What::Nothing(TO_NO_PROCESS), |outbound| What::Send(mode, outbound)))
    };
    // SAFETY: by the caller.
    unsafe { init(request, what) }
}

unsafe fn init(request: *mut MPI_Request, what: impl FnOnce(&Process) -> Result<What>) -> Result {
    let request = out("request", request)?;
    let mut process = enter();
    let what = what(&process)?;
    // SAFETY: not null; by the caller.
    unsafe { *request = process.new_request(Object::Persistent(Persistent { what, active: None }))? };
    Ok(())
}

#[inline]
fn start(process: &mut Process, request: MPI_Request) -> Result {
    let (engine, requests, _) = process.split()?;
    let persistent = match requests.0.get_mut(request.0) {
        Some(Object::Persistent(persistent)) if persistent.active.is_none() => persistent,
        Some(Object::Collective(collective)) if collective.is_persistent() => {
            return coll::begin(process, request);
        }
        found => return Err(not_startable(request, found)),
    };
    let started = match &persistent.what {
        What::Send(mode, to) => engine.send(*mode, to.peer, to.envelope, &to.buf, to.signature),
        What::Receive(from) => engine.receive(from.pattern, &from.buf, from.signature),
        What::Nothing(ends) => *ends,
        What::Buffered(comm, to) => {
            let (comm, to) = (*comm, to.clone());
            return start_buffered(process, request, comm, &to);
        }
    };
    persistent.active = Some(started);
    Ok(())
}

fn start_buffered(process: &mut Process, request: MPI_Request, comm: MPI_Comm, to: &Outbound) -> Result {
    buffered::send(process, comm, to).map_err(|error| error.at(comm))?;
    get(process, request)?.active = Some(TO_NO_PROCESS);
    Ok(())
}

#[cold]
fn not_startable(request: MPI_Request, found: Option<&mut Object>) -> Box<Error> {
    match found {
        Some(Object::Persistent(_)) => fail(
            MPI_ERR_REQUEST,
            "the persistent request is active: complete it by MPI_Wait or MPI_Test before it is started again",
        ),
        Some(_) => no_persistent(request),
        None if decode_request(request.0).is_some() => no_persistent(request),
        None if request == MPI_REQUEST_NULL => fail(MPI_ERR_REQUEST, "the request is MPI_REQUEST_NULL"),
        None => no_request(request),
    }
}

fn no_persistent(request: MPI_Request) -> Box<Error> {
    fail(MPI_ERR_REQUEST, format!("{:#x} is not a persistent request: only those can be started", request.0))
}

/// Where a persistent request stands; it becomes inactive when its start is complete.
pub fn progress(process: &mut Process, request: MPI_Request) -> Result<Progress> {
    let (engine, requests, _) = process.split()?;
    let Some(Object::Persistent(persistent)) = requests.0.get_mut(request.0) else {
        return Err(no_request(request));
    };
    let status = match persistent.active {
        None => return Ok(Progress::Inactive),
        Some(Started::Done(status)) => status,
        Some(Started::Pending(id)) => match engine.test(id) {
            Some(status) => status,
            None => return Ok(Progress::Pending),
        },
    };
    persistent.active = None;
    Ok(Progress::Ended(process.ended(&status)))
}

fn get(process: &mut Process, request: MPI_Request) -> Result<&mut Persistent> {
    match process.requests.0.get_mut(request.0) {
        Some(Object::Persistent(persistent)) => Ok(persistent),
        _ => Err(no_request(request)),
    }
}

//! Sending and receiving in one call (MPI 5.0 section 3.11).

use crate::core::arguments::out;
use crate::core::entry::entry;
use crate::core::error::Result;
use crate::core::process::{Process, enter};
use crate::core::wait::{self, Waiting};
use crate::p2p::complete::waiting_for;
use crate::p2p::messages::{self, FROM_NO_PROCESS, Message, Outbound, TO_NO_PROCESS};
use crate::p2p::request::{Ended, Object, Progress, explain, handle_of_started, no_request};
use crate::p2p::status;
use std::ffi::{c_int, c_void};
use tern_abi::*;
use tern_engine::{Mode, Started};
use tern_mem::UserBuf;

/// A send and a receive that are one request. Its status is the receive's.
#[derive(Clone, Copy, Debug)]
pub struct Pair {
    /// The receive.
    pub receive: Started,
    /// The send.
    pub send: Started,
}

entry! {
    /// Sends one message and receives another.
    fn MPI_Sendrecv, MPI_Sendrecv_c<W>(
        sendbuf: *const c_void, sendcount: W::Count, sendtype: MPI_Datatype, dest: c_int, sendtag: c_int,
        recvbuf: *mut c_void, recvcount: W::Count, recvtype: MPI_Datatype, source: c_int, recvtag: c_int,
        comm: MPI_Comm, status: *mut MPI_Status,
    ) on comm {
        let send = Message { buf: sendbuf, count: sendcount.into(), datatype: sendtype, rank: dest, tag: sendtag, comm };
        let receive = Message { buf: recvbuf, count: recvcount.into(), datatype: recvtype, rank: source, tag: recvtag, comm };
        exchange("MPI_Sendrecv", |process| start(process, &send, &receive), status)
    }

    /// Sends a message and receives another in its place.
    fn MPI_Sendrecv_replace, MPI_Sendrecv_replace_c<W>(
        buf: *mut c_void, count: W::Count, datatype: MPI_Datatype, dest: c_int, sendtag: c_int, source: c_int,
        recvtag: c_int, comm: MPI_Comm, status: *mut MPI_Status,
    ) on comm {
        let send = Message { buf, count: count.into(), datatype, rank: dest, tag: sendtag, comm };
        let receive = Message { rank: source, tag: recvtag, ..send };
        exchange("MPI_Sendrecv_replace", |process| replace(process, &send, &receive), status)
    }

    /// Starts to send one message and to receive another.
    fn MPI_Isendrecv, MPI_Isendrecv_c<W>(
        sendbuf: *const c_void, sendcount: W::Count, sendtype: MPI_Datatype, dest: c_int, sendtag: c_int,
        recvbuf: *mut c_void, recvcount: W::Count, recvtype: MPI_Datatype, source: c_int, recvtag: c_int,
        comm: MPI_Comm, request: *mut MPI_Request,
    ) on comm {
        let send = Message { buf: sendbuf, count: sendcount.into(), datatype: sendtype, rank: dest, tag: sendtag, comm };
        let receive = Message { buf: recvbuf, count: recvcount.into(), datatype: recvtype, rank: source, tag: recvtag, comm };
        hand_out(|process| start(process, &send, &receive), request)
    }

    /// Starts to send a message and to receive another in its place.
    fn MPI_Isendrecv_replace, MPI_Isendrecv_replace_c<W>(
        buf: *mut c_void, count: W::Count, datatype: MPI_Datatype, dest: c_int, sendtag: c_int, source: c_int,
        recvtag: c_int, comm: MPI_Comm, request: *mut MPI_Request,
    ) on comm {
        let send = Message { buf, count: count.into(), datatype, rank: dest, tag: sendtag, comm };
        let receive = Message { rank: source, tag: recvtag, ..send };
        hand_out(|process| replace(process, &send, &receive), request)
    }
}

/// Starts both, the receive first: what this rank sends to itself meets it there.
#[inline]
unsafe fn start(process: &mut Process, send: &Message, receive: &Message) -> Result<Pair> {
    // SAFETY: the program vouches for both buffers.
    let (outbound, inbound) =
        unsafe { (messages::outbound(process, send)?, messages::inbound(process, receive)?) };
    let receive = inbound.map_or(Ok(FROM_NO_PROCESS), |inbound| inbound.start(process))?;
    let send = outbound.map_or(Ok(TO_NO_PROCESS), |outbound| outbound.start(process, Mode::Standard))?;
    Ok(Pair { receive, send })
}

/// Starts both on one buffer: what is sent is a copy, unless it can go at once.
unsafe fn replace(process: &mut Process, send: &Message, receive: &Message) -> Result<Pair> {
    // SAFETY: the program vouches for the buffer.
    let (outbound, inbound) =
        unsafe { (messages::outbound(process, send)?, messages::inbound(process, receive)?) };
    let Some(outbound) = outbound else {
        let receive = inbound.map_or(Ok(FROM_NO_PROCESS), |inbound| inbound.start(process))?;
        return Ok(Pair { receive, send: TO_NO_PROCESS });
    };
    let Outbound { peer, envelope, ref buf, signature } = outbound;
    if signature == 0 && process.engine()?.send_at_once(Mode::Standard, peer, envelope, buf) {
        let receive = inbound.map_or(Ok(FROM_NO_PROCESS), |inbound| inbound.start(process))?;
        return Ok(Pair { receive, send: TO_NO_PROCESS });
    }
    let copy = UserBuf::owned(buf.len());
    UserBuf::copy(buf, 0, &copy, 0, buf.len());
    let receive = inbound.map_or(Ok(FROM_NO_PROCESS), |inbound| inbound.start(process))?;
    let send = process.engine()?.send(Mode::Standard, peer, envelope, &copy, signature);
    Ok(Pair { receive, send })
}

/// Starts both and waits for both.
unsafe fn exchange(
    call: &'static str,
    start: impl FnOnce(&mut Process) -> Result<Pair>,
    status: *mut MPI_Status,
) -> Result {
    let mut process = enter();
    let pair = start(&mut process)?;
    let ended = match pair.take(&mut process) {
        Some(ended) => ended,
        None => wait::until(
            process,
            |process| {
                let requests = pair.parts().into_iter().filter_map(handle_of_started).collect();
                Waiting { requests, ..waiting_for(process, call, pair.describe(process)) }
            },
            |process| pair.take(process),
        ),
    };
    // SAFETY: by the caller.
    unsafe { status::store(status, &ended.status) };
    ended.error.map_or(Ok(()), Err)
}

/// Starts both and makes one request of them.
unsafe fn hand_out(start: impl FnOnce(&mut Process) -> Result<Pair>, request: *mut MPI_Request) -> Result {
    let request = out("request", request)?;
    let mut process = enter();
    let pair = start(&mut process)?;
    let object = match pair.take(&mut process) {
        Some(ended) => Object::Ended(ended),
        None => Object::Pair(pair),
    };
    // SAFETY: not null; by the caller.
    unsafe { *request = process.new_request(object)? };
    Ok(())
}

impl Pair {
    /// How both ended, once both have; they are gone then.
    pub fn take(&self, process: &mut Process) -> Option<Ended> {
        if !self.is_complete(process) {
            return None;
        }
        let (received, sent) = (process.take_started(self.receive)?, process.take_started(self.send)?);
        let mut ended = process.ended(&received);
        ended.error = ended.error.or_else(|| sent.fault.map(|fault| explain(fault, &sent)));
        Some(ended)
    }

    /// Whether both have ended.
    pub fn is_complete(&self, process: &Process) -> bool {
        process.peek_started(self.receive).is_some() && process.peek_started(self.send).is_some()
    }

    /// The receive and the send.
    pub fn parts(&self) -> [Started; 2] {
        [self.receive, self.send]
    }

    /// What is still waited for, for a person.
    pub fn describe(&self, process: &Process) -> Option<tern_engine::engine::Description> {
        let open = self.parts().into_iter().find(|&part| process.peek_started(part).is_none())?;
        process.describe_started(open)
    }
}

/// Where a pair stands; it is gone, and its handle null, when both parts have ended.
pub fn progress(process: &mut Process, request: &mut MPI_Request) -> Result<Progress> {
    let pair = match process.requests.0.get(request.0) {
        Some(Object::Pair(pair)) => *pair,
        _ => return Err(no_request(*request)),
    };
    let Some(ended) = pair.take(process) else { return Ok(Progress::Pending) };
    process.requests.0.remove(request.0);
    *request = MPI_REQUEST_NULL;
    Ok(Progress::Ended(ended))
}

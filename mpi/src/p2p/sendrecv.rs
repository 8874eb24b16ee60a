//! Sending and receiving in one call (MPI 5.0 section 3.11).

use crate::core::boundary::{ChoiceBuf, ChoiceBufMut, Out};
use crate::core::entry::entry;
use crate::core::error::Result;
use crate::core::process::{Process, enter};
use crate::core::wait::{self, Waiting};
use crate::p2p::ended::Ended;
use crate::p2p::fault::explain;
use crate::p2p::messages::{self, CheckedSend, FROM_NO_PROCESS, MessageArguments, TO_NO_PROCESS};
use crate::p2p::request::waiting_for;
use crate::p2p::request::{Callback, Progress, Request, handle_of_started};
use crate::p2p::status::{self, StatusOut};
use std::ffi::c_int;
use tern_abi::*;
use tern_engine::{Mode, StartedMessage, engine::Description};
use tern_mem::UserBuf;

/// A send and a receive that are one request. Its status is the receive's.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SendrecvRequest {
    /// The receive.
    receive: StartedMessage,
    /// The send.
    send: StartedMessage,
}

entry! {
    /// Sends one message and receives another.
    safe fn MPI_Sendrecv, MPI_Sendrecv_c<W>(
        sendbuf: ChoiceBuf, sendcount: W::Count, sendtype: MPI_Datatype, dest: c_int, sendtag: c_int,
        recvbuf: ChoiceBufMut, recvcount: W::Count, recvtype: MPI_Datatype, source: c_int, recvtag: c_int,
        comm: MPI_Comm, status: StatusOut<'_>,
    ) on comm {
        let send = MessageArguments {
            buf: sendbuf, count: sendcount.into(), datatype: sendtype, rank: dest, tag: sendtag, comm,
        };
        let receive = MessageArguments {
            buf: recvbuf.into(), count: recvcount.into(), datatype: recvtype, rank: source, tag: recvtag, comm,
        };
        exchange("MPI_Sendrecv", |process| start(process, &send, &receive), status)
    }

    /// Sends a message and receives another in its place.
    safe fn MPI_Sendrecv_replace, MPI_Sendrecv_replace_c<W>(
        buf: ChoiceBufMut, count: W::Count, datatype: MPI_Datatype, dest: c_int, sendtag: c_int, source: c_int,
        recvtag: c_int, comm: MPI_Comm, status: StatusOut<'_>,
    ) on comm {
        let send = MessageArguments { buf: buf.into(), count: count.into(), datatype, rank: dest, tag: sendtag, comm };
        let receive = MessageArguments { rank: source, tag: recvtag, ..send };
        exchange("MPI_Sendrecv_replace", |process| replace(process, &send, &receive), status)
    }

    /// Starts to send one message and to receive another.
    safe fn MPI_Isendrecv, MPI_Isendrecv_c<W>(
        sendbuf: ChoiceBuf, sendcount: W::Count, sendtype: MPI_Datatype, dest: c_int, sendtag: c_int,
        recvbuf: ChoiceBufMut, recvcount: W::Count, recvtype: MPI_Datatype, source: c_int, recvtag: c_int,
        comm: MPI_Comm, request: Out<'_, MPI_Request>,
    ) on comm {
        let send = MessageArguments {
            buf: sendbuf, count: sendcount.into(), datatype: sendtype, rank: dest, tag: sendtag, comm,
        };
        let receive = MessageArguments {
            buf: recvbuf.into(), count: recvcount.into(), datatype: recvtype, rank: source, tag: recvtag, comm,
        };
        hand_out(|process| start(process, &send, &receive), request)
    }

    /// Starts to send a message and to receive another in its place.
    safe fn MPI_Isendrecv_replace, MPI_Isendrecv_replace_c<W>(
        buf: ChoiceBufMut, count: W::Count, datatype: MPI_Datatype, dest: c_int, sendtag: c_int, source: c_int,
        recvtag: c_int, comm: MPI_Comm, request: Out<'_, MPI_Request>,
    ) on comm {
        let send = MessageArguments { buf: buf.into(), count: count.into(), datatype, rank: dest, tag: sendtag, comm };
        let receive = MessageArguments { rank: source, tag: recvtag, ..send };
        hand_out(|process| replace(process, &send, &receive), request)
    }
}

/// Starts both, the receive first: what this rank sends to itself meets it there.
#[inline]
fn start(
    process: &mut Process,
    send: &MessageArguments,
    receive: &MessageArguments,
) -> Result<SendrecvRequest> {
    let (outbound, inbound) = (messages::outbound(process, send)?, messages::inbound(process, receive)?);
    let receive = inbound.map_or(Ok(FROM_NO_PROCESS), |inbound| inbound.start(process))?;
    let send = outbound.map_or(Ok(TO_NO_PROCESS), |outbound| outbound.start(process, Mode::Standard))?;
    Ok(SendrecvRequest { receive, send })
}

/// Starts both on one buffer: what is sent is a copy, unless it can go at once.
fn replace(
    process: &mut Process,
    send: &MessageArguments,
    receive: &MessageArguments,
) -> Result<SendrecvRequest> {
    let (outbound, inbound) = (messages::outbound(process, send)?, messages::inbound(process, receive)?);
    let Some(outbound) = outbound else {
        let receive = inbound.map_or(Ok(FROM_NO_PROCESS), |inbound| inbound.start(process))?;
        return Ok(SendrecvRequest { receive, send: TO_NO_PROCESS });
    };
    let CheckedSend { peer, envelope, ref buf, signature } = outbound;
    if signature == 0 && process.engine()?.send_at_once(Mode::Standard, peer, envelope, buf) {
        let receive = inbound.map_or(Ok(FROM_NO_PROCESS), |inbound| inbound.start(process))?;
        return Ok(SendrecvRequest { receive, send: TO_NO_PROCESS });
    }
    let copy = UserBuf::owned(buf.len());
    UserBuf::copy(buf, 0, &copy, 0, buf.len());
    let receive = inbound.map_or(Ok(FROM_NO_PROCESS), |inbound| inbound.start(process))?;
    let send = process.engine()?.send(Mode::Standard, peer, envelope, &copy, signature);
    Ok(SendrecvRequest { receive, send })
}

/// Starts both and waits for both.
fn exchange(
    call: &'static str,
    start: impl FnOnce(&mut Process) -> Result<SendrecvRequest>,
    status: StatusOut<'_>,
) -> Result {
    let mut process = enter();
    let pair = start(&mut process)?;
    let ended = match pair.take(&mut process) {
        Some(ended) => ended,
        None => wait::until(
            process,
            |process| {
                let requests = pair.parts().into_iter().filter_map(handle_of_started).collect();
                Waiting { requests, ..waiting_for(process, call, pair.described(process)) }
            },
            |process| pair.take(process),
        ),
    };
    status.store(&ended.status);
    ended.error.map_or(Ok(()), Err)
}

/// Starts both and makes one request of them.
fn hand_out(
    start: impl FnOnce(&mut Process) -> Result<SendrecvRequest>,
    request: Out<'_, MPI_Request>,
) -> Result {
    let mut process = enter();
    let pair = start(&mut process)?;
    let made = match pair.take(&mut process) {
        Some(ended) => process.ended_request(ended),
        None => process.new_request(pair),
    };
    // SAFETY: not null; by the caller.
    request.set(made?);
    Ok(())
}

impl SendrecvRequest {
    /// How both ended, once both have; they are gone then.
    fn take(&self, process: &mut Process) -> Option<Ended> {
        if !self.has_ended(process) {
            return None;
        }
        let (received, sent) = (process.take_started(self.receive)?, process.take_started(self.send)?);
        let mut ended = process.ended(&received);
        ended.error = ended.error.or_else(|| sent.fault.map(|fault| explain(fault, &sent)));
        Some(ended)
    }

    fn has_ended(&self, process: &Process) -> bool {
        self.both().into_iter().all(|part| process.peek_started(part).is_some())
    }

    fn both(&self) -> [StartedMessage; 2] {
        [self.receive, self.send]
    }
}

impl Request for SendrecvRequest {
    fn progress(&mut self, process: &mut Process) -> Result<Progress> {
        Ok(self.take(process).map_or(Progress::Pending, Progress::Ended))
    }

    fn is_complete(&mut self, process: &mut Process) -> Result<bool> {
        Ok(self.has_ended(process))
    }

    fn status(&self, process: &Process) -> Option<MPI_Status> {
        let received = process.peek_started(self.receive);
        Some(received.map_or(MPI_Status::EMPTY, |received| status::from_engine(&received)))
    }

    fn cancel(&mut self, process: &mut Process) -> Result<Option<Callback>> {
        process.cancel_all(&self.both()).map(|()| None)
    }

    fn free(self: Box<Self>, process: &mut Process, _handle: MPI_Request) -> Result<Option<Callback>> {
        self.both().into_iter().for_each(|part| process.detach_started(part));
        Ok(None)
    }

    fn is_pending(&self, process: &Process, _handle: MPI_Request) -> bool {
        !self.has_ended(process)
    }

    fn described(&self, process: &Process) -> Option<Description> {
        let open = self.both().into_iter().find(|&part| process.peek_started(part).is_none())?;
        process.describe_started(open)
    }

    fn parts(&self) -> Vec<StartedMessage> {
        self.both().into()
    }

    fn named(&self, _process: &Process) -> String {
        "a send and a receive".into()
    }
}

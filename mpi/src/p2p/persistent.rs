//! Persistent requests (MPI 5.0 section 3.9): arguments that are checked once and started many times.

use crate::coll;
use crate::core::arguments::count;
use crate::core::boundary::{ChoiceBuf, ChoiceBufMut, Out, OutArray};
use crate::core::entry::entry;
use crate::core::error::{Error, Result, fail};
use crate::core::handle::decode_request;
use crate::core::process::{Process, enter};
use crate::p2p::buffered;
use crate::p2p::messages::{
    self, CheckedReceive, CheckedSend, FROM_NO_PROCESS, MessageArguments, TO_NO_PROCESS,
};
use crate::p2p::request::{Callback, Progress, Request, no_persistent, no_request};
use crate::p2p::status;
use std::ffi::c_int;
use tern_abi::*;
use tern_engine::{Mode, StartedMessage, engine::Description};

/// A persistent request. It keeps what its datatype and communicator were when it was made: both may be freed.
#[derive(Debug)]
pub(crate) struct Persistent {
    what: PersistentStart,
    /// What the current start has started; inactive without one.
    active: Option<StartedMessage>,
}

/// What a start starts.
#[derive(Debug)]
enum PersistentStart {
    Send(Mode, CheckedSend),
    /// In buffered mode, from the buffer that serves this communicator.
    Buffered(MPI_Comm, CheckedSend),
    Receive(CheckedReceive),
    /// Nothing: with `MPI_PROC_NULL`, this is how it ends.
    Nothing(StartedMessage),
}

entry! {
    /// A persistent send, standard mode.
    safe fn MPI_Send_init, MPI_Send_init_c<W>(buf: ChoiceBuf, count: W::Count, datatype: MPI_Datatype, dest: c_int, tag: c_int, comm: MPI_Comm, request: Out<'_, MPI_Request>) on comm {
        send_init(
            Mode::Standard,
            &MessageArguments { buf, count: count.into(), datatype, rank: dest, tag, comm },
            request
        )
    }

    /// A persistent send, synchronous mode.
    safe fn MPI_Ssend_init, MPI_Ssend_init_c<W>(buf: ChoiceBuf, count: W::Count, datatype: MPI_Datatype, dest: c_int, tag: c_int, comm: MPI_Comm, request: Out<'_, MPI_Request>) on comm {
        send_init(
            Mode::Synchronous,
            &MessageArguments { buf, count: count.into(), datatype, rank: dest, tag, comm },
            request
        )
    }

    /// A persistent send, ready mode.
    safe fn MPI_Rsend_init, MPI_Rsend_init_c<W>(buf: ChoiceBuf, count: W::Count, datatype: MPI_Datatype, dest: c_int, tag: c_int, comm: MPI_Comm, request: Out<'_, MPI_Request>) on comm {
        send_init(Mode::Ready, &MessageArguments { buf, count: count.into(), datatype, rank: dest, tag, comm }, request)
    }

    /// A persistent send, buffered mode.
    safe fn MPI_Bsend_init, MPI_Bsend_init_c<W>(buf: ChoiceBuf, count: W::Count, datatype: MPI_Datatype, dest: c_int, tag: c_int, comm: MPI_Comm, request: Out<'_, MPI_Request>) on comm {
        let message = MessageArguments { buf, count: count.into(), datatype, rank: dest, tag, comm };
        init(request, |process| {
            let outbound = messages::outbound(process, &message)?;
            Ok(outbound.map_or(PersistentStart::Nothing(TO_NO_PROCESS), |outbound| PersistentStart::Buffered(comm, outbound)))
        })
    }

    /// Makes a persistent receive.
    safe fn MPI_Recv_init, MPI_Recv_init_c<W>(buf: ChoiceBufMut, count: W::Count, datatype: MPI_Datatype, source: c_int, tag: c_int, comm: MPI_Comm, request: Out<'_, MPI_Request>) on comm {
        let message = MessageArguments { buf: buf.into(), count: count.into(), datatype, rank: source, tag, comm };
        init(request, |process| {
            let inbound = messages::inbound(process, &message)?;
            Ok(inbound.map_or(PersistentStart::Nothing(FROM_NO_PROCESS), PersistentStart::Receive))
        })
    }

    /// Starts a persistent request.
    safe fn MPI_Start(request: &mut MPI_Request) {
        let mut process = enter();
        start(&mut process, *request)?;
        drop(coll::serve(process));
        Ok(())
    }

    /// Starts several persistent requests, in their order.
    safe fn MPI_Startall(count: c_int, array_of_requests: OutArray<'_, MPI_Request>) {
        let len = self::count("count", count.into())? as usize;
        let requests = &*array_of_requests.of(len)?;
        let mut process = enter();
        for (index, &request) in requests.iter().enumerate() {
            start(&mut process, request).map_err(|error| error.context(&format!("request {index} of {len}")))?;
        }
        drop(coll::serve(process));
        Ok(())
    }
}

fn send_init(mode: Mode, message: &MessageArguments, request: Out<'_, MPI_Request>) -> Result {
    init(request, |process| {
        let outbound = messages::outbound(process, message)?;
        Ok(outbound.map_or(PersistentStart::Nothing(TO_NO_PROCESS), |outbound| {
            PersistentStart::Send(mode, outbound)
        }))
    })
}

fn init(request: Out<'_, MPI_Request>, what: impl FnOnce(&Process) -> Result<PersistentStart>) -> Result {
    let mut process = enter();
    let what = what(&process)?;
    request.set(process.new_request(Persistent { what, active: None })?);
    Ok(())
}

#[inline]
fn start(process: &mut Process, request: MPI_Request) -> Result {
    process.engine()?;
    let Some(mut object) = process.objects.requests.lift(request) else { return Err(not_startable(request)) };
    let started = object.start(process, request);
    process.objects.requests.put_back(request, object);
    started
}

#[cold]
fn not_startable(request: MPI_Request) -> Box<Error> {
    match request {
        MPI_REQUEST_NULL => fail(MPI_ERR_REQUEST, "the request is MPI_REQUEST_NULL"),
        _ if decode_request(request.0).is_some() => no_persistent(request),
        _ => no_request(request),
    }
}

impl Request for Persistent {
    fn progress(&mut self, process: &mut Process) -> Result<Progress> {
        let Some(active) = self.active else { return Ok(Progress::Inactive) };
        let Some(status) = process.take_started(active) else { return Ok(Progress::Pending) };
        self.active = None;
        Ok(Progress::Ended(process.ended(&status)))
    }

    fn is_complete(&mut self, process: &mut Process) -> Result<bool> {
        Ok(!self.is_pending(process, MPI_REQUEST_NULL))
    }

    fn status(&self, process: &Process) -> Option<MPI_Status> {
        let ended = self.active.and_then(|active| process.peek_started(active));
        Some(ended.map_or(MPI_Status::EMPTY, |ended| status::from_engine(&ended)))
    }

    fn is_persistent(&self) -> bool {
        true
    }

    fn is_inactive(&self) -> bool {
        self.active.is_none()
    }

    fn start(&mut self, process: &mut Process, _handle: MPI_Request) -> Result {
        if self.active.is_some() {
            return Err(active_already());
        }
        let engine = process.engine()?;
        self.active = Some(match &self.what {
            PersistentStart::Send(mode, to) => {
                engine.send(*mode, to.peer, to.envelope, &to.buf, to.signature)
            }
            PersistentStart::Receive(from) => engine.receive(from.pattern, &from.buf, from.signature),
            PersistentStart::Nothing(ends) => *ends,
            PersistentStart::Buffered(comm, to) => {
                buffered::send(process, *comm, to).map_err(|error| error.at(*comm))?;
                TO_NO_PROCESS
            }
        });
        Ok(())
    }

    fn cancel(&mut self, process: &mut Process) -> Result<Option<Callback>> {
        let active = self.active.ok_or_else(not_active)?;
        process.cancel_all(&[active]).map(|()| None)
    }

    fn free(self: Box<Self>, process: &mut Process, _handle: MPI_Request) -> Result<Option<Callback>> {
        self.active.into_iter().for_each(|active| process.detach_started(active));
        Ok(None)
    }

    fn is_pending(&self, process: &Process, _handle: MPI_Request) -> bool {
        self.active.is_some_and(|active| process.peek_started(active).is_none())
    }

    fn described(&self, process: &Process) -> Option<Description> {
        process.describe_started(self.active?)
    }

    fn parts(&self) -> Vec<StartedMessage> {
        self.active.into_iter().collect()
    }

    fn named(&self, _process: &Process) -> String {
        "a persistent request".into()
    }
}

#[cold]
fn active_already() -> Box<Error> {
    fail(
        MPI_ERR_REQUEST,
        "the persistent request is active: complete it by MPI_Wait or MPI_Test before it is started again",
    )
}

#[cold]
fn not_active() -> Box<Error> {
    fail(MPI_ERR_REQUEST, "the persistent request is not active: nothing to cancel")
}

//! Probing, and receiving what a matched probe has taken out (MPI 5.0 section 3.8).

mod object;

pub(crate) use object::Message;

use crate::core::arguments::{buffer, receive_pattern};
use crate::core::boundary::{ChoiceBuf, ChoiceBufMut, Out};
use crate::core::entry::entry;
use crate::core::error::{Error, Result, fail};
use crate::core::given;
use crate::core::process::{LockGuard, Process, enter};
use crate::core::wait::{self, Waiting};
use crate::p2p::fault::explain;
use crate::p2p::messages;
use crate::p2p::request::handle_of;
use crate::p2p::request::waiting_for;
use crate::p2p::status::{self, StatusOut};
use std::ffi::c_int;
use tern_abi::*;
use tern_engine::{Pattern, Probed, StartedMessage, Status};

entry! {
    /// Waits for a message and leaves it where it is (section 3.8.1).
    safe fn MPI_Probe(source: c_int, tag: c_int, comm: MPI_Comm, status: StatusOut<'_>) on comm {
        let process = enter();
        let found = match receive_pattern(process.comm(comm)?, source, tag)? {
            Some(pattern) => as_status(&await_message(process, "MPI_Probe", pattern, source, tag, |process| {
                process.engine_mut()?.probe(&pattern)
            })),
            None => messages::no_process(),
        };
        status.store(&found);
        Ok(())
    }

    /// Asks whether a message has come, and leaves it where it is (section 3.8.1).
    safe fn MPI_Iprobe(source: c_int, tag: c_int, comm: MPI_Comm, flag: Out<'_, c_int>, status: StatusOut<'_>) on comm {
        let process = enter();
        let found = match receive_pattern(process.comm(comm)?, source, tag)? {
            Some(pattern) => {
                let what = asking("MPI_Iprobe", pattern, source, tag);
                look(process, what, |process| process.engine_mut()?.probe(&pattern)).map(|probed| as_status(&probed))
            }
            None => Some(messages::no_process()),
        };
        flag.set(c_int::from(found.is_some()));
        if let Some(found) = found {
            status.store(&found);
        }
        Ok(())
    }

    /// Waits for a message and takes it out of the matching (section 3.8.2).
    safe fn MPI_Mprobe(source: c_int, tag: c_int, comm: MPI_Comm, message: Out<'_, MPI_Message>, status: StatusOut<'_>) on comm {
        let process = enter();
        let (handle, found) = match receive_pattern(process.comm(comm)?, source, tag)? {
            Some(pattern) => {
                let (handle, probed) = await_message(process, "MPI_Mprobe", pattern, source, tag, |process| {
                    process.take_message(&pattern, comm).transpose()
                })?;
                (handle, as_status(&probed))
            }
            None => (MPI_MESSAGE_NO_PROC, messages::no_process()),
        };
        message.set(handle);
        status.store(&found);
        Ok(())
    }

    /// Asks whether a message has come, and takes it out of the matching if so (section 3.8.2).
    safe fn MPI_Improbe(source: c_int, tag: c_int, comm: MPI_Comm, flag: Out<'_, c_int>, message: Out<'_, MPI_Message>, status: StatusOut<'_>) on comm {
        let process = enter();
        let found = match receive_pattern(process.comm(comm)?, source, tag)? {
            Some(pattern) => {
                let what = asking("MPI_Improbe", pattern, source, tag);
                look(process, what, |process| process.take_message(&pattern, comm).transpose())
                    .transpose()?
                    .map(|(handle, probed)| (handle, as_status(&probed)))
            }
            None => Some((MPI_MESSAGE_NO_PROC, messages::no_process())),
        };
        flag.set(c_int::from(found.is_some()));
        if let Some((handle, found)) = found {
            message.set(handle);
            status.store(&found);
        }
        Ok(())
    }

    /// Receives a message that a matched probe has taken (section 3.8.3).
    safe fn MPI_Mrecv, MPI_Mrecv_c<W>(buf: ChoiceBufMut, count: W::Count, datatype: MPI_Datatype, message: &mut MPI_Message, status: StatusOut<'_>) {
        let mut process = enter();
        let (started, place) = receive(&mut process, buf.into(), count.into(), datatype, message)?;
        let received = match started {
            StartedMessage::Done(received) => received,
            StartedMessage::Pending(id) => wait::until(
                process,
                |process| {
                    waiting_for(process, "MPI_Mrecv", process.describe_started(started)).of(handle_of(id))
                },
                |process| process.engine_mut()?.test(id),
            ),
        };
        status.store(&status::from_engine(&received));
        received.fault.map_or(Ok(()), |fault| Err(explain(fault, &received).at(place)))
    }

    /// Starts to receive what a matched probe has taken out (section 3.8.3).
    safe fn MPI_Imrecv, MPI_Imrecv_c<W>(buf: ChoiceBufMut, count: W::Count, datatype: MPI_Datatype, message: &mut MPI_Message, request: Out<'_, MPI_Request>) {
        let mut process = enter();
        let (started, _) = receive(&mut process, buf.into(), count.into(), datatype, message)?;
        request.set(process.request(started)?);
        Ok(())
    }
}

/// The standard's form of what a probe has found.
fn as_status(probed: &Probed) -> MPI_Status {
    status::from_engine(&Status::of(&probed.envelope, probed.bytes))
}

/// Waits until `find` finds what `pattern` wants.
fn await_message<T>(
    process: LockGuard,
    call: &'static str,
    pattern: Pattern,
    source: c_int,
    tag: c_int,
    find: impl FnMut(&mut Process) -> Option<T>,
) -> T {
    wait::until(process, asking(call, pattern, source, tag), find)
}

/// What a probe waits for, for a person.
#[inline(always)]
fn asking(call: &'static str, pattern: Pattern, source: c_int, tag: c_int) -> impl Fn(&Process) -> Waiting {
    move |_| Waiting { bytes: None, ..Waiting::message(call, pattern.context, source, tag, 0).receiving() }
}

/// Looks for a message, and once more after taking what has arrived.
#[inline(always)]
fn look<T>(
    mut process: LockGuard,
    what: impl Fn(&Process) -> Waiting,
    mut find: impl FnMut(&mut Process) -> Option<T>,
) -> Option<T> {
    if let Some(found) = find(&mut process) {
        return Some(found);
    }
    process = wait::look_again(process, what);
    find(&mut process)
}

impl Process {
    /// Takes a message out of the unexpected messages and gives it a handle.
    fn take_message(&mut self, pattern: &Pattern, comm: MPI_Comm) -> Result<Option<(MPI_Message, Probed)>> {
        let Some((id, probed)) = self.engine()?.probe_matched(pattern) else { return Ok(None) };
        let handle = self.objects.messages.insert(Message { id, comm });
        let handle =
            handle.ok_or_else(|| fail(MPI_ERR_NO_MEM, "2^18 matched messages exist: receive some"))?;
        Ok(Some((MPI_Message(handle), probed)))
    }
}

/// Starts to receive a message that was taken out; its handle becomes null. Yields the communicator too, for errors.
fn receive(
    process: &mut Process,
    buf: ChoiceBuf,
    count: i64,
    datatype: MPI_Datatype,
    handle: &mut MPI_Message,
) -> Result<(StartedMessage, MPI_Comm)> {
    process.engine()?;
    let found = find(process, *handle)?;
    let place = found.map_or(MPI_COMM_SELF, |found| found.comm);
    let buf = buffer(process, buf, count, datatype).map_err(|error| error.at(place))?;
    let Some(Message { id, .. }) = found else {
        *handle = MPI_MESSAGE_NULL;
        return Ok((messages::FROM_NO_PROCESS, place));
    };
    let signature = process.signature(datatype, 1);
    let started =
        process.engine()?.receive_matched(id, &buf, signature).ok_or_else(|| no_message(*handle))?;
    process.objects.messages.remove(handle.0);
    *handle = MPI_MESSAGE_NULL;
    Ok((started, place))
}

/// The message of a handle; `None` if it is `MPI_MESSAGE_NO_PROC`.
fn find(process: &Process, handle: MPI_Message) -> Result<Option<Message>> {
    if handle == MPI_MESSAGE_NO_PROC {
        return Ok(None);
    }
    process.objects.messages.get(handle.0).copied().map(Some).ok_or_else(|| no_message(handle))
}

#[cold]
fn no_message(handle: MPI_Message) -> Box<Error> {
    if handle == MPI_MESSAGE_NULL {
        return fail(
            MPI_ERR_REQUEST,
            "the message is MPI_MESSAGE_NULL: take one by MPI_Mprobe or MPI_Improbe first",
        );
    }
    fail(
        MPI_ERR_REQUEST,
        format!("{:#x} is no message: it was received already, or never was one", given::handle(handle.0)),
    )
}

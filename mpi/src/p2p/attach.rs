//! Attaching and detaching buffers for buffered mode, and waiting until they are empty (MPI 5.0 section 3.6): for the
//! process, a communicator, a session.

use crate::core::boundary::{ChoiceBufMut, Out, OutPointer};
use crate::core::entry::entry;
use crate::core::error::Result;
use crate::core::process::enter;
use crate::datatype::query::fitting;
use crate::p2p::buffered::{attach, check, detach, drain, start_flush};
use crate::p2p::buffers::BufferOwner;
use tern_abi::*;

entry! {
    /// Attaches a buffer to the process.
    safe fn MPI_Buffer_attach, MPI_Buffer_attach_c<W>(buffer: ChoiceBufMut, size: W::Count) {
        attach(BufferOwner::Process, buffer, size.into())
    }

    /// Detaches the buffer of messages in buffered mode, once its messages have left.
    safe fn MPI_Buffer_detach, MPI_Buffer_detach_c<W>(buffer_addr: OutPointer<'_>, size: Out<'_, W::Count>) {
        hand_back("MPI_Buffer_detach", BufferOwner::Process, buffer_addr, size)
    }

    /// Waits until the messages of a buffer have left.
    safe fn MPI_Buffer_flush() {
        flush("MPI_Buffer_flush", BufferOwner::Process)
    }

    /// Starts to wait until a buffer's messages have left: `MPI_Buffer_flush` as a request.
    safe fn MPI_Buffer_iflush(request: Out<'_, MPI_Request>) {
        iflush(BufferOwner::Process, request)
    }

    /// Attaches a buffer to a communicator.
    safe fn MPI_Comm_attach_buffer, MPI_Comm_attach_buffer_c<W>(comm: MPI_Comm, buffer: ChoiceBufMut, size: W::Count) on comm {
        attach(BufferOwner::Comm(comm), buffer, size.into())
    }

    /// Detaches a communicator's buffer, once its messages have left.
    safe fn MPI_Comm_detach_buffer, MPI_Comm_detach_buffer_c<W>(comm: MPI_Comm, buffer_addr: OutPointer<'_>, size: Out<'_, W::Count>) on comm {
        hand_back("MPI_Comm_detach_buffer", BufferOwner::Comm(comm), buffer_addr, size)
    }

    /// Waits until the messages of a communicator's buffer have left.
    safe fn MPI_Comm_flush_buffer(comm: MPI_Comm) on comm {
        flush("MPI_Comm_flush_buffer", BufferOwner::Comm(comm))
    }

    /// Starts to wait until the messages of a communicator's buffer have left: `MPI_Comm_flush_buffer` as a request.
    safe fn MPI_Comm_iflush_buffer(comm: MPI_Comm, request: Out<'_, MPI_Request>) on comm {
        iflush(BufferOwner::Comm(comm), request)
    }

    /// Attaches a buffer to a session.
    safe fn MPI_Session_attach_buffer, MPI_Session_attach_buffer_c<W>(session: MPI_Session, buffer: ChoiceBufMut, size: W::Count) on session {
        attach(BufferOwner::Session(session), buffer, size.into())
    }

    /// Detaches a session's buffer, once its messages have left.
    safe fn MPI_Session_detach_buffer, MPI_Session_detach_buffer_c<W>(session: MPI_Session, buffer_addr: OutPointer<'_>, size: Out<'_, W::Count>) on session {
        hand_back("MPI_Session_detach_buffer", BufferOwner::Session(session), buffer_addr, size)
    }

    /// Waits until the messages of a session's buffer have left.
    safe fn MPI_Session_flush_buffer(session: MPI_Session) on session {
        flush("MPI_Session_flush_buffer", BufferOwner::Session(session))
    }

    /// Starts to wait until the messages of a session's buffer have left: `MPI_Session_flush_buffer` as a request.
    safe fn MPI_Session_iflush_buffer(session: MPI_Session, request: Out<'_, MPI_Request>) on session {
        iflush(BufferOwner::Session(session), request)
    }
}

/// Detaches, and tells the program which buffer it has back.
fn hand_back<T: TryFrom<i64> + Copy>(
    call: &'static str,
    owner: BufferOwner,
    address: OutPointer<'_>,
    size: Out<'_, T>,
) -> Result {
    let (base, bytes) = detach(call, owner)?;
    address.set(base);
    if let Some(bytes) = fitting(bytes as i64) {
        size.set(bytes);
    }
    Ok(())
}

fn flush(call: &'static str, owner: BufferOwner) -> Result {
    check(&mut enter(), owner)?;
    drain(call, owner)
}

fn iflush(owner: BufferOwner, request: Out<'_, MPI_Request>) -> Result {
    let mut process = enter();
    check(&mut process, owner)?;
    request.set(start_flush(&mut process, owner)?);
    Ok(())
}

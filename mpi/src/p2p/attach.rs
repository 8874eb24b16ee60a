//! Attaching and detaching buffers for buffered mode, and waiting until they are empty (MPI 5.0 section 3.6): for the
//! process, a communicator, a session.

use crate::core::arguments::out;
use crate::core::entry::entry;
use crate::core::error::Result;
use crate::core::process::enter;
use crate::datatype::query::put;
use crate::p2p::buffered::{attach, check, detach, drain, start_flush};
use crate::p2p::buffers::Owner;
use std::ffi::c_void;
use tern_abi::*;

entry! {
    /// Attaches a buffer to the process.
    fn MPI_Buffer_attach, MPI_Buffer_attach_c<W>(buffer: *mut c_void, size: W::Count) {
        attach(Owner::Process, buffer, size.into())
    }

    /// Detaches it, once its messages have left.
    fn MPI_Buffer_detach, MPI_Buffer_detach_c<W>(buffer_addr: *mut c_void, size: *mut W::Count) {
        hand_back("MPI_Buffer_detach", Owner::Process, buffer_addr, size)
    }

    /// Waits until its messages have left.
    fn MPI_Buffer_flush() {
        flush("MPI_Buffer_flush", Owner::Process)
    }

    /// The same as a request.
    fn MPI_Buffer_iflush(request: *mut MPI_Request) {
        iflush(Owner::Process, request)
    }

    /// Attaches a buffer to a communicator.
    fn MPI_Comm_attach_buffer, MPI_Comm_attach_buffer_c<W>(comm: MPI_Comm, buffer: *mut c_void, size: W::Count) on comm {
        attach(Owner::Comm(comm), buffer, size.into())
    }

    /// Detaches it, once its messages have left.
    fn MPI_Comm_detach_buffer, MPI_Comm_detach_buffer_c<W>(comm: MPI_Comm, buffer_addr: *mut c_void, size: *mut W::Count) on comm {
        hand_back("MPI_Comm_detach_buffer", Owner::Comm(comm), buffer_addr, size)
    }

    /// Waits until its messages have left.
    fn MPI_Comm_flush_buffer(comm: MPI_Comm) on comm {
        flush("MPI_Comm_flush_buffer", Owner::Comm(comm))
    }

    /// The same as a request.
    fn MPI_Comm_iflush_buffer(comm: MPI_Comm, request: *mut MPI_Request) on comm {
        iflush(Owner::Comm(comm), request)
    }

    /// Attaches a buffer to a session.
    fn MPI_Session_attach_buffer, MPI_Session_attach_buffer_c<W>(session: MPI_Session, buffer: *mut c_void, size: W::Count) on session {
        attach(Owner::Session(session), buffer, size.into())
    }

    /// Detaches it, once its messages have left.
    fn MPI_Session_detach_buffer, MPI_Session_detach_buffer_c<W>(session: MPI_Session, buffer_addr: *mut c_void, size: *mut W::Count) on session {
        hand_back("MPI_Session_detach_buffer", Owner::Session(session), buffer_addr, size)
    }

    /// Waits until its messages have left.
    fn MPI_Session_flush_buffer(session: MPI_Session) on session {
        flush("MPI_Session_flush_buffer", Owner::Session(session))
    }

    /// The same as a request.
    fn MPI_Session_iflush_buffer(session: MPI_Session, request: *mut MPI_Request) on session {
        iflush(Owner::Session(session), request)
    }
}

/// Detaches, and tells the program which buffer it has back.
unsafe fn hand_back<T: TryFrom<i64>>(
    call: &'static str,
    owner: Owner,
    address: *mut c_void,
    size: *mut T,
) -> Result {
    let (address, size) = (out("buffer_addr", address)?.cast::<usize>(), out("size", size)?);
    let (base, bytes) = detach(call, owner)?;
    // SAFETY: not null; the program says that a pointer is to be written there, wherever it lies.
    unsafe { address.write_unaligned(base) };
    // SAFETY: by the caller; `size` is not null.
    unsafe { put(size, bytes as i64) }
}

fn flush(call: &'static str, owner: Owner) -> Result {
    check(&mut enter(), owner)?;
    drain(call, owner)
}

unsafe fn iflush(owner: Owner, request: *mut MPI_Request) -> Result {
    let request = out("request", request)?;
    let mut process = enter();
    check(&mut process, owner)?;
    // SAFETY: not null; by the caller.
    unsafe { *request = start_flush(&mut process, owner)? };
    Ok(())
}

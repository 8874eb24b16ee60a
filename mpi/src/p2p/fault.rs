//! What went wrong with a message, in words.

use crate::core::error::{Error, fail};
use tern_abi::*;
use tern_engine::{MessageFault, Status};
use tern_mem::Basic;
use tern_transport::TransferError;

/// An error for what went wrong with a message.
#[cold]
pub(crate) fn explain(fault: MessageFault, status: &Status) -> Box<Error> {
    let from = format!("message from rank {} with tag {}", status.source, status.tag);
    match fault {
        MessageFault::Truncated { sent, room } => fail(
            MPI_ERR_TRUNCATE,
            format!("the {from} has {sent} bytes, but the receive buffer only {room}: it was cut"),
        ),
        MessageFault::PartnerFreed => fail(
            MPI_ERR_REQUEST,
            "the other side of this partitioned communication has freed its request: the two sides were made by the \
             same number of inits, and no start will ever meet this one",
        ),
        MessageFault::Refused(refusal) => {
            let which = format!("the access of this request to rank {} of the window", status.source);
            crate::rma::refused::refused(&which, refusal)
        }
        MessageFault::NotReady => fail(
            MPI_ERR_OTHER,
            format!(
                "the {from} was sent in ready mode, but this rank had not posted its receive (section 3.4)"
            ),
        ),
        MessageFault::Signature { theirs, ours } => {
            let (sent, wanted) = (Basic::with_signature(theirs, status.bytes), one_of(ours));
            let sent = sent.map_or("a mix of basic types", Basic::name);
            let wanted = wanted.map_or("another sequence of basic types", Basic::name);
            let bytes = status.bytes;
            let why = "TERN_CHECK=types, section 3.3.1";
            fail(
                MPI_ERR_TYPE,
                format!("the {from} has {bytes} bytes of {sent}, but the receive is for {wanted} ({why})"),
            )
        }
        MessageFault::Transfer(TransferError::Os(number @ (libc::EPERM | libc::ENOSYS))) => fail(
            MPI_ERR_OTHER,
            format!(
                "the {from} could not be copied: {}. The system let ranks copy each other's memory when the job began, and does not any more: \
                 a rank has changed its user or what it may do since (setuid, PR_SET_DUMPABLE, seccomp). TERN_CMA=0 copies without it",
                std::io::Error::from_raw_os_error(number)
            ),
        ),
        MessageFault::Transfer(TransferError::Os(number)) => fail(
            MPI_ERR_BUFFER,
            format!(
                "the {from} could not be copied: {}; is one of the two buffers not mapped?",
                std::io::Error::from_raw_os_error(number)
            ),
        ),
        MessageFault::Transfer(TransferError::OwnMemory { base, len }) => fail(
            MPI_ERR_BUFFER,
            format!(
                "this process cannot use the memory of its buffer, {len} bytes at {base:#x}: is it memory of a device, was it \
                 freed, or may it only be read?"
            ),
        ),
        MessageFault::Transfer(TransferError::PeersMemory) => fail(
            MPI_ERR_BUFFER,
            "the message did not come over, since the other rank cannot use the memory of its buffer; its own call says \
             where that lies",
        ),
        MessageFault::Transfer(TransferError::BadKey) => {
            fail(MPI_ERR_INTERN, format!("the {from} named a shared copy that does not exist"))
        }
    }
}

/// The basic type that a receive is for, if it is one.
fn one_of(signature: u64) -> Option<Basic> {
    Basic::ALL.into_iter().find_map(|basic| Basic::with_signature(signature, basic.size() as u64))
}

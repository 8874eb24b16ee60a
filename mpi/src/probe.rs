//! Probing, matched probes and their receives, cancelling (MPI 5.0 section 3.8).

use tern_abi::MPI_Comm;
use tern_engine::MessageId;

/// A message that a matched probe has taken out.
#[derive(Clone, Copy, Debug)]
pub struct Message {
    /// The engine's number; `None` for `MPI_MESSAGE_NO_PROC`'s kind.
    pub id: MessageId,
    /// The communicator that it came on.
    pub comm: MPI_Comm,
}

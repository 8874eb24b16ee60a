//! Messages that were taken out: the object behind a handle.

use tern_abi::*;
use tern_engine::MessageId;

/// A message that a matched probe has taken out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Message {
    /// The engine's number.
    pub id: MessageId,
    /// The communicator that it came on.
    pub comm: MPI_Comm,
}

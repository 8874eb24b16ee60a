//! What calls on datatypes share.

use crate::core::error::Result;
use crate::core::process::{LockGuard, Process, enter};
use tern_abi::*;

/// Makes a datatype fit for messages.
pub(crate) fn commit(process: &mut Process, datatype: MPI_Datatype) -> Result {
    let found = process.objects.types.get(datatype)?.clone();
    found.commit();
    if process.checks.types {
        process.engine()?.learn_type(&found);
    }
    Ok(())
}

/// Enters the library for a call that needs MPI to be initialized.
pub(crate) fn running() -> Result<LockGuard> {
    let mut process = enter();
    process.engine()?;
    Ok(process)
}

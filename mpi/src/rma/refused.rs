//! What a target's refusal means, in words.

use crate::core::error::{Error, fail};
use tern_abi::*;
use tern_engine::rma::{RefusedAccess, TargetRefusal};

/// The error of an access that its target refuses.
#[cold]
pub(crate) fn refused(which: &str, RefusedAccess { why, at }: RefusedAccess) -> Box<Error> {
    let from = match at {
        RefusedAccess::SOMEWHERE => String::new(),
        at => format!(" from displacement {at:#x} (in bytes) on"),
    };
    match why {
        TargetRefusal::Outside => fail(
            MPI_ERR_RMA_RANGE,
            format!(
                "{which} was refused by that rank: not all of the bytes{from} are attached to its window"
            ),
        ),
        TargetRefusal::Unmapped => fail(
            MPI_ERR_RMA_RANGE,
            format!(
                "{which} was refused by that rank: not all of the bytes{from} are memory of its process, or may be written"
            ),
        ),
        TargetRefusal::Malformed => fail(
            MPI_ERR_INTERN,
            format!("{which} was refused by that rank: its engine did not understand it"),
        ),
    }
}

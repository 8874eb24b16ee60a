//! What a target's refusal means, in words.

use crate::core::error::{Error, fail};
use tern_abi::*;
use tern_engine::rma::TargetRefusal;

/// The error of an access that its target refuses.
#[cold]
pub fn refused(which: &str, refusal: TargetRefusal) -> Box<Error> {
    match refusal {
        TargetRefusal::Outside => fail(
            MPI_ERR_RMA_RANGE,
            format!("{which} was refused by that rank: not all of the bytes are attached to its window"),
        ),
        TargetRefusal::Unmapped => fail(
            MPI_ERR_RMA_RANGE,
            format!(
                "{which} was refused by that rank: not all of the bytes are memory of its process, or may be written"
            ),
        ),
        TargetRefusal::Malformed => fail(
            MPI_ERR_INTERN,
            format!("{which} was refused by that rank: its engine did not understand it"),
        ),
    }
}

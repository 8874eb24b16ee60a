//! The layout of `MPI_Status` (section 3.2.5, chapter 20).

use std::ffi::c_int;

/// What is known of a message that has been received: 32 bytes.
///
/// The standard leaves `MPI_internal` to the library; the engine documents what it keeps there.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(non_snake_case)]
pub struct MPI_Status {
    /// Rank of the sender.
    pub MPI_SOURCE: c_int,
    /// Tag of the message.
    pub MPI_TAG: c_int,
    /// Error code; set by calls that complete several requests only.
    pub MPI_ERROR: c_int,
    /// The library's own words.
    pub MPI_internal: [c_int; 5],
}

const _: () = assert!(size_of::<MPI_Status>() == 32 && align_of::<MPI_Status>() == 4);

impl MPI_Status {
    /// The empty status (section 3.7.3): any source, any tag, success, no bytes.
    pub const EMPTY: Self = Self {
        MPI_SOURCE: crate::MPI_ANY_SOURCE,
        MPI_TAG: crate::MPI_ANY_TAG,
        MPI_ERROR: crate::MPI_SUCCESS,
        MPI_internal: [0; 5],
    };
}

impl Default for MPI_Status {
    fn default() -> Self {
        Self::EMPTY
    }
}

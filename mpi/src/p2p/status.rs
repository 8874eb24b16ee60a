//! `MPI_Status`: what the library keeps in it.
//!
//! Words 0 and 1 of `MPI_internal` are the number of bytes received, low half first; word 2 is 1 when the
//! communication was cancelled.

use tern_abi::MPI_Status;
use tern_engine::Status;

/// The standard's form of a status.
#[inline]
pub fn from_engine(status: &Status) -> MPI_Status {
    let mut out = MPI_Status::EMPTY;
    out.MPI_SOURCE = status.source as i32;
    out.MPI_TAG = status.tag;
    set_bytes(&mut out, status.bytes);
    out.MPI_internal[2] = i32::from(status.cancelled);
    out
}

/// Bytes received.
pub fn bytes(status: &MPI_Status) -> u64 {
    u64::from(status.MPI_internal[0] as u32) | u64::from(status.MPI_internal[1] as u32) << 32
}

/// Sets the bytes received.
#[inline]
pub fn set_bytes(status: &mut MPI_Status, bytes: u64) {
    status.MPI_internal[0] = bytes as u32 as i32;
    status.MPI_internal[1] = (bytes >> 32) as u32 as i32;
}

/// Whether the communication was cancelled.
pub fn cancelled(status: &MPI_Status) -> bool {
    status.MPI_internal[2] != 0
}

/// Marks it as cancelled or not.
pub fn set_cancelled(status: &mut MPI_Status, cancelled: bool) {
    status.MPI_internal[2] = i32::from(cancelled);
}

/// Writes a status to the program, except for its error field (MPI 5.0 section 3.2.5), unless it is ignored.
///
/// # Safety
/// `to` is `MPI_STATUS_IGNORE` (null) or points to a status.
#[inline]
pub unsafe fn store(to: *mut MPI_Status, status: &MPI_Status) {
    if to.is_null() {
        return;
    }
    // SAFETY: by the caller.
    unsafe {
        let error = (*to).MPI_ERROR;
        *to = *status;
        (*to).MPI_ERROR = error;
    }
}

/// Writes how the engine says that a message ended, as [`store`].
///
/// # Safety
/// As [`store`].
#[inline]
pub unsafe fn store_from(to: *mut MPI_Status, status: &Status) {
    if !to.is_null() {
        // SAFETY: by the caller.
        unsafe { store(to, &from_engine(status)) };
    }
}

/// Writes the empty status (section 3.7.3), whose error field is set, unless it is ignored.
///
/// # Safety
/// `to` is `MPI_STATUS_IGNORE` (null) or points to a status.
pub unsafe fn store_empty(to: *mut MPI_Status) {
    if !to.is_null() {
        // SAFETY: by the caller.
        unsafe { *to = MPI_Status::EMPTY };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_byte_counts_survive() {
        let mut status = MPI_Status::EMPTY;
        set_bytes(&mut status, 0x1234_5678_9abc_def0);
        assert_eq!(bytes(&status), 0x1234_5678_9abc_def0);
    }
}

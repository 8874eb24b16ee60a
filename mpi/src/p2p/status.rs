//! `MPI_Status`: what the library keeps in it.
//!
//! Words 0 and 1 of `MPI_internal` are the number of bytes received, low half first; word 2 is 1 when the
//! communication was cancelled.

use crate::core::boundary::Argument;
use crate::core::error::Result;
use std::ffi::c_int;
use std::marker::PhantomData;
use tern_abi::MPI_Status;
use tern_engine::{Envelope, Status};

/// The standard's form of a status.
#[inline]
pub(crate) fn from_engine(status: &Status) -> MPI_Status {
    let mut out = MPI_Status::EMPTY;
    out.MPI_SOURCE = status.source as i32;
    out.MPI_TAG = status.tag;
    set_bytes(&mut out, status.bytes);
    out.MPI_internal[2] = i32::from(status.cancelled);
    out
}

/// Bytes received.
pub(crate) fn bytes(status: &MPI_Status) -> u64 {
    u64::from(status.MPI_internal[0] as u32) | u64::from(status.MPI_internal[1] as u32) << 32
}

/// Sets the bytes received.
#[inline]
pub(crate) fn set_bytes(status: &mut MPI_Status, bytes: u64) {
    status.MPI_internal[0] = bytes as u32 as i32;
    status.MPI_internal[1] = (bytes >> 32) as u32 as i32;
}

/// Whether the communication was cancelled.
pub(crate) fn cancelled(status: &MPI_Status) -> bool {
    status.MPI_internal[2] != 0
}

/// Marks it as cancelled or not.
pub(crate) fn set_cancelled(status: &mut MPI_Status, cancelled: bool) {
    status.MPI_internal[2] = i32::from(cancelled);
}

/// The place for a status; what is written there is lost if it is `MPI_STATUS_IGNORE`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StatusOut<'a> {
    place: *mut MPI_Status,
    call: PhantomData<&'a mut MPI_Status>,
}

impl StatusOut<'_> {
    /// No place: `MPI_STATUS_IGNORE`.
    pub(crate) const IGNORE: Self = StatusOut { place: std::ptr::null_mut(), call: PhantomData };

    /// Writes a status to the program, except for its error field (MPI 5.0 section 3.2.5), unless it is ignored.
    #[inline]
    pub(crate) fn store(self, status: &MPI_Status) {
        // SAFETY: by `Argument::from_c`, null or a status that nobody else uses during the call.
        if let Some(place) = unsafe { self.place.as_mut() } {
            let error = place.MPI_ERROR;
            *place = *status;
            place.MPI_ERROR = error;
        }
    }

    /// Writes how the engine says that a message ended, as [`StatusOut::store`].
    #[inline]
    pub(crate) fn store_from(self, status: &Status) {
        if !self.place.is_null() {
            self.store(&from_engine(status));
        }
    }

    /// Writes that a message with this envelope and so many bytes has come, as [`StatusOut::store`].
    #[inline]
    pub(crate) fn store_received(self, envelope: &Envelope, bytes: u64) {
        if !self.place.is_null() {
            self.store(&from_engine(&Status::of(envelope, bytes)));
        }
    }

    /// Writes that so many bytes were moved, as [`StatusOut::store`].
    #[inline]
    pub(crate) fn store_bytes(self, bytes: u64) {
        if !self.place.is_null() {
            let mut status = MPI_Status::EMPTY;
            set_bytes(&mut status, bytes);
            self.store(&status);
        }
    }

    /// Writes the empty status (section 3.7.3), whose error field is set, unless it is ignored.
    pub(crate) fn store_empty(self) {
        // SAFETY: as in `store`.
        if let Some(place) = unsafe { self.place.as_mut() } {
            *place = MPI_Status::EMPTY;
        }
    }

    /// Sets the error field, unless the status is ignored.
    pub(crate) fn set_error(self, code: c_int) {
        // SAFETY: as in `store`.
        if let Some(place) = unsafe { self.place.as_mut() } {
            place.MPI_ERROR = code;
        }
    }
}

impl Argument for StatusOut<'_> {
    type C = *mut MPI_Status;

    #[inline(always)]
    unsafe fn from_c(_: &'static str, place: *mut MPI_Status) -> Result<Self> {
        Ok(StatusOut { place, call: PhantomData })
    }
}

/// The places for several statuses, or `MPI_STATUSES_IGNORE`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StatusArray<'a>(StatusOut<'a>);

impl<'a> StatusArray<'a> {
    /// The place for one; there are as many as the standard demands.
    #[inline(always)]
    pub(crate) fn at(self, index: usize) -> StatusOut<'a> {
        self.after(index).0
    }

    /// The places from one on.
    #[inline(always)]
    pub(crate) fn after(self, index: usize) -> StatusArray<'a> {
        let place = self.0.place;
        let place = if place.is_null() { place } else { place.wrapping_add(index) };
        StatusArray(StatusOut { place, call: PhantomData })
    }
}

/// The places for one status.
impl<'a> From<StatusOut<'a>> for StatusArray<'a> {
    #[inline(always)]
    fn from(status: StatusOut<'a>) -> Self {
        StatusArray(status)
    }
}

impl Argument for StatusArray<'_> {
    type C = *mut MPI_Status;

    #[inline(always)]
    unsafe fn from_c(name: &'static str, places: *mut MPI_Status) -> Result<Self> {
        // SAFETY: the same contract.
        unsafe { StatusOut::from_c(name, places) }.map(StatusArray)
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

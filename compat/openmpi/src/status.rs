//! The status of Open MPI: source, tag, error, whether it was cancelled, bytes received.

use std::ffi::c_int;

use tern_abi::MPI_Status;
use tern_bridge::foreign::{ForeignStatus, rank_in, rank_out, tag_in, tag_out};

use crate::abi::OpenMpi;

/// `MPI_Status`
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct OpenMpiStatus {
    source: c_int,
    tag: c_int,
    error: c_int,
    cancelled: c_int,
    bytes: u64,
}

const _: () = assert!(size_of::<OpenMpiStatus>() == 24);

impl ForeignStatus for OpenMpiStatus {
    #[inline(always)]
    fn inner(&self) -> MPI_Status {
        let mut inner = MPI_Status::EMPTY;
        inner.MPI_SOURCE = rank_in::<OpenMpi>(self.source);
        inner.MPI_TAG = tag_in::<OpenMpi>(self.tag);
        inner.MPI_internal[0] = self.bytes as u32 as c_int;
        inner.MPI_internal[1] = (self.bytes >> 32) as u32 as c_int;
        inner.MPI_internal[2] = self.cancelled;
        inner
    }

    #[inline(always)]
    fn set(&mut self, inner: &MPI_Status) {
        let [low, high, cancelled, ..] = inner.MPI_internal;
        self.source = rank_out::<OpenMpi>(inner.MPI_SOURCE);
        self.tag = tag_out::<OpenMpi>(inner.MPI_TAG);
        self.cancelled = cancelled;
        self.bytes = u64::from(low as u32) | u64::from(high as u32) << 32;
    }

    #[inline(always)]
    fn error(&mut self) -> &mut c_int {
        &mut self.error
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_survives_the_way_out_and_in() {
        for (bytes, cancelled, source, tag) in [
            (0_u64, 0, 3, 7),
            (0x1_2345_6789, 1, tern_abi::MPI_PROC_NULL, tern_abi::MPI_ANY_TAG),
            (u64::MAX, 0, tern_abi::MPI_ANY_SOURCE, 0),
        ] {
            let mut inner = MPI_Status { MPI_SOURCE: source, MPI_TAG: tag, ..MPI_Status::EMPTY };
            inner.MPI_internal[..3].copy_from_slice(&[bytes as i32, (bytes >> 32) as i32, cancelled]);
            let mut outer = OpenMpiStatus::default();
            outer.set(&inner);
            assert_eq!(outer.inner(), inner);
        }
    }
}

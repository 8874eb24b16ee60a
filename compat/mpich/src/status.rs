//! The status of MPICH: five integers. The bytes received have 63 bits; the lowest bit of the second integer says whether
//! the communication was cancelled.

use std::ffi::c_int;

use tern_abi::MPI_Status;
use tern_bridge::foreign::{ForeignStatus, rank_in, rank_out, tag_in, tag_out};

use crate::abi::Mpich;

/// `MPI_Status`
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct MpichStatus {
    count_low: c_int,
    count_high_and_cancelled: c_int,
    source: c_int,
    tag: c_int,
    error: c_int,
}

const _: () = assert!(size_of::<MpichStatus>() == 20);

impl ForeignStatus for MpichStatus {
    #[inline(always)]
    fn inner(&self) -> MPI_Status {
        let mut inner = MPI_Status::EMPTY;
        inner.MPI_SOURCE = rank_in::<Mpich>(self.source);
        inner.MPI_TAG = tag_in::<Mpich>(self.tag);
        inner.MPI_internal[0] = self.count_low;
        inner.MPI_internal[1] = self.count_high_and_cancelled >> 1;
        inner.MPI_internal[2] = self.count_high_and_cancelled & 1;
        inner
    }

    #[inline(always)]
    fn set(&mut self, inner: &MPI_Status) {
        let [low, high, cancelled, ..] = inner.MPI_internal;
        self.count_low = low;
        self.count_high_and_cancelled = high << 1 | c_int::from(cancelled != 0);
        self.source = rank_out::<Mpich>(inner.MPI_SOURCE);
        self.tag = tag_out::<Mpich>(inner.MPI_TAG);
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
            (0_i64, 0, 3, 7),
            (0x1_2345_6789, 1, tern_abi::MPI_PROC_NULL, tern_abi::MPI_ANY_TAG),
            (-1, 0, tern_abi::MPI_ANY_SOURCE, 0),
            (i64::MAX >> 1, 1, 0, 32767),
        ] {
            let mut inner = MPI_Status { MPI_SOURCE: source, MPI_TAG: tag, ..MPI_Status::EMPTY };
            inner.MPI_internal[..3].copy_from_slice(&[bytes as i32, (bytes >> 32) as i32, cancelled]);
            let mut outer = MpichStatus::default();
            outer.set(&inner);
            assert_eq!(outer.inner(), inner);
        }
    }
}

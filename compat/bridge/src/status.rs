//! Statuses: what comes back through a pointer of the program's.

use std::ffi::c_int;
use std::marker::PhantomData;

use tern_abi::MPI_Status;

use crate::foreign::{ForeignAbi, ForeignStatus, code_out};
use crate::kinds::Param;
use crate::lists::ConvertedElements;

/// No source and no error code, by which a field that was not written is known.
const UNWRITTEN: c_int = c_int::MIN;

/// A status that nobody has written.
const BLANK: MPI_Status =
    MPI_Status { MPI_SOURCE: UNWRITTEN, MPI_TAG: 0, MPI_ERROR: UNWRITTEN, MPI_internal: [0; 5] };

/// Whether a pointer says that nothing is to be written.
fn is_ignored<F: ForeignAbi>(status: *const F::Status) -> bool {
    status as usize == F::STATUS_IGNORE || status.is_null()
}

/// Gives a status back, as far as it was written.
///
/// # Safety
/// `to` points to a status.
#[inline(always)]
unsafe fn give<F: ForeignAbi>(inner: &MPI_Status, to: *mut F::Status) {
    // SAFETY: by the caller.
    let to = unsafe { &mut *to };
    if inner.MPI_SOURCE != UNWRITTEN {
        to.set(inner);
    }
    if inner.MPI_ERROR != UNWRITTEN {
        *to.error() = code_out::<F>(inner.MPI_ERROR);
    }
}

/// A status that the call writes, or `MPI_STATUS_IGNORE`.
pub struct ForeignStatusOut<F>(PhantomData<F>);

impl<F: ForeignAbi> Param for ForeignStatusOut<F> {
    type C = *mut F::Status;
    type Inner = *mut MPI_Status;
    type Held = (MPI_Status, bool);

    #[inline(always)]
    unsafe fn hold(c: Self::C, _: usize) -> Self::Held {
        (BLANK, is_ignored::<F>(c))
    }

    #[inline(always)]
    fn pass(held: &mut Self::Held) -> Self::Inner {
        if held.1 { std::ptr::null_mut() } else { &raw mut held.0 }
    }

    #[inline(always)]
    unsafe fn give(held: &mut Self::Held, c: Self::C, _: bool) {
        if !held.1 {
            // SAFETY: the program gave the place of a status.
            unsafe { give::<F>(&held.0, c) };
        }
    }
}

/// A status that the call reads.
pub struct StatusIn<F>(PhantomData<F>);

impl<F: ForeignAbi> Param for StatusIn<F> {
    type C = *const F::Status;
    type Inner = *const MPI_Status;
    type Held = (MPI_Status, bool);

    unsafe fn hold(c: Self::C, _: usize) -> Self::Held {
        if is_ignored::<F>(c) {
            return (BLANK, true);
        }
        // SAFETY: the program gave the place of a status.
        (unsafe { &*c }.inner(), false)
    }

    fn pass(held: &mut Self::Held) -> Self::Inner {
        if held.1 { std::ptr::null() } else { &raw const held.0 }
    }
}

/// A status that the call changes.
pub struct StatusInOut<F>(PhantomData<F>);

impl<F: ForeignAbi> Param for StatusInOut<F> {
    type C = *mut F::Status;
    type Inner = *mut MPI_Status;
    type Held = (MPI_Status, bool);

    unsafe fn hold(c: Self::C, _: usize) -> Self::Held {
        // SAFETY: the same contract.
        let (mut status, ignored) = unsafe { StatusIn::<F>::hold(c, 0) };
        status.MPI_ERROR = UNWRITTEN;
        (status, ignored)
    }

    fn pass(held: &mut Self::Held) -> Self::Inner {
        ForeignStatusOut::<F>::pass(held)
    }

    unsafe fn give(held: &mut Self::Held, c: Self::C, failed: bool) {
        // SAFETY: the same contract.
        unsafe { ForeignStatusOut::<F>::give(held, c, failed) };
    }
}

/// Statuses that the call writes, or `MPI_STATUSES_IGNORE`.
pub struct Statuses<F>(PhantomData<F>);

impl<F: ForeignAbi> Param for Statuses<F> {
    type C = *mut F::Status;
    type Inner = *mut MPI_Status;
    type Held = (ConvertedElements<MPI_Status>, bool);

    unsafe fn hold(c: Self::C, length: usize) -> Self::Held {
        let ignored = is_ignored::<F>(c);
        (ConvertedElements::new(if ignored { 0 } else { length }, |_| BLANK), ignored)
    }

    fn pass(held: &mut Self::Held) -> Self::Inner {
        if held.1 { std::ptr::null_mut() } else { held.0.address() }
    }

    unsafe fn give(held: &mut Self::Held, c: Self::C, _: bool) {
        for (index, status) in held.0.all().iter().enumerate() {
            // SAFETY: the program gave the place of as many statuses.
            unsafe { give::<F>(status, c.add(index)) };
        }
    }
}

//! Constants that are variables of the library: programs read them, and some compare their address.

use std::ffi::{c_int, c_void};

/// An address that programs may read from any thread.
#[repr(transparent)]
pub(crate) struct ExportedAddress(pub *const c_void);

// SAFETY: the address is a constant, and nobody follows it.
unsafe impl Sync for ExportedAddress {}

/// A place that has an address of its own.
macro_rules! place {
    ($place:ident) => {
        ExportedAddress((&raw const $place).cast())
    };
}

static UNWEIGHTED: c_int = 0;
static WEIGHTS_EMPTY: c_int = 1;
static ALL_HANDLES: c_int = 2;

/// `MPI_UNWEIGHTED`
#[unsafe(no_mangle)]
pub(crate) static MPI_UNWEIGHTED: ExportedAddress = place!(UNWEIGHTED);
/// `MPI_WEIGHTS_EMPTY`
#[unsafe(no_mangle)]
pub(crate) static MPI_WEIGHTS_EMPTY: ExportedAddress = place!(WEIGHTS_EMPTY);
/// `MPI_T_PVAR_ALL_HANDLES`
#[unsafe(no_mangle)]
pub(crate) static MPI_T_PVAR_ALL_HANDLES: ExportedAddress = place!(ALL_HANDLES);

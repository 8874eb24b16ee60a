//! Functions and names of Open MPI that are not of the standard.

use std::ffi::{c_int, c_void};

use tern_abi::MPI_SUCCESS;
use tern_bridge::plain;

/// The predefined functions of attributes, which are functions in Open MPI.
macro_rules! attribute_functions {
    ($($dup:ident $null_copy:ident $null_delete:ident;)*) => {
        plain! {$(
            /// Copies an attribute by its address.
            fn $dup(
                _object: *mut c_void, _key: c_int, _state: *mut c_void, value: *mut c_void, copied: *mut *mut c_void,
                flag: *mut c_int,
            ) -> c_int {
                *copied = value;
                *flag = 1;
                MPI_SUCCESS
            }

            /// Copies no attribute.
            fn $null_copy(
                _object: *mut c_void, _key: c_int, _state: *mut c_void, _value: *mut c_void, _copied: *mut c_void,
                flag: *mut c_int,
            ) -> c_int {
                *flag = 0;
                MPI_SUCCESS
            }

            /// Has nothing to do where an attribute is deleted.
            fn $null_delete(
                _object: *mut c_void, _key: c_int, _value: *mut c_void, _state: *mut c_void,
            ) -> c_int {
                MPI_SUCCESS
            }
        )*}
    };
}

attribute_functions! {
    OMPI_C_MPI_DUP_FN OMPI_C_MPI_NULL_COPY_FN OMPI_C_MPI_NULL_DELETE_FN;
    OMPI_C_MPI_COMM_DUP_FN OMPI_C_MPI_COMM_NULL_COPY_FN OMPI_C_MPI_COMM_NULL_DELETE_FN;
    OMPI_C_MPI_TYPE_DUP_FN OMPI_C_MPI_TYPE_NULL_COPY_FN OMPI_C_MPI_TYPE_NULL_DELETE_FN;
    OMPI_C_MPI_WIN_DUP_FN OMPI_C_MPI_WIN_NULL_COPY_FN OMPI_C_MPI_WIN_NULL_DELETE_FN;
}

plain! {
    /// Messages go from and to the memory of the processor only.
    fn MPIX_Query_cuda_support() -> c_int {
        0
    }

    /// As `MPIX_Query_cuda_support`.
    fn MPIX_Query_rocm_support() -> c_int {
        0
    }
}

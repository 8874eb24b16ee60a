//! Functions and names of MPICH that are not of the standard.

use std::ffi::{c_int, c_void};

use tern_abi::MPI_SUCCESS;
use tern_bridge::foreign::code_out;
use tern_bridge::{plain, tern};

use crate::abi::{Mpich, numbers};
use tern_bridge::number::ConstantFamily;

plain! {
    /// Copies an attribute by its address: what `MPI_DUP_FN` and its kin are in MPICH.
    fn MPIR_Dup_fn(
        _object: c_int, _key: c_int, _state: *mut c_void, value: *mut c_void, copied: *mut *mut c_void,
        flag: *mut c_int,
    ) -> c_int {
        *copied = value;
        *flag = 1;
        MPI_SUCCESS
    }

    /// Messages go from and to the memory of the processor only.
    fn MPIX_Query_cuda_support() -> c_int {
        0
    }

    /// As `MPIX_Query_cuda_support`.
    fn MPIX_Query_hip_support() -> c_int {
        0
    }

    /// As `MPIX_Query_cuda_support`.
    fn MPIX_Query_ze_support() -> c_int {
        0
    }

    /// The same with the kind of device as a number.
    fn MPIX_GPU_query_support(_kind: c_int, is_supported: *mut c_int) -> c_int {
        *is_supported = 0;
        MPI_SUCCESS
    }

    /// What became `MPI_Remove_error_class`.
    fn MPIX_Delete_error_class(class: c_int) -> c_int {
        code_out::<Mpich>(tern!(MPI_Remove_error_class(numbers::ErrorCode::inner(class) => c_int)))
    }

    /// What became `MPI_Remove_error_code`.
    fn MPIX_Delete_error_code(code: c_int) -> c_int {
        code_out::<Mpich>(tern!(MPI_Remove_error_code(numbers::ErrorCode::inner(code) => c_int)))
    }

    /// What became `MPI_Remove_error_string`.
    fn MPIX_Delete_error_string(code: c_int) -> c_int {
        code_out::<Mpich>(tern!(MPI_Remove_error_string(numbers::ErrorCode::inner(code) => c_int)))
    }
}

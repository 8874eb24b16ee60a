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

/// Functions by the names that Open MPI 4 had for them before they came into the standard. What is passed on are registers and words of
/// the stack, whatever is in them.
macro_rules! older_names {
    ($($old:ident = $new:ident($($argument:ident)*);)*) => {
        unsafe extern "C" {
            $(fn $new($($argument: usize),*) -> c_int;)*
        }
        plain! {$(
            #[doc = concat!("As `", stringify!($new), "`.")]
            fn $old($($argument: usize),*) -> c_int {
                $new($($argument),*)
            }
        )*}
    };
}

older_names! {
    MPIX_Allgather_init = MPI_Allgather_init(a b c d e f g h i);
    MPIX_Allgatherv_init = MPI_Allgatherv_init(a b c d e f g h i j);
    MPIX_Allreduce_init = MPI_Allreduce_init(a b c d e f g h);
    MPIX_Alltoall_init = MPI_Alltoall_init(a b c d e f g h i);
    MPIX_Alltoallv_init = MPI_Alltoallv_init(a b c d e f g h i j k);
    MPIX_Alltoallw_init = MPI_Alltoallw_init(a b c d e f g h i j k);
    MPIX_Barrier_init = MPI_Barrier_init(a b c);
    MPIX_Bcast_init = MPI_Bcast_init(a b c d e f g);
    MPIX_Exscan_init = MPI_Exscan_init(a b c d e f g h);
    MPIX_Gather_init = MPI_Gather_init(a b c d e f g h i j);
    MPIX_Gatherv_init = MPI_Gatherv_init(a b c d e f g h i j k);
    MPIX_Neighbor_allgather_init = MPI_Neighbor_allgather_init(a b c d e f g h i);
    MPIX_Neighbor_allgatherv_init = MPI_Neighbor_allgatherv_init(a b c d e f g h i j);
    MPIX_Neighbor_alltoall_init = MPI_Neighbor_alltoall_init(a b c d e f g h i);
    MPIX_Neighbor_alltoallv_init = MPI_Neighbor_alltoallv_init(a b c d e f g h i j k);
    MPIX_Neighbor_alltoallw_init = MPI_Neighbor_alltoallw_init(a b c d e f g h i j k);
    MPIX_Reduce_init = MPI_Reduce_init(a b c d e f g h i);
    MPIX_Reduce_scatter_init = MPI_Reduce_scatter_init(a b c d e f g h);
    MPIX_Reduce_scatter_block_init = MPI_Reduce_scatter_block_init(a b c d e f g h);
    MPIX_Scan_init = MPI_Scan_init(a b c d e f g h);
    MPIX_Scatter_init = MPI_Scatter_init(a b c d e f g h i j);
    MPIX_Scatterv_init = MPI_Scatterv_init(a b c d e f g h i j k);
}

unsafe extern "C" {
    fn MPI_Init_thread(argc: *mut c_void, argv: *mut c_void, required: c_int, provided: *mut c_int) -> c_int;
}

plain! {
    /// What `MPI_Init_thread` calls inside Open MPI. Programs that load a library of either kind look for the name, which tells them that
    /// this one has Open MPI's ABI.
    fn ompi_mpi_init(
        _argc: c_int, _argv: *mut *mut c_void, required: c_int, provided: *mut c_int, _again: bool,
    ) -> c_int {
        MPI_Init_thread(std::ptr::null_mut(), std::ptr::null_mut(), required, provided)
    }

    /// Messages go from and to the memory of the processor only.
    fn MPIX_Query_cuda_support() -> c_int {
        0
    }

    /// As `MPIX_Query_cuda_support`.
    fn MPIX_Query_rocm_support() -> c_int {
        0
    }
}

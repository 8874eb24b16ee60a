//! Chapter 4: partitioned communication, which Tern does not have yet.

use std::ffi::{c_int, c_void};

use tern_abi::*;

use crate::core::unsupported::unsupported;

unsupported! {
    // Sections 4.2.1 and 4.2.2.
    fn MPI_Precv_init, MPI_Precv_init_c<W>(
        buf: *mut c_void, partitions: c_int, count: W::Count, datatype: MPI_Datatype, dest: c_int, tag: c_int,
        comm: MPI_Comm, info: MPI_Info, request: *mut MPI_Request,
    ) on comm;
    fn MPI_Psend_init, MPI_Psend_init_c<W>(
        buf: *const c_void, partitions: c_int, count: W::Count, datatype: MPI_Datatype, dest: c_int,
        tag: c_int, comm: MPI_Comm, info: MPI_Info, request: *mut MPI_Request,
    ) on comm;
    fn MPI_Pready(partition: c_int, request: MPI_Request);
    fn MPI_Pready_list(length: c_int, array_of_partitions: *const c_int, request: MPI_Request);
    fn MPI_Pready_range(partition_low: c_int, partition_high: c_int, request: MPI_Request);
    fn MPI_Parrived(request: MPI_Request, partition: c_int, flag: *mut c_int);
}

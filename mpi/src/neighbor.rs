//! Sections 8.6 to 8.8: neighborhood collectives, which Tern does not have yet.

use std::ffi::c_void;

use tern_abi::*;

use crate::unsupported::unsupported;

unsupported! {
    // Blocking (section 8.6).
    fn MPI_Neighbor_allgather, MPI_Neighbor_allgather_c<W>(
        sendbuf: *const c_void, sendcount: W::Count, sendtype: MPI_Datatype, recvbuf: *mut c_void,
        recvcount: W::Count, recvtype: MPI_Datatype, comm: MPI_Comm,
    ) on comm;
    fn MPI_Neighbor_allgatherv, MPI_Neighbor_allgatherv_c<W>(
        sendbuf: *const c_void, sendcount: W::Count, sendtype: MPI_Datatype, recvbuf: *mut c_void,
        recvcounts: *const W::Count, displs: *const W::Displ, recvtype: MPI_Datatype, comm: MPI_Comm,
    ) on comm;
    fn MPI_Neighbor_alltoall, MPI_Neighbor_alltoall_c<W>(
        sendbuf: *const c_void, sendcount: W::Count, sendtype: MPI_Datatype, recvbuf: *mut c_void,
        recvcount: W::Count, recvtype: MPI_Datatype, comm: MPI_Comm,
    ) on comm;
    fn MPI_Neighbor_alltoallv, MPI_Neighbor_alltoallv_c<W>(
        sendbuf: *const c_void, sendcounts: *const W::Count, sdispls: *const W::Displ, sendtype: MPI_Datatype,
        recvbuf: *mut c_void, recvcounts: *const W::Count, rdispls: *const W::Displ, recvtype: MPI_Datatype,
        comm: MPI_Comm,
    ) on comm;
    fn MPI_Neighbor_alltoallw, MPI_Neighbor_alltoallw_c<W>(
        sendbuf: *const c_void, sendcounts: *const W::Count, sdispls: *const MPI_Aint,
        sendtypes: *const MPI_Datatype, recvbuf: *mut c_void, recvcounts: *const W::Count,
        rdispls: *const MPI_Aint, recvtypes: *const MPI_Datatype, comm: MPI_Comm,
    ) on comm;
}

unsupported! {
    // Non-blocking (section 8.7).
    fn MPI_Ineighbor_allgather, MPI_Ineighbor_allgather_c<W>(
        sendbuf: *const c_void, sendcount: W::Count, sendtype: MPI_Datatype, recvbuf: *mut c_void,
        recvcount: W::Count, recvtype: MPI_Datatype, comm: MPI_Comm, request: *mut MPI_Request,
    ) on comm;
    fn MPI_Ineighbor_allgatherv, MPI_Ineighbor_allgatherv_c<W>(
        sendbuf: *const c_void, sendcount: W::Count, sendtype: MPI_Datatype, recvbuf: *mut c_void,
        recvcounts: *const W::Count, displs: *const W::Displ, recvtype: MPI_Datatype, comm: MPI_Comm,
        request: *mut MPI_Request,
    ) on comm;
    fn MPI_Ineighbor_alltoall, MPI_Ineighbor_alltoall_c<W>(
        sendbuf: *const c_void, sendcount: W::Count, sendtype: MPI_Datatype, recvbuf: *mut c_void,
        recvcount: W::Count, recvtype: MPI_Datatype, comm: MPI_Comm, request: *mut MPI_Request,
    ) on comm;
    fn MPI_Ineighbor_alltoallv, MPI_Ineighbor_alltoallv_c<W>(
        sendbuf: *const c_void, sendcounts: *const W::Count, sdispls: *const W::Displ, sendtype: MPI_Datatype,
        recvbuf: *mut c_void, recvcounts: *const W::Count, rdispls: *const W::Displ, recvtype: MPI_Datatype,
        comm: MPI_Comm, request: *mut MPI_Request,
    ) on comm;
    fn MPI_Ineighbor_alltoallw, MPI_Ineighbor_alltoallw_c<W>(
        sendbuf: *const c_void, sendcounts: *const W::Count, sdispls: *const MPI_Aint,
        sendtypes: *const MPI_Datatype, recvbuf: *mut c_void, recvcounts: *const W::Count,
        rdispls: *const MPI_Aint, recvtypes: *const MPI_Datatype, comm: MPI_Comm, request: *mut MPI_Request,
    ) on comm;
}

unsupported! {
    // Persistent (section 8.8).
    fn MPI_Neighbor_allgather_init, MPI_Neighbor_allgather_init_c<W>(
        sendbuf: *const c_void, sendcount: W::Count, sendtype: MPI_Datatype, recvbuf: *mut c_void,
        recvcount: W::Count, recvtype: MPI_Datatype, comm: MPI_Comm, info: MPI_Info,
        request: *mut MPI_Request,
    ) on comm;
    fn MPI_Neighbor_allgatherv_init, MPI_Neighbor_allgatherv_init_c<W>(
        sendbuf: *const c_void, sendcount: W::Count, sendtype: MPI_Datatype, recvbuf: *mut c_void,
        recvcounts: *const W::Count, displs: *const W::Displ, recvtype: MPI_Datatype, comm: MPI_Comm,
        info: MPI_Info, request: *mut MPI_Request,
    ) on comm;
    fn MPI_Neighbor_alltoall_init, MPI_Neighbor_alltoall_init_c<W>(
        sendbuf: *const c_void, sendcount: W::Count, sendtype: MPI_Datatype, recvbuf: *mut c_void,
        recvcount: W::Count, recvtype: MPI_Datatype, comm: MPI_Comm, info: MPI_Info,
        request: *mut MPI_Request,
    ) on comm;
    fn MPI_Neighbor_alltoallv_init, MPI_Neighbor_alltoallv_init_c<W>(
        sendbuf: *const c_void, sendcounts: *const W::Count, sdispls: *const W::Displ, sendtype: MPI_Datatype,
        recvbuf: *mut c_void, recvcounts: *const W::Count, rdispls: *const W::Displ, recvtype: MPI_Datatype,
        comm: MPI_Comm, info: MPI_Info, request: *mut MPI_Request,
    ) on comm;
    fn MPI_Neighbor_alltoallw_init, MPI_Neighbor_alltoallw_init_c<W>(
        sendbuf: *const c_void, sendcounts: *const W::Count, sdispls: *const MPI_Aint,
        sendtypes: *const MPI_Datatype, recvbuf: *mut c_void, recvcounts: *const W::Count,
        rdispls: *const MPI_Aint, recvtypes: *const MPI_Datatype, comm: MPI_Comm, info: MPI_Info,
        request: *mut MPI_Request,
    ) on comm;
}

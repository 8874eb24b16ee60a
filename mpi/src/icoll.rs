//! Sections 6.12 and 6.13: non-blocking and persistent collectives, which Tern does not have yet.

use std::ffi::{c_int, c_void};

use tern_abi::*;

use crate::unsupported::unsupported;

unsupported! {
    // Non-blocking (section 6.12).
    fn MPI_Iallgather, MPI_Iallgather_c<W>(
        sendbuf: *const c_void, sendcount: W::Count, sendtype: MPI_Datatype, recvbuf: *mut c_void,
        recvcount: W::Count, recvtype: MPI_Datatype, comm: MPI_Comm, request: *mut MPI_Request,
    ) on comm;
    fn MPI_Iallgatherv, MPI_Iallgatherv_c<W>(
        sendbuf: *const c_void, sendcount: W::Count, sendtype: MPI_Datatype, recvbuf: *mut c_void,
        recvcounts: *const W::Count, displs: *const W::Displ, recvtype: MPI_Datatype, comm: MPI_Comm,
        request: *mut MPI_Request,
    ) on comm;
    fn MPI_Iallreduce, MPI_Iallreduce_c<W>(
        sendbuf: *const c_void, recvbuf: *mut c_void, count: W::Count, datatype: MPI_Datatype, op: MPI_Op,
        comm: MPI_Comm, request: *mut MPI_Request,
    ) on comm;
    fn MPI_Ialltoall, MPI_Ialltoall_c<W>(
        sendbuf: *const c_void, sendcount: W::Count, sendtype: MPI_Datatype, recvbuf: *mut c_void,
        recvcount: W::Count, recvtype: MPI_Datatype, comm: MPI_Comm, request: *mut MPI_Request,
    ) on comm;
    fn MPI_Ialltoallv, MPI_Ialltoallv_c<W>(
        sendbuf: *const c_void, sendcounts: *const W::Count, sdispls: *const W::Displ, sendtype: MPI_Datatype,
        recvbuf: *mut c_void, recvcounts: *const W::Count, rdispls: *const W::Displ, recvtype: MPI_Datatype,
        comm: MPI_Comm, request: *mut MPI_Request,
    ) on comm;
    fn MPI_Ialltoallw, MPI_Ialltoallw_c<W>(
        sendbuf: *const c_void, sendcounts: *const W::Count, sdispls: *const W::Displ,
        sendtypes: *const MPI_Datatype, recvbuf: *mut c_void, recvcounts: *const W::Count,
        rdispls: *const W::Displ, recvtypes: *const MPI_Datatype, comm: MPI_Comm, request: *mut MPI_Request,
    ) on comm;
    fn MPI_Ibarrier(comm: MPI_Comm, request: *mut MPI_Request) on comm;
    fn MPI_Ibcast, MPI_Ibcast_c<W>(
        buffer: *mut c_void, count: W::Count, datatype: MPI_Datatype, root: c_int, comm: MPI_Comm,
        request: *mut MPI_Request,
    ) on comm;
    fn MPI_Iexscan, MPI_Iexscan_c<W>(
        sendbuf: *const c_void, recvbuf: *mut c_void, count: W::Count, datatype: MPI_Datatype, op: MPI_Op,
        comm: MPI_Comm, request: *mut MPI_Request,
    ) on comm;
    fn MPI_Igather, MPI_Igather_c<W>(
        sendbuf: *const c_void, sendcount: W::Count, sendtype: MPI_Datatype, recvbuf: *mut c_void,
        recvcount: W::Count, recvtype: MPI_Datatype, root: c_int, comm: MPI_Comm, request: *mut MPI_Request,
    ) on comm;
    fn MPI_Igatherv, MPI_Igatherv_c<W>(
        sendbuf: *const c_void, sendcount: W::Count, sendtype: MPI_Datatype, recvbuf: *mut c_void,
        recvcounts: *const W::Count, displs: *const W::Displ, recvtype: MPI_Datatype, root: c_int,
        comm: MPI_Comm, request: *mut MPI_Request,
    ) on comm;
    fn MPI_Ireduce, MPI_Ireduce_c<W>(
        sendbuf: *const c_void, recvbuf: *mut c_void, count: W::Count, datatype: MPI_Datatype, op: MPI_Op,
        root: c_int, comm: MPI_Comm, request: *mut MPI_Request,
    ) on comm;
    fn MPI_Ireduce_scatter, MPI_Ireduce_scatter_c<W>(
        sendbuf: *const c_void, recvbuf: *mut c_void, recvcounts: *const W::Count, datatype: MPI_Datatype,
        op: MPI_Op, comm: MPI_Comm, request: *mut MPI_Request,
    ) on comm;
    fn MPI_Ireduce_scatter_block, MPI_Ireduce_scatter_block_c<W>(
        sendbuf: *const c_void, recvbuf: *mut c_void, recvcount: W::Count, datatype: MPI_Datatype, op: MPI_Op,
        comm: MPI_Comm, request: *mut MPI_Request,
    ) on comm;
    fn MPI_Iscan, MPI_Iscan_c<W>(
        sendbuf: *const c_void, recvbuf: *mut c_void, count: W::Count, datatype: MPI_Datatype, op: MPI_Op,
        comm: MPI_Comm, request: *mut MPI_Request,
    ) on comm;
    fn MPI_Iscatter, MPI_Iscatter_c<W>(
        sendbuf: *const c_void, sendcount: W::Count, sendtype: MPI_Datatype, recvbuf: *mut c_void,
        recvcount: W::Count, recvtype: MPI_Datatype, root: c_int, comm: MPI_Comm, request: *mut MPI_Request,
    ) on comm;
    fn MPI_Iscatterv, MPI_Iscatterv_c<W>(
        sendbuf: *const c_void, sendcounts: *const W::Count, displs: *const W::Displ, sendtype: MPI_Datatype,
        recvbuf: *mut c_void, recvcount: W::Count, recvtype: MPI_Datatype, root: c_int, comm: MPI_Comm,
        request: *mut MPI_Request,
    ) on comm;
}

unsupported! {
    // Persistent (section 6.13).
    fn MPI_Allgather_init, MPI_Allgather_init_c<W>(
        sendbuf: *const c_void, sendcount: W::Count, sendtype: MPI_Datatype, recvbuf: *mut c_void,
        recvcount: W::Count, recvtype: MPI_Datatype, comm: MPI_Comm, info: MPI_Info,
        request: *mut MPI_Request,
    ) on comm;
    fn MPI_Allgatherv_init, MPI_Allgatherv_init_c<W>(
        sendbuf: *const c_void, sendcount: W::Count, sendtype: MPI_Datatype, recvbuf: *mut c_void,
        recvcounts: *const W::Count, displs: *const W::Displ, recvtype: MPI_Datatype, comm: MPI_Comm,
        info: MPI_Info, request: *mut MPI_Request,
    ) on comm;
    fn MPI_Allreduce_init, MPI_Allreduce_init_c<W>(
        sendbuf: *const c_void, recvbuf: *mut c_void, count: W::Count, datatype: MPI_Datatype, op: MPI_Op,
        comm: MPI_Comm, info: MPI_Info, request: *mut MPI_Request,
    ) on comm;
    fn MPI_Alltoall_init, MPI_Alltoall_init_c<W>(
        sendbuf: *const c_void, sendcount: W::Count, sendtype: MPI_Datatype, recvbuf: *mut c_void,
        recvcount: W::Count, recvtype: MPI_Datatype, comm: MPI_Comm, info: MPI_Info,
        request: *mut MPI_Request,
    ) on comm;
    fn MPI_Alltoallv_init, MPI_Alltoallv_init_c<W>(
        sendbuf: *const c_void, sendcounts: *const W::Count, sdispls: *const W::Displ, sendtype: MPI_Datatype,
        recvbuf: *mut c_void, recvcounts: *const W::Count, rdispls: *const W::Displ, recvtype: MPI_Datatype,
        comm: MPI_Comm, info: MPI_Info, request: *mut MPI_Request,
    ) on comm;
    fn MPI_Alltoallw_init, MPI_Alltoallw_init_c<W>(
        sendbuf: *const c_void, sendcounts: *const W::Count, sdispls: *const W::Displ,
        sendtypes: *const MPI_Datatype, recvbuf: *mut c_void, recvcounts: *const W::Count,
        rdispls: *const W::Displ, recvtypes: *const MPI_Datatype, comm: MPI_Comm, info: MPI_Info,
        request: *mut MPI_Request,
    ) on comm;
    fn MPI_Barrier_init(comm: MPI_Comm, info: MPI_Info, request: *mut MPI_Request) on comm;
    fn MPI_Bcast_init, MPI_Bcast_init_c<W>(
        buffer: *mut c_void, count: W::Count, datatype: MPI_Datatype, root: c_int, comm: MPI_Comm,
        info: MPI_Info, request: *mut MPI_Request,
    ) on comm;
    fn MPI_Exscan_init, MPI_Exscan_init_c<W>(
        sendbuf: *const c_void, recvbuf: *mut c_void, count: W::Count, datatype: MPI_Datatype, op: MPI_Op,
        comm: MPI_Comm, info: MPI_Info, request: *mut MPI_Request,
    ) on comm;
    fn MPI_Gather_init, MPI_Gather_init_c<W>(
        sendbuf: *const c_void, sendcount: W::Count, sendtype: MPI_Datatype, recvbuf: *mut c_void,
        recvcount: W::Count, recvtype: MPI_Datatype, root: c_int, comm: MPI_Comm, info: MPI_Info,
        request: *mut MPI_Request,
    ) on comm;
    fn MPI_Gatherv_init, MPI_Gatherv_init_c<W>(
        sendbuf: *const c_void, sendcount: W::Count, sendtype: MPI_Datatype, recvbuf: *mut c_void,
        recvcounts: *const W::Count, displs: *const W::Displ, recvtype: MPI_Datatype, root: c_int,
        comm: MPI_Comm, info: MPI_Info, request: *mut MPI_Request,
    ) on comm;
    fn MPI_Reduce_init, MPI_Reduce_init_c<W>(
        sendbuf: *const c_void, recvbuf: *mut c_void, count: W::Count, datatype: MPI_Datatype, op: MPI_Op,
        root: c_int, comm: MPI_Comm, info: MPI_Info, request: *mut MPI_Request,
    ) on comm;
    fn MPI_Reduce_scatter_block_init, MPI_Reduce_scatter_block_init_c<W>(
        sendbuf: *const c_void, recvbuf: *mut c_void, recvcount: W::Count, datatype: MPI_Datatype, op: MPI_Op,
        comm: MPI_Comm, info: MPI_Info, request: *mut MPI_Request,
    ) on comm;
    fn MPI_Reduce_scatter_init, MPI_Reduce_scatter_init_c<W>(
        sendbuf: *const c_void, recvbuf: *mut c_void, recvcounts: *const W::Count, datatype: MPI_Datatype,
        op: MPI_Op, comm: MPI_Comm, info: MPI_Info, request: *mut MPI_Request,
    ) on comm;
    fn MPI_Scan_init, MPI_Scan_init_c<W>(
        sendbuf: *const c_void, recvbuf: *mut c_void, count: W::Count, datatype: MPI_Datatype, op: MPI_Op,
        comm: MPI_Comm, info: MPI_Info, request: *mut MPI_Request,
    ) on comm;
    fn MPI_Scatter_init, MPI_Scatter_init_c<W>(
        sendbuf: *const c_void, sendcount: W::Count, sendtype: MPI_Datatype, recvbuf: *mut c_void,
        recvcount: W::Count, recvtype: MPI_Datatype, root: c_int, comm: MPI_Comm, info: MPI_Info,
        request: *mut MPI_Request,
    ) on comm;
    fn MPI_Scatterv_init, MPI_Scatterv_init_c<W>(
        sendbuf: *const c_void, sendcounts: *const W::Count, displs: *const W::Displ, sendtype: MPI_Datatype,
        recvbuf: *mut c_void, recvcount: W::Count, recvtype: MPI_Datatype, root: c_int, comm: MPI_Comm,
        info: MPI_Info, request: *mut MPI_Request,
    ) on comm;
}

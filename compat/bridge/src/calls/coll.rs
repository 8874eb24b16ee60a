//! Collective communication (chapter 6): one list for both widths of counts.

/// Hands the list to the macro `$then`.
#[macro_export]
macro_rules! coll_calls {
    ($then:ident) => {
        $crate::coll_list! { first_names $then Int }
    };
}

/// Hands the list of those with large counts to the macro `$then`.
#[macro_export]
macro_rules! coll_large_calls {
    ($then:ident) => {
        $crate::coll_list! { second_names $then Count }
    };
}

/// The functions without counts and, with both their names, those with counts of the kind `$count`, to the macro `$names`.
#[doc(hidden)]
#[macro_export]
macro_rules! coll_list {
    ($names:ident $then:ident $count:ident) => {
        $crate::$names! {
            $then
            [
                fn MPI_Barrier(comm: In<Comm>);
                fn MPI_Barrier_init(comm: In<Comm>, info: In<Info>, request: HandleOut<Request>);
                fn MPI_Ibarrier(comm: In<Comm>, request: HandleOut<Request>);
            ]
            fn MPI_Allgather, MPI_Allgather_c(
                sendbuf: Place, sendcount: $count, sendtype: In<Datatype>, recvbuf: Place, recvcount: $count,
                recvtype: In<Datatype>, comm: In<Comm>
            );
            fn MPI_Allgather_init, MPI_Allgather_init_c(
                sendbuf: Place, sendcount: $count, sendtype: In<Datatype>, recvbuf: Place, recvcount: $count,
                recvtype: In<Datatype>, comm: In<Comm>, info: In<Info>, request: HandleOut<Request>
            );
            fn MPI_Allgatherv, MPI_Allgatherv_c(
                sendbuf: Place, sendcount: $count, sendtype: In<Datatype>, recvbuf: Place,
                recvcounts: Pointer, displs: Pointer, recvtype: In<Datatype>, comm: In<Comm>
            );
            fn MPI_Allgatherv_init, MPI_Allgatherv_init_c(
                sendbuf: Place, sendcount: $count, sendtype: In<Datatype>, recvbuf: Place,
                recvcounts: Pointer, displs: Pointer, recvtype: In<Datatype>, comm: In<Comm>, info: In<Info>,
                request: HandleOut<Request>
            );
            fn MPI_Allreduce, MPI_Allreduce_c(
                sendbuf: Place, recvbuf: Place, count: $count, datatype: In<Datatype>, op: In<Op>,
                comm: In<Comm>
            );
            fn MPI_Allreduce_init, MPI_Allreduce_init_c(
                sendbuf: Place, recvbuf: Place, count: $count, datatype: In<Datatype>, op: In<Op>,
                comm: In<Comm>, info: In<Info>, request: HandleOut<Request>
            );
            fn MPI_Alltoall, MPI_Alltoall_c(
                sendbuf: Place, sendcount: $count, sendtype: In<Datatype>, recvbuf: Place, recvcount: $count,
                recvtype: In<Datatype>, comm: In<Comm>
            );
            fn MPI_Alltoall_init, MPI_Alltoall_init_c(
                sendbuf: Place, sendcount: $count, sendtype: In<Datatype>, recvbuf: Place, recvcount: $count,
                recvtype: In<Datatype>, comm: In<Comm>, info: In<Info>, request: HandleOut<Request>
            );
            fn MPI_Alltoallv, MPI_Alltoallv_c(
                sendbuf: Place, sendcounts: Pointer, sdispls: Pointer, sendtype: In<Datatype>, recvbuf: Place,
                recvcounts: Pointer, rdispls: Pointer, recvtype: In<Datatype>, comm: In<Comm>
            );
            fn MPI_Alltoallv_init, MPI_Alltoallv_init_c(
                sendbuf: Place, sendcounts: Pointer, sdispls: Pointer, sendtype: In<Datatype>, recvbuf: Place,
                recvcounts: Pointer, rdispls: Pointer, recvtype: In<Datatype>, comm: In<Comm>, info: In<Info>,
                request: HandleOut<Request>
            );
            fn MPI_Alltoallw, MPI_Alltoallw_c(
                sendbuf: Place, sendcounts: Pointer, sdispls: Pointer,
                sendtypes: HandleList<Datatype>[senders(sendbuf, comm)], recvbuf: Place, recvcounts: Pointer,
                rdispls: Pointer, recvtypes: HandleList<Datatype>[peers(comm)], comm: In<Comm>
            );
            fn MPI_Alltoallw_init, MPI_Alltoallw_init_c(
                sendbuf: Place, sendcounts: Pointer, sdispls: Pointer,
                sendtypes: HandleList<Datatype>[senders(sendbuf, comm)], recvbuf: Place, recvcounts: Pointer,
                rdispls: Pointer, recvtypes: HandleList<Datatype>[peers(comm)], comm: In<Comm>, info: In<Info>,
                request: HandleOut<Request>
            );
            fn MPI_Bcast, MPI_Bcast_c(
                buffer: Place, count: $count, datatype: In<Datatype>, root: Rank, comm: In<Comm>
            );
            fn MPI_Bcast_init, MPI_Bcast_init_c(
                buffer: Place, count: $count, datatype: In<Datatype>, root: Rank, comm: In<Comm>,
                info: In<Info>, request: HandleOut<Request>
            );
            fn MPI_Exscan, MPI_Exscan_c(
                sendbuf: Place, recvbuf: Place, count: $count, datatype: In<Datatype>, op: In<Op>,
                comm: In<Comm>
            );
            fn MPI_Exscan_init, MPI_Exscan_init_c(
                sendbuf: Place, recvbuf: Place, count: $count, datatype: In<Datatype>, op: In<Op>,
                comm: In<Comm>, info: In<Info>, request: HandleOut<Request>
            );
            fn MPI_Gather, MPI_Gather_c(
                sendbuf: Place, sendcount: $count, sendtype: In<Datatype>, recvbuf: Place, recvcount: $count,
                recvtype: In<Datatype>, root: Rank, comm: In<Comm>
            );
            fn MPI_Gather_init, MPI_Gather_init_c(
                sendbuf: Place, sendcount: $count, sendtype: In<Datatype>, recvbuf: Place, recvcount: $count,
                recvtype: In<Datatype>, root: Rank, comm: In<Comm>, info: In<Info>, request: HandleOut<Request>
            );
            fn MPI_Gatherv, MPI_Gatherv_c(
                sendbuf: Place, sendcount: $count, sendtype: In<Datatype>, recvbuf: Place,
                recvcounts: Pointer, displs: Pointer, recvtype: In<Datatype>, root: Rank, comm: In<Comm>
            );
            fn MPI_Gatherv_init, MPI_Gatherv_init_c(
                sendbuf: Place, sendcount: $count, sendtype: In<Datatype>, recvbuf: Place,
                recvcounts: Pointer, displs: Pointer, recvtype: In<Datatype>, root: Rank, comm: In<Comm>,
                info: In<Info>, request: HandleOut<Request>
            );
            fn MPI_Iallgather, MPI_Iallgather_c(
                sendbuf: Place, sendcount: $count, sendtype: In<Datatype>, recvbuf: Place, recvcount: $count,
                recvtype: In<Datatype>, comm: In<Comm>, request: HandleOut<Request>
            );
            fn MPI_Iallgatherv, MPI_Iallgatherv_c(
                sendbuf: Place, sendcount: $count, sendtype: In<Datatype>, recvbuf: Place,
                recvcounts: Pointer, displs: Pointer, recvtype: In<Datatype>, comm: In<Comm>,
                request: HandleOut<Request>
            );
            fn MPI_Iallreduce, MPI_Iallreduce_c(
                sendbuf: Place, recvbuf: Place, count: $count, datatype: In<Datatype>, op: In<Op>,
                comm: In<Comm>, request: HandleOut<Request>
            );
            fn MPI_Ialltoall, MPI_Ialltoall_c(
                sendbuf: Place, sendcount: $count, sendtype: In<Datatype>, recvbuf: Place, recvcount: $count,
                recvtype: In<Datatype>, comm: In<Comm>, request: HandleOut<Request>
            );
            fn MPI_Ialltoallv, MPI_Ialltoallv_c(
                sendbuf: Place, sendcounts: Pointer, sdispls: Pointer, sendtype: In<Datatype>, recvbuf: Place,
                recvcounts: Pointer, rdispls: Pointer, recvtype: In<Datatype>, comm: In<Comm>,
                request: HandleOut<Request>
            );
            fn MPI_Ialltoallw, MPI_Ialltoallw_c(
                sendbuf: Place, sendcounts: Pointer, sdispls: Pointer,
                sendtypes: HandleList<Datatype>[senders(sendbuf, comm)], recvbuf: Place, recvcounts: Pointer,
                rdispls: Pointer, recvtypes: HandleList<Datatype>[peers(comm)], comm: In<Comm>,
                request: HandleOut<Request>
            );
            fn MPI_Ibcast, MPI_Ibcast_c(
                buffer: Place, count: $count, datatype: In<Datatype>, root: Rank, comm: In<Comm>,
                request: HandleOut<Request>
            );
            fn MPI_Iexscan, MPI_Iexscan_c(
                sendbuf: Place, recvbuf: Place, count: $count, datatype: In<Datatype>, op: In<Op>,
                comm: In<Comm>, request: HandleOut<Request>
            );
            fn MPI_Igather, MPI_Igather_c(
                sendbuf: Place, sendcount: $count, sendtype: In<Datatype>, recvbuf: Place, recvcount: $count,
                recvtype: In<Datatype>, root: Rank, comm: In<Comm>, request: HandleOut<Request>
            );
            fn MPI_Igatherv, MPI_Igatherv_c(
                sendbuf: Place, sendcount: $count, sendtype: In<Datatype>, recvbuf: Place,
                recvcounts: Pointer, displs: Pointer, recvtype: In<Datatype>, root: Rank, comm: In<Comm>,
                request: HandleOut<Request>
            );
            fn MPI_Ineighbor_allgather, MPI_Ineighbor_allgather_c(
                sendbuf: Place, sendcount: $count, sendtype: In<Datatype>, recvbuf: Place, recvcount: $count,
                recvtype: In<Datatype>, comm: In<Comm>, request: HandleOut<Request>
            );
            fn MPI_Ineighbor_allgatherv, MPI_Ineighbor_allgatherv_c(
                sendbuf: Place, sendcount: $count, sendtype: In<Datatype>, recvbuf: Place,
                recvcounts: Pointer, displs: Pointer, recvtype: In<Datatype>, comm: In<Comm>,
                request: HandleOut<Request>
            );
            fn MPI_Ineighbor_alltoall, MPI_Ineighbor_alltoall_c(
                sendbuf: Place, sendcount: $count, sendtype: In<Datatype>, recvbuf: Place, recvcount: $count,
                recvtype: In<Datatype>, comm: In<Comm>, request: HandleOut<Request>
            );
            fn MPI_Ineighbor_alltoallv, MPI_Ineighbor_alltoallv_c(
                sendbuf: Place, sendcounts: Pointer, sdispls: Pointer, sendtype: In<Datatype>, recvbuf: Place,
                recvcounts: Pointer, rdispls: Pointer, recvtype: In<Datatype>, comm: In<Comm>,
                request: HandleOut<Request>
            );
            fn MPI_Ineighbor_alltoallw, MPI_Ineighbor_alltoallw_c(
                sendbuf: Place, sendcounts: Pointer, sdispls: Pointer,
                sendtypes: HandleList<Datatype>[targets(comm)], recvbuf: Place, recvcounts: Pointer,
                rdispls: Pointer, recvtypes: HandleList<Datatype>[sources(comm)], comm: In<Comm>,
                request: HandleOut<Request>
            );
            fn MPI_Ireduce, MPI_Ireduce_c(
                sendbuf: Place, recvbuf: Place, count: $count, datatype: In<Datatype>, op: In<Op>, root: Rank,
                comm: In<Comm>, request: HandleOut<Request>
            );
            fn MPI_Ireduce_scatter, MPI_Ireduce_scatter_c(
                sendbuf: Place, recvbuf: Place, recvcounts: Pointer, datatype: In<Datatype>, op: In<Op>,
                comm: In<Comm>, request: HandleOut<Request>
            );
            fn MPI_Ireduce_scatter_block, MPI_Ireduce_scatter_block_c(
                sendbuf: Place, recvbuf: Place, recvcount: $count, datatype: In<Datatype>, op: In<Op>,
                comm: In<Comm>, request: HandleOut<Request>
            );
            fn MPI_Iscan, MPI_Iscan_c(
                sendbuf: Place, recvbuf: Place, count: $count, datatype: In<Datatype>, op: In<Op>,
                comm: In<Comm>, request: HandleOut<Request>
            );
            fn MPI_Iscatter, MPI_Iscatter_c(
                sendbuf: Place, sendcount: $count, sendtype: In<Datatype>, recvbuf: Place, recvcount: $count,
                recvtype: In<Datatype>, root: Rank, comm: In<Comm>, request: HandleOut<Request>
            );
            fn MPI_Iscatterv, MPI_Iscatterv_c(
                sendbuf: Place, sendcounts: Pointer, displs: Pointer, sendtype: In<Datatype>, recvbuf: Place,
                recvcount: $count, recvtype: In<Datatype>, root: Rank, comm: In<Comm>, request: HandleOut<Request>
            );
            fn MPI_Neighbor_allgather, MPI_Neighbor_allgather_c(
                sendbuf: Place, sendcount: $count, sendtype: In<Datatype>, recvbuf: Place, recvcount: $count,
                recvtype: In<Datatype>, comm: In<Comm>
            );
            fn MPI_Neighbor_allgather_init, MPI_Neighbor_allgather_init_c(
                sendbuf: Place, sendcount: $count, sendtype: In<Datatype>, recvbuf: Place, recvcount: $count,
                recvtype: In<Datatype>, comm: In<Comm>, info: In<Info>, request: HandleOut<Request>
            );
            fn MPI_Neighbor_allgatherv, MPI_Neighbor_allgatherv_c(
                sendbuf: Place, sendcount: $count, sendtype: In<Datatype>, recvbuf: Place,
                recvcounts: Pointer, displs: Pointer, recvtype: In<Datatype>, comm: In<Comm>
            );
            fn MPI_Neighbor_allgatherv_init, MPI_Neighbor_allgatherv_init_c(
                sendbuf: Place, sendcount: $count, sendtype: In<Datatype>, recvbuf: Place,
                recvcounts: Pointer, displs: Pointer, recvtype: In<Datatype>, comm: In<Comm>, info: In<Info>,
                request: HandleOut<Request>
            );
            fn MPI_Neighbor_alltoall, MPI_Neighbor_alltoall_c(
                sendbuf: Place, sendcount: $count, sendtype: In<Datatype>, recvbuf: Place, recvcount: $count,
                recvtype: In<Datatype>, comm: In<Comm>
            );
            fn MPI_Neighbor_alltoall_init, MPI_Neighbor_alltoall_init_c(
                sendbuf: Place, sendcount: $count, sendtype: In<Datatype>, recvbuf: Place, recvcount: $count,
                recvtype: In<Datatype>, comm: In<Comm>, info: In<Info>, request: HandleOut<Request>
            );
            fn MPI_Neighbor_alltoallv, MPI_Neighbor_alltoallv_c(
                sendbuf: Place, sendcounts: Pointer, sdispls: Pointer, sendtype: In<Datatype>, recvbuf: Place,
                recvcounts: Pointer, rdispls: Pointer, recvtype: In<Datatype>, comm: In<Comm>
            );
            fn MPI_Neighbor_alltoallv_init, MPI_Neighbor_alltoallv_init_c(
                sendbuf: Place, sendcounts: Pointer, sdispls: Pointer, sendtype: In<Datatype>, recvbuf: Place,
                recvcounts: Pointer, rdispls: Pointer, recvtype: In<Datatype>, comm: In<Comm>, info: In<Info>,
                request: HandleOut<Request>
            );
            fn MPI_Neighbor_alltoallw, MPI_Neighbor_alltoallw_c(
                sendbuf: Place, sendcounts: Pointer, sdispls: Pointer,
                sendtypes: HandleList<Datatype>[targets(comm)], recvbuf: Place, recvcounts: Pointer,
                rdispls: Pointer, recvtypes: HandleList<Datatype>[sources(comm)], comm: In<Comm>
            );
            fn MPI_Neighbor_alltoallw_init, MPI_Neighbor_alltoallw_init_c(
                sendbuf: Place, sendcounts: Pointer, sdispls: Pointer,
                sendtypes: HandleList<Datatype>[targets(comm)], recvbuf: Place, recvcounts: Pointer,
                rdispls: Pointer, recvtypes: HandleList<Datatype>[sources(comm)], comm: In<Comm>, info: In<Info>,
                request: HandleOut<Request>
            );
            fn MPI_Reduce, MPI_Reduce_c(
                sendbuf: Place, recvbuf: Place, count: $count, datatype: In<Datatype>, op: In<Op>, root: Rank,
                comm: In<Comm>
            );
            fn MPI_Reduce_init, MPI_Reduce_init_c(
                sendbuf: Place, recvbuf: Place, count: $count, datatype: In<Datatype>, op: In<Op>, root: Rank,
                comm: In<Comm>, info: In<Info>, request: HandleOut<Request>
            );
            fn MPI_Reduce_local, MPI_Reduce_local_c(
                inbuf: Place, inoutbuf: Place, count: $count, datatype: In<Datatype>, op: In<Op>
            );
            fn MPI_Reduce_scatter, MPI_Reduce_scatter_c(
                sendbuf: Place, recvbuf: Place, recvcounts: Pointer, datatype: In<Datatype>, op: In<Op>,
                comm: In<Comm>
            );
            fn MPI_Reduce_scatter_block, MPI_Reduce_scatter_block_c(
                sendbuf: Place, recvbuf: Place, recvcount: $count, datatype: In<Datatype>, op: In<Op>,
                comm: In<Comm>
            );
            fn MPI_Reduce_scatter_block_init, MPI_Reduce_scatter_block_init_c(
                sendbuf: Place, recvbuf: Place, recvcount: $count, datatype: In<Datatype>, op: In<Op>,
                comm: In<Comm>, info: In<Info>, request: HandleOut<Request>
            );
            fn MPI_Reduce_scatter_init, MPI_Reduce_scatter_init_c(
                sendbuf: Place, recvbuf: Place, recvcounts: Pointer, datatype: In<Datatype>, op: In<Op>,
                comm: In<Comm>, info: In<Info>, request: HandleOut<Request>
            );
            fn MPI_Scan, MPI_Scan_c(
                sendbuf: Place, recvbuf: Place, count: $count, datatype: In<Datatype>, op: In<Op>,
                comm: In<Comm>
            );
            fn MPI_Scan_init, MPI_Scan_init_c(
                sendbuf: Place, recvbuf: Place, count: $count, datatype: In<Datatype>, op: In<Op>,
                comm: In<Comm>, info: In<Info>, request: HandleOut<Request>
            );
            fn MPI_Scatter, MPI_Scatter_c(
                sendbuf: Place, sendcount: $count, sendtype: In<Datatype>, recvbuf: Place, recvcount: $count,
                recvtype: In<Datatype>, root: Rank, comm: In<Comm>
            );
            fn MPI_Scatter_init, MPI_Scatter_init_c(
                sendbuf: Place, sendcount: $count, sendtype: In<Datatype>, recvbuf: Place, recvcount: $count,
                recvtype: In<Datatype>, root: Rank, comm: In<Comm>, info: In<Info>, request: HandleOut<Request>
            );
            fn MPI_Scatterv, MPI_Scatterv_c(
                sendbuf: Place, sendcounts: Pointer, displs: Pointer, sendtype: In<Datatype>, recvbuf: Place,
                recvcount: $count, recvtype: In<Datatype>, root: Rank, comm: In<Comm>
            );
            fn MPI_Scatterv_init, MPI_Scatterv_init_c(
                sendbuf: Place, sendcounts: Pointer, displs: Pointer, sendtype: In<Datatype>, recvbuf: Place,
                recvcount: $count, recvtype: In<Datatype>, root: Rank, comm: In<Comm>, info: In<Info>,
                request: HandleOut<Request>
            );
        }
    };
}

/// A list of functions by their first names.
#[doc(hidden)]
#[macro_export]
macro_rules! first_names {
    ($then:ident [$($one:tt)*] $(fn $first:ident, $second:ident $params:tt $(via $via:ident)?;)*) => {
        $then! { $($one)* $(fn $first $params $(via $via)?;)* }
    };
}

/// A list of functions by their second names, those without left out.
#[doc(hidden)]
#[macro_export]
macro_rules! second_names {
    ($then:ident [$($one:tt)*] $(fn $first:ident, $second:ident $params:tt $(via $via:ident)?;)*) => {
        $then! { $(fn $second $params $(via $via)?;)* }
    };
}

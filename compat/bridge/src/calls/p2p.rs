//! Point-to-point communication (chapters 3 and 4), buffers, statuses and generalized requests.

/// Hands the list to the macro `$then`.
#[macro_export]
macro_rules! p2p_calls {
    ($then:ident) => {
        $then! {
            fn MPI_Bsend(buf: Place, count: Int, datatype: In<Datatype>, dest: Rank, tag: Tag, comm: In<Comm>);
            fn MPI_Bsend_c(
                buf: Place, count: Count, datatype: In<Datatype>, dest: Rank, tag: Tag, comm: In<Comm>
            );
            fn MPI_Bsend_init(
                buf: Place, count: Int, datatype: In<Datatype>, dest: Rank, tag: Tag, comm: In<Comm>,
                request: HandleOut<Request>
            );
            fn MPI_Bsend_init_c(
                buf: Place, count: Count, datatype: In<Datatype>, dest: Rank, tag: Tag, comm: In<Comm>,
                request: HandleOut<Request>
            );
            fn MPI_Buffer_attach(buffer: Place, size: Int);
            fn MPI_Buffer_attach_c(buffer: Place, size: Count);
            fn MPI_Buffer_detach(buffer_addr: DetachedBuffer, size: Pointer);
            fn MPI_Buffer_detach_c(buffer_addr: DetachedBuffer, size: Pointer);
            fn MPI_Buffer_flush();
            fn MPI_Buffer_iflush(request: HandleOut<Request>);
            fn MPI_Cancel(request: HandleInOut<Request>);
            fn MPI_Comm_attach_buffer(comm: In<Comm>, buffer: Place, size: Int);
            fn MPI_Comm_attach_buffer_c(comm: In<Comm>, buffer: Place, size: Count);
            fn MPI_Comm_detach_buffer(comm: In<Comm>, buffer_addr: DetachedBuffer, size: Pointer);
            fn MPI_Comm_detach_buffer_c(comm: In<Comm>, buffer_addr: DetachedBuffer, size: Pointer);
            fn MPI_Comm_flush_buffer(comm: In<Comm>);
            fn MPI_Comm_iflush_buffer(comm: In<Comm>, request: HandleOut<Request>);
            fn MPI_Grequest_complete(request: In<Request>);
            fn MPI_Grequest_start(
                query_fn: Pointer, free_fn: Pointer, cancel_fn: Pointer, extra_state: Pointer, request: Pointer
            ) via grequest_start;
            fn MPI_Ibsend(
                buf: Place, count: Int, datatype: In<Datatype>, dest: Rank, tag: Tag, comm: In<Comm>,
                request: HandleOut<Request>
            );
            fn MPI_Ibsend_c(
                buf: Place, count: Count, datatype: In<Datatype>, dest: Rank, tag: Tag, comm: In<Comm>,
                request: HandleOut<Request>
            );
            fn MPI_Improbe(
                source: Rank, tag: Tag, comm: In<Comm>, flag: Pointer, message: HandleOut<Message>,
                status: ForeignStatusOut
            );
            fn MPI_Imrecv(
                buf: Place, count: Int, datatype: In<Datatype>, message: HandleInOut<Message>,
                request: HandleOut<Request>
            );
            fn MPI_Imrecv_c(
                buf: Place, count: Count, datatype: In<Datatype>, message: HandleInOut<Message>,
                request: HandleOut<Request>
            );
            fn MPI_Iprobe(source: Rank, tag: Tag, comm: In<Comm>, flag: Pointer, status: ForeignStatusOut);
            fn MPI_Irecv(
                buf: Place, count: Int, datatype: In<Datatype>, source: Rank, tag: Tag, comm: In<Comm>,
                request: HandleOut<Request>
            );
            fn MPI_Irecv_c(
                buf: Place, count: Count, datatype: In<Datatype>, source: Rank, tag: Tag, comm: In<Comm>,
                request: HandleOut<Request>
            );
            fn MPI_Irsend(
                buf: Place, count: Int, datatype: In<Datatype>, dest: Rank, tag: Tag, comm: In<Comm>,
                request: HandleOut<Request>
            );
            fn MPI_Irsend_c(
                buf: Place, count: Count, datatype: In<Datatype>, dest: Rank, tag: Tag, comm: In<Comm>,
                request: HandleOut<Request>
            );
            fn MPI_Isend(
                buf: Place, count: Int, datatype: In<Datatype>, dest: Rank, tag: Tag, comm: In<Comm>,
                request: HandleOut<Request>
            );
            fn MPI_Isend_c(
                buf: Place, count: Count, datatype: In<Datatype>, dest: Rank, tag: Tag, comm: In<Comm>,
                request: HandleOut<Request>
            );
            fn MPI_Isendrecv(
                sendbuf: Place, sendcount: Int, sendtype: In<Datatype>, dest: Rank, sendtag: Tag,
                recvbuf: Place, recvcount: Int, recvtype: In<Datatype>, source: Rank, recvtag: Tag,
                comm: In<Comm>, request: HandleOut<Request>
            );
            fn MPI_Isendrecv_c(
                sendbuf: Place, sendcount: Count, sendtype: In<Datatype>, dest: Rank, sendtag: Tag,
                recvbuf: Place, recvcount: Count, recvtype: In<Datatype>, source: Rank, recvtag: Tag,
                comm: In<Comm>, request: HandleOut<Request>
            );
            fn MPI_Isendrecv_replace(
                buf: Place, count: Int, datatype: In<Datatype>, dest: Rank, sendtag: Tag, source: Rank,
                recvtag: Tag, comm: In<Comm>, request: HandleOut<Request>
            );
            fn MPI_Isendrecv_replace_c(
                buf: Place, count: Count, datatype: In<Datatype>, dest: Rank, sendtag: Tag, source: Rank,
                recvtag: Tag, comm: In<Comm>, request: HandleOut<Request>
            );
            fn MPI_Issend(
                buf: Place, count: Int, datatype: In<Datatype>, dest: Rank, tag: Tag, comm: In<Comm>,
                request: HandleOut<Request>
            );
            fn MPI_Issend_c(
                buf: Place, count: Count, datatype: In<Datatype>, dest: Rank, tag: Tag, comm: In<Comm>,
                request: HandleOut<Request>
            );
            fn MPI_Mprobe(
                source: Rank, tag: Tag, comm: In<Comm>, message: HandleOut<Message>, status: ForeignStatusOut
            );
            fn MPI_Mrecv(
                buf: Place, count: Int, datatype: In<Datatype>, message: HandleInOut<Message>, status: ForeignStatusOut
            );
            fn MPI_Mrecv_c(
                buf: Place, count: Count, datatype: In<Datatype>, message: HandleInOut<Message>,
                status: ForeignStatusOut
            );
            fn MPI_Parrived(request: In<Request>, partition: Int, flag: Pointer);
            fn MPI_Precv_init(
                buf: Place, partitions: Int, count: Count, datatype: In<Datatype>, dest: Rank, tag: Tag,
                comm: In<Comm>, info: In<Info>, request: HandleOut<Request>
            );
            fn MPI_Precv_init_c(
                buf: Place, partitions: Int, count: Count, datatype: In<Datatype>, dest: Rank, tag: Tag,
                comm: In<Comm>, info: In<Info>, request: HandleOut<Request>
            );
            fn MPI_Probe(source: Rank, tag: Tag, comm: In<Comm>, status: ForeignStatusOut);
            fn MPI_Psend_init(
                buf: Place, partitions: Int, count: Count, datatype: In<Datatype>, dest: Rank, tag: Tag,
                comm: In<Comm>, info: In<Info>, request: HandleOut<Request>
            );
            fn MPI_Psend_init_c(
                buf: Place, partitions: Int, count: Count, datatype: In<Datatype>, dest: Rank, tag: Tag,
                comm: In<Comm>, info: In<Info>, request: HandleOut<Request>
            );
            fn MPI_Recv(
                buf: Place, count: Int, datatype: In<Datatype>, source: Rank, tag: Tag, comm: In<Comm>,
                status: ForeignStatusOut
            );
            fn MPI_Recv_c(
                buf: Place, count: Count, datatype: In<Datatype>, source: Rank, tag: Tag, comm: In<Comm>,
                status: ForeignStatusOut
            );
            fn MPI_Recv_init(
                buf: Place, count: Int, datatype: In<Datatype>, source: Rank, tag: Tag, comm: In<Comm>,
                request: HandleOut<Request>
            );
            fn MPI_Recv_init_c(
                buf: Place, count: Count, datatype: In<Datatype>, source: Rank, tag: Tag, comm: In<Comm>,
                request: HandleOut<Request>
            );
            fn MPI_Request_free(request: HandleInOut<Request>);
            fn MPI_Request_get_status(request: In<Request>, flag: Pointer, status: ForeignStatusOut);
            fn MPI_Request_get_status_all(
                count: Int, array_of_requests: HandleList<Request>[count], flag: Pointer,
                array_of_statuses: Statuses[count]
            );
            fn MPI_Request_get_status_any(
                count: Int, array_of_requests: HandleList<Request>[count], indx: Pointer, flag: Pointer,
                status: ForeignStatusOut
            );
            fn MPI_Request_get_status_some(
                incount: Int, array_of_requests: HandleList<Request>[incount], outcount: Pointer,
                array_of_indices: Pointer, array_of_statuses: Statuses[incount]
            );
            fn MPI_Rsend(buf: Place, count: Int, datatype: In<Datatype>, dest: Rank, tag: Tag, comm: In<Comm>);
            fn MPI_Rsend_c(
                buf: Place, count: Count, datatype: In<Datatype>, dest: Rank, tag: Tag, comm: In<Comm>
            );
            fn MPI_Rsend_init(
                buf: Place, count: Int, datatype: In<Datatype>, dest: Rank, tag: Tag, comm: In<Comm>,
                request: HandleOut<Request>
            );
            fn MPI_Rsend_init_c(
                buf: Place, count: Count, datatype: In<Datatype>, dest: Rank, tag: Tag, comm: In<Comm>,
                request: HandleOut<Request>
            );
            fn MPI_Send(buf: Place, count: Int, datatype: In<Datatype>, dest: Rank, tag: Tag, comm: In<Comm>);
            fn MPI_Send_c(buf: Place, count: Count, datatype: In<Datatype>, dest: Rank, tag: Tag, comm: In<Comm>);
            fn MPI_Send_init(
                buf: Place, count: Int, datatype: In<Datatype>, dest: Rank, tag: Tag, comm: In<Comm>,
                request: HandleOut<Request>
            );
            fn MPI_Send_init_c(
                buf: Place, count: Count, datatype: In<Datatype>, dest: Rank, tag: Tag, comm: In<Comm>,
                request: HandleOut<Request>
            );
            fn MPI_Sendrecv(
                sendbuf: Place, sendcount: Int, sendtype: In<Datatype>, dest: Rank, sendtag: Tag,
                recvbuf: Place, recvcount: Int, recvtype: In<Datatype>, source: Rank, recvtag: Tag,
                comm: In<Comm>, status: ForeignStatusOut
            );
            fn MPI_Sendrecv_c(
                sendbuf: Place, sendcount: Count, sendtype: In<Datatype>, dest: Rank, sendtag: Tag,
                recvbuf: Place, recvcount: Count, recvtype: In<Datatype>, source: Rank, recvtag: Tag,
                comm: In<Comm>, status: ForeignStatusOut
            );
            fn MPI_Sendrecv_replace(
                buf: Place, count: Int, datatype: In<Datatype>, dest: Rank, sendtag: Tag, source: Rank,
                recvtag: Tag, comm: In<Comm>, status: ForeignStatusOut
            );
            fn MPI_Sendrecv_replace_c(
                buf: Place, count: Count, datatype: In<Datatype>, dest: Rank, sendtag: Tag, source: Rank,
                recvtag: Tag, comm: In<Comm>, status: ForeignStatusOut
            );
            fn MPI_Session_attach_buffer(session: In<Session>, buffer: Place, size: Int);
            fn MPI_Session_attach_buffer_c(session: In<Session>, buffer: Place, size: Count);
            fn MPI_Session_detach_buffer(session: In<Session>, buffer_addr: DetachedBuffer, size: Pointer);
            fn MPI_Session_detach_buffer_c(session: In<Session>, buffer_addr: DetachedBuffer, size: Pointer);
            fn MPI_Session_flush_buffer(session: In<Session>);
            fn MPI_Session_iflush_buffer(session: In<Session>, request: HandleOut<Request>);
            fn MPI_Ssend(buf: Place, count: Int, datatype: In<Datatype>, dest: Rank, tag: Tag, comm: In<Comm>);
            fn MPI_Ssend_c(
                buf: Place, count: Count, datatype: In<Datatype>, dest: Rank, tag: Tag, comm: In<Comm>
            );
            fn MPI_Ssend_init(
                buf: Place, count: Int, datatype: In<Datatype>, dest: Rank, tag: Tag, comm: In<Comm>,
                request: HandleOut<Request>
            );
            fn MPI_Ssend_init_c(
                buf: Place, count: Count, datatype: In<Datatype>, dest: Rank, tag: Tag, comm: In<Comm>,
                request: HandleOut<Request>
            );
            fn MPI_Start(request: HandleInOut<Request>);
            fn MPI_Startall(count: Int, array_of_requests: InOutList<Request>[count]);
            fn MPI_Status_get_error(status: Pointer, error: Pointer) via status_get_error;
            fn MPI_Status_get_source(status: StatusIn, source: RankOut);
            fn MPI_Status_get_tag(status: StatusIn, tag: TagOut);
            fn MPI_Test(request: HandleInOut<Request>, flag: Pointer, status: ForeignStatusOut);
            fn MPI_Test_cancelled(status: StatusIn, flag: Pointer);
            fn MPI_Testall(
                count: Int, array_of_requests: InOutList<Request>[count], flag: Pointer,
                array_of_statuses: Statuses[count]
            );
            fn MPI_Testany(
                count: Int, array_of_requests: InOutList<Request>[count], indx: Pointer, flag: Pointer,
                status: ForeignStatusOut
            );
            fn MPI_Testsome(
                incount: Int, array_of_requests: InOutList<Request>[incount], outcount: Pointer,
                array_of_indices: Pointer, array_of_statuses: Statuses[incount]
            );
            fn MPI_Wait(request: HandleInOut<Request>, status: ForeignStatusOut);
            fn MPI_Waitall(
                count: Int, array_of_requests: InOutList<Request>[count], array_of_statuses: Statuses[count]
            );
            fn MPI_Waitany(
                count: Int, array_of_requests: InOutList<Request>[count], indx: Pointer, status: ForeignStatusOut
            );
            fn MPI_Waitsome(
                incount: Int, array_of_requests: InOutList<Request>[incount], outcount: Pointer,
                array_of_indices: Pointer, array_of_statuses: Statuses[incount]
            );
        }
    };
}

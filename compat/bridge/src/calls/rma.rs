//! One-sided communication (chapter 12).

/// Hands the list to the macro `$then`.
#[macro_export]
macro_rules! rma_calls {
    ($then:ident) => {
        $then! {
            fn MPI_Accumulate(
                origin_addr: Place, origin_count: Int, origin_datatype: In<Datatype>, target_rank: Rank,
                target_disp: Aint, target_count: Int, target_datatype: In<Datatype>, op: In<Op>, win: In<Win>
            );
            fn MPI_Accumulate_c(
                origin_addr: Place, origin_count: Count, origin_datatype: In<Datatype>, target_rank: Rank,
                target_disp: Aint, target_count: Count, target_datatype: In<Datatype>, op: In<Op>, win: In<Win>
            );
            fn MPI_Alloc_mem(size: Aint, info: In<Info>, baseptr: Pointer);
            fn MPI_Compare_and_swap(
                origin_addr: Place, compare_addr: Place, result_addr: Place, datatype: In<Datatype>,
                target_rank: Rank, target_disp: Aint, win: In<Win>
            );
            fn MPI_Fetch_and_op(
                origin_addr: Place, result_addr: Place, datatype: In<Datatype>, target_rank: Rank,
                target_disp: Aint, op: In<Op>, win: In<Win>
            );
            fn MPI_Free_mem(base: Pointer);
            fn MPI_Get(
                origin_addr: Place, origin_count: Int, origin_datatype: In<Datatype>, target_rank: Rank,
                target_disp: Aint, target_count: Int, target_datatype: In<Datatype>, win: In<Win>
            );
            fn MPI_Get_accumulate(
                origin_addr: Place, origin_count: Int, origin_datatype: In<Datatype>, result_addr: Place,
                result_count: Int, result_datatype: In<Datatype>, target_rank: Rank, target_disp: Aint,
                target_count: Int, target_datatype: In<Datatype>, op: In<Op>, win: In<Win>
            );
            fn MPI_Get_accumulate_c(
                origin_addr: Place, origin_count: Count, origin_datatype: In<Datatype>, result_addr: Place,
                result_count: Count, result_datatype: In<Datatype>, target_rank: Rank, target_disp: Aint,
                target_count: Count, target_datatype: In<Datatype>, op: In<Op>, win: In<Win>
            );
            fn MPI_Get_c(
                origin_addr: Place, origin_count: Count, origin_datatype: In<Datatype>, target_rank: Rank,
                target_disp: Aint, target_count: Count, target_datatype: In<Datatype>, win: In<Win>
            );
            fn MPI_Put(
                origin_addr: Place, origin_count: Int, origin_datatype: In<Datatype>, target_rank: Rank,
                target_disp: Aint, target_count: Int, target_datatype: In<Datatype>, win: In<Win>
            );
            fn MPI_Put_c(
                origin_addr: Place, origin_count: Count, origin_datatype: In<Datatype>, target_rank: Rank,
                target_disp: Aint, target_count: Count, target_datatype: In<Datatype>, win: In<Win>
            );
            fn MPI_Raccumulate(
                origin_addr: Place, origin_count: Int, origin_datatype: In<Datatype>, target_rank: Rank,
                target_disp: Aint, target_count: Int, target_datatype: In<Datatype>, op: In<Op>, win: In<Win>,
                request: HandleOut<Request>
            );
            fn MPI_Raccumulate_c(
                origin_addr: Place, origin_count: Count, origin_datatype: In<Datatype>, target_rank: Rank,
                target_disp: Aint, target_count: Count, target_datatype: In<Datatype>, op: In<Op>, win: In<Win>,
                request: HandleOut<Request>
            );
            fn MPI_Rget(
                origin_addr: Place, origin_count: Int, origin_datatype: In<Datatype>, target_rank: Rank,
                target_disp: Aint, target_count: Int, target_datatype: In<Datatype>, win: In<Win>,
                request: HandleOut<Request>
            );
            fn MPI_Rget_accumulate(
                origin_addr: Place, origin_count: Int, origin_datatype: In<Datatype>, result_addr: Place,
                result_count: Int, result_datatype: In<Datatype>, target_rank: Rank, target_disp: Aint,
                target_count: Int, target_datatype: In<Datatype>, op: In<Op>, win: In<Win>,
                request: HandleOut<Request>
            );
            fn MPI_Rget_accumulate_c(
                origin_addr: Place, origin_count: Count, origin_datatype: In<Datatype>, result_addr: Place,
                result_count: Count, result_datatype: In<Datatype>, target_rank: Rank, target_disp: Aint,
                target_count: Count, target_datatype: In<Datatype>, op: In<Op>, win: In<Win>,
                request: HandleOut<Request>
            );
            fn MPI_Rget_c(
                origin_addr: Place, origin_count: Count, origin_datatype: In<Datatype>, target_rank: Rank,
                target_disp: Aint, target_count: Count, target_datatype: In<Datatype>, win: In<Win>,
                request: HandleOut<Request>
            );
            fn MPI_Rput(
                origin_addr: Place, origin_count: Int, origin_datatype: In<Datatype>, target_rank: Rank,
                target_disp: Aint, target_count: Int, target_datatype: In<Datatype>, win: In<Win>,
                request: HandleOut<Request>
            );
            fn MPI_Rput_c(
                origin_addr: Place, origin_count: Count, origin_datatype: In<Datatype>, target_rank: Rank,
                target_disp: Aint, target_count: Count, target_datatype: In<Datatype>, win: In<Win>,
                request: HandleOut<Request>
            );
            fn MPI_Win_allocate(
                size: Aint, disp_unit: Int, info: In<Info>, comm: In<Comm>, baseptr: Pointer, win: HandleOut<Win>
            );
            fn MPI_Win_allocate_c(
                size: Aint, disp_unit: Aint, info: In<Info>, comm: In<Comm>, baseptr: Pointer, win: HandleOut<Win>
            );
            fn MPI_Win_allocate_shared(
                size: Aint, disp_unit: Int, info: In<Info>, comm: In<Comm>, baseptr: Pointer, win: HandleOut<Win>
            );
            fn MPI_Win_allocate_shared_c(
                size: Aint, disp_unit: Aint, info: In<Info>, comm: In<Comm>, baseptr: Pointer, win: HandleOut<Win>
            );
            fn MPI_Win_attach(win: In<Win>, base: Pointer, size: Aint);
            fn MPI_Win_call_errhandler(win: In<Win>, errorcode: ErrorCode);
            fn MPI_Win_complete(win: In<Win>);
            fn MPI_Win_create(
                base: Pointer, size: Aint, disp_unit: Int, info: In<Info>, comm: In<Comm>, win: HandleOut<Win>
            );
            fn MPI_Win_create_c(
                base: Pointer, size: Aint, disp_unit: Aint, info: In<Info>, comm: In<Comm>, win: HandleOut<Win>
            );
            fn MPI_Win_create_dynamic(info: In<Info>, comm: In<Comm>, win: HandleOut<Win>);
            fn MPI_Win_create_errhandler(win_errhandler_fn: Pointer, errhandler: Pointer) via win_create_errhandler;
            fn MPI_Win_create_keyval(
                win_copy_attr_fn: Pointer, win_delete_attr_fn: Pointer, win_keyval: Pointer,
                extra_state: Pointer
            ) via win_create_keyval;
            fn MPI_Win_delete_attr(win: In<Win>, win_keyval: Keyval);
            fn MPI_Win_detach(win: In<Win>, base: Pointer);
            fn MPI_Win_fence(assert: Assertion, win: In<Win>);
            fn MPI_Win_flush(rank: Rank, win: In<Win>);
            fn MPI_Win_flush_all(win: In<Win>);
            fn MPI_Win_flush_local(rank: Rank, win: In<Win>);
            fn MPI_Win_flush_local_all(win: In<Win>);
            fn MPI_Win_free(win: HandleInOut<Win>);
            fn MPI_Win_free_keyval(win_keyval: KeyvalInOut);
            fn MPI_Win_get_attr(
                win: In<Win>, win_keyval: Int, attribute_val: Pointer, flag: Pointer
            ) via win_get_attr;
            fn MPI_Win_get_errhandler(win: In<Win>, errhandler: HandleOut<Errhandler>);
            fn MPI_Win_get_group(win: In<Win>, group: HandleOut<Group>);
            fn MPI_Win_get_info(win: In<Win>, info_used: HandleOut<Info>);
            fn MPI_Win_get_name(win: In<Win>, win_name: ObjectName, resultlen: ObjectNameLength);
            fn MPI_Win_lock(lock_type: LockType, rank: Rank, assert: Assertion, win: In<Win>);
            fn MPI_Win_lock_all(assert: Assertion, win: In<Win>);
            fn MPI_Win_post(group: In<Group>, assert: Assertion, win: In<Win>);
            fn MPI_Win_set_attr(win: In<Win>, win_keyval: Keyval, attribute_val: Pointer);
            fn MPI_Win_set_errhandler(win: In<Win>, errhandler: In<Errhandler>);
            fn MPI_Win_set_info(win: In<Win>, info: In<Info>);
            fn MPI_Win_set_name(win: In<Win>, win_name: Pointer);
            fn MPI_Win_shared_query(win: In<Win>, rank: Rank, size: Pointer, disp_unit: Pointer, baseptr: Pointer);
            fn MPI_Win_shared_query_c(
                win: In<Win>, rank: Rank, size: Pointer, disp_unit: Pointer, baseptr: Pointer
            );
            fn MPI_Win_start(group: In<Group>, assert: Assertion, win: In<Win>);
            fn MPI_Win_sync(win: In<Win>);
            fn MPI_Win_test(win: In<Win>, flag: Pointer);
            fn MPI_Win_unlock(rank: Rank, win: In<Win>);
            fn MPI_Win_unlock_all(win: In<Win>);
            fn MPI_Win_wait(win: In<Win>);
        }
    };
}

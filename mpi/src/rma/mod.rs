//! Chapter 12: one-sided communication, which Tern does not have yet.

use std::ffi::{c_char, c_int, c_void};

use tern_abi::*;

use crate::core::unsupported::unsupported;

unsupported! {
    // Windows (section 12.2).
    fn MPI_Win_create, MPI_Win_create_c<W>(
        base: *mut c_void, size: MPI_Aint, disp_unit: W::Displ, info: MPI_Info, comm: MPI_Comm,
        win: *mut MPI_Win,
    ) on comm;
    fn MPI_Win_allocate, MPI_Win_allocate_c<W>(
        size: MPI_Aint, disp_unit: W::Displ, info: MPI_Info, comm: MPI_Comm, baseptr: *mut c_void,
        win: *mut MPI_Win,
    ) on comm;
    fn MPI_Win_allocate_shared, MPI_Win_allocate_shared_c<W>(
        size: MPI_Aint, disp_unit: W::Displ, info: MPI_Info, comm: MPI_Comm, baseptr: *mut c_void,
        win: *mut MPI_Win,
    ) on comm;
    fn MPI_Win_shared_query, MPI_Win_shared_query_c<W>(
        win: MPI_Win, rank: c_int, size: *mut MPI_Aint, disp_unit: *mut W::Displ, baseptr: *mut c_void,
    ) on win;
    fn MPI_Win_create_dynamic(info: MPI_Info, comm: MPI_Comm, win: *mut MPI_Win) on comm;
    fn MPI_Win_attach(win: MPI_Win, base: *mut c_void, size: MPI_Aint) on win;
    fn MPI_Win_detach(win: MPI_Win, base: *const c_void) on win;
    fn MPI_Win_free(win: *mut MPI_Win);
    fn MPI_Win_get_group(win: MPI_Win, group: *mut MPI_Group) on win;
    fn MPI_Win_get_info(win: MPI_Win, info_used: *mut MPI_Info) on win;
    fn MPI_Win_set_info(win: MPI_Win, info: MPI_Info) on win;
}

unsupported! {
    // Names and attributes (chapter 7).
    fn MPI_Win_get_name(win: MPI_Win, win_name: *mut c_char, resultlen: *mut c_int) on win;
    fn MPI_Win_set_name(win: MPI_Win, win_name: *const c_char) on win;
    fn MPI_Win_create_keyval(
        win_copy_attr_fn: Option<MPI_Win_copy_attr_function>,
        win_delete_attr_fn: Option<MPI_Win_delete_attr_function>, win_keyval: *mut c_int,
        extra_state: *mut c_void,
    );
    fn MPI_Win_free_keyval(win_keyval: *mut c_int);
    fn MPI_Win_delete_attr(win: MPI_Win, win_keyval: c_int) on win;
    fn MPI_Win_get_attr(win: MPI_Win, win_keyval: c_int, attribute_val: *mut c_void, flag: *mut c_int) on win;
    fn MPI_Win_set_attr(win: MPI_Win, win_keyval: c_int, attribute_val: *mut c_void) on win;
}

unsupported! {
    // Transfers (section 12.3).
    fn MPI_Put, MPI_Put_c<W>(
        origin_addr: *const c_void, origin_count: W::Count, origin_datatype: MPI_Datatype, target_rank: c_int,
        target_disp: MPI_Aint, target_count: W::Count, target_datatype: MPI_Datatype, win: MPI_Win,
    ) on win;
    fn MPI_Get, MPI_Get_c<W>(
        origin_addr: *mut c_void, origin_count: W::Count, origin_datatype: MPI_Datatype, target_rank: c_int,
        target_disp: MPI_Aint, target_count: W::Count, target_datatype: MPI_Datatype, win: MPI_Win,
    ) on win;
    fn MPI_Accumulate, MPI_Accumulate_c<W>(
        origin_addr: *const c_void, origin_count: W::Count, origin_datatype: MPI_Datatype, target_rank: c_int,
        target_disp: MPI_Aint, target_count: W::Count, target_datatype: MPI_Datatype, op: MPI_Op,
        win: MPI_Win,
    ) on win;
    fn MPI_Get_accumulate, MPI_Get_accumulate_c<W>(
        origin_addr: *const c_void, origin_count: W::Count, origin_datatype: MPI_Datatype,
        result_addr: *mut c_void, result_count: W::Count, result_datatype: MPI_Datatype, target_rank: c_int,
        target_disp: MPI_Aint, target_count: W::Count, target_datatype: MPI_Datatype, op: MPI_Op,
        win: MPI_Win,
    ) on win;
    fn MPI_Fetch_and_op(
        origin_addr: *const c_void, result_addr: *mut c_void, datatype: MPI_Datatype, target_rank: c_int,
        target_disp: MPI_Aint, op: MPI_Op, win: MPI_Win,
    ) on win;
    fn MPI_Compare_and_swap(
        origin_addr: *const c_void, compare_addr: *const c_void, result_addr: *mut c_void,
        datatype: MPI_Datatype, target_rank: c_int, target_disp: MPI_Aint, win: MPI_Win,
    ) on win;
    fn MPI_Rput, MPI_Rput_c<W>(
        origin_addr: *const c_void, origin_count: W::Count, origin_datatype: MPI_Datatype, target_rank: c_int,
        target_disp: MPI_Aint, target_count: W::Count, target_datatype: MPI_Datatype, win: MPI_Win,
        request: *mut MPI_Request,
    ) on win;
    fn MPI_Rget, MPI_Rget_c<W>(
        origin_addr: *mut c_void, origin_count: W::Count, origin_datatype: MPI_Datatype, target_rank: c_int,
        target_disp: MPI_Aint, target_count: W::Count, target_datatype: MPI_Datatype, win: MPI_Win,
        request: *mut MPI_Request,
    ) on win;
    fn MPI_Raccumulate, MPI_Raccumulate_c<W>(
        origin_addr: *const c_void, origin_count: W::Count, origin_datatype: MPI_Datatype, target_rank: c_int,
        target_disp: MPI_Aint, target_count: W::Count, target_datatype: MPI_Datatype, op: MPI_Op,
        win: MPI_Win, request: *mut MPI_Request,
    ) on win;
    fn MPI_Rget_accumulate, MPI_Rget_accumulate_c<W>(
        origin_addr: *const c_void, origin_count: W::Count, origin_datatype: MPI_Datatype,
        result_addr: *mut c_void, result_count: W::Count, result_datatype: MPI_Datatype, target_rank: c_int,
        target_disp: MPI_Aint, target_count: W::Count, target_datatype: MPI_Datatype, op: MPI_Op,
        win: MPI_Win, request: *mut MPI_Request,
    ) on win;
}

unsupported! {
    // Synchronization (section 12.5).
    fn MPI_Win_fence(assert: c_int, win: MPI_Win) on win;
    fn MPI_Win_start(group: MPI_Group, assert: c_int, win: MPI_Win) on win;
    fn MPI_Win_complete(win: MPI_Win) on win;
    fn MPI_Win_post(group: MPI_Group, assert: c_int, win: MPI_Win) on win;
    fn MPI_Win_wait(win: MPI_Win) on win;
    fn MPI_Win_test(win: MPI_Win, flag: *mut c_int) on win;
    fn MPI_Win_lock(lock_type: c_int, rank: c_int, assert: c_int, win: MPI_Win) on win;
    fn MPI_Win_lock_all(assert: c_int, win: MPI_Win) on win;
    fn MPI_Win_unlock(rank: c_int, win: MPI_Win) on win;
    fn MPI_Win_unlock_all(win: MPI_Win) on win;
    fn MPI_Win_flush(rank: c_int, win: MPI_Win) on win;
    fn MPI_Win_flush_all(win: MPI_Win) on win;
    fn MPI_Win_flush_local(rank: c_int, win: MPI_Win) on win;
    fn MPI_Win_flush_local_all(win: MPI_Win) on win;
    fn MPI_Win_sync(win: MPI_Win) on win;
}

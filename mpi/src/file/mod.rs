//! Chapter 14: files, which Tern does not have yet.

use std::ffi::{c_char, c_int, c_void};

use tern_abi::*;

use crate::core::unsupported::unsupported;

unsupported! {
    // Files (section 14.2).
    fn MPI_File_open(
        comm: MPI_Comm, filename: *const c_char, amode: c_int, info: MPI_Info, fh: *mut MPI_File,
    ) on comm;
    fn MPI_File_close(fh: *mut MPI_File);
    fn MPI_File_delete(filename: *const c_char, info: MPI_Info);
    fn MPI_File_set_size(fh: MPI_File, size: MPI_Offset) on fh;
    fn MPI_File_preallocate(fh: MPI_File, size: MPI_Offset) on fh;
    fn MPI_File_get_size(fh: MPI_File, size: *mut MPI_Offset) on fh;
    fn MPI_File_get_group(fh: MPI_File, group: *mut MPI_Group) on fh;
    fn MPI_File_get_amode(fh: MPI_File, amode: *mut c_int) on fh;
    fn MPI_File_get_info(fh: MPI_File, info_used: *mut MPI_Info) on fh;
    fn MPI_File_set_info(fh: MPI_File, info: MPI_Info) on fh;
}

unsupported! {
    // Views (section 14.3).
    fn MPI_File_get_view(
        fh: MPI_File, disp: *mut MPI_Offset, etype: *mut MPI_Datatype, filetype: *mut MPI_Datatype,
        datarep: *mut c_char,
    ) on fh;
    fn MPI_File_set_view(
        fh: MPI_File, disp: MPI_Offset, etype: MPI_Datatype, filetype: MPI_Datatype, datarep: *const c_char,
        info: MPI_Info,
    ) on fh;
}

unsupported! {
    // At explicit offsets (section 14.4.2).
    fn MPI_File_iread_at, MPI_File_iread_at_c<W>(
        fh: MPI_File, offset: MPI_Offset, buf: *mut c_void, count: W::Count, datatype: MPI_Datatype,
        request: *mut MPI_Request,
    ) on fh;
    fn MPI_File_iread_at_all, MPI_File_iread_at_all_c<W>(
        fh: MPI_File, offset: MPI_Offset, buf: *mut c_void, count: W::Count, datatype: MPI_Datatype,
        request: *mut MPI_Request,
    ) on fh;
    fn MPI_File_iwrite_at, MPI_File_iwrite_at_c<W>(
        fh: MPI_File, offset: MPI_Offset, buf: *const c_void, count: W::Count, datatype: MPI_Datatype,
        request: *mut MPI_Request,
    ) on fh;
    fn MPI_File_iwrite_at_all, MPI_File_iwrite_at_all_c<W>(
        fh: MPI_File, offset: MPI_Offset, buf: *const c_void, count: W::Count, datatype: MPI_Datatype,
        request: *mut MPI_Request,
    ) on fh;
    fn MPI_File_read_at, MPI_File_read_at_c<W>(
        fh: MPI_File, offset: MPI_Offset, buf: *mut c_void, count: W::Count, datatype: MPI_Datatype,
        status: *mut MPI_Status,
    ) on fh;
    fn MPI_File_read_at_all, MPI_File_read_at_all_c<W>(
        fh: MPI_File, offset: MPI_Offset, buf: *mut c_void, count: W::Count, datatype: MPI_Datatype,
        status: *mut MPI_Status,
    ) on fh;
    fn MPI_File_write_at, MPI_File_write_at_c<W>(
        fh: MPI_File, offset: MPI_Offset, buf: *const c_void, count: W::Count, datatype: MPI_Datatype,
        status: *mut MPI_Status,
    ) on fh;
    fn MPI_File_write_at_all, MPI_File_write_at_all_c<W>(
        fh: MPI_File, offset: MPI_Offset, buf: *const c_void, count: W::Count, datatype: MPI_Datatype,
        status: *mut MPI_Status,
    ) on fh;
    fn MPI_File_read_at_all_begin, MPI_File_read_at_all_begin_c<W>(
        fh: MPI_File, offset: MPI_Offset, buf: *mut c_void, count: W::Count, datatype: MPI_Datatype,
    ) on fh;
    fn MPI_File_write_at_all_begin, MPI_File_write_at_all_begin_c<W>(
        fh: MPI_File, offset: MPI_Offset, buf: *const c_void, count: W::Count, datatype: MPI_Datatype,
    ) on fh;
    fn MPI_File_read_at_all_end(fh: MPI_File, buf: *mut c_void, status: *mut MPI_Status) on fh;
    fn MPI_File_write_at_all_end(fh: MPI_File, buf: *const c_void, status: *mut MPI_Status) on fh;
}

unsupported! {
    // At individual pointers (section 14.4.3).
    fn MPI_File_iread, MPI_File_iread_c<W>(
        fh: MPI_File, buf: *mut c_void, count: W::Count, datatype: MPI_Datatype, request: *mut MPI_Request,
    ) on fh;
    fn MPI_File_iread_all, MPI_File_iread_all_c<W>(
        fh: MPI_File, buf: *mut c_void, count: W::Count, datatype: MPI_Datatype, request: *mut MPI_Request,
    ) on fh;
    fn MPI_File_iwrite, MPI_File_iwrite_c<W>(
        fh: MPI_File, buf: *const c_void, count: W::Count, datatype: MPI_Datatype, request: *mut MPI_Request,
    ) on fh;
    fn MPI_File_iwrite_all, MPI_File_iwrite_all_c<W>(
        fh: MPI_File, buf: *const c_void, count: W::Count, datatype: MPI_Datatype, request: *mut MPI_Request,
    ) on fh;
    fn MPI_File_read, MPI_File_read_c<W>(
        fh: MPI_File, buf: *mut c_void, count: W::Count, datatype: MPI_Datatype, status: *mut MPI_Status,
    ) on fh;
    fn MPI_File_read_all, MPI_File_read_all_c<W>(
        fh: MPI_File, buf: *mut c_void, count: W::Count, datatype: MPI_Datatype, status: *mut MPI_Status,
    ) on fh;
    fn MPI_File_write, MPI_File_write_c<W>(
        fh: MPI_File, buf: *const c_void, count: W::Count, datatype: MPI_Datatype, status: *mut MPI_Status,
    ) on fh;
    fn MPI_File_write_all, MPI_File_write_all_c<W>(
        fh: MPI_File, buf: *const c_void, count: W::Count, datatype: MPI_Datatype, status: *mut MPI_Status,
    ) on fh;
    fn MPI_File_read_all_begin, MPI_File_read_all_begin_c<W>(
        fh: MPI_File, buf: *mut c_void, count: W::Count, datatype: MPI_Datatype,
    ) on fh;
    fn MPI_File_write_all_begin, MPI_File_write_all_begin_c<W>(
        fh: MPI_File, buf: *const c_void, count: W::Count, datatype: MPI_Datatype,
    ) on fh;
    fn MPI_File_read_all_end(fh: MPI_File, buf: *mut c_void, status: *mut MPI_Status) on fh;
    fn MPI_File_write_all_end(fh: MPI_File, buf: *const c_void, status: *mut MPI_Status) on fh;
    fn MPI_File_seek(fh: MPI_File, offset: MPI_Offset, whence: c_int) on fh;
    fn MPI_File_get_position(fh: MPI_File, offset: *mut MPI_Offset) on fh;
    fn MPI_File_get_byte_offset(fh: MPI_File, offset: MPI_Offset, disp: *mut MPI_Offset) on fh;
}

unsupported! {
    // At the shared pointer (section 14.4.4).
    fn MPI_File_iread_shared, MPI_File_iread_shared_c<W>(
        fh: MPI_File, buf: *mut c_void, count: W::Count, datatype: MPI_Datatype, request: *mut MPI_Request,
    ) on fh;
    fn MPI_File_iwrite_shared, MPI_File_iwrite_shared_c<W>(
        fh: MPI_File, buf: *const c_void, count: W::Count, datatype: MPI_Datatype, request: *mut MPI_Request,
    ) on fh;
    fn MPI_File_read_shared, MPI_File_read_shared_c<W>(
        fh: MPI_File, buf: *mut c_void, count: W::Count, datatype: MPI_Datatype, status: *mut MPI_Status,
    ) on fh;
    fn MPI_File_write_shared, MPI_File_write_shared_c<W>(
        fh: MPI_File, buf: *const c_void, count: W::Count, datatype: MPI_Datatype, status: *mut MPI_Status,
    ) on fh;
    fn MPI_File_read_ordered, MPI_File_read_ordered_c<W>(
        fh: MPI_File, buf: *mut c_void, count: W::Count, datatype: MPI_Datatype, status: *mut MPI_Status,
    ) on fh;
    fn MPI_File_write_ordered, MPI_File_write_ordered_c<W>(
        fh: MPI_File, buf: *const c_void, count: W::Count, datatype: MPI_Datatype, status: *mut MPI_Status,
    ) on fh;
    fn MPI_File_read_ordered_begin, MPI_File_read_ordered_begin_c<W>(
        fh: MPI_File, buf: *mut c_void, count: W::Count, datatype: MPI_Datatype,
    ) on fh;
    fn MPI_File_write_ordered_begin, MPI_File_write_ordered_begin_c<W>(
        fh: MPI_File, buf: *const c_void, count: W::Count, datatype: MPI_Datatype,
    ) on fh;
    fn MPI_File_read_ordered_end(fh: MPI_File, buf: *mut c_void, status: *mut MPI_Status) on fh;
    fn MPI_File_write_ordered_end(fh: MPI_File, buf: *const c_void, status: *mut MPI_Status) on fh;
    fn MPI_File_seek_shared(fh: MPI_File, offset: MPI_Offset, whence: c_int) on fh;
    fn MPI_File_get_position_shared(fh: MPI_File, offset: *mut MPI_Offset) on fh;
}

unsupported! {
    // Data representations (section 14.5) and consistency (section 14.6).
    fn MPI_File_get_type_extent(fh: MPI_File, datatype: MPI_Datatype, extent: *mut MPI_Aint) on fh;
    fn MPI_File_get_type_extent_c(fh: MPI_File, datatype: MPI_Datatype, extent: *mut MPI_Count) on fh;
    fn MPI_Register_datarep(
        datarep: *const c_char, read_conversion_fn: Option<MPI_Datarep_conversion_function>,
        write_conversion_fn: Option<MPI_Datarep_conversion_function>,
        dtype_file_extent_fn: Option<MPI_Datarep_extent_function>, extra_state: *mut c_void,
    );
    fn MPI_Register_datarep_c(
        datarep: *const c_char, read_conversion_fn: Option<MPI_Datarep_conversion_function_c>,
        write_conversion_fn: Option<MPI_Datarep_conversion_function_c>,
        dtype_file_extent_fn: Option<MPI_Datarep_extent_function>, extra_state: *mut c_void,
    );
    fn MPI_File_get_atomicity(fh: MPI_File, flag: *mut c_int) on fh;
    fn MPI_File_set_atomicity(fh: MPI_File, flag: c_int) on fh;
    fn MPI_File_sync(fh: MPI_File) on fh;
}

//! Files (chapter 14).

/// Hands the list to the macro `$then`.
#[macro_export]
macro_rules! file_calls {
    ($then:ident) => {
        $then! {
            fn MPI_File_call_errhandler(fh: In<File>, errorcode: ErrorCode);
            fn MPI_File_close(fh: HandleInOut<File>);
            fn MPI_File_create_errhandler(
                file_errhandler_fn: Pointer, errhandler: Pointer
            ) via file_create_errhandler;
            fn MPI_File_delete(filename: Pointer, info: In<Info>);
            fn MPI_File_get_amode(fh: In<File>, amode: AccessModeOut);
            fn MPI_File_get_atomicity(fh: In<File>, flag: Pointer);
            fn MPI_File_get_byte_offset(fh: In<File>, offset: Offset, disp: Pointer);
            fn MPI_File_get_errhandler(file: In<File>, errhandler: HandleOut<Errhandler>);
            fn MPI_File_get_group(fh: In<File>, group: HandleOut<Group>);
            fn MPI_File_get_info(fh: In<File>, info_used: HandleOut<Info>);
            fn MPI_File_get_position(fh: In<File>, offset: Pointer);
            fn MPI_File_get_position_shared(fh: In<File>, offset: Pointer);
            fn MPI_File_get_size(fh: In<File>, size: Pointer);
            fn MPI_File_get_type_extent(fh: In<File>, datatype: In<Datatype>, extent: Pointer);
            fn MPI_File_get_type_extent_c(fh: In<File>, datatype: In<Datatype>, extent: Pointer);
            fn MPI_File_get_view(
                fh: In<File>, disp: Pointer, etype: HandleOut<Datatype>, filetype: HandleOut<Datatype>,
                datarep: DatarepName
            );
            fn MPI_File_iread(
                fh: In<File>, buf: Place, count: Int, datatype: In<Datatype>, request: HandleOut<Request>
            );
            fn MPI_File_iread_all(
                fh: In<File>, buf: Place, count: Int, datatype: In<Datatype>, request: HandleOut<Request>
            );
            fn MPI_File_iread_all_c(
                fh: In<File>, buf: Place, count: Count, datatype: In<Datatype>, request: HandleOut<Request>
            );
            fn MPI_File_iread_at(
                fh: In<File>, offset: Offset, buf: Place, count: Int, datatype: In<Datatype>,
                request: HandleOut<Request>
            );
            fn MPI_File_iread_at_all(
                fh: In<File>, offset: Offset, buf: Place, count: Int, datatype: In<Datatype>,
                request: HandleOut<Request>
            );
            fn MPI_File_iread_at_all_c(
                fh: In<File>, offset: Offset, buf: Place, count: Count, datatype: In<Datatype>,
                request: HandleOut<Request>
            );
            fn MPI_File_iread_at_c(
                fh: In<File>, offset: Offset, buf: Place, count: Count, datatype: In<Datatype>,
                request: HandleOut<Request>
            );
            fn MPI_File_iread_c(
                fh: In<File>, buf: Place, count: Count, datatype: In<Datatype>, request: HandleOut<Request>
            );
            fn MPI_File_iread_shared(
                fh: In<File>, buf: Place, count: Int, datatype: In<Datatype>, request: HandleOut<Request>
            );
            fn MPI_File_iread_shared_c(
                fh: In<File>, buf: Place, count: Count, datatype: In<Datatype>, request: HandleOut<Request>
            );
            fn MPI_File_iwrite(
                fh: In<File>, buf: Place, count: Int, datatype: In<Datatype>, request: HandleOut<Request>
            );
            fn MPI_File_iwrite_all(
                fh: In<File>, buf: Place, count: Int, datatype: In<Datatype>, request: HandleOut<Request>
            );
            fn MPI_File_iwrite_all_c(
                fh: In<File>, buf: Place, count: Count, datatype: In<Datatype>, request: HandleOut<Request>
            );
            fn MPI_File_iwrite_at(
                fh: In<File>, offset: Offset, buf: Place, count: Int, datatype: In<Datatype>,
                request: HandleOut<Request>
            );
            fn MPI_File_iwrite_at_all(
                fh: In<File>, offset: Offset, buf: Place, count: Int, datatype: In<Datatype>,
                request: HandleOut<Request>
            );
            fn MPI_File_iwrite_at_all_c(
                fh: In<File>, offset: Offset, buf: Place, count: Count, datatype: In<Datatype>,
                request: HandleOut<Request>
            );
            fn MPI_File_iwrite_at_c(
                fh: In<File>, offset: Offset, buf: Place, count: Count, datatype: In<Datatype>,
                request: HandleOut<Request>
            );
            fn MPI_File_iwrite_c(
                fh: In<File>, buf: Place, count: Count, datatype: In<Datatype>, request: HandleOut<Request>
            );
            fn MPI_File_iwrite_shared(
                fh: In<File>, buf: Place, count: Int, datatype: In<Datatype>, request: HandleOut<Request>
            );
            fn MPI_File_iwrite_shared_c(
                fh: In<File>, buf: Place, count: Count, datatype: In<Datatype>, request: HandleOut<Request>
            );
            fn MPI_File_open(comm: In<Comm>, filename: Pointer, amode: AccessMode, info: In<Info>, fh: HandleOut<File>);
            fn MPI_File_preallocate(fh: In<File>, size: Offset);
            fn MPI_File_read(fh: In<File>, buf: Place, count: Int, datatype: In<Datatype>, status: ForeignStatusOut);
            fn MPI_File_read_all(
                fh: In<File>, buf: Place, count: Int, datatype: In<Datatype>, status: ForeignStatusOut
            );
            fn MPI_File_read_all_begin(fh: In<File>, buf: Place, count: Int, datatype: In<Datatype>);
            fn MPI_File_read_all_begin_c(fh: In<File>, buf: Place, count: Count, datatype: In<Datatype>);
            fn MPI_File_read_all_c(
                fh: In<File>, buf: Place, count: Count, datatype: In<Datatype>, status: ForeignStatusOut
            );
            fn MPI_File_read_all_end(fh: In<File>, buf: Place, status: ForeignStatusOut);
            fn MPI_File_read_at(
                fh: In<File>, offset: Offset, buf: Place, count: Int, datatype: In<Datatype>,
                status: ForeignStatusOut
            );
            fn MPI_File_read_at_all(
                fh: In<File>, offset: Offset, buf: Place, count: Int, datatype: In<Datatype>,
                status: ForeignStatusOut
            );
            fn MPI_File_read_at_all_begin(
                fh: In<File>, offset: Offset, buf: Place, count: Int, datatype: In<Datatype>
            );
            fn MPI_File_read_at_all_begin_c(
                fh: In<File>, offset: Offset, buf: Place, count: Count, datatype: In<Datatype>
            );
            fn MPI_File_read_at_all_c(
                fh: In<File>, offset: Offset, buf: Place, count: Count, datatype: In<Datatype>,
                status: ForeignStatusOut
            );
            fn MPI_File_read_at_all_end(fh: In<File>, buf: Place, status: ForeignStatusOut);
            fn MPI_File_read_at_c(
                fh: In<File>, offset: Offset, buf: Place, count: Count, datatype: In<Datatype>,
                status: ForeignStatusOut
            );
            fn MPI_File_read_c(
                fh: In<File>, buf: Place, count: Count, datatype: In<Datatype>, status: ForeignStatusOut
            );
            fn MPI_File_read_ordered(
                fh: In<File>, buf: Place, count: Int, datatype: In<Datatype>, status: ForeignStatusOut
            );
            fn MPI_File_read_ordered_begin(fh: In<File>, buf: Place, count: Int, datatype: In<Datatype>);
            fn MPI_File_read_ordered_begin_c(fh: In<File>, buf: Place, count: Count, datatype: In<Datatype>);
            fn MPI_File_read_ordered_c(
                fh: In<File>, buf: Place, count: Count, datatype: In<Datatype>, status: ForeignStatusOut
            );
            fn MPI_File_read_ordered_end(fh: In<File>, buf: Place, status: ForeignStatusOut);
            fn MPI_File_read_shared(
                fh: In<File>, buf: Place, count: Int, datatype: In<Datatype>, status: ForeignStatusOut
            );
            fn MPI_File_read_shared_c(
                fh: In<File>, buf: Place, count: Count, datatype: In<Datatype>, status: ForeignStatusOut
            );
            fn MPI_File_seek(fh: In<File>, offset: Offset, whence: Whence);
            fn MPI_File_seek_shared(fh: In<File>, offset: Offset, whence: Whence);
            fn MPI_File_set_atomicity(fh: In<File>, flag: Int);
            fn MPI_File_set_errhandler(file: In<File>, errhandler: In<Errhandler>);
            fn MPI_File_set_info(fh: In<File>, info: In<Info>);
            fn MPI_File_set_size(fh: In<File>, size: Offset);
            fn MPI_File_set_view(
                fh: In<File>, disp: Displacement, etype: In<Datatype>, filetype: In<Datatype>, datarep: Pointer,
                info: In<Info>
            );
            fn MPI_File_sync(fh: In<File>);
            fn MPI_File_write(fh: In<File>, buf: Place, count: Int, datatype: In<Datatype>, status: ForeignStatusOut);
            fn MPI_File_write_all(
                fh: In<File>, buf: Place, count: Int, datatype: In<Datatype>, status: ForeignStatusOut
            );
            fn MPI_File_write_all_begin(fh: In<File>, buf: Place, count: Int, datatype: In<Datatype>);
            fn MPI_File_write_all_begin_c(fh: In<File>, buf: Place, count: Count, datatype: In<Datatype>);
            fn MPI_File_write_all_c(
                fh: In<File>, buf: Place, count: Count, datatype: In<Datatype>, status: ForeignStatusOut
            );
            fn MPI_File_write_all_end(fh: In<File>, buf: Place, status: ForeignStatusOut);
            fn MPI_File_write_at(
                fh: In<File>, offset: Offset, buf: Place, count: Int, datatype: In<Datatype>,
                status: ForeignStatusOut
            );
            fn MPI_File_write_at_all(
                fh: In<File>, offset: Offset, buf: Place, count: Int, datatype: In<Datatype>,
                status: ForeignStatusOut
            );
            fn MPI_File_write_at_all_begin(
                fh: In<File>, offset: Offset, buf: Place, count: Int, datatype: In<Datatype>
            );
            fn MPI_File_write_at_all_begin_c(
                fh: In<File>, offset: Offset, buf: Place, count: Count, datatype: In<Datatype>
            );
            fn MPI_File_write_at_all_c(
                fh: In<File>, offset: Offset, buf: Place, count: Count, datatype: In<Datatype>,
                status: ForeignStatusOut
            );
            fn MPI_File_write_at_all_end(fh: In<File>, buf: Place, status: ForeignStatusOut);
            fn MPI_File_write_at_c(
                fh: In<File>, offset: Offset, buf: Place, count: Count, datatype: In<Datatype>,
                status: ForeignStatusOut
            );
            fn MPI_File_write_c(
                fh: In<File>, buf: Place, count: Count, datatype: In<Datatype>, status: ForeignStatusOut
            );
            fn MPI_File_write_ordered(
                fh: In<File>, buf: Place, count: Int, datatype: In<Datatype>, status: ForeignStatusOut
            );
            fn MPI_File_write_ordered_begin(fh: In<File>, buf: Place, count: Int, datatype: In<Datatype>);
            fn MPI_File_write_ordered_begin_c(fh: In<File>, buf: Place, count: Count, datatype: In<Datatype>);
            fn MPI_File_write_ordered_c(
                fh: In<File>, buf: Place, count: Count, datatype: In<Datatype>, status: ForeignStatusOut
            );
            fn MPI_File_write_ordered_end(fh: In<File>, buf: Place, status: ForeignStatusOut);
            fn MPI_File_write_shared(
                fh: In<File>, buf: Place, count: Int, datatype: In<Datatype>, status: ForeignStatusOut
            );
            fn MPI_File_write_shared_c(
                fh: In<File>, buf: Place, count: Count, datatype: In<Datatype>, status: ForeignStatusOut
            );
            fn MPI_Register_datarep(
                datarep: Pointer, read_conversion_fn: Pointer, write_conversion_fn: Pointer,
                dtype_file_extent_fn: Pointer, extra_state: Pointer
            ) via register_datarep;
            fn MPI_Register_datarep_c(
                datarep: Pointer, read_conversion_fn: Pointer, write_conversion_fn: Pointer,
                dtype_file_extent_fn: Pointer, extra_state: Pointer
            ) via register_datarep_large;
        }
    };
}

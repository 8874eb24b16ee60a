! Chapters 9, 10, 13 and 20: errors and their handlers, strings, info objects, requests of the program's own, the ABI.
! ranks: 1 2
#include "check.inc"
module seen
   implicit none
   integer :: handled = 0, freed = 0
end module seen

subroutine handler(comm, code)
   use seen, only : handled
   USE_MPI
   implicit none
   INCLUDE_MPI
   HANDLE(MPI_Comm) :: comm
   integer :: code, class, error
   call MPI_Error_class(code, class, error)
   if (comm /= MPI_COMM_NULL .and. class == MPI_ERR_RANK) handled = handled + 1
end subroutine handler

subroutine query(extra, s, error)
   USE_MPI
   implicit none
   INCLUDE_MPI
   integer(MPI_ADDRESS_KIND) :: extra
   STATUS :: s
   integer :: error
   call MPI_Status_set_elements(s, MPI_INTEGER, int(extra), error)
   call MPI_Status_set_cancelled(s, .false., error)
   SOURCE_OF(s) = 3
   TAG_OF(s) = 4
   error = MPI_SUCCESS
end subroutine query

subroutine release(extra, error)
   use seen, only : freed
   USE_MPI
   implicit none
   INCLUDE_MPI
   integer(MPI_ADDRESS_KIND) :: extra
   integer :: error
   freed = freed + int(extra)
   error = MPI_SUCCESS
end subroutine release

subroutine cancel(extra, complete, error)
   USE_MPI
   implicit none
   INCLUDE_MPI
   integer(MPI_ADDRESS_KIND) :: extra
   logical :: complete
   integer :: error
   error = merge(MPI_SUCCESS, MPI_ERR_OTHER, complete .or. extra == 0)
end subroutine cancel

program environment
   use seen
   USE_MPI
   implicit none
   INCLUDE_MPI
   integer :: rank, ranks, error, checks = 0, failures = 0
#ifdef INTERFACE_F08
   procedure(MPI_Comm_errhandler_function) :: handler
   procedure(MPI_Grequest_query_function) :: query
   procedure(MPI_Grequest_free_function) :: release
   procedure(MPI_Grequest_cancel_function) :: cancel
#else
   external :: handler, query, release, cancel
#endif

   call check_begin()
   call versions()
   call errors()
   call own_error_handler()
   call info_objects()
   call own_request()
   call of_the_abi()
   call sessions()
   call check_done()

contains

   subroutine versions()
      character(len=MPI_MAX_LIBRARY_VERSION_STRING) :: text
      integer :: major, minor, length
      logical :: flag
      double precision :: start
      start = MPI_Wtime()
      call MPI_Get_version(major, minor, error)
      call check(major == MPI_VERSION .and. minor == MPI_SUBVERSION, 'version of the standard')
      call MPI_Get_library_version(text, length, error)
      call check(index(text, 'Tern') > 0 .and. len_trim(text) <= length, 'version of the library')
      call MPI_Initialized(flag, error)
      call check(flag, 'MPI is initialized')
      call MPI_Finalized(flag, error)
      call check(.not. flag, 'and not finalized')
      call MPI_Query_thread(major, error)
      call check_equal(major, MPI_THREAD_SINGLE, 'level of threads')
      call check(MPI_Wtime() >= start .and. MPI_Wtick() > 0d0, 'time goes on')
   end subroutine versions

   subroutine errors()
      character(len=MPI_MAX_ERROR_STRING) :: text
      character(len=4) :: short
      integer :: class, code, length
      call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN, error)
      call MPI_Send(rank, 1, MPI_INTEGER, ranks + 5, 0, MPI_COMM_WORLD, code)
      call MPI_Error_class(code, class, error)
      call check_equal(class, MPI_ERR_RANK, 'class of a wrong rank')
      call MPI_Error_string(code, text, length, error)
      call check(index(text(1:length), 'rank') > 0 .and. text(length + 1:) == ' ', 'the text of the error')
      call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN, error)
      call MPI_Get_count(MPI_STATUS_IGNORE, MPI_INTEGER, length, code)
      call MPI_Error_class(code, class, error)
      call check_equal(class, MPI_ERR_ARG, 'a status that was ignored has no count')
      call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL, error)
      call MPI_Add_error_class(class, error)
      call MPI_Add_error_code(class, code, error)
      call MPI_Add_error_string(code, '  it rains  ', error)
      call MPI_Error_string(code, text, length, error)
      call check(text == '  it rains' .and. length == 10, 'a text of the program')
      call MPI_Error_string(code, short, length, error)
      call check(short == '  it' .and. length == 4, 'a text that is cut')
      call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL, error)
   end subroutine errors

   subroutine own_error_handler()
      HANDLE(MPI_Errhandler) :: own, found
      HANDLE(MPI_Comm) :: comm
      call MPI_Comm_create_errhandler(handler, own, error)
      call MPI_Comm_dup(MPI_COMM_WORLD, comm, error)
      call MPI_Comm_set_errhandler(comm, own, error)
      call MPI_Comm_get_errhandler(comm, found, error)
      call check(found == own, 'the error handler of the communicator')
      call MPI_Send(rank, 1, MPI_INTEGER, ranks + 5, 0, comm, error)
      call check_equal(handled, 1, 'the error handler of the program')
      call MPI_Errhandler_free(found, error)
      call MPI_Errhandler_free(own, error)
      call MPI_Comm_free(comm, error)
   end subroutine own_error_handler

   subroutine info_objects()
      HANDLE(MPI_Info) :: info
      character(len=20) :: value, key
      integer :: n, length
      logical :: flag
      call MPI_Info_create(info, error)
      call MPI_Info_set(info, ' colour  ', '  dark blue ', error)
      call MPI_Info_get_nkeys(info, n, error)
      call check_equal(n, 1, 'number of keys')
      call MPI_Info_get_nthkey(info, 0, key, error)
      call check(key == 'colour', 'a key without the blanks around it')
      length = 20
      call MPI_Info_get_string(info, 'colour', length, value, flag, error)
      call check(flag .and. value == 'dark blue' .and. length == 9, 'a value')
      length = 4
      call MPI_Info_get_string(info, 'colour', length, value, flag, error)
      call check(flag .and. value == 'dark' .and. length == 9, 'a value that is cut')
      length = 0
      value = 'untouched'
      call MPI_Info_get_string(info, 'colour', length, value, flag, error)
      call check(flag .and. value == 'untouched' .and. length == 9, 'only the length')
      call MPI_Info_get(info, 'none', 20, value, flag, error)
      call check(.not. flag, 'a key that is not there')
      call MPI_Info_delete(info, 'colour', error)
      call MPI_Info_free(info, error)
      call check(info == MPI_INFO_NULL, 'a freed info object')
   end subroutine info_objects

   subroutine own_request()
      HANDLE(MPI_Request) :: request
      STATUS :: s
      integer :: n
      logical :: flag
      call MPI_Grequest_start(query, release, cancel, 5_MPI_ADDRESS_KIND, request, error)
      call MPI_Test(request, flag, MPI_STATUS_IGNORE, error)
      call check(.not. flag, 'not complete yet')
      call MPI_Grequest_complete(request, error)
      call MPI_Wait(request, s, error)
      call MPI_Get_count(s, MPI_INTEGER, n, error)
      call check(n == 5 .and. TAG_OF(s) == 4, 'the status that the program gave')
      call check_equal(freed, 5, 'the request was freed')
   end subroutine own_request

   subroutine sessions()
      HANDLE(MPI_Session) :: session
      HANDLE(MPI_Group) :: group
      HANDLE(MPI_Comm) :: comm
      character(len=MPI_MAX_PSET_NAME_LEN) :: name
      integer :: n, length
      call MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, session, error)
      call MPI_Session_get_num_psets(session, MPI_INFO_NULL, n, error)
      call check(n >= 2, 'number of process sets')
      length = 0
      call MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 0, length, name, error)
      call check_equal(length, len('mpi://WORLD'), 'length of the first one''s name')
      call MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 0, length, name, error)
      call check(name == 'mpi://WORLD', 'the name')
      call MPI_Group_from_session_pset(session, 'mpi://WORLD ', group, error)
      call MPI_Comm_create_from_group(group, 'tests', MPI_INFO_NULL, MPI_ERRORS_RETURN, comm, error)
      call MPI_Comm_size(comm, n, error)
      call check_equal(n, ranks, 'ranks of the session')
      call MPI_Comm_free(comm, error)
      call MPI_Group_free(group, error)
      call MPI_Session_finalize(session, error)
      call check(session == MPI_SESSION_NULL, 'a finalized session is null')
   end subroutine sessions

   subroutine of_the_abi()
      HANDLE(MPI_Info) :: info
      character(len=8) :: value
      integer :: major, minor, length
      logical :: flag, yes, no
      call MPI_Abi_get_version(major, minor, error)
      call check(major == MPI_ABI_VERSION .and. minor == MPI_ABI_SUBVERSION, 'version of the ABI')
      call MPI_Abi_get_fortran_info(info, error)
      length = 8
      call MPI_Info_get_string(info, 'mpi_integer_size', length, value, flag, error)
      call check(flag .and. value == '4', 'the library knows the size of an INTEGER')
      call MPI_Abi_set_fortran_info(info, error)
      call check_equal(error, MPI_SUCCESS, 'the same facts once more')
      yes = .false.
      no = .true.
      call MPI_Abi_get_fortran_booleans(storage_size(yes) / 8, yes, no, flag, error)
      call check(flag .and. yes .and. .not. no, 'the library knows .TRUE. and .FALSE.')
      call MPI_Abi_set_fortran_booleans(storage_size(yes) / 8, yes, no, error)
      call check_equal(error, MPI_SUCCESS, 'the same logicals once more')
      call MPI_Info_free(info, error)
   end subroutine of_the_abi

#include "check_end.inc"

end program environment

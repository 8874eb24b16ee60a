! Chapter 14: files, views, pointers, requests, split calls, hints, representations, in the three interfaces.
! ranks: 1 3
! timeout: 60
#include "check.inc"
program files
   USE_MPI
   implicit none
   INCLUDE_MPI
   integer, parameter :: INT_BYTES = 4
   integer :: rank, ranks, error, checks = 0, failures = 0
   character(len=200) :: path

   call check_begin()
   call name_it()
   call offsets()
   call views()
   call pointers()
   call hints()
   call errors()
#ifndef INTERFACE_MPIF
   call representations()
   call split_sections()
#endif
   call check_done()

contains

   subroutine name_it()
      character(len=100) :: folder
      ! In the clock's own steps, which are nanoseconds: jobs that start together must not meet in one file.
      integer, parameter :: long = selected_int_kind(18)
      integer(long) :: now
      call get_environment_variable('TMPDIR', folder)
      if (len_trim(folder) == 0) folder = '/tmp'
      call system_clock(now)
      write (path, '(2a, i0)') trim(folder), '/tern-fortran-file-', now
      call MPI_Bcast(path, len(path), MPI_CHARACTER, 0, MPI_COMM_WORLD, error)
   end subroutine name_it

   subroutine open_it(fh, mode)
      HANDLE(MPI_File) :: fh
      integer, intent(in) :: mode
      call MPI_File_open(MPI_COMM_WORLD, path, mode, MPI_INFO_NULL, fh, error)
      call check_equal(error, MPI_SUCCESS, 'opening')
   end subroutine open_it

   integer function new_and_gone()
      new_and_gone = ior(ior(MPI_MODE_CREATE, MPI_MODE_RDWR), MPI_MODE_DELETE_ON_CLOSE)
   end function new_and_gone

   subroutine offsets()
      HANDLE(MPI_File) :: fh
      HANDLE(MPI_Request) :: request
      STATUS :: status
      integer ASYNCHRONOUS_ :: numbers(10), back(10)
      integer(MPI_OFFSET_KIND) :: place, size
      integer :: i, count, mode
      numbers = [(100 * rank + i, i = 1, 10)]
      call open_it(fh, new_and_gone())
      place = 10 * INT_BYTES * rank
      call MPI_File_write_at(fh, place, numbers, 10, MPI_INTEGER, status, error)
      call MPI_Get_count(status, MPI_INTEGER, count, error)
      call check_equal(count, 10, 'numbers written')
      back = 0
      call MPI_File_read_at_all(fh, place, back, 10, MPI_INTEGER, status, error)
      call check(all(back == numbers), 'numbers read')
      back = 0
      call MPI_File_iread_at(fh, place, back, 10, MPI_INTEGER, request, error)
      call MPI_Wait(request, status, error)
      call check(all(back == numbers), 'numbers read by a request')
      call MPI_File_write_at_all_begin(fh, place, numbers, 10, MPI_INTEGER, error)
      call MPI_File_write_at_all_end(fh, numbers, status, error)
      call MPI_Get_count(status, MPI_INTEGER, count, error)
      call check_equal(count, 10, 'numbers written in two halves')
      call MPI_File_sync(fh, error)
      call MPI_Barrier(MPI_COMM_WORLD, error)
      call MPI_File_get_size(fh, size, error)
      call check_equal(int(size), 10 * INT_BYTES * ranks, 'bytes')
      call MPI_File_get_amode(fh, mode, error)
      call check_equal(mode, new_and_gone(), 'mode')
      call MPI_File_close(fh, error)
#ifdef INTERFACE_F08
      call check(fh == MPI_FILE_NULL, 'the file is closed')
#else
      call check_equal(fh, MPI_FILE_NULL, 'the file')
#endif
   end subroutine offsets

   ! Rank r has every number whose place is r, modulo the number of ranks.
   subroutine views()
      HANDLE(MPI_File) :: fh
      HANDLE(MPI_Datatype) :: tile, etype, filetype
      STATUS :: status
      integer ASYNCHRONOUS_ :: numbers(50)
      integer :: i
      integer, allocatable :: everything(:)
      integer(MPI_OFFSET_KIND) :: disp, bytes
      integer(MPI_ADDRESS_KIND) :: low, extent
      character(len=MPI_MAX_DATAREP_STRING) :: representation
      low = 0
      extent = INT_BYTES * ranks
      call MPI_Type_create_resized(MPI_INTEGER, low, extent, tile, error)
      call MPI_Type_commit(tile, error)
      call open_it(fh, new_and_gone())
      disp = INT_BYTES * rank
      call MPI_File_set_view(fh, disp, MPI_INTEGER, tile, 'native', MPI_INFO_NULL, error)
      numbers = [(ranks * i + rank, i = 0, 49)]
      call MPI_File_write_all(fh, numbers, 50, MPI_INTEGER, status, error)
      call MPI_File_get_view(fh, bytes, etype, filetype, representation, error)
      call check_equal(int(bytes), int(disp), 'displacement')
      call check(representation == 'native', 'representation')
      call MPI_File_get_byte_offset(fh, 2_MPI_OFFSET_KIND, bytes, error)
      call check_equal(int(bytes), INT_BYTES * (2 * ranks + rank), 'where the third number is')
      disp = 0
      call MPI_File_set_view(fh, disp, MPI_INTEGER, MPI_INTEGER, 'native', MPI_INFO_NULL, error)
      allocate (everything(50 * ranks))
      call MPI_File_read_all(fh, everything, 50 * ranks, MPI_INTEGER, status, error)
      call check(all(everything == [(i, i = 0, 50 * ranks - 1)]), 'all numbers')
      call MPI_Type_free(filetype, error)
      call MPI_Type_free(tile, error)
      call MPI_File_close(fh, error)
   end subroutine views

   subroutine pointers()
      HANDLE(MPI_File) :: fh
      STATUS :: status
      integer ASYNCHRONOUS_ :: numbers(2), back(2)
      integer(MPI_OFFSET_KIND) :: disp, place
      call open_it(fh, new_and_gone())
      disp = 0
      call MPI_File_set_view(fh, disp, MPI_INTEGER, MPI_INTEGER, 'native', MPI_INFO_NULL, error)
      numbers = [rank, -rank]
      call MPI_File_write_ordered(fh, numbers, 2, MPI_INTEGER, status, error)
      call MPI_File_get_position_shared(fh, place, error)
      call check_equal(int(place), 2 * ranks, 'the shared pointer')
      call MPI_Barrier(MPI_COMM_WORLD, error)
      place = 2 * rank
      call MPI_File_seek(fh, place, MPI_SEEK_SET, error)
      back = 7
      call MPI_File_read(fh, back, 2, MPI_INTEGER, status, error)
      call check(all(back == numbers), 'what was written in order')
      call MPI_File_get_position(fh, place, error)
      call check_equal(int(place), 2 * rank + 2, 'the pointer')
      call MPI_File_write_shared(fh, numbers, 1, MPI_INTEGER, status, error)
      call MPI_Barrier(MPI_COMM_WORLD, error)
      call MPI_File_get_position_shared(fh, place, error)
      call check_equal(int(place), 3 * ranks, 'the shared pointer')
      call MPI_File_close(fh, error)
   end subroutine pointers

   subroutine hints()
      HANDLE(MPI_File) :: fh
      HANDLE(MPI_Info) :: info, used
      logical :: flag
      character(len=50) :: value
      call MPI_Info_create(info, error)
      call MPI_Info_set(info, 'cb_buffer_size', '65536', error)
      call MPI_File_open(MPI_COMM_WORLD, path, new_and_gone(), info, fh, error)
      call MPI_Info_free(info, error)
      call MPI_File_get_info(fh, used, error)
      call MPI_Info_get(used, 'cb_buffer_size', 50, value, flag, error)
      call check(flag .and. value == '65536', 'a hint')
      call MPI_Info_free(used, error)
      call MPI_File_set_atomicity(fh, .true., error)
      call MPI_File_get_atomicity(fh, flag, error)
      call check(flag, 'atomic mode')
      call MPI_File_close(fh, error)
   end subroutine hints

   subroutine errors()
      HANDLE(MPI_File) :: fh
      integer :: class, code
      call MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDONLY, MPI_INFO_NULL, fh, code)
      call MPI_Error_class(code, class, error)
      call check_equal(class, MPI_ERR_NO_SUCH_FILE, 'the class')
   end subroutine errors

#ifndef INTERFACE_MPIF
   ! Numbers lie in the file in twice as many bytes, with the other sign.
   subroutine representations()
      HANDLE(MPI_File) :: fh
      STATUS :: status
      integer ASYNCHRONOUS_ :: numbers(3), back(3)
      integer(MPI_OFFSET_KIND) :: disp, size
      integer(MPI_ADDRESS_KIND) :: extra, extent
      extra = 42
      call MPI_Register_datarep('opposite', from_file, to_file, extent_of, extra, error)
      call check_equal(error, MPI_SUCCESS, 'registering')
      call open_it(fh, new_and_gone())
      disp = 0
      call MPI_File_set_view(fh, disp, MPI_INTEGER, MPI_INTEGER, 'opposite', MPI_INFO_NULL, error)
      call check_equal(error, MPI_SUCCESS, 'the view')
      call MPI_File_get_type_extent(fh, MPI_INTEGER, extent, error)
      call check_equal(int(extent), 2 * INT_BYTES, 'extent in the file')
      numbers = [1, -2, 3 + rank]
      disp = 3 * rank
      call MPI_File_write_at_all(fh, disp, numbers, 3, MPI_INTEGER, status, error)
      call check_equal(error, MPI_SUCCESS, 'writing')
      back = 0
      call MPI_File_read_at_all(fh, disp, back, 3, MPI_INTEGER, status, error)
      call check(all(back == numbers), 'what was converted there and back')
      call MPI_File_get_size(fh, size, error)
      call check_equal(int(size), 6 * INT_BYTES * ranks, 'bytes')
      call MPI_File_close(fh, error)
   end subroutine representations

   subroutine extent_of(datatype, extent, extra_state, ierror)
      HANDLE(MPI_Datatype) :: datatype
      integer(MPI_ADDRESS_KIND) :: extent, extra_state
      integer :: ierror, size
      call MPI_Type_size(datatype, size, ierror)
      extent = 2 * size
      ierror = MPI_SUCCESS
      if (extra_state /= 42) ierror = MPI_ERR_OTHER
   end subroutine extent_of

   subroutine to_file(userbuf, datatype, count, filebuf, position, extra_state, ierror)
      use, intrinsic :: iso_c_binding
      type(c_ptr), value :: userbuf, filebuf
      HANDLE(MPI_Datatype) :: datatype
      integer :: count, ierror
      integer(MPI_OFFSET_KIND) :: position
      integer(MPI_ADDRESS_KIND) :: extra_state
      integer(c_int), pointer :: user(:), file(:, :)
      call c_f_pointer(userbuf, user, [int(position) + count])
      call c_f_pointer(filebuf, file, [2, count])
      file(1, :) = -user(int(position) + 1:)
      file(2, :) = 0
      ierror = merge(MPI_SUCCESS, MPI_ERR_OTHER, extra_state == 42)
   end subroutine to_file

   subroutine from_file(userbuf, datatype, count, filebuf, position, extra_state, ierror)
      use, intrinsic :: iso_c_binding
      type(c_ptr), value :: userbuf, filebuf
      HANDLE(MPI_Datatype) :: datatype
      integer :: count, ierror
      integer(MPI_OFFSET_KIND) :: position
      integer(MPI_ADDRESS_KIND) :: extra_state
      integer(c_int), pointer :: user(:), file(:, :)
      call c_f_pointer(userbuf, user, [int(position) + count])
      call c_f_pointer(filebuf, file, [2, count])
      user(int(position) + 1:) = -file(1, :)
      ierror = merge(MPI_SUCCESS, MPI_ERR_OTHER, extra_state == 42)
   end subroutine from_file

   ! Rows of arrays, by a datatype that has gaps too: the copy lives from the first half to the second.
   subroutine split_sections()
      HANDLE(MPI_File) :: fh
      HANDLE(MPI_Datatype) :: every_other
      STATUS :: status
      integer, asynchronous :: a(2, 6), b(3, 6)
      integer :: i, in(3)
      integer(MPI_OFFSET_KIND) :: place
      call MPI_Type_vector(3, 1, 2, MPI_INTEGER, every_other, error)
      call MPI_Type_commit(every_other, error)
      call open_it(fh, new_and_gone())
      place = int(rank, MPI_OFFSET_KIND) * 3 * INT_BYTES
      a = reshape([(100 * rank + i, i = 1, 12)], [2, 6])
      call MPI_File_write_at_all_begin(fh, place, a(2, :), 1, every_other, error)
      call check_equal(error, MPI_SUCCESS, 'the first half of a write')
      call MPI_File_write_at_all_end(fh, a(2, :), status, error)
      call check_equal(error, MPI_SUCCESS, 'the second half of a write')
      call MPI_File_sync(fh, error)
      call MPI_File_read_at(fh, place, in, 3, MPI_INTEGER, status, error)
      call check(all(in == 100 * rank + [2, 6, 10]), 'every other element of a row, written in two halves')
      b = 0
      call MPI_File_read_at_all_begin(fh, place, b(3, :), 1, every_other, error)
      call check_equal(error, MPI_SUCCESS, 'the first half of a read')
      b(2, :) = 7
      call MPI_File_read_at_all_end(fh, b(3, :), status, error)
      call MPI_F_sync_reg(b)
      call check(all(b(3, :) == [100 * rank + 2, 0, 100 * rank + 6, 0, 100 * rank + 10, 0]), 'read in two halves')
      call check(all(b(1, :) == 0) .and. all(b(2, :) == 7), 'what lies between is as it was')
      call MPI_File_close(fh, error)
      call MPI_Type_free(every_other, error)
   end subroutine split_sections
#endif

#include "check_end.inc"
end program files

! Section 19.1.12: sections of arrays with gaps, as buffers of every kind of call.
! ranks: 1 2 4
! fortran: mpi f08
#include "check.inc"
program sections
   USE_MPI
   implicit none
   integer :: rank, ranks, error, next, previous, checks = 0, failures = 0

   call check_begin()
   next = mod(rank + 1, ranks)
   previous = mod(rank + ranks - 1, ranks)
   call rows_and_columns()
   call planes_in_part()
   call of_collectives()
   call of_started_collectives()
   call of_persistent_ones()
   call of_packing()
   call with_types_that_have_gaps()
   call what_others_write()
   call pointers_and_scalars()
   call mistakes()
   call check_done()

contains

   subroutine rows_and_columns()
      real(8) :: a(6, 5), b(6, 5)
      HANDLE(MPI_Request) :: requests(2)
      integer :: i
      a = reshape([(dble(100 * rank + i), i = 1, 30)], [6, 5])
      b = -1
      call MPI_Irecv(b(2, :), 5, MPI_DOUBLE_PRECISION, previous, 1, MPI_COMM_WORLD, requests(1), error)
      call MPI_Isend(a(4, :), 5, MPI_DOUBLE_PRECISION, next, 1, MPI_COMM_WORLD, requests(2), error)
      call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, error)
      call check(all(abs(b(2, :) - (a(4, :) + 100 * (previous - rank))) < 1d-9), 'a row to a row')
      call check(all(b(1, :) < 0) .and. all(b(3:, :) < 0), 'the rest is as it was')
      b = -1
      ! From every other row of some columns, backwards, into a column.
      call MPI_Sendrecv(a(6:2:-2, 2:3), 6, MPI_DOUBLE_PRECISION, next, 2, b(:, 5), 6, MPI_DOUBLE_PRECISION, previous, 2, &
         MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
      call check(all(abs(b(:, 5) - [12, 10, 8, 18, 16, 14] - 100 * previous) < 1d-9), 'backwards into a column')
   end subroutine rows_and_columns

   ! A count that ends within a row, and one that the section has more of.
   subroutine planes_in_part()
      integer :: a(4, 4, 4), b(4, 4, 4), flat(20), i
      a = reshape([(i, i = 1, 64)], [4, 4, 4])
      b = 0
      do i = 1, 8
         flat = 0
         call MPI_Sendrecv(a(::2, ::2, ::2), i, MPI_INTEGER, next, 3, flat, i, MPI_INTEGER, previous, 3, MPI_COMM_WORLD, &
            MPI_STATUS_IGNORE, error)
         call check(all(flat(1:i) == first(i)), 'the first elements of a section')
         call check(all(flat(i + 1:) == 0), 'and no more')
      end do
      call MPI_Sendrecv(a, 8, MPI_INTEGER, next, 3, b(1:2, 3:4, ::3), 8, MPI_INTEGER, previous, 3, MPI_COMM_WORLD, &
         MPI_STATUS_IGNORE, error)
      call check(all([b(1:2, 3:4, ::3)] == [(i, i = 1, 8)]) .and. sum(b) == 36, 'into a cube')
   end subroutine planes_in_part

   pure function first(n) result(elements)
      integer, intent(in) :: n
      integer :: elements(n), all_of_them(8)
      all_of_them = [1, 3, 9, 11, 33, 35, 41, 43]
      elements = all_of_them(1:n)
   end function first

   subroutine of_collectives()
      integer :: a(2, 3), everyone(2, ranks), i
      real :: sums(4, 2)
      a = rank
      a(1, :) = merge(7, 0, rank == 0)
      call MPI_Bcast(a(1, :), 3, MPI_INTEGER, 0, MPI_COMM_WORLD, error)
      call check(all(a(1, :) == 7) .and. all(a(2, :) == rank), 'Bcast of a row')
      everyone = -1
      call MPI_Allgather(rank, 1, MPI_INTEGER, everyone(2, :), 1, MPI_INTEGER, MPI_COMM_WORLD, error)
      call check(all(everyone(2, :) == [(i, i = 0, ranks - 1)]) .and. all(everyone(1, :) == -1), 'Allgather into a row')
      sums = 1
      call MPI_Allreduce(MPI_IN_PLACE, sums(::2, :), 4, MPI_REAL, MPI_SUM, MPI_COMM_WORLD, error)
      call check(all(abs(sums(::2, :) - ranks) < 1e-6) .and. all(abs(sums(2::2, :) - 1) < 1e-6), 'Allreduce of rows')
   end subroutine of_collectives

   subroutine of_started_collectives()
      integer, asynchronous :: a(2, 4), b(3, 4)
      HANDLE(MPI_Request) :: request
      logical :: flag
      a = 1
      b = 0
      call MPI_Iallreduce(a(1, :), b(2, :), 4, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, request, error)
      flag = .false.
      do while (.not. flag)
         call MPI_Test(request, flag, MPI_STATUS_IGNORE, error)
      end do
      call MPI_F_sync_reg(b)
      call check(all(b(2, :) == ranks) .and. sum(b) == 4 * ranks, 'Iallreduce from a row to a row')
   end subroutine of_started_collectives

   subroutine of_persistent_ones()
      integer, asynchronous :: a(2, 3), b(2, 3)
      HANDLE(MPI_Request) :: request
      integer :: turn
      b = 0
      call MPI_Allreduce_init(a(2, :), b(1, :), 3, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD, MPI_INFO_NULL, request, error)
      do turn = 1, 3
         a = turn + rank
         call MPI_Start(request, error)
         call MPI_Wait(request, MPI_STATUS_IGNORE, error)
         call check(all(b(1, :) == turn + ranks - 1) .and. all(b(2, :) == 0), 'a persistent reduction of rows')
      end do
      call MPI_Request_free(request, error)
   end subroutine of_persistent_ones

   ! The datatype's gaps are counted in the elements of the section, as if these were dense.
   subroutine with_types_that_have_gaps()
      HANDLE(MPI_Datatype) :: every_other, three
      HANDLE(MPI_Request) :: requests(2)
      integer, asynchronous :: a(2, 6), b(3, 6)
      integer :: i, in(3)
      call MPI_Type_vector(3, 1, 2, MPI_INTEGER, every_other, error)
      call MPI_Type_commit(every_other, error)
      call MPI_Type_contiguous(3, MPI_INTEGER, three, error)
      call MPI_Type_commit(three, error)
      a = reshape([(i, i = 1, 12)], [2, 6])
      b = 0
      call MPI_Sendrecv(a(2, :), 1, every_other, next, 1, in, 3, MPI_INTEGER, previous, 1, MPI_COMM_WORLD, &
         MPI_STATUS_IGNORE, error)
      call check(all(in == [2, 6, 10]), 'every other element of a row')
      call MPI_Irecv(b(2, :), 1, every_other, previous, 2, MPI_COMM_WORLD, requests(1), error)
      call MPI_Isend(a(1, :), 1, three, next, 2, MPI_COMM_WORLD, requests(2), error)
      call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, error)
      call MPI_F_sync_reg(b)
      call check(all(b(2, :) == [1, 0, 3, 0, 5, 0]) .and. sum(b) == 9, 'three of a row into every other of a row')
      call MPI_Type_free(every_other, error)
      call MPI_Type_free(three, error)
   end subroutine with_types_that_have_gaps

   subroutine of_packing()
      integer :: a(3, 4), b(3, 4), room(16), position, i
      a = reshape([(i, i = 1, 12)], [3, 4])
      b = 0
      position = 0
      call MPI_Pack(a(2, :), 4, MPI_INTEGER, room, 64, position, MPI_COMM_WORLD, error)
      call check_equal(position, 16, 'bytes of a packed row')
      position = 0
      call MPI_Unpack(room, 64, position, b(3, :), 4, MPI_INTEGER, MPI_COMM_WORLD, error)
      call check(all(b(3, :) == a(2, :)) .and. all(b(:2, :) == 0), 'a row unpacked into another')
   end subroutine of_packing

   subroutine pointers_and_scalars()
      type point
         integer :: x, y
         real(8) :: weight
      end type point
      type(point), target :: points(5)
      integer, pointer :: ys(:)
      integer :: in(5), i
      do i = 1, 5
         points(i) = point(i, -i, 0d0)
      end do
      ys => points%y
      call MPI_Sendrecv(ys, 5, MPI_INTEGER, next, 1, in, 5, MPI_INTEGER, previous, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
      call check(all(in == [(-i, i = 1, 5)]), 'a component of an array of structures')
      call MPI_Sendrecv(points(2)%x, 1, MPI_INTEGER, next, 1, points%y, 1, MPI_INTEGER, previous, 1, MPI_COMM_WORLD, &
         MPI_STATUS_IGNORE, error)
      call check_equal(points(1)%y, 2, 'into the first of the components')
      call check_equal(points(2)%y, -2, 'and not the second')
   end subroutine pointers_and_scalars

   ! Two receives share a section whose elements they take in turn, and the program writes what neither of them does.
   subroutine what_others_write()
      integer, asynchronous :: x(20), y(4)
      HANDLE(MPI_Datatype) :: first, second
      HANDLE(MPI_Request) :: one, other
      call MPI_Type_create_hindexed(1, [2], [4_MPI_ADDRESS_KIND], MPI_INTEGER, second, error)
      call MPI_Type_create_resized(MPI_INTEGER, 0_MPI_ADDRESS_KIND, 8_MPI_ADDRESS_KIND, first, error)
      call MPI_Type_commit(first, error)
      call MPI_Type_commit(second, error)
      x = -1
      y = [1, 2, 3, 4]
      call MPI_Irecv(x(1:20:5), 1, first, previous, 1, MPI_COMM_WORLD, one, error)
      call MPI_Irecv(x(1:20:5), 1, second, previous, 2, MPI_COMM_WORLD, other, error)
      x(16) = 77
      call MPI_Send(y, 1, MPI_INTEGER, next, 1, MPI_COMM_WORLD, error)
      call MPI_Wait(one, MPI_STATUS_IGNORE, error)
      call MPI_Send(y(2:3), 2, MPI_INTEGER, next, 2, MPI_COMM_WORLD, error)
      call MPI_Wait(other, MPI_STATUS_IGNORE, error)
      call check(all(x(1:20:5) == [1, 2, 3, 77]), 'each writes only what is its own')
      call MPI_Irecv(x(1:20:5), 1, second, MPI_PROC_NULL, 1, MPI_COMM_WORLD, one, error)
      x(6) = 55
      call MPI_Wait(one, MPI_STATUS_IGNORE, error)
      call check_equal(x(6), 55, 'what nobody sent')
      call MPI_Type_free(first, error)
      call MPI_Type_free(second, error)
   end subroutine what_others_write

   ! What is wrong is said of the call that the program made.
   subroutine mistakes()
      character(len=MPI_MAX_ERROR_STRING) :: text
      integer :: x(10), class, length, code
      HANDLE(MPI_Datatype) :: gaps, raw, freed
      HANDLE(MPI_Request) :: request
      x = 0
      call MPI_Type_vector(2, 1, 2, MPI_INTEGER, gaps, error)
      call MPI_Type_commit(gaps, error)
      call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN, error)
      call MPI_Send(x(::2), 0, gaps, MPI_PROC_NULL, 0, MPI_COMM_WORLD, code)
      call check_equal(code, MPI_SUCCESS, 'nothing of a section')
      call MPI_Send(x(::2), 7, MPI_INTEGER, MPI_PROC_NULL, 0, MPI_COMM_WORLD, code)
      call MPI_Error_class(code, class, error)
      call MPI_Error_string(code, text, length, error)
      call check(class == MPI_ERR_BUFFER .and. index(text, 'MPI_Send: 7 elements') == 1, 'more than the section has')
      call MPI_Ssend(x(::2), -1, MPI_INTEGER, MPI_PROC_NULL, 0, MPI_COMM_WORLD, code)
      call MPI_Error_class(code, class, error)
      call MPI_Error_string(code, text, length, error)
      call check(class == MPI_ERR_COUNT .and. index(text, 'MPI_Ssend on MPI_COMM_WORLD') > 0, 'a negative count')
      call MPI_Rsend(x(::2), 5, MPI_DATATYPE_NULL, MPI_PROC_NULL, 0, MPI_COMM_WORLD, code)
      call MPI_Error_class(code, class, error)
      call MPI_Error_string(code, text, length, error)
      call check(class == MPI_ERR_TYPE .and. index(text, 'MPI_Rsend on MPI_COMM_WORLD') > 0, 'no datatype')
      call MPI_Type_contiguous(2, MPI_INTEGER, raw, error)
      call MPI_Isend(x(::2), 1, raw, MPI_PROC_NULL, 0, MPI_COMM_WORLD, request, code)
      call MPI_Error_class(code, class, error)
      call MPI_Error_string(code, text, length, error)
      call check(class == MPI_ERR_TYPE .and. index(text, 'MPI_Isend on MPI_COMM_WORLD') > 0, 'a datatype not committed')
      call MPI_Bcast(x(::2), 1, raw, 0, MPI_COMM_WORLD, code)
      call MPI_Error_class(code, class, error)
      call check_equal(class, MPI_ERR_TYPE, 'the error of a datatype not committed in a collective')
      freed = raw
      call MPI_Type_free(raw, error)
      call MPI_Recv(x(::2), 1, freed, MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE, code)
      call MPI_Error_class(code, class, error)
      call MPI_Error_string(code, text, length, error)
      call check(class == MPI_ERR_TYPE .and. index(text, 'MPI_Recv on MPI_COMM_WORLD') > 0, 'a datatype that was freed')
      call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL, error)
      call MPI_Type_free(gaps, error)
   end subroutine mistakes

#include "check_end.inc"

end program sections

! Section 19.2 and mpi_f08 alone: large counts, optional ierror, comparison of handles, names with a P.
! ranks: 1 2
! fortran: f08
#include "check.inc"
program large
   use mpi_f08
   use, intrinsic :: iso_c_binding, only : C_PTR, c_f_pointer
   implicit none
   integer :: rank, ranks, checks = 0, failures = 0

   call check_begin()
   call counts_of_both_kinds()
   call datatypes()
   call without_ierror()
   call memory()
   call statuses_of_both_kinds()
   call check_done()

contains

   subroutine counts_of_both_kinds()
      integer :: out(4), in(4), small
      integer(MPI_COUNT_KIND) :: n = 4, counts(2), found
      integer(MPI_ADDRESS_KIND) :: places(2)
      type(MPI_Status) :: s
      out = rank
      call MPI_Sendrecv(out, n, MPI_INTEGER, rank, 1, in, n, MPI_INTEGER, rank, 1, MPI_COMM_WORLD, s)
      call MPI_Get_count(s, MPI_INTEGER, found)
      call MPI_Get_count(s, MPI_INTEGER, small)
      call check(found == 4 .and. small == 4, 'counts of both kinds')
      call MPI_Allreduce(MPI_IN_PLACE, in, n, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD)
      call check(all(in == ranks - 1), 'Allreduce with a large count')
      counts = 1
      places = [1, 0]
      in = -1
      if (ranks == 2) then
         call MPI_Allgatherv(rank, 1_MPI_COUNT_KIND, MPI_INTEGER, in, counts, places, MPI_INTEGER, MPI_COMM_WORLD)
         call check(all(in(1:2) == [1, 0]), 'Allgatherv with large counts and displacements')
      end if
   end subroutine counts_of_both_kinds

   subroutine datatypes()
      type(MPI_Datatype) :: huge_type, small
      integer(MPI_COUNT_KIND) :: size, numbers(4), ints, addresses, larges, types, lb, extent
      integer :: combiner
      call MPI_Type_contiguous(3000000000_MPI_COUNT_KIND, MPI_REAL8, huge_type)
      call MPI_Type_size(huge_type, size)
      call check(size == 24000000000_MPI_COUNT_KIND, 'a type of 24 GB')
      call MPI_Type_get_envelope(huge_type, ints, addresses, larges, types, combiner)
      numbers = [ints, addresses, larges, types]
      call check(all(numbers == [0, 0, 1, 1]) .and. combiner == MPI_COMBINER_CONTIGUOUS, 'its envelope')
      call MPI_Type_create_resized(MPI_INTEGER, 0_MPI_ADDRESS_KIND, 16_MPI_ADDRESS_KIND, small)
      call MPI_Type_get_extent(small, lb, extent)
      call check(extent == 16, 'an extent')
      call MPI_Type_free(huge_type)
      call MPI_Type_free(small)
      call check(small == MPI_DATATYPE_NULL .and. .not. small /= MPI_DATATYPE_NULL, 'null handles compare')
   end subroutine datatypes

   subroutine without_ierror()
      type(MPI_Comm) :: comm
      integer :: error, class
      call MPI_Comm_dup(MPI_COMM_WORLD, comm)
      call check(comm /= MPI_COMM_WORLD, 'a duplicate is another')
      call MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN)
      ! The error handler returns, and nobody asks for the code.
      call MPI_Send(rank, 1, MPI_INTEGER, 99, 0, comm)
      call MPI_Send(rank, 1, MPI_INTEGER, 99, 0, comm, ierror=error)
      call MPI_Error_class(error, class)
      call check_equal(class, MPI_ERR_RANK, 'class of the error')
      call PMPI_Comm_free(comm, error)
      call check(comm == MPI_COMM_NULL, 'freed by the profiling name')
   end subroutine without_ierror

   subroutine memory()
      type(C_PTR) :: place
      real(8), pointer :: x(:)
      call MPI_Alloc_mem(800_MPI_ADDRESS_KIND, MPI_INFO_NULL, place)
      call c_f_pointer(place, x, [100])
      x = 1
      call MPI_Allreduce(MPI_IN_PLACE, x, 100, MPI_REAL8, MPI_SUM, MPI_COMM_WORLD)
      call check(all(abs(x - ranks) < 1d-12), 'memory of MPI_Alloc_mem')
      call MPI_Free_mem(x)
   end subroutine memory

   subroutine statuses_of_both_kinds()
      type(MPI_Status) :: s, back
      integer :: old(MPI_STATUS_SIZE), x
      call MPI_Sendrecv(rank, 1, MPI_INTEGER, rank, 42, x, 1, MPI_INTEGER, rank, 42, MPI_COMM_WORLD, s)
      call MPI_Status_f082f(s, old)
      call MPI_Status_f2f08(old, back)
      call check(back%MPI_TAG == 42 .and. back%MPI_SOURCE == rank, 'a status there and back')
   end subroutine statuses_of_both_kinds

#include "check_end.inc"

end program large

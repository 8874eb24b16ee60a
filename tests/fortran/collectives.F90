! Chapter 6: collectives, their special addresses, operations of the user, in the three interfaces.
! ranks: 1 2 3 4
#include "check.inc"
#ifdef INTERFACE_F08
subroutine larger(in, inout, n, datatype)
   use, intrinsic :: iso_c_binding, only : C_PTR, c_f_pointer
   USE_MPI
   implicit none
   type(C_PTR), value :: in, inout
   integer :: n
   type(MPI_Datatype) :: datatype
   integer, pointer :: a(:), b(:)
   call c_f_pointer(in, a, [n])
   call c_f_pointer(inout, b, [n])
   if (datatype == MPI_INTEGER) b = max(a, b)
end subroutine larger
#else
subroutine larger(a, b, n, datatype)
   USE_MPI
   implicit none
   INCLUDE_MPI
   integer :: n, a(n), b(n), datatype
   if (datatype == MPI_INTEGER) b = max(a, b)
end subroutine larger
#endif

program collectives
   USE_MPI
   implicit none
   INCLUDE_MPI
   integer :: rank, ranks, error, checks = 0, failures = 0
#ifdef INTERFACE_F08
   procedure(MPI_User_function) :: larger
#else
   external :: larger
#endif

   call check_begin()
   call from_one_to_all()
   call from_all_to_one()
   call all_to_all()
   call reductions()
   call own_operation()
   call started()
   call check_done()

contains

   subroutine from_one_to_all()
      real :: x(3)
      integer :: i, out(2 * ranks), in(2), counts(ranks), places(ranks), many(ranks)
      x = merge(2.5, 0.0, rank == 0)
      call MPI_Bcast(x, 3, MPI_REAL, 0, MPI_COMM_WORLD, error)
      call check(all(abs(x - 2.5) < 1e-6), 'Bcast')
      out = [(i, i = 1, 2 * ranks)]
      call MPI_Scatter(out, 2, MPI_INTEGER, in, 2, MPI_INTEGER, 0, MPI_COMM_WORLD, error)
      call check(all(in == [2 * rank + 1, 2 * rank + 2]), 'Scatter')
      counts = [(i, i = 1, ranks)]
      places = [(0, i = 1, ranks)]
      call MPI_Scatterv(out, counts, places, MPI_INTEGER, many, rank + 1, MPI_INTEGER, 0, MPI_COMM_WORLD, error)
      call check(all(many(1:rank + 1) == [(i, i = 1, rank + 1)]), 'Scatterv')
      call MPI_Barrier(MPI_COMM_WORLD, error)
   end subroutine from_one_to_all

   subroutine from_all_to_one()
      integer :: i, in(ranks), counts(ranks), places(ranks)
      in = -1
      call MPI_Gather(rank, 1, MPI_INTEGER, in, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, error)
      if (rank == 0) call check(all(in == [(i, i = 0, ranks - 1)]), 'Gather')
      in = -1
      in(rank + 1) = rank * rank
      call MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, 1, MPI_INTEGER, MPI_COMM_WORLD, error)
      call check(all(in == [(i * i, i = 0, ranks - 1)]), 'Allgather in place')
      counts = 1
      places = [(ranks - i, i = 1, ranks)]
      call MPI_Allgatherv(rank, 1, MPI_INTEGER, in, counts, places, MPI_INTEGER, MPI_COMM_WORLD, error)
      call check(all(in == [(ranks - i, i = 1, ranks)]), 'Allgatherv in reverse')
   end subroutine from_all_to_one

   subroutine all_to_all()
      integer :: i, out(ranks), in(ranks), ones(ranks), places(ranks)
      HANDLE(MPI_Datatype) :: types(ranks)
      out = [(100 * rank + i, i = 0, ranks - 1)]
      call MPI_Alltoall(out, 1, MPI_INTEGER, in, 1, MPI_INTEGER, MPI_COMM_WORLD, error)
      call check(all(in == [(100 * i + rank, i = 0, ranks - 1)]), 'Alltoall')
      ones = 1
      places = [(i, i = 0, ranks - 1)]
      in = 0
      call MPI_Alltoallv(out, ones, places, MPI_INTEGER, in, ones, places, MPI_INTEGER, MPI_COMM_WORLD, error)
      call check(all(in == [(100 * i + rank, i = 0, ranks - 1)]), 'Alltoallv')
      places = 4 * places
      types = MPI_INTEGER
      in = 0
      call MPI_Alltoallw(out, ones, places, types, in, ones, places, types, MPI_COMM_WORLD, error)
      call check(all(in == [(100 * i + rank, i = 0, ranks - 1)]), 'Alltoallw')
   end subroutine all_to_all

   subroutine reductions()
      integer :: sum, part(2), all_parts(2 * ranks), ones(ranks)
      double precision :: d, most(2), pair(2)
      logical :: first, yes
      complex :: c
      call MPI_Allreduce(rank, sum, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
      call check_equal(sum, ranks * (ranks - 1) / 2, 'Allreduce')
      d = dble(rank)
      call MPI_Allreduce(MPI_IN_PLACE, d, 1, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD, error)
      call check(abs(d - dble(ranks - 1)) < 1d-12, 'Allreduce in place')
      first = rank == 0
      call MPI_Allreduce(first, yes, 1, MPI_LOGICAL, MPI_LOR, MPI_COMM_WORLD, error)
      call check(yes, 'MPI_LOR of logicals')
      call MPI_Allreduce(first, yes, 1, MPI_LOGICAL, MPI_LAND, MPI_COMM_WORLD, error)
      call check(yes .eqv. ranks == 1, 'MPI_LAND of logicals')
      call MPI_Allreduce((1.0, -1.0), c, 1, MPI_COMPLEX, MPI_SUM, MPI_COMM_WORLD, error)
      call check(abs(c - cmplx(ranks, -ranks)) < 1e-5, 'sum of complex numbers')
! gfortran 16.2 passes the value of such an expression where its address is due, to any procedure with bind(c): README, Fortran.
#if !defined(__GFORTRAN__) || __GNUC__ != 16
      call MPI_Allreduce(rank == 0, yes, 1, MPI_LOGICAL, MPI_LOR, MPI_COMM_WORLD, error)
      call check(yes, 'an expression as a buffer')
#endif
      pair = [dble(-rank), dble(rank)]
      call MPI_Allreduce(pair, most, 1, MPI_2DOUBLE_PRECISION, MPI_MINLOC, MPI_COMM_WORLD, error)
      call check(abs(most(2) - dble(ranks - 1)) < 1d-12, 'MPI_MINLOC')
      all_parts = 1
      call MPI_Reduce_scatter_block(all_parts, part, 2, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
      call check(all(part == ranks), 'Reduce_scatter_block')
      ones = 1
      call MPI_Reduce_scatter(all_parts, sum, ones, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
      call check_equal(sum, ranks, 'Reduce_scatter')
      call MPI_Scan(1, sum, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
      call check_equal(sum, rank + 1, 'Scan')
      call MPI_Exscan(1, sum, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
      if (rank > 0) call check_equal(sum, rank, 'Exscan')
   end subroutine reductions

   subroutine own_operation()
      HANDLE(MPI_Op) :: op
      integer :: out(3), in(3)
      logical :: commutes
      out = [rank, 5, -rank]
      call MPI_Op_create(larger, .true., op, error)
      call MPI_Op_commutative(op, commutes, error)
      call check(commutes, 'an operation that commutes')
      call MPI_Allreduce(out, in, 3, MPI_INTEGER, op, MPI_COMM_WORLD, error)
      call check(all(in == [ranks - 1, 5, 0]), 'the operation of the program')
      call MPI_Op_free(op, error)
      call check(op == MPI_OP_NULL, 'a freed operation is null')
   end subroutine own_operation

   subroutine started()
      integer :: i, out(ranks), in(ranks), ones(ranks), places(ranks), turn
      HANDLE(MPI_Request) :: requests(2)
      HANDLE(MPI_Datatype) :: types(ranks)
      out = [(100 * rank + i, i = 0, ranks - 1)]
      ones = 1
      places = [(4 * i, i = 0, ranks - 1)]
      types = MPI_INTEGER
      call MPI_Ialltoallw(out, ones, places, types, in, ones, places, types, MPI_COMM_WORLD, requests(1), error)
      call MPI_Ibarrier(MPI_COMM_WORLD, requests(2), error)
      call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, error)
      call check(all(in == [(100 * i + rank, i = 0, ranks - 1)]), 'Ialltoallw')
      call MPI_Allreduce_init(out, in, ranks, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, requests(1), error)
      do turn = 1, 2
         out = turn
         call MPI_Start(requests(1), error)
         call MPI_Wait(requests(1), MPI_STATUS_IGNORE, error)
         call check(all(in == turn * ranks), 'Allreduce_init')
      end do
      call MPI_Request_free(requests(1), error)
   end subroutine started

#include "check_end.inc"

end program collectives

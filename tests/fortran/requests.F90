! Chapter 6: every non-blocking and persistent collective does what the blocking one does, in the three interfaces. No two
! arguments have the same value where they could be taken for each other.
! ranks: 1 2 4
#include "check.inc"
program requests
   USE_MPI
   implicit none
   INCLUDE_MPI
   integer, parameter :: room = 64
   integer :: rank, ranks, error, checks = 0, failures = 0
   integer :: root, i
   integer, dimension(4) :: counts, mine, places, from
   HANDLE(MPI_Datatype), dimension(4) :: types
   HANDLE(MPI_Request) :: request
   HANDLE(MPI_Info) :: info
   integer ASYNCHRONOUS_ :: in(room), out(room), wanted(room)

   call check_begin()
   root = ranks - 1
   info = MPI_INFO_NULL
   ! What rank i gives, and what I take from everyone, lie apart by one.
   counts = [(i, i = 1, 4)]
   mine = counts(rank + 1)
   places = [(5 * (i - 1), i = 1, 4)]
   from = [(6 * (4 - i), i = 1, 4)]
   types = MPI_INTEGER
   in = [(1000 * rank + i, i = 1, room)]
   call to_all()
   call to_the_root()
   call from_the_root()
   call everyone_to_everyone()
   call computed()
   call computed_and_divided()
   call check_done()

contains

   subroutine again()
      wanted = out
      out = -1
   end subroutine again

   subroutine ended(what)
      character(len=*), intent(in) :: what
      call MPI_Wait(request, MPI_STATUS_IGNORE, error)
      call check(all(out == wanted), what)
      out = -1
   end subroutine ended

   ! A persistent one must do it twice.
   subroutine both_ended(what)
      character(len=*), intent(in) :: what
      integer :: turn
      do turn = 1, 2
         out = -1
         call MPI_Start(request, error)
         call MPI_Wait(request, MPI_STATUS_IGNORE, error)
         call check(all(out == wanted), what)
      end do
      call MPI_Request_free(request, error)
      call check(request == MPI_REQUEST_NULL, 'a freed request')
      out = -1
   end subroutine both_ended

   subroutine to_all()
      HANDLE(MPI_Comm) :: comm
      comm = MPI_COMM_WORLD
      call MPI_Ibarrier(comm, request, error)
      call MPI_Wait(request, MPI_STATUS_IGNORE, error)
      call MPI_Barrier_init(comm, info, request, error)
      wanted = -1
      call both_ended('Barrier_init')

      call MPI_Allgather(in, 2, MPI_INTEGER, out, 2, MPI_INTEGER, comm, error)
      call again()
      call MPI_Iallgather(in, 2, MPI_INTEGER, out, 2, MPI_INTEGER, comm, request, error)
      call ended('Iallgather')
      call MPI_Allgather_init(in, 2, MPI_INTEGER, out, 2, MPI_INTEGER, comm, info, request, error)
      call both_ended('Allgather_init')

      call MPI_Allgatherv(in, rank + 1, MPI_INTEGER, out, counts, places, MPI_INTEGER, comm, error)
      call again()
      call MPI_Iallgatherv(in, rank + 1, MPI_INTEGER, out, counts, places, MPI_INTEGER, comm, request, error)
      call ended('Iallgatherv')
      call MPI_Allgatherv_init(in, rank + 1, MPI_INTEGER, out, counts, places, MPI_INTEGER, comm, info, request, error)
      call both_ended('Allgatherv_init')
   end subroutine to_all

   subroutine to_the_root()
      HANDLE(MPI_Comm) :: comm
      comm = MPI_COMM_WORLD
      out = -1
      call MPI_Gather(in, 3, MPI_INTEGER, out, 3, MPI_INTEGER, root, comm, error)
      call again()
      call MPI_Igather(in, 3, MPI_INTEGER, out, 3, MPI_INTEGER, root, comm, request, error)
      call ended('Igather')
      call MPI_Gather_init(in, 3, MPI_INTEGER, out, 3, MPI_INTEGER, root, comm, info, request, error)
      call both_ended('Gather_init')

      call MPI_Gatherv(in, rank + 1, MPI_INTEGER, out, counts, places, MPI_INTEGER, root, comm, error)
      if (rank == root) call check_equal(out(places(ranks) + ranks), 1000 * rank + ranks, 'Gatherv, the last')
      call again()
      call MPI_Igatherv(in, rank + 1, MPI_INTEGER, out, counts, places, MPI_INTEGER, root, comm, request, error)
      call ended('Igatherv')
      call MPI_Gatherv_init(in, rank + 1, MPI_INTEGER, out, counts, places, MPI_INTEGER, root, comm, info, request, error)
      call both_ended('Gatherv_init')
   end subroutine to_the_root

   subroutine from_the_root()
      HANDLE(MPI_Comm) :: comm
      comm = MPI_COMM_WORLD
      wanted = -1
      wanted(1:3) = 77 + root
      out(1:3) = merge(77 + root, -1, rank == root)
      call MPI_Ibcast(out, 3, MPI_INTEGER, root, comm, request, error)
      call ended('Ibcast')
      call MPI_Bcast_init(out, 3, MPI_INTEGER, root, comm, info, request, error)
      do i = 1, 2
         out(1:3) = merge(77 + root, -1, rank == root)
         call MPI_Start(request, error)
         call MPI_Wait(request, MPI_STATUS_IGNORE, error)
         call check(all(out == wanted), 'Bcast_init')
      end do
      call MPI_Request_free(request, error)
      out = -1

      call MPI_Scatter(in, 2, MPI_INTEGER, out, 2, MPI_INTEGER, root, comm, error)
      call check(all(out(1:2) == [1000 * root + 2 * rank + 1, 1000 * root + 2 * rank + 2]), 'Scatter')
      call again()
      call MPI_Iscatter(in, 2, MPI_INTEGER, out, 2, MPI_INTEGER, root, comm, request, error)
      call ended('Iscatter')
      call MPI_Scatter_init(in, 2, MPI_INTEGER, out, 2, MPI_INTEGER, root, comm, info, request, error)
      call both_ended('Scatter_init')

      call MPI_Scatterv(in, counts, places, MPI_INTEGER, out, rank + 1, MPI_INTEGER, root, comm, error)
      call again()
      call MPI_Iscatterv(in, counts, places, MPI_INTEGER, out, rank + 1, MPI_INTEGER, root, comm, request, error)
      call ended('Iscatterv')
      call MPI_Scatterv_init(in, counts, places, MPI_INTEGER, out, rank + 1, MPI_INTEGER, root, comm, info, request, error)
      call both_ended('Scatterv_init')
   end subroutine from_the_root

   subroutine everyone_to_everyone()
      HANDLE(MPI_Comm) :: comm
      integer :: bytes(4), bytes_from(4)
      comm = MPI_COMM_WORLD
      bytes = 4 * places
      bytes_from = 4 * from
      call MPI_Alltoall(in, 2, MPI_INTEGER, out, 2, MPI_INTEGER, comm, error)
      call again()
      call MPI_Ialltoall(in, 2, MPI_INTEGER, out, 2, MPI_INTEGER, comm, request, error)
      call ended('Ialltoall')
      call MPI_Alltoall_init(in, 2, MPI_INTEGER, out, 2, MPI_INTEGER, comm, info, request, error)
      call both_ended('Alltoall_init')

      ! Rank i gets i + 1 from everyone.
      call MPI_Alltoallv(in, counts, places, MPI_INTEGER, out, mine, from, MPI_INTEGER, comm, error)
      call check_equal(out(from(1) + 1), places(rank + 1) + 1, 'Alltoallv, from rank 0')
      call again()
      call MPI_Ialltoallv(in, counts, places, MPI_INTEGER, out, mine, from, MPI_INTEGER, comm, request, error)
      call ended('Ialltoallv')
      call MPI_Alltoallv_init(in, counts, places, MPI_INTEGER, out, mine, from, MPI_INTEGER, comm, info, request, error)
      call both_ended('Alltoallv_init')
      call MPI_Alltoallw(in, counts, bytes, types, out, mine, bytes_from, types, comm, error)
      call check(all(out == wanted), 'Alltoallw')
      out = -1
      call MPI_Ialltoallw(in, counts, bytes, types, out, mine, bytes_from, types, comm, request, error)
      call ended('Ialltoallw')
      call MPI_Alltoallw_init(in, counts, bytes, types, out, mine, bytes_from, types, comm, info, request, error)
      call both_ended('Alltoallw_init')
   end subroutine everyone_to_everyone

   subroutine computed()
      HANDLE(MPI_Comm) :: comm
      comm = MPI_COMM_WORLD
      call MPI_Allreduce(in, out, 3, MPI_INTEGER, MPI_MAX, comm, error)
      call check_equal(out(3), 1000 * (ranks - 1) + 3, 'Allreduce')
      call again()
      call MPI_Iallreduce(in, out, 3, MPI_INTEGER, MPI_MAX, comm, request, error)
      call ended('Iallreduce')
      call MPI_Allreduce_init(in, out, 3, MPI_INTEGER, MPI_MAX, comm, info, request, error)
      call both_ended('Allreduce_init')

      call MPI_Reduce(in, out, 3, MPI_INTEGER, MPI_SUM, root, comm, error)
      if (rank == root) call check_equal(out(2), 500 * ranks * (ranks - 1) + 2 * ranks, 'Reduce')
      call again()
      call MPI_Ireduce(in, out, 3, MPI_INTEGER, MPI_SUM, root, comm, request, error)
      call ended('Ireduce')
      call MPI_Reduce_init(in, out, 3, MPI_INTEGER, MPI_SUM, root, comm, info, request, error)
      call both_ended('Reduce_init')

      call MPI_Scan(in, out, 3, MPI_INTEGER, MPI_SUM, comm, error)
      call check_equal(out(1), 500 * rank * (rank + 1) + rank + 1, 'Scan')
      call again()
      call MPI_Iscan(in, out, 3, MPI_INTEGER, MPI_SUM, comm, request, error)
      call ended('Iscan')
      call MPI_Scan_init(in, out, 3, MPI_INTEGER, MPI_SUM, comm, info, request, error)
      call both_ended('Scan_init')

      call MPI_Exscan(in, out, 3, MPI_INTEGER, MPI_SUM, comm, error)
      ! Rank 0 has no result.
      if (rank == 0) out(1:3) = -1
      call again()
      call MPI_Iexscan(in, out, 3, MPI_INTEGER, MPI_SUM, comm, request, error)
      if (rank == 0) call MPI_Wait(request, MPI_STATUS_IGNORE, error)
      if (rank == 0) out = -1
      call ended('Iexscan')
      call MPI_Exscan_init(in, out, 3, MPI_INTEGER, MPI_SUM, comm, info, request, error)
      if (rank == 0) then
         do i = 1, 2
            call MPI_Start(request, error)
            call MPI_Wait(request, MPI_STATUS_IGNORE, error)
         end do
         call MPI_Request_free(request, error)
         out = -1
      else
         call both_ended('Exscan_init')
      end if
   end subroutine computed

   subroutine computed_and_divided()
      HANDLE(MPI_Comm) :: comm
      integer :: x(2), y(2)
      comm = MPI_COMM_WORLD
      call MPI_Reduce_scatter(in, out, counts, MPI_INTEGER, MPI_SUM, comm, error)
      call again()
      call MPI_Ireduce_scatter(in, out, counts, MPI_INTEGER, MPI_SUM, comm, request, error)
      call ended('Ireduce_scatter')
      call MPI_Reduce_scatter_init(in, out, counts, MPI_INTEGER, MPI_SUM, comm, info, request, error)
      call both_ended('Reduce_scatter_init')

      call MPI_Reduce_scatter_block(in, out, 3, MPI_INTEGER, MPI_SUM, comm, error)
      call check_equal(out(3), 500 * ranks * (ranks - 1) + ranks * (3 * rank + 3), 'Reduce_scatter_block')
      call again()
      call MPI_Ireduce_scatter_block(in, out, 3, MPI_INTEGER, MPI_SUM, comm, request, error)
      call ended('Ireduce_scatter_block')
      call MPI_Reduce_scatter_block_init(in, out, 3, MPI_INTEGER, MPI_SUM, comm, info, request, error)
      call both_ended('Reduce_scatter_block_init')

      x = [3, 4]
      y = [10, 20]
      call MPI_Reduce_local(x, y, 2, MPI_INTEGER, MPI_SUM, error)
      call check(all(y == [13, 24]) .and. all(x == [3, 4]), 'Reduce_local')
   end subroutine computed_and_divided

#include "check_end.inc"

end program requests

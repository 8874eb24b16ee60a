! Chapter 4: partitioned sends and receives in the three interfaces, counted differently on both sides, and a section with gaps.
! ranks: 1 2 3
#include "check.inc"
program partitioned
   USE_MPI
   implicit none
   INCLUDE_MPI
   integer :: rank, ranks, error, checks = 0, failures = 0
   integer :: next, previous, round, i
   integer ASYNCHRONOUS_ :: out(12), in(12)
   HANDLE(MPI_Request) :: requests(2)
   STATUSES(both, 2)
   logical :: flag

   call check_begin()
   next = mod(rank + 1, ranks)
   previous = mod(rank + ranks - 1, ranks)
   call MPI_Psend_init(out, 4, 3, MPI_INTEGER, next, 7, MPI_COMM_WORLD, MPI_INFO_NULL, requests(1), error)
   call check(error == MPI_SUCCESS, 'Psend_init')
   call MPI_Precv_init(in, 3, 4_MPI_COUNT_KIND, MPI_INTEGER, previous, 7, MPI_COMM_WORLD, MPI_INFO_NULL, requests(2), error)
   call check(error == MPI_SUCCESS, 'Precv_init')
   do round = 1, 3
      in = -1
      out = [(1000 * round + 100 * rank + i, i = 1, 12)]
      call MPI_Startall(2, requests, error)
      call MPI_Test(requests(1), flag, MPI_STATUS_IGNORE, error)
      call check(.not. flag, 'nothing is ready')
      call MPI_Pready(3, requests(1), error)
      call MPI_Pready_list(1, [1], requests(1), error)
      call MPI_Parrived(requests(2), 0, flag, error)
      call check(.not. flag .or. ranks > 1, 'the first has not arrived')
      call MPI_Pready_range(2, 2, requests(1), error)
      call MPI_Pready(0, requests(1), error)
      flag = .false.
      do while (.not. flag)
         call MPI_Parrived(requests(2), 2, flag, error)
      end do
      call MPI_Waitall(2, requests, both, error)
      call check(all(in == [(1000 * round + 100 * previous + i, i = 1, 12)]), 'the data')
      call check_equal(SOURCE_AT(both, 2), previous, 'the source')
      call MPI_Parrived(requests(2), 1, flag, error)
      call check(flag, 'of an inactive request all have arrived')
   end do
   call MPI_Request_free(requests(1), error)
   call MPI_Request_free(requests(2), error)
   call check(requests(1) == MPI_REQUEST_NULL .and. requests(2) == MPI_REQUEST_NULL, 'freed')
   call check_done()

contains
#include "check_end.inc"
end program partitioned

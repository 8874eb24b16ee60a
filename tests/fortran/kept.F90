! Section 19.1.16: buffers stay in use after the call that names them, also those of programs that do not say ASYNCHRONOUS:
! an optimising compiler must not keep their values in registers. (With mpif.h there is nothing that could tell gfortran so.)
! ranks: 2
! fortran: mpi f08
#include "check.inc"
program kept
   USE_MPI
   implicit none
   INCLUDE_MPI
   integer, parameter :: turns = 100
   integer :: rank, ranks, error, checks = 0, failures = 0
   integer :: peer

   call check_begin()
   peer = ieor(rank, 1)
   call prepared()
   call prepared_array()
   call by_address()
   call collective()
   call check_done()

contains

   subroutine prepared()
      integer :: mine, theirs, total, i
      HANDLE(MPI_Request) :: requests(2)
      theirs = 0
      total = 0
      call MPI_Recv_init(theirs, 1, MPI_INTEGER, peer, 0, MPI_COMM_WORLD, requests(1), error)
      call MPI_Send_init(mine, 1, MPI_INTEGER, peer, 0, MPI_COMM_WORLD, requests(2), error)
      do i = 1, turns
         mine = i
         call MPI_Startall(2, requests, error)
         call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, error)
         total = total + theirs
      end do
      call check_equal(total, turns * (turns + 1) / 2, 'the sum by persistent requests')
      call MPI_Request_free(requests(1), error)
      call MPI_Request_free(requests(2), error)
   end subroutine prepared

   subroutine prepared_array()
      integer :: mine(4), theirs(4), total, i
      HANDLE(MPI_Request) :: requests(2)
      theirs = 0
      total = 0
      call MPI_Recv_init(theirs, 4, MPI_INTEGER, peer, 0, MPI_COMM_WORLD, requests(1), error)
      call MPI_Send_init(mine, 4, MPI_INTEGER, peer, 0, MPI_COMM_WORLD, requests(2), error)
      do i = 1, turns
         mine = i
         call MPI_Startall(2, requests, error)
         call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, error)
         total = total + theirs(2)
      end do
      call check_equal(total, turns * (turns + 1) / 2, 'the sum by persistent requests, of an array')
      call MPI_Request_free(requests(1), error)
      call MPI_Request_free(requests(2), error)
   end subroutine prepared_array

   subroutine by_address()
      integer :: mine, theirs, total, i
      integer(MPI_ADDRESS_KIND) :: place(1)
      HANDLE(MPI_Datatype) :: from, to
      theirs = 0
      total = 0
      call MPI_Get_address(mine, place(1), error)
      call MPI_Type_create_hindexed(1, [1], place, MPI_INTEGER, from, error)
      call MPI_Type_commit(from, error)
      call MPI_Get_address(theirs, place(1), error)
      call MPI_Type_create_hindexed(1, [1], place, MPI_INTEGER, to, error)
      call MPI_Type_commit(to, error)
      do i = 1, turns
         mine = i
         call MPI_Sendrecv(MPI_BOTTOM, 1, from, peer, 0, MPI_BOTTOM, 1, to, peer, 0, MPI_COMM_WORLD, &
            MPI_STATUS_IGNORE, error)
         total = total + theirs
      end do
      call check_equal(total, turns * (turns + 1) / 2, 'the sum by absolute addresses')
      call MPI_Type_free(from, error)
      call MPI_Type_free(to, error)
   end subroutine by_address

   subroutine collective()
      integer :: mine, all, total, i
      HANDLE(MPI_Request) :: request
      all = 0
      total = 0
      call MPI_Allreduce_init(mine, all, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, request, error)
      do i = 1, turns
         mine = i
         call MPI_Start(request, error)
         call MPI_Wait(request, MPI_STATUS_IGNORE, error)
         total = total + all
      end do
      call check(total == turns * (turns + 1), 'the sum by a persistent collective')
      call MPI_Request_free(request, error)
   end subroutine collective

#include "check_end.inc"

end program kept

! Chapter 3: sends and receives, requests, probes, buffers, in the three interfaces.
! ranks: 1 2 4
#include "check.inc"
program p2p
#ifdef INTERFACE_F08
   use, intrinsic :: iso_c_binding, only : C_PTR
#endif
   USE_MPI
   implicit none
   INCLUDE_MPI
   integer :: rank, ranks, error, next, previous, checks = 0, failures = 0

   call check_begin()
   next = mod(rank + 1, ranks)
   previous = mod(rank + ranks - 1, ranks)
   call around_the_ring()
   call buffered()
   call completions()
   call persistent()
   call probes()
   call nothing_at_all()
   call check_done()

contains

   subroutine around_the_ring()
      integer :: out(8), in(8), count
      STATUS :: s
      HANDLE(MPI_Request) :: request
      out = rank * 100
      call MPI_Irecv(in, 8, MPI_INTEGER, previous, 5, MPI_COMM_WORLD, request, error)
      call check(request /= MPI_REQUEST_NULL, 'a request that runs is not null')
      call MPI_Send(out, 8, MPI_INTEGER, next, 5, MPI_COMM_WORLD, error)
      call check_equal(error, MPI_SUCCESS, 'code of a send')
      call MPI_Wait(request, s, error)
      call check(all(in == previous * 100), 'what was sent came')
      call check_equal(SOURCE_OF(s), previous, 'source')
      call check_equal(TAG_OF(s), 5, 'tag')
      call MPI_Get_count(s, MPI_INTEGER, count, error)
      call check_equal(count, 8, 'count')
      call check(request == MPI_REQUEST_NULL, 'a request that is over is null')
      in = -1
      call MPI_Sendrecv(out, 8, MPI_INTEGER, next, 9, in, 8, MPI_INTEGER, previous, 9, MPI_COMM_WORLD, s, error)
      call check_equal(TAG_OF(s), 9, 'tag of Sendrecv')
      call check(all(in == previous * 100), 'what Sendrecv sent came')
      call MPI_Sendrecv_replace(out, 8, MPI_INTEGER, next, 1, previous, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
      call check(all(out == previous * 100), 'what Sendrecv_replace sent came')
   end subroutine around_the_ring

   subroutine buffered()
      integer :: room(512), size, out, in
#ifdef INTERFACE_F08
      type(C_PTR) :: detached
#else
      integer :: detached(1)
#endif
      call MPI_Buffer_attach(room, 2048, error)
      out = rank
      call MPI_Bsend(out, 1, MPI_INTEGER, next, 2, MPI_COMM_WORLD, error)
      call MPI_Recv(in, 1, MPI_INTEGER, previous, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
      call check_equal(in, previous, 'what Bsend sent')
      call MPI_Buffer_detach(detached, size, error)
      call check_equal(size, 2048, 'size of the detached buffer')
   end subroutine buffered

   subroutine completions()
      integer :: out(4), in(4), indices(4), done, index, i
      logical :: flag, seen(4)
      HANDLE(MPI_Request) :: requests(4), sends(4)
      STATUSES(all_of_them, 4)
      STATUS :: s
      out = [(10 * rank + i, i = 1, 4)]
      do i = 1, 4
         call MPI_Irecv(in(i), 1, MPI_INTEGER, previous, i, MPI_COMM_WORLD, requests(i), error)
      end do
      do i = 1, 4
         call MPI_Isend(out(i), 1, MPI_INTEGER, next, i, MPI_COMM_WORLD, sends(i), error)
      end do
      call MPI_Waitall(4, sends, MPI_STATUSES_IGNORE, error)
      ! Indices begin with 1.
      call MPI_Waitany(4, requests, index, s, error)
      call check(index >= 1 .and. index <= 4, 'an index of Waitany')
      call check_equal(TAG_OF(s), index, 'tag of the one that Waitany found')
      seen = .false.
      seen(index) = .true.
      call MPI_Waitsome(4, requests, done, indices, all_of_them, error)
      call check(done >= 1 .and. done <= 3, 'number that Waitsome found')
      do i = 1, done
         call check_equal(SOURCE_AT(all_of_them, i), previous, 'source from Waitsome')
         seen(indices(i)) = .true.
      end do
      call MPI_Waitall(4, requests, all_of_them, error)
      call check(count(seen) == done + 1, 'no request ends twice')
      call check(all(in == [(10 * previous + i, i = 1, 4)]), 'all came')
      call MPI_Testall(4, requests, flag, MPI_STATUSES_IGNORE, error)
      call check(flag, 'Testall of none')
      call MPI_Waitany(4, requests, index, MPI_STATUS_IGNORE, error)
      call check_equal(index, MPI_UNDEFINED, 'Waitany of none')
      call MPI_Testany(4, requests, index, flag, MPI_STATUS_IGNORE, error)
      call check(flag .and. index == MPI_UNDEFINED, 'Testany of none')
      call MPI_Testsome(4, requests, done, indices, MPI_STATUSES_IGNORE, error)
      call check_equal(done, MPI_UNDEFINED, 'Testsome of none')
#ifndef INTERFACE_F08
      ! The wrong one of two constants, which only mpi_f08 can tell apart: nothing is written there all the same.
      MPI_STATUS_IGNORE = -5
      call MPI_Irecv(in(1), 1, MPI_INTEGER, previous, 5, MPI_COMM_WORLD, requests(1), error)
      call MPI_Isend(out(1), 1, MPI_INTEGER, next, 5, MPI_COMM_WORLD, requests(2), error)
      call MPI_Waitall(2, requests, MPI_STATUS_IGNORE, error)
      call check(all(MPI_STATUS_IGNORE == -5), 'Waitall with MPI_STATUS_IGNORE writes no status')
#endif
   end subroutine completions

   subroutine persistent()
      double precision :: out(3), in(3)
      HANDLE(MPI_Request) :: requests(2)
      integer :: turn
      call MPI_Send_init(out, 3, MPI_DOUBLE_PRECISION, next, 7, MPI_COMM_WORLD, requests(1), error)
      call MPI_Recv_init(in, 3, MPI_DOUBLE_PRECISION, previous, 7, MPI_COMM_WORLD, requests(2), error)
      do turn = 1, 3
         out = dble(rank * turn)
         ! These calls do not name the buffers: without a word a compiler may keep them in registers (MPI-5.0 section 19.1.17).
         call MPI_F_SYNC_REG(out)
         call MPI_Startall(2, requests, error)
         call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, error)
         call MPI_F_SYNC_REG(in)
         call check(all(abs(in - dble(previous * turn)) < 1d-12), 'a persistent message')
      end do
      call MPI_Request_free(requests(1), error)
      call MPI_Request_free(requests(2), error)
      call check(requests(1) == MPI_REQUEST_NULL, 'a freed request is null')
   end subroutine persistent

   subroutine probes()
      integer :: out(5), in(5), n
      STATUS :: s
      HANDLE(MPI_Message) :: message
      HANDLE(MPI_Request) :: request
      logical :: flag
      out = rank
      call MPI_Iprobe(previous, 99, MPI_COMM_WORLD, flag, s, error)
      call check(.not. flag, 'nothing with that tag')
      call MPI_Isend(out, 5, MPI_INTEGER, next, 3, MPI_COMM_WORLD, request, error)
      call MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, s, error)
      call check_equal(TAG_OF(s), 3, 'tag that Probe saw')
      call MPI_Mprobe(previous, 3, MPI_COMM_WORLD, message, s, error)
      call MPI_Get_count(s, MPI_INTEGER, n, error)
      call check_equal(n, 5, 'count that Mprobe saw')
      call MPI_Mrecv(in, 5, MPI_INTEGER, message, s, error)
      call check(message == MPI_MESSAGE_NULL .and. all(in == previous), 'a matched receive')
      call MPI_Wait(request, MPI_STATUS_IGNORE, error)
   end subroutine probes

   subroutine nothing_at_all()
      integer :: in
      STATUS :: s
      in = 17
      call MPI_Recv(in, 1, MPI_INTEGER, MPI_PROC_NULL, 0, MPI_COMM_WORLD, s, error)
      call check(in == 17 .and. SOURCE_OF(s) == MPI_PROC_NULL, 'a receive from nobody')
   end subroutine nothing_at_all

#include "check_end.inc"

end program p2p

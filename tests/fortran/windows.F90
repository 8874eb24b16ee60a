! Chapter 12: windows, transfers, epochs, attributes, in the three interfaces; sections with gaps as buffers in two of them.
! ranks: 1 2 4
#include "check.inc"
program windows
   USE_MPI
   implicit none
   INCLUDE_MPI
   integer, parameter :: INT_BYTES = 4
   integer :: rank, ranks, error, next, previous, checks = 0, failures = 0

   call check_begin()
   next = mod(rank + 1, ranks)
   previous = mod(rank + ranks - 1, ranks)
   call fences()
   call locks()
   call posts()
   call attributes()
#ifndef INTERFACE_MPIF
   call shared()
   call sections()
#endif
   call check_done()

contains

   subroutine fences()
      integer ASYNCHRONOUS_ :: memory(10), found(3)
      HANDLE(MPI_Win) :: win
      integer(MPI_ADDRESS_KIND) :: bytes, place
      integer :: i
      memory = [(100 * rank + i, i = 1, 10)]
      bytes = 10 * INT_BYTES
      call MPI_Win_create(memory, bytes, INT_BYTES, MPI_INFO_NULL, MPI_COMM_WORLD, win, error)
      call MPI_Win_fence(0, win, error)
      place = 4
      call MPI_Get(found, 3, MPI_INTEGER, next, place, 3, MPI_INTEGER, win, error)
      call MPI_Win_fence(0, win, error)
      call check(all(found == [(100 * next + i, i = 5, 7)]), 'what a rank has')
      place = 0
      call MPI_Put(found, 1, MPI_INTEGER, next, place, 1, MPI_INTEGER, win, error)
      place = 9
      call MPI_Accumulate(rank, 1, MPI_INTEGER, 0, place, 1, MPI_INTEGER, MPI_SUM, win, error)
      call MPI_Win_fence(MPI_MODE_NOSUCCEED, win, error)
      call check_equal(memory(1), 100 * rank + 5, 'what a rank was given')
      if (rank == 0) call check_equal(memory(10), 10 + ranks * (ranks - 1) / 2, 'the sum')
      call MPI_Win_free(win, error)
#ifdef INTERFACE_F08
      call check(win == MPI_WIN_NULL, 'the window is gone')
#else
      call check_equal(win, MPI_WIN_NULL, 'the window')
#endif
   end subroutine fences

   ! A counter gives every number out once.
   subroutine locks()
      integer ASYNCHRONOUS_ :: memory(2), seen(0:5 * ranks - 1), ticket, one
      HANDLE(MPI_Win) :: win
      HANDLE(MPI_Request) :: request
      integer(MPI_ADDRESS_KIND) :: bytes, place
      integer :: i
      memory = 0
      seen = 0
      one = 1
      bytes = 2 * INT_BYTES
      call MPI_Win_create(memory, bytes, INT_BYTES, MPI_INFO_NULL, MPI_COMM_WORLD, win, error)
      call MPI_Win_lock_all(0, win, error)
      place = 1
      do i = 1, 5
         call MPI_Fetch_and_op(one, ticket, MPI_INTEGER, 0, place, MPI_SUM, win, error)
         call MPI_Win_flush(0, win, error)
         seen(ticket) = 1
      end do
      call MPI_Win_unlock_all(win, error)
      call MPI_Allreduce(MPI_IN_PLACE, seen, 5 * ranks, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
      call check(all(seen == 1), 'all tickets')
      call MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win, error)
      place = 0
      call MPI_Rput(rank, 1, MPI_INTEGER, rank, place, 1, MPI_INTEGER, win, request, error)
      call MPI_Wait(request, MPI_STATUS_IGNORE, error)
      call MPI_Compare_and_swap(one, rank, ticket, MPI_INTEGER, rank, place, win, error)
      call MPI_Win_unlock(rank, win, error)
      call check_equal(ticket, rank, 'what was swapped')
      call check_equal(memory(1), 1, 'what came instead')
      call MPI_Win_free(win, error)
   end subroutine locks

   subroutine posts()
      integer ASYNCHRONOUS_ :: memory(1)
      HANDLE(MPI_Win) :: win
      HANDLE(MPI_Group) :: everyone, before, behind
      integer(MPI_ADDRESS_KIND) :: bytes, place
      memory = -1
      bytes = INT_BYTES
      place = 0
      call MPI_Win_create(memory, bytes, INT_BYTES, MPI_INFO_NULL, MPI_COMM_WORLD, win, error)
      call MPI_Win_get_group(win, everyone, error)
      call MPI_Group_incl(everyone, 1, [previous], before, error)
      call MPI_Group_incl(everyone, 1, [next], behind, error)
      call MPI_Win_post(before, 0, win, error)
      call MPI_Win_start(behind, 0, win, error)
      call MPI_Put(rank, 1, MPI_INTEGER, next, place, 1, MPI_INTEGER, win, error)
      call MPI_Win_complete(win, error)
      call MPI_Win_wait(win, error)
      call check_equal(memory(1), previous, 'what came')
      call MPI_Group_free(everyone, error)
      call MPI_Group_free(before, error)
      call MPI_Group_free(behind, error)
      call MPI_Win_free(win, error)
   end subroutine posts

   subroutine attributes()
      integer ASYNCHRONOUS_ :: memory(3)
      HANDLE(MPI_Win) :: win
      integer(MPI_ADDRESS_KIND) :: bytes, found
      integer :: length
      logical :: flag
      character(len=MPI_MAX_OBJECT_NAME) :: name
      bytes = 3 * INT_BYTES
      call MPI_Win_create(memory, bytes, INT_BYTES, MPI_INFO_NULL, MPI_COMM_WORLD, win, error)
      call MPI_Win_get_attr(win, MPI_WIN_SIZE, found, flag, error)
      call check(flag .and. found == bytes, 'its size')
      call MPI_Win_get_attr(win, MPI_WIN_DISP_UNIT, found, flag, error)
      call check(flag .and. found == INT_BYTES, 'its unit')
      call MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, found, flag, error)
      call check(flag .and. found == MPI_WIN_FLAVOR_CREATE, 'its flavor')
      call MPI_Win_get_attr(win, MPI_WIN_MODEL, found, flag, error)
      call check(flag .and. found == MPI_WIN_UNIFIED, 'its model')
      call MPI_Win_get_attr(win, MPI_WIN_BASE, found, flag, error)
      call MPI_Get_address(memory, bytes, error)
      call check(flag .and. found == bytes, 'its base')
      call MPI_Win_set_name(win, 'a ledger', error)
      call MPI_Win_get_name(win, name, length, error)
      call check(name == 'a ledger' .and. length == 8, 'its name')
      call MPI_Win_free(win, error)
   end subroutine attributes

#ifndef INTERFACE_MPIF
   ! Others store to what this rank loads.
   subroutine shared()
      use, intrinsic :: iso_c_binding, only : C_PTR, c_f_pointer
      type(C_PTR) :: base
      integer, pointer :: mine(:), theirs(:)
      HANDLE(MPI_Win) :: win
      integer(MPI_ADDRESS_KIND) :: bytes
      integer :: unit
      bytes = 4 * INT_BYTES
      call MPI_Win_allocate_shared(bytes, INT_BYTES, MPI_INFO_NULL, MPI_COMM_WORLD, base, win, error)
      call c_f_pointer(base, mine, [4])
      call MPI_Win_shared_query(win, next, bytes, unit, base, error)
      call c_f_pointer(base, theirs, [4])
      call MPI_Win_fence(0, win, error)
      theirs = [1, 2, 3, rank]
      call MPI_Win_fence(0, win, error)
      call check(all(mine == [1, 2, 3, previous]), 'what another stored')
      call check(unit == INT_BYTES .and. bytes == 4 * INT_BYTES, 'what the query says')
      call MPI_Win_fence(0, win, error)
      call MPI_Win_free(win, error)
   end subroutine shared

   ! A row to a rank's memory, and from there into every other element.
   subroutine sections()
      integer, asynchronous :: memory(5), a(3, 5), b(10)
      HANDLE(MPI_Win) :: win
      integer(MPI_ADDRESS_KIND) :: bytes, place
      integer :: i
      a = reshape([(1000 * rank + i, i = 1, 15)], [3, 5])
      b = -1
      memory = 0
      bytes = 5 * INT_BYTES
      place = 0
      call MPI_Win_create(memory, bytes, INT_BYTES, MPI_INFO_NULL, MPI_COMM_WORLD, win, error)
      call MPI_Win_fence(0, win, error)
      call MPI_Put(a(2, :), 5, MPI_INTEGER, next, place, 5, MPI_INTEGER, win, error)
      call MPI_Win_fence(0, win, error)
      call check(all(memory == a(2, :) + 1000 * (previous - rank)), 'a row')
      call MPI_Get(b(2::2), 5, MPI_INTEGER, next, place, 5, MPI_INTEGER, win, error)
      call MPI_Win_fence(0, win, error)
      call check(all(b(2::2) == a(2, :)) .and. all(b(1::2) == -1), 'every other element')
      call MPI_Accumulate(a(2, :), 5, MPI_INTEGER, next, place, 5, MPI_INTEGER, MPI_SUM, win, error)
      call MPI_Win_fence(0, win, error)
      call check(all(memory == 2 * (a(2, :) + 1000 * (previous - rank))), 'a row that was added')
      call MPI_Win_free(win, error)
   end subroutine sections
#endif

#include "check_end.inc"
end program windows

! Chapter 3: every mode of sending, blocking, started and prepared; matched probes, exchanges and cancelling, in the three
! interfaces. Ranks come in pairs.
! ranks: 2 4
#include "check.inc"
program p2p_modes
   USE_MPI
   implicit none
   INCLUDE_MPI
   integer :: rank, ranks, error, checks = 0, failures = 0
   integer :: peer
   integer ASYNCHRONOUS_ :: in(4), out(4)
   HANDLE(MPI_Request) :: request, ready
   STATUS :: s

   call check_begin()
   peer = ieor(rank, 1)
   call blocking()
   call started()
   call prepared()
   call exchanged()
   call probed()
   call cancelled()
   call buffered()
   call check_done()

contains

   subroutine receive(tag)
      integer, intent(in) :: tag
      out = -1
      call MPI_Irecv(out, 4, MPI_INTEGER, peer, tag, MPI_COMM_WORLD, request, error)
      in = [peer, rank, tag, 0]
      call MPI_Barrier(MPI_COMM_WORLD, error)
   end subroutine receive

   subroutine received(tag, what)
      integer, intent(in) :: tag
      character(len=*), intent(in) :: what
      call MPI_Wait(request, s, error)
      call check(all(out == [rank, peer, tag, 0]), what)
      call check(SOURCE_OF(s) == peer .and. TAG_OF(s) == tag, what)
   end subroutine received

   subroutine blocking()
      call receive(1)
      call MPI_Ssend(in, 4, MPI_INTEGER, peer, 1, MPI_COMM_WORLD, error)
      call received(1, 'Ssend')
      call receive(2)
      call MPI_Rsend(in, 4, MPI_INTEGER, peer, 2, MPI_COMM_WORLD, error)
      call received(2, 'Rsend')
   end subroutine blocking

   subroutine started()
      call receive(3)
      call MPI_Issend(in, 4, MPI_INTEGER, peer, 3, MPI_COMM_WORLD, ready, error)
      call received(3, 'Issend')
      call MPI_Wait(ready, MPI_STATUS_IGNORE, error)
      call receive(4)
      call MPI_Irsend(in, 4, MPI_INTEGER, peer, 4, MPI_COMM_WORLD, ready, error)
      call received(4, 'Irsend')
      call MPI_Wait(ready, MPI_STATUS_IGNORE, error)
   end subroutine started

   subroutine prepared()
      call MPI_Ssend_init(in, 4, MPI_INTEGER, peer, 5, MPI_COMM_WORLD, ready, error)
      call twice(5, 'Ssend_init')
      call MPI_Rsend_init(in, 4, MPI_INTEGER, peer, 6, MPI_COMM_WORLD, ready, error)
      call twice(6, 'Rsend_init')
   end subroutine prepared

   subroutine twice(tag, what)
      integer, intent(in) :: tag
      character(len=*), intent(in) :: what
      integer :: i
      do i = 1, 2
         call receive(tag)
         call MPI_Start(ready, error)
         call received(tag, what)
         call MPI_Wait(ready, MPI_STATUS_IGNORE, error)
      end do
      call MPI_Request_free(ready, error)
   end subroutine twice

   subroutine exchanged()
      in = [peer, rank, 7, 0]
      out = -1
      call MPI_Isendrecv(in, 4, MPI_INTEGER, peer, 7 + rank, out, 4, MPI_INTEGER, peer, 7 + peer, MPI_COMM_WORLD, &
         request, error)
      call MPI_Wait(request, s, error)
      call check(all(out == [rank, peer, 7, 0]), 'Isendrecv')
      call MPI_Isendrecv_replace(in, 4, MPI_INTEGER, peer, 7 + rank, peer, 7 + peer, MPI_COMM_WORLD, request, error)
      call MPI_Wait(request, s, error)
      call check(all(in == [rank, peer, 7, 0]), 'Isendrecv_replace')
   end subroutine exchanged

   subroutine probed()
      HANDLE(MPI_Message) :: message
      logical :: flag
      integer :: n
      in = [peer, rank, 8, 0]
      call MPI_Isend(in, 4, MPI_INTEGER, peer, 8, MPI_COMM_WORLD, request, error)
      flag = .false.
      do while (.not. flag)
         call MPI_Improbe(MPI_ANY_SOURCE, 8, MPI_COMM_WORLD, flag, message, s, error)
      end do
      call MPI_Get_count(s, MPI_INTEGER, n, error)
      call check_equal(n, 4, 'numbers of the message found')
      out = -1
      call MPI_Imrecv(out, 4, MPI_INTEGER, message, ready, error)
      call check(message == MPI_MESSAGE_NULL, 'a message that is being received')
      call MPI_Wait(ready, s, error)
      call check(all(out == [rank, peer, 8, 0]), 'Imrecv')
      call MPI_Wait(request, MPI_STATUS_IGNORE, error)
      call MPI_Improbe(MPI_PROC_NULL, 8, MPI_COMM_WORLD, flag, message, s, error)
      call check(flag .and. message == MPI_MESSAGE_NO_PROC, 'a message of nobody')
      call MPI_Mrecv(out, 0, MPI_INTEGER, message, s, error)
      call check_equal(SOURCE_OF(s), MPI_PROC_NULL, 'its source')
   end subroutine probed

   subroutine cancelled()
      logical :: flag
      call MPI_Irecv(out, 4, MPI_INTEGER, peer, 99, MPI_COMM_WORLD, request, error)
      call MPI_Cancel(request, error)
      call MPI_Wait(request, s, error)
      call MPI_Test_cancelled(s, flag, error)
      call check(flag, 'a cancelled receive')
      call MPI_Status_set_cancelled(s, .false., error)
      call MPI_Test_cancelled(s, flag, error)
      call check(.not. flag, 'a status that says otherwise')
   end subroutine cancelled

   subroutine buffered()
      integer, target ASYNCHRONOUS_ :: room(1000)
      integer :: bytes
      call MPI_Pack_size(4, MPI_INTEGER, MPI_COMM_WORLD, bytes, error)
      call check(bytes >= 16, 'Pack_size')
      call MPI_Comm_attach_buffer(MPI_COMM_WORLD, room, 4000, error)
      call receive(9)
      call MPI_Ibsend(in, 4, MPI_INTEGER, peer, 9, MPI_COMM_WORLD, ready, error)
      call MPI_Wait(ready, MPI_STATUS_IGNORE, error)
      call received(9, 'Ibsend')
      call MPI_Bsend_init(in, 4, MPI_INTEGER, peer, 10, MPI_COMM_WORLD, ready, error)
      call twice(10, 'Bsend_init')
      call MPI_Comm_flush_buffer(MPI_COMM_WORLD, error)
      call MPI_Comm_iflush_buffer(MPI_COMM_WORLD, request, error)
      call MPI_Wait(request, MPI_STATUS_IGNORE, error)
      call detached(room)
      call automatic()
   end subroutine buffered

   subroutine detached(room)
#ifdef INTERFACE_F08
      use, intrinsic :: iso_c_binding, only : C_PTR, C_LOC, C_ASSOCIATED
      integer, target :: room(1000)
      type(C_PTR) :: at
      integer :: bytes
      call MPI_Comm_detach_buffer(MPI_COMM_WORLD, at, bytes, error)
      call check(C_ASSOCIATED(at, C_LOC(room)), 'the buffer that was attached')
#else
      integer :: room(1000), bytes
      call MPI_Comm_detach_buffer(MPI_COMM_WORLD, room, bytes, error)
#endif
      call check_equal(bytes, 4000, 'its size')
   end subroutine detached

   subroutine automatic()
#ifdef INTERFACE_F08
      use, intrinsic :: iso_c_binding, only : C_PTR, C_LOC, C_ASSOCIATED
      type(C_PTR) :: at
      integer :: bytes
      call MPI_Buffer_attach(MPI_BUFFER_AUTOMATIC, 0, error)
      call MPI_Buffer_detach(at, bytes, error)
      call check(C_ASSOCIATED(at, C_LOC(MPI_BUFFER_AUTOMATIC)), 'the automatic buffer')
#else
      integer :: at, bytes
      call MPI_Buffer_attach(MPI_BUFFER_AUTOMATIC, 0, error)
      call MPI_Buffer_detach(at, bytes, error)
#endif
      call check_equal(bytes, 0, 'the size of the automatic buffer')
   end subroutine automatic

#include "check_end.inc"

end program p2p_modes

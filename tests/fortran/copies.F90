! Section 19.1.12: sections that a request needs a copy of, where an operation fails, where it is only asked about, and where a
! buffer is not allocated; wrong sections, and whose error handler hears of them.
! ranks: 1 2 4
! fortran: mpi f08
#include "check.inc"
program copies
   USE_MPI
   implicit none
   integer :: rank, ranks, error, checks = 0, failures = 0
   HANDLE(MPI_Datatype) :: gaps

   call check_begin()
   call MPI_Type_vector(3, 1, 2, MPI_INTEGER, gaps, error)
   call MPI_Type_commit(gaps, error)
   call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN, error)
   call after_a_failure()
   call beside_a_failure()
   call of_one_that_failed()
   call asked_about()
   call asked_about_several()
   call dirty_the_stack()
   call not_allocated()
   call too_short()
   call handler_of_communicator()
   call handler_of_window()
   call handler_of_file()
   call MPI_Type_free(gaps, error)
   call check_done()

contains

   ! A message that is too long ends its receive. Others get the request's number later, and nothing of it is left then.
   subroutine after_a_failure()
      integer, asynchronous :: x(20), y(10), long(10)
      HANDLE(MPI_Request) :: request
      integer :: i, class, code
      long = 77
      call MPI_Irecv(x(1:20:2), 1, gaps, 0, 1, MPI_COMM_SELF, request, error)
      call MPI_Send(long, 10, MPI_INTEGER, 0, 1, MPI_COMM_SELF, error)
      call MPI_Wait(request, MPI_STATUS_IGNORE, code)
      call MPI_Error_class(code, class, error)
      call check_equal(class, MPI_ERR_TRUNCATE, 'a message that is too long')
      call MPI_F_sync_reg(x)
      x = -1
      do i = 1, 300
         call MPI_Irecv(y, 10, MPI_INTEGER, 0, 2, MPI_COMM_SELF, request, error)
         call MPI_Send(long, 10, MPI_INTEGER, 0, 2, MPI_COMM_SELF, error)
         call MPI_Wait(request, MPI_STATUS_IGNORE, error)
         call MPI_F_sync_reg(x)
         if (any(x /= -1)) exit
      end do
      call check_equal(i, 301, 'receives that write nothing elsewhere')
   end subroutine after_a_failure

   ! Of two persistent receives one fails. The statuses say which, wanted or not.
   subroutine beside_a_failure()
      integer, asynchronous :: x(20), y(20), sent(10)
      HANDLE(MPI_Request) :: requests(2)
      STATUSES(each, 2)
      integer :: turn, i, class, code
      sent = [(i, i = 1, 10)]
      call MPI_Recv_init(x(1:20:2), 1, gaps, 0, 1, MPI_COMM_SELF, requests(1), error)
      call MPI_Recv_init(y(1:20:2), 1, gaps, 0, 2, MPI_COMM_SELF, requests(2), error)
      do turn = 1, 3
         x = 0
         call MPI_Startall(2, requests, error)
         call MPI_Send(sent, 3, MPI_INTEGER, 0, 1, MPI_COMM_SELF, error)
         call MPI_Send(sent, 10, MPI_INTEGER, 0, 2, MPI_COMM_SELF, error)
         if (turn == 1) call MPI_Waitall(2, requests, each, code)
         if (turn == 2) call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, code)
         if (turn == 3) call until_all(requests, code)
         call MPI_F_sync_reg(x)
         call MPI_Error_class(code, class, error)
         call check_equal(class, MPI_ERR_IN_STATUS, 'one of two that fails')
         call check(all(x([1, 5, 9]) == [1, 2, 3]), 'the data of the other')
      end do
      call MPI_Request_free(requests(1), error)
      call MPI_Request_free(requests(2), error)
   end subroutine beside_a_failure

   subroutine until_all(requests, code)
      HANDLE(MPI_Request), intent(inout) :: requests(2)
      integer, intent(out) :: code
      logical :: flag
      flag = .false.
      do while (.not. flag)
         call MPI_Testall(2, requests, flag, MPI_STATUSES_IGNORE, code)
      end do
   end subroutine until_all

   ! A persistent receive that has failed can be started again.
   subroutine of_one_that_failed()
      integer, asynchronous :: x(20), sent(10)
      HANDLE(MPI_Request) :: request
      integer :: i, class, code
      logical :: flag
      sent = [(i, i = 1, 10)]
      call MPI_Recv_init(x(1:20:2), 1, gaps, 0, 1, MPI_COMM_SELF, request, error)
      do i = 1, 2
         x = 0
         call MPI_Start(request, error)
         call MPI_Send(sent, 10, MPI_INTEGER, 0, 1, MPI_COMM_SELF, error)
         flag = .false.
         if (i == 1) call MPI_Wait(request, MPI_STATUS_IGNORE, code)
         do while (i == 2 .and. .not. flag)
            call MPI_Test(request, flag, MPI_STATUS_IGNORE, code)
         end do
         call MPI_Error_class(code, class, error)
         call check_equal(class, MPI_ERR_TRUNCATE, 'a persistent receive of what is too long')
         call MPI_F_sync_reg(x)
         x = -5
         call MPI_Start(request, error)
         call MPI_Send(sent(4:6), 3, MPI_INTEGER, 0, 1, MPI_COMM_SELF, error)
         call MPI_Wait(request, MPI_STATUS_IGNORE, code)
         call MPI_F_sync_reg(x)
         call check(all(x([1, 5, 9]) == [4, 5, 6]) .and. all(x(2:20:2) == -5) .and. x(3) == -5, 'and of what is not')
      end do
      call MPI_Request_free(request, error)
   end subroutine of_one_that_failed

   ! Section 3.7.6: what is complete is there, though the request has not ended, and is not written again when it ends.
   subroutine asked_about()
      integer, asynchronous :: x(20)
      HANDLE(MPI_Request) :: request
      logical :: flag
      x = 0
      call MPI_Irecv(x(1:20:2), 1, gaps, 0, 1, MPI_COMM_SELF, request, error)
      call MPI_Send([1, 2, 3], 3, MPI_INTEGER, 0, 1, MPI_COMM_SELF, error)
      flag = .false.
      do while (.not. flag)
         call MPI_Request_get_status(request, flag, MPI_STATUS_IGNORE, error)
      end do
      call MPI_F_sync_reg(x)
      call check(all(x([1, 5, 9]) == [1, 2, 3]), 'the data when Request_get_status says so')
      x(5) = 50
      call MPI_Wait(request, MPI_STATUS_IGNORE, error)
      call MPI_F_sync_reg(x)
      call check_equal(x(5), 50, 'what was written since')
   end subroutine asked_about

   subroutine asked_about_several()
      integer, asynchronous :: x(20)
      HANDLE(MPI_Request) :: requests(2)
      integer :: way, indices(2), n
      logical :: flag
      do way = 1, 3
         x = 0
         call MPI_Irecv(x(1:20:2), 1, gaps, 0, 1, MPI_COMM_SELF, requests(2), error)
         requests(1) = MPI_REQUEST_NULL
         call MPI_Send([1, 2, 3], 3, MPI_INTEGER, 0, 1, MPI_COMM_SELF, error)
         flag = .false.
         do while (.not. flag)
            select case (way)
            case (1)
               call MPI_Request_get_status_all(2, requests, flag, MPI_STATUSES_IGNORE, error)
            case (2)
               call MPI_Request_get_status_any(2, requests, n, flag, MPI_STATUS_IGNORE, error)
            case (3)
               call MPI_Request_get_status_some(2, requests, n, indices, MPI_STATUSES_IGNORE, error)
               flag = n == 1
            end select
         end do
         call MPI_F_sync_reg(x)
         call check(all(x([1, 5, 9]) == [1, 2, 3]), 'the data when the others say so')
         call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, error)
      end do
   end subroutine asked_about_several

   ! So that the bounds of what is not allocated hold anything.
   subroutine dirty_the_stack()
      integer(8) :: waste(4000)
      integer :: i
      waste = [(i * 3003_8, i = 1, 4000)]
      if (sum(waste) == 3) print *, waste(1)
   end subroutine dirty_the_stack

   ! Not what the standard says, but what programs do: the argument counts at the root only.
   subroutine not_allocated()
      real(8), allocatable :: all_of_it(:, :)
      real(8) :: mine(2)
      if (rank == 0) allocate (all_of_it(2, ranks))
      mine = rank
      call MPI_Gather(mine, 2, MPI_DOUBLE_PRECISION, all_of_it, 2, MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD, error)
      if (rank == 0) call check(abs(all_of_it(2, ranks) - (ranks - 1)) < 1d-9, 'Gather with nothing allocated elsewhere')
      call MPI_Scatter(all_of_it, 2, MPI_DOUBLE_PRECISION, mine, 2, MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD, error)
      call check(abs(mine(1) - rank) < 1d-9, 'Scatter with nothing allocated elsewhere')
   end subroutine not_allocated

   ! A count that goes beyond a section would go beyond its copy.
   subroutine too_short()
      HANDLE(MPI_Comm) :: comm
      HANDLE(MPI_Request) :: request
      integer, asynchronous :: x(20), y(20)
      integer :: many(10 * ranks), class, code
      x = 1
      y = 2
      many = 3
      call MPI_Comm_dup(MPI_COMM_WORLD, comm, error)
      call MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN, error)
      call MPI_Allreduce(x, y(1:20:2), 20, MPI_INTEGER, MPI_SUM, comm, code)
      call MPI_Error_class(code, class, error)
      call check_equal(class, MPI_ERR_BUFFER, 'Allreduce into a section that is too short')
      call MPI_Iscan(x(1:20:2), y, 11, MPI_INTEGER, MPI_SUM, comm, request, code)
      call MPI_Error_class(code, class, error)
      call check_equal(class, MPI_ERR_BUFFER, 'Iscan of a section that is too short')
      call MPI_Allgather(x, 10 / ranks + 1, MPI_INTEGER, y(1:20:2), 10 / ranks + 1, MPI_INTEGER, comm, code)
      call MPI_Error_class(code, class, error)
      call check_equal(class, MPI_ERR_BUFFER, 'Allgather into a section that is too short')
      call check(all(y == 2), 'nothing is written')
      call MPI_Alltoall(many, 10 / ranks, MPI_INTEGER, y(1:20:2), 10 / ranks, MPI_INTEGER, comm, code)
      call check_equal(code, MPI_SUCCESS, 'one that fits')
      call check(all(y(1:2 * ranks * (10 / ranks):2) == 3) .and. all(y(2:20:2) == 2), 'what comes into it')
      call MPI_Comm_free(comm, error)
   end subroutine too_short

   ! The world's handler would end the job.
   subroutine handler_of_communicator()
      HANDLE(MPI_Comm) :: comm
      integer :: x(20), class, code
      x = 0
      call MPI_Comm_dup(MPI_COMM_WORLD, comm, error)
      call MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN, error)
      call MPI_Send(x(1:20:2), 20, MPI_INTEGER, MPI_PROC_NULL, 0, comm, code)
      call MPI_Error_class(code, class, error)
      call check_equal(class, MPI_ERR_BUFFER, 'a section that is too short, for a communicator')
      call MPI_Comm_free(comm, error)
   end subroutine handler_of_communicator

   subroutine handler_of_window()
      HANDLE(MPI_Win) :: win
      integer, asynchronous :: x(20), y(20)
      integer :: class, code
      x = 0
      call MPI_Win_create(y, 80_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_WORLD, win, error)
      call MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN, error)
      call MPI_Win_fence(0, win, error)
      call MPI_Put(x(1:20:2), 20, MPI_INTEGER, rank, 0_MPI_ADDRESS_KIND, 20, MPI_INTEGER, win, code)
      call MPI_Error_class(code, class, error)
      call check_equal(class, MPI_ERR_BUFFER, 'a section that is too short, for a window')
      call MPI_Win_fence(0, win, error)
      call MPI_Win_free(win, error)
   end subroutine handler_of_window

   ! Files return errors unless they are told otherwise.
   subroutine handler_of_file()
      HANDLE(MPI_File) :: file
      integer :: x(20), class, code
      x = 0
      call MPI_File_open(MPI_COMM_SELF, '/dev/null', MPI_MODE_WRONLY, MPI_INFO_NULL, file, error)
      call MPI_File_write(file, x(1:20:2), 20, MPI_INTEGER, MPI_STATUS_IGNORE, code)
      call MPI_Error_class(code, class, error)
      call check_equal(class, MPI_ERR_BUFFER, 'a section that is too short, for a file')
      call MPI_File_close(file, error)
   end subroutine handler_of_file

#include "check_end.inc"

end program copies

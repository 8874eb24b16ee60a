! Chapter 11: processes that start others, their arguments and error codes, ports.
! ranks: 1 2
#include "check.inc"
program processes
   USE_MPI
   implicit none
   INCLUDE_MPI
   integer :: rank, ranks, error, checks = 0, failures = 0
   HANDLE(MPI_Comm) :: parent

   call check_begin()
   call MPI_Comm_get_parent(parent, error)
   if (parent == MPI_COMM_NULL) then
      call one_program()
      call several_programs()
      call only_at_the_root()
      call ports()
      call check_done()
   else
      call child()
   end if

contains

   ! Tells the parents how many arguments it has, and how long they are in all.
   subroutine child()
      integer :: number, told(2), length, ranks_there
      told = [command_argument_count(), 0]
      do number = 1, told(1)
         call get_command_argument(number, length=length)
         told(2) = told(2) + length
      end do
      call MPI_Comm_remote_size(parent, ranks_there, error)
      call MPI_Send(told, 2, MPI_INTEGER, 0, rank, parent, error)
      call MPI_Comm_disconnect(parent, error)
      call MPI_Finalize(error)
   end subroutine child

   subroutine expect(children, count, told, what)
      HANDLE(MPI_Comm) :: children
      integer, intent(in) :: count, told(2, count)
      character(len=*), intent(in) :: what
      integer :: there, number, heard(2)
      call MPI_Comm_remote_size(children, there, error)
      call check_equal(there, count, what)
      if (rank == 0) then
         do number = 1, count
            call MPI_Recv(heard, 2, MPI_INTEGER, number - 1, number - 1, children, MPI_STATUS_IGNORE, error)
            call check_equal(heard(1), told(1, number), what // ': arguments')
            call check_equal(heard(2), told(2, number), what // ': their letters')
         end do
      end if
      call MPI_Comm_disconnect(children, error)
      call check(children == MPI_COMM_NULL, what // ': parted')
   end subroutine expect

   subroutine one_program()
      HANDLE(MPI_Comm) :: children
      character(len=1000) :: program
      character(len=12) :: words(3)
      integer :: codes(2)
      call get_command_argument(0, program)
      codes = -7
      call MPI_Comm_spawn(program, MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, children, codes, error)
      call check_equal(error, MPI_SUCCESS, 'spawning without arguments')
      call check_equal(codes(2), MPI_SUCCESS, 'the code of a process')
      call expect(children, 2, reshape([0, 0, 0, 0], [2, 2]), 'without arguments')
      words = [character(len=12) :: 'one', 'and two', ' ']
      call MPI_Comm_spawn(program, words, 1, MPI_INFO_NULL, ranks - 1, MPI_COMM_WORLD, children, &
         MPI_ERRCODES_IGNORE, error)
      call expect(children, 1, reshape([2, 10], [2, 1]), 'with arguments')
   end subroutine one_program

   ! Arguments count at the root only (section 11.8.2): elsewhere no blank ends them, and the count may be anything.
   subroutine only_at_the_root()
      HANDLE(MPI_Comm) :: children
      HANDLE(MPI_Info) :: infos(1)
      character(len=1000) :: program
      character(len=4096), allocatable :: words(:)
      integer :: count
      call get_command_argument(0, program)
      allocate (words(1024))
      words = repeat('x', 4096)
      if (rank == 0) words = [character(len=4096) :: 'one', ' ']
      call MPI_Comm_spawn(program, words, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, children, MPI_ERRCODES_IGNORE, error)
      call expect(children, 1, reshape([1, 3], [2, 1]), 'what other ranks pass')
      count = merge(1, 2000000000, rank == 0)
      infos = MPI_INFO_NULL
      call MPI_Comm_spawn_multiple(count, [program], MPI_ARGVS_NULL, [1], infos, 0, MPI_COMM_WORLD, children, &
         MPI_ERRCODES_IGNORE, error)
      call expect(children, 1, reshape([0, 0], [2, 1]), 'the count that other ranks pass')
   end subroutine only_at_the_root

   subroutine several_programs()
      HANDLE(MPI_Comm) :: children
      HANDLE(MPI_Info) :: infos(2)
      character(len=1000) :: programs(2)
      character(len=8) :: words(2, 3)
      integer :: codes(3)
      call get_command_argument(0, programs(1))
      programs(2) = programs(1)
      infos = MPI_INFO_NULL
      call MPI_Comm_spawn_multiple(2, programs, MPI_ARGVS_NULL, [1, 1], infos, 0, MPI_COMM_WORLD, children, &
         MPI_ERRCODES_IGNORE, error)
      call expect(children, 2, reshape([0, 0, 0, 0], [2, 2]), 'several without arguments')
      words(1, :) = [character(len=8) :: 'a', 'bc', ' ']
      words(2, :) = [character(len=8) :: 'def', ' ', ' ']
      codes = -7
      call MPI_Comm_spawn_multiple(2, programs, words, [1, 2], infos, 0, MPI_COMM_WORLD, children, codes, error)
      call check_equal(sum(codes), 3 * MPI_SUCCESS, 'the codes of three processes')
      call expect(children, 3, reshape([2, 3, 1, 3, 1, 3], [2, 3]), 'several with arguments')
   end subroutine several_programs

   ! A port has a name that fits, and is found by the name of a service.
   subroutine ports()
      character(len=MPI_MAX_PORT_NAME) :: port, found
      character(len=40) :: service
      interface
         function process_id() bind(c, name='getpid')
            use, intrinsic :: iso_c_binding, only: c_int
            integer(c_int) :: process_id
         end function process_id
      end interface
      if (rank /= 0) return
      write (service, '(a, i0)') 'tern fortran test ', process_id()
      call MPI_Open_port(MPI_INFO_NULL, port, error)
      call check(index(port, '#') > 0, 'a port has a secret')
      call MPI_Publish_name(service, MPI_INFO_NULL, port, error)
      call check_equal(error, MPI_SUCCESS, 'publishing')
      call MPI_Lookup_name(service, MPI_INFO_NULL, found, error)
      call check(found == port, 'what is looked up is what was published')
      call MPI_Unpublish_name(service, MPI_INFO_NULL, port, error)
      call MPI_Close_port(port, error)
      call check_equal(error, MPI_SUCCESS, 'closing')
   end subroutine ports

#include "check_end.inc"
end program processes

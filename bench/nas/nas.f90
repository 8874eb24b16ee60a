! What the kernels share: the random numbers of their specification, the command line, the clock, the report.
module nas
   use mpi_f08
   implicit none
   private
   public :: wide, dp, draw, skip, choose_class, turns, wall_clock, report, fail, multiplier

   integer, parameter :: wide = selected_int_kind(18), dp = kind(1d0)

   ! x(k+1) = a x(k) mod 2**46 with a = 5**13 (NAS report RNR-94-007, section 2.3).
   integer(wide), parameter :: multiplier = 1220703125_wide
   integer(wide), parameter :: half = 2_wide**23, whole = 2_wide**46

contains

   ! a * b mod 2**46, in halves of 23 bits.
   pure integer(wide) function times(a, b)
      integer(wide), intent(in) :: a, b
      integer(wide) :: crossed
      crossed = mod((a / half) * mod(b, half) + mod(a, half) * (b / half), half)
      times = mod(crossed * half + mod(a, half) * mod(b, half), whole)
   end function times

   ! The next number, between 0 and 1.
   real(dp) function draw(state)
      integer(wide), intent(inout) :: state
      state = times(multiplier, state)
      draw = real(state, dp) * 2d0**(-46)
   end function draw

   ! The state `steps` numbers later.
   pure integer(wide) function skip(state, steps)
      integer(wide), intent(in) :: state, steps
      integer(wide) :: power, left
      skip = state
      power = multiplier
      left = steps
      do while (left > 0)
         if (mod(left, 2_wide) == 1) skip = times(power, skip)
         power = times(power, power)
         left = left / 2
      end do
   end function skip

   ! The class: the first argument, S if there is none.
   character function choose_class()
      character(len=8) :: argument
      call get_command_argument(1, argument)
      choose_class = merge('S', argument(1:1), argument == ' ')
      if (index('SWA', choose_class) == 0) call fail('the class must be S, W or A')
   end function choose_class

   ! How often what is timed is done: the second argument, once if there is none. Class S takes a millisecond or two.
   integer function turns()
      character(len=12) :: argument
      integer :: error
      call get_command_argument(2, argument)
      turns = 1
      if (argument == ' ') return
      read (argument, *, iostat=error) turns
      if (error /= 0 .or. turns < 1) call fail('how often must be a number from 1 on')
   end function turns

   ! Seconds, all ranks begun.
   real(dp) function wall_clock()
      call MPI_Barrier(MPI_COMM_WORLD)
      wall_clock = MPI_Wtime()
   end function wall_clock

   ! One line that run.py reads: of the fastest turn, and the speed of the median one.
   subroutine report(kernel, class, seconds, operations, verified)
      character(len=*), intent(in) :: kernel, class
      real(dp), intent(in) :: seconds(:), operations
      logical, intent(in) :: verified
      integer :: rank, ranks
      call MPI_Comm_rank(MPI_COMM_WORLD, rank)
      call MPI_Comm_size(MPI_COMM_WORLD, ranks)
      if (rank == 0) print '(4a, i0, a, f11.6, a, f10.2, a, f10.2, 2a)', kernel, ' class ', class, ' ranks ', ranks, &
         ' seconds ', minval(seconds), ' Mop/s ', operations / minval(seconds) * 1d-6, ' median ', &
         operations / median(seconds) * 1d-6, ' verified ', merge('yes', 'no ', verified)
      if (.not. verified) call fail('the result is not the published one')
   end subroutine report

   ! The least that at least half of them do not exceed.
   pure real(dp) function median(of)
      real(dp), intent(in) :: of(:)
      integer :: i
      median = minval(of, mask=[(2 * count(of <= of(i)) >= size(of), i = 1, size(of))])
   end function median

   subroutine fail(why)
      character(len=*), intent(in) :: why
      print '(a)', why
      call MPI_Abort(MPI_COMM_WORLD, 1)
   end subroutine fail

end module nas

! EP, "embarrassingly parallel": Gaussian deviates from pairs of random numbers, counted in square annuli. Nothing is
! sent but the sums at the end.
program ep
   use mpi_f08
   use nas
   implicit none
   integer, parameter :: pairs_of_batch = 2**16
   integer(wide), parameter :: seed = 271828183_wide
   integer :: rank, ranks, batches, batch, turn
   real(dp) :: sums(2), annuli(0:9), start
   real(dp), allocatable :: seconds(:)
   character :: class

   call MPI_Init()
   call MPI_Comm_rank(MPI_COMM_WORLD, rank)
   call MPI_Comm_size(MPI_COMM_WORLD, ranks)
   class = choose_class()
   batches = 2**(log_of_pairs() - 16)
   allocate (seconds(turns()))
   do turn = 1, size(seconds)
      start = wall_clock()
      call count_all()
      seconds(turn) = wall_clock() - start
   end do
   call report('EP', class, seconds, 2d0**(log_of_pairs() + 1), is_right())
   call MPI_Finalize()

contains

   integer function log_of_pairs()
      select case (class)
      case ('S')
         log_of_pairs = 24
      case ('W')
         log_of_pairs = 25
      case default
         log_of_pairs = 28
      end select
   end function log_of_pairs

   subroutine count_all()
      sums = 0
      annuli = 0
      do batch = rank, batches - 1, ranks
         call count_batch(skip(seed, 2_wide * pairs_of_batch * batch))
      end do
      call MPI_Allreduce(MPI_IN_PLACE, sums, 2, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD)
      call MPI_Allreduce(MPI_IN_PLACE, annuli, 10, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD)
   end subroutine count_all

   subroutine count_batch(first)
      integer(wide), intent(in) :: first
      integer(wide) :: state
      real(dp) :: x, y, t, factor
      integer :: pair, ring
      state = first
      do pair = 1, pairs_of_batch
         x = 2 * draw(state) - 1
         y = 2 * draw(state) - 1
         t = x * x + y * y
         if (t > 1) cycle
         factor = sqrt(-2 * log(t) / t)
         x = x * factor
         y = y * factor
         ring = int(max(abs(x), abs(y)))
         annuli(ring) = annuli(ring) + 1
         sums = sums + [x, y]
      end do
   end subroutine count_batch

   logical function is_right()
      real(dp) :: published(2)
      select case (class)
      case ('S')
         published = [-3.247834652034740d3, -6.958407078382297d3]
      case ('W')
         published = [-2.863319731645753d3, -6.320053679109499d3]
      case default
         published = [-4.295875165629892d3, -1.580732573678431d4]
      end select
      is_right = all(abs((sums - published) / published) <= 1d-8)
   end function is_right

end program ep

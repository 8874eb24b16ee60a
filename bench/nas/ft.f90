! FT, "Fourier transform": a partial differential equation in three dimensions, solved in the space of frequencies. Each
! rank has some planes of z; the transform along z needs the others, by MPI_Alltoall, after which it has some of x.
program ft
   use mpi_f08
   use nas
   implicit none

   integer, parameter :: steps = 6, block = 16
   real(dp), parameter :: pi = acos(-1d0), alpha = 1d-6
   integer :: n(3), rank, ranks, step, mine_z, mine_x, turn
   ! In space (x, y, z of mine), and among frequencies (z, y, x of mine).
   complex(dp), allocatable :: space(:, :, :), frequencies(:, :, :), evolved(:, :, :), sent(:, :, :, :), got(:, :, :, :)
   complex(dp), allocatable :: roots(:)
   real(dp), allocatable :: decay(:, :, :)
   complex(dp) :: sums(steps)
   real(dp) :: start, points
   real(dp), allocatable :: seconds(:)
   character :: class

   call MPI_Init()
   call MPI_Comm_rank(MPI_COMM_WORLD, rank)
   call MPI_Comm_size(MPI_COMM_WORLD, ranks)
   class = choose_class()
   n = merge([64, 64, 64], merge([128, 128, 32], [256, 256, 128], class == 'W'), class == 'S')
   if (mod(n(1), ranks) /= 0 .or. mod(n(3), ranks) /= 0) call fail('the number of ranks must divide the sides')
   call make_room()
   ! Once untimed: pages and connections are made.
   call run(1)
   allocate (seconds(turns()))
   do turn = 1, size(seconds)
      start = wall_clock()
      call run(steps)
      seconds(turn) = wall_clock() - start
   end do
   call report('FT', class, seconds, operations(), is_right())
   call MPI_Finalize()

contains

   real(dp) function operations()
      operations = points * (14.8157d0 + 7.19641d0 * log(points) + (5.23518d0 + 7.21113d0 * log(points)) * steps)
   end function operations

   subroutine make_room()
      integer :: k
      points = product(real(n, dp))
      mine_z = n(3) / ranks
      mine_x = n(1) / ranks
      allocate (space(n(1), n(2), mine_z), frequencies(n(3), n(2), mine_x), evolved(n(3), n(2), mine_x))
      allocate (decay(n(3), n(2), mine_x), sent(mine_z, n(2), mine_x, ranks), got(mine_z, n(2), mine_x, ranks))
      allocate (roots(0:maxval(n) - 1))
      roots = [(exp(cmplx(0, 2 * pi * k / maxval(n), dp)), k = 0, maxval(n) - 1)]
   end subroutine make_room

   subroutine run(times)
      integer, intent(in) :: times
      call make_decay()
      call make_initial()
      call transform_forward()
      do step = 1, times
         frequencies = frequencies * decay
         evolved = frequencies
         call transform_back()
         sums(step) = checksum()
      end do
   end subroutine run

   ! How much a frequency fades in one step.
   subroutine make_decay()
      integer :: x, y, z
      do x = 1, mine_x
         do y = 1, n(2)
            do z = 1, n(3)
               decay(z, y, x) = exp(-4 * alpha * pi**2 * real(centered(rank * mine_x + x, n(1))**2 + centered(y, n(2))**2 &
                  + centered(z, n(3))**2, dp))
            end do
         end do
      end do
   end subroutine make_decay

   pure integer function centered(index, side)
      integer, intent(in) :: index, side
      centered = mod(index - 1 + side / 2, side) - side / 2
   end function centered

   subroutine make_initial()
      integer(wide) :: state
      integer :: x, y, z
      real(dp) :: re, im
      state = skip(314159265_wide, 2_wide * n(1) * n(2) * mine_z * rank)
      do z = 1, mine_z
         do y = 1, n(2)
            do x = 1, n(1)
               re = draw(state)
               im = draw(state)
               space(x, y, z) = cmplx(re, im, dp)
            end do
         end do
      end do
   end subroutine make_initial

   ! ------------------------------------------------------------ the transforms

   subroutine transform_forward()
      integer :: z
      do z = 1, mine_z
         call along_first(space(:, :, z), .false.)
         call along_second(space(:, :, z), .false.)
      end do
      call to_frequencies()
      do z = 1, mine_x
         call along_first(frequencies(:, :, z), .false.)
      end do
   end subroutine transform_forward

   subroutine transform_back()
      integer :: z
      do z = 1, mine_x
         call along_first(evolved(:, :, z), .true.)
      end do
      call to_space()
      do z = 1, mine_z
         call along_second(space(:, :, z), .true.)
         call along_first(space(:, :, z), .true.)
      end do
   end subroutine transform_back

   ! Each rank gets all of z for its part of x.
   subroutine to_frequencies()
      integer :: other, x, y, z
      do other = 1, ranks
         do x = 1, mine_x
            do y = 1, n(2)
               do z = 1, mine_z
                  sent(z, y, x, other) = space((other - 1) * mine_x + x, y, z)
               end do
            end do
         end do
      end do
      call exchange()
      do other = 1, ranks
         frequencies((other - 1) * mine_z + 1:other * mine_z, :, :) = got(:, :, :, other)
      end do
   end subroutine to_frequencies

   subroutine to_space()
      integer :: other, x, y, z
      do other = 1, ranks
         sent(:, :, :, other) = evolved((other - 1) * mine_z + 1:other * mine_z, :, :)
      end do
      call exchange()
      do other = 1, ranks
         do z = 1, mine_z
            do y = 1, n(2)
               do x = 1, mine_x
                  space((other - 1) * mine_x + x, y, z) = got(z, y, x, other)
               end do
            end do
         end do
      end do
   end subroutine to_space

   subroutine exchange()
      integer :: part
      part = mine_z * n(2) * mine_x
      call MPI_Alltoall(sent, part, MPI_DOUBLE_COMPLEX, got, part, MPI_DOUBLE_COMPLEX, MPI_COMM_WORLD)
   end subroutine exchange

   ! Lines along the second index, a block of them at once.
   subroutine along_second(plane, back)
      complex(dp), intent(inout) :: plane(:, :)
      logical, intent(in) :: back
      complex(dp) :: lines(block, size(plane, 2)), spare(block, size(plane, 2))
      integer :: at
      do at = 1, size(plane, 1), block
         lines = plane(at:at + block - 1, :)
         call transform(lines, spare, back)
         plane(at:at + block - 1, :) = lines
      end do
   end subroutine along_second

   subroutine along_first(plane, back)
      complex(dp), intent(inout) :: plane(:, :)
      logical, intent(in) :: back
      complex(dp) :: lines(block, size(plane, 1)), spare(block, size(plane, 1))
      integer :: at
      do at = 1, size(plane, 2), block
         lines = transpose(plane(:, at:at + block - 1))
         call transform(lines, spare, back)
         plane(:, at:at + block - 1) = transpose(lines)
      end do
   end subroutine along_first

   ! Stockham's transform of a block of lines: from `a` to `b` and back, halving the distance of the pairs.
   subroutine transform(a, b, back)
      complex(dp), intent(inout) :: a(:, :), b(:, :)
      logical, intent(in) :: back
      integer :: length, groups, size_of_all
      logical :: in_a
      size_of_all = size(a, 2)
      length = size_of_all / 2
      groups = 1
      in_a = .true.
      do while (length >= 1)
         if (in_a) then
            call butterflies(a, b, length, groups, back)
         else
            call butterflies(b, a, length, groups, back)
         end if
         in_a = .not. in_a
         length = length / 2
         groups = 2 * groups
      end do
      if (.not. in_a) a = b
   end subroutine transform

   subroutine butterflies(from, to, length, groups, back)
      integer, intent(in) :: length, groups
      complex(dp), intent(in) :: from(block, groups, 2 * length)
      complex(dp), intent(out) :: to(block, groups, 2, length)
      logical, intent(in) :: back
      complex(dp) :: root
      integer :: k, g
      do k = 1, length
         root = roots((k - 1) * (size(roots) / (2 * length)))
         if (.not. back) root = conjg(root)
         do g = 1, groups
            to(:, g, 1, k) = from(:, g, k) + from(:, g, k + length)
            to(:, g, 2, k) = root * (from(:, g, k) - from(:, g, k + length))
         end do
      end do
   end subroutine butterflies

   ! ------------------------------------------------------------ what is known of the solution

   complex(dp) function checksum()
      integer :: j, z
      complex(dp) :: part
      part = 0
      do j = 1, 1024
         z = mod(5 * j, n(3)) - rank * mine_z
         if (z >= 0 .and. z < mine_z) part = part + space(mod(j, n(1)) + 1, mod(3 * j, n(2)) + 1, z + 1)
      end do
      call MPI_Allreduce(part, checksum, 1, MPI_DOUBLE_COMPLEX, MPI_SUM, MPI_COMM_WORLD)
      checksum = checksum / points
   end function checksum

   logical function is_right()
      complex(dp) :: published(steps)
      select case (class)
      case ('S')
         published = [(5.546087004964d2, 4.845363331978d2), (5.546385409189d2, 4.865304269511d2), &
            (5.546148406171d2, 4.883910722336d2), (5.545423607415d2, 4.901273169046d2), &
            (5.544255039624d2, 4.917475857993d2), (5.542683411902d2, 4.932597244941d2)]
      case ('W')
         published = [(5.673612178944d2, 5.293246849175d2), (5.631436885271d2, 5.282149986629d2), &
            (5.594024089970d2, 5.270996558037d2), (5.560698047020d2, 5.260027904925d2), &
            (5.530898991250d2, 5.249400845633d2), (5.504159734538d2, 5.239212247086d2)]
      case default
         published = [(5.046735008193d2, 5.114047905510d2), (5.059412319734d2, 5.098809666433d2), &
            (5.069376896287d2, 5.098144042213d2), (5.077892868474d2, 5.101336130759d2), &
            (5.085233095391d2, 5.104914655194d2), (5.091487099959d2, 5.107917842803d2)]
      end select
      is_right = all(abs((sums - published) / published) <= 1d-12)
   end function is_right

end program ft

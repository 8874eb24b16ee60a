! MG, "multigrid": Poisson's equation with twenty point charges on a periodic cube, by V-cycles. Each rank has some planes
! of z and its neighbors' nearest ones; where a grid has become too coarse to divide, every rank has all of it.
program mg
   use mpi_f08
   use nas
   implicit none

   ! Interior points are 1 to n in x and y, 1 to `planes` in z; around them one layer of the opposite side.
   type grid
      integer :: n, planes
      logical :: divided
      real(dp), allocatable :: u(:, :, :), r(:, :, :)
   end type grid

   integer, parameter :: cycles = 4, charges = 10
   real(dp), parameter :: smooth(0:2) = [-3d0 / 8, 1d0 / 32, -1d0 / 64]
   type(grid), allocatable, target :: grids(:)
   real(dp), allocatable :: v(:, :, :)
   integer :: rank, ranks, levels, cycle_number, turn
   real(dp) :: start, norm
   real(dp), allocatable :: seconds(:)
   character :: class

   call MPI_Init()
   call MPI_Comm_rank(MPI_COMM_WORLD, rank)
   call MPI_Comm_size(MPI_COMM_WORLD, ranks)
   class = choose_class()
   levels = merge(5, merge(7, 8, class == 'W'), class == 'S')
   if (iand(ranks, ranks - 1) /= 0 .or. ranks > 2**(levels - 1)) call fail('the number of ranks must be a power of two')
   call make_grids()
   call place_charges()
   call solve(1)
   allocate (seconds(turns()))
   do turn = 1, size(seconds)
      start = wall_clock()
      call solve(cycles)
      seconds(turn) = wall_clock() - start
   end do
   call report('MG', class, seconds, 58d0 * cycles * real(2**levels, dp)**3, abs(norm - published()) / published() <= 1d-8)
   call MPI_Finalize()

contains

   real(dp) function published()
      select case (class)
      case ('S')
         published = 0.5307707005734d-4
      case ('W')
         published = 0.6467329375339d-5
      case default
         published = 0.2433365309069d-5
      end select
   end function published

   subroutine make_grids()
      integer :: k, n
      allocate (grids(levels))
      do k = 1, levels
         n = 2**k
         grids(k)%n = n
         ! Two planes at least, so that the coarser grid has one.
         grids(k)%divided = ranks > 1 .and. n >= 2 * ranks
         grids(k)%planes = merge(n / ranks, n, grids(k)%divided)
         allocate (grids(k)%u(0:n + 1, 0:n + 1, 0:grids(k)%planes + 1), grids(k)%r(0:n + 1, 0:n + 1, 0:grids(k)%planes + 1))
      end do
      n = grids(levels)%n
      allocate (v(0:n + 1, 0:n + 1, 0:grids(levels)%planes + 1))
   end subroutine make_grids

   ! ------------------------------------------------------------ the charges: where the random numbers are extreme

   subroutine place_charges()
      real(dp) :: values(charges, 2), all_values(charges, 2, ranks)
      integer :: places(3, charges, 2), all_places(3, charges, 2, ranks)
      call find_extremes(values, places)
      call MPI_Allgather(values, 2 * charges, MPI_DOUBLE_PRECISION, all_values, 2 * charges, MPI_DOUBLE_PRECISION, &
         MPI_COMM_WORLD)
      call MPI_Allgather(places, 6 * charges, MPI_INTEGER, all_places, 6 * charges, MPI_INTEGER, MPI_COMM_WORLD)
      v = 0
      call charge_largest(all_values(:, 1, :), all_places(:, :, 1, :), 1d0)
      call charge_largest(all_values(:, 2, :), all_places(:, :, 2, :), -1d0)
      call fill_around(v, grids(levels)%n, grids(levels)%planes, grids(levels)%divided)
   end subroutine place_charges

   ! The ten largest numbers of this rank, and the ten smallest with their sign changed, largest first.
   subroutine find_extremes(values, places)
      real(dp), intent(out) :: values(:, :)
      integer, intent(out) :: places(:, :, :)
      integer(wide) :: state
      real(dp) :: number
      integer :: x, y, z, n, first_plane
      n = grids(levels)%n
      first_plane = merge(rank * grids(levels)%planes, 0, grids(levels)%divided)
      state = skip(314159265_wide, int(n, wide)**2 * first_plane)
      values = -2
      places = 0
      do z = 1, grids(levels)%planes
         do y = 1, n
            do x = 1, n
               number = draw(state)
               if (number > values(charges, 1)) call insert(number, [x, y, first_plane + z], values(:, 1), places(:, :, 1))
               if (-number > values(charges, 2)) call insert(-number, [x, y, first_plane + z], values(:, 2), places(:, :, 2))
            end do
         end do
      end do
   end subroutine find_extremes

   pure subroutine insert(number, place, values, places)
      real(dp), intent(in) :: number
      integer, intent(in) :: place(3)
      real(dp), intent(inout) :: values(:)
      integer, intent(inout) :: places(:, :)
      integer :: at
      at = count(values >= number) + 1
      values(at + 1:) = values(at:size(values) - 1)
      places(:, at + 1:) = places(:, at:size(values) - 1)
      values(at) = number
      places(:, at) = place
   end subroutine insert

   subroutine charge_largest(values, places, charge)
      real(dp), intent(in) :: values(:, :), charge
      integer, intent(in) :: places(:, :, :)
      logical :: free(charges, size(values, 2))
      integer :: i, at(2), place(3), first_plane
      first_plane = merge(rank * grids(levels)%planes, 0, grids(levels)%divided)
      free = .true.
      do i = 1, charges
         at = maxloc(values, mask=free)
         free(at(1), at(2)) = .false.
         place = places(:, at(1), at(2))
         place(3) = place(3) - first_plane
         if (place(3) >= 1 .and. place(3) <= grids(levels)%planes) v(place(1), place(2), place(3)) = charge
      end do
   end subroutine charge_largest

   ! ------------------------------------------------------------ the solver

   subroutine solve(times)
      integer, intent(in) :: times
      associate (top => grids(levels))
         top%u = 0
         call residual(top, v)
         do cycle_number = 1, times
            call v_cycle()
            call residual(top, v)
         end do
         norm = norm_of(top)
      end associate
   end subroutine solve

   subroutine v_cycle()
      integer :: k
      do k = levels, 2, -1
         call restrict(grids(k), grids(k - 1))
      end do
      grids(1)%u = 0
      call smoothen(grids(1))
      do k = 2, levels - 1
         grids(k)%u = 0
         call prolong(grids(k - 1), grids(k))
         call residual(grids(k))
         call smoothen(grids(k))
      end do
      call prolong(grids(levels - 1), grids(levels))
      call residual(grids(levels), v)
      call smoothen(grids(levels))
   end subroutine v_cycle

   ! r = v - A u, with 27 points of which the nearest six count nothing; without `v`, r = r - A u.
   subroutine residual(g, v)
      type(grid), intent(inout) :: g
      real(dp), intent(in), optional :: v(0:, 0:, 0:)
      real(dp) :: near(0:g%n + 1), far(0:g%n + 1)
      integer :: x, y, z
      do z = 1, g%planes
         do y = 1, g%n
            if (present(v)) g%r(:, y, z) = v(:, y, z)
            do x = 0, g%n + 1
               near(x) = g%u(x, y - 1, z) + g%u(x, y + 1, z) + g%u(x, y, z - 1) + g%u(x, y, z + 1)
               far(x) = g%u(x, y - 1, z - 1) + g%u(x, y + 1, z - 1) + g%u(x, y - 1, z + 1) + g%u(x, y + 1, z + 1)
            end do
            do x = 1, g%n
               g%r(x, y, z) = g%r(x, y, z) + (8d0 / 3) * g%u(x, y, z) - (far(x) + near(x - 1) + near(x + 1)) / 6 &
                  - (far(x - 1) + far(x + 1)) / 12
            end do
         end do
      end do
      call fill_around(g%r, g%n, g%planes, g%divided)
   end subroutine residual

   ! u = u + S r
   subroutine smoothen(g)
      type(grid), intent(inout) :: g
      real(dp) :: near(0:g%n + 1), far(0:g%n + 1)
      integer :: x, y, z
      do z = 1, g%planes
         do y = 1, g%n
            do x = 0, g%n + 1
               near(x) = g%r(x, y - 1, z) + g%r(x, y + 1, z) + g%r(x, y, z - 1) + g%r(x, y, z + 1)
               far(x) = g%r(x, y - 1, z - 1) + g%r(x, y + 1, z - 1) + g%r(x, y - 1, z + 1) + g%r(x, y + 1, z + 1)
            end do
            do x = 1, g%n
               g%u(x, y, z) = g%u(x, y, z) + smooth(0) * g%r(x, y, z) &
                  + smooth(1) * (g%r(x - 1, y, z) + g%r(x + 1, y, z) + near(x)) &
                  + smooth(2) * (far(x) + near(x - 1) + near(x + 1))
            end do
         end do
      end do
      call fill_around(g%u, g%n, g%planes, g%divided)
   end subroutine smoothen

   ! The coarse residual: weighted means around every second point.
   subroutine restrict(fine, coarse)
      type(grid), intent(in) :: fine
      type(grid), intent(inout) :: coarse
      real(dp) :: near(0:fine%n + 1), far(0:fine%n + 1)
      integer :: x, y, z, i, j, k, offset
      ! Where the coarse grid is not divided any more, this rank makes its part of it.
      offset = 0
      if (fine%divided .and. .not. coarse%divided) offset = rank * (fine%planes / 2)
      do k = 1, fine%planes / 2
         z = 2 * k
         do j = 1, coarse%n
            y = 2 * j
            do x = 1, fine%n + 1
               near(x) = fine%r(x, y - 1, z) + fine%r(x, y + 1, z) + fine%r(x, y, z - 1) + fine%r(x, y, z + 1)
               far(x) = fine%r(x, y - 1, z - 1) + fine%r(x, y + 1, z - 1) + fine%r(x, y - 1, z + 1) + fine%r(x, y + 1, z + 1)
            end do
            do i = 1, coarse%n
               x = 2 * i
               coarse%r(i, j, offset + k) = 0.5d0 * fine%r(x, y, z) &
                  + 0.25d0 * (fine%r(x - 1, y, z) + fine%r(x + 1, y, z) + near(x)) &
                  + 0.125d0 * (near(x - 1) + near(x + 1) + far(x)) + 0.0625d0 * (far(x - 1) + far(x + 1))
            end do
         end do
      end do
      if (fine%divided .and. .not. coarse%divided) call gather_planes(coarse)
      call fill_around(coarse%r, coarse%n, coarse%planes, coarse%divided)
   end subroutine restrict

   subroutine gather_planes(g)
      type(grid), intent(inout) :: g
      integer :: part
      part = (g%n + 2)**2 * (g%n / ranks)
      call MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, g%r(:, :, 1:g%n), part, MPI_DOUBLE_PRECISION, MPI_COMM_WORLD)
   end subroutine gather_planes

   ! The fine solution grows by the coarse one, interpolated: a coarse point is at every second fine one.
   subroutine prolong(coarse, fine)
      type(grid), intent(in) :: coarse
      type(grid), intent(inout) :: fine
      integer :: j, k, offset
      offset = 0
      if (fine%divided .and. .not. coarse%divided) offset = rank * (fine%planes / 2)
      do k = 0, fine%planes / 2
         do j = 0, coarse%n
            call add_line(coarse%u(:, j, k + offset), fine%u(:, 2 * j, 2 * k))
            if (j < coarse%n) call add_line(0.5d0 * (coarse%u(:, j, k + offset) + coarse%u(:, j + 1, k + offset)), &
               fine%u(:, 2 * j + 1, 2 * k))
            if (k == fine%planes / 2) cycle
            call add_line(0.5d0 * (coarse%u(:, j, k + offset) + coarse%u(:, j, k + offset + 1)), fine%u(:, 2 * j, 2 * k + 1))
            if (j < coarse%n) call add_line(0.25d0 * (coarse%u(:, j, k + offset) + coarse%u(:, j + 1, k + offset) &
               + coarse%u(:, j, k + offset + 1) + coarse%u(:, j + 1, k + offset + 1)), fine%u(:, 2 * j + 1, 2 * k + 1))
         end do
      end do
      call fill_around(fine%u, fine%n, fine%planes, fine%divided)
   end subroutine prolong

   pure subroutine add_line(coarse, fine)
      real(dp), intent(in) :: coarse(0:)
      real(dp), intent(inout) :: fine(0:)
      integer :: i
      do i = 1, ubound(coarse, 1) - 1
         fine(2 * i) = fine(2 * i) + coarse(i)
      end do
      do i = 0, ubound(coarse, 1) - 2
         fine(2 * i + 1) = fine(2 * i + 1) + 0.5d0 * (coarse(i) + coarse(i + 1))
      end do
   end subroutine add_line

   real(dp) function norm_of(g)
      type(grid), intent(in) :: g
      real(dp) :: total
      total = sum(g%r(1:g%n, 1:g%n, 1:g%planes)**2)
      if (g%divided) call MPI_Allreduce(MPI_IN_PLACE, total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD)
      norm_of = sqrt(total / real(g%n, dp)**3)
   end function norm_of

   ! ------------------------------------------------------------ the layer around the grid

   subroutine fill_around(a, n, top, divided)
      integer, intent(in) :: n, top
      logical, intent(in) :: divided
      real(dp), intent(inout), asynchronous :: a(0:n + 1, 0:n + 1, 0:top + 1)
      type(MPI_Request) :: requests(4)
      integer :: up, down, plane, z
      do z = 1, top
         a(0, 1:n, z) = a(n, 1:n, z)
         a(n + 1, 1:n, z) = a(1, 1:n, z)
         a(:, 0, z) = a(:, n, z)
         a(:, n + 1, z) = a(:, 1, z)
      end do
      if (.not. divided) then
         a(:, :, 0) = a(:, :, top)
         a(:, :, top + 1) = a(:, :, 1)
         return
      end if
      up = mod(rank + 1, ranks)
      down = mod(rank + ranks - 1, ranks)
      plane = (n + 2)**2
      call MPI_Irecv(a(:, :, 0), plane, MPI_DOUBLE_PRECISION, down, 1, MPI_COMM_WORLD, requests(1))
      call MPI_Irecv(a(:, :, top + 1), plane, MPI_DOUBLE_PRECISION, up, 2, MPI_COMM_WORLD, requests(2))
      call MPI_Isend(a(:, :, top), plane, MPI_DOUBLE_PRECISION, up, 1, MPI_COMM_WORLD, requests(3))
      call MPI_Isend(a(:, :, 1), plane, MPI_DOUBLE_PRECISION, down, 2, MPI_COMM_WORLD, requests(4))
      call MPI_Waitall(4, requests, MPI_STATUSES_IGNORE)
   end subroutine fill_around

end program mg

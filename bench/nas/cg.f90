! CG, "conjugate gradient": the smallest eigenvalue of a sparse, symmetric, random matrix by inverse iteration, each step 25
! steps of conjugate gradients. Rows are divided among the ranks; a product needs the whole vector: MPI_Allgatherv.
program cg
   use mpi_f08
   use nas
   implicit none

   type sizes
      integer :: n, nonzeros, steps
      real(dp) :: shift, zeta
   end type sizes

   integer, parameter :: inner_steps = 25
   real(dp), parameter :: condition = 0.1d0
   type(sizes) :: problem
   integer :: rank, ranks, first, last, step, turn
   integer, allocatable :: counts(:), places(:)
   ! The rows of this rank, compressed: values and columns of row i begin at starts(i).
   integer, allocatable :: starts(:), columns(:)
   real(dp), allocatable :: values(:), x(:), z(:), r(:), p(:), q(:), everyone(:)
   real(dp) :: zeta, start
   real(dp), allocatable :: seconds(:)
   character :: class

   call MPI_Init()
   call MPI_Comm_rank(MPI_COMM_WORLD, rank)
   call MPI_Comm_size(MPI_COMM_WORLD, ranks)
   class = choose_class()
   problem = sizes_of(class)
   call divide_rows()
   call make_matrix()
   allocate (x(first:last), z(first:last), r(first:last), p(first:last), q(first:last), everyone(problem%n))
   x = 1
   call iterate()
   allocate (seconds(turns()))
   do turn = 1, size(seconds)
      x = 1
      start = wall_clock()
      do step = 1, problem%steps
         call iterate()
      end do
      seconds(turn) = wall_clock() - start
   end do
   call report('CG', class, seconds, operations(), abs(zeta - problem%zeta) / problem%zeta <= 1d-10)
   call MPI_Finalize()

contains

   pure type(sizes) function sizes_of(class)
      character, intent(in) :: class
      select case (class)
      case ('S')
         sizes_of = sizes(1400, 7, 15, 10d0, 8.5971775078648d0)
      case ('W')
         sizes_of = sizes(7000, 8, 15, 12d0, 10.362595087124d0)
      case default
         sizes_of = sizes(14000, 11, 15, 20d0, 17.130235054029d0)
      end select
   end function sizes_of

   real(dp) function operations()
      real(dp) :: of_row
      of_row = problem%nonzeros * (problem%nonzeros + 1d0)
      operations = 2d0 * problem%steps * problem%n * (3 + of_row + inner_steps * (5 + of_row) + 3)
   end function operations

   subroutine divide_rows()
      integer :: other
      allocate (counts(0:ranks - 1), places(0:ranks - 1))
      do other = 0, ranks - 1
         places(other) = int(int(problem%n, wide) * other / ranks)
         counts(other) = int(int(problem%n, wide) * (other + 1) / ranks) - places(other)
      end do
      first = places(rank) + 1
      last = first + counts(rank) - 1
   end subroutine divide_rows

   ! ------------------------------------------------------------ the matrix: a sum of outer products of sparse vectors

   subroutine make_matrix()
      integer :: most, i, found
      integer, allocatable :: positions(:, :), lengths(:)
      real(dp), allocatable :: elements(:, :)
      most = problem%nonzeros + 1
      allocate (positions(most, problem%n), elements(most, problem%n), lengths(problem%n))
      call make_vectors(positions, elements, lengths)
      call count_rows(positions, lengths)
      call fill_rows(positions, elements, lengths)
      found = 0
      do i = first, last
         call merge_row(i, found)
      end do
      starts(last + 1) = found + 1
   end subroutine make_matrix

   ! Random vectors with `nonzeros` elements, and 1/2 at their own place.
   subroutine make_vectors(positions, elements, lengths)
      integer, intent(out) :: positions(:, :), lengths(:)
      real(dp), intent(out) :: elements(:, :)
      integer(wide) :: state
      real(dp) :: unused, element
      integer :: i, at, length, power
      state = 314159265_wide
      unused = draw(state)
      power = 1
      do while (power < problem%n)
         power = 2 * power
      end do
      do i = 1, problem%n
         length = 0
         do while (length < problem%nonzeros)
            element = draw(state)
            at = int(power * draw(state)) + 1
            if (at > problem%n .or. any(positions(:length, i) == at)) cycle
            length = length + 1
            positions(length, i) = at
            elements(length, i) = element
         end do
         at = findloc(positions(:length, i), i, dim=1)
         if (at == 0) then
            length = length + 1
            at = length
         end if
         positions(at, i) = i
         elements(at, i) = 0.5d0
         lengths(i) = length
      end do
   end subroutine make_vectors

   subroutine count_rows(positions, lengths)
      integer, intent(in) :: positions(:, :), lengths(:)
      integer :: i, k, row
      allocate (starts(first:last + 1))
      starts = 0
      do i = 1, problem%n
         do k = 1, lengths(i)
            row = positions(k, i)
            if (row >= first .and. row <= last) starts(row + 1) = starts(row + 1) + lengths(i)
         end do
      end do
      ! One more for the diagonal.
      starts(first) = 1
      do row = first, last
         starts(row + 1) = starts(row) + starts(row + 1) + 1
      end do
      allocate (columns(starts(last + 1)), values(starts(last + 1)))
   end subroutine count_rows

   subroutine fill_rows(positions, elements, lengths)
      integer, intent(in) :: positions(:, :), lengths(:)
      real(dp), intent(in) :: elements(:, :)
      integer :: i, k, row, at, next(first:last)
      real(dp) :: weight, ratio
      next = starts(first:last)
      weight = 1
      ratio = condition**(1d0 / problem%n)
      do i = 1, problem%n
         do k = 1, lengths(i)
            row = positions(k, i)
            if (row < first .or. row > last) cycle
            at = next(row)
            columns(at:at + lengths(i) - 1) = positions(:lengths(i), i)
            values(at:at + lengths(i) - 1) = elements(:lengths(i), i) * (weight * elements(k, i))
            next(row) = at + lengths(i)
         end do
         weight = weight * ratio
      end do
      do row = first, last
         columns(next(row)) = row
         values(next(row)) = condition - problem%shift
      end do
   end subroutine fill_rows

   ! Adds elements of equal columns and moves the row to where the one before it ends.
   subroutine merge_row(row, found)
      integer, intent(in) :: row
      integer, intent(inout) :: found
      integer, save, allocatable :: place(:)
      integer :: k, begin, column
      if (.not. allocated(place)) then
         allocate (place(problem%n))
         place = 0
      end if
      begin = found + 1
      do k = starts(row), starts(row + 1) - 1
         column = columns(k)
         if (place(column) >= begin) then
            values(place(column)) = values(place(column)) + values(k)
         else
            found = found + 1
            columns(found) = column
            values(found) = values(k)
            place(column) = found
         end if
      end do
      starts(row) = begin
   end subroutine merge_row

   ! ------------------------------------------------------------ the solver

   subroutine iterate()
      real(dp) :: products(2)
      call solve()
      products = sums([dot_product(x, z), dot_product(z, z)])
      zeta = problem%shift + 1 / products(1)
      x = z / sqrt(products(2))
   end subroutine iterate

   ! z = A**-1 x, nearly.
   subroutine solve()
      real(dp) :: rho, before, alpha, product(1)
      integer :: n
      z = 0
      r = x
      p = r
      product = sums([dot_product(r, r)])
      rho = product(1)
      do n = 1, inner_steps
         call multiply(p, q)
         product = sums([dot_product(p, q)])
         alpha = rho / product(1)
         z = z + alpha * p
         r = r - alpha * q
         before = rho
         product = sums([dot_product(r, r)])
         rho = product(1)
         p = r + (rho / before) * p
      end do
      ! The residual, as the specification has it computed.
      call multiply(z, q)
      product = sums([sum((x - q)**2)])
   end subroutine solve

   subroutine multiply(vector, product)
      real(dp), intent(in) :: vector(first:)
      real(dp), intent(out) :: product(first:)
      integer :: row, k
      real(dp) :: total
      call MPI_Allgatherv(vector, counts(rank), MPI_DOUBLE_PRECISION, everyone, counts, places, MPI_DOUBLE_PRECISION, &
         MPI_COMM_WORLD)
      do row = first, last
         total = 0
         do k = starts(row), starts(row + 1) - 1
            total = total + values(k) * everyone(columns(k))
         end do
         product(row) = total
      end do
   end subroutine multiply

   function sums(of_mine) result(of_all)
      real(dp), intent(in) :: of_mine(:)
      real(dp) :: of_all(size(of_mine))
      call MPI_Allreduce(of_mine, of_all, size(of_mine), MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD)
   end function sums

end program cg

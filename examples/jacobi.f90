! A plate whose edge is cold and which holds three discs: two hot, one cold. The temperature between them by the Jacobi
! iteration, on a 2-D grid of ranks, in Fortran 2008 with module mpi_f08.
!
! usage: mpirun -n 4 jacobi [PICTURE.png [ITERATIONS [SIDE]]]
!
! What it shows of MPI: a Cartesian grid; halos that are sections of an array, rows as well as columns, passed as they are;
! MPI_IN_PLACE; optional ierror; blocks that land in the whole picture as sections too.

! A picture as PNG without any library: pixels go uncompressed into the zlib stream, which the format allows.
module png
   use, intrinsic :: iso_fortran_env, only : int8, int32, int64
   implicit none
   private
   public :: write_png

   integer, parameter :: block_max = 65535

contains

   ! Bytes of red, green and blue, line by line.
   subroutine write_png(name, pixels)
      character(len=*), intent(in) :: name
      integer, intent(in) :: pixels(:, :, :)
      integer(int8), allocatable :: lines(:), data(:)
      integer :: unit, line, width, height
      width = size(pixels, 2)
      height = size(pixels, 3)
      allocate (lines(0))
      do line = 1, height
         lines = [lines, 0_int8, byte(reshape(pixels(:, :, line), [3 * width]))]
      end do
      data = stored(lines)
      open (newunit=unit, file=name, access='stream', form='unformatted', status='replace', action='write')
      write (unit) byte([137, 80, 78, 71, 13, 10, 26, 10])
      call chunk(unit, 'IHDR', [big_endian(int(width, int64)), big_endian(int(height, int64)), byte([8, 2, 0, 0, 0])])
      call chunk(unit, 'IDAT', data)
      call chunk(unit, 'IEND', [integer(int8) ::])
      close (unit)
   end subroutine write_png

   elemental integer(int8) function byte(value)
      integer, intent(in) :: value
      byte = int(merge(value, value - 256, value < 128), int8)
   end function byte

   pure function big_endian(value) result(bytes)
      integer(int64), intent(in) :: value
      integer(int8) :: bytes(4)
      integer :: i
      bytes = [(byte(int(iand(shiftr(value, 24 - 8 * i), 255_int64))), i = 0, 3)]
   end function big_endian

   ! Stored blocks (RFC 1951, section 3.2.4) between zlib's head and sum (RFC 1950).
   pure function stored(data) result(all_of_it)
      integer(int8), intent(in) :: data(:)
      integer(int8), allocatable :: all_of_it(:)
      integer :: at, length, blocks, i
      blocks = (size(data) + block_max - 1) / block_max
      allocate (all_of_it(2 + 5 * blocks + size(data) + 4))
      all_of_it(1:2) = byte([120, 1])
      at = 3
      do i = 1, blocks
         length = min(block_max, size(data) - (i - 1) * block_max)
         all_of_it(at:at + 4) = byte([merge(1, 0, i == blocks), iand(length, 255), shiftr(length, 8), &
            iand(not(length), 255), iand(shiftr(not(length), 8), 255)])
         all_of_it(at + 5:at + 4 + length) = data((i - 1) * block_max + 1:(i - 1) * block_max + length)
         at = at + 5 + length
      end do
      all_of_it(at:at + 3) = big_endian(adler(data))
   end function stored

   pure integer(int64) function adler(data)
      integer(int8), intent(in) :: data(:)
      integer(int64) :: a, b
      integer :: i
      a = 1
      b = 0
      do i = 1, size(data)
         a = mod(a + iand(int(data(i), int64), 255_int64), 65521_int64)
         b = mod(b + a, 65521_int64)
      end do
      adler = b * 65536 + a
   end function adler

   subroutine chunk(unit, kind, data)
      integer, intent(in) :: unit
      character(len=4), intent(in) :: kind
      integer(int8), intent(in) :: data(:)
      integer(int8) :: all_of_it(4 + size(data))
      integer :: i
      all_of_it(:4) = [(byte(iachar(kind(i:i))), i = 1, 4)]
      all_of_it(5:) = data
      write (unit) big_endian(int(size(data), int64)), all_of_it, big_endian(crc(all_of_it))
   end subroutine chunk

   pure integer(int64) function crc(data)
      integer(int8), intent(in) :: data(:)
      integer(int64) :: table(0:255), value
      integer :: i, bit
      do i = 0, 255
         value = i
         do bit = 1, 8
            value = merge(ieor(int(z'EDB88320', int64), shiftr(value, 1)), shiftr(value, 1), btest(value, 0))
         end do
         table(i) = value
      end do
      value = int(z'FFFFFFFF', int64)
      do i = 1, size(data)
         value = ieor(table(iand(ieor(value, int(data(i), int64)), 255_int64)), shiftr(value, 8))
      end do
      crc = ieor(value, int(z'FFFFFFFF', int64))
   end function crc

end module png

program jacobi
   use mpi_f08
   use png, only : write_png
   implicit none

   integer, parameter :: dp = kind(1d0), report_every = 500
   ! Where the discs are and how large, as parts of the side; how warm they are.
   real(dp), parameter :: discs(4, 3) = reshape([0.30d0, 0.30d0, 0.12d0, 1.0d0, 0.68d0, 0.36d0, 0.08d0, -1.0d0, &
      0.55d0, 0.74d0, 0.10d0, 0.8d0], [4, 3])

   type(MPI_Comm) :: grid
   integer :: rank, ranks, dims(2), coords(2), left, right, up, down
   integer :: side, steps, step, first(2), last(2)
   real(dp), allocatable, asynchronous :: now(:, :)
   real(dp), allocatable :: next(:, :)
   logical, allocatable :: held(:, :)
   character(len=200) :: picture
   real(dp) :: change, start

   call MPI_Init()
   call MPI_Comm_size(MPI_COMM_WORLD, ranks)
   picture = argument(1, 'jacobi.png')
   steps = number(argument(2, '2000'))
   side = number(argument(3, '480'))
   call make_grid()
   call make_plate()
   start = MPI_Wtime()
   do step = 1, steps
      call exchange_halos()
      call relax()
      if (mod(step, report_every) == 0) call report()
   end do
   if (rank == 0) print '(a, f8.3, a)', 'took ', MPI_Wtime() - start, ' s'
   call draw()
   call MPI_Finalize()

contains

   function argument(n, otherwise) result(text)
      integer, intent(in) :: n
      character(len=*), intent(in) :: otherwise
      character(len=200) :: text
      call get_command_argument(n, text)
      if (text == ' ') text = otherwise
   end function argument

   integer function number(text)
      character(len=*), intent(in) :: text
      read (text, *) number
   end function number

   subroutine make_grid()
      dims = 0
      call MPI_Dims_create(ranks, 2, dims)
      call MPI_Cart_create(MPI_COMM_WORLD, 2, dims, [.false., .false.], .true., grid)
      call MPI_Comm_rank(grid, rank)
      call MPI_Cart_coords(grid, rank, 2, coords)
      call MPI_Cart_shift(grid, 0, 1, left, right)
      call MPI_Cart_shift(grid, 1, 1, up, down)
      call part_of(coords, first, last)
   end subroutine make_grid

   ! The cells of a place in the grid of ranks.
   subroutine part_of(place, from, to)
      integer, intent(in) :: place(2)
      integer, intent(out) :: from(2), to(2)
      from = side * place / dims + 1
      to = side * (place + 1) / dims
   end subroutine part_of

   ! A rank's cells with a halo around them; indices are those of the whole plate.
   subroutine make_plate()
      integer :: x, y, i
      allocate (now(first(1) - 1:last(1) + 1, first(2) - 1:last(2) + 1), held(first(1):last(1), first(2):last(2)))
      now = 0
      held = .false.
      do y = first(2), last(2)
         do x = first(1), last(1)
            do i = 1, size(discs, 2)
               if (norm2([x, y] / real(side, dp) - discs(1:2, i)) > discs(3, i)) cycle
               held(x, y) = .true.
               now(x, y) = discs(4, i)
            end do
         end do
      end do
      next = now
   end subroutine make_plate

   ! Rows and columns are sections of the array: what has gaps is sent just like what has none. At the plate's edge the
   ! neighbor is MPI_PROC_NULL and the halo stays cold.
   subroutine exchange_halos()
      type(MPI_Request) :: requests(8)
      integer :: x1, x2, y1, y2, nx, ny
      x1 = first(1)
      x2 = last(1)
      y1 = first(2)
      y2 = last(2)
      nx = x2 - x1 + 1
      ny = y2 - y1 + 1
      call MPI_Irecv(now(x1 - 1, y1:y2), ny, MPI_DOUBLE_PRECISION, left, 1, grid, requests(1))
      call MPI_Irecv(now(x2 + 1, y1:y2), ny, MPI_DOUBLE_PRECISION, right, 2, grid, requests(2))
      call MPI_Irecv(now(x1:x2, y1 - 1), nx, MPI_DOUBLE_PRECISION, up, 3, grid, requests(3))
      call MPI_Irecv(now(x1:x2, y2 + 1), nx, MPI_DOUBLE_PRECISION, down, 4, grid, requests(4))
      call MPI_Isend(now(x2, y1:y2), ny, MPI_DOUBLE_PRECISION, right, 1, grid, requests(5))
      call MPI_Isend(now(x1, y1:y2), ny, MPI_DOUBLE_PRECISION, left, 2, grid, requests(6))
      call MPI_Isend(now(x1:x2, y2), nx, MPI_DOUBLE_PRECISION, down, 3, grid, requests(7))
      call MPI_Isend(now(x1:x2, y1), nx, MPI_DOUBLE_PRECISION, up, 4, grid, requests(8))
      call MPI_Waitall(8, requests, MPI_STATUSES_IGNORE)
   end subroutine exchange_halos

   subroutine relax()
      real(dp), allocatable :: swap(:, :)
      integer :: y, x1, x2
      x1 = first(1)
      x2 = last(1)
      do y = first(2), last(2)
         next(x1:x2, y) = 0.25d0 * (now(x1 - 1:x2 - 1, y) + now(x1 + 1:x2 + 1, y) + now(x1:x2, y - 1) + now(x1:x2, y + 1))
         where (held(x1:x2, y)) next(x1:x2, y) = now(x1:x2, y)
      end do
      call move_alloc(now, swap)
      call move_alloc(next, now)
      call move_alloc(swap, next)
   end subroutine relax

   subroutine report()
      change = maxval(abs(now(first(1):last(1), first(2):last(2)) - next(first(1):last(1), first(2):last(2))))
      call MPI_Allreduce(MPI_IN_PLACE, change, 1, MPI_DOUBLE_PRECISION, MPI_MAX, grid)
      if (rank == 0) print '(a, i6, a, es10.3)', 'step ', step, '   largest change ', change
   end subroutine report

   ! Rank 0 receives each block into its section of the whole plate.
   subroutine draw()
      real(dp), allocatable, asynchronous :: whole(:, :)
      type(MPI_Request) :: sent
      integer :: other, place(2), from(2), to(2)
      call MPI_Isend(now(first(1):last(1), first(2):last(2)), product(last - first + 1), MPI_DOUBLE_PRECISION, 0, 5, grid, &
         sent)
      if (rank == 0) then
         allocate (whole(side, side))
         do other = 0, ranks - 1
            call MPI_Cart_coords(grid, other, 2, place)
            call part_of(place, from, to)
            call MPI_Recv(whole(from(1):to(1), from(2):to(2)), product(to - from + 1), MPI_DOUBLE_PRECISION, other, 5, grid, &
               MPI_STATUS_IGNORE)
         end do
         print '(a, f12.9)', 'mean temperature ', sum(whole) / size(whole)
         call write_png(trim(picture), colored(whole))
         print '(2a)', 'picture: ', trim(picture)
      end if
      call MPI_Wait(sent, MPI_STATUS_IGNORE)
   end subroutine draw

   ! Blue is cold, white between, red is hot; lines at 0.05, 0.15 and so on.
   pure function colored(temperature) result(pixels)
      real(dp), intent(in) :: temperature(:, :)
      integer :: pixels(3, size(temperature, 1), size(temperature, 2))
      real(dp) :: t, shade
      integer :: x, y
      do y = 1, size(temperature, 2)
         do x = 1, size(temperature, 1)
            t = max(-1d0, min(1d0, temperature(x, y)))
            shade = merge(200d0, 255d0, abs(modulo(10 * t, 1d0) - 0.5d0) < 0.06d0)
            pixels(:, x, y) = int(shade * [1 - max(0d0, -t), 1 - abs(t)**0.8d0, 1 - max(0d0, t)])
         end do
      end do
   end function colored

end program jacobi

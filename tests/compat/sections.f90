! Sections with gaps in the module mpi_f08, blocking and not, strings beside buffers, large counts, special addresses.
program sections
  use mpi_f08
  implicit none
  integer :: rank, size, before, next, position, ierr, i
  integer :: whole(10), half(5), matrix(6, 4), into(3, 2)
  integer(kind=MPI_COUNT_KIND) :: count
  integer(kind=MPI_ADDRESS_KIND) :: place, bytes
  integer, asynchronous :: kept(10)
  type(MPI_Request) :: requests(2)
  type(MPI_Status) :: status
  character :: room(200)
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size)
  next = mod(rank + 1, size)
  before = mod(rank + size - 1, size)
  whole = [(100 * rank + i, i = 1, 10)]
  call MPI_Sendrecv(whole(2:10:2), 5, MPI_INTEGER, next, 1, half, 5, MPI_INTEGER, before, 1, MPI_COMM_WORLD, status)
  if (any(half /= [(100 * before + 2 * i, i = 1, 5)])) stop 1
  kept = -1
  call MPI_Irecv(kept(1:9:2), 5, MPI_INTEGER, before, 2, MPI_COMM_WORLD, requests(1))
  call MPI_Isend(whole(10:1:-2), 5, MPI_INTEGER, next, 2, MPI_COMM_WORLD, requests(2))
  call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
  if (any(kept(1:9:2) /= [(100 * before + 12 - 2 * i, i = 1, 5)]) .or. any(kept(2:10:2) /= -1)) stop 2
  matrix = reshape([(1000 * rank + i, i = 1, 24)], [6, 4])
  call MPI_Bcast(matrix(2:6:2, 1:3:2), 6, MPI_INTEGER, 0, MPI_COMM_WORLD)
  into = matrix(2:6:2, 1:3:2)
  if (any(into /= reshape([2, 4, 6, 14, 16, 18], [3, 2])) .or. matrix(1, 1) /= 1000 * rank + 1) stop 3
  half = rank
  call MPI_Allreduce(MPI_IN_PLACE, half, 5, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
  if (ierr /= MPI_SUCCESS .or. any(half /= size * (size - 1) / 2)) stop 4
  count = 5
  call MPI_Sendrecv(whole(1:5), count, MPI_INTEGER, next, 3, half, count, MPI_INTEGER, before, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
  if (any(half /= [(100 * before + i, i = 1, 5)])) stop 5
  call assumed(whole, rank)
  place = 0
  call MPI_Pack_external_size('external32', 5, MPI_INTEGER, bytes)
  call MPI_Pack_external('external32', whole(1:9:2), 5, MPI_INTEGER, room, 200_MPI_ADDRESS_KIND, place)
  if (bytes /= 20 .or. place /= 20) stop 6
  place = 0
  call MPI_Unpack_external('external32', room, 200_MPI_ADDRESS_KIND, place, half, 5, MPI_INTEGER)
  if (any(half /= whole(1:9:2))) stop 7
  call MPI_Get_address(whole, place)
  call MPI_Get_address(whole(3), bytes)
  if (bytes - place /= 8) stop 8
  if (rank == 0) print *, 'ok'
  call MPI_Finalize()
contains
  subroutine assumed(values, from)
    integer :: values(*), from
    integer :: got(10)
    call MPI_Sendrecv(values, 10, MPI_INTEGER, next, 4, got, 10, MPI_INTEGER, before, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    if (got(10) /= 100 * before + 10) stop 9
  end subroutine
end program

program t
  implicit none
  include 'mpif.h'
  integer :: ierr, rank, size, req, st(MPI_STATUS_SIZE), sts(MPI_STATUS_SIZE,2), reqs(2), x, y, n, comm, dt, op
  double precision :: a(4), b(4)
  logical :: flag
  integer(kind=MPI_ADDRESS_KIND) :: val, lb, ext
  character(len=MPI_MAX_PROCESSOR_NAME) :: name
  external addup
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, size, ierr)
  a = rank + 1
  call MPI_Allreduce(MPI_IN_PLACE, a, 4, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, ierr)
  if (a(1) /= size*(size+1)/2) stop 2
  call MPI_Irecv(x, 1, MPI_INTEGER, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, reqs(1), ierr)
  call MPI_Isend(rank, 1, MPI_INTEGER, mod(rank+1,size), 7, MPI_COMM_WORLD, reqs(2), ierr)
  call MPI_Waitall(2, reqs, sts, ierr)
  if (x /= mod(rank+size-1,size)) stop 3
  if (sts(MPI_SOURCE,1) /= x .or. sts(MPI_TAG,1) /= 7) stop 4
  call MPI_Get_count(sts(1,1), MPI_INTEGER, n, ierr)
  if (n /= 1) stop 5
  if (reqs(1) /= MPI_REQUEST_NULL) stop 6
  call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, val, flag, ierr)
  if (.not. flag .or. val < 32767) stop 7
  call MPI_Type_contiguous(2, MPI_DOUBLE_PRECISION, dt, ierr)
  call MPI_Type_commit(dt, ierr)
  call MPI_Type_get_extent(dt, lb, ext, ierr)
  if (ext /= 16) stop 8
  call MPI_Op_create(addup, .true., op, ierr)
  y = rank
  call MPI_Allreduce(rank, y, 1, MPI_INTEGER, op, MPI_COMM_WORLD, ierr)
  if (y /= size*(size-1)/2) stop 9
  call MPI_Reduce_local(rank, y, 1, dt, op, ierr)
  if (y /= -1) stop 13
  call MPI_Op_free(op, ierr)
  call MPI_Sendrecv(rank, 1, MPI_INTEGER, mod(rank+1,size), 1, x, 1, MPI_INTEGER, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
  call MPI_Recv(x, 1, MPI_INTEGER, MPI_PROC_NULL, 1, MPI_COMM_WORLD, st, ierr)
  if (st(MPI_SOURCE) /= MPI_PROC_NULL) stop 10
  call MPI_Comm_dup(MPI_COMM_WORLD, comm, ierr)
  call MPI_Comm_free(comm, ierr)
  if (comm /= MPI_COMM_NULL) stop 11
  call MPI_Get_processor_name(name, n, ierr)
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN, ierr)
  call MPI_Send(rank, 1, MPI_INTEGER, size+5, 1, MPI_COMM_WORLD, ierr)
  call MPI_Error_class(ierr, n, x)
  if (n /= MPI_ERR_RANK) stop 12
  call handlers(size)
  call removed(rank)
  if (rank == 0) print *, 'ok ', trim(name)
  call MPI_Finalize(ierr)
end program
! What MPI-3.0 has removed, and old programs call.
subroutine removed(rank)
  implicit none
  include 'mpif.h'
  integer :: rank, first, second, extent, handler, lower, upper, made, other, ierr
  integer :: lengths(3), places(3), types(3), got(4)
  double precision :: values(2)
  call MPI_ADDRESS(values(1), first, ierr)
  call MPI_ADDRESS(values(2), second, ierr)
  if (second - first /= 8) stop 20
  lengths = [1, 1, 1]
  places = [0, 4, 24]
  types = [MPI_INTEGER, MPI_DOUBLE_PRECISION, MPI_UB]
  call MPI_TYPE_STRUCT(3, lengths, places, types, made, ierr)
  call MPI_TYPE_EXTENT(made, extent, ierr)
  call MPI_TYPE_LB(made, lower, ierr)
  call MPI_TYPE_UB(made, upper, ierr)
  if (extent /= 24 .or. lower /= 0 .or. upper /= 24) stop 21
  call MPI_TYPE_HVECTOR(2, 1, 8, MPI_INTEGER, other, ierr)
  call MPI_TYPE_COMMIT(other, ierr)
  got = -1
  if (rank == 0) got = [1, 2, 3, 4]
  call MPI_BCAST(got, 1, other, 0, MPI_COMM_WORLD, ierr)
  if (got(1) /= 1 .or. got(3) /= 3 .or. (rank /= 0 .and. got(2) /= -1)) stop 22
  call MPI_TYPE_FREE(other, ierr)
  call MPI_TYPE_HINDEXED(2, lengths, places, MPI_INTEGER, other, ierr)
  call MPI_TYPE_EXTENT(other, extent, ierr)
  if (extent /= 8) stop 23
  call MPI_ERRHANDLER_SET(MPI_COMM_WORLD, MPI_ERRORS_RETURN, ierr)
  call MPI_ERRHANDLER_GET(MPI_COMM_WORLD, handler, ierr)
  if (handler /= MPI_ERRORS_RETURN) stop 24
end subroutine
! Error handlers get the handle of the object that they are for, and operations that of the datatype.
subroutine handlers(size)
  implicit none
  include 'mpif.h'
  integer :: size, x, handler, comm, win, file, seen_comm, seen_win, seen_file, ierr
  integer(kind=MPI_ADDRESS_KIND) :: bytes, place
  common /seen/ seen_comm, seen_win, seen_file
  external on_comm, on_win, on_file
  call MPI_Comm_create_errhandler(on_comm, handler, ierr)
  call MPI_Comm_dup(MPI_COMM_WORLD, comm, ierr)
  call MPI_Comm_set_errhandler(comm, handler, ierr)
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler, ierr)
  call MPI_Send(x, 1, MPI_INTEGER, size+5, 1, MPI_COMM_WORLD, ierr)
  if (seen_comm /= MPI_COMM_WORLD) stop 30
  call MPI_Send(x, 1, MPI_INTEGER, size+5, 1, comm, ierr)
  if (seen_comm /= comm) stop 31
  call MPI_Comm_free(comm, ierr)
  call MPI_Errhandler_free(handler, ierr)
  call MPI_Win_create_errhandler(on_win, handler, ierr)
  bytes = 4
  place = 0
  call MPI_Win_create(x, bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, win, ierr)
  call MPI_Win_set_errhandler(win, handler, ierr)
  call MPI_Put(x, 1, MPI_INTEGER, size+4, place, 1, MPI_INTEGER, win, ierr)
  if (seen_win /= win) stop 32
  call MPI_Win_free(win, ierr)
  call MPI_File_create_errhandler(on_file, handler, ierr)
  call MPI_File_set_errhandler(MPI_FILE_NULL, handler, ierr)
  seen_file = -1
  call MPI_File_open(MPI_COMM_SELF, '/nowhere/at/all', MPI_MODE_RDONLY, MPI_INFO_NULL, file, ierr)
  if (seen_file /= MPI_FILE_NULL) stop 33
end subroutine
subroutine on_comm(comm, code)
  integer :: comm, code, seen_comm, seen_win, seen_file
  common /seen/ seen_comm, seen_win, seen_file
  seen_comm = comm
end subroutine
subroutine on_win(win, code)
  integer :: win, code, seen_comm, seen_win, seen_file
  common /seen/ seen_comm, seen_win, seen_file
  seen_win = win
end subroutine
subroutine on_file(file, code)
  integer :: file, code, seen_comm, seen_win, seen_file
  common /seen/ seen_comm, seen_win, seen_file
  seen_file = file
end subroutine
! Adds integers up, and makes -1 of anything else.
subroutine addup(a, b, n, t)
  implicit none
  include 'mpif.h'
  integer :: n, t, i, a(n), b(n)
  if (t /= MPI_INTEGER) then
    b(1) = -1
    return
  end if
  do i = 1, n
    b(i) = a(i) + b(i)
  end do
end subroutine

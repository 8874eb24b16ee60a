! A program with the module mpi_f08 of another MPI, most calls without ierror.
module functions
  use mpi_f08
  use, intrinsic :: iso_c_binding
  implicit none
  type(MPI_Comm) :: seen
  type(MPI_Datatype) :: seen_type
contains
  subroutine addup(invec, inoutvec, n, datatype)
    type(C_PTR), value :: invec, inoutvec
    integer :: n
    type(MPI_Datatype) :: datatype
    integer, pointer :: from(:), to(:)
    call c_f_pointer(invec, from, [n])
    call c_f_pointer(inoutvec, to, [n])
    to = from + to
    seen_type = datatype
  end subroutine
  subroutine on_comm(comm, code)
    type(MPI_Comm) :: comm
    integer :: code
    seen = comm
  end subroutine
end module
program t
  use mpi_f08
  use functions
  implicit none
  integer :: ierr, rank, size, x, y, n, key, bytes
  type(MPI_Request) :: reqs(2)
  type(MPI_Status) :: st, sts(2)
  type(MPI_Comm) :: comm, copy
  type(MPI_Datatype) :: dt
  type(MPI_Op) :: op
  type(MPI_Errhandler) :: handler
  type(MPI_Info) :: info
  double precision :: a(4), r(3, 2)
  logical :: flag
  integer(kind=MPI_ADDRESS_KIND) :: val, lb, ext
  character(len=MPI_MAX_PROCESSOR_NAME) :: name
  character(len=20) :: value
  integer, target :: room(1000)
  type(C_PTR) :: at
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size, ierr)
  if (ierr /= MPI_SUCCESS) stop 1
  a = rank + 1
  call MPI_Allreduce(MPI_IN_PLACE, a, 4, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD)
  if (a(1) /= size*(size+1)/2) stop 2
  call MPI_Irecv(x, 1, MPI_INTEGER, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, reqs(1))
  call MPI_Isend(rank, 1, MPI_INTEGER, mod(rank+1,size), 7, MPI_COMM_WORLD, reqs(2))
  call MPI_Waitall(2, reqs, sts)
  if (x /= mod(rank+size-1,size)) stop 3
  if (sts(1)%MPI_SOURCE /= x .or. sts(1)%MPI_TAG /= 7) stop 4
  call MPI_Get_count(sts(1), MPI_INTEGER, n)
  if (n /= 1) stop 5
  if (reqs(1) /= MPI_REQUEST_NULL .or. .not. reqs(1) == reqs(2)) stop 6
  call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, val, flag)
  if (.not. flag .or. val < 32767) stop 7
  call MPI_Type_contiguous(2, MPI_DOUBLE_PRECISION, dt)
  call MPI_Type_commit(dt)
  call MPI_Type_get_extent(dt, lb, ext)
  if (ext /= 16) stop 8
  call MPI_Op_create(addup, .true., op)
  y = rank
  call MPI_Allreduce(rank, y, 1, MPI_INTEGER, op, MPI_COMM_WORLD)
  if (y /= size*(size-1)/2) stop 9
  call MPI_Reduce_local(rank, y, 1, MPI_INTEGER, op)
  if (seen_type /= MPI_INTEGER) stop 19
  call MPI_Sendrecv(rank, 1, MPI_INTEGER, mod(rank+1,size), 1, x, 1, MPI_INTEGER, MPI_ANY_SOURCE, 1, &
       MPI_COMM_WORLD, MPI_STATUS_IGNORE)
  call MPI_Recv(x, 1, MPI_INTEGER, MPI_PROC_NULL, 1, MPI_COMM_WORLD, st)
  if (st%MPI_SOURCE /= MPI_PROC_NULL) stop 10
  call MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, key, 0_MPI_ADDRESS_KIND)
  call MPI_Comm_dup(MPI_COMM_WORLD, comm)
  call MPI_Comm_set_attr(comm, key, 77_MPI_ADDRESS_KIND)
  call MPI_Comm_dup(comm, copy)
  call MPI_Comm_get_attr(copy, key, val, flag)
  if (.not. flag .or. val /= 77) stop 11
  call MPI_Comm_free(copy)
  call MPI_Comm_free(comm)
  if (comm /= MPI_COMM_NULL) stop 12
  call MPI_Get_processor_name(name, n)
  call MPI_Info_create(info)
  call MPI_Info_set(info, 'key', 'value')
  call MPI_Info_get(info, 'key', 20, value, flag)
  if (.not. flag .or. value /= 'value') stop 13
  call MPI_Info_free(info)
  call MPI_Buffer_attach(room, 4000)
  call MPI_Buffer_detach(at, n)
  if (n /= 4000) stop 14
  call MPI_Sizeof(r, bytes, ierr)
  if (bytes /= 8) stop 15
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN)
  call MPI_Send(rank, 1, MPI_INTEGER, size+5, 1, MPI_COMM_WORLD, ierr)
  call MPI_Error_class(ierr, n)
  if (n /= MPI_ERR_RANK) stop 16
  call MPI_Comm_create_errhandler(on_comm, handler)
  call MPI_Comm_dup(MPI_COMM_WORLD, comm)
  call MPI_Comm_set_errhandler(comm, handler)
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler)
  call MPI_Send(rank, 1, MPI_INTEGER, size+5, 1, comm, ierr)
  if (seen /= comm) stop 20
  call MPI_Send(rank, 1, MPI_INTEGER, size+5, 1, MPI_COMM_WORLD, ierr)
  if (seen /= MPI_COMM_WORLD) stop 21
  call MPI_Comm_free(comm)
  call MPI_Test(reqs(1), flag, MPI_STATUS_IGNORE)
  if (.not. flag) stop 17
  if (MPI_Wtime() < 0) stop 18
  if (rank == 0) print *, 'ok ', trim(name)
  call MPI_Finalize()
end program

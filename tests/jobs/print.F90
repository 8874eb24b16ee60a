! Prints a line, meets the others in a barrier, and ends badly as the argument says (harness/jobs/prints.rs).
program print
    use mpi
    implicit none
    integer :: rank, ierror
    character(len=16) :: how

    call get_command_argument(1, how)
    call MPI_Init(ierror)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
    print '(a, i0)', 'line of rank ', rank
    if (rank == 1) write (*, '(a)', advance='no') 'begun by rank 1'
    call MPI_Barrier(MPI_COMM_WORLD, ierror)
    if (rank == 1 .and. how == 'abort') call MPI_Abort(MPI_COMM_WORLD, 3, ierror)
    if (rank == 1 .and. how == 'wait') call sleep(60)
    call MPI_Barrier(MPI_COMM_WORLD, ierror)
    call MPI_Finalize(ierror)
end program print

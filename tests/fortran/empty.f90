! Nothing: compiles wherever Fortran and its modules can be used.
subroutine empty
   use mpi_f08
   use mpi, only : MPI_STATUS_SIZE
end subroutine empty

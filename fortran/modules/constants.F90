! Module mpi_constants: what is the same in mpi and mpi_f08. Integers, kinds, and variables whose address is their meaning.

module mpi_constants
   implicit none
   public

#define NUMBER(name, value) integer, parameter :: name = value
#include "constants.inc"
   integer(MPI_OFFSET_KIND), parameter :: MPI_DISPLACEMENT_CURRENT = -1_MPI_OFFSET_KIND

   ! Buffers are passed by descriptor in both modules, so sections need no copies.
   logical, parameter :: MPI_SUBARRAYS_SUPPORTED = .true.
   logical, parameter :: MPI_ASYNC_PROTECTS_NONBLOCKING = .true.

   integer :: MPI_BOTTOM, MPI_IN_PLACE
   ! Programs compare its C_LOC with what MPI_Buffer_detach gives (section 3.6).
   integer, target :: MPI_BUFFER_AUTOMATIC
   integer, dimension(1) :: MPI_ERRCODES_IGNORE, MPI_UNWEIGHTED, MPI_WEIGHTS_EMPTY
   character(len=1) :: MPI_ARGV_NULL(1), MPI_ARGVS_NULL(1, 1)
   common /mpi_fortran_bottom/ MPI_BOTTOM
   common /mpi_fortran_in_place/ MPI_IN_PLACE
   common /mpi_fortran_buffer_automatic/ MPI_BUFFER_AUTOMATIC
   common /mpi_fortran_errcodes_ignore/ MPI_ERRCODES_IGNORE
   common /mpi_fortran_unweighted/ MPI_UNWEIGHTED
   common /mpi_fortran_weights_empty/ MPI_WEIGHTS_EMPTY
   common /mpi_fortran_argv_null/ MPI_ARGV_NULL
   common /mpi_fortran_argvs_null/ MPI_ARGVS_NULL
end module mpi_constants

! Module mpi (section 19.1.3): handles are integers, every interface is checked, buffers are descriptors of C.
! The words are those of mpi_f08.F90.

#define OLD
#define COMM integer
#define DATATYPE integer
#define ERRHANDLER integer
#define FILE integer
#define GROUP integer
#define INFO integer
#define MESSAGE integer
#define OP integer
#define REQUEST integer
#define SESSION integer
#define WIN integer
#define STATUS integer, dimension(MPI_STATUS_SIZE)
#define STATUSES integer, dimension(MPI_STATUS_SIZE, *)
#define CALLBACK(name) external
#define IERROR integer, intent(out) :: ierror
#define COUNT integer
#define DISPLACEMENT integer
#define EXTENT integer(MPI_ADDRESS_KIND)
#define OFFSET integer(MPI_OFFSET_KIND)

#define HEAD ; import; implicit none
#define HEAD_TS bind(C); import; implicit none
#define END_PROC end subroutine; end interface
#define END_FUNC end function; end interface

module mpi
   use, intrinsic :: iso_c_binding, only : C_PTR
   use mpi_constants
   use mpi_f08_types, only : MPI_Comm, MPI_Datatype, MPI_Errhandler, MPI_File, MPI_Group, MPI_Info, MPI_Message, &
      MPI_Op, MPI_Request, MPI_Session, MPI_Status, MPI_Win, operator(==), operator(/=)
   implicit none
   public
   private :: C_PTR

#define HANDLE(kind, name, value) integer, parameter :: name = value
#include "handles.inc"

   integer :: MPI_STATUS_IGNORE(MPI_STATUS_SIZE), MPI_STATUSES_IGNORE(MPI_STATUS_SIZE, 1)
   common /mpi_fortran_status_ignore/ MPI_STATUS_IGNORE
   common /mpi_fortran_statuses_ignore/ MPI_STATUSES_IGNORE

   external :: MPI_COMM_NULL_COPY_FN, MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN
   external :: MPI_TYPE_NULL_COPY_FN, MPI_TYPE_DUP_FN, MPI_TYPE_NULL_DELETE_FN
   external :: MPI_WIN_NULL_COPY_FN, MPI_WIN_DUP_FN, MPI_WIN_NULL_DELETE_FN
   external :: MPI_NULL_COPY_FN, MPI_DUP_FN, MPI_NULL_DELETE_FN
   external :: MPI_CONVERSION_FN_NULL

#define FUNC(kind, name) interface; kind function name
#define PAIR(name) interface name
#define FIRST(name) subroutine name
#define SECOND(name) subroutine name/**/_cptr
#define PROC(name) interface; subroutine name
#define PROC_TS(name) interface name; subroutine name/**/_fts
#include "chapters.inc"
#include "pointers.inc"

#undef FUNC
#undef PAIR
#undef FIRST
#undef SECOND
#undef PROC
#undef PROC_TS
#define FUNC(kind, name) interface; kind function P/**/name
#define PAIR(name) interface P/**/name
#define FIRST(name) subroutine P/**/name
#define SECOND(name) subroutine P/**/name/**/_cptr
#define PROC(name) interface; subroutine P/**/name
#define PROC_TS(name) interface P/**/name; subroutine P/**/name/**/_fts
#include "chapters.inc"
#include "pointers.inc"

! The standard's counts of partitioned calls are of this kind in this module, too (section 4.2.1). Programs pass either.
#define LARGE
#undef COUNT
#define COUNT integer(MPI_COUNT_KIND)
#undef PROC_TS
#define PROC_TS(name) interface name; subroutine name/**/_c_f08ts
#include "partitioned.inc"

#undef PROC_TS
#define PROC_TS(name) interface P/**/name; subroutine P/**/name/**/_c_f08ts
#include "partitioned.inc"

end module mpi

! Module mpi_f08 (section 19.1.2).
!
! The words of the interfaces: PROC(name)(...) HEAD begins a procedure without buffers, PROC_TS(name)(...) HEAD_TS one with
! buffers, which come as descriptors of C; section 19.1.5 has the names behind. With LARGE defined the same
! interfaces are those of large counts, and names with a P before them are the profiling ones.
!
! Buffers that stay in use after the call are TARGETs, which the standard does not ask for: gfortran takes a variable that is
! passed to any other argument for out of reach once the call returns, asynchronous or not. So a program that forgets to say
! ASYNCHRONOUS in its own declaration, as most do, would send old values from, and see old values in, what a loop uses
! with a persistent request or by its address.

#define COMM type(MPI_Comm)
#define DATATYPE type(MPI_Datatype)
#define ERRHANDLER type(MPI_Errhandler)
#define FILE type(MPI_File)
#define GROUP type(MPI_Group)
#define INFO type(MPI_Info)
#define MESSAGE type(MPI_Message)
#define OP type(MPI_Op)
#define REQUEST type(MPI_Request)
#define SESSION type(MPI_Session)
#define WIN type(MPI_Win)
#define STATUS type(MPI_Status)
#define STATUSES type(MPI_Status), dimension(*)
#define POINTER type(C_PTR)
#define CALLBACK(name) procedure(name)
#define IERROR integer, optional, intent(out) :: ierror

#define HEAD ; import; implicit none
#define HEAD_TS bind(C); import; implicit none
#define END_PROC end subroutine; end interface
#define END_FUNC end function; end interface

module mpi_f08_callbacks
   use, intrinsic :: iso_c_binding, only : C_PTR
   use mpi_constants
   use mpi_f08_types
   implicit none
   public
   private :: C_PTR

#include "callbacks.inc"

end module mpi_f08_callbacks

module mpi_f08
   use, intrinsic :: iso_c_binding, only : C_PTR
   use mpi_constants
   use mpi_f08_types
   use mpi_f08_callbacks
   implicit none
   public
   private :: C_PTR

#define HANDLE(kind, name, value) type(kind), parameter :: name = kind(value)
#include "handles.inc"

   type(MPI_Status) :: MPI_STATUS_IGNORE, MPI_STATUSES_IGNORE(1)
   common /mpi_fortran_status_ignore/ MPI_STATUS_IGNORE
   common /mpi_fortran_statuses_ignore/ MPI_STATUSES_IGNORE

#define COUNT integer
#define DISPLACEMENT integer
#define EXTENT integer(MPI_ADDRESS_KIND)
#define OFFSET integer(MPI_OFFSET_KIND)

#define FUNC(kind, name) interface name; kind function name/**/_f08
#define PROC(name) interface name; subroutine name/**/_f08
#define PROC_TS(name) interface name; subroutine name/**/_f08ts
#include "chapters.inc"

#undef FUNC
#undef PROC
#undef PROC_TS
#define FUNC(kind, name) interface P/**/name; kind function P/**/name/**/_f08
#define PROC(name) interface P/**/name; subroutine P/**/name/**/_f08
#define PROC_TS(name) interface P/**/name; subroutine P/**/name/**/_f08ts
#include "chapters.inc"

#define LARGE
#undef COUNT
#undef DISPLACEMENT
#undef EXTENT
#undef OFFSET
#define COUNT integer(MPI_COUNT_KIND)
#define DISPLACEMENT integer(MPI_ADDRESS_KIND)
#define EXTENT integer(MPI_COUNT_KIND)
#define OFFSET integer(MPI_COUNT_KIND)

#undef PROC
#undef PROC_TS
#define PROC(name) interface name; subroutine name/**/_c_f08
#define PROC_TS(name) interface name; subroutine name/**/_c_f08ts
#include "chapters.inc"

#undef PROC
#undef PROC_TS
#define PROC(name) interface P/**/name; subroutine P/**/name/**/_c_f08
#define PROC_TS(name) interface P/**/name; subroutine P/**/name/**/_c_f08ts
#include "chapters.inc"

end module mpi_f08

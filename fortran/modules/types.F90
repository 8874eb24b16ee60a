! Module mpi_f08_types: handles and statuses as derived types (section 19.1.1), and the comparison of handles.
! The standard's words for them are in the same places in C: a handle is its integer, a status eight integers.

module mpi_f08_types
   implicit none
   ! The functions behind the operators must not take names from programs.
   private
   public :: MPI_Comm, MPI_Datatype, MPI_Errhandler, MPI_File, MPI_Group, MPI_Info, MPI_Message, MPI_Op, MPI_Request
   public :: MPI_Session, MPI_Status, MPI_Win, operator(==), operator(/=)

#define HANDLE_TYPE(name) type, bind(C) :: name; integer :: MPI_VAL; end type name

   HANDLE_TYPE(MPI_Comm)
   HANDLE_TYPE(MPI_Datatype)
   HANDLE_TYPE(MPI_Errhandler)
   HANDLE_TYPE(MPI_File)
   HANDLE_TYPE(MPI_Group)
   HANDLE_TYPE(MPI_Info)
   HANDLE_TYPE(MPI_Message)
   HANDLE_TYPE(MPI_Op)
   HANDLE_TYPE(MPI_Request)
   HANDLE_TYPE(MPI_Session)
   HANDLE_TYPE(MPI_Win)

   type, bind(C) :: MPI_Status
      integer :: MPI_SOURCE, MPI_TAG, MPI_ERROR
      integer :: MPI_internal(5)
   end type MPI_Status

#define COMPARISON(same) module procedure same/**/_comm, same/**/_datatype, same/**/_errhandler, same/**/_file; \
module procedure same/**/_group, same/**/_info, same/**/_message, same/**/_op, same/**/_request, same/**/_session, same/**/_win

   interface operator(==)
      COMPARISON(equal)
   end interface

   interface operator(/=)
      COMPARISON(unequal)
   end interface

contains

#define COMPARE(name, handle, compared) elemental logical function name(a, b); type(handle), intent(in) :: a, b; \
name = a%MPI_VAL compared b%MPI_VAL; end function

   COMPARE(equal_comm, MPI_Comm, ==)
   COMPARE(equal_datatype, MPI_Datatype, ==)
   COMPARE(equal_errhandler, MPI_Errhandler, ==)
   COMPARE(equal_file, MPI_File, ==)
   COMPARE(equal_group, MPI_Group, ==)
   COMPARE(equal_info, MPI_Info, ==)
   COMPARE(equal_message, MPI_Message, ==)
   COMPARE(equal_op, MPI_Op, ==)
   COMPARE(equal_request, MPI_Request, ==)
   COMPARE(equal_session, MPI_Session, ==)
   COMPARE(equal_win, MPI_Win, ==)

   COMPARE(unequal_comm, MPI_Comm, /=)
   COMPARE(unequal_datatype, MPI_Datatype, /=)
   COMPARE(unequal_errhandler, MPI_Errhandler, /=)
   COMPARE(unequal_file, MPI_File, /=)
   COMPARE(unequal_group, MPI_Group, /=)
   COMPARE(unequal_info, MPI_Info, /=)
   COMPARE(unequal_message, MPI_Message, /=)
   COMPARE(unequal_op, MPI_Op, /=)
   COMPARE(unequal_request, MPI_Request, /=)
   COMPARE(unequal_session, MPI_Session, /=)
   COMPARE(unequal_win, MPI_Win, /=)

end module mpi_f08_types

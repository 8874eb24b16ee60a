! Chapter 7: groups, communicators, names, and attributes with functions of the program.
! ranks: 1 2 4
#include "check.inc"
subroutine twice(old, keyval, extra, in, out, flag, error)
   USE_MPI
   implicit none
   INCLUDE_MPI
   HANDLE(MPI_Comm) :: old
   integer :: keyval, error
   integer(MPI_ADDRESS_KIND) :: extra, in, out
   logical :: flag
   flag = old /= MPI_COMM_NULL .and. keyval /= MPI_KEYVAL_INVALID
   out = 2 * in + extra
   error = MPI_SUCCESS
end subroutine twice

subroutine refuse(comm, keyval, value, extra, error)
   USE_MPI
   implicit none
   INCLUDE_MPI
   HANDLE(MPI_Comm) :: comm
   integer :: keyval, error
   integer(MPI_ADDRESS_KIND) :: value, extra
   ! An attribute that is 13 cannot be deleted.
   error = merge(MPI_ERR_OTHER, MPI_SUCCESS, value == 13 .and. extra == 1 .and. keyval > 0)
   if (comm == MPI_COMM_NULL) error = MPI_ERR_COMM
end subroutine refuse

! Of MPI-1: all are default integers (section 16.1).
subroutine add(old, keyval, extra, in, out, flag, error)
   USE_MPI
   implicit none
   INCLUDE_MPI
   integer :: old, keyval, error, extra, in, out
   logical :: flag
   flag = keyval /= MPI_KEYVAL_INVALID .and. old /= keyval
   out = in + extra
   error = MPI_SUCCESS
end subroutine add

program communicators
   USE_MPI
   implicit none
   INCLUDE_MPI
   integer :: rank, ranks, error, checks = 0, failures = 0
   external :: add
#ifdef INTERFACE_F08
   procedure(MPI_Comm_copy_attr_function) :: twice
   procedure(MPI_Comm_delete_attr_function) :: refuse
#else
   external :: twice, refuse
#endif

   call check_begin()
   call groups()
   call parts()
   call names()
   call attributes_of_the_standard()
   call attributes_of_the_program()
   call attributes_of_others()
#ifndef INTERFACE_F08
   call attributes_of_mpi_1()
#endif
   call check_done()

contains

   subroutine groups()
      HANDLE(MPI_Group) :: world, odd, rest
      HANDLE(MPI_Comm) :: comm
      integer :: n, result, translated(1), ranges(3, 1)
      call MPI_Comm_group(MPI_COMM_WORLD, world, error)
      call MPI_Group_size(world, n, error)
      call check_equal(n, ranks, 'size of the group')
      ranges(:, 1) = [ranks - 1, 0, -1]
      call MPI_Group_range_incl(world, 1, ranges, odd, error)
      call MPI_Group_compare(world, odd, result, error)
      call check_equal(result, merge(MPI_IDENT, MPI_SIMILAR, ranks == 1), 'a group in reverse')
      call MPI_Group_translate_ranks(world, 1, [0], odd, translated, error)
      call check_equal(translated(1), ranks - 1, 'a rank of the other group')
      call MPI_Group_excl(world, 1, [0], rest, error)
      call MPI_Comm_create(MPI_COMM_WORLD, rest, comm, error)
      call check((comm == MPI_COMM_NULL) .eqv. rank == 0, 'a communicator without rank 0')
      if (rank > 0) call MPI_Comm_free(comm, error)
      call MPI_Group_free(world, error)
      call MPI_Group_free(odd, error)
      call MPI_Group_free(rest, error)
      call check(rest == MPI_GROUP_NULL, 'a freed group is null')
   end subroutine groups

   subroutine parts()
      HANDLE(MPI_Comm) :: half, twin, none
      HANDLE(MPI_Request) :: request
      integer :: n, key, result
      logical :: flag
      key = -rank
      call MPI_Comm_split(MPI_COMM_WORLD, mod(rank, 2), key, half, error)
      call MPI_Comm_size(half, n, error)
      call check_equal(n, (ranks + merge(1, 0, mod(rank, 2) == 0)) / 2, 'ranks of one parity')
      call MPI_Comm_split(MPI_COMM_WORLD, MPI_UNDEFINED, 0, none, error)
      call check(none == MPI_COMM_NULL, 'no colour, no communicator')
      call MPI_Comm_idup(half, twin, request, error)
      call MPI_Wait(request, MPI_STATUS_IGNORE, error)
      call MPI_Comm_compare(half, twin, result, error)
      call check_equal(result, MPI_CONGRUENT, 'a duplicate is congruent')
      call MPI_Comm_test_inter(twin, flag, error)
      call check(.not. flag, 'no inter-communicator')
      call MPI_Comm_free(twin, error)
      call MPI_Comm_free(half, error)
   end subroutine parts

   subroutine names()
      HANDLE(MPI_Comm) :: comm
      character(len=MPI_MAX_OBJECT_NAME) :: name
      character(len=4) :: short
      integer :: length
      call MPI_Comm_dup(MPI_COMM_WORLD, comm, error)
      call MPI_Comm_set_name(comm, 'ocean and ice   ', error)
      call MPI_Comm_get_name(comm, name, length, error)
      call check(length == 13 .and. name == 'ocean and ice', 'a name without the blanks behind it')
      call MPI_Comm_get_name(comm, short, length, error)
      call check(short == 'ocea' .and. length == 4, 'a name is cut where there is no room')
      call MPI_Comm_set_name(comm, '  ice ', error)
      call MPI_Comm_get_name(comm, name, length, error)
      call check(length == 5 .and. name == '  ice', 'blanks before a name count')
      call MPI_Type_get_name(MPI_DOUBLE_PRECISION, name, length, error)
      call check(name(1:length) == 'MPI_DOUBLE_PRECISION', 'the name of a type')
      call MPI_Comm_free(comm, error)
   end subroutine names

   subroutine attributes_of_the_standard()
      integer(MPI_ADDRESS_KIND) :: value
      logical :: flag
      value = -1
      call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, value, flag, error)
      call check(flag .and. value >= 32767, 'the upper bound of tags')
   end subroutine attributes_of_the_standard

   subroutine attributes_of_the_program()
      HANDLE(MPI_Comm) :: comm, twin
      integer :: keyval
      integer(MPI_ADDRESS_KIND) :: value
      logical :: flag
      call MPI_Comm_create_keyval(twice, refuse, keyval, 1_MPI_ADDRESS_KIND, error)
      call MPI_Comm_dup(MPI_COMM_SELF, comm, error)
      call MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN, error)
      call MPI_Comm_get_attr(comm, keyval, value, flag, error)
      call check(.not. flag, 'no attribute yet')
      call MPI_Comm_set_attr(comm, keyval, 6_MPI_ADDRESS_KIND, error)
      call MPI_Comm_dup(comm, twin, error)
      call MPI_Comm_get_attr(twin, keyval, value, flag, error)
      call check(flag .and. value == 13, 'the copying function of the program')
      call MPI_Comm_delete_attr(twin, keyval, error)
      call check(error /= MPI_SUCCESS, 'the deleting function of the program')
      call MPI_Comm_set_attr(comm, keyval, -5_MPI_ADDRESS_KIND, error)
      call MPI_Comm_get_attr(comm, keyval, value, flag, error)
      call check(flag .and. value == -5, 'a value below 0')
      call MPI_Comm_free(comm, error)
      call MPI_Comm_free_keyval(keyval, error)
      call check_equal(keyval, MPI_KEYVAL_INVALID, 'a freed keyval')
   end subroutine attributes_of_the_program

   subroutine attributes_of_others()
      HANDLE(MPI_Datatype) :: made, twin
      HANDLE(MPI_Comm) :: comm
      integer :: copied, kept
      integer(MPI_ADDRESS_KIND) :: value
      logical :: flag
      call MPI_Type_create_keyval(MPI_TYPE_DUP_FN, MPI_TYPE_NULL_DELETE_FN, copied, 0_MPI_ADDRESS_KIND, error)
      call MPI_Type_contiguous(3, MPI_REAL, made, error)
      call MPI_Type_set_attr(made, copied, 77_MPI_ADDRESS_KIND, error)
      call MPI_Type_dup(made, twin, error)
      call MPI_Type_get_attr(twin, copied, value, flag, error)
      call check(flag .and. value == 77, 'MPI_TYPE_DUP_FN')
      call MPI_Type_free(made, error)
      call MPI_Type_free(twin, error)
      call MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, kept, 0_MPI_ADDRESS_KIND, error)
      call MPI_Comm_set_attr(MPI_COMM_SELF, kept, 1_MPI_ADDRESS_KIND, error)
      call MPI_Comm_dup(MPI_COMM_SELF, comm, error)
      call MPI_Comm_get_attr(comm, kept, value, flag, error)
      call check(.not. flag, 'MPI_COMM_NULL_COPY_FN')
      call MPI_Comm_free(comm, error)
   end subroutine attributes_of_others

#ifndef INTERFACE_F08
   ! Deprecated, and not in mpi_f08.
   subroutine attributes_of_mpi_1()
      integer :: comm, keyval, value, extra
      logical :: flag
      extra = 4
      call MPI_Keyval_create(add, MPI_NULL_DELETE_FN, keyval, extra, error)
      call MPI_Attr_put(MPI_COMM_SELF, keyval, -7, error)
      call MPI_Comm_dup(MPI_COMM_SELF, comm, error)
      call MPI_Attr_get(comm, keyval, value, flag, error)
      call check(flag .and. value == -3, 'the copying function of MPI-1')
      call MPI_Attr_delete(MPI_COMM_SELF, keyval, error)
      call MPI_Attr_get(MPI_COMM_SELF, keyval, value, flag, error)
      call check(.not. flag, 'a deleted attribute')
      call MPI_Comm_free(comm, error)
      call MPI_Keyval_free(keyval, error)
      call check_equal(keyval, MPI_KEYVAL_INVALID, 'a freed keyval of MPI-1')
   end subroutine attributes_of_mpi_1
#endif

#include "check_end.inc"

end program communicators

! Chapter 5 and section 19.1.9: derived types, packing, types of Fortran by range and precision.
! ranks: 1 2
#include "check.inc"
program datatypes
   USE_MPI
   implicit none
   INCLUDE_MPI
   integer :: rank, ranks, error, other, checks = 0, failures = 0

   call check_begin()
   other = mod(rank + 1, ranks)
   call rows_of_a_matrix()
   call structures()
   call contents()
   call packing()
   call parameterized()
   call open_parameters()
   call sizes()
   call check_done()

contains

   subroutine rows_of_a_matrix()
      HANDLE(MPI_Datatype) :: row, plane
      integer :: a(3, 4), b(3, 4), i, size, starts(2)
      integer(MPI_ADDRESS_KIND) :: lb, extent
      a = reshape([(i, i = 1, 12)], [3, 4])
      b = 0
      call MPI_Type_vector(4, 1, 3, MPI_INTEGER, row, error)
      call MPI_Type_commit(row, error)
      call MPI_Type_size(row, size, error)
      call MPI_Type_get_extent(row, lb, extent, error)
      call check(size == 16 .and. lb == 0 .and. extent == 40, 'a row is 16 bytes of 40')
      call MPI_Sendrecv(a(2, 1), 1, row, other, 1, b(3, 1), 1, row, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
      call check(all(b(3, :) == a(2, :)) .and. all(b(:2, :) == 0), 'a row to another row')
      starts = [1, 2]
      call MPI_Type_create_subarray(2, [3, 4], [2, 2], starts, MPI_ORDER_FORTRAN, MPI_INTEGER, plane, error)
      call MPI_Type_commit(plane, error)
      b = 0
      call MPI_Sendrecv(a, 1, plane, other, 1, b, 4, MPI_INTEGER, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
      call check(all([b(:, 1), b(1, 2)] == [a(2:3, 3), a(2:3, 4)]), 'a subarray in the order of Fortran')
      call MPI_Type_free(row, error)
      call MPI_Type_free(plane, error)
      call check(row == MPI_DATATYPE_NULL, 'a freed type is null')
   end subroutine rows_of_a_matrix

   subroutine structures()
      type particle
         sequence
         double precision :: place(3)
         integer :: kind, pad
      end type particle
      type(particle) :: out(2), in(2)
      HANDLE(MPI_Datatype) :: types(2), made, resized
      integer(MPI_ADDRESS_KIND) :: places(2), base, next
      call MPI_Get_address(out(1)%place, places(1), error)
      call MPI_Get_address(out(1)%kind, places(2), error)
      call MPI_Get_address(out(2)%place, next, error)
      base = places(1)
      places = [MPI_Aint_diff(places(1), base), MPI_Aint_diff(places(2), base)]
      types = [MPI_DOUBLE_PRECISION, MPI_INTEGER]
      call MPI_Type_create_struct(2, [3, 1], places, types, made, error)
      call MPI_Type_create_resized(made, 0_MPI_ADDRESS_KIND, MPI_Aint_diff(next, base), resized, error)
      call MPI_Type_commit(resized, error)
      out(1) = particle([1d0, 2d0, 3d0], rank, 0)
      out(2) = particle([4d0, 5d0, 6d0], rank + 10, 0)
      in = particle([0d0, 0d0, 0d0], -1, -1)
      call MPI_Sendrecv(out(1)%place, 2, resized, other, 1, in(1)%place, 2, resized, other, 1, MPI_COMM_WORLD, &
         MPI_STATUS_IGNORE, error)
      call check(in(1)%kind == other .and. in(2)%kind == other + 10, 'integers of structures')
      call check(abs(in(2)%place(3) - 6d0) < 1d-12 .and. in(2)%pad == -1, 'numbers of structures, and the gap')
      call from_the_bottom(places)
      call MPI_Type_free(made, error)
      call MPI_Type_free(resized, error)
   end subroutine structures

   subroutine from_the_bottom(places)
      integer(MPI_ADDRESS_KIND), intent(inout) :: places(2)
      HANDLE(MPI_Datatype) :: absolute
      integer ASYNCHRONOUS_ :: x, y(2)
      integer :: in(3)
      x = 5
      y = [6, 7]
      call MPI_Get_address(x, places(1), error)
      call MPI_Get_address(y, places(2), error)
      call MPI_Type_create_hindexed(2, [1, 2], places, MPI_INTEGER, absolute, error)
      call MPI_Type_commit(absolute, error)
      call MPI_Sendrecv(MPI_BOTTOM, 1, absolute, other, 1, in, 3, MPI_INTEGER, other, 1, MPI_COMM_WORLD, &
         MPI_STATUS_IGNORE, error)
      call check(all(in == [5, 6, 7]), 'absolute addresses from MPI_BOTTOM')
      call MPI_Type_free(absolute, error)
   end subroutine from_the_bottom

   subroutine contents()
      HANDLE(MPI_Datatype) :: made, types(1)
      integer :: integers(3), n(3), combiner
      integer(MPI_ADDRESS_KIND) :: addresses(1)
      call MPI_Type_vector(4, 1, 3, MPI_REAL, made, error)
      call MPI_Type_get_envelope(made, n(1), n(2), n(3), combiner, error)
      call check(all(n == [3, 0, 1]) .and. combiner == MPI_COMBINER_VECTOR, 'envelope of a vector')
      call MPI_Type_get_contents(made, 3, 0, 1, integers, addresses, types, error)
      call check(all(integers == [4, 1, 3]) .and. types(1) == MPI_REAL, 'contents of a vector')
      call MPI_Type_free(made, error)
   end subroutine contents

   subroutine packing()
      integer :: room(25), position, x, y
      double precision :: d, e
      x = 3
      d = 0.5d0
      position = 0
      call MPI_Pack(x, 1, MPI_INTEGER, room, 100, position, MPI_COMM_WORLD, error)
      call MPI_Pack(d, 1, MPI_DOUBLE_PRECISION, room, 100, position, MPI_COMM_WORLD, error)
      call check_equal(position, 12, 'bytes packed')
      position = 0
      call MPI_Unpack(room, 100, position, y, 1, MPI_INTEGER, MPI_COMM_WORLD, error)
      call MPI_Unpack(room, 100, position, e, 1, MPI_DOUBLE_PRECISION, MPI_COMM_WORLD, error)
      call check(x == y .and. abs(d - e) < 1d-12, 'what was packed')
      call externally()
   end subroutine packing

   subroutine externally()
      integer :: room(25), in(2)
      integer(MPI_ADDRESS_KIND) :: position, size
      call MPI_Pack_external_size('external32', 2, MPI_INTEGER, size, error)
      call check(size == 8, 'size in external32')
      position = 0
      call MPI_Pack_external('external32', [1, 2], 2, MPI_INTEGER, room, 100_MPI_ADDRESS_KIND, position, error)
      call check(position == 8 .and. room(1) == 16777216, 'external32 has the large end first')
      position = 0
      call MPI_Unpack_external('external32', room, 100_MPI_ADDRESS_KIND, position, in, 2, MPI_INTEGER, error)
      call check(all(in == [1, 2]), 'back from external32')
   end subroutine externally

   subroutine parameterized()
      integer, parameter :: fine = selected_real_kind(14, 200), wide = selected_int_kind(12)
      HANDLE(MPI_Datatype) :: real_type, integer_type, complex_type, same
      real(fine) :: x
      integer(wide) :: i
      integer :: size
      call MPI_Type_create_f90_real(14, 200, real_type, error)
      call MPI_Type_create_f90_real(14, 200, same, error)
      call check(real_type == same, 'equal parameters, equal types')
      call MPI_Type_create_f90_integer(12, integer_type, error)
      call MPI_Type_create_f90_complex(14, 200, complex_type, error)
      call MPI_Type_size(complex_type, size, error)
      call check_equal(size, 16, 'size of a complex number')
      x = rank
      i = 10_wide**11 + rank
      call MPI_Allreduce(MPI_IN_PLACE, x, 1, real_type, MPI_SUM, MPI_COMM_WORLD, error)
      call MPI_Allreduce(MPI_IN_PLACE, i, 1, integer_type, MPI_MAX, MPI_COMM_WORLD, error)
      call check(abs(x - ranks * (ranks - 1) / 2) < 1e-9 .and. i == 10_wide**11 + ranks - 1, 'reductions of them')
      call MPI_Type_match_size(MPI_TYPECLASS_REAL, 8, same, error)
      call MPI_Type_size(same, size, error)
      call check_equal(size, 8, 'the type that matches a size')
   end subroutine parameterized

   ! Either precision or range may be left open, but not both (section 19.1.9).
   subroutine open_parameters()
      character(len=MPI_MAX_ERROR_STRING) :: text
      HANDLE(MPI_Datatype) :: fine, coarse
      integer :: code, class, length, size
      call MPI_Type_create_f90_real(MPI_UNDEFINED, 200, fine, error)
      call MPI_Type_size(fine, size, error)
      call check_equal(size, 8, 'size of a real number of large range')
      call MPI_Type_create_f90_complex(6, MPI_UNDEFINED, coarse, error)
      call MPI_Type_size(coarse, size, error)
      call check_equal(size, 8, 'size of a complex number of few digits')
      call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN, error)
      call MPI_Type_create_f90_real(MPI_UNDEFINED, MPI_UNDEFINED, fine, code)
      call MPI_Error_class(code, class, error)
      call MPI_Error_string(code, text, length, error)
      call check_equal(class, MPI_ERR_ARG, 'the error of a real type of which nothing is given')
      call check(index(text, 'MPI_Type_create_f90_real: p and r are both MPI_UNDEFINED') > 0, 'it says so')
      call MPI_Type_create_f90_complex(MPI_UNDEFINED, MPI_UNDEFINED, coarse, code)
      call MPI_Error_class(code, class, error)
      call check_equal(class, MPI_ERR_ARG, 'the error of a complex type of which nothing is given')
      call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL, error)
   end subroutine open_parameters

   subroutine sizes()
#ifndef INTERFACE_MPIF
      integer :: size
      real(8) :: matrix(3, 3)
      call MPI_Sizeof(matrix, size, error)
      call check_equal(size, 8, 'MPI_SIZEOF of a matrix of real(8)')
      call MPI_Sizeof('x', size, error)
      call check_equal(size, 1, 'MPI_SIZEOF of a character')
      call MPI_Sizeof(MPI_SUCCESS, size, error)
      call check_equal(size, 4, 'MPI_SIZEOF of an integer')
#endif
      call check_equal(MPI_INTEGER_KIND, kind(1), 'the kind of integers')
   end subroutine sizes

#include "check_end.inc"

end program datatypes

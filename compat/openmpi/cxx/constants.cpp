/* The predefined objects, and functions of the classes that are not inline. */
#include "bindings.h"

extern "C" {
extern struct tern_errhandler_object ompi_mpi_errors_throw_exceptions;
extern struct tern_datatype_object ompi_mpi_cxx_ldblcplex;
}

namespace MPI {

extern void *const BOTTOM;
extern void *const IN_PLACE;
void *const BOTTOM = MPI_BOTTOM;
void *const IN_PLACE = MPI_IN_PLACE;
const char **ARGV_NULL = nullptr;
const char ***ARGVS_NULL = nullptr;
/* What programs see that were compiled without exceptions. */
int mpi_errno = MPI_SUCCESS;
extern const char ompi_libcxx_version_string[];
const char ompi_libcxx_version_string[] = "4.1.4";

Intracomm COMM_WORLD(MPI_COMM_WORLD);
Intracomm COMM_SELF(MPI_COMM_SELF);
Comm_Null COMM_NULL;
Request REQUEST_NULL;

/* Programs have them as constants, by their names alone. */
#define OBJECT(Class, name, handle) \
    extern const Class name; \
    const Class name(handle);

OBJECT(Errhandler, ERRHANDLER_NULL, MPI_ERRHANDLER_NULL)
OBJECT(Errhandler, ERRORS_ARE_FATAL, MPI_ERRORS_ARE_FATAL)
OBJECT(Errhandler, ERRORS_RETURN, MPI_ERRORS_RETURN)
OBJECT(Errhandler, ERRORS_THROW_EXCEPTIONS, (MPI_Errhandler)&ompi_mpi_errors_throw_exceptions)
OBJECT(Group, GROUP_NULL, MPI_GROUP_NULL)
OBJECT(Group, GROUP_EMPTY, MPI_GROUP_EMPTY)
OBJECT(Win, WIN_NULL, MPI_WIN_NULL)
OBJECT(Info, INFO_NULL, MPI_INFO_NULL)
OBJECT(File, FILE_NULL, MPI_FILE_NULL)

OBJECT(Op, OP_NULL, MPI_OP_NULL)
OBJECT(Op, MAX, MPI_MAX)
OBJECT(Op, MIN, MPI_MIN)
OBJECT(Op, SUM, MPI_SUM)
OBJECT(Op, PROD, MPI_PROD)
OBJECT(Op, MAXLOC, MPI_MAXLOC)
OBJECT(Op, MINLOC, MPI_MINLOC)
OBJECT(Op, BAND, MPI_BAND)
OBJECT(Op, BOR, MPI_BOR)
OBJECT(Op, BXOR, MPI_BXOR)
OBJECT(Op, LAND, MPI_LAND)
OBJECT(Op, LOR, MPI_LOR)
OBJECT(Op, LXOR, MPI_LXOR)
OBJECT(Op, REPLACE, MPI_REPLACE)

OBJECT(Datatype, DATATYPE_NULL, MPI_DATATYPE_NULL)
OBJECT(Datatype, CHAR, MPI_CHAR)
OBJECT(Datatype, SHORT, MPI_SHORT)
OBJECT(Datatype, INT, MPI_INT)
OBJECT(Datatype, LONG, MPI_LONG)
OBJECT(Datatype, LONG_LONG, MPI_LONG_LONG)
OBJECT(Datatype, LONG_LONG_INT, MPI_LONG_LONG)
OBJECT(Datatype, SIGNED_CHAR, MPI_SIGNED_CHAR)
OBJECT(Datatype, UNSIGNED_CHAR, MPI_UNSIGNED_CHAR)
OBJECT(Datatype, UNSIGNED_SHORT, MPI_UNSIGNED_SHORT)
OBJECT(Datatype, UNSIGNED, MPI_UNSIGNED)
OBJECT(Datatype, UNSIGNED_LONG, MPI_UNSIGNED_LONG)
OBJECT(Datatype, UNSIGNED_LONG_LONG, MPI_UNSIGNED_LONG_LONG)
OBJECT(Datatype, FLOAT, MPI_FLOAT)
OBJECT(Datatype, DOUBLE, MPI_DOUBLE)
OBJECT(Datatype, LONG_DOUBLE, MPI_LONG_DOUBLE)
OBJECT(Datatype, BYTE, MPI_BYTE)
OBJECT(Datatype, PACKED, MPI_PACKED)
OBJECT(Datatype, WCHAR, MPI_WCHAR)
OBJECT(Datatype, BOOL, MPI_CXX_BOOL)
OBJECT(Datatype, COMPLEX, MPI_CXX_FLOAT_COMPLEX)
OBJECT(Datatype, DOUBLE_COMPLEX, MPI_CXX_DOUBLE_COMPLEX)
OBJECT(Datatype, LONG_DOUBLE_COMPLEX, MPI_CXX_LONG_DOUBLE_COMPLEX)
OBJECT(Datatype, FLOAT_INT, MPI_FLOAT_INT)
OBJECT(Datatype, DOUBLE_INT, MPI_DOUBLE_INT)
OBJECT(Datatype, LONG_INT, MPI_LONG_INT)
OBJECT(Datatype, TWOINT, MPI_2INT)
OBJECT(Datatype, SHORT_INT, MPI_SHORT_INT)
OBJECT(Datatype, LONG_DOUBLE_INT, MPI_LONG_DOUBLE_INT)
OBJECT(Datatype, INTEGER, MPI_INTEGER)
OBJECT(Datatype, REAL, MPI_REAL)
OBJECT(Datatype, DOUBLE_PRECISION, MPI_DOUBLE_PRECISION)
OBJECT(Datatype, F_COMPLEX, MPI_COMPLEX)
OBJECT(Datatype, F_DOUBLE_COMPLEX, MPI_DOUBLE_COMPLEX)
OBJECT(Datatype, LOGICAL, MPI_LOGICAL)
OBJECT(Datatype, CHARACTER, MPI_CHARACTER)
OBJECT(Datatype, TWOREAL, MPI_2REAL)
OBJECT(Datatype, TWODOUBLE_PRECISION, MPI_2DOUBLE_PRECISION)
OBJECT(Datatype, TWOINTEGER, MPI_2INTEGER)
OBJECT(Datatype, INTEGER1, MPI_INTEGER1)
OBJECT(Datatype, INTEGER2, MPI_INTEGER2)
OBJECT(Datatype, INTEGER4, MPI_INTEGER4)
OBJECT(Datatype, REAL2, MPI_REAL2)
OBJECT(Datatype, REAL4, MPI_REAL4)
OBJECT(Datatype, REAL8, MPI_REAL8)

Comm::Comm() {}
Comm::Comm(const Comm_Null &other) : Comm_Null(other.handle) {}

void Datatype::Free() { MPI_Type_free(&handle); }
void Win::Free() { MPI_Win_free(&handle); }
void File::Close() { MPI_File_close(&handle); }

/* Programs that call a generalized request by its class want the table of its functions, of which nothing here makes one. */
extern const Grequest tern_no_request;
const Grequest tern_no_request;

/* Programs call it when MPI has started. There is nothing to do. */
void InitializeIntercepts();
void InitializeIntercepts() {}

} // namespace MPI

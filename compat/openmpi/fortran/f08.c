/* What programs with Open MPI's module mpi_f08 need beside its routines, as gfortran names it: comparisons of handles,
 * and the predefined functions of attributes. A handle is a structure of one integer, and comes by address. */
#include "mpi.h"

#define COMPARE(kind) \
    MPI_Fint __mpi_f08_types_MOD_ompi_##kind##_op_eq(const MPI_Fint *one, const MPI_Fint *other); \
    MPI_Fint __mpi_f08_types_MOD_ompi_##kind##_op_eq(const MPI_Fint *one, const MPI_Fint *other) \
    { \
        return *one == *other; \
    } \
    MPI_Fint __mpi_f08_types_MOD_ompi_##kind##_op_ne(const MPI_Fint *one, const MPI_Fint *other); \
    MPI_Fint __mpi_f08_types_MOD_ompi_##kind##_op_ne(const MPI_Fint *one, const MPI_Fint *other) \
    { \
        return *one != *other; \
    }

COMPARE(comm)
COMPARE(datatype)
COMPARE(errhandler)
COMPARE(file)
COMPARE(group)
COMPARE(info)
COMPARE(message)
COMPARE(op)
COMPARE(request)
COMPARE(win)

#include "../../fortran/attribute_functions.h"

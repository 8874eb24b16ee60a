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

#define COPY_OF(Object) \
    const MPI_Fint *Object, const MPI_Fint *key, const MPI_Aint *state, const MPI_Aint *value, MPI_Aint *copied, \
        MPI_Fint *flag, MPI_Fint *ierror
#define DELETE_OF(Object) \
    const MPI_Fint *Object, const MPI_Fint *key, const MPI_Aint *value, const MPI_Aint *state, MPI_Fint *ierror
#define ATTRIBUTE_FUNCTIONS(kind) \
    void mpi_##kind##_dup_fn_(COPY_OF(object)); \
    void mpi_##kind##_null_copy_fn_(COPY_OF(object)); \
    void mpi_##kind##_null_delete_fn_(DELETE_OF(object)); \
    void __mpi_f08_callbacks_MOD_mpi_##kind##_dup_fn(COPY_OF(object)); \
    void __mpi_f08_callbacks_MOD_mpi_##kind##_null_copy_fn(COPY_OF(object)); \
    void __mpi_f08_callbacks_MOD_mpi_##kind##_null_delete_fn(DELETE_OF(object)); \
    void __mpi_f08_callbacks_MOD_mpi_##kind##_dup_fn(COPY_OF(object)) \
    { \
        mpi_##kind##_dup_fn_(object, key, state, value, copied, flag, ierror); \
    } \
    void __mpi_f08_callbacks_MOD_mpi_##kind##_null_copy_fn(COPY_OF(object)) \
    { \
        mpi_##kind##_null_copy_fn_(object, key, state, value, copied, flag, ierror); \
    } \
    void __mpi_f08_callbacks_MOD_mpi_##kind##_null_delete_fn(DELETE_OF(object)) \
    { \
        mpi_##kind##_null_delete_fn_(object, key, value, state, ierror); \
    }

ATTRIBUTE_FUNCTIONS(comm)
ATTRIBUTE_FUNCTIONS(type)
ATTRIBUTE_FUNCTIONS(win)

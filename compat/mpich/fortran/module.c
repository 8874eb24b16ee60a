/* What programs with MPICH's module mpi_f08 need beside its routines, as gfortran names it: variables whose addresses
 * are constants, comparisons of handles, the predefined functions of attributes, sizes. A handle is a structure of one
 * integer, and comes by address. */
#include "glue.h"

MPI_Fint MPIR_F08_MPI_BOTTOM, MPIR_F08_MPI_IN_PLACE;
MPI_Status MPIR_F08_MPI_STATUS_IGNORE_OBJ, MPIR_F08_MPI_STATUSES_IGNORE_OBJ;
MPI_Fint __mpi_f08_link_constants_MOD_mpi_errcodes_ignore, __mpi_f08_link_constants_MOD_mpi_unweighted;
MPI_Fint __mpi_f08_link_constants_MOD_mpi_weights_empty;
char __mpi_f08_link_constants_MOD_mpi_argv_null = ' ', __mpi_f08_link_constants_MOD_mpi_argvs_null = ' ';

#define ANSWER(name, operator) \
    MPI_Fint __mpi_f08_types_MOD_mpi_##name(const MPI_Fint *one, const MPI_Fint *other); \
    MPI_Fint __mpi_f08_types_MOD_mpi_##name(const MPI_Fint *one, const MPI_Fint *other) \
    { \
        return *one operator *other; \
    }
/* Of two handles, and of one with the integer of another. */
#define COMPARE(kind) \
    ANSWER(kind##_eq, ==) ANSWER(kind##_f08_eq_f, ==) ANSWER(kind##_f_eq_f08, ==) \
    ANSWER(kind##_neq, !=) ANSWER(kind##_f08_neq_f, !=) ANSWER(kind##_f_neq_f08, !=)

COMPARE(comm)
COMPARE(datatype)
COMPARE(errhandler)
COMPARE(file)
COMPARE(group)
COMPARE(info)
COMPARE(message)
COMPARE(op)
COMPARE(request)
COMPARE(session)
COMPARE(win)

/* The module mpi has its own names for some. */
#define ANSWER_OLD(name, operator) \
    MPI_Fint __mpi_constants_MOD_##name(const MPI_Fint *one, const MPI_Fint *other); \
    MPI_Fint __mpi_constants_MOD_##name(const MPI_Fint *one, const MPI_Fint *other) \
    { \
        return *one operator *other; \
    }
#define COMPARE_OLD(kind) ANSWER_OLD(kind##eq, ==) ANSWER_OLD(kind##neq, !=)

COMPARE_OLD(comm)
COMPARE_OLD(datatype)
COMPARE_OLD(errhandler)
COMPARE_OLD(file)
COMPARE_OLD(group)
COMPARE_OLD(info)
COMPARE_OLD(message)
COMPARE_OLD(op)
COMPARE_OLD(request)
COMPARE_OLD(win)

#include "../../fortran/attribute_functions.h"

#define SIZE(type, bytes) \
    void __mpi_f08_types_MOD_mpi_sizeof_##type(const void *x, MPI_Fint *size, MPI_Fint *ierror); \
    void __mpi_f08_types_MOD_mpi_sizeof_##type(const void *x, MPI_Fint *size, MPI_Fint *ierror) \
    { \
        (void)x; \
        *size = (bytes); \
        give(ierror, MPI_SUCCESS); \
    }

SIZE(character, 1)
SIZE(logical, 4)
SIZE(xint8, 1)
SIZE(xint16, 2)
SIZE(xint32, 4)
SIZE(xint64, 8)
SIZE(xreal32, 4)
SIZE(xreal64, 8)
SIZE(xreal128, 16)
SIZE(xcomplex32, 8)
SIZE(xcomplex64, 16)
SIZE(xcomplex128, 32)

/* Statuses and handles between the modules: both sides are the same integers. */
void __mpi_f08_types_MOD_mpi_status_f2f08(const MPI_Fint *from, MPI_Status *to, MPI_Fint *ierror);
void __mpi_f08_types_MOD_mpi_status_f2f08(const MPI_Fint *from, MPI_Status *to, MPI_Fint *ierror)
{
    *to = *(const MPI_Status *)from;
    give(ierror, MPI_SUCCESS);
}

void __mpi_f08_types_MOD_mpi_status_f082f(const MPI_Status *from, MPI_Fint *to, MPI_Fint *ierror);
void __mpi_f08_types_MOD_mpi_status_f082f(const MPI_Status *from, MPI_Fint *to, MPI_Fint *ierror)
{
    *(MPI_Status *)to = *from;
    give(ierror, MPI_SUCCESS);
}

/* The compiler must believe that a buffer is used here: that is all. */
void mpi_f_sync_reg_f08ts_(const void *buffer);
void mpi_f_sync_reg_f08ts_(const void *buffer)
{
    (void)buffer;
}

/* MPI_SIZEOF of the module mpi: a routine for each type, of a scalar and of a vector. */
#define SIZE_OLD(type, bytes) \
    void __mpi_sizeofs_MOD_mpi_sizeof_##type(const void *x, MPI_Fint *size, MPI_Fint *ierror); \
    void __mpi_sizeofs_MOD_mpi_sizeof_##type(const void *x, MPI_Fint *size, MPI_Fint *ierror) \
    { \
        (void)x; \
        *size = (bytes); \
        give(ierror, MPI_SUCCESS); \
    }
#define SIZES_OLD(type, bytes) SIZE_OLD(type, bytes) SIZE_OLD(type##v, bytes)

SIZES_OLD(ch, 1)
SIZES_OLD(cx, 8)
SIZES_OLD(d, 8)
SIZES_OLD(i, 4)
SIZES_OLD(i1, 1)
SIZES_OLD(i2, 2)
SIZES_OLD(i8, 8)
SIZES_OLD(l, 4)
SIZES_OLD(r, 4)

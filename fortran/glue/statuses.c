/*
 * Conversions of statuses between C and Fortran (section 19.3.5), and where Fortran's ignored statuses are. As
 * handles.c, also for programs without Fortran: there these addresses are null.
 */
#include "language.h"

#include <string.h>

extern MPI_Status mpi_fortran_status_ignore_ __attribute__((weak));
extern MPI_Status mpi_fortran_statuses_ignore_ __attribute__((weak));

/* Not constant: MPICH and Intel MPI have these names as well, in their main library, and write to them. */
MPI_Fint *MPI_F_STATUS_IGNORE = (MPI_Fint *)&mpi_fortran_status_ignore_;
MPI_Fint *MPI_F_STATUSES_IGNORE = (MPI_Fint *)&mpi_fortran_statuses_ignore_;
MPI_F08_status *MPI_F08_STATUS_IGNORE = (MPI_F08_status *)&mpi_fortran_status_ignore_;
MPI_F08_status *MPI_F08_STATUSES_IGNORE = (MPI_F08_status *)&mpi_fortran_statuses_ignore_;

_Static_assert(sizeof(MPI_Status) == MPI_F_STATUS_SIZE * sizeof(MPI_Fint), "a status is the same in both languages");
_Static_assert(sizeof(MPI_F08_status) == sizeof(MPI_Status), "a status is the same in both languages");

/* A status that is ignored holds nothing to convert. */
static int status_copy(const void *from, void *to)
{
    if (from == NULL || to == NULL || from == &mpi_fortran_status_ignore_ || from == &mpi_fortran_statuses_ignore_) {
        MPI_Comm_call_errhandler(MPI_COMM_WORLD, MPI_ERR_ARG);
        return MPI_ERR_ARG;
    }
    memcpy(to, from, sizeof(MPI_Status));
    return MPI_SUCCESS;
}

#define CONVERSION(name, From, To) \
    int PMPI_Status_##name(const From *from, To *to) \
    { \
        return status_copy(from, to); \
    } \
    TOOLS_MAY_DEFINE(int, Status_##name, (const From *, To *))

CONVERSION(f2c, MPI_Fint, MPI_Status)
CONVERSION(c2f, MPI_Status, MPI_Fint)
CONVERSION(f082c, MPI_F08_status, MPI_Status)
CONVERSION(c2f08, MPI_Status, MPI_F08_status)
CONVERSION(f2f08, MPI_Fint, MPI_F08_status)
CONVERSION(f082f, MPI_F08_status, MPI_Fint)

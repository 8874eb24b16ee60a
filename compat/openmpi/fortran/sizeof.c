/* MPI_SIZEOF of Open MPI's modules: a routine for each type and rank. Only the type counts. */
#include <stddef.h>
#include "mpi.h"

#define ANSWER(name, bytes) \
    void name(const void *x, MPI_Fint *size, MPI_Fint *ierror); \
    void name(const void *x, MPI_Fint *size, MPI_Fint *ierror) \
    { \
        (void)x; \
        *size = (bytes); \
        if (ierror != NULL) *ierror = MPI_SUCCESS; \
    }
#define OF_RANK(type, rank, bytes) \
    ANSWER(mpi_sizeof_##type##_##rank##_, bytes) \
    ANSWER(pmpi_sizeof_##type##_##rank##_, bytes)
#define OF_TYPE(type, bytes) \
    OF_RANK(type, scalar, bytes) OF_RANK(type, r1, bytes) OF_RANK(type, r2, bytes) OF_RANK(type, r3, bytes) \
    OF_RANK(type, r4, bytes) OF_RANK(type, r5, bytes) OF_RANK(type, r6, bytes) OF_RANK(type, r7, bytes) \
    OF_RANK(type, r8, bytes) OF_RANK(type, r9, bytes) OF_RANK(type, r10, bytes) OF_RANK(type, r11, bytes) \
    OF_RANK(type, r12, bytes) OF_RANK(type, r13, bytes) OF_RANK(type, r14, bytes) OF_RANK(type, r15, bytes)

OF_TYPE(character, 1)
OF_TYPE(logical, 4)
OF_TYPE(int8, 1)
OF_TYPE(int16, 2)
OF_TYPE(int32, 4)
OF_TYPE(int64, 8)
OF_TYPE(real32, 4)
OF_TYPE(real64, 8)
OF_TYPE(real128, 16)
OF_TYPE(complex32, 8)
OF_TYPE(complex64, 16)
OF_TYPE(complex128, 32)

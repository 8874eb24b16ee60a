/*
 * What the files have in common that C programs get without Fortran: handles.c and statuses.c.
 */
#ifndef TERN_FORTRAN_LANGUAGE_H
#define TERN_FORTRAN_LANGUAGE_H

#include "mpi.h"

/* The name without P, which a profiling tool may define instead (section 15.2). */
#define TOOLS_MAY_DEFINE(Result, name, parameters) \
    Result MPI_##name parameters __attribute__((weak, alias("PMPI_" #name)));

#endif

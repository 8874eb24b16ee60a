/* Cells for the integers that Fortran sets as attributes: addresses of one range, so that they can be recognized. */
#ifndef TERN_FORTRAN_CELLS_H
#define TERN_FORTRAN_CELLS_H

#include "mpi.h"

#pragma GCC visibility push(hidden)

/* A cell with this value. */
void *cell_of(MPI_Aint value);

/* The value of a cell; of anything else, the address as an integer. */
MPI_Aint cell_value(const void *at);

/* Gives a cell back; leaves anything else alone. */
void cell_free(void *at);

#pragma GCC visibility pop

#endif

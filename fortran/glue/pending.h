/* Dense copies that a request uses: completion.c says when it starts, ends and goes. Those of a file's split call end
 * with its second half. */
#ifndef TERN_FORTRAN_PENDING_H
#define TERN_FORTRAN_PENDING_H

#include <stdatomic.h>

#include "mpi.h"

#pragma GCC visibility push(hidden)

/* How many there are: nearly always none, and then one load is all that a call pays. */
extern atomic_int pending_count;

void pending_start(MPI_Fint request);
void pending_end(MPI_Fint request);
void pending_land(MPI_Fint request);
void pending_forget(MPI_Fint request);
void pending_replace(MPI_Fint request);
void pending_split_end(MPI_Fint file);

static inline int some_pending(void)
{
    return atomic_load_explicit(&pending_count, memory_order_relaxed) != 0;
}

static inline void started(MPI_Fint request)
{
    if (some_pending()) pending_start(request);
}

static inline void finished(MPI_Fint request)
{
    if (some_pending()) pending_end(request);
}

/* The data of a request are there, though it has not ended yet. */
static inline void landed(MPI_Fint request)
{
    if (some_pending()) pending_land(request);
}

/* A request was made. If copies hang at its number, C has completed the request that had it before. */
static inline void begun(MPI_Fint request)
{
    if (some_pending()) pending_replace(request);
}

static inline void forgotten(MPI_Fint request)
{
    if (some_pending()) pending_forget(request);
}

static inline void split_finished(MPI_Fint file)
{
    if (some_pending()) pending_split_end(file);
}

#pragma GCC visibility pop

#endif

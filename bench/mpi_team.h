// The team of `measure.h`, made of the ranks of MPI_COMM_WORLD.
#ifndef TERN_BENCH_MPI_TEAM_H
#define TERN_BENCH_MPI_TEAM_H

#include "measure.h"
#include <mpi.h>

static inline void mpi_agree(long *number) {
    MPI_Bcast(number, 1, MPI_LONG, 0, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
}

// For `team.slowest`, where ranks take different times: the longest, at rank 0.
static inline double slowest_rank(double seconds) {
    double longest = seconds;
    MPI_Reduce(&seconds, &longest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    return longest;
}

static inline struct team mpi_team(void) {
    struct team team = {0, mpi_agree, NULL};
    MPI_Comm_rank(MPI_COMM_WORLD, &team.rank);
    return team;
}

static inline int world_size(void) {
    int size;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    return size;
}

// The time budget of one point in seconds: the program's first argument.
static inline double budget_of(int argc, char **argv) {
    return argc > 1 ? atof(argv[1]) : 0.1;
}

#endif

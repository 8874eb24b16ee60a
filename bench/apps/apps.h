// What the mini-applications share: a step takes as long as the slowest rank takes for it, and its result must be
// right.
#ifndef TERN_BENCH_APPS_H
#define TERN_BENCH_APPS_H

#include "../mpi_team.h"
#include <math.h>
#include <stdint.h>
#include <string.h>

static inline double sum_of_all(double part) {
    double sum;
    MPI_Allreduce(&part, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return sum;
}

static inline void demand(int right, const char *what) {
    int all;
    MPI_Allreduce(&right, &all, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
    if (!all) {
        fprintf(stderr, "%s: the result is wrong\n", what);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static inline void *need(size_t bytes) {
    return filled(malloc(bytes ? bytes : 1), bytes, 0);
}

static inline void measure_steps(const char *name, loop_fn steps, void *state, double budget) {
    struct team team = mpi_team();
    team.slowest = slowest_rank;
    struct summary step = measure(&team, steps, state, budget);
    if (team.rank == 0)
        print_result(name, 0, step);
}

// Steps that keep a sum over all ranks, if and only if what they exchange is right.
static inline void measure_keeping(const char *name, loop_fn steps, void *state, double (*total)(void *),
                                   double budget) {
    double before = total(state);
    measure_steps(name, steps, state, budget);
    demand(fabs(total(state) - before) <= 1e-9 * before, name);
}

// Where each rank's part begins, if they follow one another; gives the length of all.
static inline int starts(const int *count, int *start, int ranks) {
    int all = 0;
    for (int r = 0; r < ranks; all += count[r++])
        start[r] = all;
    return all;
}

// Numbers that look random and that every rank can make for itself (splitmix64).
static inline uint64_t hashed(uint64_t number) {
    number += 0x9e3779b97f4a7c15u;
    number = (number ^ (number >> 30)) * 0xbf58476d1ce4e5b9u;
    number = (number ^ (number >> 27)) * 0x94d049bb133111ebu;
    return number ^ (number >> 31);
}

#endif

/* ARMCI-MPI, which is over windows: bricks of a cube, vectors of pieces, sums, counters, locks. */
#include <mpi.h>
#include <armci.h>
#include <stdio.h>
#include <stdlib.h>

#include "check.h"

enum { N = 64, CUBE = N * N * N, ROUNDS = 10, PIECES = 100, PIECE = 3, STEPS = 1000, LOCKS = 100 };

static int rank, size;
static void **base;
static double *buffer;
/* A brick of 8 by 6 by 5 elements within the cube: bytes of a row, rows, planes. */
static int brick[3] = {8 * sizeof(double), 6, 5};
/* How many bytes rows and planes are apart. */
static int strides[2] = {N * sizeof(double), N * N * sizeof(double)};

static double *cube(int of)
{
    return base[of];
}

static void put_bricks(void)
{
    enum { CORNER = 3 + 4 * N + 5 * N * N };
    int to = (rank + 1) % size, from = (rank + size - 1) % size;
    ARMCI_PutS(buffer, strides, cube(to) + CORNER, strides, brick, 2, to);
    ARMCI_Fence(to);
    ARMCI_Barrier();
    ARMCI_Access_begin(base[rank]);
    for (int z = 0; z < 5; z++)
        for (int y = 0; y < 6; y++)
            for (int x = 0; x < 8; x++) {
                int at = x + y * N + z * N * N;
                CHECK(cube(rank)[CORNER + at] == 1000 * from + at);
            }
    ARMCI_Access_end(base[rank]);
    ARMCI_Barrier();
}

/* All ranks add to the same brick of all others. */
static void add_bricks(void)
{
    enum { CORNER = 32, AT = 2 + 3 * N + 4 * N * N };
    double half = 0.5, wanted = rank;
    for (int to = 0; to < size; to++)
        for (int round = 0; round < ROUNDS; round++)
            ARMCI_AccS(ARMCI_ACC_DBL, &half, buffer, strides, cube(to) + CORNER, strides, brick, 2, to);
    ARMCI_AllFence();
    ARMCI_Barrier();
    for (int from = 0; from < size; from++) wanted += ROUNDS * half * (1000 * from + AT);
    ARMCI_Access_begin(base[rank]);
    CHECK(cube(rank)[CORNER + AT] == wanted);
    ARMCI_Access_end(base[rank]);
    ARMCI_Barrier();
}

static void exchange_pieces(void)
{
    int to = (rank + 1) % size;
    void *here[PIECES], *there[PIECES], *back[PIECES];
    static double found[PIECES * PIECE];
    for (int i = 0; i < PIECES; i++) {
        here[i] = buffer + i * 7;
        there[i] = cube(to) + 200000 + i * 11;
        back[i] = found + i * PIECE;
    }
    armci_giov_t puts = {here, there, PIECE * sizeof(double), PIECES};
    armci_giov_t gets = {there, back, PIECE * sizeof(double), PIECES};
    ARMCI_PutV(&puts, 1, to);
    ARMCI_Fence(to);
    ARMCI_GetV(&gets, 1, to);
    for (int i = 0; i < PIECES * PIECE; i++) CHECK(found[i] == buffer[i / PIECE * 7 + i % PIECE]);
    ARMCI_Barrier();
}

/* Two counters of rank 0: one by ARMCI_Rmw, one under a lock. */
static void count(void)
{
    long seen, *counters = base[0], found[2];
    ARMCI_Access_begin(base[rank]);
    ((long *)base[rank])[0] = ((long *)base[rank])[1] = 0;
    ARMCI_Access_end(base[rank]);
    ARMCI_Create_mutexes(1);
    for (int step = 0; step < STEPS; step++) ARMCI_Rmw(ARMCI_FETCH_AND_ADD_LONG, &seen, counters, 1, 0);
    for (int round = 0; round < LOCKS; round++) {
        ARMCI_Lock(0, 0);
        ARMCI_Get(counters + 1, &seen, sizeof seen, 0);
        seen++;
        ARMCI_Put(&seen, counters + 1, sizeof seen, 0);
        ARMCI_Fence(0);
        ARMCI_Unlock(0, 0);
    }
    ARMCI_Barrier();
    ARMCI_Get(counters, found, sizeof found, 0);
    CHECK(found[0] == (long)STEPS * size && found[1] == (long)LOCKS * size);
    ARMCI_Destroy_mutexes();
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    ARMCI_Init();
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    base = malloc(size * sizeof *base);
    ARMCI_Malloc(base, CUBE * sizeof(double));
    buffer = ARMCI_Malloc_local(CUBE * sizeof(double));
    ARMCI_Access_begin(base[rank]);
    for (int i = 0; i < CUBE; i++) {
        cube(rank)[i] = rank;
        buffer[i] = 1000 * rank + i;
    }
    ARMCI_Access_end(base[rank]);
    ARMCI_Barrier();
    put_bricks();
    add_bricks();
    exchange_pieces();
    count();
    ARMCI_Barrier();
    ARMCI_Free_local(buffer);
    ARMCI_Free(base[rank]);
    free(base);
    if (rank == 0) printf("ok\n");
    ARMCI_Finalize();
    MPI_Finalize();
    return 0;
}

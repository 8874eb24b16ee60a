/* Global Arrays over ARMCI-MPI, which is over windows: patches, strides, accumulation, counters, products, locks. */
#include <ga.h>
#include <macdecls.h>
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "check.h"

enum { N = 200, ROUNDS = 20, TICKETS = 2000, LOCKS = 50, DUPLICATES = 200 };

static int rank, size;
static double matrix[N * N];

/* The element at row i and column j. */
static double element(int i, int j)
{
    return (double)i * N + j;
}

/* Rows lie with the ranks in turn: most puts go elsewhere. */
static void write_rows(int array)
{
    for (int i = rank; i < N; i += size) {
        int low[2] = {i, 0}, high[2] = {i, N - 1}, leading = N;
        for (int j = 0; j < N; j++) matrix[j] = element(i, j);
        NGA_Put(array, low, high, matrix, &leading);
    }
    GA_Sync();
}

static void read_patches(int array)
{
    for (int round = 0; round < ROUNDS; round++) {
        int low[2] = {(round * 7 + rank) % 150, round * 13 % 140}, high[2] = {low[0] + 40, low[1] + 55}, leading = 56;
        NGA_Get(array, low, high, matrix, &leading);
        for (int i = 0; i <= 40; i++)
            for (int j = 0; j <= 55; j++) CHECK(matrix[i * leading + j] == element(low[0] + i, low[1] + j));
    }
    int low[2] = {1, 2}, high[2] = {N - 2, N - 3}, skip[2] = {3, 5}, leading = N;
    NGA_Strided_get(array, low, high, skip, matrix, &leading);
    CHECK(matrix[0] == element(1, 2) && matrix[1] == element(1, 7));
}

static void gather(int array)
{
    static double found[N];
    static int places[N][2], *place[N];
    for (int i = 0; i < N; i++) {
        place[i] = places[i];
        place[i][0] = i;
        place[i][1] = (i * 3 + rank) % N;
    }
    NGA_Gather(array, found, place, N);
    for (int i = 0; i < N; i++) CHECK(found[i] == element(place[i][0], place[i][1]));
}

/* All ranks add to all elements at once. */
static void accumulate(int array)
{
    int low[2] = {0, 0}, high[2] = {N - 1, N - 1}, leading = N;
    double one = 1;
    GA_Zero(array);
    for (int i = 0; i < N * N; i++) matrix[i] = 1;
    for (int round = 0; round < ROUNDS; round++) NGA_Acc(array, low, high, matrix, &leading, &one);
    GA_Sync();
    NGA_Get(array, low, high, matrix, &leading);
    for (int i = 0; i < N * N; i++) CHECK(matrix[i] == ROUNDS * size);
    GA_Sync();
}

static void multiply(int a, int b, int c)
{
    int place[2] = {17, 3}, leading = 1;
    double found, wanted = 0;
    GA_Dgemm('n', 'n', N, N, N, 1.0, a, b, 0.0, c);
    NGA_Get(c, place, place, &found, &leading);
    for (int j = 0; j < N; j++) wanted += element(17, j) * ROUNDS * size;
    CHECK(fabs(found - wanted) < 1e-9 * wanted);
    GA_Transpose(a, c);
    NGA_Get(c, place, place, &found, &leading);
    CHECK(found == element(3, 17));
}

/* Tickets from a counter: none twice, none left out. */
static void take_tickets(int counter)
{
    int first = 0;
    long mine = 0, last = -1;
    GA_Zero(counter);
    GA_Sync();
    for (;;) {
        long ticket = NGA_Read_inc(counter, &first, 1);
        CHECK(ticket > last);
        last = ticket;
        if (ticket >= TICKETS) break;
        mine++;
    }
    GA_Lgop(&mine, 1, "+");
    CHECK(mine == TICKETS);
}

static void count_under_locks(int counter)
{
    int first = 0;
    long value;
    GA_Create_mutexes(1);
    GA_Zero(counter);
    GA_Sync();
    for (int round = 0; round < LOCKS; round++) {
        GA_Lock(0);
        NGA_Get(counter, &first, &first, &value, NULL);
        value++;
        GA_Init_fence();
        NGA_Put(counter, &first, &first, &value, NULL);
        GA_Fence();
        GA_Unlock(0);
    }
    GA_Sync();
    NGA_Get(counter, &first, &first, &value, NULL);
    CHECK(value == (long)LOCKS * size);
    GA_Destroy_mutexes();
}

int main(int argc, char **argv)
{
    int shape[2] = {N, N}, chunk[2] = {-1, -1}, one = 1;
    MPI_Init(&argc, &argv);
    GA_Initialize();
    rank = GA_Nodeid();
    size = GA_Nnodes();
    CHECK(MA_init(C_DBL, 1 << 22, 1 << 22));
    int a = NGA_Create(C_DBL, 2, shape, "a", chunk), b = GA_Duplicate(a, "b"), c = GA_Duplicate(a, "c");
    int counter = NGA_Create(C_LONG, 1, &one, "counter", NULL);
    write_rows(a);
    read_patches(a);
    gather(a);
    accumulate(b);
    multiply(a, b, c);
    take_tickets(counter);
    count_under_locks(counter);
    for (int round = 0; round < DUPLICATES; round++) GA_Destroy(GA_Duplicate(a, "another"));
    GA_Destroy(a);
    GA_Destroy(b);
    GA_Destroy(c);
    GA_Destroy(counter);
    if (rank == 0) printf("ok\n");
    GA_Terminate();
    MPI_Finalize();
    return 0;
}

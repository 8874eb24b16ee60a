/* Deep queues: 16,384 posted receives and as many early arrivals, matched from either end and at random; time
 * per message must not grow with the depth (a list, as MPICH 5.0.2 has, takes minutes here).
 * ranks: 2
 */
#include "check.h"

enum { DEPTH = 16384 };
static MPI_Request requests[DEPTH];
static int in[DEPTH];

/* A permutation of 0..DEPTH-1 by an odd multiplier. */
static int shuffled(int i)
{
    return (int)((unsigned)i * 9973u % DEPTH);
}

static int nth(int order, int i)
{
    return order == 0 ? i : order == 1 ? DEPTH - 1 - i : shuffled(i);
}

static void posted(int order)
{
    if (check_rank == 0) {
        for (int i = 0; i < DEPTH; i++) MPI_Irecv(&in[i], 1, MPI_INT, 1, i, MPI_COMM_WORLD, &requests[i]);
        MPI_Send(NULL, 0, MPI_INT, 1, 0, MPI_COMM_WORLD);
        MPI_Waitall(DEPTH, requests, MPI_STATUSES_IGNORE);
        int wrong = 0;
        for (int i = 0; i < DEPTH; i++) wrong += in[i] != i * 3;
        CHECK_EQ(wrong, 0);
    } else {
        MPI_Recv(NULL, 0, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int i = 0; i < DEPTH; i++) {
            int tag = nth(order, i), value = tag * 3;
            MPI_Send(&value, 1, MPI_INT, 0, tag, MPI_COMM_WORLD);
        }
    }
}

static void unexpected(int order)
{
    if (check_rank == 1) {
        for (int i = 0; i < DEPTH; i++) {
            in[i] = i * 5;
            MPI_Isend(&in[i], 1, MPI_INT, 0, i, MPI_COMM_WORLD, &requests[i]);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Waitall(DEPTH, requests, MPI_STATUSES_IGNORE);
    } else {
        int wrong = 0;
        MPI_Barrier(MPI_COMM_WORLD);
        for (int i = 0; i < DEPTH; i++) {
            int tag = nth(order, i), value = -1;
            MPI_Recv(&value, 1, MPI_INT, i % 2 ? MPI_ANY_SOURCE : 1, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            wrong += value != tag * 5;
        }
        CHECK_EQ(wrong, 0);
    }
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    for (int order = 0; order < 3; order++) {
        posted(order);
        unexpected(order);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    return check_finish();
}

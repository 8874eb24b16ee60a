/* 1,000 sends of 1 MiB each way are started before anything is received: any number of requests is
 * accepted and none needs memory beyond the user's (MPI-5.0 section 3.7).
 * ranks: 2
 * timeout: 120
 */
#include "check.h"

enum { MANY = 1000, MIB = 1 << 20, BUFFERS = 16 };

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    int peer = 1 - check_rank;
    static MPI_Request requests[MANY];
    /* The same data may be sent many times at once: sends only read. */
    char *out[BUFFERS], *in = check_alloc(MIB);
    for (int b = 0; b < BUFFERS; b++) {
        out[b] = check_alloc(MIB);
        check_fill(out[b], MIB, check_rank * 100 + b);
    }
    for (int i = 0; i < MANY; i++) MPI_Isend(out[i % BUFFERS], MIB, MPI_BYTE, peer, i, MPI_COMM_WORLD, &requests[i]);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int k = 0; k < MANY; k++) {
        /* Half in order, half backwards. */
        int i = k < MANY / 2 ? k : MANY - 1 - (k - MANY / 2);
        MPI_Recv(in, MIB, MPI_BYTE, peer, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (k % 10 == 0) CHECK_DATA(in, MIB, peer * 100 + i % BUFFERS);
        else CHECK(check_matching(in, 4096, peer * 100 + i % BUFFERS) == 4096);
    }
    MPI_Waitall(MANY, requests, MPI_STATUSES_IGNORE);
    for (int b = 0; b < BUFFERS; b++) free(out[b]);
    free(in);
    return check_finish();
}

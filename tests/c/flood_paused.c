/* A rank that takes nothing for a while, to which another one sends more than any network keeps (MPI-5.0
 * section 3.5): nothing is lost, and all comes in order.
 * ranks: 2
 * timeout: 60
 */
#include "check.h"
#include <unistd.h>

static void flood(int messages, int ints)
{
    int *out = check_alloc(sizeof(int) * (size_t)messages * (size_t)ints);
    int *in = check_alloc(sizeof(int) * (size_t)ints);
    MPI_Request *requests = check_alloc(sizeof(MPI_Request) * (size_t)messages);
    if (check_rank == 1) {
        for (int i = 0; i < messages * ints; i++) out[i] = i;
        for (int i = 0; i < messages; i++)
            MPI_Isend(out + (size_t)i * (size_t)ints, ints, MPI_INT, 0, ints, MPI_COMM_WORLD, &requests[i]);
        MUST(MPI_Waitall(messages, requests, MPI_STATUSES_IGNORE));
    } else if (check_rank == 0) {
        usleep(100000);
        for (int i = 0; i < messages; i++) {
            MUST(MPI_Recv(in, ints, MPI_INT, 1, ints, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            CHECK_EQ(in[0], i * ints);
            CHECK_EQ(in[ints - 1], i * ints + ints - 1);
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    free(out), free(in), free(requests);
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    for (int round = 0; round < 3; round++) {
        flood(12000, 1);
        flood(12000, 50);
        flood(3000, 750);
    }
    return check_finish();
}

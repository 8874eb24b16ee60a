/* Messages that are received only after their sender has called finalize, and finalize with no other call
 * in between (MPI-5.0 section 11.2.2: finalize completes what was begun).
 * ranks: 2 4
 */
#include <unistd.h>
#include "check.h"

int main(int argc, char **argv)
{
    enum { BIG = 500000 };
    check_init(&argc, &argv);
    int failed = check_summary();
    static int small[8] = {1, 2, 3, 4, 5, 6, 7, 8}, big[BIG];
    static MPI_Request requests[3];
    if (check_rank != 0) {
        for (int i = 0; i < BIG; i++) big[i] = i;
        MPI_Isend(small, 8, MPI_INT, 0, 1, MPI_COMM_WORLD, &requests[2]);
        MPI_Isend(small, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(big, BIG, MPI_INT, 0, 3, MPI_COMM_WORLD, &requests[1]);
        MPI_Request_free(&requests[0]);
        MPI_Request_free(&requests[1]);
        MPI_Request_free(&requests[2]);
        MPI_Finalize();
        return failed;
    }
    usleep(300000);
    for (int r = 1; r < check_size; r++) {
        int in[8] = {0};
        MPI_Recv(big, BIG, MPI_INT, r, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(in, 8, MPI_INT, r, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        failed |= in[7] != 8 || big[BIG - 1] != BIG - 1;
        MPI_Recv(in, 1, MPI_INT, r, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        failed |= in[0] != 1;
    }
    MPI_Finalize();
    if (failed) fprintf(stderr, "a late message was wrong\n");
    return failed;
}

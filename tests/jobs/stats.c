/* Traffic round a ring, for the numbers of 'mpirun --stats': each rank sends its neighbor 100 messages of 8 bytes and
 * 10 of 100,000, and 16 partitions of 4 KiB.
 */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

enum { SHORT = 100, LONG = 10, LONG_BYTES = 100000, PARTITIONS = 16, PARTITION_BYTES = 4096 };

int main(int argc, char **argv)
{
    static char out[LONG_BYTES], in[LONG_BYTES];
    int rank, size, to, from;
    MPI_Request requests[2];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    to = (rank + 1) % size, from = (rank + size - 1) % size;
    for (int i = 0; i < SHORT; i++)
        MPI_Sendrecv(out, 8, MPI_BYTE, to, 0, in, 8, MPI_BYTE, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < LONG; i++)
        MPI_Sendrecv(out, LONG_BYTES, MPI_BYTE, to, 0, in, LONG_BYTES, MPI_BYTE, from, 0, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
    MPI_Psend_init(out, PARTITIONS, PARTITION_BYTES, MPI_BYTE, to, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
    MPI_Precv_init(in, PARTITIONS, PARTITION_BYTES, MPI_BYTE, from, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
    MPI_Startall(2, requests);
    MPI_Pready_range(0, PARTITIONS - 1, requests[0]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    MPI_Finalize();
    return 0;
}

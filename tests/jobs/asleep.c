/* Ranks that wait in collective calls sleep until something happens: how often they gave their core away is counted.
 * Meanwhile a rank in a barrier serves the messages of others. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { BYTES = 4 << 20, SWITCHES_MAX = 100 };

static int rank, size;
static char out[BYTES], in[BYTES];

static long switches(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_nvcsw;
}

/* Rank 0 comes a second late to whatever this is. */
static int waits(int call)
{
    int value = rank, sum = 0;
    long before = switches();
    if (rank == 0) sleep(1);
    if (call == 0) MPI_Barrier(MPI_COMM_WORLD);
    if (call == 1) MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (call == 2) MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    long given = switches() - before;
    if (rank == 0 || given <= SWITCHES_MAX) return 0;
    fprintf(stderr, "rank %d gave its core away %ld times in call %d\n", rank, given, call);
    return 1;
}

/* Rank 1 is in a barrier that rank 0 comes to when its message has been taken: somebody must ring rank 1. */
static int serves(void)
{
    MPI_Request request;
    int wrong = 0;
    memset(out, 7, BYTES);
    for (int i = 0; i < 20; i++) {
        if (rank == 1) MPI_Irecv(in, BYTES, MPI_BYTE, 0, i, MPI_COMM_WORLD, &request);
        if (rank == 0) {
            usleep(2000);
            MPI_Ssend(out, BYTES, MPI_BYTE, 1, i, MPI_COMM_WORLD);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 1) {
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            wrong += memcmp(in, out, BYTES) != 0;
        }
    }
    return wrong;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int wrong = serves();
    for (int call = 0; call < 3; call++) wrong += waits(call);
    int all = 0;
    MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return all != 0;
}

/* A thread blocked in a receive does not keep others from sending, nor from completing it
 * (MPI-5.0 section 11.6.1), even within one process.
 * ranks: 1 2
 */
#include <pthread.h>
#include <unistd.h>
#include "check.h"

static int got = -1;

static void *receive(void *unused)
{
    (void)unused;
    MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return NULL;
}

static void *probe(void *unused)
{
    (void)unused;
    MPI_Status status;
    MPI_Probe(MPI_ANY_SOURCE, 6, MPI_COMM_WORLD, &status);
    MPI_Recv(&got, 1, MPI_INT, status.MPI_SOURCE, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return NULL;
}

static void blocked_then_fed(void *(*work)(void *), int tag)
{
    pthread_t thread;
    int value = 100 + check_rank, in = 0, to = (check_rank + 1) % check_size;
    int from = (check_rank + check_size - 1) % check_size;
    pthread_create(&thread, NULL, work, NULL);
    usleep(100000);
    /* Other traffic goes on meanwhile. */
    for (int i = 0; i < 100; i++)
        MPI_Sendrecv(&i, 1, MPI_INT, to, 1, &in, 1, MPI_INT, from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK_EQ(in, 99);
    CHECK_EQ(got, -1);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Ssend(&value, 1, MPI_INT, to, tag, MPI_COMM_WORLD);
    pthread_join(thread, NULL);
    CHECK_EQ(got, 100 + from);
    got = -1;
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    check_identify();
    if (!CHECK_EQ(provided, MPI_THREAD_MULTIPLE)) return check_finish();
    blocked_then_fed(receive, 5);
    blocked_then_fed(probe, 6);
    return check_finish();
}

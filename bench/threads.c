// Threads that all send and receive, under MPI_THREAD_MULTIPLE: each of `THREADS` threads of a rank exchanges
// messages of 8 bytes with the thread of its number in every other rank in turn. With 3 ranks they outnumber the
// cores of most machines.
// usage: threads SECONDS [THREADS]
#include "mpi_team.h"
#include <pthread.h>

#define THREADS_MAX 16

struct worker {
    int number, rank, ranks;
    long rounds;
};

static void *exchange(void *arg) {
    struct worker *me = arg;
    long out = 0, in = 0;
    for (long round = 0; round < me->rounds; round++)
        for (int step = 1; step < me->ranks; step++) {
            int to = (me->rank + step) % me->ranks, from = (me->rank + me->ranks - step) % me->ranks;
            MPI_Sendrecv(&out, 1, MPI_LONG, to, me->number, &in, 1, MPI_LONG, from, me->number, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE);
            out = in + 1;
        }
    return NULL;
}

static int threads = 4, rank, ranks;

static void all_exchange(void *unused, long rounds) {
    pthread_t others[THREADS_MAX];
    struct worker workers[THREADS_MAX];
    (void)unused;
    for (int i = 0; i < threads; i++) {
        workers[i] = (struct worker){i, rank, ranks, rounds};
        if (i > 0)
            pthread_create(&others[i], NULL, exchange, &workers[i]);
    }
    exchange(&workers[0]);
    for (int i = 1; i < threads; i++)
        pthread_join(others[i], NULL);
}

int main(int argc, char **argv) {
    int level;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    if (level < MPI_THREAD_MULTIPLE)
        MPI_Abort(MPI_COMM_WORLD, 1);
    struct team team = mpi_team();
    rank = team.rank;
    ranks = world_size();
    threads = argc > 2 ? atoi(argv[2]) : threads;
    if (threads < 1 || threads > THREADS_MAX)
        MPI_Abort(MPI_COMM_WORLD, 2);
    struct summary point = measure(&team, all_exchange, NULL, budget_of(argc, argv));
    if (rank == 0)
        print_result("threads", threads, point);
    MPI_Finalize();
    return 0;
}

/* Threads that access the same targets in one epoch of MPI_Win_lock_all (MPI-5.0 sections 11.6 and 12.5.3): several
 * of them may be the first to access a target.
 * ranks: 2 3
 * timeout: 60
 */
#include <pthread.h>
#include "check.h"

enum { THREADS = 4, EPOCHS = 300 };

static MPI_Win win;
static int *memory;
static long wrong[THREADS];
static pthread_barrier_t phase;

/* The first thread opens and closes the epoch in which all of them count up at every rank. */
static void *counts(void *argument)
{
    const int t = (int)(intptr_t)argument, one = 1;
    for (int epoch = 0; epoch < EPOCHS; epoch++) {
        if (t == 0) wrong[t] += MPI_Win_lock_all(0, win) != MPI_SUCCESS;
        pthread_barrier_wait(&phase);
        for (int i = 1; i <= check_size; i++) {
            int target = (check_rank + i) % check_size;
            wrong[t] += MPI_Accumulate(&one, 1, MPI_INT, target, t, 1, MPI_INT, MPI_SUM, win) != MPI_SUCCESS;
        }
        if (t % 2) wrong[t] += MPI_Win_flush_all(win) != MPI_SUCCESS;
        pthread_barrier_wait(&phase);
        if (t == 0) wrong[t] += MPI_Win_unlock_all(win) != MPI_SUCCESS;
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    check_identify();
    CHECK_EQ(provided, MPI_THREAD_MULTIPLE);
    MUST(MPI_Win_allocate(THREADS * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
    memset(memory, 0, THREADS * sizeof(int));
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    pthread_barrier_init(&phase, NULL, THREADS);
    pthread_t threads[THREADS];
    for (intptr_t t = 0; t < THREADS; t++) CHECK_EQ(pthread_create(&threads[t], NULL, counts, (void *)t), 0);
    for (int t = 0; t < THREADS; t++) pthread_join(threads[t], NULL);
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    for (int t = 0; t < THREADS; t++) {
        CHECK_EQ(wrong[t], 0);
        CHECK_EQ(memory[t], EPOCHS * check_size);
    }
    MUST(MPI_Win_free(&win));
    return check_finish();
}

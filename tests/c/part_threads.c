/* Threads that make partitions ready, and ask for arrived ones, at the same time (MPI-5.0 sections 4.2 and 11.6).
 * ranks: 1 2 4
 * timeout: 120
 */
#include <pthread.h>
#include "check.h"

enum { THREADS = 6, EACH = 5, PARTITIONS = THREADS * EACH, ROUNDS = 40, BYTES_MAX = 20000 };

static MPI_Request send_request, receive_request;
static int previous_rank, bytes, round_now;
static char *out, *in;
static long wrong[THREADS];
static pthread_barrier_t before, after;

/* A thread computes its partitions and makes each ready as it is done. */
static void *producer(void *argument)
{
    int t = (int)(intptr_t)argument;
    for (int round = 0; round < ROUNDS; round++) {
        pthread_barrier_wait(&before);
        for (int i = 0; i < EACH; i++) {
            int at = (i * THREADS + t) % PARTITIONS;
            check_fill(out + (size_t)at * bytes, (size_t)bytes, (uint64_t)(round_now * 1000 + check_rank * 100 + at));
            wrong[t] += MPI_Pready(at, send_request) != MPI_SUCCESS;
        }
        pthread_barrier_wait(&after);
    }
    return NULL;
}

/* A thread waits for its partitions, while they arrive in any order. */
static void *consumer(void *argument)
{
    int t = (int)(intptr_t)argument;
    for (int round = 0; round < ROUNDS; round++) {
        pthread_barrier_wait(&before);
        for (int at = t * EACH; at < (t + 1) * EACH; at++) {
            for (int flag = 0; !flag;) wrong[t] += MPI_Parrived(receive_request, at, &flag) != MPI_SUCCESS;
            uint64_t seed = (uint64_t)(round_now * 1000 + previous_rank * 100 + at);
            wrong[t] += check_matching(in + (size_t)at * bytes, (size_t)bytes, seed) != (size_t)bytes;
        }
        pthread_barrier_wait(&after);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    check_identify();
    CHECK_EQ(provided, MPI_THREAD_MULTIPLE);
    static const int sizes[] = {8, 1000, BYTES_MAX};
    previous_rank = (check_rank + check_size - 1) % check_size;
    out = malloc(PARTITIONS * BYTES_MAX), in = malloc(PARTITIONS * BYTES_MAX);
    for (int s = 0; s < 3; s++) {
        pthread_t threads[2 * THREADS];
        bytes = sizes[s];
        MUST(MPI_Psend_init(out, PARTITIONS, bytes, MPI_BYTE, (check_rank + 1) % check_size, s, MPI_COMM_WORLD,
                            MPI_INFO_NULL, &send_request));
        MUST(MPI_Precv_init(in, PARTITIONS, bytes, MPI_BYTE, previous_rank, s, MPI_COMM_WORLD, MPI_INFO_NULL,
                            &receive_request));
        pthread_barrier_init(&before, NULL, 2 * THREADS + 1);
        pthread_barrier_init(&after, NULL, 2 * THREADS + 1);
        memset(wrong, 0, sizeof wrong);
        for (int t = 0; t < 2 * THREADS; t++)
            pthread_create(&threads[t], NULL, t < THREADS ? producer : consumer, (void *)(intptr_t)(t % THREADS));
        for (int round = 0; round < ROUNDS; round++) {
            round_now = round;
            MUST(MPI_Start(&receive_request));
            MUST(MPI_Start(&send_request));
            pthread_barrier_wait(&before);
            if (round % 2) MUST(MPI_Wait(&send_request, MPI_STATUS_IGNORE));
            pthread_barrier_wait(&after);
            if (round % 2 == 0) MUST(MPI_Wait(&send_request, MPI_STATUS_IGNORE));
            MUST(MPI_Wait(&receive_request, MPI_STATUS_IGNORE));
        }
        for (int t = 0; t < 2 * THREADS; t++) pthread_join(threads[t], NULL);
        for (int t = 0; t < THREADS; t++) CHECK_EQ(wrong[t], 0);
        pthread_barrier_destroy(&before);
        pthread_barrier_destroy(&after);
        MUST(MPI_Request_free(&send_request));
        MUST(MPI_Request_free(&receive_request));
    }
    free(out), free(in);
    return check_finish();
}

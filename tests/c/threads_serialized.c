/* MPI_THREAD_SERIALIZED (MPI-5.0 section 11.6): threads take turns in messages, waits that sleep, and
 * collectives; none is taken for two at once. Info objects and error codes may be used beside them (section 11.4.1).
 * ranks: 1 2 3
 */
#include <pthread.h>
#include <unistd.h>
#include "check.h"

enum { THREADS = 4, ROUNDS = 24, SIZE = 40000 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turned = PTHREAD_COND_INITIALIZER;
static int turn, ended;
static char sent[SIZE], received[SIZE];

static void messages(int tag)
{
    int to = (check_rank + 1) % check_size, from = (check_rank + check_size - 1) % check_size, came;
    MPI_Request requests[2];
    MPI_Status status;
    memset(sent, tag, SIZE);
    memset(received, -1, SIZE);
    MPI_Irecv(received, SIZE, MPI_BYTE, from, tag, MPI_COMM_WORLD, &requests[0]);
    /* The neighbor sleeps in its wait. */
    if (tag % 5 == check_rank) usleep(3000);
    MPI_Isend(sent, SIZE, MPI_BYTE, to, tag, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    CHECK(received[0] == tag && received[SIZE - 1] == tag);
    MPI_Sendrecv(&tag, 1, MPI_INT, to, 100, &came, 1, MPI_INT, from, 100, MPI_COMM_WORLD, &status);
    CHECK(came == tag && status.MPI_SOURCE == from);
}

static void collectives(int tag)
{
    int sum = 0, root = tag % check_size, value = check_rank == root ? tag : -1;
    MPI_Allreduce(&tag, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(sum == tag * check_size);
    MPI_Bcast(&value, 1, MPI_INT, root, MPI_COMM_WORLD);
    CHECK(value == tag);
}

static void *take_turns(void *argument)
{
    int me = (int)(intptr_t)argument;
    for (int round = 0; round < ROUNDS; round++) {
        pthread_mutex_lock(&lock);
        while (turn % THREADS != me) pthread_cond_wait(&turned, &lock);
        messages(turn % 100);
        collectives(turn % 100);
        turn++;
        pthread_cond_broadcast(&turned);
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

/* What any thread may call at any time. */
static void *beside(void *argument)
{
    int *made = argument;
    for (*made = 0; !__atomic_load_n(&ended, __ATOMIC_ACQUIRE); ++*made) {
        MPI_Info info;
        int flag;
        MPI_Info_create(&info);
        MPI_Info_set(info, "key", "value");
        MPI_Info_free(&info);
        MPI_Initialized(&flag);
        usleep(50);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS], other;
    int made, provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
    check_identify();
    CHECK_EQ(provided, MPI_THREAD_SERIALIZED);
    pthread_create(&other, NULL, beside, &made);
    for (int t = 0; t < THREADS; t++) pthread_create(&threads[t], NULL, take_turns, (void *)(intptr_t)t);
    for (int t = 0; t < THREADS; t++) pthread_join(threads[t], NULL);
    __atomic_store_n(&ended, 1, __ATOMIC_RELEASE);
    pthread_join(other, NULL);
    CHECK(turn == THREADS * ROUNDS && made > 0);
    return check_finish();
}

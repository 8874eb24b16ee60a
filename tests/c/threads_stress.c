/* MPI_THREAD_MULTIPLE (MPI-5.0 section 11.6): many threads send, receive, probe, wait and run collectives
 * at once, each pair of threads on its own tag or communicator, some on shared ones.
 * ranks: 1 2 4
 * timeout: 120
 */
#include <pthread.h>
#include "check.h"

enum { THREADS = 6, ROUNDS = 150 };
static pthread_mutex_t checks = PTHREAD_MUTEX_INITIALIZER;
static MPI_Comm comms[THREADS];

static void expect(int holds, const char *what)
{
    pthread_mutex_lock(&checks);
    check_that(holds, what, __FILE__, __LINE__);
    pthread_mutex_unlock(&checks);
}

static int size_of(int round)
{
    static const int sizes[] = {0, 4, 60, 900, 5000, 30000, 200000};
    return sizes[round % 7];
}

/* The same thread of each rank forms a ring; messages differ by tag only. */
static void *ring(void *argument)
{
    int t = (int)(intptr_t)argument, to = (check_rank + 1) % check_size;
    int from = (check_rank + check_size - 1) % check_size;
    char *in = malloc(200000), *out = malloc(200000);
    for (int round = 0; round < ROUNDS; round++) {
        int n = size_of(round + t);
        MPI_Request requests[2];
        MPI_Status statuses[2];
        check_fill(out, (size_t)n, t * 1000 + round + check_rank);
        MPI_Irecv(in, n, MPI_BYTE, from, t, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(out, n, MPI_BYTE, to, t, MPI_COMM_WORLD, &requests[1]);
        if (round % 3 == 0) {
            MPI_Waitall(2, requests, statuses);
        } else if (round % 3 == 1) {
            int index;
            MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
            MPI_Wait(&requests[1 - index], MPI_STATUS_IGNORE);
        } else {
            for (int flag = 0; !flag;) MPI_Testall(2, requests, &flag, statuses);
        }
        expect(check_matching(in, (size_t)n, t * 1000 + round + from) == (size_t)n, "ring data");
    }
    free(in), free(out);
    return NULL;
}

/* Each thread has a communicator for collectives of its own. */
static void *collectives(void *argument)
{
    int t = (int)(intptr_t)argument;
    for (int round = 0; round < ROUNDS; round++) {
        int mine = check_rank + t, sum = 0, value = round % check_size == check_rank ? round * 7 + t : -1;
        MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comms[t]);
        expect(sum == check_size * (check_size - 1) / 2 + t * check_size, "allreduce");
        MPI_Bcast(&value, 1, MPI_INT, round % check_size, comms[t]);
        expect(value == round * 7 + t, "bcast");
        if (round % 10 == 0) MPI_Barrier(comms[t]);
    }
    return NULL;
}

/* All threads take from one source with matched probes: no message is lost or taken twice. */
static long taken;

static void *mprobe(void *unused)
{
    (void)unused;
    for (;;) {
        MPI_Message message;
        MPI_Status status;
        int count, *data;
        MPI_Mprobe(MPI_ANY_SOURCE, 900, comms[0], &message, &status);
        MPI_Get_count(&status, MPI_INT, &count);
        data = malloc(sizeof(int) * (size_t)(count + 1));
        MPI_Mrecv(data, count, MPI_INT, &message, MPI_STATUS_IGNORE);
        int stop = count == 0, good = 1;
        for (int i = 0; i < count; i++) good &= data[i] == count + i;
        free(data);
        if (stop) return NULL;
        expect(good, "mprobe data");
        pthread_mutex_lock(&checks);
        taken++;
        pthread_mutex_unlock(&checks);
    }
}

static void *feed(void *unused)
{
    (void)unused;
    static int data[20000];
    int to = (check_rank + 1) % check_size;
    for (int i = 0; i < ROUNDS * 2; i++) {
        int count = 1 + i * 37 % 9000;
        for (int k = 0; k < count; k++) data[k] = count + k;
        MPI_Send(data, count, MPI_INT, to, 900, comms[0]);
    }
    for (int t = 0; t < THREADS; t++) MPI_Send(NULL, 0, MPI_INT, to, 900, comms[0]);
    return NULL;
}

/* Objects are made and freed by all threads at once. */
static void *objects(void *unused)
{
    (void)unused;
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Datatype type;
        MPI_Info info;
        MPI_Group group;
        int size;
        MPI_Type_vector(3, 1, 2, MPI_INT, &type);
        MPI_Type_commit(&type);
        MPI_Info_create(&info);
        MPI_Comm_group(MPI_COMM_WORLD, &group);
        MPI_Type_size(type, &size);
        expect(size == 12, "type size");
        MPI_Type_free(&type), MPI_Info_free(&info), MPI_Group_free(&group);
    }
    return NULL;
}

static void run(void *(*work)(void *))
{
    pthread_t threads[THREADS];
    for (int t = 0; t < THREADS; t++) pthread_create(&threads[t], NULL, work, (void *)(intptr_t)t);
    for (int t = 0; t < THREADS; t++) pthread_join(threads[t], NULL);
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    check_identify();
    if (!CHECK_EQ(provided, MPI_THREAD_MULTIPLE)) return check_finish();
    for (int t = 0; t < THREADS; t++) MPI_Comm_dup(MPI_COMM_WORLD, &comms[t]);
    run(ring);
    run(collectives);
    run(objects);
    pthread_t feeder;
    pthread_create(&feeder, NULL, feed, NULL);
    run(mprobe);
    pthread_join(feeder, NULL);
    CHECK_EQ(taken, ROUNDS * 2);
    for (int t = 0; t < THREADS; t++) MPI_Comm_free(&comms[t]);
    return check_finish();
}

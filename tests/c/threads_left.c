/* A thread that returns from MPI leaves nothing behind that another thread, asleep in a call, waits for
 * (MPI-5.0 section 11.6.1: a blocked call must not keep others from making progress, nor wait for them).
 * ranks: 2
 * timeout: 60
 */
#include <pthread.h>
#include <unistd.h>
#include "check.h"

enum { BURST = 8, SLEEP_US = 60000 };
static int provided;

/* Long enough asleep in its call that no spinning is left. */
static void let_others_sleep(void)
{
    usleep(SLEEP_US);
}

/* Asks again and again, so that whatever comes is taken before one who sleeps can look. */
static int receive_awake(int tag)
{
    int value = -1, flag = 0;
    MPI_Request request;
    MPI_Irecv(&value, 1, MPI_INT, 0, tag, MPI_COMM_WORLD, &request);
    while (!flag) MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    return value;
}

/* The last message of a burst, which came together with those of the other thread. */
static void *receive_last(void *kind)
{
    int value = -1;
    MPI_Message message;
    if (kind) {
        MPI_Mprobe(0, 2, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
        MPI_Mrecv(&value, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(&value, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    return (void *)(intptr_t)value;
}

/* One thread takes all but the last and does not call MPI again before the other one has got its own. */
static void shared_burst(int by_probe)
{
    pthread_t thread;
    void *last = NULL;
    MPI_Barrier(MPI_COMM_WORLD);
    if (check_rank == 0) {
        let_others_sleep();
        for (int i = 0; i < BURST; i++) MPI_Send(&i, 1, MPI_INT, 1, i == BURST - 1 ? 2 : 1, MPI_COMM_WORLD);
    } else {
        pthread_create(&thread, NULL, receive_last, by_probe ? &provided : NULL);
        for (int i = 0; i < BURST - 1; i++) CHECK_EQ(receive_awake(1), i);
        pthread_join(thread, &last);
        CHECK_EQ((int)(intptr_t)last, BURST - 1);
    }
}

static void *wait_for_answer(void *unused)
{
    int value = -1;
    MPI_Recv(&value, 1, MPI_INT, 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    (void)unused;
    return (void *)(intptr_t)value;
}

/* What one thread sends goes, though it computes afterwards and the other one sleeps. */
static void sends_of_a_thread_that_computes(void)
{
    pthread_t thread;
    void *answer = NULL;
    int value;
    MPI_Barrier(MPI_COMM_WORLD);
    if (check_rank == 0) {
        pthread_create(&thread, NULL, wait_for_answer, NULL);
        let_others_sleep();
        for (int i = 0; i < BURST; i++) MPI_Send(&i, 1, MPI_INT, 1, 4, MPI_COMM_WORLD);
        pthread_join(thread, &answer);
        CHECK_EQ((int)(intptr_t)answer, 77);
    } else {
        for (int i = 0; i < BURST; i++) MPI_Recv(&value, 1, MPI_INT, 0, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        value = 77;
        MPI_Send(&value, 1, MPI_INT, 0, 3, MPI_COMM_WORLD);
    }
}

/* A message that one thread comes upon, while it waits for another one, is one that a sleeper probes for. */
static void come_upon(void)
{
    pthread_t thread;
    void *last = NULL;
    int value = 5;
    MPI_Barrier(MPI_COMM_WORLD);
    if (check_rank == 0) {
        let_others_sleep();
        MPI_Send(&value, 1, MPI_INT, 1, 2, MPI_COMM_WORLD);
        MPI_Send(&value, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
    } else {
        pthread_create(&thread, NULL, receive_last, &provided);
        CHECK_EQ(receive_awake(1), 5);
        pthread_join(thread, &last);
        CHECK_EQ((int)(intptr_t)last, 5);
    }
}

int main(int argc, char **argv)
{
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    check_identify();
    if (!CHECK_EQ(provided, MPI_THREAD_MULTIPLE)) return check_finish();
    for (int round = 0; round < 3; round++) {
        shared_burst(0);
        shared_burst(1);
        sends_of_a_thread_that_computes();
        come_upon();
    }
    return check_finish();
}

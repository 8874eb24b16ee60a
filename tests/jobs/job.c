/* What the whole-job tests run: the first argument says what the ranks do. The harness (harness/jobs) says
 * what must come of it. */
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

static int rank, size;

static void hello(void)
{
    printf("rank %d of %d\n", rank, size);
}

/* How many ranks share the memory of this one's host. */
static void shares(void)
{
    MPI_Comm host;
    int count;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
    MPI_Comm_size(host, &count);
    printf("rank %d shares with %d\n", rank, count);
    MPI_Comm_free(&host);
}

/* Rank 0 waits for a message that never comes, the others for rank 0. */
static void deadlock(void)
{
    int value = 0;
    if (rank == 0) MPI_Recv(&value, 1, MPI_INT, 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void *receive(void *tag)
{
    int value;
    MPI_Recv(&value, 1, MPI_INT, 1, *(int *)tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return NULL;
}

/* Three threads of rank 0 wait, one after the other has begun; only the last of them gets its message. */
static void threads(void)
{
    static int tags[3] = {8, 7, 9};
    pthread_t waiting[3];
    int value = 0;
    for (int i = 0; rank == 0 && i < 3; i++) {
        pthread_create(&waiting[i], NULL, receive, &tags[i]);
        usleep(100000);
    }
    if (rank == 1) {
        usleep(600000);
        MPI_Send(&value, 1, MPI_INT, 0, 9, MPI_COMM_WORLD);
        sleep(60);
    }
    for (int i = 2; rank == 0 && i >= 0; i--) pthread_join(waiting[i], NULL);
}

/* A second thread of rank 0 receives, which it may not. */
static void stray(void)
{
    static int tag = 7;
    pthread_t thread;
    if (rank == 0) {
        pthread_create(&thread, NULL, receive, &tag);
        pthread_join(thread, NULL);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Ranks wait in calls that belong to no communicator, and in an intercommunicator without a name. */
static void apart(void)
{
    static char buffer[100000], message[90000];
    int value = 0;
    void *address;
    MPI_Request request;
    MPI_Comm half, other_half;
    MPI_Comm_split(MPI_COMM_WORLD, rank < 2, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank < 2 ? 2 : 0, 0, &other_half);
    if (rank == 0) {
        MPI_Grequest_start(NULL, NULL, NULL, NULL, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else if (rank == 1) {
        MPI_Buffer_attach(buffer, sizeof buffer);
        MPI_Bsend(message, sizeof message, MPI_BYTE, 0, 0, half);
        MPI_Buffer_detach(&address, &value);
    } else {
        MPI_Recv(&value, 1, MPI_INT, 1, 5, other_half, MPI_STATUS_IGNORE);
    }
}

/* Rank 0 waits for a message that comes after a while. */
static void slow(void)
{
    int value = 0;
    if (rank == 1) {
        sleep(2);
        MPI_Send(&value, 1, MPI_INT, 0, 7, MPI_COMM_WORLD);
    }
    if (rank == 0) MPI_Recv(&value, 1, MPI_INT, 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) printf("done\n");
}

/* Traffic without end, large and small. */
static void traffic(void)
{
    enum { BIG = 1 << 20 };
    static char in[BIG], out[BIG];
    for (long i = 0;; i++) {
        int n = i % 50 ? 8 : BIG;
        MPI_Sendrecv(out, n, MPI_BYTE, (rank + 1) % size, 1, in, n, MPI_BYTE, (rank + size - 1) % size, 1,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (i == 200 && rank == 0) printf("running\n"), fflush(stdout);
    }
}

static double cpu_seconds(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

/* Rank 0 waits three seconds in each of four calls; the processor time of that must be next to nothing. */
static void idle(void)
{
    static const char *names[4] = {"receive", "probe", "waitany", "barrier"};
    for (int call = 0; call < 4; call++) {
        int value = 0, index;
        MPI_Request requests[2];
        MPI_Barrier(MPI_COMM_WORLD);
        double before = cpu_seconds();
        if (rank != 0) sleep(3);
        if (rank == 1 && call < 3) MPI_Send(&value, 1, MPI_INT, 0, call, MPI_COMM_WORLD);
        if (call == 3) MPI_Barrier(MPI_COMM_WORLD);
        if (rank != 0) continue;
        if (call == 0) MPI_Recv(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (call == 1) MPI_Probe(1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (call == 1) MPI_Recv(&value, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (call == 2) {
            MPI_Irecv(&value, 1, MPI_INT, 1, 99, MPI_COMM_WORLD, &requests[0]);
            MPI_Irecv(&value, 1, MPI_INT, 1, 2, MPI_COMM_WORLD, &requests[1]);
            MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
            MPI_Cancel(&requests[0]);
            MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        }
        printf("%s %.3f\n", names[call], cpu_seconds() - before);
    }
}

static void *send_to_myself(void *tag)
{
    int value = 0;
    for (;;) {
        MPI_Request request;
        MPI_Isend(&value, 1, MPI_INT, rank, *(int *)tag, MPI_COMM_WORLD, &request);
        MPI_Recv(&value, 1, MPI_INT, rank, *(int *)tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    return NULL;
}

/* Two threads call at once, at a level that does not allow it: both busy, or one of them asleep in a call. */
static void overlap(int sleeping)
{
    static int tags[2] = {1, 2};
    pthread_t other;
    if (rank == 0) {
        pthread_create(&other, NULL, send_to_myself, &tags[0]);
        if (!sleeping) send_to_myself(&tags[1]);
        receive(&tags[1]);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Rank 1 leaves out what the others wait for; the last rank comes late. */
static void deserted(const char *how)
{
    int value = 0;
    if (rank == size - 1) sleep(3);
    if (rank == 1) return;
    if (!strcmp(how, "deserted-barrier")) MPI_Barrier(MPI_COMM_WORLD);
    if (!strcmp(how, "deserted-receive")) MPI_Recv(&value, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (!strcmp(how, "deserted-not") && rank == 0)
        MPI_Recv(&value, 1, MPI_INT, size - 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (!strcmp(how, "deserted-not") && rank == size - 1) MPI_Send(&value, 1, MPI_INT, 0, 5, MPI_COMM_WORLD);
}

/* Rank 1 dies while it holds the lock of rank 0's memory, which the last rank waits for. */
static void dies_with_lock(void)
{
    long *memory;
    MPI_Win win;
    MPI_Win_allocate(sizeof(long), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    if (rank == 1) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) usleep(200000), raise(SIGKILL);
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
    MPI_Win_unlock(0, win);
    MPI_Win_free(&win);
}

/* Makes the file that JOB_WENT_WRONG names: it tells when this was. */
static void tell_when(void)
{
    const char *name = getenv("JOB_WENT_WRONG");
    FILE *file = name != NULL ? fopen(name, "w") : NULL;
    if (file != NULL) fclose(file);
}

/* Rank 1 goes wrong in one of several ways while the others wait for it. */
static void go_wrong(const char *how, int number)
{
    int value = 0;
    if (rank == 1) {
        usleep(100000);
        tell_when();
        if (!strcmp(how, "abort")) MPI_Abort(MPI_COMM_WORLD, number);
        if (!strcmp(how, "exit")) _exit(number);
        if (!strcmp(how, "signal")) signal(number, SIG_DFL), raise(number);
        if (!strcmp(how, "fatal")) MPI_Send(&value, 1, MPI_INT, size + 5, 3, MPI_COMM_WORLD);
        if (!strcmp(how, "truncate")) {
            MPI_Request request;
            int two[2] = {1, 2};
            MPI_Isend(two, 2, MPI_INT, 1, 4, MPI_COMM_WORLD, &request);
            MPI_Recv(&value, 1, MPI_INT, 1, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Files of this process may not grow from now on, while others wait for it long enough to say so. */
static void no_files(void)
{
    struct rlimit limit = {0, 0};
    MPI_Barrier(MPI_COMM_WORLD);
    setrlimit(RLIMIT_FSIZE, &limit);
    if (rank == 0) usleep(300000);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void nothing(int signal)
{
    (void)signal;
}

/* Signals come as fast as they can until the end. */
static void ticks(void)
{
    struct sigaction action = {.sa_handler = nothing};
    struct itimerval often = {{0, 100}, {0, 100}};
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
}

/* Closes all descriptors, as daemons do. */
static void closes(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    for (int number = 3; number < 1024; number++) close(number);
}

/* Very few descriptors are left before MPI starts. */
static void limit_descriptors(int number)
{
    struct rlimit limit = {(rlim_t)number, (rlim_t)number};
    setrlimit(RLIMIT_NOFILE, &limit);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "hello";
    int number = argc > 2 ? atoi(argv[2]) : 0;
    if (!strcmp(what, "before-init")) MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (!strcmp(what, "descriptors")) limit_descriptors(number);
    int level = strcmp(what, "threads") ? MPI_THREAD_SINGLE : MPI_THREAD_MULTIPLE;
    MPI_Init_thread(&argc, &argv, level, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (!strcmp(what, "hello")) hello();
    else if (!strcmp(what, "shares")) shares();
    else if (!strcmp(what, "deadlock")) deadlock();
    else if (!strcmp(what, "threads")) threads();
    else if (!strcmp(what, "stray")) stray();
    else if (!strcmp(what, "overlap")) overlap(0);
    else if (!strcmp(what, "overlap-sleeping")) overlap(1);
    else if (!strcmp(what, "apart")) apart();
    else if (!strcmp(what, "slow")) slow();
    else if (!strcmp(what, "traffic")) traffic();
    else if (!strcmp(what, "idle")) idle();
    else if (!strcmp(what, "no-files")) no_files();
    else if (!strcmp(what, "ticks")) ticks();
    else if (!strcmp(what, "closes")) closes();
    else if (!strcmp(what, "dies-with-lock")) dies_with_lock();
    else if (!strncmp(what, "deserted", 8)) deserted(what);
    else if (!strcmp(what, "twice")) MPI_Init(NULL, NULL);
    else go_wrong(what, number);
    MPI_Finalize();
    if (!strcmp(what, "after-finalize")) MPI_Comm_size(MPI_COMM_WORLD, &size);
    return 0;
}

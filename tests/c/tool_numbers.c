/* Performance variables (MPI-5.0 section 15.3.7): they say what happened, each session and handle for itself; read by
 * name, as Caliper does, and all of them by a timer's signal while messages move, as TAU does.
 * ranks: 2
 * instances: default
 * timeout: 60
 */
#include <signal.h>
#include <sys/time.h>
#include "check.h"

static MPI_T_pvar_session session;

static MPI_T_pvar_handle bound(const char *name, int class, void *object, int *count)
{
    MPI_T_pvar_handle handle = MPI_T_PVAR_HANDLE_NULL;
    int index = -1;
    MUST(MPI_T_pvar_get_index(name, class, &index));
    MUST(MPI_T_pvar_handle_alloc(session, index, object, &handle, count));
    return handle;
}

static MPI_T_pvar_handle counter(const char *name)
{
    int count;
    MPI_T_pvar_handle handle = bound(name, MPI_T_PVAR_CLASS_COUNTER, NULL, &count);
    CHECK_EQ(count, 1);
    MUST(MPI_T_pvar_start(session, handle));
    return handle;
}

static unsigned long long value(MPI_T_pvar_handle handle)
{
    unsigned long long value = 0;
    MUST(MPI_T_pvar_read(session, handle, &value));
    return value;
}

/* Messages of each protocol, and what both sides count. */
static void messages(void)
{
    enum { SHORT = 8, EAGER = 2000, LONG = 300000, TIMES = 10 };
    static char data[LONG];
    MPI_T_pvar_handle sent = counter("tern_sent_messages"), bytes = counter("tern_sent_bytes");
    MPI_T_pvar_handle of_short = counter("tern_sent_short_messages"), of_long = counter("tern_sent_rendezvous_bytes");
    MPI_T_pvar_handle received = counter("tern_received_messages"), received_bytes = counter("tern_received_bytes");
    for (int i = 0; i < TIMES; i++) {
        static const int sizes[] = {SHORT, EAGER, LONG};
        for (int s = 0; s < 3; s++) {
            if (check_rank == 0) {
                if (i % 2) {
                    MPI_Send(data, sizes[s], MPI_BYTE, 1, 1, MPI_COMM_WORLD);
                } else {
                    MPI_Request request;
                    MPI_Isend(data, sizes[s], MPI_BYTE, 1, 1, MPI_COMM_WORLD, &request);
                    MPI_Wait(&request, MPI_STATUS_IGNORE);
                }
            } else if (i % 2) {
                MPI_Recv(data, sizes[s], MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            } else {
                MPI_Request request;
                MPI_Irecv(data, sizes[s], MPI_BYTE, 0, 1, MPI_COMM_WORLD, &request);
                MPI_Wait(&request, MPI_STATUS_IGNORE);
            }
        }
    }
    if (check_rank == 0) {
        CHECK_EQ(value(sent), 3 * TIMES);
        CHECK_EQ(value(bytes), TIMES * (SHORT + EAGER + LONG));
        CHECK_EQ(value(of_short), TIMES);
        CHECK_EQ(value(of_long), TIMES * LONG);
    } else {
        CHECK_EQ(value(received), 3 * TIMES);
        CHECK_EQ(value(received_bytes), TIMES * (SHORT + EAGER + LONG));
    }
    MPI_T_pvar_handle all[] = {sent, bytes, of_short, of_long, received, received_bytes};
    for (int i = 0; i < 6; i++) MUST(MPI_T_pvar_handle_free(session, &all[i]));
    CHECK(all[0] == MPI_T_PVAR_HANDLE_NULL);
}

/* A stopped variable stands still; a reset one begins again; another handle of it is not concerned. */
static void handles(void)
{
    int one = 1, in;
    MPI_T_pvar_handle first = counter("tern_sent_messages"), second = counter("tern_sent_messages");
    unsigned long long before, seven = 7;
    MPI_Sendrecv(&one, 1, MPI_INT, 1 - check_rank, 2, &in, 1, MPI_INT, 1 - check_rank, 2, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    before = value(first);
    CHECK(before >= 1);
    MUST(MPI_T_pvar_stop(session, first));
    MPI_Send(&one, 1, MPI_INT, check_rank, 3, MPI_COMM_WORLD);
    MPI_Recv(&in, 1, MPI_INT, check_rank, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK_EQ(value(first), before);
    CHECK_EQ(value(second), before + 1);
    MUST(MPI_T_pvar_start(session, first));
    CHECK_EQ(value(first), before);
    MUST(MPI_T_pvar_write(session, first, &seven));
    CHECK_EQ(value(first), 7);
    MUST(MPI_T_pvar_reset(session, second));
    CHECK_EQ(value(second), 0);
    MUST(MPI_T_pvar_readreset(session, first, &before));
    CHECK_EQ(before, 7);
    CHECK_EQ(value(first), 0);
    MUST(MPI_T_pvar_handle_free(session, &first));
    MUST(MPI_T_pvar_handle_free(session, &second));
}

/* Queues: messages that nobody has asked for, of all and of one communicator. */
static void queues(void)
{
    int count, data = 5;
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    /* From here to the end only this rank's own messages are in the queues. */
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_T_pvar_handle level = bound("tern_unexpected_messages", MPI_T_PVAR_CLASS_LEVEL, NULL, &count);
    MPI_T_pvar_handle peak = bound("tern_unexpected_messages_peak", MPI_T_PVAR_CLASS_HIGHWATERMARK, NULL, &count);
    MPI_T_pvar_handle of_comm = bound("tern_comm_unexpected_messages", MPI_T_PVAR_CLASS_LEVEL, &comm, &count);
    MPI_T_pvar_handle posted = bound("tern_comm_posted_receives", MPI_T_PVAR_CLASS_LEVEL, &comm, &count);
    CHECK_EQ(count, 1);
    CHECK_EQ(MPI_T_pvar_start(session, level), MPI_T_ERR_PVAR_NO_STARTSTOP);
    CHECK_EQ(MPI_T_pvar_reset(session, level), MPI_T_ERR_PVAR_NO_WRITE);
    CHECK_EQ(MPI_T_pvar_write(session, peak, &data), MPI_T_ERR_PVAR_NO_WRITE);
    MUST(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES));
    for (int i = 0; i < 6; i++) MPI_Send(&data, 1, MPI_INT, check_rank, i, i < 4 ? comm : MPI_COMM_WORLD);
    int flag = 0;
    MPI_Status status;
    while (!flag) MPI_Iprobe(check_rank, 5, MPI_COMM_WORLD, &flag, &status);
    CHECK_EQ(value(level), 6);
    CHECK_EQ(value(of_comm), 4);
    CHECK(value(peak) >= 6);
    for (int i = 0; i < 6; i++)
        MPI_Recv(&data, 1, MPI_INT, check_rank, i, i < 4 ? comm : MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK_EQ(value(level), 0);
    CHECK_EQ(value(of_comm), 0);
    CHECK(value(peak) >= 6);
    MPI_Request request;
    MPI_Irecv(&data, 1, MPI_INT, check_rank, 9, comm, &request);
    CHECK_EQ(value(posted), 1);
    MPI_Send(&data, 1, MPI_INT, check_rank, 9, comm);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK_EQ(value(posted), 0);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Comm_free(&comm);
    MPI_T_pvar_handle all[] = {level, peak, of_comm, posted};
    for (int i = 0; i < 4; i++) MUST(MPI_T_pvar_handle_free(session, &all[i]));
}

/* One number for each rank of a communicator. */
static void peers(void)
{
    int count;
    MPI_Comm world = MPI_COMM_WORLD;
    unsigned long long to[8] = {0};
    MPI_T_pvar_handle handle = bound("tern_comm_sent_bytes", MPI_T_PVAR_CLASS_COUNTER, &world, &count);
    CHECK_EQ(count, check_size);
    MUST(MPI_T_pvar_start(session, handle));
    char data[100] = {0};
    if (check_rank == 0) {
        MPI_Send(data, 100, MPI_BYTE, 1, 4, MPI_COMM_WORLD);
        MUST(MPI_T_pvar_read(session, handle, to));
        CHECK_EQ(to[1], 100);
        CHECK_EQ(to[0], 0);
    } else {
        MPI_Recv(data, 100, MPI_BYTE, 0, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MUST(MPI_T_pvar_handle_free(session, &handle));
}

static void mistakes(void)
{
    MPI_T_pvar_handle handle;
    MPI_T_pvar_session other;
    MPI_Comm nothing = MPI_COMM_NULL;
    int count, index, all;
    unsigned long long value;
    MUST(MPI_T_pvar_get_num(&all));
    MUST(MPI_T_pvar_session_create(&other));
    MUST(MPI_T_pvar_get_index("tern_comm_sent_bytes", MPI_T_PVAR_CLASS_COUNTER, &index));
    CHECK_EQ(MPI_T_pvar_handle_alloc(session, index, &nothing, &handle, &count), MPI_T_ERR_INVALID_HANDLE);
    CHECK_EQ(MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &count), MPI_T_ERR_INVALID_HANDLE);
    CHECK_EQ(MPI_T_pvar_handle_alloc(session, all, NULL, &handle, &count), MPI_T_ERR_INVALID_INDEX);
    CHECK_EQ(MPI_T_pvar_handle_alloc(MPI_T_PVAR_SESSION_NULL, 0, NULL, &handle, &count), MPI_T_ERR_INVALID_SESSION);
    handle = counter("tern_sent_messages");
    CHECK_EQ(MPI_T_pvar_read(other, handle, &value), MPI_T_ERR_INVALID_HANDLE);
    CHECK_EQ(MPI_T_pvar_read(session, handle, NULL), MPI_T_ERR_INVALID);
    CHECK_EQ(MPI_T_pvar_read(session, MPI_T_PVAR_HANDLE_NULL, &value), MPI_T_ERR_INVALID_HANDLE);
    MUST(MPI_T_pvar_session_free(&other));
    CHECK_EQ(MPI_T_pvar_session_free(&other), MPI_T_ERR_INVALID_SESSION);
    MUST(MPI_T_pvar_handle_free(session, &handle));
}

enum { VARIABLES_MAX = 200 };
static MPI_T_pvar_handle every[VARIABLES_MAX];
static int every_count;
static volatile long ticks, failures;
static volatile sig_atomic_t is_over;

/* What TAU's timer does: reads each variable. It comes again half a millisecond after it is done. */
static void on_timer(int signal)
{
    unsigned long long values[64];
    const struct itimerval next = {{0, 0}, {0, 500}};
    (void)signal;
    for (int i = 0; i < every_count; i++) failures += MPI_T_pvar_read(session, every[i], values) != MPI_SUCCESS;
    ticks++;
    if (!is_over) setitimer(ITIMER_REAL, &next, NULL);
}

static void by_timer(void)
{
    int all, count;
    MPI_Comm world = MPI_COMM_WORLD;
    MUST(MPI_T_pvar_get_num(&all));
    for (int i = 0; i < all && i < VARIABLES_MAX; i++) {
        int bind, continuous;
        MUST(MPI_T_pvar_get_info(i, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, &bind, NULL, &continuous, NULL));
        MUST(MPI_T_pvar_handle_alloc(session, i, bind == MPI_T_BIND_MPI_COMM ? &world : NULL, &every[i], &count));
        CHECK(count <= 64);
        if (!continuous) MUST(MPI_T_pvar_start(session, every[i]));
        every_count++;
    }
    struct sigaction action = {.sa_handler = on_timer, .sa_flags = SA_RESTART};
    struct itimerval first = {{0, 0}, {0, 500}}, none = {{0, 0}, {0, 0}};
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &first, NULL);
    static char out[100000], in[100000];
    for (long i = 0, rounds = 0; rounds < 2000 || (ticks < 20 && i < 200000000); i++) {
        if (rounds >= 2000) continue;
        int n = (int)(check_word(1, (uint64_t)i) % sizeof out), there = 1 - check_rank;
        MPI_Sendrecv(out, n, MPI_BYTE, there, 5, in, n, MPI_BYTE, there, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        rounds++;
    }
    is_over = 1;
    setitimer(ITIMER_REAL, &none, NULL);
    CHECK(ticks > 0);
    CHECK_EQ(failures, 0);
    CHECK(value(every[0]) >= 2000); /* tern_sent_messages */
    for (int i = 0; i < every_count; i++) MUST(MPI_T_pvar_handle_free(session, &every[i]));
}

int main(int argc, char **argv)
{
    int provided;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    check_init(&argc, &argv);
    MUST(MPI_T_pvar_session_create(&session));
    messages();
    handles();
    queues();
    peers();
    mistakes();
    by_timer();
    MUST(MPI_T_pvar_session_free(&session));
    /* A tool that comes late finds the same. */
    MUST(MPI_T_finalize());
    MUST(MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided));
    MUST(MPI_T_pvar_session_create(&session));
    messages();
    MUST(MPI_T_pvar_session_free(&session));
    MUST(MPI_T_finalize());
    return check_finish();
}

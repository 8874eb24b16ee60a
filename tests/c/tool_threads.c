/* The tool information interface beside a thread that is in MPI (MPI-5.0 section 15.3): a variable is bound, started
 * and stopped at any time, and read by a timer's signal whatever the interrupted call is.
 * ranks: 1
 * instances: default
 * timeout: 60
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/time.h>
#include <unistd.h>
#include "check.h"

static MPI_T_pvar_session session;
static MPI_T_pvar_handle handle;
static atomic_int over;
static atomic_long done;
static volatile sig_atomic_t ticks;

static void on_tick(int number)
{
    unsigned long long value;
    (void)number;
    MPI_T_pvar_read(session, handle, &value);
    ticks++;
}

static void on_event(MPI_T_event_instance instance, MPI_T_event_registration registration, MPI_T_cb_safety safety,
                     void *data)
{
    (void)instance, (void)registration, (void)safety, (void)data;
}

static void message_to_self(void)
{
    int value = 1;
    MPI_Request request;
    MPI_Isend(&value, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &request);
    MPI_Recv(&value, 1, MPI_INT, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void read_by_signals(void)
{
    struct itimerval often = {{0, 200}, {0, 200}}, never = {{0, 0}, {0, 0}};
    MPI_T_event_registration registration;
    int index;
    MUST(MPI_T_event_get_index("tern_message_unexpected", &index));
    MUST(MPI_T_event_handle_alloc(index, NULL, MPI_INFO_NULL, &registration));
    for (int what = 0; what < 3; what++) {
        double began = MPI_Wtime();
        if (what == 2)
            MUST(MPI_T_event_register_callback(registration, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL, NULL, on_event));
        ticks = 0;
        signal(SIGALRM, on_tick);
        setitimer(ITIMER_REAL, &often, NULL);
        while (MPI_Wtime() - began < 1) {
            unsigned long long value;
            int count;
            if (what == 0) MPI_T_pvar_read(session, handle, &value);
            if (what == 1) MPI_T_cvar_get_num(&count);
            if (what == 2) message_to_self();
        }
        setitimer(ITIMER_REAL, &never, NULL);
        CHECK(ticks > 0);
    }
    MUST(MPI_T_event_handle_free(registration, NULL, NULL));
}

static void *busy(void *argument)
{
    (void)argument;
    while (!over) message_to_self(), done++;
    return NULL;
}

static void beside_a_busy_thread(void)
{
    MPI_Comm comm = MPI_COMM_WORLD;
    pthread_t thread;
    int of_rank, of_comm, count, refused = 0;
    MUST(MPI_T_pvar_get_index("tern_sent_messages", MPI_T_PVAR_CLASS_COUNTER, &of_rank));
    MUST(MPI_T_pvar_get_index("tern_comm_sent_messages", MPI_T_PVAR_CLASS_COUNTER, &of_comm));
    pthread_create(&thread, NULL, busy, NULL);
    while (done < 1000) usleep(1000);
    for (int i = 0; i < 100; i++) {
        MPI_T_pvar_handle bound;
        refused += MPI_T_pvar_handle_alloc(session, of_comm, &comm, &bound, &count) != MPI_SUCCESS;
    }
    CHECK_EQ(refused, 0);

    MPI_T_pvar_handle counter;
    unsigned long long sent = 0;
    MUST(MPI_T_pvar_handle_alloc(session, of_rank, NULL, &counter, &count));
    long before = done;
    MUST(MPI_T_pvar_start(session, counter));
    usleep(100000);
    MUST(MPI_T_pvar_stop(session, counter));
    long after = done;
    over = 1;
    pthread_join(thread, NULL);
    MUST(MPI_T_pvar_read(session, counter, &sent));
    CHECK((long)sent <= after - before + 2);
}

int main(void)
{
    int level, index, count;
    MPI_T_init_thread(MPI_THREAD_MULTIPLE, &level);
    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &level);
    check_identify();
    MUST(MPI_T_pvar_session_create(&session));
    MUST(MPI_T_pvar_get_index("tern_sent_messages", MPI_T_PVAR_CLASS_COUNTER, &index));
    MUST(MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &count));
    MUST(MPI_T_pvar_start(session, handle));
    read_by_signals();
    beside_a_busy_thread();
    MUST(MPI_T_pvar_session_free(&session));
    MUST(MPI_T_finalize());
    return check_finish();
}

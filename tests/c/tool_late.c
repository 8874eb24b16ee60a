/* A tool that starts in a thread of its own while the program's one thread waits in MPI (MPI-5.0 section 15.3.4): what
 * happens from then on is counted, though the program has asked for no threads.
 * ranks: 2
 * instances: default
 * timeout: 60
 */
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>
#include "check.h"

enum { TIMES = 10 };

static atomic_int failures;
static MPI_T_pvar_session session;
static MPI_T_pvar_handle of_rank, of_comm;

static void must(int code)
{
    failures += code != MPI_SUCCESS;
}

static void *tool(void *argument)
{
    MPI_Comm comm = MPI_COMM_WORLD;
    int level, index, count;
    (void)argument;
    usleep(300000);
    must(MPI_T_init_thread(MPI_THREAD_MULTIPLE, &level));
    must(MPI_T_pvar_session_create(&session));
    must(MPI_T_pvar_get_index("tern_sent_messages", MPI_T_PVAR_CLASS_COUNTER, &index));
    must(MPI_T_pvar_handle_alloc(session, index, NULL, &of_rank, &count));
    must(MPI_T_pvar_start(session, of_rank));
    must(MPI_T_pvar_get_index("tern_comm_sent_messages", MPI_T_PVAR_CLASS_COUNTER, &index));
    must(MPI_T_pvar_handle_alloc(session, index, &comm, &of_comm, &count));
    must(MPI_T_pvar_start(session, of_comm));
    return NULL;
}

int main(int argc, char **argv)
{
    int value = 0;
    unsigned long long sent = 0, each[2] = {0, 0};
    pthread_t thread;
    check_init(&argc, &argv);
    if (check_rank == 0) {
        pthread_create(&thread, NULL, tool, NULL);
        MPI_Recv(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int i = 0; i < TIMES; i++) MPI_Send(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
        pthread_join(thread, NULL);
        CHECK_EQ(failures, 0);
        MUST(MPI_T_pvar_read(session, of_rank, &sent));
        MUST(MPI_T_pvar_read(session, of_comm, each));
        CHECK_EQ(sent, TIMES);
        CHECK_EQ(each[1], TIMES);
        MUST(MPI_T_finalize());
    } else {
        usleep(3000000);
        MPI_Send(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
        for (int i = 0; i < TIMES; i++) MPI_Recv(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    return check_finish();
}

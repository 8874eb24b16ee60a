/* Events of connections, for a tool (MPI-5.0 section 15.3.8):
 *
 *   events exchange ROUNDS     each with its neighbors; says how many connections broke and were made again
 *   events serve NAME          accepts, and sits
 *   events call NAME           connects and receives; says which process has failed
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, size, lost, resumed, odd;

static int process_of(MPI_T_event_instance instance)
{
    int process = -1;
    odd += MPI_T_event_read(instance, 0, &process) != MPI_SUCCESS;
    return process;
}

static void on_change(MPI_T_event_instance instance, MPI_T_event_registration registration, MPI_T_cb_safety safety,
                      void *count)
{
    (void)registration, (void)safety;
    int process = process_of(instance);
    odd += process < 0 || process >= size || process == rank;
    ++*(int *)count;
}

/* The job ends at once, so this is said at once. */
static void on_failure(MPI_T_event_instance instance, MPI_T_event_registration registration, MPI_T_cb_safety safety,
                       void *data)
{
    (void)registration, (void)safety, (void)data;
    printf("process %d has failed\n", process_of(instance));
    fflush(stdout);
}

static void hear(const char *name, MPI_T_event_cb_function *function, void *data)
{
    MPI_T_event_registration registration;
    int index;
    if (MPI_T_event_get_index(name, &index) != MPI_SUCCESS) exit(3);
    if (MPI_T_event_handle_alloc(index, NULL, MPI_INFO_NULL, &registration) != MPI_SUCCESS) exit(3);
    MPI_T_event_register_callback(registration, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL, data, function);
}

static void exchange(int rounds)
{
    int to = (rank + 1) % size, from = (rank + size - 1) % size;
    hear("tern_connection_lost", on_change, &lost);
    hear("tern_connection_resumed", on_change, &resumed);
    for (int round = 0; round < rounds; round++) {
        int in = -1;
        MPI_Sendrecv(&round, 1, MPI_INT, to, 0, &in, 1, MPI_INT, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (in != round) exit(4);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    printf("lost %d resumed %d odd %d\n", lost, resumed, odd);
}

static void meet(int serves, const char *name)
{
    char port[MPI_MAX_PORT_NAME];
    MPI_Comm inter;
    int never;
    if (serves) {
        MPI_Open_port(MPI_INFO_NULL, port);
        MPI_Publish_name(name, MPI_INFO_NULL, port);
        MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter);
    } else {
        hear("tern_rank_failed", on_failure, NULL);
        MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
        for (int tries = 0; MPI_Lookup_name(name, MPI_INFO_NULL, port) != MPI_SUCCESS && tries < 1000; tries++)
            usleep(20000);
        MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter);
        printf("met\n");
        fflush(stdout);
    }
    MPI_Recv(&never, 1, MPI_INT, 0, 99, inter, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    int provided;
    if (argc < 3) return 2;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (strcmp(argv[1], "exchange") == 0) exchange(atoi(argv[2]));
    if (strcmp(argv[1], "serve") == 0) meet(1, argv[2]);
    if (strcmp(argv[1], "call") == 0) meet(0, argv[2]);
    MPI_Finalize();
    MPI_T_finalize();
    return 0;
}

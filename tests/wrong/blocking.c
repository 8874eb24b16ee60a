/* Every call that can wait, while the rank that it waits for does something else. Rank 0 makes the call; rank 1 is the
 * other; a third rank waits for rank 0, or takes part in collectives.
 *
 *     blocking list               the calls: name, kind, what a user must see of rank 0 (%d: number of ranks)
 *     blocking NAME HOW           one call; HOW is what the other does:
 *         never                   nothing, outside MPI
 *         tag                     the same with tag 6 instead of 5
 *         comm                    the same on another communicator, called "the other"
 *         finalize                it calls MPI_Finalize and ends
 *         exit                    it ends with status 0, without MPI_Finalize
 *         kill                    it is killed
 */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* More than any transport takes without the receiver. */
#define LONG (8 << 20)
#define TAG 5

static MPI_Comm other;
static int rank, size;
static int word[8];
static char *longer;
/* Called "ledger". In cases of its lock rank 1 holds its own. */
static MPI_Win window;

/* Point to point: rank 0 calls with its peer 1. */

static void p_send(void) { MPI_Send(longer, LONG, MPI_CHAR, 1, TAG, MPI_COMM_WORLD); }
static void p_ssend(void) { MPI_Ssend(word, 1, MPI_INT, 1, TAG, MPI_COMM_WORLD); }
static void p_recv(void) { MPI_Recv(word, 1, MPI_INT, 1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE); }

static void p_recv_any(void)
{
    MPI_Recv(word, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void p_buffer_detach(void)
{
    int bytes = LONG + MPI_BSEND_OVERHEAD;
    void *buffer = malloc(bytes);
    MPI_Buffer_attach(buffer, bytes);
    MPI_Bsend(longer, LONG, MPI_CHAR, 1, TAG, MPI_COMM_WORLD);
    MPI_Buffer_detach(&buffer, &bytes);
}

static void p_sendrecv(void)
{
    MPI_Sendrecv(word, 1, MPI_INT, 1, 9, word + 1, 1, MPI_INT, 1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void p_sendrecv_replace(void)
{
    MPI_Sendrecv_replace(word, 1, MPI_INT, 1, 9, 1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void p_probe(void) { MPI_Probe(1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE); }

static void p_mprobe(void)
{
    MPI_Message message;
    MPI_Mprobe(1, TAG, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
}

static MPI_Request receive(int tag)
{
    MPI_Request request;
    MPI_Irecv(word, 1, MPI_INT, 1, tag, MPI_COMM_WORLD, &request);
    return request;
}

static void p_recv_beside(void)
{
    receive(8);
    p_recv();
}

/* More than a report looks at, of requests and of messages that match nothing. */
static void l_recv_among_many(void)
{
    for (int turn = 0; turn < 1500; turn++) {
        MPI_Request request;
        MPI_Isend(word, 1, MPI_INT, 0, 11, MPI_COMM_WORLD, &request);
        receive(12);
    }
    p_recv();
}

static void wait_for(MPI_Request request) { MPI_Wait(&request, MPI_STATUS_IGNORE); }

static void p_wait_receive(void) { wait_for(receive(TAG)); }

static void p_wait_send(void)
{
    MPI_Request request;
    MPI_Isend(longer, LONG, MPI_CHAR, 1, TAG, MPI_COMM_WORLD, &request);
    wait_for(request);
}

static void p_wait_pair(void)
{
    MPI_Request request;
    MPI_Isendrecv(word, 1, MPI_INT, 1, 9, word + 1, 1, MPI_INT, 1, TAG, MPI_COMM_WORLD, &request);
    wait_for(request);
}

static void p_wait_persistent_receive(void)
{
    MPI_Request request;
    MPI_Recv_init(word, 1, MPI_INT, 1, TAG, MPI_COMM_WORLD, &request);
    MPI_Start(&request);
    wait_for(request);
}

static void p_wait_persistent_send(void)
{
    MPI_Request request;
    MPI_Ssend_init(word, 1, MPI_INT, 1, TAG, MPI_COMM_WORLD, &request);
    MPI_Start(&request);
    wait_for(request);
}

/* Three requests, two of which go on. */
static MPI_Request *three(void)
{
    static MPI_Request requests[3];
    MPI_Isend(word, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    requests[1] = receive(TAG);
    requests[2] = receive(7);
    return requests;
}

static int index_of, indices[3];

static void p_waitall(void) { MPI_Waitall(3, three(), MPI_STATUSES_IGNORE); }
static void p_waitany(void) { MPI_Waitany(3, three(), &index_of, MPI_STATUS_IGNORE); }
static void p_waitsome(void) { MPI_Waitsome(3, three(), &index_of, indices, MPI_STATUSES_IGNORE); }

/* Loops, with a nap between two calls. */

#define UNTIL(flag, call) for (int flag = 0; !flag; usleep(1000)) call

static void p_test(void)
{
    MPI_Request request = receive(TAG);
    UNTIL(done, MPI_Test(&request, &done, MPI_STATUS_IGNORE));
}

static void p_test_hot(void)
{
    MPI_Request request = receive(TAG);
    for (int done = 0; !done;) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
}

/* It asks for a while and then goes its own way. */
static void l_test_left(void)
{
    MPI_Request request = receive(TAG);
    for (int turn = 0, done; turn < 300; turn++, usleep(1000)) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    for (;;) pause();
}

static void p_test_beside(void)
{
    receive(8);
    p_test();
}

static void p_testall(void)
{
    MPI_Request *requests = three();
    UNTIL(done, MPI_Testall(3, requests, &done, MPI_STATUSES_IGNORE));
}

static void p_testany(void)
{
    MPI_Request *requests = three();
    UNTIL(done, MPI_Testany(3, requests, &index_of, &done, MPI_STATUS_IGNORE));
}

static void p_testsome(void)
{
    MPI_Request *requests = three();
    UNTIL(done, MPI_Testsome(3, requests, &done, indices, MPI_STATUSES_IGNORE));
}

static void p_get_status(void)
{
    MPI_Request request = receive(TAG);
    UNTIL(done, MPI_Request_get_status(request, &done, MPI_STATUS_IGNORE));
}

static void p_iprobe(void) { UNTIL(found, MPI_Iprobe(1, TAG, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE)); }

static void p_improbe(void)
{
    MPI_Message message;
    UNTIL(found, MPI_Improbe(1, TAG, MPI_COMM_WORLD, &found, &message, MPI_STATUS_IGNORE));
}

/* What no other rank can end. */

static int query(void *extra, MPI_Status *status) { return extra != NULL || status == NULL; }
static int release(void *extra) { return extra != NULL; }
static int cancel(void *extra, int complete) { return extra != NULL || complete; }

static void l_generalized(void)
{
    MPI_Request request;
    MPI_Grequest_start(query, release, cancel, NULL, &request);
    wait_for(request);
}

static void l_finalize(void) { MPI_Finalize(); }

/* Collectives, in which all but the other take part. */

static void c_barrier(MPI_Comm comm) { MPI_Barrier(comm); }
static void c_bcast(MPI_Comm comm) { MPI_Bcast(word, 2, MPI_INT, 1, comm); }
static void c_gather(MPI_Comm comm) { MPI_Gather(word, 1, MPI_INT, word + 1, 1, MPI_INT, 0, comm); }
static void c_scatter(MPI_Comm comm) { MPI_Scatter(word + 1, 1, MPI_INT, word, 1, MPI_INT, 1, comm); }
static void c_allgather(MPI_Comm comm) { MPI_Allgather(word, 1, MPI_INT, word + 1, 1, MPI_INT, comm); }
static void c_alltoall(MPI_Comm comm) { MPI_Alltoall(word, 1, MPI_INT, word + 4, 1, MPI_INT, comm); }
static void c_reduce(MPI_Comm comm) { MPI_Reduce(word, word + 2, 2, MPI_INT, MPI_SUM, 0, comm); }
static void c_allreduce(MPI_Comm comm) { MPI_Allreduce(word, word + 2, 2, MPI_INT, MPI_SUM, comm); }

static void c_reduce_scatter_block(MPI_Comm comm)
{
    MPI_Reduce_scatter_block(word, word + 4, 1, MPI_INT, MPI_SUM, comm);
}

/* Ranks that count alike need not wait for each other here, unless their calls are compared. */
static void c_dup(MPI_Comm comm)
{
    MPI_Comm copy;
    MPI_Comm_dup(comm, &copy);
}

static void c_free(MPI_Comm comm)
{
    if (comm == MPI_COMM_WORLD) MPI_Comm_free(&other);
}

static void c_split(MPI_Comm comm)
{
    MPI_Comm part;
    MPI_Comm_split(comm, 0, 0, &part);
}

/* The first of the group tells the others. */
static void c_create_group(MPI_Comm comm)
{
    const int order[3] = { 1, 0, 2 };
    MPI_Group all, group;
    MPI_Comm made;
    MPI_Comm_group(comm, &all);
    MPI_Group_incl(all, size, order, &group);
    MPI_Comm_create_group(comm, group, 3, &made);
}

/* Ranks 0 and 1 lead groups of one. */
static void c_intercomm_create(MPI_Comm comm)
{
    MPI_Comm made;
    if (rank < 2) MPI_Intercomm_create(MPI_COMM_SELF, 0, comm, 1 - rank, 3, &made);
}

static void c_wait_barrier(MPI_Comm comm)
{
    MPI_Request request;
    MPI_Ibarrier(comm, &request);
    wait_for(request);
}

static void c_wait_bcast(MPI_Comm comm)
{
    MPI_Request request;
    MPI_Ibcast(word, 2, MPI_INT, 1, comm, &request);
    wait_for(request);
}

static void c_wait_persistent(MPI_Comm comm)
{
    MPI_Request request;
    MPI_Bcast_init(word, 2, MPI_INT, 1, comm, MPI_INFO_NULL, &request);
    MPI_Start(&request);
    wait_for(request);
}

static void c_test_bcast(MPI_Comm comm)
{
    MPI_Request request;
    MPI_Ibcast(word, 2, MPI_INT, 1, comm, &request);
    UNTIL(done, MPI_Test(&request, &done, MPI_STATUS_IGNORE));
}

/* All take the root to be another: nobody has anything to send. */
static void c_roots(MPI_Comm comm)
{
    MPI_Request request;
    MPI_Ibcast(word, 2, MPI_INT, (rank + 1) % size, comm, &request);
    wait_for(request);
}

static MPI_Group rank_1(void)
{
    const int one[1] = { 1 };
    MPI_Group all, group;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, 1, one, &group);
    return group;
}

static void l_win_lock(void) { MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, window); }
static void l_win_lock_all(void) { MPI_Win_lock_all(0, window); }
static void l_win_start(void) { MPI_Win_start(rank_1(), 0, window); }

static void l_win_wait(void)
{
    MPI_Win_post(rank_1(), 0, window);
    MPI_Win_wait(window);
}

static void c_win_fence(MPI_Comm comm)
{
    (void)comm;
    MPI_Win_fence(0, window);
}

static const struct call {
    const char *name;
    /* What the other can do wrong: receives, sends, collective, persistent, checked (only where calls are compared),
     * differs (in its arguments), hot or lone. */
    const char *kind;
    void (*run)(void);
    void (*collective)(MPI_Comm);
    const char *seen;
} calls[] = {
#define WORLD "on MPI_COMM_WORLD of %d ranks"
#define MESSAGE "peer 1, tag 5, " WORLD
#define TWO_OF_THREE MESSAGE ", 4 bytes, receiving, the first of 2 pending of 3 requests"
    { "Send", "sends", p_send, 0, "in MPI_Send, " MESSAGE ", 8388608 bytes" },
    { "Ssend", "sends", p_ssend, 0, "in MPI_Ssend, " MESSAGE ", 4 bytes" },
    { "Buffer_detach", "sends", p_buffer_detach, 0, "in MPI_Buffer_detach, buffered messages have not left yet" },
    { "Recv", "receives", p_recv, 0, "in MPI_Recv, " MESSAGE ", 4 bytes" },
    { "Recv-any", "lone", p_recv_any, 0, "in MPI_Recv, peer any, tag any, " WORLD ", 4 bytes" },
    { "Recv-beside", "receives", p_recv_beside, 0, "in MPI_Recv, " MESSAGE ", 4 bytes" },
    { "Recv-among-many", "lone", l_recv_among_many, 0, "in MPI_Recv, " MESSAGE ", 4 bytes" },
    { "Sendrecv", "receives", p_sendrecv, 0, "in MPI_Sendrecv, " MESSAGE ", 4 bytes, receiving" },
    { "Sendrecv_replace", "receives", p_sendrecv_replace, 0,
      "in MPI_Sendrecv_replace, " MESSAGE ", 4 bytes, receiving" },
    { "Probe", "receives", p_probe, 0, "in MPI_Probe, " MESSAGE },
    { "Mprobe", "receives", p_mprobe, 0, "in MPI_Mprobe, " MESSAGE },
    { "Wait-receive", "receives", p_wait_receive, 0, "in MPI_Wait, " MESSAGE ", 4 bytes, receiving" },
    { "Wait-send", "sends", p_wait_send, 0, "in MPI_Wait, " MESSAGE ", 8388608 bytes, sending" },
    { "Wait-pair", "receives", p_wait_pair, 0, "in MPI_Wait, " MESSAGE ", 4 bytes, receiving" },
    { "Wait-persistent-receive", "receives", p_wait_persistent_receive, 0,
      "in MPI_Wait, " MESSAGE ", 4 bytes, receiving" },
    { "Wait-persistent-send", "sends", p_wait_persistent_send, 0, "in MPI_Wait, " MESSAGE ", 4 bytes, sending" },
    { "Waitall", "receives", p_waitall, 0, "in MPI_Waitall, " TWO_OF_THREE },
    { "Waitany", "receives", p_waitany, 0, "in MPI_Waitany, " TWO_OF_THREE },
    { "Waitsome", "receives", p_waitsome, 0, "in MPI_Waitsome, " TWO_OF_THREE },
    { "Test", "receives", p_test, 0, "polling in MPI_Test, " MESSAGE ", 4 bytes, receiving" },
    { "Test-hot", "hot", p_test_hot, 0, "polling in MPI_Test, " MESSAGE ", 4 bytes, receiving" },
    { "Test-beside", "receives", p_test_beside, 0, "polling in MPI_Test, " MESSAGE ", 4 bytes, receiving" },
    { "Test-left", "lone", l_test_left, 0, "outside MPI, or in a call for less than 50 ms (sleeping)" },
    { "Testall", "receives", p_testall, 0, "polling in MPI_Testall, " TWO_OF_THREE },
    { "Testany", "receives", p_testany, 0, "polling in MPI_Testany, " TWO_OF_THREE },
    { "Testsome", "receives", p_testsome, 0, "polling in MPI_Testsome, " TWO_OF_THREE },
    { "Request_get_status", "receives", p_get_status, 0, "polling in MPI_Request_get_status, " MESSAGE ", 4 bytes" },
    { "Iprobe", "receives", p_iprobe, 0, "polling in MPI_Iprobe, " MESSAGE },
    { "Improbe", "receives", p_improbe, 0, "polling in MPI_Improbe, " MESSAGE },
    { "Wait-generalized", "lone", l_generalized, 0, "in MPI_Wait, until MPI_Grequest_complete" },
#define LEDGER "on ledger (%d ranks, this is 0), for "
    { "Win_lock", "lone", l_win_lock, 0, "in MPI_Win_lock, " LEDGER "the lock of rank 1, which rank 1 holds" },
    { "Win_lock_all", "lone", l_win_lock_all, 0,
      "in MPI_Win_lock_all, " LEDGER "the lock of rank 1, which rank 1 holds" },
    { "Win_start", "lone", l_win_start, 0, "in MPI_Win_start, " LEDGER "MPI_Win_post of rank 1" },
    { "Win_wait", "lone", l_win_wait, 0, "in MPI_Win_wait, " LEDGER "MPI_Win_complete of rank 1" },
    { "Win_fence", "lone", 0, c_win_fence,
      "in MPI_Win_fence, on the communicator of a window on MPI_COMM_WORLD of %d ranks" },
    { "Finalize", "lone", l_finalize, 0, "in MPI_Finalize" },
#define TWO_INTS "8 bytes, 2 elements of MPI_INT"
#define ONE_INT "4 bytes, 1 element of MPI_INT"
    { "Barrier", "collective", 0, c_barrier, "in MPI_Barrier, " WORLD },
    { "Bcast", "collective", 0, c_bcast, "in MPI_Bcast, " WORLD ", root 1, " TWO_INTS },
    { "Gather", "collective", 0, c_gather, "in MPI_Gather, " WORLD ", root 0, " ONE_INT },
    { "Scatter", "collective", 0, c_scatter, "in MPI_Scatter, " WORLD ", root 1, " ONE_INT },
    { "Allgather", "collective", 0, c_allgather, "in MPI_Allgather, " WORLD ", " ONE_INT },
    { "Alltoall", "collective", 0, c_alltoall, "in MPI_Alltoall, " WORLD ", " ONE_INT },
    { "Reduce", "collective", 0, c_reduce, "in MPI_Reduce, " WORLD ", root 0, " TWO_INTS },
    { "Allreduce", "collective", 0, c_allreduce, "in MPI_Allreduce, " WORLD ", " TWO_INTS },
    { "Reduce_scatter_block", "collective", 0, c_reduce_scatter_block,
      "in MPI_Reduce_scatter_block, " WORLD ", " ONE_INT },
    { "Comm_dup", "checked", 0, c_dup, "in MPI_Comm_dup, " WORLD },
    { "Comm_free", "checked", 0, c_free, "in MPI_Comm_free, on the other of %d ranks" },
    { "Comm_split", "collective", 0, c_split, "in MPI_Comm_split, " WORLD },
    { "Comm_create_group", "collective", 0, c_create_group, "in MPI_Comm_create_group, " WORLD },
    { "Intercomm_create", "collective", 0, c_intercomm_create, "in MPI_Intercomm_create, " WORLD },
    { "Wait-Ibarrier", "collective", 0, c_wait_barrier, "in MPI_Wait, completing MPI_Ibarrier, " WORLD },
    { "Wait-Ibcast", "collective", 0, c_wait_bcast,
      "in MPI_Wait, completing MPI_Ibcast, " WORLD ", root 1, " TWO_INTS },
    { "Wait-Bcast_init", "persistent", 0, c_wait_persistent,
      "in MPI_Wait, completing MPI_Bcast_init, " WORLD ", root 1, " TWO_INTS },
    { "Test-Ibcast", "collective", 0, c_test_bcast,
      "polling in MPI_Test, completing MPI_Ibcast, " WORLD ", root 1, " TWO_INTS },
    { "roots", "differs", 0, c_roots, "in MPI_Wait, completing MPI_Ibcast, " WORLD ", root 1, " TWO_INTS },
};

#define CALLS (sizeof calls / sizeof *calls)

static int list(void)
{
    for (size_t at = 0; at < CALLS; at++) printf("%s\t%s\t%s\n", calls[at].name, calls[at].kind, calls[at].seen);
    return 0;
}

static const struct call *find(const char *name)
{
    for (size_t at = 0; at < CALLS; at++) {
        if (strcmp(calls[at].name, name) == 0) return &calls[at];
    }
    fprintf(stderr, "no such call: %s\n", name);
    exit(2);
}

static void stay(void)
{
    for (;;) pause();
}

/* What the other does instead of what rank 0 waits for. */
static void differ(const struct call *call, MPI_Comm comm, int tag)
{
    if (call->collective) call->collective(comm);
    if (strcmp(call->kind, "receives") == 0) MPI_Send(word, 1, MPI_INT, 0, tag, comm);
    if (strcmp(call->kind, "sends") == 0) MPI_Recv(longer, LONG, MPI_CHAR, 0, tag, comm, MPI_STATUS_IGNORE);
}

static void act(const struct call *call, const char *how)
{
    if (strcmp(how, "tag") == 0) differ(call, MPI_COMM_WORLD, TAG + 1);
    if (strcmp(how, "comm") == 0) differ(call, other, TAG);
    if (strcmp(how, "differs") == 0) call->collective(MPI_COMM_WORLD);
    if (strcmp(how, "never") == 0 || strcmp(how, "tag") == 0 || strcmp(how, "comm") == 0) stay();
    /* So that rank 0 sleeps, mostly. */
    usleep(100 * 1000);
    if (strcmp(how, "kill") == 0) kill(getpid(), SIGKILL);
    if (strcmp(how, "finalize") == 0) MPI_Finalize();
    exit(0);
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "list") == 0) return list();
    if (argc != 3) return 2;
    const struct call *call = find(argv[1]);
    longer = calloc(LONG, 1);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    MPI_Comm_set_name(other, "the other");
    void *memory;
    MPI_Win_allocate(8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
    MPI_Win_set_name(window, "ledger");
    if (rank == 1 && strncmp(call->name, "Win_lock", 8) == 0) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, window);
    MPI_Barrier(other);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) act(call, argv[2]);
    if (call->collective) {
        call->collective(MPI_COMM_WORLD);
    } else if (rank == 0) {
        call->run();
    }
    MPI_Recv(word, 1, MPI_INT, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return 0;
}

/* The same wrong arguments to every collective in each of its three forms: the class of the error, and a message
 * that names the call. Every rank makes the same mistake, so nobody is left waiting.
 * ranks: 1 3
 */
#include "check.h"

/* The arguments of all collectives: each takes those that it has. */
struct arguments {
    const void *send;
    void *recv;
    int count, root;
    MPI_Datatype type;
    MPI_Op op;
    MPI_Comm comm;
    MPI_Request *request;
};

enum { ROOT = 1, OP = 2, DATA = 4, ONE_BUFFER = 8 };

enum { RANKS_MAX = 16 };
static int in[64], out[64], counts[RANKS_MAX], displs[RANKS_MAX];
static MPI_Datatype types[RANKS_MAX];

/* Arrays for the v and w calls. */
static int *counts_of(const struct arguments *a)
{
    for (int r = 0; r < RANKS_MAX; r++) counts[r] = a->count, displs[r] = 0;
    return counts;
}

static MPI_Datatype *types_of(const struct arguments *a)
{
    for (int r = 0; r < RANKS_MAX; r++) types[r] = a->type;
    return types;
}

typedef int (*call_fn)(const struct arguments *a);

/* Three functions for one collective, whose arguments are the rest. */
#define FORMS(Name, nonblocking, ...) \
    static int Name(const struct arguments *a) { return MPI_##Name(__VA_ARGS__); } \
    static int nonblocking(const struct arguments *a) { return MPI_##nonblocking(__VA_ARGS__, a->request); } \
    static int Name##_init(const struct arguments *a) \
    { \
        return MPI_##Name##_init(__VA_ARGS__, MPI_INFO_NULL, a->request); \
    }

#define SEND a->send, a->count, a->type
#define RECV a->recv, a->count, a->type
#define SENDV a->send, counts_of(a), displs, a->type
#define RECVV a->recv, counts_of(a), displs, a->type
#define SENDW a->send, counts_of(a), displs, types_of(a)
#define RECVW a->recv, counts_of(a), displs, types_of(a)
#define REDUCTION a->send, a->recv, a->count, a->type, a->op

FORMS(Barrier, Ibarrier, a->comm)
FORMS(Bcast, Ibcast, RECV, a->root, a->comm)
FORMS(Gather, Igather, SEND, RECV, a->root, a->comm)
FORMS(Gatherv, Igatherv, SEND, RECVV, a->root, a->comm)
FORMS(Scatter, Iscatter, SEND, RECV, a->root, a->comm)
FORMS(Scatterv, Iscatterv, SENDV, RECV, a->root, a->comm)
FORMS(Allgather, Iallgather, SEND, RECV, a->comm)
FORMS(Allgatherv, Iallgatherv, SEND, RECVV, a->comm)
FORMS(Alltoall, Ialltoall, SEND, RECV, a->comm)
FORMS(Alltoallv, Ialltoallv, SENDV, RECVV, a->comm)
FORMS(Alltoallw, Ialltoallw, SENDW, RECVW, a->comm)
FORMS(Reduce, Ireduce, REDUCTION, a->root, a->comm)
FORMS(Allreduce, Iallreduce, REDUCTION, a->comm)
FORMS(Reduce_scatter, Ireduce_scatter, a->send, a->recv, counts_of(a), a->type, a->op, a->comm)
FORMS(Reduce_scatter_block, Ireduce_scatter_block, REDUCTION, a->comm)
FORMS(Scan, Iscan, REDUCTION, a->comm)
FORMS(Exscan, Iexscan, REDUCTION, a->comm)
FORMS(Neighbor_allgather, Ineighbor_allgather, SEND, RECV, a->comm)
FORMS(Neighbor_alltoall, Ineighbor_alltoall, SEND, RECV, a->comm)

static const struct {
    const char *name, *nonblocking_name;
    call_fn blocking, nonblocking, persistent;
    int has;
} collectives[] = {
#define ROW(Name, nonblocking, has) {"MPI_" #Name, "MPI_" #nonblocking, Name, nonblocking, Name##_init, has}
    ROW(Barrier, Ibarrier, 0),
    ROW(Bcast, Ibcast, DATA | ROOT | ONE_BUFFER),
    ROW(Gather, Igather, DATA | ROOT),
    ROW(Gatherv, Igatherv, DATA | ROOT),
    ROW(Scatter, Iscatter, DATA | ROOT),
    ROW(Scatterv, Iscatterv, DATA | ROOT),
    ROW(Allgather, Iallgather, DATA),
    ROW(Allgatherv, Iallgatherv, DATA),
    ROW(Alltoall, Ialltoall, DATA),
    ROW(Alltoallv, Ialltoallv, DATA),
    ROW(Alltoallw, Ialltoallw, DATA),
    ROW(Reduce, Ireduce, DATA | ROOT | OP),
    ROW(Allreduce, Iallreduce, DATA | OP),
    ROW(Reduce_scatter, Ireduce_scatter, DATA | OP),
    ROW(Reduce_scatter_block, Ireduce_scatter_block, DATA | OP),
    ROW(Scan, Iscan, DATA | OP),
    ROW(Exscan, Iexscan, DATA | OP),
    ROW(Neighbor_allgather, Ineighbor_allgather, DATA),
    ROW(Neighbor_alltoall, Ineighbor_alltoall, DATA),
};

static const struct arguments *right;

/* One mistake in all three forms. */
static void refused(size_t which, const struct arguments *a, int class, const char *what)
{
    const char *name = collectives[which].name;
    char persistent_name[64], text[128];
    snprintf(persistent_name, sizeof persistent_name, "%s_init", name);
    call_fn forms[3] = {collectives[which].blocking, collectives[which].nonblocking, collectives[which].persistent};
    const char *names[3] = {name, collectives[which].nonblocking_name, persistent_name};
    for (int form = 0; form < 3; form++) {
        snprintf(text, sizeof text, "%s with %s", names[form], what);
        check_error(forms[form](a), class, names[form], text, __FILE__, __LINE__);
    }
}

static void data_arguments(size_t which, MPI_Datatype uncommitted)
{
    struct arguments a = *right;
    a.count = -1;
    refused(which, &a, MPI_ERR_COUNT, "a negative count");
    a = *right, a.type = MPI_DATATYPE_NULL;
    refused(which, &a, MPI_ERR_TYPE, "no datatype");
    a = *right, a.type = uncommitted;
    refused(which, &a, MPI_ERR_TYPE, "an uncommitted datatype");
    a = *right, a.recv = NULL;
    /* At the root all ranks have to receive something; of MPI_Exscan rank 0 has not. */
    a.root = check_rank;
    if (strcmp(collectives[which].name, "MPI_Exscan")) refused(which, &a, MPI_ERR_BUFFER, "no receive buffer");
    if (collectives[which].has & ONE_BUFFER) return;
    a = *right, a.send = NULL, a.root = check_rank;
    refused(which, &a, MPI_ERR_BUFFER, "no send buffer");
}

static void reduction_arguments(size_t which)
{
    struct arguments a = *right;
    a.op = MPI_OP_NULL;
    refused(which, &a, MPI_ERR_OP, "no operation");
    a = *right, a.op = MPI_NO_OP;
    refused(which, &a, MPI_ERR_OP, "an operation of one-sided calls");
    a = *right, a.type = MPI_FLOAT, a.op = MPI_BXOR;
    refused(which, &a, MPI_ERR_OP, "an operation that the type does not have");
}

static void root_arguments(size_t which)
{
    struct arguments a = *right;
    a.root = check_size;
    refused(which, &a, MPI_ERR_ROOT, "a root beyond the last rank");
    a.root = -1;
    refused(which, &a, MPI_ERR_ROOT, "a negative root");
    a.root = MPI_ROOT;
    refused(which, &a, MPI_ERR_ROOT, "MPI_ROOT on an intracommunicator");
}

/* Where this rank's place is told by MPI_IN_PLACE, and where it must not be. */
static void in_place(size_t which)
{
    struct arguments a = *right;
    a.root = check_rank, a.recv = MPI_IN_PLACE;
    int is_scatter = strncmp(collectives[which].name, "MPI_Scatter", 11) == 0;
    if (!is_scatter && strcmp(collectives[which].name, "MPI_Exscan"))
        refused(which, &a, MPI_ERR_BUFFER, "its receive buffer in place");
    a = *right, a.root = (check_rank + 1) % check_size, a.send = MPI_IN_PLACE;
    int is_rooted = collectives[which].has & ROOT && !(collectives[which].has & ONE_BUFFER) && !is_scatter;
    if (is_rooted && check_size > 1) refused(which, &a, MPI_ERR_BUFFER, "its send buffer in place, not at the root");
}

static void all_of(size_t which, MPI_Datatype uncommitted)
{
    struct arguments a = *right;
    int has = collectives[which].has;
    a.comm = MPI_COMM_NULL;
    refused(which, &a, MPI_ERR_COMM, "no communicator");
    if (strncmp(collectives[which].name, "MPI_Neighbor", 12) == 0) {
        refused(which, right, MPI_ERR_TOPOLOGY, "a communicator without a topology");
        return;
    }
    if (has & DATA) data_arguments(which, uncommitted), in_place(which);
    if (has & OP) reduction_arguments(which);
    if (has & ROOT) root_arguments(which);
    a = *right, a.request = NULL;
    char text[64];
    const char *name = collectives[which].nonblocking_name;
    snprintf(text, sizeof text, "%s without a place for the request", name);
    check_error(collectives[which].nonblocking(&a), MPI_ERR_ARG, name, text, __FILE__, __LINE__);
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Datatype uncommitted;
    MPI_Request request;
    MPI_Type_contiguous(2, MPI_INT, &uncommitted);
    const struct arguments fine = {in, out, 1, 0, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request};
    right = &fine;
    for (size_t which = 0; which < sizeof collectives / sizeof *collectives; which++) all_of(which, uncommitted);
    MPI_Type_free(&uncommitted);
    int one = 1, all = 0;
    MUST(MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK_EQ(all, check_size);
    return check_finish();
}

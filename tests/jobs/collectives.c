/* Collective calls that do not fit together: the first argument says in what. With TERN_CHECK=collectives every rank
 * must get the error, whatever the last rank does differently; with the word 'return' each rank says that it did, and
 * then that the communicator still works. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size, odd;
static int in[64], out[64], counts[64];
static MPI_Comm comm;

static int finish(int code, MPI_Request *request)
{
    return code == MPI_SUCCESS ? MPI_Wait(request, MPI_STATUS_IGNORE) : code;
}

static int nonblocking(void)
{
    MPI_Request request;
    int code = MPI_Iallreduce(in, out, odd ? 3 : 2, MPI_INT, MPI_SUM, comm, &request);
    return finish(code, &request);
}

static int persistent(void)
{
    MPI_Request request;
    int code = MPI_SUCCESS;
    MPI_Bcast_init(in, 1, MPI_INT, odd ? 1 : 0, comm, MPI_INFO_NULL, &request);
    for (int i = 0; i < 2; i++) {
        code = MPI_Start(&request);
        code = finish(code, &request);
    }
    MPI_Request_free(&request);
    return code;
}

/* Two non-blocking calls, in different orders. */
static int order(void)
{
    MPI_Request requests[2];
    MPI_Status statuses[2];
    if (!odd) MPI_Ibarrier(comm, &requests[0]);
    MPI_Ibcast(in, 1, MPI_INT, 0, comm, &requests[1]);
    if (odd) MPI_Ibarrier(comm, &requests[0]);
    int code = MPI_Waitall(2, requests, statuses);
    return code == MPI_ERR_IN_STATUS ? statuses[0].MPI_ERROR : code;
}

/* Two persistent calls, prepared in different orders. */
static int order_of_inits(void)
{
    MPI_Request requests[2];
    int code = MPI_SUCCESS;
    for (int i = 0; i < 2 && code == MPI_SUCCESS; i++) {
        if (i == odd) code = MPI_Barrier_init(comm, MPI_INFO_NULL, &requests[i]);
        else code = MPI_Bcast_init(in, 1, MPI_INT, 0, comm, MPI_INFO_NULL, &requests[i]);
    }
    return code;
}

static int counts_of_all(void)
{
    for (int r = 0; r < size; r++) counts[r] = 1 + (odd && r == 0) - (odd && r == 1);
    return MPI_Reduce_scatter(in, out, counts, MPI_INT, MPI_SUM, comm);
}

static int on_intercommunicator(int wrong_length)
{
    MPI_Comm half, inter;
    MPI_Comm_split(comm, rank % 2, rank, &half);
    MPI_Intercomm_create(half, 0, comm, 1 - rank % 2, 7, &inter);
    MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
    int here, code;
    MPI_Comm_rank(half, &here);
    if (wrong_length) code = MPI_Allgather(in, odd ? 2 : 1, MPI_INT, out, 1, MPI_INT, inter);
    /* The odd ranks' group means its rank 0, the even ranks its rank 1. */
    else code = MPI_Bcast(in, 1, MPI_INT, rank % 2 == 0 ? 1 : here == 0 ? MPI_ROOT : MPI_PROC_NULL, inter);
    MPI_Comm_free(&inter), MPI_Comm_free(&half);
    return code;
}

/* What a call has made that failed is nobody's to use: of MPI_Comm_idup a rank may have it before the others are
 * heard. */
static int finish_making(int code, MPI_Comm made)
{
    if (code == MPI_SUCCESS && made != MPI_COMM_NULL) MPI_Comm_free(&made);
    return code;
}

static int grid(int rows, int columns, int periodic, int reorder)
{
    MPI_Comm made = MPI_COMM_NULL;
    int dims[] = {rows, columns}, periods[] = {0, periodic};
    int code = MPI_Cart_create(comm, 2, dims, periods, reorder, &made);
    return finish_making(code, made);
}

/* On a ring of all ranks. */
static int neighbors(int count)
{
    MPI_Comm ring;
    int round = 1;
    MPI_Cart_create(comm, 1, &size, &round, 0, &ring);
    int code = MPI_Neighbor_allgather(in, count, MPI_INT, out, count, MPI_INT, ring);
    MPI_Comm_free(&ring);
    return code;
}

/* Two nodes, of which each is the other's neighbor or its own. */
static int graph(int neighbor_of_first)
{
    MPI_Comm made = MPI_COMM_NULL;
    int ends[] = {1, 2}, edges[] = {neighbor_of_first, 0};
    int code = MPI_Graph_create(comm, 2, ends, edges, 0, &made);
    return finish_making(code, made);
}

/* Calls that make a communicator: the last rank has no place for it, or names a color or group that there is not. */
static int refused(const char *what)
{
    MPI_Comm made = MPI_COMM_NULL, *place = odd ? NULL : &made;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Group group;
    int one = 1, two[] = {1, 2}, code = MPI_ERR_OTHER;
    MPI_Comm_group(comm, &group);
    if (!strcmp(what, "no-dup")) code = MPI_Comm_dup(comm, place);
    if (!strcmp(what, "no-dup-with-info")) code = MPI_Comm_dup_with_info(comm, MPI_INFO_NULL, place);
    if (!strcmp(what, "no-idup")) code = finish(MPI_Comm_idup(comm, place, &request), &request);
    if (!strcmp(what, "no-request")) code = finish(MPI_Comm_idup(comm, &made, odd ? NULL : &request), &request);
    if (!strcmp(what, "no-barrier")) code = finish(MPI_Ibarrier(comm, odd ? NULL : &request), &request);
    if (!strcmp(what, "no-init")) code = MPI_Barrier_init(comm, MPI_INFO_NULL, odd ? NULL : &request);
    if (!strcmp(what, "no-create")) code = MPI_Comm_create(comm, group, place);
    if (!strcmp(what, "no-group")) code = MPI_Comm_create(comm, odd ? MPI_GROUP_NULL : group, &made);
    if (!strcmp(what, "no-split")) code = MPI_Comm_split(comm, 0, 0, place);
    if (!strcmp(what, "no-color")) code = MPI_Comm_split(comm, odd ? -5 : 0, 0, &made);
    if (!strcmp(what, "no-split-type"))
        code = MPI_Comm_split_type(comm, odd ? -5 : MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &made);
    if (!strcmp(what, "no-grid")) code = MPI_Cart_create(comm, 1, &one, &one, 0, place);
    if (!strcmp(what, "no-graph")) code = MPI_Graph_create(comm, 0, two, two, 0, place);
    if (!strcmp(what, "no-adjacent"))
        code = MPI_Dist_graph_create_adjacent(comm, 0, two, two, 0, two, two, MPI_INFO_NULL, 0, place);
    if (!strcmp(what, "no-dist-graph"))
        code = MPI_Dist_graph_create(comm, odd ? -1 : 0, two, two, two, two, MPI_INFO_NULL, 0, &made);
    if (!strcmp(what, "no-leader")) code = MPI_Intercomm_create(comm, odd ? size : 0, comm, 0, 7, &made);
    if (!strcmp(what, "no-free")) {
        MPI_Comm world = comm;
        code = odd ? MPI_Comm_free(&world) : MPI_Barrier(comm);
    }
    MPI_Group_free(&group);
    return finish_making(code, made);
}

/* A communicator that the last rank frees while the others use it, or frees in another order than another. */
static int on_copy(const char *what)
{
    MPI_Comm copy;
    int code;
    MPI_Comm_dup(comm, &copy);
    if (!strcmp(what, "free")) code = odd ? MPI_Comm_free(&copy) : MPI_Barrier(copy);
    else code = odd ? MPI_Comm_disconnect(&copy) : MPI_Comm_free(&copy);
    MPI_Comm_free(&copy);
    return code;
}

static int idup_or_barrier(void)
{
    MPI_Comm copy;
    MPI_Request request;
    int code = odd ? MPI_Ibarrier(comm, &request) : MPI_Comm_idup(comm, &copy, &request);
    return finish(code, &request);
}

static int make(const char *what)
{
    int one = 1, none = -1;
    if (!strcmp(what, "which")) return odd ? MPI_Barrier(comm) : MPI_Bcast(in, 1, MPI_INT, 0, comm);
    if (!strcmp(what, "form")) {
        MPI_Request request;
        if (!odd) return MPI_Barrier(comm);
        int code = MPI_Ibarrier(comm, &request);
        return finish(code, &request);
    }
    if (!strcmp(what, "root")) return MPI_Reduce(in, out, 1, MPI_INT, MPI_SUM, odd ? 1 : 0, comm);
    if (!strcmp(what, "count")) return MPI_Allgather(in, odd ? 2 : 1, MPI_INT, out, odd ? 2 : 1, MPI_INT, comm);
    if (!strcmp(what, "neighbors")) return neighbors(odd ? 2 : 1);
    if (!strcmp(what, "operation")) return MPI_Allreduce(in, out, 1, MPI_INT, odd ? MPI_MAX : MPI_SUM, comm);
    if (!strcmp(what, "type")) return MPI_Bcast(in, 1, odd ? MPI_FLOAT : MPI_INT, 0, comm);
    if (!strcmp(what, "counts")) return counts_of_all();
    if (!strcmp(what, "total")) {
        for (int r = 0; r < size; r++) counts[r] = 1 + (odd && r == 0);
        return MPI_Allgatherv(in, 1, MPI_INT, out, counts, in, MPI_INT, comm);
    }
    if (!strcmp(what, "nonblocking")) return nonblocking();
    if (!strcmp(what, "persistent")) return persistent();
    if (!strcmp(what, "order")) return order();
    if (!strcmp(what, "inits")) return order_of_inits();
    if (!strcmp(what, "argument")) return MPI_Bcast(in, odd ? none : one, MPI_INT, 0, comm);
    if (!strcmp(what, "split")) {
        MPI_Comm half;
        return odd ? MPI_Barrier(comm) : MPI_Comm_split(comm, 0, 0, &half);
    }
    if (!strncmp(what, "no-", 3)) return refused(what);
    if (!strcmp(what, "free") || !strcmp(what, "disconnect")) return on_copy(what);
    if (!strcmp(what, "idup")) return idup_or_barrier();
    if (!strcmp(what, "dims")) return grid(odd ? 1 : 2, 2, 0, 0);
    if (!strcmp(what, "transposed")) return grid(odd ? 4 : 1, odd ? 1 : 4, 0, 0);
    if (!strcmp(what, "periods")) return grid(2, 2, odd, 0);
    if (!strcmp(what, "reorder")) return grid(2, 2, 0, odd);
    if (!strcmp(what, "edges")) return graph(odd ? 0 : 1);
    if (!strcmp(what, "grid-argument")) return grid(2, odd ? 3 : 2, 0, 0);
    if (!strcmp(what, "inter-length")) return on_intercommunicator(1);
    if (!strcmp(what, "inter-root")) return on_intercommunicator(0);
    if (!strcmp(what, "finalize") && odd) MPI_Finalize(), exit(0);
    if (!strcmp(what, "finalize")) return MPI_Barrier(comm);
    return MPI_ERR_OTHER;
}

static void report(int code)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int class = MPI_SUCCESS, length = 0, all = 0, one = 1;
    MPI_Error_class(code, &class);
    if (code != MPI_SUCCESS) MPI_Error_string(code, text, &length);
    MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, comm);
    printf("rank %d of %d: class %d: %s\n", rank, all, class, text);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    odd = rank == size - 1;
    comm = MPI_COMM_WORLD;
    if (argc > 2) MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    int code = make(argc > 1 ? argv[1] : "");
    report(code);
    MPI_Finalize();
    return 0;
}

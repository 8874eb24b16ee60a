/* Wrong arguments of collectives: the class, a message that names the call, and a communicator that still works.
 * Nearly everywhere all ranks make the same mistake, so nobody is left waiting.
 * ranks: 1 2 3 4
 */
#include "check.h"

static int in[64], out[64], counts[64], displs[64];
static const MPI_Comm world = MPI_COMM_WORLD;

static void count_arguments(void)
{
    CHECK_ERROR(MPI_Gather(in, -1, MPI_INT, out, 1, MPI_INT, 0, world), MPI_ERR_COUNT, "MPI_Gather");
    CHECK_ERROR(MPI_Allreduce(in, out, -2, MPI_INT, MPI_SUM, world), MPI_ERR_COUNT, "MPI_Allreduce");
    counts[check_size - 1] = -1;
    CHECK_ERROR(MPI_Allgatherv(in, 1, MPI_INT, out, counts, displs, MPI_INT, world), MPI_ERR_COUNT,
                "recvcounts[");
    CHECK_ERROR(MPI_Alltoallv(in, counts, displs, MPI_INT, out, counts, displs, MPI_INT, world), MPI_ERR_COUNT,
                "sendcounts[");
    CHECK_ERROR(MPI_Reduce_scatter(in, out, counts, MPI_INT, MPI_SUM, world), MPI_ERR_COUNT, "recvcounts[");
    counts[check_size - 1] = 1;
    CHECK_ERROR(MPI_Allgatherv(in, 1, MPI_INT, out, NULL, displs, MPI_INT, world), MPI_ERR_ARG, "recvcounts");
    CHECK_ERROR(MPI_Bcast_c(in, (MPI_Count)1 << 62, MPI_DOUBLE, 0, world), MPI_ERR_COUNT, "MPI_Bcast_c");
}

static void buffers(void)
{
    CHECK_ERROR(MPI_Bcast(NULL, 1, MPI_INT, 0, world), MPI_ERR_BUFFER, "buffer is null");
    CHECK_ERROR(MPI_Bcast(MPI_IN_PLACE, 1, MPI_INT, 0, world), MPI_ERR_BUFFER, "MPI_IN_PLACE");
    CHECK_ERROR(MPI_Allreduce(NULL, out, 1, MPI_INT, MPI_SUM, world), MPI_ERR_BUFFER, "sendbuf is null");
    CHECK_ERROR(MPI_Allreduce(in, MPI_IN_PLACE, 1, MPI_INT, MPI_SUM, world), MPI_ERR_BUFFER, "recvbuf");
    CHECK_ERROR(MPI_Allreduce(in, in, 1, MPI_INT, MPI_SUM, world), MPI_ERR_BUFFER, "same memory");
    CHECK_ERROR(MPI_Allgather(in, 1, MPI_INT, in, 1, MPI_INT, world), MPI_ERR_BUFFER, "same memory");
    CHECK_ERROR(MPI_Alltoall(in, 1, MPI_INT, in, 1, MPI_INT, world), MPI_ERR_BUFFER, "same memory");
    CHECK_ERROR(MPI_Scan(in, in, 1, MPI_INT, MPI_SUM, world), MPI_ERR_BUFFER, "same memory");
    CHECK_ERROR(MPI_Gather(in, 1, MPI_INT, MPI_IN_PLACE, 1, MPI_INT, check_rank, world), MPI_ERR_BUFFER,
                "recvbuf");
    if (check_rank > 0)
        CHECK_ERROR(MPI_Reduce(MPI_IN_PLACE, NULL, 1, MPI_INT, MPI_SUM, 0, world), MPI_ERR_BUFFER, "MPI_IN_PLACE");
    else
        CHECK_ERROR(MPI_Reduce(in, in, 1, MPI_INT, MPI_SUM, 0, world), MPI_ERR_BUFFER, "same memory");
    /* Nothing is nowhere, and nothing is wrong with that. */
    MUST(MPI_Bcast(NULL, 0, MPI_INT, 0, world));
    MUST(MPI_Allreduce(NULL, NULL, 0, MPI_INT, MPI_SUM, world));
}

static void roots(void)
{
    CHECK_ERROR(MPI_Gather(in, 1, MPI_INT, out, 1, MPI_INT, MPI_ROOT, world), MPI_ERR_ROOT, "root is MPI_ROOT, which");
    CHECK_ERROR(MPI_Scatter(in, 1, MPI_INT, out, 1, MPI_INT, check_size, world), MPI_ERR_ROOT, "MPI_Scatter");
    CHECK_ERROR(MPI_Reduce(in, out, 1, MPI_INT, MPI_SUM, MPI_PROC_NULL, world), MPI_ERR_ROOT, "root is MPI_PROC_NULL");
}

static void types_and_operations(void)
{
    MPI_Datatype pair;
    MPI_Type_contiguous(2, MPI_INT, &pair);
    CHECK_ERROR(MPI_Bcast(in, 1, pair, 0, world), MPI_ERR_TYPE, "MPI_Type_commit");
    MPI_Type_commit(&pair);
    CHECK_ERROR(MPI_Allreduce(in, out, 1, pair, MPI_SUM, world), MPI_ERR_OP, "MPI_SUM");
    MPI_Type_free(&pair);
    CHECK_ERROR(MPI_Allreduce(in, out, 1, MPI_DATATYPE_NULL, MPI_SUM, world), MPI_ERR_TYPE, "MPI_Allreduce");
    CHECK_ERROR(MPI_Allreduce(in, out, 1, MPI_INT, MPI_OP_NULL, world), MPI_ERR_OP, "MPI_OP_NULL");
    CHECK_ERROR(MPI_Allreduce(in, out, 1, MPI_DOUBLE, MPI_BAND, world), MPI_ERR_OP, "MPI_BAND");
    CHECK_ERROR(MPI_Scan(in, out, 1, MPI_INT, MPI_MINLOC, world), MPI_ERR_OP, "MPI_MINLOC");
    CHECK_ERROR(MPI_Reduce(in, out, 1, MPI_INT, MPI_REPLACE, 0, world), MPI_ERR_OP, "MPI_REPLACE");
}

static void communicators(void)
{
    CHECK_ERROR(MPI_Barrier(MPI_COMM_NULL), MPI_ERR_COMM, "MPI_Barrier");
    CHECK_ERROR(MPI_Bcast(in, 1, MPI_INT, 0, MPI_COMM_NULL), MPI_ERR_COMM, "MPI_Bcast");
}

/* Scans, and in place, are not for intercommunicators (sections 6.2.3 and 6.11). */
static void intercommunicators(void)
{
    MPI_Comm half, inter;
    if (check_size < 2) return;
    MPI_Comm_split(world, check_rank % 2, check_rank, &half);
    MPI_Intercomm_create(half, 0, world, 1 - check_rank % 2, 7, &inter);
    MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
    CHECK_ERROR(MPI_Scan(in, out, 1, MPI_INT, MPI_SUM, inter), MPI_ERR_COMM, "MPI_Scan");
    CHECK_ERROR(MPI_Exscan(in, out, 1, MPI_INT, MPI_SUM, inter), MPI_ERR_COMM, "MPI_Exscan");
    CHECK_ERROR(MPI_Allgather(MPI_IN_PLACE, 1, MPI_INT, out, 1, MPI_INT, inter), MPI_ERR_BUFFER, "MPI_IN_PLACE");
    CHECK_ERROR(MPI_Bcast(in, 1, MPI_INT, check_size, inter), MPI_ERR_ROOT, "MPI_ROOT");
    MPI_Comm_free(&inter), MPI_Comm_free(&half);
}

/* Arguments that mean nothing at a rank are not looked at. */
static void not_significant(void)
{
    int root = check_rank == 0, nowhere = 1;
    MPI_Datatype no_type = MPI_DATATYPE_NULL;
    MUST(MPI_Gather(in, 1, MPI_INT, root ? out : NULL, root ? 1 : -5, root ? MPI_INT : no_type, 0, world));
    MUST(MPI_Gatherv(in, 1, MPI_INT, root ? out : NULL, root ? counts : NULL, root ? displs : NULL,
                     root ? MPI_INT : no_type, 0, world));
    MUST(MPI_Scatter(root ? in : NULL, root ? 1 : -5, root ? MPI_INT : no_type, out, 1, MPI_INT, 0, world));
    MUST(MPI_Scatterv(root ? in : NULL, root ? counts : NULL, root ? displs : NULL, root ? MPI_INT : no_type, out,
                      1, MPI_INT, 0, world));
    MUST(MPI_Reduce(in, root ? (void *)out : (void *)(intptr_t)nowhere, 1, MPI_INT, MPI_SUM, 0, world));
}

/* Counts that do not fit: who gets too much or too little is told, the others finish. With TERN_CHECK=collectives all
 * would be told. */
static void different_lengths(void)
{
    if (check_size < 2 || check_compares_collectives()) return;
    if (check_rank == 0) MUST(MPI_Bcast(in, 10, MPI_INT, 0, world));
    else if (check_rank == check_size - 1)
        CHECK_ERROR(MPI_Bcast(in, 5, MPI_INT, 0, world), MPI_ERR_TRUNCATE, "MPI_Bcast");
    else MUST(MPI_Bcast(in, 10, MPI_INT, 0, world));
    MUST(MPI_Barrier(world));
    int mine = check_rank == 1 ? 3 : 1;
    if (check_rank == 0)
        CHECK_ERROR(MPI_Gatherv(in, 1, MPI_INT, out, counts, displs, MPI_INT, 0, world), MPI_ERR_TRUNCATE, "rank 1");
    else MUST(MPI_Gatherv(in, mine, MPI_INT, NULL, NULL, NULL, MPI_INT, 0, world));
}

/* A call that is refused has not happened, here at one rank only: what it calls instead meets those of the others. */
static void refused_at_one(void)
{
    if (check_compares_collectives()) return;
    MPI_Request request;
    if (check_rank == 0) {
        CHECK_ERROR(MPI_Gather(out, 1, MPI_INT, out, 1, MPI_INT, 0, world), MPI_ERR_BUFFER, "MPI_IN_PLACE");
        CHECK_ERROR(MPI_Gather(in, 1, MPI_INT, out, -1, MPI_INT, 0, world), MPI_ERR_COUNT, "recvcount");
    }
    MUST(MPI_Gather(in, 1, MPI_INT, out, 1, MPI_INT, 0, world));
    if (check_rank == 0)
        CHECK_ERROR(MPI_Gatherv(in, 1, MPI_INT, out, NULL, displs, MPI_INT, 0, world), MPI_ERR_ARG, "recvcounts");
    MUST(MPI_Gatherv(in, 1, MPI_INT, out, counts, displs, MPI_INT, 0, world));
    if (check_rank == 0)
        CHECK_ERROR(MPI_Ireduce(out, out, 1, MPI_INT, MPI_SUM, 0, world, &request), MPI_ERR_BUFFER, "MPI_IN_PLACE");
    MUST(MPI_Ireduce(in, out, 1, MPI_INT, MPI_SUM, 0, world, &request));
    MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
    if (check_rank == check_size - 1)
        CHECK_ERROR(MPI_Ibcast(in, -3, MPI_INT, 0, world, &request), MPI_ERR_COUNT, "count");
    MUST(MPI_Ibcast(in, 3, MPI_INT, 0, world, &request));
    MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

static void still_works(void)
{
    int one = 1, all = 0;
    MUST(MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, world));
    CHECK_EQ(all, check_size);
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    for (int r = 0; r < check_size; r++) counts[r] = 1, displs[r] = r;
    count_arguments(), still_works();
    buffers(), still_works();
    roots(), still_works();
    types_and_operations(), still_works();
    communicators(), still_works();
    intercommunicators(), still_works();
    not_significant(), still_works();
    different_lengths(), still_works();
    refused_at_one(), still_works();
    return check_finish();
}

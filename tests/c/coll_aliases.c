/* One address for the send and the receive buffer of a collective (section 6.1), in all three forms. Every rank that
 * has both buffers is refused, whatever its rank and its counts, so no rank waits for another. What is refused has
 * not happened. What is right although two addresses are equal is not refused.
 * ranks: 1 2 3 4
 */
#include "check.h"

enum { RANKS_MAX = 16, ROOM = 64 };
static int data[ROOM], other[ROOM], counts[RANKS_MAX], displs[RANKS_MAX], uneven[RANKS_MAX], starts[RANKS_MAX];
static MPI_Datatype types[RANKS_MAX];
static const MPI_Comm world = MPI_COMM_WORLD;
static MPI_Request request;

/* A call in its three forms, refused at this rank in all of them. */
#define REFUSED(Name, nonblocking, ...) \
    do { \
        CHECK_ERROR(MPI_##Name(__VA_ARGS__, world), MPI_ERR_BUFFER, "MPI_IN_PLACE"); \
        CHECK_ERROR(MPI_##nonblocking(__VA_ARGS__, world, &request), MPI_ERR_BUFFER, "MPI_IN_PLACE"); \
        CHECK_ERROR(MPI_##Name##_init(__VA_ARGS__, world, MPI_INFO_NULL, &request), MPI_ERR_BUFFER, \
                    "MPI_IN_PLACE"); \
    } while (0)

/* A call in its three forms that all ranks make. */
#define RIGHT(Name, nonblocking, ...) \
    do { \
        MUST(MPI_##Name(__VA_ARGS__, world)); \
        MUST(MPI_##nonblocking(__VA_ARGS__, world, &request)); \
        MUST(MPI_Wait(&request, MPI_STATUS_IGNORE)); \
        MUST(MPI_##Name##_init(__VA_ARGS__, world, MPI_INFO_NULL, &request)); \
        MUST(MPI_Start(&request)); \
        MUST(MPI_Wait(&request, MPI_STATUS_IGNORE)); \
        MUST(MPI_Request_free(&request)); \
    } while (0)

static void still_works(void)
{
    int one = 1, all = 0;
    MUST(MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, world));
    CHECK_EQ(all, check_size);
}

static void reductions(void)
{
    REFUSED(Allreduce, Iallreduce, data, data, 2, MPI_INT, MPI_SUM);
    REFUSED(Scan, Iscan, data, data, 2, MPI_INT, MPI_SUM);
    REFUSED(Exscan, Iexscan, data, data, 2, MPI_INT, MPI_SUM);
    REFUSED(Reduce_scatter_block, Ireduce_scatter_block, data, data, 2, MPI_INT, MPI_SUM);
    REFUSED(Reduce_scatter_block, Ireduce_scatter_block, data, data + 2 * check_rank, 2, MPI_INT, MPI_SUM);
    REFUSED(Reduce_scatter, Ireduce_scatter, data, data, counts, MPI_INT, MPI_SUM);
    REFUSED(Reduce_scatter, Ireduce_scatter, data, data + displs[check_rank], counts, MPI_INT, MPI_SUM);
    /* All but the last rank keep nothing of the result. */
    REFUSED(Reduce_scatter, Ireduce_scatter, data, data, uneven, MPI_INT, MPI_SUM);
    still_works();
}

static void all_to_all(void)
{
    REFUSED(Allgather, Iallgather, data, 2, MPI_INT, data, 2, MPI_INT);
    REFUSED(Allgather, Iallgather, data + 2 * check_rank, 2, MPI_INT, data, 2, MPI_INT);
    REFUSED(Allgatherv, Iallgatherv, data, 2, MPI_INT, data, counts, displs, MPI_INT);
    REFUSED(Allgatherv, Iallgatherv, data + displs[check_rank], 2, MPI_INT, data, counts, displs, MPI_INT);
    REFUSED(Alltoall, Ialltoall, data, 2, MPI_INT, data, 2, MPI_INT);
    REFUSED(Alltoallv, Ialltoallv, data, counts, displs, MPI_INT, data, counts, displs, MPI_INT);
    REFUSED(Alltoallw, Ialltoallw, data, counts, displs, types, data, counts, displs, types);
    still_works();
}

/* Only the root has both buffers. The others make one call, and the root's next one meets it. */
static void rooted(void)
{
    int root = check_size - 1;
    if (check_rank == root) {
        REFUSED(Gather, Igather, data, 2, MPI_INT, data, 2, MPI_INT, root);
        REFUSED(Gather, Igather, data + 2 * root, 2, MPI_INT, data, 2, MPI_INT, root);
        REFUSED(Gatherv, Igatherv, data + displs[root], 2, MPI_INT, data, counts, displs, MPI_INT, root);
        REFUSED(Scatter, Iscatter, data, 2, MPI_INT, data, 2, MPI_INT, root);
        REFUSED(Scatter, Iscatter, data, 2, MPI_INT, data + 2 * root, 2, MPI_INT, root);
        REFUSED(Scatterv, Iscatterv, data, counts, displs, MPI_INT, data + displs[root], 2, MPI_INT, root);
        REFUSED(Reduce, Ireduce, data, data, 2, MPI_INT, MPI_SUM, root);
    }
    /* Elsewhere the other buffer is not significant, so its address may be any. */
    void *second = check_rank == root ? other : data;
    RIGHT(Gather, Igather, data, 2, MPI_INT, second, 2, MPI_INT, root);
    RIGHT(Gatherv, Igatherv, data, 2, MPI_INT, second, counts, displs, MPI_INT, root);
    RIGHT(Scatter, Iscatter, second, 2, MPI_INT, data, 2, MPI_INT, root);
    RIGHT(Scatterv, Iscatterv, second, counts, displs, MPI_INT, data, 2, MPI_INT, root);
    RIGHT(Reduce, Ireduce, data, second, 2, MPI_INT, MPI_SUM, root);
    void *operand = check_rank == root ? MPI_IN_PLACE : data;
    RIGHT(Reduce, Ireduce, operand, data, 2, MPI_INT, MPI_SUM, root);
    still_works();
}

/* Equal addresses that name different memory, or none. */
static void equal_and_right(void)
{
    MPI_Datatype second_of_two;
    MPI_Type_create_indexed_block(1, 1, &(int){1}, MPI_INT, &second_of_two);
    MPI_Type_commit(&second_of_two);
    RIGHT(Allreduce, Iallreduce, data, data, 0, MPI_INT, MPI_SUM);
    RIGHT(Exscan, Iexscan, data, data, 0, MPI_INT, MPI_SUM);
    RIGHT(Allgather, Iallgather, data, 0, MPI_INT, data, 0, MPI_INT);
    RIGHT(Alltoall, Ialltoall, data, 0, MPI_INT, data, 0, MPI_INT);
    for (int r = 0; r < check_size; r++) data[r] = check_rank * 10 + r, starts[r] = RANKS_MAX + r, counts[r] = 1;
    for (int r = 0; r < check_size; r++) displs[r] = r;
    RIGHT(Alltoallv, Ialltoallv, data, counts, displs, MPI_INT, data, counts, starts, MPI_INT);
    for (int r = 0; r < check_size; r++) CHECK_EQ(data[RANKS_MAX + r], r * 10 + check_rank);
    /* Each rank's first integer goes to places behind all that are sent. */
    RIGHT(Allgatherv, Iallgatherv, data, 1, MPI_INT, data, counts, starts, MPI_INT);
    for (int r = 0; r < check_size; r++) CHECK_EQ(data[RANKS_MAX + r], r * 10);
    if (check_size == 1) {
        data[0] = 7, data[1] = 8;
        RIGHT(Allgather, Iallgather, data, 1, MPI_INT, data, 1, second_of_two);
        CHECK_EQ(data[1], 7);
    }
    MPI_Type_free(&second_of_two);
    still_works();
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    for (int r = 0; r < check_size; r++) counts[r] = 2, displs[r] = 2 * r, types[r] = MPI_INT;
    uneven[check_size - 1] = 2;
    reductions(), all_to_all();
    if (!check_compares_collectives()) rooted();
    equal_and_right();
    return check_finish();
}

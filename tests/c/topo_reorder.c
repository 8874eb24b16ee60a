/* Topologies whose ranks may be reordered (MPI-5.0 sections 8.1 and 8.5): every process has one rank, neighbors are
 * those of the new ranks, and not more of them are on different machines than without. With the argument 'less' there
 * must be fewer.
 * ranks: 1 2 4 6 8
 */
#include "check.h"

enum { RANKS_MAX = 64 };

static int must_be_less;
/* The machine of each process of MPI_COMM_WORLD, as the lowest rank there. */
static int machines[RANKS_MAX];

static void find_machines(void)
{
    MPI_Comm machine;
    int lowest = check_rank;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, check_rank, MPI_INFO_NULL, &machine);
    MPI_Bcast(&lowest, 1, MPI_INT, 0, machine);
    MPI_Allgather(&lowest, 1, MPI_INT, machines, 1, MPI_INT, MPI_COMM_WORLD);
    MPI_Comm_free(&machine);
}

/* Each process has one rank; `old` gets the process of each. */
static void check_members(MPI_Comm comm, int *old)
{
    int size, seen[RANKS_MAX] = {0};
    MPI_Comm_size(comm, &size);
    CHECK_EQ(size, check_size);
    MPI_Allgather(&check_rank, 1, MPI_INT, old, 1, MPI_INT, comm);
    for (int rank = 0; rank < size; rank++) CHECK_EQ(seen[old[rank]]++, 0);
}

/* What the processes at the other ends of incoming edges say is who they are. */
static void check_neighbors(MPI_Comm comm, int count, const int *expected)
{
    int rank, found[RANKS_MAX];
    for (int i = 0; i < RANKS_MAX; i++) found[i] = MPI_PROC_NULL;
    MPI_Comm_rank(comm, &rank);
    MUST(MPI_Neighbor_allgather(&rank, 1, MPI_INT, found, 1, MPI_INT, comm));
    for (int i = 0; i < count; i++) CHECK_EQ(found[i], expected[i]);
}

/* How many edges of all processes lead to another machine, if `old[rank]` has the rank. */
static int crossings(MPI_Comm comm, int count, const int *neighbors, const int *old)
{
    int rank, mine = 0, all = 0;
    MPI_Comm_rank(comm, &rank);
    for (int i = 0; i < count; i++)
        if (neighbors[i] != MPI_PROC_NULL)
            mine += machines[old ? old[neighbors[i]] : neighbors[i]] != machines[old ? old[rank] : rank];
    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_SUM, comm);
    return all;
}

static void check_gain(MPI_Comm comm, int count, const int *neighbors, const int *old)
{
    int before = crossings(comm, count, neighbors, NULL), after = crossings(comm, count, neighbors, old);
    CHECK(after <= before);
    if (must_be_less) CHECK(after < before);
}

static void grid(void)
{
    int dims[2] = {check_size > 1 ? 2 : 1, check_size > 1 ? check_size / 2 : 1}, periods[2] = {0, 0};
    int old[RANKS_MAX], around[4], mapped = -9, rank;
    MPI_Comm comm;
    MUST(MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 1, &comm));
    check_members(comm, old);
    MPI_Comm_rank(comm, &rank);
    MUST(MPI_Cart_map(MPI_COMM_WORLD, 2, dims, periods, &mapped));
    CHECK(mapped >= 0 && mapped < check_size);
    for (int d = 0; d < 2; d++) MUST(MPI_Cart_shift(comm, d, 1, &around[2 * d], &around[2 * d + 1]));
    check_neighbors(comm, 4, around);
    check_gain(comm, 4, around, old);
    MPI_Comm_free(&comm);
}

/* The partner of a node is far away in the order of ranks. */
static int partner(int node) { return (node + check_size / 2) % check_size; }

static void graph(void)
{
    int index[RANKS_MAX], edges[RANKS_MAX], old[RANKS_MAX], rank, mapped = -9;
    MPI_Comm comm;
    for (int node = 0; node < check_size; node++) {
        index[node] = node + 1;
        edges[node] = partner(node);
    }
    MUST(MPI_Graph_create(MPI_COMM_WORLD, check_size, index, edges, 1, &comm));
    check_members(comm, old);
    MPI_Comm_rank(comm, &rank);
    MUST(MPI_Graph_map(MPI_COMM_WORLD, check_size, index, edges, &mapped));
    CHECK(mapped >= 0 && mapped < check_size);
    check_neighbors(comm, 1, &edges[rank]);
    check_gain(comm, 1, &edges[rank], old);
    MPI_Comm_free(&comm);
}

/* A heavy edge from the partner, and a light one from the next process. */
static int source(int node, int which) { return which ? (node + 1) % check_size : partner(node); }
static int destination(int node, int which) { return which ? (node + check_size - 1) % check_size : partner(node); }
static int weight(int from, int to, int which) { return which ? 1 : 1000 + 10 * from + to; }

static void check_edges(MPI_Comm comm)
{
    int rank, in = -1, out = -1, weighted = -1, old[RANKS_MAX], from[2], to[2], from_weights[2], to_weights[2];
    check_members(comm, old);
    MPI_Comm_rank(comm, &rank);
    MUST(MPI_Dist_graph_neighbors_count(comm, &in, &out, &weighted));
    CHECK_EQ(in, 2);
    CHECK_EQ(out, 2);
    CHECK(weighted);
    MUST(MPI_Dist_graph_neighbors(comm, 2, from, from_weights, 2, to, to_weights));
    for (int i = 0; i < 2; i++) {
        /* The order is the one that was told, unless others have told it. */
        int heavy_from = from_weights[i] >= 1000, heavy_to = to_weights[i] >= 1000;
        CHECK_EQ(from[i], source(rank, !heavy_from));
        CHECK_EQ(from_weights[i], weight(from[i], rank, !heavy_from));
        CHECK_EQ(to[i], destination(rank, !heavy_to));
        CHECK_EQ(to_weights[i], weight(rank, to[i], !heavy_to));
    }
    check_neighbors(comm, 2, from);
    for (int i = 0; i < 2; i++)
        if (from_weights[i] >= 1000) check_gain(comm, 1, &from[i], old);
}

static void adjacent_edges(void)
{
    int from[2], to[2], from_weights[2], to_weights[2];
    MPI_Comm comm;
    for (int i = 0; i < 2; i++) {
        from[i] = source(check_rank, i);
        from_weights[i] = weight(from[i], check_rank, i);
        to[i] = destination(check_rank, i);
        to_weights[i] = weight(check_rank, to[i], i);
    }
    MUST(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, from, from_weights, 2, to, to_weights, MPI_INFO_NULL, 1,
                                        &comm));
    check_edges(comm);
    MPI_Comm_free(&comm);
}

/* Each process tells what another one sends. */
static void edges_of_others(void)
{
    int node = (check_rank + 1) % check_size, degree = 2, to[2], weights[2];
    MPI_Comm comm;
    for (int i = 0; i < 2; i++) {
        to[i] = destination(node, i);
        weights[i] = weight(node, to[i], i);
    }
    MUST(MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &node, &degree, to, weights, MPI_INFO_NULL, 1, &comm));
    check_edges(comm);
    MPI_Comm_free(&comm);
}

/* Of a process with wrong arguments the others need not know, but they must not wait for it. They are told with
 * TERN_CHECK=collectives. */
static void wrong_arguments(void)
{
    int all_are_told = check_compares_collectives();
    int nobody = check_size, weights[1] = {1};
    MPI_Comm comm = MPI_COMM_NULL;
    int is_wrong = check_rank == check_size - 1;
    int error = MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, is_wrong, &nobody, weights, 0, NULL, weights,
                                               MPI_INFO_NULL, 1, &comm);
    CHECK_EQ(error != MPI_SUCCESS, is_wrong || all_are_told);
    if (comm != MPI_COMM_NULL) MPI_Comm_free(&comm);
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    must_be_less = argc > 1 && strcmp(argv[1], "less") == 0;
    find_machines();
    grid();
    graph();
    adjacent_edges();
    edges_of_others();
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    wrong_arguments();
    return check_finish();
}

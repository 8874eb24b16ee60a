/* Wrong arguments of topologies and neighborhood collectives: the class, a message that names the call, and a
 * communicator that still works. Where the standard leaves open what happens, Tern promises an error.
 * ranks: 1 2 4
 */
#include "check.h"

static const MPI_Comm world = MPI_COMM_WORLD;
static MPI_Comm made = MPI_COMM_NULL;
static int one[1] = {1}, zero[1] = {0}, numbers[64], more[64];
/* Variables: compilers warn of arrays at such addresses, and in other ABIs they are no constants. */
static int *volatile unweighted, *volatile empty;

static MPI_Comm line(int periodic)
{
    MPI_Comm comm;
    MPI_Cart_create(world, 1, &check_size, &periodic, 0, &comm);
    return comm;
}

static void grids(void)
{
    int minus = -1, many = check_size + 1, huge[3] = {1 << 30, 1 << 30, 1 << 30}, flags[3] = {0, 0, 0};
    CHECK_ERROR(MPI_Cart_create(world, -1, one, one, 0, &made), MPI_ERR_DIMS, "ndims");
    CHECK_ERROR(MPI_Cart_create(world, 1, &minus, one, 0, &made), MPI_ERR_DIMS, "dims[0] is -1");
    made = world;
    CHECK_ERROR(MPI_Cart_create(world, 1, &many, one, 0, &made), MPI_ERR_DIMS, "places");
    CHECK(made == MPI_COMM_NULL);
    CHECK_ERROR(MPI_Cart_create(world, 3, huge, flags, 0, &made), MPI_ERR_DIMS, "places");
    CHECK_ERROR(MPI_Cart_create(world, 1, NULL, one, 0, &made), MPI_ERR_ARG, "dims");
    CHECK_ERROR(MPI_Cart_create(world, 1, one, one, 0, NULL), MPI_ERR_ARG, "comm_cart");
    CHECK_ERROR(MPI_Cart_create(MPI_COMM_NULL, 1, one, one, 0, &made), MPI_ERR_COMM, "MPI_Cart_create");
    CHECK_ERROR(MPI_Cart_map(world, 1, &many, one, numbers), MPI_ERR_DIMS, "MPI_Cart_map");
    /* A dimension of length 0: nobody has a place. */
    int hollow[2] = {check_size, 0};
    MUST(MPI_Cart_map(world, 2, hollow, flags, numbers));
    CHECK_EQ(numbers[0], MPI_UNDEFINED);
    for (int reorder = 0; reorder < 2; reorder++) {
        made = world;
        MUST(MPI_Cart_create(world, 2, hollow, flags, reorder, &made));
        CHECK(made == MPI_COMM_NULL);
    }
    CHECK_ERROR(MPI_Dims_create(0, 1, zero), MPI_ERR_DIMS, "nnodes is 0, but must be at least 1");
    CHECK_ERROR(MPI_Dims_create(4, 1, &minus), MPI_ERR_DIMS, "MPI_Dims_create");
    CHECK_ERROR(MPI_Dims_create(4, -2, zero), MPI_ERR_DIMS, "ndims");
    int given[2] = {3, 0};
    CHECK_ERROR(MPI_Dims_create(4, 2, given), MPI_ERR_DIMS, "multiple of 3");
}

static void places(void)
{
    MPI_Comm open = line(0), ring = line(1);
    int minus = -1;
    CHECK_ERROR(MPI_Cart_rank(open, &check_size, numbers), MPI_ERR_ARG, "coords[0]");
    CHECK_ERROR(MPI_Cart_rank(open, &minus, numbers), MPI_ERR_ARG, "not periodic");
    MUST(MPI_Cart_rank(ring, &minus, numbers));
    CHECK_EQ(numbers[0], check_size - 1);
    CHECK_ERROR(MPI_Cart_coords(ring, check_size, 1, numbers), MPI_ERR_RANK, "MPI_Cart_coords");
    CHECK_ERROR(MPI_Cart_coords(ring, -1, 1, numbers), MPI_ERR_RANK, "rank is -1");
    CHECK_ERROR(MPI_Cart_coords(ring, 0, 0, numbers), MPI_ERR_ARG, "maxdims");
    CHECK_ERROR(MPI_Cart_get(ring, 0, numbers, numbers, numbers), MPI_ERR_ARG, "maxdims");
    CHECK_ERROR(MPI_Cart_shift(ring, 1, 1, numbers, more), MPI_ERR_DIMS, "direction");
    CHECK_ERROR(MPI_Cart_shift(ring, -1, 1, numbers, more), MPI_ERR_DIMS, "direction");
    MPI_Comm_free(&open), MPI_Comm_free(&ring);
}

static void graphs(void)
{
    int falling[2] = {1, 0}, minus = -1, far = check_size, index = 1;
    CHECK_ERROR(MPI_Graph_create(world, -1, one, zero, 0, &made), MPI_ERR_ARG, "nnodes");
    CHECK_ERROR(MPI_Graph_create(world, 2, falling, zero, 0, &made), MPI_ERR_ARG, "index[1]");
    CHECK_ERROR(MPI_Graph_create(world, 1, &minus, zero, 0, &made), MPI_ERR_ARG, "index[0]");
    CHECK_ERROR(MPI_Graph_create(world, 1, &index, &far, 0, &made), MPI_ERR_RANK, "edges[0]");
    memset(numbers, 0, sizeof numbers);
    CHECK_ERROR(MPI_Graph_create(world, check_size + 1, numbers, zero, 0, &made), MPI_ERR_ARG, "nodes");
    for (int rank = 0; rank < check_size; rank++) numbers[rank] = rank + 1, more[rank] = rank;
    MPI_Comm comm;
    MUST(MPI_Graph_create(world, check_size, numbers, more, 0, &comm));
    CHECK_ERROR(MPI_Graph_get(comm, 0, 64, numbers, more), MPI_ERR_ARG, "maxindex");
    CHECK_ERROR(MPI_Graph_get(comm, 64, 0, numbers, more), MPI_ERR_ARG, "maxedges");
    CHECK_ERROR(MPI_Graph_neighbors(comm, check_size, 1, numbers), MPI_ERR_RANK, "MPI_Graph_neighbors");
    CHECK_ERROR(MPI_Graph_neighbors(comm, 0, 0, numbers), MPI_ERR_ARG, "maxneighbors");
    CHECK_ERROR(MPI_Graph_neighbors_count(comm, -1, numbers), MPI_ERR_RANK, "rank is -1");
    MPI_Comm_free(&comm);
}

static int adjacent(int degree, int source, const int *weights, const int *others)
{
    return MPI_Dist_graph_create_adjacent(world, degree, &source, weights, 0, NULL, others, MPI_INFO_NULL, 0, &made);
}

/* One rank errs: the others get their graph, or with TERN_CHECK=collectives are told, and all go on in step. */
static void one_errs(void)
{
    int all_are_told = check_compares_collectives();
    int rank = check_rank == 0 ? check_size : 0, degree = 1;
    MPI_Comm comm = MPI_COMM_NULL, copy;
    int code = MPI_Dist_graph_create(world, 1, &check_rank, &degree, &rank, unweighted, MPI_INFO_NULL, 0, &comm);
    if (check_rank == 0) CHECK_ERROR(code, MPI_ERR_RANK, "destinations[0]");
    else if (all_are_told) CHECK_ERROR(code, MPI_ERR_OTHER, "rank 0 calls MPI_Dist_graph_create() with MPI_ERR_RANK");
    else {
        MUST(code);
        MPI_Comm_free(&comm);
    }
    MUST(MPI_Comm_dup(world, &copy));
    MUST(MPI_Barrier(copy));
    MPI_Comm_free(&copy);
}

static void dist_graphs(void)
{
    int degree = 1, minus = -1, far = check_size;
    MPI_Info none = MPI_INFO_NULL;
    CHECK_ERROR(adjacent(1, check_size, unweighted, unweighted), MPI_ERR_RANK, "source 0");
    CHECK_ERROR(adjacent(1, MPI_PROC_NULL, unweighted, unweighted), MPI_ERR_RANK, "source 0");
    CHECK_ERROR(adjacent(-1, 0, unweighted, unweighted), MPI_ERR_ARG, "number of sources");
    CHECK_ERROR(adjacent(1, 0, empty, empty), MPI_ERR_ARG, "MPI_WEIGHTS_EMPTY");
    CHECK_ERROR(adjacent(1, 0, unweighted, empty), MPI_ERR_ARG, "MPI_UNWEIGHTED");
    CHECK_ERROR(adjacent(1, 0, NULL, empty), MPI_ERR_ARG, "weights");
    CHECK_ERROR(adjacent(1, 0, &minus, empty), MPI_ERR_ARG, "weight is -1");
    CHECK_ERROR(MPI_Dist_graph_create(world, -1, one, one, one, unweighted, none, 0, &made), MPI_ERR_ARG, "n is -1");
    CHECK_ERROR(MPI_Dist_graph_create(world, 1, &far, &degree, zero, unweighted, none, 0, &made), MPI_ERR_RANK,
                "sources[0]");
    CHECK_ERROR(MPI_Dist_graph_create(world, 1, zero, &minus, zero, unweighted, none, 0, &made), MPI_ERR_ARG,
                "degrees[0]");
    one_errs();
}

/* Who has no room for all gets the first part (section 8.5.5). */
static void part_of_the_neighbors(void)
{
    int sources[3] = {0, 0, 0}, weights[3] = {7, 8, 9}, first[2] = {-5, -5}, heavy[2] = {-5, -5};
    MPI_Comm comm;
    MUST(MPI_Dist_graph_create_adjacent(MPI_COMM_SELF, 3, sources, weights, 3, sources, weights, MPI_INFO_NULL, 0,
                                        &comm));
    MUST(MPI_Dist_graph_neighbors(comm, 1, first, heavy, 0, NULL, NULL));
    CHECK(first[0] == 0 && first[1] == -5);
    CHECK(heavy[0] == 7 && heavy[1] == -5);
    CHECK_ERROR(MPI_Dist_graph_neighbors(comm, -1, first, heavy, 0, NULL, NULL), MPI_ERR_ARG, "maxindegree");
    MPI_Comm_free(&comm);
}

static void other_topologies(void)
{
    MPI_Comm ring = line(1);
    CHECK_ERROR(MPI_Cartdim_get(world, numbers), MPI_ERR_TOPOLOGY, "no topology");
    CHECK_ERROR(MPI_Cart_sub(world, one, &made), MPI_ERR_TOPOLOGY, "MPI_Cart_create");
    CHECK_ERROR(MPI_Graphdims_get(ring, numbers, more), MPI_ERR_TOPOLOGY, "a Cartesian topology");
    CHECK_ERROR(MPI_Dist_graph_neighbors_count(ring, numbers, more, more), MPI_ERR_TOPOLOGY, "distributed graph");
    CHECK_ERROR(MPI_Cart_shift(MPI_COMM_NULL, 0, 1, numbers, more), MPI_ERR_COMM, "MPI_Cart_shift");
    CHECK_ERROR(MPI_Topo_test(ring, NULL), MPI_ERR_ARG, "status");
    MPI_Comm_free(&ring);
}

static void collectives(void)
{
    MPI_Comm ring = line(1);
    MPI_Request request;
    int counts[2] = {1, -1}, displs[2] = {0, 1};
    CHECK_ERROR(MPI_Neighbor_allgather(numbers, 1, MPI_INT, more, 1, MPI_INT, world), MPI_ERR_TOPOLOGY,
                "MPI_Neighbor_allgather");
    CHECK_ERROR(MPI_Ineighbor_alltoall(numbers, 1, MPI_INT, more, 1, MPI_INT, world, &request), MPI_ERR_TOPOLOGY,
                "MPI_Ineighbor_alltoall");
    CHECK_ERROR(MPI_Neighbor_alltoall(numbers, -1, MPI_INT, more, 1, MPI_INT, ring), MPI_ERR_COUNT, "sendcount");
    CHECK_ERROR(MPI_Neighbor_alltoall(NULL, 1, MPI_INT, more, 1, MPI_INT, ring), MPI_ERR_BUFFER, "sendbuf");
    CHECK_ERROR(MPI_Neighbor_alltoall(MPI_IN_PLACE, 1, MPI_INT, more, 1, MPI_INT, ring), MPI_ERR_BUFFER,
                "MPI_IN_PLACE");
    CHECK_ERROR(MPI_Neighbor_alltoall(numbers, 1, MPI_DATATYPE_NULL, more, 1, MPI_INT, ring), MPI_ERR_TYPE,
                "MPI_Neighbor_alltoall");
    CHECK_ERROR(MPI_Neighbor_allgatherv(numbers, 1, MPI_INT, more, counts, displs, MPI_INT, ring), MPI_ERR_COUNT,
                "recvcounts[1]");
    CHECK_ERROR(MPI_Neighbor_alltoallv(numbers, counts, displs, MPI_INT, more, counts, displs, MPI_INT, ring),
                MPI_ERR_COUNT, "sendcounts[1]");
    CHECK_ERROR(MPI_Neighbor_alltoall(numbers, 1, MPI_INT, more, 1, MPI_INT, MPI_COMM_NULL), MPI_ERR_COMM,
                "MPI_Neighbor_alltoall");
    /* And it still works. */
    numbers[0] = check_rank, numbers[1] = -check_rank;
    MUST(MPI_Neighbor_alltoall(numbers, 1, MPI_INT, more, 1, MPI_INT, ring));
    CHECK_EQ(more[0], -((check_rank + check_size - 1) % check_size));
    CHECK_EQ(more[1], (check_rank + 1) % check_size);
    MPI_Comm_free(&ring);
}

/* Only intracommunicators have topologies. */
static void intercommunicators(void)
{
    MPI_Comm half, inter;
    if (check_size < 2) return;
    MPI_Comm_split(world, check_rank % 2, check_rank, &half);
    MPI_Intercomm_create(half, 0, world, 1 - check_rank % 2, 7, &inter);
    MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
    CHECK_ERROR(MPI_Cart_create(inter, 1, one, one, 0, &made), MPI_ERR_COMM, "intercommunicator");
    CHECK_ERROR(MPI_Dist_graph_create(inter, 0, one, one, one, unweighted, MPI_INFO_NULL, 0, &made), MPI_ERR_COMM,
                "intercommunicator");
    CHECK_ERROR(MPI_Neighbor_allgather(numbers, 1, MPI_INT, more, 1, MPI_INT, inter), MPI_ERR_TOPOLOGY, "no topology");
    MPI_Comm_free(&inter), MPI_Comm_free(&half);
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    unweighted = MPI_UNWEIGHTED, empty = MPI_WEIGHTS_EMPTY;
    MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    grids();
    places();
    graphs();
    dist_graphs();
    part_of_the_neighbors();
    other_topologies();
    collectives();
    intercommunicators();
    return check_finish();
}

/* Graphs and distributed graphs (MPI-5.0 sections 8.5.3 to 8.5.5): what was told comes back, also edges that occur
 * twice, edges from a process to itself, weights, and edges that another process has told.
 * ranks: 1 2 3 4 6 8
 */
#include "check.h"

enum { RANKS_MAX = 64, EDGES_MAX = 512 };

/* The tree, and a ring around it: 2 to 5 neighbors, some of them twice. */
static int graph_of(int nodes, int *index, int *edges)
{
    int n = 0;
    for (int node = 0; node < nodes; node++) {
        edges[n++] = (node + 1) % nodes;
        edges[n++] = (node + nodes - 1) % nodes;
        if (node > 0) edges[n++] = (node - 1) / 2;
        for (int child = 2 * node + 1; child <= 2 * node + 2; child++)
            if (child < nodes) edges[n++] = child;
        index[node] = n;
    }
    return n;
}

static void check_graph(MPI_Comm comm, int nodes, const int *index, const int *edges)
{
    int kind = -1, n = -1, m = -1, got_index[RANKS_MAX], got_edges[EDGES_MAX], size;
    MUST(MPI_Topo_test(comm, &kind));
    CHECK_EQ(kind, MPI_GRAPH);
    MPI_Comm_size(comm, &size);
    CHECK_EQ(size, nodes);
    MUST(MPI_Graphdims_get(comm, &n, &m));
    CHECK_EQ(n, nodes);
    CHECK_EQ(m, index[nodes - 1]);
    MUST(MPI_Graph_get(comm, RANKS_MAX, EDGES_MAX, got_index, got_edges));
    CHECK(memcmp(got_index, index, sizeof *index * (size_t)nodes) == 0);
    CHECK(memcmp(got_edges, edges, sizeof *edges * (size_t)index[nodes - 1]) == 0);
    for (int node = 0; node < nodes; node++) {
        int start = node ? index[node - 1] : 0, count = -1;
        MUST(MPI_Graph_neighbors_count(comm, node, &count));
        CHECK_EQ(count, index[node] - start);
        MUST(MPI_Graph_neighbors(comm, node, count, got_edges));
        CHECK(memcmp(got_edges, edges + start, sizeof *edges * (size_t)count) == 0);
    }
}

static void graphs(void)
{
    for (int nodes = 1; nodes <= check_size; nodes++) {
        int index[RANKS_MAX], edges[EDGES_MAX], mapped = -9, rank;
        MPI_Comm comm = MPI_COMM_WORLD, copy;
        graph_of(nodes, index, edges);
        MUST(MPI_Graph_create(MPI_COMM_WORLD, nodes, index, edges, 0, &comm));
        MUST(MPI_Graph_map(MPI_COMM_WORLD, nodes, index, edges, &mapped));
        CHECK_EQ(mapped, check_rank < nodes ? check_rank : MPI_UNDEFINED);
        CHECK((comm == MPI_COMM_NULL) == (check_rank >= nodes));
        if (comm == MPI_COMM_NULL) continue;
        MPI_Comm_rank(comm, &rank);
        CHECK_EQ(rank, check_rank);
        check_graph(comm, nodes, index, edges);
        MUST(MPI_Comm_dup(comm, &copy));
        MPI_Comm_free(&comm);
        check_graph(copy, nodes, index, edges);
        MPI_Comm_free(&copy);
    }
}

static void no_nodes_and_no_edges(void)
{
    int index[RANKS_MAX] = {0}, n = -1, m = -1;
    MPI_Comm comm = MPI_COMM_WORLD;
    MUST(MPI_Graph_create(MPI_COMM_WORLD, 0, NULL, NULL, 0, &comm));
    CHECK(comm == MPI_COMM_NULL);
    MUST(MPI_Graph_create(MPI_COMM_WORLD, check_size, index, index, 0, &comm));
    MUST(MPI_Graphdims_get(comm, &n, &m));
    CHECK_EQ(n, check_size);
    CHECK_EQ(m, 0);
    MUST(MPI_Graph_neighbors_count(comm, check_size - 1, &n));
    CHECK_EQ(n, 0);
    MPI_Comm_free(&comm);
}

/* Edges that every process can compute: each rank has some to others, twice to itself, three times to the next. */
static int out_edges(int rank, int *to)
{
    int n = 0;
    for (int twice = 0; twice < 2; twice++) to[n++] = rank;
    for (int thrice = 0; thrice < 3; thrice++) to[n++] = (rank + 1) % check_size;
    for (int other = 0; other < check_size; other++)
        if ((rank * 5 + other * 3) % 4 == 0) to[n++] = other;
    return n;
}

/* By source, and of each source in its order. */
static int in_edges(int rank, int *from)
{
    int n = 0, to[RANKS_MAX];
    for (int source = 0; source < check_size; source++)
        for (int k = 0, degree = out_edges(source, to); k < degree; k++)
            if (to[k] == rank) from[n++] = source;
    return n;
}

static int weight(int from, int to, int k)
{
    return from * 1000 + to * 10 + k;
}

/* In any order, as a distributed graph may have been gathered. */
static int same_set(const int *a, const int *b, int n)
{
    long long sum = 0, squares = 0;
    for (int i = 0; i < n; i++) {
        sum += a[i] - b[i];
        squares += (long long)a[i] * a[i] - (long long)b[i] * b[i];
    }
    return sum == 0 && squares == 0;
}

static void check_dist_graph(MPI_Comm comm, int weighted, int in_order)
{
    int to[RANKS_MAX], from[RANKS_MAX * 4], kind = -1, n = -1, m = -1, has = -1;
    int out = out_edges(check_rank, to), in = in_edges(check_rank, from);
    int sources[EDGES_MAX], destinations[EDGES_MAX], into[EDGES_MAX], away[EDGES_MAX];
    MUST(MPI_Topo_test(comm, &kind));
    CHECK_EQ(kind, MPI_DIST_GRAPH);
    MUST(MPI_Dist_graph_neighbors_count(comm, &n, &m, &has));
    CHECK_EQ(n, in);
    CHECK_EQ(m, out);
    CHECK_EQ(has != 0, weighted);
    MUST(MPI_Dist_graph_neighbors(comm, in, sources, weighted ? into : MPI_UNWEIGHTED, out, destinations,
                                  weighted ? away : MPI_UNWEIGHTED));
    CHECK(same_set(sources, from, in) && same_set(destinations, to, out));
    for (int k = 0; k < in && in_order; k++) CHECK_EQ(sources[k], from[k]);
    for (int k = 0; k < out && in_order; k++) CHECK_EQ(destinations[k], to[k]);
    for (int k = 0; k < in && weighted; k++) CHECK_EQ(into[k] / 10, weight(sources[k], check_rank, 0) / 10);
    for (int k = 0; k < out && weighted; k++) CHECK_EQ(away[k] / 10, weight(check_rank, destinations[k], 0) / 10);
}

static void adjacent(int weighted)
{
    int to[RANKS_MAX], from[RANKS_MAX * 4], into[RANKS_MAX * 4], away[RANKS_MAX];
    int out = out_edges(check_rank, to), in = in_edges(check_rank, from);
    MPI_Comm comm, copy;
    for (int k = 0; k < in; k++) into[k] = weight(from[k], check_rank, k % 10);
    for (int k = 0; k < out; k++) away[k] = weight(check_rank, to[k], k % 10);
    MUST(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, in, from, weighted ? into : MPI_UNWEIGHTED, out, to,
                                        weighted ? away : MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm));
    check_dist_graph(comm, weighted, 1);
    MUST(MPI_Comm_dup(comm, &copy));
    MPI_Comm_free(&comm);
    check_dist_graph(copy, weighted, 1);
    MPI_Comm_free(&copy);
}

/* Rank r tells the edges of rank `of`(r), if any. */
static void told_by(int (*of)(int rank), int weighted)
{
    int nodes[RANKS_MAX], degrees[RANKS_MAX], to[EDGES_MAX * 8], weights[EDGES_MAX * 8], n = 0, edges = 0;
    MPI_Comm comm;
    for (int rank = 0; rank < check_size; rank++) {
        if (of(rank) != check_rank) continue;
        nodes[n] = rank;
        degrees[n] = out_edges(rank, to + edges);
        for (int k = 0; k < degrees[n]; k++) weights[edges + k] = weight(rank, to[edges + k], k % 10);
        edges += degrees[n++];
    }
    int *given = !weighted ? MPI_UNWEIGHTED : n == 0 ? MPI_WEIGHTS_EMPTY : weights;
    MUST(MPI_Dist_graph_create(MPI_COMM_WORLD, n, nodes, degrees, to, given, MPI_INFO_NULL, 0, &comm));
    check_dist_graph(comm, weighted, 0);
    MPI_Comm_free(&comm);
}

static int itself(int rank)
{
    return rank;
}

static int the_first(int rank)
{
    return rank * 0;
}

static int the_opposite(int rank)
{
    return check_size - 1 - rank;
}

static void nobody(void)
{
    /* Not constants: compilers warn of arrays at such addresses. */
    int *volatile empty = MPI_WEIGHTS_EMPTY, *volatile unweighted = MPI_UNWEIGHTED;
    int n = -1, m = -1, weighted = -1;
    MPI_Comm comm;
    MUST(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 0, NULL, empty, 0, NULL, empty, MPI_INFO_NULL, 0, &comm));
    MUST(MPI_Dist_graph_neighbors_count(comm, &n, &m, &weighted));
    CHECK(n == 0 && m == 0 && weighted);
    MPI_Comm_free(&comm);
    MUST(MPI_Dist_graph_create(MPI_COMM_WORLD, 0, NULL, NULL, NULL, unweighted, MPI_INFO_NULL, 0, &comm));
    MUST(MPI_Dist_graph_neighbors_count(comm, &n, &m, &weighted));
    CHECK(n == 0 && m == 0 && !weighted);
    MPI_Comm_free(&comm);
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    graphs();
    no_nodes_and_no_edges();
    for (int weighted = 0; weighted < 2; weighted++) {
        adjacent(weighted);
        told_by(itself, weighted);
        told_by(the_first, weighted);
        told_by(the_opposite, weighted);
    }
    nobody();
    return check_finish();
}

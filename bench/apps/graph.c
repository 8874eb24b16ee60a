// Breadth-first search in a random graph, vertices divided: each level tells the owners of the neighbors that it has
// found, by an all-to-all of lists of any length, and ends with a sum. usage: graph SECONDS
#include "apps.h"

#define SCALE 14 // 2^SCALE vertices
#define EDGES 8  // of each vertex, and as many that lead to it
#define VERTICES (1 << SCALE)

struct graph {
    int ranks, rank, mine;
    int *start, *edge; // neighbors of this rank's vertices
    int *level, *found;
    int *send_count, *send_start, *recv_count, *recv_start, *filled;
    int *out, *in;
    int root;
};

static int owner(const struct graph *g, int vertex) {
    return vertex % g->ranks;
}

static int target(int vertex, int k) {
    // Few vertices have many neighbors, as in real networks.
    uint64_t number = hashed((uint64_t)vertex * EDGES + (uint64_t)k), mask = hashed(number);
    return (int)((number & mask) % VERTICES);
}

static void build(struct graph *g) {
    g->mine = (VERTICES - g->rank + g->ranks - 1) / g->ranks;
    g->start = need(sizeof(int) * (size_t)(g->mine + 1));
    for (int pass = 0; pass < 2; pass++) {
        int *at = need(sizeof(int) * (size_t)(g->mine + 1));
        for (int v = 0; v < VERTICES; v++)
            for (int k = 0; k < EDGES; k++) {
                int ends[2] = {v, target(v, k)};
                for (int e = 0; e < 2; e++) {
                    if (owner(g, ends[e]) != g->rank)
                        continue;
                    int vertex = ends[e] / g->ranks;
                    if (pass)
                        g->edge[g->start[vertex] + at[vertex]] = ends[1 - e];
                    at[vertex]++;
                }
            }
        for (int v = 0; !pass && v < g->mine; v++)
            g->start[v + 1] = g->start[v] + at[v];
        if (!pass)
            g->edge = need(sizeof(int) * (size_t)g->start[g->mine]);
        free(at);
    }
}

// Sends the neighbors of what was found to their owners; gives how many came.
static int tell_owners(struct graph *g, int found) {
    memset(g->send_count, 0, sizeof(int) * (size_t)g->ranks);
    for (int i = 0; i < found; i++)
        for (int e = g->start[g->found[i]]; e < g->start[g->found[i] + 1]; e++)
            g->send_count[owner(g, g->edge[e])]++;
    MPI_Alltoall(g->send_count, 1, MPI_INT, g->recv_count, 1, MPI_INT, MPI_COMM_WORLD);
    starts(g->send_count, g->send_start, g->ranks);
    int came = starts(g->recv_count, g->recv_start, g->ranks);
    memcpy(g->filled, g->send_start, sizeof(int) * (size_t)g->ranks);
    for (int i = 0; i < found; i++)
        for (int e = g->start[g->found[i]]; e < g->start[g->found[i] + 1]; e++)
            g->out[g->filled[owner(g, g->edge[e])]++] = g->edge[e] / g->ranks;
    MPI_Alltoallv(g->out, g->send_count, g->send_start, MPI_INT, g->in, g->recv_count, g->recv_start, MPI_INT,
                  MPI_COMM_WORLD);
    return came;
}

static void search(struct graph *g) {
    memset(g->level, -1, sizeof(int) * (size_t)g->mine);
    int found = 0, all = 1;
    if (owner(g, g->root) == g->rank) {
        g->found[found++] = g->root / g->ranks;
        g->level[g->root / g->ranks] = 0;
    }
    for (int level = 1; all > 0; level++) {
        int came = tell_owners(g, found);
        found = 0;
        for (int i = 0; i < came; i++)
            if (g->level[g->in[i]] < 0) {
                g->level[g->in[i]] = level;
                g->found[found++] = g->in[i];
            }
        MPI_Allreduce(&found, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    }
}

static void steps(void *arg, long count) {
    struct graph *g = arg;
    for (long i = 0; i < count; i++) {
        search(g);
        g->root = (int)(hashed((uint64_t)g->root) % VERTICES);
    }
}

// The sum of the levels that a search by one process finds.
static double levels_alone(int root) {
    struct graph g = {.ranks = 1, .rank = 0};
    build(&g);
    int *level = need(sizeof(int) * VERTICES), *queue = need(sizeof(int) * VERTICES), end = 0;
    memset(level, -1, sizeof(int) * VERTICES);
    double sum = level[root] = 0;
    queue[end++] = root;
    for (int at = 0; at < end; at++)
        for (int e = g.start[queue[at]]; e < g.start[queue[at] + 1]; e++)
            if (level[g.edge[e]] < 0) {
                sum += level[g.edge[e]] = level[queue[at]] + 1;
                queue[end++] = g.edge[e];
            }
    free(level), free(queue), free(g.start), free(g.edge);
    return sum;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    struct graph g = {.ranks = world_size(), .root = 1};
    MPI_Comm_rank(MPI_COMM_WORLD, &g.rank);
    build(&g);
    size_t edges = sizeof(int) * 2 * EDGES * VERTICES, ranks = sizeof(int) * (size_t)g.ranks;
    g.level = need(sizeof(int) * (size_t)g.mine), g.found = need(sizeof(int) * (size_t)g.mine);
    g.out = need(edges), g.in = need(edges);
    g.send_count = need(ranks), g.send_start = need(ranks), g.recv_count = need(ranks), g.recv_start = need(ranks);
    g.filled = need(ranks);
    search(&g);
    double sum = 0;
    for (int v = 0; v < g.mine; v++)
        sum += g.level[v] > 0 ? g.level[v] : 0;
    demand(sum_of_all(sum) == levels_alone(g.root), "graph");
    measure_steps("app_graph", steps, &g, budget_of(argc, argv));
    MPI_Finalize();
    return 0;
}

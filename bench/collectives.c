// Time of collectives on all ranks.
//
// What counts is a batch of calls, one after another with nothing in between, at the rank that takes longest for it.
// Of most collectives no rank can begin the next call before all have begun the last, so a batch is as long
// everywhere. A root of a broadcast can, and would measure how fast it writes: therefore the root goes round, also
// from batch to batch, and nobody can be ahead for longer than one round.
//
// The prefix reductions and the scattered ones are measured on request only. There, too, some ranks can be ahead: what
// counts is how many calls the slowest of them gets done.
//
// usage: collectives SECONDS_PER_POINT barrier|all|reductions
#include "mpi_team.h"
#include <string.h>

#define BYTES_MAX (1L << 20)

struct work {
    int size;
    int bytes; // of one block
    int root;  // of the next broadcast
    int *counts; // of each rank
    char *out, *in;
};

static void barrier_loop(void *arg, long iterations) {
    (void)arg;
    for (long i = 0; i < iterations; i++)
        MPI_Barrier(MPI_COMM_WORLD);
}

static void bcast_loop(void *arg, long iterations) {
    struct work *w = arg;
    for (long i = 0; i < iterations; i++) {
        MPI_Bcast(w->out, w->bytes, MPI_BYTE, w->root, MPI_COMM_WORLD);
        w->root = (w->root + 1) % w->size;
    }
}

static void allreduce_loop(void *arg, long iterations) {
    struct work *w = arg;
    for (long i = 0; i < iterations; i++)
        MPI_Allreduce(w->out, w->in, w->bytes / 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void alltoall_loop(void *arg, long iterations) {
    struct work *w = arg;
    for (long i = 0; i < iterations; i++)
        MPI_Alltoall(w->out, w->bytes, MPI_BYTE, w->in, w->bytes, MPI_BYTE, MPI_COMM_WORLD);
}

static void allgather_loop(void *arg, long iterations) {
    struct work *w = arg;
    for (long i = 0; i < iterations; i++)
        MPI_Allgather(w->out, w->bytes, MPI_BYTE, w->in, w->bytes, MPI_BYTE, MPI_COMM_WORLD);
}

static void scan_loop(void *arg, long iterations) {
    struct work *w = arg;
    for (long i = 0; i < iterations; i++)
        MPI_Scan(w->out, w->in, w->bytes / 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void exscan_loop(void *arg, long iterations) {
    struct work *w = arg;
    for (long i = 0; i < iterations; i++)
        MPI_Exscan(w->out, w->in, w->bytes / 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void reduce_scatter_loop(void *arg, long iterations) {
    struct work *w = arg;
    for (int rank = 0; rank < w->size; rank++)
        w->counts[rank] = w->bytes / 8;
    for (long i = 0; i < iterations; i++)
        MPI_Reduce_scatter(w->out, w->in, w->counts, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void reduce_scatter_block_loop(void *arg, long iterations) {
    struct work *w = arg;
    for (long i = 0; i < iterations; i++)
        MPI_Reduce_scatter_block(w->out, w->in, w->bytes / 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

// One that is measured; a list of them ends with one without a name.
struct point {
    const char *name;
    loop_fn loop;
    int bytes;
};

static const struct point barrier_point = {"barrier", barrier_loop, 0};

static const struct point usual[] = {
    {"bcast", bcast_loop, 8},               {"bcast", bcast_loop, 64 << 10},
    {"bcast", bcast_loop, 1 << 20},         {"allreduce", allreduce_loop, 8},
    {"allreduce", allreduce_loop, 8 << 10}, {"allreduce", allreduce_loop, 1 << 20},
    {"alltoall", alltoall_loop, 8},         {"alltoall", alltoall_loop, 1 << 10},
    {"alltoall", alltoall_loop, 64 << 10},  {"allgather", allgather_loop, 8},
    {"allgather", allgather_loop, 8 << 10}, {NULL, NULL, 0},
};

static const struct point reductions[] = {
    {"scan", scan_loop, 8},
    {"scan", scan_loop, 1 << 10},
    {"scan", scan_loop, 8 << 10},
    {"scan", scan_loop, 64 << 10},
    {"scan", scan_loop, 1 << 20},
    {"exscan", exscan_loop, 8},
    {"exscan", exscan_loop, 8 << 10},
    {"exscan", exscan_loop, 1 << 20},
    {"reduce_scatter", reduce_scatter_loop, 8},
    {"reduce_scatter", reduce_scatter_loop, 8 << 10},
    {"reduce_scatter_block", reduce_scatter_block_loop, 8},
    {"reduce_scatter_block", reduce_scatter_block_loop, 1 << 10},
    {"reduce_scatter_block", reduce_scatter_block_loop, 8 << 10},
    {"reduce_scatter_block", reduce_scatter_block_loop, 64 << 10},
    {NULL, NULL, 0},
};

static double slowest(double seconds) {
    double longest = seconds;
    MPI_Reduce(&seconds, &longest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    return longest;
}

static void measure_point(const struct team *team, struct work *w, const struct point *p, double budget) {
    w->bytes = p->bytes;
    struct summary s = measure(team, p->loop, w, budget);
    if (team->rank == 0)
        print_result(p->name, p->bytes, s);
}

static void measure_points(const struct team *team, struct work *w, const struct point *p, double budget) {
    for (; p->name != NULL; p++)
        measure_point(team, w, p, budget);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    struct team team = mpi_team();
    team.slowest = slowest;
    const char *which = argc > 2 ? argv[2] : "all";
    double budget = budget_of(argc, argv);
    struct work w = {world_size(), 0, 0, NULL, NULL, NULL};
    size_t room = (size_t)w.size * (64 << 10);
    room = room > BYTES_MAX ? room : BYTES_MAX;
    w.out = touched(room, 0);
    w.in = touched(room, 0);
    w.counts = (int *)touched((size_t)w.size * sizeof(int), 0);
    if (strcmp(which, "reductions") == 0) {
        measure_points(&team, &w, reductions, budget);
    } else {
        measure_point(&team, &w, &barrier_point, budget);
        if (strcmp(which, "barrier") != 0)
            measure_points(&team, &w, usual, budget);
    }
    MPI_Finalize();
    return 0;
}

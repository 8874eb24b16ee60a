// Time of collectives on all ranks.
//
// What counts is a batch of calls, one after another with nothing in between, at the rank that takes longest for it.
// Of most collectives no rank can begin the next call before all have begun the last, so a batch is as long
// everywhere. A root of a broadcast can, and would measure how fast it writes: therefore the root goes round, also
// from batch to batch, and nobody can be ahead for longer than one round.
//
// `further` has the other collectives, and these ones at other sizes. Prefix reductions let some ranks be ahead: what
// counts is how many calls the slowest of them gets done.
//
// Cases by name are for those who look into some of them: `scan` is one at all its sizes, `scan:8` at one size.
//
// usage: collectives SECONDS_PER_POINT barrier|all|further|CASE,CASE,…
#include "mpi_team.h"
#include <string.h>

#define BYTES_MAX (1L << 20)

struct work {
    int size;
    int bytes; // of one block
    int root;  // of the next call that has one
    int *counts, *starts; // of each rank's block
    char *out, *in;
};

static void barrier_loop(void *arg, long iterations) {
    (void)arg;
    for (long i = 0; i < iterations; i++)
        MPI_Barrier(MPI_COMM_WORLD);
}

// The root of the next call: it goes round.
static int next_root(struct work *w) {
    int root = w->root;
    w->root = (root + 1) % w->size;
    return root;
}

static void bcast_loop(void *arg, long iterations) {
    struct work *w = arg;
    for (long i = 0; i < iterations; i++)
        MPI_Bcast(w->out, w->bytes, MPI_BYTE, next_root(w), MPI_COMM_WORLD);
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

static void reduce_loop(void *arg, long iterations) {
    struct work *w = arg;
    for (long i = 0; i < iterations; i++)
        MPI_Reduce(w->out, w->in, w->bytes / 8, MPI_DOUBLE, MPI_SUM, next_root(w), MPI_COMM_WORLD);
}

static void gather_loop(void *arg, long iterations) {
    struct work *w = arg;
    for (long i = 0; i < iterations; i++)
        MPI_Gather(w->out, w->bytes, MPI_BYTE, w->in, w->bytes, MPI_BYTE, next_root(w), MPI_COMM_WORLD);
}

static void scatter_loop(void *arg, long iterations) {
    struct work *w = arg;
    for (long i = 0; i < iterations; i++)
        MPI_Scatter(w->out, w->bytes, MPI_BYTE, w->in, w->bytes, MPI_BYTE, next_root(w), MPI_COMM_WORLD);
}

static void gatherv_loop(void *arg, long iterations) {
    struct work *w = arg;
    for (long i = 0; i < iterations; i++)
        MPI_Gatherv(w->out, w->bytes, MPI_BYTE, w->in, w->counts, w->starts, MPI_BYTE, next_root(w), MPI_COMM_WORLD);
}

static void scatterv_loop(void *arg, long iterations) {
    struct work *w = arg;
    for (long i = 0; i < iterations; i++)
        MPI_Scatterv(w->out, w->counts, w->starts, MPI_BYTE, w->in, w->bytes, MPI_BYTE, next_root(w), MPI_COMM_WORLD);
}

static void allgatherv_loop(void *arg, long iterations) {
    struct work *w = arg;
    for (long i = 0; i < iterations; i++)
        MPI_Allgatherv(w->out, w->bytes, MPI_BYTE, w->in, w->counts, w->starts, MPI_BYTE, MPI_COMM_WORLD);
}

static void alltoallv_loop(void *arg, long iterations) {
    struct work *w = arg;
    for (long i = 0; i < iterations; i++)
        MPI_Alltoallv(w->out, w->counts, w->starts, MPI_BYTE, w->in, w->counts, w->starts, MPI_BYTE, MPI_COMM_WORLD);
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
    int *doubles = w->starts + w->size; // of each rank
    for (int rank = 0; rank < w->size; rank++)
        doubles[rank] = w->bytes / 8;
    for (long i = 0; i < iterations; i++)
        MPI_Reduce_scatter(w->out, w->in, doubles, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
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

static const struct point further[] = {
    {"bcast", bcast_loop, 0},
    {"allreduce", allreduce_loop, 0},
    {"alltoall", alltoall_loop, 0},
    {"allgather", allgather_loop, 0},
    {"reduce", reduce_loop, 0},
    {"gather", gather_loop, 0},
    {"scatter", scatter_loop, 0},
    {"scan", scan_loop, 0},
    {"exscan", exscan_loop, 0},
    {"reduce_scatter", reduce_scatter_loop, 0},
    {"reduce_scatter_block", reduce_scatter_block_loop, 0},
    {"gatherv", gatherv_loop, 0},
    {"scatterv", scatterv_loop, 0},
    {"allgatherv", allgatherv_loop, 0},
    {"alltoallv", alltoallv_loop, 0},
};

static const int further_bytes[] = {8, 1 << 10, 8 << 10, 64 << 10, 1 << 20};

static void measure_point(const struct team *team, struct work *w, const struct point *p, double budget) {
    w->bytes = p->bytes;
    for (int rank = 0; rank < w->size; rank++) {
        w->counts[rank] = p->bytes;
        w->starts[rank] = rank * p->bytes;
    }
    struct summary s = measure(team, p->loop, w, budget);
    if (team->rank == 0)
        print_result(p->name, p->bytes, s);
}

static void measure_points(const struct team *team, struct work *w, const struct point *p, double budget) {
    for (; p->name != NULL; p++)
        measure_point(team, w, p, budget);
}

static int is_usual(const struct point *asked) {
    for (const struct point *p = usual; p->name != NULL; p++)
        if (p->bytes == asked->bytes && strcmp(p->name, asked->name) == 0)
            return 1;
    return 0;
}

static void measure_further(const struct team *team, struct work *w, double budget) {
    for (size_t c = 0; c < sizeof further / sizeof *further; c++)
        for (size_t b = 0; b < sizeof further_bytes / sizeof *further_bytes; b++) {
            struct point p = further[c];
            p.bytes = further_bytes[b];
            if (!is_usual(&p))
                measure_point(team, w, &p, budget);
        }
}

static const struct point *named(const char *name) {
    if (strcmp(name, barrier_point.name) == 0)
        return &barrier_point;
    for (size_t c = 0; c < sizeof further / sizeof *further; c++)
        if (strcmp(name, further[c].name) == 0)
            return &further[c];
    fprintf(stderr, "collectives: no such point: %s\n", name);
    MPI_Abort(MPI_COMM_WORLD, 2);
    return NULL;
}

// What a list names, separated by commas: a collective with all its sizes, or as `name:bytes` with one.
static void measure_listed(const struct team *team, struct work *w, char *list, double budget) {
    for (char *name = strtok(list, ","); name != NULL; name = strtok(NULL, ",")) {
        char *size = strchr(name, ':');
        if (size != NULL)
            *size++ = '\0';
        struct point p = *named(name);
        int has_one = size != NULL || p.loop == barrier_loop;
        size_t sizes = has_one ? 1 : sizeof further_bytes / sizeof *further_bytes;
        for (size_t b = 0; b < sizes; b++) {
            p.bytes = size != NULL ? atoi(size) : has_one ? 0 : further_bytes[b];
            measure_point(team, w, &p, budget);
        }
    }
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    struct team team = mpi_team();
    team.slowest = slowest_rank;
    char *which = argc > 2 ? argv[2] : "all";
    double budget = budget_of(argc, argv);
    int is_usual_set = strcmp(which, "barrier") == 0 || strcmp(which, "all") == 0;
    struct work w = {.size = world_size()};
    size_t room = (size_t)w.size * (is_usual_set ? 64 << 10 : BYTES_MAX);
    room = room > BYTES_MAX ? room : BYTES_MAX;
    w.out = touched(room, 0);
    w.in = touched(room, 0);
    w.counts = (int *)touched((size_t)w.size * sizeof(int), 0);
    w.starts = (int *)touched(2 * (size_t)w.size * sizeof(int), 0);
    if (strcmp(which, "further") == 0) {
        measure_further(&team, &w, budget);
    } else if (!is_usual_set) {
        measure_listed(&team, &w, which, budget);
    } else {
        measure_point(&team, &w, &barrier_point, budget);
        if (strcmp(which, "barrier") != 0)
            measure_points(&team, &w, usual, budget);
    }
    MPI_Finalize();
    return 0;
}

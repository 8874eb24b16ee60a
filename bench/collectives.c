// Time of collectives on all ranks.
//
// What counts is a batch of calls, one after another with nothing in between, at the rank that takes longest for it.
// Of most collectives no rank can begin the next call before all have begun the last, so a batch is as long
// everywhere. A root of a broadcast can, and would measure how fast it writes: therefore the root goes round, also
// from batch to batch, and nobody can be ahead for longer than one round.
//
// usage: collectives SECONDS_PER_POINT barrier|all
#include "mpi_team.h"
#include <string.h>

#define BYTES_MAX (1L << 20)

struct work {
    int size;
    int bytes; // of one block
    int root;  // of the next broadcast
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

static const struct point {
    const char *name;
    loop_fn loop;
    int bytes;
} points[] = {
    {"barrier", barrier_loop, 0},          {"bcast", bcast_loop, 8},
    {"bcast", bcast_loop, 64 << 10},       {"bcast", bcast_loop, 1 << 20},
    {"allreduce", allreduce_loop, 8},      {"allreduce", allreduce_loop, 8 << 10},
    {"allreduce", allreduce_loop, 1 << 20},{"alltoall", alltoall_loop, 8},
    {"alltoall", alltoall_loop, 1 << 10},  {"alltoall", alltoall_loop, 64 << 10},
    {"allgather", allgather_loop, 8},      {"allgather", allgather_loop, 8 << 10},
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

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    struct team team = mpi_team();
    team.slowest = slowest;
    int only_barrier = argc > 2 && strcmp(argv[2], "barrier") == 0;
    struct work w = {world_size(), 0, 0, NULL, NULL};
    size_t room = (size_t)w.size * (64 << 10);
    room = room > BYTES_MAX ? room : BYTES_MAX;
    w.out = touched(room, 0);
    w.in = touched(room, 0);
    size_t count = only_barrier ? 1 : sizeof points / sizeof *points;
    for (size_t i = 0; i < count; i++)
        measure_point(&team, &w, &points[i], budget_of(argc, argv));
    MPI_Finalize();
    return 0;
}

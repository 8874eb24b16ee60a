// One-sided communication: what an access and a synchronization of a window cost (MPI 5.0 chapter 12).
// usage: windows SECONDS_PER_POINT [together]
//
// On two ranks: accesses of rank 0 to rank 1, each with the flush that completes it, in a window of MPI_Win_allocate,
// and in one of MPI_Win_create (names with "created_"). On any number of ranks, with a second argument: what all do at
// the same time alone. That is synchronization, locks of the next rank ("each_"), and elements of rank 0, either one
// for all ("contended_") or one for each ("disjoint_"). A batch then counts as long as the last rank takes.
#include "mpi_team.h"

enum { BYTES_MAX = 4 << 20 };

struct window {
    MPI_Win win;
    MPI_Group neighbors; // of post and start: the rank before, and the one behind
    MPI_Datatype element; // of an accumulation
    MPI_Aint at;
    int acts, target, bytes;
    char *local, *result;
};

static void put_loop(void *arg, long iterations) {
    struct window *w = arg;
    for (long i = 0; w->acts && i < iterations; i++) {
        MPI_Put(w->local, w->bytes, MPI_BYTE, w->target, 0, w->bytes, MPI_BYTE, w->win);
        MPI_Win_flush(w->target, w->win);
    }
}

// Puts of one long in a row, and one flush behind all.
static void row_loop(void *arg, long iterations) {
    struct window *w = arg;
    if (!w->acts)
        return;
    for (long i = 0; i < iterations; i++)
        MPI_Put(w->local, 1, MPI_INT64_T, w->target, 8 * (i & 511), 1, MPI_INT64_T, w->win);
    MPI_Win_flush(w->target, w->win);
}

static void get_loop(void *arg, long iterations) {
    struct window *w = arg;
    for (long i = 0; w->acts && i < iterations; i++) {
        MPI_Get(w->result, w->bytes, MPI_BYTE, w->target, 0, w->bytes, MPI_BYTE, w->win);
        MPI_Win_flush(w->target, w->win);
    }
}

// The same as requests.
static void rput_loop(void *arg, long iterations) {
    struct window *w = arg;
    MPI_Request request;
    for (long i = 0; w->acts && i < iterations; i++) {
        MPI_Rput(w->local, w->bytes, MPI_BYTE, w->target, 0, w->bytes, MPI_BYTE, w->win, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

static void rget_loop(void *arg, long iterations) {
    struct window *w = arg;
    MPI_Request request;
    for (long i = 0; w->acts && i < iterations; i++) {
        MPI_Rget(w->result, w->bytes, MPI_BYTE, w->target, 0, w->bytes, MPI_BYTE, w->win, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

static void rget_accumulate_loop(void *arg, long iterations) {
    struct window *w = arg;
    MPI_Request request;
    for (long i = 0; w->acts && i < iterations; i++) {
        MPI_Rget_accumulate(w->local, 1, MPI_INT64_T, w->result, 1, MPI_INT64_T, w->target, 0, 1, MPI_INT64_T,
                            MPI_SUM, w->win, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

static void flush_all_loop(void *arg, long iterations) {
    struct window *w = arg;
    for (long i = 0; w->acts && i < iterations; i++)
        MPI_Win_flush_all(w->win);
}

static void accumulate_loop(void *arg, long iterations) {
    struct window *w = arg;
    const int elements = w->bytes / 8;
    for (long i = 0; w->acts && i < iterations; i++) {
        MPI_Accumulate(w->local, elements, w->element, w->target, w->at, elements, w->element, MPI_SUM, w->win);
        MPI_Win_flush(w->target, w->win);
    }
}

static void fetch_loop(void *arg, long iterations) {
    struct window *w = arg;
    for (long i = 0; w->acts && i < iterations; i++) {
        MPI_Fetch_and_op(w->local, w->result, MPI_INT64_T, w->target, 0, MPI_SUM, w->win);
        MPI_Win_flush(w->target, w->win);
    }
}

static void swap_loop(void *arg, long iterations) {
    struct window *w = arg;
    for (long i = 0; w->acts && i < iterations; i++) {
        MPI_Compare_and_swap(w->local, w->local + 8, w->result, MPI_INT64_T, w->target, 0, w->win);
        MPI_Win_flush(w->target, w->win);
    }
}

static void lock_loop(void *arg, long iterations) {
    struct window *w = arg;
    for (long i = 0; w->acts && i < iterations; i++) {
        MPI_Win_lock(MPI_LOCK_SHARED, w->target, 0, w->win);
        MPI_Put(w->local, 8, MPI_BYTE, w->target, 0, 8, MPI_BYTE, w->win);
        MPI_Win_unlock(w->target, w->win);
    }
}

static void lock_all_loop(void *arg, long iterations) {
    struct window *w = arg;
    for (long i = 0; w->acts && i < iterations; i++) {
        MPI_Win_lock_all(0, w->win);
        MPI_Win_unlock_all(w->win);
    }
}

static void fence_loop(void *arg, long iterations) {
    struct window *w = arg;
    for (long i = 0; i < iterations; i++)
        MPI_Win_fence(0, w->win);
}

static void exposure_loop(void *arg, long iterations) {
    struct window *w = arg;
    for (long i = 0; i < iterations; i++) {
        MPI_Win_post(w->neighbors, 0, w->win);
        MPI_Win_start(w->neighbors, 0, w->win);
        MPI_Win_complete(w->win);
        MPI_Win_wait(w->win);
    }
}

static void allocate_loop(void *arg, long iterations) {
    (void)arg;
    for (long i = 0; i < iterations; i++) {
        MPI_Win win;
        char *memory;
        MPI_Win_allocate(4096, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
        MPI_Win_free(&win);
    }
}

static void point(const struct team *team, const char *kind, const char *metric, loop_fn loop, struct window *w,
                  int bytes, double budget) {
    char name[64];
    snprintf(name, sizeof name, "%s%s", kind, metric);
    w->bytes = bytes;
    struct summary s = measure(team, loop, w, budget);
    if (team->rank == 0)
        print_result(name, bytes, s);
}

static void accesses(const struct team *team, const char *kind, struct window *w, double budget) {
    static const int sizes[] = {8, 64 << 10, 1 << 20, 4 << 20};
    MPI_Win_lock_all(0, w->win);
    w->element = MPI_DOUBLE, w->at = 0;
    for (int i = 0; i < 4; i++) {
        point(team, kind, "put", put_loop, w, sizes[i], budget);
        point(team, kind, "get", get_loop, w, sizes[i], budget);
    }
    point(team, kind, "put_row", row_loop, w, 8, budget);
    point(team, kind, "rput", rput_loop, w, 8, budget);
    point(team, kind, "rget", rget_loop, w, 8, budget);
    point(team, kind, "rget_accumulate", rget_accumulate_loop, w, 8, budget);
    point(team, kind, "flush_all", flush_all_loop, w, 0, budget);
    point(team, kind, "accumulate", accumulate_loop, w, 8, budget);
    point(team, kind, "accumulate", accumulate_loop, w, 1 << 20, budget);
    point(team, kind, "fetch_and_op", fetch_loop, w, 8, budget);
    point(team, kind, "compare_and_swap", swap_loop, w, 8, budget);
    MPI_Win_unlock_all(w->win);
}

static void synchronization(const struct team *team, struct window *w, int ranks, double budget) {
    MPI_Group all;
    int around[2] = {(team->rank + 1) % ranks, (team->rank + ranks - 1) % ranks};
    MPI_Win_get_group(w->win, &all);
    MPI_Group_incl(all, ranks > 2 ? 2 : 1, around, &w->neighbors);
    point(team, "", "post_start_complete_wait", exposure_loop, w, 0, budget);
    point(team, "", "fence", fence_loop, w, 0, budget);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, w->win);
    MPI_Group_free(&w->neighbors);
    MPI_Group_free(&all);
    point(team, "", "win_allocate_free", allocate_loop, w, 0, budget);
}

static void each(const struct team *team, struct window *w, int ranks, double budget) {
    w->target = (team->rank + 1) % ranks;
    point(team, "each_", "lock_put_unlock", lock_loop, w, 8, budget);
    point(team, "each_", "lock_all_unlock_all", lock_all_loop, w, 0, budget);
}

// Elements of rank 0: all ranks use the first, or each the first of two cache lines of its own.
static void atomics(const struct team *team, struct window *w, double budget) {
    w->target = 0, w->at = 0, w->element = MPI_INT64_T;
    MPI_Win_lock_all(0, w->win);
    point(team, "contended_", "fetch_and_op", fetch_loop, w, 8, budget);
    point(team, "contended_", "compare_and_swap", swap_loop, w, 8, budget);
    point(team, "contended_", "accumulate", accumulate_loop, w, 8, budget);
    w->at = 128 * team->rank;
    point(team, "disjoint_", "accumulate", accumulate_loop, w, 8, budget);
    MPI_Win_unlock_all(w->win);
}

static void together(struct team team, struct window w, double budget) {
    const int ranks = world_size();
    team.slowest = slowest_rank;
    w.acts = 1;
    synchronization(&team, &w, ranks, budget);
    each(&team, &w, ranks, budget);
    atomics(&team, &w, budget);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    struct team team = mpi_team();
    double budget = budget_of(argc, argv);
    struct window w = {.acts = team.rank == 0, .target = world_size() - 1};
    w.local = touched(BYTES_MAX, 1), w.result = touched(BYTES_MAX, 2);
    char *memory;
    MPI_Win_allocate(BYTES_MAX, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &w.win);
    filled(memory, BYTES_MAX, 0);
    MPI_Barrier(MPI_COMM_WORLD);
    if (argc < 3) {
        accesses(&team, "", &w, budget);
        point(&team, "", "lock_put_unlock", lock_loop, &w, 8, budget);
        point(&team, "", "lock_all_unlock_all", lock_all_loop, &w, 0, budget);
    }
    together(team, w, budget);
    MPI_Win_free(&w.win);
    if (argc < 3) {
        memory = touched_pages(BYTES_MAX, 0);
        MPI_Win_create(memory, BYTES_MAX, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &w.win);
        accesses(&team, "created_", &w, budget);
        MPI_Win_free(&w.win);
    }
    MPI_Finalize();
    return 0;
}

// What `tern netpipe` runs between two ranks, on Tern and, compiled by their wrappers, on other MPI libraries.
// usage: netpipe LOOP SECONDS_PER_POINT BYTES...      LOOP is one of those in the table at the end
//        netpipe version
// Only what every MPI has since MPI-2, so that old ones can be compared, too; windows need MPI-3.
#include "mpi_team.h"
#include "netpipe_raw.h"
#include "netpipe_overlap.h"
#include "netpipe_rma.h"
#include <string.h>

struct pingpong {
    int rank, size;
    int bytes;
    char *out, *in;
};

static void send_out(const struct pingpong *p) {
    MPI_Send(p->out, p->bytes, MPI_BYTE, 1 - p->rank, 1, MPI_COMM_WORLD);
}

static void receive_in(const struct pingpong *p) {
    MPI_Recv(p->in, p->bytes, MPI_BYTE, 1 - p->rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

// One message back and forth: NetPIPE's loop (MPICH on MP_Lite section 7.2) and COMMS1 (MPI for the T3D section 4.1).
static void pingpong_loop(void *arg, long iterations) {
    const struct pingpong *p = arg;
    for (long i = 0; i < iterations; i++)
        if (p->rank == 0) {
            send_out(p);
            receive_in(p);
        } else {
            receive_in(p);
            send_out(p);
        }
}

// Both send, then both receive: COMMS2. The send is non-blocking, since what the paper's loop relies on, that a long
// message is buffered somewhere, the standard does not promise.
static void exchange_loop(void *arg, long iterations) {
    const struct pingpong *p = arg;
    for (long i = 0; i < iterations; i++) {
        MPI_Request request;
        MPI_Isend(p->out, p->bytes, MPI_BYTE, 1 - p->rank, 1, MPI_COMM_WORLD, &request);
        receive_in(p);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

// Broadcasts, one after another, by any number of ranks. The root goes round, so that no root runs ahead.
static void bcast_loop(void *arg, long iterations) {
    const struct pingpong *p = arg;
    for (long i = 0; i < iterations; i++)
        MPI_Bcast(p->out, p->bytes, MPI_BYTE, (int)(i % p->size), MPI_COMM_WORLD);
}

static double mpi_slowest(double seconds) {
    double most = seconds;
    MPI_Reduce(&seconds, &most, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    return most;
}

struct points {
    const char *name;
    double budget;
    int count;
    char **bytes;
};

static long most_bytes(const struct points *points) {
    long most = 1;
    for (int i = 0; i < points->count; i++)
        most = atol(points->bytes[i]) > most ? atol(points->bytes[i]) : most;
    return most;
}

// Measures a loop at every size; one iteration makes `transfers` transfers that follow each other.
static void measure_points(const struct team *team, loop_fn loop, const struct points *points, int transfers) {
    struct pingpong p = {team->rank, world_size(), 0, NULL, NULL};
    p.out = touched((size_t)most_bytes(points), 1);
    p.in = touched((size_t)most_bytes(points), 2);
    for (int i = 0; i < points->count; i++) {
        p.bytes = (int)atol(points->bytes[i]);
        struct summary s = measure(team, loop, &p, points->budget);
        if (team->rank == 0)
            print_result(points->name, p.bytes, (struct summary){s.best / transfers, s.median / transfers});
    }
}

static int measure_pingpong(const struct points *points) {
    struct team team = mpi_team();
    measure_points(&team, pingpong_loop, points, 2);
    return 0;
}

static int measure_exchange(const struct points *points) {
    struct team team = mpi_team();
    measure_points(&team, exchange_loop, points, 1);
    return 0;
}

static int measure_bcast(const struct points *points) {
    struct team team = mpi_team();
    team.slowest = mpi_slowest;
    measure_points(&team, bcast_loop, points, 1);
    return 0;
}

static int measure_raw(const struct points *points, raw_loop_fn loop, int transfers) {
    struct team team = raw_tcp_team();
    struct raw_pair p = {team.rank, 0, NULL, NULL};
    p.out = touched((size_t)most_bytes(points), 1);
    p.in = touched((size_t)most_bytes(points), 2);
    for (int i = 0; i < points->count; i++) {
        p.bytes = (size_t)atol(points->bytes[i]);
        struct summary s = measure(&team, loop, &p, points->budget);
        if (team.rank == 0)
            print_result(points->name, (long)p.bytes, (struct summary){s.best / transfers, s.median / transfers});
    }
    return 0;
}

static int measure_raw_polled(const struct points *points) {
    return measure_raw(points, raw_polled_loop, 2);
}

static int measure_raw_blocking(const struct points *points) {
    return measure_raw(points, raw_blocking_loop, 2);
}

static int measure_raw_exchange(const struct points *points) {
    return measure_raw(points, raw_exchange_loop, 1);
}

static int measure_overlap(const struct points *points) {
    struct team team = mpi_team();
    team.slowest = mpi_slowest;
    for (int i = 0; i < points->count; i++)
        overlap_point(&team, atol(points->bytes[i]), points->budget);
    return 0;
}

static int measure_interrupt(const struct points *points) {
    struct team team = mpi_team();
    int late = 0;
    for (int i = 0; i < points->count; i++)
        late |= interrupt_point(&team, atol(points->bytes[i]), points->budget);
    return late ? 3 : 0;
}

#if MPI_VERSION >= 3
static int measure_rma(const struct points *points, enum rma_kind kind) {
    struct team team = mpi_team();
    struct rma_pair p = {kind, team.rank, 0, touched(rma_room((size_t)most_bytes(points)), 0), MPI_WIN_NULL};
    MPI_Aint room = (MPI_Aint)rma_room((size_t)most_bytes(points));
    char *memory;
    MPI_Win_allocate(room, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &p.win);
    filled(memory, (size_t)room, 0);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, p.win);
    for (int i = 0; i < points->count; i++) {
        p.bytes = (int)atol(points->bytes[i]);
        struct summary s = measure(&team, rma_loop, &p, points->budget);
        if (team.rank == 0)
            print_result(points->name, p.bytes, s);
    }
    MPI_Win_unlock_all(p.win);
    MPI_Win_free(&p.win);
    return 0;
}

static int measure_put(const struct points *points) {
    return measure_rma(points, RMA_PUT);
}

static int measure_get(const struct points *points) {
    return measure_rma(points, RMA_GET);
}

static int measure_atomic(const struct points *points) {
    return measure_rma(points, RMA_ATOMIC);
}
#endif

// Rank 0 alone copies; rank 1 waits for its numbers.
static int measure_memory(const struct points *points, enum rma_kind kind) {
    struct team team = mpi_team();
    const size_t room = rma_room((size_t)most_bytes(points));
    struct memory_pair m = {kind, 0, touched_pages(room, 1), touched(room, 0)};
    for (int i = 0; i < points->count; i++) {
        m.bytes = (size_t)atol(points->bytes[i]);
        struct summary s = measure(&team, team.rank == 0 ? memory_loop : memory_idle_loop, &m, points->budget);
        if (team.rank == 0)
            print_result(points->name, (long)m.bytes, s);
    }
    return 0;
}

static int measure_memory_put(const struct points *points) {
    return measure_memory(points, RMA_PUT);
}

static int measure_memory_get(const struct points *points) {
    return measure_memory(points, RMA_GET);
}

static int measure_memory_atomic(const struct points *points) {
    return measure_memory(points, RMA_ATOMIC);
}

static int measure_raw_answered(const struct points *points) {
    return measure_raw(points, raw_answered_loop, 1);
}

static const struct loop {
    const char *name;
    int (*run)(const struct points *points);
    int is_pair; // of two ranks alone
} loops[] = {
    {"pingpong", measure_pingpong, 1},
    {"exchange", measure_exchange, 1},
    {"raw-polled", measure_raw_polled, 1},
    {"raw-blocking", measure_raw_blocking, 1},
    {"raw-exchange", measure_raw_exchange, 1},
    {"overlap", measure_overlap, 1},
    {"interrupt", measure_interrupt, 1},
    {"bcast", measure_bcast, 0},
#if MPI_VERSION >= 3
    {"rma-put", measure_put, 1},
    {"rma-get", measure_get, 1},
    {"rma-atomic", measure_atomic, 1},
#endif
    {"memory-put", measure_memory_put, 1},
    {"memory-get", measure_memory_get, 1},
    {"memory-atomic", measure_memory_atomic, 1},
    {"raw-answered", measure_raw_answered, 1},
};

static int print_version(void) {
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;
    MPI_Get_library_version(version, &length);
    if (mpi_team().rank == 0)
        printf("%s\n", version);
    return 0;
}

static int run(int argc, char **argv) {
    if (argc == 2 && strcmp(argv[1], "version") == 0)
        return print_version();
    for (size_t i = 0; argc > 3 && i < sizeof loops / sizeof *loops; i++)
        if (strcmp(argv[1], loops[i].name) == 0 && (world_size() == 2 || !loops[i].is_pair)) {
            struct points points = {argv[1], atof(argv[2]), argc - 3, argv + 3};
            return loops[i].run(&points);
        }
    fprintf(stderr, "usage: netpipe LOOP SECONDS BYTES..., by two ranks; tern netpipe calls it\n");
    return 2;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int status = run(argc, argv);
    MPI_Finalize();
    return status;
}

// What `tern tune` runs: times of one collective, of messages between two ranks, or of a rank's own work.
// usage: measure coll SECONDS_PER_POINT NAME BYTES...
//        measure messages SECONDS_PER_POINT BYTES...
//        measure overheads SECONDS_PER_POINT BYTES...
//        measure exchange SECONDS_PER_POINT BYTES...
//        measure compute SECONDS_PER_POINT
// The bytes are those that choose an algorithm: the whole vector of a broadcast or reduction, one block elsewhere.
// Roots rotate, so that no root runs ahead of the others.
#include "mpi_team.h"
#include <string.h>

struct work {
    int rank, size;
    long bytes;
    int count;   // elements of a reduction: doubles
    int *counts; // of a reduce_scatter, per rank
    char *out, *in;
};

typedef void (*call_fn)(const struct work *w, int root);

static void call_barrier(const struct work *w, int root) {
    (void)w, (void)root;
    MPI_Barrier(MPI_COMM_WORLD);
}

static void call_bcast(const struct work *w, int root) {
    MPI_Bcast_c(w->out, w->bytes, MPI_BYTE, root, MPI_COMM_WORLD);
}

static void call_gather(const struct work *w, int root) {
    MPI_Gather_c(w->out, w->bytes, MPI_BYTE, w->in, w->bytes, MPI_BYTE, root, MPI_COMM_WORLD);
}

static void call_scatter(const struct work *w, int root) {
    MPI_Scatter_c(w->out, w->bytes, MPI_BYTE, w->in, w->bytes, MPI_BYTE, root, MPI_COMM_WORLD);
}

// What comes of one call is what the next one sends, as in an iteration: what nobody has written since the last call
// may still be in the other cores' caches, and then costs half.
struct turn {
    char *from, *into;
};

static struct turn next_turn(const struct work *w) {
    static int turn;
    turn = !turn;
    return turn ? (struct turn){w->out, w->in} : (struct turn){w->in, w->out};
}

static void call_allgather(const struct work *w, int root) {
    (void)root;
    struct turn t = next_turn(w);
    MPI_Allgather_c(t.from, w->bytes, MPI_BYTE, t.into, w->bytes, MPI_BYTE, MPI_COMM_WORLD);
}

static void call_alltoall(const struct work *w, int root) {
    (void)root;
    struct turn t = next_turn(w);
    MPI_Alltoall_c(t.from, w->bytes, MPI_BYTE, t.into, w->bytes, MPI_BYTE, MPI_COMM_WORLD);
}

static void call_reduce(const struct work *w, int root) {
    MPI_Reduce(w->out, w->in, w->count, MPI_DOUBLE, MPI_SUM, root, MPI_COMM_WORLD);
}

// All numbers are 0 and stay so.
static void call_allreduce(const struct work *w, int root) {
    (void)root;
    struct turn t = next_turn(w);
    MPI_Allreduce(t.from, t.into, w->count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void call_reduce_scatter(const struct work *w, int root) {
    (void)root;
    MPI_Reduce_scatter(w->out, w->in, w->counts, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void call_reduce_scatter_block(const struct work *w, int root) {
    (void)root;
    MPI_Reduce_scatter_block(w->out, w->in, w->counts[0], MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static const struct collective {
    const char *name;
    call_fn call;
    int has_blocks; // a rank's buffer holds a block for each rank
} collectives[] = {
    {"barrier", call_barrier, 0},
    {"bcast", call_bcast, 0},
    {"gather", call_gather, 1},
    {"scatter", call_scatter, 1},
    {"allgather", call_allgather, 1},
    {"alltoall", call_alltoall, 1},
    {"reduce", call_reduce, 0},
    {"allreduce", call_allreduce, 0},
    {"reduce_scatter", call_reduce_scatter, 0},
    {"reduce_scatter_block", call_reduce_scatter_block, 0},
};

struct loop {
    const struct work *work;
    call_fn call;
};

static void run_loop(void *arg, long iterations) {
    const struct loop *loop = arg;
    for (long i = 0; i < iterations; i++)
        loop->call(loop->work, (int)(i % loop->work->size));
}

static void set_bytes(struct work *w, long bytes) {
    w->bytes = bytes;
    w->count = (int)(bytes / 8);
    for (int r = 0; r < w->size; r++)
        w->counts[r] = w->count / w->size;
}

static const struct collective *find(const char *name) {
    for (size_t i = 0; i < sizeof collectives / sizeof *collectives; i++)
        if (strcmp(collectives[i].name, name) == 0)
            return &collectives[i];
    return NULL;
}

static int measure_collective(int argc, char **argv) {
    const struct collective *c = find(argv[3]);
    if (c == NULL) {
        fprintf(stderr, "measure: no collective '%s' is measured\n", argv[3]);
        return 2;
    }
    struct team team = mpi_team();
    struct work w = {team.rank, world_size(), 0, 0, NULL, NULL, NULL};
    long most = 8;
    for (int i = 4; i < argc; i++)
        most = atol(argv[i]) > most ? atol(argv[i]) : most;
    size_t room = (size_t)most * (size_t)(c->has_blocks ? w.size : 1);
    w.counts = malloc((size_t)w.size * sizeof *w.counts);
    w.out = touched(room, 0);
    w.in = touched(room, 0);
    struct loop loop = {&w, c->call};
    for (int i = 4; i < argc; i++) {
        set_bytes(&w, atol(argv[i]));
        struct summary s = measure(&team, run_loop, &loop, atof(argv[2]));
        if (team.rank == 0)
            print_result(c->name, w.bytes, s);
    }
    return 0;
}

// Messages between ranks 0 and 1: the time of a round trip; and what they cost each side, after Kielmann and others,
// "Fast measurement of LogP parameters for message passing platforms", 2000: the overheads of sending and of receiving
// what is there already, and the gap between messages of a stream.

enum { BURST = 8, STREAM = 256, SAMPLES_MAX = 4000 };
enum { BURST_BYTES = 64, PAIR = 2 }; // of longer messages fewer find room

#define ARRIVAL_SECONDS 20e-6 // what was sent is surely there after so long

struct pair {
    int rank;
    int bytes;
    int burst; // messages that are sent before the first is received: as many as find room
    char *buffer;
    double samples[SAMPLES_MAX];
};

static void pass(const struct pair *p, int from) {
    if (p->rank == from)
        MPI_Send(p->buffer, p->bytes, MPI_BYTE, 1 - from, 0, MPI_COMM_WORLD);
    else
        MPI_Recv(p->buffer, p->bytes, MPI_BYTE, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void spin(double seconds) {
    for (double end = now() + seconds; now() < end;)
        ;
}

// Many in a row, as in a program: after a pause the first message finds its lines in no cache, and the clock takes as
// long as a part of it.
static void round_trips(void *arg, long iterations) {
    for (long i = 0; i < iterations; i++) {
        pass(arg, 0);
        pass(arg, 1);
    }
}

static double stream(struct pair *p) {
    double start = now();
    for (int i = 0; i < STREAM; i++)
        pass(p, 0);
    double gap = (now() - start) / STREAM;
    pass(p, 1);
    return gap;
}

// Rank 0 reports what a burst of sends takes.
static double send_overhead(struct pair *p) {
    double start = now();
    for (int i = 0; i < p->burst; i++)
        pass(p, 0);
    double taken = (now() - start) / p->burst;
    pass(p, 1);
    return taken;
}

// Rank 0 reports what it takes to receive a burst that has arrived.
static double recv_overhead(struct pair *p) {
    pass(p, 0);
    if (p->rank == 0)
        spin(ARRIVAL_SECONDS);
    double start = now();
    for (int i = 0; i < p->burst; i++)
        pass(p, 1);
    return (now() - start) / p->burst;
}

// Two operands; each time others, so that those of a few hundred KiB and more are not in the nearest cache, as in a
// call that has a message in between.
static char *operands(struct pair *p) {
    static int turn;
    return p->buffer + (turn++ % 2) * 2 * (size_t)p->bytes;
}

static double local_sum(struct pair *p) {
    char *from = operands(p), *to = from + p->bytes;
    double start = now();
    MPI_Reduce_local(from, to, p->bytes / 8, MPI_DOUBLE, MPI_SUM);
    return now() - start;
}

static double copy(struct pair *p) {
    char *to = operands(p), *from = to + p->bytes;
    double start = now();
    memcpy(to, from, (size_t)p->bytes);
    // The compiler must not leave the copy out.
    __asm__ volatile("" : : "r"(to) : "memory");
    return now() - start;
}

// A collective of one rank: its arguments are checked, its schedule is built and does nothing but a copy.
static double call(struct pair *p) {
    double start = now();
    for (int i = 0; i < BURST; i++)
        MPI_Allreduce(p->buffer, p->buffer + 8, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF);
    return (now() - start) / BURST;
}

// Over about `budget` seconds.
static struct summary sample(struct pair *p, double (*measured)(struct pair *), double budget) {
    int count = 0;
    long more = 1;
    double end = now() + budget;
    while (more) {
        double taken = measured(p);
        if (count < SAMPLES_MAX)
            p->samples[count++] = taken;
        more = count < SAMPLES_MAX && now() < end;
        MPI_Bcast(&more, 1, MPI_LONG, 0, MPI_COMM_WORLD);
    }
    // The first ones pay for page faults and connections.
    int warm = count / 10;
    struct summary s = summarize(p->samples + warm, count - warm);
    // Single samples are short enough to be lucky; the first tenth of them is not.
    s.best = p->samples[warm + (count - warm) / 10];
    return s;
}

static void report(const struct pair *p, const char *what, struct summary s) {
    if (p->rank == 0)
        print_result(what, p->bytes, s);
}

static struct pair *make_pair(long bytes_max) {
    static struct pair p;
    p.rank = mpi_team().rank;
    p.buffer = touched(4 * (size_t)bytes_max, 0);
    p.bytes = 8;
    return &p;
}

static int pair_is_there(void) {
    if (world_size() != 2)
        fprintf(stderr, "measure: messages are measured between two ranks\n");
    return world_size() == 2;
}

// The sizes that arguments name, and the longest of them.
static long longest(int argc, char **argv) {
    long most = 8;
    for (int i = 3; i < argc; i++)
        most = atol(argv[i]) > most ? atol(argv[i]) : most;
    return most;
}

static int measure_messages(int argc, char **argv) {
    if (!pair_is_there())
        return 2;
    struct pair *p = make_pair(longest(argc, argv));
    struct team team = mpi_team();
    for (int i = 3; i < argc; i++) {
        p->bytes = (int)atol(argv[i]);
        report(p, "round-trip", measure(&team, round_trips, p, atof(argv[2])));
    }
    return 0;
}

static int measure_overheads(int argc, char **argv) {
    double budget = atof(argv[2]);
    if (!pair_is_there())
        return 2;
    struct pair *p = make_pair(longest(argc, argv));
    report(p, "gap", sample(p, stream, budget));
    for (int i = 3; i < argc; i++) {
        p->bytes = (int)atol(argv[i]);
        p->burst = p->bytes <= BURST_BYTES ? BURST : PAIR;
        report(p, "send-overhead", sample(p, send_overhead, budget));
        report(p, "recv-overhead", sample(p, recv_overhead, budget));
    }
    return 0;
}

// Both ranks send what they have just computed and combine it with what comes, as in an allreduce: each has its own
// message to copy, so none helps the other.
static void exchanges(void *arg, long iterations) {
    const struct pair *p = arg;
    char *own = p->buffer, *other = own + p->bytes;
    for (long i = 0; i < iterations; i++) {
        MPI_Sendrecv(own, p->bytes, MPI_BYTE, 1 - p->rank, 0, other, p->bytes, MPI_BYTE, 1 - p->rank, 0,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Reduce_local(other, own, p->bytes / 8, MPI_DOUBLE, MPI_SUM);
    }
}

static int measure_exchange(int argc, char **argv) {
    double budget = atof(argv[2]);
    if (!pair_is_there())
        return 2;
    struct pair *p = make_pair(longest(argc, argv));
    struct team team = mpi_team();
    for (int i = 3; i < argc; i++) {
        p->bytes = (int)atol(argv[i]);
        report(p, "exchange", measure(&team, exchanges, p, budget));
        report(p, "local-sum", sample(p, local_sum, budget));
    }
    return 0;
}

static int measure_compute(double budget) {
    static const int sizes[] = {64 << 10, 1 << 20};
    struct pair *p = make_pair(1 << 20);
    report(p, "call", sample(p, call, budget));
    for (int i = 0; i < 2; i++) {
        p->bytes = sizes[i];
        report(p, "local-sum", sample(p, local_sum, budget));
        report(p, "copy", sample(p, copy, budget));
    }
    return 0;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int status = 2;
    if (argc > 4 && strcmp(argv[1], "coll") == 0)
        status = measure_collective(argc, argv);
    else if (argc > 3 && strcmp(argv[1], "messages") == 0)
        status = measure_messages(argc, argv);
    else if (argc > 3 && strcmp(argv[1], "overheads") == 0)
        status = measure_overheads(argc, argv);
    else if (argc > 3 && strcmp(argv[1], "exchange") == 0)
        status = measure_exchange(argc, argv);
    else if (argc > 2 && strcmp(argv[1], "compute") == 0)
        status = measure_compute(atof(argv[2]));
    else
        fprintf(stderr, "usage: measure coll SECONDS NAME BYTES... | messages SECONDS BYTES... | "
                        "overheads SECONDS BYTES... | exchange SECONDS BYTES... | compute SECONDS\n");
    MPI_Finalize();
    return status;
}

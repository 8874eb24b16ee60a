// Processes of different worlds (MPI 5.0 chapter 11).
// usage: meet SECONDS_PER_POINT            two ranks, of which rank 0 starts a third process
//        meet server FILE TIMES            one job of one rank; it leaves the name of its port in FILE
//        meet client FILE TIMES            another one
//
//   world_latency, spawned_latency: half a round trip between two ranks of one world, and to a process that was
//                                   started; in turns, and the third process sleeps meanwhile
//   spawned_world:                  the second in times of the first, the median of the turns
//   connect:                        one MPI_Comm_connect, from the call to the communicator, while the other is in
//                                   MPI_Comm_accept; both disconnect afterwards
#include "mpi_team.h"
#include <string.h>
#include <unistd.h>

enum { TURNS = 5, TIMES_MAX = 1000 };
static const int sizes[] = {8, 4096, 65536, 1 << 20};
static const int size_count = sizeof sizes / sizeof *sizes;
#define BYTES_MAX (1 << 20)

struct pingpong {
    MPI_Comm comm;
    int there, first, bytes;
    char *out, *in;
};

static void pingpong_loop(void *arg, long iterations) {
    struct pingpong *p = arg;
    for (long i = 0; i < iterations; i++) {
        if (p->first)
            MPI_Send(p->out, p->bytes, MPI_BYTE, p->there, 1, p->comm);
        MPI_Recv(p->in, p->bytes, MPI_BYTE, p->there, 1, p->comm, MPI_STATUS_IGNORE);
        if (!p->first)
            MPI_Send(p->out, p->bytes, MPI_BYTE, p->there, 1, p->comm);
    }
}

// The two that measure, with a word to each other before each batch.
static struct pingpong *now_measuring;

static void agree_of_two(long *number) {
    struct pingpong *p = now_measuring;
    if (p->first)
        MPI_Send(number, 1, MPI_LONG, p->there, 2, p->comm);
    else
        MPI_Recv(number, 1, MPI_LONG, p->there, 2, p->comm, MPI_STATUS_IGNORE);
}

static struct summary measure_pair(struct pingpong *p, double budget) {
    struct team team = {!p->first, agree_of_two, NULL};
    now_measuring = p;
    return measure(&team, pingpong_loop, p, budget);
}

// The one that does not measure sleeps until the others have done.
static void rest(MPI_Comm comm) {
    MPI_Recv(NULL, 0, MPI_BYTE, 0, 3, comm, MPI_STATUS_IGNORE);
}

static void wake(MPI_Comm comm, int there) {
    MPI_Send(NULL, 0, MPI_BYTE, there, 3, comm);
}

static void measure_turns(struct pingpong world, struct pingpong spawned, int bytes, double budget) {
    struct summary of_world = {1e9, 0}, of_spawned = {1e9, 0};
    double ratios[TURNS];
    world.bytes = spawned.bytes = bytes;
    for (int turn = 0; turn < TURNS; turn++) {
        wake(world.comm, 1);
        struct summary one = keep_lower(measure_pair(&world, budget / TURNS), &of_world);
        wake(spawned.comm, 0);
        struct summary other = keep_lower(measure_pair(&spawned, budget / TURNS), &of_spawned);
        ratios[turn] = other.median / one.median;
    }
    print_result("world_latency", bytes, (struct summary){of_world.best / 2, of_world.median / 2});
    print_result("spawned_latency", bytes, (struct summary){of_spawned.best / 2, of_spawned.median / 2});
    struct summary times = {of_spawned.best / of_world.best, summarize(ratios, TURNS).median};
    print_result("spawned_world", bytes, times);
}

// Follows rank 0 through its turns.
static void follow(struct pingpong p, double budget) {
    for (int s = 0; s < size_count; s++) {
        for (int turn = 0; turn < TURNS; turn++) {
            p.bytes = sizes[s];
            rest(p.comm);
            measure_pair(&p, budget / TURNS);
        }
    }
}

static void measure_worlds(const char *program, double budget) {
    char *out = touched(BYTES_MAX, 1), *in = touched(BYTES_MAX, 2), words[32], *arguments[] = {words, NULL};
    int rank;
    MPI_Comm children, parent;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL) {
        follow((struct pingpong){parent, 0, 0, 0, out, in}, budget);
        MPI_Comm_disconnect(&parent);
        return;
    }
    if (rank == 1) {
        follow((struct pingpong){MPI_COMM_WORLD, 0, 0, 0, out, in}, budget);
        return;
    }
    snprintf(words, sizeof words, "%g", budget);
    MPI_Comm_spawn(program, arguments, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &children, MPI_ERRCODES_IGNORE);
    struct pingpong world = {MPI_COMM_WORLD, 1, 1, 0, out, in}, spawned = {children, 0, 1, 0, out, in};
    for (int s = 0; s < size_count; s++)
        measure_turns(world, spawned, sizes[s], budget);
    MPI_Comm_disconnect(&children);
}

static void serve(const char *path, int times) {
    char port[MPI_MAX_PORT_NAME], aside[4096];
    MPI_Comm client;
    MPI_Open_port(MPI_INFO_NULL, port);
    snprintf(aside, sizeof aside, "%s.new", path);
    FILE *file = fopen(aside, "w");
    if (file == NULL || fputs(port, file) < 0 || fclose(file) != 0 || rename(aside, path) != 0)
        MPI_Abort(MPI_COMM_WORLD, 1);
    for (int i = 0; i < times; i++) {
        MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &client);
        MPI_Comm_disconnect(&client);
    }
    MPI_Close_port(port);
}

static void visit(const char *path, int times) {
    char port[MPI_MAX_PORT_NAME] = "";
    double seconds[TIMES_MAX];
    FILE *file;
    MPI_Comm server;
    while ((file = fopen(path, "r")) == NULL)
        usleep(10000);
    if (fgets(port, sizeof port, file) == NULL)
        MPI_Abort(MPI_COMM_WORLD, 1);
    fclose(file);
    for (int i = 0; i < times; i++) {
        // The server is in MPI_Comm_accept by then.
        usleep(20000);
        double start = now();
        MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &server);
        seconds[i] = now() - start;
        MPI_Comm_disconnect(&server);
    }
    print_result("connect", times, summarize(seconds, times));
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int times = argc > 3 ? atoi(argv[3]) : 20;
    times = times < 1 ? 1 : times > TIMES_MAX ? TIMES_MAX : times;
    if (argc > 2 && strcmp(argv[1], "server") == 0)
        serve(argv[2], times);
    else if (argc > 2 && strcmp(argv[1], "client") == 0)
        visit(argv[2], times);
    else
        measure_worlds(argv[0], budget_of(argc, argv));
    MPI_Finalize();
    return 0;
}

// Partitioned communication beside plain messages (MPI 5.0 chapter 4).
// usage: partitioned SECONDS_PER_POINT
//
// For 16 partitions of 4 KiB and of 64 KiB, there and back, one thread on each side:
//   partitions_one_message: time of all partitions, made ready one after the other, in times of one message of all
//   partitions_exposed:     with computation before each partition that lasts as long as the message of all, the part
//                           of the message's time that is not hidden behind it
//   partitions_exposed_tight: the same where computation lasts only as long as the partition's share of the message,
//                           which two cores move together: one of them cannot have done it by then
//   pready:                 one MPI_Pready of 8 bytes, among 4096 of a request
#include "mpi_team.h"

enum { PARTITIONS = 16, MANY = 4096 };

struct exchange {
    int rank, bytes; // of one partition
    char *out, *in;
    long rounds; // of computation before each partition
    MPI_Request send, receive;
};

static void message_loop(void *arg, long iterations) {
    struct exchange *e = arg;
    int bytes = e->bytes * PARTITIONS;
    for (long i = 0; i < iterations; i++) {
        if (e->rank == 0) {
            MPI_Send(e->out, bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
            MPI_Recv(e->in, bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(e->in, bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(e->out, bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
        }
    }
}

static void send_partitions(struct exchange *e) {
    MPI_Start(&e->send);
    for (int at = 0; at < PARTITIONS; at++) {
        compute_rounds(e->rounds);
        MPI_Pready(at, e->send);
    }
    MPI_Wait(&e->send, MPI_STATUS_IGNORE);
}

static void receive_partitions(struct exchange *e) {
    MPI_Start(&e->receive);
    MPI_Wait(&e->receive, MPI_STATUS_IGNORE);
}

static void partitions_loop(void *arg, long iterations) {
    struct exchange *e = arg;
    for (long i = 0; i < iterations; i++) {
        if (e->rank == 0) {
            send_partitions(e);
            receive_partitions(e);
        } else {
            receive_partitions(e);
            send_partitions(e);
        }
    }
}

// The computation of both ways with nothing under way.
static void compute_loop(void *arg, long iterations) {
    struct exchange *e = arg;
    for (long i = 0; i < 2 * PARTITIONS * iterations; i++)
        compute_rounds(e->rounds);
}

static void pready_loop(void *arg, long iterations) {
    struct exchange *e = arg;
    for (long i = 0; i < iterations; i++) {
        if (e->rank == 0) {
            MPI_Start(&e->send);
            for (int at = 0; at < MANY; at++)
                MPI_Pready(at, e->send);
            MPI_Wait(&e->send, MPI_STATUS_IGNORE);
        } else {
            receive_partitions(e);
        }
    }
}

static void prepare(struct exchange *e, int partitions, int bytes) {
    int there = 1 - e->rank;
    e->bytes = bytes;
    MPI_Psend_init(e->out, partitions, bytes, MPI_BYTE, there, 2, MPI_COMM_WORLD, MPI_INFO_NULL, &e->send);
    MPI_Precv_init(e->in, partitions, bytes, MPI_BYTE, there, 2, MPI_COMM_WORLD, MPI_INFO_NULL, &e->receive);
}

static void release(struct exchange *e) {
    MPI_Request_free(&e->send);
    MPI_Request_free(&e->receive);
}

// The part of a message's time that is left when each partition is computed for so many times that time.
static struct summary exposed(const struct team *team, struct exchange *e, double each, double budget) {
    struct beside partitions = {message_loop, compute_loop, partitions_loop, e, &e->rounds, each / 2};
    return measure_beside(team, &partitions, budget).added;
}

static void compare(const struct team *team, struct exchange *e, int bytes, double budget) {
    prepare(e, PARTITIONS, bytes);
    struct summary parts = measure_ratio(team, partitions_loop, message_loop, e, budget);
    struct summary long_ones = exposed(team, e, 1, budget);
    struct summary tight = exposed(team, e, 1.0 / PARTITIONS, budget);
    if (team->rank == 0) {
        print_result("partitions_one_message", bytes, parts);
        print_result("partitions_exposed", bytes, long_ones);
        print_result("partitions_exposed_tight", bytes, tight);
    }
    release(e);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    struct team team = mpi_team();
    double budget = budget_of(argc, argv);
    size_t most = (size_t)PARTITIONS << 16;
    struct exchange e = {.rank = team.rank, .out = touched(most, 1), .in = touched(most, 2)};
    compare(&team, &e, 4 << 10, budget);
    compare(&team, &e, 64 << 10, budget);
    prepare(&e, MANY, 8);
    struct summary ready = measure(&team, pready_loop, &e, budget);
    if (team.rank == 0)
        print_result("pready", 8, (struct summary){ready.best / MANY, ready.median / MANY});
    release(&e);
    MPI_Finalize();
    return 0;
}

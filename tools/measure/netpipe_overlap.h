// How much of a transfer hides behind computation, and how soon a message is there that comes while its receiver
// computes.
#ifndef TERN_NETPIPE_OVERLAP_H
#define TERN_NETPIPE_OVERLAP_H

#include "mpi_team.h"

#define COMPUTE_RATIO 1.5        // computation per transfer time: whoever hides a transfer wholly has time to spare
#define UNIT_SECONDS 0.02        // how long the processor's speed is measured
#define INTERRUPT_PATIENCE_S 2.0 // a message that comes later comes when its receiver asks for it, and not before

// Work that the compiler cannot leave out, and that takes no bandwidth from the copies.
static inline void compute(long units) {
    double x = 1.0;
    for (long i = 0; i < units; i++) {
        x = x * 1.000000001 + 1e-9;
        __asm__ volatile("" : "+m"(x));
    }
}

struct overlap {
    int rank, bytes;
    long units; // of computation; 0: none
    int transfers;
    char *buffer;
};

static inline void overlap_loop(void *arg, long iterations) {
    const struct overlap *o = arg;
    for (long i = 0; i < iterations; i++) {
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Barrier(MPI_COMM_WORLD);
        if (o->transfers && o->rank == 0)
            MPI_Isend(o->buffer, o->bytes, MPI_BYTE, 1, 2, MPI_COMM_WORLD, &request);
        else if (o->transfers)
            MPI_Irecv(o->buffer, o->bytes, MPI_BYTE, 0, 2, MPI_COMM_WORLD, &request);
        compute(o->units);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

// Units of computation in a second, while the other rank computes as well.
static inline double units_per_second(void) {
    long units = 1000;
    for (;; units *= 2) {
        double start = now();
        compute(units);
        double taken = now() - start;
        if (taken >= UNIT_SECONDS)
            return (double)units / taken;
    }
}

static inline struct summary overlap_time(const struct team *team, struct overlap o, double budget) {
    struct summary s = measure(team, overlap_loop, &o, budget);
    MPI_Bcast(&s, 2, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    return s;
}

// Four times of one size: the barrier that the ranks begin with, with a transfer, with computation, with both.
static inline void overlap_point(const struct team *team, long bytes, double budget) {
    struct overlap o = {team->rank, (int)bytes, 0, 0, touched((size_t)bytes, team->rank)};
    struct summary none = overlap_time(team, o, budget);
    o.transfers = 1;
    struct summary transfer = overlap_time(team, o, budget);
    o.units = (long)(COMPUTE_RATIO * (transfer.median - none.median) * units_per_second());
    MPI_Bcast(&o.units, 1, MPI_LONG, 0, MPI_COMM_WORLD);
    struct summary both = overlap_time(team, o, budget);
    o.transfers = 0;
    struct summary computation = overlap_time(team, o, budget);
    if (team->rank == 0) {
        print_result("overlap-none", bytes, none);
        print_result("overlap-transfer", bytes, transfer);
        print_result("overlap-compute", bytes, computation);
        print_result("overlap-both", bytes, both);
    }
    free(o.buffer);
}

struct interrupt {
    int rank, bytes;
    unsigned char mark; // the first and the last byte of the next message
    int late;
    char *out, *in;
};

static inline void mark_message(struct interrupt *p) {
    p->mark++;
    p->out[0] = p->out[p->bytes - 1] = (char)p->mark;
}

// Computes, and looks at the buffer of a receive, until the message is there; calls nothing of MPI meanwhile.
static inline void look_for_message(struct interrupt *p) {
    const volatile char *in = p->in;
    char mark = (char)++p->mark;
    double start = now();
    for (long looks = 1; in[0] != mark || in[p->bytes - 1] != mark; looks++) {
        compute(8);
        if (looks % 1024 == 0 && now() - start > INTERRUPT_PATIENCE_S) {
            p->late = 1;
            return;
        }
    }
}

// A ping-pong whose rank 1 looks at its buffer instead of waiting in MPI: interrupt mode as MPI-LAPI measures it
// (section 6.1).
static inline void interrupt_loop(void *arg, long iterations) {
    struct interrupt *p = arg;
    for (long i = 0; i < iterations; i++) {
        if (p->rank == 0) {
            mark_message(p);
            MPI_Send(p->out, p->bytes, MPI_BYTE, 1, 3, MPI_COMM_WORLD);
            MPI_Recv(p->in, p->bytes, MPI_BYTE, 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Request request;
            MPI_Irecv(p->in, p->bytes, MPI_BYTE, 0, 3, MPI_COMM_WORLD, &request);
            if (!p->late)
                look_for_message(p);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            MPI_Send(p->out, p->bytes, MPI_BYTE, 0, 3, MPI_COMM_WORLD);
        }
    }
}

// Whether a message came only when it was asked for: then nothing moves messages while this rank computes.
static inline int interrupt_point(const struct team *team, long bytes, double budget) {
    struct interrupt p = {team->rank, (int)bytes, 0, 0, touched((size_t)bytes, 0), touched((size_t)bytes, 0)};
    struct summary s = measure(team, interrupt_loop, &p, budget);
    MPI_Bcast(&p.late, 1, MPI_INT, 1, MPI_COMM_WORLD);
    if (team->rank == 0 && !p.late)
        print_result("interrupt", bytes, (struct summary){s.best / 2, s.median / 2});
    if (team->rank == 0 && p.late)
        fprintf(stderr, "netpipe: a message of %ld bytes came only when its receiver waited for it\n", bytes);
    free(p.out);
    free(p.in);
    return p.late;
}

#endif

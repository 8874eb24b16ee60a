// One-sided communication between two ranks: rank 0 accesses the memory of rank 1, and completes each access there.
// Beside it the same without MPI: memory that is mapped, and a socket on which each transfer is answered.
#ifndef TERN_NETPIPE_RMA_H
#define TERN_NETPIPE_RMA_H

#include "netpipe_raw.h"
#include <stdatomic.h>
#include <stdint.h>

// Which access is measured.
enum rma_kind { RMA_PUT, RMA_GET, RMA_ATOMIC };

// Atomic accesses are about whole numbers of eight bytes.
static inline int rma_numbers(size_t bytes) {
    return bytes < 8 ? 1 : (int)(bytes / 8);
}

static inline size_t rma_room(size_t bytes) {
    return bytes < 8 ? 8 : bytes;
}

struct memory_pair {
    enum rma_kind kind;
    size_t bytes;
    char *there, *here;
};

// The least that an access to mapped memory costs: a copy, or an atomic instruction for each number.
static void memory_loop(void *arg, long iterations) {
    const struct memory_pair *m = arg;
    for (long i = 0; i < iterations; i++) {
        if (m->kind == RMA_PUT)
            memcpy(m->there, m->here, m->bytes);
        else if (m->kind == RMA_GET)
            memcpy(m->here, m->there, m->bytes);
        else
            for (int at = 0, numbers = rma_numbers(m->bytes); at < numbers; at++)
                atomic_fetch_add_explicit((_Atomic int64_t *)m->there + at, ((int64_t *)m->here)[at],
                                          memory_order_relaxed);
        // What is copied is used, and what follows comes later: no copy may be left out.
        atomic_thread_fence(memory_order_seq_cst);
    }
}

static void memory_idle_loop(void *arg, long iterations) {
    (void)arg, (void)iterations;
}

// The least over a network: a transfer, and an answer of one byte.
static void raw_answered_loop(void *arg, long iterations) {
    const struct raw_pair *p = arg;
    char answer = 0;
    for (long i = 0; i < iterations; i++)
        if (p->rank == 0) {
            raw_send(p->out, p->bytes, MSG_DONTWAIT);
            raw_receive(&answer, 1, MSG_DONTWAIT);
        } else {
            raw_receive(p->in, p->bytes, MSG_DONTWAIT);
            raw_send(&answer, 1, MSG_DONTWAIT);
        }
}

#if MPI_VERSION >= 3
struct rma_pair {
    enum rma_kind kind;
    int rank, bytes;
    char *local;
    MPI_Win win;
};

// Rank 1 is in a barrier meanwhile.
static void rma_loop(void *arg, long iterations) {
    const struct rma_pair *p = arg;
    const int numbers = rma_numbers((size_t)p->bytes);
    for (long i = 0; p->rank == 0 && i < iterations; i++) {
        if (p->kind == RMA_PUT)
            MPI_Put(p->local, p->bytes, MPI_BYTE, 1, 0, p->bytes, MPI_BYTE, p->win);
        else if (p->kind == RMA_GET)
            MPI_Get(p->local, p->bytes, MPI_BYTE, 1, 0, p->bytes, MPI_BYTE, p->win);
        else
            MPI_Accumulate(p->local, numbers, MPI_INT64_T, 1, 0, numbers, MPI_INT64_T, MPI_SUM, p->win);
        MPI_Win_flush(1, p->win);
    }
}
#endif

#endif

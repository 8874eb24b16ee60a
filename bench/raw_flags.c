// The least that a message of 8 bytes costs in shared memory: two processes, each with one cache line
// that it writes and the other reads; and the rate of a ring of 64-byte slots.
// usage: raw_flags SECONDS_PER_POINT
#include "raw_team.h"

#define SLOTS 256
#define RETURN_EVERY 64 // slots after which the reader tells how far it is

struct line {
    _Alignas(LINE) atomic_ulong value;
};

struct slot {
    _Alignas(LINE) atomic_ulong sequence;
    uint64_t payload;
};

struct shared {
    struct line flags[2];
    struct line read;
    struct slot ring[SLOTS];
};

struct flags {
    struct shared *shared;
    int rank;
    unsigned long turn;
};

static void wait_for(atomic_ulong *flag, unsigned long value) {
    while (atomic_load_explicit(flag, memory_order_acquire) != value)
        pause_cpu();
}

static void pingpong_loop(void *arg, long iterations) {
    struct flags *f = arg;
    atomic_ulong *mine = &f->shared->flags[f->rank].value, *theirs = &f->shared->flags[1 - f->rank].value;
    for (long i = 0; i < iterations; i++) {
        f->turn++;
        if (f->rank == 0)
            atomic_store_explicit(mine, f->turn, memory_order_release);
        wait_for(theirs, f->turn);
        if (f->rank == 1)
            atomic_store_explicit(mine, f->turn, memory_order_release);
    }
}

static void write_slot(struct shared *s, unsigned long number) {
    while (number - atomic_load_explicit(&s->read.value, memory_order_acquire) >= SLOTS)
        pause_cpu();
    struct slot *slot = &s->ring[number % SLOTS];
    slot->payload = number;
    atomic_store_explicit(&slot->sequence, number + 1, memory_order_release);
}

static uint64_t read_slot(struct shared *s, unsigned long number) {
    struct slot *slot = &s->ring[number % SLOTS];
    wait_for(&slot->sequence, number + 1);
    uint64_t payload = slot->payload;
    if ((number + 1) % RETURN_EVERY == 0)
        atomic_store_explicit(&s->read.value, number + 1, memory_order_release);
    return payload;
}

static void ring_loop(void *arg, long iterations) {
    struct flags *f = arg;
    for (long i = 0; i < iterations * RETURN_EVERY; i++, f->turn++) {
        if (f->rank == 0)
            write_slot(f->shared, f->turn);
        else if (read_slot(f->shared, f->turn) != f->turn)
            abort();
    }
}

int main(int argc, char **argv) {
    double budget = argc > 1 ? atof(argv[1]) : 0.1;
    struct shared *shared = shared_mapping(sizeof *shared);
    struct team team = fork_team(2);
    pin(team.rank);
    struct flags flags = {shared, team.rank, 0}, ring = {shared, team.rank, 0};
    struct summary round_trip = measure(&team, pingpong_loop, &flags, budget);
    struct summary batch = measure(&team, ring_loop, &ring, budget);
    if (team.rank == 0) {
        print_result("raw_flags", 8, (struct summary){round_trip.best / 2, round_trip.median / 2});
        print_result("raw_ring_rate", 8, (struct summary){RETURN_EVERY / batch.best, RETURN_EVERY / batch.median});
    }
    end_team();
    return 0;
}

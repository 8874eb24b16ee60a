// The least that a barrier costs in shared memory: one counter, and three ways to wait for the last.
// usage: raw_barrier SECONDS_PER_POINT RANKS
#include "raw_team.h"
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>

#define YIELDS 4

struct counter {
    _Alignas(LINE) atomic_int arrived;
    _Alignas(LINE) atomic_int generation;
    _Alignas(LINE) atomic_int sleepers;
};

struct barrier {
    struct counter *counter;
    int size;
    int yields; // before sleeping; negative: never sleep
};

static void sleep_until_changed(struct counter *c, int generation) {
    atomic_fetch_add(&c->sleepers, 1);
    while (atomic_load(&c->generation) == generation)
        syscall(SYS_futex, &c->generation, FUTEX_WAIT, generation, NULL, NULL, 0);
    atomic_fetch_sub(&c->sleepers, 1);
}

static void wait_for_change(struct barrier *b, int generation) {
    struct counter *c = b->counter;
    for (int tries = 0; b->yields < 0 || tries < b->yields; tries++) {
        if (atomic_load(&c->generation) != generation)
            return;
        sched_yield();
    }
    sleep_until_changed(c, generation);
}

static void cross(struct barrier *b) {
    struct counter *c = b->counter;
    int generation = atomic_load(&c->generation);
    if (atomic_fetch_add(&c->arrived, 1) + 1 < b->size) {
        wait_for_change(b, generation);
        return;
    }
    atomic_store(&c->arrived, 0);
    atomic_fetch_add(&c->generation, 1);
    if (atomic_load(&c->sleepers) > 0)
        syscall(SYS_futex, &c->generation, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

static void barrier_loop(void *arg, long iterations) {
    for (long i = 0; i < iterations; i++)
        cross(arg);
}

int main(int argc, char **argv) {
    static const struct {
        const char *name;
        int yields;
    } forms[] = {{"raw_barrier_yield", -1}, {"raw_barrier_futex", 0}, {"raw_barrier_yields_futex", YIELDS}};
    double budget = argc > 1 ? atof(argv[1]) : 0.1;
    int size = argc > 2 ? atoi(argv[2]) : 2;
    struct counter *counter = shared_mapping(sizeof *counter);
    struct team team = fork_team(size);
    for (int i = 0; i < 3; i++) {
        struct barrier barrier = {counter, size, forms[i].yields};
        struct summary s = measure(&team, barrier_loop, &barrier, budget);
        if (team.rank == 0)
            print_result(forms[i].name, size, s);
    }
    end_team();
    return 0;
}

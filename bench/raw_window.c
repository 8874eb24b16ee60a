// The least that an access to memory of another process costs, where it is mapped: a store or a load with a fence, an
// atomic instruction, a copy. And where it is not: the kernel's copies of 8 bytes.
// usage: raw_window SECONDS_PER_POINT [RANKS]
//
// With RANKS: atomic instructions of so many processes at the same time, on one word ("contended_"), and each on a line
// of its own ("disjoint_").
#include "raw_team.h"
#include <string.h>
#include <sys/uio.h>

enum { BYTES_MAX = 4 << 20 };

struct mapped {
    char *there, *here;
    size_t bytes;
};

static void store_loop(void *arg, long iterations) {
    struct mapped *m = arg;
    volatile long *there = (volatile long *)m->there;
    for (long i = 0; i < iterations; i++) {
        *there = i;
        atomic_thread_fence(memory_order_seq_cst);
    }
}

static void load_loop(void *arg, long iterations) {
    struct mapped *m = arg;
    volatile long *there = (volatile long *)m->there, *here = (volatile long *)m->here;
    for (long i = 0; i < iterations; i++) {
        *here = *there;
        atomic_thread_fence(memory_order_seq_cst);
    }
}

static void add_loop(void *arg, long iterations) {
    struct mapped *m = arg;
    volatile long *here = (volatile long *)m->here;
    for (long i = 0; i < iterations; i++)
        *here = (long)atomic_fetch_add((atomic_long *)m->there, 1);
}

static void swap_loop(void *arg, long iterations) {
    struct mapped *m = arg;
    for (long i = 0; i < iterations; i++) {
        long expected = 0;
        atomic_compare_exchange_strong((atomic_long *)m->there, &expected, 0);
    }
}

static void copy_from_loop(void *arg, long iterations) {
    struct mapped *m = arg;
    for (long i = 0; i < iterations; i++) {
        memcpy(m->here, m->there, m->bytes);
        atomic_thread_fence(memory_order_seq_cst);
    }
}

static void copy_loop(void *arg, long iterations) {
    struct mapped *m = arg;
    for (long i = 0; i < iterations; i++) {
        memcpy(m->there, m->here, m->bytes);
        // What is copied is used: no copy may be left out.
        atomic_thread_fence(memory_order_seq_cst);
    }
}

// The kernel takes as long whichever process it is.
static void kernel_put_loop(void *arg, long iterations) {
    struct mapped *m = arg;
    const struct iovec here = {m->here, 8}, there = {m->there, 8};
    for (long i = 0; i < iterations; i++)
        if (process_vm_writev(getpid(), &here, 1, &there, 1, 0) != 8)
            return;
}

static void kernel_get_loop(void *arg, long iterations) {
    struct mapped *m = arg;
    const struct iovec here = {m->here, 8}, there = {m->there, 8};
    for (long i = 0; i < iterations; i++)
        if (process_vm_readv(getpid(), &here, 1, &there, 1, 0) != 8)
            return;
}

static void alone(const struct team *team, struct mapped *m, double budget) {
    static const long sizes[] = {64 << 10, 1 << 20, 4 << 20};
    print_result("raw_put", 8, measure(team, store_loop, m, budget));
    print_result("raw_get", 8, measure(team, load_loop, m, budget));
    print_result("raw_fetch_and_op", 8, measure(team, add_loop, m, budget));
    print_result("raw_compare_and_swap", 8, measure(team, swap_loop, m, budget));
    print_result("raw_kernel_put", 8, measure(team, kernel_put_loop, m, budget));
    print_result("raw_kernel_get", 8, measure(team, kernel_get_loop, m, budget));
    for (int i = 0; i < 3; i++) {
        m->bytes = (size_t)sizes[i];
        print_result("raw_put", sizes[i], measure(team, copy_loop, m, budget));
        print_result("raw_get", sizes[i], measure(team, copy_from_loop, m, budget));
    }
}

static void together_point(const struct team *team, const char *metric, loop_fn loop, struct mapped *m, double budget) {
    struct summary s = measure(team, loop, m, budget);
    if (team->rank == 0)
        print_result(metric, 8, s);
}

static void together(const struct team *team, struct mapped *m, double budget) {
    together_point(team, "raw_contended_fetch_and_op", add_loop, m, budget);
    together_point(team, "raw_contended_compare_and_swap", swap_loop, m, budget);
    m->there += 128 * team->rank;
    together_point(team, "raw_disjoint_fetch_and_op", add_loop, m, budget);
}

int main(int argc, char **argv) {
    double budget = argc > 1 ? atof(argv[1]) : 0.1;
    int ranks = argc > 2 ? atoi(argv[2]) : 1;
    char *there = filled(shared_mapping(BYTES_MAX), BYTES_MAX, 0);
    struct team team = fork_team(ranks);
    pin(team.rank);
    struct mapped m = {there, touched_pages(BYTES_MAX, 1), 8};
    if (ranks > 1) {
        team.slowest = raw_slowest;
        together(&team, &m, budget);
    } else {
        alone(&team, &m, budget);
    }
    end_team();
    return 0;
}

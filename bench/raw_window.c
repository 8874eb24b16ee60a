// The least that an access to memory of another process costs, where it is mapped: a store or a load with a fence, an
// atomic instruction, a copy. And where it is not: the kernel's copies of 8 bytes.
// usage: raw_window SECONDS_PER_POINT
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

int main(int argc, char **argv) {
    static const long sizes[] = {64 << 10, 1 << 20, 4 << 20};
    double budget = argc > 1 ? atof(argv[1]) : 0.1;
    char *there = shared_mapping(BYTES_MAX);
    struct team team = fork_team(1);
    pin(team.rank);
    struct mapped m = {there, touched_pages(BYTES_MAX, 1), 8};
    filled(there, BYTES_MAX, 0);
    print_result("raw_put", 8, measure(&team, store_loop, &m, budget));
    print_result("raw_get", 8, measure(&team, load_loop, &m, budget));
    print_result("raw_fetch_and_op", 8, measure(&team, add_loop, &m, budget));
    print_result("raw_compare_and_swap", 8, measure(&team, swap_loop, &m, budget));
    print_result("raw_kernel_put", 8, measure(&team, kernel_put_loop, &m, budget));
    print_result("raw_kernel_get", 8, measure(&team, kernel_get_loop, &m, budget));
    for (int i = 0; i < 3; i++) {
        m.bytes = (size_t)sizes[i];
        print_result("raw_put", sizes[i], measure(&team, copy_loop, &m, budget));
    }
    end_team();
    return 0;
}

// The least that processes of one machine take to move `files.c`'s bytes together, without MPI.
//   windows: blocks in turn are gathered in shared windows of 1 MiB, and whoever comes last writes one;
//            each process reads its own from the page cache
//   shared:  4 KiB where a word that all share says
// usage: raw_files_together SECONDS_PER_POINT FOLDER cache|disk RANKS
#define _GNU_SOURCE
#include "raw_team.h"
#include "files.h"

#define BLOCK_BYTES 4096
#define WINDOWS 8
#define WINDOW_BYTES LARGE_PIECE_BYTES

// Counts of processes, over all uses of a window.
struct window {
    _Alignas(LINE) atomic_long filled;
    _Alignas(LINE) atomic_long emptied;
};

struct shared {
    struct window windows[WINDOWS];
    _Alignas(LINE) atomic_long pointer;
    _Alignas(4096) char data[WINDOWS][WINDOW_BYTES];
};

struct work {
    struct shared *shared;
    int fd, rank, size, is_disk;
    long uses; // of each window, before this call
    char *buffer;
};

static void await(atomic_long *count, long wanted) {
    for (int tries = 0; atomic_load_explicit(count, memory_order_acquire) < wanted; tries++)
        if (tries % 64 == 63)
            sched_yield();
}

// This process's blocks of a window.
static void copy_blocks(const struct work *w, long number) {
    char *window = w->shared->data[number % WINDOWS];
    const char *own = w->buffer + number * (WINDOW_BYTES / w->size);
    long stride = (long)w->size * BLOCK_BYTES;
    for (long at = (long)w->rank * BLOCK_BYTES; at < WINDOW_BYTES; at += stride, own += BLOCK_BYTES)
        memcpy(window + at, own, BLOCK_BYTES);
}

static void write_all(struct work *w) {
    for (long number = 0; number < TOTAL_BYTES / WINDOW_BYTES; number++) {
        struct window *window = &w->shared->windows[number % WINDOWS];
        long use = w->uses + number / WINDOWS;
        await(&window->emptied, use);
        copy_blocks(w, number);
        if (atomic_fetch_add(&window->filled, 1) + 1 == (use + 1) * w->size) {
            write_whole(w->fd, w->shared->data[number % WINDOWS], WINDOW_BYTES, number * WINDOW_BYTES);
            atomic_fetch_add(&window->emptied, 1);
        }
    }
}

static void end_of_call(struct work *w) {
    w->uses += TOTAL_BYTES / WINDOW_BYTES / WINDOWS;
    for (int at = 0; at < WINDOWS; at++)
        await(&w->shared->windows[at].emptied, w->uses);
    if (w->is_disk && w->rank == 0 && fsync(w->fd) != 0)
        die("fsync");
    meet();
}

static void write_loop(void *arg, long iterations) {
    for (long i = 0; i < iterations; i++) {
        write_all(arg);
        end_of_call(arg);
    }
}

// Each process reads its own blocks out of the page cache, which all share.
static void read_loop(void *arg, long iterations) {
    struct work *w = arg;
    for (long i = 0; i < iterations; i++) {
        if (w->is_disk && w->rank == 0)
            forget_cached(w->fd);
        meet();
        char *own = w->buffer;
        long stride = (long)w->size * BLOCK_BYTES;
        for (long at = (long)w->rank * BLOCK_BYTES; at < TOTAL_BYTES; at += stride, own += BLOCK_BYTES)
            read_whole(w->fd, own, BLOCK_BYTES, at);
        meet();
    }
}

static void shared_loop(void *arg, long iterations) {
    struct work *w = arg;
    if (w->rank == 0)
        atomic_store(&w->shared->pointer, 0);
    meet();
    for (long i = 0; i < iterations; i++)
        write_whole(w->fd, w->buffer, BLOCK_BYTES, atomic_fetch_add(&w->shared->pointer, BLOCK_BYTES));
}

int main(int argc, char **argv) {
    int size = argc == 5 ? atoi(argv[4]) : 0;
    if (size < 1 || WINDOW_BYTES % ((long)size * BLOCK_BYTES) != 0) {
        fprintf(stderr, "usage: raw_files_together SECONDS_PER_POINT FOLDER cache|disk RANKS\n");
        return 2;
    }
    double budget = atof(argv[1]);
    char path[4096];
    snprintf(path, sizeof path, "%s/tern-bench-%ld", argv[2], (long)getpid());
    struct work w = {.shared = shared_mapping(sizeof *w.shared), .size = size, .is_disk = strcmp(argv[3], "disk") == 0};
    w.fd = opened(path);
    struct team team = fork_team(size);
    team.slowest = raw_slowest;
    w.rank = team.rank;
    // Level with the pages of files, for which the kernel's copy is fast everywhere.
    w.buffer = touched_pages((size_t)(TOTAL_BYTES / size), w.rank + 1);
    static const struct {
        const char *name;
        loop_fn loop;
        long bytes;
    } cases[] = {{"raw_blocks_write", write_loop, TOTAL_BYTES}, {"raw_blocks_read", read_loop, TOTAL_BYTES},
                 {"raw_shared", shared_loop, BLOCK_BYTES}};
    for (int at = 0; at < 3; at++) {
        struct summary s = measure(&team, cases[at].loop, &w, budget);
        if (w.rank == 0)
            print_result(metric(argv[3], cases[at].name), cases[at].bytes, s);
    }
    unlink(path);
    end_team();
    return 0;
}

// Processes without MPI: forked, one shared mapping, and the team of `measure.h` made of both.
#ifndef TERN_BENCH_RAW_TEAM_H
#define TERN_BENCH_RAW_TEAM_H

#define _GNU_SOURCE
#include "measure.h"
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <signal.h>
#include <unistd.h>

#define LINE 64

struct meeting {
    _Alignas(LINE) atomic_int arrived;
    _Alignas(LINE) atomic_int generation;
    _Alignas(LINE) long number;
    _Alignas(LINE) atomic_long longest;
    int size;
};

static struct meeting *meeting;

// A counter; those who wait give the processor away.
static inline void meet(void) {
    int generation = atomic_load(&meeting->generation);
    if (atomic_fetch_add(&meeting->arrived, 1) + 1 == meeting->size) {
        atomic_store(&meeting->arrived, 0);
        atomic_fetch_add(&meeting->generation, 1);
    }
    while (atomic_load(&meeting->generation) == generation)
        sched_yield();
}

static int raw_rank;

static inline void raw_agree(long *number) {
    if (raw_rank == 0)
        meeting->number = *number;
    meet();
    *number = meeting->number;
    meet();
}

// For `team.slowest`: the longest, in whole nanoseconds, at every process.
static inline double raw_slowest(double seconds) {
    long mine = (long)(seconds * 1e9), longest = atomic_load(&meeting->longest);
    while (longest < mine && !atomic_compare_exchange_weak(&meeting->longest, &longest, mine))
        ;
    meet();
    double slowest = 1e-9 * (double)atomic_load(&meeting->longest);
    meet();
    if (raw_rank == 0)
        atomic_store(&meeting->longest, 0);
    meet();
    return slowest;
}

static inline void *shared_mapping(size_t bytes) {
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        perror("mmap");
        exit(1);
    }
    return memory;
}

static inline void pause_cpu(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

// The rank-th processor of those this process may use: a limit is measured without migrations.
static inline void pin(int rank) {
    cpu_set_t allowed, one;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0 || CPU_COUNT(&allowed) < 2)
        return;
    int wanted = rank % CPU_COUNT(&allowed);
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &allowed) && wanted-- == 0)
            CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof one, &one);
}

// Makes `size` processes; returns in each of them with its team. Rank 0 is the caller.
static inline struct team fork_team(int size) {
    meeting = shared_mapping(sizeof *meeting);
    meeting->size = size;
    for (int rank = 1; rank < size && raw_rank == 0; rank++)
        if (fork() == 0) {
            raw_rank = rank;
            prctl(PR_SET_PDEATHSIG, SIGKILL);
        }
    return (struct team){raw_rank, raw_agree, NULL};
}

static inline void end_team(void) {
    if (raw_rank != 0)
        _exit(0);
    while (wait(NULL) > 0)
        ;
}

#endif

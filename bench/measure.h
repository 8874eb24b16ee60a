// Timing that adapts to the speed of what it measures, shared by every benchmark program.
//
// A point is measured in batches. The first batches only find out how many iterations last
// `BATCH_SECONDS`; the later ones count, until the time budget is used up. A point therefore costs
// about its budget, whether one iteration takes 100 ns or 30 ms.
#ifndef TERN_BENCH_MEASURE_H
#define TERN_BENCH_MEASURE_H

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define BATCH_SECONDS 0.002
#define BATCHES_MIN 3
#define PATIENCE 4 // a point that has used this many budgets ends with the batches it has
#define BATCHES_MAX 2000

// Runs `iterations` of the operation that is measured; every process calls it with the same number.
typedef void (*loop_fn)(void *arg, long iterations);

// The processes that measure together.
struct team {
    int rank;
    // Gives every process the number that rank 0 holds, and lets all go at about the same time.
    void (*agree)(long *number);
    // Rank 0 learns the longest of all ranks' times; NULL where its own is the whole truth.
    double (*slowest)(double seconds);
};

struct summary {
    double best;   // seconds per iteration in the fastest batch
    double median; // seconds per iteration in the middle batch
};

static inline double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static inline int compare_doubles(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static inline struct summary summarize(double *samples, int count) {
    qsort(samples, (size_t)count, sizeof *samples, compare_doubles);
    return (struct summary){samples[0], samples[count / 2]};
}

// Iterations for the next batch: as many as should fill BATCH_SECONDS, at most ten times the last.
static inline long next_iterations(long iterations, double elapsed) {
    double wanted = elapsed > 0 ? 1.2 * (double)iterations * BATCH_SECONDS / elapsed : 1e18;
    double most = 10.0 * (double)iterations;
    long next = (long)(wanted < most ? wanted : most);
    return next > iterations ? next : iterations;
}

static inline int is_enough(int count, double started, double budget) {
    double used = now() - started;
    return count == BATCHES_MAX || (count >= BATCHES_MIN && used >= budget) ||
           (count >= 1 && used >= PATIENCE * budget);
}

// Measures `loop` for about `budget` seconds. Rank 0 decides how long; its summary is the result.
static inline struct summary measure(const struct team *team, loop_fn loop, void *arg, double budget) {
    static double samples[BATCHES_MAX];
    int count = 0, warm = 0;
    double started = now();
    long iterations = 1;
    for (;;) {
        long agreed = is_enough(count, started, budget) ? 0 : iterations;
        team->agree(&agreed);
        if (agreed == 0)
            break;
        double start = now();
        loop(arg, agreed);
        double elapsed = now() - start;
        if (team->slowest != NULL)
            elapsed = team->slowest(elapsed);
        if (team->rank != 0)
            continue;
        if (warm || elapsed >= budget)
            samples[count++] = elapsed / (double)agreed;
        else
            iterations = next_iterations(agreed, elapsed);
        warm = warm || elapsed >= BATCH_SECONDS;
    }
    return team->rank == 0 ? summarize(samples, count) : (struct summary){0, 0};
}

// A computation of a fixed amount that stays in registers. One that lasted until a certain time would do less while
// something else has its core, and hide that.
static inline void compute_rounds(long rounds) {
    unsigned long value = 1;
    for (long i = 0; i < rounds; i++) {
        value = value * 6364136223846793005UL + 1;
        __asm__ volatile("" : "+r"(value));
    }
}

// How many rounds last so long where nothing is in their way.
static inline long rounds_of(double seconds) {
    enum { SAMPLE = 200000, SAMPLES = 20 };
    double best = 1;
    for (int i = 0; i < SAMPLES; i++) {
        double start = now();
        compute_rounds(SAMPLE);
        double elapsed = now() - start;
        best = elapsed < best ? elapsed : best;
    }
    return (long)(seconds / best * SAMPLE);
}

// An operation that goes on beside a computation.
struct beside {
    loop_fn operation;   // alone
    loop_fn computation; // alone
    loop_fn both;
    void *arg;
    long *rounds;  // of computation, for all three; 0 for the first
    double length; // of one computation, in times of the operation
};

// What the operation takes alone, the computation alone, and both; the part of the operation's time that is not hidden.
struct beside_times {
    struct summary operation, computation, both, added;
};

// Keeps the lower times of two measurements, and gives the new one back.
static inline struct summary keep_lower(struct summary measured, struct summary *kept) {
    kept->best = measured.best < kept->best ? measured.best : kept->best;
    kept->median = kept->median == 0 || measured.median < kept->median ? measured.median : kept->median;
    return measured;
}

// In turns, since a processor is not always as fast. The best time of each is one that nothing else disturbed.
static inline struct beside_times measure_beside(const struct team *team, const struct beside *b, double budget) {
    enum { TURNS = 5 };
    struct summary none = {1e9, 0};
    struct beside_times t = {none, none, none, none};
    double shares[TURNS];
    long rounds = 0;
    for (int turn = 0; turn < TURNS; turn++) {
        *b->rounds = 0;
        struct summary alone = keep_lower(measure(team, b->operation, b->arg, budget / TURNS), &t.operation);
        if (turn == 0) {
            rounds = rounds_of(b->length * alone.median);
            team->agree(&rounds);
        }
        *b->rounds = rounds;
        struct summary computed = keep_lower(measure(team, b->computation, b->arg, budget / TURNS), &t.computation);
        struct summary both = keep_lower(measure(team, b->both, b->arg, budget / TURNS), &t.both);
        shares[turn] = (both.median - computed.median) / alone.median;
    }
    *b->rounds = 0;
    double best = (t.both.best - t.computation.best) / t.operation.best;
    t.added = (struct summary){best, summarize(shares, TURNS).median};
    return t;
}

// Times of one loop in times of another, in turns: of the best times, and the median of the turns.
static inline struct summary measure_ratio(const struct team *team, loop_fn loop, loop_fn reference, void *arg,
                                           double budget) {
    enum { TURNS = 15 };
    struct summary lowest = {1e9, 0}, lowest_reference = {1e9, 0};
    double shares[TURNS];
    for (int turn = 0; turn < TURNS; turn++) {
        struct summary first = keep_lower(measure(team, reference, arg, budget / TURNS), &lowest_reference);
        struct summary second = keep_lower(measure(team, loop, arg, budget / TURNS), &lowest);
        shares[turn] = second.median / first.median;
    }
    return (struct summary){lowest.best / lowest_reference.best, summarize(shares, TURNS).median};
}

// One result line for the driver: metric, parameter (bytes, ranks, depth), best and median in SI units.
static inline void print_result(const char *metric, long parameter, struct summary s) {
    printf("result %s %ld %.9g %.9g\n", metric, parameter, s.best, s.median);
    fflush(stdout);
}

// Touches memory, so that no measurement pays for page faults.
static inline char *filled(char *memory, size_t bytes, int value) {
    if (memory == NULL) {
        fprintf(stderr, "bench: out of memory for %zu bytes\n", bytes);
        exit(1);
    }
    for (size_t i = 0; i < bytes; i++)
        memory[i] = (char)value;
    return memory;
}

// Memory as programs get it, which rarely begins with a page.
static inline char *touched(size_t bytes, int value) {
    return filled(malloc(bytes), bytes, value);
}

// Memory that begins with a page, for limits: on some processors the kernel takes three times as long for other copies.
static inline char *touched_pages(size_t bytes, int value) {
    return filled(aligned_alloc(4096, (bytes + 4095) / 4096 * 4096), bytes, value);
}

#endif

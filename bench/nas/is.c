/* IS, "integer sort": ranks of small integers, ten times, by buckets: one MPI_Allreduce of their sizes, then the keys
 * go to the ranks that own their buckets by MPI_Alltoallv. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ITERATIONS = 10, BUCKETS_LOG = 9, BUCKETS = 1 << BUCKETS_LOG, TESTS = 5 };

/* What the specification gives for a class: sizes, and where some keys must rank. The rank of test i in iteration n is
 * base + n + first for those that rise, base - n + last for the others. */
typedef struct {
    char name;
    int keys_log, values_log;
    int rising;
    int first, last;
    int index[TESTS], base[TESTS];
} Class;

static const Class classes[] = {
    {'S', 16, 11, 3, 0, 0, {48427, 17148, 23627, 62548, 4431}, {0, 18, 346, 64917, 65463}},
    {'W', 20, 16, 2, -2, 0, {357773, 934767, 875723, 898999, 404505}, {1249, 11698, 1039987, 1043896, 1048018}},
    {'A', 23, 19, 3, -1, 1, {2112377, 662041, 5336171, 3642833, 4250760}, {104, 17523, 123928, 8288932, 8388264}},
};

static const Class *class;
static int rank, ranks;
/* This rank's keys as they were given; sorted by bucket; those of its buckets, from all ranks. */
static int *keys, *ordered, *received;
static int mine, received_count;
/* How many of the received keys are at most a value; the first value and the keys of lower ranks. */
static int *at_most, lowest, below;

static uint64_t times(uint64_t a, uint64_t b)
{
    return (uint64_t)((unsigned __int128)a * b & ((1ull << 46) - 1));
}

static double draw(uint64_t *state)
{
    *state = times(1220703125, *state);
    return (double)*state / (double)(1ull << 46);
}

static uint64_t skip(uint64_t state, uint64_t steps)
{
    for (uint64_t power = 1220703125; steps > 0; steps /= 2, power = times(power, power))
        if (steps % 2) state = times(power, state);
    return state;
}

/* A key is the sum of four random numbers. */
static void make_keys(void)
{
    uint64_t state = skip(314159265, 4ull * (uint64_t)mine * (uint64_t)rank);
    double scale = (double)(1 << class->values_log) / 4;
    for (int i = 0; i < mine; i++) {
        double sum = draw(&state);
        for (int n = 0; n < 3; n++) sum += draw(&state);
        keys[i] = (int)(scale * sum);
    }
}

static int bucket_of(int key)
{
    return key >> (class->values_log - BUCKETS_LOG);
}

/* Which rank each bucket goes to: so that all have about the same number of keys. */
static void divide(const int totals[], int owner[])
{
    int64_t sum = 0, all = (int64_t)mine * ranks;
    for (int b = 0; b < BUCKETS; b++) {
        owner[b] = (int)(sum * ranks / all);
        if (owner[b] >= ranks) owner[b] = ranks - 1;
        sum += totals[b];
    }
}

static void order_by_bucket(const int counts[])
{
    int next[BUCKETS], sum = 0;
    for (int b = 0; b < BUCKETS; b++) {
        next[b] = sum;
        sum += counts[b];
    }
    for (int i = 0; i < mine; i++) ordered[next[bucket_of(keys[i])]++] = keys[i];
}

static void exchange(const int counts[], const int owner[])
{
    int sizes[4][ranks];
    int *send = sizes[0], *send_at = sizes[1], *recv = sizes[2], *recv_at = sizes[3];
    memset(send, 0, sizeof sizes[0]);
    for (int b = 0; b < BUCKETS; b++) send[owner[b]] += counts[b];
    MPI_Alltoall(send, 1, MPI_INT, recv, 1, MPI_INT, MPI_COMM_WORLD);
    send_at[0] = recv_at[0] = 0;
    for (int r = 1; r < ranks; r++) {
        send_at[r] = send_at[r - 1] + send[r - 1];
        recv_at[r] = recv_at[r - 1] + recv[r - 1];
    }
    received_count = recv_at[ranks - 1] + recv[ranks - 1];
    MPI_Alltoallv(ordered, send, send_at, MPI_INT, received, recv, recv_at, MPI_INT, MPI_COMM_WORLD);
}

/* Keys that are less than mine because of their buckets, and the values of my buckets. */
static int find_range(const int totals[], const int owner[])
{
    int first = BUCKETS, last = -1;
    below = 0;
    for (int b = 0; b < BUCKETS; b++) {
        if (owner[b] < rank) below += totals[b];
        if (owner[b] == rank) last = b;
        if (owner[b] == rank && first == BUCKETS) first = b;
    }
    int shift = class->values_log - BUCKETS_LOG;
    lowest = first << shift;
    return last < 0 ? 0 : (last + 1 - first) << shift;
}

static void rank_received(int values)
{
    memset(at_most, 0, (size_t)(values + 1) * sizeof *at_most);
    for (int i = 0; i < received_count; i++) at_most[received[i] - lowest]++;
    for (int v = 1; v < values; v++) at_most[v] += at_most[v - 1];
}

/* Gives how many of the tests of this iteration held on this rank. */
static int tests_passed(int iteration, int values, const int tested[])
{
    int passed = 0;
    for (int i = 0; i < TESTS; i++) {
        int v = tested[i] - lowest;
        if (tested[i] <= 0 || v < 0 || v >= values) continue;
        int found = below + (v > 0 ? at_most[v - 1] : 0);
        int moved = i < class->rising ? iteration + class->first : class->last - iteration;
        int wanted = class->base[i] + moved;
        passed += found == wanted;
    }
    return passed;
}

static int iterate(int iteration)
{
    /* Bucket sizes, and behind them the keys under test: one reduction for both. */
    int counts[BUCKETS + TESTS] = {0}, totals[BUCKETS + TESTS], owner[BUCKETS];
    if (rank == 0) {
        keys[iteration] = iteration;
        keys[iteration + ITERATIONS] = (1 << class->values_log) - iteration;
    }
    for (int i = 0; i < mine; i++) counts[bucket_of(keys[i])]++;
    for (int i = 0; i < TESTS; i++)
        if (class->index[i] / mine == rank) counts[BUCKETS + i] = keys[class->index[i] % mine];
    order_by_bucket(counts);
    MPI_Allreduce(counts, totals, BUCKETS + TESTS, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    divide(totals, owner);
    exchange(counts, owner);
    int values = find_range(totals, owner);
    rank_received(values);
    return tests_passed(iteration, values, totals + BUCKETS);
}

/* All keys are there, and those of higher ranks are not less. */
static int is_sorted(void)
{
    int total = 0, highest = 0, before = 0;
    for (int i = 0; i < received_count; i++)
        if (received[i] > highest) highest = received[i];
    MPI_Allreduce(&received_count, &total, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Exscan(&highest, &before, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    int bad = total != mine * ranks;
    for (int i = 0; i < received_count; i++) bad |= rank > 0 && received[i] < before;
    MPI_Allreduce(MPI_IN_PLACE, &bad, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    return !bad;
}

static void *room(size_t n)
{
    void *made = calloc(n, sizeof(int));
    if (made == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
    return made;
}

/* All iterations once: seconds. */
static double timed(int *passed)
{
    make_keys();
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    for (int n = 1; n <= ITERATIONS; n++) *passed += iterate(n);
    MPI_Barrier(MPI_COMM_WORLD);
    return MPI_Wtime() - start;
}

static int compare(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    char name = argc > 1 ? argv[1][0] : 'S';
    for (size_t i = 0; i < sizeof classes / sizeof classes[0]; i++)
        if (classes[i].name == name) class = &classes[i];
    if (class == NULL || (1 << class->keys_log) % ranks != 0) {
        if (rank == 0) fprintf(stderr, "usage: is S|W|A, with a number of ranks that is a power of two\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    mine = (1 << class->keys_log) / ranks;
    keys = room((size_t)mine);
    ordered = room((size_t)mine);
    received = room((size_t)(1 << class->keys_log));
    at_most = room(((size_t)1 << class->values_log) + 1);

    make_keys();
    iterate(1);
    int turns = argc > 2 ? atoi(argv[2]) : 1, passed = 0;
    double *seconds = calloc(turns < 1 ? 1 : (size_t)turns, sizeof *seconds);
    if (turns < 1 || seconds == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
    for (int turn = 0; turn < turns; turn++) seconds[turn] = timed(&passed);
    qsort(seconds, (size_t)turns, sizeof *seconds, compare);
    MPI_Allreduce(MPI_IN_PLACE, &passed, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    int verified = passed == turns * ITERATIONS * TESTS && is_sorted();
    double operations = ITERATIONS * (double)(1 << class->keys_log) * 1e-6, best = seconds[0];
    if (rank == 0)
        printf("IS class %c ranks %d seconds %10.6f Mop/s %10.2f median %10.2f verified %s\n", name, ranks, best,
            operations / best, operations / seconds[turns / 2], verified ? "yes" : "no");
    MPI_Finalize();
    return !verified;
}

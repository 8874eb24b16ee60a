/* Scans and scattered reductions (MPI-5.0 sections 6.10 and 6.11): around the lengths at which the way changes, with
 * ranks that are ahead of others, in the order of the ranks, and with the same bits every time.
 * ranks: 2 3 4 17
 */
#include "check.h"
#include <unistd.h>

enum { LONGS_MAX = 20000, CALLS = 60 };

/* Around the line of a flag, an eager slot shared by all, one rank's share of work, and a piece. */
static const int edges[] = {1, 7, 8, 9, 127, 480, 482, 1023, 1024, 1025, 2730, 4095, 4096, 4097, 8191, 8193, LONGS_MAX};
enum { EDGES = sizeof edges / sizeof *edges };

static long operand(int call, int rank, int i)
{
    return (long)(call + 1) * (rank + 2) + i % 977 * (long)(rank + 1);
}

static long total(int call, int first, int last, int i)
{
    long sum = 0;
    for (int rank = first; rank <= last; rank++) sum += operand(call, rank, i);
    return sum;
}

static void fill(long *data, int call, int from, int n)
{
    for (int i = 0; i < n; i++) data[i] = operand(call, check_rank, from + i);
}

static int wrong(const long *data, int call, int first, int last, int from, int n)
{
    int bad = 0;
    for (int i = 0; i < n; i++) bad += data[i] != total(call, first, last, from + i);
    return bad;
}

static long *room(int n)
{
    return check_alloc(sizeof(long) * (n > 0 ? n : 1));
}

static void scan(int call, int n, int in_place)
{
    long *in = room(n), *out = room(n);
    fill(in, call, 0, n), fill(out, call, 0, n);
    MUST(MPI_Scan(in_place ? MPI_IN_PLACE : in, out, n, MPI_LONG, MPI_SUM, MPI_COMM_WORLD));
    CHECK_EQ(wrong(out, call, 0, check_rank, 0, n), 0);
    free(in), free(out);
}

static void exscan(int call, int n, int in_place)
{
    long *in = room(n), *out = room(n);
    fill(in, call, 0, n), fill(out, call, 0, n);
    MUST(MPI_Exscan(in_place ? MPI_IN_PLACE : in, out, n, MPI_LONG, MPI_SUM, MPI_COMM_WORLD));
    if (check_rank > 0) CHECK_EQ(wrong(out, call, 0, check_rank - 1, 0, n), 0);
    else CHECK_EQ(wrong(out, call, 0, 0, 0, n), 0);
    free(in), free(out);
}

static void block(int call, int n, int in_place)
{
    long *in = room(n * check_size), *out = room(n);
    fill(in, call, 0, n * check_size);
    const void *from = in_place ? MPI_IN_PLACE : in;
    long *to = in_place ? in : out;
    MUST(MPI_Reduce_scatter_block(from, to, n, MPI_LONG, MPI_SUM, MPI_COMM_WORLD));
    CHECK_EQ(wrong(to, call, 0, check_size - 1, check_rank * n, n), 0);
    free(in), free(out);
}

/* Blocks of all lengths; with an `odd` call the first is the longest, otherwise the last. */
static void uneven(int call, int n, int in_place)
{
    int *counts = check_alloc(sizeof(int) * check_size), first = 0, all = 0;
    for (int rank = 0; rank < check_size; rank++) {
        counts[rank] = n * (call % 2 ? check_size - 1 - rank : rank) / check_size;
        first += rank < check_rank ? counts[rank] : 0;
        all += counts[rank];
    }
    int mine = counts[check_rank];
    long *in = room(all), *out = room(mine);
    fill(in, call, 0, all);
    long *to = in_place ? in : out;
    MUST(MPI_Reduce_scatter(in_place ? MPI_IN_PLACE : in, to, counts, MPI_LONG, MPI_SUM, MPI_COMM_WORLD));
    CHECK_EQ(wrong(to, call, 0, check_size - 1, first, mine), 0);
    free(in), free(out), free(counts);
}

static void all_lengths(void)
{
    for (int edge = 0; edge < EDGES; edge++) {
        int n = edges[edge];
        scan(edge, n, edge % 2), exscan(edge, n, edge % 2);
        scan(edge, n, (edge + 1) % 2), exscan(edge, n, (edge + 1) % 2);
        block(edge, n, edge % 2), uneven(edge, n, edge % 2), uneven(edge + 1, n, (edge + 1) % 2);
    }
}

/* Nothing holds the low ranks of scans back but what the others have not read yet. */
static void some_ahead(void)
{
    for (int call = 0; call < CALLS; call++) {
        int n = edges[call * 5 % (EDGES - 4)];
        if (call % 16 == 3 && check_rank == call % check_size) usleep(2000);
        switch (call % 4) {
        case 0: scan(call, n, 0); break;
        case 1: exscan(call, n, 1); break;
        case 2: scan(call, 1 + call % 7, 0); break;
        default: exscan(call, 4097 + call, 0); break;
        }
        if (call % 20 == 10) block(call, n, 0);
        if (call % 20 == 15) MUST(MPI_Bcast(&n, 1, MPI_INT, call % check_size, MPI_COMM_WORLD));
    }
}

/* x -> a x + b, as numbers that wrap around: applied one after the other, which is not commutative. */
struct affine {
    unsigned long a, b;
};

static void compose(void *left, void *right, int *count, MPI_Datatype *type)
{
    struct affine *l = left, *r = right;
    (void)type;
    for (int i = 0; i < *count; i++) r[i] = (struct affine){r[i].a * l[i].a, r[i].a * l[i].b + r[i].b};
}

static struct affine step(int rank, int i)
{
    return (struct affine){2 * rank + 3, rank * 10 + i + 1};
}

static int wrong_steps(const struct affine *data, int last, int from, int n)
{
    int bad = 0;
    for (int i = 0; i < n; i++) {
        struct affine want = step(0, from + i), next;
        int one = 1;
        for (int rank = 1; rank <= last; rank++) {
            next = step(rank, from + i);
            compose(&want, &next, &one, NULL);
            want = next;
        }
        bad += data[i].a != want.a || data[i].b != want.b;
    }
    return bad;
}

static void in_order(int n)
{
    MPI_Datatype pair;
    MPI_Op op;
    MUST(MPI_Type_contiguous(2, MPI_UNSIGNED_LONG, &pair));
    MUST(MPI_Type_commit(&pair));
    MUST(MPI_Op_create(compose, 0, &op));
    struct affine *in = check_alloc(sizeof *in * n * check_size), *out = check_alloc(sizeof *out * n);
    for (int i = 0; i < n * check_size; i++) in[i] = step(check_rank, i);
    MUST(MPI_Scan(in, out, n, pair, op, MPI_COMM_WORLD));
    CHECK_EQ(wrong_steps(out, check_rank, 0, n), 0);
    MUST(MPI_Exscan(in, out, n, pair, op, MPI_COMM_WORLD));
    if (check_rank > 0) CHECK_EQ(wrong_steps(out, check_rank - 1, 0, n), 0);
    MUST(MPI_Reduce_scatter_block(in, out, n, pair, op, MPI_COMM_WORLD));
    CHECK_EQ(wrong_steps(out, check_size - 1, check_rank * n, n), 0);
    free(in), free(out);
    MUST(MPI_Op_free(&op));
    MUST(MPI_Type_free(&pair));
}

/* Three times the same, with a rank that is late now and then. */
static void same_bits(int n)
{
    double *in = check_alloc(8 * n * check_size), *out[3][3];
    for (int i = 0; i < n * check_size; i++) in[i] = 1.0 / (check_rank * 31 + i + 1);
    for (int round = 0; round < 3; round++) {
        for (int k = 0; k < 3; k++) out[round][k] = check_alloc(8 * n), memset(out[round][k], 0, 8 * n);
        if (check_rank == round) usleep(1000);
        MUST(MPI_Scan(in, out[round][0], n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
        MUST(MPI_Exscan(in, out[round][1], n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
        MUST(MPI_Reduce_scatter_block(in, out[round][2], n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
        for (int k = 0; k < 3; k++) CHECK(memcmp(out[0][k], out[round][k], 8 * n) == 0);
    }
    for (int round = 0; round < 3; round++)
        for (int k = 0; k < 3; k++) free(out[round][k]);
    free(in);
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    all_lengths();
    some_ahead();
    in_order(3), in_order(3000);
    for (int n = 1; n <= 10000; n *= 10) same_bits(n);
    return check_finish();
}

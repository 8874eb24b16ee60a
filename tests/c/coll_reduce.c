/* Blocking reductions (MPI-5.0 sections 6.9 to 6.11): reduce, allreduce, reduce_scatter(_block), scan, exscan;
 * all roots, in place, sizes across protocols; the same result at any root.
 * ranks: 1 2 3 4 5 8
 */
#include "check.h"

static const int counts[] = {0, 1, 2, 100, 4000, 60000, 300000};
enum { COUNTS = sizeof counts / sizeof *counts, N_MAX = 64 };

static long value(int rank, int i)
{
    return (rank + 1) * (long)(i % 1000 + 1);
}

/* The sum over ranks first..last. */
static long sum(int first, int last, int i)
{
    long total = 0;
    for (int r = first; r <= last; r++) total += value(r, i);
    return total;
}

static long *fill(int n)
{
    long *data = check_alloc(sizeof(long) * n);
    for (int i = 0; i < n; i++) data[i] = value(check_rank, i);
    return data;
}

static int wrong(const long *data, int n, int first, int last, int from)
{
    int bad = 0;
    for (int i = 0; i < n; i++) bad += data[i] != sum(first, last, from + i);
    return bad;
}

static void reduce(int n, int root)
{
    long *in = fill(n), *out = fill(n);
    MUST(MPI_Reduce(in, check_rank == root ? out : NULL, n, MPI_LONG, MPI_SUM, root, MPI_COMM_WORLD));
    if (check_rank == root) CHECK_EQ(wrong(out, n, 0, check_size - 1, 0), 0);
    if (check_rank == root) MUST(MPI_Reduce(MPI_IN_PLACE, in, n, MPI_LONG, MPI_SUM, root, MPI_COMM_WORLD));
    else MUST(MPI_Reduce(in, NULL, n, MPI_LONG, MPI_SUM, root, MPI_COMM_WORLD));
    if (check_rank == root) CHECK_EQ(wrong(in, n, 0, check_size - 1, 0), 0);
    else CHECK_EQ(wrong(in, n, check_rank, check_rank, 0), 0);
    free(in), free(out);
}

static void allreduce(int n)
{
    long *in = fill(n), *out = fill(n);
    MUST(MPI_Allreduce(in, out, n, MPI_LONG, MPI_SUM, MPI_COMM_WORLD));
    CHECK_EQ(wrong(out, n, 0, check_size - 1, 0), 0);
    CHECK_EQ(wrong(in, n, check_rank, check_rank, 0), 0);
    MUST(MPI_Allreduce(MPI_IN_PLACE, in, n, MPI_LONG, MPI_SUM, MPI_COMM_WORLD));
    CHECK_EQ(wrong(in, n, 0, check_size - 1, 0), 0);
    free(in), free(out);
}

static void scans(int n)
{
    long *in = fill(n), *out = fill(n);
    MUST(MPI_Scan(in, out, n, MPI_LONG, MPI_SUM, MPI_COMM_WORLD));
    CHECK_EQ(wrong(out, n, 0, check_rank, 0), 0);
    MUST(MPI_Exscan(in, out, n, MPI_LONG, MPI_SUM, MPI_COMM_WORLD));
    if (check_rank > 0) CHECK_EQ(wrong(out, n, 0, check_rank - 1, 0), 0);
    free(out), out = fill(n);
    MUST(MPI_Scan(MPI_IN_PLACE, out, n, MPI_LONG, MPI_SUM, MPI_COMM_WORLD));
    CHECK_EQ(wrong(out, n, 0, check_rank, 0), 0);
    MUST(MPI_Exscan(MPI_IN_PLACE, in, n, MPI_LONG, MPI_SUM, MPI_COMM_WORLD));
    if (check_rank > 0) CHECK_EQ(wrong(in, n, 0, check_rank - 1, 0), 0);
    free(in), free(out);
}

static void reduce_scatter(int n)
{
    int sizes[N_MAX], total = 0, first = 0;
    for (int r = 0; r < check_size; r++) {
        sizes[r] = r % 3 * n / 2 + (r == 1);
        if (r < check_rank) first += sizes[r];
        total += sizes[r];
    }
    long *in = fill(total), *out = fill(sizes[check_rank]);
    MUST(MPI_Reduce_scatter(in, out, sizes, MPI_LONG, MPI_SUM, MPI_COMM_WORLD));
    CHECK_EQ(wrong(out, sizes[check_rank], 0, check_size - 1, first), 0);
    /* MPICH 5.0.2 stops here at large uneven counts: it moves overlapping memory with memcpy. */
    MUST(MPI_Reduce_scatter(MPI_IN_PLACE, in, sizes, MPI_LONG, MPI_SUM, MPI_COMM_WORLD));
    CHECK_EQ(wrong(in, sizes[check_rank], 0, check_size - 1, first), 0);
    free(in), free(out);
    in = fill(n * check_size), out = fill(n);
    MUST(MPI_Reduce_scatter_block(in, out, n, MPI_LONG, MPI_SUM, MPI_COMM_WORLD));
    CHECK_EQ(wrong(out, n, 0, check_size - 1, check_rank * n), 0);
    MUST(MPI_Reduce_scatter_block(MPI_IN_PLACE, in, n, MPI_LONG, MPI_SUM, MPI_COMM_WORLD));
    CHECK_EQ(wrong(in, n, 0, check_size - 1, check_rank * n), 0);
    free(in), free(out);
}

/* Floating sums are the same bits at every rank, at every root, every time: advice of section 6.9.1 that Tern
 * makes a promise. */
static void reproducible(int n)
{
    double *in = check_alloc(8 * n), *first = check_alloc(8 * n), *again = check_alloc(8 * n);
    for (int i = 0; i < n; i++) in[i] = 1.0 / (check_rank * 31 + i + 1);
    MPI_Allreduce(in, first, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    for (int round = 0; round < 3; round++) {
        MPI_Allreduce(in, again, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        CHECK(memcmp(first, again, 8 * n) == 0);
    }
    memcpy(again, first, 8 * n);
    MPI_Bcast(again, n, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    CHECK(memcmp(first, again, 8 * n) == 0);
    double *at_root[2] = {check_alloc(8 * n), check_alloc(8 * n)};
    for (int k = 0; k < 2; k++) {
        int root = k * (check_size - 1);
        MPI_Reduce(in, at_root[k], n, MPI_DOUBLE, MPI_SUM, root, MPI_COMM_WORLD);
        MPI_Bcast(at_root[k], n, MPI_DOUBLE, root, MPI_COMM_WORLD);
    }
    CHECK(memcmp(at_root[0], at_root[1], 8 * n) == 0);
    free(in), free(first), free(again), free(at_root[0]), free(at_root[1]);
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    for (int c = 0; c < COUNTS; c++) {
        int n = counts[c];
        for (int root = 0; root < check_size; root += n > 10000 && check_size > 1 ? check_size - 1 : 1) reduce(n, root);
        allreduce(n);
        scans(n);
        if (n <= 60000) reduce_scatter(n);
    }
    for (int n = 1; n <= 100000; n *= 10) reproducible(n);
    for (int i = 0; i < 200; i++) MUST(MPI_Barrier(MPI_COMM_WORLD));
    return check_finish();
}

/* Blocking collectives that move data (MPI-5.0 chapter 6): all roots, sizes across protocols, in place, the
 * vector forms with gaps and zero counts, different types on the two sides.
 * ranks: 1 2 3 4 5 8
 */
#include "check.h"

static const int counts[] = {0, 1, 3, 200, 5000, 70000};
enum { COUNTS = sizeof counts / sizeof *counts, N_MAX = 64 };

static int word(int rank, int i)
{
    return rank * 1000003 + i;
}

static int *fill(int rank, int n)
{
    int *data = check_alloc(sizeof(int) * n);
    for (int i = 0; i < n; i++) data[i] = word(rank, i);
    return data;
}

static int *blank(int n)
{
    int *data = check_alloc(sizeof(int) * n);
    memset(data, 0xEE, sizeof(int) * n);
    return data;
}

/* How many of n ints from `data` are not rank's, from its index `first` on. */
static int wrong(const int *data, int rank, int first, int n)
{
    int bad = 0;
    for (int i = 0; i < n; i++) bad += data[i] != word(rank, first + i);
    return bad;
}

static void bcast(int n, int root)
{
    int *data = check_rank == root ? fill(root, n) : blank(n);
    MUST(MPI_Bcast(data, n, MPI_INT, root, MPI_COMM_WORLD));
    CHECK_EQ(wrong(data, root, 0, n), 0);
    free(data);
}

static void gather(int n, int root)
{
    int *mine = fill(check_rank, n), *all = blank(n * check_size);
    MUST(MPI_Gather(mine, n, MPI_INT, all, n, MPI_INT, root, MPI_COMM_WORLD));
    for (int r = 0; r < check_size && check_rank == root; r++) CHECK_EQ(wrong(all + r * n, r, 0, n), 0);
    memset(all, 0xEE, sizeof(int) * n * check_size);
    memcpy(all + check_rank * n, mine, sizeof(int) * n);
    if (check_rank == root)
        MUST(MPI_Gather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, n, MPI_INT, root, MPI_COMM_WORLD));
    else
        MUST(MPI_Gather(mine, n, MPI_INT, NULL, 0, MPI_DATATYPE_NULL, root, MPI_COMM_WORLD));
    for (int r = 0; r < check_size && check_rank == root; r++) CHECK_EQ(wrong(all + r * n, r, 0, n), 0);
    free(mine), free(all);
}

static void scatter(int n, int root)
{
    int *all = fill(root, n * check_size), *mine = blank(n);
    MUST(MPI_Scatter(all, n, MPI_INT, mine, n, MPI_INT, root, MPI_COMM_WORLD));
    CHECK_EQ(wrong(mine, root, check_rank * n, n), 0);
    memset(mine, 0xEE, sizeof(int) * n);
    if (check_rank == root)
        MUST(MPI_Scatter(all, n, MPI_INT, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, root, MPI_COMM_WORLD));
    else
        MUST(MPI_Scatter(NULL, 0, MPI_DATATYPE_NULL, mine, n, MPI_INT, root, MPI_COMM_WORLD));
    if (check_rank != root) CHECK_EQ(wrong(mine, root, check_rank * n, n), 0);
    free(all), free(mine);
}

static void allgather(int n)
{
    int *mine = fill(check_rank, n), *all = blank(n * check_size);
    MUST(MPI_Allgather(mine, n, MPI_INT, all, n, MPI_INT, MPI_COMM_WORLD));
    for (int r = 0; r < check_size; r++) CHECK_EQ(wrong(all + r * n, r, 0, n), 0);
    memset(all, 0xEE, sizeof(int) * n * check_size);
    memcpy(all + check_rank * n, mine, sizeof(int) * n);
    MUST(MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, n, MPI_INT, MPI_COMM_WORLD));
    for (int r = 0; r < check_size; r++) CHECK_EQ(wrong(all + r * n, r, 0, n), 0);
    free(mine), free(all);
}

/* Element (from, to, i) of a total exchange. */
static int exchange_word(int from, int to, int i)
{
    return from * 7919 + to * 104729 + i;
}

static int exchange_wrong(const int *all, const int *sizes, const int *places, int n)
{
    int bad = 0;
    for (int r = 0; r < check_size; r++) {
        int count = sizes ? sizes[r] : n, at = places ? places[r] : r * n;
        for (int i = 0; i < count; i++) bad += all[at + i] != exchange_word(r, check_rank, i);
    }
    return bad;
}

static void alltoall(int n)
{
    int *out = blank(n * check_size), *in = blank(n * check_size);
    for (int r = 0; r < check_size; r++)
        for (int i = 0; i < n; i++) out[r * n + i] = exchange_word(check_rank, r, i);
    MUST(MPI_Alltoall(out, n, MPI_INT, in, n, MPI_INT, MPI_COMM_WORLD));
    CHECK_EQ(exchange_wrong(in, NULL, NULL, n), 0);
    MUST(MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, out, n, MPI_INT, MPI_COMM_WORLD));
    CHECK_EQ(exchange_wrong(out, NULL, NULL, n), 0);
    free(out), free(in);
}

/* Counts that differ by rank (zero among them), blocks with gaps, in reverse order. */
static int uneven(int a, int b, int n)
{
    return (a * 3 + b * 5) % 4 * n / 2;
}

/* `type` is one of integers: predefined at some ranks and derived at others, which find different ways of one call. */
static void gatherv_scatterv(int n, int root, MPI_Datatype type)
{
    int sizes[N_MAX], places[N_MAX], total = 0;
    for (int r = check_size - 1; r >= 0; r--) {
        sizes[r] = uneven(r, root, n);
        places[r] = total;
        total += sizes[r] + 3;
    }
    int *mine = fill(check_rank, sizes[check_rank]), *all = blank(total);
    MUST(MPI_Gatherv(mine, sizes[check_rank], type, all, sizes, places, type, root, MPI_COMM_WORLD));
    for (int r = 0; r < check_size && check_rank == root; r++) {
        CHECK_EQ(wrong(all + places[r], r, 0, sizes[r]), 0);
        CHECK_EQ(all[places[r] + sizes[r]], (int)0xEEEEEEEE);
    }
    if (check_rank == root) MPI_Gatherv(MPI_IN_PLACE, 0, MPI_INT, all, sizes, places, MPI_INT, root, MPI_COMM_WORLD);
    else MPI_Gatherv(mine, sizes[check_rank], MPI_INT, NULL, NULL, NULL, MPI_INT, root, MPI_COMM_WORLD);
    memset(mine, 0xEE, sizeof(int) * sizes[check_rank]);
    MUST(MPI_Scatterv(all, sizes, places, type, mine, sizes[check_rank], type, root, MPI_COMM_WORLD));
    CHECK_EQ(wrong(mine, check_rank, 0, sizes[check_rank]), 0);
    if (check_rank == root)
        MUST(MPI_Scatterv(all, sizes, places, MPI_INT, MPI_IN_PLACE, 0, MPI_INT, root, MPI_COMM_WORLD));
    else
        MUST(MPI_Scatterv(NULL, NULL, NULL, MPI_INT, mine, sizes[check_rank], MPI_INT, root, MPI_COMM_WORLD));
    CHECK_EQ(wrong(mine, check_rank, 0, sizes[check_rank]), 0);
    free(mine), free(all);
}

static void allgatherv(int n)
{
    int sizes[N_MAX], places[N_MAX], total = 0;
    for (int r = check_size - 1; r >= 0; r--) {
        sizes[r] = uneven(r, 1, n);
        places[r] = total;
        total += sizes[r] + 2;
    }
    int *mine = fill(check_rank, sizes[check_rank]), *all = blank(total);
    MUST(MPI_Allgatherv(mine, sizes[check_rank], MPI_INT, all, sizes, places, MPI_INT, MPI_COMM_WORLD));
    for (int r = 0; r < check_size; r++) {
        CHECK_EQ(wrong(all + places[r], r, 0, sizes[r]), 0);
        CHECK_EQ(all[places[r] + sizes[r]], (int)0xEEEEEEEE);
    }
    memset(all, 0xEE, sizeof(int) * total);
    memcpy(all + places[check_rank], mine, sizeof(int) * sizes[check_rank]);
    MUST(MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, sizes, places, MPI_INT, MPI_COMM_WORLD));
    for (int r = 0; r < check_size; r++) CHECK_EQ(wrong(all + places[r], r, 0, sizes[r]), 0);
    free(mine), free(all);
}

static void alltoallv(int n, int by_type)
{
    int out_sizes[N_MAX], in_sizes[N_MAX], out_at[N_MAX], in_at[N_MAX], out_bytes[N_MAX], in_bytes[N_MAX];
    int out_total = 0, in_total = 0;
    MPI_Datatype types[N_MAX];
    for (int r = check_size - 1; r >= 0; r--) {
        out_sizes[r] = uneven(check_rank, r, n), in_sizes[r] = uneven(r, check_rank, n);
        out_at[r] = out_total, in_at[r] = in_total;
        out_bytes[r] = 4 * out_total, in_bytes[r] = 4 * in_total;
        out_total += out_sizes[r] + 1, in_total += in_sizes[r] + 1;
        types[r] = MPI_INT;
    }
    int *out = blank(out_total), *in = blank(in_total);
    for (int r = 0; r < check_size; r++)
        for (int i = 0; i < out_sizes[r]; i++) out[out_at[r] + i] = exchange_word(check_rank, r, i);
    if (by_type)
        MUST(MPI_Alltoallw(out, out_sizes, out_bytes, types, in, in_sizes, in_bytes, types, MPI_COMM_WORLD));
    else
        MUST(MPI_Alltoallv(out, out_sizes, out_at, MPI_INT, in, in_sizes, in_at, MPI_INT, MPI_COMM_WORLD));
    CHECK_EQ(exchange_wrong(in, in_sizes, in_at, n), 0);
    for (int r = 0; r < check_size; r++) CHECK_EQ(in[in_at[r] + in_sizes[r]], (int)0xEEEEEEEE);
    free(out), free(in);
}

/* In place the counts must be symmetric between two ranks. */
static void alltoallv_in_place(int n, int by_type)
{
    int sizes[N_MAX], at[N_MAX], bytes[N_MAX], total = 0;
    MPI_Datatype types[N_MAX];
    for (int r = 0; r < check_size; r++) {
        sizes[r] = (r + check_rank) % 3 * n / 2, at[r] = total, bytes[r] = 4 * total, types[r] = MPI_INT;
        total += sizes[r];
    }
    int *data = blank(total);
    for (int r = 0; r < check_size; r++)
        for (int i = 0; i < sizes[r]; i++) data[at[r] + i] = exchange_word(check_rank, r, i);
    if (by_type)
        MUST(MPI_Alltoallw(MPI_IN_PLACE, NULL, NULL, NULL, data, sizes, bytes, types, MPI_COMM_WORLD));
    else
        MUST(MPI_Alltoallv(MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, data, sizes, at, MPI_INT, MPI_COMM_WORLD));
    CHECK_EQ(exchange_wrong(data, sizes, at, n), 0);
    free(data);
}

/* Columns at the root against contiguous elsewhere. */
static void different_types(int n)
{
    MPI_Datatype column, spaced;
    int *table = blank(2 * n), *flat = blank(n);
    MPI_Type_vector(n, 1, 2, MPI_INT, &column);
    MPI_Type_commit(&column);
    if (check_rank == 0)
        for (int i = 0; i < n; i++) table[2 * i] = word(9, i);
    if (check_rank == 0) MUST(MPI_Bcast(table, 1, column, 0, MPI_COMM_WORLD));
    else MUST(MPI_Bcast(flat, n, MPI_INT, 0, MPI_COMM_WORLD));
    if (check_rank != 0) CHECK_EQ(wrong(flat, 9, 0, n), 0);
    /* Each rank's contribution becomes a column of a row-major matrix. */
    int *matrix = blank(n * check_size), *mine = fill(check_rank, n), bad = 0;
    MPI_Datatype stripe;
    MPI_Type_vector(n, 1, check_size, MPI_INT, &stripe);
    MPI_Type_create_resized(stripe, 0, sizeof(int), &spaced);
    MPI_Type_commit(&spaced);
    MUST(MPI_Allgather(mine, n, MPI_INT, matrix, 1, spaced, MPI_COMM_WORLD));
    for (int r = 0; r < check_size; r++)
        for (int i = 0; i < n; i++) bad += matrix[i * check_size + r] != word(r, i);
    CHECK_EQ(bad, 0);
    MPI_Type_free(&column), MPI_Type_free(&stripe), MPI_Type_free(&spaced);
    free(table), free(flat), free(matrix), free(mine);
}

/* Elements of no bytes at one address do not overlap. */
static void nothing_from_here_to_here(void)
{
    int here = 7;
    MPI_Datatype none;
    MPI_Type_contiguous(0, MPI_INT, &none);
    MPI_Type_commit(&none);
    MUST(MPI_Gather(&here, 3, none, &here, 3, none, 0, MPI_COMM_WORLD));
    MUST(MPI_Scatter(&here, 3, none, &here, 3, none, 0, MPI_COMM_WORLD));
    MUST(MPI_Allgather(&here, 3, none, &here, 3, none, MPI_COMM_WORLD));
    MUST(MPI_Alltoall(&here, 3, none, &here, 3, none, MPI_COMM_WORLD));
    CHECK_EQ(here, 7);
    MPI_Type_free(&none);
}

int main(int argc, char **argv)
{
    MPI_Datatype integer;
    check_init(&argc, &argv);
    MUST(MPI_Type_contiguous(1, MPI_INT, &integer));
    MUST(MPI_Type_commit(&integer));
    for (int c = 0; c < COUNTS; c++) {
        int n = counts[c];
        /* The largest from two roots are enough. */
        for (int root = 0; root < check_size; root += n > 10000 && check_size > 1 ? check_size - 1 : 1) {
            bcast(n, root);
            gather(n, root);
            scatter(n, root);
            gatherv_scatterv(n, root, MPI_INT);
            gatherv_scatterv(n, root, (check_rank + root) % 2 ? integer : MPI_INT);
        }
        allgather(n);
        allgatherv(n);
        alltoall(n);
        for (int by_type = 0; by_type < 2; by_type++) {
            alltoallv(n, by_type);
            alltoallv_in_place(n, by_type);
        }
        if (n > 0) different_types(n);
    }
    bcast(3 << 20, check_size - 1);
    nothing_from_here_to_here();
    MUST(MPI_Type_free(&integer));
    return check_finish();
}

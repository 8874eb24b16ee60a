/* User-defined operations (MPI-5.0 section 6.9.5): commutative and not, on derived types, the large-count
 * form, in every reduction, in the order of ranks.
 * ranks: 1 2 3 4 5 8
 */
#include "check.h"

/* 2x2 matrices modulo a prime: products do not commute but do associate. */
enum { PRIME = 10007, ELEMENTS = 3 };
typedef struct { int m[4]; } matrix;

static matrix multiply(matrix a, matrix b)
{
    matrix c;
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++) c.m[2 * i + j] = (a.m[2 * i] * b.m[j] + a.m[2 * i + 1] * b.m[2 + j]) % PRIME;
    return c;
}

/* inout = in * inout (section 6.9.5). */
static void product(void *in, void *inout, int *count, MPI_Datatype *type)
{
    matrix *a = in, *b = inout;
    int size;
    MPI_Type_size(*type, &size);
    CHECK_EQ(size, sizeof(matrix));
    for (int i = 0; i < *count; i++) b[i] = multiply(a[i], b[i]);
}

static void product_c(void *in, void *inout, MPI_Count *count, MPI_Datatype *type)
{
    int small = (int)*count;
    product(in, inout, &small, type);
}

static matrix of_rank(int rank, int i)
{
    return (matrix){{rank + 1, i + 2, rank * i + 1, 3 * rank + 5}};
}

/* The product of ranks first..last in order. */
static matrix expected(int first, int last, int i)
{
    matrix p = of_rank(first, i);
    for (int r = first + 1; r <= last; r++) p = multiply(p, of_rank(r, i));
    return p;
}

static int same(matrix a, matrix b)
{
    return memcmp(&a, &b, sizeof a) == 0;
}

static void every_reduction(MPI_Datatype type, MPI_Op op)
{
    matrix in[ELEMENTS * 8], out[ELEMENTS * 8];
    for (int i = 0; i < ELEMENTS; i++) in[i] = of_rank(check_rank, i);
    for (int root = 0; root < check_size; root++) {
        MUST(MPI_Reduce(in, out, ELEMENTS, type, op, root, MPI_COMM_WORLD));
        for (int i = 0; i < ELEMENTS && check_rank == root; i++) CHECK(same(out[i], expected(0, check_size - 1, i)));
    }
    MUST(MPI_Allreduce(in, out, ELEMENTS, type, op, MPI_COMM_WORLD));
    for (int i = 0; i < ELEMENTS; i++) CHECK(same(out[i], expected(0, check_size - 1, i)));
    MUST(MPI_Scan(in, out, ELEMENTS, type, op, MPI_COMM_WORLD));
    for (int i = 0; i < ELEMENTS; i++) CHECK(same(out[i], expected(0, check_rank, i)));
    MUST(MPI_Exscan(in, out, ELEMENTS, type, op, MPI_COMM_WORLD));
    for (int i = 0; i < ELEMENTS && check_rank > 0; i++) CHECK(same(out[i], expected(0, check_rank - 1, i)));
    for (int i = 0; i < check_size; i++) in[i] = of_rank(check_rank, i);
    MUST(MPI_Reduce_scatter_block(in, out, 1, type, op, MPI_COMM_WORLD));
    CHECK(same(out[0], expected(0, check_size - 1, check_rank)));
    int counts[8];
    for (int r = 0; r < check_size; r++) counts[r] = 1;
    MUST(MPI_Reduce_scatter(in, out, counts, type, op, MPI_COMM_WORLD));
    CHECK(same(out[0], expected(0, check_size - 1, check_rank)));
}

/* A commutative one on an ordinary type, with counts that cross pipelining boundaries. */
static void saturating(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *count; i++) {
        int sum = ((int *)in)[i] + ((int *)inout)[i];
        ((int *)inout)[i] = sum > 100 ? 100 : sum;
    }
}

static void large_counts(void)
{
    MPI_Op op;
    int n = 100003, *in = check_alloc(n * sizeof(int)), *out = check_alloc(n * sizeof(int)), wrong = 0;
    MUST(MPI_Op_create(saturating, 1, &op));
    for (int i = 0; i < n; i++) in[i] = i % 60;
    MUST(MPI_Allreduce(in, out, n, MPI_INT, op, MPI_COMM_WORLD));
    for (int i = 0; i < n; i++) wrong += out[i] != (i % 60 * check_size > 100 ? 100 : i % 60 * check_size);
    CHECK_EQ(wrong, 0);
    MPI_Op_free(&op);
    CHECK(op == MPI_OP_NULL);
    free(in), free(out);
}

static void commutes(void)
{
    int flag = -1;
    MPI_Op op;
    MUST(MPI_Op_commutative(MPI_SUM, &flag));
    CHECK(flag);
    MPI_Op_create(product, 0, &op);
    MUST(MPI_Op_commutative(op, &flag));
    CHECK(!flag);
    MPI_Op_free(&op);
    MPI_Op_create(saturating, 1, &op);
    MUST(MPI_Op_commutative(op, &flag));
    CHECK(flag);
    MPI_Op_free(&op);
}

int main(int argc, char **argv)
{
    MPI_Op op;
    MPI_Datatype type;
    check_init(&argc, &argv);
    MPI_Type_contiguous(4, MPI_INT, &type);
    MPI_Type_commit(&type);
    MUST(MPI_Op_create(product, 0, &op));
    every_reduction(type, op);
    MPI_Op_free(&op);
    MUST(MPI_Op_create_c(product_c, 0, &op));
    every_reduction(type, op);
    MPI_Op_free(&op);
    MPI_Type_free(&type);
    large_counts();
    commutes();
    return check_finish();
}

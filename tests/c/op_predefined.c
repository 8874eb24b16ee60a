/* All predefined operations on all types that the standard allows (MPI-5.0 section 6.9.2), by
 * reduce_local and allreduce, against C's own arithmetic.
 * ranks: 1 2 3 4 7
 */
#include <complex.h>
#include <stdbool.h>
#include <wchar.h>
#include "check.h"

enum { N = 37 };

/* Values small enough that every order of adding and multiplying is exact. */
static int value(int rank, int i)
{
    return (rank * 7 + i * 3) % 5 + (i % 2 ? 1 : 0);
}

#define APPLY_ARITHMETIC(T, name, expression)                                                                   \
    static void name(void *accumulated, int rank)                                                               \
    {                                                                                                           \
        T *acc = accumulated;                                                                                   \
        for (int i = 0; i < N; i++) {                                                                           \
            T a = acc[i], b = (T)value(rank, i);                                                                \
            acc[i] = (T)(expression);                                                                           \
        }                                                                                                       \
    }

#define FILL(T, name)                                                                                           \
    static void name(void *memory, int rank)                                                                    \
    {                                                                                                           \
        for (int i = 0; i < N; i++) ((T *)memory)[i] = (T)value(rank, i);                                       \
    }

typedef void rank_function(void *, int);
typedef struct { MPI_Op op; const char *name; rank_function *apply; } operation;
typedef struct { MPI_Datatype type; const char *name; size_t size; rank_function *fill; operation ops[10]; int n; } row;

#define DEFINE_ORDERED(T, tag)                                                                                  \
    FILL(T, fill_##tag)                                                                                         \
    APPLY_ARITHMETIC(T, sum_##tag, a + b)                                                                       \
    APPLY_ARITHMETIC(T, prod_##tag, a * b)                                                                      \
    APPLY_ARITHMETIC(T, max_##tag, a > b ? a : b)                                                               \
    APPLY_ARITHMETIC(T, min_##tag, a < b ? a : b)
#define DEFINE_INTEGER(T, tag)                                                                                  \
    DEFINE_ORDERED(T, tag)                                                                                      \
    APPLY_ARITHMETIC(T, land_##tag, a && b)                                                                     \
    APPLY_ARITHMETIC(T, lor_##tag, a || b)                                                                      \
    APPLY_ARITHMETIC(T, lxor_##tag, !a != !b)                                                                   \
    APPLY_ARITHMETIC(T, band_##tag, a & b)                                                                      \
    APPLY_ARITHMETIC(T, bor_##tag, a | b)                                                                       \
    APPLY_ARITHMETIC(T, bxor_##tag, a ^ b)
#define DEFINE_COMPLEX(T, tag)                                                                                  \
    FILL(T, fill_##tag)                                                                                         \
    APPLY_ARITHMETIC(T, sum_##tag, a + b)                                                                       \
    APPLY_ARITHMETIC(T, prod_##tag, a * b)

#define OP(op, f) {op, #op, f}
#define ORDERED_OPS(tag) \
    OP(MPI_SUM, sum_##tag), OP(MPI_PROD, prod_##tag), OP(MPI_MAX, max_##tag), OP(MPI_MIN, min_##tag)
#define ROW_ORDERED(type, T, tag) {type, #type, sizeof(T), fill_##tag, {ORDERED_OPS(tag)}, 4}
#define ROW_COMPLEX(type, T, tag) \
    {type, #type, sizeof(T), fill_##tag, {OP(MPI_SUM, sum_##tag), OP(MPI_PROD, prod_##tag)}, 2}
#define ROW_INTEGER(type, T, tag)                                                                               \
    {type, #type, sizeof(T), fill_##tag,                                                                        \
     {ORDERED_OPS(tag), OP(MPI_LAND, land_##tag), OP(MPI_LOR, lor_##tag), OP(MPI_LXOR, lxor_##tag),             \
      OP(MPI_BAND, band_##tag), OP(MPI_BOR, bor_##tag), OP(MPI_BXOR, bxor_##tag)}, 10}

DEFINE_INTEGER(signed char, schar)
DEFINE_INTEGER(unsigned char, uchar)
DEFINE_INTEGER(short, short)
DEFINE_INTEGER(unsigned short, ushort)
DEFINE_INTEGER(int, int)
DEFINE_INTEGER(unsigned, uint)
DEFINE_INTEGER(long, long)
DEFINE_INTEGER(unsigned long, ulong)
DEFINE_INTEGER(long long, llong)
DEFINE_INTEGER(unsigned long long, ullong)
DEFINE_ORDERED(float, float)
DEFINE_ORDERED(double, double)
DEFINE_ORDERED(long double, ldouble)
DEFINE_COMPLEX(float complex, fcomplex)
DEFINE_COMPLEX(double complex, dcomplex)
DEFINE_COMPLEX(long double complex, lcomplex)
FILL(bool, fill_bool)
APPLY_ARITHMETIC(bool, land_bool, a && b)
APPLY_ARITHMETIC(bool, lor_bool, a || b)
APPLY_ARITHMETIC(bool, lxor_bool, a != b)

static void check_operation(const row *r, const operation *o)
{
    unsigned char in[N * 32], out[N * 32], expected[N * 32], local[N * 32];
    size_t bytes = N * r->size;
    /* Padding inside a long double is not data: it starts equal on all sides. */
    memset(in, 0, sizeof in), memset(out, 0, sizeof out), memset(expected, 0, sizeof expected);
    r->fill(expected, 0);
    for (int rank = 1; rank < check_size; rank++) o->apply(expected, rank);
    r->fill(in, check_rank);
    MUST(MPI_Allreduce(in, out, N, r->type, o->op, MPI_COMM_WORLD));
    if (!CHECK(memcmp(out, expected, bytes) == 0)) fprintf(stderr, "allreduce %s of %s\n", o->name, r->name);
    memset(local, 0, sizeof local), memset(expected, 0, sizeof expected);
    r->fill(local, 1), r->fill(in, 2);
    r->fill(expected, 1), o->apply(expected, 2);
    MUST(MPI_Reduce_local(in, local, N, r->type, o->op));
    if (!CHECK(memcmp(local, expected, bytes) == 0)) fprintf(stderr, "local %s of %s\n", o->name, r->name);
}

static void arithmetic(void)
{
    const row rows[] = {
        ROW_INTEGER(MPI_SIGNED_CHAR, signed char, schar), ROW_INTEGER(MPI_UNSIGNED_CHAR, unsigned char, uchar),
        ROW_INTEGER(MPI_SHORT, short, short), ROW_INTEGER(MPI_UNSIGNED_SHORT, unsigned short, ushort),
        ROW_INTEGER(MPI_INT, int, int), ROW_INTEGER(MPI_UNSIGNED, unsigned, uint),
        ROW_INTEGER(MPI_LONG, long, long), ROW_INTEGER(MPI_UNSIGNED_LONG, unsigned long, ulong),
        ROW_INTEGER(MPI_LONG_LONG, long long, llong),
        ROW_INTEGER(MPI_UNSIGNED_LONG_LONG, unsigned long long, ullong),
        ROW_INTEGER(MPI_INT8_T, signed char, schar), ROW_INTEGER(MPI_UINT8_T, unsigned char, uchar),
        ROW_INTEGER(MPI_INT16_T, short, short), ROW_INTEGER(MPI_UINT16_T, unsigned short, ushort),
        ROW_INTEGER(MPI_INT32_T, int, int), ROW_INTEGER(MPI_UINT32_T, unsigned, uint),
        ROW_INTEGER(MPI_INT64_T, long, long), ROW_INTEGER(MPI_UINT64_T, unsigned long, ulong),
        ROW_INTEGER(MPI_AINT, MPI_Aint, long), ROW_INTEGER(MPI_COUNT, MPI_Count, llong),
        ROW_INTEGER(MPI_OFFSET, MPI_Offset, llong),
        ROW_ORDERED(MPI_FLOAT, float, float), ROW_ORDERED(MPI_DOUBLE, double, double),
        ROW_ORDERED(MPI_LONG_DOUBLE, long double, ldouble),
        ROW_COMPLEX(MPI_C_FLOAT_COMPLEX, float complex, fcomplex),
        ROW_COMPLEX(MPI_C_DOUBLE_COMPLEX, double complex, dcomplex),
        ROW_COMPLEX(MPI_C_LONG_DOUBLE_COMPLEX, long double complex, lcomplex),
        {MPI_C_BOOL, "MPI_C_BOOL", sizeof(bool), fill_bool,
         {OP(MPI_LAND, land_bool), OP(MPI_LOR, lor_bool), OP(MPI_LXOR, lxor_bool)}, 3},
        {MPI_BYTE, "MPI_BYTE", 1, fill_uchar,
         {OP(MPI_BAND, band_uchar), OP(MPI_BOR, bor_uchar), OP(MPI_BXOR, bxor_uchar)}, 3},
    };
    for (unsigned r = 0; r < sizeof rows / sizeof *rows; r++)
        for (int o = 0; o < rows[r].n; o++) check_operation(&rows[r], &rows[r].ops[o]);
}

/* MAXLOC and MINLOC: among equals the lowest index wins (section 6.9.4). */
#define LOCATION(T, type)                                                                                       \
    do {                                                                                                        \
        struct { T v; int i; } in[N], out[N];                                                                   \
        for (int k = 0; k < N; k++) in[k].v = (T)value(check_rank, k), in[k].i = 100 + check_rank;              \
        for (int least = 0; least < 2; least++) {                                                               \
            MUST(MPI_Allreduce(in, out, N, type, least ? MPI_MINLOC : MPI_MAXLOC, MPI_COMM_WORLD));             \
            for (int k = 0; k < N; k++) {                                                                       \
                int best = 0;                                                                                   \
                for (int r = 1; r < check_size; r++)                                                            \
                    if (least ? value(r, k) < value(best, k) : value(r, k) > value(best, k)) best = r;          \
                CHECK(out[k].v == (T)value(best, k));                                                           \
                CHECK_EQ(out[k].i, 100 + best);                                                                 \
            }                                                                                                   \
        }                                                                                                       \
    } while (0)

static void locations(void)
{
    LOCATION(float, MPI_FLOAT_INT);
    LOCATION(double, MPI_DOUBLE_INT);
    LOCATION(long, MPI_LONG_INT);
    LOCATION(int, MPI_2INT);
    LOCATION(short, MPI_SHORT_INT);
    LOCATION(long double, MPI_LONG_DOUBLE_INT);
}

/* What the tables of section 6.9.2 do not allow. (MPI_SUM of MPI_CHAR is left out: it is not allowed, but
 * libraries do it and programs rely on that.) */
static void refused(void)
{
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    double x[1] = {1}, y[1];
    CHECK_ERROR(MPI_Allreduce(x, y, 1, MPI_DOUBLE, MPI_BAND, MPI_COMM_WORLD), MPI_ERR_OP, "MPI_Allreduce");
    CHECK_ERROR(MPI_Allreduce(x, y, 1, MPI_DOUBLE, MPI_MAXLOC, MPI_COMM_WORLD), MPI_ERR_OP, "MPI_Allreduce");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    arithmetic();
    locations();
    refused();
    return check_finish();
}

/* Envelope and contents (MPI-5.0 section 5.1.13): every combiner gives back what it was called with, by
 * both forms; a type rebuilt from its contents has the same size and extents.
 * ranks: 1
 */
#include "check.h"

enum { MAX = 32 };

typedef struct {
    int integers, addresses, types, combiner, i[MAX];
    MPI_Aint a[MAX];
    MPI_Datatype t[MAX];
} contents;

static contents decode(MPI_Datatype type)
{
    contents c;
    memset(&c, 0, sizeof c);
    MUST(MPI_Type_get_envelope(type, &c.integers, &c.addresses, &c.types, &c.combiner));
    if (c.combiner != MPI_COMBINER_NAMED)
        MUST(MPI_Type_get_contents(type, c.integers, c.addresses, c.types, c.i, c.a, c.t));
    return c;
}

static void expect(MPI_Datatype *type, int combiner, int integers, const int *i, int addresses, const MPI_Aint *a,
                   int types, const MPI_Datatype *t)
{
    contents c = decode(*type);
    CHECK_EQ(c.combiner, combiner);
    if (!(CHECK_EQ(c.integers, integers) & CHECK_EQ(c.addresses, addresses) & CHECK_EQ(c.types, types))) return;
    for (int k = 0; k < integers; k++) CHECK_EQ(c.i[k], i[k]);
    for (int k = 0; k < addresses; k++) CHECK_EQ(c.a[k], a[k]);
    for (int k = 0; k < types; k++) CHECK(c.t[k] == t[k]);
    MPI_Type_free(type);
}

static void named(void)
{
    MPI_Datatype types[] = {MPI_INT, MPI_DOUBLE, MPI_BYTE, MPI_PACKED, MPI_FLOAT_INT, MPI_C_DOUBLE_COMPLEX,
                            MPI_WCHAR, MPI_AINT, MPI_COUNT};
    for (unsigned k = 0; k < sizeof types / sizeof *types; k++) {
        contents c = decode(types[k]);
        CHECK_EQ(c.combiner, MPI_COMBINER_NAMED);
        CHECK_EQ(c.integers + c.addresses + c.types, 0);
    }
}

static void each_combiner(void)
{
    MPI_Datatype t, one[1] = {MPI_INT};
    int lengths[3] = {1, 2, 3}, places[3] = {0, 4, 9};
    MPI_Aint bytes[3] = {0, 16, 40};
    MPI_Type_dup(MPI_INT, &t);
    expect(&t, MPI_COMBINER_DUP, 0, 0, 0, 0, 1, one);
    MPI_Type_contiguous(5, MPI_INT, &t);
    expect(&t, MPI_COMBINER_CONTIGUOUS, 1, (int[]){5}, 0, 0, 1, one);
    MPI_Type_vector(3, 2, 4, MPI_INT, &t);
    expect(&t, MPI_COMBINER_VECTOR, 3, (int[]){3, 2, 4}, 0, 0, 1, one);
    MPI_Type_create_hvector(3, 2, 40, MPI_INT, &t);
    expect(&t, MPI_COMBINER_HVECTOR, 2, (int[]){3, 2}, 1, (MPI_Aint[]){40}, 1, one);
    MPI_Type_indexed(3, lengths, places, MPI_INT, &t);
    expect(&t, MPI_COMBINER_INDEXED, 7, (int[]){3, 1, 2, 3, 0, 4, 9}, 0, 0, 1, one);
    MPI_Type_create_hindexed(3, lengths, bytes, MPI_INT, &t);
    expect(&t, MPI_COMBINER_HINDEXED, 4, (int[]){3, 1, 2, 3}, 3, bytes, 1, one);
    MPI_Type_create_indexed_block(3, 2, places, MPI_INT, &t);
    expect(&t, MPI_COMBINER_INDEXED_BLOCK, 5, (int[]){3, 2, 0, 4, 9}, 0, 0, 1, one);
    MPI_Type_create_hindexed_block(3, 2, bytes, MPI_INT, &t);
    expect(&t, MPI_COMBINER_HINDEXED_BLOCK, 2, (int[]){3, 2}, 3, bytes, 1, one);
    MPI_Datatype members[3] = {MPI_CHAR, MPI_INT, MPI_DOUBLE};
    MPI_Type_create_struct(3, lengths, bytes, members, &t);
    expect(&t, MPI_COMBINER_STRUCT, 4, (int[]){3, 1, 2, 3}, 3, bytes, 3, members);
    MPI_Type_create_resized(MPI_INT, -8, 32, &t);
    expect(&t, MPI_COMBINER_RESIZED, 0, 0, 2, (MPI_Aint[]){-8, 32}, 1, one);
    int sizes[2] = {4, 5}, parts[2] = {2, 3}, starts[2] = {1, 2};
    MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_FORTRAN, MPI_INT, &t);
    expect(&t, MPI_COMBINER_SUBARRAY, 8, (int[]){2, 4, 5, 2, 3, 1, 2, MPI_ORDER_FORTRAN}, 0, 0, 1, one);
    int kinds[2] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC}, arguments[2] = {MPI_DISTRIBUTE_DFLT_DARG, 2};
    int grid[2] = {2, 3};
    MPI_Type_create_darray(6, 4, 2, sizes, kinds, arguments, grid, MPI_ORDER_C, MPI_INT, &t);
    expect(&t, MPI_COMBINER_DARRAY, 12,
           (int[]){6, 4, 2, 4, 5, MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_DFLT_DARG, 2, 2, 3,
                   MPI_ORDER_C}, 0, 0, 1, one);
}

/* A derived member comes back as a new handle that must be freed and can be decoded in turn. */
static void nested(void)
{
    MPI_Datatype inner, outer;
    MPI_Type_vector(2, 1, 3, MPI_SHORT, &inner);
    MPI_Type_contiguous(4, inner, &outer);
    MPI_Type_free(&inner);
    contents c = decode(outer);
    CHECK_EQ(c.combiner, MPI_COMBINER_CONTIGUOUS);
    contents deeper = decode(c.t[0]);
    CHECK_EQ(deeper.combiner, MPI_COMBINER_VECTOR);
    CHECK_EQ(deeper.i[2], 3);
    CHECK(deeper.t[0] == MPI_SHORT);
    MUST(MPI_Type_free(&c.t[0]));
    MPI_Type_free(&outer);
}

/* Types made by the _c forms are decoded by the _c forms (section 5.1.13). */
static void large_form(void)
{
    MPI_Count places[3] = {0, 16, 40}, lengths[3] = {1, 2, 3}, integers, addresses, counts, types;
    MPI_Datatype t, member;
    int combiner, i[8];
    MPI_Aint a[8];
    MPI_Count c[8];
    MPI_Type_create_hindexed_c(3, lengths, places, MPI_INT, &t);
    MUST(MPI_Type_get_envelope_c(t, &integers, &addresses, &counts, &types, &combiner));
    CHECK_EQ(combiner, MPI_COMBINER_HINDEXED);
    CHECK_EQ(integers, 0);
    CHECK_EQ(addresses, 0);
    CHECK_EQ(counts, 7);
    CHECK_EQ(types, 1);
    MUST(MPI_Type_get_contents_c(t, integers, addresses, counts, types, i, a, c, &member));
    static const int expected[7] = {3, 1, 2, 3, 0, 16, 40};
    for (int k = 0; k < 7; k++) CHECK_EQ(c[k], expected[k]);
    CHECK(member == MPI_INT);
    MPI_Type_free(&t);
}

static void rebuilt(void)
{
    MPI_Datatype original, copy;
    int lengths[3] = {2, 1, 4};
    MPI_Aint places[3] = {8, 0, 32}, l1, e1, l2, e2;
    MPI_Datatype members[3] = {MPI_INT, MPI_DOUBLE, MPI_CHAR};
    int s1, s2;
    MPI_Type_create_struct(3, lengths, places, members, &original);
    contents c = decode(original);
    MPI_Type_create_struct(c.i[0], c.i + 1, c.a, c.t, &copy);
    MPI_Type_size(original, &s1), MPI_Type_size(copy, &s2);
    MPI_Type_get_extent(original, &l1, &e1), MPI_Type_get_extent(copy, &l2, &e2);
    CHECK_EQ(s1, s2), CHECK_EQ(l1, l2), CHECK_EQ(e1, e2);
    MPI_Type_free(&original), MPI_Type_free(&copy);
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    named();
    each_combiner();
    nested();
    large_form();
    rebuilt();
    return check_finish();
}

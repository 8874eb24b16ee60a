/* Groups (MPI-5.0 section 7.3): accessors, set operations, ranges, translation, comparison.
 * ranks: 1 2 5 8
 */
#include "check.h"

static MPI_Group world;

static void expect(MPI_Group group, const int *ranks, int n)
{
    int size = -1, all[64], inside[64];
    MUST(MPI_Group_size(group, &size));
    if (!CHECK_EQ(size, n) || n == 0) return;
    for (int i = 0; i < n; i++) all[i] = i;
    MUST(MPI_Group_translate_ranks(group, n, all, world, inside));
    for (int i = 0; i < n; i++) CHECK_EQ(inside[i], ranks[i]);
}

static void subsets(void)
{
    int reverse[64], evens[64], odds[64], n_even = 0, n_odd = 0;
    MPI_Group a, b;
    for (int r = 0; r < check_size; r++) {
        reverse[r] = check_size - 1 - r;
        if (r % 2) odds[n_odd++] = r;
        else evens[n_even++] = r;
    }
    MUST(MPI_Group_incl(world, check_size, reverse, &a));
    expect(a, reverse, check_size);
    MPI_Group_free(&a);
    CHECK(a == MPI_GROUP_NULL);
    MUST(MPI_Group_incl(world, n_even, evens, &a));
    expect(a, evens, n_even);
    MUST(MPI_Group_excl(world, n_even, evens, &b));
    expect(b, odds, n_odd);
    MPI_Group_free(&a), MPI_Group_free(&b);
    MUST(MPI_Group_incl(world, 0, NULL, &a));
    expect(a, NULL, 0);
    CHECK(a == MPI_GROUP_EMPTY);
    MUST(MPI_Group_excl(world, 0, NULL, &b));
    int result = -1;
    MPI_Group_compare(b, world, &result);
    CHECK_EQ(result, MPI_IDENT);
    MPI_Group_free(&b);
}

static void ranges(void)
{
    int up[1][3] = {{0, check_size - 1, 2}}, down[1][3] = {{check_size - 1, 0, -1}}, expected[64], n = 0;
    MPI_Group a;
    for (int r = 0; r < check_size; r += 2) expected[n++] = r;
    MUST(MPI_Group_range_incl(world, 1, up, &a));
    expect(a, expected, n);
    MPI_Group_free(&a);
    n = 0;
    for (int r = 1; r < check_size; r += 2) expected[n++] = r;
    MUST(MPI_Group_range_excl(world, 1, up, &a));
    expect(a, expected, n);
    if (a != MPI_GROUP_EMPTY) MPI_Group_free(&a);
    for (int r = 0; r < check_size; r++) expected[r] = check_size - 1 - r;
    MUST(MPI_Group_range_incl(world, 1, down, &a));
    expect(a, expected, check_size);
    MPI_Group_free(&a);
}

/* Union keeps the first group's order, then what is new; the others keep the first's (section 7.3.2). */
static void set_operations(void)
{
    if (check_size < 5) return;
    int first[3] = {4, 0, 2}, second[3] = {2, 1, 4};
    MPI_Group a, b, c;
    int result;
    MPI_Group_incl(world, 3, first, &a);
    MPI_Group_incl(world, 3, second, &b);
    MUST(MPI_Group_union(a, b, &c));
    expect(c, (int[]){4, 0, 2, 1}, 4);
    MPI_Group_free(&c);
    MUST(MPI_Group_intersection(a, b, &c));
    expect(c, (int[]){4, 2}, 2);
    MPI_Group_free(&c);
    MUST(MPI_Group_difference(a, b, &c));
    expect(c, (int[]){0}, 1);
    MPI_Group_free(&c);
    MPI_Group_compare(a, b, &result);
    CHECK_EQ(result, MPI_UNEQUAL);
    MPI_Group_free(&b);
    MPI_Group_incl(world, 3, (int[]){0, 2, 4}, &b);
    MPI_Group_compare(a, b, &result);
    CHECK_EQ(result, MPI_SIMILAR);
    MPI_Group_difference(a, b, &c);
    CHECK(c == MPI_GROUP_EMPTY);
    MPI_Group_free(&a), MPI_Group_free(&b);
}

static void translation(void)
{
    int rank = -2, in[3] = {0, MPI_PROC_NULL, check_size - 1}, out[3];
    MPI_Group last;
    MPI_Group_incl(world, 1, (int[]){check_size - 1}, &last);
    MUST(MPI_Group_translate_ranks(world, 3, in, last, out));
    CHECK_EQ(out[0], check_size == 1 ? 0 : MPI_UNDEFINED);
    CHECK_EQ(out[1], MPI_PROC_NULL);
    CHECK_EQ(out[2], 0);
    MUST(MPI_Group_rank(last, &rank));
    CHECK_EQ(rank, check_rank == check_size - 1 ? 0 : MPI_UNDEFINED);
    MUST(MPI_Group_rank(MPI_GROUP_EMPTY, &rank));
    CHECK_EQ(rank, MPI_UNDEFINED);
    MPI_Group_free(&last);
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    subsets();
    ranges();
    set_operations();
    translation();
    MPI_Group_free(&world);
    return check_finish();
}

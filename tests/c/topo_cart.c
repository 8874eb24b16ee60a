/* Grids (MPI-5.0 section 8.5): create with more processes than places, places and ranks, shifts at ends and around
 * rings, parts of a grid, grids of no dimension, MPI_Dims_create, and which communicators inherit a topology.
 * ranks: 1 2 3 4 6 8
 */
#include "check.h"

enum { DIMS_MAX = 5 };

typedef struct {
    int n, dims[DIMS_MAX], periods[DIMS_MAX];
} grid;

static const grid grids[] = {
    {1, {1}, {0}},       {1, {1}, {1}},          {1, {2}, {1}},
    {1, {3}, {0}},       {1, {4}, {1}},          {2, {2, 2}, {1, 0}},
    {2, {1, 3}, {1, 1}}, {2, {3, 2}, {0, 1}},    {3, {2, 2, 2}, {0, 1, 0}},
    {2, {4, 1}, {0, 1}}, {3, {1, 4, 2}, {1, 0, 1}}, {5, {1, 2, 1, 3, 1}, {1, 1, 1, 1, 1}},
};
enum { GRIDS = sizeof grids / sizeof *grids };

static int places(const grid *g)
{
    int size = 1;
    for (int d = 0; d < g->n; d++) size *= g->dims[d];
    return size;
}

/* Row-major: the last dimension runs fastest (section 8.2). */
static void place_of(const grid *g, int rank, int *coords)
{
    for (int d = g->n - 1; d >= 0; d--) {
        coords[d] = rank % g->dims[d];
        rank /= g->dims[d];
    }
}

/* The rank at a place, or MPI_PROC_NULL beyond the end of a dimension that is no ring. */
static int rank_at(const grid *g, const int *coords)
{
    int rank = 0;
    for (int d = 0; d < g->n; d++) {
        int at = coords[d], length = g->dims[d];
        if (g->periods[d]) at = (at % length + length) % length;
        if (at < 0 || at >= length) return MPI_PROC_NULL;
        rank = rank * length + at;
    }
    return rank;
}

static void check_queries(MPI_Comm comm, const grid *g)
{
    int rank, n = -1, kind = -1, dims[DIMS_MAX], periods[DIMS_MAX], coords[DIMS_MAX], expected[DIMS_MAX];
    MPI_Comm_rank(comm, &rank);
    MUST(MPI_Topo_test(comm, &kind));
    CHECK_EQ(kind, MPI_CART);
    MUST(MPI_Cartdim_get(comm, &n));
    CHECK_EQ(n, g->n);
    MUST(MPI_Cart_get(comm, DIMS_MAX, dims, periods, coords));
    place_of(g, rank, expected);
    for (int d = 0; d < g->n; d++) {
        CHECK_EQ(dims[d], g->dims[d]);
        CHECK_EQ(periods[d], g->periods[d]);
        CHECK_EQ(coords[d], expected[d]);
    }
    for (int other = 0; other < places(g); other++) {
        int back = -1;
        MUST(MPI_Cart_coords(comm, other, DIMS_MAX, coords));
        place_of(g, other, expected);
        for (int d = 0; d < g->n; d++) CHECK_EQ(coords[d], expected[d]);
        MUST(MPI_Cart_rank(comm, coords, &back));
        CHECK_EQ(back, other);
        for (int d = 0; d < g->n; d++)
            if (g->periods[d]) coords[d] += g->dims[d] * (d % 2 ? 3 : -2);
        MUST(MPI_Cart_rank(comm, coords, &back));
        CHECK_EQ(back, other);
    }
}

static int shifted(const grid *g, int rank, int d, int by)
{
    int coords[DIMS_MAX];
    place_of(g, rank, coords);
    coords[d] += by;
    return rank_at(g, coords);
}

static void check_shifts(MPI_Comm comm, const grid *g)
{
    static const int steps[] = {0, 1, -1, 2, -3, 7};
    int rank;
    MPI_Comm_rank(comm, &rank);
    for (int d = 0; d < g->n; d++)
        for (size_t s = 0; s < sizeof steps / sizeof *steps; s++) {
            int from = -9, to = -9, came = -1;
            MUST(MPI_Cart_shift(comm, d, steps[s], &from, &to));
            CHECK_EQ(from, shifted(g, rank, d, -steps[s]));
            CHECK_EQ(to, shifted(g, rank, d, steps[s]));
            MUST(MPI_Sendrecv(&rank, 1, MPI_INT, to, 3, &came, 1, MPI_INT, from, 3, comm, MPI_STATUS_IGNORE));
            CHECK_EQ(came, from == MPI_PROC_NULL ? -1 : from);
        }
}

/* All choices of dimensions that remain. */
static void check_parts(MPI_Comm comm, const grid *g)
{
    for (int choice = 0; choice < 1 << g->n; choice++) {
        grid kept = {0};
        int remain[DIMS_MAX], mine[DIMS_MAX], rank, coords[DIMS_MAX];
        MPI_Comm part = MPI_COMM_NULL;
        MPI_Comm_rank(comm, &rank);
        place_of(g, rank, mine);
        for (int d = 0; d < g->n; d++) {
            remain[d] = choice >> d & 1;
            if (!remain[d]) continue;
            kept.dims[kept.n] = g->dims[d];
            kept.periods[kept.n] = g->periods[d];
            coords[kept.n++] = mine[d];
        }
        MUST(MPI_Cart_sub(comm, remain, &part));
        int size, at, sum = 0, expected = 0;
        MPI_Comm_size(part, &size);
        MPI_Comm_rank(part, &at);
        CHECK_EQ(size, places(&kept));
        CHECK_EQ(at, rank_at(&kept, coords));
        check_queries(part, &kept);
        MUST(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, part));
        for (int other = 0; other < places(g); other++) {
            int theirs[DIMS_MAX], same = 1;
            place_of(g, other, theirs);
            for (int d = 0; d < g->n; d++) same &= remain[d] || theirs[d] == mine[d];
            expected += same ? other : 0;
        }
        CHECK_EQ(sum, expected);
        MPI_Comm_free(&part);
    }
}

static void check_grid(const grid *g)
{
    MPI_Comm comm = MPI_COMM_WORLD, copy;
    int mapped = -9, rank, size;
    if (places(g) > check_size) return;
    MUST(MPI_Cart_create(MPI_COMM_WORLD, g->n, g->dims, g->periods, 0, &comm));
    MUST(MPI_Cart_map(MPI_COMM_WORLD, g->n, g->dims, g->periods, &mapped));
    CHECK_EQ(mapped, check_rank < places(g) ? check_rank : MPI_UNDEFINED);
    CHECK((comm == MPI_COMM_NULL) == (check_rank >= places(g)));
    if (comm == MPI_COMM_NULL) return;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    CHECK_EQ(rank, check_rank);
    CHECK_EQ(size, places(g));
    check_queries(comm, g);
    check_shifts(comm, g);
    check_parts(comm, g);
    MUST(MPI_Comm_dup(comm, &copy));
    check_queries(copy, g);
    MPI_Comm_free(&comm);
    check_shifts(copy, g);
    MPI_Comm_free(&copy);
}

/* The new ranks may differ, but the grid is the same, and everybody is in it once. */
static void reordered(void)
{
    int dims[2] = {0, 0}, periods[2] = {1, 0}, rank, sum = -1, kind;
    MPI_Comm comm;
    MUST(MPI_Dims_create(check_size, 2, dims));
    MUST(MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 1, &comm));
    MUST(MPI_Topo_test(comm, &kind));
    CHECK_EQ(kind, MPI_CART);
    MPI_Comm_rank(comm, &rank);
    MUST(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK_EQ(sum, check_size * (check_size - 1) / 2);
    MPI_Comm_free(&comm);
}

/* One process is in it (section 8.5.1). */
static void no_dimension(void)
{
    MPI_Comm comm, part;
    int n = -1, rank = -1, kind;
    MUST(MPI_Cart_create(MPI_COMM_WORLD, 0, NULL, NULL, 0, &comm));
    CHECK((comm == MPI_COMM_NULL) == (check_rank > 0));
    if (comm == MPI_COMM_NULL) return;
    MUST(MPI_Topo_test(comm, &kind));
    CHECK_EQ(kind, MPI_CART);
    MUST(MPI_Cartdim_get(comm, &n));
    CHECK_EQ(n, 0);
    MUST(MPI_Cart_rank(comm, NULL, &rank));
    CHECK_EQ(rank, 0);
    MUST(MPI_Cart_sub(comm, NULL, &part));
    MUST(MPI_Cartdim_get(part, &n));
    CHECK_EQ(n, 0);
    MPI_Comm_free(&part), MPI_Comm_free(&comm);
}

/* Only a copy inherits the topology (sections 7.4.2 and 8.4). */
static void who_inherits(void)
{
    int dims[1] = {check_size}, periods[1] = {1}, kind = -1;
    MPI_Comm comm, made;
    MPI_Request request;
    MPI_Group group;
    MUST(MPI_Topo_test(MPI_COMM_WORLD, &kind));
    CHECK_EQ(kind, MPI_UNDEFINED);
    MUST(MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &comm));
    MUST(MPI_Comm_split(comm, 0, 0, &made));
    MPI_Topo_test(made, &kind);
    CHECK_EQ(kind, MPI_UNDEFINED);
    MPI_Comm_free(&made);
    MPI_Comm_group(comm, &group);
    MUST(MPI_Comm_create(comm, group, &made));
    MPI_Topo_test(made, &kind);
    CHECK_EQ(kind, MPI_UNDEFINED);
    MPI_Comm_free(&made), MPI_Group_free(&group);
    MUST(MPI_Comm_dup_with_info(comm, MPI_INFO_NULL, &made));
    MPI_Topo_test(made, &kind);
    CHECK_EQ(kind, MPI_CART);
    MPI_Comm_free(&made);
    MUST(MPI_Comm_idup(comm, &made, &request));
    MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
    MPI_Topo_test(made, &kind);
    CHECK_EQ(kind, MPI_CART);
    /* A grid of a grid: the old one does not matter. */
    MPI_Comm_free(&comm);
    MUST(MPI_Cart_create(made, 1, dims, periods, 0, &comm));
    MPI_Topo_test(comm, &kind);
    CHECK_EQ(kind, MPI_CART);
    MPI_Comm_free(&made), MPI_Comm_free(&comm);
}

static void balanced_shapes(void)
{
    /* The examples of section 8.5.2. */
    static const int examples[][4] = {{6, 0, 0, 0}, {7, 0, 0, 0}, {6, 3, 0, 3}};
    int dims[3] = {0, 0, 0};
    MUST(MPI_Dims_create(examples[0][0], 2, dims));
    CHECK(dims[0] == 3 && dims[1] == 2);
    dims[0] = dims[1] = 0;
    MUST(MPI_Dims_create(examples[1][0], 2, dims));
    CHECK(dims[0] == 7 && dims[1] == 1);
    dims[0] = 0, dims[1] = 3, dims[2] = 0;
    MUST(MPI_Dims_create(examples[2][0], 3, dims));
    CHECK(dims[0] == 2 && dims[1] == 3 && dims[2] == 1);
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    for (int g = 0; g < GRIDS; g++) check_grid(&grids[g]);
    reordered();
    no_dimension();
    who_inherits();
    balanced_shapes();
    return check_finish();
}

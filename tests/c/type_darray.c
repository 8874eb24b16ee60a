/* Distributed arrays (MPI-5.0 section 5.1.4): block, cyclic, cyclic(k) and undistributed dimensions in
 * both orders; the parts of all processes cover the array once, each where the definition says.
 * ranks: 1
 */
#include "check.h"

enum { DIMS_MAX = 3, ELEMENTS_MAX = 2000 };

typedef struct {
    int dims, order, sizes[DIMS_MAX], kinds[DIMS_MAX], arguments[DIMS_MAX], grid[DIMS_MAX];
} shape;

/* Which process of a dimension owns index i (the definitions in the section). */
static int owner(const shape *s, int d, int i)
{
    int size = s->sizes[d], processes = s->grid[d], argument = s->arguments[d];
    if (s->kinds[d] == MPI_DISTRIBUTE_NONE) return 0;
    if (s->kinds[d] == MPI_DISTRIBUTE_BLOCK) {
        int block = argument == MPI_DISTRIBUTE_DFLT_DARG ? (size + processes - 1) / processes : argument;
        return i / block;
    }
    int block = argument == MPI_DISTRIBUTE_DFLT_DARG ? 1 : argument;
    return i / block % processes;
}

/* The offsets, in the array's own order, that process `rank` of the grid owns. */
static int expected_offsets(const shape *s, int rank, int *offsets)
{
    int coordinates[DIMS_MAX], index[DIMS_MAX] = {0}, total = 1, n = 0;
    for (int d = s->dims - 1; d >= 0; d--) {
        coordinates[d] = rank % s->grid[d];
        rank /= s->grid[d];
    }
    for (int d = 0; d < s->dims; d++) total *= s->sizes[d];
    for (int linear = 0; linear < total; linear++) {
        int rest = linear, mine = 1;
        for (int k = 0; k < s->dims; k++) {
            int d = s->order == MPI_ORDER_C ? s->dims - 1 - k : k;
            index[d] = rest % s->sizes[d];
            rest /= s->sizes[d];
        }
        for (int d = 0; d < s->dims; d++) mine &= owner(s, d, index[d]) == coordinates[d];
        if (mine) offsets[n++] = linear;
    }
    return n;
}

static void check_shape(const shape *s)
{
    static int memory[ELEMENTS_MAX], packed[ELEMENTS_MAX], offsets[ELEMENTS_MAX];
    int processes = 1, total = 1, covered = 0;
    for (int d = 0; d < s->dims; d++) processes *= s->grid[d], total *= s->sizes[d];
    for (int i = 0; i < ELEMENTS_MAX; i++) memory[i] = i;
    for (int rank = 0; rank < processes; rank++) {
        MPI_Datatype type;
        int size, position = 0, n = expected_offsets(s, rank, offsets);
        MPI_Aint lower, extent;
        MUST(MPI_Type_create_darray(processes, rank, s->dims, s->sizes, s->kinds, s->arguments, s->grid, s->order,
                                    MPI_INT, &type));
        MPI_Type_commit(&type);
        MPI_Type_size(type, &size);
        if (!CHECK_EQ(size, n * (int)sizeof(int))) fprintf(stderr, "process %d\n", rank);
        MPI_Type_get_extent(type, &lower, &extent);
        CHECK_EQ(lower, 0);
        CHECK_EQ(extent, total * sizeof(int));
        MPI_Pack(memory, 1, type, packed, sizeof packed, &position, MPI_COMM_SELF);
        for (int i = 0; i < n; i++) CHECK_EQ(packed[i], offsets[i]);
        covered += n;
        MPI_Type_free(&type);
    }
    CHECK_EQ(covered, total);
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    enum { B = MPI_DISTRIBUTE_BLOCK, C = MPI_DISTRIBUTE_CYCLIC, N = MPI_DISTRIBUTE_NONE,
           D = MPI_DISTRIBUTE_DFLT_DARG };
    static const shape shapes[] = {
        {1, MPI_ORDER_C, {17}, {B}, {D}, {4}},
        {1, MPI_ORDER_C, {17}, {B}, {6}, {4}},
        {1, MPI_ORDER_C, {17}, {C}, {D}, {4}},
        {1, MPI_ORDER_C, {23}, {C}, {3}, {4}},
        {1, MPI_ORDER_C, {2}, {B}, {D}, {3}},
        {2, MPI_ORDER_C, {6, 10}, {B, C}, {D, D}, {2, 3}},
        {2, MPI_ORDER_C, {7, 11}, {C, C}, {2, 3}, {2, 2}},
        {2, MPI_ORDER_C, {7, 11}, {N, B}, {D, D}, {1, 4}},
        {3, MPI_ORDER_C, {5, 6, 7}, {C, N, B}, {2, D, D}, {2, 1, 3}},
        {3, MPI_ORDER_C, {4, 9, 8}, {B, C, C}, {D, 2, 3}, {2, 2, 2}},
    };
    for (unsigned i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        shape s = shapes[i];
        check_shape(&s);
        s.order = MPI_ORDER_FORTRAN;
        check_shape(&s);
    }
    return check_finish();
}

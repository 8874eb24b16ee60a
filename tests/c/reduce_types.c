/* Reductions of datatypes with gaps, with bytes before the first element, and with handles that are freed meanwhile
 * (MPI-5.0 sections 5.1.9 and 6.9).
 * ranks: 1 2 3 4
 */
#include "check.h"
#include <stddef.h>

/* MPI_DOUBLE_INT and MPI_SHORT_INT, and what the program keeps in their gaps. */
struct double_int {
    double value;
    int index, kept;
};

struct short_int {
    short value, kept;
    int index;
};

enum { KEPT = 42, COUNT_MAX = 5000, WAYS = 9 };

static MPI_Request request;

static void reduce(int way, const void *from, void *to, int count, MPI_Datatype datatype)
{
    MPI_Comm comm = MPI_COMM_WORLD;
    switch (way) {
    case 0: MUST(MPI_Allreduce(from, to, count, datatype, MPI_MAXLOC, comm)); break;
    case 1: MUST(MPI_Reduce(from, to, count, datatype, MPI_MAXLOC, 0, comm)); break;
    case 2: MUST(MPI_Scan(from, to, count, datatype, MPI_MAXLOC, comm)); break;
    case 3: MUST(MPI_Exscan(from, to, count, datatype, MPI_MAXLOC, comm)); break;
    case 4: MUST(MPI_Reduce_scatter_block(from, to, count / check_size, datatype, MPI_MAXLOC, comm)); break;
    case 5: MUST(MPI_Iallreduce(from, to, count, datatype, MPI_MAXLOC, comm, &request)); break;
    case 6: MUST(MPI_Ireduce(from, to, count, datatype, MPI_MAXLOC, 0, comm, &request)); break;
    case 7: MUST(MPI_Allreduce(MPI_IN_PLACE, to, count, datatype, MPI_MAXLOC, comm)); break;
    default: MUST(MPI_Reduce_local(from, to, count, datatype, MPI_MAXLOC)); break;
    }
    if (way == 5 || way == 6) MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

/* What lies in the gaps of a receive buffer is the program's. */
static void gaps(int count)
{
    static struct double_int doubles[2][COUNT_MAX];
    static struct short_int shorts[2][COUNT_MAX];
    for (int way = 0; way < WAYS; way++) {
        for (int i = 0; i < count; i++) {
            int value = (check_rank * 7 + i * 3) % 11;
            doubles[0][i] = (struct double_int){value, check_rank, 1000 + check_rank};
            doubles[1][i] = (struct double_int){way == 7 ? value : -1, check_rank, KEPT};
            shorts[0][i] = (struct short_int){(short)value, (short)(1000 + check_rank), check_rank};
            shorts[1][i] = (struct short_int){(short)(way == 7 ? value : -1), KEPT, check_rank};
        }
        reduce(way, doubles[0], doubles[1], count, MPI_DOUBLE_INT);
        reduce(way, shorts[0], shorts[1], count, MPI_SHORT_INT);
        int lost = 0, wrong = 0;
        for (int i = 0; i < count; i++) {
            lost += doubles[1][i].kept != KEPT, lost += shorts[1][i].kept != KEPT;
            int most = -1, first = 0;
            for (int rank = 0; rank < check_size; rank++) {
                int value = (rank * 7 + i * 3) % 11;
                if (value > most) most = value, first = rank;
            }
            if (way != 0 && way != 5 && way != 7) continue;
            wrong += doubles[1][i].value != most || doubles[1][i].index != first;
            wrong += shorts[1][i].value != most || shorts[1][i].index != first;
        }
        if (lost || wrong) fprintf(stderr, "way %d, %d elements\n", way, count);
        CHECK_EQ(lost, 0);
        CHECK_EQ(wrong, 0);
    }
}

static MPI_Aint seen_extent;

static void add_ints(void *in, void *inout, int *len, MPI_Datatype *datatype)
{
    MPI_Aint lb;
    MUST(MPI_Type_get_extent(*datatype, &lb, &seen_extent));
    for (int i = 0; i < *len; i++)
        *(int *)((char *)inout + i * seen_extent) += *(int *)((char *)in + i * seen_extent);
}

static MPI_Datatype wide_int(MPI_Aint extent)
{
    MPI_Datatype made;
    MPI_Type_create_resized(MPI_INT, 0, extent, &made);
    MPI_Type_commit(&made);
    return made;
}

/* The program's function is called with a type that the program has freed, and that others may not replace. */
static void freed_types(int is_persistent)
{
    MPI_Op op;
    int from[30], to[30] = {0};
    for (int i = 0; i < 30; i++) from[i] = check_rank + i;
    MPI_Op_create(add_ints, 1, &op);
    MPI_Datatype datatype = wide_int(12), freed = datatype;
    if (is_persistent)
        MUST(MPI_Allreduce_init(from, to, 10, datatype, op, MPI_COMM_WORLD, MPI_INFO_NULL, &request));
    else
        MUST(MPI_Iallreduce(from, to, 10, datatype, op, MPI_COMM_WORLD, &request));
    MUST(MPI_Type_free(&datatype));
    CHECK_ERROR(MPI_Type_free(&freed), MPI_ERR_TYPE, "MPI_Type_free");
    for (int i = 0; i < 600; i++) {
        datatype = wide_int(4);
        MPI_Type_free(&datatype);
    }
    for (int round = 0; round < 1 + is_persistent; round++) {
        seen_extent = 0;
        if (is_persistent) MUST(MPI_Start(&request));
        MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
        /* Not every rank combines something. */
        CHECK(seen_extent == 12 || seen_extent == 0);
        for (int i = 0; i < 30; i += 3)
            CHECK_EQ(to[i], check_size * (check_size - 1) / 2 + i * check_size);
    }
    if (is_persistent) MUST(MPI_Request_free(&request));
    MUST(MPI_Op_free(&op));
}

struct tagged {
    int tag, flag;
    double value;
};

static int misaligned;

static void add_tagged(void *in, void *inout, int *len, MPI_Datatype *datatype)
{
    (void)datatype;
    misaligned += (uintptr_t)in % sizeof(double) != 0 || (uintptr_t)inout % sizeof(double) != 0;
    for (int i = 0; i < *len; i++) ((struct tagged *)inout)[i].value += ((struct tagged *)in)[i].value;
}

/* A struct of which the first member is left out: elements still begin where a struct may. */
static void left_out(void)
{
    int lengths[2] = {1, 1};
    MPI_Aint places[2] = {offsetof(struct tagged, flag), offsetof(struct tagged, value)};
    MPI_Datatype parts[2] = {MPI_INT, MPI_DOUBLE}, two, whole;
    struct tagged from[10], to[10];
    memset(from, 0, sizeof from), memset(to, 0, sizeof to);
    for (int i = 0; i < 10; i++) from[i].value = i, to[i].tag = KEPT;
    MPI_Type_create_struct(2, lengths, places, parts, &two);
    MPI_Type_create_resized(two, 0, sizeof(struct tagged), &whole);
    MPI_Type_commit(&whole);
    MPI_Op op;
    MPI_Op_create(add_tagged, 1, &op);
    MUST(MPI_Allreduce(from, to, 10, whole, op, MPI_COMM_WORLD));
    for (int i = 0; i < 10; i++) CHECK(to[i].value == i * check_size && to[i].tag == KEPT);
    MUST(MPI_Reduce(from, to, 10, whole, op, 0, MPI_COMM_WORLD));
    MUST(MPI_Scan(from, to, 10, whole, op, MPI_COMM_WORLD));
    MUST(MPI_Iallreduce(from, to, 10, whole, op, MPI_COMM_WORLD, &request));
    MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK_EQ(misaligned, 0);
    MPI_Op_free(&op), MPI_Type_free(&two), MPI_Type_free(&whole);
}

/* An element that lies beside its address is no predefined one. */
static void displaced(void)
{
    int from[4] = {1, 2, 3, 4}, to[4] = {0};
    MPI_Aint place = 8;
    MPI_Datatype aside;
    MPI_Type_create_hindexed_block(1, 1, &place, MPI_INT, &aside);
    MPI_Type_commit(&aside);
    CHECK_ERROR(MPI_Reduce_local(from, to, 1, aside, MPI_SUM), MPI_ERR_OP, "MPI_Reduce_local");
    CHECK_ERROR(MPI_Allreduce(from, to, 1, aside, MPI_SUM, MPI_COMM_WORLD), MPI_ERR_OP, "MPI_Allreduce");
    MPI_Type_free(&aside);
    CHECK_ERROR(MPI_Reduce_local(NULL, to, 1, MPI_INT, MPI_SUM), MPI_ERR_BUFFER, "MPI_Reduce_local");
}

static void add_named(void *in, void *inout, int *len, MPI_Datatype *datatype)
{
    MPI_Aint lb, extent;
    MPI_Type_get_true_extent(*datatype, &lb, &extent);
    if (extent > 0)
        for (int i = 0; i < *len; i++) *(int *)((char *)inout + lb) += *(int *)((char *)in + lb);
}

/* No bytes need no memory, and memory may be named by the type alone. */
static void no_addresses(void)
{
    int one = 5, other = 7, length = 1;
    MPI_Aint first, second;
    MPI_Datatype none, named;
    MPI_Op op;
    MPI_Op_create(add_named, 1, &op);
    MPI_Type_contiguous(0, MPI_INT, &none);
    MPI_Get_address(&one, &first), MPI_Get_address(&other, &second);
    MPI_Type_create_hindexed(1, &length, &first, MPI_INT, &named);
    MPI_Type_commit(&none), MPI_Type_commit(&named);
    MUST(MPI_Reduce_local(NULL, NULL, 3, none, op));
    MUST(MPI_Allreduce(NULL, NULL, 3, none, op, MPI_COMM_WORLD));
    MUST(MPI_Reduce_local(MPI_BOTTOM, (void *)(second - first), 1, named, op));
    CHECK_EQ(other, 12);
    MPI_Type_free(&none), MPI_Type_free(&named), MPI_Op_free(&op);
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    int counts[] = {1, 4, 100, 1000, COUNT_MAX};
    for (int i = 0; i < 5; i++) gaps(counts[i] / check_size * check_size);
    freed_types(0), freed_types(1);
    left_out();
    displaced();
    no_addresses();
    return check_finish();
}

/* Intracommunicators (MPI-5.0 section 7.4): dup, dup_with_info, idup, split, split_type, create,
 * create_group, compare, free with messages on their way; contexts stay apart.
 * ranks: 1 2 4 7
 */
#include "check.h"

/* The ring works on this communicator, and its messages are not seen on the other. */
static void use(MPI_Comm comm)
{
    int rank, size, in = -1;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    MUST(MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 1, &in, 1, MPI_INT, (rank + size - 1) % size, 1, comm,
                      MPI_STATUS_IGNORE));
    CHECK_EQ(in, (rank + size - 1) % size);
    int sum = 0;
    MUST(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm));
    CHECK_EQ(sum, size * (size - 1) / 2);
}

static void expect_compare(MPI_Comm a, MPI_Comm b, int expected)
{
    int result = -1;
    MUST(MPI_Comm_compare(a, b, &result));
    CHECK_EQ(result, expected);
}

static void duplicates(void)
{
    MPI_Comm a, b, c, d;
    MPI_Request requests[2];
    MPI_Info info;
    int out = 1, in = 0, flag;
    MUST(MPI_Comm_dup(MPI_COMM_WORLD, &a));
    use(a);
    expect_compare(a, MPI_COMM_WORLD, MPI_CONGRUENT);
    expect_compare(a, a, MPI_IDENT);
    MPI_Info_create(&info);
    MPI_Info_set(info, "mpi_assert_no_any_tag", "false");
    MUST(MPI_Comm_dup_with_info(a, info, &b));
    MPI_Info_free(&info);
    use(b);
    /* Two duplications at once, from two communicators. */
    MUST(MPI_Comm_idup(MPI_COMM_WORLD, &c, &requests[0]));
    MUST(MPI_Comm_idup_with_info(a, MPI_INFO_NULL, &d, &requests[1]));
    MUST(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    use(c), use(d);
    /* A message on one is not seen on another. */
    MPI_Request request;
    MPI_Isend(&out, 1, MPI_INT, check_rank, 9, a, &request);
    MPI_Iprobe(check_rank, 9, b, &flag, MPI_STATUS_IGNORE);
    CHECK(!flag);
    MPI_Recv(&in, 1, MPI_INT, check_rank, 9, a, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Comm_free(&a), MPI_Comm_free(&b), MPI_Comm_free(&c), MPI_Comm_free(&d);
    CHECK(a == MPI_COMM_NULL);
}

static void split(void)
{
    MPI_Comm half;
    int rank, size;
    /* Keys turn the order round. */
    MUST(MPI_Comm_split(MPI_COMM_WORLD, check_rank % 2, -check_rank, &half));
    MPI_Comm_rank(half, &rank), MPI_Comm_size(half, &size);
    CHECK_EQ(size, (check_size + (check_rank % 2 == 0)) / 2);
    CHECK_EQ(rank, size - 1 - check_rank / 2);
    use(half);
    if (check_size > 1) expect_compare(half, MPI_COMM_WORLD, MPI_UNEQUAL);
    MPI_Comm_free(&half);
    /* Equal keys keep the old order; undefined colors get nothing. */
    MUST(MPI_Comm_split(MPI_COMM_WORLD, check_rank == 0 ? MPI_UNDEFINED : 3, 0, &half));
    if (check_rank == 0) {
        CHECK(half == MPI_COMM_NULL);
    } else {
        MPI_Comm_rank(half, &rank);
        CHECK_EQ(rank, check_rank - 1);
        use(half);
        MPI_Comm_free(&half);
    }
    MUST(MPI_Comm_split(MPI_COMM_WORLD, 0, -check_rank, &half));
    expect_compare(half, MPI_COMM_WORLD, check_size == 1 ? MPI_CONGRUENT : MPI_SIMILAR);
    MPI_Comm_free(&half);
}

static void split_type(void)
{
    MPI_Comm shared, none;
    int size;
    MUST(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, check_rank, MPI_INFO_NULL, &shared));
    MPI_Comm_size(shared, &size);
    CHECK(size >= 1 && size <= check_size);
    use(shared);
    MPI_Comm_free(&shared);
    MUST(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_UNDEFINED, 0, MPI_INFO_NULL, &none));
    CHECK(none == MPI_COMM_NULL);
}

static void create(void)
{
    MPI_Group world, low;
    MPI_Comm comm;
    int n = (check_size + 1) / 2, range[1][3] = {{n - 1, 0, -1}}, rank;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_range_incl(world, 1, range, &low);
    MUST(MPI_Comm_create(MPI_COMM_WORLD, check_rank < n ? low : MPI_GROUP_EMPTY, &comm));
    if (check_rank < n) {
        MPI_Comm_rank(comm, &rank);
        CHECK_EQ(rank, n - 1 - check_rank);
        use(comm);
        MPI_Comm_free(&comm);
    } else {
        CHECK(comm == MPI_COMM_NULL);
    }
    /* Only the members call create_group; two with different tags are independent. */
    if (check_rank < n) {
        MPI_Comm a, b;
        MUST(MPI_Comm_create_group(MPI_COMM_WORLD, low, 5, &a));
        MUST(MPI_Comm_create_group(MPI_COMM_WORLD, low, 6, &b));
        use(a), use(b);
        expect_compare(a, b, MPI_CONGRUENT);
        MPI_Comm_free(&a), MPI_Comm_free(&b);
    }
    /* Disjoint groups in one call (section 7.4.2). */
    MPI_Group mine;
    int parity[1][3] = {{check_rank % 2, check_size - 1, 2}};
    MPI_Group_range_incl(world, 1, parity, &mine);
    MUST(MPI_Comm_create(MPI_COMM_WORLD, mine, &comm));
    use(comm);
    MPI_Comm_free(&comm);
    MPI_Group_free(&mine), MPI_Group_free(&low), MPI_Group_free(&world);
}

/* Groups that overlap, one after the other and with one tag: a process has another rank in each, and some are ahead. */
static void overlapping(void)
{
    MPI_Group world;
    int members[64];
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    for (unsigned round = 0, seed = 1; round < 200; round++) {
        int n = 0, in = 0, sum = 0;
        for (int rank = 0; rank < check_size; rank++) {
            seed = seed * 1103515245u + 12345u;
            if (seed >> 16 & 1) {
                in |= rank == check_rank;
                members[n++] = rank;
            }
        }
        if (!in) continue;
        MPI_Group part;
        MPI_Comm comm;
        MPI_Group_incl(world, n, members, &part);
        MUST(MPI_Comm_create_group(MPI_COMM_WORLD, part, 3, &comm));
        int size, one = 1;
        MPI_Comm_size(comm, &size);
        CHECK_EQ(size, n);
        MUST(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm));
        CHECK_EQ(sum, n);
        MPI_Comm_free(&comm), MPI_Group_free(&part);
    }
    MPI_Group_free(&world);
}

/* Freed while messages are on their way: they still arrive (section 7.4.3). */
static void free_early(void)
{
    enum { N = 300000 };
    MPI_Comm comm;
    MPI_Request requests[2];
    int *in = check_alloc(N * sizeof(int)), *out = check_alloc(N * sizeof(int));
    for (int i = 0; i < N; i++) out[i] = i;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Isend(out, N, MPI_INT, (check_rank + 1) % check_size, 1, comm, &requests[0]);
    MPI_Irecv(in, N, MPI_INT, (check_rank + check_size - 1) % check_size, 1, comm, &requests[1]);
    MPI_Comm_free(&comm);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    CHECK(memcmp(in, out, N * sizeof(int)) == 0);
    free(in), free(out);
}

/* Contexts are used again: far more communicators than any table holds, a few alive at a time. */
static void many(void)
{
    MPI_Comm alive[8];
    for (int i = 0; i < 8; i++) alive[i] = MPI_COMM_NULL;
    for (int i = 0; i < 400; i++) {
        if (alive[i % 8] != MPI_COMM_NULL) MPI_Comm_free(&alive[i % 8]);
        MPI_Comm_dup(MPI_COMM_WORLD, &alive[i % 8]);
        if (i % 100 == 0) use(alive[i % 8]);
    }
    for (int i = 0; i < 8; i++) use(alive[i]), MPI_Comm_free(&alive[i]);
    MPI_Comm held[100];
    for (int i = 0; i < 100; i++) MPI_Comm_dup(MPI_COMM_WORLD, &held[i]);
    use(held[0]), use(held[99]);
    for (int i = 0; i < 100; i++) MPI_Comm_free(&held[i]);
}

static void names(void)
{
    char name[MPI_MAX_OBJECT_NAME];
    int length;
    MPI_Comm comm;
    MPI_Comm_get_name(MPI_COMM_WORLD, name, &length);
    CHECK_STR(name, "MPI_COMM_WORLD");
    MPI_Comm_get_name(MPI_COMM_SELF, name, &length);
    CHECK_STR(name, "MPI_COMM_SELF");
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_get_name(comm, name, &length);
    CHECK_STR(name, "");
    CHECK_EQ(length, 0);
    MUST(MPI_Comm_set_name(comm, "  ring of ranks"));
    MPI_Comm_get_name(comm, name, &length);
    CHECK(strstr(name, "ring of ranks") != NULL);
    CHECK_EQ(length, (long)strlen(name));
    MPI_Comm_free(&comm);
}

int main(int argc, char **argv)
{
    int inter;
    check_init(&argc, &argv);
    MPI_Comm_test_inter(MPI_COMM_WORLD, &inter);
    CHECK(!inter);
    duplicates();
    split();
    split_type();
    create();
    overlapping();
    free_early();
    many();
    names();
    return check_finish();
}

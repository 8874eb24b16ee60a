/* Intercommunicators (MPI-5.0 sections 7.6 and 6.x): create, merge, dup, split, point-to-point, and every
 * blocking collective in its two-sided meaning.
 * ranks: 2 3 5 8
 */
#include "check.h"

static MPI_Comm local, inter;
static int side, rank, size, remote;

/* Low ranks against the rest: sides of different size when the number is odd. */
static void make(void)
{
    side = check_rank >= check_size / 2;
    MPI_Comm_split(MPI_COMM_WORLD, side, check_rank, &local);
    MUST(MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, side ? 0 : check_size / 2, 44, &inter));
    MPI_Comm_rank(inter, &rank);
    MPI_Comm_size(inter, &size);
    MUST(MPI_Comm_remote_size(inter, &remote));
    CHECK_EQ(size, side ? check_size - check_size / 2 : check_size / 2);
    CHECK_EQ(remote, check_size - size);
    CHECK_EQ(rank, side ? check_rank - check_size / 2 : check_rank);
}

static int world_of_remote(int r)
{
    return side ? r : r + check_size / 2;
}

static void accessors(void)
{
    int flag = 0, n = -1, result = -1;
    MPI_Group group;
    MPI_Comm copy;
    MUST(MPI_Comm_test_inter(inter, &flag));
    CHECK(flag);
    MUST(MPI_Comm_remote_group(inter, &group));
    MPI_Group_size(group, &n);
    CHECK_EQ(n, remote);
    MPI_Group_free(&group);
    MUST(MPI_Comm_group(inter, &group));
    MPI_Group_size(group, &n);
    CHECK_EQ(n, size);
    MPI_Group_free(&group);
    MUST(MPI_Comm_dup(inter, &copy));
    MPI_Comm_compare(inter, copy, &result);
    CHECK_EQ(result, MPI_CONGRUENT);
    MPI_Comm_compare(inter, local, &result);
    CHECK_EQ(result, MPI_UNEQUAL);
    MPI_Comm_free(&copy);
}

/* Every local rank exchanges with every remote one; ranks are the remote side's. */
static void messages(void)
{
    MPI_Request requests[128];
    MPI_Status statuses[128];
    int in[64], out[64], n = 0;
    for (int r = 0; r < remote; r++) MPI_Irecv(&in[r], 1, MPI_INT, r, 7, inter, &requests[n++]);
    for (int r = 0; r < remote; r++) {
        out[r] = check_rank * 100 + world_of_remote(r);
        MPI_Isend(&out[r], 1, MPI_INT, r, 7, inter, &requests[n++]);
    }
    MPI_Waitall(n, requests, statuses);
    for (int r = 0; r < remote; r++) {
        CHECK_EQ(in[r], world_of_remote(r) * 100 + check_rank);
        CHECK_EQ(statuses[r].MPI_SOURCE, r);
    }
}

static void merge(void)
{
    MPI_Comm all;
    int r, n, sum = 0;
    /* The side that says high comes second. */
    MUST(MPI_Intercomm_merge(inter, side, &all));
    MPI_Comm_rank(all, &r), MPI_Comm_size(all, &n);
    CHECK_EQ(n, check_size);
    CHECK_EQ(r, check_rank);
    MPI_Comm_free(&all);
    MUST(MPI_Intercomm_merge(inter, !side, &all));
    MPI_Comm_rank(all, &r);
    CHECK_EQ(r, side ? rank : remote + rank);
    MPI_Allreduce(&r, &sum, 1, MPI_INT, MPI_SUM, all);
    CHECK_EQ(sum, check_size * (check_size - 1) / 2);
    MPI_Comm_free(&all);
}

static void split(void)
{
    MPI_Comm part;
    int n;
    MUST(MPI_Comm_split(inter, rank == 0, rank, &part));
    if (part != MPI_COMM_NULL) {
        /* Rank 0 of each side meets the other's rank 0; the rest meet the rest. */
        MPI_Comm_remote_size(part, &n);
        CHECK_EQ(n, rank == 0 ? 1 : remote - 1);
        MPI_Comm_free(&part);
    } else {
        CHECK(rank > 0 && remote == 1);
    }
}

static int root_argument(int root_side, int root)
{
    if (side == root_side) return rank == root ? MPI_ROOT : MPI_PROC_NULL;
    return root;
}

static void rooted(int root_side)
{
    int other = side != root_side, n_root_side = other ? remote : size, n_other = other ? size : remote;
    for (int root = 0; root < n_root_side; root++) {
        int argument = root_argument(root_side, root), values[64], value = -1;
        int is_root = argument == MPI_ROOT, root_world = root + (root_side ? check_size / 2 : 0);
        value = is_root ? root_world : -1;
        MUST(MPI_Bcast(&value, 1, MPI_INT, argument, inter));
        CHECK_EQ(value, is_root || other ? root_world : -1);
        int mine = check_rank + 1, first = root_side ? 0 : check_size / 2;
        memset(values, 0xFF, sizeof values);
        MUST(MPI_Gather(&mine, 1, MPI_INT, values, 1, MPI_INT, argument, inter));
        for (int i = 0; is_root && i < n_other; i++) CHECK_EQ(values[i], first + i + 1);
        for (int i = 0; i < n_other; i++) values[i] = root_world * 100 + i;
        value = -1;
        MUST(MPI_Scatter(values, 1, MPI_INT, &value, 1, MPI_INT, argument, inter));
        CHECK_EQ(value, other ? root_world * 100 + rank : -1);
        int sum = -1, expected = 0;
        for (int i = 0; i < n_other; i++) expected += first + i + 1;
        MUST(MPI_Reduce(&mine, &sum, 1, MPI_INT, MPI_SUM, argument, inter));
        CHECK_EQ(sum, is_root ? expected : -1);
        int counts[64], places[64];
        for (int i = 0; i < 64; i++) counts[i] = 1, places[i] = 63 - i;
        memset(values, 0xFF, sizeof values);
        MUST(MPI_Gatherv(&mine, 1, MPI_INT, values, counts, places, MPI_INT, argument, inter));
        for (int i = 0; is_root && i < n_other; i++) CHECK_EQ(values[63 - i], first + i + 1);
        value = -1;
        for (int i = 0; i < 64; i++) values[i] = root_world * 64 + 63 - i;
        MUST(MPI_Scatterv(values, counts, places, MPI_INT, &value, 1, MPI_INT, argument, inter));
        CHECK_EQ(value, other ? root_world * 64 + rank : -1);
    }
}

static void rootless(void)
{
    int mine[64], got[64], counts[64], places[64], send_counts[64], sum = 0, expected = 0;
    MPI_Datatype types[64];
    for (int i = 0; i < 64; i++) mine[i] = check_rank * 100 + i, counts[i] = send_counts[i] = 1, places[i] = 63 - i;
    for (int r = 0; r < remote; r++) expected += world_of_remote(r) * 100;
    MUST(MPI_Barrier(inter));
    MUST(MPI_Allreduce(mine, &sum, 1, MPI_INT, MPI_SUM, inter));
    CHECK_EQ(sum, expected);
    MUST(MPI_Allgather(mine, 1, MPI_INT, got, 1, MPI_INT, inter));
    for (int r = 0; r < remote; r++) CHECK_EQ(got[r], world_of_remote(r) * 100);
    MUST(MPI_Allgatherv(mine, 1, MPI_INT, got, counts, places, MPI_INT, inter));
    for (int r = 0; r < remote; r++) CHECK_EQ(got[63 - r], world_of_remote(r) * 100);
    MUST(MPI_Alltoall(mine, 1, MPI_INT, got, 1, MPI_INT, inter));
    for (int r = 0; r < remote; r++) CHECK_EQ(got[r], world_of_remote(r) * 100 + rank);
    for (int i = 0; i < 64; i++) places[i] = i;
    MUST(MPI_Alltoallv(mine, send_counts, places, MPI_INT, got, counts, places, MPI_INT, inter));
    for (int r = 0; r < remote; r++) CHECK_EQ(got[r], world_of_remote(r) * 100 + rank);
    for (int i = 0; i < 64; i++) places[i] = 4 * i, types[i] = MPI_INT;
    memset(got, 0, sizeof got);
    MUST(MPI_Alltoallw(mine, send_counts, places, types, got, counts, places, types, inter));
    for (int r = 0; r < remote; r++) CHECK_EQ(got[r], world_of_remote(r) * 100 + rank);
    /* Each side's vector has one length on both: here size*remote elements. */
    int *wide = check_alloc(sizeof(int) * size * remote), part[64];
    for (int i = 0; i < size * remote; i++) wide[i] = check_rank + i;
    MUST(MPI_Reduce_scatter_block(wide, part, remote, MPI_INT, MPI_SUM, inter));
    int base = 0;
    for (int r = 0; r < remote; r++) base += world_of_remote(r);
    for (int i = 0; i < remote; i++) CHECK_EQ(part[i], base + remote * (rank * remote + i));
    for (int i = 0; i < size; i++) counts[i] = remote;
    MUST(MPI_Reduce_scatter(wide, part, counts, MPI_INT, MPI_SUM, inter));
    for (int i = 0; i < remote; i++) CHECK_EQ(part[i], base + remote * (rank * remote + i));
    free(wide);
}

/* Made from two groups without a common communicator's help (MPI-4.0, section 7.6.2). */
static void from_groups(void)
{
    MPI_Group world, mine, theirs;
    MPI_Comm comm;
    int low[1][3] = {{0, check_size / 2 - 1, 1}}, high[1][3] = {{check_size / 2, check_size - 1, 1}}, n;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_range_incl(world, 1, side ? high : low, &mine);
    MPI_Group_range_incl(world, 1, side ? low : high, &theirs);
    MUST(MPI_Intercomm_create_from_groups(mine, 0, theirs, 0, "tern.test", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm));
    MPI_Comm_remote_size(comm, &n);
    CHECK_EQ(n, remote);
    MPI_Barrier(comm);
    MPI_Comm_free(&comm);
    MPI_Group_free(&world), MPI_Group_free(&mine), MPI_Group_free(&theirs);
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    make();
    accessors();
    messages();
    merge();
    split();
    for (int root_side = 0; root_side < 2; root_side++) rooted(root_side);
    rootless();
    from_groups();
    MPI_Comm_free(&inter);
    MPI_Comm_free(&local);
    return check_finish();
}

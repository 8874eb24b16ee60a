/* Collectives on communicators of the ranks of one node (MPI-5.0 sections 6 and 7.4.2): each by its definition, in
 * jobs on one machine or several; who waits in one still serves the ranks of other machines.
 * ranks: 3 8
 * instances: default
 */
#include "check.h"
#include <unistd.h>

enum { LONG = 70000, LATE_US = 120000, TAG = 5, SENT = 6 };

static int value(int rank, int i, int round)
{
    return rank * 1000003 + i * 17 + round;
}

static int *filled(int n, int rank, int round)
{
    int *data = check_alloc(sizeof(int) * n);
    for (int i = 0; i < n; i++) data[i] = value(rank, i, round);
    return data;
}

static int wrong(const int *data, int n, int rank, int round)
{
    int bad = 0;
    for (int i = 0; i < n; i++) bad += data[i] != value(rank, i, round);
    return bad;
}

/* The last element holds the sum of all ranks' own. */
static void reductions(MPI_Comm comm, int rank, int size, int n, int root)
{
    int *own = filled(n, rank, n), *sum = check_alloc(sizeof(int) * n), expected = 0, bad = 0;
    for (int r = 0; r < size; r++) expected += value(r, n - 1, n);
    MUST(MPI_Allreduce(own, sum, n, MPI_INT, MPI_SUM, comm));
    CHECK_EQ(sum[n - 1], expected);
    memset(sum, 0, sizeof(int) * n);
    MUST(MPI_Reduce(own, sum, n, MPI_INT, MPI_SUM, root, comm));
    CHECK_EQ(sum[n - 1], rank == root ? expected : 0);
    MUST(MPI_Allreduce(MPI_IN_PLACE, own, n, MPI_INT, MPI_MAX, comm));
    for (int i = 0; i < n; i++) bad += own[i] != value(size - 1, i, n);
    CHECK_EQ(bad, 0);
    free(own), free(sum);
}

static void moves(MPI_Comm comm, int rank, int size, int n, int root)
{
    int *own = filled(n, rank, n), *all = check_alloc(sizeof(int) * n * size), bad = 0;
    MUST(MPI_Allgather(own, n, MPI_INT, all, n, MPI_INT, comm));
    for (int r = 0; r < size; r++) bad += wrong(all + r * n, n, r, n);
    memset(all, 0, sizeof(int) * n * size);
    MUST(MPI_Gather(own, n, MPI_INT, all, n, MPI_INT, root, comm));
    for (int r = 0; r < size && rank == root; r++) bad += wrong(all + r * n, n, r, n);
    memset(own, 0, sizeof(int) * n);
    MUST(MPI_Scatter(all, n, MPI_INT, own, n, MPI_INT, root, comm));
    bad += wrong(own, n, rank, n);
    MUST(MPI_Bcast(own, n, MPI_INT, root, comm));
    bad += wrong(own, n, root, n);
    for (int r = 0; r < size; r++)
        for (int i = 0; i < n; i++) all[r * n + i] = value(rank, i, r);
    MUST(MPI_Alltoall(MPI_IN_PLACE, n, MPI_INT, all, n, MPI_INT, comm));
    for (int r = 0; r < size; r++) bad += wrong(all + r * n, n, r, rank);
    CHECK_EQ(bad, 0);
    free(own), free(all);
}

static void use(MPI_Comm comm)
{
    int rank, size, lengths[] = {1, 2000, LONG};
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    for (int k = 0; k < 3; k++) {
        reductions(comm, rank, size, lengths[k], k % size);
        moves(comm, rank, size, lengths[k], (k + 1) % size);
        MUST(MPI_Barrier(comm));
    }
}

/* No rank of the machine leaves the barrier before its last has come. */
static void late(MPI_Comm machine)
{
    int rank, size;
    MPI_Comm_rank(machine, &rank);
    MPI_Comm_size(machine, &size);
    double come = 0, left;
    if (rank == size - 1) usleep(LATE_US), come = MPI_Wtime();
    MUST(MPI_Barrier(machine));
    left = MPI_Wtime();
    MUST(MPI_Bcast(&come, 1, MPI_DOUBLE, size - 1, machine));
    CHECK(left >= come);
}

/* Rank 0 sleeps in a barrier of its machine, which the last rank there enters only when a large message from the last
 * rank of all to rank 0 has arrived: rank 0 must take it. */
static void serve(MPI_Comm machine)
{
    int rank, size, last = check_size - 1, token = 1, waits = 0, holder = 0;
    MPI_Comm_rank(machine, &rank);
    MPI_Comm_size(machine, &size);
    if (check_rank < last && rank == size - 1) holder = check_rank;
    /* Who is last on the machine of rank 0. */
    MUST(MPI_Bcast(&holder, 1, MPI_INT, size - 1, machine));
    MUST(MPI_Bcast(&holder, 1, MPI_INT, 0, MPI_COMM_WORLD));
    int n = 3000000, *data = check_rank == 0 || check_rank == last ? filled(n, last, check_rank == last) : NULL;
    MPI_Request request = MPI_REQUEST_NULL;
    if (check_rank == 0) MUST(MPI_Irecv(data, n, MPI_INT, last, TAG, MPI_COMM_WORLD, &request));
    if (check_rank == last) {
        usleep(LATE_US);
        MUST(MPI_Ssend(data, n, MPI_INT, 0, TAG, MPI_COMM_WORLD));
        if (holder != 0) MUST(MPI_Send(&token, 1, MPI_INT, holder, SENT, MPI_COMM_WORLD));
    }
    waits = holder != 0 && check_rank == holder;
    if (waits) MUST(MPI_Recv(&token, 1, MPI_INT, last, SENT, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    MUST(MPI_Barrier(machine));
    MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
    if (check_rank == 0) CHECK_EQ(wrong(data, n, last, 1), 0);
    free(data);
}

int main(int argc, char **argv)
{
    MPI_Comm machine, part;
    int rank;
    check_init(&argc, &argv);
    MUST(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine));
    MPI_Comm_rank(machine, &rank);
    use(machine);
    use(MPI_COMM_WORLD);
    /* More than there are rooms of memory, one after the other. */
    for (int round = 0; round < 40; round++) {
        MUST(MPI_Comm_split(machine, rank % 2, -rank, &part));
        int sum = 0, size;
        MPI_Comm_size(part, &size);
        MUST(MPI_Allreduce(&size, &sum, 1, MPI_INT, MPI_SUM, part));
        CHECK_EQ(sum, size * size);
        MUST(MPI_Comm_free(&part));
    }
    use(machine);
    late(machine);
    serve(machine);
    MUST(MPI_Comm_free(&machine));
    return check_finish();
}

/* MPI_Alltoallw and MPI_Alltoallv where ranks differ (MPI-5.0 section 6.8): some send columns of a table and some whole
 * rows, long blocks beside short and empty ones, and lengths that do not fit each other.
 * ranks: 1 2 3 4 8
 */
#include "check.h"

enum { N_MAX = 64, LONG = 30000 };

static int word(int from, int to, int i)
{
    return (from * N_MAX + to) * 40009 + i;
}

/* Long between even ranks, empty from each rank to the one before it, else short. */
static int length(int from, int to, int scale)
{
    if (to == (from + check_size - 1) % check_size && check_size > 2) return 0;
    return from % 2 == 0 && to % 2 == 0 ? LONG / scale : 7 + from + to;
}

/* Blocks of rank `rank`: in its send buffer, or what it receives. Those with gaps take every second int. */
typedef struct {
    int counts[N_MAX], at[N_MAX], total, stride;
    MPI_Datatype types[N_MAX];
    int *data;
} Side;

static void make(Side *side, int sends, int has_gaps, int scale)
{
    side->stride = has_gaps ? 2 : 1;
    side->total = 0;
    for (int r = 0; r < check_size; r++) {
        int n = sends ? length(check_rank, r, scale) : length(r, check_rank, scale);
        side->counts[r] = 1;
        side->at[r] = 4 * side->total;
        MPI_Type_vector(n, 1, side->stride, MPI_INT, &side->types[r]);
        MPI_Type_commit(&side->types[r]);
        side->total += n * side->stride + 1;
    }
    side->data = check_alloc(sizeof(int) * side->total);
    memset(side->data, 0xEE, sizeof(int) * side->total);
}

static void discard(Side *side)
{
    for (int r = 0; r < check_size; r++) MPI_Type_free(&side->types[r]);
    free(side->data);
}

static void exchange(int gaps_sent, int gaps_received, int scale)
{
    Side out, in;
    make(&out, 1, gaps_sent, scale);
    make(&in, 0, gaps_received, scale);
    for (int r = 0; r < check_size; r++)
        for (int i = 0; i < length(check_rank, r, scale); i++)
            out.data[out.at[r] / 4 + i * out.stride] = word(check_rank, r, i);
    MUST(MPI_Alltoallw(out.data, out.counts, out.at, out.types, in.data, in.counts, in.at, in.types,
                       MPI_COMM_WORLD));
    int bad = 0;
    for (int r = 0; r < check_size; r++) {
        int n = length(r, check_rank, scale), *block = in.data + in.at[r] / 4;
        for (int i = 0; i < n; i++) bad += block[i * in.stride] != word(r, check_rank, i);
        for (int i = 0; i < n && in.stride == 2; i++) bad += block[i * 2 + 1] != (int)0xEEEEEEEE;
        bad += block[n * in.stride] != (int)0xEEEEEEEE;
    }
    CHECK_EQ(bad, 0);
    discard(&out), discard(&in);
}

/* Each rank sends one int more to the next rank than that expects, or one less, and is told of what it gets itself; the
 * call that follows is right. */
static void unequal(int n, int more)
{
    int send[N_MAX], recv[N_MAX], at[N_MAX], next = (check_rank + 1) % check_size;
    int before = (check_rank + check_size - 1) % check_size;
    for (int r = 0; r < check_size; r++) send[r] = recv[r] = n, at[r] = r * (n + 1);
    int *out = check_alloc(sizeof(int) * check_size * (n + 1)), *in = check_alloc(sizeof(int) * check_size * (n + 1));
    for (int i = 0; i < check_size * (n + 1); i++) out[i] = check_rank, in[i] = -1;
    send[next] += more;
    CHECK_ERROR(MPI_Alltoallv(out, send, at, MPI_INT, in, recv, at, MPI_INT, MPI_COMM_WORLD), MPI_ERR_TRUNCATE,
                "MPI_Alltoallv");
    CHECK_EQ(in[at[before] + n], -1);
    send[next] = n;
    MUST(MPI_Alltoallv(out, send, at, MPI_INT, in, recv, at, MPI_INT, MPI_COMM_WORLD));
    for (int r = 0; r < check_size; r++) CHECK_EQ(in[at[r] + n - 1], r);
    free(out), free(in);
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    for (int scale = 1; scale <= 1000; scale *= 1000) {
        exchange(0, 0, scale);
        exchange(0, 1, scale);
        exchange(1, 0, scale);
        /* One rank has gaps and the others learn it from that rank alone. */
        exchange(check_rank == check_size - 1 || check_rank == 0, check_rank == 0, scale);
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    unequal(3, 1), unequal(3, -1), unequal(LONG, 1), unequal(LONG, -1);
    return check_finish();
}

/* Send-receive (MPI-5.0 section 3.11): both forms, non-blocking forms, replace at all sizes and types,
 * self, null processes, rings longer than any buffer.
 * ranks: 1 2 3 5
 */
#include "check.h"

static int to, from;

static void ring(size_t bytes)
{
    char *out = check_alloc(bytes), *in = check_alloc(bytes);
    MPI_Status status;
    check_fill(out, bytes, check_rank + bytes);
    MUST(MPI_Sendrecv(out, (int)bytes, MPI_BYTE, to, 1, in, (int)bytes, MPI_BYTE, from, 1, MPI_COMM_WORLD, &status));
    CHECK_DATA(in, bytes, from + bytes);
    CHECK_EQ(status.MPI_SOURCE, from);
    CHECK_EQ(check_status_count(&status, MPI_BYTE), (long)bytes);
    MUST(MPI_Sendrecv_replace(out, (int)bytes, MPI_BYTE, to, 2, from, 2, MPI_COMM_WORLD, &status));
    CHECK_DATA(out, bytes, from + bytes);
    CHECK_EQ(status.MPI_TAG, 2);
    free(in), free(out);
}

/* The statuses are those of the receives (MPI-5.0 section 3.11). MPICH 5.0.2 leaves them unset here. */
static void nonblocking(size_t bytes)
{
    char *out = check_alloc(bytes), *in = check_alloc(bytes);
    MPI_Request requests[2];
    MPI_Status statuses[2];
    check_fill(out, bytes, check_rank + bytes);
    MUST(MPI_Isendrecv(out, (int)bytes, MPI_BYTE, to, 3, in, (int)bytes, MPI_BYTE, from, 3, MPI_COMM_WORLD,
                       &requests[0]));
    MUST(MPI_Wait(&requests[0], &statuses[0]));
    CHECK_DATA(in, bytes, from + bytes);
    CHECK_EQ(statuses[0].MPI_SOURCE, from);
    MUST(MPI_Isendrecv_replace(out, (int)bytes, MPI_BYTE, to, 4, from, 4, MPI_COMM_WORLD, &requests[0]));
    MUST(MPI_Isendrecv_replace(in, (int)bytes, MPI_BYTE, to, 5, from, 5, MPI_COMM_WORLD, &requests[1]));
    MUST(MPI_Waitall(2, requests, statuses));
    CHECK_DATA(out, bytes, from + bytes);
    CHECK_DATA(in, bytes, (from + check_size - 1) % check_size + bytes);
    CHECK_EQ(statuses[1].MPI_TAG, 5);
    free(in), free(out);
}

static void replace_strided(void)
{
    enum { ROWS = 3000 };
    static int data[ROWS][2];
    MPI_Datatype column;
    MPI_Type_vector(ROWS, 1, 2, MPI_INT, &column);
    MPI_Type_commit(&column);
    for (int i = 0; i < ROWS; i++) data[i][0] = check_rank * 10000 + i, data[i][1] = -7;
    MUST(MPI_Sendrecv_replace(data, 1, column, to, 6, from, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    for (int i = 0; i < ROWS; i++) {
        CHECK_EQ(data[i][0], from * 10000 + i);
        CHECK_EQ(data[i][1], -7);
    }
    MPI_Type_free(&column);
}

/* A shift without wrapping: the ends talk to the null process. */
static void open_shift(void)
{
    int right = check_rank + 1 < check_size ? check_rank + 1 : MPI_PROC_NULL;
    int left = check_rank > 0 ? check_rank - 1 : MPI_PROC_NULL;
    int out = check_rank, in = -5;
    MPI_Status status;
    MUST(MPI_Sendrecv(&out, 1, MPI_INT, right, 7, &in, 1, MPI_INT, left, 7, MPI_COMM_WORLD, &status));
    CHECK_EQ(in, left == MPI_PROC_NULL ? -5 : left);
    CHECK_EQ(status.MPI_SOURCE, left);
    CHECK_EQ(check_status_count(&status, MPI_INT), left == MPI_PROC_NULL ? 0 : 1);
    MUST(MPI_Sendrecv_replace(&out, 1, MPI_INT, right, 8, left, 8, MPI_COMM_WORLD, &status));
    CHECK_EQ(out, left == MPI_PROC_NULL ? check_rank : left);
}

/* Different types and counts on the two sides; wildcards on the receiving one. */
static void different_types(void)
{
    double out[4] = {check_rank, 1, 2, 3};
    char in[64];
    MPI_Status status;
    MUST(MPI_Sendrecv(out, 4, MPI_DOUBLE, to, 9, in, 8, MPI_DOUBLE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
                      &status));
    CHECK_EQ(check_status_count(&status, MPI_DOUBLE), 4);
    CHECK_EQ(((double *)in)[0], from);
    CHECK_EQ(status.MPI_TAG, 9);
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    to = (check_rank + 1) % check_size;
    from = (check_rank + check_size - 1) % check_size;
    size_t sizes[96];
    int n = check_sizes(sizes, 96, 4u << 20);
    for (int i = 0; i < n; i++) ring(sizes[i]);
    for (int i = 0; i < n; i += 4) nonblocking(sizes[i]);
    replace_strided();
    open_shift();
    MPI_Barrier(MPI_COMM_WORLD);
    different_types();
    return check_finish();
}

/* Messages to oneself, and the null process (MPI-5.0 sections 3.2 and 3.10), on MPI_COMM_SELF and
 * MPI_COMM_WORLD, all modes and sizes.
 * ranks: 1 2
 */
#include "check.h"

static void every_size(MPI_Comm comm, int self)
{
    size_t sizes[96];
    int n = check_sizes(sizes, 96, 4u << 20);
    for (int i = 0; i < n; i++) {
        char *out = check_alloc(sizes[i]), *in = check_alloc(sizes[i]);
        MPI_Request request;
        MPI_Status status;
        check_fill(out, sizes[i], i);
        MPI_Irecv(in, (int)sizes[i], MPI_BYTE, self, i, comm, &request);
        MUST(MPI_Send(out, (int)sizes[i], MPI_BYTE, self, i, comm));
        MUST(MPI_Wait(&request, &status));
        CHECK_DATA(in, sizes[i], i);
        CHECK_EQ(status.MPI_SOURCE, self);
        memset(in, 0, sizes[i]);
        MPI_Isend(out, (int)sizes[i], MPI_BYTE, self, i, comm, &request);
        MUST(MPI_Recv(in, (int)sizes[i], MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &status));
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        CHECK_DATA(in, sizes[i], i);
        CHECK_EQ(check_status_count(&status, MPI_BYTE), (long)sizes[i]);
        free(in), free(out);
    }
}

static void modes(MPI_Comm comm, int self)
{
    int out = 5, in[4] = {0};
    MPI_Request receives[4], sends[2];
    static char attached[200 + MPI_BSEND_OVERHEAD];
    MPI_Buffer_attach(attached, sizeof attached);
    for (int i = 0; i < 4; i++) MPI_Irecv(&in[i], 1, MPI_INT, self, i, comm, &receives[i]);
    MUST(MPI_Ssend(&out, 1, MPI_INT, self, 0, comm));
    MUST(MPI_Rsend(&out, 1, MPI_INT, self, 1, comm));
    MUST(MPI_Bsend(&out, 1, MPI_INT, self, 2, comm));
    MUST(MPI_Issend(&out, 1, MPI_INT, self, 3, comm, &sends[0]));
    MPI_Waitall(4, receives, MPI_STATUSES_IGNORE);
    MPI_Wait(&sends[0], MPI_STATUS_IGNORE);
    for (int i = 0; i < 4; i++) CHECK_EQ(in[i], 5);
    int flag = 1;
    MPI_Issend(&out, 1, MPI_INT, self, 9, comm, &sends[0]);
    MPI_Test(&sends[0], &flag, MPI_STATUS_IGNORE);
    CHECK(!flag);
    MPI_Recv(in, 1, MPI_INT, self, 9, comm, MPI_STATUS_IGNORE);
    MPI_Wait(&sends[0], MPI_STATUS_IGNORE);
    void *buffer;
    int size;
    MPI_Buffer_detach(&buffer, &size);
}

/* Buffered to itself without a receive: it must not block. */
static void bsend_first(MPI_Comm comm, int self)
{
    enum { BYTES = 1 << 20 };
    char *attached = check_alloc(BYTES + MPI_BSEND_OVERHEAD), *out = check_alloc(BYTES), *in = check_alloc(BYTES);
    void *buffer;
    int size;
    MPI_Buffer_attach(attached, BYTES + MPI_BSEND_OVERHEAD);
    check_fill(out, BYTES, 9);
    MUST(MPI_Bsend(out, BYTES, MPI_BYTE, self, 4, comm));
    memset(out, 0, BYTES);
    MUST(MPI_Recv(in, BYTES, MPI_BYTE, self, 4, comm, MPI_STATUS_IGNORE));
    CHECK_DATA(in, BYTES, 9);
    MPI_Buffer_detach(&buffer, &size);
    free(attached), free(out), free(in);
}

static void null_process(MPI_Comm comm)
{
    int value = 17;
    MPI_Request requests[2];
    MPI_Status status, statuses[2];
    MUST(MPI_Send(&value, 1, MPI_INT, MPI_PROC_NULL, 1, comm));
    MUST(MPI_Ssend(&value, 1, MPI_INT, MPI_PROC_NULL, 1, comm));
    MUST(MPI_Rsend(&value, 1, MPI_INT, MPI_PROC_NULL, 1, comm));
    MUST(MPI_Bsend(&value, 1, MPI_INT, MPI_PROC_NULL, 1, comm));
    /* Where nothing moves, no datatype is needed. */
    MUST(MPI_Send(NULL, 0, MPI_DATATYPE_NULL, MPI_PROC_NULL, 1, comm));
    MUST(MPI_Recv(NULL, 0, MPI_DATATYPE_NULL, MPI_PROC_NULL, 1, comm, &status));
    MUST(MPI_Sendrecv(NULL, 0, MPI_DATATYPE_NULL, MPI_PROC_NULL, 1, NULL, 0, MPI_DATATYPE_NULL, MPI_PROC_NULL, 1, comm,
                      &status));
    MUST(MPI_Recv(&value, 1, MPI_INT, MPI_PROC_NULL, 1, comm, &status));
    CHECK_EQ(status.MPI_SOURCE, MPI_PROC_NULL);
    CHECK_EQ(status.MPI_TAG, MPI_ANY_TAG);
    CHECK_EQ(check_status_count(&status, MPI_INT), 0);
    MUST(MPI_Isend(&value, 1, MPI_INT, MPI_PROC_NULL, 1, comm, &requests[0]));
    MUST(MPI_Irecv(&value, 1, MPI_INT, MPI_PROC_NULL, 1, comm, &requests[1]));
    MUST(MPI_Waitall(2, requests, statuses));
    CHECK_EQ(statuses[1].MPI_SOURCE, MPI_PROC_NULL);
    CHECK_EQ(statuses[1].MPI_TAG, MPI_ANY_TAG);
    CHECK_EQ(value, 17);
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    every_size(MPI_COMM_SELF, 0);
    every_size(MPI_COMM_WORLD, check_rank);
    modes(MPI_COMM_SELF, 0);
    modes(MPI_COMM_WORLD, check_rank);
    bsend_first(MPI_COMM_WORLD, check_rank);
    null_process(MPI_COMM_WORLD);
    null_process(MPI_COMM_SELF);
    return check_finish();
}

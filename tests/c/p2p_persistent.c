/* Persistent requests (MPI-5.0 section 3.9): all four modes, start and startall, inactive requests in
 * wait and test, re-use, null processes.
 * ranks: 1 2 3 4
 */
#include "check.h"

enum { ROUNDS = 20, SIZE = 20000 };
static int to, from;

typedef int initializer(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);

static void rounds(initializer *send_init, int bytes, int tag)
{
    char *in = check_alloc(SIZE), *out = check_alloc(SIZE);
    MPI_Request requests[2];
    MPI_Status statuses[2];
    MUST(MPI_Recv_init(in, SIZE, MPI_BYTE, from, tag, MPI_COMM_WORLD, &requests[0]));
    MUST(send_init(out, bytes, MPI_BYTE, to, tag, MPI_COMM_WORLD, &requests[1]));
    for (int round = 0; round < ROUNDS; round++) {
        check_fill(out, (size_t)bytes, check_rank * 100 + round);
        MUST(MPI_Start(&requests[0]));
        /* Ready mode: the receive must be there first. */
        MPI_Barrier(MPI_COMM_WORLD);
        MUST(MPI_Start(&requests[1]));
        MUST(MPI_Waitall(2, requests, statuses));
        CHECK_DATA(in, bytes, from * 100 + round);
        CHECK_EQ(check_status_count(&statuses[0], MPI_BYTE), bytes);
        CHECK_EQ(statuses[0].MPI_SOURCE, from);
        CHECK(requests[0] != MPI_REQUEST_NULL && requests[1] != MPI_REQUEST_NULL);
    }
    MUST(MPI_Request_free(&requests[0]));
    MUST(MPI_Request_free(&requests[1]));
    CHECK(requests[0] == MPI_REQUEST_NULL);
    free(in), free(out);
}

static void all_modes(void)
{
    static const int sizes[] = {0, 1, 40, 3000, SIZE};
    static char attached[ROUNDS * (SIZE + MPI_BSEND_OVERHEAD)];
    MPI_Buffer_attach(attached, sizeof attached);
    for (int s = 0; s < 5; s++) {
        rounds(MPI_Send_init, sizes[s], 1);
        rounds(MPI_Ssend_init, sizes[s], 2);
        rounds(MPI_Bsend_init, sizes[s], 3);
        rounds(MPI_Rsend_init, sizes[s], 4);
    }
    void *buffer;
    int size;
    MPI_Buffer_detach(&buffer, &size);
    CHECK(buffer == (void *)attached);
    CHECK_EQ(size, (int)sizeof attached);
}

/* An inactive request is complete at once with an empty status (section 3.7.3). */
static void inactive(void)
{
    int value = 0, flag = 0, index = 0, count = 0, indices[2];
    MPI_Request requests[2];
    MPI_Status status, statuses[2];
    MPI_Recv_init(&value, 1, MPI_INT, from, 9, MPI_COMM_WORLD, &requests[0]);
    MPI_Recv_init(&value, 1, MPI_INT, from, 9, MPI_COMM_WORLD, &requests[1]);
    MUST(MPI_Wait(&requests[0], &status));
    CHECK_EQ(status.MPI_SOURCE, MPI_ANY_SOURCE);
    CHECK_EQ(status.MPI_TAG, MPI_ANY_TAG);
    CHECK_EQ(check_status_count(&status, MPI_INT), 0);
    MUST(MPI_Test(&requests[0], &flag, &status));
    CHECK(flag);
    MUST(MPI_Waitany(2, requests, &index, &status));
    CHECK_EQ(index, MPI_UNDEFINED);
    MUST(MPI_Testany(2, requests, &index, &flag, &status));
    CHECK(flag);
    CHECK_EQ(index, MPI_UNDEFINED);
    MUST(MPI_Waitsome(2, requests, &count, indices, statuses));
    CHECK_EQ(count, MPI_UNDEFINED);
    MUST(MPI_Testsome(2, requests, &count, indices, statuses));
    CHECK_EQ(count, MPI_UNDEFINED);
    MUST(MPI_Waitall(2, requests, statuses));
    MUST(MPI_Testall(2, requests, &flag, statuses));
    CHECK(flag);
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
}

/* A persistent send may meet an ordinary receive, and the other way round. */
static void mixed(void)
{
    int in = -1, out = 5 + check_rank;
    MPI_Request sends, receive;
    MPI_Send_init(&out, 1, MPI_INT, to, 11, MPI_COMM_WORLD, &sends);
    MPI_Irecv(&in, 1, MPI_INT, from, 11, MPI_COMM_WORLD, &receive);
    MPI_Start(&sends);
    MPI_Wait(&receive, MPI_STATUS_IGNORE);
    MPI_Wait(&sends, MPI_STATUS_IGNORE);
    CHECK_EQ(in, 5 + from);
    /* Freed while active: it is still delivered. */
    MPI_Irecv(&in, 1, MPI_INT, from, 11, MPI_COMM_WORLD, &receive);
    out += 100;
    MPI_Start(&sends);
    MPI_Request_free(&sends);
    MPI_Wait(&receive, MPI_STATUS_IGNORE);
    CHECK_EQ(in, 105 + from);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Section 3.10: a receive from the null process gives that source in its status, whatever its kind.
 * (MPICH 5.0.2 gives an empty status here, with MPI_ANY_SOURCE.) */
static void null_process(void)
{
    int value = 3;
    MPI_Request requests[2];
    MPI_Status statuses[2];
    MPI_Recv_init(&value, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Send_init(&value, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &requests[1]);
    for (int i = 0; i < 3; i++) {
        MUST(MPI_Startall(2, requests));
        MUST(MPI_Waitall(2, requests, statuses));
        CHECK_EQ(statuses[0].MPI_SOURCE, MPI_PROC_NULL);
        CHECK_EQ(value, 3);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
}

/* Many started together, tested until all are done, twenty times. */
static void startall(void)
{
    enum { MANY = 64 };
    int in[MANY], out[MANY];
    MPI_Request requests[2 * MANY];
    for (int i = 0; i < MANY; i++) {
        MPI_Recv_init(&in[i], 1, MPI_INT, from, i, MPI_COMM_WORLD, &requests[i]);
        MPI_Send_init(&out[i], 1, MPI_INT, to, i, MPI_COMM_WORLD, &requests[MANY + i]);
    }
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < MANY; i++) out[i] = round * 1000 + i + check_rank;
        MUST(MPI_Startall(2 * MANY, requests));
        for (int flag = 0; !flag;) MPI_Testall(2 * MANY, requests, &flag, MPI_STATUSES_IGNORE);
        for (int i = 0; i < MANY; i++) CHECK_EQ(in[i], round * 1000 + i + from);
    }
    for (int i = 0; i < 2 * MANY; i++) MPI_Request_free(&requests[i]);
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    to = (check_rank + 1) % check_size;
    from = (check_rank + check_size - 1) % check_size;
    all_modes();
    inactive();
    mixed();
    null_process();
    startall();
    return check_finish();
}

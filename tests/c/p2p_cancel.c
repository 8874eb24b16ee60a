/* Cancel (MPI-5.0 section 3.8.4): an unmatched receive can be cancelled, a matched one completes; every
 * cancelled request must still be waited for.
 * ranks: 1 2 3
 */
#include "check.h"

static void cancel_receive(void)
{
    int value = 7, flag = 0;
    MPI_Request request;
    MPI_Status status;
    MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 77, MPI_COMM_WORLD, &request);
    MUST(MPI_Cancel(&request));
    MUST(MPI_Wait(&request, &status));
    MUST(MPI_Test_cancelled(&status, &flag));
    CHECK(flag);
    CHECK_EQ(value, 7);
}

/* After the cancelled one, the next receive gets the message. */
static void message_goes_to_the_next(void)
{
    int to = (check_rank + 1) % check_size, from = (check_rank + check_size - 1) % check_size;
    int out = check_rank + 10, first = -1, second = -1, flag = 0;
    MPI_Request requests[2];
    MPI_Status status;
    MPI_Irecv(&first, 1, MPI_INT, from, 5, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(&second, 1, MPI_INT, from, 5, MPI_COMM_WORLD, &requests[1]);
    MPI_Cancel(&requests[0]);
    MPI_Wait(&requests[0], &status);
    MPI_Test_cancelled(&status, &flag);
    CHECK(flag);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Send(&out, 1, MPI_INT, to, 5, MPI_COMM_WORLD);
    MPI_Wait(&requests[1], &status);
    MPI_Test_cancelled(&status, &flag);
    CHECK(!flag);
    CHECK_EQ(first, -1);
    CHECK_EQ(second, from + 10);
}

static void completed_is_not_cancelled(void)
{
    int to = (check_rank + 1) % check_size, from = (check_rank + check_size - 1) % check_size;
    int out = 3, in = 0, flag = 1;
    MPI_Request request;
    MPI_Status status;
    MPI_Irecv(&in, 1, MPI_INT, from, 6, MPI_COMM_WORLD, &request);
    MPI_Send(&out, 1, MPI_INT, to, 6, MPI_COMM_WORLD);
    for (flag = 0; !flag;) MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE);
    MUST(MPI_Cancel(&request));
    MUST(MPI_Wait(&request, &status));
    MPI_Test_cancelled(&status, &flag);
    CHECK(!flag);
    CHECK_EQ(in, 3);
}

/* A persistent receive that was cancelled can be started again. */
static void persistent(void)
{
    int to = (check_rank + 1) % check_size, from = (check_rank + check_size - 1) % check_size;
    int out = 8, in = 0, flag = 0;
    MPI_Request request;
    MPI_Status status;
    MPI_Recv_init(&in, 1, MPI_INT, from, 9, MPI_COMM_WORLD, &request);
    MPI_Start(&request);
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &flag);
    CHECK(flag);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Start(&request);
    MPI_Send(&out, 1, MPI_INT, to, 9, MPI_COMM_WORLD);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &flag);
    CHECK(!flag);
    CHECK_EQ(in, 8);
    MPI_Request_free(&request);
}

/* A send may be marked for cancellation; either it is delivered or it is not, and wait returns. The
 * receiver here takes it when it was not cancelled. */
static void send(void)
{
    if (check_size < 2) return;
    int flag = 0, value = 12;
    if (check_rank == 0) {
        MPI_Request request;
        MPI_Status status;
        MPI_Isend(&value, 1, MPI_INT, 1, 20, MPI_COMM_WORLD, &request);
        MPI_Cancel(&request);
        MPI_Wait(&request, &status);
        MPI_Test_cancelled(&status, &flag);
        MPI_Send(&flag, 1, MPI_INT, 1, 21, MPI_COMM_WORLD);
    } else if (check_rank == 1) {
        MPI_Recv(&flag, 1, MPI_INT, 0, 21, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        value = 0;
        if (!flag) MPI_Recv(&value, 1, MPI_INT, 0, 20, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK_EQ(value, flag ? 0 : 12);
    }
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    cancel_receive();
    message_goes_to_the_next();
    completed_is_not_cancelled();
    persistent();
    send();
    return check_finish();
}

/* Cancelling sends (MPI-5.0 section 3.8.4): the wait of a cancelled send returns whatever the receiver does in
 * its program, and a message is either received or cancelled, never both, never neither.
 * ranks: 1 2 3
 */
#include "check.h"

static const int sizes[] = {0, 8, 40, 3000, 200000, 3 << 20};
enum { SIZES = sizeof sizes / sizeof *sizes };

static int is_cancelled(MPI_Request *request)
{
    int flag = -1;
    MPI_Status status;
    MUST(MPI_Wait(request, &status));
    MUST(MPI_Test_cancelled(&status, &flag));
    return flag;
}

/* Nobody receives: a synchronous send can only end by being cancelled. */
static void to_myself(int bytes)
{
    char *out = check_alloc((size_t)bytes);
    int flag = 1;
    MPI_Request request;
    MPI_Issend(out, bytes, MPI_BYTE, check_rank, 1, MPI_COMM_WORLD, &request);
    MUST(MPI_Cancel(&request));
    CHECK(is_cancelled(&request));
    MUST(MPI_Iprobe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
    CHECK(!flag);
    free(out);
}

/* A persistent send that was cancelled is inactive, and can be started again. */
static void persistent(void)
{
    int out = 5, in = 0;
    MPI_Request request;
    MPI_Ssend_init(&out, 1, MPI_INT, check_rank, 2, MPI_COMM_WORLD, &request);
    MPI_Start(&request);
    MUST(MPI_Cancel(&request));
    CHECK(is_cancelled(&request));
    MPI_Start(&request);
    MPI_Recv(&in, 1, MPI_INT, check_rank, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(!is_cancelled(&request));
    CHECK_EQ(in, 5);
    MPI_Request_free(&request);
}

/* The others are in a barrier all the while: they make progress, but receive nothing. */
static void to_the_busy(int bytes)
{
    char *out = check_alloc((size_t)bytes);
    int to = (check_rank + 1) % check_size, flag = 1;
    MPI_Request request;
    MPI_Issend(out, bytes, MPI_BYTE, to, 3, MPI_COMM_WORLD, &request);
    MUST(MPI_Cancel(&request));
    CHECK(is_cancelled(&request));
    MPI_Barrier(MPI_COMM_WORLD);
    MUST(MPI_Iprobe(MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
    CHECK(!flag);
    free(out);
}

/* The receiver may be faster than the cancellation. What the sender's status says is what happened. */
static void races(int bytes, int rounds)
{
    char *data = check_alloc((size_t)bytes);
    for (int round = 0; round < rounds && check_rank < 2; round++) {
        int gone;
        MPI_Request request, word;
        if (check_rank == 0) {
            check_fill(data, (size_t)bytes, round);
            MPI_Issend(data, bytes, MPI_BYTE, 1, 4, MPI_COMM_WORLD, &request);
            for (int i = 0; i < round; i++) MPI_Iprobe(1, 9, MPI_COMM_WORLD, &gone, MPI_STATUS_IGNORE);
            MUST(MPI_Cancel(&request));
            gone = is_cancelled(&request);
            /* Not the next round before this one's receive has ended. */
            MPI_Sendrecv(&gone, 1, MPI_INT, 1, 5, NULL, 0, MPI_INT, 1, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Status status;
            MPI_Irecv(data, bytes, MPI_BYTE, 0, 4, MPI_COMM_WORLD, &request);
            MPI_Irecv(&gone, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, &word);
            MUST(MPI_Wait(&word, MPI_STATUS_IGNORE));
            if (gone) MPI_Cancel(&request);
            MUST(MPI_Wait(&request, &status));
            int unmatched = -1;
            MPI_Test_cancelled(&status, &unmatched);
            CHECK_EQ(unmatched, gone);
            if (!gone) CHECK_DATA(data, bytes, round);
            MPI_Send(NULL, 0, MPI_INT, 0, 6, MPI_COMM_WORLD);
        }
    }
    free(data);
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    persistent();
    for (int s = 0; s < SIZES; s++) {
        to_myself(sizes[s]);
        MPI_Barrier(MPI_COMM_WORLD);
        to_the_busy(sizes[s]);
        if (check_size > 1) races(sizes[s], 40);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    return check_finish();
}

/* What partitioned communication has in common with other communication (MPI-5.0 chapter 4 and sections 3.7, 3.8 and
 * 7.6): statuses of both sides, all calls that complete, several requests at once, probes that see nothing of it, and
 * intercommunicators.
 * ranks: 2 3 4
 * timeout: 60
 */
#include "check.h"

enum { PARTITIONS = 3, EACH = 50 };

static int next_rank, previous_rank;

static void is_empty_status(const MPI_Status *status)
{
    int count = -1, cancelled = -1;
    CHECK_EQ(status->MPI_SOURCE, MPI_ANY_SOURCE);
    CHECK_EQ(status->MPI_TAG, MPI_ANY_TAG);
    MUST(MPI_Get_count(status, MPI_INT, &count));
    CHECK_EQ(count, 0);
    MUST(MPI_Test_cancelled(status, &cancelled));
    CHECK(!cancelled);
}

static void is_status_of(const MPI_Status *status, int source, int tag, int wanted)
{
    int count = -1, elements = -1, cancelled = -1;
    CHECK_EQ(status->MPI_SOURCE, source);
    CHECK_EQ(status->MPI_TAG, tag);
    MUST(MPI_Get_count(status, MPI_INT, &count));
    CHECK_EQ(count, wanted);
    MUST(MPI_Get_elements(status, MPI_INT, &elements));
    CHECK_EQ(elements, wanted);
    MUST(MPI_Test_cancelled(status, &cancelled));
    CHECK(!cancelled);
}

/* A receive tells of the whole; an inactive request has an empty status. */
static void statuses(void)
{
    int out[PARTITIONS * EACH], in[PARTITIONS * EACH], flag = 0, index = 0;
    MPI_Request send, receive, none = MPI_REQUEST_NULL;
    MPI_Status status;
    for (int i = 0; i < PARTITIONS * EACH; i++) out[i] = i + check_rank, in[i] = -1;
    MUST(MPI_Psend_init(out, PARTITIONS, EACH, MPI_INT, next_rank, 21, MPI_COMM_WORLD, MPI_INFO_NULL, &send));
    MUST(MPI_Precv_init(in, PARTITIONS, EACH, MPI_INT, previous_rank, 21, MPI_COMM_WORLD, MPI_INFO_NULL, &receive));
    MUST(MPI_Wait(&send, &status));
    is_empty_status(&status);
    MUST(MPI_Test(&receive, &flag, &status));
    CHECK(flag);
    is_empty_status(&status);
    MUST(MPI_Waitany(1, &send, &index, &status));
    CHECK_EQ(index, MPI_UNDEFINED);
    MUST(MPI_Start(&receive));
    MUST(MPI_Start(&send));
    MUST(MPI_Pready_range(0, PARTITIONS - 1, send));
    MUST(MPI_Wait(&send, MPI_STATUS_IGNORE));
    MUST(MPI_Wait(&receive, &status));
    is_status_of(&status, previous_rank, 21, PARTITIONS * EACH);
    /* A persistent request stays, and is inactive. */
    CHECK(send != MPI_REQUEST_NULL && receive != MPI_REQUEST_NULL);
    for (int i = 0; i < PARTITIONS * EACH; i++) CHECK_EQ(in[i], i + previous_rank);
    MUST(MPI_Parrived(none, 0, &flag));
    CHECK(flag);
    MUST(MPI_Request_free(&send));
    MUST(MPI_Request_free(&receive));
}

/* One call completes partitioned requests, plain ones and null. */
static void together(void)
{
    enum { SEND, RECEIVE, PLAIN_SEND, PLAIN_RECEIVE, NONE, REQUESTS };
    int out[PARTITIONS * EACH] = {0}, in[PARTITIONS * EACH], mine = check_rank, theirs = -1;
    MPI_Request requests[REQUESTS];
    MUST(MPI_Psend_init(out, PARTITIONS, EACH, MPI_INT, next_rank, 22, MPI_COMM_WORLD, MPI_INFO_NULL,
                        &requests[SEND]));
    MUST(MPI_Precv_init(in, PARTITIONS, EACH, MPI_INT, previous_rank, 22, MPI_COMM_WORLD, MPI_INFO_NULL,
                        &requests[RECEIVE]));
    MUST(MPI_Send_init(&mine, 1, MPI_INT, next_rank, 22, MPI_COMM_WORLD, &requests[PLAIN_SEND]));
    MUST(MPI_Recv_init(&theirs, 1, MPI_INT, previous_rank, 22, MPI_COMM_WORLD, &requests[PLAIN_RECEIVE]));
    requests[NONE] = MPI_REQUEST_NULL;
    for (int round = 0; round < 2; round++) {
        MPI_Status found[REQUESTS];
        int indices[REQUESTS], done = 0, count, seen = 0;
        MUST(MPI_Startall(4, requests));
        MUST(MPI_Pready_list(2, (int[]){2, 0}, requests[SEND]));
        MUST(MPI_Pready(1, requests[SEND]));
        while (done < 4) {
            MUST(round == 0 ? MPI_Waitsome(REQUESTS, requests, &count, indices, found)
                            : MPI_Testsome(REQUESTS, requests, &count, indices, found));
            CHECK(count != MPI_UNDEFINED);
            for (int i = 0; i < count; i++) {
                seen |= 1 << indices[i];
                if (indices[i] == RECEIVE) is_status_of(&found[i], previous_rank, 22, PARTITIONS * EACH);
            }
            done += count;
        }
        CHECK_EQ(seen, 0xf);
        CHECK_EQ(theirs, previous_rank);
        MUST(MPI_Waitsome(REQUESTS, requests, &count, indices, found));
        CHECK_EQ(count, MPI_UNDEFINED);
    }
    for (int i = 0; i < NONE; i++) MUST(MPI_Request_free(&requests[i]));
}

/* Probes are for messages, of which partitions are none. */
static void probes(void)
{
    int out[PARTITIONS * EACH] = {0}, in[PARTITIONS * EACH], flag = -1, mark = 7;
    MPI_Request send, receive;
    MPI_Message message;
    MPI_Status status;
    MUST(MPI_Psend_init(out, PARTITIONS, EACH, MPI_INT, next_rank, 23, MPI_COMM_WORLD, MPI_INFO_NULL, &send));
    MUST(MPI_Start(&send));
    MUST(MPI_Pready_range(0, PARTITIONS - 1, send));
    MUST(MPI_Send(&mark, 1, MPI_INT, next_rank, 24, MPI_COMM_WORLD));
    /* What was sent later is there. */
    MUST(MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
    CHECK_EQ(status.MPI_TAG, 24);
    MUST(MPI_Iprobe(previous_rank, 23, MPI_COMM_WORLD, &flag, &status));
    CHECK(!flag);
    MUST(MPI_Improbe(previous_rank, 23, MPI_COMM_WORLD, &flag, &message, &status));
    CHECK(!flag);
    MUST(MPI_Recv(&mark, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
    CHECK_EQ(status.MPI_TAG, 24);
    MUST(MPI_Precv_init(in, PARTITIONS, EACH, MPI_INT, previous_rank, 23, MPI_COMM_WORLD, MPI_INFO_NULL, &receive));
    MUST(MPI_Start(&receive));
    MUST(MPI_Wait(&receive, MPI_STATUS_IGNORE));
    MUST(MPI_Wait(&send, MPI_STATUS_IGNORE));
    MUST(MPI_Request_free(&send));
    MUST(MPI_Request_free(&receive));
}

/* Ranks of the other group are meant. */
static void across_groups(void)
{
    int low = check_rank < check_size / 2, far, rank, out[PARTITIONS], in[PARTITIONS], arrived = 0;
    MPI_Comm half, inter;
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Status found[2];
    MPI_Comm_split(MPI_COMM_WORLD, low, 0, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, low ? check_size / 2 : 0, 5, &inter);
    MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
    MPI_Comm_remote_size(inter, &far);
    MPI_Comm_rank(inter, &rank);
    CHECK_ERROR(MPI_Psend_init(out, 1, 1, MPI_INT, far, 1, inter, MPI_INFO_NULL, &requests[0]), MPI_ERR_RANK,
                "MPI_Psend_init");
    /* The first of each side have a pair. */
    if (rank == 0) {
        for (int i = 0; i < PARTITIONS; i++) out[i] = 100 * low + i, in[i] = -1;
        MUST(MPI_Psend_init(out, PARTITIONS, 1, MPI_INT, 0, 1, inter, MPI_INFO_NULL, &requests[0]));
        MUST(MPI_Precv_init(in, 1, PARTITIONS, MPI_INT, 0, 1, inter, MPI_INFO_NULL, &requests[1]));
        MUST(MPI_Startall(2, requests));
        for (int i = PARTITIONS - 1; i >= 0; i--) MUST(MPI_Pready(i, requests[0]));
        while (!arrived) MUST(MPI_Parrived(requests[1], 0, &arrived));
        for (int i = 0; i < PARTITIONS; i++) CHECK_EQ(in[i], 100 * !low + i);
        MUST(MPI_Waitall(2, requests, found));
        is_status_of(&found[1], 0, 1, PARTITIONS);
        MUST(MPI_Request_free(&requests[0]));
        MUST(MPI_Request_free(&requests[1]));
    }
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    next_rank = (check_rank + 1) % check_size;
    previous_rank = (check_rank + check_size - 1) % check_size;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    statuses();
    together();
    probes();
    across_groups();
    return check_finish();
}

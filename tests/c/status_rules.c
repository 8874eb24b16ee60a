/* What statuses hold (MPI-5.0 sections 3.2.5, 3.7.3, 3.7.5, 3.8 and 3.11): the empty one of null and inactive
 * requests, that of the null process, MPI_ERROR only where several are returned, counts that are no whole number
 * of elements.
 * ranks: 1 2
 * timeout: 60
 */
#include "check.h"

enum { MARK = 4711 };

static MPI_Status marked(void)
{
    MPI_Status status;
    memset(&status, 0x5a, sizeof status);
    status.MPI_ERROR = MARK;
    return status;
}

/* Source, tag, error and count of an empty status; it was not cancelled. */
static void is_empty(MPI_Status *status)
{
    int count = -1, cancelled = -1;
    CHECK_EQ(status->MPI_SOURCE, MPI_ANY_SOURCE);
    CHECK_EQ(status->MPI_TAG, MPI_ANY_TAG);
    CHECK_EQ(status->MPI_ERROR, MPI_SUCCESS);
    MUST(MPI_Get_count(status, MPI_INT, &count));
    CHECK_EQ(count, 0);
    MUST(MPI_Get_elements(status, MPI_INT, &count));
    CHECK_EQ(count, 0);
    MUST(MPI_Test_cancelled(status, &cancelled));
    CHECK_EQ(cancelled, 0);
}

static void is_of_nobody(MPI_Status *status)
{
    int count = -1;
    CHECK_EQ(status->MPI_SOURCE, MPI_PROC_NULL);
    CHECK_EQ(status->MPI_TAG, MPI_ANY_TAG);
    MUST(MPI_Get_count(status, MPI_INT, &count));
    CHECK_EQ(count, 0);
}

/* Every call that completes, with one request that is null or inactive. */
static void with_request(MPI_Request request)
{
    MPI_Request same = request;
    MPI_Status status = marked();
    int flag = 0, index = -7;
    MUST(MPI_Wait(&same, &status));
    is_empty(&status);
    CHECK(same == request);
    status = marked();
    MUST(MPI_Test(&same, &flag, &status));
    CHECK(flag);
    is_empty(&status);
    status = marked();
    MUST(MPI_Waitany(1, &same, &index, &status));
    CHECK_EQ(index, MPI_UNDEFINED);
    is_empty(&status);
    status = marked(), index = -7, flag = 0;
    MUST(MPI_Testany(1, &same, &index, &flag, &status));
    CHECK(flag);
    CHECK_EQ(index, MPI_UNDEFINED);
    is_empty(&status);
    status = marked();
    MUST(MPI_Waitall(1, &same, &status));
    is_empty(&status);
    status = marked(), flag = 0;
    MUST(MPI_Testall(1, &same, &flag, &status));
    CHECK(flag);
    is_empty(&status);
    int outcount = -7;
    MUST(MPI_Waitsome(1, &same, &outcount, &index, &status));
    CHECK_EQ(outcount, MPI_UNDEFINED);
    outcount = -7;
    MUST(MPI_Testsome(1, &same, &outcount, &index, &status));
    CHECK_EQ(outcount, MPI_UNDEFINED);
    status = marked(), flag = 0;
    MUST(MPI_Request_get_status(same, &flag, &status));
    CHECK(flag);
    is_empty(&status);
    CHECK(same == request);
}

static void nothing_active(void)
{
    MPI_Request request;
    int value = 0, index = -7, flag = 0, outcount = -7;
    MPI_Status status;
    with_request(MPI_REQUEST_NULL);
    MUST(MPI_Recv_init(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &request));
    with_request(request);
    MUST(MPI_Request_free(&request));
    MUST(MPI_Ssend_init(&value, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &request));
    with_request(request);
    MUST(MPI_Request_free(&request));
    /* A list of no length. */
    MUST(MPI_Waitany(0, NULL, &index, MPI_STATUS_IGNORE));
    CHECK_EQ(index, MPI_UNDEFINED);
    MUST(MPI_Testany(0, NULL, &index, &flag, MPI_STATUS_IGNORE));
    CHECK(flag && index == MPI_UNDEFINED);
    MUST(MPI_Testall(0, NULL, &flag, MPI_STATUSES_IGNORE));
    CHECK(flag);
    MUST(MPI_Waitall(0, NULL, MPI_STATUSES_IGNORE));
    MUST(MPI_Waitsome(0, NULL, &outcount, &index, &status));
    CHECK_EQ(outcount, MPI_UNDEFINED);
}

static void null_process(void)
{
    MPI_Request request;
    MPI_Message message;
    MPI_Status status = marked();
    int value = 5, flag = 0;
    MUST(MPI_Recv(&value, 1, MPI_INT, MPI_PROC_NULL, 3, MPI_COMM_WORLD, &status));
    is_of_nobody(&status);
    CHECK_EQ(status.MPI_ERROR, MARK);
    status = marked();
    MUST(MPI_Irecv(&value, 1, MPI_INT, MPI_PROC_NULL, 3, MPI_COMM_WORLD, &request));
    MUST(MPI_Wait(&request, &status));
    is_of_nobody(&status);
    CHECK_EQ(status.MPI_ERROR, MARK);
    status = marked();
    MUST(MPI_Sendrecv(&value, 1, MPI_INT, MPI_PROC_NULL, 3, &value, 1, MPI_INT, MPI_PROC_NULL, 3, MPI_COMM_WORLD,
                      &status));
    is_of_nobody(&status);
    status = marked();
    MUST(MPI_Probe(MPI_PROC_NULL, 3, MPI_COMM_WORLD, &status));
    is_of_nobody(&status);
    status = marked();
    MUST(MPI_Iprobe(MPI_PROC_NULL, 3, MPI_COMM_WORLD, &flag, &status));
    CHECK(flag);
    is_of_nobody(&status);
    status = marked();
    MUST(MPI_Mprobe(MPI_PROC_NULL, 3, MPI_COMM_WORLD, &message, &status));
    CHECK(message == MPI_MESSAGE_NO_PROC);
    is_of_nobody(&status);
    status = marked();
    MUST(MPI_Mrecv(&value, 1, MPI_INT, &message, &status));
    CHECK(message == MPI_MESSAGE_NULL);
    is_of_nobody(&status);
    CHECK_EQ(value, 5);
}

/* A real message: one status leaves MPI_ERROR alone, and so do several as long as all is well with the call. */
static void messages(void)
{
    MPI_Request requests[2];
    MPI_Status status = marked(), both[2] = {marked(), marked()};
    char out[6] = "abcde", in[6];
    int count = 0;
    MUST(MPI_Irecv(in, 6, MPI_CHAR, 0, 1, MPI_COMM_SELF, &requests[0]));
    MUST(MPI_Send(out, 6, MPI_CHAR, 0, 1, MPI_COMM_SELF));
    MUST(MPI_Wait(&requests[0], &status));
    CHECK_EQ(status.MPI_ERROR, MARK);
    CHECK_EQ(status.MPI_SOURCE, 0);
    CHECK_EQ(status.MPI_TAG, 1);
    /* Six bytes are one and a half times an int. */
    MUST(MPI_Get_count(&status, MPI_INT, &count));
    CHECK_EQ(count, MPI_UNDEFINED);
    MUST(MPI_Get_count(&status, MPI_CHAR, &count));
    CHECK_EQ(count, 6);
    for (int i = 0; i < 2; i++) MUST(MPI_Irecv(in, 3, MPI_CHAR, 0, i, MPI_COMM_SELF, &requests[i]));
    for (int i = 0; i < 2; i++) MUST(MPI_Send(out, 3, MPI_CHAR, 0, i, MPI_COMM_SELF));
    MUST(MPI_Waitall(2, requests, both));
    for (int i = 0; i < 2; i++) CHECK_EQ(both[i].MPI_TAG, i);

    /* One of two is too long: its class is in its status, and the other's is success. */
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MUST(MPI_Irecv(in, 1, MPI_CHAR, 0, 0, MPI_COMM_SELF, &requests[0]));
    MUST(MPI_Irecv(in + 1, 3, MPI_CHAR, 0, 1, MPI_COMM_SELF, &requests[1]));
    for (int i = 0; i < 2; i++) MUST(MPI_Send(out, 3, MPI_CHAR, 0, i, MPI_COMM_SELF));
    both[0] = both[1] = marked();
    int class = 0;
    MPI_Error_class(MPI_Waitall(2, requests, both), &class);
    CHECK_EQ(class, MPI_ERR_IN_STATUS);
    MPI_Error_class(both[0].MPI_ERROR, &class);
    CHECK_EQ(class, MPI_ERR_TRUNCATE);
    CHECK_EQ(both[1].MPI_ERROR, MPI_SUCCESS);
    CHECK(requests[0] == MPI_REQUEST_NULL && requests[1] == MPI_REQUEST_NULL);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
}

/* A collective that completes a request: nothing of its status means anything but that it was not cancelled. */
static void collectives(void)
{
    MPI_Request request;
    MPI_Status status = marked();
    int cancelled = -1;
    MUST(MPI_Ibarrier(MPI_COMM_WORLD, &request));
    MUST(MPI_Wait(&request, &status));
    CHECK_EQ(status.MPI_ERROR, MARK);
    MUST(MPI_Test_cancelled(&status, &cancelled));
    CHECK_EQ(cancelled, 0);
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    nothing_active();
    null_process();
    messages();
    collectives();
    return check_finish();
}

/* Mistakes with partitioned communication (MPI-5.0 chapter 4): each is an error of the standard's class, and changes
 * nothing.
 * ranks: 1 2
 * timeout: 60
 */
#include "check.h"

static int next_rank, previous_rank;

static void inits(void)
{
    int data[4];
    MPI_Request request;
    CHECK_ERROR(MPI_Precv_init(data, 2, 2, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request),
                MPI_ERR_RANK, "MPI_Precv_init");
    CHECK(request == MPI_REQUEST_NULL);
    CHECK_ERROR(MPI_Precv_init(data, 2, 2, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_INFO_NULL, &request),
                MPI_ERR_TAG, "MPI_Precv_init");
    CHECK_ERROR(MPI_Psend_init(data, 2, 2, MPI_INT, check_size, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request),
                MPI_ERR_RANK, "MPI_Psend_init");
    CHECK_ERROR(MPI_Psend_init(data, 2, 2, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request),
                MPI_ERR_RANK, "MPI_Psend_init");
    CHECK_ERROR(MPI_Psend_init(data, 2, 2, MPI_INT, 0, -1, MPI_COMM_WORLD, MPI_INFO_NULL, &request), MPI_ERR_TAG,
                "MPI_Psend_init");
    CHECK_ERROR(MPI_Psend_init(data, -1, 2, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request), MPI_ERR_ARG,
                "MPI_Psend_init");
    CHECK_ERROR(MPI_Psend_init(data, 2, -2, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request), MPI_ERR_COUNT,
                "MPI_Psend_init");
    CHECK_ERROR(MPI_Psend_init(NULL, 2, 2, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request), MPI_ERR_BUFFER,
                "MPI_Psend_init");
    CHECK_ERROR(MPI_Psend_init(data, 2, 2, MPI_DATATYPE_NULL, 0, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request),
                MPI_ERR_TYPE, "MPI_Psend_init");
    CHECK_ERROR(MPI_Psend_init(data, 2, 2, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_INFO_NULL, NULL), MPI_ERR_ARG,
                "MPI_Psend_init");
}

/* The count is MPI_Count, as in the standard. None is too large for an empty datatype: memory lacks bytes only. */
static void large_counts(void)
{
    int data;
    MPI_Count count = INT64_C(1) << 61;
    MPI_Datatype empty;
    MPI_Request request;
    CHECK_ERROR(MPI_Psend_init(&data, 1, count, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request),
                MPI_ERR_COUNT, "MPI_Psend_init");
    CHECK_ERROR(MPI_Irecv_c(&data, count, MPI_INT, 0, 0, MPI_COMM_WORLD, &request), MPI_ERR_COUNT, "MPI_Irecv_c");
    MUST(MPI_Type_contiguous(0, MPI_INT, &empty));
    MUST(MPI_Type_commit(&empty));
    MUST(MPI_Precv_init(NULL, 4, count, empty, MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request));
    MUST(MPI_Request_free(&request));
    MPI_Type_free(&empty);
}

static void partitions(void)
{
    int out[4] = {1, 2, 3, 4}, in[4] = {0}, flag, list[] = {1, 3, 1}, left[] = {3};
    MPI_Request send, receive, plain, copy;
    MUST(MPI_Psend_init(out, 4, 1, MPI_INT, next_rank, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &send));
    MUST(MPI_Precv_init(in, 4, 1, MPI_INT, previous_rank, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &receive));
    CHECK_ERROR(MPI_Pready(0, send), MPI_ERR_REQUEST, "MPI_Pready"); /* Inactive. */
    MUST(MPI_Start(&send));
    MUST(MPI_Start(&receive));
    CHECK_ERROR(MPI_Start(&send), MPI_ERR_REQUEST, "MPI_Start");
    CHECK_ERROR(MPI_Start(&receive), MPI_ERR_REQUEST, "MPI_Start");
    copy = send;
    CHECK_ERROR(MPI_Request_free(&send), MPI_ERR_REQUEST, "MPI_Request_free");
    CHECK(send == copy);
    CHECK_ERROR(MPI_Cancel(&send), MPI_ERR_REQUEST, "MPI_Cancel");
    CHECK_ERROR(MPI_Cancel(&receive), MPI_ERR_REQUEST, "MPI_Cancel");
    CHECK_ERROR(MPI_Pready(4, send), MPI_ERR_ARG, "MPI_Pready");
    CHECK_ERROR(MPI_Pready(-1, send), MPI_ERR_ARG, "MPI_Pready");
    CHECK_ERROR(MPI_Pready_range(2, 1, send), MPI_ERR_ARG, "MPI_Pready_range");
    CHECK_ERROR(MPI_Pready_range(0, 4, send), MPI_ERR_ARG, "MPI_Pready_range");
    CHECK_ERROR(MPI_Pready_list(3, list, send), MPI_ERR_ARG, "MPI_Pready_list");
    CHECK_ERROR(MPI_Pready_list(-1, list, send), MPI_ERR_COUNT, "MPI_Pready_list");
    CHECK_ERROR(MPI_Pready_list(1, NULL, send), MPI_ERR_ARG, "MPI_Pready_list");
    CHECK_ERROR(MPI_Pready(0, receive), MPI_ERR_REQUEST, "MPI_Pready");
    CHECK_ERROR(MPI_Pready(0, MPI_REQUEST_NULL), MPI_ERR_REQUEST, "MPI_Pready");
    CHECK_ERROR(MPI_Parrived(receive, 4, &flag), MPI_ERR_ARG, "MPI_Parrived");
    CHECK_ERROR(MPI_Parrived(receive, -1, &flag), MPI_ERR_ARG, "MPI_Parrived");
    CHECK_ERROR(MPI_Parrived(send, 0, &flag), MPI_ERR_REQUEST, "MPI_Parrived");
    CHECK_ERROR(MPI_Parrived(receive, 0, NULL), MPI_ERR_ARG, "MPI_Parrived");
    MUST(MPI_Recv_init(in, 0, MPI_INT, previous_rank, 9, MPI_COMM_WORLD, &plain));
    CHECK_ERROR(MPI_Pready(0, plain), MPI_ERR_REQUEST, "MPI_Pready");
    CHECK_ERROR(MPI_Parrived(plain, 0, &flag), MPI_ERR_REQUEST, "MPI_Parrived");
    MPI_Request_free(&plain);
    MUST(MPI_Pready(1, send));
    CHECK_ERROR(MPI_Pready(1, send), MPI_ERR_ARG, "MPI_Pready");
    CHECK_ERROR(MPI_Pready_range(0, 3, send), MPI_ERR_ARG, "MPI_Pready_range");
    MUST(MPI_Pready_range(2, 2, send));
    MUST(MPI_Pready(0, send));
    MUST(MPI_Test(&send, &flag, MPI_STATUS_IGNORE));
    CHECK(!flag);
    MUST(MPI_Pready_list(0, NULL, send));
    MUST(MPI_Pready_list(1, left, send));
    MUST(MPI_Wait(&send, MPI_STATUS_IGNORE));
    MUST(MPI_Wait(&receive, MPI_STATUS_IGNORE));
    CHECK(in[0] == 1 && in[1] == 2 && in[2] == 3 && in[3] == 4);
    CHECK_ERROR(MPI_Pready(0, send), MPI_ERR_REQUEST, "MPI_Pready");
    MUST(MPI_Request_free(&send));
    MUST(MPI_Request_free(&receive));
    CHECK_ERROR(MPI_Pready(0, copy), MPI_ERR_REQUEST, "MPI_Pready");
}

/* More is sent than the receive has room for. */
static void too_long(void)
{
    int out[6] = {1, 2, 3, 4, 5, 6}, in[4] = {0};
    MPI_Request requests[2];
    MUST(MPI_Psend_init(out, 3, 2, MPI_INT, next_rank, 2, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]));
    MUST(MPI_Precv_init(in, 2, 2, MPI_INT, previous_rank, 2, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]));
    MUST(MPI_Startall(2, requests));
    MUST(MPI_Pready_range(0, 2, requests[0]));
    MUST(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
    CHECK_ERROR(MPI_Wait(&requests[1], MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE, "MPI_Wait");
    CHECK(in[0] == 1 && in[3] == 4);
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
}

/* The other side frees its request instead of starting it again. */
static void partner_gone(void)
{
    int out = 1, in = 0;
    MPI_Request requests[2];
    MUST(MPI_Psend_init(&out, 1, 1, MPI_INT, next_rank, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]));
    MUST(MPI_Precv_init(&in, 1, 1, MPI_INT, previous_rank, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]));
    MUST(MPI_Request_free(&requests[0]));
    MUST(MPI_Start(&requests[1]));
    CHECK_ERROR(MPI_Wait(&requests[1], MPI_STATUS_IGNORE), MPI_ERR_REQUEST, "MPI_Wait");
    MUST(MPI_Request_free(&requests[1]));
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    next_rank = (check_rank + 1) % check_size;
    previous_rank = (check_rank + check_size - 1) % check_size;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    inits();
    large_counts();
    partitions();
    too_long();
    partner_gone();
    return check_finish();
}

/* Wrong arguments (MPI-5.0 section 9.4): each gives its class through the error handler, the message names
 * the call, nothing crashes, and MPI works on afterwards.
 * ranks: 1 2
 */
#include "check.h"

static MPI_Comm comm;
static int value, self;

static void point_to_point(void)
{
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Status status;
    MPI_Message message;
    int flag;
    CHECK_ERROR(MPI_Send(&value, 1, MPI_INT, check_size, 0, comm), MPI_ERR_RANK, "MPI_Send");
    CHECK_ERROR(MPI_Send(&value, 1, MPI_INT, -7, 0, comm), MPI_ERR_RANK, "MPI_Send");
    CHECK_ERROR(MPI_Send(&value, 1, MPI_INT, MPI_ANY_SOURCE, 0, comm), MPI_ERR_RANK, "MPI_Send");
    CHECK_ERROR(MPI_Send(&value, -1, MPI_INT, self, 0, comm), MPI_ERR_COUNT, "MPI_Send");
    CHECK_ERROR(MPI_Send(&value, 1, MPI_INT, self, -5, comm), MPI_ERR_TAG, "MPI_Send");
    CHECK_ERROR(MPI_Send(&value, 1, MPI_INT, self, MPI_ANY_TAG, comm), MPI_ERR_TAG, "MPI_Send");
    CHECK_ERROR(MPI_Send(&value, 1, MPI_DATATYPE_NULL, self, 0, comm), MPI_ERR_TYPE, "MPI_Send");
    CHECK_ERROR(MPI_Send(NULL, 1, MPI_INT, self, 0, comm), MPI_ERR_BUFFER, "MPI_Send");
    CHECK_ERROR(MPI_Send(&value, 1, MPI_INT, self, 0, MPI_COMM_NULL), MPI_ERR_COMM, "MPI_Send");
    CHECK_ERROR(MPI_Recv(&value, 1, MPI_INT, check_size + 3, 0, comm, &status), MPI_ERR_RANK, "MPI_Recv");
    CHECK_ERROR(MPI_Recv(&value, -4, MPI_INT, self, 0, comm, &status), MPI_ERR_COUNT, "MPI_Recv");
    CHECK_ERROR(MPI_Recv(&value, 1, MPI_INT, self, -9, comm, &status), MPI_ERR_TAG, "MPI_Recv");
    CHECK_ERROR(MPI_Recv(NULL, 1, MPI_INT, self, 0, comm, &status), MPI_ERR_BUFFER, "MPI_Recv");
    CHECK_ERROR(MPI_Isend(&value, 1, MPI_INT, check_size, 0, comm, &request), MPI_ERR_RANK, "MPI_Isend");
    CHECK_ERROR(MPI_Irecv(&value, -1, MPI_INT, self, 0, comm, &request), MPI_ERR_COUNT, "MPI_Irecv");
    CHECK_ERROR(MPI_Ssend(&value, 1, MPI_INT, check_size, 0, comm), MPI_ERR_RANK, "MPI_Ssend");
    CHECK_ERROR(MPI_Issend(&value, 1, MPI_INT, self, -3, comm, &request), MPI_ERR_TAG, "MPI_Issend");
    CHECK_ERROR(MPI_Rsend(&value, -1, MPI_INT, self, 0, comm), MPI_ERR_COUNT, "MPI_Rsend");
    CHECK_ERROR(MPI_Bsend(&value, 1, MPI_INT, check_size, 0, comm), MPI_ERR_RANK, "MPI_Bsend");
    CHECK_ERROR(MPI_Send_init(&value, 1, MPI_INT, check_size, 0, comm, &request), MPI_ERR_RANK, "MPI_Send_init");
    CHECK_ERROR(MPI_Recv_init(&value, -1, MPI_INT, 0, 0, comm, &request), MPI_ERR_COUNT, "MPI_Recv_init");
    CHECK_ERROR(MPI_Probe(check_size, 0, comm, &status), MPI_ERR_RANK, "MPI_Probe");
    CHECK_ERROR(MPI_Iprobe(self, -3, comm, &flag, &status), MPI_ERR_TAG, "MPI_Iprobe");
    CHECK_ERROR(MPI_Mprobe(check_size, 0, comm, &message, &status), MPI_ERR_RANK, "MPI_Mprobe");
    CHECK_ERROR(MPI_Sendrecv(&value, 1, MPI_INT, check_size, 0, &flag, 1, MPI_INT, self, 0, comm, &status),
                MPI_ERR_RANK, "MPI_Sendrecv");
    CHECK_ERROR(MPI_Sendrecv_replace(&value, -1, MPI_INT, self, 0, self, 0, comm, &status), MPI_ERR_COUNT,
                "MPI_Sendrecv_replace");
    CHECK_ERROR(MPI_Send_c(&value, -1, MPI_INT, self, 0, comm), MPI_ERR_COUNT, "MPI_Send_c");
    message = MPI_MESSAGE_NULL;
    CHECK_ERROR(MPI_Mrecv(&value, 1, MPI_INT, &message, &status), MPI_ERR_REQUEST, "MPI_Mrecv");
    CHECK_ERROR(MPI_Start(&(MPI_Request){MPI_REQUEST_NULL}), MPI_ERR_REQUEST, "MPI_Start");
}

/* Addresses that certainly are none: null, unless the datatype holds addresses, and the standard's special ones. */
static void no_buffer(void)
{
    MPI_Datatype three, there;
    MPI_Aint address;
    MPI_Status status;
    int values[4] = {1, 2, 3, 4}, count, position = 0, index;
    MPI_Type_contiguous(3, MPI_INT, &three);
    MPI_Type_commit(&three);
    CHECK_ERROR(MPI_Send(NULL, 1, three, self, 0, comm), MPI_ERR_BUFFER, "MPI_Send");
    CHECK_ERROR(MPI_Send(MPI_IN_PLACE, 1, MPI_INT, self, 0, comm), MPI_ERR_BUFFER, "MPI_IN_PLACE");
    CHECK_ERROR(MPI_Recv(MPI_IN_PLACE, 1, MPI_INT, self, 0, comm, &status), MPI_ERR_BUFFER, "MPI_IN_PLACE");
#ifdef MPI_BUFFER_AUTOMATIC
    CHECK_ERROR(MPI_Send(MPI_BUFFER_AUTOMATIC, 1, MPI_INT, self, 0, comm), MPI_ERR_BUFFER, "MPI_Send");
    CHECK_ERROR(MPI_Recv(MPI_BUFFER_AUTOMATIC, 1, three, self, 0, comm, &status), MPI_ERR_BUFFER, "MPI_Recv");
#endif
    CHECK_ERROR(MPI_Pack(NULL, 1, three, values, sizeof values, &position, comm), MPI_ERR_BUFFER, "MPI_Pack");
    CHECK_ERROR(MPI_Allreduce(values, MPI_IN_PLACE, 1, MPI_INT, MPI_SUM, comm), MPI_ERR_BUFFER, "MPI_IN_PLACE");
    CHECK_ERROR(MPI_Allgather(values, 1, three, NULL, 1, three, comm), MPI_ERR_BUFFER, "recvbuf");
    CHECK_ERROR(MPI_Request_get_status_some(1, &(MPI_Request){MPI_REQUEST_NULL}, &count, NULL, &status),
                MPI_ERR_ARG, "array_of_indices");
    MUST(MPI_Request_get_status_some(0, NULL, &count, NULL, MPI_STATUSES_IGNORE));
    /* Right: nothing is there to be sent, or the datatype says where. */
    MUST(MPI_Sendrecv(NULL, 0, three, self, 1, NULL, 0, MPI_INT, self, 1, comm, &status));
    MPI_Get_address(values, &address);
    MPI_Type_create_hindexed_block(1, 2, &address, MPI_INT, &there);
    MPI_Type_commit(&there);
    MUST(MPI_Sendrecv(MPI_BOTTOM, 1, there, self, 1, values + 2, 2, MPI_INT, self, 1, comm, &status));
    for (index = 0; index < 4; index++) CHECK_EQ(values[index], index % 2 + 1);
    MPI_Type_free(&there);
    MPI_Type_free(&three);
}

static void truncation(int big_count)
{
    int *big = check_alloc(sizeof(int) * big_count), small[4] = {-1, -1, -1, -1};
    MPI_Request request;
    MPI_Status status;
    memset(big, 0, sizeof(int) * big_count);
    /* Expected. */
    MPI_Irecv(small, 2, MPI_INT, self, 1, comm, &request);
    MPI_Request sent;
    MPI_Isend(big, big_count, MPI_INT, self, 1, comm, &sent);
    CHECK_ERROR(MPI_Wait(&request, &status), MPI_ERR_TRUNCATE, "MPI_Wait");
    MPI_Wait(&sent, MPI_STATUS_IGNORE);
    CHECK_EQ(small[2], -1);
    /* Unexpected. */
    MPI_Isend(big, big_count, MPI_INT, self, 2, comm, &sent);
    CHECK_ERROR(MPI_Recv(small, 2, MPI_INT, self, 2, comm, &status), MPI_ERR_TRUNCATE, "MPI_Recv");
    MPI_Wait(&sent, MPI_STATUS_IGNORE);
    CHECK_EQ(small[2], -1);
    /* From another rank. */
    if (check_size > 1) {
        int to = (check_rank + 1) % check_size, from = (check_rank + check_size - 1) % check_size;
        MPI_Irecv(small, 2, MPI_INT, from, 3, comm, &request);
        MPI_Barrier(comm);
        MPI_Send(big, big_count, MPI_INT, to, 3, comm);
        CHECK_ERROR(MPI_Wait(&request, &status), MPI_ERR_TRUNCATE, "MPI_Wait");
        CHECK_EQ(small[2], -1);
    }
    free(big);
}

static void types(void)
{
    MPI_Datatype type, open;
    int size, lengths[1] = {-1}, places[1] = {0};
    MPI_Type_contiguous(2, MPI_INT, &open);
    CHECK_ERROR(MPI_Send(&value, 1, open, self, 0, comm), MPI_ERR_TYPE, "MPI_Send");
    MPI_Type_free(&open);
    CHECK_ERROR(MPI_Type_contiguous(-1, MPI_INT, &type), MPI_ERR_COUNT, "MPI_Type_contiguous");
    CHECK_ERROR(MPI_Type_contiguous(1, MPI_DATATYPE_NULL, &type), MPI_ERR_TYPE, "MPI_Type_contiguous");
    CHECK_ERROR(MPI_Type_vector(-2, 1, 1, MPI_INT, &type), MPI_ERR_COUNT, "MPI_Type_vector");
    CHECK(MPI_Type_indexed(1, lengths, places, MPI_INT, &type) != MPI_SUCCESS);
    CHECK_ERROR(MPI_Type_size(MPI_DATATYPE_NULL, &size), MPI_ERR_TYPE, "MPI_Type_size");
    type = MPI_INT;
    CHECK_ERROR(MPI_Type_free(&type), MPI_ERR_TYPE, "MPI_Type_free");
    /* A part larger than the whole (section 5.1.3); MPICH 5.0.2 lets it pass. */
    int sizes[1] = {4}, parts[1] = {5}, starts[1] = {0};
    CHECK_ERROR(MPI_Type_create_subarray(1, sizes, parts, starts, MPI_ORDER_C, MPI_INT, &type), MPI_ERR_ARG,
                "MPI_Type_create_subarray");
    CHECK_ERROR(MPI_Type_create_subarray(1, sizes, sizes, starts, 999, MPI_INT, &type), MPI_ERR_ARG,
                "MPI_Type_create_subarray");
}

static void collectives(void)
{
    int in[4] = {0}, out[4];
    CHECK_ERROR(MPI_Bcast(in, 1, MPI_INT, check_size, comm), MPI_ERR_ROOT, "MPI_Bcast");
    CHECK_ERROR(MPI_Bcast(in, -1, MPI_INT, 0, comm), MPI_ERR_COUNT, "MPI_Bcast");
    CHECK_ERROR(MPI_Bcast(in, 1, MPI_DATATYPE_NULL, 0, comm), MPI_ERR_TYPE, "MPI_Bcast");
    CHECK_ERROR(MPI_Reduce(in, out, 1, MPI_INT, MPI_SUM, -1, comm), MPI_ERR_ROOT, "MPI_Reduce");
    /* MPICH 5.0.2 crashes here. */
    CHECK_ERROR(MPI_Allreduce(in, out, 1, MPI_INT, MPI_OP_NULL, comm), MPI_ERR_OP, "MPI_Allreduce");
    CHECK_ERROR(MPI_Allreduce(in, out, -1, MPI_INT, MPI_SUM, comm), MPI_ERR_COUNT, "MPI_Allreduce");
    CHECK_ERROR(MPI_Allreduce(in, in, 1, MPI_INT, MPI_SUM, comm), MPI_ERR_BUFFER, "MPI_Allreduce");
    CHECK_ERROR(MPI_Gather(in, 1, MPI_INT, out, 1, MPI_INT, check_size + 1, comm), MPI_ERR_ROOT, "MPI_Gather");
    CHECK_ERROR(MPI_Scatter(in, 1, MPI_INT, out, 1, MPI_INT, -6, comm), MPI_ERR_ROOT, "MPI_Scatter");
    CHECK_ERROR(MPI_Allgather(in, -1, MPI_INT, out, 1, MPI_INT, comm), MPI_ERR_COUNT, "MPI_Allgather");
    CHECK_ERROR(MPI_Alltoall(in, 1, MPI_DATATYPE_NULL, out, 1, MPI_INT, comm), MPI_ERR_TYPE, "MPI_Alltoall");
    CHECK_ERROR(MPI_Barrier(MPI_COMM_NULL), MPI_ERR_COMM, "MPI_Barrier");
}

static void objects(void)
{
    MPI_Comm other = MPI_COMM_NULL;
    MPI_Group group = MPI_GROUP_NULL;
    MPI_Op op = MPI_SUM;
    int n, rank[1] = {check_size}, twice[2] = {0, 0};
    CHECK_ERROR(MPI_Comm_size(MPI_COMM_NULL, &n), MPI_ERR_COMM, "MPI_Comm_size");
    CHECK_ERROR(MPI_Comm_rank(MPI_COMM_NULL, &n), MPI_ERR_COMM, "MPI_Comm_rank");
    CHECK_ERROR(MPI_Comm_remote_size(comm, &n), MPI_ERR_COMM, "MPI_Comm_remote_size");
    CHECK_ERROR(MPI_Comm_dup(MPI_COMM_NULL, &other), MPI_ERR_COMM, "MPI_Comm_dup");
    CHECK_ERROR(MPI_Comm_free(&other), MPI_ERR_COMM, "MPI_Comm_free");
    CHECK_ERROR(MPI_Comm_split(comm, -2, 0, &other), MPI_ERR_ARG, "MPI_Comm_split");
    CHECK_ERROR(MPI_Group_size(group, &n), MPI_ERR_GROUP, "MPI_Group_size");
    MPI_Comm_group(comm, &group);
    CHECK_ERROR(MPI_Group_incl(group, 1, rank, &(MPI_Group){0}), MPI_ERR_RANK, "MPI_Group_incl");
    CHECK_ERROR(MPI_Group_incl(group, 2, twice, &(MPI_Group){0}), MPI_ERR_RANK, "MPI_Group_incl");
    MPI_Group_free(&group);
    CHECK_ERROR(MPI_Op_free(&op), MPI_ERR_OP, "MPI_Op_free");
    int key = MPI_KEYVAL_INVALID, flag;
    void *attribute;
    CHECK_ERROR(MPI_Comm_get_attr(comm, key, &attribute, &flag), MPI_ERR_KEYVAL, "MPI_Comm_get_attr");
    key = MPI_TAG_UB;
    CHECK_ERROR(MPI_Comm_set_attr(comm, key, NULL), MPI_ERR_KEYVAL, "MPI_Comm_set_attr");
    CHECK_ERROR(MPI_Comm_set_errhandler(comm, MPI_ERRHANDLER_NULL), MPI_ERR_ERRHANDLER, "MPI_Comm_set_errhandler");
    CHECK_ERROR(MPI_Comm_set_name(MPI_COMM_NULL, "x"), MPI_ERR_COMM, "MPI_Comm_set_name");
}

static void still_works(void)
{
    int sum = 0, one = 1;
    MPI_Request request;
    MPI_Isend(&one, 1, MPI_INT, self, 30, comm, &request);
    MUST(MPI_Recv(&value, 1, MPI_INT, self, 30, comm, MPI_STATUS_IGNORE));
    MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
    MUST(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm));
    CHECK_EQ(sum, check_size);
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    /* Errors without a communicator of their own go to these (section 9.3). */
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    self = check_rank;
    point_to_point();
    no_buffer();
    truncation(4);
    truncation(3000);
    truncation(1000000);
    types();
    collectives();
    objects();
    still_works();
    MPI_Comm_free(&comm);
    return check_finish();
}

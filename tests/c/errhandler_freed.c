/* Operations under way when their communicator is freed complete as if it were not, with its error handler (MPI-5.0
 * sections 7.4.3 and 9.3).
 * ranks: 1 2 3
 */
#include "check.h"

static int handled;

static void handler(MPI_Comm *comm, int *code, ...)
{
    int class = MPI_SUCCESS;
    (void)comm;
    MPI_Error_class(*code, &class);
    handled += class == MPI_ERR_TRUNCATE;
}

/* A receive that is too short for what comes. */
static int truncated(MPI_Errhandler errhandler)
{
    int out[4] = {0}, in[1], class = MPI_SUCCESS;
    MPI_Comm copy;
    MPI_Request requests[2];
    MUST(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
    MUST(MPI_Comm_set_errhandler(copy, errhandler));
    MUST(MPI_Irecv(in, 1, MPI_INT, (check_rank + 1) % check_size, 1, copy, &requests[0]));
    MUST(MPI_Isend(out, 4, MPI_INT, (check_rank + check_size - 1) % check_size, 1, copy, &requests[1]));
    MUST(MPI_Comm_free(&copy));
    MPI_Error_class(MPI_Wait(&requests[0], MPI_STATUS_IGNORE), &class);
    MUST(MPI_Wait(&requests[1], MPI_STATUS_IGNORE));
    return class;
}

/* A broadcast of which the root has more than the others take. */
static int broadcast(void)
{
    int data[100] = {0}, class = MPI_SUCCESS;
    MPI_Comm copy;
    MPI_Request request;
    MUST(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
    MUST(MPI_Comm_set_errhandler(copy, MPI_ERRORS_RETURN));
    MUST(MPI_Ibcast(data, check_rank == 0 ? 100 : 3, MPI_INT, 0, copy, &request));
    MUST(MPI_Comm_free(&copy));
    MPI_Error_class(MPI_Wait(&request, MPI_STATUS_IGNORE), &class);
    return class;
}

int main(int argc, char **argv)
{
    MPI_Errhandler own;
    check_init(&argc, &argv);
    CHECK_EQ(truncated(MPI_ERRORS_RETURN), MPI_ERR_TRUNCATE);
    MUST(MPI_Comm_create_errhandler(handler, &own));
    /* More than are remembered at once. */
    for (int i = 0; i < 300; i++) {
        CHECK_EQ(truncated(own), MPI_ERR_TRUNCATE);
        CHECK_EQ(handled, i + 1);
    }
    MUST(MPI_Errhandler_free(&own));
    int class = broadcast();
    CHECK(class == MPI_SUCCESS || check_size > 1);
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    return check_finish();
}

/* More functions of operations and error handlers than a library for another ABI has functions of its own for them.
 * Each but two is only an address that nobody calls. For two ranks. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MANY = 600, MOST = 256 };
static char functions[MANY];

#define CHECK(is) \
    do { \
        if (!(is)) { \
            printf("line %d: %s\n", __LINE__, #is); \
            MPI_Abort(MPI_COMM_WORLD, 1); \
        } \
    } while (0)

static void add(void *in, void *inout, int *length, MPI_Datatype *datatype)
{
    for (int i = 0; i < *length; i++) ((int *)inout)[i] += ((int *)in)[i];
}

static MPI_Op operation(int i)
{
    MPI_Op op = MPI_OP_NULL;
    CHECK(MPI_Op_create((MPI_User_function *)&functions[i], 1, &op) == MPI_SUCCESS);
    return op;
}

/* A reduction goes on with the function of an operation that was freed, whatever comes after it. */
static void reduce_with_freed(void)
{
    int rank, size, one = 1, sum = 0;
    MPI_Request request;
    MPI_Op op;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Op_create(add, 1, &op);
    MPI_Allreduce_init(&one, &sum, 1, MPI_INT, op, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    MPI_Op_free(&op);
    for (int i = 0; i < MANY; i++) {
        op = operation(i);
        MPI_Op_free(&op);
    }
    for (int again = 0; again < 2; again++) {
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        CHECK(sum == size);
    }
    MPI_Request_free(&request);
}

static void too_many_at_once(void)
{
    MPI_Op ops[MOST], other;
    char text[MPI_MAX_ERROR_STRING];
    int length, class;
    for (int i = 0; i < MOST; i++) ops[i] = operation(i);
    int code = MPI_Op_create((MPI_User_function *)&functions[MOST], 1, &other);
    CHECK(code != MPI_SUCCESS);
    MPI_Error_class(code, &class);
    CHECK(class == MPI_ERR_NO_MEM);
    MPI_Error_string(code, text, &length);
    CHECK(strstr(text, "at most 256 different functions") != NULL);
    MPI_Op_free(&ops[7]);
    ops[7] = operation(MOST);
    for (int i = 0; i < MOST; i++) MPI_Op_free(&ops[i]);
}

static int handled;

static void handle(MPI_Comm *comm, int *code, ...)
{
    handled++;
}

static void handlers(void)
{
    MPI_Errhandler handler;
    MPI_Comm comm;
    int size;
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    MPI_Comm_create_errhandler(handle, &handler);
    MPI_Comm_set_errhandler(comm, handler);
    MPI_Errhandler_free(&handler);
    for (int i = 0; i < MANY; i++) {
        CHECK(MPI_Comm_create_errhandler((MPI_Comm_errhandler_function *)&functions[i], &handler) == MPI_SUCCESS);
        MPI_Errhandler_free(&handler);
    }
    MPI_Send(&size, 1, MPI_INT, 5, 0, comm);
    CHECK(handled == 1);
    MPI_Comm_free(&comm);
}

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    reduce_with_freed();
    too_many_at_once();
    handlers();
    if (rank == 0) puts("all given back");
    MPI_Finalize();
    return 0;
}

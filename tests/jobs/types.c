/* Types of messages and of their receives (run with TERN_CHECK=types): what the standard allows, and what it does
 * not. Each case prints a line: the error class of the receive, and the message. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

struct entry {
    int key;
    float value;
};

static struct entry sent[6], received[6];

/* Rank 0 sends, rank 1 receives and reports. */
static void transfer(const char *name, int sent_count, MPI_Datatype sent_type, int count, MPI_Datatype type)
{
    static int rank = -1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) MPI_Send(sent, sent_count, sent_type, 1, 7, MPI_COMM_WORLD);
    if (rank != 1) return;
    char text[MPI_MAX_ERROR_STRING] = "";
    int code = MPI_Recv(received, count, type, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE), class, length;
    MPI_Error_class(code, &class);
    if (code != MPI_SUCCESS) MPI_Error_string(code, text, &length);
    printf("%s: %s%s\n", name, class == MPI_SUCCESS ? "fits" : class == MPI_ERR_TYPE ? "MPI_ERR_TYPE " : "? ", text);
}

static MPI_Datatype of_two(MPI_Datatype first, MPI_Datatype second)
{
    int lengths[2] = {1, 1};
    MPI_Aint places[2] = {0, 4};
    MPI_Datatype types[2] = {first, second}, both;
    MPI_Type_create_struct(2, lengths, places, types, &both);
    MPI_Type_commit(&both);
    return both;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Datatype entry = of_two(MPI_INT, MPI_FLOAT), swapped = of_two(MPI_FLOAT, MPI_INT), pairs;
    MPI_Type_contiguous(2, entry, &pairs);
    MPI_Type_commit(&pairs);
    transfer("the same", 3, MPI_INT, 3, MPI_INT);
    transfer("less than there is room for", 3, entry, 6, entry);
    transfer("in other portions", 3, entry, 3, pairs);
    transfer("only the beginning", 1, MPI_INT, 2, entry);
    transfer("pairs of value and index", 2, swapped, 2, MPI_FLOAT_INT);
    transfer("one type by two names", 2, MPI_LONG, 2, MPI_INT64_T);
    transfer("bytes", 8, MPI_BYTE, 2, MPI_FLOAT);
    transfer("another number", 2, MPI_INT, 2, MPI_FLOAT);
    transfer("another sign", 2, MPI_INT, 2, MPI_UNSIGNED);
    transfer("another width", 8, MPI_UINT16_T, 4, MPI_UINT32_T);
    transfer("another order", 2, entry, 2, swapped);
    transfer("more than the beginning", 2, MPI_INT, 1, entry);
    transfer("a mix into one kind", 1, entry, 2, MPI_INT);
    MPI_Type_free(&entry), MPI_Type_free(&swapped), MPI_Type_free(&pairs);
    MPI_Finalize();
    return 0;
}

/* What Open MPI has and the standard does not: older names of persistent collectives, types of splits, datatypes that
 * no call takes, and the name by which programs know its library. The public header has them, this project's not. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>

int MPIX_Allreduce_init(const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm, MPI_Info, MPI_Request *);
int PMPIX_Alltoallw_init(const void *, const int *, const int *, const MPI_Datatype *, void *, const int *, const int *,
    const MPI_Datatype *, MPI_Comm, MPI_Info, MPI_Request *);
extern char ompi_mpi_2dblcplex[];

#define CHECK(is) \
    do { \
        if (!(is)) { \
            printf("line %d: %s\n", __LINE__, #is); \
            MPI_Abort(MPI_COMM_WORLD, 1); \
        } \
    } while (0)

static void older_names(int size)
{
    int one = 1, sum = 0, bytes[2] = {4, 4}, places[2] = {0, 4}, out[2] = {7, 8}, in[2] = {0, 0};
    MPI_Datatype types[2] = {MPI_BYTE, MPI_BYTE};
    MPI_Request requests[2];
    CHECK(size == 2);
    MPIX_Allreduce_init(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
    PMPIX_Alltoallw_init(
        out, bytes, places, types, in, bytes, places, types, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
    MPI_Startall(2, requests);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    CHECK(sum == size && in[0] == in[1] && in[0] >= 7);
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
}

/* OMPI_COMM_TYPE_HWTHREAD is 1, OMPI_COMM_TYPE_HOST 9. */
static void splits(int size)
{
    for (int type = 1; type <= 9; type++) {
        MPI_Comm part = MPI_COMM_NULL;
        int members = 0;
        CHECK(MPI_Comm_split_type(MPI_COMM_WORLD, type, 0, MPI_INFO_NULL, &part) == MPI_SUCCESS);
        CHECK(part != MPI_COMM_NULL);
        MPI_Comm_size(part, &members);
        CHECK(members >= 1 && (type != 9 || members == size));
        MPI_Comm_free(&part);
    }
}

/* Bindings of other languages look for one, or read the other. */
static void whose_library(void)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length, major = 0;
    CHECK(dlsym(RTLD_DEFAULT, "ompi_mpi_init") != NULL);
    MPI_Get_library_version(version, &length);
    CHECK(sscanf(version, "Open MPI v%d.", &major) == 1 && major >= 4);
    CHECK(strstr(version, "Tern") != NULL && (size_t)length == strlen(version));
}

/* A line on standard error names the value. */
static void no_datatype(void)
{
    int bytes;
    printf("the datatype is %p\n", (void *)ompi_mpi_2dblcplex);
    fflush(stdout);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
    MPI_Type_size((MPI_Datatype)ompi_mpi_2dblcplex, &bytes);
}

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    whose_library();
    older_names(size);
    splits(size);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) no_datatype();
    MPI_Recv(&rank, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return 0;
}

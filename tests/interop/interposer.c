/*
 * A profiling library (MPI 5.0 section 15.2): it defines some MPI_ names, counts the calls, and goes on
 * with the PMPI_ names. Loaded by LD_PRELOAD it must see every call of the program, and none that the
 * library makes itself. It prints its counts when MPI ends.
 */
#include <mpi.h>

#include <stdio.h>

static int inits, sends, receives, barriers, reductions;

int MPI_Init(int *argc, char ***argv)
{
    inits++;
    return PMPI_Init(argc, argv);
}

int MPI_Send(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm)
{
    sends++;
    return PMPI_Send(buf, count, datatype, dest, tag, comm);
}

int MPI_Recv(void *buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm, MPI_Status *status)
{
    receives++;
    return PMPI_Recv(buf, count, datatype, source, tag, comm, status);
}

int MPI_Barrier(MPI_Comm comm)
{
    barriers++;
    return PMPI_Barrier(comm);
}

int MPI_Allreduce(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm)
{
    reductions++;
    return PMPI_Allreduce(sendbuf, recvbuf, count, datatype, op, comm);
}

int MPI_Finalize(void)
{
    int rank;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    printf("rank %d: init %d send %d recv %d barrier %d allreduce %d\n", rank, inits, sends, receives, barriers,
           reductions);
    fflush(stdout);
    return PMPI_Finalize();
}

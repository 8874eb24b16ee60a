/* A part of a program that uses MPI, while the program itself does not know it. */
#include <mpi.h>
#include <stddef.h>

int plugin_begin(void)
{
    int rank, size, sum;
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    return sum == size * (size - 1) / 2;
}

int plugin_end(void)
{
    int begun = 0;
    MPI_Initialized(&begun);
    return begun && MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS && MPI_Finalize() == MPI_SUCCESS;
}

// Every rank says who it is, in order of rank.
// usage: mpirun -n 4 hello
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, size, length;
    char line[MPI_MAX_PROCESSOR_NAME + 64], host[MPI_MAX_PROCESSOR_NAME];
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Get_processor_name(host, &length);
    snprintf(line, sizeof line, "Hello from rank %d of %d on %s", rank, size, host);
    if (rank != 0) {
        MPI_Send(line, sizeof line, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
    } else {
        puts(line);
        for (int from = 1; from < size; from++) {
            MPI_Recv(line, sizeof line, MPI_CHAR, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            puts(line);
        }
    }
    MPI_Finalize();
    return 0;
}

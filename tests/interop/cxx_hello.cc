// mpi.h from C++, and a callback of C++'s.
#include <mpi.h>

#include <complex>
#include <cstdio>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank = -1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    std::complex<double> mine(1, rank), sum;
    MPI_Allreduce(&mine, &sum, 1, MPI_CXX_DOUBLE_COMPLEX, MPI_SUM, MPI_COMM_WORLD);
    int size = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    bool right = sum == std::complex<double>(size, size * (size - 1) / 2);
    if (right)
        std::printf("ok %d\n", rank);
    MPI_Finalize();
    return right ? 0 : 1;
}

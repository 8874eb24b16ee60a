// Starting processes from a program (MPI 5.0 section 11.8).
// usage: spawn [REPETITIONS]
//
//   spawn_and_leave: MPI_Comm_spawn of 1, 4 and 16 processes until each has sent a message, and all have disconnected
#include "measure.h"
#include <mpi.h>

static const int counts[] = {1, 4, 16};

static double once(int processes, char *program) {
    MPI_Comm children;
    double start = now();
    MPI_Comm_spawn(program, MPI_ARGV_NULL, processes, MPI_INFO_NULL, 0, MPI_COMM_SELF, &children, MPI_ERRCODES_IGNORE);
    for (int i = 0, there; i < processes; i++)
        MPI_Recv(&there, 1, MPI_INT, MPI_ANY_SOURCE, 1, children, MPI_STATUS_IGNORE);
    MPI_Comm_disconnect(&children);
    return now() - start;
}

static void child(MPI_Comm parent) {
    int rank;
    MPI_Comm_rank(parent, &rank);
    MPI_Send(&rank, 1, MPI_INT, 0, 1, parent);
    MPI_Comm_disconnect(&parent);
}

int main(int argc, char **argv) {
    enum { MOST = 100 };
    double seconds[MOST];
    MPI_Comm parent;
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_get_parent(&parent);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (parent != MPI_COMM_NULL)
        child(parent);
    else if (rank == 0) {
        int times = argc > 1 ? atoi(argv[1]) : 5;
        times = times < 1 ? 1 : times > MOST ? MOST : times;
        for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
            for (int i = 0; i < times; i++)
                seconds[i] = once(counts[c], argv[0]);
            print_result("spawn_and_leave", counts[c], summarize(seconds, times));
        }
    }
    MPI_Finalize();
    return 0;
}

// How many 8-byte messages a second one rank sends to another.
// usage: rate SECONDS_PER_POINT
#include "mpi_team.h"

#define WINDOW 64
#define BYTES 8

static void acknowledge(int rank) {
    char byte = 0;
    if (rank == 0)
        MPI_Recv(&byte, 1, MPI_BYTE, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else
        MPI_Send(&byte, 1, MPI_BYTE, 0, 2, MPI_COMM_WORLD);
}

// A window of non-blocking operations, then one acknowledgement.
static void window_loop(void *arg, long iterations) {
    int rank = *(int *)arg;
    static char buffers[WINDOW][64];
    MPI_Request requests[WINDOW];
    for (long i = 0; i < iterations; i++) {
        for (int w = 0; w < WINDOW; w++) {
            if (rank == 0)
                MPI_Isend(buffers[w], BYTES, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &requests[w]);
            else
                MPI_Irecv(buffers[w], BYTES, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &requests[w]);
        }
        MPI_Waitall(WINDOW, requests, MPI_STATUSES_IGNORE);
        acknowledge(rank);
    }
}

// The same with blocking calls.
static void blocking_loop(void *arg, long iterations) {
    int rank = *(int *)arg;
    char buffer[BYTES] = {0};
    for (long i = 0; i < iterations; i++) {
        for (int w = 0; w < WINDOW; w++) {
            if (rank == 0)
                MPI_Send(buffer, BYTES, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
            else
                MPI_Recv(buffer, BYTES, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        acknowledge(rank);
    }
}

static void measure_form(const struct team *team, const char *name, loop_fn loop, double budget) {
    int rank = team->rank;
    struct summary window = measure(team, loop, &rank, budget);
    if (rank == 0)
        print_result(name, BYTES, (struct summary){WINDOW / window.best, WINDOW / window.median});
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    struct team team = mpi_team();
    double budget = budget_of(argc, argv);
    measure_form(&team, "rate_window", window_loop, budget);
    measure_form(&team, "rate_blocking", blocking_loop, budget);
    MPI_Finalize();
    return 0;
}

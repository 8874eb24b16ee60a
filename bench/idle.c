// What a rank costs while it waits: CPU seconds of a rank that is blocked in MPI_Recv, and how long the
// message that ends the wait takes. The clock is the machine's, so the sender's time can be compared.
// And CPU seconds of a rank that sleeps outside MPI, whose window others may access at any time.
// usage: idle SECONDS
#include "mpi_team.h"
#include <sys/resource.h>

#define SHORT_SECONDS 0.3
#define SHORT_WAITS 5

static double cpu_seconds(void) {
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + 1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

static void pause_seconds(double seconds) {
    struct timespec t = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    nanosleep(&t, NULL);
}

// Rank 0 sleeps and then sends its clock. Rank 1 waits for it and returns the latency; `cpu` is what it used.
static double wait_once(int rank, double seconds, double *cpu) {
    double sent = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    double cpu_before = cpu_seconds();
    if (rank == 0) {
        pause_seconds(seconds);
        sent = now();
        MPI_Send(&sent, 1, MPI_DOUBLE, 1, 1, MPI_COMM_WORLD);
        return 0;
    }
    MPI_Recv(&sent, 1, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    double latency = now() - sent;
    *cpu = cpu_seconds() - cpu_before;
    return latency;
}

// What the process uses while it sleeps and has a window; nobody accesses it.
static double window_cpu(double seconds) {
    MPI_Win win;
    char *memory;
    MPI_Win_allocate(4096, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    MPI_Win_lock_all(0, win);
    MPI_Barrier(MPI_COMM_WORLD);
    // What the window's making has left to do is done.
    pause_seconds(0.1);
    double before = cpu_seconds();
    pause_seconds(seconds);
    double used = cpu_seconds() - before;
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    return used;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank = mpi_team().rank;
    double seconds = argc > 1 ? atof(argv[1]) : 5, cpu = 0, unused;
    double latencies[SHORT_WAITS];
    wait_once(rank, 0.01, &unused);
    double first = wait_once(rank, seconds, &cpu);
    for (int i = 0; i < SHORT_WAITS; i++)
        latencies[i] = wait_once(rank, SHORT_SECONDS, &unused);
    double idle = window_cpu(seconds);
    if (rank == 1) {
        print_result("idle_window_cpu", (long)seconds, (struct summary){idle, idle});
        print_result("idle_cpu", (long)seconds, (struct summary){cpu, cpu});
        print_result("idle_first", (long)seconds, (struct summary){first, first});
        print_result("idle_first_short", 0, summarize(latencies, SHORT_WAITS));
    }
    MPI_Finalize();
    return 0;
}

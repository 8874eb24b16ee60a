/* Prints a line, meets the others in a barrier, and ends badly as the argument says.
 * harness/jobs/prints.rs says what must be seen. */
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

static void *hold(void *barrier)
{
    flockfile(stdout);
    pthread_barrier_wait(barrier);
    sleep(60);
    return NULL;
}

/* A thread that holds the stream for ever. */
static void lock_stdout(void)
{
    static pthread_barrier_t barrier;
    pthread_t thread;
    pthread_barrier_init(&barrier, NULL, 2);
    pthread_create(&thread, NULL, hold, &barrier);
    pthread_barrier_wait(&barrier);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "abort";
    static char buffer[1 << 16];
    int rank, size, value = 0;
    if (argc > 2 && !strcmp(argv[2], "full")) setvbuf(stdout, NULL, _IOFBF, sizeof buffer);
    if (argc > 2 && !strcmp(argv[2], "own")) setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    printf("line of rank %d, by lines: %d\n", rank, __flbf(stdout) != 0);
    if (rank == 1) printf("begun by rank 1");
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) {
        if (!strcmp(how, "lock")) lock_stdout();
        if (!strcmp(how, "abort") || !strcmp(how, "lock")) MPI_Abort(MPI_COMM_WORLD, 3);
        if (!strcmp(how, "fatal")) MPI_Send(&value, 1, MPI_INT, size + 5, 3, MPI_COMM_WORLD);
        if (!strcmp(how, "signal")) signal(SIGSEGV, SIG_DFL), raise(SIGSEGV);
        if (!strcmp(how, "exit")) _exit(3);
        /* The name tells who waits for it that all have printed. */
        if (!strcmp(how, "wait")) prctl(PR_SET_NAME, "printed"), sleep(60);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}

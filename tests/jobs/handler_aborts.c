/* MPI_Abort in a signal handler, amid calls of one kind: it ends the job, whatever call it interrupts. */
#include <mpi.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

static void handler(int signal)
{
    (void)signal;
    MPI_Abort(MPI_COMM_WORLD, 7);
}

static void call(const char *kind, int next, int before)
{
    int out = 1, in;
    MPI_Comm copy;
    if (!strcmp(kind, "receive"))
        MPI_Recv(&in, 1, MPI_INT, next, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else if (!strcmp(kind, "messages"))
        MPI_Sendrecv(&out, 1, MPI_INT, next, 1, &in, 1, MPI_INT, before, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else if (!strcmp(kind, "barriers"))
        MPI_Barrier(MPI_COMM_WORLD);
    else if (!strcmp(kind, "communicators")) {
        MPI_Comm_dup(MPI_COMM_WORLD, &copy);
        MPI_Comm_free(&copy);
    } else
        MPI_Abort(MPI_COMM_WORLD, 9);
}

/* Arguments: the kind of call, the level of threads, and after how many microseconds the signal comes. */
int main(int argc, char **argv)
{
    int rank, size, provided, several = argc > 2 && !strcmp(argv[2], "multiple");
    MPI_Init_thread(&argc, &argv, several ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank == 1) {
        struct itimerval once = {{0, 0}, {0, atoi(argv[3])}};
        signal(SIGALRM, handler);
        setitimer(ITIMER_REAL, &once, NULL);
    }
    for (;;) call(argv[1], (rank + 1) % size, (rank + size - 1) % size);
}

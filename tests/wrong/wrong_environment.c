/* Programs that treat their process in unusual ways. The first argument names the way.
 * harness/wrong/environment.rs says what a user must see. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, size;

/* Threads of rank 1 go on when its main thread has ended: they talk to rank 0, in short messages and in long ones. */
static void *talk(void *unused)
{
    enum { LONG = 1 << 18 };
    static char buffer[LONG];
    (void)unused;
    usleep(300000);
    for (int i = 0; i < 20; i++) {
        MPI_Send(buffer, i % 2 ? LONG : 8, MPI_BYTE, 0, i, MPI_COMM_WORLD);
        MPI_Recv(buffer, LONG, MPI_BYTE, 0, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    return NULL;
}

static void *talk_and_finalize(void *unused)
{
    talk(unused);
    printf("the thread of rank 1 is done\n");
    MPI_Finalize();
    return NULL;
}

static void listen(void)
{
    enum { LONG = 1 << 18 };
    static char buffer[LONG];
    for (int i = 0; i < 20; i++) {
        MPI_Recv(buffer, LONG, MPI_BYTE, 1, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        /* Before the last answer, with which rank 1 may end and take this rank along. */
        if (i == 19) {
            printf("rank 0 has heard all\n");
            fflush(stdout);
        }
        MPI_Send(buffer, i % 2 ? LONG : 8, MPI_BYTE, 1, i, MPI_COMM_WORLD);
    }
}

/* The main thread of rank 1 ends, and MPI_Finalize is not called there. */
static void leave(const char *how)
{
    pthread_t thread;
    int talks = !strcmp(how, "thread"), finalizes = !strcmp(how, "finalizes");
    if (rank == 0 && (talks || finalizes)) listen();
    if (rank != 1) return;
    if (talks) pthread_create(&thread, NULL, talk, NULL);
    if (finalizes) pthread_create(&thread, NULL, talk_and_finalize, NULL);
    pthread_exit(NULL);
}

/* As a daemon does. */
static void close_from(int first)
{
    for (int fd = first; fd < 1024; fd++) close(fd);
}

/* Rank 1 closes what is not its own, if it is told to, and does something that needs it. */
static void close_all(int first, const char *then)
{
    int value = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) {
        if (first >= 0) close_from(first);
        if (!strcmp(then, "files")) {
            /* Files of the program's own that get the numbers. */
            for (int i = 0; i < 64; i++) {
                char name[64];
                snprintf(name, sizeof name, "environment-%d.%d", (int)getpid(), i);
                int fd = open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
                unlink(name);
                if (fd < 0) abort();
            }
            then = "abort";
        }
        if (!strcmp(then, "abort")) MPI_Abort(MPI_COMM_WORLD, 5);
        if (!strcmp(then, "fatal")) MPI_Send(&value, 1, MPI_INT, size + 5, 3, MPI_COMM_WORLD);
    }
    /* Some of these have not met before. */
    for (int other = 0; !strcmp(then, "all") && other < size; other++) {
        MPI_Sendrecv_replace(&value, 1, MPI_INT, (rank + other) % size, 1, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD,
                             MPI_STATUS_IGNORE);
    }
    if (size > 1 && rank < 2) {
        MPI_Sendrecv_replace(&value, 1, MPI_INT, 1 - rank, 0, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "", *how = argc > 2 ? argv[2] : "";
    int level = strcmp(what, "leave") ? MPI_THREAD_SINGLE : MPI_THREAD_MULTIPLE;
    if (!strcmp(what, "before")) close_from(atoi(how));
    MPI_Init_thread(&argc, &argv, level, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (!strcmp(what, "leave")) leave(how);
    if (!strcmp(what, "close")) close_all(atoi(how), argc > 3 ? argv[3] : "");
    if (!strcmp(what, "before")) close_all(-1, "all");
    MPI_Finalize();
    return 0;
}

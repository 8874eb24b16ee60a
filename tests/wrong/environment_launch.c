/* What odd environments do to a job at its start. Usage: environment_launch MODE
 * hello: the ranks meet in a barrier. spawn: a thread of rank 0 starts a process meanwhile.
 * listen: each rank prints the addresses on which it listens. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <netinet/in.h>
#include <arpa/inet.h>
#include <unistd.h>

static void *spawn(void *program)
{
    MPI_Comm children;
    char *words[] = {"hello", NULL};
    int far = 0;
    MPI_Comm_spawn(program, words, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &children, MPI_ERRCODES_IGNORE);
    MPI_Comm_remote_size(children, &far);
    printf("a thread has started %d\n", far);
    fflush(stdout);
    return NULL;
}

/* As mpi4py.futures does. */
static void spawn_in_thread(int rank, char *program)
{
    pthread_t thread;
    if (rank != 0) return;
    if (pthread_create(&thread, NULL, spawn, program) || pthread_join(thread, NULL)) abort();
}

static void print_listening(void)
{
    for (int fd = 0; fd < 1024; fd++) {
        int listens = 0;
        socklen_t length = sizeof listens;
        struct sockaddr_storage address;
        char text[INET6_ADDRSTRLEN] = "";
        if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &length) || !listens) continue;
        length = sizeof address;
        if (getsockname(fd, (struct sockaddr *)&address, &length)) continue;
        if (address.ss_family == AF_INET)
            inet_ntop(AF_INET, &((struct sockaddr_in *)&address)->sin_addr, text, sizeof text);
        else
            inet_ntop(AF_INET6, &((struct sockaddr_in6 *)&address)->sin6_addr, text, sizeof text);
        printf("listens on %s\n", text);
    }
    fflush(stdout);
}

int main(int argc, char **argv)
{
    int provided, rank;
    const char *mode = argc > 1 ? argv[1] : "hello";
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (!strcmp(mode, "spawn")) spawn_in_thread(rank, argv[0]);
    MPI_Barrier(MPI_COMM_WORLD);
    if (!strcmp(mode, "listen")) print_listening();
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}

/* Messages of 8 bytes whose instructions callgrind counts. Rank 0 sends fifty, and rank 1 looks only when all are
 * there, so no poll is in vain. The ranks take turns by two named pipes, since to wait in MPI would be counted or would
 * take messages early.
 * usage: instructions blocking|nonblocking ROUNDS PIPE-THERE PIPE-BACK
 */
#include <fcntl.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MESSAGES 50 /* fewer than a ring has lines */

static void fail(void)
{
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void send_all(int blocking)
{
    for (long i = 0; i < MESSAGES; i++) {
        MPI_Request request;
        if (blocking) {
            MPI_Send(&i, 1, MPI_LONG, 1, 7, MPI_COMM_WORLD);
        } else {
            MPI_Isend(&i, 1, MPI_LONG, 1, 7, MPI_COMM_WORLD, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
    }
}

static void receive_all(int blocking)
{
    for (long i = 0; i < MESSAGES; i++) {
        MPI_Request request;
        long value = -1;
        if (blocking) {
            MPI_Recv(&value, 1, MPI_LONG, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Irecv(&value, 1, MPI_LONG, 0, 7, MPI_COMM_WORLD, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
        if (value != i)
            fail();
    }
}

static void give_turn(int pipe)
{
    if (write(pipe, "", 1) != 1)
        fail();
}

static void await_turn(int pipe)
{
    char byte;
    if (read(pipe, &byte, 1) != 1)
        fail();
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    if (argc != 5)
        fail();
    int rank, blocking = strcmp(argv[1], "blocking") == 0, rounds = atoi(argv[2]);
    int there = open(argv[3], O_RDWR), back = open(argv[4], O_RDWR);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int round = 0; round < rounds; round++) {
        if (rank == 0) {
            send_all(blocking);
            give_turn(there);
            await_turn(back);
        } else {
            await_turn(there);
            receive_all(blocking);
            give_turn(back);
        }
    }
    MPI_Finalize();
    return 0;
}

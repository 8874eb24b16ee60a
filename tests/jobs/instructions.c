/* Calls with 8 bytes, or with 64 in two lines, whose instructions callgrind counts. Rank 0 makes fifty, and rank 1
 * makes its own only then, so nobody polls in vain. The ranks take turns by two named pipes, since to wait in MPI would
 * be counted or would take messages early.
 * usage: instructions blocking|nonblocking|lines|scan|bcast ROUNDS PIPE-THERE PIPE-BACK
 */
#include <fcntl.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CALLS 50 /* fewer than a ring has lines, and than a rank may be ahead in collectives */

static int rank;

static void fail(void)
{
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void in_scans(long i)
{
    long sum = -1, mine = i;
    MPI_Scan(&mine, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    if (sum != i * (rank + 1))
        fail();
}

static void in_broadcasts(long i)
{
    long value = rank == 0 ? i : -1;
    MPI_Bcast(&value, 1, MPI_LONG, 0, MPI_COMM_WORLD);
    if (value != i)
        fail();
}

static void blocking(long i)
{
    long value = i;
    if (rank == 0)
        MPI_Send(&i, 1, MPI_LONG, 1, 7, MPI_COMM_WORLD);
    else
        MPI_Recv(&value, 1, MPI_LONG, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (value != i)
        fail();
}

static void nonblocking(long i)
{
    long value = i;
    MPI_Request request;
    if (rank == 0)
        MPI_Isend(&i, 1, MPI_LONG, 1, 7, MPI_COMM_WORLD, &request);
    else
        MPI_Irecv(&value, 1, MPI_LONG, 0, 7, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (value != i)
        fail();
}

static void in_lines(long i)
{
    long values[8] = {i, 0};
    if (rank == 0)
        MPI_Send(values, 8, MPI_LONG, 1, 7, MPI_COMM_WORLD);
    else
        MPI_Recv(values, 8, MPI_LONG, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (values[0] != i)
        fail();
}

static const struct {
    const char *name;
    void (*call)(long);
} modes[] = {{"blocking", blocking},
           {"nonblocking", nonblocking},
           {"lines", in_lines},
           {"scan", in_scans},
           {"bcast", in_broadcasts}};

static void make_all_calls(const char *mode)
{
    for (size_t m = 0; m < sizeof modes / sizeof *modes; m++)
        for (long i = 0; i < CALLS && strcmp(mode, modes[m].name) == 0; i++)
            modes[m].call(i);
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
    int rounds = atoi(argv[2]);
    int there = open(argv[3], O_RDWR), back = open(argv[4], O_RDWR);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int round = 0; round < rounds; round++) {
        if (rank == 0) {
            make_all_calls(argv[1]);
            give_turn(there);
            await_turn(back);
        } else {
            await_turn(there);
            make_all_calls(argv[1]);
            give_turn(back);
        }
    }
    MPI_Finalize();
    return 0;
}

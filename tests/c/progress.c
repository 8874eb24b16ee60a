/* Cases that must not deadlock (MPI-5.0 sections 3.5 and 3.7.4): whatever the standard promises to progress
 * does, with messages far larger than any buffer.
 * ranks: 2 4
 */
#include <fcntl.h>
#include <unistd.h>
#include "check.h"

enum { BIG = 3 << 20 };
static char *in, *out;
static int peer;

/* Both post non-blocking sends and then receive, blocking. */
static void send_then_receive(void)
{
    MPI_Request request;
    MPI_Isend(out, BIG, MPI_BYTE, peer, 1, MPI_COMM_WORLD, &request);
    MPI_Recv(in, BIG, MPI_BYTE, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK_DATA(in, BIG, peer);
}

/* Two messages, received in the other order: the second must pass while the first waits. */
static void crossed_tags(void)
{
    if (check_rank % 2 == 0) {
        MPI_Request request;
        MPI_Isend(out, BIG, MPI_BYTE, peer, 1, MPI_COMM_WORLD, &request);
        MPI_Ssend(out, BIG / 2, MPI_BYTE, peer, 2, MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(in, BIG, MPI_BYTE, peer, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(in, BIG, MPI_BYTE, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK_DATA(in, BIG, peer);
    }
}

/* The receiver completes its receive and then makes no MPI call until the sender is done with another
 * channel: the sender's send must complete without it (it only computes). */
static void receiver_goes_away(void)
{
    char token = 0;
    if (check_rank % 2 == 0) {
        MPI_Send(out, BIG, MPI_BYTE, peer, 3, MPI_COMM_WORLD);
        MPI_Send(&token, 1, MPI_BYTE, peer, 4, MPI_COMM_WORLD);
    } else {
        MPI_Recv(in, BIG, MPI_BYTE, peer, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        usleep(200000);
        MPI_Recv(&token, 1, MPI_BYTE, peer, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK_DATA(in, BIG, peer);
    }
}

/* Short messages that follow each other may be gathered, but none waits for the sender's next call. */
static void sender_goes_away(void)
{
    enum { SHORT = 12, LOOK_US = 1000, LOOKS = 20000 };
    int numbers[SHORT], looks = 0;
    char file[64] = "";
    if (check_rank % 2 == 0) {
        MPI_Recv(file, sizeof file, MPI_CHAR, peer, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int i = 0; i < SHORT; i++) MPI_Send(&i, 1, MPI_INT, peer, 10, MPI_COMM_WORLD);
        while (access(file, F_OK) == 0 && looks++ < LOOKS) usleep(LOOK_US);
        CHECK(looks < LOOKS);
    } else {
        /* The file is there until all messages have come. */
        snprintf(file, sizeof file, "/tmp/progress-%d-%d", (int)getpid(), check_rank);
        int made = open(file, O_CREAT | O_EXCL, 0600);
        CHECK(made >= 0);
        MPI_Send(file, sizeof file, MPI_CHAR, peer, 9, MPI_COMM_WORLD);
        for (int i = 0; i < SHORT; i++) {
            MPI_Recv(&numbers[i], 1, MPI_INT, peer, 10, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        unlink(file);
        close(made);
        for (int i = 0; i < SHORT; i++) CHECK_EQ(numbers[i], i);
    }
}

/* A chain of dependent large messages round the ring, each started by the one before. */
static void token_ring(void)
{
    int next = (check_rank + 1) % check_size, previous = (check_rank + check_size - 1) % check_size;
    for (int lap = 0; lap < 3; lap++) {
        if (check_rank == 0) MPI_Send(out, BIG, MPI_BYTE, next, 5, MPI_COMM_WORLD);
        MPI_Recv(in, BIG, MPI_BYTE, previous, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (check_rank != 0) MPI_Send(in, BIG, MPI_BYTE, next, 5, MPI_COMM_WORLD);
        CHECK_DATA(in, BIG, 0);
    }
}

/* While blocked in one call, a rank still answers what others need of it. */
static void third_party(void)
{
    if (check_size < 4) return;
    if (check_rank == 0) {
        /* Its isend to 1 completes while it waits for 3, who waits for 2, who waits for 1. */
        MPI_Request request;
        MPI_Isend(out, BIG, MPI_BYTE, 1, 6, MPI_COMM_WORLD, &request);
        MPI_Recv(in, BIG, MPI_BYTE, 3, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        CHECK_DATA(in, BIG, 0);
    } else if (check_rank < 4) {
        MPI_Recv(in, BIG, MPI_BYTE, check_rank - 1, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(in, BIG, MPI_BYTE, (check_rank + 1) % 4, 6, MPI_COMM_WORLD);
    }
}

/* Polling with test, without ever blocking, completes everything. */
static void only_tests(void)
{
    MPI_Request requests[2];
    int flag = 0;
    MPI_Irecv(in, BIG, MPI_BYTE, peer, 7, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(out, BIG, MPI_BYTE, peer, 7, MPI_COMM_WORLD, &requests[1]);
    while (!flag) MPI_Testall(2, requests, &flag, MPI_STATUSES_IGNORE);
    CHECK_DATA(in, BIG, peer);
}

/* Iprobe alone brings messages in. */
static void only_probes(void)
{
    int flag = 0;
    MPI_Request request;
    MPI_Isend(out, BIG, MPI_BYTE, peer, 8, MPI_COMM_WORLD, &request);
    while (!flag) MPI_Iprobe(peer, 8, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    MPI_Recv(in, BIG, MPI_BYTE, peer, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK_DATA(in, BIG, peer);
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    peer = check_rank ^ 1;
    in = check_alloc(BIG), out = check_alloc(BIG);
    check_fill(out, BIG, check_rank);
    sender_goes_away();
    for (int round = 0; round < 3; round++) {
        send_then_receive();
        crossed_tags();
        receiver_goes_away();
        token_ring();
        third_party();
        only_tests();
        only_probes();
    }
    free(in), free(out);
    return check_finish();
}

/* Blocking standard-mode send and receive (MPI-5.0 section 3.2): every size across every protocol
 * threshold, status fields, pairs in both directions, zero-size messages, short receives.
 * ranks: 2 3 4 8
 */
#include "check.h"

static void every_size(MPI_Comm comm, int rank)
{
    size_t sizes[128];
    int n = check_sizes(sizes, 128, 8u << 20);
    for (int i = 0; i < n; i++) {
        char *buffer = check_alloc(sizes[i] + 16);
        if (rank == 0) {
            check_fill(buffer, sizes[i], i);
            MUST(MPI_Send(buffer, (int)sizes[i], MPI_BYTE, 1, i, comm));
        } else if (rank == 1) {
            MPI_Status status;
            memset(buffer, 0x5A, sizes[i] + 16);
            MUST(MPI_Recv(buffer, (int)sizes[i], MPI_BYTE, 0, i, comm, &status));
            CHECK_EQ(status.MPI_SOURCE, 0);
            CHECK_EQ(status.MPI_TAG, i);
            CHECK_EQ(check_status_count(&status, MPI_BYTE), (int)sizes[i]);
            CHECK_DATA(buffer, sizes[i], i);
            for (int k = 0; k < 16; k++) CHECK_EQ(buffer[sizes[i] + k], 0x5A);
        }
        free(buffer);
    }
}

/* Messages shorter than the receive buffer leave the rest of it alone. */
static void short_messages(int rank)
{
    static const int sizes[] = {0, 1, 40, 1000, 5000, 70000, 1 << 20};
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        int size = sizes[i], room = size + 4096;
        unsigned char *buffer = check_alloc((size_t)room);
        if (rank == 0) {
            check_fill(buffer, (size_t)size, size);
            MPI_Send(buffer, size, MPI_BYTE, 1, 7, MPI_COMM_WORLD);
        } else if (rank == 1) {
            MPI_Status status;
            memset(buffer, 0xC3, (size_t)room);
            MPI_Recv(buffer, room, MPI_BYTE, 0, 7, MPI_COMM_WORLD, &status);
            CHECK_EQ(check_status_count(&status, MPI_BYTE), size);
            CHECK_DATA(buffer, size, size);
            for (int k = size; k < room; k += 97) CHECK_EQ(buffer[k], 0xC3);
        }
        free(buffer);
    }
}

/* Every rank sends to every higher rank and then receives from it. */
static void all_pairs(void)
{
    for (int a = 0; a < check_size; a++)
        for (int b = a + 1; b < check_size; b++) {
            int value = 1000 * a + b, answer = -1;
            if (check_rank == a) {
                MPI_Send(&value, 1, MPI_INT, b, 1, MPI_COMM_WORLD);
                MPI_Recv(&answer, 1, MPI_INT, b, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                CHECK_EQ(answer, -value);
            } else if (check_rank == b) {
                MPI_Recv(&answer, 1, MPI_INT, a, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                CHECK_EQ(answer, value);
                value = -value;
                MPI_Send(&value, 1, MPI_INT, a, 2, MPI_COMM_WORLD);
            }
        }
}

/* A null buffer with a count of zero is allowed (section 2.5.6 and 3.2.2). */
static void null_buffer(int rank)
{
    MPI_Status status;
    if (rank == 0) MUST(MPI_Send(NULL, 0, MPI_INT, 1, 3, MPI_COMM_WORLD));
    if (rank == 1) {
        MUST(MPI_Recv(NULL, 0, MPI_INT, 0, 3, MPI_COMM_WORLD, &status));
        CHECK_EQ(check_status_count(&status, MPI_INT), 0);
    }
}

static void ping_pong(int rank)
{
    if (rank > 1) return;
    for (int i = 0; i < 2000; i++) {
        int value = i;
        if (rank == 0) {
            MPI_Send(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
            MPI_Recv(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            CHECK_EQ(value, i + 1);
        } else {
            MPI_Recv(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            CHECK_EQ(value, i);
            value++;
            MPI_Send(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
        }
    }
}

/* Tags and communicators keep messages apart; the largest tag works. */
static void tags_and_contexts(int rank)
{
    MPI_Comm other;
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    int *tag_ub, found, value[3] = {10, 20, 30}, got = 0;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &tag_ub, &found);
    CHECK(found && *tag_ub >= 32767);
    if (rank == 0) {
        /* Received in another order, so a blocking send might wait for ever. */
        MPI_Request requests[3];
        MPI_Isend(&value[0], 1, MPI_INT, 1, 5, other, &requests[0]);
        MPI_Isend(&value[1], 1, MPI_INT, 1, *tag_ub, MPI_COMM_WORLD, &requests[1]);
        MPI_Isend(&value[2], 1, MPI_INT, 1, 5, MPI_COMM_WORLD, &requests[2]);
        MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    } else if (rank == 1) {
        MPI_Recv(&got, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK_EQ(got, 30);
        MPI_Recv(&got, 1, MPI_INT, 0, *tag_ub, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK_EQ(got, 20);
        MPI_Recv(&got, 1, MPI_INT, 0, 5, other, MPI_STATUS_IGNORE);
        CHECK_EQ(got, 10);
    }
    every_size(other, rank);
    MPI_Comm_free(&other);
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    every_size(MPI_COMM_WORLD, check_rank);
    short_messages(check_rank);
    all_pairs();
    null_buffer(check_rank);
    ping_pong(check_rank);
    tags_and_contexts(check_rank);
    return check_finish();
}

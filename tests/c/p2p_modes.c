/* Send modes (MPI-5.0 section 3.4): synchronous sends complete only after the receive has started,
 * ready sends meet a posted receive, blocking and non-blocking.
 * ranks: 2 4
 */
#include "check.h"

static const int sizes[] = {0, 1, 8, 64, 1000, 4096, 40000, 300000, 2 << 20};
enum { SIZES = sizeof sizes / sizeof *sizes, TAG = 5, GO = 6 };

/* While the receiver has not called receive, a synchronous send cannot be complete. */
static void synchronous_waits(int size)
{
    char *buffer = check_alloc((size_t)size);
    if (check_rank == 0) {
        int flag = 1;
        MPI_Request request;
        check_fill(buffer, (size_t)size, size);
        MPI_Issend(buffer, size, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &request);
        for (int i = 0; i < 200; i++) {
            MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
            if (!CHECK(!flag)) break;
        }
        MPI_Send(NULL, 0, MPI_BYTE, 1, GO, MPI_COMM_WORLD);
        if (!flag) MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else if (check_rank == 1) {
        MPI_Recv(NULL, 0, MPI_BYTE, 0, GO, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(buffer, size, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK_DATA(buffer, size, size);
    }
    free(buffer);
}

/* Blocking synchronous sends, expected and not. */
static void synchronous_blocking(int size)
{
    char *buffer = check_alloc((size_t)size);
    if (check_rank == 0) {
        check_fill(buffer, (size_t)size, size + 1);
        MUST(MPI_Ssend(buffer, size, MPI_BYTE, 1, TAG, MPI_COMM_WORLD));
        MUST(MPI_Ssend(buffer, size, MPI_BYTE, 1, TAG, MPI_COMM_WORLD));
    } else if (check_rank == 1) {
        for (int i = 0; i < 2; i++) {
            memset(buffer, 0, (size_t)size);
            MUST(MPI_Recv(buffer, size, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            CHECK_DATA(buffer, size, size + 1);
        }
    }
    free(buffer);
}

static void ready(int size, int blocking)
{
    char *buffer = check_alloc((size_t)size);
    MPI_Request request = MPI_REQUEST_NULL;
    if (check_rank == 1) {
        MPI_Irecv(buffer, size, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &request);
        MPI_Send(NULL, 0, MPI_BYTE, 0, GO, MPI_COMM_WORLD);
    } else if (check_rank == 0) {
        check_fill(buffer, (size_t)size, size + 2);
        MPI_Recv(NULL, 0, MPI_BYTE, 1, GO, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (blocking)
            MUST(MPI_Rsend(buffer, size, MPI_BYTE, 1, TAG, MPI_COMM_WORLD));
        else
            MUST(MPI_Irsend(buffer, size, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &request));
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (check_rank == 1) CHECK_DATA(buffer, size, size + 2);
    free(buffer);
}

/* All modes mixed from one sender stay in order for one tag (section 3.5). */
static void order_across_modes(void)
{
    enum { MANY = 200, BIG = 20000 };
    if (check_rank == 0) {
        static int out[MANY][BIG];
        MPI_Request requests[MANY];
        int size = MANY / 4 * (BIG * 4 + MPI_BSEND_OVERHEAD) + 1000;
        void *attached = check_alloc((size_t)size);
        MPI_Buffer_attach(attached, size);
        for (int i = 0; i < MANY; i++) {
            int count = i % 7 == 0 ? BIG : 1;
            out[i][0] = i;
            if (i % 4 == 0) MPI_Isend(out[i], count, MPI_INT, 1, TAG, MPI_COMM_WORLD, &requests[i]);
            if (i % 4 == 1) MPI_Issend(out[i], count, MPI_INT, 1, TAG, MPI_COMM_WORLD, &requests[i]);
            if (i % 4 == 2) MPI_Ibsend(out[i], count, MPI_INT, 1, TAG, MPI_COMM_WORLD, &requests[i]);
            if (i % 4 == 3) MPI_Isend(out[i], count, MPI_INT, 1, TAG, MPI_COMM_WORLD, &requests[i]);
        }
        MPI_Waitall(MANY, requests, MPI_STATUSES_IGNORE);
        MPI_Buffer_detach(&attached, &size);
        free(attached);
    } else if (check_rank == 1) {
        int *in = check_alloc(BIG * sizeof(int));
        for (int i = 0; i < MANY; i++) {
            MPI_Status status;
            MPI_Recv(in, BIG, MPI_INT, 0, TAG, MPI_COMM_WORLD, &status);
            CHECK_EQ(in[0], i);
            CHECK_EQ(check_status_count(&status, MPI_INT), i % 7 == 0 ? BIG : 1);
        }
        free(in);
    }
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    for (int i = 0; i < SIZES; i++) {
        synchronous_waits(sizes[i]);
        synchronous_blocking(sizes[i]);
        ready(sizes[i], 1);
        ready(sizes[i], 0);
    }
    order_across_modes();
    return check_finish();
}
